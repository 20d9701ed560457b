"""A job that is failed, restarted, scaled, suspended and finished while its controller is killed.

Killer kills controllers (SIGKILL) at random moments; Scenario acts as user and kubelet, one step
after the other, and knows what each has to lead to: which restart counts, which index has finished.
A step ends when the job's status shows that it was understood, not when its pods are there, so
that the steps and their pods overlap. In the end check() compares all that is with all that should
be, and the history of each pod is judged (histories.py). The same seed takes the same decisions;
what they meet depends on the time.
"""

import math
import random
import re
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

from cluster_process import ProcessError
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from .api import PODGROUPS, kind_of
from .histories import History, indices
from .objects import job, task
from .pumice import Binary, address
from .wait import wait_until
from .witness import Witness

JOB = "killed"
SETTLE = 8  # seconds until a Lease has run out and shards have moved
COMMANDS = ("bus.volcano.sh", "v1alpha1", "commands")
LEASE = {"leader-elect-lease-duration": "4s", "leader-elect-renew-deadline": "3s",
         "leader-elect-retry-period": "500ms"}

# What the pods of a task are for, and their share of all pods. Without policies of its own a task
# has that of the job: a failed pod restarts it all.
SHARES = {"whole": 20, "single": 30, "evict": 15, "plain": 20, "done": 15}
POLICIES = {"whole": {"event": "PodFailed", "action": "RestartTask"},
            "single": {"event": "PodFailed", "action": "RestartPod"},
            "evict": {"event": "PodEvicted", "action": "RestartPod"}}


# Controllers


class Replicas:
    """Two controllers with a short lease in place of the one of `pumice`, and its scheduler."""

    def __init__(self, pumice, lease=None):
        flags = {**pumice.controller.flags, **(lease or LEASE)}
        self.all = [Binary(pumice, "pumice-controller", pumice.plane.kubeconfig(
            "pumice-controllers"), {**flags, "healthz-address": address(),
                                    "listen-address": address()}, "listen-address",
            replica=f"-{number}") for number in (1, 2)]
        self.scheduler = pumice.scheduler
        self._begins = {}  # name: where in its log the latest start begins
        self.lost = 0  # times that one left because it lost its lease

    def start(self, binary):
        """Starts one; it waits for the lease by itself."""
        self._begins[binary.name] = len(binary.log_text())
        binary.start(ready=False)

    def leads(self, binary):
        """True if it runs and has the lease."""
        return binary.running() and " leading lease=" in self._said(binary)

    def _said(self, binary):
        return binary.log_text()[self._begins.get(binary.name, 0):]

    def revive(self, wanted):
        """Starts again what has lost its lease, as a Deployment does; nothing else may end."""
        for binary in [*wanted, self.scheduler]:
            if not binary.running():
                if not re.search("lost the lease|lost its Lease", self._said(binary)):
                    raise ProcessError(f"{binary.name} ended by itself: {binary.exit_code()}, "
                                       f"log: {binary.log}")
                self.lost += 1
                self.start(binary)

    def leader(self, wanted, timeout=60):
        """Waits until one of them leads; returns it."""
        def find():
            self.revive(wanted)
            return next((binary for binary in wanted if self.leads(binary)), None)
        return wait_until(find, timeout, "a controller to have the lease", interval=0.02)

    def stop(self):
        """Ends all; returns the complaints."""
        complaints = []
        for binary in self.all:
            if binary.running():
                binary.stop()
            complaints.append(binary.complaint())
        return [text for text in complaints if text]


