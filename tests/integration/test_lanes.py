"""The lanes of a test run: harness/lanes.py and the ports of each."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from cluster_process import free_port
from harness import lanes
from harness.wait import stays, wait_until


def item(name, alone=False):
    """What the lanes know of a test."""
    return SimpleNamespace(path=Path(name), get_closest_marker=lambda _: alone)


@pytest.fixture
def beside(monkeypatch, tmp_path):
    """beside(item) runs a test in another lane, as soon as it may; it is in the list `beside.ran` then."""
    monkeypatch.setattr(lanes, "LANE", "gw0")
    monkeypatch.setattr(lanes, "LOCKS", tmp_path)
    threads = []

    def begin(one):
        def run():
            with lanes.turn(one):
                begin.ran.append(one.path.name)
        threads.append(threading.Thread(target=run, daemon=True))
        threads[-1].start()
    begin.ran = []
    yield begin
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def test_files_come_the_longest_first_and_those_for_themselves_last():
    long, longer = lanes.LONG[1], lanes.LONG[0]
    given = [item("a.py"), item("b.py"), item("b.py", alone=True), item(long), item("c.py"), item(longer)]
    assert [one.path.name for one in lanes.in_order(given)] == [longer, long, "a.py", "c.py", "b.py", "b.py"]


def test_the_long_files_are_there():
    assert [name for name in lanes.LONG if not Path(__file__).with_name(name).is_file()] == []


def test_lanes_run_side_by_side(beside):
    with lanes.turn(item("here")):
        beside(item("there"))
        wait_until(lambda: beside.ran, 10, "the other lane to run its test")


def test_who_wants_the_machine_waits_for_others_and_is_the_next(beside):
    with lanes.turn(item("here")):
        beside(item("alone", alone=True))
        stays(lambda: not beside.ran, 0.5, "it runs beside another")
        beside(item("late"))
        stays(lambda: not beside.ran, 0.5, "one that came later does not let it go first")
    wait_until(lambda: beside.ran == ["alone", "late"], 10, lambda: f"both to run, in their order: {beside.ran}")


def test_others_wait_for_who_has_the_machine(beside):
    with lanes.turn(item("here", alone=True)):
        beside(item("there"))
        stays(lambda: not beside.ran, 0.5, "another runs beside it")
    wait_until(lambda: beside.ran, 10, "the other lane to go on")


def test_ports_of_lanes_differ(monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "2")
    for lane in (0, 1):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", f"gw{lane}")
        assert {free_port() % 2 for _ in range(20)} == {lane}
