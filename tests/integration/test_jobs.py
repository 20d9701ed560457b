"""Jobs end to end: admitted, fanned out, placed as gangs, run, ended, scaled, deleted."""

import time

import pytest
import yaml
from kubernetes.client.exceptions import ApiException

from harness import ROOT
from harness.api import PODGROUPS, kind_of
from harness.objects import job, task
from harness.wait import stays, wait_until

EXAMPLES = ROOT / "manifests" / "examples"


def example(name):
    """The one job of an example file, without its namespace."""
    found = yaml.safe_load((EXAMPLES / name).read_text())
    found["metadata"].pop("namespace", None)
    return found


def podgroups(api, ns):
    """The PodGroups of a namespace."""
    return api.custom.list_namespaced_custom_object(**kind_of(PODGROUPS, ns))["items"]


def nodes_of(pods):
    """The nodes that pods are bound to."""
    return {pod["spec"].get("nodeName") for pod in pods}


# The three jobs of the demo


def test_a_job_that_fits_runs_to_its_end(api, ns, pumice):
    made = api.create_job(ns, example("gang.yaml"))
    name = made["metadata"]["name"]
    replicas = sum(one["replicas"] for one in made["spec"]["tasks"])
    ended = api.wait_phase(ns, name, "Completed", timeout=60)
    assert ended["status"]["succeeded"] == replicas
    assert "running" not in ended["status"]
    assert [one["status"] for one in ended["status"]["conditions"]] == [
        "Pending", "Running", "Completed"]
    wait_until(lambda: not podgroups(api, ns), 30, "the finished job's PodGroup to go")
    assert len(api.pods_of(ns, name)) == replicas


def test_a_gang_too_large_binds_nothing_and_says_why(api, ns, pumice):
    name = api.create_job(ns, example("gang-too-large.yaml"))["metadata"]["name"]

    def explained():
        state = api.job(ns, name).get("status", {}).get("state", {})
        return state if state.get("reason") and state.get("message") else None
    state = wait_until(explained, 30, lambda: f"a reason on the job; {api.why(ns, name)}")
    assert state["phase"] == "Pending"
    assert "cpu" in state["message"]
    stays(lambda: not api.bound_pods(ns, name), 3, "no pod of the gang may be bound")


def test_an_invalid_job_is_refused(api, ns, pumice):
    with pytest.raises(ApiException) as refused:
        api.create_job(ns, example("invalid.yaml"))
    assert "denied the request" in refused.value.body
    assert api.jobs(ns) == []


# Gangs


def test_three_tasks_of_sixty_pods(api, ns, pumice):
    made = example("three-tasks.yaml")
    counts = {one["name"]: one["replicas"] for one in made["spec"]["tasks"]}
    assert len(counts) == 3 and sum(counts.values()) == 60
    name = api.create_job(ns, made)["metadata"]["name"]
    api.wait_phase(ns, name, ("Running", "Completed"), timeout=60)
    pods = api.pods_of(ns, name)
    for each, replicas in counts.items():
        mine = [pod for pod in pods if pod["metadata"]["labels"]["volcano.sh/task-spec"] == each]
        assert sorted(pod["metadata"]["name"] for pod in mine) == sorted(
            f"{name}-{each}-{index}" for index in range(replicas))
    assert all(pod["spec"].get("nodeName") for pod in pods)


def test_two_gangs_of_sixty_percent_take_turns(api, ns, pumice):
    """Ten nodes of 32 CPUs; each gang wants 24 pods of 8: six nodes' worth.

    The second may begin while the first is ending, as soon as all of it fits.
    """
    for name in ("one", "two"):
        api.create_job(ns, job(name, [task("w", 24, cpu="8", script="sleep 4")]))
    alone = set()

    def watch_them():
        bound = {name: api.bound_pods(ns, name) for name in ("one", "two")}
        live = [pod for pods in bound.values() for pod in pods
                if pod["status"]["phase"] in ("Pending", "Running")]
        counts = {name: len(pods) for name, pods in bound.items()}
        assert len(live) <= 40, "more is bound than there is"
        assert not all(0 < count < 24 for count in counts.values()), f"both are partial: {counts}"
        alone.update(name for name, count in counts.items()
                     if count == 24 and sum(counts.values()) == 24)
        return all(api.phase(ns, name) == "Completed" for name in ("one", "two"))
    wait_until(watch_them, 90, lambda: f"both gangs to complete; {api.why(ns, 'one')}; "
                                       f"{api.why(ns, 'two')}")
    assert len(alone) == 1, "one gang has to run while nothing of the other is bound"


