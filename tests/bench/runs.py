"""Single runs of a fan-out shape on a real control plane: the bare limit, and our binaries.

`Bench` owns the control plane, with nodes, CRDs, webhooks and our webhook process; controller and
scheduler run in our runs alone. All runs share the API server and the nodes, each has its own
namespace, which is emptied and deleted after it. A run is a dictionary that JSON can hold: what
audit.summarise says, what loadgen saw, CPU and memory of each process.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from harness.api import Api  # noqa: E402
from harness.objects import job, task  # noqa: E402
from harness.pumice import Pumice  # noqa: E402
from harness.report import describe  # noqa: E402
from harness.wait import wait_until  # noqa: E402
from cluster import ControlPlane  # noqa: E402  (harness puts its folder on the path)
from cluster_process import ProcessError  # noqa: E402

import audit  # noqa: E402

PODS_PER_NODE = 110
QUIET = 2.5  # seconds without a write in the namespace that end a run
BIND = b'"subresource":"binding"'


class BenchError(RuntimeError):
    """A run that did not come to its end, so that there is nothing to measure."""


class AuditFollower:
    """Reads what is appended to the audit log from now on, without parsing it."""

    def __init__(self, path, namespace):
        self._file = open(path, "rb")
        self._file.seek(0, 2)
        self._rest = b""
        self._mark = f'"namespace":"{namespace}"'.encode()
        self.lines = []
        self.binds = 0
        self.last = time.monotonic()  # of a write in the namespace

    def poll(self):
        """Takes in what is new."""
        text = self._rest + self._file.read()
        *lines, self._rest = text.split(b"\n")
        for line in lines:
            self.lines.append(line)
            if self._mark in line:
                self.last = time.monotonic()
                self.binds += BIND in line

    def quiet(self):
        """For how many seconds nobody has written in the namespace."""
        return time.monotonic() - self.last

    def close(self):
        """Closes the log."""
        self._file.close()


class Usage:
    """CPU time and peak memory of processes from here on."""

    def __init__(self, processes):
        self.processes = [process for process in processes if process.running()]
        self._begin = {process.name: process.cpu_seconds() for process in self.processes}
        for process in self.processes:
            # Makes the present size the peak.
            Path(f"/proc/{process.pid()}/clear_refs").write_text("5")

    def read(self):
        """{name: {"cpu_s": ..., "rss_peak_mib": ...}}; raises BenchError if one has ended."""
        found = {}
        for process in self.processes:
            if not process.running():
                raise BenchError(f"{process.name} ended during the run. Log: {process.log}")
            found[process.name] = {"cpu_s": process.cpu_seconds() - self._begin[process.name],
                                   "rss_peak_mib": peak_kib(process.pid()) / 1024}
        return found


def peak_kib(pid):
    """The peak of a process's resident memory in KiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise BenchError(f"/proc/{pid}/status has no VmHWM")


