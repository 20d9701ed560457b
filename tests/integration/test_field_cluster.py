"""Queues, nodes and restarts in trouble that users reported: G5 to G8 of our collection."""

import pytest

from harness.objects import job, pod, task
from harness.placing import create_podgroup, podgroup_phase, settled, told
from harness.proxy import build, proxied
from harness.wait import stays, wait_until

GPU = "acme.example/gpu"


def held(api, ns):
    """CPUs of the pods of a namespace that have a node and have not ended."""
    return sum(int(one["spec"]["containers"][0]["resources"]["requests"]["cpu"])
               for one in api.pods(ns) if one["spec"].get("nodeName")
               and one["status"]["phase"] in ("Pending", "Running"))


def single(name, cpu, queue):
    """A job of one pod."""
    return job(name, [task("w", 1, cpu=cpu)], queue=queue)


# G5: the limit of a queue


def allocated(api, name):
    """CPUs and pods that a queue's status says it holds."""
    found = api.queue(name).get("status", {}).get("allocated", {})
    return found.get("cpu"), found.get("pods")


def test_a_queue_keeps_its_limit(api, ns, pool, queues):
    """Nine of ten CPUs are held: 10 and 2 wait, 1 runs past them, and no pod comes beyond."""
    pool(cpu="32")
    queue = queues("ten", capability={"cpu": "10", "memory": "10Gi"})
    api.create_job(ns, job("nine", [task("w", 9, cpu="1")], queue=queue))
    settled(api, ns, {"nine": 9}, stay=0)
    for cpu in ("10", "2", "1"):
        api.create_job(ns, single(f"j{cpu}", cpu, queue))
    wait_until(lambda: len(api.bound_pods(ns, "j1")) == 1, 30,
               lambda: f"the job of one CPU to run; {api.why(ns, 'j1')}")
    bare = pod("bare", scheduler="volcano", cpu="1")
    bare["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": queue}
    api.create_pod(ns, bare)
    stays(lambda: held(api, ns) == 10, 3, lambda: f"{held(api, ns)} CPUs are held, not 10")
    wait_until(lambda: allocated(api, queue) == ("10", "10"), 30,
               lambda: f"10 CPUs of 10 pods in the queue's status: {api.queue(queue)['status']}")
    told(api, ns, "j2", "cpu")
    api.delete_job(ns, "nine")
    wait_until(lambda: held(api, ns) == 4 and allocated(api, queue) == ("4", "3"), 60,
               lambda: f"4 CPUs, held by 1, 2 and the bare pod: {api.queue(queue)['status']}")


def test_jobs_of_one_cycle_keep_the_limit(api, ns, pool, queues):
    """Three at once for a queue of two, and an elastic job of thirty for a queue of ten."""
    [node] = pool(cordoned=True, cpu="32")
    two, ten = queues("two", capability={"cpu": "2"}), queues("ten", capability={"cpu": "10"})
    for number in range(3):
        api.create_job(ns, single(f"j{number}", "1", two))
    api.create_job(ns, job("elastic", [task("w", 30, cpu="1")], minimum=1, queue=ten))
    api.wait_pods(ns, "elastic", 30)
    api.cordon(node, False)

    def full():
        counts = (sum(len(api.bound_pods(ns, f"j{number}")) for number in range(3)),
                  len(api.bound_pods(ns, "elastic")))
        assert counts[0] <= 2 and counts[1] <= 10, counts
        return counts == (2, 10)
    wait_until(full, 30, "both queues to be full")
    stays(full, 2, "the queues do not stay full")


# G6: devices that come and go


def set_allocatable(api, node, gpus):
    """What the kubelet says when a device plugin has so many healthy devices."""
    api.core.patch_node_status(node, {"status": {"allocatable": {GPU: str(gpus)},
                                                 "capacity": {GPU: str(gpus)}}})


def wants(name, gpus, script=None):
    """A job of one pod that asks for devices, or for none."""
    made = task("w", 1, cpu="1", script=script)
    if gpus:
        made["template"]["spec"]["containers"][0]["resources"]["limits"] = {GPU: str(gpus)}
    return job(name, [made])


def test_a_device_plugin_restarts(api, ns, pumice, pool):
    """Only what is short waits: pods without a device run, whatever became of the devices."""
    [node] = pool(cpu="16", extended={GPU: "8"})
    pid = pumice.scheduler.pid()
    api.create_job(ns, wants("eight", 8))
    settled(api, ns, {"eight": 1}, stay=0)
    for step, gpus in enumerate((6, 0, 8)):
        set_allocatable(api, node, gpus)
        api.create_job(ns, wants(f"gpu{step}", 1))
        api.create_job(ns, wants(f"cpu{step}", 0))
        wait_until(lambda: api.bound_pods(ns, f"cpu{step}"), 10,
                   lambda: f"a pod without a device to run; {api.why(ns, f'cpu{step}')}")
        assert not api.bound_pods(ns, f"gpu{step}")
    set_allocatable(api, node, 6)
    api.delete_job(ns, "eight")
    settled(api, ns, {"gpu0": 1, "gpu1": 1, "gpu2": 1}, stay=0)
    api.create_job(ns, wants("four", 4))
    api.create_job(ns, wants("three", 3))
    settled(api, ns, {"four": 0, "three": 1}, stay=1)
    set_allocatable(api, node, 10)
    settled(api, ns, {"four": 1}, stay=0)
    assert pumice.scheduler.pid() == pid


