"""Fixtures of the oracles.

server  the API server of a control plane of its own, with the features on whose fields it would drop
        unread otherwise
schema  its OpenAPI document
probe   a function that starts our probe in one of its modes
askgo   a function that asks the Go program in one of its modes
askkube a function that starts the program with kube-scheduler's plugins in one of its modes
placing our side of the same questions
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "integration"), str(ROOT / "tests" / "cluster")]

from harness.pumice import build_folder  # noqa: E402
from cluster import ControlPlane  # noqa: E402
from sides import Probe, Server  # noqa: E402

FEATURES = ("ClusterTrustBundle", "ClusterTrustBundleProjection", "ContainerStopSignals",
            "GenericWorkload", "PodCertificateRequest", "SELinuxMount")
APISERVER = ["--allow-privileged=true", "--runtime-config=scheduling.k8s.io/v1alpha2=true",
             "--feature-gates=" + ",".join(f"{name}=true" for name in FEATURES)]


@pytest.fixture(scope="session")
def plane(tmp_path_factory):
    """A control plane without nodes and without our binaries."""
    made = ControlPlane(tmp_path_factory.mktemp("controlplane"), apiserver_args=APISERVER,
                        tied=True)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def server(plane):
    """The API server's side of the comparison."""
    return Server(plane)


@pytest.fixture(scope="session")
def schema(plane):
    """The types of the API server's objects."""
    return plane.request("GET", "/openapi/v3/api/v1")


@pytest.fixture(scope="session")
def probe():
    """probe(mode): our side, as a context manager."""
    binary = build_folder() / "tests" / "probe" / "admission_probe"
    assert binary.is_file(), f"{binary} is not built; build it, or set PUMICE_BIN"
    return lambda mode: Probe(binary, mode)


@pytest.fixture(scope="session")
def go():
    """The Go command."""
    done = subprocess.run([ROOT / "tests" / "cluster" / "go-toolchain"], stdout=subprocess.PIPE,
                          text=True, check=True)
    return done.stdout.splitlines()[-1]


@pytest.fixture(scope="session")
def askgo(go, tmp_path_factory):
    """askgo(mode, questions, *arguments): the answers of Go's libraries."""
    binary = tmp_path_factory.mktemp("askgo") / "askgo"
    subprocess.run([Path(__file__).parent / "askgo" / "build", binary], check=True,
                   env={**os.environ, "GO": go})

    def ask(mode, questions, *arguments):
        text = "".join(json.dumps(question) + "\n" for question in questions)
        done = subprocess.run([binary, mode, *arguments], input=text, stdout=subprocess.PIPE,
                              text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]
    return ask


@pytest.fixture(scope="session")
def askkube(go):
    """askkube(mode): kube-scheduler's plugins, as a context manager."""
    done = subprocess.run([Path(__file__).parent / "askkube" / "build"], stdout=subprocess.PIPE,
                          text=True, check=True, env={**os.environ, "GO": go})
    return lambda mode: Probe(done.stdout.splitlines()[-1], mode)


@pytest.fixture(scope="session")
def placing():
    """placing(): our scheduler's word on a pod and a cluster, as a context manager."""
    binary = build_folder() / "tests" / "probe" / "scheduler_probe"
    assert binary.is_file(), f"{binary} is not built; build it, or set PUMICE_BIN"
    return lambda: Probe(binary, "placement")