def test_the_minimum_starts_when_the_rest_does_not_fit(api, ns, pumice):
    """48 pods of 8 CPUs, of which 40 fit; the gang needs 20."""
    api.create_job(ns, job("elastic", [task("w", 48, cpu="8")], minimum=20))
    api.wait_phase(ns, "elastic", "Running", timeout=60)
    wait_until(lambda: len(api.bound_pods(ns, "elastic")) == 40, 30, "the cluster to be full")
    stays(lambda: len(api.bound_pods(ns, "elastic")) == 40, 2, "no more than fits")


def test_a_gang_too_large_does_not_block_a_small_one(api, ns, pumice):
    api.create_job(ns, job("big", [task("w", 60, cpu="8")]))
    api.create_job(ns, job("small", [task("w", 2, cpu="1")]))
    api.wait_phase(ns, "small", "Running", timeout=30)
    assert not api.bound_pods(ns, "big")


def test_a_role_below_its_minimum_keeps_the_gang_waiting(api, ns, pumice):
    """The workers fit, the parameter server asks for more than a node has."""
    api.create_job(ns, job("mix", [task("worker", 2), task("ps", 1, minimum=1, cpu="64")]))
    stays(lambda: not api.bound_pods(ns, "mix"), 4, "nothing of the gang may be bound")


# Life of a job


def test_deletion_leaves_nothing_behind(api, ns, pumice):
    api.create_job(ns, job("gone", [task("w", 5)]))
    api.wait_phase(ns, "gone", "Running", timeout=60)
    api.delete_job(ns, "gone")
    wait_until(lambda: not api.pods(ns) and not podgroups(api, ns), 60,
               "the garbage collector to remove pods and PodGroup")
    stays(lambda: not api.pods(ns) and not podgroups(api, ns), 3, "nothing may come back")


def test_scaling_up_and_down(api, ns, pumice):
    api.create_job(ns, job("s", [task("w", 4)]))
    api.wait_phase(ns, "s", "Running", timeout=60)
    api.scale_job(ns, "s", 8)
    api.wait_pods(ns, "s", 8, phase="Running", timeout=60)
    api.scale_job(ns, "s", 2, minimum=2)
    pods = api.wait_pods(ns, "s", 2, timeout=60)
    assert {pod["metadata"]["name"] for pod in pods} == {"s-w-0", "s-w-1"}
    assert api.podgroup_of(ns, "s")["spec"]["minMember"] == 2
    wait_until(lambda: api.job(ns, "s")["status"].get("running") == 2, 20,
               lambda: f"two running pods in the status; {api.why(ns, 's')}")
    assert api.phase(ns, "s") == "Running"


def test_a_failed_pod_fails_the_job(api, ns, pumice):
    api.create_job(ns, job("f", [task("good", 1, script="sleep 1"),
                                 task("bad", 1, script="sleep 1; exit 3")]))
    status = api.wait_phase(ns, "f", "Failed", timeout=60)["status"]
    assert (status["succeeded"], status["failed"]) == (1, 1)


def test_a_job_of_the_same_name_starts_afresh(api, ns, pumice):
    """The pods of the first take half a second to go; the second waits for their names."""
    for _ in range(3):
        api.create_job(ns, job("again", [task("w", 4)]))
        api.wait_phase(ns, "again", "Running", timeout=60)
        uid = api.job(ns, "again")["metadata"]["uid"]
        pods = api.pods_of(ns, "again")
        mine = [pod for pod in pods if pod["metadata"]["ownerReferences"][0]["uid"] == uid]
        assert len(mine) == 4
        api.delete_job(ns, "again")


def test_quota_makes_the_job_wait_and_go_on(api, ns, pumice):
    """J6 in small: five of eight pods fit the quota, the gang needs three."""
    quota = {"metadata": {"name": "rq"}, "spec": {"hard": {"requests.cpu": "500m"}}}
    api.core.create_namespaced_resource_quota(ns, quota)
    wait_until(lambda: api.core.read_namespaced_resource_quota("rq", ns).status.hard, 30,
               "the quota's status to be filled")
    api.create_job(ns, job("over", [task("w", 8)], minimum=3))
    api.wait_phase(ns, "over", "Running", timeout=60)
    api.wait_pods(ns, "over", 5, timeout=30)
    wait_until(lambda: any(event["reason"] == "FailedCreate" for event in api.events(ns, "over")),
               30, "an event that says why")
    # The status follows within the second in which its writes are merged.
    wait_until(lambda: "quota" in api.job(ns, "over")["status"]["state"].get("message", ""), 10,
               lambda: f"the quota in what the job says: {api.why(ns, 'over')}")
    api.core.patch_namespaced_resource_quota("rq", ns, {"spec": {"hard": {"requests.cpu": "2"}}})
    api.wait_pods(ns, "over", 8, timeout=90)


