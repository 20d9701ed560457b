"""The analysis of runs with trouble, on creates made by hand."""

import pytest

import audit
import plots
import trouble
import verdicts
from shapes import Shape
from test_audit import CONTROLLER, SCHEDULER, line


def even(begin, end, per_s):
    """Moments at a fixed rate."""
    return [begin + index / per_s for index in range(int((end - begin) * per_s))]


def test_the_rate_is_back_with_the_first_half_second_at_it():
    times = even(0, 5, 100) + even(5, 10, 10) + even(10, 12, 50) + even(12, 20, 100)
    # From 11.9 on half a second has 5 + 40 creates.
    assert trouble.recovery(times, 10, 90) == pytest.approx(1.9)
    assert trouble.recovery(times, 10, 100) == pytest.approx(2.0)
    assert trouble.recovery(times, 10, 101) is None


def test_a_rate_that_never_was_lower_is_back_at_once():
    assert trouble.recovery(even(0, 20, 100), 10, 90) == 0


def test_half_a_second_that_is_not_whole_counts_for_nothing():
    assert trouble.recovery(even(0, 10.4, 100), 10, 90) is None
    assert trouble.recovery(even(0, 10.6, 100), 10, 90) == 0
    assert trouble.recovery([], 10, 90) is None


def test_never_back_is_not_a_time():
    times = even(0, 5, 100) + even(5, 10, 10) + even(10, 60, 80)
    assert trouble.recovery(times, 10, 90) is None
    # What was held back comes at once when the trouble ends: too little for half a second.
    assert trouble.recovery(sorted(times + even(10, 10.02, 200)), 10, 90) is None


def test_the_rate_before_is_a_median_that_a_slow_start_does_not_lower():
    times = even(0, 1, 2) + even(1, 5, 100) + even(5, 5.2, 1000)
    assert trouble.median_rate(times, 0, 5.2) == pytest.approx(100, rel=0.05)
    assert trouble.median_rate(times, 0, 0.4) is None


def run(rates=(100, 10, 100)):
    """Ten seconds before, five during, five after, with these rates."""
    pods = [at for begin, end, rate in zip((10, 20, 25), (20, 25, 30), rates)
            for at in even(begin, end, rate)]
    lines = [line("admin", "create", "jobs", "j00000", 9.9, 9.95)]
    lines += [line(CONTROLLER, "create", "pods", f"j00000-main-{i}", at - 0.01, at)
              for i, at in enumerate(pods)]
    lines += [line(SCHEDULER, "create", "pods/binding", f"j00000-main-{i}", 40, 40.1)
              for i in range(len(pods))]
    zero = audit.seconds("2026-01-02T03:04:00.000000Z")
    limits = [[zero + at, limit] for at, limit in ((12, 16), (21, 4), (24, 2), (26, 9), (29, 20))]
    return {"kind": "slow", "usage": {}, **trouble.analyse(
        audit.parse(lines), "ns", Shape(1, len(pods)), zero + 20, zero + 25, limits)}


def data(**change):
    return {"kind": "trouble", "shape": {"jobs": 1, "pods": 1550, "nodes": 2},
            "provenance": {"date": "2026-01-02T03:04:05", "commit": "abc"},
            "runs": [{**run(), **change}]}


def test_rates_and_times_are_told_from_the_begin_of_the_run():
    found = run()
    assert (found["begin_s"], found["end_s"]) == pytest.approx((10.1, 15.1))
    assert found["before_per_s"] == pytest.approx(100, rel=0.01)
    assert found["during_per_s"] == pytest.approx(10, rel=0.01)
    assert found["recovered_s"] == 0
    assert trouble.limits_of(found) == (2, 20)


def test_a_run_that_never_comes_back_is_not_accepted():
    assert run((100, 10, 50))["recovered_s"] is None
    assert run((100, 10, 50))["after_per_s"] is None  # nothing is left 5 s later
    assert verdicts.all_met(trouble.checks(data()))
    assert not verdicts.all_met(trouble.checks(data(recovered_s=None)))


@pytest.mark.parametrize("change, met", [
    ({"recovered_s": 5.0}, True), ({"recovered_s": 5.1}, False), ({"surplus_creates": 1}, False),
    ({"binds": 1549}, False), ({"failures": {"controller create pods 409": 1}}, False)])
def test_nothing_may_be_lost_and_the_rate_is_back_in_time(change, met):
    assert verdicts.all_met(trouble.checks(data(**change))) == met


def test_report_and_plot(tmp_path):
    text = trouble.markdown(data(), "picture")
    assert "| slow | 10.1 | 15.1 | 100 | 10 | 0.0 | - | 2 | 20 |" in text
    plots.draw_trouble(data(), tmp_path / "one")
    assert "slow: back after 0.0 s" in (tmp_path / "one.svg").read_text()
