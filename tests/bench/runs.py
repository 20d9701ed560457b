"""Single runs of a fan-out shape: the bare limit, and our binaries.

A `Runner` knows how a run goes; `Bench` owns a control plane for it, with nodes, CRDs, webhooks and
our webhook process, and starts controller and scheduler in our runs alone. All runs share the API
server and the nodes, each has its own namespace, which is emptied and deleted after it. A run is a
dictionary that JSON can hold: what audit.summarise says, what loadgen saw, CPU and memory of each
process.
"""

import json
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

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
import costs  # noqa: E402
import shapes  # noqa: E402

QUIET = 2.5  # seconds without a write in the namespace that end a run
BARE_MODES = ("bare", "in-turn")  # loadgen plays controller and scheduler
LOADGEN = {"bare": "bare", "in-turn": "bare", "probe": "probe"}  # what it is called with: or submit
WRITE = re.compile(rb'"verb":"(create|update|patch|delete|deletecollection)"')
BIND = re.compile(rb'"subresource":"binding".*"code":201')
CREATE = re.compile(rb'"verb":"create".*"resource":"pods","namespace":"[^"]*","name":"j[^"]*",'
                    rb'(?!.*"subresource").*"code":201')


class BenchError(RuntimeError):
    """A run that did not come to its end, so that there is nothing to measure."""


class AuditFollower:
    """Reads what is appended to the audit log from now on, without parsing it."""

    def __init__(self, path, namespace):
        self._file = open(path, "rb")
        self._file.seek(0, 2)
        self._rest = b""
        self._mark = f'"namespace":"{namespace}"'.encode()
        self._lines = []
        self.binds = self.creates = 0  # creates are of pods, those of probes left out
        self._last = time.monotonic()  # of a write in the namespace

    def poll(self):
        """Takes in what is new."""
        text = self._rest + self._file.read()
        *lines, self._rest = text.split(b"\n")
        for line in lines:
            self._lines.append(line)
            if self._mark in line and WRITE.search(line):
                self._last = time.monotonic()
                self.binds += BIND.search(line) is not None
                self.creates += CREATE.search(line) is not None

    def quiet(self):
        """For how many seconds nobody has written in the namespace."""
        return time.monotonic() - self._last

    def requests(self):
        """All that was read, as audit.parse gives it."""
        return audit.parse(self._lines)

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


class Session(NamedTuple):
    """What a run happens in."""

    namespace: str
    follower: AuditFollower
    usage: Usage
    before: dict  # costs.sample() of the begin


