"""The overlays and the chart on a real API server: what it says to them, twice without change, from one to the other,
and what an uninstall leaves. The control plane is this module's own; our binaries do not run.
"""

import base64
import json
import ssl
import sys
import time
import urllib.error
import urllib.request
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))
sys.path.insert(0, str(ROOT / "tests/packaging"))

import render  # noqa: E402
from cluster import ApiError, ControlPlane  # noqa: E402

MANIFESTS = ROOT / "manifests"
CRDS, INSTALL = MANIFESTS / "crds.yaml", MANIFESTS / "install.yaml"
SYSTEM = "volcano-system"
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
HOOKS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases"
OPERATOR = ("PodMonitor", "PrometheusRule")  # kinds of the Prometheus operator, which is not there
JSON_PATCH = "application/json-patch+json"

# Every value that adds an object, a field or an expression.
ALL_VALUES = {
    "image": {"registry": "registry.example.com", "pullSecrets": [{"name": "key"}]},
    "schedulerNames": ["volcano", "other"],
    "webhook": {"podsMutate": True, "schedulingGates": True, "port": 9443, "config": {"resourceGroups": []},
                "extraVolumes": [{"name": "v", "emptyDir": {}}], "extraEnv": [{"name": "A", "value": "b"}],
                "extraVolumeMounts": [{"name": "v", "mountPath": "/v"}], "podLabels": {"team": "x"}},
    "controllers": {"enabled": "*,-gc-controller", "tolerations": [{"operator": "Exists"}]},
    "scheduler": {"nodeSelector": {"a": "b"}, "strategy": {"type": "Recreate"}},
    "monitoring": {"dashboards": True},
}


@cache
def ways():
    """{name: objects} of all ways to install."""
    found = {path.name: render.kustomize(path) for path in sorted((MANIFESTS / "overlays").iterdir())}
    found["chart"] = render.helm()
    found["chart, all values"] = render.helm(values=ALL_VALUES)
    return found


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    plane = ControlPlane(tmp_path_factory.mktemp("ways"), tied=True).start()
    try:
        plane.kubectl("apply", "-f", CRDS)
        plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", CRDS)
        plane.create(JOBS, {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "old"},
                            "spec": {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 1, "template": {
                                "spec": {"containers": [{"name": "c", "image": "busybox"}]}}}]}})
        plane.kubectl("create", "namespace", SYSTEM)
        yield plane
    finally:
        plane.stop()


def helm(plane, *arguments):
    return render.output("helm", *arguments, "--kubeconfig", plane.kubeconfig(), "--namespace", SYSTEM)


def listed(objects):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        o for o in objects.values() if o["kind"] not in OPERATOR]})


def versions(plane, objects):
    """The resourceVersion of everything."""
    answer = json.loads(plane.kubectl("get", "-f", "-", "-o", "json", input=listed(objects)))
    return {(o["kind"], o["metadata"]["name"]): o["metadata"]["resourceVersion"] for o in answer["items"]}


def registrations(plane):
    return {o["metadata"]["name"] for kind in ("mutating", "validating")
            for o in plane.request("GET", HOOKS.format(kind))["items"]}


def left_of_ours(plane):
    """What an uninstall has to take away, by kind/name."""
    names = plane.kubectl("get", "deploy,pdb,networkpolicy,service,serviceaccount,role,rolebinding,cm", "-n", SYSTEM,
                          "-o", "name").split()
    names += plane.kubectl("get", "clusterrole,clusterrolebinding,flowschema,mutatingwebhookconfiguration,"
                           "validatingwebhookconfiguration,validatingadmissionpolicy,validatingadmissionpolicybinding",
                           "-o", "name").split()
    return [name for name in names if "/volcano-" in name or "pumice" in name]


def job_is_there(plane):
    return plane.request("GET", f"{JOBS}/old")["metadata"]["uid"]


@pytest.mark.parametrize("way", ways())
def test_the_api_server_takes_it_word_for_word(plane, way):
    """Unknown fields, values out of range and expressions that do not compile are refused."""
    plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", input=listed(ways()[way]))


@pytest.mark.parametrize("way", ways())
def test_pods_are_let_in_where_security_is_restricted(plane, way):
    plane.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": "strict", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}))
    for (kind, name), deployment in ways()[way].items():
        if kind != "Deployment":
            continue
        spec = deployment["spec"]["template"]["spec"]
        plane.create("/api/v1/namespaces/strict/serviceaccounts", {"metadata": {"name": spec["serviceAccountName"]}})
        plane.request("POST", "/api/v1/namespaces/strict/pods?dryRun=All&fieldValidation=Strict",
                      {"metadata": {"name": name}, "spec": spec})


