"""One pod as a process: what a kubelet and a container runtime do from its binding to its end.

Arguments, environment, files, user, capabilities and the read-only root file system are those of the pod's spec; the
image says which of our binaries it is. What is not understood here is refused, so that no manifest is run with half of
what it says.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timezone

from cluster import ApiError
from cluster_process import tail
from harness.container import expand
from harness.pumice import SANITIZER, find_binary

from . import ROOT
from .netns import GATEWAY, PodNetwork
from .probes import Probe
from .volumes import NotYet, Volume, field

TICK = 0.1
BACKOFF = 10  # seconds before the second restart; each later one waits twice as long

# Heeded here, or of no consequence for a process on the one node that there is.
POD_FIELDS = {
    "containers", "volumes", "serviceAccountName", "serviceAccount", "securityContext", "nodeName",
    "terminationGracePeriodSeconds", "restartPolicy", "enableServiceLinks", "automountServiceAccountToken",
    "dnsPolicy", "priority", "priorityClassName", "preemptionPolicy", "schedulerName", "tolerations",
    "topologySpreadConstraints", "affinity", "nodeSelector"}
CONTAINER_FIELDS = {
    "name", "image", "imagePullPolicy", "args", "env", "ports", "livenessProbe", "readinessProbe", "startupProbe",
    "lifecycle", "resources", "securityContext", "volumeMounts", "terminationMessagePath", "terminationMessagePolicy"}
SECURITY_FIELDS = {"runAsNonRoot", "runAsUser", "runAsGroup", "seccompProfile", "allowPrivilegeEscalation",
                   "readOnlyRootFilesystem", "capabilities"}


def check_known(pod):
    """ValueError for a pod that asks for what is not done here."""
    spec = pod["spec"]
    if len(spec["containers"]) != 1:
        raise ValueError("pods of several containers are not known here")
    container = spec["containers"][0]
    security = {**spec.get("securityContext", {}), **container.get("securityContext", {})}
    unknown = ((spec.keys() - POD_FIELDS) | (container.keys() - CONTAINER_FIELDS) | (security.keys() - SECURITY_FIELDS)
               | (container.get("lifecycle", {}).keys() - {"preStop"})
               | (container.get("lifecycle", {}).get("preStop", {}).keys() - {"sleep"}))
    if unknown:
        raise ValueError(f"pod {pod['metadata']['name']}: {sorted(unknown)} are not known here")


def now():
    """The time as the API writes it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Pod(threading.Thread):
    """The pod `found`, until its object is gone. `node` is the Node that it runs on.

    update(found) tells of its changes, vanish() that it is no more. `exits` are the exit codes of its process so far.
    """

    def __init__(self, node, found):
        super().__init__(daemon=True, name=found["metadata"]["name"])
        check_known(found)
        self.node, self.found = node, found
        self.uid = found["metadata"]["uid"]
        self.folder = node.folder / f"{self.name}-{self.uid[:8]}"
        self.log = node.logs / f"{self.name}.log"
        self.container = found["spec"]["containers"][0]
        self.grace = found["spec"]["terminationGracePeriodSeconds"]
        self.exits, self.process, self.probes = [], None, {}
        self._vanished, self._halted = threading.Event(), threading.Event()
        self._start_at, self._waiting, self._status, self._begun = 0.0, "ContainerCreating", None, now()
        self._conditions, self._expected = {}, False

    # What others tell it

    def update(self, found):
        """The object has changed."""
        self.found = found

    def vanish(self):
        """The object is gone: nothing is left to run for."""
        self._vanished.set()

    def expect_end(self):
        """The next end of its process is nobody's fault."""
        self._expected = True

    def halt(self):
        """Ends the process at once, and leaves the object as it is."""
        self._halted.set()

    @property
    def terminating(self):
        """True once the object is being deleted."""
        return "deletionTimestamp" in self.found["metadata"]

    @property
    def ready(self):
        """True while its process runs and says that it is ready."""
        return self.process is not None and all(
            self.probes[kind].good for kind in ("startup", "readiness") if kind in self.probes)

    # Its life

    def run(self):
        try:
            self._prepare()
            while not (self.terminating or self._over()):
                self._tick()
                time.sleep(TICK)
            self._end()
        except Exception as error:  # pylint: disable=broad-except
            self.node.complain(f"pod {self.name}: {type(error).__name__}: {error}")
            self._kill()

    def _over(self):
        return self._vanished.is_set() or self._halted.is_set()

    def _prepare(self):
        self.network = PodNetwork()
        self.folder.mkdir(parents=True)
        self.volumes = {
            one["name"]: Volume(self.folder / "volumes" / one["name"], one, self.found, self.node.plane,
                                self.node.configmaps.named, self._secret)
            for one in self.found["spec"].get("volumes", [])}

    def _secret(self, name):
        namespace = self.found["metadata"]["namespace"]
        try:
            return self.node.plane.request("GET", f"/api/v1/namespaces/{namespace}/secrets/{name}")
        except ApiError as error:
            if error.code != 404:
                raise
        return None

    def _tick(self):
        if self.process is not None and self.process.poll() is not None:
            self._ended()
        if self.process is None and time.monotonic() >= self._start_at:
            self._start()
        if self.process is not None:
            self._refresh()
            self._probe()
        self._publish()

    # The process

    def _start(self):
        program = self._program()
        if program is None:
            self._waiting = "ErrImagePull"
            return
        if not self._refresh():
            return
        wanted = self.folder / "sandbox.json"
        wanted.write_text(json.dumps(self._sandbox(program)))
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "kubelet.sandbox", wanted], cwd="/", stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True,
                env={**os.environ, "PYTHONPATH": str(ROOT / "tests" / "operations")})
        self.probes = {kind: Probe(self.container[f"{kind}Probe"], self.container, self.network.address,
                                   good=kind == "liveness")
                       for kind in ("startup", "liveness", "readiness") if f"{kind}Probe" in self.container}

    def _refresh(self):
        """Brings all volumes up to date; False if something is missing. A container that runs keeps what it has."""
        try:
            for volume in self.volumes.values():
                volume.refresh()
        except NotYet:
            return False
        return True

    def _program(self):
        """The binary that the image is: its repository says which of ours, its tag of which build."""
        repository, _, tag = self.container["image"].rpartition(":")
        folder = self.node.releases.get(tag)
        return None if folder is None else find_binary(folder, repository.rsplit("/", 1)[1])

    def _sandbox(self, program):
        spec = self.found["spec"]
        security = {**spec.get("securityContext", {}), **self.container.get("securityContext", {})}
        if security.get("capabilities", {}).get("drop") != ["ALL"] or security["capabilities"].get("add"):
            raise ValueError("a container that keeps capabilities is not known here")
        root = self.folder / "root"
        root.mkdir(exist_ok=True)
        env = self._env()
        return {
            "netns": self.network.path, "host": self.name, "root": str(root), "folder": "/", "capabilities": [],
            "binds": [[str(program), f"/{program.name}", True], *self._mounts()],
            "read_only": security.get("readOnlyRootFilesystem", False),
            "user": security["runAsUser"], "group": security["runAsGroup"],
            "no_new_privileges": not security.get("allowPrivilegeEscalation", True), "env": env,
            "argv": [f"/{program.name}", *(expand(word, env) for word in self.container.get("args", []))]}

    def _mounts(self):
        for mount in self.container.get("volumeMounts", []):
            if mount.keys() - {"name", "mountPath", "readOnly", "recursiveReadOnly"}:
                raise ValueError(f"mounts like {mount} are not known here")
            yield [str(self.volumes[mount["name"]].folder), mount["mountPath"], mount.get("readOnly", False)]

    def _env(self):
        if self.found["spec"].get("enableServiceLinks", True):
            raise ValueError("variables of Services are not known here")
        # What every container gets; sanitizers are told from outside.
        sanitizers = {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}
        env = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443", "HOSTNAME": self.name,
               "PATH": "/usr/bin:/bin", **sanitizers}
        status = {"podIP": self.network.address, "hostIP": GATEWAY}
        for one in self.container.get("env", []):
            if "valueFrom" in one:
                env[one["name"]] = field({**self.found, "status": status}, one["valueFrom"]["fieldRef"]["fieldPath"])
            else:
                env[one["name"]] = expand(one.get("value", ""), env)
        return env

    def _probe(self):
        if "startup" in self.probes and not self.probes["startup"].good:
            self.probes["startup"].look()
            return
        for kind in ("readiness", "liveness"):
            if kind in self.probes:
                self.probes[kind].look()
        if "liveness" in self.probes and not self.probes["liveness"].good:
            self.node.complain(f"pod {self.name} is not live: {self.probes['liveness'].last}")
            self.process.terminate()
            self._wait_end(time.monotonic() + self.grace)

    def _ended(self):
        """The process has ended by itself: it is started again, later each time."""
        code = self.process.wait()
        self.exits.append(code)
        self.process, self.probes, self._waiting = None, {}, "CrashLoopBackOff"
        self._start_at = time.monotonic() + (0 if len(self.exits) == 1 else BACKOFF * 2 ** (len(self.exits) - 2))
        if not self._expected:
            self.node.complain(f"pod {self.name} ended by itself with {code}; its last lines:\n{tail(self.log)}")
        self._expected = False

    def _wait_end(self, deadline):
        while self.process.poll() is None and time.monotonic() < deadline and not self._over():
            time.sleep(TICK)
        if self.process.poll() is None:
            if not self._halted.is_set():
                self.node.complain(f"pod {self.name} outlived its grace period of {self.grace} s")
            self._kill()

    def _kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def _end(self):
        """preStop, SIGTERM, SIGKILL, all within the grace period of the deletion; then the object goes."""
        grace = self.found["metadata"].get("deletionGracePeriodSeconds", self.grace)
        deadline = time.monotonic() + grace
        if self.process is not None and not self._over():
            sleep = self.container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
            self._vanished.wait(min(sleep, grace))
            self.process.send_signal(signal.SIGTERM)
            self._wait_end(deadline)
        self._kill()
        if self.process is not None:
            self._judge_end(self.process.wait())
        if not self._over():
            self._delete()
        self.network.remove()

    def _judge_end(self, code):
        self.exits.append(code)
        if code != 0 and not self._halted.is_set():
            self.node.complain(f"pod {self.name} ended with {code} on SIGTERM; its last lines:\n{tail(self.log)}")
        if SANITIZER.search(self.log.read_text(errors="replace")):
            self.node.complain(f"pod {self.name} has a sanitizer report in {self.log}")

    def _delete(self):
        try:
            self.node.plane.request("DELETE", self._path(), {"gracePeriodSeconds": 0,
                                                             "preconditions": {"uid": self.uid}})
        except ApiError as error:
            if error.code not in (404, 409):
                raise

    # Its status

    def _path(self):
        return f"/api/v1/namespaces/{self.found['metadata']['namespace']}/pods/{self.name}"

    def _condition(self, kind, value):
        """A condition, with the time of its last change."""
        old = self._conditions.get(kind)
        if old is None or old["status"] != str(value):
            self._conditions[kind] = {"type": kind, "status": str(value), "lastTransitionTime": now()}
        return self._conditions[kind]

    def _publish(self):
        running = self.process is not None
        name, image = self.container["name"], self.container["image"]
        state = {"running": {"startedAt": self._begun}} if running else {"waiting": {"reason": self._waiting}}
        status = {
            "phase": "Running" if running or self.exits else "Pending", "startTime": self._begun, "hostIP": GATEWAY,
            "hostIPs": [{"ip": GATEWAY}], "podIP": self.network.address, "podIPs": [{"ip": self.network.address}],
            "conditions": [self._condition("PodReadyToStartContainers", True), self._condition("Initialized", True),
                           self._condition("ContainersReady", self.ready), self._condition("Ready", self.ready)],
            "containerStatuses": [{
                "name": name, "image": image, "imageID": image, "ready": self.ready, "started": running,
                "restartCount": len(self.exits), "state": state}]}
        text = json.dumps(status)
        if text == self._status:
            return
        body = {"metadata": {"uid": self.uid}, "status": status}
        try:
            self.node.plane.request("PATCH", f"{self._path()}/status", body,
                                    content_type="application/strategic-merge-patch+json")
        except ApiError as error:
            if error.code not in (404, 409):
                raise
        self._status = text
