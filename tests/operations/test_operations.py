"""Pumice as its users run it, from the first kubectl apply to the last kubectl delete.

The tests follow one another: each goes on with the installation that the one before left, so run the whole file.
"""

import json
from pathlib import Path

import pytest
from cluster import ApiError
from harness.wait import wait_until

from kubelet import ROOT, rights, work
from kubelet.cluster import (APPS, CRDS, INSTALL, KWOK_LABEL, NODES, SYSTEM, deployments, drain_seconds,
                             installed, next_version)
from kubelet.load import Load

GANG = ROOT / "manifests" / "examples" / "gang.yaml"
EXTRA = ROOT / "manifests" / "extra" / "pods-mutate.yaml"
GROUPS = """\
resourceGroups:
- resourceGroup: work
  object: {{key: namespace, value: [{ns}]}}
  labels: {{type: kwok}}
"""
REASONS = Path(__file__).with_name("rights-unused.yaml")


def judge(load):
    """No job lost, no pod twice, no call refused for longer than it may be."""
    load.wait_done()
    assert not load.faults(), load.faults()
    assert not load.errors(), load.errors()
    refusals = load.refusals()
    print(f"{len(load.names)} jobs, {len(load.calls)} calls, the longest took {max(c[1] for c in load.calls):.2f} s, "
          f"refused for {[round(seconds, 2) for _, seconds in refusals]} s")
    assert all(seconds <= drain_seconds() for _, seconds in refusals), refusals


def with_path(path):
    """The argument of the installed webhook that says what it serves, and one path more."""
    argument, = (word for found in deployments() if found["metadata"]["name"] == "volcano-admission"
                 for word in found["spec"]["template"]["spec"]["containers"][0]["args"][:1])
    assert argument.startswith("--enabled-admission=")
    return f"{argument},{path}"


def test_install_and_run_a_gang(cluster, ns):
    cluster.install()
    cluster.plane.kubectl("apply", "-n", ns, "-f", GANG)
    cluster.api.wait_phase(ns, "gang", "Completed")
    assert len(cluster.api.pods_of(ns, "gang")) == 4


def test_services_lead_to_the_replicas_that_are_ready(cluster):
    """What users see of it: as many endpoints as replicas, under the addresses of the pods."""
    for service, app in (("volcano-admission-service", "volcano-admission"),
                         ("volcano-scheduler-service", "volcano-scheduler"),
                         ("volcano-controllers-service", "volcano-controller")):
        def addresses():
            found = cluster.plane.request("GET", f"/api/v1/namespaces/{SYSTEM}/endpoints/{service}")
            return {one["ip"] for subset in found.get("subsets", []) for one in subset.get("addresses", [])}
        wanted = {pod.network.address for pod in cluster.node.running(app)}
        assert wanted
        wait_until(lambda: addresses() == wanted, 10, lambda: f"{service} to lead to {wanted}, not {addresses()}")


def test_applying_twice_changes_nothing(cluster):
    before = cluster.versions(CRDS, INSTALL)
    pods = {pod.uid for pod in cluster.node.running()}
    cluster.apply(CRDS, INSTALL)
    after = cluster.versions(CRDS, INSTALL)
    # A Deployment's status may change by itself, which counts in its version.
    assert {key: version[1] for key, version in after.items()} == {key: version[1] for key, version in before.items()}
    assert [key for key, version in after.items() if version != before[key]] == []
    assert {pod.uid for pod in cluster.node.running()} == pods


def test_pods_pass_pod_security_restricted(cluster):
    """Each template as the API server judges it; and from here on the namespace lets in no other pod."""
    cluster.plane.kubectl("label", "namespace", SYSTEM, "pod-security.kubernetes.io/enforce=restricted")
    pods = f"/api/v1/namespaces/{SYSTEM}/pods?dryRun=All&fieldValidation=Strict"
    for deployment in deployments():
        spec = deployment["spec"]["template"]["spec"]
        cluster.plane.request("POST", pods, {"metadata": {"name": deployment["metadata"]["name"]}, "spec": spec})
        with pytest.raises(ApiError) as refused:
            cluster.plane.request("POST", pods, {"metadata": {"name": "loose"}, "spec": {**spec, "hostNetwork": True}})
        assert refused.value.code == 403 and "restricted" in str(refused.value)


def test_work_of_all_kinds(cluster, ns):
    """What the rights are for is done with the rights there are."""
    work.examples(cluster.plane, cluster.api, ns)


def test_orders_of_users(cluster, ns):
    cluster.plane.kubectl("apply", "-f", "-", input="""
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: ordered}
spec: {weight: 1}
""")
    work.orders(cluster.api, ns, "ordered")
    work.plain_pods(cluster.api, ns)
    cluster.api.delete_queue("ordered")


def test_volumes(cluster, ns):
    work.volumes(cluster.api, ns, "node-0000")
    work.provisioned(cluster.api, ns)


def test_names_that_others_have_taken(cluster, ns):
    work.names_taken(cluster.api, ns)


def test_a_changed_configuration_is_read_without_a_restart(cluster, ns):
    """With its actions jobs are evicted, which the one that was installed never does."""
    pods = {pod.uid for pod in cluster.node.running()}
    name = f"/api/v1/namespaces/{SYSTEM}/configmaps/volcano-scheduler-configmap"
    cluster.plane.request("PATCH", name, {"data": {"volcano-scheduler.conf": work.EVICTING}},
                          content_type="application/merge-patch+json")
    work.evictions(cluster.api, ns, NODES, cpu="30")
    assert {pod.uid for pod in cluster.node.running()} == pods
    cluster.apply(INSTALL)


