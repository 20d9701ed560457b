"""PodGroups of Deployments and StatefulSets, and what the controller tells monitoring."""

import kubernetes
import pytest
from kubernetes.client.exceptions import ApiException

from harness.api import PODGROUPS, kind_of
from harness.objects import job, queue, task
from harness.wait import stays, wait_until

MINIMUM = "scheduling.volcano.sh/group-min-member"
QUEUE = "scheduling.volcano.sh/queue-name"
GROUP = "scheduling.k8s.io/group-name"


def workload(kind, name, replicas, annotations=None, pod_annotations=None):
    """A Deployment or StatefulSet of pods for our scheduler."""
    spec = task("w")["template"]["spec"]
    del spec["restartPolicy"]
    made = {"apiVersion": "apps/v1", "kind": kind,
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}, "annotations": pod_annotations or {}},
                                  "spec": {**spec, "schedulerName": "volcano"}}}}
    if kind == "StatefulSet":
        made["spec"]["podManagementPolicy"] = "Parallel"
    return made


def groups(api, ns):
    """The PodGroups of the namespace, by name."""
    return {one["metadata"]["name"]: one
            for one in api.custom.list_namespaced_custom_object(**kind_of(PODGROUPS, ns))["items"]}


def wait_spec(api, ns, name, **wanted):
    """Waits until the PodGroup has these members in its spec."""
    def reached():
        spec = groups(api, ns).get(name, {}).get("spec", {})
        return all(spec.get(key) == value for key, value in wanted.items())
    wait_until(reached, 30, lambda: f"{wanted} in {groups(api, ns)}")


def bound(api, ns, name):
    """The pods of the workload that have a node and do not go."""
    return [one for one in api.pods(ns, f"app={name}")
            if one["spec"].get("nodeName") and not one["metadata"].get("deletionTimestamp")]


@pytest.fixture
def apps(api, ns):
    """The client of Deployments and StatefulSets; those of the namespace go before it does."""
    client = kubernetes.client.AppsV1Api(api.client)
    yield client
    client.delete_collection_namespaced_deployment(ns, propagation_policy="Foreground")
    client.delete_collection_namespaced_stateful_set(ns, propagation_policy="Foreground")
    wait_until(lambda: not client.list_namespaced_replica_set(ns).items
               and not client.list_namespaced_stateful_set(ns).items, 60, "the workloads to go")


@pytest.fixture
def other_queue(api, ns):
    """A queue beside the default one."""
    name = f"{ns}-other"
    api.create_queue(queue(name))
    wait_until(lambda: api.queue(name).get("status", {}).get("state") == "Open", 30, "the queue to be open")
    yield name
    try:
        api.delete_queue(name)
    except ApiException as gone:
        if gone.status != 404:
            raise


def test_the_group_of_a_deployment_follows_it(api, apps, ns, pumice):
    apps.create_namespaced_deployment(ns, workload(
        "Deployment", "web", 3, {MINIMUM: "3", "volcano.sh/a": "1", "volcano.sh/b": "1"}))
    wait_until(lambda: len(bound(api, ns, "web")) == 3, 60, lambda: f"three pods with nodes: {groups(api, ns)}")
    replicaset, = apps.list_namespaced_replica_set(ns).items
    name = f"podgroup-{replicaset.metadata.uid}"
    assert list(groups(api, ns)) == [name]
    assert {one["metadata"]["annotations"][GROUP] for one in bound(api, ns, "web")} == {name}
    made = groups(api, ns)[name]
    owner, = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("ReplicaSet", replicaset.metadata.uid, True)
    assert (made["spec"]["minMember"], made["metadata"]["annotations"]["volcano.sh/a"]) == (3, "1")
    # What a user sets stays, the rest follows.
    api.custom.patch_namespaced_custom_object(body={"metadata": {"annotations": {"volcano.sh/b": "mine"}}},
                                              **kind_of(PODGROUPS, ns), name=name)
    apps.patch_namespaced_deployment("web", ns, {"metadata": {"annotations": {
        MINIMUM: "2", "volcano.sh/a": "2", "volcano.sh/b": "2"}}})
    wait_spec(api, ns, name, minMember=2)
    changed = groups(api, ns)[name]
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]
    assert changed["spec"]["minResources"]["pods"] == "2"
    assert [changed["metadata"]["annotations"][f"volcano.sh/{key}"] for key in "ab"] == ["2", "mine"]
    # It goes with the last pod, and comes back with the next.
    apps.patch_namespaced_deployment("web", ns, {"spec": {"replicas": 0}})
    wait_until(lambda: not groups(api, ns), 60, lambda: f"no PodGroup: {groups(api, ns)}")
    apps.patch_namespaced_deployment("web", ns, {"spec": {"replicas": 2}})
    wait_until(lambda: len(bound(api, ns, "web")) == 2, 60, lambda: f"two pods with nodes: {groups(api, ns)}")
    assert list(groups(api, ns)) == [name]


