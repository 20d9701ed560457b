"""Places on nodes are held for a gang that has waited for long, and nobody else takes them."""

from harness.objects import job, task
from harness.placing import told
from harness.wait import stays, wait_until

SOON = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    arguments:
      gang.reserveAfter: 3s
  - name: predicates
  - name: nodeorder
"""


def conditions(api, ns, name):
    """Types and reasons of the conditions of a job's PodGroup."""
    found = api.podgroup_of(ns, name) or {}  # it is made a moment after the job
    return {one["type"]: one.get("reason") for one in found.get("status", {}).get("conditions", [])}


def test_a_gang_that_waits_holds_what_becomes_free(api, ns, pumice, pool):
    """Two of 20 nodes become free one after the other: the younger job, which needs one, waits."""
    pool(20, conf=SOON, cpu="1")
    api.create_job(ns, job("old", [task("w", 20, minimum=1, cpu="1")], minimum=1))
    wait_until(lambda: len(api.bound_pods(ns, "old")) == 20, 30, "the cluster to be full")
    api.create_job(ns, job("big", [task("w", 2, cpu="1")]))
    wait_until(lambda: conditions(api, ns, "big").get("HoldsNodes") == "NodesHeld", 40,
               lambda: f"nodes to be held: {conditions(api, ns, 'big')}; {api.why(ns, 'big')}")
    assert conditions(api, ns, "big")["Unschedulable"] == "NotEnoughResources"
    assert pumice.scheduler.metrics()["pumice_scheduler_holding_jobs"] == 1
    assert "holds:     places on 2 nodes for it (cpu 2, free of it 0" in \
        pumice.scheduler.get(f"/explain/{ns}/big")[1]

    api.create_job(ns, job("late", [task("w", 1, cpu="1")]))
    api.scale_job(ns, "old", 19)
    wait_until(lambda: len(api.bound_pods(ns, "old")) == 19, 30, "a node to be free")
    told(api, ns, "late", f"1 node(s) are held for job {ns}/big")
    stays(lambda: not api.bound_pods(ns, "late") and not api.bound_pods(ns, "big"), 2,
          lambda: f"somebody took the node: {api.why(ns, 'late')}")

    api.scale_job(ns, "old", 18)
    api.wait_phase(ns, "big", "Running", timeout=30)
    assert not api.bound_pods(ns, "late")
    wait_until(lambda: "HoldsNodes" not in conditions(api, ns, "big"), 30,
               lambda: f"nothing to be held any more: {conditions(api, ns, 'big')}")
    api.scale_job(ns, "old", 17)
    api.wait_phase(ns, "late", "Running", timeout=30)
    assert len(api.bound_pods(ns, "big")) == 2
