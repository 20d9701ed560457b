"""Fixtures of the integration tests.

controlplane  one control plane for the whole run, with our manifests and ten nodes of 32 CPUs
api           the official client, as admin
ns            a fresh namespace for each test
pumice        our three binaries, running; a test fails if one of them ends by itself
more_nodes    a function that adds nodes for one test
pool          a function that gives the scheduler nodes of its own, and perhaps a configuration
queues        a function that creates a queue for one test

A failing test prints the objects and events of its namespace and the last lines of our logs.
PUMICE_TEST_DIR keeps the control plane's folder, logs included, in a place of your choice; with lanes
(harness/lanes.py) each has a folder in it. PUMICE_CONTROL_PLANE=sim takes the API server in memory
(tests/sim) instead of the real one; not all tests can do with it.
"""

import os
import re
import secrets
import shutil

import pytest

from harness import lanes
from harness.api import QUEUES, Api, kind_of
from harness.objects import queue
from harness.pumice import Pumice
from harness.report import describe
from harness.wait import wait_until
from cluster import ControlPlane
from sim_plane import SimControlPlane

NODES = 10
PLANES = {"real": ControlPlane, "sim": SimControlPlane}


@pytest.fixture(scope="session")
def controlplane(tmp_path_factory):
    """A control plane with the CRDs, the rights and the nodes; our binaries do not run."""
    folder = os.environ.get("PUMICE_TEST_DIR")
    if folder:
        folder = lanes.own_folder(folder)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    make = PLANES[os.environ.get("PUMICE_CONTROL_PLANE", "real")]
    plane = make(folder or tmp_path_factory.mktemp("controlplane"), audit=True, tied=True)
    plane.start()
    try:
        Pumice(plane).apply_manifests()
        plane.start_kwok()
        plane.add_nodes(NODES)
        yield plane
    finally:
        plane.stop()


@pytest.fixture(scope="session")
def api(controlplane):
    """The cluster as its administrator sees it."""
    client = Api(controlplane)
    yield client
    client.close()


@pytest.fixture(scope="session")
def pumice_of_session(controlplane):
    """Our binaries; tests take `pumice`."""
    product = Pumice(controlplane, tied=True).start()
    yield product
    complaints = product.stop()
    assert not complaints, "; ".join(complaints)


@pytest.fixture
def pumice(pumice_of_session):
    """Our three binaries, all running when the test begins."""
    pumice_of_session.start_missing()
    yield pumice_of_session
    complaints = pumice_of_session.complaints()
    assert not complaints, "; ".join(complaints)


@pytest.fixture
def ns(api, request):
    """A namespace that is made for the test and emptied after it."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    name = api.make_namespace(f"{words}-{secrets.token_hex(3)}")
    yield name
    api.remove_namespace(name)


@pytest.fixture
def more_nodes(controlplane):
    """more_nodes(count, **as ControlPlane.add_nodes): nodes that go when the test ends."""
    made = []

    def add(count, **options):
        names = controlplane.add_nodes(count, **{"prefix": f"extra-{len(made)}", **options})
        made.extend(names)
        return names
    yield add
    controlplane.delete_nodes(made)


@pytest.fixture
def pool(controlplane, api, pumice, more_nodes):
    """pool(count, conf=None, cordoned=False, **node): nodes that are all the scheduler uses; it is started
    again for them. Returns their names."""
    before = dict(pumice.scheduler.flags)

    def make(count=1, conf=None, cordoned=False, **node):
        mark = secrets.token_hex(3)
        pumice.scheduler.flags["node-selector"] = f"pool:{mark}"
        if conf:
            path = controlplane.folder / "config" / f"{mark}.conf"
            path.write_text(conf)
            pumice.scheduler.flags["scheduler-conf"] = str(path)
        names = more_nodes(count, prefix=f"pool-{mark}", labels={"pool": mark}, **node)
        for name in names if cordoned else []:
            api.cordon(name)
        pumice.scheduler.restart()
        return names
    yield make
    pumice.scheduler.flags = before
    if pumice.scheduler.running():
        pumice.scheduler.stop()
    pumice.scheduler.start()


@pytest.fixture
def queues(api, ns):
    """queues(name, **spec) creates a queue whose name begins with the namespace's; returns that. It stays:
    with nothing in it, and no guarantee any more, it takes nothing from others."""
    guaranteed = []

    def create(name, **spec):
        full = f"{ns}-{name}"
        api.create_queue(queue(full, **spec))
        if "guarantee" in spec:
            guaranteed.append(full)
        wait_until(lambda: api.queue(full).get("status", {}).get("state") == "Open", 30,
                   lambda: f"queue {full} to be open: {api.queue(full)}")
        return full
    yield create
    for name in guaranteed:
        api.custom.patch_cluster_custom_object(name=name, body={"spec": {"guarantee": None, "deserved": None}},
                                               **kind_of(QUEUES, None))


def pytest_collection_modifyitems(items):
    """Gives the lanes their order."""
    items[:] = lanes.in_order(items)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Waits for the test's turn, before its time limit begins."""
    with lanes.turn(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds the state of the test's namespace to the report of a failure."""
    report = yield
    arguments = getattr(item, "funcargs", {})
    if report.failed and call.when == "call" and {"api", "ns"} <= arguments.keys():
        text = describe(arguments["api"], arguments["ns"], arguments.get("pumice"))
        report.sections.append(("state of the cluster", text))
    return report
