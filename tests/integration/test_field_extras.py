"""What went wrong for people who run such systems, tried with a controller that hears of everything late.

The controller is behind the fault proxy, and each event of its watches is up to LAG seconds under way
(PUMICE_TEST_LAG, 1 by default). The cases: what maxRetry counts, conflicts of status writes, scaling to
nothing and back, odd objects, deletion in mid kill, TTL, restarts of the controller, dependsOn, when a
job has completed, PodPending.
"""

import itertools
import os
from datetime import datetime, timedelta

import pytest
from kubernetes.client.exceptions import ApiException

from harness.api import PODGROUPS, kind_of
from harness.objects import job, pod, task
from harness.proxy import build, proxied
from harness.wait import stays, wait_until

COMMANDS = ("bus.volcano.sh", "v1alpha1", "commands")
LAG = float(os.environ.get("PUMICE_TEST_LAG", "1"))
NOWHERE = {"nodeSelector": {"there-is": "no-such-node"}}
WRITES = ("create", "update", "patch", "delete", "deletecollection")


@pytest.fixture(scope="module")
def late(controlplane, pumice_of_session, tmp_path_factory):
    """The fault proxy of a controller whose watches lag."""
    pumice_of_session.start_missing()
    folder = tmp_path_factory.mktemp("late")
    controller = pumice_of_session.controller
    with proxied(controlplane, controller, build(folder), folder) as proxy:
        proxy.add({"match": {"verb": "watch"}, "seed": 1,
                   "action": {"type": "watch_lag", "ms": 0, "random_ms": round(LAG * 1000)}})
        controller.restart()
        yield proxy
        assert controller.stop() == 0


def order(api, ns, name, action, **target):
    """Makes a Command for a job, as vcctl does; returns its name."""
    made = {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "action": action,
            "metadata": {"name": f"{name}-{action.lower()}"},
            "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name,
                       "uid": api.job(ns, name)["metadata"]["uid"], **target}}
    api.custom.create_namespaced_custom_object(body=made, **kind_of(COMMANDS, ns))
    return made["metadata"]["name"]


def commands(api, ns):
    """The Commands of a namespace."""
    return api.custom.list_namespaced_custom_object(**kind_of(COMMANDS, ns))["items"]


def podgroups(api, ns):
    """The PodGroups of a namespace."""
    return api.custom.list_namespaced_custom_object(**kind_of(PODGROUPS, ns))["items"]


def requests(proxy, ns, verb=None, resource=None, name=None):
    """What our controller asked for in a namespace, oldest first."""
    return [one for one in proxy.log()
            if one["namespace"] == ns and verb in (None, one["verb"])
            and resource in (None, one["resource"]) and name in (None, one["name"])]


def runs(proxy, ns, name):
    """How often a pod was created."""
    return len([one for one in requests(proxy, ns, "create", "pods", name) if one["status"] == 201])


def begins(entry):
    """When a request of the proxy's log came."""
    return datetime.fromisoformat(entry["time"])


def ends(entry):
    """When it was answered."""
    return begins(entry) + timedelta(milliseconds=entry["ms"])


def set_phase(api, ns, name, phase, code=0):
    """Plays the kubelet of a pod that no node has."""
    ended = {"exitCode": code, "reason": "Completed" if code == 0 else "Error"}
    api.core.patch_namespaced_pod_status(name, ns, {"status": {"phase": phase, "containerStatuses": [
        {"name": "main", "image": "busybox:1.36", "imageID": "", "ready": False, "restartCount": 0,
         "state": {"terminated": ended}}]}})


def reasons(api, ns, name):
    """The reasons of the events about an object."""
    return {event["reason"] for event in api.events(ns, name)}


# Retries


