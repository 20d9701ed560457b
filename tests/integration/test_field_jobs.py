"""Jobs that users of such systems lost, with a controller that hears of everything up to 3 s late.

J1  a job that is deleted and made again under its name
J2  pods of a deleted job that come back
J3  Aborted, Terminated, Completed, restarted: not before the last pod is gone
J4  a restart that feeds itself
J7  finished pods that are removed

The delays come from the fault proxy, event by event, drawn from PUMICE_FIELD_SEED. With
PUMICE_FIELD_FULL=1 there are as many rounds as tests/long/field-jobs wants; it runs this file.

Much of the time is waiting. So what leaves the controller alone is begun at once, each scenario in
a namespace of its own, and a test is the end of its scenario.
"""

import os
import random
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from kubernetes.client.exceptions import ApiException

from harness.api import JOBS, kind_of
from harness.audits import Writes
from harness.ledger import Ledger
from harness.objects import job, task
from harness.proxy import build, proxied
from harness.report import describe
from harness.wait import stays, wait_until

FULL = os.environ.get("PUMICE_FIELD_FULL") == "1"
SEED = int(os.environ.get("PUMICE_FIELD_SEED", "1"))
LAG_MS = 3000
COMMANDS = ("bus.volcano.sh", "v1alpha1", "commands")
LEASE = "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases/vc-controller-manager"
PAUSES = (0, 0.2, 2, 6)  # J1: seconds from the delete to the create
J1_ROUNDS = 50 if FULL else len(PAUSES)
J2_ROUNDS = 200 if FULL else 8
NAMESPACES = 10 if FULL else 1  # J2
AT_ONCE = 8
KILL_S = 20 if FULL else 5
LOOPS = 20 if FULL else 2  # J4
KILLS = 10 if FULL else 1  # J4
FINISHERS = ("node", "atonce", "while") * (5 if FULL else 1)  # J7
WAIT = 180  # seconds for anything; much, since the machine may be busy

pytestmark = pytest.mark.timeout(7200 if FULL else 300)


@pytest.fixture(scope="module")
def lagging(controlplane, pumice_of_session, tmp_path_factory):
    """The controller, behind a proxy that delays each event of its watches.

    Its lease is a long one, so that a busy machine does not end it; see kill9.
    """
    print(f"seed {SEED}")
    folder = tmp_path_factory.mktemp("faultproxy")
    rule = {"match": {"verb": "watch"}, "seed": SEED,
            "action": {"type": "watch_lag", "random_ms": LAG_MS}}
    controller = pumice_of_session.controller
    flags = controller.flags
    controller.flags = {**flags, "leader-elect-lease-duration": "90s",
                        "leader-elect-renew-deadline": "60s"}
    with proxied(controlplane, controller, build(folder), folder, [rule]) as proxy:
        yield controller
        assert proxy.rules()[0]["hits"] > 5
        controller.flags = flags


@pytest.fixture
def ledger(api, ns):
    """A Ledger of the test's namespace."""
    with Ledger(api, ns) as running:
        yield running


@pytest.fixture
def rounds(record_property):
    """rounds(text): what the test does, for the report."""
    return lambda text: record_property("rounds", text)


class Stage:
    """What a scenario gets: a namespace, its ledger, the audit log and random numbers."""

    def __init__(self, api, plane, name, ledger):
        self.api, self.ns, self.ledger = api, ledger.ns, ledger
        self.writes = Writes(plane)
        self.rng = random.Random(f"{SEED} {name}")


def play(scenario, api, plane, pumice):
    """Runs a scenario in a new namespace."""
    name = f"{scenario.__name__.replace('_', '-')}-{secrets.token_hex(3)}"
    api.make_namespace(name)
    try:
        with Ledger(api, name) as ledger:
            scenario(Stage(api, plane, scenario.__name__, ledger))
    except Exception as error:
        error.add_note(describe(api, name, pumice))
        raise
    finally:
        api.remove_namespace(name)


