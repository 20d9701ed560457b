"""Gangs that wait: the time-out that gives their place to others, and minimums that are a part of the pods."""

from harness.api import PODGROUPS, kind_of
from harness.objects import job, pod, task
from harness.placing import create_podgroup, podgroup_phase, told
from harness.wait import stays, wait_until

PLAIN = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: nodeorder
"""
QUEUES = PLAIN + "  - name: proportion\n"

WAITING_TIME = "pumice.sh/waiting-time"
MIN_AVAILABLE = "scheduling.volcano.sh/min-available"
GROUP_NAME = "scheduling.k8s.io/group-name"


def phase_of(api, ns, name):
    """The phase of a job's PodGroup."""
    return (api.podgroup_of(ns, name) or {}).get("status", {}).get("phase", "")


def wait_group(api, ns, name, phase, timeout=30):
    """Waits until the PodGroup of a job is in that phase."""
    wait_until(lambda: phase_of(api, ns, name) == phase, timeout,
               lambda: f"the PodGroup to be {phase}, it is {phase_of(api, ns, name)}: {api.why(ns, name)}")


def events(api, ns, reason):
    """The names of objects that have an Event of that reason, and their texts."""
    return [(event["involvedObject"]["name"], event["message"]) for event in api.events(ns)
            if event["reason"] == reason]


def with_annotation(made, key, value):
    made["metadata"]["annotations"] = {**made["metadata"].get("annotations", {}), key: value}
    return made


def test_a_time_out_gives_the_place_to_others(api, ns, pool, queues):
    """Two gangs of which the queue may hold one, on a node that is not free for either: the first has the
    claim, and loses it."""
    node, = pool(conf=QUEUES, cpu="8")
    queue = queues("narrow", capability={"cpu": "4"})
    api.create_pod(ns, pod("fills", cpu="6"))  # of another scheduler, in no queue
    api.bind(ns, "fills", node)
    first = job("first", [task("w", 4, cpu="1")], queue=queue)
    api.create_job(ns, with_annotation(first, WAITING_TIME, "12s"))
    told(api, ns, "first", "NotEnoughResources", "tasks in gang unschedulable")
    api.create_job(ns, job("second", [task("w", 3, cpu="1")], queue=queue))
    told(api, ns, "second", "waiting to enter queue")
    assert phase_of(api, ns, "first") == "Inqueue"

    told(api, ns, "first", "WaitingTimeout", "waited 12s", "the 4 pods that start together", "tried again at")
    wait_group(api, ns, "second", "Inqueue")
    wait_until(lambda: api.job(ns, "first")["status"]["state"].get("reason") == "WaitingTimeout", 10,
               lambda: f"the reason on the Job: {api.why(ns, 'first')}")
    wait_until(lambda: events(api, ns, "WaitingTimeout"), 10, "an Event")
    assert len(api.wait_pods(ns, "first", 4)) == 4
    api.core.delete_namespaced_pod("fills", ns)
    api.wait_pods(ns, "second", 3, "Running")

    # Its turn comes again when the time is over, and what the queue may hold is in use.
    told(api, ns, "first", "NotEnoughResources", "waiting to enter queue")
    assert phase_of(api, ns, "first") == "Pending" and not api.bound_pods(ns, "first")
    api.delete_job(ns, "second")
    api.wait_pods(ns, "first", 4, "Running")
    assert len(events(api, ns, "WaitingTimeout")) == 1


def test_eighty_per_cent_start_at_eighty_per_cent(api, ns, pool, more_nodes):
    nodes = pool(conf=PLAIN, cpu="7")
    create_podgroup(api, ns, "part", annotations={MIN_AVAILABLE: "80%"})
    for i in range(10):
        api.create_pod(ns, with_annotation(pod(f"part-{i}", scheduler="volcano", cpu="1"), GROUP_NAME, "part"))

    def bound():
        return sum(1 for one in api.pods(ns) if one["spec"].get("nodeName"))

    def message():
        found = api.custom.get_namespaced_custom_object(name="part", **kind_of(PODGROUPS, ns))
        return " ".join(c["message"] for c in found.get("status", {}).get("conditions", []))
    wait_until(lambda: "7 of the 8 pods that start together fit" in message(), 30,
               lambda: f"the reason of the wait: {message()}")
    stays(lambda: bound() == 0, 2, lambda: f"{bound()} pods have a node")
    mark = api.core.read_node(nodes[0]).metadata.labels["pool"]
    more_nodes(1, labels={"pool": mark}, cpu="1")
    wait_until(lambda: bound() == 8, 30, lambda: f"{bound()} of 8 pods have a node: {message()}")
    wait_until(lambda: podgroup_phase(api, ns, "part") == "Running", 10, "the PodGroup to run")
    stays(lambda: bound() == 8, 2, lambda: f"{bound()} pods have a node")


def test_a_minimum_that_does_not_count_is_told(api, ns, pumice):
    create_podgroup(api, ns, "both", annotations={MIN_AVAILABLE: "80%"}, minMember=3)
    create_podgroup(api, ns, "bad", annotations={"minAvailable": "most"})
    api.create_job(ns, with_annotation(job("own", [task("w", 1)]), MIN_AVAILABLE, "1"))
    names = {"both", "bad", api.podgroup_of(ns, "own")["metadata"]["name"]} if wait_until(
        lambda: api.podgroup_of(ns, "own"), 30, "the PodGroup of the job") else set()
    wait_until(lambda: {name for name, _ in events(api, ns, "MinAvailableIgnored")} == names, 30,
               lambda: f"an Event on {names}: {events(api, ns, 'MinAvailableIgnored')}")
    texts = dict(events(api, ns, "MinAvailableIgnored"))
    assert "spec.minMember is 3" in texts["both"] and "must be a number of pods" in texts["bad"]
    api.wait_phase(ns, "own", "Running")
