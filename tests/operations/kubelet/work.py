"""Work that makes our processes do what their rights are for: jobs and pods of all kinds, and what users do to them."""

from kubernetes import client
from harness.api import PODGROUPS, kind_of
from harness.objects import claim, job, pod, task, volume, with_claim
from harness.wait import wait_until

from . import ROOT

EXAMPLES = ("three-tasks", "pytorch", "tensorflow", "mpi", "ray")
COMMANDS = ("bus.volcano.sh", "v1alpha1", "commands")
QUEUE = ("scheduling.volcano.sh/v1beta1", "Queue")
JOB = ("batch.volcano.sh/v1alpha1", "Job")
EVICTING = """\
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
  - name: pdb
- plugins:
  - name: predicates
  - name: resourcequota
  - name: nodeorder
"""


def examples(plane, api, ns):
    """The examples of all frameworks: Services, ConfigMaps, Secrets, NetworkPolicies."""
    for name in EXAMPLES:
        plane.kubectl("apply", "-n", ns, "-f", ROOT / "manifests" / "examples" / f"{name}.yaml")
    for name in EXAMPLES:
        api.wait_phase(ns, name, "Completed", timeout=90)


def command(api, namespace, name, action, kind, uid):
    """Gives an order to a job or a queue, as vcctl does, and waits until it was taken."""
    version, word = kind
    api.custom.create_namespaced_custom_object(**kind_of(COMMANDS, namespace), body={
        "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "action": action,
        "metadata": {"name": f"{name}-{action.lower()}"},
        "target": {"apiVersion": version, "kind": word, "name": name, "uid": uid, "controller": True}})
    wait_until(lambda: not api.custom.list_namespaced_custom_object(**kind_of(COMMANDS, namespace))["items"], 30,
               f"the Command {action} for {name} to be taken")


def orders(api, ns, queue):
    """A job that is stopped and goes on, is made smaller, and is deleted some time after its end; a queue is closed."""
    made = api.create_job(ns, job("ordered", [task("w", 3, script="sleep 1000")], minimum=1, plugins={"svc": []},
                                  ttlSecondsAfterFinished=1))
    uid = made["metadata"]["uid"]
    api.wait_phase(ns, "ordered", "Running")
    api.scale_job(ns, "ordered", 1, 1)
    api.wait_pods(ns, "ordered", 1, "Running")
    command(api, ns, "ordered", "AbortJob", JOB, uid)
    api.wait_phase(ns, "ordered", "Aborted")
    command(api, ns, "ordered", "ResumeJob", JOB, uid)
    api.wait_phase(ns, "ordered", "Running")
    command(api, ns, "ordered", "CompleteJob", JOB, uid)
    wait_until(lambda: not api.jobs(ns), 60, "the job to be deleted after its time")
    uid = api.queue(queue)["metadata"]["uid"]
    for action, state in (("CloseQueue", "Closed"), ("OpenQueue", "Open")):
        command(api, "default", queue, action, QUEUE, uid)
        wait_until(lambda: api.queue(queue)["status"]["state"] == state, 30, f"queue {queue} to be {state}")


def plain_pods(api, ns):
    """A pod of our scheduler that no job made: it gets a PodGroup, which goes with it."""
    api.create_pod(ns, pod("plain", scheduler="volcano", script="sleep 1000"))

    def phase():
        return api.core.read_namespaced_pod("plain", ns).status.phase

    def groups():
        return api.custom.list_namespaced_custom_object(**kind_of(PODGROUPS, ns))["items"]
    wait_until(lambda: phase() == "Running", 30, lambda: f"the plain pod to run, it is {phase()}")
    assert len(groups()) == 1
    api.core.delete_namespaced_pod("plain", ns)
    wait_until(lambda: not groups(), 60, "the PodGroup of the plain pod to go")


def volumes(api, ns, node):
    """A job with a claim that waits for its first consumer, and one that the job makes."""
    name = f"local-{ns[-6:]}"
    api.storage.create_storage_class({"metadata": {"name": name}, "provisioner": "kubernetes.io/no-provisioner",
                                      "volumeBindingMode": "WaitForFirstConsumer"})
    for number in range(2):
        api.core.create_persistent_volume(volume(f"{name}-{number}", storage_class=name, node=node))
    api.core.create_namespaced_persistent_volume_claim(ns, claim("there", storage_class=name))
    api.create_job(ns, job("kept", [with_claim(task("w", script="sleep 1"), "there")], volumes=[
        {"mountPath": "/made", "volumeClaim": {"storageClassName": name, "accessModes": ["ReadWriteOnce"],
                                               "resources": {"requests": {"storage": "1Gi"}}}}]))
    api.wait_phase(ns, "kept", "Completed")
    for number in range(2):
        api.core.patch_persistent_volume(f"{name}-{number}", {"metadata": {"finalizers": None}})
        api.core.delete_persistent_volume(f"{name}-{number}")
    api.storage.delete_storage_class(name)