@pytest.fixture(scope="module")
def scenarios(request, api, controlplane, pumice_of_session, lagging):
    """Begins the scenarios of all tests that are to run; gives a function that waits for one."""
    names = {item.originalname for item in request.session.items}
    wanted = [one for one in SCENARIOS if f"test_{one.__name__}" in names]
    with ThreadPoolExecutor(len(wanted)) as pool:
        running = {one: pool.submit(play, one, api, controlplane, pumice_of_session)
                   for one in wanted}
        yield lambda scenario: running[scenario].result()


def stubborn(seconds):
    """What a task is given whose pods ignore SIGTERM and are killed so many seconds later."""
    return {"script": "trap '' TERM; sleep 100000", "terminationGracePeriodSeconds": seconds}


def run_all(function, arguments, at_once):
    """Calls function(*one) for each of the arguments, some at once; raises what one raised."""
    with ThreadPoolExecutor(at_once) as pool:
        return [future.result() for future in
                [pool.submit(function, *one) for one in arguments]]


def make(api, ns, made):
    """Creates a job, and waits until all its pods run by its status; returns its UID."""
    created = api.create_job(ns, made)
    wait_running(api, ns, made["metadata"]["name"], created["metadata"]["uid"])
    return created["metadata"]["uid"]


def wait_running(api, ns, name, uid, running=None):
    """Waits until the job of this UID runs with all its pods, or `running` of them."""
    def all_run():
        found = api.job(ns, name)
        assert found["metadata"]["uid"] == uid
        wanted = sum(one["replicas"] for one in found["spec"]["tasks"])
        status = found.get("status", {})
        return status.get("state", {}).get("phase") == "Running" and \
            status.get("running") == (wanted if running is None else running)
    wait_until(all_run, WAIT, lambda: f"job {name} with all pods; {api.why(ns, name)}")


def status_of(found):
    """The phase of a job, and its status."""
    status = found.get("status", {})
    return status.get("state", {}).get("phase", ""), status


def phases_of(entry):
    """The phases that a job of the ledger went through."""
    found = []
    for _, state in entry.states:
        phase = status_of(state)[0]
        if phase and found[-1:] != [phase]:
            found.append(phase)
    return found


def retries_of(entry):
    """The most that a job's retryCount ever was."""
    return max(status_of(state)[1].get("retryCount", 0) for _, state in entry.states)


def kill9(controlplane, controller):
    """Kills the controller and starts another, which need not wait for the lease to run out."""
    controller.kill9()
    controlplane.request("DELETE", LEASE)
    controller.start()


# J1


def recreate(api, ns, made):
    """Creates a job under a name that may not be free yet; returns its UID."""
    def attempt():
        try:
            return api.create_job(ns, made)
        except ApiException as error:
            if error.status != 409:
                raise
            return None
    return wait_until(attempt, WAIT, f"the name of job {made['metadata']['name']} to be free")[
        "metadata"]["uid"]


def a_job_deleted_and_made_again(stage):
    """Whatever is heard of the first job and its pods does nothing to the second."""
    api, ns, ledger = stage.api, stage.ns, stage.ledger
    lanes = len(PAUSES)

    def lane(name, pause, dwells):
        made = job(name, [task("w", 8, **stubborn(5))],
                   policies=[{"event": "PodEvicted", "action": "TerminateJob"}])
        make(api, ns, made)
        for dwell in dwells:
            api.delete_job(ns, name)
            time.sleep(pause)
            wait_running(api, ns, name, recreate(api, ns, made))
            time.sleep(dwell)
    run_all(lane, [(f"again{k}", PAUSES[k], [stage.rng.uniform(0, LAG_MS / 1000)
                                               for _ in range(k, J1_ROUNDS, lanes)])
                   for k in range(lanes)], lanes)
    stays(lambda: all(api.phase(ns, f"again{k}") == "Running" for k in range(lanes)),
          LAG_MS / 1000, "late news must not change the last jobs")
    ledger.settle()
    runs = ledger.entries("jobs")
    assert len(runs) == J1_ROUNDS + lanes
    for run in runs:
        assert set(phases_of(run)) <= {"Pending", "Running"}, (run, phases_of(run))
        assert retries_of(run) == 0
        # What comes after the end of a job is J2.
        mine = [pod for pod in ledger.entries("pods", owner=run.uid)
                if not run.gone or pod.born < run.gone]
        assert sorted(pod.name for pod in mine) == [f"{run.name}-w-{i}" for i in range(8)]
        assert run.gone or not any(pod.deleted for pod in mine)


