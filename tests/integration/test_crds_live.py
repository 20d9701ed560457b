"""manifests/crds.yaml on a real API server: defaults, validation, columns. No webhook is registered here.

The control plane is this module's own, so that no other test's registrations have a say.
"""

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from cluster import ApiError, ControlPlane  # noqa: E402

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
CRONJOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/cronjobs"
FLOWS = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobflows"
TEMPLATES = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobtemplates"
HYPERNODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"
CONTAINER = {"name": "main", "image": "busybox"}


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    plane = ControlPlane(tmp_path_factory.mktemp("crds"), tied=True).start()
    try:
        plane.kubectl("apply", "-f", ROOT / "manifests/crds.yaml")
        plane.kubectl("wait", "--for=condition=Established", "--timeout=30s",
                      "-f", ROOT / "manifests/crds.yaml")
        yield plane
    finally:
        plane.stop()


def job(name="job", template=None, task=None, **spec):
    pod = {"containers": [CONTAINER], **(template or {})}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
            "spec": {"tasks": [{"name": "main", "replicas": 1, "template": {"spec": pod}, **(task or {})}],
                     **spec}}


def group(name="group", status=None, **spec):
    body = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name},
            "spec": spec}
    return {**body, "status": status} if status else body


def queue(name="queue", **spec):
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name},
            "spec": spec}


def cronjob(name="cron", **spec):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob", "metadata": {"name": name},
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job()["spec"]}, **spec}}


def flow(*flows, name="flow", **spec):
    return {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "metadata": {"name": name},
            "spec": {"flows": list(flows), **spec}}


def template(name="template", **spec):
    return {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobTemplate", "metadata": {"name": name},
            "spec": {**job()["spec"], **spec}}


def hypernode(*members, name="leaf", **spec):
    return {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name},
            "spec": {"tier": 1, "members": list(members), **spec}}


def member(**selector):
    return {"type": "Node", "selector": selector}


def dry(plane, path, body):
    """What the API server would store; unknown fields are refused."""
    return plane.request("POST", f"{path}?dryRun=All&fieldValidation=Strict", body)


def test_names_are_accepted(plane):
    crds = plane.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
    assert len(crds) == 8
    for crd in crds:
        conditions = {c["type"]: c["status"] for c in crd["status"]["conditions"]}
        # NonStructuralSchema appears only if something is wrong with the schema.
        assert conditions == {"NamesAccepted": "True", "Established": "True"}