class Runner:
    """How a run goes. `plane` has a server, pki and kubeconfig; `product` is None if not ours."""

    def __init__(self, folder, options):
        self.folder = Path(folder)
        self.options = options
        self.loadgen = self.folder / "loadgen"
        self.plane = self.product = self.api = None
        self._number = 0

    # What kinds of runners differ in

    def follow(self, namespace):
        """A follower of what is written in a namespace from now on."""
        return AuditFollower(self.plane.audit_log, namespace)

    def processes(self):
        """The processes whose CPU and memory are of interest."""
        raise NotImplementedError

    def counters(self):
        """Counters of the API server and etcd, if they can be seen."""
        return {}

    def prepare(self, mode):
        """Makes everything ready for a run."""

    def rest(self, mode):
        """Is called after a run, before its namespace is deleted."""

    # Runs

    def run(self, mode, shape, **flags):
        """One run; flags are more of loadgen. Raises BenchError if it does not come to its end."""
        with self.session(mode, shape) as session:
            seen = self.generate(self.loadgen_command(mode, shape, session.namespace, **flags))
            self.wait_end(shape, session, shape.total)
            used = session.usage.read()
            cost = costs.difference(session.before, self.counters())
            self.check_end(mode, shape, session.namespace)
            run = audit.summarise(session.follower.requests(), session.namespace, *shape)
        return {"mode": mode, "namespace": session.namespace, **run, "usage": used, "costs": cost,
                "loadgen": seen}

    @contextmanager
    def session(self, mode, shape):
        """A fresh namespace, followed; it is emptied and deleted after a run that did not fail."""
        self._number += 1
        namespace = self.api.make_namespace(f"{mode}-{self._number}")
        self.prepare(mode)
        before = self.counters()
        follower = self.follow(namespace)
        try:
            yield Session(namespace, follower, Usage(self.processes()), before)
        finally:
            follower.close()
        self.rest(mode)
        self.remove(namespace, 180 + shape.total / 20)

    def loadgen_command(self, mode, shape, namespace, **more):
        """The command line of loadgen for a run; more are flags that are added or replaced."""
        bare = mode in BARE_MODES
        flags = {"server": self.plane.server, "pki": self.plane.pki.folder, "namespace": namespace,
                 "jobs": shape.jobs, "pods": shape.pods, "nodes": self.options.nodes,
                 "in-flight": 32 if bare else 16, **more}
        if mode == "in-turn":
            flags["order"] = "in-turn"
        return [str(self.loadgen), LOADGEN.get(mode, "submit"),
                *(f"--{name}={value}" for name, value in flags.items())]

    def generate(self, command):
        """Runs loadgen to its end; gives what it saw."""
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise BenchError(f"{' '.join(command[:2])} failed: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def timeout(self, shape):
        """The seconds that a run of a shape may take."""
        return self.options.timeout or 120 + shape.total / 20

    def wait_end(self, shape, session, wanted):
        """Waits until all pods are bound and nobody writes in the namespace any more."""
        follower, timeout = session.follower, self.timeout(shape)
        deadline = time.monotonic() + timeout
        follower.poll()
        while follower.binds < wanted or follower.quiet() < QUIET:
            if time.monotonic() > deadline:
                raise BenchError(
                    f"after {timeout:.0f} s there are {follower.binds} binds of {wanted}, and the "
                    f"last write was {follower.quiet():.1f} s ago.\n"
                    + describe(self.api, session.namespace, self.product))
            time.sleep(0.25)
            follower.poll()

    def check_end(self, mode, shape, namespace):
        """All pods have to run, and all jobs have to say so."""
        running = sum(pod["status"].get("phase") == "Running" for pod in self.api.pods(namespace))
        phases = [one.get("status", {}).get("state", {}).get("phase")
                  for one in self.api.jobs(namespace)]
        if running != shape.total or phases != ["Running"] * shape.jobs:
            raise BenchError(f"the {mode} run ended with {running} running pods of {shape.total} "
                             f"and {phases.count('Running')} running jobs of {shape.jobs}")

    def remove(self, namespace, timeout):
        """Deletes a namespace and waits until it is gone."""
        def emptied():  # so many objects may take longer than one request may
            self.api.remove_namespace(namespace, timeout=timeout)
            return True
        wait_until(emptied, timeout, f"namespace {namespace} is emptied", interval=0.5)

        def gone():
            names = [found.metadata.name for found in self.api.core.list_namespace().items]
            return namespace not in names
        wait_until(gone, timeout, f"namespace {namespace} is gone", interval=0.5)


class Bench(Runner):
    """The control plane and the product of a benchmark. Use it in a `with` statement."""

    def __init__(self, folder, options):
        super().__init__(folder, options)
        policy = f"--audit-policy-file={HERE / 'audit-policy.yaml'}"
        self.plane = ControlPlane(self.folder, audit=True, tied=True, apiserver_args=[
            policy, "--delete-collection-workers=16"])  # namespaces are emptied after each run

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
        self.plane.add_nodes(nodes, pods=shapes.PODS_PER_NODE + 10, wait=60 + nodes)
        if self.options.bare_only:
            self.plane.create("/apis/scheduling.volcano.sh/v1beta1/queues", {
                "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
                "metadata": {"name": "default"}, "spec": {"weight": 1}})
            return
        self.product = product
        product.start()
        self._stop_pair()

    def processes(self):
        ours = self.product.all if self.product else ()
        return [self.plane.process(name) for name in ("kube-apiserver", "etcd", "kwok",
                                                      "kube-controller-manager")] + list(ours)

    def counters(self):
        return costs.sample(self.plane)

    def prepare(self, mode):
        if mode not in BARE_MODES:
            self._start_pair()
        self._settle()

    def rest(self, mode):
        if mode not in BARE_MODES:
            self._stop_pair()

    def _start_pair(self):
        """Starts controller and scheduler, and sees a small job through to know that they lead."""
        self.product.controller.start()
        self.product.scheduler.start()
        namespace = self.api.make_namespace(f"first-{self._number}")
        self.api.create_job(namespace, job("first", [task("main", 1)]))
        self.api.wait_phase(namespace, "first", "Running", timeout=60)
        self.remove(namespace, 180)

    def _stop_pair(self):
        for binary in (self.product.scheduler, self.product.controller):
            code = binary.stop()
            if code:
                raise ProcessError(f"{binary.name} ended with exit code {code} on SIGTERM. "
                                   f"Log: {binary.log}")

    def _settle(self, quiet=0.15, timeout=60):
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
