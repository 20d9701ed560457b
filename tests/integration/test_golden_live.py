"""The golden cases of tests/admission through the real API server, on a control plane of their own."""

import sys

import pytest

from cluster import ControlPlane
from harness import ROOT

sys.path.insert(0, str(ROOT / "tests" / "admission"))

from golden import cases, outcomes, session  # noqa: E402
from golden.run import SAME  # noqa: E402


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What became of each case."""
    plane = ControlPlane(tmp_path_factory.mktemp("golden"), tied=True)
    plane.start()
    try:
        found = session.run(plane, cases.read())
    finally:
        plane.stop()
    print(session.table(found))
    return found


def test_all_come_out_as_they_say_or_as_is_listed(results):
    assert not session.wrong(results), "\n".join(session.wrong(results))


@pytest.mark.parametrize("path", sorted(cases.OPERATIONS))
def test_what_each_path_says_arrives(results, path):
    """Refusals with their text; of a path that mutates, a changed object and one that stays."""
    arrived = [result.case.response for result in results if result.kind == SAME and result.case.path == path]
    if path.endswith("/mutate"):
        assert {"patch" in response for response in arrived} == {True, False}
    else:
        assert {response["allowed"] for response in arrived} == {True, False}


def test_every_outcome_that_is_listed_is_of_a_case_there_is(results):
    assert set(outcomes.OUTCOMES) | outcomes.FILLED_IN <= {result.case.name for result in results}
