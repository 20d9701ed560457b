"""Jobs whose pods are evicted through the eviction API: no failure, no retry, and back to the queue.

The tests evict themselves, as a scheduler, a drain or a descheduler would.
"""

import pytest

from harness.objects import job, task
from harness.wait import stays, wait_until

WAIT = 60
RESTART = [{"event": "PodEvicted", "action": "RestartJob"}, {"event": "PodFailed", "action": "RestartJob"}]


def run(api, ns, name, made):
    """Creates the job and waits until all its pods run."""
    api.create_job(ns, made)
    replicas = sum(one["replicas"] for one in made["spec"]["tasks"])
    api.wait_pods(ns, name, replicas, "Running", timeout=WAIT)
    api.wait_phase(ns, name, "Running", timeout=WAIT)


def uids(api, ns, name):
    """UIDs of the job's pods by name."""
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in api.pods_of(ns, name)}


def evict_all(api, ns, before, **options):
    """Evicts pods, by name and UID."""
    for name, uid in before.items():
        api.evict(ns, name, uid, **options)


def replaced(api, ns, name, before):
    """True when none of the pods before is left and all have successors."""
    now = uids(api, ns, name)
    return now.keys() == before.keys() and not set(now.values()) & set(before.values())


def wait_runs_again(api, ns, name, before):
    """Waits until other pods run in the places of those before; returns the job."""
    wait_until(lambda: replaced(api, ns, name, before), WAIT, lambda: f"new pods; {api.why(ns, name)}")
    api.wait_pods(ns, name, len(before), "Running", timeout=WAIT)
    return api.wait_phase(ns, name, "Running", timeout=WAIT)


def counts(found):
    """What the status says of restarts and failures."""
    status = found["status"]
    return (status.get("retryCount", 0), status.get("failed", 0),
            status.get("controlledResources", {}).get("evicted"))


def wait_another(api, ns, name, pod, before):
    """Waits until another pod has the place of this one, and all run."""
    wait_until(lambda: uids(api, ns, name).get(pod) not in (None, before[pod]), WAIT,
               lambda: f"another {pod}; {api.why(ns, name)}")
    api.wait_pods(ns, name, len(before), "Running", timeout=WAIT)


def wait_spared(api, ns, name, restarts):
    """Waits until the job runs after that many restarts, of which none counts."""
    def runs():
        found = api.job(ns, name)
        return found["status"]["state"]["phase"] == "Running" and counts(found) == (restarts, 0, str(restarts))
    wait_until(runs, WAIT, lambda: f"restart {restarts} that costs nothing; {api.why(ns, name)}")


def conditions(found):
    """The phases the job went through, each once, the latest last."""
    return [one["status"] for one in found["status"]["conditions"]]


def test_a_gang_without_policies_runs_again(api, ns, pumice):
    run(api, ns, "gang", job("gang", [task("w", 4)], maxRetry=1))
    group = api.podgroup_of(ns, "gang")["metadata"]["uid"]
    for _ in range(3):
        before = uids(api, ns, "gang")
        evict_all(api, ns, before)
        found = wait_runs_again(api, ns, "gang", before)
        assert counts(found) == (0, 0, None)
    assert set(conditions(found)) == {"Pending", "Running"}
    assert api.podgroup_of(ns, "gang")["metadata"]["uid"] == group


@pytest.mark.parametrize("action", ["RestartJob", "RestartTask", "RestartPod"])
def test_a_job_of_one_run_survives_three_evictions(api, ns, pumice, action):
    policies = [{"event": "PodEvicted", "action": action}, {"event": "PodFailed", "action": "RestartJob"}]
    run(api, ns, "one", job("one", [{**task("w", 3), "policies": policies}], maxRetry=1))
    for number in range(1, 4):
        before = uids(api, ns, "one")
        evict_all(api, ns, {"one-w-1": before["one-w-1"]})
        if action == "RestartPod":
            wait_another(api, ns, "one", "one-w-1", before)
        else:
            wait_runs_again(api, ns, "one", before)
        wait_spared(api, ns, "one", number)
        if number == 2:
            pumice.controller.restart()
    # Its one run was never used up, so a failure does that.
    api.core.patch_namespaced_pod_status("one-w-0", ns, {"status": {"phase": "Failed"}})
    found = api.wait_phase(ns, "one", "Failed", timeout=WAIT)
    assert found["status"]["state"]["reason"] == "MaxRetryReached"
    assert found["status"]["retryCount"] == 4


