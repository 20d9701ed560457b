"""The control plane itself: what the other tests rely on."""

import socket
import ssl

import kubernetes
import pytest
from kubernetes.client.exceptions import ApiException

from harness.api import Api
from harness.objects import pod
from harness.wait import wait_until


def test_server_is_the_pinned_version(api):
    version = kubernetes.client.VersionApi(api.client).get_code()
    assert version.git_version == "v1.36.3"


def test_nodes_are_ready_and_free_of_taints(api):
    nodes = api.core.list_node().items
    assert len(nodes) >= 10
    for node in nodes:
        ready = [c.status for c in node.status.conditions if c.type == "Ready"]
        assert ready == ["True"], node.metadata.name
        assert not node.spec.taints, node.metadata.name
        assert node.status.allocatable["cpu"] == "32"


def test_certificates_pass_a_strict_verifier(controlplane):
    context = ssl.create_default_context(cafile=str(controlplane.pki.ca))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_cert_chain(controlplane.pki.crt("admin"), controlplane.pki.key("admin"))
    address = ("127.0.0.1", controlplane.ports["kube-apiserver"])
    with socket.create_connection(address) as plain, \
            context.wrap_socket(plain, server_hostname="localhost") as secure:
        assert secure.version() == "TLSv1.3"


def phase_of(api, ns, name):
    return api.core.read_namespaced_pod(name, ns).status.phase


def test_bound_pod_runs(api, ns):
    api.create_pod(ns, pod("forever"))
    assert phase_of(api, ns, "forever") == "Pending"
    api.bind(ns, "forever", "node-0000")
    wait_until(lambda: phase_of(api, ns, "forever") == "Running", 20, "pod forever runs")
    assert api.core.read_namespaced_pod("forever", ns).status.pod_ip


@pytest.mark.parametrize("script, phase, code", [
    ("sleep 1", "Succeeded", 0), ("sleep 1; exit 3", "Failed", 3), ("sleep 1; xyz", "Failed", 127)])
def test_script_decides_how_a_pod_ends(api, ns, script, phase, code):
    api.create_pod(ns, pod("script", script=script))
    api.bind(ns, "script", "node-0001")
    wait_until(lambda: phase_of(api, ns, "script") == phase, 20, f"pod {phase}")
    status = api.core.read_namespaced_pod("script", ns).status.container_statuses[0]
    assert status.state.terminated.exit_code == code


def test_deleted_pod_goes_after_a_grace_period(api, ns):
    api.create_pod(ns, pod("going"))
    api.bind(ns, "going", "node-0002")
    wait_until(lambda: phase_of(api, ns, "going") == "Running", 20, "pod going runs")
    api.core.delete_namespaced_pod("going", ns)
    assert api.core.read_namespaced_pod("going", ns).metadata.deletion_timestamp
    wait_until(lambda: not api.pods(ns), 20, "pod going is gone")


def configmap(name, owner=None):
    metadata = {"name": name}
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap",
                                        "name": owner.metadata.name, "uid": owner.metadata.uid}]
    return {"metadata": metadata, "data": {"key": name}}


def test_garbage_collector_deletes_what_a_deleted_object_owned(api, ns):
    owner = api.core.create_namespaced_config_map(ns, configmap("owner"))
    api.core.create_namespaced_config_map(ns, configmap("owned", owner))
    api.core.create_namespaced_config_map(ns, configmap("free"))
    api.core.delete_namespaced_config_map("owner", ns)

    def left():
        return {c.metadata.name for c in api.core.list_namespaced_config_map(ns).items}
    wait_until(lambda: "owned" not in left(), 30, "config map owned is collected")
    assert "free" in left()


def test_quota_is_counted_and_enforced(api, ns):
    api.core.create_namespaced_resource_quota(
        ns, {"metadata": {"name": "two"}, "spec": {"hard": {"pods": "2"}}})

    def used():
        status = api.core.read_namespaced_resource_quota("two", ns).status
        return (status.used or {}).get("pods")
    wait_until(lambda: used() == "0", 30, "quota two has a status")
    for name in ("first", "second"):
        api.create_pod(ns, pod(name))
    with pytest.raises(ApiException) as refusal:
        api.create_pod(ns, pod("third"))
    assert refusal.value.status == 403
    assert "exceeded quota: two" in refusal.value.body


