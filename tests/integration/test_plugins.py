"""Job plugins and volumes of jobs: what they make is taken by the API server, in time, and goes again."""

import base64

import kubernetes
import pytest
from kubernetes.client.exceptions import ApiException

from harness.objects import job, task, volume
from harness.wait import stays, wait_until

EVERYTHING = {"env": [], "svc": ["--publish-not-ready-addresses=true"], "ssh": [], "tensorflow": [], "mpi": [],
              "pytorch": ["--wait-master-enabled=true"], "ray": ["--head=master", "--headContainer=main"], "hcclrank": []}


def read(read_function, name, namespace):
    """The object, or None."""
    try:
        return read_function(name, namespace)
    except ApiException as error:
        if error.status != 404:
            raise
        return None


def objects_of(api, ns, name):
    """What plugins made for the job, by kind; those that are not there are left out."""
    networking = kubernetes.client.NetworkingV1Api(api.client)
    found = {"configmap": read(api.core.read_namespaced_config_map, f"{name}-svc", ns),
             "service": read(api.core.read_namespaced_service, name, ns),
             "head": read(api.core.read_namespaced_service, f"{name}-head-svc", ns),
             "secret": read(api.core.read_namespaced_secret, f"{name}-ssh", ns),
             "policy": read(networking.read_namespaced_network_policy, name, ns)}
    return {kind: one for kind, one in found.items() if one}


def test_a_job_with_every_plugin(api, ns, pumice):
    made = job("all", [task("master"), task("worker", 2)], plugins=EVERYTHING)
    api.create_job(ns, made)
    api.wait_phase(ns, "all", "Running", timeout=60)
    uid = api.job(ns, "all")["metadata"]["uid"]
    objects = objects_of(api, ns, "all")
    assert set(objects) == {"configmap", "service", "head", "secret", "policy"}
    for one in objects.values():
        owner, = one.metadata.owner_references
        assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Job", "all", uid, True)
    pods = {pod["metadata"]["name"]: pod for pod in api.pods_of(ns, "all")}
    first = min(pod["metadata"]["creationTimestamp"] for pod in pods.values())
    assert all(one.metadata.creation_timestamp.strftime("%Y-%m-%dT%H:%M:%SZ") <= first for one in objects.values())
    container = pods["all-worker-1"]["spec"]["containers"][0]
    env = {one["name"]: one.get("value") for one in container["env"]}
    assert (env["VC_TASK_INDEX"], env["RANK"], env["MASTER_ADDR"]) == ("1", "2", "all-master-0.all")
    assert env["TF_CONFIG"].endswith('"task":{"type":"worker","index":1}}')
    assert {one["mountPath"] for one in container["volumeMounts"]} >= {"/etc/volcano", "/root/.ssh"}
    assert pods["all-worker-1"]["spec"]["hostname"] == "all-worker-1"
    assert pods["all-worker-1"]["metadata"]["annotations"]["hccl/rankIndex"] == "2"
    assert pods["all-worker-1"]["spec"]["initContainers"][0]["name"] == "wait-for-master"
    key = base64.b64decode(objects["secret"].data["id_rsa"]).decode()
    assert key.startswith("-----BEGIN RSA PRIVATE KEY-----")
    notes = api.job(ns, "all")["status"]["controlledResources"]
    assert {f"plugin-{name}" for name in EVERYTHING} - {"plugin-hcclrank"} <= set(notes)


def test_hosts_follow_scaling_and_keys_stay(api, ns, pumice):
    api.create_job(ns, job("grow", [task("w", 2)], minimum=1, plugins={"svc": [], "ssh": []}))
    api.wait_phase(ns, "grow", "Running", timeout=60)
    secret = objects_of(api, ns, "grow")["secret"].metadata.resource_version
    for replicas in (4, 1, 3):
        api.scale_job(ns, "grow", replicas, minimum=1)
        wait_until(lambda: len([pod for pod in api.pods_of(ns, "grow")
                                if not pod["metadata"].get("deletionTimestamp")]) == replicas, 30,
                   lambda: f"{replicas} pods; {api.why(ns, 'grow')}")
        hosts = objects_of(api, ns, "grow")["configmap"].data["w.host"].split("\n")
        assert hosts == [f"grow-w-{index}.grow" for index in range(replicas)]
    assert objects_of(api, ns, "grow")["secret"].metadata.resource_version == secret