def test_pod_security_would_refuse_the_host_network(plane):
    """The test above can fail."""
    spec = render.helm(values={"webhook": {"hostNetwork": True}})["Deployment", "volcano-admission"]
    with pytest.raises(ApiError) as refused:
        plane.request("POST", "/api/v1/namespaces/strict/pods?dryRun=All",
                      {"metadata": {"name": "host"}, "spec": spec["spec"]["template"]["spec"]})
    assert refused.value.code == 403 and "hostNetwork" in str(refused.value)


def test_from_the_base_to_an_overlay_and_back(plane):
    """What an overlay adds goes with it."""
    base = render.kustomize(MANIFESTS / "base")
    deployments = f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/"

    def specs():
        return {name: plane.request("GET", deployments + name)["spec"] for kind, name in base if kind == "Deployment"}

    plane.kubectl("apply", "-k", MANIFESTS / "base")
    before = specs()
    plane.kubectl("apply", "-k", MANIFESTS / "overlays/ha")
    high, versions_before = specs(), versions(plane, base)
    assert {name: spec["replicas"] for name, spec in high.items()} == {
        "volcano-scheduler": 2, "volcano-controllers": 2, "volcano-admission": 3}
    plane.kubectl("apply", "-k", MANIFESTS / "overlays/ha")
    assert versions(plane, base) == versions_before
    plane.kubectl("apply", "-f", INSTALL)
    assert specs() == before
    plane.kubectl("delete", "-f", "-", "--timeout=60s", input=listed(
        {key: o for key, o in base.items() if key[0] != "Namespace"}))
    assert left_of_ours(plane) == [] and registrations(plane) == set()
    assert job_is_there(plane)


# --- guards, while they are installed ---

@pytest.fixture(scope="module")
def installed(plane):
    plane.kubectl("apply", "-f", INSTALL)
    # The policy holds when the API server has heard of it.
    path = HOOKS.format("validating") + "/volcano-admission-service-jobs-validate?dryRun=All"
    for _ in range(300):
        try:
            plane.request("PATCH", path, [{"op": "remove", "path": "/webhooks/0/matchConditions"}],
                          user="pumice-admission", content_type=JSON_PATCH)
        except ApiError as error:
            assert error.code == 422, error
            return plane
        time.sleep(0.1)
    raise AssertionError("the policy for registrations is not in force after 30 s")


NAMED = [("mutating", "jobs-mutate"), ("mutating", "podgroups-mutate"), ("mutating", "queues-mutate"),
         ("validating", "jobs-validate"), ("validating", "hypernodes-validate"), ("validating", "pods-validate")]


def change(plane, kind, name, **patch):
    plane.request("PATCH", f"{HOOKS.format(kind)}/volcano-admission-service-{name}?dryRun=All",
                  [{"path": f"/webhooks/0/{patch['path']}", "op": patch.get("op", "add"), "value": patch.get("value")}],
                  user=patch.get("user", "pumice-admission"), content_type=JSON_PATCH)


@pytest.mark.parametrize("kind, name", NAMED)
@pytest.mark.parametrize("path, value", [("clientConfig/caBundle", None), ("timeoutSeconds", 5),
                                         ("failurePolicy", "Ignore")])
def test_the_webhook_may_write_what_is_its_own(installed, kind, name, path, value):
    value = value or ssl_bundle(installed)
    change(installed, kind, name, path=path, value=value)


def ssl_bundle(plane):
    return base64.b64encode(plane.pki.ca.read_bytes()).decode()


SECRETS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"], "operations": ["*"], "scope": "*"}