def test_what_ends_because_it_is_told_to_has_not_failed(api, ns, pumice):
    """Pods that say Failed while they go, and one that fails because another goes."""
    stubborn = task("w", 3, script="trap '' TERM; sleep 3600", terminationGracePeriodSeconds=6)
    run(api, ns, "told", job("told", [stubborn], maxRetry=1, policies=RESTART))
    before = uids(api, ns, "told")
    evict_all(api, ns, {"told-w-1": before["told-w-1"]})
    for name in ("told-w-1", "told-w-0"):
        api.core.patch_namespaced_pod_status(name, ns, {"status": {"phase": "Failed"}})
    found = wait_runs_again(api, ns, "told", before)
    retries, failed, spared = counts(found)
    assert failed == 0 and retries >= 1 and spared == str(retries)
    stays(lambda: api.phase(ns, "told") == "Running", 2, "nothing may follow")


def test_a_pod_that_a_node_gives_up_is_made_again(api, ns, pumice):
    """A kubelet that is short of memory leaves the pod as Failed, with the condition DisruptionTarget."""
    run(api, ns, "node", job("node", [task("w", 2)], maxRetry=1,
                             policies=[{"event": "PodFailed", "action": "TerminateJob"}]))
    before = uids(api, ns, "node")
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
    api.core.patch_namespaced_pod_status(
        "node-w-0", ns, {"status": {"phase": "Failed", "reason": "Evicted", "conditions": [condition]}})
    wait_another(api, ns, "node", "node-w-0", before)
    found = api.wait_phase(ns, "node", "Running", timeout=WAIT)
    assert counts(found) == (0, 0, None)
    assert uids(api, ns, "node")["node-w-1"] == before["node-w-1"]


def test_an_evicted_gang_waits_in_its_queue(api, ns, pumice, pool, queues):
    """Somebody else took its nodes: it waits whole, and runs when there is room again."""
    (node,) = pool(1, cpu="4")
    name = queues("q")
    run(api, ns, "gang", job("gang", [task("w", 4, cpu="1")], queue=name))
    before = uids(api, ns, "gang")
    api.cordon(node)
    evict_all(api, ns, before)
    wait_until(lambda: replaced(api, ns, "gang", before), WAIT, lambda: f"new pods; {api.why(ns, 'gang')}")
    api.wait_phase(ns, "gang", "Pending", timeout=WAIT)
    wait_until(lambda: api.podgroup_of(ns, "gang")["status"]["phase"] in ("Pending", "Inqueue"), WAIT,
               lambda: f"the PodGroup to wait: {api.podgroup_of(ns, 'gang')}")
    stays(lambda: not api.bound_pods(ns, "gang") and api.phase(ns, "gang") == "Pending", 2,
          "the gang waits whole")
    api.cordon(node, False)
    found = wait_runs_again(api, ns, "gang", before)
    assert counts(found) == (0, 0, None)


def test_a_suspended_job_is_not_evicted(api, ns, pumice):
    """Its pods go because their user said so, whoever else wants them to go meanwhile."""
    stubborn = task("w", 2, script="trap '' TERM; sleep 3600", terminationGracePeriodSeconds=5)
    run(api, ns, "job", job("job", [stubborn], policies=[{"event": "PodEvicted", "action": "TerminateJob"}]))
    api.custom.create_namespaced_custom_object(
        "bus.volcano.sh", "v1alpha1", ns, "commands",
        {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": {"name": "stop"},
         "action": "AbortJob", "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
                                          "name": "job", "uid": api.job(ns, "job")["metadata"]["uid"]}})
    api.wait_phase(ns, "job", "Aborting", timeout=WAIT)
    evict_all(api, ns, uids(api, ns, "job"))
    api.wait_phase(ns, "job", "Aborted", timeout=WAIT)
