"""Users of the Volcano command line: each command's requests as the client sends them, and what it prints."""

import datetime
import json

import pytest

from cluster import ApiError
from harness.objects import job, pod, queue, task
from harness.vcctl import Refused, Vcctl
from harness.wait import wait_until

LIVE = ("Replicas", "Min", "Pending", "Running", "Succeeded", "Failed", "Unknown", "RetryCount")


@pytest.fixture
def vcctl(controlplane, pumice):
    """The client, built with the libraries of today."""
    return Vcctl(controlplane)


@pytest.fixture
def queues(api, vcctl, ns):
    """queues(suffix, **flags): makes a queue with the client, and gives its name; it goes with the test."""
    made = []

    def create(suffix, **flags):
        made.append(f"{ns}-{suffix}")
        vcctl.queue_create(made[-1], **flags)
        wait_state(vcctl, made[-1], "Open")
        return made[-1]
    yield create
    for name in made:
        if name in vcctl.queue_list():
            api.delete_queue(name)


def wait_state(vcctl, name, state):
    """Waits until a queue is shown in that state."""
    wait_until(lambda: vcctl.queue_get(name)["State"] == state, 30,
               lambda: f"queue {name} to be {state}: {vcctl.queue_get(name)}")


def wait_row(vcctl, ns, name, timeout=60, **wanted):
    """Waits until `job list` shows these values for a job; returns its row."""
    def shown():
        row = vcctl.job_list(ns).get(name, {})
        return row if wanted.items() <= row.items() else None
    return wait_until(shown, timeout, lambda: f"{wanted} for {name}: {vcctl.job_list(ns)}")


def counts(row):
    """The numbers of a row of `job list`."""
    return tuple(row[head] for head in LIVE)


def from_file(tmp_path, made):
    """A job in a file, in JSON, which is YAML too."""
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps(made))
    return path


# Jobs


@pytest.mark.parametrize("nulls", [False, True], ids=["today", "before 1.34"])
def test_run_and_list(controlplane, pumice, api, ns, nulls):
    vcctl = Vcctl(controlplane, nulls)
    assert vcctl.job_list(ns) == {}  # "No resources found"
    assert vcctl.job_run("run", ns, minimum=2, replicas=3) == "run job run successfully"
    row = wait_row(vcctl, ns, "run", Phase="Running", Running=3)
    today = datetime.datetime.now(datetime.timezone.utc)
    assert row["Creation"] in (f"{today:%Y-%m-%d}", f"{today - datetime.timedelta(hours=1):%Y-%m-%d}")
    assert row["JobType"] == "Batch"
    assert counts(row) == (3, 2, 0, 3, 0, 0, 0, 0)
    made = api.job(ns, "run")
    assert (made["spec"]["queue"], made["spec"]["maxRetry"]) == ("default", 3)
    pods = api.pods_of(ns, "run")
    assert sorted(one["metadata"]["name"] for one in pods) == [f"run-default0-{index}" for index in range(3)]
    assert all(one["metadata"]["labels"]["job.volcano.sh"] == "run" for one in pods)
    container, = pods[0]["spec"]["containers"]
    assert container["resources"]["limits"] == container["resources"]["requests"] == {
        "cpu": "1", "memory": "100Mi"}


def test_a_job_that_ends_and_one_that_fails(vcctl, ns):
    """vsub: the job's command is given on the command line."""
    vcctl.job_run("good", ns, replicas=2, minimum=2, command=["sh", "-c", "sleep 1"])
    vcctl.job_run("bad", ns, command=["sh", "-c", "sleep 1; exit 3"])
    assert counts(wait_row(vcctl, ns, "good", Phase="Completed")) == (2, 2, 0, 0, 2, 0, 0, 0)
    assert counts(wait_row(vcctl, ns, "bad", Phase="Failed")) == (1, 1, 0, 0, 0, 1, 0, 0)
    shown, _ = vcctl.job_view(ns, "bad")
    assert shown["failed"] == 1 and shown["Conditions"][-1] == "Failed"