class Killer:
    """Kills controllers, some at a random time, some as soon as something happens."""

    MOMENTS = ("time", "create", "create", "delete", "status", "status", "begin")
    WAYS = ("both", "one", "one", "alone")

    def __init__(self, replicas, rng, pause, late=0):
        self.replicas, self.rng, self.pause = replicas, rng, pause
        self.late = late  # for so many seconds after one leads again nobody may have the job
        self.wanted = list(replicas.all)
        self.kills = Counter()
        self.times = []  # [from, until a controller led again], time.monotonic()
        self._happened = threading.Condition()
        self._latest = {}

    def tell(self, what):
        """Something happened: "create", "delete" or "status"."""
        with self._happened:
            self._latest[what] = time.monotonic()
            self._happened.notify_all()

    def begin(self):
        """Starts the controllers."""
        for binary in self.wanted:
            self.replicas.start(binary)
        self.replicas.leader(self.wanted)

    def kill_one(self):
        """One kill; returns when a controller leads again."""
        moment, way = self.rng.choice(self.MOMENTS), self.rng.choice(self.WAYS)
        self.revive()
        if moment != "begin":
            time.sleep(self.rng.uniform(0, self.pause))
        self._wait(moment)
        leader = self.replicas.leader(self.wanted)
        self.times.append([time.monotonic(), math.inf])
        victims = [leader] if way == "one" else list(self.wanted)
        for binary in sorted(victims, key=lambda binary: binary is not leader):
            binary.kill9()
        if way == "alone":
            self.wanted = [leader]
        elif way == "both":
            self.wanted = list(self.replicas.all)
        for binary in self.wanted:
            if not binary.running():
                self.replicas.start(binary)
        self.replicas.leader(self.wanted)
        self.times[-1][1] = time.monotonic()
        self.kills[f"{moment}, {way}"] += 1

    def _wait(self, moment):
        """Until the moment: a random time, or right after something was seen to happen."""
        if moment in ("time", "begin"):
            time.sleep(self.rng.uniform(0, 0.5 if moment == "begin" else 2))
            return
        asked = time.monotonic()
        with self._happened:
            self._happened.wait_for(lambda: self._latest.get(moment, 0) > asked, 5)
        time.sleep(self.rng.choice((0, self.rng.uniform(0, 0.03))))

    def overlaps(self, begin, end):
        """True if there was no steady leader at some time between."""
        return bool(self.replicas.lost) or any(
            since < end and until + self.late > begin for since, until in self.times)

    def revive(self):
        """Starts again what has lost its lease."""
        self.replicas.revive(self.wanted)


# Nodes


