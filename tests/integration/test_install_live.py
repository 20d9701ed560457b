"""manifests/install.yaml on a real API server: twice without change, narrow webhooks, rights, uninstall.

Nobody answers the webhooks here, so a request that asks one fails: that tells which requests do. The control
plane is this module's own, because its installation is taken away again.
"""

import base64
import json
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from cluster import ApiError, ControlPlane  # noqa: E402

CRDS = ROOT / "manifests/crds.yaml"
INSTALL = ROOT / "manifests/install.yaml"
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
PODS = "/api/v1/namespaces/default/pods"
EXTRA = ROOT / "manifests/extra/pods-mutate.yaml"
MIN, MAX = "volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"
MERGE = "application/merge-patch+json"
NOBODY = "failed calling webhook"


def job(name, finalizers=()):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
            "metadata": {"name": name, "finalizers": list(finalizers)},
            "spec": {"minAvailable": 1, "tasks": [{"name": "main", "replicas": 1, "template": {
                "spec": {"containers": [{"name": "main", "image": "busybox"}]}}}]}}


def group(name, **spec):
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name},
            "spec": {"minMember": 1, **spec}}


def pod(name, scheduler="volcano", **annotations):
    return {"metadata": {"name": name, "annotations": annotations},
            "spec": {"schedulerName": scheduler, "automountServiceAccountToken": False,
                     "containers": [{"name": "main", "image": "busybox"}]}}


def queue(name):
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    """A control plane with everything installed, and some objects from before that."""
    plane = ControlPlane(tmp_path_factory.mktemp("install"), tied=True).start()
    try:
        plane.kubectl("apply", "-f", CRDS)
        plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", CRDS)
        for name in ("old", "gone"):
            plane.create(JOBS.format("default"), job(name))
        plane.create(JOBS.format("default"), job("held", ["example.org/hold"]))
        plane.create(JOBS.format("default"), large_job())
        plane.create(QUEUES, queue("old"))
        for name in ("old", "named"):
            plane.create(GROUPS, group(name, queue="old" if name == "named" else "default"))
        wait_account(plane)
        plane.create(PODS, pod("old", **{MIN: "1"}))
        plane.create(PODS, pod("bare"))
        plane.create(QUEUES, {**queue("held"), "metadata": {"name": "held",
                                                            "finalizers": ["example.org/hold"]}})
        plane.kubectl("apply", "-f", CRDS, "-f", INSTALL)
        yield plane
    finally:
        plane.stop()


def large_job():
    """Nearly as much as etcd takes in one object, so that comparing two specs is dear."""
    body = job("large")
    template = body["spec"]["tasks"][0]["template"]["spec"]
    template["containers"][0]["env"] = [{"name": f"E{i}", "value": "x" * 100} for i in range(1000)]
    body["spec"]["tasks"] = [{**body["spec"]["tasks"][0], "name": f"t{i}"} for i in range(8)]
    return body


def installed():
    return [o for path in (CRDS, INSTALL) for o in yaml.safe_load_all(path.read_text()) if o]


def versions(plane):
    """The resourceVersion of everything that is installed."""
    answer = json.loads(plane.kubectl("get", "-f", CRDS, "-f", INSTALL, "-o", "json"))
    return {(o["kind"], o["metadata"]["name"]): o["metadata"]["resourceVersion"] for o in answer["items"]}


def configured(lines):
    """What kubectl says it has changed. It sends a PodDisruptionBudget's selector each time, whatever is there."""
    return [line for line in lines if not line.endswith(" unchanged")
            and not line.startswith("poddisruptionbudget.policy/")]


def asked(plane, method, path, body=None, **options):
    """True if the request asked a webhook, False if it went through without."""
    try:
        plane.request(method, path, body, **options)
    except ApiError as error:
        if NOBODY not in str(error):
            raise
        return True
    return False


def asked_in_vain(plane, webhook):
    """How often a webhook that may be away was asked and was away, as the API server counts it."""
    for line in plane.request("GET", "/metrics").splitlines():
        if line.startswith("apiserver_admission_webhook_fail_open_count") and f'"{webhook}"' in line:
            return float(line.split()[-1])
    return 0


def patch_asks(plane, path, patch, **options):
    return asked(plane, "PATCH", path, patch, content_type=MERGE, **options)


def wait_account(plane):
    """A pod needs the service account of its namespace."""
    for _ in range(300):
        try:
            plane.request("GET", "/api/v1/namespaces/default/serviceaccounts/default")
            return
        except ApiError as error:
            if error.code != 404:
                raise
        time.sleep(0.1)
    raise AssertionError("the namespace default has no service account")


