"""Admission of PodGroups, pods and queues through the real API server; /pods/mutate as its extra file sets it up."""

import json
import os

import pytest
import yaml

from cluster import ApiError, ControlPlane
from harness import ROOT
from harness.api import Api
from harness.objects import queue
from harness.pumice import Pumice
from harness.wait import wait_until

GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
PODS = "/api/v1/namespaces/{}/pods"
NAMESPACES = "/api/v1/namespaces"
MERGE = "application/merge-patch+json"
QUEUE_NAME = "scheduling.volcano.sh/queue-name"
GATE = "scheduling.volcano.sh/queue-allocation-gate"
MIN = "volcano.sh/jdb-min-available"


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    """A control plane without nodes, for these tests alone."""
    made = ControlPlane(tmp_path_factory.mktemp("admission"), tied=True)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def product(plane):
    """The webhook as the extra file of the manifests wants it, with every path and the gate."""
    made = Pumice(plane, tied=True)
    made.apply_manifests()
    made.register_webhooks()
    extra = yaml.safe_load((ROOT / "manifests/extra/pods-mutate.yaml").read_text())
    hook, = extra["webhooks"]
    service = hook["clientConfig"].pop("service")
    hook["clientConfig"]["url"] = made.webhook_url + service["path"]
    plane.kubectl("apply", "-f", "-", input=json.dumps(extra))
    made.webhook.flags["enabled-admission"] += ",/pods/mutate"
    made.webhook.flags["feature-gates"] = "SchedulingGatesQueueAdmission=true"
    made.webhook.flags["admission-conf"] = str(plane.folder / "conf/volcano-admission.conf")
    made.webhook.start()
    made.wait_admission()
    for name in ("default", "team"):
        plane.create(QUEUES, queue(name))
    yield made
    complaint = made.webhook.complaint()
    assert made.webhook.stop() in (0, None)
    assert not complaint, complaint


@pytest.fixture(scope="module")
def cluster(plane, product):
    """The cluster as its administrator sees it."""
    client = Api(plane)
    wait_until(lambda: client.core.read_namespaced_service_account("default", "default"), 30,
               "the namespace default is complete")
    yield client
    client.close()


def namespace(name, queue_name):
    return {"metadata": {"name": name, "annotations": {QUEUE_NAME: queue_name}}}


def group(name, **spec):
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name},
            "spec": {"minMember": 1, **spec}}


