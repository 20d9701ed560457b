"""C1: our reflector against the real API server, with each fault that a watch is known to meet.

Whatever happens on the way, in the end the store shows what the server has, nothing was told twice,
and nothing was asked in a busy loop. The clock-bound cases (an hour of bookmarks, twenty errors of
the server in a row) are unit tests on a virtual clock.
"""

import time
from contextlib import ExitStack

import pytest

from harness.follower import Follower
from harness.proxy import FaultProxy, build
from harness.wait import wait_until


@pytest.fixture(scope="module")
def proxy_binary(tmp_path_factory):
    return build(tmp_path_factory.mktemp("faultproxy"))


@pytest.fixture
def proxy(controlplane, proxy_binary, tmp_path):
    """A fault proxy that acts as the administrator."""
    pki = controlplane.folder / "pki"
    with FaultProxy(proxy_binary, controlplane.server, pki / "ca.crt",
                    upstream_cert=pki / "admin.crt", upstream_key=pki / "admin.key",
                    dir=tmp_path) as running:
        yield running


class Things:
    """ConfigMaps of one namespace: made and removed directly, not through the proxy."""

    def __init__(self, api, ns):
        self.api, self.ns = api, ns
        self.path = f"/api/v1/namespaces/{ns}/configmaps"

    def add(self, *names):
        for name in names:
            self.api.core.create_namespaced_config_map(self.ns, {"metadata": {"name": name}})

    def change(self, name, value):
        self.api.core.patch_namespaced_config_map(name, self.ns, {"data": {"key": value}})

    def remove(self, *names):
        for name in names:
            self.api.core.delete_namespaced_config_map(name, self.ns)

    def all(self):
        """name: resourceVersion"""
        return {c.metadata.name: int(c.metadata.resource_version)
                for c in self.api.core.list_namespaced_config_map(self.ns).items}


@pytest.fixture
def things(api, ns):
    things = Things(api, ns)
    things.add("a", "b")
    return things


@pytest.fixture
def follow(controlplane, proxy, things):
    """follow(direct=False): a follower of the things, through the proxy unless direct."""
    direct_way = controlplane.kubeconfig()
    through_proxy = proxy.kubeconfig(direct_way)
    running = []
    with ExitStack() as all_of_them:
        def start(direct=False):
            one = Follower(direct_way if direct else through_proxy, things.path)
            running.append(all_of_them.enter_context(one))
            return one
        yield start
    assert not [complaint for follower in running for complaint in follower.complaints]


def synced(follower):
    wait_until(lambda: follower.seen("synced"), 20, lambda: f"the list to be complete {follower.lines}")


def same(follower, things, timeout=20):
    """The follower comes to see exactly what the server has."""
    wait_until(lambda: follower.objects == things.all(), timeout,
               lambda: f"the store to show {things.all()}, it has {follower.objects}")


def asked(proxy, verb):
    return [entry for entry in proxy.log()
            if entry["verb"] == verb and entry["resource"] == "configmaps"]


def watch(action, **rule):
    return {"match": {"verb": "watch", "resource": "configmaps"}, "times": 1, "action": action, **rule}


def test_follows_without_faults(proxy, follow, things):
    follower = follow()
    synced(follower)
    things.add("c")
    things.change("a", "1")
    things.remove("b")
    same(follower, things)
    totals = follower.stop()
    assert totals == {"lists": 1, "watches": 1, "events": 3, "errors": 0}
    assert not follower.seen("trouble")


def test_410_on_the_start_of_a_watch_finds_what_was_deleted(proxy, follow, things):
    """C1 (a) and (i)"""
    proxy.add(watch({"type": "watch_close", "after_events": 1}))
    gone = proxy.add(watch({"type": "status", "code": 410, "reason": "Expired"}))
    proxy.add({"match": {"verb": "list", "resource": "configmaps"}, "skip": 1, "times": 1,
               "action": {"type": "delay", "ms": 2000}})
    follower = follow()
    synced(follower)
    things.add("c")
    wait_until(lambda: proxy.hits(gone) == 1, 10, "the watch to be refused with 410")
    things.remove("a")
    same(follower, things)
    totals = follower.stop()
    assert totals["lists"] == 2 and totals["errors"] == 1
    assert len(follower.seen("delete")) == 1


