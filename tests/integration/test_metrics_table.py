"""The table of metrics in docs/operations.md and what the binaries print are the same."""

import re
from pathlib import Path

import pytest

DOC = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
BINARIES = ["controller", "scheduler", "webhook"]


def documented(binary):
    """{name: (type, labels)} of a binary by the table."""
    found = {}
    for line in DOC.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 5 or not re.fullmatch(r"`[a-z0-9_]+`", cells[0]):
            continue
        name = cells[0].strip("`")
        if cells[2] == "all" or binary in cells[2].split(", "):
            assert name not in found, f"{name} is there twice"
            found[name] = (cells[1], frozenset(filter(None, cells[3].split(", "))))
    return found


def printed(text):
    """{name: (type, labels, or None without series)} of a page."""
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    found = {name: (kind, None) for name, kind in types.items()}
    for series, labels in re.findall(r"^([a-z_]\w*)(\{.*\})? \S+$", text, re.M):
        name = series if series in types else re.sub(r"_(bucket|sum|count)$", "", series)
        names = set(re.findall(r'([A-Za-z_]\w*)="(?:[^"\\]|\\.)*"', labels)) - {"le"}
        found[name] = (types[name], frozenset(names))
    return found


@pytest.mark.parametrize("name", BINARIES)
def test_the_table_and_the_page_agree(pumice, name):
    binary = getattr(pumice, name)
    status, text = binary.get("/metrics", binary.metrics_flag)
    assert status == 200
    table, page = documented(name), printed(text)
    if binary.flags.get("leader-elect") == "false":
        table.pop("pumice_leader", None)
    assert sorted(page) == sorted(table)
    wrong = {one: (table[one], page[one]) for one in page
             if page[one][0] != table[one][0] or page[one][1] not in (None, table[one][1])}
    assert not wrong, wrong
