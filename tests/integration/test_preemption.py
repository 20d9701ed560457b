"""Pods evicted for others: by priority in one queue, and back to a queue that has less than its share.

Each test gives the scheduler nodes of its own, with a configuration that evicts.
"""

import secrets
import time

import kubernetes
import pytest
import yaml

from harness import ROOT
from harness.objects import job, task
from harness.placing import settled, told
from harness.proxy import build, proxied
from harness.wait import stays, wait_until

PRIORITIES = """\
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: predicates
  - name: nodeorder
"""
SHARES = """\
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
ELASTIC = SHARES.replace("  - name: gang\n", "  - name: gang\n    enableJobStarving: false\n")
STUBBORN = "trap '' TERM; sleep 1000"  # kwok-stages.yaml: such a pod takes its whole grace period


@pytest.fixture
def priorities(api):
    """priorities(low=1, high=5): classes of priority that go when the test ends; their names by these."""
    scheduling = kubernetes.client.SchedulingV1Api(api.client)
    made = []

    def make(**values):
        names = {name: f"{name}-{secrets.token_hex(3)}" for name in values}
        for name, value in values.items():
            scheduling.create_priority_class({"metadata": {"name": names[name]}, "value": value})
            made.append(names[name])
        return names
    yield make
    for name in made:
        scheduling.delete_priority_class(name)


def graded(name, tasks, priority, **spec):
    """A job whose pods have its class of priority, too."""
    for one in tasks:
        one["template"]["spec"]["priorityClassName"] = priority
    return job(name, tasks, priorityClassName=priority, **spec)


def running(api, ns, name, count, timeout=60):
    """Waits until a job has that many pods that run, none of them on its way out."""
    def alive():
        return [pod for pod in api.pods_of(ns, name) if pod.get("status", {}).get("phase") == "Running"
                and "deletionTimestamp" not in pod["metadata"]]
    wait_until(lambda: len(alive()) == count, timeout,
               lambda: f"{count} pods of {name} to run, {len(alive())} do: {api.why(ns, name)}")
    return [pod["metadata"]["uid"] for pod in alive()]


def evicted(api, ns):
    """The names of pods that were evicted, by their events."""
    return sorted(event["involvedObject"]["name"] for event in api.events(ns)
                  if event["reason"] == "Evict" and event["involvedObject"]["kind"] == "Pod")


def texts(api, ns, kind, reason="Evict"):
    """What events of objects of a kind say."""
    return [event["message"] for event in api.events(ns)
            if event["reason"] == reason and event["involvedObject"]["kind"] == kind]


def nobody_goes(api, ns, seconds=6):
    stays(lambda: not evicted(api, ns), seconds, lambda: f"evicted: {evicted(api, ns)}")


def retries(api, ns, name):
    return api.job(ns, name)["status"].get("retryCount", 0)


def test_the_example_makes_room_for_the_urgent(api, ns, pool, priorities, pumice):
    """Its priority class has another name here, since it is the whole cluster's."""
    path = ROOT / "manifests" / "examples" / "preemption.yaml"
    graded_class, patient, urgent = yaml.safe_load_all(path.read_text())
    urgent["spec"]["priorityClassName"] = priorities(urgent=graded_class["value"])["urgent"]
    pool(10, conf=PRIORITIES, cpu="32")
    api.create_job(ns, patient)
    running(api, ns, "patient", 20)
    api.create_job(ns, urgent)
    running(api, ns, "urgent", 4)
    assert len(evicted(api, ns)) == 4
    running(api, ns, "patient", 20, timeout=90)  # when the urgent one has ended
    status = api.job(ns, "patient")["status"]  # restarts, of which none counts
    assert status["retryCount"] == int(status["controlledResources"]["evicted"])


def test_three_priorities_in_one_queue(api, ns, pool, priorities, pumice):
    pool(conf=PRIORITIES, cpu="6")
    classes = priorities(low=10, middle=20, high=30)
    api.create_job(ns, graded("low", [task("w", 3, cpu="1")], classes["low"], minimum=1))
    running(api, ns, "low", 3)
    api.create_job(ns, graded("middle", [task("w", 3, cpu="1")], classes["middle"]))
    running(api, ns, "middle", 3)

    # What the lowest has above its minimum is enough.
    api.create_job(ns, graded("high", [task("w", 2, cpu="1")], classes["high"]))
    running(api, ns, "high", 2)
    settled(api, ns, {"low": 1, "middle": 3, "high": 2})
    assert len(evicted(api, ns)) == 2 and all(name.startswith("low-w-") for name in evicted(api, ns))
    assert any("high" in text for text in texts(api, ns, "Job")), texts(api, ns, "Job")
    metrics = pumice.scheduler.metrics()
    assert metrics['volcano_eviction_transactions_total{action="preempt"}'] >= 1

    # Now the gang in the middle has to go, whole; the one pod of the lowest is not enough, and not needed.
    api.create_job(ns, graded("more", [task("w", 3, cpu="1")], classes["high"]))
    running(api, ns, "more", 3)
    settled(api, ns, {"low": 1, "middle": 0, "high": 2, "more": 3})
    assert len(evicted(api, ns)) == 5

    # It runs again when there is room, and none of it counted as a failure.
    api.delete_job(ns, "more")
    running(api, ns, "middle", 3)
    assert retries(api, ns, "middle") == 0 and retries(api, ns, "low") == 0


