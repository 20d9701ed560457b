"""manifests/crds.yaml: is up to date, can be applied, and shows users what they know."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "manifests/generate-crds"
CRDS = ROOT / "manifests/crds.yaml"
MAX_CRD_BYTES = 262144


@pytest.fixture(scope="module")
def crds():
    return {crd["spec"]["names"]["kind"]: crd for crd in yaml.safe_load_all(CRDS.read_text())}


def schema_of(crd):
    return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def field(crd, path):
    """The schema of a field; [] goes into a list, {} into a map."""
    node = schema_of(crd)
    for name in re.findall(r"[^.\[\]{}]+|\[\]|\{\}", path):
        node = node["items"] if name == "[]" else (
            node["additionalProperties"] if name == "{}" else node["properties"][name])
    return node


def walk(node, path=""):
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from walk(child, f"{path}.{name}")
    if "items" in node:
        yield from walk(node["items"], path + "[]")
    if "additionalProperties" in node:
        yield from walk(node["additionalProperties"], path + "{}")


def run(generator, *options):
    """Runs the generator with the Go command that the test cluster is built with."""
    go = subprocess.run([ROOT / "tests/cluster/go-toolchain"], stdout=subprocess.PIPE, text=True,
                        check=True).stdout.strip()
    path = f"{Path(go).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run([sys.executable, generator, *options], capture_output=True, text=True,
                          env={**os.environ, "PATH": path}, check=False)


def generate(*options):
    return run(GENERATOR, *options)


def test_regenerating_changes_nothing():
    done = generate("--check")
    assert done.returncode == 0, done.stderr


def test_check_notices_a_change(tmp_path):
    copy = tmp_path / "manifests"
    (copy / "crds").mkdir(parents=True)
    for source in (ROOT / "manifests/crds").glob("*.yaml"):
        text = source.read_text()
        if source.name == "queue.yaml":
            text = text.replace("maximum: 65535", "maximum: 65536")
        (copy / "crds" / source.name).write_text(text)
    (copy / "generate-crds").write_text(GENERATOR.read_text())
    (copy / "crds.yaml").write_text(CRDS.read_text())
    done = run(copy / "generate-crds", "--check")
    assert done.returncode == 1
    assert "is not up to date" in done.stderr


@pytest.mark.parametrize("document, message", [
    ("{", "generate-crds: "),
    ('{"components": {"schemas": {}}}', "has no schema io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference"),
    ('{"components": {"schemas": {"io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference": '
     '{"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}}}}',
     "keyword ['maxLength'] is not known"),
])
def test_a_document_that_cannot_be_used_is_named(tmp_path, document, message):
    path = tmp_path / "openapi.json"
    path.write_text(document)
    done = generate("--stdout", "--openapi", path)
    assert done.returncode == 1
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_the_generator_uses_the_version_of_the_test_cluster():
    version = re.search(r'KUBERNETES_VERSION = "(.*)"', GENERATOR.read_text()).group(1)
    pinned = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", (ROOT / "tests/tools/go.mod").read_text(), re.M)
    assert version == pinned.group(1)


def test_sizes(crds):
    for crd in crds.values():
        assert len(json.dumps(crd, separators=(",", ":"))) < MAX_CRD_BYTES


def test_names_scopes_and_subresources(crds):
    facts = {
        kind: (crd["metadata"]["name"], crd["spec"]["versions"][0]["name"], crd["spec"]["scope"],
               crd["spec"]["names"].get("shortNames"), crd["spec"]["versions"][0].get("subresources"))
        for kind, crd in crds.items()
    }
    assert facts == {
        "Job": ("jobs.batch.volcano.sh", "v1alpha1", "Namespaced", ["vcjob", "vj"], {"status": {}}),
        "Command": ("commands.bus.volcano.sh", "v1alpha1", "Namespaced", None, None),
        "PodGroup": ("podgroups.scheduling.volcano.sh", "v1beta1", "Namespaced",
                     ["pg", "podgroup-v1beta1"], {}),
        "Queue": ("queues.scheduling.volcano.sh", "v1beta1", "Cluster", ["q", "queue-v1beta1"],
                  {"status": {}}),
        "CronJob": ("cronjobs.batch.volcano.sh", "v1alpha1", "Namespaced", ["cronvcjob", "cronvj"],
                    {"status": {}}),
        "JobFlow": ("jobflows.flow.volcano.sh", "v1alpha1", "Namespaced", ["jf"], {"status": {}}),
        "JobTemplate": ("jobtemplates.flow.volcano.sh", "v1alpha1", "Namespaced", ["jt"], {"status": {}}),
        "HyperNode": ("hypernodes.topology.volcano.sh", "v1alpha1", "Cluster", ["hn"], {"status": {}}),
    }
    for crd in crds.values():
        version, = crd["spec"]["versions"]
        assert version["served"] and version["storage"]
        assert crd["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


@pytest.mark.parametrize("kind, columns", [
    ("Job", "STATUS:string:.status.state.phase minAvailable:integer:.status.minAvailable "
            "RUNNINGS:integer:.status.running AGE:date:.metadata.creationTimestamp QUEUE:string:.spec.queue:1"),
    ("PodGroup", "STATUS:string:.status.phase minMember:integer:.spec.minMember "
                 "RUNNINGS:integer:.status.running AGE:date:.metadata.creationTimestamp "
                 "QUEUE:string:.spec.queue:1"),
    ("Queue", "PARENT:string:.spec.parent"),
    ("Command", ""),
    ("CronJob", ""),
    ("JobTemplate", ""),
    ("JobFlow", "Status:string:.status.state.phase Age:date:.metadata.creationTimestamp"),
    ("HyperNode", "Tier:string:.spec.tier TierName:string:.spec.tierName "
                  "NodeCount:integer:.status.nodeCount Age:date:.metadata.creationTimestamp"),
])
def test_columns(crds, kind, columns):
    found = crds[kind]["spec"]["versions"][0].get("additionalPrinterColumns", [])
    assert columns == " ".join(
        f"{c['name']}:{c['type']}:{c['jsonPath']}" + (f":{c['priority']}" if "priority" in c else "")
        for c in found)


def job_defaults(path):
    """The defaults of a Job's spec that is at the path."""
    return {path + ".maxRetry": 3, path + ".queue": "default", path + ".networkTopology.mode": "hard",
            path + ".tasks[].partitionPolicy.minPartitions": 0,
            path + ".tasks[].partitionPolicy.networkTopology.mode": "hard"}


