"""With the plugin resourcequota a job whose minimum is beyond a quota waits outside, and no pod is made for nothing."""

from pathlib import Path

import pytest

from harness.objects import job, task
from harness.wait import stays, wait_until

CONTROLLER = "system:serviceaccount:volcano-system:volcano-controllers"
PLAIN = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
- plugins:
  - name: overcommit
  - name: predicates
"""


@pytest.fixture
def asked(pool, pumice):
    """The plugin comes into the configuration of a scheduler that runs, and with it the watch of quotas."""
    pool(conf=PLAIN, cpu="32")
    read = pumice.scheduler.log_text().count("configuration read again")
    Path(pumice.scheduler.flags["scheduler-conf"]).write_text(PLAIN + "  - name: resourcequota\n")
    wait_until(lambda: pumice.scheduler.log_text().count("configuration read again") > read, 30,
               "the plugin to be there")
    wait_until(pumice.scheduler.is_ready, 30, "the quotas to be listed")


def set_quota(api, ns, cpu):
    """Makes or changes the namespace's quota; it is in force when this returns."""
    body = {"metadata": {"name": "team"}, "spec": {"hard": {"requests.cpu": cpu}}}
    if api.core.list_namespaced_resource_quota(ns).items:
        api.core.patch_namespaced_resource_quota("team", ns, body)
    else:
        api.core.create_namespaced_resource_quota(ns, body)
    wait_until(lambda: (api.core.read_namespaced_resource_quota("team", ns).status.hard or {})
               .get("requests.cpu") == cpu, 30, f"the quota to be {cpu}")


def refused_creates(controlplane, ns):
    """How many pods the quota refused, by the audit log."""
    return sum(one["verb"] == "create" and one["user"]["username"] == CONTROLLER and
               one["objectRef"].get("namespace") == ns and one["objectRef"]["resource"] == "pods" and
               one["responseStatus"]["code"] == 403 for one in controlplane.audit_records())


def waits_outside(api, ns, name, *words):
    """Waits until the PodGroup says so, and sees that it has not entered and has no pods."""
    def told():
        return any(all(word in one for word in words) for one in api.podgroup_conditions(ns, name))
    wait_until(told, 30, lambda: f"{name} to wait for {words}: {api.why(ns, name)}")
    stays(lambda: not api.pods_of(ns, name), 2, lambda: f"pods of {name}: {api.why(ns, name)}")
    assert api.podgroup_of(ns, name)["status"]["phase"] == "Pending"


def runs(api, ns, name, pods):
    """Waits until the job's pods run. A second later it is clear that the quota counts them all; a message that
    was written before that may have numbers of that moment for a minute."""
    api.wait_pods(ns, name, pods, phase="Running")
    stays(lambda: len(api.bound_pods(ns, name)) == pods, 2, lambda: f"pods of {name}: {api.why(ns, name)}")


def test_jobs_wait_for_the_quota(api, ns, pumice, controlplane, asked):
    """It is asked again when the quota grows, and when others give back what they used."""
    set_quota(api, ns, "4")
    api.create_job(ns, job("first", [task("w", 3, cpu="1")]))
    runs(api, ns, "first", 3)
    api.create_job(ns, job("second", [task("w", 2, cpu="1")]))
    waits_outside(api, ns, "second", "its minimum needs 2 of requests.cpu",
                  f'of the 4 that ResourceQuota "team" allows namespace "{ns}" 3 are used', "1 short")
    set_quota(api, ns, "5")
    runs(api, ns, "second", 2)
    api.create_job(ns, job("third", [task("w", 2, cpu="1")]))
    waits_outside(api, ns, "third", "5 are used", "2 short")
    api.delete_job(ns, "first")
    api.wait_pods(ns, "third", 2, phase="Running")
    assert refused_creates(controlplane, ns) == 0


def test_jobs_of_one_moment_share_the_quota(api, ns, pumice, controlplane, asked):
    """What one was promised is not promised to another before its pods are counted."""
    set_quota(api, ns, "7")
    names = [f"job-{i}" for i in range(5)]
    for name in names:
        api.create_job(ns, job(name, [task("w", 3, cpu="1")]))

    def run():
        return [name for name in names if api.phase(ns, name) == "Running"]
    wait_until(lambda: len(run()) == 2, 60, lambda: f"two jobs to run: {run()}")
    stays(lambda: len(run()) == 2, 3, lambda: f"two jobs run: {run()}")
    for name in set(names) - set(run()):
        waits_outside(api, ns, name, "waiting to enter queue")
    assert refused_creates(controlplane, ns) == 0
