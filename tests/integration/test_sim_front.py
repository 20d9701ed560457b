"""The API server in memory over HTTPS (tests/sim), as kubectl and other programs meet it."""

import json
import os
import ssl
import subprocess
import urllib.error
import urllib.request

import pytest

from cluster import binaries
from cluster_pki import Pki
from cluster_process import Process, free_port
from harness import ROOT
from harness.pumice import build_folder

TOKEN = "a-token"


class Front:
    """A sim-apiserver that knows a client certificate and a token."""

    def __init__(self, folder):
        self.pki = Pki(folder / "pki")
        self.pki.make_ca()
        self.pki.serving("server")
        self.pki.client("admin", "admin", ["system:masters"])
        self.tokens = folder / "tokens.csv"
        self.tokens.write_text(f'{TOKEN},tom,1,"system:masters,dev"\n')
        self.url = f"https://127.0.0.1:{free_port()}"
        self.kubeconfig = self.pki.kubeconfig(folder / "kubeconfig", self.url, "admin")
        self.process = Process(folder, "sim-apiserver")

    def start(self):
        """Starts it and waits until it serves."""
        self.process.start([build_folder() / "tests" / "sim" / "sim-apiserver",
                            f"--tls-cert-file={self.pki.crt('server')}",
                            f"--tls-private-key-file={self.pki.key('server')}",
                            f"--secure-port={self.url.rsplit(':', 1)[1]}",
                            f"--client-ca-file={self.pki.ca}", f"--token-auth-file={self.tokens}"], tied=True)
        self.process.wait_ready(self._serves, 20)
        return self

    def _serves(self):
        try:
            return self.ask("/readyz", token=TOKEN)[0] == 200
        except OSError:
            return False

    def ask(self, path, method="GET", body=None, headers=None, token=None, certificate=None):
        """(status, text) of one request."""
        context = ssl.create_default_context(cafile=str(self.pki.ca))
        if certificate:
            context.load_cert_chain(self.pki.crt(certificate), self.pki.key(certificate))
        headers = {**(headers or {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        request = urllib.request.Request(self.url + path, method=method, data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10, context=context) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def kubectl(self, *arguments, input=None):
        """What kubectl prints, as the admin."""
        done = subprocess.run([binaries() / "kubectl", "--kubeconfig", self.kubeconfig, *arguments], input=input,
                              capture_output=True, text=True, env={**os.environ, "HOME": str(self.kubeconfig.parent)})
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def front(tmp_path_factory):
    """A server of this module's own."""
    made = Front(tmp_path_factory.mktemp("sim-front")).start()
    yield made
    made.process.stop()


def test_a_known_token_or_certificate_lets_in(front):
    assert front.ask("/api/v1/namespaces", token=TOKEN)[0] == 200
    assert front.ask("/api/v1/namespaces", certificate="admin")[0] == 200
    assert front.ask("/api/v1/namespaces", certificate="admin", token="another")[0] == 200


def test_without_either_it_is_401(front):
    front.pki.serving("stranger")  # of our authority, but for servers
    for other in ({}, {"token": "another"}, {"headers": {"Authorization": "Bearer "}}, {"certificate": "stranger"}):
        code, text = front.ask("/api/v1/namespaces", **other)
        assert code == 401, other
        assert json.loads(text)["reason"] == "Unauthorized"


def test_protobuf_is_refused_plainly(front):
    code, text = front.ask("/api/v1/namespaces", "POST", b"k8s\0", token=TOKEN,
                           headers={"Content-Type": "application/vnd.kubernetes.protobuf"})
    assert code == 415
    assert "application/json" in json.loads(text)["message"]


def test_kubectl_knows_short_names(front):
    assert "namespace/default" in front.kubectl("get", "ns", "-o", "name")
    for name in ("po", "vcjob", "vj", "pg", "q", "hn", "cronvj", "jf", "jt", "pdb", "pod", "podgroup"):
        front.kubectl("get", name, "-n", "default")


def test_the_manifests_can_be_applied_and_applied_again(front):
    crds, install = ROOT / "manifests" / "crds.yaml", ROOT / "manifests" / "install.yaml"
    assert front.kubectl("apply", "-f", crds).count(" created\n") == 8
    front.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=10s")
    front.kubectl("apply", "-f", install)
    again = front.kubectl("apply", "-f", crds) + front.kubectl("apply", "-f", install)
    # kubectl sends the selectors of budgets every time: its rule for that field is to replace it.
    changed = [line for line in again.splitlines() if not line.endswith(" unchanged")]
    assert all(line.startswith("poddisruptionbudget.policy/") for line in changed), changed


def test_a_list_can_be_applied(front):
    items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
             for name in ("list-1", "list-2")]
    front.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    front.kubectl("get", "cm", "list-1", "list-2")


def test_apply_changes_what_it_applied(front):
    text = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"},
                       "data": {"a": "1", "b": "2"}})
    front.kubectl("apply", "-f", "-", input=text)
    front.kubectl("apply", "-f", "-", input=text.replace(', "b": "2"', "").replace('"1"', '"3"'))
    assert json.loads(front.kubectl("get", "cm", "m", "-o", "json"))["data"] == {"a": "3"}
