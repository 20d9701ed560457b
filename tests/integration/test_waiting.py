"""What a job cannot have yet: it waits without an end, says why once, and goes on by itself.

In each case the cause lasts for several tries of the controller; then it is taken away, and the job has to
run within the back-off, which is a minute at most.
"""

import pytest
from kubernetes.client.exceptions import ApiException

from harness.api import PODGROUPS, kind_of
from harness.audits import audit
from harness.objects import job, queue, task, volume
from harness.proxy import build, proxied
from harness.wait import stays, wait_until

CONTROLLER = "system:serviceaccount:volcano-system:volcano-controllers"
ENDED = ("Failed", "Terminated", "Aborted", "Completed", "Terminating", "Aborting", "Completing", "Restarting")
BACKOFF = 90  # seconds: the longest back-off, with its jitter and some room
ANSWERS = {"429": {"code": 429}, "500": {"code": 500}}
MORE_ANSWERS = {**ANSWERS, "429-after-6s": {"code": 429, "retryAfter": 6}, "503": {"code": 503}}


# What is seen of a job that waits


def state(api, ns, name):
    """The job's status.state."""
    return api.job(ns, name).get("status", {}).get("state", {})


def says(api, ns, name, reason, *words):
    """Waits until the job gives that reason, with those words in its message."""
    def told():
        found = state(api, ns, name)
        return found.get("reason") == reason and all(word in found.get("message", "") for word in words)
    wait_until(told, 30, lambda: f"job {name} to say {reason} with {words}: {api.why(ns, name)}")


def warnings(api, ns, name, reason):
    """(message, count) of the job's Events of that reason."""
    return [(one["message"], one.get("count", 1)) for one in api.events(ns, name)
            if one["reason"] == reason and one["type"] == "Warning"]


def told_once(api, ns, name, reason):
    """One Event tells of it, and it was told once."""
    wait_until(lambda: warnings(api, ns, name, reason), 20, lambda: f"an Event {reason}: {api.events(ns, name)}")
    found = warnings(api, ns, name, reason)
    assert len(found) == 1 and found[0][1] == 1, found


def quiet(api, ns, name, seconds=2):
    """Nothing is written to a job that only waits, and it has not ended."""
    def version():
        found = api.job(ns, name)
        assert found["status"]["state"]["phase"] not in ENDED, api.why(ns, name)
        return found["metadata"]["resourceVersion"]
    before = version()
    stays(lambda: version() == before, seconds, lambda: f"a job that waits is written to: {api.why(ns, name)}")


def said_no_more(api, ns, name):
    """Reason and message go when the cause has gone."""
    wait_until(lambda: not state(api, ns, name).get("reason") and not state(api, ns, name).get("message"), 10,
               lambda: f"job {name} to have nothing to say: {api.why(ns, name)}")


def refused_creates(controlplane, ns, code):
    """How many pod creates of the controller were refused in a namespace, by the audit log."""
    return sum(one["verb"] == "create" and one["user"]["username"] == CONTROLLER and
               one["objectRef"].get("namespace") == ns and one["objectRef"]["resource"] == "pods" and
               one["responseStatus"]["code"] == code for one in controlplane.audit_records())


def wait_tries(count, tries, what):
    """Waits until the controller has tried that often."""
    wait_until(lambda: tries() >= count, 60, lambda: f"{count} {what}, there were {tries()}", interval=0.3)


# Quota


@pytest.fixture
def quota(api, ns):
    """quota(cpu): sets the namespace's quota, in force when it returns."""
    def set_to(cpu):
        body = {"metadata": {"name": "rq"}, "spec": {"hard": {"requests.cpu": cpu}}}
        try:
            api.core.create_namespaced_resource_quota(ns, body)
        except ApiException as error:
            if error.status != 409:
                raise
            api.core.patch_namespaced_resource_quota("rq", ns, body)
        wait_until(lambda: (api.core.read_namespaced_resource_quota("rq", ns).status.hard or {})
                   .get("requests.cpu") == cpu, 30, f"the quota to be {cpu}")
    return set_to


@pytest.mark.parametrize("minimum", [3, 8])
def test_quota(api, ns, pumice, controlplane, quota, minimum):
    """J6: five of eight pods fit. A gang of three runs; of a gang of eight nothing starts."""
    quota("5")
    api.create_job(ns, job("over", [task("w", 8, cpu="1")], minimum=minimum))
    api.wait_pods(ns, "over", 5, phase="Running" if minimum == 3 else "Pending", timeout=60)
    says(api, ns, "over", "FailedCreate", "exceeded quota", "requests.cpu=1")
    wait_tries(5, lambda: refused_creates(controlplane, ns, 403), "creates refused by the quota")
    told_once(api, ns, "over", "FailedCreate")
    quiet(api, ns, "over")
    assert len(api.pods_of(ns, "over")) == 5
    assert len(api.bound_pods(ns, "over")) == (5 if minimum == 3 else 0)
    quota("8")
    api.wait_pods(ns, "over", 8, phase="Running", timeout=BACKOFF)
    api.wait_phase(ns, "over", "Running")
    said_no_more(api, ns, "over")
    assert len(warnings(api, ns, "over", "FailedCreate")) == 1


