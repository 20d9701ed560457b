"""Every pod and every state of the jobs of a namespace that ever was, from watches.

Watches deliver each change, in the order of resourceVersions, which is one order for all kinds. A
watch that breaks goes on where it stopped; should the API server no longer know what was in
between, `gaps` says so.
"""

import json
import threading
from dataclasses import dataclass, field

from kubernetes.client.exceptions import ApiException

from .api import JOBS, kind_of
from .wait import wait_until

ROUND_S = 5  # a watch ends after this long, so that its thread ends soon after end()


@dataclass
class Life:
    """One pod: when it came and went, and how. Versions are resourceVersions; 0 is not yet."""
    uid: str
    name: str
    born: int
    pod: dict = field(repr=False)  # as it was last seen
    nodes: set = field(default_factory=set)  # it was seen bound to
    ended: int = 0  # Succeeded or Failed
    deleted: int = 0  # its deletion began
    gone: int = 0

    def note(self, annotation):
        """One of the pod's volcano.sh/ annotations."""
        return self.pod["metadata"].get("annotations", {}).get(f"volcano.sh/{annotation}", "")

    @property
    def phase(self):
        """Its phase when it was last seen."""
        return self.pod.get("status", {}).get("phase", "")

    @property
    def going(self):
        """True once it is being deleted."""
        return self.deleted != 0

    def see(self, verb, pod, version):
        """Takes in one event of a watch."""
        self.pod = pod
        if pod["spec"].get("nodeName"):
            self.nodes.add(pod["spec"]["nodeName"])
        if self.phase in ("Succeeded", "Failed"):
            self.ended = self.ended or version
        if verb == "DELETED" or "deletionTimestamp" in pod["metadata"]:
            self.deleted = self.deleted or version
        if verb == "DELETED":
            self.gone = version


def lines(response):
    """The lines of a response as they come."""
    rest = b""
    for chunk in response.stream(1 << 16):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


class Watch:
    """One kind, listed once and then watched by a thread: tell(verb, object) for each change."""

    def __init__(self, ask, tell):
        self._ask, self._tell = ask, tell
        self.version = ""  # seen so far; "" before the list
        self.gaps = 0
        self.broken = None  # what tell() raised
        self._over = threading.Event()
        self._list()
        threading.Thread(target=self._run, daemon=True).start()

    def end(self):
        """Stops the watch, at the latest after its round."""
        self._over.set()

    def _list(self):
        listed = json.loads(self._ask().data)
        for found in listed["items"]:
            self._tell("ADDED", found)
        self.version = listed["metadata"]["resourceVersion"]

    def _run(self):
        while not self._over.is_set():
            try:
                self._follow()
            except Exception:  # the API server may be away: go on from where we are
                self._over.wait(0.1)

    def _follow(self):
        try:
            response = self._ask(watch=True, resource_version=self.version,
                                 timeout_seconds=ROUND_S, _request_timeout=(5, ROUND_S + 5))
        except ApiException as error:
            if error.status == 410:
                self._begin_again()
                return
            raise
        try:
            for line in filter(None, lines(response)):
                if self._over.is_set() or not self._take(json.loads(line)):
                    return
        finally:
            response.close()

    def _take(self, event):
        found = event["object"]
        if event["type"] == "ERROR":
            if found.get("code") == 410:
                self._begin_again()
            return False
        try:
            self._tell(event["type"], found)
        except Exception as error:  # a fault of the test, shown by Witness.settle
            self.broken = self.broken or error
        self.version = found["metadata"]["resourceVersion"]
        return True

    def _begin_again(self):
        self.gaps += 1
        self._list()


class Witness:
    """The pods and jobs of a namespace: see the head of this file.

    lives       UID: Life, of each pod that ever existed
    states      name of a job: [(resourceVersion, job), ...] in their order
    on_change   called by the watches' threads as on_change(what, life): "create", "delete" with the
                pod's Life, "status" with None
    """

    def __init__(self, api, ns, on_change=None):
        self.api, self.ns = api, ns
        self.lives, self.states = {}, {}
        self.on_change = on_change or (lambda what, life: None)
        self._lock = threading.Lock()
        self._ended = False
        self._watches = [
            Watch(lambda **more: api.core.list_namespaced_pod(
                ns, _preload_content=False, **more), self._see_pod),
            Watch(lambda **more: api.custom.list_namespaced_custom_object(
                **kind_of(JOBS, ns), _preload_content=False, **more), self._see_job)]

    @property
    def seen(self):
        """UID: name, of each pod that ever existed."""
        return {uid: life.name for uid, life in self.snapshot().items()}

    @property
    def nodes(self):
        """UID: the nodes that the pod was seen bound to, of those that were."""
        return {uid: life.nodes for uid, life in self.snapshot().items() if life.nodes}

    @property
    def gaps(self):
        """How often the API server no longer knew what had happened since a watch broke."""
        return sum(watch.gaps for watch in self._watches)

    def snapshot(self):
        """A copy of `lives`."""
        with self._lock:
            return dict(self.lives)

    def present(self):
        """The lives of the pods that exist."""
        return [life for life in self.snapshot().values() if not life.gone]

    def _see_pod(self, verb, pod):
        uid, version = pod["metadata"]["uid"], int(pod["metadata"]["resourceVersion"])
        with self._lock:
            life = self.lives.get(uid)
            new = life is None
            if new:
                life = self.lives[uid] = Life(uid, pod["metadata"]["name"], version, pod)
            was_going = life.going
            life.see(verb, pod, version)
        if new:
            self.on_change("create", life)
        if life.going and not was_going:
            self.on_change("delete", life)

    def _see_job(self, verb, job):
        if verb != "DELETED":
            version = int(job["metadata"]["resourceVersion"])
            states = self.states.setdefault(job["metadata"]["name"], [])
            changed = not states or states[-1][1].get("status") != job.get("status")
            states.append((version, job))
            if changed:
                self.on_change("status", None)

    def _shows(self, pods):
        """True when what exists is known as the list has it."""
        listed = {pod["metadata"]["uid"]: pod["metadata"]["resourceVersion"] for pod in pods}
        known = {life.uid: life.pod["metadata"]["resourceVersion"] for life in self.present()}
        if self.gaps:  # what went in a gap was not told
            known = {uid: version for uid, version in known.items() if uid in listed}
        return listed == known

    def _shows_jobs(self):
        return all(self.states.get(job["metadata"]["name"], [(0, None)])[-1][0] >=
                   int(job["metadata"]["resourceVersion"]) for job in self.api.jobs(self.ns))

    def settle(self, timeout=30):
        """Waits until all that happened so far was seen."""
        wait_until(lambda: self._shows(self.api.pods(self.ns)) and self._shows_jobs(), timeout,
                   "the witness to see what there is")
        for watch in self._watches:
            if watch.broken:
                raise watch.broken

    def end(self):
        """Sees what there is and stops looking; nothing the second time."""
        if self._ended:
            return
        self._ended = True
        self.settle()
        for watch in self._watches:
            watch.end()
