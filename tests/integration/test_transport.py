"""Our HTTP client (common/kube/transport) against the real API server and through the fault proxy.

What it must know is what happened to a request: `not-sent` only if it cannot have had an effect,
`in-doubt` if it may, `answered` only for a complete answer.
"""

import json
import os
import signal
import time

import pytest

from harness.probe import Probe, tally
from harness.proxy import FaultProxy, build
from harness.wait import wait_until

CONFIGMAP = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made-%d"},
                        "data": {"key": "value"}})


@pytest.fixture(scope="module")
def proxy_binary(tmp_path_factory):
    return build(tmp_path_factory.mktemp("faultproxy"))


@pytest.fixture
def proxy(controlplane, proxy_binary, tmp_path):
    """A fault proxy that acts as the administrator."""
    pki = controlplane.folder / "pki"
    with FaultProxy(proxy_binary, controlplane.server, pki / "ca.crt", upstream_cert=pki / "admin.crt",
                    upstream_key=pki / "admin.key", dir=tmp_path) as running:
        yield running


@pytest.fixture
def through(controlplane, proxy):
    """The kubeconfig that goes through the proxy."""
    return proxy.kubeconfig(controlplane.kubeconfig())


def configmaps(ns):
    return f"/api/v1/namespaces/{ns}/configmaps"


def watch_path(ns, seconds=600):
    return f"{configmaps(ns)}?watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}"


def create(kubeconfig, ns, count=1, **options):
    return Probe(kubeconfig, "create", configmaps(ns), count, body=CONFIGMAP, **options)


def made(api, ns):
    """Names of the ConfigMaps that our client has made."""
    return {c.metadata.name for c in api.core.list_namespaced_config_map(ns).items
            if c.metadata.name.startswith("made-")}


def sent(proxy, verb="create"):
    """The requests that the proxy has seen, without those that open connections."""
    return [e for e in proxy.log() if e["verb"] == verb and e["resource"] == "configmaps"]


def test_a_burst_uses_two_connections(api, ns, proxy, through):
    lines = create(through, ns, 600, inflight=300).lines()
    assert tally(lines) == {("answered", 201): 600}
    assert len(made(api, ns)) == 600
    assert {e["proto"] for e in sent(proxy)} == {"HTTP/2.0"}
    assert 1 <= len({e["conn"] for e in sent(proxy)}) <= 2


def test_the_client_shows_its_own_certificate_alone(controlplane, ns, proxy_binary, tmp_path):
    """Not the CA, though it trusts it: the server checks all that it is shown anew with each request."""
    pki = controlplane.folder / "pki"
    with FaultProxy(proxy_binary, controlplane.server, pki / "ca.crt", cert=pki / "kube-apiserver.crt",
                    key=pki / "kube-apiserver.key", upstream_cert=pki / "admin.crt",
                    upstream_key=pki / "admin.key", dir=tmp_path) as proxy:
        create(proxy.kubeconfig(controlplane.kubeconfig(), ca=pki / "ca.crt"), ns).lines()
        assert {e["certs"] for e in sent(proxy)} == {1}


def test_a_watch_streams_events(controlplane, ns):
    watch = Probe(controlplane.kubeconfig(), "watch",
                  f"{configmaps(ns)}?watch=1&timeoutSeconds=3")
    time.sleep(0.5)
    create(controlplane.kubeconfig(), ns, 50, inflight=10).lines()
    lines = watch.lines()
    names = [line.words[2] for line in lines if line.what == "event" and line.words[0] == "ADDED"]
    assert [f"{ns}/made-{i}" for i in range(50)] == sorted(
        (n for n in names if "made-" in n), key=lambda n: int(n.rsplit("-", 1)[1]))
    assert (lines[-1].what, lines[-1].status) == ("answered", 200)


@pytest.mark.parametrize("action, effect", [
    ({"type": "drop_after"}, True),
    ({"type": "drop_after", "connection": True}, True),
    ({"type": "cut_body", "bytes": 100}, True),
    ({"type": "cut_body", "bytes": 100, "clean": True}, True),
    ({"type": "cut_body", "bytes": 0, "clean": True}, True),
    ({"type": "cut_body", "bytes": 100, "connection": True}, True),
    ({"type": "freeze", "after": True}, True),
    ({"type": "drop_before"}, False),
    ({"type": "rst"}, False),
    ({"type": "freeze"}, False),
])
def test_a_lost_answer_leaves_a_write_in_doubt(api, ns, proxy, through, action, effect):
    """And the client never sends it a second time by itself."""
    create(through, ns).lines()  # through the proxy: no fault yet
    rule = proxy.add({"match": {"verb": "create", "resource": "configmaps"}, "skip": 3, "times": 1,
                      "action": action})
    # On a connection that has been used, where libcurl would like to repeat the request.
    body = CONFIGMAP.replace("made-", "doubt-")
    lines = Probe(through, "create", configmaps(ns), 6, body=body, timeout=3).lines()
    assert proxy.hits(rule) == 1
    assert tally(lines) == {("answered", 201): 5, ("in-doubt", 0): 1}
    names = {c.metadata.name for c in api.core.list_namespaced_config_map(ns).items}
    assert ("doubt-3" in names) == effect
    asked = [e["name"] for e in sent(proxy)]
    assert sorted(asked) == ["doubt-0", "doubt-1", "doubt-2", "doubt-3", "doubt-4", "doubt-5", "made-0"]