def test_deleted_namespace_is_emptied(api, ns):
    name = api.make_namespace(f"{ns[:50]}-2")
    api.core.create_namespaced_config_map(name, configmap("inside"))
    api.core.delete_namespace(name)

    def gone():
        return name not in {n.metadata.name for n in api.core.list_namespace().items}
    wait_until(gone, 60, f"namespace {name} is gone")


@pytest.mark.parametrize("kill", [False, True])
def test_data_survive_a_restart_of_the_api_server(api, controlplane, ns, kill):
    api.core.create_namespaced_config_map(ns, configmap("kept"))
    server = controlplane.server
    controlplane.stop_apiserver(kill=kill)
    assert not controlplane.ready()
    controlplane.start_apiserver()
    assert controlplane.server == server
    kept = wait_until(lambda: api.core.read_namespaced_config_map("kept", ns), 20, "config map read")
    assert kept.data == {"key": "kept"}
    api.create_pod(ns, pod("after"))
    api.bind(ns, "after", "node-0003")
    wait_until(lambda: phase_of(api, ns, "after") == "Running", 40, "pods run after the restart")


def test_node_is_added_and_tainted(api, more_nodes):
    name, = more_nodes(1, cpu="4", prefix="special", labels={"zone": "a"},
                       extended={"example.com/gpu": "2"},
                       taints=[{"key": "special", "value": "yes", "effect": "NoSchedule"}])
    node = api.core.read_node(name)
    assert node.metadata.labels["zone"] == "a"
    assert node.status.allocatable["example.com/gpu"] == "2"
    assert [taint.key for taint in node.spec.taints] == ["special"]


def test_audit_log_has_writes_only(api, controlplane, ns):
    api.core.create_namespaced_config_map(ns, configmap("audited"))
    api.core.list_namespaced_config_map(ns)

    def records():
        return [record for record in controlplane.audit_records()
                if record["objectRef"].get("namespace") == ns
                and record["user"]["username"] == "admin"]
    found = wait_until(lambda: [r for r in records() if r["objectRef"]["resource"] == "configmaps"],
                       10, "the write is in the audit log")
    assert [(r["verb"], r["objectRef"]["name"], r["responseStatus"]["code"]) for r in found] == [
        ("create", "audited", 201)]


@pytest.mark.parametrize("user", ["pumice-scheduler", "pumice-controllers", "pumice-admission"])
def test_our_kubeconfigs_carry_our_rights_alone(controlplane, ns, user):
    limited = Api(controlplane, user)
    try:
        listed = limited.custom.list_cluster_custom_object("scheduling.volcano.sh", "v1beta1",
                                                           "queues")
        assert "items" in listed
        with pytest.raises(ApiException) as refusal:
            limited.core.delete_namespace(ns)
        assert refusal.value.status == 403
        with pytest.raises(ApiException) as refusal:
            limited.core.list_secret_for_all_namespaces()
        assert refusal.value.status == 403
    finally:
        limited.close()


def test_service_account_token_has_the_rights_of_the_certificate(controlplane):
    token = controlplane.token("volcano-scheduler", ttl=600)
    configuration = kubernetes.client.Configuration(host=controlplane.server)
    configuration.ssl_ca_cert = str(controlplane.pki.ca)
    configuration.api_key = {"authorization": f"Bearer {token}"}
    with kubernetes.client.ApiClient(configuration) as client:
        core = kubernetes.client.CoreV1Api(client)
        assert len(core.list_node().items) >= 10
        with pytest.raises(ApiException) as refusal:
            core.delete_namespace("default")
        assert refusal.value.status == 403
        assert "system:serviceaccount:volcano-system:volcano-scheduler" in refusal.value.body
