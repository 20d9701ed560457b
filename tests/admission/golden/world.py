"""The cluster in the state that a case wants: its queues, its namespaces, its rules.

All is made by a user whom no webhook sees, for many states are such as no user could bring about. The webhook
learns of them by its watches; a queue and a namespace of ours that are changed last tell when it has.
"""

import time

from .cases import FIRST_NAMESPACE, url
from .server import MAKER, MERGE, UNCHECKED

MARKER = "golden-marker"
QUEUE_NAME = "scheduling.volcano.sh/queue-name"


class World:
    """What there is now, and ways to change it. `server` and `product` are borrowed."""

    def __init__(self, server, product):
        self.server, self.product = server, product
        self.queues, self.namespaces, self.flags = None, {}, None
        self.turn = 0

    def prepare(self, cases):
        """Namespaces for all the cases, and the markers."""
        names = {name for case in cases for name in [*case.namespaces, case.namespace]}
        for name in sorted(filter(None, names | {MARKER, FIRST_NAMESPACE})):
            self.server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}}, user=MAKER)
            self.namespaces[name] = {}
            self._annotate(name, {QUEUE_NAME: None})
        for name in self.namespaces:
            self._wait(lambda: self.server.ask(
                # so that pods get no volume with a name by chance
                "PATCH", f"/api/v1/namespaces/{name}/serviceaccounts/default",
                {"automountServiceAccountToken": False}, content_type=MERGE).good,
                f"the namespace {name} is complete")
        for case in cases:
            if case.resource != "queues" and case.old:  # perhaps left by another run
                self.forget(case)
        self._put_queues({})

    def forget(self, case):
        """Deletes the object of a case that is updated, if it is there."""
        path = url(case.resource, case.namespace, case.old["metadata"]["name"])
        found = self.server.ask("PATCH", path, {"metadata": {"finalizers": None}}, user=MAKER, content_type=MERGE)
        if found.code != 404:
            self.server.must("DELETE", path, user=MAKER, missing=True, gracePeriodSeconds=0)

    def become(self, case):
        """Makes the cluster what the case wants. RuntimeError tells what cannot be stored."""
        self._put_queues(case.queues)
        self._put_namespaces(case.namespaces)
        flags = (case.rules, case.configuration)
        if self.flags == flags:
            self._synchronize()
        else:  # it is ready when it has read what there is
            self.product.run_with(*flags)
            self.flags = flags

    def _put_queues(self, wanted):
        if self.queues == wanted:
            return
        self.queues = None  # should this fail half way
        self.server.must("DELETE", url("queues"), user=MAKER, fieldSelector=f"metadata.name!={MARKER}")
        self.server.ask("POST", url("queues"), {
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": MARKER},
            "spec": {"weight": 1}}, user=MAKER)
        for name, queue in wanted.items():
            self.server.must("POST", url("queues"), queue, user=MAKER)
            if queue.get("status"):
                self.server.must("PATCH", url("queues", name=name, subresource="status"),
                                 {"status": queue["status"]}, user=MAKER, content_type=MERGE)
        self.queues = wanted

    def _put_namespaces(self, wanted):
        for name, before in self.namespaces.items():
            after = wanted.get(name, {})
            if after != before:
                self._annotate(name, {**dict.fromkeys(before), **after})
                self.namespaces[name] = after

    def _annotate(self, name, annotations):
        self.server.must("PATCH", f"/api/v1/namespaces/{name}", {"metadata": {"annotations": annotations}},
                         user=MAKER, content_type=MERGE)

    def _synchronize(self):
        """Waits until the webhook has seen the queues and namespaces as they are."""
        self.turn += 1
        state = ("Open", "Closed")[self.turn % 2]
        self.server.must("PATCH", url("queues", name=MARKER, subresource="status"),
                         {"status": {"state": state}}, user=MAKER, content_type=MERGE)
        queue = f"turn-{self.turn}"
        self._annotate(MARKER, {QUEUE_NAME: queue})
        self._wait(lambda: self._shown_state() == state and self._shown_queue() == queue,
                   f"the webhook knows that {MARKER} is {state} and belongs to {queue}")

    def _shown_state(self):
        """What the webhook takes the state of our queue for."""
        job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "asks"},
               "spec": {"queue": MARKER, "minAvailable": 1, "tasks": [{"name": "t", "replicas": 1, "template": {
                   "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}]}}
        answer = self.server.ask("POST", url("jobs", MARKER), job, dry=True)
        return "Open" if answer.good else "Closed" if "status is `Closed`" in answer.message else answer.message

    def _shown_queue(self):
        """What the webhook takes for the queue of our namespace."""
        group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "asks"},
                 "spec": {"minMember": 1}}
        answer = self.server.ask("POST", url("podgroups", MARKER), group, user=UNCHECKED, dry=True)
        return answer.body["spec"]["queue"] if answer.good else answer.message

    @staticmethod
    def _wait(check, what, timeout=30):
        deadline = time.monotonic() + timeout
        while not check():
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {timeout} s until {what}")
            time.sleep(0.02)
