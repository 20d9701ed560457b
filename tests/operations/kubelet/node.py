"""A node for the pods of one namespace: binds those of the default scheduler to itself, and runs them."""

import threading

from cluster import ApiError

from .netns import GATEWAY
from .pod import Pod
from .store import Store, listing

NAME = "control-0"
TAINT = "node-role.kubernetes.io/control-plane"  # keeps the pods of jobs off


class Node:
    """The node and its pods.

    releases   {tag of an image: folder with our binaries}; an image with another tag cannot be pulled
    complaints what went wrong, as sentences
    """

    def __init__(self, plane, api, namespace, folder, releases):
        self.plane, self.namespace, self.releases = plane, namespace, releases
        self.folder, self.logs = folder, plane.folder / "log" / "pods"
        self.logs.mkdir(parents=True)
        self.complaints = []
        self.pods = {}  # UID: Pod, of all that have ever been here
        self._changed, self._over = threading.Event(), threading.Event()
        self._register()
        self.configmaps = Store(listing(api.core.list_namespaced_config_map, namespace))
        self._store = Store(listing(api.core.list_namespaced_pod, namespace), self._changed.set)
        self._thread = threading.Thread(target=self._run, daemon=True, name=NAME)
        self._thread.start()

    def _register(self):
        resources = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "1Ti"}
        self.plane.create("/api/v1/nodes", {
            "metadata": {"name": NAME, "labels": {"kubernetes.io/hostname": NAME, "kubernetes.io/os": "linux"}},
            "spec": {"taints": [{"key": TAINT, "effect": "NoSchedule"}]},
            "status": {"capacity": resources, "allocatable": resources,
                       "addresses": [{"type": "InternalIP", "address": GATEWAY}],
                       "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})

    def complain(self, sentence):
        """Something is wrong that a test has to fail for."""
        self.complaints.append(sentence)

    def running(self, app=None):
        """The pods that have a process (of an app, by its label)."""
        return [pod for pod in self.pods.values() if pod.is_alive() and pod.process is not None and
                app in (None, pod.found["metadata"]["labels"].get("app"))]

    def stop(self):
        """Ends all processes at once."""
        self._over.set()
        self._changed.set()
        self._thread.join(10)
        self._store.end()
        self.configmaps.end()
        for pod in self.pods.values():
            pod.halt()
        for pod in self.pods.values():
            pod.join(10)

    def _run(self):
        while True:
            self._changed.wait()
            self._changed.clear()
            if self._over.is_set():
                return
            try:
                self._look()
            except Exception as error:  # pylint: disable=broad-except
                self.complain(f"node: {type(error).__name__}: {error}")

    def _look(self):
        there = self._store.objects
        for uid, found in there.items():
            if uid in self.pods:
                self.pods[uid].update(found)
            elif found["spec"].get("nodeName") == NAME:
                self.pods[uid] = Pod(self, found)
                self.pods[uid].start()
            elif "nodeName" not in found["spec"] and found["spec"]["schedulerName"] == "default-scheduler":
                self._bind(found)
        for uid, pod in self.pods.items():
            if uid not in there:
                pod.vanish()

    def _bind(self, found):
        name = found["metadata"]["name"]
        try:
            self.plane.request("POST", f"/api/v1/namespaces/{self.namespace}/pods/{name}/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "uid": found["metadata"]["uid"]},
                "target": {"apiVersion": "v1", "kind": "Node", "name": NAME}})
        except ApiError as error:
            if error.code not in (404, 409):
                raise