def test_a_job_from_a_file_restarts_until_it_may_no_more(vcctl, ns, tmp_path):
    made = job("again", [task("w", 2, script="sleep 1; exit 1")], maxRetry=2, plugins={"env": [], "svc": []},
               policies=[{"event": "PodFailed", "action": "RestartJob"}])
    made["metadata"]["labels"] = {"volcano.sh/job-type": "Training"}
    assert vcctl.job_run(namespace=ns, filename=from_file(tmp_path, made)) == "run job again successfully"
    row = wait_row(vcctl, ns, "again", Phase="Failed")
    assert (row["RetryCount"], row["JobType"]) == (2, "Training")
    shown, events = vcctl.job_view(ns, "again")
    assert shown["retryCount"] == 2 and shown["version"] >= 1
    assert shown["Plugins"] == {"env": [], "svc": []}
    assert shown["Tasks"] == [("w", 2)]
    executed = [event for event in events if event["Reason"] == "ExecuteAction"]
    assert executed and all("RestartJob" in event["Message"] for event in executed)
    assert {event["Form"] for event in events} == {"vc-controller-manager"}


def test_suspend_resume_delete(vcctl, api, ns):
    vcctl.job_run("s", ns, replicas=2, minimum=2)
    wait_row(vcctl, ns, "s", Phase="Running", Running=2)
    first = {one["metadata"]["uid"] for one in api.pods_of(ns, "s")}
    vcctl.job_suspend(ns, "s")
    assert counts(wait_row(vcctl, ns, "s", Phase="Aborted")) == (2, 2, 0, 0, 0, 0, 0, 0)
    assert vcctl.pod_list(ns, job="s") == []
    vcctl.job_resume(ns, "s")
    # Resuming by hand is no retry.
    assert counts(wait_row(vcctl, ns, "s", Phase="Running", Running=2)) == (2, 2, 0, 2, 0, 0, 0, 0)
    assert not first & {one["metadata"]["uid"] for one in api.pods_of(ns, "s")}
    shown, _ = vcctl.job_view(ns, "s")
    assert {"Aborting", "Aborted", "Running"} <= set(shown["Conditions"])

    def told(reason, word):
        return any(event["Reason"] == reason and word in event["Message"] and event["Type"] == "Normal"
                   for event in vcctl.job_view(ns, "s")[1])
    for reason in ("CommandIssued", "ExecuteAction"):
        for action in ("AbortJob", "ResumeJob"):
            wait_until(lambda: told(reason, action), 20, f"an event {reason} of {action}")
    commands = f"/apis/bus.volcano.sh/v1alpha1/namespaces/{ns}/commands"
    wait_until(lambda: not vcctl.plane.request("GET", commands)["items"], 20, "the Commands to be gone")
    assert vcctl.job_delete(ns, "s") == "delete job s successfully"
    wait_until(lambda: "s" not in vcctl.job_list(ns), 30, "the job to go")
    # Kubernetes' garbage collector looks for new kinds every 30 s; the CRDs may be younger than that.
    wait_until(lambda: not vcctl.pod_list(ns), 90, "its pods to go")
    with pytest.raises(ApiError) as gone:
        vcctl.job_suspend(ns, "s")
    assert gone.value.code == 404


def test_the_filters_of_the_list(vcctl, api, ns, queues):
    other = queues("other")
    vcctl.job_run("one-a", ns)
    vcctl.job_run("two-b", ns, scheduler="somebody-else")
    api.create_job(ns, job("three-a", [task("w")], queue=other))
    assert set(vcctl.job_list(ns)) == {"one-a", "two-b", "three-a"}
    assert set(vcctl.job_list(ns, selector="-a")) == {"one-a", "three-a"}
    assert set(vcctl.job_list(ns, scheduler="somebody-else")) == {"two-b"}
    assert set(vcctl.job_list(ns, queue=other)) == {"three-a"}
    everywhere = vcctl.job_list(everywhere=True)
    assert {name for name, row in everywhere.items() if row["Namespace"] == ns} == {"one-a", "two-b", "three-a"}


def test_the_view_of_a_job_that_waits(vcctl, ns):
    vcctl.job_run("big", ns, replicas=3, minimum=3, requests={"cpu": "64"}, limits={"cpu": "64"})

    def told():
        return [event for event in vcctl.job_view(ns, "big")[1] if event["Reason"] == "PodGroupPending"]
    event = wait_until(told, 60, lambda: f"an event PodGroupPending: {vcctl.job_view(ns, 'big')}")[0]
    assert event["Type"] == "Warning"
    assert event["First"] <= event["Last"] and event["Count"] >= 1
    row = wait_row(vcctl, ns, "big", Phase="Pending")
    assert (row["Running"], row["RetryCount"]) == (0, 0)