def test_what_max_retry_counts(api, ns, pumice, late):
    """J5: runs, the first included; 0 is the default of 3, and a suspension is none."""
    again = {"policies": [{"event": "PodFailed", "action": "RestartJob"}]}
    wanted = {"zero": (0, 3), "one": (1, 1), "two": (2, 2), "three": (3, 3)}
    for name, (retries, _) in wanted.items():
        api.create_job(ns, job(name, [task("w", script="sleep 0; exit 1")], maxRetry=retries, **again))
    api.create_job(ns, job("ever", [task("w", script="sleep 0; exit 1")], maxRetry=2147483647, **again))
    api.create_job(ns, job("fit", [task("w", 2)], **again))
    with pytest.raises(ApiException) as refused:
        api.create_job(ns, job("minus", [task("w")], maxRetry=-1))
    assert refused.value.status == 422 and "maxRetry" in refused.value.body
    for _ in range(5):
        api.wait_phase(ns, "fit", "Running", timeout=30)
        order(api, ns, "fit", "AbortJob")
        api.wait_phase(ns, "fit", "Aborted", timeout=30)
        wait_until(lambda: not commands(api, ns), 10, "the Command to go")
        order(api, ns, "fit", "ResumeJob")
        wait_until(lambda: not commands(api, ns), 10, "the Command to go")
    fit = api.wait_phase(ns, "fit", "Running", timeout=30)
    assert not fit["status"].get("retryCount")
    for name, (_, count) in wanted.items():
        ended = api.wait_phase(ns, name, "Failed", timeout=60)
        assert runs(late, ns, f"{name}-w-0") == count, name
        assert ended["status"]["failed"] == 1, "the last pod counts, and is kept for its log"
        assert [one["status"]["phase"] for one in api.pods_of(ns, name)] == ["Failed"]
    wait_until(lambda: runs(late, ns, "ever-w-0") >= 5, 60, "a fifth run of many")
    status = api.job(ns, "ever")["status"]
    assert status["state"]["phase"] in ("Pending", "Running", "Restarting")
    said = [one["status"] for one in status["conditions"]]
    assert len(said) == len(set(said)), "each phase once, however often it came (X2)"


# Status


def test_pods_that_end_unseen_while_writes_conflict(api, ns, pumice, late):
    """J8: no pod was ever seen Running, and twenty writes in a row meet a conflict."""
    wanted = {"all": (20, 0, "Completed"), "half": (10, 10, "Completed"), "most": (10, 11, "Failed")}
    for name, (minimum, _, _) in wanted.items():
        api.create_job(ns, job(name, [task("w", 20, minimum=minimum, **NOWHERE)], minimum=minimum))
    for name in wanted:
        api.wait_pods(ns, name, 20, timeout=30)
        wait_until(lambda name=name: api.job(ns, name)["status"].get("pending") == 20, 20,
                   lambda name=name: api.why(ns, name))
    rule = late.add({"match": {"verb": "patch", "resource": "jobs", "subresource": "status",
                               "namespace": ns, "name": "all"}, "times": 20,
                     "action": {"type": "status", "code": 409}})
    for name, (_, failed, _) in wanted.items():
        for index in range(20):
            bad = index < failed
            set_phase(api, ns, f"{name}-w-{index}", "Failed" if bad else "Succeeded", int(bad))
    for name, (_, failed, phase) in wanted.items():
        status = api.wait_phase(ns, name, phase, timeout=20 + LAG)["status"]
        assert (status.get("succeeded", 0), status.get("failed", 0)) == (20 - failed, failed)
        assert not status.get("retryCount")
    assert late.hits(rule) == 20
    late.remove(rule)
    tries = [one for one in requests(late, ns, "patch", "jobs", "all") if rule in one["rules"]]
    good = [one for one in requests(late, ns, "patch", "jobs", "all") if begins(one) > begins(tries[-1])]
    # Two seconds on a virtual clock (test_lifecycle.c); a back-off that grows would take minutes.
    assert (ends(good[0]) - begins(tries[0])).total_seconds() < 10, "a conflict is answered at once"


