"""What the node of these tests is made of, each part by itself."""

import http.server
import threading

import pytest
from harness.wait import wait_until

from kubelet import rights
from kubelet.cluster import deployments, installed
from kubelet.pod import Pod, check_known
from kubelet.probes import Probe
from kubelet.services import endpoints_of
from kubelet.volumes import NotYet, Volume

ACCOUNT = "volcano-system:a"


def pod_of(deployment, **changes):
    spec = deployment["spec"]["template"]["spec"]
    return {"metadata": {"name": "p"}, "spec": {**spec, **changes}}


def test_the_pods_that_are_installed_are_understood():
    for deployment in deployments():
        check_known(pod_of(deployment))


@pytest.mark.parametrize("change", [
    {"hostNetwork": True}, {"initContainers": [{}]}, {"containers": [{"name": "a"}, {"name": "b"}]},
    {"containers": [{"name": "a", "envFrom": []}]}, {"containers": [{"name": "a", "command": ["sh"]}]},
    {"containers": [{"name": "a", "lifecycle": {"preStop": {"exec": {}}}}]}, {"securityContext": {"fsGroup": 1}}])
def test_what_is_not_done_is_refused(change):
    with pytest.raises(ValueError):
        check_known(pod_of(deployments()[0], **change))


# A pod from its start to its end


class Played:
    """A node and a control plane as a pod sees them: what is asked is kept."""

    def __init__(self, folder):
        self.plane, self.folder, self.logs = self, folder / "pods", folder
        self.releases, self.configmaps = {"1": folder}, self
        self.complaints, self.statuses, self.deleted = [], [], threading.Event()

    def named(self, name):
        return {"metadata": {"name": name}, "data": {"key": "value"}}

    def complain(self, sentence):
        self.complaints.append(sentence)

    def request(self, method, _path, body, **_options):
        if method == "DELETE":
            self.deleted.set()
        else:
            self.statuses.append(body["status"])