class Bench:
    """The control plane and the product of a benchmark. Use it in a `with` statement."""

    def __init__(self, folder, options):
        self.folder = Path(folder)
        self.options = options
        self.loadgen = self.folder / "loadgen"
        self.plane = ControlPlane(self.folder, audit=True, tied=True)
        self.product = None
        self.api = None
        self._number = 0

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.plane.stop()
            raise
        return self

    def __exit__(self, *_):
        if self.product:
            self.product.kill()
        if self.api:
            self.api.close()
        self.plane.stop()

    def _start(self):
        subprocess.run([HERE / "loadgen" / "build", self.loadgen], check=True)
        self.plane.start()
        self.api = Api(self.plane)
        product = Pumice(self.plane, tied=True)
        product.apply_manifests()
        self.plane.start_kwok()
        nodes = self.options.nodes
        self.plane.add_nodes(nodes, pods=PODS_PER_NODE, wait=60 + nodes)
        if self.options.bare_only:
            self.plane.create("/apis/scheduling.volcano.sh/v1beta1/queues", {
                "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
                "metadata": {"name": "default"}, "spec": {"weight": 1}})
            return
        self.product = product
        product.start()
        self._stop_pair()

    # Runs

    def run(self, mode):
        """One run, mode "bare" or "ours"; raises BenchError if it does not come to its end."""
        self._number += 1
        namespace = self.api.make_namespace(f"{mode}-{self._number}")
        if mode == "ours":
            self._start_pair()
        self._settle()
        follower = AuditFollower(self.plane.audit_log, namespace)
        usage = Usage(self._processes())
        try:
            seen = self._loadgen(mode, namespace)
            self._wait_end(namespace, follower)
            used = usage.read()
            self._check_end(mode, namespace)
        finally:
            follower.close()
        run = audit.summarise(audit.parse(follower.lines), namespace, self.options.jobs,
                              self.options.pods)
        self._clean(mode, namespace)
        return {"mode": mode, "namespace": namespace, **run, "usage": used, "loadgen": seen}

    def _processes(self):
        ours = self.product.all if self.product else ()
        return [self.plane.process(name) for name in ("kube-apiserver", "etcd", "kwok",
                                                      "kube-controller-manager")] + list(ours)

    def _loadgen(self, mode, namespace):
        options = self.options
        command = [self.loadgen, "bare" if mode == "bare" else "submit",
                   f"--server={self.plane.server}", f"--pki={self.plane.pki.folder}",
                   f"--namespace={namespace}", f"--jobs={options.jobs}", f"--pods={options.pods}",
                   f"--nodes={options.nodes}", f"--in-flight={32 if mode == 'bare' else 16}"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise BenchError(f"the {mode} run failed: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def _wait_end(self, namespace, follower):
        """Waits until all pods are bound and nobody writes in the namespace any more."""
        wanted = self.options.jobs * self.options.pods
        deadline = time.monotonic() + self.options.timeout
        follower.poll()
        while follower.binds < wanted or follower.quiet() < QUIET:
            if time.monotonic() > deadline:
                raise BenchError(
                    f"after {self.options.timeout:.0f} s there are {follower.binds} binds of "
                    f"{wanted}, and the last write was {follower.quiet():.1f} s ago.\n"
                    + describe(self.api, namespace, self.product))
            time.sleep(0.25)
            follower.poll()

    def _check_end(self, mode, namespace):
        """All pods have to run, and all jobs have to say so."""
        running = sum(pod["status"].get("phase") == "Running" for pod in self.api.pods(namespace))
        wanted = self.options.jobs * self.options.pods
        phases = [one.get("status", {}).get("state", {}).get("phase")
                  for one in self.api.jobs(namespace)]
        if running != wanted or phases != ["Running"] * self.options.jobs:
            raise BenchError(f"the {mode} run ended with {running} running pods of {wanted} and "
                             f"the jobs in the phases {phases}")

    # Around them

    def _start_pair(self):
        """Starts controller and scheduler, and sees a small job through to know that they lead."""
        self.product.controller.start()
        self.product.scheduler.start()
        namespace = self.api.make_namespace(f"probe-{self._number}")
        self.api.create_job(namespace, job("probe", [task("main", 1)]))
        self.api.wait_phase(namespace, "probe", "Running", timeout=60)
        self._remove(namespace)

    def _stop_pair(self):
        for binary in (self.product.scheduler, self.product.controller):
            code = binary.stop()
            if code:
                raise ProcessError(f"{binary.name} ended with exit code {code} on SIGTERM. "
                                   f"Log: {binary.log}")

    def _clean(self, mode, namespace):
        if mode == "ours":
            self._stop_pair()
        self._remove(namespace)

    def _remove(self, namespace):
        """Deletes a namespace and waits until it is gone."""
        self.api.remove_namespace(namespace, timeout=180)

        def gone():
            names = [found.metadata.name for found in self.api.core.list_namespace().items]
            return namespace not in names
        wait_until(gone, 180, f"namespace {namespace} is gone", interval=0.5)

    def _settle(self, quiet=0.15, timeout=20):
        """Waits until the API server has nothing left to do, at most `timeout` seconds."""
        server = self.plane.process("kube-apiserver")
        deadline = time.monotonic() + timeout
        before = server.cpu_seconds()
        while time.monotonic() < deadline:
            time.sleep(1)
            now = server.cpu_seconds()
            if now - before < quiet:
                return
            before = now
