"""What people and other programs do to the objects of a running job."""

import time

from harness.api import JOBS, PODGROUPS, kind_of
from harness.objects import job, task
from harness.wait import stays, wait_until


def patch_podgroup(api, ns, name, body):
    """Merges a body into a PodGroup."""
    api.custom.patch_namespaced_custom_object(
        name=name, body=body, _content_type="application/merge-patch+json",
        **kind_of(PODGROUPS, ns))


def writes_to_podgroups(controlplane, ns):
    """How many times PodGroups of a namespace were written, refused tries included."""
    count = 0
    for record in controlplane.audit_records():
        ref = record.get("objectRef", {})
        count += (ref.get("resource") == "podgroups" and ref.get("namespace") == ns
                  and record["verb"] not in ("get", "list", "watch"))
    return count


def test_a_job_after_one_whose_pods_were_orphaned(api, ns, pumice):
    """Nobody owns the pods that hold the names: the job says so, and goes on when they are gone."""
    api.create_job(ns, job("o", [task("w", 4)]))
    api.wait_phase(ns, "o", "Running")
    api.custom.delete_namespaced_custom_object(name="o", propagation_policy="Orphan",
                                               **kind_of(JOBS, ns))
    wait_until(lambda: not api.jobs(ns), 30, "the job to go")
    orphans = api.pods(ns)
    assert len(orphans) == 4
    assert not any(pod["metadata"].get("ownerReferences") for pod in orphans)
    uid = api.create_job(ns, job("o", [task("w", 4)]))["metadata"]["uid"]
    wait_until(lambda: "belongs to nobody" in api.why(ns, "o"), 30, lambda: api.why(ns, "o"))
    for pod in orphans:
        api.core.delete_namespaced_pod(pod["metadata"]["name"], ns, grace_period_seconds=0)
    api.wait_phase(ns, "o", "Running", timeout=90)
    assert [pod["metadata"]["ownerReferences"][0]["uid"] for pod in api.pods(ns)] == [uid] * 4


def test_owners_taken_off_by_hand(api, ns, pumice):
    api.create_job(ns, job("o", [task("w", 4)]))
    api.wait_phase(ns, "o", "Running")
    name = api.podgroup_of(ns, "o")["metadata"]["name"]
    api.core.patch_namespaced_pod("o-w-1", ns, {"metadata": {"ownerReferences": None}})
    patch_podgroup(api, ns, name, {"metadata": {"ownerReferences": None}})
    api.scale_job(ns, "o", 5)
    time.sleep(2)
    api.core.delete_namespaced_pod("o-w-1", ns, grace_period_seconds=0)
    api.custom.delete_namespaced_custom_object(name=name, **kind_of(PODGROUPS, ns))
    api.wait_pods(ns, "o", 5, phase="Running", timeout=90)
    wait_until(lambda: api.podgroup_of(ns, "o"), 90, "a PodGroup of the job")


def test_a_second_podgroup_of_the_job_starts_no_quarrel(api, ns, pumice, controlplane):
    api.create_job(ns, job("o", [task("w", 2)]))
    api.wait_phase(ns, "o", "Running")
    owners = api.podgroup_of(ns, "o")["metadata"]["ownerReferences"]
    api.custom.create_namespaced_custom_object(
        body={"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
              "metadata": {"name": "mine", "ownerReferences": owners}, "spec": {"minMember": 1}},
        **kind_of(PODGROUPS, ns))
    time.sleep(1)
    api.custom.delete_namespaced_custom_object(name="mine", **kind_of(PODGROUPS, ns))
    time.sleep(1)
    before = writes_to_podgroups(controlplane, ns)
    time.sleep(3)
    assert writes_to_podgroups(controlplane, ns) - before <= 1


def test_pods_deleted_by_hand_come_back(api, ns, pumice):
    api.create_job(ns, job("o", [task("w", 20, cpu="10m")]))
    for grace in (0, None, 0, None):
        api.core.delete_collection_namespaced_pod(ns, grace_period_seconds=grace)
        time.sleep(0.5)
    pods = api.wait_pods(ns, "o", 20, phase="Running", timeout=90)
    assert {pod["metadata"]["name"] for pod in pods} == {f"o-w-{index}" for index in range(20)}
    wait_until(lambda: "{'running': 20}" in api.why(ns, "o"), 30, lambda: api.why(ns, "o"))
    stays(lambda: len(api.pods_of(ns, "o")) == 20, 2, "no pod too many")


def test_scaled_again_and_again(api, ns, pumice):
    api.create_job(ns, job("o", [task("w", 5, cpu="10m")], minimum=1))
    for count in (0, 1, 50, 3, 50, 0, 20, 1, 40, 7):
        api.scale_job(ns, "o", count, minimum=min(count, 2))
        time.sleep(0.15)

    def running():  # not a count: for a moment there may be seven others, of the forty
        return sorted(pod["metadata"]["name"] for pod in api.pods_of(ns, "o")
                      if pod["status"].get("phase") == "Running")
    wait_until(lambda: running() == [f"o-w-{index}" for index in range(7)], 90, lambda: f"the first seven: {running()}")
    wait_until(lambda: "{'running': 7}" in api.why(ns, "o"), 30, lambda: api.why(ns, "o"))


def test_made_and_deleted_again_and_again(api, ns, pumice):
    for round_ in range(12):
        uid = api.create_job(ns, job("o", [task("w", 6, cpu="10m")]))["metadata"]["uid"]
        if round_ == 11:
            break
        time.sleep((0, 0.02, 0.1, 0.3)[round_ % 4])
        api.custom.delete_namespaced_custom_object(
            name="o", propagation_policy=("Background", "Foreground")[round_ % 2],
            **kind_of(JOBS, ns))
        wait_until(lambda: not api.jobs(ns), 30, "the job to go")
    api.wait_phase(ns, "o", "Running", timeout=90)
    owners = [pod["metadata"]["ownerReferences"][0]["uid"] for pod in api.pods_of(ns, "o")]
    assert owners == [uid] * 6