# J2


def label_and_delete(api, ns, name, how, first):
    """Changes a pod's label and deletes its job in the same moment; first is begun first."""
    def label():
        api.core.patch_namespaced_pod(f"{name}-w-0", ns, {"metadata": {"labels": {"a": "b"}}})

    def delete():
        api.custom.delete_namespaced_custom_object(
            name=name, propagation_policy="Foreground" if how == "ByHand" else how,
            **kind_of(JOBS, ns))
    both = [threading.Thread(target=one) for one in (label, delete)[::first]]
    for one in both:
        one.start()
    for one in both:
        one.join()
    if how == "ByHand":  # the job goes before its pods
        api.patch_job(ns, name, [{"op": "replace", "path": "/metadata/finalizers", "value": []}])


def ended_at(writes, name):
    """When the last write on a job ended, which removed it, in seconds since 1970."""
    return max(one.end for one in writes if one.resource == "jobs" and one.name == name and one.ok
               and one.verb in ("delete", "patch", "update"))


def creates_after(writes, gone):
    """Creates of the controller for jobs (name: when it was gone) that were gone."""
    return [f"{one} {one.begin - gone[name]:.3f} s late: {one.code}" for one in writes
            for name in gone if one.client == "controller" and one.verb == "create"
            and one.resource != "events" and one.begin > gone[name]
            and (one.name == name or one.name.startswith(f"{name}-"))]


def nothing_is_made_for_a_job_that_is_gone(stage):
    """By the audit log: not one create for the job's name, which is used once, after its end."""
    api, ns, ledger = stage.api, stage.ns, stage.ledger
    how = [("Background", "Foreground", "Orphan", "ByHand")[i % 4] for i in range(J2_ROUNDS)]
    orders = [stage.rng.choice((1, -1)) for _ in how]

    def one_round(i):
        name = f"gone{i}"
        plugins = {"svc": [], **({"ssh": []} if i % 8 == 0 else {})}
        make(api, ns, job(name, [task("w")], plugins=plugins))
        label_and_delete(api, ns, name, how[i], orders[i])
    run_all(one_round, [(i,) for i in range(J2_ROUNDS)], AT_ONCE)

    def only_orphans():
        return not api.jobs(ns) and all(pod["metadata"]["name"] in orphans for pod in api.pods(ns))
    orphans = {f"gone{i}-w-0" for i in range(J2_ROUNDS) if how[i] == "Orphan"}
    wait_until(only_orphans, WAIT, lambda: f"only orphans to be left: {api.jobs(ns)}")
    stays(only_orphans, LAG_MS / 1000 + 1, "nothing may come back")
    ledger.settle()
    found = stage.writes.inside(ns)
    late = creates_after(found, {f"gone{i}": ended_at(found, f"gone{i}") for i in range(J2_ROUNDS)})
    assert not late, late
    pods = {pod.name: pod for pod in ledger.entries("pods")}
    assert len(pods) == len(ledger.entries("pods")) == J2_ROUNDS
    assert not [name for name in orphans if pods[name].deleted], "orphans are left alone"


def nothing_is_made_in_a_namespace_that_goes(stage):
    """Its pods go one by one; none of them is replaced once the job is gone."""
    api = stage.api
    for name in [f"going-{i}-{secrets.token_hex(3)}" for i in range(NAMESPACES)]:
        api.make_namespace(name)
        with Ledger(api, name) as ledger:
            uid = make(api, name, job("within", [task("w", 4)], plugins={"svc": []}))
            api.core.delete_namespace(name)
            wait_until(lambda name=name: not api.core.list_namespace(
                field_selector=f"metadata.name={name}").items, WAIT, f"{name} to be gone")
            late = creates_after(stage.writes.inside(name), {"within": ledger.job(uid).gone_at})
        assert not late, late


# J3


