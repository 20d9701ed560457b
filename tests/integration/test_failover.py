"""A scheduler that leads is killed or paused in the middle of its binds, and the one that stands by takes over."""

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import members
from harness.objects import job, task
from harness.replicas import HARMLESS, Audit, Replica, stop_all
from harness.wait import wait_until
from harness.witness import Witness

DURATION = 15  # of the scheduler's Lease, as it is shipped
NODES, CPU = 6, 8  # of which the jobs of a test ask for all: what was placed twice would show on a node
SIZE = 6  # pods of a job


@pytest.fixture
def schedulers(pumice, pool, request):
    """schedulers(**flags): two in the place of that of `pumice`, with nodes of their own; the first leads, the
    second stands by."""
    pool(NODES, cpu=CPU)
    pumice.scheduler.stop()
    made = []

    def start(**flags):
        made.extend(Replica(pumice, pumice.scheduler, "pumice-scheduler", number, **flags) for number in (1, 2))
        made[0].start()
        wait_until(made[0].leads, 30, "the first to lead")
        made[1].start()
        return made
    yield start
    complaints = stop_all(made)
    assert not complaints, "; ".join(complaints)


def submit(api, ns, prefix, jobs, seconds):
    """Creates so many jobs in that time, which fill half of the nodes; their names."""
    cpu = NODES * CPU * 1000 // 2 // (jobs * SIZE)
    names = [f"{prefix}{number}" for number in range(jobs)]
    for name in names:
        api.create_job(ns, job(name, [task("main", SIZE, cpu=f"{cpu}m", memory="8Mi")]))
        time.sleep(seconds / jobs)
    return names


def renewed(audit, scheduler):
    """When the API server received the last renewal of a Lease that succeeded."""
    return max(one.begin for one in audit.of(scheduler) if one.resource == "leases" and one.ok)


def binds(audit, scheduler):
    """The binds of one of them, in order."""
    return [one for one in audit.records() if one.is_bind and one.credential == scheduler.credential]


def check_bound_once(witness, audit, names):
    """Each pod of the jobs was made once and bound once, and no node has more than it can hold."""
    witness.end()
    pods = [f"{name}-main-{index}" for name in names for index in range(SIZE)]
    assert not witness.gaps and Counter(witness.seen.values()) == Counter(pods)
    assert sorted(witness.nodes) == sorted(witness.seen) and all(len(one) == 1 for one in witness.nodes.values())
    done = Counter(one.name for one in audit.records() if one.is_bind and one.ok and one.namespace == witness.ns)
    assert done == Counter(pods)
    used = Counter()
    for life in witness.present():
        used[life.pod["spec"]["nodeName"]] += int(
            life.pod["spec"]["containers"][0]["resources"]["requests"]["cpu"].removesuffix("m"))
    assert max(used.values()) <= CPU * 1000, used


@pytest.mark.alone
def test_a_standby_binds_within_a_second_of_the_lease(api, ns, schedulers):
    """With the times of the Lease as they are shipped."""
    leader, standby = schedulers()
    witness, audit, rng, names = Witness(api, ns), Audit(api.plane), random.Random(1), []
    for prefix in ("first", "second"):
        before = len(witness.nodes)
        with ThreadPoolExecutor(1) as worker:
            submitted = worker.submit(submit, api, ns, prefix, 20, 20)
            wait_until(lambda: len(witness.nodes) >= before + 3 * SIZE, 30, "the first binds")
            time.sleep(rng.uniform(0, 2))
            leader.kill9()
        names += submitted.result()
        for name in names:
            api.wait_phase(ns, name, "Running")
        last = renewed(audit, leader)
        first = next(one.begin for one in binds(audit, standby) if one.begin > last)
        print(f"the standby's first bind came {first - last:.3f} s after the last renewal")
        assert DURATION < first - last <= DURATION + 1
        leader.start()
        leader, standby = standby, leader
    check_bound_once(witness, audit, names)


def test_a_leader_that_goes_on_after_its_lease_binds_nothing(api, ns, schedulers):
    """Binds are slow, so that it is paused with most of them before it."""
    witness, audit = Witness(api, ns), Audit(api.plane)  # that of the first write of the Lease, too
    leader, standby = schedulers(**members.TIMES, **{"kube-api-qps": "30", "kube-api-burst": "1"})
    names = submit(api, ns, "paused", 20, 0)
    wait_until(lambda: len(witness.nodes) > SIZE, 30, "the first binds")
    leader.pause()
    wait_until(standby.leads, 30, "the standby to lead")
    begun = len(binds(audit, standby))
    wait_until(lambda: len(binds(audit, standby)) > begun, 30, "it to bind")
    leader.resume()
    wait_until(lambda: not leader.running(), 30, "the one that went on to leave")
    assert leader.has_lost_its_lease() and leader.exit_code() == 1
    leader.start()
    for name in names:
        api.wait_phase(ns, name, "Running")
    assert 0 < len(binds(audit, leader)) < len(names) * SIZE  # it was paused in the middle
    over = renewed(audit, leader) + members.DURATION
    late = [one for one in audit.of(leader) if one.begin > over and one.resource != "events"]
    assert not [str(one) for one in late if one.code not in HARMLESS]
    check_bound_once(witness, audit, names)
