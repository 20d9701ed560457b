"""Runs on other clusters: what watches tell, and the report."""

import base64
import os
import stat

import pytest
import yaml

import audit
import foreign
import plots
import rawdata
import report
from shapes import Shape
from test_fanout import data_of


def event(resource, kind, name, at, node=False, phase=""):
    return {"t": at, "resource": resource, "type": kind, "name": name, "node": node, "phase": phase}


def events():
    """One job of two pods, as its watches show it."""
    pods = ("j00000-main-0", "j00000-main-1")
    return [
        event("", "READY", "", 99.0),
        event("jobs", "ADDED", "j00000", 100.0),
        event("podgroups", "ADDED", "j00000-uid", 100.1),
        event("podgroups", "MODIFIED", "j00000-uid", 100.2),
        *(event("pods", "ADDED", name, 100.3 + i / 10, phase="Pending")
          for i, name in enumerate(pods)),
        *(event("pods", "MODIFIED", name, 101 + i / 10, node=True, phase="Pending")
          for i, name in enumerate(pods)),
        *(event("pods", "MODIFIED", name, 102, node=True, phase="Running") for name in pods),
        event("jobs", "MODIFIED", "j00000", 102.5),
        event("pods", "DELETED", pods[0], 103, node=True, phase="Running")]


def seen(given=None):
    found = foreign.Seen("ns")
    for one in given or events():
        found.take(one)
    return found


def summary(given=None):
    return audit.summarise(seen(given).requests, "ns", 1, 2)


def test_events_of_watches_stand_for_requests():
    found = summary()
    assert (found["pod_creates"], found["binds"], found["jobs"]) == (2, 2, 1)
    assert found["whole_run_s"] == pytest.approx(1.1)
    assert found["gap"]["seconds"] == pytest.approx(0.1)
    assert sum(found["curves"]["running"]) == 2
    assert found["budget"]["written"] == 3  # the PodGroup, its change, and the job's status


def test_a_pod_is_bound_once_however_often_it_changes():
    again = events() + [event("pods", "MODIFIED", "j00000-main-0", 110, node=True, phase="Running")]
    assert summary(again)["binds"] == 2
    assert seen(again).binds == 2


def test_a_pod_that_is_first_seen_bound_and_running_counts_as_all_of_it():
    found = foreign.Seen("ns")
    found.take(event("pods", "ADDED", "j00000-main-0", 1, node=True, phase="Running"))
    assert [str(one) for one in found.requests] == [
        "(unknown) create pods j00000-main-0", "(unknown) create pods/binding j00000-main-0",
        "kubelet patch pods/status j00000-main-0"]


def test_the_job_is_open_from_the_first_change_of_its_podgroup():
    run = audit.Run(seen().requests, "ns")
    assert audit.opened(run, ["j00000"]) == {"j00000": 100.2}


def data(source):
    return {"kind": "foreign", "shape": {"jobs": 1, "pods": 2}, "source": source, "beside": [],
            "provenance": {"date": "2026-01-02T03:04:05", "commit": "abc"},
            "runs": [{"mode": "foreign", **summary(), "usage": {}}]}


def test_the_report_says_how_watches_differ():
    text = foreign.markdown(data("watch"), None)
    assert "refused creates, conflicts, clients and latencies are not seen" in text
    assert "How the requests ran" not in text
    text = foreign.markdown(data("audit"), None)
    assert "How the requests ran" in text


def test_processes_are_told_if_they_are_named():
    found = data("watch")
    assert "No process was named" in foreign.markdown(found, None)
    found["runs"][0]["usage"] = {"theirs": {"cpu_s": 1.5, "rss_peak_mib": 30.0}}
    assert "| theirs | 1.50 | 30.0 |" in foreign.markdown(found, None)


def test_a_named_process_has_to_run():
    mine = foreign.LocalProcess(f"me={os.getpid()}")
    assert mine.running() and mine.name == "me" and mine.cpu_seconds() > 0
    for text in ("me", "me=x", "me=", f"me={2 ** 22 + 1}"):
        with pytest.raises(foreign.BenchError, match="give NAME=PID"):
            foreign.LocalProcess(text)


def kubeconfig(path, user):
    path.write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "k", "cluster": {
            "server": "https://10.0.0.1:6443",
            "certificate-authority-data": base64.b64encode(b"the authority").decode()}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}))
    return path


def test_certificates_of_a_kubeconfig_are_written_for_the_generator(tmp_path):
    data_of = {key: base64.b64encode(key.encode()).decode()
               for key in ("client-certificate-data", "client-key-data")}
    folder = tmp_path / "out"
    server = foreign.credentials(kubeconfig(tmp_path / "config", data_of), folder)
    assert server == "https://10.0.0.1:6443"
    assert (folder / "ca.crt").read_text() == "the authority"
    assert (folder / "admin.key").read_text() == "client-key-data"
    assert not (folder / "admin.token").exists()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_token_of_a_kubeconfig_is_written_without_its_prefix(tmp_path):
    folder = tmp_path / "out"
    foreign.credentials(kubeconfig(tmp_path / "config", {"token": "secret"}), folder)
    assert (folder / "admin.token").read_text() == "secret"
    assert not (folder / "admin.crt").exists()


def test_beside_is_what_is_drawn_of_the_same_shape_alone(tmp_path):
    ours = data_of()
    ours["triples"].append({**ours["triples"][0], "ratio": 9.0})
    ours["used"] = [0, 1]
    rawdata.save(tmp_path / "a.json", ours)
    found = foreign.beside([tmp_path / "a.json"], Shape(2, 2))
    assert [made["ratio"] for made in found[0]["triples"]] == [1.0]
    assert plots.series_of({**data("watch"), "beside": found})[1].label == "beside: Pumice"
    assert foreign.beside([tmp_path / "a.json"], Shape(2, 3)) == []


def test_a_line_is_printed_about_a_foreign_run():
    assert "2 pods created" in report.progress("1x2, 1", data("watch")["runs"][0])