def test_a_restarted_controller_writes_nothing_of_what_is_over(api, ns, pumice, late):
    """X3, X4, X5: the TTL runs on, the counts stay, and nothing that is finished or at rest is written."""
    api.create_job(ns, job("kept", [task("w", 2)], ttlSecondsAfterFinished=1))
    api.create_job(ns, job("zero", [task("w", script="sleep 0")], ttlSecondsAfterFinished=0))
    api.create_job(ns, job("done", [task("w", 3, script="sleep 0"), task("f", script="sleep 0; exit 1")],
                           minimum=3))
    api.create_job(ns, job("rest", [task("w", 2)]))
    api.wait_phase(ns, "kept", "Running", timeout=30)
    api.create_job(ns, job("later", [task("w", script="sleep 0")], ttlSecondsAfterFinished=12))
    order(api, ns, "kept", "AbortJob")
    done = api.wait_phase(ns, "done", "Completed", timeout=30)["status"]
    assert (done["succeeded"], done["failed"]) == (3, 1)
    wait_until(lambda: "zero" not in [one["metadata"]["name"] for one in api.jobs(ns)], 30, "zero to go")
    later = api.wait_phase(ns, "later", "Completed", timeout=30)["status"]["state"]
    api.wait_phase(ns, "kept", "Aborted", timeout=30)
    wait_until(lambda: api.job(ns, "rest")["status"].get("running") == 2, 20, "rest to be counted")
    stays(lambda: True, LAG, "news of all that to arrive")
    before = {name: api.job(ns, name) for name in ("kept", "done", "rest")}
    known = len(late.log())
    pumice.controller.restart()
    stays(lambda: {name: api.job(ns, name) for name in before} == before, 2 * LAG,
          lambda: f"no job is written to: {late.log()[known:]}")
    asked = [one for one in late.log()[known:] if one["verb"] in WRITES and one["name"] != "later"
             and one["resource"] not in ("leases", "events")]
    assert not asked, "a controller that starts has nothing to say"
    wait_until(lambda: len(api.jobs(ns)) == 3, 30, lambda: f"later to go: {api.jobs(ns)}")
    gone, = requests(late, ns, "delete", "jobs", "later")
    finished = datetime.fromisoformat(later["lastTransitionTime"])
    assert 11.9 <= (begins(gone) - finished).total_seconds() < 16 + LAG
    assert api.phase(ns, "kept") == "Aborted", "it can be resumed, so it is not finished"
    order(api, ns, "kept", "CompleteJob")
    wait_until(lambda: len(api.jobs(ns)) == 2, 30, lambda: f"kept to go: {api.why(ns, 'kept')}")
    stays(lambda: api.job(ns, "done") == before["done"], 1, "it was not written to since")


# Scaling


def shape(api, ns, name, workers, minimum, head=1):
    """Scales tasks 0 (head) and 1 (workers) of a job in one update."""
    api.patch_job(ns, name, [
        {"op": "replace", "path": "/spec/minAvailable", "value": minimum},
        {"op": "replace", "path": "/spec/tasks/0/replicas", "value": head},
        {"op": "add", "path": "/spec/tasks/0/minAvailable", "value": head},
        {"op": "replace", "path": "/spec/tasks/1/replicas", "value": workers},
        {"op": "add", "path": "/spec/tasks/1/minAvailable", "value": workers}])