def test_applying_again_changes_nothing(plane):
    before = versions(plane)
    assert len(before) == len(installed())
    lines = plane.kubectl("apply", "-f", CRDS, "-f", INSTALL).splitlines()
    assert len(lines) == len(installed())
    assert configured(lines) == []
    assert versions(plane) == before


def test_applying_again_keeps_what_the_webhook_wrote(plane):
    kinds = {"MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
             "ValidatingWebhookConfiguration": "validatingwebhookconfigurations"}
    paths = [f"/apis/admissionregistration.k8s.io/v1/{kinds[o['kind']]}/{o['metadata']['name']}"
             for o in installed() if o["kind"] in kinds]
    assert len(paths) == 10
    bundle = base64.b64encode(plane.pki.ca.read_bytes()).decode()
    for path in paths:
        plane.request("PATCH", path, [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}],
                      user="pumice-admission", content_type="application/json-patch+json")
    assert configured(plane.kubectl("apply", "-f", CRDS, "-f", INSTALL).splitlines()) == []
    plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", INSTALL)
    for path in paths:
        hook, = plane.request("GET", path)["webhooks"]
        assert hook["clientConfig"]["caBundle"] == bundle


def test_what_asks_a_webhook(plane):
    jobs = JOBS.format("default")
    assert asked(plane, "POST", jobs, job("new"))
    assert patch_asks(plane, f"{jobs}/old", {"spec": {"minAvailable": 0}})
    assert patch_asks(plane, f"{jobs}/large", {"spec": {"minAvailable": 0}})
    assert asked(plane, "POST", GROUPS, group("new"))
    assert asked(plane, "POST", GROUPS, group("new", queue="old"))
    assert patch_asks(plane, f"{GROUPS}/old", {"spec": {"queue": "old"}})
    for annotations in ({MIN: "1"}, {MAX: "50%"}):
        assert asked(plane, "POST", PODS, pod("new", **annotations))
        assert patch_asks(plane, f"{PODS}/bare", {"metadata": {"annotations": annotations}})
    assert patch_asks(plane, f"{PODS}/old", {"metadata": {"annotations": {MIN: "2"}}})
    assert asked(plane, "POST", QUEUES, queue("new"))
    assert patch_asks(plane, f"{QUEUES}/old", {"spec": {"weight": 2}})
    assert patch_asks(plane, f"{QUEUES}/old", {"metadata": {"annotations": {"volcano.sh/hierarchy": "root"}}})
    assert asked(plane, "DELETE", f"{QUEUES}/old")


def test_what_asks_none(plane):
    jobs = JOBS.format("default")
    for name in ("old", "large"):
        assert not patch_asks(plane, f"{jobs}/{name}", {"metadata": {"labels": {"a": "b"}}})
        assert not patch_asks(plane, f"{jobs}/{name}", {"metadata": {"annotations": {"a": "b"}}})
        assert not patch_asks(plane, f"{jobs}/{name}/status", {"status": {"running": 1}})
    assert not asked(plane, "DELETE", f"{jobs}/gone")
    assert not patch_asks(plane, f"{QUEUES}/old", {"metadata": {"labels": {"a": "b"}}})
    assert not patch_asks(plane, f"{QUEUES}/old/status", {"status": {"state": "Open"}})
    assert not patch_asks(plane, f"{GROUPS}/old", {"status": {"phase": "Inqueue"}})
    assert not patch_asks(plane, f"{GROUPS}/old", {"metadata": {"labels": {"a": "b"}}})
    assert not asked(plane, "POST", f"{PODS}?dryRun=All", pod("other", "default-scheduler", **{MIN: "x"}))
    assert not asked(plane, "POST", f"{PODS}?dryRun=All", pod("other", **{"example.com/a": "b"}))
    assert not patch_asks(plane, f"{PODS}/old", {"metadata": {"annotations": {"a": "b"}}})
    assert not patch_asks(plane, f"{PODS}/old", {"metadata": {"annotations": {MIN: None}}})
    for namespace in ("kube-system", "volcano-system"):
        assert not asked(plane, "POST", JOBS.format(namespace), job("own"))
        plane.request("DELETE", JOBS.format(namespace) + "/own")


CONTROLLERS = "pumice-controllers"