def test_the_group_of_a_statefulset_follows_its_pods(api, apps, ns, pumice, other_queue):
    apps.create_namespaced_stateful_set(ns, workload("StatefulSet", "db", 2))
    wait_until(lambda: len(bound(api, ns, "db")) == 2, 60, lambda: f"two pods with nodes: {groups(api, ns)}")
    uid = apps.read_namespaced_stateful_set("db", ns).metadata.uid
    wait_spec(api, ns, f"podgroup-{uid}", queue="default", minMember=1)
    apps.patch_namespaced_stateful_set("db", ns, {"spec": {"template": {"metadata": {
        "annotations": {QUEUE: other_queue}}}}})
    wait_spec(api, ns, f"podgroup-{uid}", queue=other_queue)
    wait_until(lambda: len(bound(api, ns, "db")) == 2, 60, lambda: f"two pods with nodes: {groups(api, ns)}")
    apps.delete_namespaced_stateful_set("db", ns)
    # Kubernetes' garbage collector looks for new kinds every 30 s; the CRDs may be younger than that.
    wait_until(lambda: not groups(api, ns), 90, lambda: f"no PodGroup: {groups(api, ns)}")
    stays(lambda: not groups(api, ns), 3, "it is not made again")


def test_what_monitoring_is_told(api, ns, pumice, other_queue):
    def count(phase):
        key = f'volcano_queue_pod_group_{phase}_count{{queue_name="{other_queue}"}}'
        return pumice.controller.metrics().get(key)

    phases = ("pending", "inqueue", "running", "unknown", "completed")
    assert [count(phase) for phase in phases] == [0] * 5
    api.create_job(ns, job("one", [task("w")], queue=other_queue))
    api.create_job(ns, job("short", [task("w", script="exit 0")], queue=other_queue))
    api.create_job(ns, job("bad", [task("w", script="exit 1")], queue=other_queue))
    api.wait_phase(ns, "one", "Running")
    wait_until(lambda: count("running") == 1, 30, lambda: f"one runs: {[count(phase) for phase in phases]}")
    api.wait_phase(ns, "short", "Completed")
    api.wait_phase(ns, "bad", "Failed")
    found = pumice.controller.metrics()
    labels = f'queue_name="{other_queue}"'
    assert found[f'volcano_job_completed_phase_count{{job_name="{ns}/short",{labels}}}'] == 1
    assert found[f'volcano_job_failed_phase_count{{job_name="{ns}/bad",{labels}}}'] == 1
    assert found['volcano_controller_job_to_pod_creation_latency_milliseconds_count'] >= 3
    uid = api.job(ns, "one")["metadata"]["uid"]
    command = {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "action": "AbortJob",
               "metadata": {"generateName": "one-abortjob-"},
               "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "one", "uid": uid}}
    api.custom.create_namespaced_custom_object(
        body=command, **kind_of(("bus.volcano.sh", "v1alpha1", "commands"), ns))
    api.wait_phase(ns, "one", "Aborted")
    wait_until(lambda: {one["reason"] for one in api.events(ns, "one")} >= {"CommandIssued", "ExecuteAction"}, 30,
               lambda: f"Events: {api.events(ns, 'one')}")
    told = [one for one in api.events(ns, "one") if one["reason"] in ("CommandIssued", "ExecuteAction")]
    assert {(one["source"]["component"], one["type"]) for one in told} == {("vc-controller-manager", "Normal")}
    for name in ("one", "short", "bad"):
        api.delete_job(ns, name)
    wait_until(lambda: not [key for key in pumice.controller.metrics() if f'"{ns}/' in key], 30, "no series of jobs")
    wait_until(lambda: [count(phase) for phase in phases] == [0] * 5, 90, "no PodGroups in the queue")