class Kubelet:
    """Takes pods away half a second after their deletion began, by UID, as kubelets do.

    KWOK does it by name, and on a busy machine now and then twice, which hits the pod that has come
    in between. It leaves pods with the label kubelet=test alone (kwok-stages.yaml).
    """

    def __init__(self, api, ns):
        self.api, self.ns = api, ns
        self._workers = ThreadPoolExecutor(8)

    def end(self, life):
        """A pod's deletion has begun. Without a node it goes by itself."""
        if not life.gone and life.nodes:
            self._workers.submit(self._end, life, time.monotonic() + 0.5)

    def stop(self):
        """Takes no more pods away."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _end(self, life, due):
        time.sleep(max(0, due - time.monotonic()))
        for _ in range(50):
            try:
                self.api.core.delete_namespaced_pod(
                    life.name, self.ns, _preload_content=False,
                    body={"gracePeriodSeconds": 0, "preconditions": {"uid": life.uid}})
                return
            except ApiException as error:
                if error.status in (404, 409):
                    return
            except (HTTPError, OSError):  # the API server is busy: again
                pass
            time.sleep(0.2)


# Steps


class Scenario:
    """The job, what is done to it, and what must come of it."""

    def __init__(self, api, ns, rng, pods, killer, timeout):
        self.api, self.ns, self.rng, self.killer, self.timeout = api, ns, rng, killer, timeout
        self.sizes = {name: max(2, pods * share // 100) for name, share in SHARES.items()}
        self.replicas = dict(self.sizes)
        self.minimum = pods // 5
        self.version = self.retries = 0
        self.finished, self.deleted = set(), set()
        self.steps, self.lost_evictions, self.commands = Counter(), 0, 0
        self.over = threading.Event()
        self.error = None

    def begin(self):
        """Creates the job and waits until it runs."""
        tasks = [task(name, size, minimum=0, cpu="10m", memory="16Mi")
                 for name, size in self.sizes.items()]
        for one in tasks:
            one["template"]["metadata"] = {"labels": {"kubelet": "test"}}
            if one["name"] in POLICIES:
                one["policies"] = [POLICIES[one["name"]]]
        self.api.create_job(self.ns, job(
            JOB, tasks, minimum=self.minimum, maxRetry=10000,
            policies=[{"event": "PodFailed", "action": "RestartJob"}]))
        self._until(self.status, "the job to have a status")

    def run(self):
        """Steps until `over`; what goes wrong is kept in `error`."""
        steps = [(self.fail, 5), (self.evict, 3), (self.remove, 3), (self.finish, 3),
                 (self.scale, 5), (self.restart, 2), (self.suspend, 2), (self.gang, 1)]
        try:
            while not self.over.is_set():
                step = self.rng.choices([one for one, _ in steps], [n for _, n in steps])[0]
                if step():
                    self.steps[step.__name__] += 1
                self.over.wait(self.rng.choice((0, self.rng.uniform(0, 1))))
        except Exception as error:  # shown by the thread that waits for this one
            self.error = error
            self.over.set()

    # What a step is made of

    def job(self):
        """The job as it is."""
        return self.api.job(self.ns, JOB)

    def status(self):
        """Its status."""
        return self.job().get("status", {})

    def _until(self, check, why):
        return wait_until(check, self.timeout, lambda: f"{why}; {self.describe()}")

    def describe(self):
        """What was expected, beside what the job says."""
        return (f"expected version {self.version}, retries {self.retries}; "
                f"{self.api.why(self.ns, JOB)}")

    def _await(self, version=0, retries=0):
        """The status shows a decision: so many more versions and retries."""
        self.version += version
        self.retries += retries

        def shown():
            status = self.status()
            return (status.get("version", 0), status.get("retryCount", 0)) == (
                self.version, self.retries)
        self._until(shown, "the decision to be in the status")

    def _await_restarted(self):
        """What restarts now would cost no retry: so wait until nothing does."""
        self._until(lambda: self.api.phase(self.ns, JOB) in ("Pending", "Running"),
                    "the job not to be restarting")

    def _running(self, name, least=1):
        """The current pods of a task once there are so many; none when there never will be."""
        left = self.replicas[name] - (len(self.finished) if name == "done" else 0)
        if left < least:
            return []
        return self._until(
            lambda: len(pods := self._current(name)) >= least and pods, f"pods of task {name}")

    def _current(self, name):
        """Running pods of a task that nothing has been said against."""
        status = self.status()
        retry, _, which = status.get("controlledResources", {}).get(
            f"restart-{name}", "0:").partition(":")

        def stays(pod):
            notes = pod["metadata"]["annotations"]
            index = int(notes["volcano.sh/task-index"])
            return ("deletionTimestamp" not in pod["metadata"] and
                    pod["status"].get("phase") == "Running" and index < self.replicas[name] and
                    int(notes["volcano.sh/job-version"]) == self.version and
                    (index not in indices(which) or
                     int(notes["volcano.sh/job-retry-count"]) >= int(retry)))
        return [pod for pod in self.api.pods_of(self.ns, JOB, name) if stays(pod)]

    def _end_pod(self, pod, code):
        """Does what a kubelet does when the pod's container exits."""
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        ended = {"exitCode": code, "startedAt": now, "finishedAt": now,
                 "reason": "Error" if code else "Completed"}
        self.api.core.patch_namespaced_pod_status(
            pod["metadata"]["name"], self.ns, {
                "metadata": {"uid": pod["metadata"]["uid"]},
                "status": {"phase": "Failed" if code else "Succeeded", "containerStatuses": [
                    {"name": "main", "image": "busybox:1.36", "imageID": "", "ready": False,
                     "restartCount": 0, "state": {"terminated": ended}}]}},
            _content_type="application/merge-patch+json", _preload_content=False)

    def _delete_pod(self, pod):
        self.deleted.add(pod["metadata"]["uid"])
        try:
            self.api.core.delete_namespaced_pod(
                pod["metadata"]["name"], self.ns, _preload_content=False,
                body={"preconditions": {"uid": pod["metadata"]["uid"]}})
        except ApiException as error:
            if error.status not in (404, 409):
                raise

    def _command(self, action):
        self.commands += 1
        owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": JOB,
                 "uid": self.job()["metadata"]["uid"], "controller": True}
        self.api.custom.create_namespaced_custom_object(**kind_of(COMMANDS, self.ns), body={
            "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command",
            "metadata": {"name": f"{JOB}-{self.commands}", "ownerReferences": [owner]},
            "target": owner, "action": action})

    # The steps; true when something was done

    def fail(self):
        """A pod fails, which restarts it, its task or the job."""
        name = self.rng.choice(("whole", "single", "single", "plain"))
        pods = self._running(name)
        if not pods:
            return False
        self._await_restarted()
        self._end_pod(self.rng.choice(pods), self.rng.randrange(1, 200))
        self._await(version=int(name == "plain"), retries=1)
        if name == "plain":
            self.finished.clear()
        return True

    def evict(self):
        """A pod that a policy watches over is deleted. Nobody may have seen it: then it costs no
        retry, and there must have been nobody."""
        pods = self._running("evict")
        if not pods:
            return False
        self._await_restarted()
        pod, begin = self.rng.choice(pods), time.monotonic()
        self._delete_pod(pod)

        def replaced():
            if self.status().get("retryCount", 0) > self.retries:
                return "seen"
            return any(one["metadata"]["name"] == pod["metadata"]["name"] and
                       one["metadata"]["uid"] != pod["metadata"]["uid"] and
                       int(one["metadata"]["annotations"]["volcano.sh/job-retry-count"]) ==
                       self.retries for one in self.api.pods_of(self.ns, JOB, "evict"))
        if self._until(replaced, "an evicted pod to be replaced") == "seen":
            self._await(retries=1)
        else:
            self.lost_evictions += 1
            assert self.killer.overlaps(begin, time.monotonic()), (
                f"nobody saw the eviction of {pod['metadata']['name']}; {self.describe()}")
        return True

    def remove(self):
        """Pods are deleted that no policy watches over: they are made again, and that is all."""
        name = self.rng.choice(("whole", "single", "plain", "done"))
        pods = self._running(name)
        for pod in self.rng.sample(pods, min(len(pods), self.rng.randrange(1, 6))):
            self._delete_pod(pod)
        return bool(pods)

    def finish(self):
        """Pods succeed. Once the status knows, they may be deleted: they do not come again."""
        pods = self._running("done", 2)
        chosen = self.rng.sample(pods, min(len(pods) // 2, self.rng.randrange(1, 6)))
        for pod in chosen:
            self._end_pod(pod, 0)
            self.finished.add(int(pod["metadata"]["annotations"]["volcano.sh/task-index"]))
        self._await_finished()
        if self.rng.random() < 0.5:
            for pod in chosen:
                self._delete_pod(pod)
        return bool(chosen)

    def _await_finished(self):
        self._until(lambda: indices(self.status().get("controlledResources", {}).get(
            "finished-done", "")) == self.finished, "the finished indices to be in the status")

    def _resize(self, name, size):
        self.replicas[name] = size
        self.api.scale_job(self.ns, JOB, size, task=list(self.sizes).index(name))

    def scale(self):
        """A task gets another size, 0 and all it had among them."""
        name = self.rng.choice(list(self.sizes))
        size = self.rng.choice((0, self.sizes[name], self.rng.randrange(self.sizes[name] + 1)))
        left = {**self.replicas, name: size}
        if sum(left.values()) < self.minimum or sum(left.values()) == left["done"]:
            return False  # refused; or the job would complete
        self._resize(name, size)
        if name == "done":  # what is scaled away is forgotten
            self.finished = {index for index in self.finished if index < size}
            self._await_finished()
        self._await_no_surplus()
        return True

    def _await_no_surplus(self):
        """What was scaled away is going, so that no later step meets it. Were an index wanted again
        before its pod is gone, another controller would take a running one for evicted if a policy
        watches over it, and a success would count: so these are gone."""
        def surplus(pod):
            notes = pod["metadata"]["annotations"]
            name, index = notes["volcano.sh/task-spec"], int(notes["volcano.sh/task-index"])
            return index >= self.replicas[name] and (
                name in ("evict", "done") or "deletionTimestamp" not in pod["metadata"])

        def done():
            all_go = self.status()["state"]["phase"] in ("Pending", "Running", "Restarting")
            return not any(surplus(pod) for pod in self.api.pods_of(self.ns, JOB)
                           if all_go or pod["status"].get("phase") == "Running")
        self._until(done, "surplus pods to go")

    def restart(self):
        """RestartJob by a Command."""
        self._await_restarted()
        self._command("RestartJob")
        self._await(version=1, retries=1)
        self.finished.clear()
        return True

    def suspend(self):
        """AbortJob, perhaps another size meanwhile, and ResumeJob or RestartJob; that costs no
        retry."""
        self._command("AbortJob")
        self._await(version=1)
        if self.rng.random() < 0.5:
            self.api.wait_phase(self.ns, JOB, "Aborted", timeout=self.timeout)
        if self.rng.random() < 0.3:
            self.scale()
        action = self.rng.choice(("ResumeJob", "ResumeJob", "RestartJob"))
        self._command(action)
        self._await(version=1)
        if action == "RestartJob":
            self.finished.clear()
        self._await_no_surplus()  # what had ended was left while the job was suspended
        return True

    def gang(self):
        """The job's minimum changes."""
        self.minimum = self.rng.randrange(1, sum(self.replicas.values()) * 3 // 4 + 2)
        self.api.patch_job(self.ns, JOB, [
            {"op": "replace", "path": "/spec/minAvailable", "value": self.minimum}])
        return True

    # The end

    def expected(self):
        """Names of the pods that must live."""
        return {f"{JOB}-{name}-{index}" for name, size in self.replicas.items()
                for index in range(size) if name != "done" or index not in self.finished}

    def faults(self):
        """What is not as it should be while the job runs, as sentences."""
        found, now = [], self.job()
        pods = self.api.pods(self.ns)

        def compare(what, is_, should):
            if is_ != should:
                found.append(f"{what}: {is_!r} instead of {should!r}")
        running = [pod for pod in pods if pod["status"].get("phase") == "Running" and
                   "deletionTimestamp" not in pod["metadata"]]
        names = sorted(pod["metadata"]["name"] for pod in running)
        rest = {pod["metadata"]["name"] for pod in pods} - set(names)
        compare("running pods", [len(names), sorted(set(names) ^ self.expected())[:5]],
                [len(self.expected()), []])
        compare("pods beside them", sorted(
            name for name in rest if name not in {f"{JOB}-done-{i}" for i in self.finished}), [])
        compare("versions of running pods", {
            pod["metadata"]["annotations"]["volcano.sh/job-version"] for pod in running},
            {str(self.version)} if running else set())
        compare("owners", {pod["metadata"]["ownerReferences"][0]["uid"] for pod in pods} -
                {now["metadata"]["uid"]}, set())
        self._compare_status(now["status"], compare)
        self._compare_rest(compare)
        return found

    def _compare_status(self, status, compare):
        live, ended = len(self.expected()), len(self.finished)
        compare("phase", status["state"]["phase"], "Running")
        compare("retryCount", status.get("retryCount", 0), self.retries)
        compare("version", status.get("version", 0), self.version)
        compare("minAvailable", status.get("minAvailable", 0), self.minimum)
        counts = ("pending", "running", "succeeded", "failed", "unknown", "terminating")
        compare("counts", {key: status.get(key, 0) for key in counts},
                {**dict.fromkeys(counts, 0), "running": live, "succeeded": ended})
        tasks = {name: {"Running": size - (ended if name == "done" else 0),
                        "Succeeded": ended if name == "done" else 0}
                 for name, size in self.replicas.items()}
        compare("taskStatusCount", {
            name: one.get("phase", {}) for name, one in status["taskStatusCount"].items()},
            {name: {phase: n for phase, n in one.items() if n} for name, one in tasks.items()})
        memory = status.get("controlledResources", {})
        compare("restarts remembered", [key for key in memory if key.startswith("restart")], [])
        compare("indices finished", indices(memory.get("finished-done", "")), self.finished)

    def _compare_rest(self, compare):
        groups = self.api.custom.list_namespaced_custom_object(**kind_of(PODGROUPS, self.ns))
        compare("PodGroups", [group["spec"]["minMember"] for group in groups["items"]],
                [self.minimum])
        compare("Commands", [one["metadata"]["name"] for one in
                             self.api.custom.list_namespaced_custom_object(
                                 **kind_of(COMMANDS, self.ns))["items"]], [])

    def check(self):
        """Waits until all is as it should be, and asserts that it stays so."""
        last = ["nothing was seen"]

        def right():
            self.killer.revive()
            last[:] = self.faults()
            return not last
        wait_until(right, self.timeout, lambda: "; ".join(last))
        time.sleep(3)
        assert right(), "; ".join(last)

    def complete(self):
        """All pods that live succeed."""
        for pod in self.api.pods(self.ns):
            if pod["status"].get("phase") == "Running":
                self._end_pod(pod, 0)

    def check_completed(self):
        """The job has completed with the right counts and its PodGroup is gone."""
        status = self.api.wait_phase(self.ns, JOB, "Completed", timeout=self.timeout)["status"]
        assert status["succeeded"] == sum(self.replicas.values()), status
        left = {key: status.get(key, 0) for key in ("pending", "running", "failed", "terminating")}
        assert not any(left.values()), left
        assert (status.get("version", 0), status.get("retryCount", 0)) == (
            self.version, self.retries), self.describe()
        self._until(lambda: not self.api.custom.list_namespaced_custom_object(
            **kind_of(PODGROUPS, self.ns))["items"], "the PodGroup to go")


# All of it


def run(api, ns, pumice, seed, pods, kills, lease=None, pause=4, timeout=120):
    """Plays one round; returns what was done as a dictionary, raises AssertionError for faults.

    The controller of `pumice` must not run. lease has flags that differ; with "shards" both
    controllers are active. pause is the longest wait before the moment of a kill
    is chosen, timeout that of a step, both in seconds.
    """
    replicas = Replicas(pumice, lease)
    sharded = "shards" in (lease or {})
    killer = Killer(replicas, random.Random(f"kills {seed}"), pause, SETTLE if sharded else 0)
    begin = time.monotonic()
    kubelet = Kubelet(api, ns)

    def happened(what, life):
        killer.tell(what)
        if what == "delete":
            kubelet.end(life)
    witness = Witness(api, ns, on_change=happened)
    scenario = Scenario(api, ns, random.Random(f"steps {seed}"), pods, killer, timeout)
    worker = threading.Thread(target=scenario.run, daemon=True)
    try:
        killer.begin()
        scenario.begin()
        worker.start()
        for _ in range(kills - 1):
            killer.kill_one()
            if scenario.over.is_set():
                break
        scenario.over.set()
        wait_until(lambda: killer.revive() or not worker.is_alive(), 4 * timeout, "the last step")
        if scenario.error:
            raise scenario.error
        scenario.check()
        ending = threading.Thread(target=scenario.complete, daemon=True)
        ending.start()
        killer.kill_one()
        ending.join(timeout)
        scenario.check_completed()
        witness.end()
        history = History(witness, JOB, scenario.deleted)
        assert not history.faults, "\n".join(history.faults)
        assert not witness.gaps
    finally:
        scenario.over.set()
        kubelet.stop()
        complaints = replicas.stop()
    assert not complaints, complaints
    return {"seed": seed, "seconds": time.monotonic() - begin, "kills": dict(killer.kills),
            "steps": dict(scenario.steps), "pods": len(history.pods),
            "deleted by users": len(scenario.deleted), "versions": scenario.version,
            "retries": scenario.retries, "states": len(history.states),
            "evictions unseen": scenario.lost_evictions, "leases lost": replicas.lost}