def test_scaling_to_nothing_and_back(api, ns, pumice, late):
    """J9, X1: hosts are known before those that use them start, keys stay, the group follows."""
    api.create_job(ns, job("j", [task("ps", 1), task("worker", 2)], minimum=3, plugins={
        "svc": ["--publish-not-ready-addresses=true"], "ssh": [], "env": []}))
    api.wait_phase(ns, "j", "Running", timeout=30)
    service, = requests(late, ns, "create", "services", "j")
    pods = requests(late, ns, "create", "pods")
    assert service["status"] == 201 and all(ends(service) <= begins(one) for one in pods)
    assert api.core.read_namespaced_service("j", ns).spec.publish_not_ready_addresses
    keys = api.core.read_namespaced_secret("j-ssh", ns).metadata.resource_version

    def names():
        return {one["metadata"]["name"] for one in api.pods_of(ns, "j")}

    def hosts():
        return api.core.read_namespaced_config_map("j-svc", ns).data["worker.host"]

    def group():
        spec = api.podgroup_of(ns, "j")["spec"]
        return (spec.get("minMember"), spec.get("minTaskMember", {}).get("worker"),
                spec["minResources"].get("count/pods"))
    for workers in (4, 1, 0, 3):
        shape(api, ns, "j", workers, workers + 1)
        there = [f"j-worker-{index}" for index in range(workers)]
        wait_until(lambda there=there: names() == {"j-ps-0", *there}, 30, lambda: f"the pods, not {names()}")
        assert hosts().split() == [f"{one}.j" for one in there]
        wait_until(lambda workers=workers: group() == (workers + 1, workers, str(workers + 1)), 10,
                   lambda: f"the PodGroup to follow: {group()}")
        api.wait_phase(ns, "j", "Running", timeout=20)
    told = [one for one in requests(late, ns, resource="configmaps", name="j-svc") if one["verb"] in WRITES]
    made = requests(late, ns, "create", "pods", "j-worker-3")
    assert len(told) == 5 and ends(told[1]) <= begins(made[0]), "hosts first, pods then"
    assert api.core.read_namespaced_secret("j-ssh", ns).metadata.resource_version == keys
    with pytest.raises(ApiException) as refused:
        shape(api, ns, "j", 3, 9)
    assert "minAvailable" in refused.value.body
    shape(api, ns, "j", 0, 0, head=0)
    wait_until(lambda: not names(), 30, lambda: f"all pods to go: {names()}")
    stays(lambda: api.phase(ns, "j") == "Running" and not names(), LAG + 1, lambda: api.why(ns, "j"))


# Odd objects


# Arguments of plugins, and whether the job has to be told of them.
ODD_PLUGINS = [
    ({"ssh": ["--no-root=maybe", "--ssh-key-file-path", "\u0000"], "svc": ["--"], "env": None}, True),
    ({"ssh": ["--no-root=maybe", "--ssh-key-file-path"], "svc": ["--", "-"], "env": []}, True),
    ({"svc": ["--publish-not-ready-addresses=7", "=", ""], "ssh": ["--ssh-port=99999999999999999999"]}, True),
    ({"pytorch": ["--port", "--master"]}, True), ({"mpi": ["---master=x", "\x7f"]}, True),
    ({"tensorflow": ["--port=-1"]}, False),
]


def odd_pods(owner):
    """Pods that claim to be of a job, each in another wrong way. They run on no node."""
    labels = {"volcano.sh/job-name": "well", "volcano.sh/task-spec": "w", "volcano.sh/task-index": "0"}
    notes = {"volcano.sh/job-name": "well", "volcano.sh/task-spec": "w", "volcano.sh/task-index": "0",
             "volcano.sh/job-version": "0", "volcano.sh/job-retry-count": "0",
             "scheduling.k8s.io/group-name": f"well-{owner['uid']}"}
    others = [{"apiVersion": "batch/v1", "kind": "Job"}, {"apiVersion": "batch.volcano.sh/v1", "kind": "Job"}]
    changes = [{"volcano.sh/job-version": "two"}, {"volcano.sh/job-version": "99999999999999999999"},
               {"volcano.sh/job-version": "-3"}, {"volcano.sh/task-index": "-1"},
               {"volcano.sh/task-index": "4294967296"}, {"volcano.sh/task-index": ""},
               {"volcano.sh/task-spec": "nobody"}, {"volcano.sh/task-spec": ""},
               {"volcano.sh/job-retry-count": "x"}, {"volcano.sh/job-name": "other"}]
    yield labels, None, [owner]
    yield labels, None, []
    yield labels, notes, []
    yield labels, {**notes, "volcano.sh/task-index": "1"}, [owner]  # whose place is taken
    yield from ((labels, notes, [{**owner, **other}]) for other in others)
    yield from ((labels, {**notes, **change}, [owner]) for change in changes)