def played_pod(script, folder):
    program = folder / "pumice-played"
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)
    container = {"name": "c", "image": "pumice/pumice-played:1", "args": ["one", "$(NAME)"],
                 "env": [{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                 "volumeMounts": [{"name": "v", "mountPath": "/mounted", "readOnly": True}],
                 "securityContext": {"capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True,
                                     "allowPrivilegeEscalation": False}}
    return {"metadata": {"name": "played", "namespace": "ns", "uid": "12345678-9"}, "spec": {
        "containers": [container], "volumes": [{"name": "v", "configMap": {"name": "c", "defaultMode": 0o644}}],
        "enableServiceLinks": False, "terminationGracePeriodSeconds": 5,
        "securityContext": {"runAsUser": 65532, "runAsGroup": 65532}}}


def life(node, found):
    """The pod, once its process runs and has said so."""
    pod = Pod(node, found)
    pod.start()
    wait_until(lambda: "up" in pod.log.read_text() if pod.log.exists() else False, 20,
               lambda: f"the process to start: {node.complaints}")
    return pod


def end(node, pod):
    pod.update({**pod.found, "metadata": {**pod.found["metadata"], "deletionTimestamp": "now"}})
    assert node.deleted.wait(20), node.complaints
    pod.join(10)


def test_a_pod_from_its_start_to_its_end(network, tmp_path):
    node = Played(tmp_path)
    pod = life(node, played_pod("trap 'echo over; exit 0' TERM\n"
                                "echo $1 $2 $(cat /mounted/key) $(cat /proc/sys/kernel/hostname)\n"
                                "touch /x 2>/dev/null && echo writable\ngrep CapEff /proc/self/status\n"
                                "echo up\nwhile true; do sleep 0.1; done\n", tmp_path))
    wait_until(lambda: node.statuses, 10, "a status")
    assert node.statuses[-1]["phase"] == "Running" and node.statuses[-1]["podIP"] == pod.network.address
    assert {one["type"]: one["status"] for one in node.statuses[-1]["conditions"]}["Ready"] == "True"
    end(node, pod)
    said = pod.log.read_text().split("\n")
    assert said[:2] == ["one played value played", "CapEff:\t0000000000000000"] and "over" in said
    assert pod.exits == [0] and node.complaints == []


def test_a_process_that_ends_by_itself_is_told_of(network, tmp_path):
    node = Played(tmp_path)
    pod = life(node, played_pod("echo up\nexit 3\n", tmp_path))
    wait_until(lambda: len(pod.exits) == 2, 20, "the process to be started once more")
    assert all("ended by itself with 3" in one for one in node.complaints)
    end(node, pod)


def test_a_process_that_does_not_obey_is_told_of(network, tmp_path):
    node = Played(tmp_path)
    pod = life(node, played_pod("trap '' TERM\necho up\nwhile true; do sleep 0.1; done\n", tmp_path))
    pod.grace = 1
    pod.found["metadata"]["deletionGracePeriodSeconds"] = 1
    end(node, pod)
    assert "outlived its grace period" in node.complaints[0] and pod.exits == [-9]


# Volumes


def volume(folder, spec, objects):
    return Volume(folder / "v", {"name": "v", **spec}, {"spec": {}}, None, objects.get, objects.get)


def test_files_of_a_volume_follow_their_configmap(tmp_path):
    objects = {"c": {"data": {"a": "1", "b": "2"}}}
    made = volume(tmp_path, {"configMap": {"name": "c", "defaultMode": 0o640}}, objects)
    made.refresh()
    assert (made.folder / "a").read_text() == "1" and (made.folder / "a").stat().st_mode & 0o777 == 0o640
    first = (made.folder / "..data").resolve()
    made.refresh()
    assert (made.folder / "..data").resolve() == first
    objects["c"] = {"data": {"a": "3"}}
    made.refresh()
    assert (made.folder / "a").read_text() == "3" and not (made.folder / "b").is_symlink()
    assert not first.exists()


def test_a_volume_waits_for_what_is_missing(tmp_path):
    objects = {}
    made = volume(tmp_path, {"secret": {"secretName": "s"}}, objects)
    with pytest.raises(NotYet):
        made.refresh()
    objects["s"] = {"data": {"key": "c2VjcmV0"}}
    made.refresh()
    assert (made.folder / "key").read_bytes() == b"secret"


# Probes


@pytest.fixture
def server():
    """An HTTP server on loopback whose answers are in `codes`."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(made.codes.pop(0))
            self.end_headers()

        def log_message(self, *_):
            pass
    made = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    made.codes = []
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def test_a_probe_changes_its_mind_at_its_thresholds(server):
    spec = {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 0, "failureThreshold": 2, "successThreshold": 1}
    probe = Probe(spec, {"ports": [{"name": "web", "containerPort": server.server_port}]}, "127.0.0.1", good=False)
    server.codes += [503, 200, 503, 200, 500, 404]
    said = []
    for _ in range(6):
        probe.look()
        said.append(probe.good)
    assert said == [False, True, True, True, True, False]


# Services


def slice_of(*endpoints, port=8443):
    return {"ports": [{"name": "webhook", "port": port}], "endpoints": [
        {"addresses": [address], "conditions": conditions} for address, conditions in endpoints]}


def test_endpoints_are_those_that_are_ready_else_those_that_end():
    ready, ending = {"ready": True}, {"ready": False, "serving": True, "terminating": True}
    gone = {"ready": False, "serving": False, "terminating": True}
    assert endpoints_of([slice_of(("1.1.1.1", ready), ("1.1.1.2", ending))], "webhook") == [("1.1.1.1", 8443)]
    assert endpoints_of([slice_of(("1.1.1.2", ending), ("1.1.1.3", gone))], "webhook") == [("1.1.1.2", 8443)]
    assert endpoints_of([slice_of(("1.1.1.1", ready))], "metrics") == []
    assert endpoints_of([], "webhook") == []


# Rights


def test_rights_are_read_from_roles_and_their_bindings():
    found = {f"{right.account}: {right}" for right in rights.granted(installed())}
    assert {"volcano-system:volcano-scheduler: create pods/binding",
            "volcano-system:volcano-scheduler: update leases.coordination.k8s.io volcano in volcano-system",
            "volcano-system:volcano-controllers: patch jobs.batch.volcano.sh/status",
            "volcano-system:volcano-controllers: create secrets"} <= found
    assert "volcano-system:volcano-scheduler: create pods" not in found


@pytest.mark.parametrize("right, call, covered", [
    (("get", "pods"), ("get", "pods", "a", "ns"), True),
    (("get", "pods"), ("list", "pods", "", "ns"), False),
    (("get", "pods"), ("get", "pods/log", "a", "ns"), False),
    (("get", "secrets", "mine", "ns"), ("get", "secrets", "mine", "ns"), True),
    (("get", "secrets", "mine", "ns"), ("get", "secrets", "other", "ns"), False),
    (("get", "secrets", "mine", "ns"), ("get", "secrets", "mine", "default"), False),
    (("create", "secrets", "", "ns"), ("create", "secrets", "mine", "ns"), True)])
def test_what_a_right_covers(right, call, covered):
    assert rights.Right(ACCOUNT, *right).covers(rights.Right(ACCOUNT, *call)) == covered
    assert not rights.Right("volcano-system:b", *right).covers(rights.Right(ACCOUNT, *call))


def test_calls_are_those_of_our_accounts():
    records = [{"user": {"username": user}, "verb": "patch", "responseStatus": {"code": 200},
                "requestReceivedTimestamp": "1970-01-01T00:00:07.5Z", "objectRef": {
                    "resource": "jobs", "subresource": "status", "apiGroup": "batch.volcano.sh", "namespace": "ns",
                    "name": "j"}} for user in ("admin", "system:serviceaccount:volcano-system:a")]
    (call, code, at), = rights.calls(records)
    assert (call, code, at) == (rights.Right(ACCOUNT, "patch", "jobs.batch.volcano.sh/status", "j", "ns"), 200, 7.5)
