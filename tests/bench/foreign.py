"""The same shapes on a cluster that is there already, with the controller and scheduler that run in it.

Nothing is installed and nothing but a namespace of its own for each run is touched. What happens is
read from the API server's audit log if its path is given, and else seen through watches; then a time
is when an event arrived here, and what no watch shows is unknown: refused requests, clients, latencies.
"""

import json
import shutil
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

import kubernetes

import audit
import output
import rawdata
import report
import verdicts
from runs import HERE, Api, AuditFollower, BenchError, Runner

from cluster_process import Process, start_time  # runs puts its folder on the path

NAME = "foreign"
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30  # seconds that writes may go on after all is bound and runs
UNKNOWN = audit.UNKNOWN
WATCHED = {  # what each event of a watch stands for: resource and type
    ("jobs", "ADDED"): ("user", "create", "jobs"),
    ("jobs", "MODIFIED"): (UNKNOWN, "update", "jobs/status"),
    ("podgroups", "ADDED"): (UNKNOWN, "create", "podgroups"),
    ("podgroups", "MODIFIED"): (UNKNOWN, "update", "podgroups"),
    ("pods", "ADDED"): (UNKNOWN, "create", "pods"),
}
DEFINITIONS = {
    "audit": "From the audit log, as in reports of our own runs. *running* is the first write of a pod's "
             "status by the agent of its node, which with others than KWOK may not say Running yet.",
    "watch": "Seen through watches, since no audit log was given: a time is when the event arrived here, so "
             "all times are later by what the API server and this machine take to deliver it. *pod POSTs* "
             "are pods that came to be: refused creates, conflicts, clients and latencies are not seen. "
             "*Job + PodGroup writes* are versions of these objects, refused writes not among them. "
             "*running* is the first event with that phase.",
}


def add_arguments(parser):
    """Its part of the command line."""
    parser.add_argument("--foreign", type=Path, metavar="KUBECONFIG",
                        help="run on that cluster, with the controller and scheduler that run there")
    parser.add_argument("--audit-log", type=Path,
                        help="the API server's audit log of --foreign, if it can be read here")
    parser.add_argument("--process", action="append", default=[], metavar="NAME=PID",
                        help="a process of --foreign on this machine whose CPU and memory are told; "
                             "repeatable")
    parser.add_argument("--beside", type=Path, action="append", default=[], metavar="RAW.json",
                        help="raw data of the same shape that is drawn beside --foreign")


# The cluster


class LocalProcess(Process):
    """A process that somebody else has started."""

    def __init__(self, text):
        name, equals, pid = text.rpartition("=")
        if not equals or not pid.isdecimal() or start_time(int(pid)) is None:
            raise BenchError(f"--process {text}: give NAME=PID of a process that runs")
        super().__init__("/", name)
        self._pid, self._began = int(pid), start_time(int(pid))

    def pid(self):
        return self._pid if start_time(self._pid) == self._began else None


def credentials(kubeconfig, folder):
    """Writes what loadgen needs of a kubeconfig's current context; returns the server's URL."""
    found = kubernetes.client.Configuration()
    kubernetes.config.load_kube_config(str(kubeconfig), client_configuration=found)
    folder.mkdir(mode=0o700, exist_ok=True)
    for source, name in ((found.ssl_ca_cert, "ca.crt"), (found.cert_file, "admin.crt"),
                         (found.key_file, "admin.key")):
        if source:
            shutil.copy(source, folder / name)
    token = found.auth_settings().get("BearerToken", {}).get("value")
    if token:
        (folder / "admin.token").touch(mode=0o600)
        (folder / "admin.token").write_text(token.removeprefix("Bearer "))
    return found.host


class Seen:
    """The requests that events of watches stand for."""

    def __init__(self, namespace):
        self._namespace = namespace
        self._known = set()
        self.requests = []
        self.binds = 0

    def take(self, event):
        """Takes in one event."""
        resource, kind = event["resource"], event["type"]
        if (resource, kind) in WATCHED:
            self._add(event, *WATCHED[resource, kind])
        if resource != "pods" or kind == "DELETED":
            return
        if event["node"] and self._first(event, "bound"):
            self.binds += 1
            self._add(event, UNKNOWN, "create", "pods/binding")
        if event["phase"] == "Running" and self._first(event, "running"):
            self._add(event, "kubelet", "patch", "pods/status")

    def _first(self, event, fact):
        """True if that was not yet known of the pod."""
        before = len(self._known)
        self._known.add((event["name"], fact))
        return len(self._known) > before

    def _add(self, event, client, verb, resource):
        self.requests.append(audit.Request.made(client, verb, resource, self._namespace,
                                                event["name"], event["t"]))


