"""Who gets how much: queues by weight, jobs by their dominant share, queues below others.

Each test gives the scheduler one node of its own (--node-selector), cordoned until all pods wait, so that all
contend for it at once.
"""

from harness.objects import job, task
from harness.placing import contend, settled
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


def test_queues_of_weight_one_and_three(api, ns, pumice, pool, queues):
    nodes = pool(cordoned=True, cpu="16")
    one, three = queues("one", weight=1), queues("three", weight=3)
    contend(api, ns, nodes, [job("a", [task("w", 16, cpu="1")], minimum=1, queue=one),
                             job("b", [task("w", 16, cpu="1")], minimum=1, queue=three)])
    settled(api, ns, {"a": 4, "b": 12})
    metrics = pumice.scheduler.metrics()
    assert metrics[f'volcano_queue_allocated_milli_cpu{{queue_name="{one}"}}'] == 4000
    assert metrics[f'volcano_queue_deserved_milli_cpu{{queue_name="{three}"}}'] == 12000
    assert metrics[f'volcano_queue_weight{{queue_name="{three}"}}'] == 3


def test_many_small_jobs_share_within_one_pod(api, ns, pool, queues):
    """18 CPUs on three nodes: 4.5 and 13.5."""
    nodes = pool(3, cordoned=True, cpu="6")
    one, three = queues("one", weight=1), queues("three", weight=3)
    contend(api, ns, nodes, [job(f"{which}-{i}", [task("w", 1, cpu="1")], queue=name)
                             for which, name in (("a", one), ("b", three)) for i in range(15)])

    def shares():
        bound = [pod["metadata"]["name"][0] for pod in api.pods(ns) if pod["spec"].get("nodeName")]
        return bound.count("a"), bound.count("b")

    def fair():
        a, b = shares()
        return abs(a - 4.5) < 1 and abs(b - 13.5) < 1
    wait_until(fair, 30, lambda: f"4.5 and 13.5 pods, within one: {shares()}")
    stays(fair, 2, lambda: f"the shares do not stay so: {shares()}")


def test_gangs_above_their_share_take_turns(api, ns, pool, queues):
    """Each of two queues deserves four CPUs and has a gang of six: one runs, then the other."""
    nodes = pool(cordoned=True, cpu="8")
    jobs = [job(name, [task("w", 6, cpu="1")], queue=queues(name)) for name in ("a", "b")]
    contend(api, ns, nodes, jobs)
    wait_until(lambda: api.bound_pods(ns, "a") or api.bound_pods(ns, "b"), 30, "one gang to run")
    first, second = ("a", "b") if api.bound_pods(ns, "a") else ("b", "a")
    settled(api, ns, {first: 6, second: 0})
    api.delete_job(ns, first)
    settled(api, ns, {second: 6})


def test_the_example_of_dominant_shares(api, ns, pool):
    nodes = pool(cordoned=True, cpu="9", memory="18Gi")
    contend(api, ns, nodes, [job("a", [task("w", 9, cpu="1", memory="4Gi")], minimum=1),
                             job("b", [task("w", 9, cpu="3", memory="1Gi")], minimum=1)])
    settled(api, ns, {"a": 3, "b": 2})


def test_children_share_what_their_parent_may_have(api, ns, pool, queues):
    nodes = pool(conf=HIERARCHY, cordoned=True, cpu="16")
    parent = queues("parent", capability={"cpu": "4"})
    left, right = queues("left", parent=parent), queues("right", parent=parent)
    other = queues("other")
    contend(api, ns, nodes, [job("a", [task("w", 6, cpu="1")], minimum=1, queue=left),
                             job("b", [task("w", 6, cpu="1")], minimum=1, queue=right),
                             job("c", [task("w", 6, cpu="1")], minimum=1, queue=other)])
    settled(api, ns, {"a": 2, "b": 2, "c": 6})