def test_events_of_other_jobs_are_not_shown(vcctl, ns):
    """The client goes by the names of events: those of a job whose name only begins alike must not match."""
    vcctl.job_run("own", ns)
    vcctl.job_run("own2", ns)
    wait_row(vcctl, ns, "own", Phase="Running")
    wait_row(vcctl, ns, "own2", Phase="Running")
    vcctl.job_suspend(ns, "own2")
    wait_until(lambda: vcctl.job_view(ns, "own2")[1], 30, "an event of the job that was suspended")
    assert vcctl.job_view(ns, "own")[1] == []


def test_a_job_that_is_refused(vcctl, ns):
    with pytest.raises(ApiError) as refused:
        vcctl.job_run("too-few", ns, minimum=3, replicas=2)
    assert "denied the request" in str(refused.value)
    assert vcctl.job_list(ns) == {}


# Pods


def test_pods(vcctl, api, ns, queues):
    other = queues("pods")
    vcctl.job_run("plain", ns, replicas=2)
    api.create_job(ns, job("there", [task("w", 2)], queue=other))
    bare = pod("bare")
    bare["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": other}
    api.create_pod(ns, bare)

    def names(**flags):
        return [row["Name"] for row in vcctl.pod_list(ns, **flags)]
    plain, there = ["plain-default0-0", "plain-default0-1"], ["there-w-0", "there-w-1"]
    wait_until(lambda: names() == plain + there, 60, lambda: f"the pods of both jobs: {names()}")
    wait_until(lambda: all(row["Status"] == "Running" for row in vcctl.pod_list(ns)), 60, "all pods to run")
    assert names(job="there") == there
    assert names(queue=other) == ["bare", *there]
    assert names(job="there", queue=other) == there
    with pytest.raises(Refused):
        names(job="there", queue="default")
    assert {(row["Ready"], row["Restart"]) for row in vcctl.pod_list(ns)} == {("1/1", 0)}
    assert {row["Name"] for row in vcctl.pod_list(everywhere=True, job="there") if row["Namespace"] == ns} == set(there)


# Queues


def test_queue_create_list_update(vcctl, queues):
    name = queues("q", weight=3)
    row = vcctl.queue_get(name)
    assert row == {"Name": name, "Weight": 3, "State": "Open", "Parent": "root", "Inqueue": 0, "Pending": 0,
                   "Running": 0, "Unknown": 0, "Completed": 0}
    rows = vcctl.queue_list()
    assert rows[name] == row
    assert {"default", "root"} <= set(rows)
    vcctl.queue_operate(name, "update", weight=7)
    assert vcctl.queue_get(name) == {**row, "Weight": 7}
    assert vcctl.vqueues()[name] == {"Weight": 7, "State": "Open", "Inqueue": 0, "Pending": 0, "Running": 0,
                                     "Unknown": 0}
    with pytest.raises(Refused):
        vcctl.queue_operate(name, "update")
    with pytest.raises(ApiError) as refused:
        vcctl.queue_operate(name, "update", weight=-1)
    assert "spec.weight" in str(refused.value) and "greater than or equal to 1" in str(refused.value)


def test_a_queue_made_closed_is_open(vcctl, queues):
    """The state of a new queue is the controller's to say: the status in a creation does not count."""
    assert vcctl.queue_get(queues("shut", state="Closed"))["State"] == "Open"


def test_the_jobs_of_a_queue_are_counted_by_phase(vcctl, api, ns, queues):
    name = queues("count")

    def shown(**wanted):
        row = vcctl.queue_get(name)
        return {phase: row[phase] for phase in ("Inqueue", "Pending", "Running", "Unknown", "Completed")} == {
            "Inqueue": 0, "Pending": 0, "Running": 0, "Unknown": 0, "Completed": 0, **wanted}
    for each in ("one", "two"):
        api.create_job(ns, job(each, [task("w")], queue=name))
    wait_until(lambda: shown(Running=2), 60, lambda: f"two that run: {vcctl.queue_get(name)}")
    api.create_job(ns, job("big", [task("w", 40, cpu="16")], queue=name))
    wait_until(lambda: shown(Running=2, Pending=1) or shown(Running=2, Inqueue=1), 60,
               lambda: f"one that waits: {vcctl.queue_get(name)}")
    for each in ("one", "two", "big"):
        vcctl.job_delete(ns, each)
    wait_until(shown, 90, lambda: f"none left: {vcctl.queue_get(name)}")


