"""Several active controllers (--shards): started, stopped, killed and paused one by one."""

import json
import math
import re
import time
from collections import Counter

from . import replicas
from .objects import job, task
from .replicas import HARMLESS, Replica
from .wait import wait_until

LEASE = "vc-controller-manager"
SHARDS = 64
TIMES = {"leader-elect-lease-duration": "4s", "leader-elect-renew-deadline": "3s",
         "leader-elect-retry-period": "500ms"}
DURATION = 4
WINDOW = 256  # writes in flight of one member, at most


class Members:
    """Active controllers in the place of that of `pumice`; none runs at first."""

    def __init__(self, pumice, count=3, times=None):
        self.plane = pumice.plane
        self.all = [Replica(pumice, pumice.controller, "pumice-controllers", number, shards="true",
                            **(times or TIMES)) for number in range(1, count + 1)]
        self.lost = 0  # times that one left because it lost a Lease

    def through(self, member, proxy):
        """From its next start on it reaches the API server through a proxy (harness/proxy.py)."""
        member.flags["kubeconfig"] = str(proxy.kubeconfig(member.flags["kubeconfig"]))

    def alone(self, member):
        """From its next start on it knows nothing of shards: it does all the work when it leads."""
        member.flags["shards"] = None

    # Life

    def start(self, member):
        """Starts one, which joins by itself."""
        member.start(ready=False)

    def revive(self, members):
        """Starts again what has left, as a Deployment does; only a lost Lease may be the reason."""
        for member in members:
            if not member.running():
                assert member.has_lost_its_lease(), (
                    f"{member.name} ended by itself: {member.exit_code()}, log: {member.log}")
                self.lost += 1
                self.start(member)

    def stop(self):
        """Ends all; returns the complaints."""
        return replicas.stop_all(self.all)

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


class Audit(replicas.Audit):
    """What members wrote from here on."""

    def late(self, member, duration=DURATION, records=None):
        """Writes of a member that came after the Lease had ended on account of which it wrote, for
        others at least: that of the leader for queues, else its own. The audit is to begin before the
        member, or its Lease is not known at first. `records` of an earlier call saves reading them again."""
        ends, late = Counter(), []
        for one in self.of(member, records):
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
                member.resume()
                del self._until[name]

    def _trouble(self, way, member):
        if way in ("pause", "blink"):
            member.pause()
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
