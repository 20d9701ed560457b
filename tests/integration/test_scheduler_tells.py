"""What the scheduler says: why a job waits, on the job, its pods and a page; what its file holds."""

from pathlib import Path

import pytest

from harness.objects import job, queue, task
from harness.wait import wait_until

CAPACITY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: predicates
  - name: nodeorder
  - name: capacity
"""


@pytest.fixture
def conf(pumice):
    """The scheduler's configuration file, which is put back after the test."""
    path = Path(pumice.scheduler.flags["scheduler-conf"])
    before = path.read_text()
    yield path
    replace(pumice, path, before)


def replace(pumice, path, text):
    """Replaces the file by rename, and waits until the scheduler has read it."""
    read = pumice.scheduler.log_text().count("configuration read again")
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.rename(path)
    wait_until(lambda: pumice.scheduler.log_text().count("configuration read again") > read, 20,
               "the configuration to be read again")


@pytest.fixture
def small_queue(api, ns):
    """A queue that may hold one CPU."""
    api.create_queue(queue(ns, capability={"cpu": "1"}))
    wait_until(lambda: api.queue(ns).get("status", {}).get("state") == "Open", 30,
               "the queue to be open")
    yield ns


def page(pumice, path):
    return pumice.scheduler.get(f"/explain/{path}")


def test_the_page_explains_a_job(api, ns, pumice):
    """By the job's own name; 404 for others."""
    api.create_job(ns, job("giant", [task("w", replicas=2, cpu="33")]))
    wait_until(lambda: page(pumice, f"{ns}/giant")[0] == 200, 30, "the scheduler to know the job")
    wait_until(lambda: "reason: " in page(pumice, f"{ns}/giant")[1], 60,
               lambda: f"a reason: {page(pumice, f'{ns}/giant')}")
    text = page(pumice, f"{ns}/giant")[1]
    assert text.startswith(f"PodGroup:  {ns}/giant-"), text
    assert "queue:     default, open" in text, text
    status, text = page(pumice, f"{ns}/nobody")
    assert status == 404 and "neither a PodGroup" in text


SENTENCE = ("2/2 tasks in gang unschedulable", 'in queue "default"', '"w" (cpu 33', "nodes are available: ",
            "Insufficient cpu", "Waiting since 20")


def test_one_sentence_everywhere(api, ns, pumice):
    """On PodGroup, Job and pods, in Events and on the page: queue, what is needed, nodes, since when."""
    api.create_job(ns, job("giant", [task("w", replicas=2, cpu="33")]))

    def told():
        """What each place says."""
        group = [one for one in api.podgroup_conditions(ns, "giant")
                 if one.startswith("Unschedulable=True")]
        pods = [one.get("message", "") for pod in api.pods_of(ns, "giant")
                for one in pod.get("status", {}).get("conditions", [])
                if one["type"] == "PodScheduled" and one.get("reason") == "Unschedulable"]
        events = {event["involvedObject"]["kind"]: event["message"] for event in api.events(ns)
                  if "Waiting since" in event["message"]}
        state = api.job(ns, "giant").get("status", {}).get("state", {})
        return {"podgroup": group[:1], "job": [state.get("message", "")], "pod": pods[:1],
                "page": [page(pumice, f"{ns}/giant")[1]],
                **{kind: [events.get(kind, "")] for kind in ("PodGroup", "Pod", "Job")}}
    wait_until(lambda: all(text and "Waiting since 20" in text[0] for text in told().values()), 120,
               lambda: f"the sentence everywhere: {told()}")
    for where, (text, *_) in told().items():
        assert all(part in text for part in SENTENCE), f"{where}: {text}"


def test_pods_wait_for_their_queue(api, ns, pumice, conf, small_queue):
    """One of three pods runs; the others, the PodGroup and the page name the queue's limit."""
    replace(pumice, conf, CAPACITY)
    api.create_job(ns, job("greedy", [task("w", replicas=3, cpu="1")], minimum=1,
                           queue=small_queue))

    def conditions():
        found = [one for pod in api.pods_of(ns, "greedy")
                 for one in pod.get("status", {}).get("conditions", [])]
        return sorted(f"{one['status']} {one.get('reason')}" for one in found
                      if one["type"] == "PodScheduled")
    wait_until(lambda: conditions() == ["False QueueLimit", "False QueueLimit", "True None"], 60,
               lambda: f"two pods to name the limit: {conditions()}")
    text = page(pumice, f"{ns}/greedy")[1]
    assert "2 pods above the minimum of the job wait" in text, text
    assert "cpu: holds 1, waits for 2" in text and "capability 1" in text, text
    assert pumice.scheduler.metrics()[
        f'volcano_queue_allocated_milli_cpu{{queue_name="{ns}"}}'] == 1000


def test_the_file_is_read_again_and_refused(pumice, conf):
    """What is not known is named; what is broken changes nothing, and the log says why."""
    replace(pumice, conf, CAPACITY + "colour: blue\n")
    assert 'key=colour place="the top" known="actions, tiers' in pumice.scheduler.log_text()
    conf.write_text(CAPACITY.replace("allocate", "alocate"))
    wait_until(lambda: 'names the unknown action \\"alocate\\"' in pumice.scheduler.log_text()
               or 'names the unknown action "alocate"' in pumice.scheduler.log_text(), 20,
               "the broken file to be refused")
    assert "the one before stays" in pumice.scheduler.log_text()