FINAL = {"AbortJob": ("Aborting", "Aborted"), "TerminateJob": ("Terminating", "Terminated"),
         "CompleteJob": ("Completing", "Completed"), "RestartJob": ("Restarting", "Running")}


def command(api, ns, name, action):
    """Sends a Command to a job; returns the Command's name."""
    target = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name,
              "uid": api.job(ns, name)["metadata"]["uid"], "controller": True}
    return api.custom.create_namespaced_custom_object(body={
        "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "action": action,
        "metadata": {"generateName": f"{name}-stop-", "ownerReferences": [target]},
        "target": target}, **kind_of(COMMANDS, ns))["metadata"]["name"]


def hold(api, ns, pod, held=True):
    """Makes a pod one that never goes, or lets it go."""
    api.core.patch_namespaced_pod(pod, ns, {"metadata": {
        "finalizers": ["example.com/held"] if held else None}})


def check_ended(ledger, entry, action):
    """The phase while pods ended, how many were counted, and that the last was gone first."""
    during, after = FINAL[action]
    first = [pod for pod in ledger.entries("pods", owner=entry.uid)][:4]
    last_gone = max(pod.gone for pod in first)
    begun = [(version, status_of(state)) for version, state in entry.states
             if status_of(state)[0] == during]
    assert begun[0][1][1].get("terminating") == 4, begun[0]
    ended = [version for version, state in entry.states if version > begun[0][0]
             and status_of(state)[0] not in (during, "")]
    assert min(ended) > last_gone, f"{entry}: {phases_of(entry)} before {first}"
    assert all(pod.gone for pod in first)
    restarted = action == "RestartJob"
    assert phases_of(entry)[-1] == after
    assert len(ledger.entries("pods", owner=entry.uid)) == (8 if restarted else 4)
    assert retries_of(entry) == (1 if restarted else 0)
    _, status = status_of(entry.states[-1][1])
    assert "terminating" not in status and status.get("running", 0) == (4 if restarted else 0)


def wait_named(api, ns, held, actions):
    """Waits until the jobs name the pod that does not go, and are not over before."""
    def named():
        found = {name: status_of(api.job(ns, name)) for name in held}
        assert all(phase in (FINAL[actions[name]][0], "Running")
                   for name, (phase, _) in found.items()), found
        return all(status["state"].get("reason") == "PodStillTerminating"
                   and f"{name}-w-2" in status["state"].get("message", "")
                   and status.get("terminating") == 1 for name, (_, status) in found.items())
    wait_until(named, WAIT, lambda: f"jobs to name their pod: {[api.why(ns, n) for n in held]}")


def is_over(found, action):
    """True for a job that has done what the Command says; a restarted one runs again."""
    phase, status = status_of(found)
    restarted = action != "RestartJob" or \
        status.get("retryCount") == 1 and status.get("running") == 4
    return phase == FINAL[action][1] and restarted


def a_job_is_over_when_its_last_pod_is_gone(stage):
    """Each Command twice: all pods take their time, and one never goes, until it is let go."""
    api, ns, ledger = stage.api, stage.ns, stage.ledger
    actions = {f"{word}{action.lower()}": action for action in FINAL for word in ("slow", "held")}
    run_all(lambda name: make(api, ns, job(name, [task("w", 4, **stubborn(KILL_S))])),
            [(name,) for name in actions], len(actions))
    held = [name for name in actions if name.startswith("held")]
    for name in held:
        hold(api, ns, f"{name}-w-2")
    try:
        commands = [command(api, ns, name, action) for name, action in actions.items()]
        wait_named(api, ns, held, actions)
    finally:
        for name in held:
            hold(api, ns, f"{name}-w-2", held=False)
    wait_until(lambda: all(is_over(api.job(ns, name), action) for name, action in actions.items()),
               WAIT, lambda: f"all to be over: {[api.why(ns, name) for name in actions]}")
    ledger.settle()
    for entry in ledger.entries("jobs"):
        check_ended(ledger, entry, actions[entry.name])
    deletes = [one.name for one in stage.writes.inside(ns)
               if one.does("delete", "commands") and one.client == "controller"]
    assert sorted(deletes) == sorted(commands)


# J4


