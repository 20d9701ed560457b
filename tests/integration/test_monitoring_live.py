"""What alerts and dashboards ask for is on the pages of running binaries, and on those of a cluster that is well no
alert fires. What an expression means is tested in tests/manifests/test_monitoring.py."""

import re
import sys

import pytest

from harness import ROOT
from harness.objects import job, task

sys.path.insert(0, str(ROOT / "tests/packaging"))

import monitoring  # noqa: E402
import render  # noqa: E402

BINARIES = ("controller", "scheduler", "webhook")
LABELS = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
STEP, SAMPLES = 30, 120


def page(pumice, name):
    """The text of /metrics of a binary."""
    binary = getattr(pumice, name)
    status, text = binary.get("/metrics", binary.metrics_flag)
    assert status == 200
    return text


def families(text):
    """{name: [labels of each series]} of a page; of histograms under the names of their parts, too."""
    found = {name: [] for name in re.findall(r"^# TYPE (\S+) \S+$", text, re.M)}
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    for name, kind in kinds.items():
        if kind == "histogram":
            found.update({f"{name}_{part}": [] for part in ("bucket", "sum", "count")})
    for name, labels in re.findall(r"^([a-z_]\w*)(\{.*\})? \S+$", text, re.M):
        found[name].append(dict(LABELS.findall(labels)))
    return found


@pytest.fixture
def pages(api, ns, pumice):
    """{name: families} of all three, after a job has gone through them."""
    api.create_job(ns, job("one", [task("w", 1, script="sleep 1")]))
    api.wait_phase(ns, "one", "Completed")
    return {name: families(page(pumice, name)) for name in BINARIES}


def test_every_metric_that_is_asked_for_is_there(pages):
    on_pages = {}
    for found in pages.values():
        for name, series in found.items():
            on_pages.setdefault(name, []).extend(series)
    table, wrong = monitoring.documented(), []
    for where, names in monitoring.asked().items():
        for selector in names["selectors"]:
            metric = selector["metric"]
            if metric not in on_pages:
                wrong.append(f"{where}: there is no {metric}")
                continue
            meaning = table[monitoring.family(metric, table)][2]
            for label, condition in selector["labels"].items():
                wanted = re.fullmatch(r"=([^~].*)", condition)
                seen = {one.get(label) for one in on_pages[metric]}
                if on_pages[metric] and None in seen:
                    wrong.append(f"{where}: {metric} has no label {label}")
                # A page has "refused" only once something was; then the table of metrics tells it.
                elif wanted and wanted[1] not in seen and not re.search(rf"\b{wanted[1]}\b", meaning):
                    wrong.append(f"{where}: {metric} has no {label}={wanted[1]}")
    assert not wrong


def test_no_alert_fires_on_a_cluster_that_is_well(pages, pumice):
    """The pages as they are, scraped for an hour without a change."""
    series = {}
    for name in BINARIES:
        for line in page(pumice, name).splitlines():
            if line.startswith("#") or not line:
                continue
            metric, value = line.rsplit(" ", 1)
            head, brace, labels = metric.partition("{")
            instance = f'instance="{name}"' + ("," if brace else "}")
            series[f"{head}{{{instance}{labels}"] = f"{value}x{SAMPLES}"
    rules = monitoring.alerts()
    # Pods of other tests may wait for want of room, and that is what this one tells.
    del rules["PumiceNothingPlaced"]
    answers = render.promcheck("eval", [{"series": series, "step": STEP, "expr": rule["expr"], "at": STEP * SAMPLES}
                                        for rule in rules.values()])
    assert {name: found for name, found in zip(rules, answers) if found} == {}
