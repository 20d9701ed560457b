"""What our binaries say and do when they cannot start, or cannot reach what they need."""

import json
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from harness.pumice import address, build_folder, find_binary, http_get
from harness.wait import wait_until

BINARIES = ["pumice-controller", "pumice-scheduler", "pumice-webhook"]
WEBHOOK_FLAGS = ["--webhook-namespace=volcano-system",
                 "--webhook-service-name=volcano-admission-service"]


def command(name, *flags):
    """The command line of a binary."""
    extra = WEBHOOK_FLAGS if name == "pumice-webhook" else ["--leader-elect=false"]
    return [find_binary(build_folder(), name), *extra, *flags]


def fails(name, *flags):
    """Runs a binary that must end by itself with an error; returns what it printed."""
    done = subprocess.run(command(name, *flags), capture_output=True, text=True, timeout=30,
                          check=False)
    assert done.returncode not in (0, None) and done.returncode > 0, done
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, f"one line was expected: {done.stderr}"
    return lines[0]


@pytest.mark.parametrize("name", BINARIES)
def test_a_kubeconfig_that_is_not_there(name, tmp_path):
    path = tmp_path / "nowhere"
    assert str(path) in fails(name, f"--kubeconfig={path}")


@pytest.mark.parametrize("name", BINARIES)
@pytest.mark.parametrize("text, says", [
    ("{", "line"),
    ("{}", "current-context"),
    ("current-context: a\ncontexts: [{name: b, context: {cluster: c}}]\n", "a"),
    ("current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n", "c"),
])
def test_a_broken_kubeconfig(name, text, says, tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    line = fails(name, f"--kubeconfig={path}")
    assert str(path) in line and says in line


@pytest.mark.parametrize("name", BINARIES)
def test_an_unknown_flag(name):
    assert "--no-such-flag" in fails(name, "--no-such-flag=1")


def test_shards_without_the_one_who_gives_them(controlplane):
    kubeconfig = controlplane.kubeconfig("pumice-controllers")
    assert "--leader-elect" in fails("pumice-controller", f"--kubeconfig={kubeconfig}", "--shards=true",
                                     f"--healthz-address={address()}", f"--listen-address={address()}")


@pytest.mark.parametrize("name", BINARIES)
def test_version(name):
    text = subprocess.run(command(name, "--version"), capture_output=True, text=True, timeout=10,
                          check=True).stdout
    assert name in text


def identity_of(name):
    """The name of the kubeconfig with the rights of a binary."""
    return {"pumice-controller": "pumice-controllers"}.get(name, name)


class Started:
    """A binary that runs on its own beside the session's, with its log in a file."""

    def __init__(self, name, folder, *flags):
        self.address = address()
        self.log = folder / "log"
        self._out = self.log.open("wb")
        self.process = subprocess.Popen(
            command(name, "--enable-healthz=true", f"--healthz-address={self.address}",
                    *(["--port=0"] if name == "pumice-webhook" else ["--enable-metrics=false"]),
                    *flags),
            stderr=self._out, stdout=self._out)

    def readyz(self):
        """The status and text of /readyz, (0, "") when nothing answers."""
        try:
            return http_get(self.address, "/readyz", timeout=10)
        except OSError:
            return 0, ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(40)
        self._out.close()


@pytest.mark.parametrize("name", ["pumice-controller", "pumice-scheduler"])
def test_an_api_server_that_is_not_there(name, controlplane, tmp_path):
    """Not fatal: it says so and goes on trying."""
    server = f"https://{address()}"
    path = tmp_path / "kubeconfig"
    controlplane.kubeconfig_for(path, identity_of(name), server)
    with Started(name, tmp_path, f"--kubeconfig={path}") as started:
        wait_until(lambda: started.readyz()[0] == 503, 20, "an answer that it is not ready")
        wait_until(lambda: server in started.readyz()[1], 20,
                   lambda: f"the address in /readyz: {started.readyz()}")
        time.sleep(1)
        assert started.process.poll() is None
        assert server in started.log.read_text()


@pytest.mark.parametrize("name", ["pumice-controller", "pumice-scheduler"])
def test_a_server_certificate_from_another_ca(name, controlplane, tmp_path):
    config = yaml.safe_load(Path(controlplane.kubeconfig(identity_of(name))).read_text())
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=other", "-days", "1",
                    "-keyout", tmp_path / "other.key", "-out", tmp_path / "other.crt"],
                   check=True, capture_output=True)
    cluster = config["clusters"][0]["cluster"]
    cluster.pop("certificate-authority-data", None)
    cluster["certificate-authority"] = str(tmp_path / "other.crt")
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))
    with Started(name, tmp_path, f"--kubeconfig={path}") as started:
        wait_until(lambda: "certificate" in started.log.read_text(), 20,
                   "a line about the certificate")
        assert started.process.poll() is None
        assert started.readyz()[0] == 503


@pytest.mark.parametrize("name", ["pumice-controller", "pumice-scheduler"])
def test_missing_crds_are_named(name, tmp_path, tmp_path_factory):
    """It waits, says which list is missing, and goes on by itself when the CRDs come."""
    from cluster import ControlPlane
    from harness.pumice import Pumice

    plane = ControlPlane(tmp_path_factory.mktemp("bare"), tied=True)
    plane.start()
    try:
        product = Pumice(plane)
        plane.kubectl("create", "namespace", "volcano-system")
        product._apply([one for one in product.install if one["kind"] in (
            "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount")])
        path = plane.kubeconfig(identity_of(name))
        with Started(name, tmp_path, f"--kubeconfig={path}") as started:
            wait_until(lambda: "PodGroup" in started.readyz()[1], 20,
                       lambda: f"/readyz to name the list: {started.readyz()}")
            plane.kubectl("apply", "-f", product.crds)
            wait_until(lambda: started.readyz()[0] == 200, 60,
                       lambda: f"ready after the CRDs came: {started.readyz()}")
    finally:
        plane.stop()
