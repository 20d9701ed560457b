"""From Volcano to Pumice and back, with the commands of docs/upgrade-from-volcano.md: jobs are taken over as they are.

The control plane is this module's own, since its installation is replaced. Pods of Deployments do not run here; our
binaries are processes.
"""

import json
import os
import re
import subprocess
import time

import pytest
import yaml

from cluster import ApiError, ControlPlane
from harness import ROOT
from harness.api import JOBS, Api, kind_of
from harness.pumice import Pumice
from harness.volcano import PATHS, SYSTEM, Jobs, definitions, deployment, installation
from harness.wait import stays, wait_until

DOC = ROOT / "docs/upgrade-from-volcano.md"
NS = "team"
# Commands that wait for pods of Deployments, or read their logs.
NEEDS_PODS = ("--for=condition=Available", " logs ")
COMMANDS = ("bus.volcano.sh", "v1alpha1", "commands")
OURS = [f"/api/v1/namespaces/{SYSTEM}/{path}" for path in (
    "serviceaccounts/volcano-scheduler", "configmaps/volcano-scheduler-configmap",
    "services/volcano-admission-service")]
OURS += [f"/apis/rbac.authorization.k8s.io/v1/{path}" for path in (
    "clusterroles/volcano-controllers-ssh", "clusterrolebindings/volcano-scheduler-role",
    f"namespaces/{SYSTEM}/rolebindings/volcano-admission")]
HOOKS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"


def commands(section):
    """The commands of a section of the page, in order, without those that need pods."""
    text = re.search(rf"^## {section}$(.*?)(?=^## |\Z)", DOC.read_text(), re.M | re.S)[1]
    lines, joined = re.findall(r"^ {4,}(\S.*)$", text, re.M), []
    for line in lines:
        if joined and joined[-1].endswith("\\"):
            joined[-1] = joined[-1][:-1] + line
        elif line.startswith("kubectl "):
            joined.append(line)
    return [line for line in joined if not any(word in line for word in NEEDS_PODS)]


def unanswered(plane):
    """The registrations that refuse what they are asked about, since the Deployment of the webhook has no pods."""
    deployments = plane.request("GET", f"/apis/apps/v1/namespaces/{SYSTEM}/deployments")["items"]
    if any(one["metadata"]["name"] == "volcano-admission" and one["spec"]["replicas"] for one in deployments):
        return []
    return [one["metadata"]["name"] for kind in ("mutating", "validating")
            for one in plane.request("GET", HOOKS.format(kind))["items"]
            if any(hook["failurePolicy"] == "Fail" for hook in one["webhooks"])]


def run(plane, lines):
    """Nothing is refused between any two of them."""
    for line in lines:
        done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, check=False, timeout=180,
                              env={**os.environ, **plane.env()})
        assert done.returncode == 0, f"{line}: {done.stderr}"
        assert not unanswered(plane), f"after {line}"


def applied(plane, objects):
    plane.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": objects}))