class WatchFollower:
    """What loadgen watch tells of a namespace; stands in for the follower of an audit log."""

    def __init__(self, command, namespace, folder):
        path = folder / f"watch-{namespace}.jsonl"
        self._errors = folder / f"watch-{namespace}.err"
        with open(path, "wb") as out, open(self._errors, "wb") as errors:
            self._child = subprocess.Popen(command, stdout=out, stderr=errors)
        self._file = open(path, "rb")
        self._rest = b""
        self._seen = Seen(namespace)
        self._last = time.monotonic()
        self._ready = False
        while not self._ready:
            time.sleep(0.05)
            self.poll()

    @property
    def binds(self):
        """How many pods are bound."""
        return self._seen.binds

    def poll(self):
        """Takes in what is new."""
        if self._child.poll() is not None:
            raise BenchError(f"loadgen watch ended: {self._errors.read_text().strip()}")
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for event in map(json.loads, lines):
            self._last = time.monotonic()
            self._ready = self._ready or event["type"] == "READY"
            self._seen.take(event)

    def quiet(self):
        """For how many seconds nothing has changed in the namespace."""
        return time.monotonic() - self._last

    def requests(self):
        """The events as requests, in order."""
        return sorted(self._seen.requests, key=lambda request: request.begin)

    def close(self):
        """Ends the watch."""
        self._child.terminate()
        self._child.wait()
        self._file.close()


class Foreign(Runner):
    """Runs on somebody else's cluster. Use it in a `with` statement."""

    def __init__(self, folder, options):
        super().__init__(folder, options)
        self._processes = [LocalProcess(text) for text in options.process]

    def __enter__(self):
        subprocess.run([HERE / "loadgen" / "build", self.loadgen], check=True)
        pki = self.folder / "credentials"
        self.plane = SimpleNamespace(
            server=credentials(self.options.foreign, pki), pki=SimpleNamespace(folder=pki),
            kubeconfig=lambda _user: self.options.foreign, audit_log=self.options.audit_log)
        self.api = Api(self.plane)
        self._number = int(time.time())  # nobody else's namespace has that name
        return self

    def __exit__(self, *_):
        self.api.close()
        shutil.rmtree(self.folder / "credentials", ignore_errors=True)

    def follow(self, namespace):
        if self.options.audit_log:
            return AuditFollower(self.plane.audit_log, namespace)
        words = [f"--server={self.plane.server}", f"--pki={self.plane.pki.folder}",
                 f"--namespace={namespace}"]
        return WatchFollower([str(self.loadgen), "watch", *words], namespace, self.folder)

    def processes(self):
        return self._processes

    def wait_end(self, shape, session, wanted):
        """Waits until all pods are bound and run, and a while for the last writes."""
        follower = session.follower
        deadline = time.monotonic() + self.timeout(shape)
        while True:
            follower.poll()
            if follower.binds >= wanted and self._all_run(shape, session.namespace):
                break
            if time.monotonic() > deadline:
                raise BenchError(f"after {self.timeout(shape):.0f} s there are {follower.binds} binds "
                                 f"of {wanted}, or not all pods run")
            time.sleep(max(0.5, shape.total / 2000))  # a list of many pods is work for the server
        end = time.monotonic() + PATIENCE
        while follower.quiet() < 2.5 and time.monotonic() < end:
            time.sleep(0.25)
            follower.poll()

    def _all_run(self, shape, namespace):
        phases = [pod["status"].get("phase") for pod in self.api.pods(namespace)]
        return phases.count("Running") == shape.total

    def check_end(self, mode, shape, namespace):
        """wait_end has seen all pods run; what others' jobs say is theirs."""


# What is told


def checks(_data):
    """Nothing is required of others."""
    return []


def usage(runs):
    """CPU and memory, if processes were named."""
    if not any(run["usage"] for run in runs):
        return ["No process was named with `--process`."]
    return [report.usage({"measured": runs})]


def markdown(data, plot):
    """The report."""
    first, known = data["runs"][0], data["source"] == "audit"
    found = report.gangs(data)
    return "\n\n".join([
        f"# Fan-out {verdicts.shape_of(data).name} on a cluster that was there", report.origin(data),
        DEFINITIONS[data["source"]],
        *([report.image(plot, "Curves")] if plot else []),
        "## All runs", report.every_run(data),
        *(["## Complete gangs", report.IN_TURN, found] if found else []),
        "## CPU and memory", *usage(data["runs"]),
        *(["## How the requests ran", report.flow([first]), report.waiting(first)] if known else []),
        f"## {'Requests' if known else 'Events'} of the first run", report.requests(first)]) + "\n"


def beside(paths, shape):
    """What is drawn beside: of the raw data of the same shape that which a plot shows."""
    found = []
    for data in map(rawdata.load, paths):
        if verdicts.shape_of(data) != shape:
            continue
        if data.get("triples"):
            data = {**data, "triples": [verdicts.middle(data)], "used": [0], "in_turn": None}
        found.append(data)
    return found


def main(options, folder):
    """All runs of all shapes."""
    with Foreign(Path(folder), options) as runner:
        for shape in options.shapes:
            data = {"kind": NAME, "provenance": rawdata.provenance(ROOT, options.command),
                    "shape": {"jobs": shape.jobs, "pods": shape.pods}, "runs": [],
                    "source": "audit" if options.audit_log else "watch",
                    "beside": beside(options.beside, shape)}
            for number in range(options.triples):
                data["runs"].append(runner.run(NAME, shape))
                output.keep(sys.modules[__name__], data, options)
                print(report.progress(f"{shape.name}, {number + 1}", data["runs"][-1]), flush=True)
            data["finished"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
            output.publish(sys.modules[__name__], data, options)
    return 0