def loop_job(name):
    """A job that restarts one of its tasks when a pod of it is evicted."""
    evicted = [{"event": "PodEvicted", "action": "RestartTask"}]
    return job(name, [{**task("a", 3), "policies": evicted}, task("b", 2)], minimum=3, maxRetry=5)


def evict(api, ns, name, *indices):
    """Deletes pods of task a, 10 ms apart."""
    for index in indices:
        api.core.delete_namespaced_pod(f"{name}-a-{index}", ns)
        time.sleep(0.01)


def wait_restarted(api, ns, name, uid, before):
    """Waits until task a was restarted: none of the pods before is left, and all run."""
    def others():
        found = {pod["metadata"]["uid"] for pod in api.pods_of(ns, name, "a")}
        return len(found) == 3 and not found & before
    wait_until(others, WAIT, lambda: f"task a of {name} to be restarted; {api.why(ns, name)}")
    wait_running(api, ns, name, uid)


def check_loop(ledger, uid, generations, retries):
    """Pods of a came that often, those of b once; what retryCount was."""
    entry = ledger.job(uid)
    pods = [pod.name.removeprefix(f"{entry.name}-") for pod in ledger.entries("pods", owner=uid)]
    assert retries_of(entry) in retries, phases_of(entry)
    assert sorted(set(pods)) == ["a-0", "a-1", "a-2", "b-0", "b-1"]
    assert all(pods.count(f"a-{i}") in generations for i in range(3)), pods
    assert all(pods.count(f"b-{i}") == 1 for i in range(2)), pods


def of_a(api, ns, name):
    """The UIDs of the pods of task a."""
    return {pod["metadata"]["uid"] for pod in api.pods_of(ns, name, "a")}


def a_restart_does_not_feed_itself(stage):
    """One eviction is one restart of the task; so are two at once. Nothing follows from it."""
    api, ns, ledger = stage.api, stage.ns, stage.ledger
    names = [f"loop{i}" for i in range(LOOPS)]

    def one_round(name):
        uid = make(api, ns, loop_job(name))
        for indices in ((1,), (0, 2)):
            before = of_a(api, ns, name)
            evict(api, ns, name, *indices)
            wait_restarted(api, ns, name, uid, before)
        return uid
    uids = run_all(one_round, [(name,) for name in names], 4)
    stays(lambda: all(api.phase(ns, name) == "Running" for name in names), LAG_MS / 1000 + 1,
          "nothing may follow")
    ledger.settle()
    for uid in uids:
        check_loop(ledger, uid, generations=(3,), retries=(2,))


# The ends of what was begun at once


SCENARIOS = (a_job_deleted_and_made_again, nothing_is_made_for_a_job_that_is_gone,
             nothing_is_made_in_a_namespace_that_goes, a_job_is_over_when_its_last_pod_is_gone,
             a_restart_does_not_feed_itself)


def test_a_job_deleted_and_made_again(scenarios, pumice, rounds):
    rounds(f"{J1_ROUNDS} jobs after one of the same name")
    scenarios(a_job_deleted_and_made_again)


def test_nothing_is_made_for_a_job_that_is_gone(scenarios, pumice, rounds):
    rounds(f"{J2_ROUNDS} jobs")
    scenarios(nothing_is_made_for_a_job_that_is_gone)


def test_nothing_is_made_in_a_namespace_that_goes(scenarios, pumice, rounds):
    rounds(f"{NAMESPACES} namespaces")
    scenarios(nothing_is_made_in_a_namespace_that_goes)


def test_a_job_is_over_when_its_last_pod_is_gone(scenarios, pumice, rounds):
    rounds(f"4 Commands twice, pods that take {KILL_S} s to go")
    scenarios(a_job_is_over_when_its_last_pod_is_gone)


def test_a_restart_does_not_feed_itself(scenarios, pumice, rounds):
    rounds(f"{LOOPS} jobs, 3 evictions each")
    scenarios(a_restart_does_not_feed_itself)


# J4 and J7 across the end of the controller