@pytest.mark.parametrize("kind, name", NAMED)
@pytest.mark.parametrize("path, value", [
    ("rules/0", SECRETS), ("rules/-", SECRETS), ("clientConfig/service/namespace", "default"),
    ("clientConfig/service/path", "/other"), ("namespaceSelector", {}), ("objectSelector", {"matchLabels": {"a": "b"}}),
    ("matchConditions", []), ("matchPolicy", "Exact"), ("name", "other.volcano.sh"), ("sideEffects", "Some"),
])
def test_the_webhook_may_not_have_itself_asked_about_more(installed, kind, name, path, value):
    hook = installed.request("GET", f"{HOOKS.format(kind)}/volcano-admission-service-{name}")["webhooks"][0]
    if hook.get(path) == value or (path == "matchConditions" and "matchConditions" not in hook):
        pytest.skip("it is so already")
    with pytest.raises(ApiError) as refused:
        change(installed, kind, name, path=path, value=value)
    assert refused.value.code == 422
    if path != "sideEffects":
        assert "may change caBundle, timeoutSeconds and failurePolicy" in str(refused.value)
        change(installed, kind, name, path=path, value=value, user="admin")


def test_renewals_of_leases_have_a_level_of_their_own(installed):
    schema = installed.request("GET", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/volcano-leases")
    for user, lease in (("pumice-scheduler", "volcano"), ("pumice-controllers", "vc-controller-manager")):
        own = flow_schema(installed, user, f"{LEASES}/{lease}")
        assert own == schema["metadata"]["uid"]
        assert flow_schema(installed, user, "/api/v1/pods?limit=1") != own
    assert flow_schema(installed, "admin", f"{LEASES}/volcano") != schema["metadata"]["uid"]


def flow_schema(plane, user, path):
    """The UID of the FlowSchema that a GET falls under, whatever its answer is."""
    context = ssl.create_default_context(cafile=str(plane.pki.ca))
    context.load_cert_chain(plane.pki.crt(user), plane.pki.key(user))
    try:
        with urllib.request.urlopen(plane.server + path, context=context, timeout=30) as answer:
            return answer.headers["X-Kubernetes-PF-FlowSchema-UID"]
    except urllib.error.HTTPError as error:
        with error:
            return error.headers["X-Kubernetes-PF-FlowSchema-UID"]


def test_without_the_ssh_rights_secrets_are_out_of_reach(installed):
    def may(verb):
        return installed.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
            "spec": {"resourceAttributes": {"verb": verb, "resource": "secrets", "namespace": "default"}}},
            user="pumice-controllers")["status"]["allowed"]

    assert {verb: may(verb) for verb in ("get", "create", "delete", "list", "watch", "update", "patch")} == {
        "get": True, "create": True, "delete": True, "list": False, "watch": False, "update": False, "patch": False}
    ssh = MANIFESTS / "base/rbac-ssh.yaml"
    installed.kubectl("delete", "-f", ssh)
    deadline = time.monotonic() + 10
    while any(may(verb) for verb in ("get", "create", "delete")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    installed.kubectl("apply", "-f", ssh)


# --- chart ---

def test_the_chart_from_its_installation_to_its_end(plane):
    """Last: what the other tests have installed goes first."""
    objects = render.by_name(render.documents(INSTALL.read_text()))
    del objects["Namespace", SYSTEM]
    plane.kubectl("delete", "--ignore-not-found", "--timeout=60s", "-f", "-", input=listed(objects))
    assert left_of_ours(plane) == []
    crds = plane.kubectl("get", "crd", "-o", "name")

    helm(plane, "install", "pumice", render.CHART)
    before = versions(plane, objects)
    assert before.keys() == objects.keys()
    bundle = ssl_bundle(plane)
    change(plane, "validating", "jobs-validate", path="clientConfig/caBundle", value=bundle)
    helm(plane, "upgrade", "pumice", render.CHART)
    assert versions(plane, objects) == before

    path = HOOKS.format("validating") + "/volcano-admission-service-jobs-validate"
    plane.request("PATCH", path, [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}],
                  user="pumice-admission", content_type=JSON_PATCH)
    helm(plane, "upgrade", "pumice", render.CHART, "--set", "scheduler.replicas=2,features.sshPlugin=false",
         "--set", "webhook.timeoutSeconds=7")
    hook, = plane.request("GET", path)["webhooks"]
    assert (hook["timeoutSeconds"], hook["clientConfig"].get("caBundle")) == (7, bundle)
    left = left_of_ours(plane)
    assert not any("volcano-controllers-ssh" in name for name in left)
    scheduler = plane.request("GET", f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/volcano-scheduler")
    assert scheduler["spec"]["replicas"] == 2

    helm(plane, "uninstall", "pumice")
    assert left_of_ours(plane) == [] and registrations(plane) == set()
    assert plane.kubectl("get", "crd", "-o", "name") == crds
    assert job_is_there(plane)