def test_the_podgroup_of_a_job_asks_for_its_queue_alone(plane):
    """What the controller makes is not reviewed; a PodGroup in the queue default may get another queue."""
    assert not asked(plane, "POST", f"{GROUPS}?dryRun=All", group("of-job", queue="old"), user=CONTROLLERS)
    before = asked_in_vain(plane, "mutatepodgroup.volcano.sh")
    assert not asked(plane, "POST", f"{GROUPS}?dryRun=All", group("of-job", queue="default"), user=CONTROLLERS)
    assert asked_in_vain(plane, "mutatepodgroup.volcano.sh") == before + 1
    assert not patch_asks(plane, f"{GROUPS}/old", {"spec": {"minMember": 2}}, user=CONTROLLERS)


def test_the_optional_registration_leaves_other_schedulers_alone(plane):
    plane.kubectl("apply", "-f", EXTRA)
    try:
        assert asked(plane, "POST", f"{PODS}?dryRun=All", pod("ours"))
        assert not asked(plane, "POST", f"{PODS}?dryRun=All", pod("others", "default-scheduler"))
        assert not asked(plane, "POST", "/api/v1/namespaces/kube-system/pods?dryRun=All", pod("system"))
    finally:
        plane.kubectl("delete", "-f", EXTRA)


def test_an_object_that_is_deleted_gets_away(plane):
    jobs = JOBS.format("default")
    assert not asked(plane, "DELETE", f"{jobs}/held")
    assert plane.request("GET", f"{jobs}/held")["metadata"]["deletionTimestamp"]
    assert not patch_asks(plane, f"{jobs}/held", {"metadata": {"finalizers": []}})
    with pytest.raises(ApiError) as gone:
        plane.request("GET", f"{jobs}/held")
    assert gone.value.code == 404
    assert not patch_asks(plane, f"{QUEUES}/held", {"metadata": {"finalizers": []}})


def test_pods_and_leases_go_their_way_while_the_webhook_is_down(plane):
    for namespace in ("default", "kube-system", "volcano-system"):
        for scheduler in ("default-scheduler", "volcano"):
            plane.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", {
                "metadata": {"name": "plain"}, "spec": {
                    "schedulerName": scheduler, "automountServiceAccountToken": False,
                    "serviceAccountName": "volcano-scheduler" if namespace == "volcano-system" else None,
                    "containers": [{"name": "main", "image": "busybox"}]}})
    plane.request("POST", "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases?dryRun=All",
                  {"metadata": {"name": "volcano"}, "spec": {}})


def test_pods_of_the_deployments_are_let_in_where_security_is_restricted(plane):
    plane.kubectl("create", "namespace", "strict")
    plane.kubectl("label", "namespace", "strict", "pod-security.kubernetes.io/enforce=restricted")
    for deployment in (o for o in installed() if o["kind"] == "Deployment"):
        template = deployment["spec"]["template"]
        account = template["spec"]["serviceAccountName"]
        plane.kubectl("create", "serviceaccount", account, "-n", "strict")
        plane.request("POST", "/api/v1/namespaces/strict/pods?dryRun=All&fieldValidation=Strict", {
            "metadata": {"name": deployment["metadata"]["name"]}, "spec": template["spec"]})


def test_owners_that_are_to_wait_for_their_objects(plane):
    """The API server looks at blockOwnerDeletion: our controllers may set it for jobs, and for nothing else."""
    def owned(kind, version, uid):
        return {**group("owned", queue="old"), "metadata": {"name": "owned", "ownerReferences": [
            {"apiVersion": version, "kind": kind, "name": "old", "uid": uid, "blockOwnerDeletion": True}]}}

    old = plane.request("GET", JOBS.format("default") + "/old")["metadata"]["uid"]
    plane.request("POST", f"{GROUPS}?dryRun=All", owned("Job", "batch.volcano.sh/v1alpha1", old), user=CONTROLLERS)
    with pytest.raises(ApiError) as refused:
        plane.request("POST", f"{GROUPS}?dryRun=All", owned("ReplicaSet", "apps/v1", "1"), user=CONTROLLERS)
    assert refused.value.code == 403 and "blockOwnerDeletion" in str(refused.value)


SYSTEM = "volcano-system"
HOOK = "volcano-admission-service-jobs-validate"


