"""Queues, the end of finished jobs, and pods that no job made, as users and clients see them."""

import pytest
from kubernetes.client.exceptions import ApiException

from harness.api import PODGROUPS, kind_of
from harness.objects import job, pod, queue, task
from harness.wait import stays, wait_until

COMMANDS = ("bus.volcano.sh", "v1alpha1", "commands")


def operate(api, name, action):
    """What `vcctl queue operate` does."""
    uid = api.queue(name)["metadata"]["uid"]
    owner = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": name,
             "uid": uid, "controller": True, "blockOwnerDeletion": True}
    made = {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "action": action,
            "metadata": {"generateName": f"{name}-{action.lower()}-", "ownerReferences": [owner]},
            "target": owner}
    api.custom.create_namespaced_custom_object(body=made, **kind_of(COMMANDS, "default"))


def wait_state(api, name, state):
    """Waits until the queue has that state."""
    wait_until(lambda: api.queue(name).get("status", {}).get("state") == state, 30,
               lambda: f"queue {name} to be {state}: {api.queue(name)}")


@pytest.fixture
def family(api, ns):
    """Two queues, one below the other."""
    names = [f"{ns}-parent", f"{ns}-child"]
    api.create_queue(queue(names[0]))
    wait_state(api, names[0], "Open")
    api.create_queue(queue(names[1], parent=names[0]))
    wait_state(api, names[1], "Open")
    yield names
    for name in reversed(names):
        try:
            api.delete_queue(name)
        except ApiException as gone:
            if gone.status != 404:
                raise


def test_a_queue_closes_opens_and_can_be_deleted(api, ns, pumice, family):
    parent, child = family
    assert api.queue(parent)["spec"]["parent"] == "root"
    name = api.create_job(ns, job("busy", [task("w")], queue=child))["metadata"]["name"]
    api.wait_phase(ns, name, "Running", timeout=60)
    operate(api, child, "CloseQueue")
    wait_state(api, child, "Closing")
    api.delete_job(ns, name)
    # Kubernetes' garbage collector looks for new kinds every 30 s; the CRDs may be younger than that.
    wait_until(lambda: not api.custom.list_namespaced_custom_object(
        **kind_of(PODGROUPS, ns))["items"], 90, "the PodGroup of the deleted job to go")
    wait_state(api, child, "Closed")
    operate(api, child, "OpenQueue")
    wait_state(api, child, "Open")
    # The child goes with its parent and comes back with it.
    operate(api, parent, "CloseQueue")
    wait_state(api, parent, "Closed")
    wait_state(api, child, "Closed")
    operate(api, parent, "OpenQueue")
    wait_state(api, child, "Open")
    wait_until(lambda: not api.custom.list_namespaced_custom_object(
        **kind_of(COMMANDS, "default"))["items"], 30, "the Commands to be gone")
    for one in (child, parent):
        operate(api, one, "CloseQueue")
        wait_state(api, one, "Closed")
        api.delete_queue(one)


def test_a_finished_job_goes_when_its_time_is_over(api, ns, pumice):
    kept = job("kept", [task("w", script="sleep 1")])
    short = job("short", [task("w", script="sleep 1")], ttlSecondsAfterFinished=3)
    for made in (kept, short):
        api.create_job(ns, made)
    api.wait_phase(ns, "kept", "Completed", timeout=60)
    wait_until(lambda: [one["metadata"]["name"] for one in api.jobs(ns)] == ["kept"], 30,
               lambda: f"the job with a TTL to go: {api.jobs(ns)}")
    wait_until(lambda: not api.pods_of(ns, "short"), 30, "its pods to go too")
    stays(lambda: len(api.jobs(ns)) == 1, 3, "the job without a TTL stays")


def test_a_pod_of_nobody_runs_in_a_group_of_its_own(api, ns, pumice):
    api.create_pod(ns, pod("alone", scheduler="volcano"))

    def found():
        return api.core.read_namespaced_pod("alone", ns)
    wait_until(lambda: found().spec.node_name, 30, lambda: f"the pod to be bound: {found()}")
    group = found().metadata.annotations["scheduling.k8s.io/group-name"]
    assert group == f"podgroup-{found().metadata.uid}"
