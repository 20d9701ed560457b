"""What becomes of the demo's jobs, with the time of each step.

Three threads watch the jobs, PodGroups and pods of one namespace and note when a step was first
seen. Times are seconds of the monotonic clock.
"""

import threading
import time

import kubernetes
import urllib3.exceptions
from kubernetes.client.exceptions import ApiException

import paths  # noqa: F401  (before the harness)
from harness.api import JOB_LABEL, JOBS, PODGROUPS, kind_of

POD_STEPS = ("created", "bound", "running", "completed")
FINISHED = ("Completed", "Failed", "Aborted", "Terminated")


class JobView:
    """One job: when what happened to it."""

    def __init__(self, name, pods):
        self.name = name
        self.total = pods
        self.sent = None
        self.answered = None
        self.refusal = None
        self.admitted = None
        self.finished = None
        self.phase = self.reason = self.message = ""
        self.pods = {step: {} for step in POD_STEPS}

    def count(self, step):
        """How many of its pods have come to a step."""
        return len(self.pods[step])

    def see_pod(self, pod, now):
        """Notes the steps that a pod has come to."""
        phase = pod.get("status", {}).get("phase")
        reached = {"created": True, "bound": pod["spec"].get("nodeName"),
                   "running": phase in ("Running", "Succeeded", "Failed"),
                   "completed": phase == "Succeeded"}
        for step in POD_STEPS:
            if reached[step]:
                self.pods[step].setdefault(pod["metadata"]["name"], now)

    def see_podgroup(self, podgroup, now):
        """Notes when the queue let the group in."""
        phase = podgroup.get("status", {}).get("phase")
        if self.admitted is None and phase in ("Inqueue", "Running", "Completed"):
            self.admitted = now

    def see_job(self, job, now):
        """Notes phase, reason and message, and the end."""
        state = job.get("status", {}).get("state", {})
        self.phase = state.get("phase", "")
        self.reason = state.get("reason", "")
        self.message = state.get("message", "")
        if self.finished is None and self.phase in FINISHED:
            self.finished = now


class Watcher:
    """Watches one namespace until stop()."""

    def __init__(self, api, namespace):
        self.api, self.namespace = api, namespace
        self.jobs = {}
        self.lock = threading.Lock()
        self._stopped = False

    def add(self, name, pods):
        """Tells of a job that will be sent."""
        self.jobs[name] = JobView(name, pods)
        return self.jobs[name]

    def start(self):
        """Begins to watch."""
        custom = self.api.custom.list_namespaced_custom_object
        for function, arguments, see in (
                (custom, kind_of(JOBS, self.namespace), self._see_job),
                (custom, kind_of(PODGROUPS, self.namespace), self._see_podgroup),
                (self.api.core.list_namespaced_pod, {"namespace": self.namespace}, self._see_pod)):
            threading.Thread(target=self._follow, args=(function, arguments, see),
                             daemon=True).start()

    def stop(self):
        """Ends the threads, within seconds."""
        self._stopped = True

    def _follow(self, function, arguments, see):
        while not self._stopped:
            try:
                stream = kubernetes.watch.Watch().stream(function, timeout_seconds=10, **arguments)
                for event in stream:
                    if event["type"] in ("ADDED", "MODIFIED"):
                        with self.lock:
                            see(event["raw_object"], time.monotonic())
            except (ApiException, urllib3.exceptions.HTTPError, OSError):
                time.sleep(0.5)

    def _see_job(self, job, now):
        if job["metadata"]["name"] in self.jobs:
            self.jobs[job["metadata"]["name"]].see_job(job, now)

    def _see_podgroup(self, podgroup, now):
        for owner in podgroup["metadata"].get("ownerReferences", []):
            if owner["kind"] == "Job" and owner["name"] in self.jobs:
                self.jobs[owner["name"]].see_podgroup(podgroup, now)

    def _see_pod(self, pod, now):
        name = pod["metadata"].get("labels", {}).get(JOB_LABEL)
        if name in self.jobs:
            self.jobs[name].see_pod(pod, now)