@pytest.mark.parametrize("user, verb, group, resource, namespace, name, allowed", [
    ("pumice-scheduler", "create", "", "pods/binding", "default", "", True),
    ("pumice-scheduler", "create", "", "pods/eviction", "default", "", True),
    ("pumice-scheduler", "patch", "", "pods/status", "default", "", True),
    ("pumice-scheduler", "delete", "", "pods", "default", "", False),
    ("pumice-scheduler", "watch", "", "nodes", "", "", True),
    ("pumice-scheduler", "create", "scheduling.volcano.sh", "queues", "", "", True),
    ("pumice-scheduler", "patch", "scheduling.volcano.sh", "podgroups", "default", "", True),
    ("pumice-scheduler", "patch", "scheduling.volcano.sh", "queues/status", "", "", True),
    ("pumice-scheduler", "update", "coordination.k8s.io", "leases", SYSTEM, "volcano", True),
    ("pumice-scheduler", "update", "coordination.k8s.io", "leases", SYSTEM, "vc-controller-manager", False),
    ("pumice-scheduler", "update", "coordination.k8s.io", "leases", "kube-system", "volcano", False),
    ("pumice-scheduler", "watch", "policy", "poddisruptionbudgets", "", "", True),
    ("pumice-scheduler", "create", "", "pods", "default", "", False),
    ("pumice-scheduler", "list", "", "secrets", "default", "", False),
    ("pumice-controllers", "create", "", "pods", "default", "", True),
    ("pumice-controllers", "patch", "batch.volcano.sh", "jobs/status", "default", "", True),
    ("pumice-controllers", "delete", "scheduling.volcano.sh", "podgroups", "default", "", True),
    ("pumice-controllers", "patch", "scheduling.volcano.sh", "queues/status", "", "", True),
    ("pumice-controllers", "delete", "bus.volcano.sh", "commands", "default", "", True),
    ("pumice-controllers", "update", "coordination.k8s.io", "leases", SYSTEM, "vc-controller-manager", True),
    ("pumice-controllers", "watch", "coordination.k8s.io", "leases", SYSTEM, "", True),
    ("pumice-controllers", "watch", "coordination.k8s.io", "leases", "kube-system", "", False),
    ("pumice-controllers", "delete", "coordination.k8s.io", "leases", SYSTEM, "vc-controller-manager-1", True),
    ("pumice-controllers", "patch", "coordination.k8s.io", "leases", SYSTEM, "volcano", False),
    ("pumice-controllers", "create", "", "pods/binding", "default", "", False),
    ("pumice-controllers", "delete", "scheduling.volcano.sh", "queues", "", "", False),
    ("pumice-controllers", "list", "", "secrets", "default", "", False),
    ("pumice-admission", "watch", "scheduling.volcano.sh", "queues", "", "", True),
    ("pumice-admission", "list", "", "namespaces", "", "", True),
    ("pumice-admission", "watch", "", "namespaces", "", "", True),
    ("pumice-admission", "patch", "", "namespaces", "", "", False),
    ("pumice-admission", "list", "scheduling.volcano.sh", "podgroups", "", "", False),
    ("pumice-admission", "list", "", "pods", "", "", False),
    ("pumice-admission", "patch", "", "secrets", SYSTEM, "volcano-admission-secret", True),
    ("pumice-admission", "create", "", "secrets", SYSTEM, "", True),
    ("pumice-admission", "get", "", "secrets", SYSTEM, "other", False),
    ("pumice-admission", "get", "", "secrets", "default", "volcano-admission-secret", False),
    ("pumice-admission", "patch", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", HOOK, True),
    ("pumice-admission", "patch", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "x", False),
    ("pumice-admission", "delete", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", HOOK, False),
    ("pumice-admission", "create", "", "pods", "default", "", False),
])
def test_rights(plane, user, verb, group, resource, namespace, name, allowed):
    resource, _, subresource = resource.partition("/")
    answer = plane.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
        "spec": {"resourceAttributes": {"verb": verb, "group": group, "resource": resource, "name": name,
                                        "subresource": subresource, "namespace": namespace}}}, user=user)
    assert answer["status"]["allowed"] == allowed


def test_uninstalling_and_installing_again_loses_no_job(plane):
    """Last, because the other tests need what this one takes away."""
    def uids():
        return {o["metadata"]["name"]: o["metadata"]["uid"]
                for path in (JOBS.format("default"), QUEUES) for o in plane.request("GET", path)["items"]}

    before = uids()
    assert {"old", "large"} <= set(before)
    plane.kubectl("delete", "-f", INSTALL, "--timeout=60s")
    left = plane.kubectl("get", "-f", INSTALL, "--ignore-not-found", "-o", "name")
    assert left == ""
    assert uids() == before
    # Nothing is left behind that would stop users from working.
    assert not patch_asks(plane, JOBS.format("default") + "/old", {"spec": {"minAvailable": 0}})
    plane.kubectl("apply", "-f", CRDS, "-f", INSTALL)
    assert uids() == before
    assert patch_asks(plane, JOBS.format("default") + "/old", {"spec": {"minAvailable": 1}})
