"""Several active controllers (--shards): started, stopped, killed and paused one by one.

Each has a client certificate of its own, of the one service account, so that the audit log tells
which of them wrote what: the API server notes the certificate's fingerprint.
"""

import hashlib
import json
import math
import re
import signal
import ssl
import time
from collections import Counter
from datetime import datetime

from cluster import IDENTITIES

from .objects import job, task
from .pumice import Binary, address
from .wait import wait_until

LEASE = "vc-controller-manager"
SHARDS = 64
TIMES = {"leader-elect-lease-duration": "4s", "leader-elect-renew-deadline": "3s",
         "leader-elect-retry-period": "500ms"}
DURATION = 4
WINDOW = 256  # writes in flight of one member, at most
HARMLESS = (404, 409, 422)


class Members:
    """Active controllers in the place of that of `pumice`; none runs at first."""

    def __init__(self, pumice, count=3, times=None):
        flags = {**pumice.controller.flags, **(times or TIMES), "shards": "true"}
        del flags["kubeconfig"]  # of the one certificate that all others share
        self.plane = pumice.plane
        self.all = [self._member(pumice, number, flags) for number in range(1, count + 1)]
        self.lost = 0  # times that one left because it lost a Lease

    def _member(self, pumice, number, flags):
        name = f"controller-{number}"
        pki, user, groups = self.plane.pki, *IDENTITIES["pumice-controllers"]
        pki.client(name, user, groups)
        kubeconfig = pki.kubeconfig(self.plane.kubeconfig(name), self.plane.server, name)
        member = Binary(pumice, "pumice-controller", kubeconfig or self.plane.kubeconfig(name), {
            **flags, "healthz-address": address(), "listen-address": address()}, "listen-address",
            replica=f"-{number}")
        member.credential = hashlib.sha256(ssl.PEM_cert_to_DER_cert(
            pki.crt(name).read_text())).hexdigest()
        member.paused = False
        return member

    def through(self, member, proxy):
        """From its next start on it reaches the API server through a proxy (harness/proxy.py)."""
        member.flags["kubeconfig"] = str(proxy.kubeconfig(member.flags["kubeconfig"]))

    def alone(self, member):
        """From its next start on it knows nothing of shards: it does all the work when it leads."""
        member.flags["shards"] = None

    # Life

    def start(self, member):
        """Starts one, which joins by itself."""
        member.paused = False
        member.begins = len(member.log_text())
        member.start(ready=False)

    def pause(self, member):
        """Stops it as it stands (SIGSTOP)."""
        member.signal(signal.SIGSTOP)
        member.paused = True

    def resume(self, member):
        """It goes on."""
        member.signal(signal.SIGCONT)
        member.paused = False

    def revive(self, members):
        """Starts again what has left, as a Deployment does; only a lost Lease may be the reason."""
        for member in members:
            if not member.running():
                said = member.log_text()[member.begins:]
                assert "lost the lease" in said or "lost its Lease" in said, (
                    f"{member.name} ended by itself: {member.exit_code()}, log: {member.log}")
                self.lost += 1
                self.start(member)

    def stop(self):
        """Ends all; returns the complaints."""
        complaints = []
        for member in self.all:
            if member.running():
                if member.paused:
                    self.resume(member)
                try:
                    member.stop()
                except OSError as error:
                    complaints.append(str(error))
            complaints.append(member.complaint())
        return [text for text in complaints if text]

    # What they say

    def shards(self, member):
        """How many shards it has, as it says; 0 when it says nothing."""
        try:
            return int(member.metrics().get("pumice_controller_shards", 0))
        except OSError:
            return 0

    def wait_shares(self, members, timeout=60, revive=False):
        """Waits until these have all shards among them, evenly. With `revive` those that leave meanwhile,
        such as one that has just gone on and finds its Lease lost, are started again."""
        def even():
            if revive:
                self.revive(members)
            shares = sorted(self.shards(member) for member in members)
            return sum(shares) == SHARDS and shares[-1] - shares[0] <= 1
        wait_until(even, timeout, lambda: "all shards to be spread evenly: "
                   f"{[self.shards(member) for member in members]}; {self.describe()}")

    def leases(self):
        """The Leases of leader and members: {name: Lease}."""
        found = json.loads(self.plane.kubectl("get", "leases", "-n", "volcano-system", "-o", "json"))
        return {one["metadata"]["name"]: one for one in found["items"]
                if one["metadata"]["name"].startswith(LEASE)}

    def describe(self):
        """The map and what members obey."""
        return {name: (one["spec"].get("holderIdentity"), one["metadata"].get("annotations"))
                for name, one in self.leases().items()}


