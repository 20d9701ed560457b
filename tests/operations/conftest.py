"""Fixtures of the operations tests.

network  nothing; from here on the tests are in a network namespace of their own
cluster  a cluster in it, with nothing of ours installed
ns       a namespace for the jobs of one test; it is emptied when the test passed

A test fails when a process of ours ended by itself, or not as it should. A failing test prints the state of its jobs
and the last lines of our logs. PUMICE_TEST_DIR keeps the folder of the control plane, logs included, in a place of your
choice.
"""

import os
import re
import secrets
import shutil
from pathlib import Path

import pytest

from kubelet import netns
from kubelet.cluster import SYSTEM, Cluster
from cluster_process import tail
from harness.report import describe


@pytest.fixture(scope="session")
def network():
    """See the head of this file."""
    netns.enter()


@pytest.fixture(scope="session")
def cluster(network, tmp_path_factory):
    """See the head of this file."""
    folder = os.environ.get("PUMICE_TEST_DIR")
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
        Path(folder).mkdir(parents=True)
    made = Cluster(folder or tmp_path_factory.mktemp("operations")).start()
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def complaints(request):
    """Fails a test during which something went wrong that it did not look at."""
    if "cluster" not in request.fixturenames:
        yield
        return
    node = request.getfixturevalue("cluster").node
    before = len(node.complaints)
    yield
    found = node.complaints[before:]
    assert not found, "; ".join(found)


@pytest.fixture
def ns(cluster, request):
    """See the head of this file."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    name = cluster.api.make_namespace(f"{words}-{secrets.token_hex(3)}")
    yield name
    cluster.api.remove_namespace(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds what there is to know to the report of a failure."""
    report = yield
    arguments = getattr(item, "funcargs", {})
    if report.failed and call.when == "call" and "cluster" in arguments:
        cluster = arguments["cluster"]
        parts = [describe(cluster.api, arguments["ns"])] if "ns" in arguments else []
        parts += [describe(cluster.api, SYSTEM)]
        parts += [f"--- {log}\n{tail(log, 30)}" for log in sorted(cluster.node.logs.iterdir())]
        report.sections.append(("state of the cluster", "\n".join(parts)))
    return report
