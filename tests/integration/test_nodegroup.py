"""Groups of nodes and the queues that may use them: the plugin nodegroup, with what users write in Queues."""

import json

import pytest

from harness.api import QUEUES, kind_of
from harness.objects import job, task
from harness.placing import settled, told

GROUP = "volcano.sh/nodegroup-name"
LIMITS = "volcano.sh/nodegroup-resource-limits"
CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: capacity{more}
  - name: nodegroup{more}
"""
FLAT = CONF.format(more="")
HIERARCHY = CONF.format(more="\n    enableHierarchy: true")


def only(*groups, **more):
    """A queue that may use these groups of nodes alone."""
    return {"affinity": {"nodeGroupAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": list(groups)}, **more}}


def better(*groups, **more):
    """A queue that may use these groups of nodes, too, and has the first rather than the others."""
    return {"affinity": {"nodeGroupAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": list(groups)}, **more}}


@pytest.fixture
def groups(api, pool):
    """groups(names, conf, **node): a node in each of these groups, None for none; gives {node: group}."""
    def make(names, conf=FLAT, **node):
        found = dict(zip(pool(len(names), conf, **node), names))
        for name, group in found.items():
            if group:
                api.core.patch_node(name, {"metadata": {"labels": {GROUP: group}}})
        return found
    return make


def used(api, ns, name, found):
    """The groups of the nodes that a job's pods are on, a pod each, sorted."""
    return sorted(found[one["spec"]["nodeName"]] for one in api.bound_pods(ns, name))


def limit(api, queue, **amounts):
    """What the queue may use of each group of nodes from now on."""
    api.custom.patch_cluster_custom_object(
        name=queue, body={"metadata": {"annotations": {LIMITS: json.dumps(amounts)}}}, **kind_of(QUEUES, None))


def test_a_queue_uses_the_groups_that_it_requires(api, ns, groups, queues):
    """Nodes of other groups, and of none, are for others."""
    found = groups(["red", "blue", None], cpu="4")
    red = queues("red", **only("red"))
    api.create_job(ns, job("fits", [task("w", 3, cpu="1")], queue=red))
    settled(api, ns, {"fits": 3})
    assert used(api, ns, "fits", found) == ["red"] * 3
    api.create_job(ns, job("large", [task("w", 2, cpu="1")], queue=red))
    told(api, ns, "large", "1 node group label not found", "1 node does not satisfy the node group affinity",
         "1 Insufficient cpu")
    settled(api, ns, {"large": 0})


def test_a_queue_that_names_no_group_uses_none(api, ns, groups, queues):
    groups(["red", None], cpu="4")
    api.create_job(ns, job("gang", [task("w", 1, cpu="1")], queue=queues("plain")))
    told(api, ns, "gang", "1 node group affinity not specified", "1 node group label not found")
    settled(api, ns, {"gang": 0})


def test_a_preferred_group_is_filled_first(api, ns, groups, queues):
    """A group to be avoided is used when there is room nowhere else, one that must be avoided never."""
    found = groups(["red", "blue", "green"], cpu="4")
    name = queues("any", **better("red", "blue", "green", nodeGroupAntiAffinity={
        "preferredDuringSchedulingIgnoredDuringExecution": ["blue"],
        "requiredDuringSchedulingIgnoredDuringExecution": ["green"]}))
    api.create_job(ns, job("first", [task("w", 4, cpu="1")], queue=name))
    settled(api, ns, {"first": 4})
    assert used(api, ns, "first", found) == ["red"] * 4
    api.create_job(ns, job("second", [task("w", 4, cpu="1")], queue=name))
    settled(api, ns, {"second": 4})
    assert used(api, ns, "second", found) == ["blue"] * 4
    api.create_job(ns, job("third", [task("w", 1, cpu="1")], queue=name))
    told(api, ns, "third", "1 node does not satisfy the node group affinity", "2 Insufficient cpu")


def test_what_a_queue_uses_of_a_group_is_limited(api, ns, groups, queues):
    """Its next gang goes to another group, and waits when there is none; a larger limit lets it in."""
    found = groups(["red", "red", "blue"], cpu="4")
    name = queues("any", **better("red", "blue"))
    limit(api, name, red={"cpu": "3"}, blue={"cpu": "2"})
    api.create_job(ns, job("gang", [task("w", 5, cpu="1")], queue=name))
    settled(api, ns, {"gang": 5})
    assert used(api, ns, "gang", found) == ["blue"] * 2 + ["red"] * 3
    api.create_job(ns, job("more", [task("w", 2, cpu="1")], queue=name))
    told(api, ns, "more", "3 node group resource limit exceeded")
    settled(api, ns, {"more": 0})
    limit(api, name, red={"cpu": "5"}, blue={"cpu": "2"})
    settled(api, ns, {"more": 2})
    assert used(api, ns, "more", found) == ["red"] * 2


def test_queues_below_take_after_those_above(api, ns, groups, queues):
    """A queue that names no groups has those of the nearest queue above it that does; its own come first."""
    found = groups(["red", "blue"], HIERARCHY, cpu="4")
    above = queues("above", **only("red"))
    heir = queues("heir", parent=above)
    own = queues("own", parent=above, **only("blue"))
    for name in (heir, own):
        api.create_job(ns, job(name.rsplit("-", 1)[1], [task("w", 2, cpu="1")], queue=name))
    settled(api, ns, {"heir": 2, "own": 2})
    assert used(api, ns, "heir", found) == ["red"] * 2
    assert used(api, ns, "own", found) == ["blue"] * 2