# What people see


def test_kubectl_shows_the_columns_that_users_know(api, ns, pumice, controlplane):
    api.create_job(ns, job("seen", [task("w", 2)]))
    api.wait_phase(ns, "seen", "Running", timeout=60)
    table = controlplane.kubectl("-n", ns, "get", "vcjob,podgroup,queue")
    for words in (("STATUS", "MINAVAILABLE", "RUNNINGS", "AGE"), ("STATUS", "MINMEMBER"),
                  ("PARENT",)):
        assert any(all(word in line for word in words) for line in table.splitlines()), table


def test_kubectl_describe_tells_why_a_job_waits(api, ns, pumice, controlplane):
    api.create_job(ns, job("waits", [task("w", 40, cpu="16")]))
    wait_until(lambda: api.job(ns, "waits").get("status", {}).get("state", {}).get("message"), 30,
               lambda: f"a message; {api.why(ns, 'waits')}")
    text = controlplane.kubectl("-n", ns, "describe", "vcjob", "waits")
    assert "Message:" in text and "Reason:" in text and "cpu" in text


def test_applying_the_same_manifest_again_is_never_refused(api, ns, pumice, controlplane):
    """kubectl sends the tasks without what admission filled in; that is no change of the job."""
    made = example("three-tasks.yaml")
    made["metadata"]["namespace"] = ns
    text = yaml.safe_dump(made)
    assert "created" in controlplane.kubectl("apply", "-f", "-", input=text)
    for _ in range(5):
        controlplane.kubectl("apply", "-f", "-", input=text)
    name = made["metadata"]["name"]
    api.wait_phase(ns, name, ("Running", "Completed"), timeout=60)
    assert len(api.pods_of(ns, name)) == 60


# Nodes


def test_a_cordoned_node_gets_nothing(api, ns, pumice, more_nodes):
    node, = more_nodes(1, labels={"pool": "cordoned"})
    api.cordon(node)
    api.create_job(ns, job("c", [task("w", 1, nodeSelector={"pool": "cordoned"})]))
    stays(lambda: not api.bound_pods(ns, "c"), 3, "a cordoned node must not be used")
    api.cordon(node, unschedulable=False)
    api.wait_phase(ns, "c", "Running", timeout=30)
    assert nodes_of(api.pods_of(ns, "c")) == {node}


def test_a_tainted_node_takes_only_who_tolerates_it(api, ns, pumice, more_nodes):
    node, = more_nodes(1, labels={"pool": "tainted"})
    api.taint(node, "reserved")
    picky = {"nodeSelector": {"pool": "tainted"}}
    api.create_job(ns, job("no", [task("w", 1, **picky)]))
    api.create_job(ns, job("yes", [task("w", 1, tolerations=[
        {"key": "reserved", "operator": "Equal", "value": "test", "effect": "NoSchedule"}],
        **picky)]))
    api.wait_phase(ns, "yes", "Running", timeout=30)
    assert not api.bound_pods(ns, "no")
    api.taint(node)
    api.wait_phase(ns, "no", "Running", timeout=30)


def test_required_node_affinity(api, ns, pumice, more_nodes):
    chosen, other = more_nodes(1, labels={"rank": "7"}), more_nodes(1, labels={"rank": "3"})
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [
            {"key": "rank", "operator": "Gt", "values": ["5"]}]}]}}}
    api.create_job(ns, job("a", [task("w", 2, affinity=affinity)]))
    api.wait_phase(ns, "a", "Running", timeout=30)
    assert nodes_of(api.pods_of(ns, "a")) == set(chosen)
    assert not nodes_of(api.pods_of(ns, "a")) & set(other)


def test_room_that_appears_is_used_at_once(api, ns, pumice, more_nodes):
    api.create_job(ns, job("r", [task("w", 1, nodeSelector={"pool": "new"})]))
    stays(lambda: not api.bound_pods(ns, "r"), 2, "there is no such node yet")
    more_nodes(1, labels={"pool": "new"})
    started = time.monotonic()
    api.wait_phase(ns, "r", "Running", timeout=30)
    assert time.monotonic() - started < 10


def test_installing_over_a_running_system_changes_nothing(api, ns, pumice, controlplane):
    """X20: the webhook has filled in its caBundle; applying again must not take it out."""
    pumice.register_webhooks()
    api.create_job(ns, job("after", [task("w", 1)]))
    api.wait_phase(ns, "after", "Running", timeout=30)
