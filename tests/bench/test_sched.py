"""What is required of the scheduler's runs, on figures made by hand."""

import json
import stat

import pytest
import sched_offline as sched

TIMES = {"count": 1, "sum_ns": 10, "median_ns": 1e6, "p99_ns": 2e6, "longest_ns": 3e6}


def figures(**changes):
    """A run of 1,000 pods that does what is required."""
    run = {"nodes": 5000, "jobs": 1, "others": 10, "pods": 1000, "hopeless": 0, "node_bytes": 5000 * 900,
           "other_bytes": 7000, "job_bytes": 1600, "pod_bytes": 700000, "cpu_ns": 20e6, "binds": 1000, "writes": 2,
           "waiting": 0, "placements": 1000, "lookups": 1000, "refreshed": 6000, "gangs": 1, "placing_ns": 2e6,
           "placing": 999, "hot": 999, "hot_allocs": 20, "step_allocs": 4015, "bind_allocs": 4000, "turns": TIMES,
           "cycles": TIMES, "virtual_ns": 0, "table_bytes": 5000 * 2900, "digest": "1"}
    return {**run, **changes}


@pytest.fixture(name="bench")
def _bench(tmp_path):
    return sched.Bench(tmp_path / "program", "conf", 2)


def program(bench, *runs):
    """Puts a program in place that prints one of the runs after the other."""
    folder = bench.program.parent
    for number, run in enumerate(runs):
        (folder / f"{number}.json").write_text(json.dumps(run))
    bench.program.write_text(f"#!/bin/sh\nn=$(cat {folder}/n 2>/dev/null || echo 0)\necho $((n + 1)) > {folder}/n\n"
                             f"exec cat {folder}/$n.json\n")
    bench.program.chmod(bench.program.stat().st_mode | stat.S_IXUSR)


def test_configuration_is_the_shipped_one():
    conf = sched.shipped_conf()
    assert conf.startswith("actions:")
    assert "- name: nodeorder" in conf and "apiVersion" not in conf


def test_good_run_is_accepted(bench):
    assert sched.check_shape(bench, 5000, 1000, figures()) == "yes"
    assert not bench.failed


@pytest.mark.parametrize("changes, gang", [
    ({"cpu_ns": 51e6}, 1000),
    ({"waiting": 1}, 1000),
    ({"binds": 999}, 1000),
    ({"hot_allocs": 60}, 1000),
    ({"step_allocs": 4020}, 10),
    ({"turns": {**TIMES, "longest_ns": 21e6}}, 10000),
])
def test_bad_runs_are_named(bench, changes, gang):
    assert sched.check_shape(bench, 5000, gang, figures(**changes)) == "NO"
    assert bench.failed


def test_growth_is_at_most_linear(bench):
    runs = {(1000, 10): figures(cpu_ns=1e6), (20000, 10): figures(cpu_ns=19e6)}
    sched.growth(bench, runs, (1000, 20000), (10,))
    assert not bench.failed
    runs[20000, 10] = figures(cpu_ns=21e6)
    sched.growth(bench, runs, (1000, 20000), (10,))
    assert len(bench.failed) == 1


def test_memory_has_bounds(bench):
    sched.memory(bench, {(5000, 10): figures()})
    assert not bench.failed
    sched.memory(bench, {(5000, 10): figures(pod_bytes=1100000)})
    sched.memory(bench, {(5000, 10): figures(table_bytes=5000 * 3300)})
    assert len(bench.failed) == 2


def test_runs_have_to_agree_in_counts(bench):
    program(bench, figures(), figures(cpu_ns=5, pod_bytes=3))
    assert bench.run(nodes=1)["cpu_ns"] == 5
    assert not bench.failed
    (bench.program.parent / "n").unlink()
    program(bench, figures(), figures(digest="2"))
    bench.run(nodes=1)
    assert "digest" in bench.failed[0]


def decision(**changes):
    """A run of sched_evict that does what is required."""
    run = {"shape": "pods", "nodes": 100, "running": 1000, "victims": 1000, "places": 1000, "steps": 9, "cpu_ns": 49e6,
           "longest_ns": 1e6, "first_ns": 0, "longest_turn_ns": 0, "rest_ns": 0}
    return {**run, **changes}


def test_only_preempt_runs_for_evictions():
    conf = sched.preempting(sched.shipped_conf())
    assert conf.startswith('actions: "preempt"\n')
    assert "- name: priority" in conf


@pytest.mark.parametrize("changes, limits, met", [
    ({}, True, "yes"),
    ({"victims": 999}, False, "NO"),
    ({"cpu_ns": 51e6}, True, "NO"),
    ({"cpu_ns": 51e6}, False, "yes"),
    ({"shape": "vain", "victims": 0, "rest_ns": 5e6}, True, "yes"),
    ({"shape": "vain", "victims": 0, "rest_ns": 6e6}, True, "NO"),
    ({"shape": "vain", "victims": 0, "rest_ns": 6e6}, False, "yes"),
])
def test_decisions_are_judged(bench, changes, limits, met):
    assert sched.check_evict(bench, decision(**changes), limits) == met


def waited(**changes):
    """A run of sched_extender."""
    return {"shape": "hangs", "median_ns": 10e6, "p99_ns": 15e6, "longest_ns": 30e6, **changes}


@pytest.mark.parametrize("changes, limits, met", [
    ({"median_ns": 30e6, "p99_ns": 35e6}, True, "yes"),
    ({"median_ns": 31e6}, True, "NO"),
    ({"p99_ns": 36e6}, True, "NO"),
    ({"p99_ns": 36e6}, False, "yes"),
    ({"longest_ns": 900e6}, True, "yes"),
])
def test_waits_beside_an_extender_are_judged(bench, changes, limits, met):
    assert sched.check_extender(bench, waited(shape="none"), waited(**changes), limits) == met