def test_the_lender_gets_its_share_back(api, ns, pool, queues):
    pool(conf=SHARES, cpu="8")
    mine, yours = queues("mine", weight=1), queues("yours", weight=1)
    api.create_job(ns, job("borrows", [task("w", 8, cpu="1")], minimum=1, queue=yours))
    running(api, ns, "borrows", 8)
    api.create_job(ns, job("lender", [task("w", 4, cpu="1")], queue=mine))
    running(api, ns, "lender", 4)
    settled(api, ns, {"lender": 4, "borrows": 4}, stay=6)
    assert len(evicted(api, ns)) == 4
    assert any("lender" in text for text in texts(api, ns, "Job")), texts(api, ns, "Job")


def test_two_elastic_queues_do_not_take_turns(api, ns, pool, queues):
    """X16: both want all there is; what each deserves ends the matter."""
    pool(2, conf=ELASTIC, cpu="5")
    for name in ("a", "b"):
        api.create_job(ns, job(name, [task("w", 10, cpu="1")], minimum=1, queue=queues(name)))
        if name == "a":
            running(api, ns, "a", 10)
    settled(api, ns, {"a": 5, "b": 5}, stay=10)
    assert len(evicted(api, ns)) == 5


def test_what_is_guaranteed_stays(api, ns, pool, queues):
    pool(conf=ELASTIC, cpu="8")
    sure = queues("sure", weight=1, guarantee={"resource": {"cpu": "6"}}, deserved={"cpu": "6"})
    api.create_job(ns, job("has", [task("w", 8, cpu="1")], minimum=1, queue=sure))
    running(api, ns, "has", 8)
    api.create_job(ns, job("wants", [task("w", 4, cpu="1")], minimum=1, queue=queues("other")))
    running(api, ns, "wants", 2)
    settled(api, ns, {"has": 6, "wants": 2}, stay=5)


def test_a_gang_goes_whole_and_comes_back(api, ns, pool, priorities):
    pool(2, conf=PRIORITIES, cpu="2")
    classes = priorities(low=10, high=20)
    api.create_job(ns, graded("gang", [task("w", 4, cpu="1")], classes["low"], maxRetry=1,
                              policies=[{"event": "PodEvicted", "action": "RestartJob"}]))
    running(api, ns, "gang", 4)
    for turn in (1, 2):  # more often than it may be retried
        name = f"one-{turn}"
        api.create_job(ns, graded(name, [task("w", 1, cpu="1")], classes["high"]))
        running(api, ns, name, 1)
        settled(api, ns, {"gang": 0, name: 1})
        api.delete_job(ns, name)
        running(api, ns, "gang", 4)
    assert len(evicted(api, ns)) == 8


def test_nobody_goes_for_what_never_fits(api, ns, pool, priorities):
    pool(2, conf=PRIORITIES, cpu="4")
    classes = priorities(low=10, high=20)
    api.create_job(ns, graded("low", [task("w", 8, cpu="1")], classes["low"], minimum=1))
    running(api, ns, "low", 8)
    api.create_job(ns, graded("large", [task("w", 1, cpu="5")], classes["high"]))
    api.create_job(ns, graded("wide", [task("w", 3, cpu="3")], classes["high"]))
    told(api, ns, "large", "Insufficient cpu")
    nobody_goes(api, ns)
    settled(api, ns, {"low": 8, "large": 0, "wide": 0})