@pytest.mark.parametrize("kind, defaults", [
    ("Job", job_defaults(".spec")),
    ("CronJob", {".spec.concurrencyPolicy": "Allow", ".spec.suspend": False,
                 ".spec.successfulJobsHistoryLimit": 3, ".spec.failedJobsHistoryLimit": 1,
                 **job_defaults(".spec.jobTemplate.spec")}),
    ("JobTemplate", job_defaults(".spec")),
    ("JobFlow", job_defaults(".spec.flows[].patch.jobSpec")),
    ("HyperNode", {}),
    ("PodGroup", {".spec.queue": "default", ".spec.networkTopology.mode": "hard",
                  ".spec.subGroupPolicy[].subGroupSize": 1, ".spec.subGroupPolicy[].minSubGroups": 0,
                  ".spec.subGroupPolicy[].networkTopology.mode": "hard"}),
    ("Queue", {".spec.weight": 1, ".spec.dequeueStrategy": "traverse"}),
    ("Command", {}),
])
def test_defaults(crds, kind, defaults):
    found = {path: node["default"] for path, node in walk(schema_of(crds[kind])) if "default" in node}
    assert defaults == {path: value for path, value in found.items() if ".template." not in path}


def test_defaults_of_the_pod_template(crds):
    template = field(crds["Job"], "spec.tasks[].template")
    found = {}
    for path, node in walk(template):
        if "default" in node:
            found.setdefault(json.dumps(node["default"]), []).append(path)
    references = found.pop('""')
    assert len(references) == 33
    assert {path.rsplit(".", 1)[1] for path in references} == {"name", "service"}
    containers = [f".spec.{name}[]" for name in ("containers", "ephemeralContainers", "initContainers")]
    volumes = ".spec.volumes[]"
    assert {value: sorted(paths) for value, paths in found.items()} == {
        '"TCP"': [f"{c}.ports[].protocol" for c in containers],
        "false": [f"{c}.env[].valueFrom.fileKeyRef.optional" for c in containers]
                 + [f"{volumes}.azureDisk.readOnly"],
        '"ext4"': [f"{volumes}.azureDisk.fsType"],
        '"default"': [f"{volumes}.iscsi.iscsiInterface"],
        '"rbd"': [f"{volumes}.rbd.pool"],
        '"admin"': [f"{volumes}.rbd.user"],
        '"/etc/ceph/keyring"': [f"{volumes}.rbd.keyring"],
        '"xfs"': [f"{volumes}.scaleIO.fsType"],
        '"ThinProvisioned"': [f"{volumes}.scaleIO.storageMode"],
    }


