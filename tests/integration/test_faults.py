"""What breaks while a job is half done: the API server, or one of our binaries.

In each case the job ends up with exactly its pods: as many pods as it wants have ever existed, by
UID, and none was created or bound twice.
"""

import time

import pytest

from harness.objects import job, task
from harness.wait import wait_until
from harness.witness import Witness

PODS = 120


@pytest.fixture
def witness(api, ns):
    """A Witness of the test's namespace."""
    watching = Witness(api, ns)
    yield watching
    watching.end()


def created(api, ns):
    """Names of the pods of the namespace."""
    return {pod["metadata"]["name"] for pod in api.pods(ns)}


def wait_some(api, ns, count):
    """Waits until some pods exist."""
    wait_until(lambda: len(created(api, ns)) >= count, 30, f"{count} pods", interval=0.01)


def check(api, ns, witness, name, count=PODS, timeout=120):
    """The job runs with exactly its pods, none of which had a predecessor."""
    api.wait_phase(ns, name, "Running", timeout=timeout)
    api.wait_pods(ns, name, count, phase="Running", timeout=60)
    witness.end()
    assert len(witness.seen) == count, sorted(witness.seen.values())
    assert all(len(nodes) == 1 for nodes in witness.nodes.values())
    wait_until(lambda: api.job(ns, name)["status"].get("running") == count, 30,
               lambda: f"all pods in the status; {api.why(ns, name)}")


def test_api_server_restarts_while_pods_are_created(api, ns, pumice, controlplane, witness):
    api.create_job(ns, job("half", [task("w", PODS, cpu="10m")]))
    wait_some(api, ns, 10)
    controlplane.stop_apiserver(kill=True)
    time.sleep(1)
    controlplane.start_apiserver()
    check(api, ns, witness, "half")


@pytest.mark.parametrize("name", ["controller", "scheduler"])
@pytest.mark.parametrize("after", [1, PODS // 2, PODS - 10])
def test_kill9_in_mid_job(api, ns, pumice, witness, name, after):
    """The lease of the killed process has to run out before the new one acts."""
    api.create_job(ns, job("killed", [task("w", PODS, cpu="10m")]))
    wait_some(api, ns, after)
    binary = getattr(pumice, name)
    binary.kill9()
    binary.start()
    check(api, ns, witness, "killed")


def test_kill9_of_the_webhook(api, ns, pumice, witness):
    """What is admitted goes on without it; new jobs wait for it to come back."""
    api.create_job(ns, job("before", [task("w", PODS, cpu="10m")]))
    pumice.webhook.kill9()
    check(api, ns, witness, "before")
    pumice.webhook.start()
    pumice.wait_admission()
    api.create_job(ns, job("after", [task("w", 1)]))
    api.wait_phase(ns, "after", "Running", timeout=30)


def test_a_gang_cut_off_half_way_is_completed_first(api, ns, pumice):
    """G1: the scheduler dies between binds; the gang that has begun goes before its rival."""
    for name in ("one", "two"):
        api.create_job(ns, job(name, [task("w", 24, cpu="8")]))
    wait_until(lambda: any(api.bound_pods(ns, name) for name in ("one", "two")), 60,
               "the first binds", interval=0.01)
    pumice.scheduler.kill9()
    pumice.scheduler.start()
    wait_until(lambda: any(api.phase(ns, name) == "Running" for name in ("one", "two")), 60,
               lambda: f"one gang running; {api.why(ns, 'one')}; {api.why(ns, 'two')}")
    counts = sorted(len(api.bound_pods(ns, name)) for name in ("one", "two"))
    assert counts == [0, 24]
