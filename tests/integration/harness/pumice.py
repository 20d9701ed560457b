"""Our three binaries as processes against a control plane.

Their command lines are the arguments of the Deployments in manifests/install.yaml, with only that
changed which has to differ outside a pod: addresses, files, kubeconfig. So what is tested is what
is shipped. The webhooks are registered by URL instead of by Service.

PUMICE_BIN names the build folder (build/release by default).
"""

import http.client
import json
import os
import re
import signal
import time
from pathlib import Path

import yaml

from . import ROOT
from cluster_process import Process, ProcessError, free_port

WEBHOOK_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
SANITIZER = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:")

# A job that no version of the rules lets in: it has no tasks. (An empty list of them is refused by
# the schema before the webhook is asked.)
REFUSED_JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
               "metadata": {"name": "refused", "namespace": "default"},
               "spec": {"schedulerName": "volcano", "minAvailable": 1}}

# A job that every version of the rules lets in, once the queue "default" is known.
ADMITTED_JOB = {**REFUSED_JOB, "metadata": {"name": "admitted", "namespace": "default"},
                "spec": {"schedulerName": "volcano", "minAvailable": 1, "tasks": [
                    {"name": "t", "replicas": 1, "template": {"spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "c", "image": "busybox"}]}}}]}}


def build_folder():
    """The folder with our binaries."""
    return Path(os.environ.get("PUMICE_BIN", ROOT / "build" / "release")).resolve()


def find_binary(folder, name):
    """The path of a binary in a build folder or an installed one."""
    part = name.removeprefix("pumice-")
    for candidate in (folder / part / name, folder / "bin" / name, folder / name):
        if candidate.is_file():
            return candidate
    raise ProcessError(f"{folder} holds no {name}; build it, or set PUMICE_BIN to the folder that "
                       "holds our binaries")


def http_get(address, path, timeout=5):
    """GETs a path from HOST:PORT: (status, text). OSError if nobody answers, or not in HTTP."""
    connection = http.client.HTTPConnection(address, timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except http.client.HTTPException as error:
        raise OSError(f"{address} answers {path} with no HTTP: {error}") from None
    finally:
        connection.close()


class Binary(Process):
    """One of our binaries. `flags` may be changed before a start; a value of None drops a flag, a
    list repeats it."""

    def __init__(self, pumice, name, kubeconfig, flags, metrics_flag, replica=""):
        super().__init__(pumice.plane.folder, name + replica)
        self.pumice = pumice
        self.program = name
        self.identity = Path(kubeconfig).name
        self.flags = {"kubeconfig": str(kubeconfig), **flags}
        self.metrics_flag = metrics_flag
        self._wanted = False

    def command(self):
        """The command line."""
        words = [find_binary(self.pumice.bin, self.program)]
        for name, value in self.flags.items():
            for one in value if isinstance(value, list) else [value]:
                if one is not None:
                    words.append(("-" if len(name) == 1 else "--") + f"{name}={one}")
        return words

    def start(self, ready=True, timeout=30, env=None):
        """Starts the binary and waits until /readyz says so (ready=False: does not wait)."""
        super().start(self.command(), env=env, tied=self.pumice.tied)
        self._wanted = True
        if ready:
            self.wait_ready(self.is_ready, timeout)
        return self

    def stop(self, timeout=40):
        """Ends it with SIGTERM, which it must obey; returns its exit code."""
        self._wanted = False
        self.signal(signal.SIGTERM)
        if not self.wait(timeout):
            self.kill()
            raise ProcessError(f"{self.name} did not end within {timeout} s of SIGTERM. "
                               f"Log: {self.log}")
        self.pid_file.unlink(missing_ok=True)
        return self.exit_code()

    def kill9(self):
        """Ends it with SIGKILL."""
        self._wanted = False
        self.kill()

    def restart(self, **options):
        """Stops it with SIGTERM and starts it again on its addresses."""
        self.stop()
        return self.start(**options)

    def complaint(self):
        """Why this binary fails a test even if the test saw nothing, or None."""
        if self._wanted and not self.running():
            return f"{self.name} ended by itself, exit code {self.exit_code()}"
        found = SANITIZER.search(self.log_text())
        return f"{self.name} has a sanitizer report in {self.log}" if found else None

    def log_text(self):
        """All that it has logged so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def get(self, path, flag="healthz-address", timeout=5):
        """GETs a path from the address in a flag: (status, text). OSError if it does not answer."""
        return http_get(self.flags[flag], path, timeout)

    def is_ready(self):
        """True if /readyz answers 200."""
        try:
            return self.get("/readyz")[0] == 200
        except OSError:
            return False

    def metrics(self):
        """The metrics: {"name" or "name{labels}": value}."""
        found = {}
        for line in self.get("/metrics", self.metrics_flag)[1].splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                found[name] = float(value)
        return found


class Pumice:
    """The three binaries: `webhook`, `controller`, `scheduler`.

    Several of a control plane need different names of their `replica`, as in "-b": log and pid files
    have it.
    """

    def __init__(self, plane, folder=None, manifests=ROOT / "manifests", tied=False, replica=""):
        self.plane = plane
        self.bin = Path(folder) if folder else build_folder()
        self.tied = tied
        self.replica = replica
        self.crds = manifests / "crds.yaml"
        self.install = list(filter(None, yaml.safe_load_all(
            (manifests / "install.yaml").read_text())))
        self.webhook_url = f"https://127.0.0.1:{free_port()}"
        self.webhook = self._webhook()
        self.controller = self._binary("pumice-controller", "volcano-controllers",
                                       "pumice-controllers", {"listen-address": address()})
        self.scheduler = self._binary(
            "pumice-scheduler", "volcano-scheduler", "pumice-scheduler",
            {"listen-address": address(), "scheduler-conf": self._config(
                "volcano-scheduler-configmap", "volcano-scheduler.conf")})
        self.all = (self.webhook, self.controller, self.scheduler)

    def _webhook(self):
        port = self.webhook_url.rsplit(":", 1)[1]
        return self._binary("pumice-webhook", "volcano-admission", "pumice-admission",
                            {"port": port, "listen-address": "127.0.0.1",
                             "webhook-url": self.webhook_url, "admission-conf": self._config(
                                 "volcano-admission-configmap", "volcano-admission.conf")},
                            "healthz-address")

    def _binary(self, name, deployment, identity, changes, metrics_flag="listen-address"):
        flags = {**self._deployed_flags(deployment), "healthz-address": address(), **changes}
        return Binary(self, name, self.plane.kubeconfig(identity), flags, metrics_flag,
                      self.replica)

    def _object(self, kind, name):
        for found in self.install:
            if found["kind"] == kind and found["metadata"]["name"] == name:
                return found
        raise KeyError(f"install.yaml has no {kind} {name}")

    def _deployed_flags(self, deployment):
        """The arguments of a Deployment's container as {flag: value}."""
        pod = self._object("Deployment", deployment)["spec"]["template"]["spec"]
        flags = {}
        for argument in pod["containers"][0]["args"]:
            name, _, value = argument.partition("=")
            flags[name.lstrip("-")] = value
        return flags

    def _config(self, configmap, key):
        """Writes one key of a ConfigMap to a file, as its volume would hold it."""
        path = self.plane.folder / "config" / key
        path.parent.mkdir(exist_ok=True)
        path.write_text(self._object("ConfigMap", configmap)["data"][key])
        return str(path)

    # Installing

    def apply_manifests(self):
        """Applies crds.yaml, and install.yaml without the webhook configurations."""
        self.plane.kubectl("apply", "-f", self.crds)
        self._wait_established()
        self._apply([o for o in self.install if o["kind"] not in WEBHOOK_KINDS])

    def _wait_established(self):
        """kubectl wait fails on a CRD whose status nobody has written yet: then again."""
        for attempt in range(50):
            try:
                self.plane.kubectl("wait", "--for=condition=Established", "crd", "--all",
                                   "--timeout=60s")
                return
            except RuntimeError as error:
                if "accessor error" not in str(error) or attempt == 49:
                    raise
            time.sleep(0.2)

    def webhook_configurations(self):
        """The webhook configurations of install.yaml, by URL instead of by Service."""
        found = json.loads(json.dumps([o for o in self.install if o["kind"] in WEBHOOK_KINDS]))
        for configuration in found:
            for webhook in configuration["webhooks"]:
                service = webhook["clientConfig"].pop("service")
                webhook["clientConfig"]["url"] = self.webhook_url + service["path"]
        return found

    def register_webhooks(self):
        """Registers the webhooks. Until the webhook serves, what they match is refused."""
        self._apply(self.webhook_configurations())

    def unregister_webhooks(self):
        """Deletes the webhook configurations."""
        for configuration in self.webhook_configurations():
            self.plane.kubectl("delete", "--ignore-not-found", configuration["kind"],
                               configuration["metadata"]["name"])

    def _apply(self, objects):
        self.plane.kubectl("apply", "-f", "-", input=json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": objects}))

    # Running

    def start(self):
        """Registers the webhooks and starts all three, and waits until jobs can be submitted."""
        try:
            self.register_webhooks()
            self.webhook.start()
            self.wait_admission()
            self.controller.start()
            self.scheduler.start()
            self.wait_queue("default")
            self.wait_jobs()
        except BaseException:
            self.kill()
            raise
        return self

    def start_missing(self):
        """Starts those of the three that do not run."""
        for binary in self.all:
            if not binary.running():
                binary.start()

    def stop(self):
        """Stops all three; returns their complaints, an exit code other than 0 among them."""
        complaints = self.complaints()
        for binary in reversed(self.all):
            if binary.running():
                code = binary.stop()
                if code not in (0, None):
                    complaints.append(f"{binary.name} ended with exit code {code} on SIGTERM; "
                                      f"log: {binary.log}")
        return complaints

    def kill(self):
        """Ends all that runs with SIGKILL."""
        for binary in self.all:
            binary.kill9()

    def complaints(self):
        """What is wrong with the binaries, as a list of sentences."""
        return [text for text in (binary.complaint() for binary in self.all) if text]

    def wait_admission(self, timeout=30):
        """Waits until the API server asks the webhook and gets answers; one that asks none is not waited for."""
        if not self.plane.calls_webhooks:
            return
        path = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs?dryRun=All"
        self._wait(lambda: "denied the request" in self._answer("POST", path, REFUSED_JOB),
                   timeout, "a job without tasks is not denied by the webhook")

    def wait_queue(self, name, timeout=30):
        """Waits until a queue exists."""
        path = f"/apis/scheduling.volcano.sh/v1beta1/queues/{name}"
        self._wait(lambda: '"uid"' in self._answer("GET", path), timeout,
                   f"there is no queue {name}")

    def wait_jobs(self, timeout=30):
        """Waits until a job of the default queue is let in: the webhook may hear of it last."""
        path = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs?dryRun=All"
        self._wait(lambda: '"uid"' in self._answer("POST", path, ADMITTED_JOB), timeout,
                   "a job of the queue default is not let in")

    def _wait(self, check, timeout, problem):
        deadline = time.monotonic() + timeout
        while not check():
            if self.complaints():
                raise ProcessError("; ".join(self.complaints()))
            if time.monotonic() > deadline:
                logs = ", ".join(str(binary.log) for binary in self.all)
                raise ProcessError(f"{problem} after {timeout} s: {self._last}. Logs: {logs}")
            time.sleep(0.1)

    def _answer(self, method, path, body=None):
        """The text of an answer of the API server, a refusal's included."""
        try:
            self._last = json.dumps(self.plane.request(method, path, body))
        except (OSError, RuntimeError) as error:
            self._last = str(error)
        return self._last


def address():
    """A free address on loopback."""
    return f"127.0.0.1:{free_port()}"
