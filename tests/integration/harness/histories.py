"""Judges the life of each pod of a job by what the job said at the time.

A Witness gives pods and states of the job in one order (resourceVersions). Of each pod that was
deleted, a user must have deleted it, or the job must have demanded it while the pod was there. Of
each pod that was created, the job must have wanted just this one (index, version, retry count)
after the one before it was gone, and its index must not have finished. So no pod comes twice
without cause, and none goes without one.
"""

from bisect import bisect_right
from itertools import pairwise


LATE = 2


def indices(text):
    """The set of "0-3,7"."""
    found = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


class State:
    """A job as it was from one resourceVersion on."""

    def __init__(self, version_seen, job):
        status = job.get("status", {})
        memory = status.get("controlledResources", {})
        self.since = version_seen
        self.replicas = {task["name"]: task["replicas"] for task in job["spec"]["tasks"]}
        self.phase = status.get("state", {}).get("phase", "")
        self.version = status.get("version", 0)
        self.retries = status.get("retryCount", 0)
        self.all_below = int(memory.get("restart", 0))
        self.finished, self.restart = {}, {}
        for task in self.replicas:
            self.finished[task] = indices(memory.get(f"finished-{task}", ""))
            retry, _, which = memory.get(f"restart-{task}", "0:").partition(":")
            self.restart[task] = (int(retry), indices(which))

    def __str__(self):
        which = {task: (below, sorted(found)) for task, (below, found) in self.restart.items()
                 if found}
        return (f"from {self.since} on {self.phase}, version {self.version}, retry {self.retries}, "
                f"restart below {self.all_below} and of {which}, replicas {self.replicas}")

    def wants_pods(self):
        """True in the phases in which a job has pods."""
        return self.phase in ("", "Pending", "Running", "Restarting")

    def demands(self, pod):
        """True when the pod has to go. What has ended stays but for restarts and scaling down."""
        below, which = self.restart[pod.task]
        return (pod.index >= self.replicas[pod.task] or pod.version < self.all_below or
                (pod.index in which and pod.retries < below) or
                (not pod.had_ended and (pod.version < self.version or not self.wants_pods())))

    def wants(self, pod):
        """True when just this pod is to be made. Creates that were on their way when a pod or a task
        was restarted go on, with the new retry count."""
        return (self.wants_pods() and (self.phase != "Restarting" or self.all_below == 0) and
                pod.version == self.version and pod.retries == self.retries and
                pod.index < self.replicas[pod.task])


class Pod:
    """A Witness's Life in the words of the rules."""

    def __init__(self, life):
        self.life, self.name = life, life.name
        self.task, self.index = life.note("task-spec"), int(life.note("task-index"))
        self.version = int(life.note("job-version"))
        self.retries = int(life.note("job-retry-count"))
        self.had_ended = 0 < life.ended < (life.deleted or float("inf"))

    def __str__(self):
        life = self.life
        return (f"pod {self.name} (UID {life.uid}, version {self.version}, retry {self.retries}, "
                f"created at {life.born}, ended at {life.ended}, deleted at {life.deleted})")


class History:
    """All states of a job and all its pods; `faults` are sentences."""

    def __init__(self, witness, name, deleted_by_users):
        self.states = [State(*state) for state in witness.states[name]]
        self.starts = [state.since for state in self.states]
        self.pods = [Pod(life) for life in witness.snapshot().values()]
        self.users = deleted_by_users
        self.faults = []
        self._judge_states()
        self._judge_pods()

    def _judge_states(self):
        for before, after in pairwise(self.states):
            if not (before.version <= after.version <= before.version + 1 and
                    before.retries <= after.retries <= before.retries + 1):
                self.faults.append(
                    f"at {after.since} the status went from version {before.version}, retry "
                    f"{before.retries} to {after.version}, {after.retries}")

    def _judge_pods(self):
        before = {}
        for pod in sorted(self.pods, key=lambda pod: pod.life.born):
            self._judge_create(pod, before.get(pod.name))
            self._judge_delete(pod)
            if len(pod.life.nodes) > 1:
                self.faults.append(f"{pod} was bound to {sorted(pod.life.nodes)}")
            before[pod.name] = pod

    def _fault(self, text, states):
        self.faults.append("; ".join([text, "the job was", *map(str, states[-5:])]))

    def _between(self, first, last, late=0):
        """The states in force at some time between two resourceVersions, and so many before."""
        return self.states[max(0, bisect_right(self.starts, first) - 1 - late):
                           bisect_right(self.starts, last)]

    def _judge_create(self, pod, before):
        since = before.life.gone if before else self.starts[0]
        states = self._between(since, pod.life.born)
        if before and not 0 < since < pod.life.born:
            self.faults.append(f"{pod} came while {before} was there")
        if not any(state.wants(pod) for state in states):
            self._fault(f"{pod} was not wanted", states)
        if pod.index in states[-1].finished[pod.task]:
            self.faults.append(f"{pod} came although its index had finished")

    def _judge_delete(self, pod):
        life = pod.life
        if not life.deleted or life.uid in self.users:
            return
        # The controller may hear of a change of the job after it has made the pod.
        states = self._between(life.born, life.deleted, LATE)
        if not any(state.demands(pod) for state in states):
            self._fault(f"{pod} was deleted and nothing demanded it", states)
