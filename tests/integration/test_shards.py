"""Several controllers that are active at once: who has what, and what becomes of it when they go."""

import contextlib
import random
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster import ApiError

from harness.audits import Writes
from harness.members import DURATION, LEASE, SHARDS, TIMES, Audit, Members, Storm, late_faults, submit, wrong_pods
from harness.objects import job, task
from harness.proxy import build, proxy_for
from harness.wait import wait_until
from harness.witness import Witness

JOBS = 12
# No Lease runs out while a test waits for what is to happen AT_ONCE.
LONG = {"leader-elect-lease-duration": "20s", "leader-elect-renew-deadline": "15s",
        "leader-elect-retry-period": "500ms"}
AT_ONCE = 12


@pytest.fixture(scope="module")
def proxy_binary(tmp_path_factory):
    return build(tmp_path_factory.mktemp("faultproxy"))


@pytest.fixture
def members(pumice, request):
    """Members(pumice), with which pumice.controller does not run; none of them does at first. The times of
    their Leases may be given as parameter."""
    pumice.controller.stop()
    made = Members(pumice, times=getattr(request, "param", None))
    yield made
    complaints = made.stop()
    pumice.controller.start()
    assert not complaints, "; ".join(complaints)


def run_jobs(api, ns, prefix, count=JOBS):
    """Creates jobs and waits until all their pods run."""
    names = [f"{prefix}{number}" for number in range(count)]
    for name in names:
        api.create_job(ns, job(name, [task("main", 3, cpu="10m", memory="16Mi")]))
    for name in names:
        api.wait_phase(ns, name, "Running")
        assert len(api.pods_of(ns, name)) == 3
    return names


@pytest.mark.parametrize("members", [LONG], indirect=True, ids=["long"])
def test_shards_follow_the_members(api, ns, members):
    one, two, three = members.all
    members.start(one)
    members.wait_shares([one])
    run_jobs(api, ns, "one")
    members.start(two)
    members.start(three)
    members.wait_shares([one, two, three])
    run_jobs(api, ns, "three")
    two.stop()  # in order: no Lease has to run out
    members.wait_shares([one, three], timeout=AT_ONCE)
    run_jobs(api, ns, "two")
    one.kill9()
    members.wait_shares([three])
    run_jobs(api, ns, "last")
    # What is of no use any more is deleted.
    wait_until(lambda: len(members.leases()) == 2, 30, lambda: f"two Leases: {members.leases()}")
    assert all(len(api.pods_of(ns, f"{prefix}{number}")) == 3
               for prefix in ("one", "three", "two", "last") for number in range(JOBS))


def test_at_rest_nothing_but_leases_is_written(api, ns, members):
    for member in members.all:
        members.start(member)
    members.wait_shares(members.all)
    run_jobs(api, ns, "rest")
    writes = Writes(members.plane)
    writes.wait_quiet()
    rest = Writes(members.plane)
    wait_until(lambda: len([one for one in rest.all() if one.resource == "leases"]) > 30, 30,
               "thirty renewals")
    assert not [str(one) for one in rest.at_rest() if one.client == "controller"]
    names = {one.name for one in rest.all() if one.resource == "leases" and one.client == "controller"}
    assert len(names) == 4 and LEASE in names
    assert sum(members.shards(member) for member in members.all) == SHARDS
    assert TIMES["leader-elect-retry-period"] == "500ms"


def check_no_write_too_late(audit, members, story):
    """What came after the Lease of its sender had ended changed nothing."""
    for member in members:
        faults = late_faults(audit.late(member))
        assert not faults, (member.name, faults, story)


@pytest.mark.parametrize("seed", [1])
def test_members_are_killed_and_paused_under_load(api, ns, members, seed):
    rng, pods = random.Random(seed), 5
    witness, audit = Witness(api, ns), Audit(members.plane)
    for member in members.all:
        members.start(member)
    members.wait_shares(members.all)
    storm = Storm(members, rng)
    with ThreadPoolExecutor(1) as worker:
        submitted = worker.submit(submit, api, ns, random.Random(f"jobs {seed}"), "storm", 60, pods, 45)
        storm.blow(submitted.done)
    jobs = submitted.result()
    members.wait_shares(members.all, revive=True)
    for name, ends in jobs.items():
        api.wait_phase(ns, name, "Completed" if ends else "Running", timeout=90)
    witness.end()
    assert sum(storm.done.values()) >= 8, storm.done
    assert not wrong_pods(witness, jobs, pods)
    check_no_write_too_late(audit, members.all, storm.done)


def test_who_is_cut_off_is_replaced(api, ns, members, proxy_binary, tmp_path):
    one, two, three = members.all
    witness, audit = Witness(api, ns), Audit(members.plane)
    with proxy_for(members.plane, two.identity, proxy_binary, tmp_path) as proxy:
        members.through(two, proxy)
        for member in members.all:
            members.start(member)
        members.wait_shares(members.all)
        names = [f"cut{number}" for number in range(JOBS)]
        for number, name in enumerate(names):
            if number == 2:  # some of them are with the one that is cut off, and half made
                proxy.add({"match": {}, "action": {"type": "freeze"}})
            api.create_job(ns, job(name, [task("main", 5, cpu="5m", memory="8Mi")]))
        wait_until(lambda: not two.running(), 3 * DURATION, "the one that is cut off to leave")
        assert two.has_lost_its_lease() and two.exit_code() == 1
        members.wait_shares([one, three], timeout=3 * DURATION)
        for name in names:
            api.wait_phase(ns, name, "Running")
        proxy.clear()
        members.start(two)
        members.wait_shares(members.all)
        two.stop()
    witness.end()
    assert not wrong_pods(witness, names, 5)
    check_no_write_too_late(audit, members.all, "cut off")