def test_the_registration_that_is_an_extra(cluster, ns):
    """As its file says: then pods get what the configuration says for their group."""
    cluster.plane.kubectl("patch", "deploy", "volcano-admission", "-n", SYSTEM, "--type=json", "-p", json.dumps([
        {"op": "replace", "path": "/spec/template/spec/containers/0/args/0", "value": with_path("/pods/mutate")}]))
    config = f"/api/v1/namespaces/{SYSTEM}/configmaps/volcano-admission-configmap"
    cluster.plane.request("PATCH", config, {"data": {"volcano-admission.conf": GROUPS.format(ns=ns)}},
                          content_type="application/merge-patch+json")
    cluster.wait_available()
    cluster.apply(EXTRA)
    cluster.api.create_job(ns, work.short_job("grouped"))
    cluster.api.wait_phase(ns, "grouped", "Completed")
    assert all(pod["spec"]["nodeSelector"] == KWOK_LABEL for pod in cluster.api.pods_of(ns, "grouped"))
    cluster.plane.kubectl("delete", "-f", EXTRA)
    cluster.apply(INSTALL)
    cluster.wait_available()


@pytest.mark.parametrize("name", APPS)
def test_scaling_under_load(cluster, ns, name):
    """1 → 3 → 1; and with three, the one that leads is deleted."""
    cluster.scale(name, 1)
    with Load(cluster.api, ns) as load:
        cluster.scale(name, 3)
        victim = cluster.leader(name) or cluster.node.running(APPS[name])[0]
        cluster.plane.kubectl("delete", "pod", victim.name, "-n", SYSTEM, "--wait=false")
        wait_until(lambda: victim not in cluster.node.running(), 60, f"pod {victim.name} to be gone")
        cluster.wait_rollout(name)
        cluster.scale(name, 1)
    judge(load)
    cluster.apply(INSTALL)
    cluster.wait_available()


def test_upgrade_under_load(cluster, ns, tmp_path):
    """To a version with another tag and other arguments. PUMICE_NEXT_BIN names its build folder."""
    changed = next_version(cluster, tmp_path / "install.yaml")
    before = {pod.uid for pod in cluster.node.running()}
    for path in (changed, INSTALL):
        with Load(cluster.api, ns) as load:
            cluster.apply(path)
            cluster.wait_available()
        judge(load)
        now = {pod.uid for pod in cluster.node.running()}
        assert not now & before
        before = now


def test_controllers_that_share_the_jobs(cluster, ns):
    """--shards with the rights that are installed, and back."""
    name = "volcano-controllers"
    cluster.plane.kubectl("patch", "deploy", name, "-n", SYSTEM, "--type=json", "-p", json.dumps([
        {"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--shards=true"}]))
    cluster.wait_rollout(name)
    cluster.scale(name, 2)
    cluster.api.create_job(ns, work.short_job("shared"))
    cluster.api.wait_phase(ns, "shared", "Completed")
    cluster.scale(name, 1)
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases"
    wait_until(lambda: len([one for one in cluster.plane.request("GET", leases)["items"]
                            if one["metadata"]["name"].startswith("vc-controller-manager-")]) == 1, 60,
               "the Leases of no more use to be deleted")
    cluster.apply(INSTALL)
    cluster.wait_available()


def test_uninstalling_loses_no_job(cluster, ns):
    """Jobs go on as far as their pods do, nobody's calls wait for a webhook that is gone, and an installation later
    goes on with what is there."""
    work.long_job(cluster.api, ns)
    before = work.uids(cluster.api, ns)
    cluster.uninstall()
    assert cluster.node.running() == []
    assert cluster.registrations() == set()
    assert work.uids(cluster.api, ns) == before
    # Nothing stands in the way of users.
    cluster.api.create_job(ns, work.short_job("late"))
    cluster.install()
    cluster.api.wait_phase(ns, "late", "Completed")
    cluster.api.wait_phase(ns, "long", "Completed")
    assert before.items() <= work.uids(cluster.api, ns).items()
    cluster.uninstall()
    assert cluster.registrations() == set()


def test_rights_are_those_that_are_used(cluster):
    """Last: the log of all tests above. What is granted and was never used has to have a reason in a list."""
    granted = rights.granted(installed())
    seen = list(rights.calls(cluster.plane.audit_records()))
    # While an uninstallation goes on rights go before those who had them.
    refused = sorted({f"{call.account}: {call}" for call, code, at in seen if code == 403 and
                      not any(begin <= at <= end for begin, end in cluster.uninstalled)})
    assert not refused, refused
    done = {call for call, _, _ in seen}
    beside = sorted({f"{call.account}: {call}" for call in done if not any(right.covers(call) for right in granted)})
    assert not beside, beside
    unused = {f"{right.account}: {right}" for right in granted - rights.used(granted, done)}
    reasons = rights.reasons(REASONS)
    assert unused <= reasons.keys(), sorted(unused - reasons.keys())
    known = {f"{right.account}: {right}" for right in granted}
    assert reasons.keys() <= known, f"reasons for what is not granted: {sorted(reasons.keys() - known)}"
