"""The analysis of probes, on a log made by hand."""

from types import SimpleNamespace

import pytest

import audit
import probe
import verdicts
from shapes import Shape
from test_audit import CONTROLLER, SCHEDULER, line


def probe_lines(name, at, created, bind=0.01):
    """A job of one pod: its pod is created after `created` seconds, bound from 0.1 s later on."""
    pod, done, group = f"{name}-main-0", at + created, f"{name}-uid"
    return [line("admin", "create", "jobs", name, at, at + 0.005),
            line(CONTROLLER, "create", "podgroups", group, at + 0.01, at + 0.02),
            line(SCHEDULER, "patch", "podgroups", group, at + 0.024, at + 0.03),
            line(SCHEDULER, "patch", "podgroups", group, done + 0.2, done + 0.3),
            line(CONTROLLER, "create", "pods", pod, done - 0.01, done),
            line(SCHEDULER, "create", "pods/binding", pod, done + 0.1, done + 0.1 + bind)]


def large_lines(at, pods=4):
    """A job whose pods are created 0.5 s apart, and bound at last."""
    names = [f"j00000-main-{index}" for index in range(pods)]
    return ([line("admin", "create", "jobs", "j00000", at, at + 0.01)]
            + [line(CONTROLLER, "create", "pods", name, at + index / 2, at + (index + 1) / 2)
               for index, name in enumerate(names)]
            + [line(SCHEDULER, "create", "pods/binding", name, at + 5, at + 5.1) for name in names])


def log():
    """Two probes of an idle cluster, a large job at second 20, and probes beside it."""
    return (probe_lines("p00000", 10, 0.05) + probe_lines("p00001", 11, 0.06)
            + probe_lines("p50000", 19.9, 0.5)               # submitted before the large job
            + large_lines(20)
            + probe_lines("p50001", 20.5, 0.2, bind=0.02) + probe_lines("p50002", 21.9, 0.4, bind=0.04)
            + probe_lines("p50003", 22.1, 0.7))              # after its last create


def samples():
    return probe.samples(audit.parse(log()), "ns")


def test_probes_count_in_the_part_that_they_belong_to():
    found = samples()
    assert found["idle"]["created"] == pytest.approx([50, 60])
    assert found["loaded"]["created"] == pytest.approx([200, 400])
    assert found["loaded"]["at"] == pytest.approx([0.5, 1.9])


def test_a_bind_is_the_request_alone_and_bound_is_from_the_creation_on():
    found = samples()
    assert found["idle"]["bind"] == pytest.approx([10, 10])
    assert found["loaded"]["bind"] == pytest.approx([20, 40])
    assert found["loaded"]["bound"] == pytest.approx([120, 140])


def test_a_wait_is_what_no_request_takes():
    """The pod is created in 10 ms, up to the end of `created`, and bound 100 ms later."""
    found = samples()
    assert found["idle"]["wait"] == pytest.approx([4 + 10 + 100, 4 + 20 + 100])
    assert found["loaded"]["wait"] == pytest.approx([4 + 160 + 100, 4 + 360 + 100])


def test_requests_side_by_side_count_once_in_a_wait():
    """A patch within the pod's create, one that outlasts it, and one that is too late to matter."""
    group, pod = "p1-uid", "p1-main-0"
    log_lines = [line(CONTROLLER, "create", "podgroups", group, 1, 2),
                 line(SCHEDULER, "patch", "podgroups", group, 2, 3),
                 line(CONTROLLER, "create", "pods", pod, 4, 7),
                 line(CONTROLLER, "patch", "podgroups", group, 5, 6),
                 line(SCHEDULER, "patch", "podgroups", group, 6.5, 8),
                 line(SCHEDULER, "patch", "podgroups", group, 11, 12),
                 line(SCHEDULER, "create", "pods/binding", pod, 10, 13)]
    *steps, bind = audit.parse(log_lines)
    assert probe.wait(steps, bind) == pytest.approx(1 + 2)


def test_the_large_job_is_told():
    large = samples()["large"]
    assert (large["pods"], large["created_s"]) == (4, pytest.approx(2.0))
    assert sum(large["curve"]["created"]) == 4


def data(pods=4, **change):
    found = samples()
    for part, values in change.items():
        found[part].update(values)
    used = {"kube-apiserver": {"cpu_s": 1.0, "rss_peak_mib": 20.0}}
    return {"kind": "probe", "shape": {"jobs": 1, "pods": pods, "nodes": 2},
            "provenance": {"date": "2026-01-02T03:04:05", "commit": "abc"},
            "runs": [{**found, "usage": used}]}


@pytest.mark.parametrize("pods, created, bind, wait, met", [
    (10000, 1000.0, 30.0, 50.0, True), (10000, 1000.1, 30.0, 50.0, False),
    (10000, 1000.0, 30.1, 50.0, False), (10000, 1000.0, 30.0, 50.1, False),
    (9999, 5000.0, 90.0, 99.0, True)])
def test_targets_hold_at_their_limit_and_not_one_past_it(pods, created, bind, wait, met):
    found = data(pods, idle={"bind": [10.0], "wait": [wait]},
                 loaded={"created": [created], "bind": [bind]})
    assert verdicts.all_met(probe.checks(found)) == met


def test_the_report_has_all_runs_together_and_each():
    text = probe.markdown(data(), "picture")
    assert "![Probes over time](picture.svg)" in text
    assert "| all | beside the large job | created | 2 | 200.0 | 400.0 | 400.0 |" in text
    assert "| 1 | idle cluster | bind | 2 | 10.0 | 10.0 | 10.0 |" in text
    assert "| 1 | 4 | 2.00 |" in text
    assert "| all | idle cluster | wait | 2 | 114.0 | 124.0 | 124.0 |" in text
    assert "| wait of a one-pod job on the idle cluster, p99 |" in text


def test_raw_data_without_waits_can_be_told_again():
    found = data()
    for part in probe.PARTS:
        del found["runs"][0][part]["wait"]
    assert "wait of a one-pod job" not in probe.markdown(found, None)


class Parser:
    """What complete() needs of a parser."""

    def get_default(self, _name):
        return 100

    def error(self, text):
        raise ValueError(text)


def options(**change):
    return SimpleNamespace(**{"probe": True, "shape": [], "shapes": [Shape(20, 100)], "nodes": 200,
                              **change})


def test_the_large_job_has_ten_thousand_pods_unless_told_otherwise():
    for pods, wanted in ((100, 10000), (300, 300)):
        given = options(shapes=[Shape(20, pods)])
        probe.complete(Parser(), given)
        assert given.shapes == [Shape(1, wanted)]


def test_probes_need_one_job_and_room():
    with pytest.raises(ValueError, match="shapes of one job"):
        probe.complete(Parser(), options(shape=["2x5"], shapes=[Shape(2, 5)]))
    with pytest.raises(ValueError, match="no room"):
        probe.complete(Parser(), options(shape=["1x10000"], shapes=[Shape(1, 10000)], nodes=95))
