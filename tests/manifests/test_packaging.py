"""install.yaml, the kustomize overlays and the Helm chart: one source, and what each value changes."""

import copy
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/packaging"))

import render  # noqa: E402

MANIFESTS = ROOT / "manifests"
COMPONENTS = {"scheduler": "volcano-scheduler", "controllers": "volcano-controllers", "webhook": "volcano-admission"}
HOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@pytest.fixture(scope="module")
def base():
    return render.kustomize(MANIFESTS / "base")


def deployment(objects, component):
    return objects["Deployment", COMPONENTS[component]]


def pod(objects, component):
    return deployment(objects, component)["spec"]["template"]["spec"]


def container(objects, component):
    one, = pod(objects, component)["containers"]
    return one


def changes(before, after, path=""):
    """The paths at which two objects differ; lists are looked into where they are of one length."""
    if isinstance(before, dict) and isinstance(after, dict):
        return {found for key in before.keys() | after.keys()
                for found in changes(before.get(key), after.get(key), f"{path}.{key}")}
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return {found for i, pair in enumerate(zip(before, after)) for found in changes(*pair, f"{path}[{i}]")}
    return set() if before == after else {path}


def differences(base, other):
    """{(kind, name): paths} of what differs; None for objects that only one has."""
    found = {}
    for key in base.keys() | other.keys():
        if key not in base or key not in other:
            found[key] = None
        elif changes(base[key], other[key]):
            found[key] = changes(base[key], other[key])
    return found


# --- one source ---

def test_install_yaml_is_the_base(base):
    objects = render.documents((MANIFESTS / "install.yaml").read_text())
    assert differences(base, render.by_name(objects)) == {}


def generator(folder, *options):
    return subprocess.run([sys.executable, folder / "generate-install", *options], capture_output=True, text=True,
                          check=False)


