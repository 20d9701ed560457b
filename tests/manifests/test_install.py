"""manifests/install.yaml and manifests/examples/: what can be told without a cluster."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = ROOT / "manifests"
NAMESPACE = "volcano-system"
COMPONENTS = ("volcano-scheduler", "volcano-controllers", "volcano-admission")
PATHS = ("/jobs/mutate", "/jobs/validate", "/podgroups/mutate", "/podgroups/validate", "/pods/validate",
         "/queues/mutate", "/queues/validate", "/jobflows/validate", "/hypernodes/validate", "/cronjobs/validate")
OPTIONAL = "/pods/mutate"  # has a file of its own
SSH = "volcano-controllers-ssh"  # what the job plugin ssh needs, apart so that it can be left out


def load(path):
    return [document for document in yaml.safe_load_all((MANIFESTS / path).read_text()) if document]


@pytest.fixture(scope="module")
def objects():
    return {(o["kind"], o["metadata"]["name"]): o for o in load("install.yaml")}


def of_kind(objects, *kinds):
    return {name: o for (kind, name), o in objects.items() if kind in kinds}


def rules(objects):
    for (kind, name), role in objects.items():
        if kind in ("ClusterRole", "Role"):
            for rule in role["rules"]:
                yield kind, name, rule


def test_deleting_it_deletes_no_job(objects):
    assert not of_kind(objects, "CustomResourceDefinition", "Queue", "Job", "PodGroup")


def test_names(objects):
    assert set(of_kind(objects, "Namespace")) == {NAMESPACE}
    for kind in ("Deployment", "ServiceAccount", "PodDisruptionBudget", "NetworkPolicy"):
        assert set(of_kind(objects, kind)) == set(COMPONENTS)
    assert set(of_kind(objects, "ClusterRole")) == {*COMPONENTS, SSH}
    assert set(of_kind(objects, "ClusterRoleBinding")) == {*(f"{name}-role" for name in COMPONENTS), SSH}
    assert set(of_kind(objects, "Service")) == {
        "volcano-scheduler-service", "volcano-controllers-service", "volcano-admission-service"}
    assert {name: list(o["data"]) for name, o in of_kind(objects, "ConfigMap").items()} == {
        "volcano-scheduler-configmap": ["volcano-scheduler.conf"],
        "volcano-admission-configmap": ["volcano-admission.conf"]}
    for (kind, _), o in objects.items():
        if kind in ("Deployment", "ServiceAccount", "Service", "ConfigMap", "Role", "RoleBinding",
                    "PodDisruptionBudget", "NetworkPolicy"):
            assert o["metadata"]["namespace"] == NAMESPACE


def test_roles_are_bound_to_their_own_account(objects):
    for (kind, name), binding in objects.items():
        if kind not in ("ClusterRoleBinding", "RoleBinding"):
            continue
        role = binding["roleRef"]
        assert name.removesuffix("-role") == role["name"]
        assert role["kind"] == kind.removesuffix("Binding")
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": role["name"].removesuffix("-ssh"), "namespace": NAMESPACE}]


def test_no_right_is_given_by_the_dozen(objects):
    for kind, name, rule in rules(objects):
        where = f"{kind} {name}: {rule}"
        assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"], where
        assert not {"escalate", "bind", "impersonate", "deletecollection"} & set(rule["verbs"]), where
        if name == SSH:
            assert rule["resources"] == ["secrets"], where
            # Jobs of any namespace can have keys; these are never listed, followed or changed.
            assert rule["verbs"] == ["get", "create", "delete"], where
        elif name == "volcano-controllers" and rule["resources"] == ["leases"]:
            # Members have names that are new with each start; all of them are in our own namespace.
            assert kind == "Role", where
            assert rule["verbs"] == ["get", "list", "watch", "create", "update", "delete"], where
        elif {"secrets", "leases"} & set(rule["resources"]):
            assert kind == "Role", where
            assert rule["verbs"] == ["create"] or rule["resourceNames"], where
        if rule["apiGroups"] == ["admissionregistration.k8s.io"]:
            assert rule["resourceNames"] and not {"create", "update", "delete"} & set(rule["verbs"]), where
        if "nodes" in rule["resources"]:
            assert set(rule["verbs"]) <= {"get", "list", "watch"}, where


def registrations(objects):
    """What is registered, {path: (type, name, group, version, resource, operations)}; checks what all share."""
    table = {}
    for name, configuration in of_kind(objects, "MutatingWebhookConfiguration",
                                       "ValidatingWebhookConfiguration").items():
        hook, = configuration["webhooks"]
        rule, = hook["rules"]
        service = hook["clientConfig"]["service"]
        table[service["path"]] = (
            configuration["kind"].removesuffix("WebhookConfiguration"), hook["name"],
            *rule["apiGroups"], *rule["apiVersions"], *rule["resources"], " ".join(rule["operations"]))
        assert name == "volcano-admission-service" + service["path"].replace("/", "-")
        assert (service["name"], service["namespace"]) == ("volcano-admission-service", NAMESPACE)
        assert "caBundle" not in hook["clientConfig"]
        # What was let in goes on without the webhook: its PodGroup keeps the queue "default".
        policy = "Ignore" if name == "volcano-admission-service-podgroups-mutate" else "Fail"
        assert (hook["failurePolicy"], hook["timeoutSeconds"]) == (policy, 10)
        assert hook["matchPolicy"] == "Equivalent" and rule["scope"] == "*"
        if configuration["kind"].startswith("Mutating"):
            assert hook["reinvocationPolicy"] == "Never"
        cluster_scoped = service["path"] == "/hypernodes/validate"
        assert hook["sideEffects"] == ("None" if cluster_scoped else "NoneOnDryRun")
        assert hook.get("namespaceSelector") == (None if cluster_scoped else {"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn",
             "values": [NAMESPACE, "kube-system"]}]})
        if service["path"].startswith("/pods/"):
            assert hook["matchConditions"][0]["expression"] == "object.spec.?schedulerName.orValue('') == 'volcano'"
    return table


def test_registrations(objects):
    job, group = ("batch.volcano.sh", "v1alpha1", "jobs"), "scheduling.volcano.sh"
    assert registrations(objects) == {
        "/jobs/mutate": ("Mutating", "mutatejob.volcano.sh", *job, "CREATE"),
        "/jobs/validate": ("Validating", "validatejob.volcano.sh", *job, "CREATE UPDATE"),
        "/podgroups/mutate": ("Mutating", "mutatepodgroup.volcano.sh", group, "v1beta1", "podgroups", "CREATE"),
        "/podgroups/validate": ("Validating", "validatepodgroup.volcano.sh", group, "v1beta1", "podgroups",
                                "CREATE UPDATE"),
        "/pods/validate": ("Validating", "validatepod.volcano.sh", "", "v1", "pods", "CREATE UPDATE"),
        "/queues/mutate": ("Mutating", "mutatequeue.volcano.sh", group, "v1beta1", "queues", "CREATE"),
        "/queues/validate": ("Validating", "validatequeue.volcano.sh", group, "v1beta1", "queues",
                             "CREATE UPDATE DELETE"),
        "/jobflows/validate": ("Validating", "validatejobflow.volcano.sh", "flow.volcano.sh", "v1alpha1",
                               "jobflows", "CREATE UPDATE"),
        "/hypernodes/validate": ("Validating", "validatehypernodes.volcano.sh", "topology.volcano.sh", "v1alpha1",
                                 "hypernodes", "CREATE UPDATE"),
        "/cronjobs/validate": ("Validating", "validatecronjob.volcano.sh", "batch.volcano.sh", "v1alpha1",
                               "cronjobs", "CREATE UPDATE"),
    }


@pytest.fixture(scope="module")
def optional():
    return {(o["kind"], o["metadata"]["name"]): o for o in load("extra/pods-mutate.yaml")}


def test_the_optional_registration(optional):
    assert registrations(optional) == {OPTIONAL: ("Mutating", "mutatepod.volcano.sh", "", "v1", "pods", "CREATE")}


def test_names_of_webhooks_tell_them_apart(objects, optional):
    names = [o["webhooks"][0]["name"] for (kind, _), o in (objects | optional).items() if "Webhook" in kind]
    assert len(set(names)) == len(names) == len(PATHS) + 1


def test_the_webhook_serves_what_is_registered_and_may_patch_it(objects, optional):
    pod = objects["Deployment", "volcano-admission"]["spec"]["template"]["spec"]
    arguments = pod["containers"][0]["args"]
    assert f"--enabled-admission={','.join(PATHS)}" in arguments
    volume, = pod["volumes"]
    mount, = pod["containers"][0]["volumeMounts"]
    assert volume["configMap"]["name"] == "volcano-admission-configmap"
    assert f"--admission-conf={mount['mountPath']}/volcano-admission.conf" in arguments
    allowed = {(kind, name) for _, role, rule in rules(objects)
               if role == "volcano-admission" and rule["apiGroups"] == ["admissionregistration.k8s.io"]
               for kind in rule["resources"] for name in rule["resourceNames"]}
    assert allowed == {(kind.lower() + "s", name) for kind, name in objects | optional if "Webhook" in kind}


def rights(objects, role, group):
    return {(resource, verb) for _, name, rule in rules(objects) if name == role and rule["apiGroups"] == [group]
            for resource in rule["resources"] for verb in rule["verbs"]}


def test_the_webhook_reads_what_it_follows_and_no_more(objects):
    """Kinds that webhook/feed.c follows; Secret and registrations are looked at above."""
    followed = set(re.findall(r'"/(?:api|apis)/[a-z0-9./]*?/([a-z]+)"', "".join(
        (ROOT / name).read_text() for name in ("webhook/feed.c",))))
    followed |= {name.lower() for name in re.findall(r"\bPATH_([A-Z]+)\b", (ROOT / "webhook/feed.c").read_text())}
    granted = {resource for group in ("", "scheduling.volcano.sh")
               for resource, _ in rights(objects, "volcano-admission", group)} - {"secrets"}
    assert followed == granted == {"queues", "namespaces"}
    for group in ("", "scheduling.volcano.sh"):
        assert {verb for resource, verb in rights(objects, "volcano-admission", group)
                if resource != "secrets"} == {"list", "watch"}


@pytest.mark.parametrize("component", COMPONENTS)
def test_pods(objects, component):
    spec = objects["Deployment", component]["spec"]
    pod = spec["template"]["spec"]
    container, = pod["containers"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"] == labels
    assert labels["app"] == component.replace("controllers", "controller")
    binary = {"volcano-scheduler": "scheduler", "volcano-controllers": "controller",
              "volcano-admission": "webhook"}[component]
    assert container["image"].startswith(f"pumice/pumice-{binary}:")
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert pod["serviceAccountName"] == component
    assert pod["priorityClassName"] == "system-cluster-critical"
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 65532
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert f"--healthz-address=:{ports['healthz']}" in container["args"]
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": "healthz"}
    if component != "volcano-admission":
        assert "--leader-elect=true" in container["args"]
        assert f"--listen-address=:{ports['metrics']}" in container["args"]


def test_services_lead_to_ports_that_exist(objects):
    pods = {o["spec"]["template"]["metadata"]["labels"]["app"]: o["spec"]["template"]["spec"]
            for o in of_kind(objects, "Deployment").values()}
    numbers = {}
    for name, service in of_kind(objects, "Service").items():
        port, = service["spec"]["ports"]
        target = {p["name"]: p["containerPort"]
                  for p in pods[service["spec"]["selector"]["app"]]["containers"][0]["ports"]}
        numbers[name] = (port["port"], target[port["targetPort"]])
        if port["name"] == "metrics":
            assert service["metadata"]["annotations"]["prometheus.io/port"] == str(port["port"])
    assert numbers == {"volcano-scheduler-service": (8080, 8080),
                       "volcano-controllers-service": (8081, 8081),
                       "volcano-admission-service": (443, 8443)}


def test_scheduler_configuration(objects):
    text = objects["ConfigMap", "volcano-scheduler-configmap"]["data"]["volcano-scheduler.conf"]
    configuration = yaml.safe_load(text)
    assert configuration["actions"] == "enqueue, allocate, backfill"
    assert [[plugin["name"] for plugin in tier["plugins"]] for tier in configuration["tiers"]] == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack"]]
    pod = objects["Deployment", "volcano-scheduler"]["spec"]["template"]["spec"]
    volume, = pod["volumes"]
    mount, = pod["containers"][0]["volumeMounts"]
    assert volume["configMap"]["name"] == "volcano-scheduler-configmap"
    assert f"--scheduler-conf={mount['mountPath']}/volcano-scheduler.conf" in pod["containers"][0]["args"]


# --- examples ---

def tasks(name):
    job, = (o for o in load(f"examples/{name}.yaml") if o["kind"] == "Job")
    return job["spec"], job["spec"]["tasks"]


def replicas(name):
    return sum(task["replicas"] for task in tasks(name)[1])


def cpus(name):
    def number(text):
        return int(text[:-1]) / 1000 if text.endswith("m") else int(text)
    return sum(task["replicas"] * sum(number(c["resources"]["requests"]["cpu"])
                                      for c in task["template"]["spec"]["containers"])
               for task in tasks(name)[1])


def test_every_example_starts_with_a_comment():
    for path in (MANIFESTS / "examples").glob("*.yaml"):
        assert path.read_text().startswith("# "), path


@pytest.mark.parametrize("name, pods", [
    ("gang", 4), ("three-tasks", 60), ("in-queue", 4), ("mpi", 3), ("tensorflow", 4), ("pytorch", 3), ("ray", 4)])
def test_examples_that_fit(name, pods):
    name = {"in-queue": "queue"}.get(name, name)
    assert replicas(name) == pods
    assert cpus(name) <= 10 * 32
    assert tasks(name)[0]["minAvailable"] == sum(
        task.get("minAvailable", task["replicas"]) for task in tasks(name)[1])


def test_the_large_gang_does_not_fit_but_single_pods_do():
    assert cpus("gang-too-large") > 10 * 32
    assert tasks("gang-too-large")[0]["minAvailable"] == replicas("gang-too-large")
    assert cpus("gang-too-large") / replicas("gang-too-large") <= 32


def test_the_invalid_job_has_both_faults():
    spec, both = tasks("invalid")
    assert len({task["name"] for task in both}) < len(both)
    assert spec["minAvailable"] > replicas("invalid")