def odd_commands(uid):
    """Commands that can do nothing."""
    batch = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    yield {"action": "AbortJob", "target": {**batch, "name": "nobody", "uid": uid}}
    yield {"action": "AbortJob", "target": {**batch, "name": "well", "uid": "of-an-earlier-one"}}
    yield {"action": "Dance", "target": {**batch, "name": "well", "uid": uid}}
    yield {"action": "", "target": {**batch, "name": "well", "uid": uid}}
    yield {"action": "RestartPod", "target": {**batch, "name": "well", "uid": uid}}
    yield {"action": "AbortJob", "target": {"apiVersion": "v1", "kind": "Pod", "name": "well-w-0", "uid": uid}}
    yield {"action": "AbortJob", "target": {**batch, "name": "", "uid": ""}}
    yield {"action": "AbortJob"}
    yield {}


def accepted(create, *arguments, **options):
    """True if the API server takes the object; it may refuse any odd one."""
    try:
        create(*arguments, **options)
    except ApiException as error:
        assert 400 <= error.status < 500, error
        return False
    return True


def test_odd_objects_stop_nothing(api, ns, pumice, late):
    """J10: each is refused, told of or passed over; a job beside them runs, restarts and is scaled."""
    again = {"policies": [{"event": "PodFailed", "action": "RestartJob"}]}
    well = api.create_job(ns, job("well", [task("w", 3)], minimum=1, **again))["metadata"]
    api.wait_phase(ns, "well", "Running", timeout=30)
    pid = pumice.controller.pid()
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "well",
             "uid": well["uid"], "controller": True, "blockOwnerDeletion": True}
    for number, (labels, notes, owners) in enumerate(odd_pods(owner)):
        made = pod(f"odd-{number}")
        made["metadata"].update(labels=labels, annotations=notes, ownerReferences=owners)
        api.create_pod(ns, made)
    for number, rest in enumerate(odd_commands(well["uid"])):
        made = {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command",
                "metadata": {"name": f"odd-{number}"}, **rest}
        accepted(api.custom.create_namespaced_custom_object, body=made, **kind_of(COMMANDS, ns))
    for number, spec in enumerate([None, {}, {"minMember": -1}, {"minTaskMember": {"": 0}}]):
        made = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
                "metadata": {"name": f"odd-{number}", "ownerReferences": [owner]}}
        if spec is not None:
            made["spec"] = spec
        accepted(api.custom.create_namespaced_custom_object, body=made, **kind_of(PODGROUPS, ns))
    taken = {f"plugin-{number}": told for number, (plugins, told) in enumerate(ODD_PLUGINS)
             if accepted(api.create_job, ns, job(f"plugin-{number}", [task("w")], plugins=plugins))}
    for name, told in taken.items():
        wait_until(lambda name=name, told=told: told == ("PluginError" in reasons(api, ns, name)), 30,
                   lambda name=name: f"a word on its arguments; {api.why(ns, name)}")
        api.wait_phase(ns, name, ("Running", "Failed"), timeout=30)
    # The job beside them goes on, and so does a new one.
    order(api, ns, "well", "RestartJob")
    wait_until(lambda: api.job(ns, "well")["status"].get("version") == 1, 20, lambda: api.why(ns, "well"))
    api.scale_job(ns, "well", 5, minimum=1)
    wait_until(lambda: api.job(ns, "well")["status"].get("running") == 5, 30, lambda: api.why(ns, "well"))
    assert not api.job(ns, "well")["status"].get("retryCount", 1) > 1
    api.create_job(ns, job("new", [task("w", 2, script="sleep 0")]))
    api.create_job(ns, job("early", [task("w")]))
    order(api, ns, "early", "AbortJob")  # which may be heard of before its job
    assert api.wait_phase(ns, "new", "Completed", timeout=30)["status"]["succeeded"] == 2
    api.wait_phase(ns, "early", "Aborted", timeout=30)
    assert "CommandIgnored" in reasons(api, ns, "well")
    wait_until(lambda: not any(one.get("target", {}).get("kind") == "Job" for one in commands(api, ns)), 30,
               lambda: f"Commands for jobs to go: {commands(api, ns)}")
    assert {"odd-1", "odd-2"} <= {one["metadata"]["name"] for one in api.pods(ns)}, "pods of nobody stay"
    assert pumice.controller.pid() == pid


