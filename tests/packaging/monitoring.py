"""What the alerts and dashboards of manifests/monitoring ask for, and what the table of metrics in docs/ says."""

import json
import re

import yaml

import render

DOC = render.MANIFESTS.parent / "docs/operations.md"
ALERTS = render.MANIFESTS / "monitoring/alerts.yaml"
DASHBOARDS = render.MANIFESTS / "monitoring/dashboards"
HISTOGRAM = re.compile(r"_(bucket|sum|count)$")


def documented():
    """{name: (type, labels, meaning)} of the table of metrics."""
    found = {}
    for line in DOC.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and re.fullmatch(r"`[a-z0-9_]+`", cells[0]):
            found[cells[0].strip("`")] = (cells[1], set(filter(None, cells[3].split(", "))), cells[4])
    return found


def alerts():
    """{name: rule}."""
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def panels():
    """(dashboard, panel) of each panel that shows something."""
    for path in sorted(DASHBOARDS.glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            if panel["type"] != "row":
                yield path.stem, panel


def without_variables(expression):
    """An expression of Grafana as Prometheus gets it."""
    return expression.replace("$__rate_interval", "5m").replace("$queue", ".*")


def expressions():
    """{where: expression} of all alerts, panels and variables."""
    found = {f"alert {name}": rule["expr"] for name, rule in alerts().items()}
    for name, panel in panels():
        for target in panel["targets"]:
            found[f"{name}: {panel['title']} {target['refId']}"] = without_variables(target["expr"])
    for path in DASHBOARDS.glob("*.json"):
        for variable in json.loads(path.read_text())["templating"]["list"]:
            if variable["type"] == "query":
                metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"]).groups()
                found[f"{path.stem}: ${variable['name']}"] = f"count by ({label}) ({metric})"
    return found


def family(name, known):
    """The metric that a name in an expression belongs to: that of a histogram's parts is the histogram."""
    return name if name in known else HISTOGRAM.sub("", name)


def asked():
    """{where: names} as promcheck tells them; fails on an expression that Prometheus does not understand."""
    table = expressions()
    answers = render.promcheck("names", list(table.values()))
    found = dict(zip(table, answers))
    wrong = {where: names["error"] for where, names in found.items() if names.get("error")}
    assert not wrong, wrong
    return found