def test_a_budget_that_allows_one(api, ns, pool, priorities):
    pool(conf=PRIORITIES, cpu="4")
    classes = priorities(low=10, high=20)
    policy = kubernetes.client.PolicyV1Api(api.client)
    kept = task("w", 4, cpu="1")
    kept["template"]["metadata"] = {"labels": {"kept": "yes"}}
    policy.create_namespaced_pod_disruption_budget(ns, {
        "metadata": {"name": "three"}, "spec": {"minAvailable": 3, "selector": {"matchLabels": {"kept": "yes"}}}})
    api.create_job(ns, graded("low", [kept], classes["low"], minimum=1))
    running(api, ns, "low", 4)
    wait_until(lambda: policy.read_namespaced_pod_disruption_budget(
        "three", ns).status.disruptions_allowed == 1, 30, "the budget to allow one")
    api.create_job(ns, graded("two", [task("w", 2, cpu="1")], classes["high"]))
    nobody_goes(api, ns)
    api.delete_job(ns, "two")
    api.create_job(ns, graded("one", [task("w", 1, cpu="1")], classes["high"]))
    running(api, ns, "one", 1)
    settled(api, ns, {"low": 3, "one": 1})
    assert len(evicted(api, ns)) == 1


def nominated(api, ns, name):
    """Pods of a job that show where they are to run."""
    return [pod["metadata"]["name"] for pod in api.pods_of(ns, name)
            if pod.get("status", {}).get("nominatedNodeName")]


def stubborn(count, grace):
    return task("w", count, cpu="1", script=STUBBORN, terminationGracePeriodSeconds=grace)


def test_pods_that_take_their_time(api, ns, pool, priorities):
    """Their place is kept for the job until it is free; 30 seconds, as Kubernetes has it."""
    pool(conf=PRIORITIES, cpu="4")
    classes = priorities(low=10, high=20)
    api.create_job(ns, graded("low", [stubborn(4, 30)], classes["low"], minimum=1))
    running(api, ns, "low", 4)
    api.create_job(ns, graded("high", [task("w", 2, cpu="1")], classes["high"]))
    wait_until(lambda: len(nominated(api, ns, "high")) == 2, 20,
               lambda: f"both pods to be nominated: {nominated(api, ns, 'high')}; {api.why(ns, 'high')}")
    api.create_job(ns, graded("small", [task("w", 1, cpu="1")], classes["low"]))
    stays(lambda: len(evicted(api, ns)) <= 2 and not api.bound_pods(ns, "high"), 15,
          lambda: f"evicted: {evicted(api, ns)}")
    running(api, ns, "high", 2, timeout=60)
    assert len(evicted(api, ns)) == 2 and not api.bound_pods(ns, "small")


def test_who_wanted_the_room_is_gone_meanwhile(api, ns, pool, priorities):
    pool(conf=PRIORITIES, cpu="4")
    classes = priorities(low=10, middle=20, high=30)
    api.create_job(ns, graded("low", [stubborn(4, 8)], classes["low"], minimum=1))
    running(api, ns, "low", 4)
    api.create_job(ns, graded("high", [task("w", 2, cpu="1")], classes["high"]))
    wait_until(lambda: len(evicted(api, ns)) == 2, 20, lambda: f"two to be evicted: {evicted(api, ns)}")
    api.delete_job(ns, "high")
    api.create_job(ns, graded("middle", [task("w", 2, cpu="1")], classes["middle"]))
    running(api, ns, "middle", 2, timeout=40)  # the room that is coming is enough
    settled(api, ns, {"low": 2, "middle": 2})
    assert len(evicted(api, ns)) == 2


def test_a_scheduler_killed_between_decision_and_eviction(api, ns, pool, priorities, pumice, controlplane,
                                                          tmp_path):
    """Half of the evictions were carried out: the next process evicts the rest and nobody else."""
    pool(conf=PRIORITIES, cpu="6")
    classes = priorities(low=10, high=20)
    api.create_job(ns, graded("low", [stubborn(6, 10)], classes["low"], minimum=1))
    first = set(running(api, ns, "low", 6))
    evictions = {"verb": "create", "resource": "pods", "subresource": "eviction"}
    held = {"match": evictions, "skip": 2, "action": {"type": "delay", "ms": 60000}}
    with proxied(controlplane, pumice.scheduler, build(tmp_path), tmp_path, [held]):
        api.create_job(ns, graded("high", [task("w", 4, cpu="1")], classes["high"]))

        def leaving():
            return [pod for pod in api.pods_of(ns, "low") if "deletionTimestamp" in pod["metadata"]]
        wait_until(lambda: len(leaving()) == 2, 30, lambda: f"two of four to leave: {len(leaving())}")
        pumice.scheduler.kill9()
        time.sleep(1)
        pumice.scheduler.start()
    running(api, ns, "high", 4, timeout=60)
    settled(api, ns, {"low": 2, "high": 4}, stay=4)
    assert len(first & set(running(api, ns, "low", 2))) == 2  # Events of who was killed may be lost
