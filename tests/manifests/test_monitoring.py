"""Alerts and dashboards: Prometheus understands them, they name what is documented, and alerts fire when they should."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/packaging"))

import monitoring  # noqa: E402
import render  # noqa: E402

ALERTS = monitoring.alerts()
# Documented, and of no use on a dashboard: times of single jobs, weights that are always 1.
NOT_SHOWN = {"volcano_e2e_job_scheduling_start_time", "volcano_e2e_job_scheduling_last_time",
             "volcano_namespace_weight", "volcano_namespace_weighted_share"}
# Labels that come from the target, or from the metric that an expression joins.
OF_TARGETS = {"instance", "program"}


@pytest.fixture(scope="module")
def asked():
    return monitoring.asked()


# --- what is named ---

def test_prometheus_loads_the_rules():
    done = render.run("promcheck", "rules", monitoring.ALERTS)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("before, after, message", [
    ("== 0\n", "== \n", "could not parse expression"),
    ("for: 5m", "for: 5", "not a valid duration string"),
    ("{{ $labels.program }}", "{{ $labels.program", "not defined"),
    ("{{ $labels.program }}", "{{ $label.program }}", "undefined variable"),
])
def test_rules_that_prometheus_would_not_load_are_found(tmp_path, before, after, message):
    broken = tmp_path / "alerts.yaml"
    text = monitoring.ALERTS.read_text()
    assert before in text
    broken.write_text(text.replace(before, after, 1))
    done = render.run("promcheck", "rules", broken)
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_dashboards_are_up_to_date():
    done = subprocess.run([sys.executable, render.MANIFESTS / "monitoring/generate-dashboards", "--check"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_asked_for_is_documented(asked):
    table, wrong = monitoring.documented(), []
    for where, names in asked.items():
        labels = set()
        for selector in names["selectors"]:
            family = monitoring.family(selector["metric"], table)
            if family not in table:
                wrong.append(f"{where}: {selector['metric']}")
                continue
            labels |= table[family][1] | ({"le"} if family != selector["metric"] else set())
            wrong += [f"{where}: {selector['metric']} by {one}" for one in selector["labels"] if one not in labels]
        wrong += [f"{where}: by {one}" for one in names["grouping"] if one not in labels | OF_TARGETS]
    assert not wrong


def test_parts_of_histograms_are_of_histograms(asked):
    table = monitoring.documented()
    for where, names in asked.items():
        for selector in names["selectors"]:
            family = monitoring.family(selector["metric"], table)
            kind = table[family][0]
            assert (kind == "histogram") == (family != selector["metric"]), (where, selector["metric"])


def test_rates_are_of_counters():
    """A rate of a gauge, or a counter as it is, means nothing."""
    table = monitoring.documented()
    counters = {name for name, (kind, _, _) in table.items() if kind == "counter"}
    for where, text in monitoring.expressions().items():
        for function, metric in re.findall(r"(\w+)\((\w+?)(?:_bucket)?(?:\{[^}]*\})?\[", text):
            wanted = {"delta": "gauge"}.get(function, "counter")
            kind = table[metric][0].replace("histogram", "counter")
            assert kind == wanted, f"{where}: {function} of the {table[metric][0]} {metric}"
        for metric in counters:
            for use in re.finditer(rf"\b{metric}\b(\{{[^}}]*\}})?(.)", text):
                assert use[2] == "[", f"{where}: {metric} as it is"


def test_every_metric_is_shown(asked):
    table = monitoring.documented()
    shown = {monitoring.family(selector["metric"], table) for where, names in asked.items()
             if not where.startswith("alert ") for selector in names["selectors"]}
    assert table.keys() - shown == NOT_SHOWN


def test_panels_have_units_and_targets():
    titles = [(name, panel["title"]) for name, panel in monitoring.panels()]
    assert len(titles) == len(set(titles))
    for name, panel in monitoring.panels():
        assert panel["targets"] and panel["fieldConfig"]["defaults"]["unit"], (name, panel["title"])
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24


def test_gauges_of_replicas_are_not_summed():
    """A standby tells what the leader tells."""
    gauges = {name for name, (kind, _, _) in monitoring.documented().items()
              if kind == "gauge" and name.startswith(("pumice_scheduler_", "volcano_"))}
    for where, text in monitoring.expressions().items():
        for metric in gauges:
            assert not re.search(rf"sum( by \([^)]*\))? ?\({metric}\b", text), where


# --- alerts ---

def headings():
    text = (ROOT / "docs/troubleshooting.md").read_text()
    return {re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-")
            for line in re.findall(r"^#+ (.*)$", text, re.M)}


@pytest.mark.parametrize("name", ALERTS)
def test_alerts_say_what_to_do(name):
    rule = ALERTS[name]
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["runbook"] == f"docs/troubleshooting.md#{name.lower()}"
    assert name.lower() in headings()


STEP, END = 30, 3600  # seconds between two samples; when alerts are looked at
ALWAYS = END // STEP


def constant(value):
    return f"{value}x{ALWAYS}"


def growing(step):
    return f"0+{step}x{ALWAYS}"


PROGRAMS = {"a": "pumice-scheduler", "b": "pumice-scheduler", "c": "pumice-controller", "w": "pumice-webhook"}
INFO = {f'pumice_build_info{{instance="{instance}",program="{program}",version="1"}}': constant(1)
        for instance, program in PROGRAMS.items()}
NO_WEBHOOK = {name: values for name, values in INFO.items() if "webhook" not in name}


def by_instance(metric, labels="", **values):
    """Series of a metric by instance, with those that tell the program."""
    return {**INFO, **{f'{metric}{{instance="{instance}"{labels}}}': one for instance, one in values.items()}}


def shards(**numbers):
    return by_instance("pumice_controller_shards", **{name: constant(number) for name, number in numbers.items()})


def two_jobs(metric, value):
    """One target that two jobs of Prometheus scrape."""
    return {f'{name[:-1]},job="{job}"}}': values for name, values in by_instance(metric, a=value).items()
            for job in ("pods", "services")}


def buckets(metric, bounds, upto, labels='instance="a"'):
    """A histogram of which each value is above the bound before `upto`, and not above that."""
    return {f'{metric}_bucket{{{labels},le="{le}"}}': growing(1 if le == "+Inf" or float(le) >= upto else 0)
            for le in bounds}


def results(metric, extra="", **rates):
    return {f'{metric}{{instance="a",result="{result}"{extra}}}': growing(step) for result, step in rates.items()}


LEASES = ("pumice_window_request_seconds", ("0.01", "5", "10", "+Inf"))
CYCLES = ("volcano_e2e_scheduling_latency_milliseconds", ("100", "2000", "5000", "+Inf"))
REVIEWS = ("pumice_admission_review_seconds", ("0.01", "0.1", "1", "+Inf"))
LEASE = 'instance="a",class="lease"'
STALENESS = ("pumice_watch_staleness_seconds", ',resource="pods"')
ATTEMPTS = "volcano_schedule_attempts_total"
WAITING = {'pumice_scheduler_waiting_pods{instance="a"}': constant(3)}
DAY = 86400


def writes(failed):
    return {**by_instance("pumice_window_failed_total", a=growing(failed), c=growing(0)),
            **by_instance("pumice_window_sent_total", ',class="create"', a=growing(20), c=growing(20))}


def turned_away(metric, step):
    return {f'pumice_admission_{name}_total{{instance="w"}}': growing(step if name == metric else 0)
            for name in ("rejected", "cut", "refused")}


# {alert: ([series on which it fires], [series on which it does not])}
CASES = {
    "PumiceDown": ([NO_WEBHOOK, {}], [INFO]),
    "PumiceNoLeader": ([by_instance("pumice_leader", a=constant(0), b=constant(0), c=constant(1))],
                       [by_instance("pumice_leader", a=constant(0), b=constant(1), c=constant(1)), INFO]),
    "PumiceTwoLeaders": ([by_instance("pumice_leader", a=constant(1), b=constant(1))],
                         [by_instance("pumice_leader", a=constant(1), b=constant(0), c=constant(1)),
                          two_jobs("pumice_leader", constant(1))]),
    "PumiceShardsAtRest": ([shards(c=32), shards(c=0, d=0), shards(c=32, d=31)],
                           [shards(c=64), shards(c=64, d=0), shards(c=32, d=32), INFO]),
    "PumiceShardsTwice": ([shards(c=64, d=64), shards(c=64, d=1)], [shards(c=64, d=0), shards(c=32, d=32)]),
    "PumiceRestarts": ([by_instance("process_cpu_seconds_total", a="1 2 0 " * 40)],
                       [by_instance("process_cpu_seconds_total", a=growing(1)),
                        by_instance("process_cpu_seconds_total", a=f"0+1x{ALWAYS - 3} 0 1 2"),
                        by_instance("process_cpu_seconds_total", other="1 2 0 " * 40)]),
    "PumiceLoopBlocked": ([by_instance("pumice_loop_longest_turn_seconds", a=f"0.1x{ALWAYS - 10} 1.5x9")],
                          [by_instance("pumice_loop_longest_turn_seconds", a=constant(1.5)),
                           by_instance("pumice_loop_longest_turn_seconds", a=f"0.1x{ALWAYS - 10} 0.5x9")]),
    "PumiceWatchStale": ([by_instance(*STALENESS, a=constant(10), b=constant(121))],
                         [by_instance(*STALENESS, a=constant(119), b=constant(55))]),
    "PumiceWritesFail": ([writes(2)], [writes(0.5), writes(0)]),
    "PumiceWritesThrottled": ([by_instance("pumice_window_throttled_total", a=growing(60))],
                              [by_instance("pumice_window_throttled_total", a=growing(15))]),
    "PumiceLeaseSlow": ([{**INFO, **buckets(*LEASES, upto=10, labels=LEASE)}],
                        [{**INFO, **buckets(*LEASES, upto=5, labels=LEASE)},
                         {**INFO, **buckets(*LEASES, upto=10, labels='instance="a",class="create"')}]),
    "PumiceEventsDropped": ([by_instance("pumice_events_dropped_total", a=growing(1))],
                            [by_instance("pumice_events_dropped_total", a=constant(5))]),
    "PumiceNothingPlaced": ([WAITING, {**WAITING, **results(ATTEMPTS, scheduled=0, error=1)}],
                            [{**WAITING, **results(ATTEMPTS, scheduled=1)},
                             {'pumice_scheduler_waiting_pods{instance="a"}': f"3x{ALWAYS - 20} 0x4 3x14"}]),
    "PumiceBindsFail": ([results(ATTEMPTS, scheduled=10, error=1), results(ATTEMPTS, error=1)],
                        [results(ATTEMPTS, scheduled=100, error=1), results(ATTEMPTS, scheduled=0, error=0)]),
    "PumiceNoNodes": ([{'pumice_scheduler_nodes{instance="a"}': constant(0)}],
                      [{'pumice_scheduler_nodes{instance="a"}': constant(1)}]),
    "PumiceCyclesSlow": ([buckets(*CYCLES, upto=5000)], [buckets(*CYCLES, upto=2000)]),
    "PumiceEvictionsRefused": ([results("pumice_scheduler_evictions_total", refused=2, done=1)],
                               [results("pumice_scheduler_evictions_total", refused=1, done=2),
                                results("pumice_scheduler_evictions_total", refused=0, done=0)]),
    "PumiceExtenderFails": (
        [results("pumice_extender_requests_total", ',verb="predicate"', answered=4, failed=1)],
        [results("pumice_extender_requests_total", ',verb="predicate"', answered=40, failed=1)]),
    "PumiceCertificateEnds": ([{'pumice_certificate_expiry_seconds{instance="w"}': constant(END + 13 * DAY)}],
                              [{'pumice_certificate_expiry_seconds{instance="w"}': constant(END + 15 * DAY)}]),
    "PumiceCertificateTrouble": ([{'pumice_certificate_trouble{instance="w"}': constant(1)}],
                                 [{'pumice_certificate_trouble{instance="w"}': constant(0)}]),
    "PumiceRegistrationsMissing": ([{'pumice_webhook_configurations_missing{instance="w"}': constant(1)}],
                                   [{'pumice_webhook_configurations_missing{instance="w"}': constant(0)}]),
    "PumiceReviewErrors": ([results("pumice_admission_reviews_total", ',path="/jobs/validate"', error=1)],
                           [results("pumice_admission_reviews_total", ',path="/jobs/validate"', error=0, denied=1)]),
    "PumiceReviewsSlow": ([buckets(*REVIEWS, upto=1)], [buckets(*REVIEWS, upto=0.1)]),
    "PumiceConnectionsRefused": ([turned_away(metric, 6) for metric in ("rejected", "cut", "refused")],
                                 [turned_away("cut", 1)]),
}


def evaluate(alert, series):
    return {"series": series, "step": STEP, "expr": ALERTS[alert]["expr"], "at": END}


def test_each_alert_is_tried():
    assert CASES.keys() == ALERTS.keys()


def test_alerts_fire_when_they_should_and_only_then():
    asked = [(alert, fires, series) for alert, cases in CASES.items() for fires, group in zip((True, False), cases)
             for series in group]
    answers = render.promcheck("eval", [evaluate(alert, series) for alert, _, series in asked])
    wrong = [(alert, "does not fire" if fires else "fires", series, found)
             for (alert, fires, series), found in zip(asked, answers) if bool(found) != fires]
    assert not wrong
    for (alert, _, _), found in zip(asked, answers):
        used = set(re.findall(r"\$labels\.(\w+)", str(ALERTS[alert]["annotations"])))
        for sample in found:
            assert used <= sample["labels"].keys(), f"the summary of {alert} names labels that it has not"
