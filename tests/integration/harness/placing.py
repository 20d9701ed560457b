"""Where pods end up, when a scheduler has some nodes to itself: see the fixture `pool`."""

from collections import Counter

from .api import PODGROUPS, kind_of
from .wait import stays, wait_until


def contend(api, ns, nodes, jobs):
    """Creates the jobs and, when all their pods wait, lets them at the cordoned nodes."""
    for one in jobs:
        api.create_job(ns, one)
    for one in jobs:
        api.wait_pods(ns, one["metadata"]["name"], one["spec"]["tasks"][0]["replicas"])
    for node in nodes:
        api.cordon(node, False)


def settled(api, ns, expected, stay=2):
    """Waits until each job has that many pods on nodes, and sees that it stays so for some seconds."""
    def counts():
        return {name: len(api.bound_pods(ns, name)) for name in expected}
    wait_until(lambda: counts() == expected, 30, lambda: f"{expected} pods on nodes: {counts()}")
    stays(lambda: counts() == expected, stay, lambda: f"{expected} pods do not stay so: {counts()}")


def per_node(api, ns, name=None):
    """How many pods of a namespace, or of one job in it, each node has: the numbers, sorted."""
    pods = api.pods_of(ns, name) if name else api.pods(ns)
    return sorted(Counter(pod["spec"]["nodeName"] for pod in pods
                          if pod["spec"].get("nodeName")).values())


def told(api, ns, name, *words, timeout=30):
    """Waits until the condition of a job's PodGroup has all the words."""
    def says():
        return any(all(word in text for word in words)
                   for text in api.podgroup_conditions(ns, name))
    wait_until(says, timeout, lambda: f"{words} on the PodGroup: {api.why(ns, name)}")


def create_podgroup(api, ns, name, annotations=None, **spec):
    """A PodGroup that no job made."""
    return api.custom.create_namespaced_custom_object(
        body={"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
              "metadata": {"name": name, "annotations": annotations or {}}, "spec": spec},
        field_validation="Strict", **kind_of(PODGROUPS, ns))


def podgroup_phase(api, ns, name):
    """The phase of a PodGroup, "" before it has one."""
    found = api.custom.get_namespaced_custom_object(name=name, **kind_of(PODGROUPS, ns))
    return found.get("status", {}).get("phase", "")