def test_the_pod_template_is_whole(crds):
    template = field(crds["Job"], "spec.tasks[].template")
    assert sorted(template["properties"]["metadata"]["properties"]) == [
        "annotations", "finalizers", "labels", "name", "namespace"]
    spec = template["properties"]["spec"]
    assert spec["required"] == ["containers"]
    assert len(spec["properties"]) == 42
    assert {"resources", "schedulingGroup", "hostnameOverride", "resourceClaims"} <= set(spec["properties"])
    for path, node in walk(template):
        assert not {"enum", "minimum", "maximum"} & set(node), path


def test_list_types_of_the_pod_template(crds):
    spec = field(crds["Job"], "spec.tasks[].template.spec")
    keyed = {path: node["x-kubernetes-list-map-keys"] for path, node in walk(spec)
             if node.get("x-kubernetes-list-type") == "map"}
    expected = {f".{name}": ["name"] for name in
                ("containers", "initContainers", "ephemeralContainers", "imagePullSecrets", "volumes",
                 "resourceClaims", "schedulingGates")}
    expected |= {".hostAliases": ["ip"], ".resources.claims": ["name"],
                 ".topologySpreadConstraints": ["topologyKey", "whenUnsatisfiable"]}
    for name in ("containers", "initContainers", "ephemeralContainers"):
        expected |= {f".{name}[].ports": ["containerPort", "protocol"], f".{name}[].env": ["name"],
                     f".{name}[].volumeMounts": ["mountPath"], f".{name}[].volumeDevices": ["devicePath"],
                     f".{name}[].resources.claims": ["name"]}
    assert keyed == expected
    properties = spec["properties"]
    assert properties["tolerations"]["x-kubernetes-list-type"] == "atomic"
    assert properties["readinessGates"]["x-kubernetes-list-type"] == "atomic"
    assert properties["nodeSelector"]["x-kubernetes-map-type"] == "atomic"


@pytest.mark.parametrize("kind, path", [
    ("CronJob", "spec.jobTemplate.spec"), ("JobTemplate", "spec"), ("JobFlow", "spec.flows[].patch.jobSpec")])
def test_a_job_is_the_same_wherever_it_is(crds, kind, path):
    assert field(crds[kind], path) == field(crds["Job"], "spec")