def test_regenerating_changes_nothing():
    done = generator(MANIFESTS, "--check")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def copy_of_manifests(tmp_path):
    for name in ("base", "monitoring"):
        shutil.copytree(MANIFESTS / name, tmp_path / name)
    for name in ("generate-install", "install.yaml"):
        shutil.copy(MANIFESTS / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("name, message", [
    ("base/services.yaml", "install.yaml is not up to date"),
    ("monitoring/alerts.yaml", "monitoring/prometheusrule.yaml is not up to date"),
    ("base/new.yaml", "base/kustomization.yaml does not name new.yaml"),
])
def test_check_notices_a_change(copy_of_manifests, name, message):
    path = copy_of_manifests / name
    path.write_text((path.read_text() if path.exists() else "") + "# more\n")
    done = generator(copy_of_manifests, "--check")
    assert done.returncode == 1 and message in done.stderr
    assert generator(MANIFESTS, "--check").returncode == 0


def test_the_rule_of_the_operator_has_the_alerts():
    alerts = yaml.safe_load((MANIFESTS / "monitoring/alerts.yaml").read_text())
    rule = yaml.safe_load((MANIFESTS / "monitoring/prometheusrule.yaml").read_text())
    assert rule["kind"] == "PrometheusRule" and rule["spec"] == alerts


# --- overlays ---

def test_minimal_is_one_of_each_and_no_more(base):
    found = differences(base, render.kustomize(MANIFESTS / "overlays/minimal"))
    gone = {key for key, paths in found.items() if paths is None}
    assert gone == {key for key in base if key[0] in ("PodDisruptionBudget", "NetworkPolicy", "FlowSchema")}
    spread = ".spec.template.spec.topologySpreadConstraints"
    assert {key: paths for key, paths in found.items() if paths} == {
        ("Deployment", "volcano-scheduler"): {spread}, ("Deployment", "volcano-controllers"): {spread},
        ("Deployment", "volcano-admission"): {spread, ".spec.replicas"}}


def test_ha_survives_a_node(base):
    objects = render.kustomize(MANIFESTS / "overlays/ha")
    assert {key[0] for key in differences(base, objects)} == {"Deployment"}
    for component, name in COMPONENTS.items():
        spec = deployment(objects, component)["spec"]
        labels = spec["selector"]["matchLabels"]
        assert spec["replicas"] >= 2
        constraints = {c["topologyKey"]: c for c in pod(objects, component)["topologySpreadConstraints"]}
        assert len(constraints) == len(pod(objects, component)["topologySpreadConstraints"]) == 2
        assert all(c["labelSelector"]["matchLabels"] == labels for c in constraints.values())
        assert constraints["topology.kubernetes.io/zone"]["whenUnsatisfiable"] == "ScheduleAnyway"
        budget = objects["PodDisruptionBudget", name]["spec"]
        assert budget["selector"]["matchLabels"] == labels and budget["maxUnavailable"] < spec["replicas"]
        if component == "webhook":
            assert constraints["kubernetes.io/hostname"]["whenUnsatisfiable"] == "DoNotSchedule"
            assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
        else:
            term, = pod(objects, component)["affinity"]["podAntiAffinity"][
                "requiredDuringSchedulingIgnoredDuringExecution"]
            assert term == {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
            # With the new beside the old a rollout would want a node more than there are replicas.
            assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
            assert "--leader-elect=true" in container(objects, component)["args"]


def test_monitoring_adds_its_objects(base):
    objects = render.kustomize(MANIFESTS / "overlays/monitoring")
    assert differences(base, objects) == {
        ("PodMonitor", "pumice"): None, ("PodMonitor", "pumice-admission"): None,
        ("PrometheusRule", "pumice"): None, ("ConfigMap", "pumice-dashboards"): None}
    dashboards = objects["ConfigMap", "pumice-dashboards"]
    assert dashboards["metadata"]["labels"] == {"grafana_dashboard": "1"}
    assert set(dashboards["data"]) == {path.name for path in (MANIFESTS / "monitoring/dashboards").glob("*.json")}
    assert all(json.loads(text)["panels"] for text in dashboards["data"].values())


def test_monitors_scrape_where_metrics_are(base):
    objects = render.kustomize(MANIFESTS / "monitoring")
    scraped = {}
    for (kind, _), monitor in objects.items():
        if kind != "PodMonitor":
            continue
        endpoint, = monitor["spec"]["podMetricsEndpoints"]
        selector = monitor["spec"]["selector"]
        apps = selector.get("matchLabels", {}).get("app", "").split() + [
            app for e in selector.get("matchExpressions", ()) for app in e["values"]]
        scraped.update(dict.fromkeys(apps, (endpoint["port"], endpoint["path"])))
    for component in COMPONENTS:
        app = deployment(base, component)["spec"]["template"]["metadata"]["labels"]["app"]
        port, path = scraped.pop(app)
        ports = {p["name"]: p["containerPort"] for p in container(base, component)["ports"]}
        flag = "healthz-address" if component == "webhook" else "listen-address"
        assert path == "/metrics" and f"--{flag}=:{ports[port]}" in container(base, component)["args"]
    assert scraped == {}


def test_budgets_policies_and_spread_select_the_pods(base):
    apps = {name: base["Deployment", name]["spec"]["selector"]["matchLabels"] for name in COMPONENTS.values()}
    for name, labels in apps.items():
        assert base["PodDisruptionBudget", name]["spec"]["selector"]["matchLabels"] == labels
        assert base["NetworkPolicy", name]["spec"]["podSelector"]["matchLabels"] == labels
        constraint, = base["Deployment", name]["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert constraint["labelSelector"]["matchLabels"] == labels


def test_policies_let_in_metrics_and_reviews_alone(base):
    """Port by port, {name: (from anywhere, from pods)}."""
    found = {}
    for name in COMPONENTS.values():
        spec = base["NetworkPolicy", name]["spec"]
        assert spec["policyTypes"] == ["Ingress"]
        anywhere = [p["port"] for rule in spec["ingress"] if "from" not in rule for p in rule["ports"]]
        pods = [p["port"] for rule in spec["ingress"] if rule.get("from") == [{"namespaceSelector": {}}]
                for p in rule["ports"]]
        assert {p["protocol"] for rule in spec["ingress"] for p in rule["ports"]} == {"TCP"}
        assert len(spec["ingress"]) == len(anywhere) + len(pods)
        names = {p["name"] for p in base["Deployment", name]["spec"]["template"]["spec"]["containers"][0]["ports"]}
        assert set(anywhere + pods) <= names
        found[name] = (anywhere, pods)
    assert found == {"volcano-scheduler": ([], ["metrics"]), "volcano-controllers": ([], ["metrics"]),
                     "volcano-admission": (["webhook"], ["healthz"])}


def test_the_flow_schema_is_for_what_the_roles_allow(base):
    spec = base["FlowSchema", "volcano-leases"]["spec"]
    assert spec["priorityLevelConfiguration"] == {"name": "leader-election"}
    # Before those for all service accounts (9000), behind those of Kubernetes' own components (100 to 200).
    assert 200 < spec["matchingPrecedence"] < 9000
    of_accounts = {}
    for rule in spec["rules"]:
        subject, = rule["subjects"]
        resource, = rule["resourceRules"]
        account = subject["serviceAccount"]
        of_accounts[account["name"]] = resource
        role = base["Role", account["name"]]
        assert account["namespace"] == role["metadata"]["namespace"] == resource["namespaces"][0]
        verbs = {verb for one in role["rules"] if one["resources"] == ["leases"] for verb in one["verbs"]}
        assert set(resource["verbs"]) == verbs and resource["resources"] == ["leases"]
    assert set(of_accounts) == {
        name for (kind, name), o in base.items() if kind == "Role"
        and any(one["resources"] == ["leases"] for one in o["rules"])}


# --- chart ---

def test_the_chart_is_linted():
    done = render.run("helm", "lint", "--strict", render.CHART)
    assert done.returncode == 0, done.stdout + done.stderr


def test_preset_values_render_the_base(base):
    """But for the Namespace, which Helm makes (--create-namespace) and leaves."""
    assert differences(base, render.helm()) == {("Namespace", "volcano-system"): None}


def test_the_values_for_high_availability_render_the_overlay():
    objects = render.helm("--values", render.CHART / "values-ha.yaml")
    overlay = render.kustomize(MANIFESTS / "overlays/ha")
    assert differences(overlay, objects) == {("Namespace", "volcano-system"): None}


def test_the_chart_brings_the_custom_resources():
    crds = render.by_name(render.documents((MANIFESTS / "crds.yaml").read_text()))
    with_crds = render.helm("--include-crds")
    assert {key: o for key, o in with_crds.items() if key[0] == "CustomResourceDefinition"} == crds


def test_a_packaged_chart_needs_nothing_beside_it(tmp_path):
    render.output("helm", "package", render.CHART, "--destination", tmp_path)
    archive, = tmp_path.glob("pumice-*.tgz")
    assert render.helm("--include-crds", chart=archive) == render.helm("--include-crds")


def nested(path, value):
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


POD = ".spec.template.spec"
BOX = POD + ".containers[0]"
ARGS = BOX + ".args"


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("value, given, path, wanted", [
    ("replicas", 5, ".spec.replicas", 5),
    ("resources", {"requests": {"cpu": "2"}, "limits": {"memory": "1Gi"}}, BOX + ".resources",
     {"requests": {"cpu": "2", "memory": "64Mi"}, "limits": {"memory": "1Gi"}}),
    ("affinity", {"nodeAffinity": {}}, POD + ".affinity", {"nodeAffinity": {}}),
    ("nodeSelector", {"a": "b"}, POD + ".nodeSelector", {"a": "b"}),
    ("tolerations", [{"operator": "Exists"}], POD + ".tolerations", [{"operator": "Exists"}]),
    ("topologySpreadConstraints", [{"maxSkew": 2}], POD + ".topologySpreadConstraints", [{"maxSkew": 2}]),
    ("strategy", {"type": "Recreate"}, ".spec.strategy", {"type": "Recreate"}),
    ("extraEnv", [{"name": "A", "value": "b"}], BOX + ".env", [{"name": "A", "value": "b"}]),
    ("logLevel", 5, ARGS, "-v=5"),
    ("extraArgs", ["--enable-healthz=true"], ARGS, "--enable-healthz=true"),
    ("image", "other/image", BOX + ".image", "other/image:0.1.0"),
])
def test_values_of_each_component(base, component, value, given, path, wanted):
    objects = render.helm(values=nested(f"{component}.{value}", given))
    name = ("Deployment", COMPONENTS[component])
    found = differences(base, objects)
    found.pop(("Namespace", "volcano-system"))
    assert found.keys() == {name} and all(one.startswith(path) for one in found[name]), found
    at = objects[name]
    for key in path.strip(".").replace("[0]", ".0").split("."):
        at = at[int(key) if key.isdigit() else key]
    assert wanted in at if path == ARGS else at == wanted


def test_volumes_labels_and_annotations_are_added(base):
    values = {"webhook": {"podLabels": {"team": "x", "app": "else"}, "podAnnotations": {"a": "b"},
                          "extraVolumes": [{"name": "v", "emptyDir": {}}],
                          "extraVolumeMounts": [{"name": "v", "mountPath": "/v"}]}}
    objects = render.helm(values=values)
    template, before = (deployment(o, "webhook")["spec"]["template"] for o in (objects, base))
    # The label that the selector looks for stays.
    assert template["metadata"]["labels"] == {"team": "x", "app": "volcano-admission"}
    assert template["metadata"]["annotations"] == {**before["metadata"]["annotations"], "a": "b"}
    assert template["spec"]["volumes"] == [*before["spec"]["volumes"], {"name": "v", "emptyDir": {}}]
    assert container(objects, "webhook")["volumeMounts"][1:] == [{"name": "v", "mountPath": "/v"}]


def test_images():
    objects = render.helm(values={"image": {"registry": "registry.example.com/team/", "tag": "1.2", "pullPolicy":
                                            "Always", "pullSecrets": [{"name": "key"}]}})
    for component, name in zip(COMPONENTS, ("scheduler", "controller", "webhook")):
        assert container(objects, component)["image"] == f"registry.example.com/team/pumice/pumice-{name}:1.2"
        assert container(objects, component)["imagePullPolicy"] == "Always"
        assert pod(objects, component)["imagePullSecrets"] == [{"name": "key"}]


@pytest.mark.parametrize("given", ["mine", ""])
def test_priority_class(given):
    objects = render.helm(values={"priorityClassName": given})
    for component in COMPONENTS:
        assert pod(objects, component).get("priorityClassName", "") == given


CONFIG = {"actions": "enqueue, allocate, preempt", "tiers": [{"plugins": [{"name": "gang"}]}]}


@pytest.mark.parametrize("given", [CONFIG, yaml.safe_dump(CONFIG)])
def test_configurations(base, given):
    objects = render.helm(values={"scheduler": {"config": given}, "webhook": {"config": given}})
    for name, key in (("volcano-scheduler-configmap", "volcano-scheduler.conf"),
                      ("volcano-admission-configmap", "volcano-admission.conf")):
        assert yaml.safe_load(objects["ConfigMap", name]["data"][key]) == CONFIG
    assert {key[0] for key in differences(base, objects)} == {"Namespace", "ConfigMap"}


def hooks(objects):
    return {name: o["webhooks"][0] for (kind, name), o in objects.items() if kind in HOOKS}


def test_registrations_follow_values(base):
    objects = render.helm(values={"webhook": {"timeoutSeconds": 3, "failurePolicy": "Ignore",
                                              "excludedNamespaces": ["kube-system", "other"]}})
    before = hooks(base)
    for name, hook in hooks(objects).items():
        assert (hook["timeoutSeconds"], hook["failurePolicy"]) == (3, "Ignore")
        if "namespaceSelector" in before[name]:
            values = hook["namespaceSelector"]["matchExpressions"][0]["values"]
            assert values == ["volcano-system", "kube-system", "other"]
    policy = {name: hook["failurePolicy"] for name, hook in hooks(render.helm()).items()}
    assert policy.pop("volcano-admission-service-podgroups-mutate") == "Ignore"
    assert set(policy.values()) == {"Fail"}


def test_the_port_of_the_webhook(base):
    objects = render.helm(values={"webhook": {"port": 9443}})
    assert "--port=9443" in container(objects, "webhook")["args"]
    assert {"name": "webhook", "containerPort": 9443} in container(objects, "webhook")["ports"]
    assert objects["Service", "volcano-admission-service"] == base["Service", "volcano-admission-service"]


def test_host_network():
    """Its ports are those of its node, where no second replica has room."""
    objects = render.helm(values={"webhook": {"hostNetwork": True}})
    spec = pod(objects, "webhook")
    assert spec["hostNetwork"] and spec["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert strategy(objects)["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    given = {"type": "Recreate"}
    assert strategy(render.helm(values={"webhook": {"hostNetwork": True, "strategy": given}})) == given


def strategy(objects):
    return objects["Deployment", "volcano-admission"]["spec"]["strategy"]


def test_every_program_may_take_the_time_that_it_needs_to_stop(base):
    for part in ("scheduler", "controllers", "admission"):
        assert base["Deployment", f"volcano-{part}"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 40


def test_it_is_not_installed_where_the_leases_of_kubernetes_are():
    with pytest.raises(RuntimeError, match="give Pumice a namespace of its own"):
        render.helm(namespace="kube-system")


def test_pods_mutate_is_served_and_registered(base):
    objects = render.helm(values={"webhook": {"podsMutate": True, "schedulingGates": True}})
    arguments = container(objects, "webhook")["args"]
    enabled, = (a for a in container(base, "webhook")["args"] if a.startswith("--enabled-admission="))
    assert enabled + ",/pods/mutate" in arguments
    assert "--feature-gates=SchedulingGatesQueueAdmission=true" in arguments
    extra, = render.documents((MANIFESTS / "extra/pods-mutate.yaml").read_text())
    assert objects["MutatingWebhookConfiguration", "volcano-admission-service-pods-mutate"] == extra


@pytest.mark.parametrize("names, ours", [(["other"], "== 'other'"), (["volcano", "other"], "in ['volcano', 'other']")])
def test_scheduler_names_are_told_to_all(names, ours):
    objects = render.helm(values={"schedulerNames": names, "webhook": {"podsMutate": True}})
    for component in COMPONENTS:
        flags = [a for a in container(objects, component)["args"] if a.startswith("--scheduler-name=")]
        assert flags == [f"--scheduler-name={name}" for name in names]
    for name in ("pods-validate", "pods-mutate"):
        hook = hooks(objects)["volcano-admission-service-" + name]
        assert hook["matchConditions"][0]["expression"] == f"object.spec.?schedulerName.orValue('') {ours}"


def test_which_controllers_run():
    arguments = container(render.helm(values={"controllers": {"enabled": "*,-gc-controller"}}), "controllers")["args"]
    assert "--controllers=*,-gc-controller" in arguments


def secret_rights(objects):
    """Who may do something with Secrets: {(kind of role, name)}."""
    return {key for key, o in objects.items() if key[0] in ("Role", "ClusterRole")
            and any("secrets" in rule["resources"] for rule in o["rules"])}


def test_features_switch_their_objects(base):
    assert secret_rights(base) == {("ClusterRole", "volcano-controllers-ssh"), ("Role", "volcano-admission")}
    objects = render.helm(values={"features": dict.fromkeys(
        ("sshPlugin", "podDisruptionBudgets", "networkPolicies", "flowSchema"), False)})
    assert secret_rights(objects) == {("Role", "volcano-admission")}
    gone = {key for key, paths in differences(base, objects).items() if paths is None}
    assert gone == {("Namespace", "volcano-system"), ("ClusterRole", "volcano-controllers-ssh"),
                    ("ClusterRoleBinding", "volcano-controllers-ssh"),
                    *(key for key in base if key[0] in ("PodDisruptionBudget", "NetworkPolicy", "FlowSchema"))}


def test_monitoring_of_the_chart_is_that_of_kustomize():
    labels = {"release": "prometheus"}
    objects = render.helm(values={"monitoring": {"podMonitors": True, "alerts": True, "dashboards": True,
                                                 "labels": labels}})
    wanted = copy.deepcopy(render.kustomize(MANIFESTS / "monitoring"))
    for key, o in wanted.items():
        o["metadata"]["labels"] = {**o["metadata"].get("labels", {}), **labels}
        assert objects[key] == o
    assert not wanted.keys() & render.helm().keys()


def test_another_namespace():
    """Nothing is left of the preset one."""
    objects = render.helm(namespace="batch")
    assert "volcano-system" not in json.dumps(list(objects.values()))
    assert objects.keys() == render.helm().keys()
    for component in ("scheduler", "controllers"):
        assert "--leader-elect-resource-namespace=batch" in container(objects, component)["args"]
    assert "--webhook-namespace=batch" in container(objects, "webhook")["args"]


@pytest.mark.parametrize("values, message", [
    ({"webhook": {"failurePolicy": "Fails"}}, "/webhook/failurePolicy"),
    ({"webhook": {"timeoutSeconds": 31}}, "/webhook/timeoutSeconds"),
    ({"webhook": {"port": 0}}, "/webhook/port"),
    ({"scheduler": {"replica": 2}}, "'replica' not allowed"),
    ({"controllers": {"replicas": -1}}, "/controllers/replicas"),
    ({"scheduler": {"extraArgs": ["leader-elect=false"]}}, "/scheduler/extraArgs/0"),
    ({"schedulerNames": []}, "/schedulerNames"),
    ({"schedulerNames": ["it's"]}, "/schedulerNames/0"),
    ({"image": {"pullPolicy": "Sometimes"}}, "/image/pullPolicy"),
    ({"ssh": False}, "'ssh' not allowed"),
])
def test_a_value_that_cannot_be_is_refused(values, message):
    with pytest.raises(RuntimeError) as refused:
        render.helm(values=values)
    assert message in str(refused.value)


def schema_paths(schema, path=""):
    for name, part in schema.get("properties", {}).items():
        yield path + name
        yield from schema_paths(part, f"{path}{name}.")


def value_paths(values, schema, path=""):
    for name, value in values.items():
        yield path + name
        part = schema.get("properties", {}).get(name, {})
        if isinstance(value, dict) and "properties" in part:
            yield from value_paths(value, part, f"{path}{name}.")


def test_the_schema_and_the_presets_name_the_same_values():
    schema = json.loads((render.CHART / "values.schema.json").read_text())
    values = yaml.safe_load((render.CHART / "values.yaml").read_text())
    assert set(value_paths(values, schema)) == set(schema_paths(schema)) - {"global"}