def pod(name, annotations=None, **spec):
    return {"metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"schedulerName": "volcano", "containers": [{"name": "c", "image": "busybox"}], **spec}}


def refused(plane, method, path, body, **options):
    """Makes a request that a webhook must refuse; returns its text."""
    with pytest.raises(ApiError) as caught:
        plane.request(method, path, body, **options)
    assert "denied the request" in str(caught.value)
    return str(caught.value)


# PodGroups

def test_a_podgroup_gets_the_queue_of_its_namespace(plane, cluster):
    """At once, when the namespace was made a moment ago; and what the annotation says later counts later."""
    plane.request("POST", NAMESPACES, namespace("fresh", "team"))
    made = plane.request("POST", GROUPS.format("fresh"), group("a"))
    assert made["spec"]["queue"] == "team"
    assert plane.request("POST", GROUPS.format("default"), group("a"))["spec"]["queue"] == "default"
    plane.request("PATCH", f"{NAMESPACES}/fresh", {"metadata": {"annotations": {QUEUE_NAME: None}}},
                  content_type=MERGE)
    wait_until(lambda: plane.request("POST", GROUPS.format("fresh") + "?dryRun=All", group("b"))["spec"]
               ["queue"] == "default", 10, "the annotation is gone")


def test_an_update_of_a_podgroup_is_asked_about_its_queue(plane, cluster):
    path = GROUPS.format("default")
    plane.request("POST", path, group("moving"))
    text = refused(plane, "PATCH", f"{path}/moving", {"spec": {"queue": "nowhere"}}, content_type=MERGE)
    assert 'unable to find queue: queue.scheduling.volcano.sh \\"nowhere\\" not found' in text
    plane.request("PATCH", f"{path}/moving", {"spec": {"queue": "team"}}, content_type=MERGE)
    plane.request("PATCH", f"{QUEUES}/team/status", {"status": {"state": "Closed"}}, content_type=MERGE)
    wait_until(lambda: "status is `Closed`" in closed(plane), 10, "the queue is seen closed")
    plane.request("PATCH", f"{path}/moving", {"spec": {"minMember": 3}}, content_type=MERGE)
    plane.request("PATCH", f"{QUEUES}/team/status", {"status": {"state": "Open"}}, content_type=MERGE)


def closed(plane):
    """What a PodGroup of the queue team is told; "" if it is let in."""
    try:
        plane.request("POST", GROUPS.format("default") + "?dryRun=All", group("asking", queue="team"))
    except ApiError as error:
        return str(error)
    return ""


# Queues

def test_circles_are_refused_and_old_faults_can_be_labelled(plane, cluster):
    for name, parent in (("a", "root"), ("b", "a")):
        plane.request("POST", QUEUES, queue(name, parent=parent))
    wait_until(lambda: "lies below it" in refused(plane, "PATCH", f"{QUEUES}/a", {"spec": {"parent": "b"}},
                                                 content_type=MERGE), 10, "a circle is refused")
    plane.request("PATCH", f"{QUEUES}/b/status", {"status": {"state": "Closing"}}, content_type=MERGE)
    plane.request("PATCH", f"{QUEUES}/b", {"spec": {"weight": 3}}, content_type=MERGE)


def test_a_parent_can_be_deleted_right_after_its_child(plane, cluster):
    for name, parent in (("above", "root"), ("below", "above")):
        plane.request("POST", QUEUES, queue(name, parent=parent))
    wait_until(lambda: "1 child queues: below" in refused(plane, "DELETE", f"{QUEUES}/above?dryRun=All", None), 10,
               "the child is seen")
    plane.request("DELETE", f"{QUEUES}/below")
    plane.request("DELETE", f"{QUEUES}/above")


def test_a_collection_of_queues_can_be_deleted(plane, cluster):
    for name in ("one", "two"):
        plane.request("POST", QUEUES, {**queue(name), "metadata": {"name": name, "labels": {"mine": "yes"}}})
    plane.request("DELETE", f"{QUEUES}?labelSelector=mine%3Dyes")
    left = {item["metadata"]["name"] for item in plane.request("GET", QUEUES)["items"]}
    assert not left & {"one", "two"} and "default" in left


# Pods

def test_limits_of_disruption(plane, cluster):
    path = PODS.format("default")
    text = refused(plane, "POST", path, pod("wrong", {MIN: "5%0"}))
    assert "5%0" in text and f"for {MIN}, it must be a valid percentage which between 1% ~ 99%" in text
    plane.request("POST", path, pod("right", {MIN: "50%"}))
    text = refused(plane, "PATCH", f"{path}/right", {"metadata": {"annotations": {MIN: "0"}}}, content_type=MERGE)
    assert "it must be a positive integer" in text
    plane.request("POST", path, pod("others", {MIN: "x"}, schedulerName="default-scheduler"))


def test_a_pod_waits_at_the_gate(plane, cluster):
    """No configuration has been read yet, and the gate works all the same."""
    made = plane.request("POST", PODS.format("default"), pod("gated", {GATE: "true"}))
    assert made["spec"]["schedulingGates"] == [{"name": GATE}]


def swap(folder, text, number):
    """Puts a file as a kubelet does: through a link to a folder that is renamed over the old one."""
    (folder / str(number)).mkdir(parents=True)
    (folder / str(number) / "volcano-admission.conf").write_text(text)
    (folder / "new").symlink_to(str(number))
    os.replace(folder / "new", folder / "..data")
    link = folder / "volcano-admission.conf"
    if not link.is_symlink():
        link.symlink_to("..data/volcano-admission.conf")


CONF = """
resourceGroups:
- resourceGroup: cpu
  object: {key: annotation, value: ['volcano.sh/resource-group: cpu']}
  labels: {volcano.sh/nodetype: %s}
  tolerations: [{key: slow, operator: Exists, effect: NoExecute, tolerationseconds: 60}]
"""


def test_pods_get_what_their_group_says(plane, product, cluster):
    folder = plane.folder / "conf"
    made = 0

    def selector():
        """The nodeSelector that a pod of the group cpu gets."""
        nonlocal made
        made += 1
        path = PODS.format("default") + "?dryRun=All&fieldValidation=Strict"
        spec = plane.request("POST", path, pod(f"of-cpu-{made}", {"volcano.sh/resource-group": "cpu"}))["spec"]
        if "nodeSelector" in spec:
            assert {"key": "slow", "operator": "Exists", "effect": "NoExecute",
                    "tolerationSeconds": 60} in spec["tolerations"]
        return spec.get("nodeSelector")

    assert selector() is None
    swap(folder, CONF % "a", 1)
    wait_until(lambda: selector() == {"volcano.sh/nodetype": "a"}, 15, "the first configuration is read")
    swap(folder, CONF % "b", 2)
    wait_until(lambda: selector() == {"volcano.sh/nodetype": "b"}, 15, "the second one is")
    swap(folder, "resourceGroups: [", 3)
    wait_until(lambda: "what was in force stays" in product.webhook.log_text().split("resourceGroups=1")[-1], 15,
               "the bad one is logged")
    assert selector() == {"volcano.sh/nodetype": "b"}


def test_nobody_may_create_a_pod_of_ours_while_it_is_down_but_others_may(plane, product, cluster):
    path = PODS.format("default") + "?dryRun=All"
    product.webhook.kill9()
    plane.request("POST", path, pod("plain", schedulerName="default-scheduler"))
    plane.request("POST", PODS.format("kube-system") + "?dryRun=All", {
        **pod("system"), "spec": {**pod("system")["spec"], "schedulerName": "default-scheduler"}})
    with pytest.raises(ApiError) as caught:
        plane.request("POST", path, pod("ours"))
    assert 'failed calling webhook \\"mutatepod.volcano.sh\\"' in str(caught.value)
    product.webhook.start()
    product.wait_admission(10)
    plane.request("POST", path, pod("ours"))
