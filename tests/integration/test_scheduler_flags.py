"""The flags of the reference's scheduler: each is obeyed, or accepted with a line in the log that says why
it has no effect."""

import json
import re
import signal
import subprocess

import pytest

from harness.pumice import address, build_folder, find_binary
from harness.wait import wait_until

OBEYED = {
    "master": "https://127.0.0.1:1", "scheduler-name": "volcano", "scheduler-conf": "{conf}",
    "default-queue": "default", "node-selector": "pool:batch", "listen-address": "127.0.0.1:0",
    "healthz-address": "127.0.0.1:0", "enable-healthz": "true", "enable-metrics": "true",
    "kube-api-qps": "2000", "kube-api-burst": "2000", "leader-elect": "true",
    "leader-elect-lease-duration": "15s", "leader-elect-renew-deadline": "10s",
    "leader-elect-retry-period": "2s", "leader-elect-resource-name": "volcano",
    "leader-elect-resource-namespace": "volcano-system", "lock-object-namespace": "volcano-system",
    "disable-default-scheduler-config": "false", "v": "3",
}
WITHOUT_EFFECT = {
    "ca-cert-file": "/ca.crt", "tls-cert-file": "/tls.crt", "tls-private-key-file": "/tls.key",
    "schedule-period": "1s", "resync-period": "0", "resource-sync-timeout": "60s",
    "minimum-feasible-nodes": "100", "minimum-percentage-nodes-to-find": "5",
    "percentage-nodes-to-find": "0", "plugins-dir": "/plugins", "cache-dump-dir": "/tmp",
    "node-worker-threads": "20", "gate-removal-worker-num": "5",
    "ignored-provisioners": "example.com/a,example.com/b", "feature-gates": "WorkLoadSupport=true",
    "scheduler-sharding-mode": "none", "scheduler-sharding-name": "volcano",
    "leader-elect-resource-lock": "leases", "log-flush-frequency": "5s", "log_dir": "/tmp",
    "log_file": "/tmp/log", "log_file_max_size": "1800", "log_backtrace_at": ":0",
    "stderrthreshold": "2", "vmodule": "a=1",
}
SWITCHES = ["csi-storage", "priority-class", "enable-pprof", "cache-dumper", "logtostderr",
            "alsologtostderr", "add_dir_header", "skip_headers", "skip_log_headers", "one_output"]


@pytest.fixture
def start(tmp_path):
    """start(*flags): the process, and a function that reads its log. There is no API server."""
    config = {"current-context": "a",
              "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
              "clusters": [{"name": "a", "cluster": {"server": f"https://{address()}"}}],
              "users": [{"name": "a", "user": {"token": "t"}}]}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    log = tmp_path / "log"
    running = []

    def begin(*flags):
        with log.open("wb") as out:
            running.append(subprocess.Popen(
                [find_binary(build_folder(), "pumice-scheduler"), f"--kubeconfig={kubeconfig}",
                 *flags], stdout=out, stderr=out))
        return running[-1], log.read_text
    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
            process.wait(20)


def test_each_flag_of_the_reference(start, tmp_path):
    """All at once; switches stand without a value, and do not take the flag behind them for one."""
    conf = tmp_path / "conf"
    conf.write_text('actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: gang\n')
    valued = {**OBEYED, "scheduler-conf": str(conf), **WITHOUT_EFFECT}
    process, log = start(*(f"--{name}" for name in SWITCHES),
                         *(f"--{name}={value}" for name, value in valued.items()))
    wait_until(lambda: "https://127.0.0.1:1" in log() or process.poll() is not None, 30,
               "the scheduler to look for an API server")
    assert process.poll() is None, log()
    told = set(re.findall(r"flag has no effect flag=--(\S+) reason=", log()))
    assert told == {name.replace("_", "-") for name in [*WITHOUT_EFFECT, *SWITCHES]}


def test_signals_for_dumps_do_not_end_it(start):
    process, log = start("--leader-elect=false", "--enable-healthz=false", "--enable-metrics=false")
    wait_until(lambda: log() != "" or process.poll() is not None, 30, "a line in the log")
    process.send_signal(signal.SIGUSR1)
    process.send_signal(signal.SIGUSR2)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0, log()


@pytest.mark.parametrize("selector", ["pool", ":batch", ""])
def test_a_node_selector_that_is_none(start, selector):
    process, log = start("--leader-elect=false", f"--node-selector={selector}")
    assert process.wait(30) == 1
    assert f'flag --node-selector: "{selector}" is not key:value' in log().replace('\\"', '"')


@pytest.fixture
def scheduler(pumice):
    """The scheduler, whose flags are as before when the test ends."""
    before = dict(pumice.scheduler.flags)
    yield pumice.scheduler
    pumice.scheduler.flags = before
    pumice.scheduler.restart()


def test_the_lease_has_one_name_whatever_that_of_the_scheduler(controlplane, scheduler):
    """Else a rollout that changes the name would have two that decide, and the second no right to its Lease."""
    leases = "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases"

    def holders():
        return {one["metadata"]["name"]: one["spec"].get("holderIdentity")
                for one in controlplane.request("GET", leases)["items"]}
    before = holders()["volcano"]
    scheduler.flags["scheduler-name"] = "other"
    scheduler.restart()
    wait_until(lambda: holders()["volcano"] not in (before, "", None), 30, lambda: f"another leader: {holders()}")
    assert "other" not in holders()