class Cluster:
    """A cluster with jobs that Volcano has made, in all the states that matter."""

    def __init__(self, plane):
        self.plane = plane
        self.api = Api(plane)
        self.jobs = Jobs(self.api, NS)
        self.api.core.create_namespace({"metadata": {"name": NS}})
        for name in ("root", "default"):
            self.api.create_queue({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
                                   "metadata": {"name": name}, "spec": {"weight": 1, "reclaimable": name != "root"}})
        wait_until(self._has_account, 30, "the namespace to have its account")
        self.nodes = plane.add_nodes(3, cpu="4")
        self.make_jobs()

    def _has_account(self):
        return any(one.metadata.name == "default" for one in self.api.core.list_namespaced_service_account(NS).items)

    def make_jobs(self):
        jobs = self.jobs
        running = jobs.make("running", plugins={"svc": [], "env": []})
        jobs.svc_objects(running)
        for pod, node in zip(jobs.pods(running, jobs.group(running, "Running", running=2)), self.nodes):
            jobs.bind(pod, node)
        jobs.status(running, "Running", running=2, controlledResources={"plugin-svc": "svc", "plugin-env": "env"},
                    taskStatusCount={"w": {"phase": {"Running": 2}}})
        ending = jobs.make("ending", script="sleep 20")
        for pod, node in zip(jobs.pods(ending, jobs.group(ending, "Running", running=2)), self.nodes):
            jobs.bind(pod, node)
        jobs.status(ending, "Running", running=2, taskStatusCount={"w": {"phase": {"Running": 2}}})
        waiting = jobs.make("waiting")
        jobs.pods(waiting, jobs.group(waiting, "Inqueue"))
        jobs.status(waiting, "Pending", pending=2, taskStatusCount={"w": {"phase": {"Pending": 2}}})
        fresh = jobs.make("fresh")
        jobs.group(fresh, "Pending")
        jobs.status(fresh, "Pending")
        jobs.make("unseen")
        done = jobs.make("done")
        jobs.status(done, "Completed", version=1, runningDuration="1m3.5s")
        aborted = jobs.make("aborted")
        jobs.status(aborted, "Aborted", version=1)
        wait_until(lambda: self.phases("running", "ending") == {"Running"}, 60, "the pods to run")

    def phases(self, *names):
        return {pod["status"]["phase"] for name in names for pod in self.api.pods_of(NS, name)}

    def uids(self, *names):
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for name in names
                for pod in self.api.pods_of(NS, name)}

    def phase(self, name):
        return self.api.job(NS, name).get("status", {}).get("state", {}).get("phase")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    plane = ControlPlane(tmp_path_factory.mktemp("volcano"), audit=True, tied=True).start()
    try:
        crds = [o for o in yaml.safe_load_all((ROOT / "manifests/crds.yaml").read_text()) if o]
        applied(plane, definitions(crds))
        plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
        plane.start_kwok()
        made = Cluster(plane)
        applied(plane, installation())
        wait_until(lambda: len(made.api.pods(SYSTEM)) == 3, 30, "the pods of its Deployments")
        yield made
        made.api.close()
    finally:
        plane.stop()


@pytest.fixture(scope="module")
def moved(cluster):
    """The cluster after the commands of the page, before anything of ours runs."""
    before = cluster.uids("running", "ending", "waiting")
    run(cluster.plane, commands("Over"))
    assert cluster.uids("running", "ending", "waiting") == before
    return cluster


@pytest.fixture(scope="module")
def pumice(moved):
    """Our binaries, after the cluster was moved. Nobody reaches a Service here: the webhook goes by its URL."""
    product = Pumice(moved.plane, tied=True)
    product.register_webhooks()
    before = moved.uids("running", "ending", "waiting")
    product.start()
    product.before = before
    yield product
    complaints = product.stop()
    assert not complaints, "; ".join(complaints)


def test_the_page_has_the_commands():
    over, back = " ".join(commands("Over")), " ".join(commands("Back"))
    for text in (over, back):
        for word in ("scale", "wait --for=delete", "delete deploy", "delete --ignore-not-found mutating"):
            assert word in text
    assert "apply -f manifests/crds.yaml -f manifests/install.yaml" in over