@pytest.mark.parametrize("kind, path, expected", [
    ("CronJob", "spec", {"required": ["schedule", "jobTemplate"]}),
    ("CronJob", "spec.schedule", {"type": "string", "minLength": None, "pattern": None}),
    ("CronJob", "spec.startingDeadlineSeconds", {"type": "integer", "format": "int64", "minimum": 0}),
    ("CronJob", "spec.concurrencyPolicy", {"enum": ["Allow", "Forbid", "Replace"]}),
    ("CronJob", "spec.failedJobsHistoryLimit", {"format": "int32", "minimum": 0}),
    ("CronJob", "status.active", {"x-kubernetes-list-type": "atomic"}),
    ("CronJob", "status.active[]", {"x-kubernetes-map-type": "atomic"}),
    ("CronJob", "status.lastSuccessfulTime", {"type": "string", "format": "date-time"}),
    ("JobFlow", "spec.jobRetainPolicy", {"enum": ["retain", "delete"]}),
    ("JobFlow", "spec.flows[]", {"required": ["name"]}),
    ("JobFlow", "spec.flows[].name", {"minLength": 1}),
    ("JobFlow", "spec.flows[].dependsOn.probe.httpGetList[].taskName", {"maxLength": 253}),
    ("JobFlow", "spec.flows[].dependsOn.probe.httpGetList[].port", {"minimum": 0, "maximum": 65535}),
    ("JobFlow", "spec.flows[].dependsOn.probe.httpGetList[].httpHeader", {"required": ["name", "value"]}),
    ("JobFlow", "spec.flows[].dependsOn.probe.tcpSocketList[]", {"required": ["port"]}),
    ("JobFlow", "spec.flows[].dependsOn.probe.taskStatusList[].phase", {"maxLength": 63}),
    ("JobFlow", "status.unKnowJobs[]", {"type": "string"}),
    ("JobFlow", "status.jobStatusList[].restartCount", {"format": "int32", "minimum": 0}),
    ("JobFlow", "status.jobStatusList[].runningHistories[].endTimestamp", {"format": "date-time"}),
    ("JobFlow", "status.conditions{}.taskStatusCount{}.phase{}", {"format": "int32"}),
    ("JobFlow", "status.state.phase", {"enum": ["Succeed", "Terminating", "Failed", "Running", "Pending"]}),
    ("JobTemplate", "status.jobDependsOnList[]", {"type": "string"}),
    ("HyperNode", "spec", {"required": ["tier"]}),
    ("HyperNode", "spec.tier", {"type": "integer", "format": None, "minimum": 0}),
    ("HyperNode", "spec.tierName", {"maxLength": 253}),
    ("HyperNode", "spec.members", {"minItems": 1}),
    ("HyperNode", "spec.members[]", {"required": ["type"]}),
    ("HyperNode", "spec.members[].type", {"enum": ["Node", "HyperNode"]}),
    ("HyperNode", "spec.members[].selector.exactMatch.name", {"minLength": 1, "maxLength": 253}),
    ("HyperNode", "spec.members[].selector.regexMatch.pattern", {"minLength": 1}),
    ("HyperNode", "spec.members[].selector.labelMatch", {"x-kubernetes-map-type": "atomic"}),
    ("HyperNode", "status.conditions[].reason", {"minLength": 1, "maxLength": 1024}),
    ("HyperNode", "status.nodeCount", {"format": "int64", "minimum": 0}),
    ("Job", "spec.minAvailable", {"type": "integer", "format": "int32", "minimum": 0}),
    ("Job", "spec.minSuccess", {"type": "integer", "format": "int32", "minimum": 1}),
    ("Job", "spec.schedulerName", {"type": "string", "maxLength": 63}),
    ("Job", "spec.tasks", {"minItems": 1}),
    ("Job", "spec.tasks[].name", {"maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}),
    ("Job", "spec.tasks[].replicas", {"format": "int32", "minimum": 0}),
    ("Job", "spec.tasks[].topologyPolicy", {"enum": ["none", "best-effort", "restricted",
                                                     "single-numa-node"]}),
    ("Job", "spec.volumes[]", {"required": ["mountPath"]}),
    ("Job", "spec.volumes[].mountPath", {"minLength": 1, "pattern": "^[^:]+$"}),
    ("Job", "spec.volumes[].volumeClaim.dataSource", {"required": ["kind", "name"]}),
    ("Job", "spec.volumes[].volumeClaim.dataSourceRef", {"required": ["kind", "name"]}),
    ("Job", "spec.policies[].exitCode", {"type": "integer", "format": "int32"}),
    ("Job", "spec.tasks[].partitionPolicy", {"required": ["totalPartitions", "partitionSize"]}),
    ("Job", "status.conditions[]", {"required": ["status"]}),
    ("Job", "status.taskStatusCount{}.phase{}", {"type": "integer", "format": "int32"}),
    ("PodGroup", "spec.minTaskMember{}", {"type": "integer", "format": "int32"}),
    ("PodGroup", "spec.subGroupPolicy[].labelSelector", {"x-kubernetes-map-type": "atomic"}),
    ("PodGroup", "spec.networkTopology.highestTierName", {"maxLength": 253}),
    ("PodGroup", "status.phase", {"enum": ["Pending", "Running", "Unknown", "Inqueue", "Completed"]}),
    ("Queue", "spec.weight", {"format": "int32", "minimum": 1, "maximum": 65535}),
    ("Queue", "spec.dequeueStrategy", {"enum": ["fifo", "traverse"]}),
    ("Queue", "spec.capability{}", {"x-kubernetes-int-or-string": True}),
    ("Queue", "status.state", {"enum": ["Open", "Closed", "Closing", "Unknown"]}),
    ("Command", "target", {"required": ["apiVersion", "kind", "name", "uid"],
                           "x-kubernetes-map-type": "atomic"}),
])
def test_validation(crds, kind, path, expected):
    node = field(crds[kind], path)
    assert {key: node.get(key) for key in expected} == expected


def test_nothing_survives_that_the_schema_does_not_name(crds):
    for kind, crd in crds.items():
        for path, node in walk(schema_of(crd)):
            for banned in ("x-kubernetes-preserve-unknown-fields", "nullable", "$ref"):
                assert banned not in node, f"{kind}{path}"