def test_a_quota_that_changes_is_told_again(api, ns, pumice, controlplane, quota):
    """One Event for each change, however often each is met."""
    quota("2")
    api.create_job(ns, job("more", [task("w", 4, cpu="1")], minimum=1))
    says(api, ns, "more", "FailedCreate", "limited: requests.cpu=2")
    quota("3")
    says(api, ns, "more", "FailedCreate", "limited: requests.cpu=3")
    seen = refused_creates(controlplane, ns, 403)
    wait_tries(seen + 2, lambda: refused_creates(controlplane, ns, 403), "refused creates")
    assert [count for _, count in warnings(api, ns, "more", "FailedCreate")] == [1, 1]
    quota("4")
    api.wait_pods(ns, "more", 4, phase="Running", timeout=BACKOFF)


# What a job names and there is not


def test_a_priority_class_that_comes_later(api, ns, pumice, controlplane):
    """J6, our variant: the template names a class that nobody has made yet."""
    late = ns[:50]
    api.create_job(ns, job("late", [task("w", 2, priorityClassName=late)]))
    says(api, ns, "late", "FailedCreate", "PriorityClass", late)
    wait_tries(3, lambda: refused_creates(controlplane, ns, 403), "creates refused for the class")
    told_once(api, ns, "late", "FailedCreate")
    quiet(api, ns, "late")
    assert api.phase(ns, "late") == "Pending" and not api.pods_of(ns, "late")
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    controlplane.create(path, {"metadata": {"name": late}, "value": 7})
    try:
        api.wait_phase(ns, "late", "Running", timeout=BACKOFF)
        said_no_more(api, ns, "late")
        assert {pod["spec"]["priority"] for pod in api.pods_of(ns, "late")} == {7}
    finally:
        controlplane.request("DELETE", f"{path}/{late}")


def test_a_claim_that_comes_later(api, ns, pumice):
    api.create_job(ns, job("claims", [task("w", 2)], volumes=[{"mountPath": "/d", "volumeClaimName": "data"}]))
    says(api, ns, "claims", "PVCError", "PersistentVolumeClaim data is not found")
    stays(lambda: api.phase(ns, "claims") == "Pending", 4, lambda: api.why(ns, "claims"))
    told_once(api, ns, "claims", "PVCError")
    quiet(api, ns, "claims")
    assert not api.pods_of(ns, "claims")
    api.core.create_persistent_volume(volume(ns))  # so that the claim is bound, and the pods can be placed
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    api.core.create_namespaced_persistent_volume_claim(ns, {"metadata": {"name": "data"}, "spec": spec})
    api.wait_phase(ns, "claims", "Running", timeout=BACKOFF)
    said_no_more(api, ns, "claims")
    assert len(warnings(api, ns, "claims", "PVCError")) == 1


@pytest.fixture
def unguarded(pumice):
    """Nothing is asked of the webhook in this test, as when it was not installed."""
    pumice.unregister_webhooks()
    yield
    pumice.register_webhooks()
    pumice.wait_admission()
    pumice.wait_jobs()


def test_a_queue_that_comes_later(api, ns, pumice, unguarded):
    """A job that was let in while nobody looked at its queue."""
    api.create_job(ns, job("lost", [task("w", 2)], queue=ns))
    wait_until(lambda: ns in state(api, ns, "lost").get("message", ""), 30,
               lambda: f"the missing queue to be named; {api.why(ns, 'lost')}")
    told_once(api, ns, "lost", "PodGroupPending")
    quiet(api, ns, "lost", 4)
    assert api.phase(ns, "lost") == "Pending" and not api.pods_of(ns, "lost")
    api.create_queue(queue(ns))
    try:
        api.wait_phase(ns, "lost", "Running", timeout=BACKOFF)
        said_no_more(api, ns, "lost")
    finally:
        api.delete_job(ns, "lost")
        api.delete_queue(ns)


def test_a_queue_that_goes_under_its_jobs(api, ns, pumice, unguarded):
    """What runs goes on; what waits goes on waiting, and runs when the queue is back."""
    api.create_queue(queue(ns))
    api.create_job(ns, job("runs", [task("w", 2)], queue=ns))
    api.wait_phase(ns, "runs", "Running", timeout=60)
    api.delete_queue(ns)
    api.create_job(ns, job("waits", [task("w", 2)], queue=ns))
    wait_until(lambda: ns in state(api, ns, "waits").get("message", ""), 30,
               lambda: f"the missing queue to be named; {api.why(ns, 'waits')}")
    stays(lambda: api.phase(ns, "runs") == "Running" and api.phase(ns, "waits") == "Pending", 4,
          lambda: f"{api.why(ns, 'runs')}; {api.why(ns, 'waits')}")
    told_once(api, ns, "waits", "PodGroupPending")
    api.create_queue(queue(ns))
    try:
        api.wait_phase(ns, "waits", "Running", timeout=BACKOFF)
        api.wait_pods(ns, "runs", 2, phase="Running")
    finally:
        for name in ("runs", "waits"):
            api.delete_job(ns, name)
        api.delete_queue(ns)