def test_the_openapi_of_the_server_gives_the_same_file(plane):
    document = plane.kubectl("get", "--raw", "/openapi/v3/api/v1")
    done = subprocess.run([sys.executable, ROOT / "manifests/generate-crds", "--check", "--openapi", "-"],
                          input=document, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_defaults_of_a_job(plane):
    stored = dry(plane, JOBS, job(networkTopology={}, task={
        "partitionPolicy": {"totalPartitions": 1, "partitionSize": 1}}))
    assert stored["spec"]["queue"] == "default"
    assert stored["spec"]["maxRetry"] == 3
    assert stored["spec"]["networkTopology"] == {"mode": "hard"}
    assert stored["spec"]["tasks"][0]["partitionPolicy"]["minPartitions"] == 0
    assert "minAvailable" not in stored["spec"] and "maxRetry" not in stored["spec"]["tasks"][0]


def test_defaults_of_a_pod_template(plane):
    stored = dry(plane, JOBS, job(template={
        "containers": [{**CONTAINER, "ports": [{"containerPort": 80}],
                        "livenessProbe": {"grpc": {"port": 80}},
                        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k"}}},
                                {"name": "B", "valueFrom": {"fileKeyRef": {
                                    "key": "k", "path": "p", "volumeName": "v"}}}]}],
        "imagePullSecrets": [{}],
        "volumes": [{"name": "disk", "azureDisk": {"diskName": "d", "diskURI": "u"}},
                    {"name": "rbd", "rbd": {"image": "i", "monitors": ["m"]}}]}))
    spec = stored["spec"]["tasks"][0]["template"]["spec"]
    main = spec["containers"][0]
    assert main["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert main["livenessProbe"] == {"grpc": {"port": 80, "service": ""}}
    assert main["env"][0]["valueFrom"] == {"secretKeyRef": {"key": "k", "name": ""}}
    assert main["env"][1]["valueFrom"]["fileKeyRef"]["optional"] is False
    assert spec["imagePullSecrets"] == [{"name": ""}]
    assert spec["volumes"][0]["azureDisk"] == {
        "diskName": "d", "diskURI": "u", "fsType": "ext4", "readOnly": False}
    assert spec["volumes"][1]["rbd"] == {"image": "i", "monitors": ["m"], "pool": "rbd", "user": "admin",
                                         "keyring": "/etc/ceph/keyring"}
    assert "restartPolicy" not in spec


def test_defaults_of_podgroup_and_queue(plane):
    stored = dry(plane, GROUPS, group(minMember=1, subGroupPolicy=[{"name": "a", "networkTopology": {}}]))
    assert stored["spec"] == {"minMember": 1, "queue": "default", "subGroupPolicy": [
        {"name": "a", "subGroupSize": 1, "minSubGroups": 0, "networkTopology": {"mode": "hard"}}]}
    stored = dry(plane, QUEUES, queue())
    assert stored["spec"] == {"weight": 1, "dequeueStrategy": "traverse"}


def test_defaults_of_what_makes_jobs(plane):
    stored = dry(plane, CRONJOBS, cronjob())
    assert {key: stored["spec"][key] for key in ("concurrencyPolicy", "suspend", "successfulJobsHistoryLimit",
                                                 "failedJobsHistoryLimit")} == {
        "concurrencyPolicy": "Allow", "suspend": False, "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1}
    assert stored["spec"]["jobTemplate"]["spec"]["queue"] == "default"
    assert dry(plane, TEMPLATES, template())["spec"]["maxRetry"] == 3
    # A patch reads back with the defaults of a whole Job: clients of this API know it so.
    stored = dry(plane, FLOWS, flow({"name": "a", "patch": {"jobSpec": {"minAvailable": 2}}}, {"name": "b"}))
    assert stored["spec"]["flows"] == [
        {"name": "a", "patch": {"jobSpec": {"minAvailable": 2, "queue": "default", "maxRetry": 3}}},
        {"name": "b"}]


def test_a_pod_template_is_kept_whole(plane):
    metadata = {"name": "n", "namespace": "ns", "labels": {"a": "b"}, "annotations": {"c": "d"},
                "finalizers": ["e/f"]}
    pod = {"containers": [{**CONTAINER, "resources": {"limits": {"cpu": 1, "memory": "1.5Gi", "x.y/z": "2"}},
                           "livenessProbe": {"httpGet": {"port": "http"}},
                           "securityContext": {"runAsUser": 9007199254740993}}],
           "hostnameOverride": "h", "schedulingGates": [{"name": "g"}],
           "nodeSelector": {"k": "v"}, "tolerations": [{"operator": "Exists"}],
           "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {
               "metadata": {"labels": {"l": "m"}},
               "spec": {"accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1Gi"}}}}}}]}
    given = {"metadata": metadata, "spec": copy.deepcopy(pod)}
    stored = dry(plane, JOBS, job(task={"template": given}))
    assert stored["spec"]["tasks"][0]["template"] == given


