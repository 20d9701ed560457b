"""/debug/cache of the scheduler: its cache agrees with the API server while jobs come and go."""

import json

import pytest

from harness.objects import job, queue, task
from harness.wait import wait_until


def page(pumice):
    """The status and the answer."""
    status, text = pumice.scheduler.get("/debug/cache", timeout=30)
    return status, json.loads(text)


def agrees(pumice):
    """The answer, which must find nothing wrong whenever it is asked for."""
    status, found = page(pumice)
    assert status == 200 and found["consistent"], found
    assert found["audit"] == "ok" and found["first"] == [], found
    return found


def settled(api, pumice):
    """True when the cache holds what the API server has."""
    found = agrees(pumice)
    return found["pods"]["store"] == len(api.core.list_pod_for_all_namespaces().items) \
        and not found["waiting"] and all(found[kind]["store"] == found[kind]["cache"]
                                         for kind in ("nodes", "podGroups", "queues"))


@pytest.fixture
def tree(api, ns):
    """A queue below another one."""
    names = [f"{ns}-top", f"{ns}-below"]
    api.create_queue(queue(names[0]))
    api.create_queue(queue(names[1], parent=names[0]))
    for name in names:
        wait_until(lambda: api.queue(name).get("status", {}).get("state") == "Open", 30,
                   "the queues to be open")
    yield names[1]


def test_cache_agrees_while_jobs_come_and_go(api, ns, pumice, tree):
    """Asked again and again while gangs start, in one queue and below another, and are deleted."""
    names = [f"j{i}" for i in range(6)]
    for i, name in enumerate(names):
        api.create_job(ns, job(name, [task("w", replicas=4, cpu="500m")],
                               queue=tree if i % 2 else "default"))

    def running():
        agrees(pumice)
        return all(api.phase(ns, name) == "Running" for name in names)
    wait_until(running, 120, "six gangs to run")
    for name in names[:3]:
        api.delete_job(ns, name)
    wait_until(lambda: agrees(pumice) and not any(api.pods_of(ns, name) for name in names[:3]),
               120, "three gangs to be gone")
    wait_until(lambda: settled(api, pumice), 60, lambda: f"the cache to settle: {page(pumice)}")
