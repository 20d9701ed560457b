"""Triples, verdicts and the report of fanout, without a control plane."""

import copy
from types import SimpleNamespace

import pytest

import audit
import fanout
import report
from test_audit import clean


def run_of(mode, whole=3.0):
    """A run without a fault that took `whole` seconds."""
    used = {name: {"cpu_s": 1.0, "rss_peak_mib": 20.0} for name in report.PROCESSES}
    used["kube-apiserver"]["cpu_s"] = 20.0
    return {"mode": mode, **audit.summarise(audit.parse(clean()), "ns", 2, 2),
            "whole_run_s": whole, "usage": used}


def data_of(ours=3.0, bare=(3.0, 3.0), change=None):
    """Data of one triple; change edits our run."""
    runs = [run_of("bare", bare[0]), run_of("ours", ours), run_of("bare", bare[1])]
    if change:
        change(runs[1])
    return {"shape": {"jobs": 2, "pods": 2, "nodes": 2}, "max_ratio": 1.5, "used": [0],
            "provenance": {"date": "2026-01-02T03:04:05", "commit": "abc", "command": "fanout"},
            "triples": [{"number": 1, "attempt": 1, "runs": runs,
                         "spread": fanout.spread(runs[0], runs[2]),
                         "ratio": ours / ((bare[0] + bare[1]) / 2)}]}


def unmet(data):
    return [check["what"] for check in report.checks(data) if check["required"] and
            not check["met"]]


def test_a_clean_run_meets_all_that_is_required():
    assert unmet(data_of()) == []


@pytest.mark.parametrize("ours, met", [(4.5, True), (4.51, False)])
def test_the_ratio_at_its_limit_and_past_it(ours, met):
    assert (unmet(data_of(ours)) == []) == met


@pytest.mark.parametrize("key, what", [
    ("pod_creates", "pod creates"), ("surplus_creates", "surplus creates"), ("binds", "binds"),
    ("bind_posts", "bind requests"), ("conflicts", "answers 409")])
def test_each_count_is_required_to_be_exact(key, what):
    assert unmet(data_of(change=lambda run: run.update({key: run[key] + 1}))) == [what]


def test_refused_writes_and_jobs_over_their_budget_are_not_accepted():
    def change(run):
        run["failures"] = {"controller create pods 403": 1}
        run["budget"]["over"] = {"j00001": [9, 7]}
    data = data_of(change=change)
    assert unmet(data) == ["refused writes", "Job and PodGroup writes"]
    assert "- j00001: 9 writes, 7 allowed" in report.markdown(data)


def test_a_count_is_wrong_if_it_is_wrong_in_a_repeated_triple():
    data = data_of()
    spoilt = copy.deepcopy(data["triples"][0])
    spoilt["runs"][1]["conflicts"] = 1
    data["triples"].insert(0, spoilt)
    data["used"] = [1]
    assert unmet(data) == ["answers 409"]


def test_memory_and_gap_are_told_and_decide_nothing():
    data = data_of(change=lambda run: run["usage"]["pumice-webhook"].update(rss_peak_mib=32.1))
    checks = {check["what"]: check for check in report.checks(data)}
    assert not checks["memory of pumice-webhook"]["met"]
    assert not checks["longest creation gap"]["met"]  # 1.6 s in the log made by hand
    assert unmet(data) == []


def test_the_report_has_every_run_and_its_origin():
    text = report.markdown(data_of(ours=4.0))
    assert "- commit: abc" in text
    assert "| 1.1 | ours | 4.00 |" in text
    assert text.count("| 1.1 | bare |") == 2
    assert "| controller | create | pods | 201 | 4 |" in text


def bench_of(times):
    """A bench whose runs take the given times, one after the other."""
    left = iter(times)
    return SimpleNamespace(run=lambda mode: run_of(mode, next(left)))


def test_a_triple_is_repeated_until_its_bare_runs_agree():
    saved = []
    made = fanout.triple(bench_of([10, 20, 11.6, 10, 13, 11.4]), 1, saved.append)
    assert [one["attempt"] for one in saved] == [1, 2]
    assert made["ratio"] == pytest.approx(13 / 10.7)


def test_a_triple_is_tried_three_times_at_most():
    saved = []
    made = fanout.triple(bench_of([10, 10, 20] * 3), 1, saved.append)
    assert len(saved) == 3
    assert made is saved[-1]


def test_usage_of_a_run_covers_bare_runs_without_our_pair():
    data = data_of()
    for name in ("pumice-controller", "pumice-scheduler"):
        del data["triples"][0]["runs"][0]["usage"][name]
        del data["triples"][0]["runs"][2]["usage"][name]
    assert "| pumice-scheduler | - | - | 1.00 | 20.0 |" in report.usage(data)
