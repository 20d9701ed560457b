"""A cluster that the demo did not make.

ExistingCluster gives the harness what it wants of a control plane: kubectl, requests, and a
kubeconfig for each of our binaries, with a token of its service account. Installation creates
what is missing of our manifests, remembers it in a file, and removes exactly that.
"""

import json
import shutil
import subprocess
from pathlib import Path

import kubernetes
import urllib3.exceptions
from kubernetes.client.exceptions import ApiException

import paths  # noqa: F401  (before the harness)
from harness.pumice import WEBHOOK_KINDS
from cluster import IDENTITIES, OUR_NAMESPACE, ApiError, binaries

GUARDED = (*WEBHOOK_KINDS, "CustomResourceDefinition")
TOKEN_LIFE = "24h"
# What our binaries make by themselves; it goes with its namespace or CRD if those are the demo's.
BY_BINARIES = [
    {"apiVersion": "v1", "kind": "Secret",
     "metadata": {"name": "volcano-admission-secret", "namespace": OUR_NAMESPACE}},
    {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
     "metadata": {"name": "volcano", "namespace": OUR_NAMESPACE}},
    {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
     "metadata": {"name": "vc-controller-manager", "namespace": OUR_NAMESPACE}},
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "default"}},
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "root"}},
]


# Where the demo's jobs are.
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "pumice-demo"}}


