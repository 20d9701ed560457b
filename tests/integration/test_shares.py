"""Who gets how much: queues by weight, jobs by their dominant share, queues below others.

Each test gives the scheduler one node of its own (--node-selector), cordoned until all pods wait, so that all
contend for it at once.
"""

import secrets

import pytest

from harness.objects import job, queue, task
from harness.wait import stays, wait_until

HIERARCHY = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: capacity
    enableHierarchy: true
  - name: nodeorder
"""


@pytest.fixture
def pool(controlplane, api, pumice, more_nodes):
    """pool(conf, **node): a cordoned node that is all the scheduler uses; returns its name."""
    before = dict(pumice.scheduler.flags)

    def make(conf=None, **node):
        mark = secrets.token_hex(3)
        pumice.scheduler.flags["node-selector"] = f"pool:{mark}"
        if conf:
            path = controlplane.folder / "config" / f"{mark}.conf"
            path.write_text(conf)
            pumice.scheduler.flags["scheduler-conf"] = str(path)
        [name] = more_nodes(1, labels={"pool": mark}, **node)
        api.cordon(name)
        pumice.scheduler.restart()
        return name
    yield make
    pumice.scheduler.flags = before
    pumice.scheduler.restart()


@pytest.fixture
def queues(api, ns):
    """queues(name, ...) creates a queue whose name begins with the namespace's. It stays: with nothing in it,
    it takes nothing from others."""

    def create(name, **spec):
        full = f"{ns}-{name}"
        api.create_queue(queue(full, **spec))
        wait_until(lambda: api.queue(full).get("status", {}).get("state") == "Open", 30,
                   lambda: f"queue {full} to be open: {api.queue(full)}")
        return full
    return create


def contend(api, ns, node, jobs):
    """Creates the jobs and, when all their pods wait, lets them at the node."""
    for one in jobs:
        api.create_job(ns, one)
    for one in jobs:
        api.wait_pods(ns, one["metadata"]["name"], one["spec"]["tasks"][0]["replicas"])
    api.cordon(node, False)


def settled(api, ns, expected):
    """Waits until each job has that many pods on nodes, and sees that it stays so."""
    def counts():
        return {name: len(api.bound_pods(ns, name)) for name in expected}
    wait_until(lambda: counts() == expected, 30, lambda: f"{expected} pods on the node: {counts()}")
    stays(lambda: counts() == expected, 2, lambda: f"{expected} pods do not stay so: {counts()}")


def test_queues_of_weight_one_and_three(api, ns, pumice, pool, queues):
    node = pool(cpu="16")
    one, three = queues("one", weight=1), queues("three", weight=3)
    contend(api, ns, node, [job("a", [task("w", 16, cpu="1")], minimum=1, queue=one),
                            job("b", [task("w", 16, cpu="1")], minimum=1, queue=three)])
    settled(api, ns, {"a": 4, "b": 12})
    metrics = pumice.scheduler.metrics()
    assert metrics[f'volcano_queue_allocated_milli_cpu{{queue_name="{one}"}}'] == 4000
    assert metrics[f'volcano_queue_deserved_milli_cpu{{queue_name="{three}"}}'] == 12000
    assert metrics[f'volcano_queue_weight{{queue_name="{three}"}}'] == 3


def test_the_example_of_dominant_shares(api, ns, pool):
    node = pool(cpu="9", memory="18Gi")
    contend(api, ns, node, [job("a", [task("w", 9, cpu="1", memory="4Gi")], minimum=1),
                            job("b", [task("w", 9, cpu="3", memory="1Gi")], minimum=1)])
    settled(api, ns, {"a": 3, "b": 2})


def test_children_share_what_their_parent_may_have(api, ns, pool, queues):
    node = pool(conf=HIERARCHY, cpu="16")
    parent = queues("parent", capability={"cpu": "4"})
    left, right = queues("left", parent=parent), queues("right", parent=parent)
    other = queues("other")
    contend(api, ns, node, [job("a", [task("w", 6, cpu="1")], minimum=1, queue=left),
                            job("b", [task("w", 6, cpu="1")], minimum=1, queue=right),
                            job("c", [task("w", 6, cpu="1")], minimum=1, queue=other)])
    settled(api, ns, {"a": 2, "b": 2, "c": 6})