# An API server that refuses


@pytest.fixture(scope="module")
def proxy_of_module(pumice_of_session, controlplane, tmp_path_factory):
    """The controller behind a fault proxy."""
    pumice_of_session.start_missing()
    binary = build(tmp_path_factory.mktemp("faultproxy"))
    with proxied(controlplane, pumice_of_session.controller, binary, tmp_path_factory.mktemp("run")) as proxy:
        yield proxy


def when_hit(proxy, rule):
    """When a rule was applied."""
    return [audit.seconds(entry["time"]) for entry in proxy.log() if rule in (entry["rules"] or [])]


@pytest.fixture
def refuse(proxy_of_module, ns):
    """refuse(answer, verb, resource, ...) makes a rule for the test's namespace and gives two functions: when it
    was met so far, in seconds since 1970, and one that takes it away."""
    def add(answer, verb, resource, subresource=""):
        rule = proxy_of_module.add({
            "match": {"verb": verb, "resource": resource, "subresource": subresource, "namespace": ns},
            "action": {"type": "status", "message": "out of order for a while", **answer}})
        return lambda: when_hit(proxy_of_module, rule), lambda: proxy_of_module.remove(rule)
    yield add
    proxy_of_module.clear()


@pytest.mark.parametrize("answer", MORE_ANSWERS.values(), ids=MORE_ANSWERS)
def test_pod_creates_are_refused(api, ns, pumice, refuse, answer):
    tries, heal = refuse(answer, "create", "pods")
    api.create_job(ns, job("pods", [task("w", 4)]))
    says(api, ns, "pods", "FailedCreate", "out of order for a while")
    begun = len(tries())
    wait_tries(begun + 2, lambda: len(tries()), "tries")
    told_once(api, ns, "pods", "FailedCreate")
    quiet(api, ns, "pods")
    assert len(tries()) <= 40, "the API server is not to be asked in a tight loop"
    probes = sorted(tries())[begun:]
    least = answer.get("retryAfter", 0.5)
    assert all(after - before >= 0.9 * least for before, after in zip(probes, probes[1:])), probes
    assert api.phase(ns, "pods") == "Pending"
    heal()
    api.wait_phase(ns, "pods", "Running", timeout=BACKOFF)
    api.wait_pods(ns, "pods", 4, phase="Running")
    said_no_more(api, ns, "pods")
    assert len(warnings(api, ns, "pods", "FailedCreate")) == 1


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_podgroup_writes_are_refused(api, ns, pumice, refuse, answer):
    tries, heal = refuse(answer, "create", "podgroups")
    api.create_job(ns, job("group", [task("w", 2)]))
    says(api, ns, "group", "PodGroupError", "out of order for a while")
    wait_tries(len(tries()) + 2, lambda: len(tries()), "tries")
    told_once(api, ns, "group", "PodGroupError")
    quiet(api, ns, "group")
    assert len(tries()) <= 40, "the API server is not to be asked in a tight loop"
    assert api.phase(ns, "group") == "Pending" and not api.pods_of(ns, "group")
    heal()
    api.wait_phase(ns, "group", "Running", timeout=BACKOFF)
    said_no_more(api, ns, "group")
    groups = api.custom.list_namespaced_custom_object(**kind_of(PODGROUPS, ns))["items"]
    assert len(groups) == 1


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_status_writes_are_refused(api, ns, pumice, refuse, answer):
    """The status cannot say it; an Event does. What was decided is written when it can be."""
    api.create_job(ns, job("status", [task("w", 2)]))
    api.wait_phase(ns, "status", "Running", timeout=60)
    tries, heal = refuse(answer, "patch", "jobs", "status")
    api.scale_job(ns, "status", 3)
    api.wait_pods(ns, "status", 3, phase="Running", timeout=60)
    wait_tries(3, lambda: len(tries()), "tries")
    told_once(api, ns, "status", "JobStatusError")
    assert api.phase(ns, "status") == "Running"
    assert len(tries()) <= 40, "the API server is not to be asked in a tight loop"
    heal()
    wait_until(lambda: api.job(ns, "status")["status"].get("running") == 3, BACKOFF,
               lambda: f"the third pod in the status; {api.why(ns, 'status')}")
    assert len(warnings(api, ns, "status", "JobStatusError")) == 1
