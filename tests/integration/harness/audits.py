"""What was written to the API server from some moment on, by its own audit log.

The analysis is that of tests/bench/audit.py: a job's name has no "-", so that the part before the first "-"
of an object's name says which job it belongs to.
"""

import sys
import time

from . import ROOT
from .wait import wait_until

sys.path.insert(0, str(ROOT / "tests" / "bench"))
import audit  # noqa: E402  (the path comes first)

OURS = audit.OURS


class Writes:
    """The writes of the audit log from here on."""

    def __init__(self, plane):
        self._path = plane.audit_log
        self._from = self._path.stat().st_size
        self.since = time.time()

    def _lines(self):
        with open(self._path, "rb") as file:
            file.seek(self._from)
            return [line for line in file.read().splitlines(keepends=True) if line.endswith(b"\n")]

    def all(self):
        """All of them, as tests/bench/audit.py has them, in order of their arrival."""
        return audit.parse(self._lines())

    def ours(self):
        """Those of our binaries, Leases and Events too."""
        return [one for one in self.all() if one.client in OURS]

    def at_rest(self):
        """What our binaries wrote beside their Leases."""
        return [one for one in self.ours() if one.resource != "leases"]

    def inside(self, namespace, until=None):
        """Those in a namespace, up to a time in seconds since 1970."""
        return [one for one in self.all() if one.namespace == namespace and (until is None or one.begin <= until)]

    def last(self):
        """When the last write began that is none of a Lease or an Event; at first when this object was made."""
        return max((one.begin for one in self.all() if one.resource not in audit.COUNTED_APART), default=self.since)

    def wait_quiet(self, seconds=2.5, timeout=60):
        """Waits until nobody has written anything but Leases and Events for so long."""
        wait_until(lambda: time.time() - self.last() >= seconds, timeout, f"{seconds} s without a write",
                   interval=0.5)


def job_writes(writes):
    """Job and PodGroup writes of each job, the user's own apart: {job: [what, ...]}."""
    found = {}
    for one in writes:
        if one.resource.split("/")[0] in ("jobs", "podgroups") and one.client != "user":
            found.setdefault(one.job, []).append(f"{one.client} {one.verb} {one.resource} {one.code}")
    return found
