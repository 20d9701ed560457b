"""Gangs in trouble that users reported: G1 to G4 of our collection. Units prove the variants."""

import random

import pytest

from harness.objects import job, task
from harness.placing import settled, told
from harness.proxy import build, proxied
from harness.wait import stays, wait_until


# Jobs enter by the sum of the cluster alone, so that one that is a little too large gets its pods.
OVERCOMMITTED = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: overcommit
  - name: predicates
  - name: nodeorder
"""


@pytest.fixture
def failing_binds(controlplane, pumice, tmp_path):
    """failing_binds(): from then on one bind in 20 is answered with 500; gives the proxy."""
    opened = []

    def start():
        opened.append(proxied(controlplane, pumice.scheduler, build(tmp_path), tmp_path, [
            {"match": {"verb": "create", "resource": "pods", "subresource": "binding"},
             "probability": 0.05, "seed": 7, "action": {"type": "status", "code": 500}}]))
        return opened[0].__enter__()
    yield start
    for one in opened:
        one.__exit__(None, None, None)


def live(api, ns, name):
    """How many pods of a job hold a node."""
    return sum(pod["status"]["phase"] in ("Pending", "Running") for pod in api.bound_pods(ns, name))


def test_two_gangs_never_share_the_cluster(api, ns, pool, failing_binds):
    """G1: 100 nodes, two gangs of 100, some binds fail: one gang after the other."""
    pool(100, cpu="1")
    proxy = failing_binds()
    for name in ("gang-a", "gang-b"):
        api.create_job(ns, job(name, [task("w", 100, cpu="1", script="sleep 3")]))

    def ended():
        held = {name: live(api, ns, name) for name in ("gang-a", "gang-b")}
        assert not all(held.values()), f"both gangs hold nodes: {held}"
        return all(api.phase(ns, name) == "Completed" for name in held)
    wait_until(ended, 120, lambda: f"both gangs to complete; {api.why(ns, 'gang-a')}; "
                                   f"{api.why(ns, 'gang-b')}")
    assert proxy.rules()[0]["hits"] > 0


def test_many_gangs_in_random_order_all_end(api, ns, pool):
    """G1: gangs of 1 to 8 pods on 16 slots, each over after a second."""
    pool(2, cpu="8")
    draw = random.Random(1)
    names = [f"g{number}" for number in range(30)]
    for name in names:
        api.create_job(ns, job(name, [task("w", draw.randint(1, 8), cpu="1", script="sleep 1")]))

    def ended():
        held = sum(pod["status"]["phase"] in ("Pending", "Running")
                   for pod in api.pods(ns) if pod["spec"].get("nodeName"))
        assert held <= 16
        return all(one.get("status", {}).get("state", {}).get("phase") == "Completed"
                   for one in api.jobs(ns))
    wait_until(ended, 120, "all gangs to complete")


def test_what_cannot_fit_holds_nothing_and_costs_nothing(api, ns, pumice, pool):
    """G2: ten pods for nine CPUs, and a pod larger than any node; two pods run past them."""
    pool(9, conf=OVERCOMMITTED, cpu="1")
    api.create_job(ns, job("big", [task("w", 10, cpu="1")]))
    told(api, ns, "big", "9 of the 10 pods that start together fit", "cpu 10 and 9 is free")
    api.create_job(ns, job("small", [task("w", 2, cpu="1")]))
    api.create_job(ns, job("wide", [task("w", 1, cpu="73")]))
    api.wait_phase(ns, "small", "Running", timeout=10)
    told(api, ns, "wide", "cpu", "73")
    assert not api.bound_pods(ns, "big") and not api.bound_pods(ns, "wide")
    wait_until(lambda: api.job(ns, "small")["status"].get("running") == 2, 30, "both to run")

    def figures():
        found = pumice.scheduler.metrics()
        return found["pumice_scheduler_cycles_total"], found["process_cpu_seconds_total"]

    def spent(seconds):
        before = figures()
        stays(lambda: not api.bound_pods(ns, "big"), seconds, "nothing of the large gang may be bound",
              interval=1)
        return tuple(now - then for now, then in zip(figures(), before))
    wait_until(lambda: spent(1)[0] == 0, 60, "a second without a cycle")
    cycles, cpu = spent(5)
    assert cycles <= 2 and cpu < 0.25, (cycles, cpu)


def test_minimums_of_tasks(api, ns, pool):
    """G3: five CPUs: three of t1 and two of t2, never five of t1; a task of none does no harm."""
    pool(cpu="5")
    api.create_job(ns, job("mix", [task("t1", 6, minimum=2, cpu="1"),
                                   task("t2", 2, minimum=2, cpu="1"),
                                   task("t3", 0, minimum=0, cpu="1")], minimum=5))
    settled(api, ns, {"mix": 5})
    assert sorted(pod["metadata"]["name"][:6] for pod in api.bound_pods(ns, "mix")) == \
        ["mix-t1"] * 3 + ["mix-t2"] * 2


def test_init_containers_count(api, ns, pool):
    """G4: six CPUs for a moment are six CPUs; limits stand in for requests; one of two pods fits."""
    [_, other] = pool(2, cpu="8")
    api.cordon(other)  # its room lets the second job enter
    made = task("w", 1, cpu="100m")
    spec = made["template"]["spec"]
    spec["initContainers"] = [{"name": "fetch", "image": "busybox",
                               "resources": {"requests": {"cpu": "6"}}}]
    spec["containers"].append({"name": "b", "image": "busybox",
                               "resources": {"limits": {"cpu": "10m"}}})
    api.create_job(ns, job("a", [made]))
    settled(api, ns, {"a": 1}, stay=0)
    api.create_job(ns, job("b", [made]))
    api.wait_pods(ns, "b", 1)
    assert api.podgroup_of(ns, "b")["spec"]["minResources"]["cpu"] == "6"
    stays(lambda: not api.bound_pods(ns, "b"), 2, "the second pod may not be bound")