def provisioned(api, ns):
    """A claim whose volume somebody makes when the scheduler has said on which node."""
    name = f"made-{ns[-6:]}"
    api.storage.create_storage_class({"metadata": {"name": name}, "provisioner": "example.org/volumes",
                                      "volumeBindingMode": "WaitForFirstConsumer"})
    api.core.create_namespaced_persistent_volume_claim(ns, claim("late", storage_class=name))
    api.create_job(ns, job("provisioned", [with_claim(task("w", script="sleep 1"), "late")]))

    def node():
        annotations = api.core.read_namespaced_persistent_volume_claim("late", ns).metadata.annotations or {}
        return annotations.get("volume.kubernetes.io/selected-node")
    made = volume(name, storage_class=name, node=wait_until(node, 30, "a node to be chosen for the claim"))
    made["spec"]["claimRef"] = {"namespace": ns, "name": "late"}
    api.core.create_persistent_volume(made)
    api.wait_phase(ns, "provisioned", "Completed")
    api.core.patch_persistent_volume(name, {"metadata": {"finalizers": None}})
    api.core.delete_persistent_volume(name)
    api.storage.delete_storage_class(name)


def names_taken(api, ns):
    """A job whose names belong to others, which are looked at; it goes on when they are gone."""
    named = {"metadata": {"name": "taken"}}
    networking = client.NetworkingV1Api(api.client)
    api.core.create_namespaced_config_map(ns, {"metadata": {"name": "taken-svc"}})
    api.core.create_namespaced_secret(ns, {"metadata": {"name": "taken-ssh"}})
    api.core.create_namespaced_service(ns, {**named, "spec": {"clusterIP": "None", "selector": {"a": "b"}}})
    networking.create_namespaced_network_policy(ns, {**named, "spec": {"podSelector": {"matchLabels": {"a": "b"}}}})
    api.create_job(ns, job("taken", [task("w", script="sleep 1")], plugins={"svc": [], "ssh": []}))
    wait_until(lambda: " exists" in api.why(ns, "taken"), 30, lambda: f"the job to say why: {api.why(ns, 'taken')}")
    api.core.delete_namespaced_config_map("taken-svc", ns)
    api.core.delete_namespaced_secret("taken-ssh", ns)
    api.core.delete_namespaced_service("taken", ns)
    networking.delete_namespaced_network_policy("taken", ns)
    api.wait_phase(ns, "taken", "Completed", timeout=90)


def evictions(api, ns, nodes, cpu):
    """A job of high priority takes the room of one of low priority that fills all nodes."""
    scheduling = client.SchedulingV1Api(api.client)
    for name, value in (("low", 1), ("high", 10)):
        scheduling.create_priority_class({"metadata": {"name": f"{name}-{ns[-6:]}"}, "value": value})

    def graded(name, replicas, script, **spec):
        classed = f"{name}-{ns[-6:]}"
        return job(name, [task("w", replicas, cpu=cpu, script=script, priorityClassName=classed)],
                   priorityClassName=classed, **spec)
    api.create_job(ns, graded("low", nodes, "sleep 1000", minimum=1))
    api.wait_pods(ns, "low", nodes, "Running")
    api.create_job(ns, graded("high", 1, "sleep 2"))
    api.wait_phase(ns, "high", "Completed")
    for name in ("low", "high"):
        scheduling.delete_priority_class(f"{name}-{ns[-6:]}")


def short_job(name):
    """A job of two pods that run for a second."""
    return job(name, [task("w", 2, script="sleep 1")])


def long_job(api, ns):
    """A job that runs for as long as an uninstallation and an installation take."""
    api.create_job(ns, job("long", [task("w", 3, script="sleep 30")]))
    api.wait_pods(ns, "long", 3, "Running")


def uids(api, ns):
    """The UIDs of jobs and pods of a namespace by kind and name."""
    return {**{("Job", found["metadata"]["name"]): found["metadata"]["uid"] for found in api.jobs(ns)},
            **{("Pod", found["metadata"]["name"]): found["metadata"]["uid"] for found in api.pods(ns)}}