@pytest.mark.parametrize("path, body, message", [
    (JOBS, job(minAvailable=-1), "spec.minAvailable in body should be greater than or equal to 0"),
    (JOBS, job(minSuccess=0), "spec.minSuccess in body should be greater than or equal to 1"),
    (JOBS, job(maxRetry=-1), "spec.maxRetry in body should be greater than or equal to 0"),
    (JOBS, job(ttlSecondsAfterFinished=-1), "spec.ttlSecondsAfterFinished in body should be"),
    (JOBS, job(minAvailable=2 ** 31), "spec.minAvailable"),
    (JOBS, job(queue="No"), "spec.queue in body should match"),
    (JOBS, job(queue="q" * 254), "spec.queue: Too long"),
    (JOBS, job(schedulerName="s" * 64), "spec.schedulerName: Too long"),
    (JOBS, job(tasks=[]), "spec.tasks in body should have at least 1 items"),
    (JOBS, job(task={"name": "a.b"}), "spec.tasks[0].name in body should match"),
    (JOBS, job(task={"name": "t" * 64}), "spec.tasks[0].name: Too long"),
    (JOBS, job(task={"replicas": -1}), "spec.tasks[0].replicas in body should be"),
    (JOBS, job(task={"topologyPolicy": "all"}), 'Unsupported value: "all"'),
    (JOBS, job(task={"partitionPolicy": {"partitionSize": 1}}), "totalPartitions: Required value"),
    (JOBS, job(policies=[{"action": "RestartJob", "event": "Never"}]), 'Unsupported value: "Never"'),
    (JOBS, job(volumes=[{"mountPath": ""}]), "spec.volumes[0].mountPath"),
    (JOBS, job(volumes=[{"mountPath": "/a:b"}]), "spec.volumes[0].mountPath in body should match"),
    (JOBS, job(volumes=[{}]), "spec.volumes[0].mountPath: Required value"),
    (JOBS, job(template={"containers": [CONTAINER, CONTAINER]}), "Duplicate value"),
    (JOBS, job(template={"containers": [{**CONTAINER, "env": [{"name": "A"}, {"name": "A"}]}]}),
     "Duplicate value"),
    (JOBS, job(task={"template": {"spec": {}}}), "template.spec.containers: Required value"),
    (JOBS, job(template={"containers": [{**CONTAINER, "resources": {"limits": {"cpu": "much"}}}]}),
     "resources.limits.cpu"),
    (GROUPS, group(minMember=-1), "spec.minMember in body should be"),
    (GROUPS, group(subGroupPolicy=[{"subGroupSize": 0}]), "subGroupSize in body should be"),
    (GROUPS, group(networkTopology={"mode": "soft", "highestTierAllowed": -1}), "highestTierAllowed"),
    (GROUPS, group(status={"phase": "Done"}), 'status.phase: Unsupported value: "Done"'),
    (QUEUES, queue(weight=0), "spec.weight in body should be greater than or equal to 1"),
    (QUEUES, queue(weight=65536), "spec.weight in body should be less than or equal to 65535"),
    (QUEUES, queue(dequeueStrategy="lifo"), 'Unsupported value: "lifo"'),
    (QUEUES, queue(parent="Up"), "spec.parent in body should match"),
    (COMMANDS, {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": {"name": "c"},
                "target": {"kind": "Job"}}, "target.uid: Required value"),
    (CRONJOBS, cronjob(schedule=None), "spec.schedule: Required value"),
    (CRONJOBS, cronjob(jobTemplate=None), "spec.jobTemplate: Required value"),
    (CRONJOBS, cronjob(concurrencyPolicy="Never"), 'Unsupported value: "Never"'),
    (CRONJOBS, cronjob(startingDeadlineSeconds=-1), "spec.startingDeadlineSeconds in body should be"),
    (CRONJOBS, cronjob(failedJobsHistoryLimit=-1), "spec.failedJobsHistoryLimit in body should be"),
    (CRONJOBS, cronjob(jobTemplate={"spec": {"tasks": []}}), "should have at least 1 items"),
    (TEMPLATES, template(minSuccess=0), "spec.minSuccess in body should be"),
    (FLOWS, flow({"name": ""}), "spec.flows[0].name"),
    (FLOWS, flow({}), "spec.flows[0].name: Required value"),
    (FLOWS, flow(jobRetainPolicy="keep"), 'Unsupported value: "keep"'),
    (FLOWS, flow({"name": "a", "patch": {"jobSpec": {"minAvailable": -1}}}), "patch.jobSpec.minAvailable"),
    (FLOWS, flow({"name": "a", "dependsOn": {"probe": {"tcpSocketList": [{"port": 65536}]}}}), "port in body"),
    (FLOWS, flow({"name": "a", "dependsOn": {"probe": {"tcpSocketList": [{}]}}}), "port: Required value"),
    (HYPERNODES, hypernode(), "spec.members in body should have at least 1 items"),
    (HYPERNODES, hypernode(member(exactMatch={"name": "a"}), tier=-1), "spec.tier in body should be"),
    (HYPERNODES, hypernode(member(exactMatch={"name": "a"}), tier=None), "spec.tier: Required value"),
    (HYPERNODES, hypernode({"type": "Rack"}), 'Unsupported value: "Rack"'),
    (HYPERNODES, hypernode({"selector": {"exactMatch": {"name": "a"}}}), "type: Required value"),
    (HYPERNODES, hypernode(member(exactMatch={"name": "No"})), "exactMatch.name in body should match"),
    (HYPERNODES, hypernode(member(regexMatch={"pattern": ""})), "regexMatch.pattern"),
    (HYPERNODES, hypernode(member()), "Either ExactMatch or RegexMatch or LabelMatch must be specified"),
    (HYPERNODES, hypernode(member(exactMatch={"name": "a"}, regexMatch={"pattern": "a"})),
     "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified"),
])
def test_invalid_values_are_refused(plane, path, body, message):
    with pytest.raises(ApiError) as refusal:
        dry(plane, path, body)
    assert refusal.value.code == 422
    assert message in json.loads(str(refusal.value).split(": ", 1)[1])["message"]


