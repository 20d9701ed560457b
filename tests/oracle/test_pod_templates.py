"""Our rules for pod templates against the API server's.

PUMICE_ORACLE_COUNT and PUMICE_ORACLE_SEED ask for more templates, or for others.
"""

import os

import pytest

from bases import BASES
from mutate import Generator, Schema
from sides import in_batches
from verdict import Tally, of_ours, of_server, read_known
from conftest import ROOT

COUNT = int(os.environ.get("PUMICE_ORACLE_COUNT", "20000"))
SEED = int(os.environ.get("PUMICE_ORACLE_SEED", "1"))
KNOWN = ROOT / "docs" / "oracle-pod-templates.md"
REPORT = ROOT / "build" / "test" / "oracle-pod-templates.txt"


@pytest.mark.parametrize("name", BASES)
def test_base(server, probe, name):
    """What the mutations start from is right, so that a mutation is what is judged."""
    template = BASES[name]()
    theirs = of_server(*server.ask(template))
    assert theirs.allowed, theirs.texts
    with probe("template") as rules:
        ours = of_ours(rules.ask(template))
    assert ours.allowed, ours.texts


def test_mutated_templates(server, schema, probe):
    """Verdicts and fields agree, but for the list in docs."""
    known = read_known(KNOWN)
    assert known, f"{KNOWN} holds no list"
    tally = Tally(known)
    generator = Generator(Schema(schema), BASES, SEED)
    with probe("template") as rules:
        for batch in in_batches(generator.templates(COUNT), 256):
            answers = server.ask_all([template for _, template in batch])
            for (description, template), answer in zip(batch, answers):
                tally.add(description, of_ours(rules.ask(template)), of_server(*answer))
    table = tally.table()
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(table + "\n")
    print(f"\n{COUNT} templates, seed {SEED}\n{table}")
    assert sum(tally.counts.values()) == COUNT
    # A comparison of too little would agree as well.
    for verdict in ("agree: allowed", "agree: refused"):
        assert tally.counts[verdict] > COUNT // 4, tally.counts
    new = [f"{n} templates, {tally.examples[difference]}: {difference}"
           for difference, n in tally.unknown()]
    assert not new, "\n".join(new)
    assert not tally.unused(), f"these rows of {KNOWN} cover nothing: {tally.unused()}"
