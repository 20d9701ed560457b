"""Our predicates and scores against kube-scheduler's own plugins.

PUMICE_ORACLE_COUNT and PUMICE_ORACLE_SEED ask for more cases of each family, or for others.
"""

import json
import os
from collections import Counter

import pytest

import blindness
import clusters
from conftest import ROOT
from features import MAIN, OUTCOMES, STORAGE, STORAGE_OUTCOMES, Count, features, outcomes
from placement import Tally, differences, read_known
from shrink import shrink

COUNT = int(os.environ.get("PUMICE_ORACLE_COUNT", "10000"))
SEED = int(os.environ.get("PUMICE_ORACLE_SEED", "1"))
KNOWN = ROOT / "docs" / "oracle-placement.md"
REPORTS = ROOT / "build" / "test"
# Of each family: whether it has storage, what must be in one case of 20, and the share of cases with
# both nodes that fit and nodes that do not.
FAMILIES = {"main": (False, (*MAIN, *OUTCOMES), 0.4),
            "storage": (True, (*STORAGE, *STORAGE_OUTCOMES), 0.25)}
SHRUNKEN = 12
ENOUGH = 3
covered = {}  # of each family, the rows that cover something

by_family = pytest.mark.parametrize("family", FAMILIES)


def report(name, text):
    """Prints a text, and leaves it in build/test."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    (REPORTS / f"oracle-placement-{name}.txt").write_text(text + "\n")
    print(f"\n{name}: {COUNT} cases, seed {SEED}\n{text}")


@by_family
def test_cases_have_everything(askkube, family):
    """Each feature is in one case of 20 at least, and each plugin's word matters so often."""
    storage, names, share = FAMILIES[family]
    count = Count(names)
    with askkube("place") as theirs:
        for case in clusters.cases(SEED, COUNT, storage):
            answer = theirs.ask(case)
            assert "nodes" in answer, (answer, case)
            count.add(features(case) | outcomes(answer))
    report(f"{family}-features", count.table())
    assert not count.missing(), "too few cases have these"
    assert count.counts["some nodes fit, some do not"] > COUNT * share


@by_family
def test_cases_are_what_the_api_server_takes(askkube, family):
    """Objects that no API server would take prove nothing."""
    storage = FAMILIES[family][0]
    with askkube("check") as rules:
        for number in range(min(COUNT, 1000)):
            case = clusters.case(SEED, number, storage)
            faults = rules.ask(case).get("faults", ["no answer"])
            assert not faults, (number, faults)


@by_family
def test_cases_tell_blind_schedulers(askkube, family):
    """One that does not see a field, a label, a phase, ... answers some cases otherwise."""
    storage = FAMILIES[family][0]
    blind = dict(blindness.STORAGE if storage else blindness.MAIN)
    told = Counter()
    with askkube("place") as theirs:
        for case in clusters.cases(SEED, COUNT, storage):
            blind = {name: change for name, change in blind.items() if told[name] < ENOUGH}
            if not blind:
                break
            answer = theirs.ask(case)
            for name, change in blind.items():
                seen = blindness.seen(case, change)
                told[name] += seen is not None and theirs.ask(seen) != answer
    assert not blind, f"{told}: too few cases tell these"


@by_family
def test_placement(askkube, placing, family):
    """The same nodes are refused for reasons of theirs, and the same scores given to the others."""
    storage = FAMILIES[family][0]
    tally = Tally(read_known(KNOWN))
    with askkube("place") as kube, placing() as pumice:
        for number in range(COUNT):
            case = clusters.case(SEED, number, storage)
            line = json.dumps(case)
            tally.add(f"case {number}", case, pumice.ask_line(line), kube.ask_line(line))
        examples = [smallest(difference, tally.examples[difference][1], pumice, kube)
                    for difference, _ in tally.groups.most_common(SHRUNKEN)]
    report(family, "\n\n".join([tally.table(), *examples]))
    covered[family] = set(tally.covered)
    assert tally.cases == COUNT
    assert not tally.groups, f"{len(tally.groups)} differences that no row of {KNOWN} covers"


def test_all_rows_are_needed():
    """A row that covers nothing is a promise that nobody keeps."""
    if set(covered) != set(FAMILIES):
        pytest.skip("not all families were compared")
    unused = set(read_known(KNOWN)) - set().union(*covered.values())
    assert not unused, f"these rows of {KNOWN} cover nothing"


def smallest(difference, case, pumice, kube):
    """A text with a small case that shows a difference, and both answers to it."""
    def shows(smaller):
        line = json.dumps(smaller)
        try:
            return difference in differences(pumice.ask_line(line), kube.ask_line(line))
        except ValueError:
            return False
    found = shrink(case, shows)
    return "\n".join([f"{difference.kind}: {difference.what}",
                      f"  case   {json.dumps(found)}",
                      f"  ours   {json.dumps(pumice.ask(found))}",
                      f"  theirs {json.dumps(kube.ask(found))}"])