def test_objects_go_when_the_job_has_ended(api, ns, pumice):
    api.create_job(ns, job("short", [task("w", 2, script="exit 0")], plugins={"svc": [], "ssh": [], "env": []}))
    api.wait_phase(ns, "short", "Completed", timeout=60)
    wait_until(lambda: not objects_of(api, ns, "short"), 30, "the objects of the plugins to go")

    def notes():
        return api.job(ns, "short")["status"].get("controlledResources", {})
    wait_until(lambda: not [key for key in notes() if key.startswith("plugin-")], 10, lambda: f"no notes: {notes()}")
    ended = api.job(ns, "short")["metadata"]["resourceVersion"]
    stays(lambda: api.job(ns, "short")["metadata"]["resourceVersion"] == ended, 3, "a finished job is left alone")


def test_an_object_of_somebody_else_is_left_alone(api, ns, pumice):
    api.core.create_namespaced_config_map(ns, {"metadata": {"name": "mine-svc"}, "data": {"a": "b"}})
    api.create_job(ns, job("mine", [task("w")], plugins={"svc": []}))
    wait_until(lambda: "ConfigMap mine-svc exists" in api.why(ns, "mine"), 30, lambda: api.why(ns, "mine"))
    assert api.pods_of(ns, "mine") == []
    assert api.core.read_namespaced_config_map("mine-svc", ns).data == {"a": "b"}
    api.core.delete_namespaced_config_map("mine-svc", ns)
    api.wait_phase(ns, "mine", "Running", timeout=90)


def test_volumes_of_a_job(api, ns, pumice):
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    api.create_job(ns, job("vol", [task("w", 2)], volumes=[
        {"mountPath": "/data", "volumeClaimName": "data"}, {"mountPath": "/out", "volumeClaim": claim}]))
    wait_until(lambda: "PersistentVolumeClaim data is not found" in api.why(ns, "vol"), 30, lambda: api.why(ns, "vol"))
    assert api.phase(ns, "vol") == "Pending" and api.pods_of(ns, "vol") == []
    api.core.create_namespaced_persistent_volume_claim(ns, {"metadata": {"name": "data"}, "spec": claim})
    for name in (f"{ns}-0", f"{ns}-1"):  # so that the claims are bound, and the pods can be placed
        api.core.create_persistent_volume(volume(name))
    api.wait_phase(ns, "vol", "Running", timeout=90)
    made, = [one for one in api.core.list_namespaced_persistent_volume_claim(ns).items if one.metadata.name != "data"]
    assert made.metadata.name.startswith("vol-pvc-") and len(made.metadata.name) == len("vol-pvc-") + 12
    assert made.metadata.owner_references[0].name == "vol"
    for pod in api.pods_of(ns, "vol"):
        claims = {one["name"]: one["persistentVolumeClaim"]["claimName"]
                  for one in pod["spec"]["volumes"] if "persistentVolumeClaim" in one}
        mounts = {one["mountPath"]: claims[one["name"]]
                  for one in pod["spec"]["containers"][0]["volumeMounts"] if one["name"] in claims}
        assert mounts == {"/data": "data", "/out": made.metadata.name}
    notes = api.job(ns, "vol")["status"]["controlledResources"]
    assert notes["volume-pvc-data"] == "data" and notes[f"volume-pvc-{made.metadata.name}"] == made.metadata.name


@pytest.mark.parametrize("plugins", [{"ray": ["--head=boss"]}])
def test_a_plugin_that_can_never_work_ends_the_job(api, ns, pumice, plugins):
    api.create_job(ns, job("never", [task("w")], plugins=plugins))
    ended = api.wait_phase(ns, "never", "Failed", timeout=30)
    assert "boss" in ended["status"]["state"]["message"]