def written_by(audit, member):
    """What a member wrote for jobs."""
    return [str(one) for one in audit.records()
            if one.credential == member.credential and one.resource not in ("leases", "events", "queues")]


@pytest.mark.parametrize("members", [LONG], indirect=True, ids=["long"])
def test_from_one_that_leads_to_shards_and_back(api, ns, members):
    old, one, two = members.all
    members.alone(old)
    witness, audit = Witness(api, ns), Audit(members.plane)
    members.start(old)
    members.wait_shares([old])
    run_jobs(api, ns, "before", 4)
    # Nobody has a shard while one that knows nothing of them has the Lease.
    left_over = len(members.leases())
    members.start(one)
    members.start(two)
    wait_until(lambda: one.is_ready() and two.is_ready() and len(members.leases()) == left_over + 2, 30,
               "both to join")
    run_jobs(api, ns, "beside", 4)
    assert [members.shards(member) for member in members.all] == [SHARDS, 0, 0]
    assert written_by(audit, old) and not written_by(audit, one) and not written_by(audit, two)
    # In the middle of the work.
    for number in range(8):
        api.create_job(ns, job(f"over{number}", [task("main", 3, cpu="5m", memory="8Mi")]))
    old.stop()
    members.wait_shares([one, two], timeout=AT_ONCE)
    run_jobs(api, ns, "after", 8)
    assert written_by(audit, one) and written_by(audit, two)
    # Back, with one that has shards.
    two.stop()
    members.wait_shares([one], timeout=AT_ONCE)
    last = Audit(members.plane)
    members.start(old)
    wait_until(old.is_ready, 30, "it to stand by")
    run_jobs(api, ns, "still", 4)
    assert not written_by(last, old)
    one.kill9()
    wait_until(lambda: members.shards(old) == SHARDS, 60, "it to lead")
    run_jobs(api, ns, "back", 4)
    for number in range(8):
        api.wait_phase(ns, f"over{number}", "Running")
    witness.end()
    assert len(witness.seen) == 3 * (4 + 4 + 8 + 8 + 4 + 4) == len(set(witness.seen.values()))


FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
LEVEL = {"metadata": {"name": "narrow"}, "spec": {"type": "Limited", "limited": {
    "nominalConcurrencyShares": 1, "lendablePercent": 0, "borrowingLimitPercent": 0,
    "limitResponse": {"type": "Queue", "queuing": {"queues": 1, "handSize": 1, "queueLengthLimit": 50}}}}}
# All that the controllers ask for, but for what a schema of a lower number has: their Leases.
SCHEMA = {"metadata": {"name": "narrow"}, "spec": {
    "priorityLevelConfiguration": {"name": "narrow"}, "matchingPrecedence": 300,
    "distinguisherMethod": {"type": "ByUser"}, "rules": [{
        "subjects": [{"kind": "ServiceAccount", "serviceAccount": {
            "namespace": "volcano-system", "name": "volcano-controllers"}}],
        "resourceRules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"], "clusterScope": True,
                           "namespaces": ["*"]}]}]}}


@pytest.fixture
def narrow(controlplane, ns):
    """The controllers have a few seats of the API server, and each create of a pod of the namespace
    keeps one for a second: it waits for a webhook that never answers, and does without."""
    deaf = socket.create_server(("127.0.0.1", 0))
    controlplane.create(f"{FLOW}/prioritylevelconfigurations", LEVEL)
    controlplane.create(f"{FLOW}/flowschemas", SCHEMA)
    controlplane.create(HOOKS, {"metadata": {"name": "deaf"}, "webhooks": [{
        "name": "deaf.example.com", "clientConfig": {"url": f"https://127.0.0.1:{deaf.getsockname()[1]}"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns}},
        "failurePolicy": "Ignore", "sideEffects": "None", "timeoutSeconds": 1,
        "admissionReviewVersions": ["v1"]}]})
    yield lambda: controlplane.request("DELETE", f"{HOOKS}/deaf")
    with contextlib.suppress(ApiError):  # it is gone where the test came so far
        controlplane.request("DELETE", f"{HOOKS}/deaf")
    controlplane.request("DELETE", f"{FLOW}/flowschemas/narrow")
    controlplane.request("DELETE", f"{FLOW}/prioritylevelconfigurations/narrow")
    deaf.close()


def waited(plane):
    """How long requests have waited for a seat of the narrow level, in seconds, all together."""
    found = re.findall(r'^apiserver_flowcontrol_request_wait_duration_seconds_sum\{.*priority_level="narrow".*\} (\S+)$',
                       plane.request("GET", "/metrics"), re.M)
    return sum(map(float, found))


def test_creates_that_fill_their_share_of_the_api_server_lose_no_lease(api, ns, members, narrow):
    for member in members.all:
        members.start(member)
    members.wait_shares(members.all)
    holders = {name: one["spec"]["holderIdentity"] for name, one in members.leases().items()}
    witness = Witness(api, ns)
    names = [f"full{number}" for number in range(JOBS)]
    for name in names:
        api.create_job(ns, job(name, [task("main", 5, cpu="5m", memory="8Mi")]))
    before = waited(members.plane)
    time.sleep(4 * DURATION)
    assert waited(members.plane) - before > DURATION  # longer than a Lease lasts, all together
    narrow()
    for name in names:
        api.wait_phase(ns, name, "Running")
    assert all(member.running() for member in members.all)
    assert {name: one["spec"]["holderIdentity"] for name, one in members.leases().items()} == holders
    witness.end()
    assert not wrong_pods(witness, names, 5)