# G7: restarts


LISTS = [("nodes", ""), ("pods", ""), ("podgroups", "scheduling.volcano.sh"),
         ("queues", "scheduling.volcano.sh"), ("priorityclasses", "scheduling.k8s.io")]


@pytest.fixture
def slow_lists(controlplane, pumice, tmp_path):
    """The scheduler goes through a proxy, and each of its lists can be late."""
    with proxied(controlplane, pumice.scheduler, build(tmp_path), tmp_path) as proxy:
        yield proxy


def test_nothing_is_bound_on_half_the_facts(api, ns, pumice, pool, request):
    """A full cluster, pods that wait, one pod that goes while the scheduler is away: with whatever list
    coming late, exactly one takes its place."""
    nodes = pool(2, cpu="8")
    proxy = request.getfixturevalue("slow_lists")
    api.create_job(ns, job("full", [task("w", 16, minimum=1, cpu="1")], minimum=1))
    settled(api, ns, {"full": 16}, stay=0)
    for number in range(10):
        api.create_job(ns, job(f"j{number}", [task("w", 1, cpu="1")]))
    for resource, group in LISTS:
        pumice.scheduler.stop()
        proxy.reset()
        rule = proxy.add({"match": {"verb": "list", "resource": resource, "group": group},
                          "action": {"type": "delay", "ms": 1500}})
        victim = api.bound_pods(ns, "full")[0]["metadata"]["name"]
        api.scale_job(ns, "full", len(api.pods_of(ns, "full")) - 1)
        wait_until(lambda: held(api, ns) == 15, 30, f"a pod to go, such as {victim}")
        pumice.scheduler.start()
        wait_until(lambda: held(api, ns) == 16, 30, f"the place to be taken ({resource} late)")
        stays(lambda: held(api, ns) == 16, 1, f"more is bound than there is ({resource} late)")
        assert proxy.hits(rule) > 0, resource
    for node in nodes:
        assert sum(one["spec"].get("nodeName") == node for one in api.pods(ns)) == 8


def test_a_node_comes_back_with_its_pods(api, ns, pool, controlplane):
    """Its object is deleted and made again; what runs there is not forgotten."""
    [node] = pool(cpu="4")
    labels = api.core.read_node(node).metadata.labels
    api.create_job(ns, job("there", [task("w", 3, cpu="1")]))
    settled(api, ns, {"there": 3}, stay=0)
    controlplane.delete_nodes([node])
    api.create_job(ns, job("late", [task("w", 3, cpu="1")], minimum=1))
    controlplane.add_nodes(1, prefix=node.rsplit("-", 1)[0], labels={"pool": labels["pool"]},
                           cpu="4")
    settled(api, ns, {"there": 3, "late": 1})


# G8: PodGroups without pods


def test_groups_without_pods_hold_nothing(api, ns, pool):
    """One that has completed and lost its pod; then one whose pods never come: after half a minute its
    claim ends, and its events with it."""
    pool(cpu="10")
    create_podgroup(api, ns, "old", minMember=1, minResources={"cpu": "8"})
    only = pod("only", scheduler="volcano", cpu="8", script="sleep 1")
    only["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "old"}
    api.create_pod(ns, only)
    wait_until(lambda: podgroup_phase(api, ns, "old") == "Completed", 30,
               lambda: f"the group to complete: {podgroup_phase(api, ns, 'old')}")
    api.core.delete_namespaced_pod("only", ns, grace_period_seconds=0)
    api.create_job(ns, job("first", [task("w", 8, cpu="1")]))
    settled(api, ns, {"first": 8}, stay=0)
    assert podgroup_phase(api, ns, "old") == "Completed"

    api.delete_job(ns, "first")
    create_podgroup(api, ns, "empty", minMember=8, minResources={"cpu": "8"})
    wait_until(lambda: podgroup_phase(api, ns, "empty") == "Inqueue", 30,
               lambda: f"the group to enter: {podgroup_phase(api, ns, 'empty')}")
    api.create_job(ns, job("second", [task("w", 8, cpu="1")]))
    stays(lambda: not api.pods_of(ns, "second"), 5, "the claim of the group holds for a while")
    settled_within(api, ns, "second", 8, 45)
    before = len(api.events(ns, "empty"))
    stays(lambda: len(api.events(ns, "empty")) == before, 3, "events go on", interval=1)


def settled_within(api, ns, name, count, timeout):
    """Waits for the pods of a job to be bound, for longer than settled()."""
    wait_until(lambda: len(api.bound_pods(ns, name)) == count, timeout,
               lambda: f"{count} pods of {name} on nodes; {api.why(ns, name)}")
