"""The write budget, by the API server's audit log, without plugins and without faults.

Job and PodGroup writes together: at most 5 a job up to Running and 10 up to Completed when its pods change
together, and one more for each second in which counts change. No conflict, no refused write, no pod too many;
at rest nothing but Lease renewals.
"""

import time

import pytest

from harness.audits import Writes, job_writes
from harness.objects import job, task
from harness.wait import wait_until

pytestmark = pytest.mark.alone

UP_TO_RUNNING, UP_TO_COMPLETED = 5, 10

# name of the shape: jobs, each a list of (task, replicas)
SHAPES = {
    "one-pod": [[("main", 1)]],
    "gang-of-20": [[("main", 20)]],
    "three-tasks": [[("chief", 1), ("reader", 2), ("worker", 9)]],
    "side-by-side": [[("main", 4)]] * 6,
}


def seconds_of_change(inside, name):
    """The seconds in which counts of a job changed: pods of it were created, or their kubelet wrote.

    What comes at the end of one second may be seen in the next: one between two others counts.
    """
    found = {int(one.end) for one in inside if one.job == name and one.ok and (
        one.does("create", "pods") or (one.client == "kwok" and one.resource == "pods/status"))}
    return found | {second + 1 for second in found if second + 2 in found}


def check_budget(inside, name, limit):
    """What was written for one job is within its budget."""
    written = job_writes(inside)[name]
    allowed = limit + len(seconds_of_change(inside, name))
    assert len(written) <= allowed, f"{name} has {len(written)} of {allowed}: {written}"


def check_faultless(writes, pods, inside):
    """Nothing that our binaries wrote was refused, and no pod was created beyond those that are wanted."""
    trouble = [(str(one), one.code) for one in writes.all() if one.code >= 500]
    assert not trouble, f"this is no run without faults, the API server is in trouble: {trouble}"
    wrong = [(str(one), one.code) for one in writes.ours()
             if one.code == 409 or (one.namespace == inside[0].namespace and not one.ok)]
    assert not wrong, f"writes of ours that were refused, conflicts among them: {wrong}"
    posts = [one for one in inside if one.does("create", "pods")]
    assert len(posts) == pods, f"{len(posts)} pod creates for {pods} pods"


def began(found):
    """How many pods of a job run, or have run."""
    return found["status"].get("running", 0) + found["status"].get("succeeded", 0)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_budget(api, ns, pumice, controlplane, shape):
    writes = Writes(controlplane)
    names = [f"job{number}" for number in range(len(shape))]
    pods = sum(replicas for tasks in shape for _, replicas in tasks)
    for name, tasks in zip(names, shape):
        api.create_job(ns, job(name, [task(one, replicas, script="sleep 8") for one, replicas in tasks]))
    for name, tasks in zip(names, shape):
        api.wait_phase(ns, name, ("Running", "Completed"), timeout=60)
        wait_until(lambda: began(api.job(ns, name)) == sum(replicas for _, replicas in tasks), 30,
                   lambda: f"all pods in the status; {api.why(ns, name)}")
        check_budget(writes.inside(ns, until=time.time()), name, UP_TO_RUNNING)
    for name in names:
        api.wait_phase(ns, name, "Completed", timeout=60)
    writes.wait_quiet()
    for name in names:
        check_budget(writes.inside(ns), name, UP_TO_COMPLETED)
    check_faultless(writes, pods, writes.inside(ns))


def test_rest(api, ns, pumice, controlplane):
    """The small form of tests/long/idle-jobs: jobs that run and are left alone cost no write."""
    writes = Writes(controlplane)
    for number in range(20):
        api.create_job(ns, job(f"job{number}", [task("main", 1 + number % 3)]))
    for number in range(20):
        api.wait_phase(ns, f"job{number}", "Running", timeout=60)
    writes.wait_quiet()
    # Events are in the lowest lane and may come late.
    wait_until(lambda: time.time() - max(one.begin for one in writes.at_rest()) >= 3, 60, "the Events to be told")
    check_faultless(writes, sum(1 + number % 3 for number in range(20)), writes.inside(ns))
    rest = Writes(controlplane)
    time.sleep(15)
    assert not rest.at_rest(), [str(one) for one in rest.at_rest()]
    assert any(one.resource == "leases" for one in rest.ours()), "the audit log must be followed"
