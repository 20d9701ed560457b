"""What is read from an audit log while a run goes on, and what loadgen is called with."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from runs import AuditFollower, Runner
from shapes import Shape


def record(verb, name, resource="pods", subresource=None, code=201, namespace="ns"):
    """A line as kube-apiserver writes it: its order of members matters to the follower."""
    target = {"resource": resource, "namespace": namespace, "name": name, "apiVersion": "v1",
              **({"subresource": subresource} if subresource else {})}
    return json.dumps({
        "kind": "Event", "stage": "ResponseComplete", "verb": verb, "user": {"username": "admin"},
        "objectRef": target, "responseStatus": {"metadata": {}, "code": code},
        "requestReceivedTimestamp": "2026-01-02T03:04:05.000000Z",
        "stageTimestamp": "2026-01-02T03:04:05.100000Z"}, separators=(",", ":")) + "\n"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "audit.log"
    path.write_text(record("create", "j00000-main-0"))
    return path


@pytest.fixture
def follower(log):
    found = AuditFollower(log, "ns")
    yield found
    found.close()


def append(path, *texts):
    with open(path, "a") as file:
        file.write("".join(texts))


def test_what_was_there_before_is_not_read(follower):
    follower.poll()
    assert (follower.creates, follower.binds, follower.requests()) == (0, 0, [])


def test_successful_creates_and_binds_of_the_namespace_count(log, follower):
    append(log, record("create", "j00000-main-1"), record("create", "j00000-main-2", code=409),
           record("create", "j00000-main-1", subresource="binding"),
           record("create", "j00000-main-2", subresource="binding", code=409),
           record("create", "j00000-main-3", namespace="other"),
           record("create", "j00000", resource="jobs"), record("patch", "j00000-main-1"),
           record("create", "p00000-main-0"),
           record("create", "p00000-main-0", subresource="binding"))
    follower.poll()
    assert (follower.creates, follower.binds) == (1, 2)  # a probe's pod is no create, but a bind
    assert len(follower.requests()) == 9


def test_a_line_that_is_half_written_is_read_when_it_is_whole(log, follower):
    line = record("create", "j00000-main-1")
    append(log, line[:40])
    follower.poll()
    assert follower.creates == 0
    append(log, line[40:])
    follower.poll()
    assert follower.creates == 1


def test_only_writes_of_the_namespace_disturb_its_rest(log, follower, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("runs.time.monotonic", lambda: now[0])
    append(log, record("create", "x"))
    follower.poll()
    now[0] = 105.0
    append(log, record("get", "x", code=200), record("list", "x", code=200),
           record("patch", "y", namespace="other"))
    follower.poll()
    assert follower.quiet() == 5.0
    append(log, record("delete", "x", code=200))
    follower.poll()
    assert follower.quiet() == 0.0


@pytest.mark.parametrize("mode, command, in_flight, order", [
    ("bare", "bare", 32, False), ("in-turn", "bare", 32, True), ("ours", "submit", 16, False),
    ("foreign", "submit", 16, False), ("probe", "probe", 16, False)])
def test_each_mode_has_its_command_of_the_generator(mode, command, in_flight, order):
    runner = Runner("/scratch", SimpleNamespace(nodes=7))
    runner.plane = SimpleNamespace(server="https://x", pki=SimpleNamespace(folder=Path("/pki")))
    words = runner.loadgen_command(mode, Shape(2, 3), "ns")
    assert words[:2] == ["/scratch/loadgen", command]
    assert {"--jobs=2", "--pods=3", "--nodes=7", "--namespace=ns", "--server=https://x",
            f"--in-flight={in_flight}"} <= set(words)
    assert ("--order=in-turn" in words) == order


def test_flags_of_the_generator_can_be_replaced():
    runner = Runner("/scratch", SimpleNamespace(nodes=7))
    runner.plane = SimpleNamespace(server="https://x", pki=SimpleNamespace(folder=Path("/pki")))
    words = runner.loadgen_command("bare", Shape(2, 3), "ns", **{"in-flight": 8})
    assert "--in-flight=8" in words and "--in-flight=32" not in words