class Record:
    """A write in the audit log, and which member sent it."""

    def __init__(self, record):
        target, user = record.get("objectRef", {}), record.get("user", {})
        credential = user.get("extra", {}).get("authentication.kubernetes.io/credential-id", [""])[0]
        self.credential = credential.removeprefix("X509SHA256=")
        self.verb, self.resource = record["verb"], target.get("resource", "")
        self.namespace, self.name = target.get("namespace", ""), target.get("name", "")
        self.subresource = target.get("subresource", "")
        self.code = record.get("responseStatus", {}).get("code", 0)
        self.begin, self.end = (datetime.fromisoformat(record[key].replace("Z", "+00:00")).timestamp()
                                for key in ("requestReceivedTimestamp", "stageTimestamp"))

    @property
    def ok(self):
        """True if it succeeded."""
        return 200 <= self.code < 300

    def __str__(self):
        return (f"{self.verb} {self.resource}/{self.subresource} {self.namespace}/{self.name} "
                f"{self.code} at {self.begin:.3f}")


class Audit:
    """What members wrote from here on."""

    def __init__(self, plane):
        self._path, self._from = plane.audit_log, plane.audit_log.stat().st_size

    def records(self):
        """All writes, in order of their arrival."""
        with open(self._path, "rb") as file:
            file.seek(self._from)
            lines = [line for line in file.read().splitlines(keepends=True) if line.endswith(b"\n")]
        found = [json.loads(line) for line in lines]
        return sorted((Record(one) for one in found if one.get("stage") == "ResponseComplete"),
                      key=lambda one: one.begin)

    def late(self, member, duration=DURATION, records=None):
        """Writes of a member that came after the Lease had ended on account of which it wrote, for
        others at least: that of the leader for queues, else its own. `records` of an earlier call
        saves reading them again."""
        ends, late = Counter(), []
        own = [one for one in (self.records() if records is None else records)
               if one.credential == member.credential]
        assert own, f"{member.name} has written nothing: is it told apart?"
        for one in own:
            if one.resource == "leases" and one.ok:
                kind = "members" if re.fullmatch(f"{LEASE}-[0-9a-f]{{16}}", one.name) else one.name
                ends[kind] = one.begin + duration
            elif one.resource not in ("leases", "events"):
                kind = LEASE if one.resource == "queues" else "members"
                late += [one] * (one.begin > ends[kind])
        return late


def late_faults(late):
    """What is wrong with the writes of a member that came too late, as sentences: no more than were in flight may
    have, and none may have changed anything."""
    return [f"its Lease over: {one}" for one in late if one.code not in HARMLESS] + [
        f"{len(late)} writes after its Lease"] * (len(late) > WINDOW)


class Storm:
    """Kills, stops and pauses members at random; `done` counts what it did.

    One that is paused stands still for `pause` seconds while the others go on, and are killed.
    """

    WAYS = ("kill", "kill", "pause", "blink", "stop")
    BLINK = 1.2  # less than a Lease lasts: it goes on as if nothing had been

    def __init__(self, members, rng, pause=1.75 * DURATION, rest=DURATION / 2):
        self.members, self.rng, self._pause, self._rest = members, rng, pause, rest
        self.done = Counter()
        self._until = {}  # name of a member that stands still: (until when, the member)

    def blow(self, over):
        """Goes on until over(); then all members run. For the thread that lasts: members that
        another one starts end with that."""
        while not over():
            time.sleep(self.rng.uniform(0, self._rest))
            self._wake(time.monotonic())
            self.members.revive(self.members.all)
            awake = [member for member in self.members.all if member.name not in self._until]
            if awake:
                way = self.rng.choice(self.WAYS)
                self._trouble(way, self.rng.choice(awake))
                self.done[way] += 1
        self._wake(math.inf)
        self.members.revive(self.members.all)

    def _wake(self, now):
        """Those whose time has come go on."""
        for name, (until, member) in list(self._until.items()):
            if until <= now:
                self.members.resume(member)
                del self._until[name]

    def _trouble(self, way, member):
        if way in ("pause", "blink"):
            self.members.pause(member)
            length = self._pause if way == "pause" else self.BLINK
            self._until[member.name] = (time.monotonic() + length, member)
            return
        if way == "stop":
            member.stop()
        else:
            member.kill9()
        time.sleep(self.rng.uniform(0, 1))
        self.members.start(member)


def submit(api, ns, rng, prefix, count, pods, seconds):
    """Creates jobs of so many pods each in that time, of which every second ends by itself;
    {name: ends}."""
    names = {f"{prefix}{number}": number % 2 == 0 for number in range(count)}
    for name, ends in names.items():
        api.create_job(ns, job(name, [task("main", pods, cpu="5m", memory="8Mi",
                                           script="sleep 2" if ends else None)]))
        time.sleep(rng.uniform(0, 2 * seconds / count))
    return names


def wrong_pods(witness, names, pods):
    """What is wrong with the pods that ever were, as sentences: each index is to have had one."""
    wanted = {f"{name}-main-{index}" for name in names for index in range(pods)}
    seen = Counter(witness.seen.values())
    return [f"the API server forgot what a watch missed, {witness.gaps} times"] * bool(witness.gaps) + [
        f"{name} was made {seen[name]} times" for name in sorted(wanted | set(seen))
        if seen[name] != (name in wanted)]