def test_a_cut_answer_to_a_read_is_no_answer(ns, proxy, through):
    for clean in (False, True):
        proxy.add({"match": {"verb": "list"}, "times": 1,
                   "action": {"type": "cut_body", "bytes": 20, "clean": clean}})
        line, = Probe(through, "get", configmaps(ns)).lines()
        assert (line.what, line.error_class) == ("not-sent", "retry")


def test_goaway_loses_nothing(api, ns, proxy, through):
    """Streams that were under way may be in doubt; all others go on over a new connection."""
    proxy.add({"match": {"verb": "create"}, "probability": 0.05, "seed": 3,
               "action": {"type": "goaway"}})
    count = tally(create(through, ns, 400, inflight=20).lines())
    assert set(count) <= {("answered", 201), ("in-doubt", 0)}
    assert count[("answered", 201)] > 200
    exist = len(made(api, ns))
    assert count[("answered", 201)] <= exist <= 400
    names = [e["name"] for e in sent(proxy)]
    assert len(names) == len(set(names)) == exist
    assert len({e["conn"] for e in sent(proxy)}) > 2


def test_statuses_and_retry_after(ns, proxy, through):
    for code, error_class in ((429, "retry"), (503, "retry"), (500, "retry"), (409, "exists"),
                              (410, "gone"), (404, "not-found"), (403, "denied")):
        proxy.clear()
        proxy.add({"match": {"verb": "create"}, "action": {"type": "status", "code": code,
                                                           "message": "the reason why"}})
        line, = create(through, ns).lines()
        assert (line.what, line.status, line.error_class) == ("answered", code, error_class)
        assert line.message == "the reason why"


def test_a_refused_token_is_read_again(controlplane, ns, proxy, proxy_binary, tmp_path):
    token = tmp_path / "token"
    token.write_text(controlplane.token("volcano-controllers"))
    kubeconfig = tmp_path / "with-token"
    kubeconfig.write_text(json.dumps({
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": proxy.url,
                                               "certificate-authority": str(proxy.ca_file)}}],
        "users": [{"name": "u", "user": {"tokenFile": "token"}}]}))
    path = "/apis/batch.volcano.sh/v1alpha1/jobs?limit=1"
    probe = Probe(kubeconfig, "get", path, 20, every=200)
    time.sleep(1)
    proxy.add({"match": {"verb": "list"}, "times": 1, "action": {"type": "token_reject"}})
    time.sleep(1)  # the token is the same: the refusal stands
    token.write_text(controlplane.token("volcano-controllers", ttl=1200))
    proxy.add({"match": {"verb": "list"}, "times": 1, "action": {"type": "token_reject"}})
    lines = probe.lines()
    assert tally(lines) == {("answered", 200): 19, ("answered", 401): 1}


def test_a_dead_watch_is_noticed_and_a_quiet_one_lives(controlplane, ns, proxy, through):
    """Within a minute; but bookmarks and answered pings are signs of life. Both at once: it takes long."""
    proxy.add({"match": {"verb": "watch"}, "times": 1,
               "action": {"type": "watch_silence", "connection": True}})
    dead = Probe(through, "watch", watch_path(ns))
    quiet = Probe(controlplane.kubeconfig(), "watch", watch_path(ns, seconds=85))
    last = dead.lines(timeout=90)[-1]
    assert last.what == "not-sent"
    assert "no sign of life" in last.message
    assert 40 < last.at < 60
    last = quiet.lines(timeout=90)[-1]
    assert (last.what, last.status) == ("answered", 200)
    assert last.at > 80


def test_requests_leave_a_frozen_connection(ns, proxy, through):
    """One request pays with its time limit; those after it go over a new connection."""
    proxy.add({"match": {"verb": "list"}, "skip": 2, "times": 1,
               "action": {"type": "freeze", "connection": True}})
    lines = Probe(through, "get", configmaps(ns), 6, timeout=5).lines()
    assert [line.status for line in lines] == [200, 200, 0, 200, 200, 200]


def test_the_server_goes_and_comes(controlplane, api, ns):
    """Every request is accounted for: those that were answered and no others of the not-sent exist."""
    kubeconfig = controlplane.kubeconfig()
    probe = create(kubeconfig, ns, 4000, inflight=50)
    time.sleep(0.5)
    controlplane.stop_apiserver(kill=True)
    controlplane.start_apiserver()
    count = tally(probe.lines())
    assert count[("answered", 201)] > 0
    assert count[("in-doubt", 0)] <= 50
    exist = wait_until(lambda: made(api, ns), 20, "the API server answers")
    assert count[("answered", 201)] <= len(exist) <= count[("answered", 201)] + count[("in-doubt", 0)]


def test_a_frozen_server_stops_nothing_for_ever(controlplane, ns):
    kubeconfig = controlplane.kubeconfig()
    pid = controlplane.process("kube-apiserver").pid()
    probe = Probe(kubeconfig, "get", configmaps(ns), 12, every=1000, timeout=4)
    time.sleep(2.5)
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(4)
    finally:
        os.kill(pid, signal.SIGCONT)
    lines = probe.lines()
    assert lines[-1].status == 200
    assert sum(line.status != 200 for line in lines) <= 6


def test_wrong_certificates_are_named(controlplane, proxy, tmp_path):
    """A CA that did not sign the server, and a client certificate nobody knows."""
    other = tmp_path / "other"
    other.write_text(controlplane.kubeconfig().read_text())
    wrong = FaultProxy.kubeconfig(proxy, other, ca=controlplane.folder / "pki" / "ca.crt")
    line, = Probe(wrong, "get", "/version").lines()
    assert line.what == "not-sent"
    assert "certificate" in line.message and "not trusted" in line.message
