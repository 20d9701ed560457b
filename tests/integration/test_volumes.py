"""Volumes on the real API server, with the volume binder of kube-controller-manager: claims that wait for their first
consumer are bound before the pod is, where the pod goes; what cannot be bound is undone."""

import os
import signal

import pytest

from harness.objects import claim, job, task, volume, with_claim
from harness.placing import settled, told
from harness.wait import stays, wait_until

CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
    arguments:
      volumebinding.bindTimeoutSeconds: {seconds}
  - name: nodeorder
"""


@pytest.fixture
def local(api, ns):
    """The name of a class of volumes that are there and wait for their first consumer."""
    name = f"local-{ns[-6:]}"
    api.storage.create_storage_class({"metadata": {"name": name}, "provisioner": "kubernetes.io/no-provisioner",
                                      "volumeBindingMode": "WaitForFirstConsumer"})
    yield name
    api.storage.delete_storage_class(name)


@pytest.fixture
def volumes(api, ns):
    """volumes(name, ...) as harness.objects.volume; they go when the test ends. Gives the full name."""
    made = []

    def create(name, **more):
        made.append(f"v-{ns[-6:]}-{name}")
        api.core.create_persistent_volume(volume(made[-1], **more))
        return made[-1]
    yield create
    for name in made:  # the namespace, with the claims, goes later
        api.core.patch_persistent_volume(name, {"metadata": {"finalizers": None}})
        api.core.delete_persistent_volume(name)


def make_claim(api, ns, name, **more):
    api.core.create_namespaced_persistent_volume_claim(ns, claim(name, **more))


def bound_to(api, ns, name):
    """The volume that a claim is bound to, None before it is."""
    found = api.core.read_namespaced_persistent_volume_claim(name, ns)
    return found.spec.volume_name if found.status.phase == "Bound" else None


def node_of(api, ns, name):
    """The node of a job's only pod."""
    pod, = api.pods_of(ns, name)
    return pod["spec"]["nodeName"]


def test_a_gang_goes_where_its_volumes_are(api, ns, pool, local, volumes):
    """Two tasks with a claim each, volumes on two of four nodes: both claims are bound, then the pods."""
    nodes = pool(4, cpu="8")
    first = volumes("a", storage_class=local, node=nodes[2])
    second = volumes("b", storage_class=local, node=nodes[3])
    make_claim(api, ns, "one", storage_class=local)
    make_claim(api, ns, "two", storage_class=local)
    api.create_job(ns, job("gang", [with_claim(task("x"), "one"), with_claim(task("y"), "two"), task("z", 2)]))
    settled(api, ns, {"gang": 4})
    places = {pod["metadata"]["labels"]["volcano.sh/task-spec"]: pod["spec"]["nodeName"]
              for pod in api.pods_of(ns, "gang")}
    assert {bound_to(api, ns, "one"), bound_to(api, ns, "two")} == {first, second}
    where = {first: nodes[2], second: nodes[3]}
    assert places["x"] == where[bound_to(api, ns, "one")] and places["y"] == where[bound_to(api, ns, "two")]
    by = api.core.read_persistent_volume(first).metadata.annotations
    assert by["pv.kubernetes.io/bound-by-controller"] == "yes"


def test_a_gang_with_too_few_volumes_takes_none(api, ns, pool, local, volumes):
    """Three claims and two volumes: nothing is bound, neither pods nor claims, until a third is there."""
    nodes = pool(3, cpu="8")
    for i in range(2):
        volumes(str(i), storage_class=local, node=nodes[i])
    for i in range(3):
        make_claim(api, ns, f"c{i}", storage_class=local)
    api.create_job(ns, job("gang", [with_claim(task(f"t{i}"), f"c{i}") for i in range(3)]))
    told(api, ns, "gang", "node(s) didn't find available persistent volumes to bind")
    stays(lambda: not api.bound_pods(ns, "gang"), 2, "a part of the gang is bound")
    assert not any(bound_to(api, ns, f"c{i}") for i in range(3))
    volumes("2", storage_class=local, node=nodes[2])
    settled(api, ns, {"gang": 3})


def test_bound_volumes_hold_their_pods(api, ns, pool, volumes):
    """A claim that is bound keeps its pod in the zone of its volume, and on its node."""
    nodes = pool(3, cpu="8")
    for i, node in enumerate(nodes):
        api.core.patch_node(node, {"metadata": {"labels": {"topology.kubernetes.io/zone": f"zone-{i}"}}})
    zoned, local = volumes("zoned", zone="zone-1"), volumes("local", node=nodes[2])
    make_claim(api, ns, "zoned", volumeName=zoned)
    make_claim(api, ns, "local", volumeName=local)
    wait_until(lambda: bound_to(api, ns, "zoned") and bound_to(api, ns, "local"), 60, "both claims are bound")
    api.create_job(ns, job("zoned", [with_claim(task("w"), "zoned")]))
    api.create_job(ns, job("local", [with_claim(task("w"), "local")]))
    settled(api, ns, {"zoned": 1, "local": 1})
    assert node_of(api, ns, "zoned") == nodes[1] and node_of(api, ns, "local") == nodes[2]
    api.create_job(ns, job("never", [with_claim(with_claim(task("w"), "zoned"), "local")]))
    told(api, ns, "never", "node(s) had no available volume zone")
    told(api, ns, "never", "node(s) didn't match PersistentVolume's node affinity")
    settled(api, ns, {"never": 0})


def test_a_claim_that_is_not_there(api, ns, pool, local, volumes):
    """It is said, and the pod goes on when it is."""
    node, = pool(1, cpu="8")
    volumes("late", storage_class=local, node=node)
    api.create_job(ns, job("late", [with_claim(task("w"), "data")]))
    told(api, ns, "late", 'persistentvolumeclaim "data" not found')
    make_claim(api, ns, "data", storage_class=local)
    settled(api, ns, {"late": 1})


def test_a_bind_that_cannot_end_is_undone(api, ns, controlplane, pool, local, volumes):
    """Nobody binds the claim: the volume that was marked for it is released again, and the pod waits; later it goes
    on."""
    node, = pool(1, conf=CONF.format(seconds=3), cpu="8")
    name = volumes("slow", storage_class=local, node=node)
    make_claim(api, ns, "data", storage_class=local)
    binder = controlplane.process("kube-controller-manager").pid()
    os.kill(binder, signal.SIGSTOP)
    try:
        api.create_job(ns, job("slow", [with_claim(task("w"), "data")]))

        def claim_of():
            return api.core.read_persistent_volume(name).spec.claim_ref
        wait_until(claim_of, 30, "the volume is marked for the claim")
        wait_until(lambda: not claim_of(), 30, "the volume is released again")
        assert not api.bound_pods(ns, "slow")
        events = [one["message"] for one in api.events(ns) if one["reason"] == "FailedScheduling"]
        assert any("data" in text and name in text for text in events), events
    finally:
        os.kill(binder, signal.SIGCONT)
    settled(api, ns, {"slow": 1})
    assert bound_to(api, ns, "data") == name
