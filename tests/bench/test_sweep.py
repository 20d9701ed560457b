"""The analysis of window sweeps."""

import pytest

import sweep
import verdicts
from sweep import ADAPTIVE


def run(by, window, rate, latency, delay=0):
    return {"by": by, "window": window, "delay_ms": delay, "per_s": rate, "p50_ms": latency,
            "p99_ms": 2 * latency, "in_flight": 3.0, "surplus_creates": 0, "failures": {},
            "creates": 10, "curve": [10], "step_s": 0.1}


def data(adaptive=100.0, latency=20.0, delay=0):
    runs = [run("ours", ADAPTIVE, adaptive, latency, delay), run("ours", 8, 60, 5, delay),
            run("bare", 8, 70, 5, delay), run("ours", 64, 100, 10, delay),
            run("bare", 64, 200, 10, delay), run("ours", ADAPTIVE, adaptive, latency, delay)]
    return {"kind": "sweep", "shape": {"jobs": 1, "pods": 10, "nodes": 2}, "runs": runs,
            "provenance": {"date": "2026-01-02T03:04:05", "commit": "abc"}}


@pytest.mark.parametrize("rate, latency, met", [
    (90.0, 20.0, True), (89.9, 20.0, False), (90.0, 20.1, False)])
def test_the_adaptive_window_is_held_against_the_best_fixed_one_of_the_controller(rate, latency, met):
    assert verdicts.all_met(sweep.checks(data(rate, latency))) == met


def test_the_ideal_client_is_told_and_decides_nothing():
    rows = [row for row in sweep.checks(data()) if "loadgen" in row["what"]]
    assert [row["met"] for row in rows] == [False, True]
    assert not any(row["required"] for row in rows)
    assert "(64)" in rows[0]["what"]


def test_each_distance_is_judged_by_itself():
    found = data()
    found["runs"] += data(adaptive=10.0, delay=50)["runs"]
    unmet = [row["what"] for row in sweep.checks(found) if row["required"] and not row["met"]]
    assert unmet == ["+50 ms, best fixed window of the controller (64): creates/s"]


def test_the_adaptive_figure_is_the_median_of_its_runs():
    found = data()
    found["runs"][0].update(per_s=80.0, p50_ms=10.0)
    assert sweep.adaptive(found, 0) == (90.0, 15.0)


def test_a_fixed_window_is_fixed_and_the_adaptive_one_is_as_shipped():
    assert sweep.window_flags(64) == {"fixed-inflight": 64}
    assert sweep.window_flags(ADAPTIVE) == {}


def entry(**change):
    return {"done": True, "verb": "create", "resource": "pods", "subresource": "",
            "name": "j00000-main-1", **change}


def test_only_answered_creates_of_the_jobs_pods_are_taken_from_the_proxys_log():
    assert sweep.is_create(entry())
    for change in ({"done": False}, {"verb": "delete"}, {"resource": "jobs"},
                   {"subresource": "binding"}, {"name": "first-main-0"}):
        assert not sweep.is_create(entry(**change))


def test_requests_in_flight_are_the_sum_of_their_times_over_the_span():
    found = sweep.figures(
        {"creates": {"per_s": 5.0, "span_s": 2.0}, "surplus_creates": 0, "failures": {},
         "curves": {"created": [1], "step_s": 0.1}}, [400.0, 1000.0, 600.0])
    assert found["in_flight"] == pytest.approx(1.0)
    assert (found["p50_ms"], found["creates"]) == (600.0, 3)


def test_adaptive_runs_lie_around_the_others():
    order = sweep.order([8, 16])
    assert order[0] == order[-1] == ("ours", ADAPTIVE)
    assert order[1:-1] == [("ours", 8), ("bare", 8), ("ours", 16), ("bare", 16)]


def test_the_report_has_every_run():
    text = sweep.markdown(data(), "picture")
    assert "![Rates and latencies](picture.svg)" in text
    assert text.count("| controller | adaptive |") == 2
    assert "| 0 | loadgen | 64 | 200 | 10.0 | 20.0 | 3.0 | 0 | 0 |" in text
