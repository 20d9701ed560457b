"""The golden cases as files, and what of them an API server can be brought to ask.

A case is a review. An API server makes its reviews itself: it has them well formed, with names and uids of its
own, and only for what a registration names. `Case.why_never_sent` tells what that leaves out.
"""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
FIRST_NAMESPACE = "default"

# What each path is registered for (manifests/install.yaml and manifests/extra).
OPERATIONS = {
    "/jobs/mutate": {"CREATE"}, "/jobs/validate": {"CREATE", "UPDATE"},
    "/podgroups/mutate": {"CREATE"}, "/podgroups/validate": {"CREATE", "UPDATE"},
    "/pods/mutate": {"CREATE"}, "/pods/validate": {"CREATE", "UPDATE"},
    "/queues/mutate": {"CREATE"}, "/queues/validate": {"CREATE", "UPDATE", "DELETE"},
    "/jobflows/validate": {"CREATE", "UPDATE"}, "/hypernodes/validate": {"CREATE", "UPDATE"},
    "/cronjobs/validate": {"CREATE", "UPDATE"},
}
KINDS = {  # resource: (group and version, kind, in namespaces)
    "jobs": ("batch.volcano.sh/v1alpha1", "Job", True),
    "cronjobs": ("batch.volcano.sh/v1alpha1", "CronJob", True),
    "podgroups": ("scheduling.volcano.sh/v1beta1", "PodGroup", True),
    "queues": ("scheduling.volcano.sh/v1beta1", "Queue", False),
    "jobflows": ("flow.volcano.sh/v1alpha1", "JobFlow", True),
    "hypernodes": ("topology.volcano.sh/v1alpha1", "HyperNode", False),
    "pods": ("v1", "Pod", True),
}


def url(resource, namespace=None, name=None, subresource=None):
    """The path of a resource or an object on an API server."""
    version, _, namespaced = KINDS[resource]
    words = ["/api" if version == "v1" else "/apis", version]
    if namespaced:
        words += ["namespaces", namespace]
    return "/".join([*words, resource, *filter(None, (name, subresource))])


class Case:
    """One file."""

    def __init__(self, file):
        self.name = f"{file.parent.name}/{file.stem}"
        self.data = json.loads(file.read_text())
        self.path = self.data["path"]
        self.resource, self.verb = self.path.strip("/").split("/")
        review = self.data["review"]
        self.request = (review.get("request") if isinstance(review, dict) else None) or {}
        self.response = self.data["response"]
        self.operation = self.request.get("operation")
        self.object, self.old = self.request.get("object"), self.request.get("oldObject")
        self.rules = self.data.get("rules") or {}
        self.configuration = self.data.get("admissionConf")

    @property
    def namespace(self):
        """Where its object is; some kinds are nowhere."""
        return self.request.get("namespace") if KINDS[self.resource][2] else None

    @property
    def namespaces(self):
        """The namespaces of the case: {name: annotations}."""
        listed = self.data.get("namespaces") or []
        return {item["metadata"]["name"]: item["metadata"].get("annotations") or {} for item in listed}

    @property
    def queues(self):
        """The queues of the case: {name: queue}. A queue that is changed or deleted is there as it was."""
        found = {item["metadata"]["name"]: item for item in self.data.get("queues") or []}
        if self.resource == "queues" and self.old:
            name = self.old["metadata"]["name"]
            status = found.get(name, self.old).get("status")
            found[name] = {**self.old, **({"status": status} if status else {})}
        return found

    def why_never_sent(self):
        """Why no API server sends such a review, or None."""
        if self.data.get("synced") is False:
            return "a webhook that has not read the queues; it is not ready then, and gets no requests"
        if self.operation not in OPERATIONS[self.path]:
            return "an operation that the path is not registered for"
        resource = self.request.get("resource") or {}
        version = "/".join(filter(None, (resource.get("group"), resource.get("version"))))
        if (version, resource.get("resource")) != (KINDS[self.resource][0], self.resource):
            return "a resource that the path is not registered for"
        if not self.whole():
            return "a review without an object, or with one of another kind; API servers send what was asked of them"
        place = (self.object or self.old)["metadata"].get("namespace", self.namespace)
        if place != self.namespace:
            return "an object of another namespace than the request; API servers refuse that by themselves"
        return None

    def whole(self):
        """True if the objects that the operation needs are there."""
        version, kind, _ = KINDS[self.resource]
        needed = {"CREATE": [self.object], "UPDATE": [self.object, self.old], "DELETE": [self.old]}
        return all(isinstance(one, dict) and (one.get("apiVersion"), one.get("kind")) == (version, kind)
                   for one in needed[self.operation])

    def situation(self):
        """What the cluster must be like, as a text: cases with the same text can be run together."""
        return json.dumps([sorted(self.rules.items()), self.configuration, self.namespaces, self.queues],
                          sort_keys=True)


def read(patterns=("*",)):
    """The cases whose names (folder/file) match one of the patterns."""
    files = (file for file in HERE.glob("*-*/*.json"))
    found = sorted((Case(file) for file in files), key=lambda case: case.name)
    return [case for case in found if any(Path(case.name).match(pattern) for pattern in patterns)]