def test_410_inside_a_stream(proxy, follow, things):
    """C1 (b)"""
    proxy.add(watch({"type": "watch_error", "code": 410, "reason": "Expired", "after_events": 1}))
    follower = follow()
    synced(follower)
    things.add("c")
    things.remove("a")
    same(follower, things)
    things.add("d")
    same(follower, things)
    assert follower.stop()["lists"] == 2


def test_410_on_the_second_page(proxy, follow, things):
    """C1 (c)"""
    things.add(*[f"many-{i}" for i in range(520)])
    rule = proxy.add({"match": {"verb": "list", "query": "continue="}, "times": 1,
                      "action": {"type": "status", "code": 410, "reason": "Expired"}})
    follower = follow()
    synced(follower)
    assert proxy.hits(rule) == 1
    assert follower.objects == things.all()
    assert len(asked(proxy, "list")) == 4
    assert not follower.seen("delete")


def test_a_dead_connection_is_noticed_within_a_minute(proxy, follow, things):
    """C1 (d), by some followers, since each draws when its stream has to end; and beside them one with nothing to see:
    it goes on for as long without a fault."""
    proxy.add(watch({"type": "watch_silence", "connection": True}, times=8))
    quiet = follow(direct=True)
    followers = [follow() for _ in range(8)]
    for one in (*followers, quiet):
        synced(one)
    began = quiet.now()
    things.add("c")
    for one in followers:
        wait_until(lambda: one.seen("add", f"{things.ns}/c"), 65, lambda: f"the new object to be seen {one.lines}")
    assert quiet.now() - began <= 60
    for one in followers:
        same(one, things)
        assert one.stop()["lists"] == 1
    time.sleep(max(0, 55 - quiet.now()))
    things.add("d")
    same(quiet, things)
    totals = quiet.stop()
    assert totals["lists"] == 1 and totals["errors"] == 0 and totals["watches"] >= 2


@pytest.mark.parametrize("how", [{"clean": True}, {}, {"connection": True}])
def test_an_event_cut_in_half(proxy, follow, things, how):
    """C1 (e)"""
    proxy.add(watch({"type": "watch_cut", "after_events": 1, **how}))
    follower = follow()
    synced(follower)
    things.add("c", "d", "e")
    same(follower, things)
    totals = follower.stop()
    assert totals["lists"] == 1 and totals["errors"] == 1


def test_429_with_retry_after(proxy, follow, things):
    """C1 (g)"""
    for verb in ("list", "watch"):
        proxy.add({"match": {"verb": verb, "resource": "configmaps"}, "times": 1,
                   "action": {"type": "status", "code": 429, "retryAfter": 3}})
    began = time.monotonic()
    follower = follow()
    synced(follower)
    assert time.monotonic() - began >= 3
    wait_until(lambda: len(asked(proxy, "watch")) == 2, 10, "the second watch")
    assert time.monotonic() - began >= 6
    assert len(asked(proxy, "list")) == 2
    things.add("c")
    same(follower, things)


def test_a_server_that_fails_is_asked_less_and_less(proxy, follow, things):
    """C1 (h), as far as a test can wait: 0.2, 0.4, 0.8, 1.6, 3.2 seconds"""
    rule = proxy.add({"match": {"verb": "list", "resource": "configmaps"}, "times": 5,
                      "action": {"type": "status", "code": 500}})
    began = time.monotonic()
    follower = follow()
    synced(follower)
    assert time.monotonic() - began >= 6.2 * 0.8
    assert proxy.hits(rule) == 5 and len(asked(proxy, "list")) == 6
    assert follower.seen("trouble")
    same(follower, things)
    wait_until(lambda: follower.seen("trouble")[-1][2] == "", 15, "the trouble to be over")


def test_watches_that_close_at_once(proxy, follow, things):
    """Nothing spins, and nothing is lost."""
    rule = proxy.add({"match": {"verb": "watch", "resource": "configmaps"}, "times": 6,
                      "action": {"type": "watch_close"}})
    follower = follow()
    synced(follower)
    time.sleep(3)
    assert 2 <= proxy.hits(rule) <= 6
    things.add("c")
    same(follower, things, timeout=30)
    assert follower.stop()["lists"] == 1


def test_the_api_server_is_killed_and_started_again(controlplane, proxy, follow, things):
    follower = follow(direct=True)
    synced(follower)
    controlplane.stop_apiserver(kill=True)
    try:
        wait_until(lambda: follower.seen("trouble"), 20, "the fault to be noticed")
    finally:
        controlplane.start_apiserver()
    things.add("c")
    things.remove("a")
    same(follower, things, timeout=60)