# What is asked for in a kill: verb, resource, subresource and name, for a job and its UID.
STEPS = [("patch", "jobs", "status", "{0}"), ("delete", "pods", "", "{0}-w-1"),
         ("delete", "podgroups", "", "{0}-{1}"), ("delete", "commands", "", "{0}-abortjob"),
         ("delete", "services", "", "{0}"), ("delete", "configmaps", "", "{0}-svc")]
TROUBLES = [{"type": "delay", "ms": 1500}, {"type": "drop_after"}, {"type": "status", "code": 500}]


def test_a_job_may_go_at_every_step_of_a_kill(api, ns, pumice, late):
    """J10: while each call of a kill is slow, lost or refused, the job is deleted."""
    cases = {f"k-{number}": case for number, case in enumerate(itertools.product(STEPS, TROUBLES))}
    for name in cases:
        api.create_job(ns, job(name, [task("w", 2)], plugins={"svc": []}))
    rules = {}
    for name, ((verb, resource, subresource, pattern), trouble) in cases.items():
        uid = api.wait_phase(ns, name, "Running", timeout=60)["metadata"]["uid"]
        rules[name] = late.add({"match": {"verb": verb, "resource": resource, "namespace": ns,
                                          "subresource": subresource, "name": pattern.format(name, uid)},
                                "times": 2, "action": trouble})
    for name in cases:
        order(api, ns, name, "AbortJob")
    waiting = dict(rules)

    def all_met():
        hits = {rule["id"]: rule["hits"] for rule in late.rules()}
        for name, rule in list(waiting.items()):
            if hits[rule]:
                api.delete_job(ns, name)
                del waiting[name]
        return not waiting
    wait_until(all_met, 60, lambda: f"the call to be made: {[cases[name] for name in waiting]}")
    for rule in rules.values():
        late.remove(rule)

    def left():
        config = [one.metadata.name for one in api.core.list_namespaced_config_map(ns).items]
        services = [one.metadata.name for one in api.core.list_namespaced_service(ns).items]
        return [api.jobs(ns), api.pods(ns), podgroups(api, ns), commands(api, ns), services,
                [one for one in config if one != "kube-root-ca.crt"]]
    wait_until(lambda: not any(left()), 60, lambda: f"all to be gone: {left()}", interval=0.5)
    stays(lambda: not any(left()), LAG, lambda: f"nothing comes back: {left()}")


# When a job has ended, and what starts when


def test_who_waits_for_whom(api, ns, pumice, late):
    """X6: the gang counts a task that may not start yet; the job runs all the same."""
    second = {**task("b", 2, script="sleep 0"), "dependsOn": {"name": ["a"]}}
    api.create_job(ns, job("deps", [task("a", 2, script="sleep 8"), second], minimum=4))
    ended = api.wait_phase(ns, "deps", "Completed", timeout=60)
    assert ended["status"]["succeeded"] == 4
    made = {one["name"]: begins(one) for one in requests(late, ns, "create", "pods")}
    assert max(made["deps-a-0"], made["deps-a-1"]) < min(made["deps-b-0"], made["deps-b-1"])