@pytest.mark.parametrize("path, body", [
    (JOBS, job(minAvailable=0, minSuccess=1, maxRetry=0, ttlSecondsAfterFinished=0)),
    (JOBS, job(minAvailable=2 ** 31 - 1)),
    (JOBS, job(queue="q" * 253, schedulerName="s" * 63)),
    (JOBS, job(task={"name": "t" * 63, "replicas": 0})),
    (JOBS, job(template={"containers": [{**CONTAINER, "resources": {"limits": {"cpu": "-1"}}}]})),
    (QUEUES, queue(weight=1)),
    (QUEUES, queue(weight=65535, capability={"cpu": 1, "memory": "1Gi"})),
    (GROUPS, group(status={"phase": "Inqueue"})),
    (COMMANDS, {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": {"name": "c"},
                "action": "Anything", "target": {"apiVersion": "v", "kind": "k", "name": "n", "uid": "u"}}),
    (CRONJOBS, cronjob(schedule="", timeZone="", startingDeadlineSeconds=0, failedJobsHistoryLimit=0)),
    (CRONJOBS, cronjob(jobTemplate={"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}})),
    (TEMPLATES, template(minAvailable=0)),
    (FLOWS, flow(jobRetainPolicy="retain")),
    (FLOWS, flow({"name": "a", "dependsOn": {"targets": ["b"], "probe": {
        "httpGetList": [{"taskName": "t", "path": "/", "port": 0, "httpHeader": {"name": "n", "value": "v"}}],
        "tcpSocketList": [{"taskName": "t", "port": 65535}],
        "taskStatusList": [{"taskName": "t", "phase": "p" * 63}]}}})),
    (HYPERNODES, hypernode(member(exactMatch={"name": "a" * 253}), member(regexMatch={"pattern": "a(b"}),
                           member(labelMatch={"matchLabels": {"a": "b"}}), {"type": "HyperNode"}, tier=0,
                           tierName="t" * 253)),
])
def test_values_at_the_limit_are_taken(plane, path, body):
    dry(plane, path, body)


def test_unknown_fields_are_dropped(plane):
    body = job(name="pruned", surprise=1, task={"template": {
        "metadata": {"generateName": "x"}, "spec": {"containers": [CONTAINER], "surprise": True}}})
    stored = plane.request("POST", f"{JOBS}?dryRun=All", body)
    assert "surprise" not in stored["spec"]
    assert stored["spec"]["tasks"][0]["template"] == {"metadata": {}, "spec": {"containers": [CONTAINER]}}


def test_columns_and_short_names(plane):
    plane.create(JOBS, job(name="shown", queue="research"))
    plane.request("PATCH", f"{JOBS}/shown/status", content_type="application/merge-patch+json",
                  body={"status": {"state": {"phase": "Running"}, "minAvailable": 1, "running": 2}})
    plane.create(GROUPS, group(name="shown", minMember=3, status={"phase": "Inqueue", "running": 1}))
    plane.create(QUEUES, queue(name="shown", parent="root"))

    def row(kind, *options):
        table = plane.kubectl("get", kind, "shown", *options).splitlines()
        return [line.split() for line in table]

    for kind in ("vcjob", "vj"):
        header, values = row(kind)
        assert header == ["NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE"]
        assert values[:4] == ["shown", "Running", "1", "2"]
    header, values = row("vcjob", "-o", "wide")
    assert header[-1] == "QUEUE" and values[-1] == "research"
    for kind in ("pg", "podgroup-v1beta1"):
        header, values = row(kind)
        assert header == ["NAME", "STATUS", "MINMEMBER", "RUNNINGS", "AGE"]
        assert values[:4] == ["shown", "Inqueue", "3", "1"]
    header, values = row("pg", "-o", "wide")
    assert header[-1] == "QUEUE" and values[-1] == "default"
    for kind in ("q", "queue-v1beta1"):
        assert row(kind) == [["NAME", "PARENT"], ["shown", "root"]]
    assert "shown" in plane.kubectl("get", "vcjob,podgroup,queue")


def test_columns_and_short_names_of_the_other_kinds(plane):
    plane.create(CRONJOBS, cronjob(name="shown"))
    plane.create(TEMPLATES, template(name="shown"))
    plane.create(FLOWS, flow({"name": "shown"}, name="shown"))
    plane.create(HYPERNODES, hypernode(member(exactMatch={"name": "a"}), name="shown", tierName="rack"))
    now = "2026-01-01T00:00:00Z"
    for path, status in (
            (CRONJOBS, {"active": [{"kind": "Job", "name": "j"}], "lastScheduleTime": now}),
            (TEMPLATES, {"jobDependsOnList": ["j"]}),
            (FLOWS, {"state": {"phase": "Running"}, "unKnowJobs": ["j"],
                     "conditions": {"j": {"phase": "Running", "createTime": now}}}),
            (HYPERNODES, {"nodeCount": 3, "conditions": [
                {"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": now}]})):
        stored = plane.request("PATCH", f"{path}/shown/status", {"status": status},
                               content_type="application/merge-patch+json")
        assert stored["status"] == status

    def row(kind):
        return [line.split() for line in plane.kubectl("get", kind, "shown").splitlines()]

    for kind in ("cronvcjob", "cronvj", "jt"):
        header, values = row(kind)
        assert header == ["NAME", "AGE"] and values[0] == "shown"
    header, values = row("jf")
    assert header == ["NAME", "STATUS", "AGE"] and values[:2] == ["shown", "Running"]
    header, values = row("hn")
    assert header == ["NAME", "TIER", "TIERNAME", "NODECOUNT", "AGE"]
    assert values[:4] == ["shown", "1", "rack", "3"]


def test_subresources(plane):
    """A Job and a Queue have /status; a PodGroup has none, its status is written with the object."""
    created = plane.request("POST", JOBS, {**job(name="split"), "status": {"running": 5}})
    assert "status" not in created
    status = plane.request("PATCH", f"{JOBS}/split/status", {"status": {"running": 1}, "spec": {"maxRetry": 9}},
                           content_type="application/merge-patch+json")
    assert status["status"] == {"running": 1} and status["spec"]["maxRetry"] == 3
    created = plane.request("POST", GROUPS, group(name="joined", status={"phase": "Inqueue"}))
    assert created["status"] == {"phase": "Inqueue"}
    with pytest.raises(ApiError) as missing:
        plane.request("GET", f"{GROUPS}/joined/status")
    assert missing.value.code == 404
    plane.create(QUEUES, queue(name="split"))
    status = plane.request("PATCH", f"{QUEUES}/split/status", {"status": {"state": "Open"}},
                           content_type="application/merge-patch+json")
    assert status["status"] == {"state": "Open"}


def test_examples_fit_the_schema(plane):
    paths = {"Queue": QUEUES, "Job": JOBS, "ConfigMap": "/api/v1/namespaces/default/configmaps",
             "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses"}
    for path in sorted((ROOT / "manifests/examples").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            dry(plane, paths[document["kind"]], document)