class ExistingCluster:
    """The cluster of a kubeconfig's current context."""

    def __init__(self, kubeconfig, folder):
        self.file = Path(kubeconfig).resolve()
        self.folder = folder
        self.program = shutil.which("kubectl") or binaries() / "kubectl"
        view = json.loads(self.kubectl("config", "view", "--raw", "--minify", "--flatten",
                                       "-o", "json"))
        self.cluster = view["clusters"][0]["cluster"]
        self.client = kubernetes.config.new_client_from_config(str(self.file))

    def kubeconfig(self, name="admin"):
        """The path of the given kubeconfig, or of the one of a component."""
        return self.file if name == "admin" else self.folder / "kubeconfig" / name

    def kubectl(self, *arguments, input=None):
        """Runs kubectl and returns what it prints; raises RuntimeError if it fails."""
        done = subprocess.run([self.program, "--kubeconfig", self.file, *arguments],
                              input=input, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def request(self, method, path, body=None):
        """One request; the decoded JSON, or ApiError for an answer that is not a success."""
        path, _, query = path.partition("?")
        pairs = [tuple(word.split("=", 1)) for word in query.split("&") if word]
        try:
            answer = self.client.call_api(
                path, method, query_params=pairs, body=body, auth_settings=["BearerToken"],
                header_params={"Content-Type": "application/json", "Accept": "application/json"},
                _return_http_data_only=True, _preload_content=False, _request_timeout=30)
        except ApiException as error:
            raise ApiError(error.status, f"{method} {path}: {error.body}") from None
        except urllib3.exceptions.HTTPError as error:
            raise OSError(f"{method} {path}: {error}") from None
        return json.loads(answer.data)

    def write_kubeconfigs(self):
        """One for each of our binaries, with a fresh token of its service account."""
        for name, (user, _) in IDENTITIES.items():
            if not user.startswith(f"system:serviceaccount:{OUR_NAMESPACE}:"):
                continue
            token = self.kubectl("-n", OUR_NAMESPACE, "create", "token", user.rsplit(":", 1)[1],
                                 f"--duration={TOKEN_LIFE}").strip()
            path = self.kubeconfig(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(json.dumps({
                "apiVersion": "v1", "kind": "Config", "current-context": "demo",
                "clusters": [{"name": "demo", "cluster": self.cluster}],
                "users": [{"name": "demo", "user": {"token": token}}],
                "contexts": [{"name": "demo", "context": {"cluster": "demo", "user": "demo"}}]}))

    def cpus(self):
        """What all nodes together offer, in CPUs."""
        nodes = kubernetes.client.CoreV1Api(self.client).list_node().items
        return sum(float(kubernetes.utils.parse_quantity(node.status.allocatable["cpu"]))
                   for node in nodes)


class Installation:
    """What the demo made in a cluster, kept in FOLDER/made.json."""

    def __init__(self, plane):
        self.plane = plane
        self.file = plane.folder / "made.json"
        self.made = []

    def load(self):
        """Reads what an earlier run made."""
        self.made = json.loads(self.file.read_text())["objects"]
        return self

    def existing(self, objects):
        """Those of the objects that the cluster has, as (kind, name)."""
        found = set()
        for thing in objects:
            meta = thing["metadata"]
            words = ["-n", meta["namespace"]] if "namespace" in meta else []
            try:
                text = self.plane.kubectl(*words, "get", full_kind(thing), meta["name"],
                                          "--ignore-not-found", "-o", "name")
            except RuntimeError as error:
                if "the server doesn't have a resource type" not in str(error):
                    raise
                text = ""
            if text.strip():
                found.add(key(thing))
        return found

    def refuse_or_adopt(self, objects, adopt):
        """Raises RuntimeError if CRDs or webhook configurations exist and are not to be adopted."""
        found = self.existing([o for o in objects if o["kind"] in GUARDED])
        if found and not adopt:
            names = ", ".join(f"{kind} {name}" for kind, _, name in sorted(found))
            raise RuntimeError(f"the cluster has these already: {names}. With --adopt they are used "
                               "as they are and left in place")

    def create(self, objects):
        """Creates what is missing; returns the names of what was there."""
        there = self.existing(objects)
        missing = [o for o in objects if key(o) not in there]
        for thing in missing:
            self.remember(thing)
            self.plane.kubectl("create", "-f", "-", input=json.dumps(thing))
        return sorted(f"{kind} {name}" for kind, _, name in there)

    def remember(self, thing):
        """Notes, before it is made, that an object is the demo's."""
        self.made.append({"apiVersion": thing["apiVersion"], "kind": thing["kind"], "metadata": {
            k: v for k, v in thing["metadata"].items() if k in ("name", "namespace")}})
        self._save()

    def _save(self):
        if not self.made:
            self.file.unlink(missing_ok=True)
            return
        self.file.write_text(json.dumps(
            {"kubeconfig": str(self.plane.file), "objects": self.made}, indent=1))

    def remember_what_binaries_make(self):
        """Notes those of their objects that are not there yet and would stay behind."""
        ours = {key(thing) for thing in self.made}
        there = self.existing(BY_BINARIES)
        for thing in BY_BINARIES:
            parent = (("CustomResourceDefinition", "", "queues.scheduling.volcano.sh")
                      if thing["kind"] == "Queue" else ("Namespace", "", OUR_NAMESPACE))
            if key(thing) not in there and parent not in ours:
                self.remember(thing)

    def remove_first(self):
        """Removes the jobs with their namespace, then the webhooks: while the binaries still run."""
        self._remove(lambda thing: key(thing) == key(NAMESPACE))
        self._remove(lambda thing: thing["kind"] in WEBHOOK_KINDS)

    def remove_rest(self):
        """Removes all else that was made, once the binaries have stopped."""
        self._remove(lambda thing: True)

    def _remove(self, chosen):
        for thing in reversed([thing for thing in self.made if chosen(thing)]):
            words = ["-n", thing["metadata"]["namespace"]] if "namespace" in thing["metadata"] else []
            try:
                self.plane.kubectl(*words, "delete", full_kind(thing), thing["metadata"]["name"],
                                   "--ignore-not-found", "--timeout=120s")
            except RuntimeError as error:
                if "the server doesn't have a resource type" not in str(error):
                    raise
            self.made.remove(thing)
            self._save()


def key(thing):
    """(kind, namespace, name) of an object."""
    return thing["kind"], thing["metadata"].get("namespace", ""), thing["metadata"]["name"]


def full_kind(thing):
    """The kind as kubectl wants it where short names may be taken twice."""
    group, _, version = thing["apiVersion"].rpartition("/")
    return f"{thing['kind']}.{version}.{group}" if group else thing["kind"]
