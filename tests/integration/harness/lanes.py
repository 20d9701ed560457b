"""Tests in lanes: what makes `pytest -n 2 --dist loadfile --no-loadscope-reorder` of pytest-xdist fit these tests.

A lane is a worker of xdist, a pytest process with fixtures of its own, so also a control plane of its own. Whole
files go to the lanes, each to the one that has done with its last: the longest first, so that the lanes end together,
and last those that need the machine for themselves. Without xdist there is one lane, and the order is the same.
"""

import fcntl
import os
from contextlib import contextmanager, nullcontext
from pathlib import Path

from . import ROOT

LANE = os.environ.get("PYTEST_XDIST_WORKER")
LOCKS = ROOT / "build" / "test"

# The files that take longer than a minute, the longest first. The others follow by name.
LONG = ("test_preemption.py", "test_waiting.py", "test_certificates.py", "test_field_extras.py", "test_faults.py",
        "test_transport.py", "test_c1_watch.py", "test_field_jobs.py", "test_install_ways.py", "test_field_cluster.py",
        "test_autoscalers.py", "test_install_live.py", "test_from_volcano.py", "test_shards.py", "test_failover.py")


def own_folder(folder):
    """The folder of this lane in one that is given for all."""
    return Path(folder) / LANE if LANE else Path(folder)


def in_order(items):
    """The tests in the order in which their files are given out. Those of a file stay as they were."""
    alone = {item.path for item in items if item.get_closest_marker("alone")}

    def place(item):
        name = item.path.name
        return item.path in alone, LONG.index(name) if name in LONG else len(LONG)
    return sorted(items, key=place)


def turn(item):
    """A context for one test: while one that is marked `alone` runs, no other lane runs a test."""
    if not LANE:
        return nullcontext()
    return _turn(fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH)


@contextmanager
def _turn(how):
    """Who waits at the gate has all others wait behind him, or an `alone` might wait for ever."""
    LOCKS.mkdir(parents=True, exist_ok=True)
    with open(LOCKS / "lanes.lock", "a") as running:
        with open(LOCKS / "lanes-gate.lock", "a") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            fcntl.flock(running, how)
        yield
