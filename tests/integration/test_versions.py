"""What the API server makes of writes about another object, or about another version than the current one, and that
others who write all the time hold nothing up."""

import threading

import pytest

from cluster import ApiError
from harness.objects import job, pod, task
from harness.placing import create_podgroup
from harness.wait import wait_until

STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JOB = "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs/{}"
QUEUE = "/apis/scheduling.volcano.sh/v1beta1/queues/{}"
GROUP = "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups/{}"
POD = "/api/v1/namespaces/{}/pods/{}"
ANOTHER = {"metadata": {"uid": "another", "annotations": {"a": "b"}}, "status": {"reason": "x"}}


def refused(plane, path, content_type):
    """The Status that answers a patch of another object."""
    with pytest.raises(ApiError) as caught:
        plane.request("PATCH", path, ANOTHER, content_type=content_type)
    assert caught.value.code == 422, caught.value
    return str(caught.value)


def test_patches_of_another_uid_are_refused(api, ns, controlplane):
    """With 422 and the field as a cause: common/kube/transport.c calls that a conflict."""
    api.create_pod(ns, pod("p", cpu="1"))
    create_podgroup(api, ns, "g", minMember=1)
    for path, content_type in ((POD.format(ns, "p"), STRATEGIC), (POD.format(ns, "p") + "/status", STRATEGIC),
                               (GROUP.format(ns, "g"), MERGE)):
        assert '"field":"metadata.uid"' in refused(controlplane, path, content_type)


class Writer:
    """Others who change an object all the time, as fast as the server takes it."""

    def __init__(self, plane, path, threads):
        self._plane, self._path, self._over = plane, path, threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(i,)) for i in range(threads)]
        self.writes = 0

    def _write(self, number):
        while not self._over.is_set():
            self.writes += 1
            self._plane.request("PATCH", self._path, {"metadata": {"annotations": {f"w{number}": str(self.writes)}}},
                                content_type=MERGE)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()


def test_statuses_are_written_while_others_write(api, ns, controlplane, pumice, queues):
    """Each names the version that we know, which is an old one most of the time here."""
    queue = queues("busy")
    api.create_job(ns, job("j", [task("w", 3, cpu="1")], queue=queue))
    with Writer(controlplane, JOB.format(ns, "j"), 4) as changes, Writer(controlplane, QUEUE.format(queue), 1):
        wait_until(lambda: api.job(ns, "j").get("status", {}).get("running") == 3, 20,
                   lambda: f"the status to tell of the pods, after {changes.writes} writes: {api.why(ns, 'j')}")
        wait_until(lambda: api.queue(queue)["status"].get("allocated", {}).get("cpu") == "3", 20,
                   lambda: f"the queue to tell of the pods: {api.queue(queue)}")
        api.scale_job(ns, "j", 5)
        wait_until(lambda: api.job(ns, "j")["status"].get("running") == 5, 20,
                   lambda: f"the status to tell of more pods: {api.why(ns, 'j')}")
