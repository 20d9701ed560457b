"""The arithmetic of curves, on times made by hand."""

import pytest

import curves


def test_counts_lie_in_the_steps_since_the_start():
    assert curves.per_step([10.0, 10.05, 10.1, 10.35], 10, 0.1) == [2, 1, 0, 1]
    assert curves.per_step([], 10, 0.1) == []


def test_a_time_on_the_border_of_a_step_belongs_to_the_later_one():
    # 0.3 / 0.1 is a little less than 3 in binary.
    assert curves.per_step([0.3], 0, 0.1) == [0, 0, 0, 1]


def test_a_long_curve_gets_wider_steps_and_no_more_points():
    assert curves.step_for(49.9) == pytest.approx(0.1)
    assert curves.step_for(50.0) == pytest.approx(0.2)
    long = curves.curves({"created": [0, 600], "bound": [1]}, 0)
    assert long["step_s"] == 1.3
    assert len(long["created"]) <= curves.POINTS
    assert sum(long["created"]) == 2


def test_even_creates_vary_less_than_bursts():
    even = [step / 100 for step in range(101)]
    bursts = [step // 20 * 0.2 + step / 10000 for step in range(101)]
    assert curves.variation(even) == pytest.approx(0)
    assert curves.variation(bursts) > 0.9


def test_two_steps_are_too_few_to_vary():
    assert curves.variation([0, 0.15, 0.29]) is None
    assert curves.variation([0, 0.15, 0.25, 0.35]) is not None
    assert curves.variation([]) is None


def test_a_gang_is_complete_with_its_last_pod_and_not_before():
    found = curves.complete({"a": [3, 1, 2], "b": [1, 2], "c": [5, 4, 6, 7]}, 3)
    assert found == {"a": 3, "c": 6}


def test_in_turn_all_gangs_complete_in_the_last_round():
    slots = range(1, 7)
    opened = {"a": 0, "b": 0, "c": 0}
    assert curves.round_robin(slots, opened, 2) == {"a": 4, "b": 5, "c": 6}


def test_a_job_that_opens_later_takes_its_turns_from_then_on():
    found = curves.round_robin([1, 2, 3, 4, 5, 6], {"a": 0, "b": 3.5}, 3)
    # a has the first three slots to itself and is complete; b has the rest.
    assert found == {"a": 3, "b": 6}
    found = curves.round_robin([1, 2, 3, 4, 5, 6], {"a": 0, "b": 2}, 3)
    assert found == {"a": 4, "b": 6}


def test_a_slot_before_any_job_is_open_goes_to_the_first_that_will_be():
    assert curves.round_robin([1, 2], {"a": 5, "b": 6}, 1) == {"a": 1, "b": 2}


def test_slots_beyond_all_pods_are_nobodys():
    assert curves.round_robin([1, 2, 3], {"a": 0}, 2) == {"a": 2}


def test_the_summary_of_gangs_counts_from_the_start():
    found = curves.gang_summary({"a": 12, "b": 14, "c": 19}, 10)
    assert (found["gangs"], found["mean_s"], found["p50_s"], found["last_s"]) == (3, 5, 4, 9)
    assert found["curve"] == [[2, 1], [4, 2], [9, 3]]
    assert curves.gang_summary({}, 10) is None


def test_the_curve_of_many_gangs_has_few_points_and_ends_with_the_last():
    found = curves.gang_summary({str(i): i for i in range(1, 10001)}, 0)["curve"]
    assert len(found) == curves.RANKS
    assert found[0] == [100, 100]
    assert found[-1] == [10000, 10000]


@pytest.mark.parametrize("count, p50, p99", [(1, 1, 1), (100, 50, 99), (101, 51, 100), (4, 2, 4)])
def test_percentiles_are_values_that_occurred(count, p50, p99):
    found = curves.spread(range(count, 0, -1))
    assert (found["count"], found["p50"], found["p99"], found["max"]) == (count, p50, p99, count)


def test_the_spread_of_nothing():
    assert curves.spread([]) == {"count": 0}


def test_running_totals():
    assert curves.summed([2, 0, 3]) == [2, 2, 5]
