"""What the node of these tests is made of, each part by itself."""

import http.server
import threading

import pytest

from kubelet import rights
from kubelet.cluster import deployments, installed
from kubelet.pod import check_known
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