def test_queue_close_open_delete(vcctl, api, ns, queues):
    name = queues("life")
    made = api.create_job(ns, job("busy", [task("w")], queue=name))["metadata"]["name"]
    wait_row(vcctl, ns, made, Phase="Running")
    vcctl.queue_operate(name, "close")
    wait_state(vcctl, name, "Closing")
    assert vcctl.vqueues()[name]["State"] == "Closing"
    with pytest.raises(ApiError) as refused:
        api.plane.request("POST", f"/apis/batch.volcano.sh/v1alpha1/namespaces/{ns}/jobs",
                          job("late", [task("w")], queue=name))
    assert "can only submit job to queue with state `Open`" in str(refused.value)
    vcctl.job_delete(ns, made)
    wait_state_after_garbage(vcctl, name, "Closed")
    vcctl.queue_operate(name, "open")
    wait_state(vcctl, name, "Open")
    vcctl.queue_operate(name, "close")
    wait_state(vcctl, name, "Closed")
    assert ("POST", "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands") in vcctl.requests
    vcctl.queue_delete(name)
    wait_until(lambda: name not in vcctl.queue_list(), 20, "the queue to go")


def wait_state_after_garbage(vcctl, name, state):
    """The same, when what is deleted has to be collected first."""
    wait_until(lambda: vcctl.queue_get(name)["State"] == state, 90, lambda: f"{state}: {vcctl.queue_get(name)}")


def test_a_queue_in_a_hierarchy_shows_its_parent(vcctl, api, queues):
    parent = queues("parent")
    child = f"{parent}-child"
    api.create_queue(queue(child, parent=parent))
    try:
        wait_state(vcctl, child, "Open")
        assert vcctl.queue_get(child)["Parent"] == parent
    finally:
        vcctl.queue_delete(child)


# Flows

FLOW = """apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata:
  name: flow
spec:
  jobRetainPolicy: delete
  flows:
    - name: first
    - name: second
      dependsOn:
        targets: [first]
"""

TEMPLATES = """apiVersion: flow.volcano.sh/v1alpha1
kind: JobTemplate
metadata:
  name: first
spec: &spec
  schedulerName: volcano
  minAvailable: 1
  tasks:
    - name: w
      replicas: 1
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: busybox:1.36, command: [sh, -c, "sleep 1"]}]
"""


def test_job_templates_and_flows(vcctl, ns):
    """They are kept and given back as they were; nothing acts on them yet."""
    both = TEMPLATES + "---\n" + TEMPLATES.replace("name: first", "name: second") + "---\n"
    assert vcctl.flow_create("jobtemplates", both, ns) == [
        f"Created JobTemplate: {ns}/first", f"Created JobTemplate: {ns}/second"]
    assert vcctl.flow_create("jobflows", FLOW, ns) == [f"Created JobFlow: {ns}/flow"]
    assert vcctl.flow_list("jobtemplates", ns) == {
        name: {"Name": name, "Namespace": ns} for name in ("first", "second")}
    row = vcctl.flow_get("jobflows", ns, "flow")
    assert (row["Name"], row["Namespace"]) == ("flow", ns)
    assert row in vcctl.flow_list("jobflows", everywhere=True).values()
    described = vcctl.flow_describe("jobflows", ns, "flow")
    assert described["spec"]["flows"][1] == {"name": "second", "dependsOn": {"targets": ["first"]}}
    template = vcctl.flow_describe("jobtemplates", ns, "second")["spec"]
    assert (template["queue"], template["maxRetry"], template["minAvailable"]) == ("default", 3, 1)
    assert vcctl.flow_delete("jobflows", ns, "flow") == f"Deleted JobFlow: {ns}/flow"
    for name in ("first", "second"):
        vcctl.flow_delete("jobtemplates", ns, name)
    assert vcctl.flow_list("jobtemplates", ns) == vcctl.flow_list("jobflows", ns) == {}
