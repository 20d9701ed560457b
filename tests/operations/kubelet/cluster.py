"""A cluster into which Pumice is installed as users do it, with everything in one network namespace.

The control plane is that of tests/cluster; KWOK plays the nodes for the pods of jobs, and a Node of ours runs the pods
of the Deployments.
"""

import json
import os
import time
from pathlib import Path

import yaml

from cluster import HERE as CLUSTER, ControlPlane
from harness.api import Api
from harness.pumice import build_folder
from harness.wait import wait_until

from . import ROOT
from .netns import GATEWAY
from .node import Node
from .services import Proxy

SYSTEM = "volcano-system"
CRDS, INSTALL = ROOT / "manifests" / "crds.yaml", ROOT / "manifests" / "install.yaml"
APPS = {"volcano-scheduler": "volcano-scheduler", "volcano-controllers": "volcano-controller",
        "volcano-admission": "volcano-admission"}  # Deployment: the label `app` of its pods
LEASES = {"volcano-scheduler": "volcano", "volcano-controllers": "vc-controller-manager"}
KWOK_LABEL = {"type": "kwok"}
NODES = 6
READY_S = 120
NEXT_TAG = "next"

CONTROLLERS = ("endpointslice-controller", "endpoints-controller", "root-ca-certificate-publisher-controller")
APISERVER = ["--bind-address=0.0.0.0", f"--advertise-address={GATEWAY}", "--endpoint-reconciler-type=lease",
             f"--audit-policy-file={Path(__file__).resolve().parents[1] / 'audit-policy.yaml'}"]


class Cluster:
    """See the head of this file. start() comes after netns.enter(), in the same thread.

    releases  {tag of our images: folder with the binaries}, see Node
    """

    def __init__(self, folder):
        self.plane = ControlPlane(folder, audit=True, apiserver_args=APISERVER, tied=True, controllers=CONTROLLERS)
        self.releases = {installed_tag(): build_folder()}
        self.api = self.node = self.proxy = None
        self.uninstalled = []  # (begin, end) of each time, in seconds since 1970

    def start(self):
        """Starts all; nothing of ours is installed."""
        self.plane.start()
        try:
            self.plane.start_kwok(self._kwok())
            self.plane.add_nodes(NODES, labels=KWOK_LABEL)
            self.api = Api(self.plane)
            self.node = Node(self.plane, self.api, SYSTEM, self.plane.folder / "pods", self.releases)
            self.proxy = Proxy(self.api, self.node.complain)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        """Ends all processes."""
        for part in (self.node, self.proxy):
            if part is not None:
                part.stop()
        if self.api is not None:
            self.api.close()
        self.plane.stop()

    def _kwok(self):
        """KWOK's stages for those of the nodes that are its own."""
        documents = list(yaml.safe_load_all((CLUSTER / "kwok-stages.yaml").read_text()))
        options = documents[0]["options"]
        options["manageAllNodes"] = False
        options["manageNodesWithLabelSelector"] = ",".join(f"{key}={value}" for key, value in KWOK_LABEL.items())
        path = self.plane.folder / "kwok.yaml"
        path.write_text(yaml.safe_dump_all(documents))
        return path

    # What users do

    def apply(self, *files):
        """kubectl apply of files; returns what it prints."""
        return self.plane.kubectl("apply", *(word for file in files for word in ("-f", file)))

    def install(self):
        """Installs, and waits until jobs can be submitted."""
        self.apply(CRDS, INSTALL)
        self.wait_available()
        for queue in ("default", "root"):
            wait_until(lambda: self.api.queue(queue), READY_S, f"queue {queue}, which the scheduler makes")

    def uninstall(self):
        """Uninstalls, and waits until all is gone."""
        begin = time.time()
        self.plane.kubectl("delete", "-f", INSTALL, "--timeout=90s")
        self.uninstalled.append((begin, time.time()))

    def wait_available(self):
        """Waits until all Deployments are rolled out."""
        for name in APPS:
            self.wait_rollout(name)

    def wait_rollout(self, name):
        """Waits until one Deployment has as many pods of the newest kind ready as it asks for, and no other."""
        path = f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/{name}"

        def done():
            found = self.plane.request("GET", path)
            status, wanted = found.get("status", {}), found["spec"]["replicas"]
            return (status.get("observedGeneration") == found["metadata"]["generation"] and
                    all(status.get(count, 0) == wanted for count in ("replicas", "updatedReplicas", "readyReplicas"))
                    and len(self.node.running(APPS[name])) == wanted)
        wait_until(done, READY_S, lambda: f"Deployment {name} to be rolled out: "
                   f"{self.plane.request('GET', path).get('status')}, {self.node.complaints}")

    def scale(self, name, replicas):
        """Scales one Deployment and waits until that is done."""
        self.plane.kubectl("scale", "deploy", name, "-n", SYSTEM, f"--replicas={replicas}")
        self.wait_rollout(name)

    def leader(self, name):
        """The Pod whose process has the Lease of a Deployment, or None: of the webhook, all work."""
        if name not in LEASES:
            return None
        leases = self.plane.request("GET", f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases")["items"]
        holder = next((lease["spec"].get("holderIdentity") or "" for lease in leases
                       if lease["metadata"]["name"] == LEASES[name]), "")
        return next((pod for pod in self.node.running(APPS[name]) if holder.startswith(f"{pod.name}_")), None)

    def registrations(self):
        """The names of all webhook configurations."""
        return {found["metadata"]["name"] for kind in ("mutating", "validating") for found in self.plane.request(
            "GET", f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations")["items"]}

    def versions(self, *files):
        """(resourceVersion, generation) of all objects of files."""
        answer = json.loads(self.plane.kubectl("get", "-o", "json", *(
            word for file in files for word in ("-f", file))))
        return {(found["kind"], found["metadata"]["name"]): (
            found["metadata"]["resourceVersion"], found["metadata"].get("generation")) for found in answer["items"]}


def installed():
    """The objects of install.yaml."""
    return [found for found in yaml.safe_load_all(INSTALL.read_text()) if found]


def deployments():
    """The Deployments of install.yaml."""
    return [found for found in installed() if found["kind"] == "Deployment"]


def installed_tag():
    """The tag of our images in install.yaml, which is one for all."""
    tag, = {found["spec"]["template"]["spec"]["containers"][0]["image"].rpartition(":")[2] for found in deployments()}
    return tag


def drain_seconds():
    """For so long calls may be refused: until all API servers have heard that a replica of the webhook goes."""
    container, = (found["spec"]["template"]["spec"]["containers"][0] for found in deployments()
                  if found["metadata"]["name"] == "volcano-admission")
    return container["lifecycle"]["preStop"]["sleep"]["seconds"]


def next_version(cluster, path):
    """Writes install.yaml with other images and arguments to path, which it returns. PUMICE_NEXT_BIN names the folder
    with the binaries of these images; without it they are the same once more."""
    cluster.releases[NEXT_TAG] = Path(os.environ.get("PUMICE_NEXT_BIN", build_folder())).resolve()
    text, tag, level = INSTALL.read_text(), f":{installed_tag()}\n", "- -v=3\n"
    assert text.count(tag) == len(APPS) and text.count(level) == len(APPS)
    path.write_text(text.replace(tag, f":{NEXT_TAG}\n").replace(level, "- -v=4\n"))
    return path