# One of two tasks fails (docs/operations.md): minAvailable, minSuccess, phase.
ENDS = [(1, None, "Completed"), (2, None, "Failed"), (2, 1, "Completed"), (1, 1, "Completed"),
        (2, 2, "Failed"), (1, 2, "Failed")]


def test_when_one_of_two_tasks_fails(api, ns, pumice, late):
    """X7: the same whichever ends first."""
    cases = {}
    for number, (minimum, successes, phase) in enumerate(ENDS):
        for good, bad in ((0, 2), (2, 0)):
            name = f"t-{number}-{good}"
            rest = {} if successes is None else {"minSuccess": successes}
            api.create_job(ns, job(name, [task("good", script=f"sleep {good}"),
                                          task("bad", script=f"sleep {bad}; exit 1")],
                                   minimum=minimum, **rest))
            cases[name] = phase
    for name, phase in cases.items():
        status = api.wait_phase(ns, name, ("Completed", "Failed"), timeout=30)["status"]
        assert status["state"]["phase"] == phase, f"{name}: {status}"
        assert status["succeeded"] == 1


def test_the_index_is_there_before_what_uses_it(api, ns, pumice, late):
    """X8: in init containers and sidecars too, and before the user's own variables."""
    own = [{"name": "OUT", "value": "/out/$(VC_TASK_INDEX)"}]

    def container(name, **more):
        return {"name": name, "image": "busybox:1.36", "env": own, **more}
    made = task("w", 2, initContainers=[container("init"), container("side", restartPolicy="Always")])
    made["template"]["spec"]["containers"] = [container("main"), container("second")]
    api.create_job(ns, job("j", [made], plugins={"env": []}))
    for index, one in enumerate(sorted(api.wait_pods(ns, "j", 2), key=lambda one: one["metadata"]["name"])):
        containers = one["spec"]["initContainers"] + one["spec"]["containers"]
        assert [each["name"] for each in containers] == ["init", "side", "main", "second"]
        for each in containers:
            env = [(var["name"], var.get("value")) for var in each["env"]]
            assert ("VC_TASK_INDEX", str(index)) in env[:-1] and env[-1] == ("OUT", "/out/$(VC_TASK_INDEX)")


def test_a_pod_that_does_not_start_is_replaced_alone(api, ns, pumice, late, more_nodes):
    """X9: of two pods there is room for one; the other is replaced when its time is over, and no sooner."""
    more_nodes(1, cpu="1", labels={"pool": ns})
    api.create_job(ns, job("slow", [task("w", 2, minimum=1, cpu="1", nodeSelector={"pool": ns})],
                           minimum=1, maxRetry=10,
                           policies=[{"event": "PodPending", "action": "RestartPod", "timeout": "6s"}]))
    api.wait_phase(ns, "slow", "Running", timeout=30)
    first = {one["metadata"]["name"]: one for one in api.wait_pods(ns, "slow", 2)}
    started, = [name for name, one in first.items() if one["spec"].get("nodeName")]
    stuck, = set(first) - {started}
    wait_until(lambda: runs(late, ns, stuck) == 2, 30, lambda: f"{stuck} to be made again")
    deleted, = requests(late, ns, "delete", "pods")
    assert deleted["name"] == stuck
    born = datetime.fromisoformat(first[stuck]["metadata"]["creationTimestamp"])
    assert 5.9 <= (begins(deleted) - born).total_seconds() < 9 + LAG
    more_nodes(1, cpu="1", labels={"pool": ns})
    wait_until(lambda: api.job(ns, "slow")["status"].get("running") == 2, 30, lambda: api.why(ns, "slow"))
    stays(lambda: {one["metadata"]["uid"] for one in api.pods_of(ns, "slow")} >= {
        first[started]["metadata"]["uid"]}, 2, "the pod that had started stays")
    assert runs(late, ns, started) == 1 and runs(late, ns, stuck) == 2
    assert api.job(ns, "slow")["status"]["retryCount"] == 1