def test_a_restart_that_is_begun_ends_once_without_its_controller(api, ns, pumice, lagging, ledger,
                                                                  controlplane, rounds):
    """kill -9 once the status says so, and before: what no controller saw is one lost pod."""
    rounds(f"{KILLS} kills")
    for i in range(KILLS):
        seen, unseen = names = (f"seen{i}", f"unseen{i}")
        made = run_all(make, [(api, ns, loop_job(name)) for name in names], 2)
        uids = dict(zip(names, made))
        before = of_a(api, ns, seen)
        evict(api, ns, seen, 0, 2)
        wait_until(lambda: status_of(api.job(ns, seen))[1].get("retryCount"), WAIT,
                   "the restart to be written down", interval=0.002)
        evict(api, ns, unseen, 1)
        kill9(controlplane, pumice.controller)
        wait_restarted(api, ns, seen, uids[seen], before)
        api.wait_pods(ns, unseen, 5, phase="Running", timeout=WAIT)
        wait_running(api, ns, unseen, uids[unseen])
        stays(lambda: all(api.phase(ns, name) == "Running" for name in uids), LAG_MS / 1000,
              "nothing may follow")
        ledger.settle()
        check_loop(ledger, uids[seen], generations=(2,), retries=(1,))
        check_loop(ledger, uids[unseen], generations=(1, 2), retries=(0, 1))


def finish(api, ns, pod):
    """A pod succeeds, as its kubelet tells it."""
    api.core.patch_namespaced_pod_status(pod, ns, {"status": {
        "phase": "Succeeded", "containerStatuses": [{
            "name": "main", "image": "busybox:1.36", "imageID": "", "ready": False,
            "restartCount": 0, "state": {"terminated": {"exitCode": 0, "startedAt": now(),
                                                        "finishedAt": now()}}}]}})


def now():
    """The time as objects have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def test_finished_work_is_not_done_again(api, ns, pumice, lagging, ledger, more_nodes, controlplane,
                                         rounds):
    """Index 0 is removed after its success, at once or later, with its node, across restarts."""
    rounds(f"{len(FINISHERS)} jobs, one restart, one kill")
    names = [f"{kind}{i}" for i, kind in enumerate(FINISHERS)]
    big = {"cpu": "20", "nodeSelector": {"pool": ns}}
    policies = [{"event": "PodEvicted", "action": "RestartJob"}]
    more_nodes(3 * FINISHERS.count("node"), labels={"pool": ns})
    made = run_all(make, [(api, ns, job(name, [task("w", 3, **(big if name.startswith("node")
                                                             else {}))], policies=policies))
                          for name in names], len(names))
    uids = dict(zip(names, made))

    def counted(name, count):
        wait_until(lambda: status_of(api.job(ns, name))[1].get("succeeded") == count, WAIT,
                   lambda: f"job {name} with {count} succeeded; {api.why(ns, name)}")

    def remove(name):
        api.core.delete_namespaced_pod(f"{name}-w-0", ns, grace_period_seconds=0)
    for name in names:
        finish(api, ns, f"{name}-w-0")
        if name.startswith("atonce"):
            remove(name)
    for name in names:
        counted(name, 1)
        if name.startswith("node"):
            node = api.core.read_namespaced_pod(f"{name}-w-0", ns).spec.node_name
            remove(name)
            controlplane.delete_nodes([node])
    pumice.controller.stop()
    for name in names:
        if name.startswith("while"):
            remove(name)
    pumice.controller.start()
    stays(lambda: all(status_of(api.job(ns, name))[1].get("succeeded") == 1 for name in names),
          LAG_MS / 1000 + 1, "what succeeded stays counted")
    kill9(controlplane, pumice.controller)
    for name in names:
        for index in (1, 2):
            finish(api, ns, f"{name}-w-{index}")
    for name in names:
        api.wait_phase(ns, name, "Completed", timeout=WAIT)
        counted(name, 3)
    ledger.settle()
    for name, uid in uids.items():
        entry = ledger.job(uid)
        assert phases_of(entry) in (["Pending", "Running", "Completed"], ["Running", "Completed"])
        assert retries_of(entry) == 0
        assert len(ledger.entries("pods", owner=uid)) == 3
        counts = [status_of(state)[1].get("succeeded", 0) for _, state in entry.states]
        assert counts == sorted(counts), counts