def test_nothing_of_the_installation_before_is_left(moved):
    for part in ("scheduler", "controllers", "admission"):
        spec = moved.plane.request("GET", f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/volcano-{part}")["spec"]
        text = json.dumps(spec)
        assert "pumice/pumice-" in text
        for word in ("volcanosh", "klog-sock", "DAC_OVERRIDE", "seLinuxOptions", "rollme"):
            assert word not in text
        role = moved.plane.request("GET", f"/apis/rbac.authorization.k8s.io/v1/clusterroles/volcano-{part}")
        assert not any("*" in rule["verbs"] for rule in role["rules"])
    for kind in ("mutating", "validating"):
        for one in moved.plane.request("GET", HOOKS.format(kind))["items"]:
            assert len(one["webhooks"]) == 1 and "caBundle" not in one["webhooks"][0]["clientConfig"]
    crd = moved.plane.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/jobs.batch.volcano.sh")
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["spec"]["properties"]["tasks"]["items"]["properties"]["template"]
    with pytest.raises(ApiError) as gone:
        moved.plane.request("GET", f"/api/v1/namespaces/{SYSTEM}/secrets/volcano-admission-secret")
    assert gone.value.code == 404


def test_what_runs_goes_on_untouched(moved, pumice):
    before = {name: uid for name, uid in pumice.before.items() if not name.startswith("ending")}
    stays(lambda: moved.uids("running", "waiting") == before, 8, lambda: f"pods were {before}, now "
          f"{moved.uids('running', 'waiting')}")
    assert moved.phase("running") == "Running"
    written = [(r["verb"], r["objectRef"]["name"]) for r in moved.plane.audit_records()
               if r["objectRef"].get("resource") in ("pods", "configmaps", "services") and "subresource" not in
               r["objectRef"] and r["verb"] in ("create", "delete", "update", "patch")
               and r["user"]["username"].startswith("system:serviceaccount:volcano-system:")
               and r["objectRef"].get("name", "").startswith("running")]
    # The list of hosts is brought to our form, once; whoever reads it finds the same names.
    assert [one for one in written if one != ("patch", "running-svc")] == []
    hosts = moved.api.core.read_namespaced_config_map("running-svc", NS).data["w.host"]
    assert hosts == "running-w-0.running\nrunning-w-1.running"


def test_what_waited_starts_with_the_pods_that_it_had(moved, pumice):
    moved.api.wait_phase(NS, "waiting", "Running")
    assert moved.uids("waiting") == {name: uid for name, uid in pumice.before.items() if name.startswith("waiting")}


@pytest.mark.parametrize("name", ["fresh", "unseen"])
def test_what_had_no_pods_gets_them(moved, pumice, name):
    moved.api.wait_phase(NS, name, "Running")
    assert len(moved.uids(name)) == 2


def test_what_ends_is_completed(moved, pumice):
    moved.api.wait_phase(NS, "ending", "Completed")
    assert moved.uids("ending") == {name: uid for name, uid in pumice.before.items() if name.startswith("ending")}


def test_what_had_ended_stays_as_it_was(moved, pumice):
    done = moved.api.job(NS, "done")["status"]
    assert (done["state"]["phase"], done["version"], done["runningDuration"]) == ("Completed", 1, "1m3.5s")
    assert moved.phase("aborted") == "Aborted" and not moved.uids("done", "aborted")


def test_what_was_suspended_is_resumed(moved, pumice):
    uid = moved.api.job(NS, "aborted")["metadata"]["uid"]
    moved.api.custom.create_namespaced_custom_object(**kind_of(COMMANDS, NS), body={
        "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": {"generateName": "resume-"},
        "action": "ResumeJob", "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "aborted",
                                          "uid": uid}})
    moved.api.wait_phase(NS, "aborted", "Running")


def test_a_job_can_be_changed_and_deleted(moved, pumice):
    moved.api.custom.patch_namespaced_custom_object(
        name="running", **kind_of(JOBS, NS), body={"spec": {"minAvailable": 1}})
    moved.api.custom.delete_namespaced_custom_object(name="waiting", **kind_of(JOBS, NS))
    wait_until(lambda: not moved.uids("waiting"), 60, "the pods of a deleted job to go")


def test_the_way_back(moved, pumice):
    """Last. Its Deployments are as they were, and nothing of ours is in their way."""
    before = moved.uids("running")
    for binary in reversed(pumice.all):
        binary.stop()
    run(moved.plane, commands("Back"))
    for kind in ("mutating", "validating"):
        assert moved.plane.request("GET", HOOKS.format(kind))["items"] == []
    for path in OURS:
        with pytest.raises(ApiError) as gone:
            moved.plane.request("GET", path)
        assert gone.value.code == 404, path
    applied(moved.plane, installation())
    for part in ("scheduler", "controllers", "admission"):
        found = moved.plane.request("GET", f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/volcano-{part}")
        wanted = deployment(part)["spec"]["template"]["spec"]
        spec = found["spec"]["template"]["spec"]
        assert spec["containers"][0]["args"] == wanted["containers"][0]["args"]
        assert [v["name"] for v in spec["volumes"]] == ["klog-sock"]
        assert spec["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["DAC_OVERRIDE"]}
    wait_until(lambda: len(moved.api.pods(SYSTEM)) == 3, 30, "the pods of its Deployments to be let in")
    names = {o["metadata"]["name"] for kind in ("mutating", "validating")
             for o in moved.plane.request("GET", HOOKS.format(kind))["items"]}
    assert names == {"volcano-admission-service-" + path.replace("/", "-") for path in PATHS}
    assert moved.uids("running") == before
    time.sleep(1)
    status = moved.api.job(NS, "running")["status"]
    assert set(status) <= {"state", "minAvailable", "taskStatusCount", "pending", "running", "succeeded", "failed",
                           "terminating", "unknown", "version", "retryCount", "runningDuration", "controlledResources",
                           "conditions"}
