"""The audit analysis on a small log made by hand: two jobs of two pods."""

import json

import pytest

import audit

CONTROLLER = "system:serviceaccount:volcano-system:volcano-controllers"
SCHEDULER = "system:serviceaccount:volcano-system:volcano-scheduler"


def stamp(second):
    return f"2026-01-02T03:04:{second:09.6f}Z"


def line(user, verb, resource, name, begin, end, code=201, namespace="ns", **more):
    """One line of the log; begin and end are seconds within the minute."""
    resource, _, sub = resource.partition("/")
    return json.dumps({
        "stage": "ResponseComplete", "verb": verb, "user": {"username": user},
        "objectRef": {"resource": resource, "subresource": sub, "namespace": namespace,
                      "name": name},
        "responseStatus": {"code": code}, "requestReceivedTimestamp": stamp(begin),
        "stageTimestamp": stamp(end), **more})


def job_lines(job, at, uid="8f-1"):
    """The minimal requests of a job of two pods; they take two seconds."""
    group = f"{job}-{uid}"
    return [
        line("admin", "create", "jobs", job, at, at + 0.01),
        line(CONTROLLER, "patch", "jobs/status", job, at + 0.02, at + 0.03, 200),
        line(CONTROLLER, "create", "podgroups", group, at + 0.02, at + 0.03),
        line(SCHEDULER, "patch", "podgroups", group, at + 0.1, at + 0.11, 200),
        line(CONTROLLER, "create", "pods", f"{job}-main-0", at + 0.2, at + 0.3),
        line(CONTROLLER, "create", "pods", f"{job}-main-1", at + 0.2, at + 0.7),
        line(SCHEDULER, "create", "pods/binding", f"{job}-main-0", at + 0.8, at + 0.9),
        line(SCHEDULER, "create", "pods/binding", f"{job}-main-1", at + 0.8, at + 1.0),
        line("kwok", "patch", "pods/status", f"{job}-main-0", at + 1.2, at + 1.3, 200),
        line("kwok", "patch", "pods/status", f"{job}-main-1", at + 1.4, at + 1.5, 200),
        line(SCHEDULER, "patch", "podgroups", group, at + 1.6, at + 1.7, 200),
        line(CONTROLLER, "patch", "jobs/status", job, at + 1.6, at + 1.7, 200),
    ]


def clean():
    """A run without a fault: job j00000 begins at second 10, j00001 at second 12."""
    return job_lines("j00000", 10) + job_lines("j00001", 12)


def summary(lines, jobs=2, pods=2):
    return audit.summarise(audit.parse(lines), "ns", jobs, pods)


def test_a_clean_run_has_exact_counts():
    found = summary(clean())
    assert found["jobs"] == 2
    assert found["pod_posts"] == found["pod_creates"] == found["pods_wanted"] == 4
    assert found["binds"] == found["bind_posts"] == 4
    assert found["surplus_creates"] == 0
    assert found["conflicts"] == 0
    assert found["failures"] == {}


def test_the_run_is_from_the_first_job_received_to_the_last_bind_answered():
    found = summary(clean()[::-1])  # the log is in order of answers, not of arrivals
    assert found["whole_run_s"] == pytest.approx(3.0)
    assert found["bound_per_s"] == pytest.approx(4 / 3)
    assert found["milestones"]["controller create pods"] == pytest.approx([0.2, 2.7])
    assert found["curves"]["step_s"] == 0.1
    created = found["curves"]["created"]
    assert [step for step, count in enumerate(created) if count] == [3, 7, 23, 27]


def test_the_gap_is_between_answers_of_creates():
    gap = summary(clean())["gap"]
    assert gap["seconds"] == pytest.approx(1.6)
    assert gap["from_s"] == pytest.approx(0.7)
    assert (gap["before"], gap["after"]) == ("j00000-main-1", "j00001-main-0")


def test_a_failed_create_is_no_create_but_a_surplus_post():
    lines = clean() + [line(CONTROLLER, "create", "pods", "j00000-main-0", 11.2, 11.3, 409)]
    found = summary(lines)
    assert found["pod_creates"] == 4
    assert found["pod_posts"] == 5
    assert found["surplus_creates"] == 1
    assert found["conflicts"] == 1
    assert found["failures"] == {"controller create pods 409": 1}
    assert found["gap"]["seconds"] == pytest.approx(1.6)


def test_conflicts_of_our_binaries_count_anywhere_and_those_of_others_only_inside():
    lines = clean() + [
        line(SCHEDULER, "update", "leases", "volcano", 11, 11.1, 409, namespace="volcano-system"),
        line("someone", "update", "leases", "theirs", 11, 11.1, 409, namespace="kube-system")]
    found = summary(lines)
    assert found["conflicts"] == 1
    assert found["apart"] == {"leases": 1, "events": 0}


def test_requests_of_other_namespaces_dry_runs_and_other_stages_do_not_count():
    lines = clean() + [
        line("admin", "create", "jobs", "other", 1, 2, namespace="elsewhere"),
        line("admin", "create", "jobs", "j9", 1, 2, requestURI="/apis/x?dryRun=All"),
        line("admin", "create", "jobs", "j9", 1, 2, stage="RequestReceived")]
    found = summary(lines)
    assert found["jobs"] == 2
    assert found["whole_run_s"] == pytest.approx(3.0)


def test_the_budget_is_five_a_job_and_one_for_each_second_with_changes():
    found = summary(clean())["budget"]
    # 4 writes of the lists above beside the PodGroup's create; counts change in seconds 10 and 11.
    assert found["written"] == 10
    assert found["allowed"] == 2 * (5 + 2)
    assert found["per_job_max"] == 5
    assert found["over"] == {}
    assert found["kinds"]["controller create podgroups"] == 2
    assert "user create jobs" not in found["kinds"]


@pytest.mark.parametrize("extra, over", [(2, {}), (3, {"j00001": [8, 7]})])
def test_the_budget_holds_at_its_limit_and_not_one_past_it(extra, over):
    lines = clean() + [line(CONTROLLER, "patch", "jobs/status", "j00001", 13 + i / 10, 13.05 + i / 10,
                            200) for i in range(extra)]
    assert summary(lines)["budget"]["over"] == over


def test_a_refused_write_counts_in_the_budget_and_events_do_not():
    lines = clean() + [line(SCHEDULER, "patch", "podgroups", "j00000-8f-1", 11, 11.1, 409)]
    lines += [line(SCHEDULER, "create", "events", f"j00000.{i}", 11, 11.1) for i in range(20)]
    assert summary(lines)["budget"]["written"] == 11
    lines.append(line(SCHEDULER, "create", "events", "late", 13.1, 13.2))
    found = summary(lines)
    assert found["apart"]["events"] == 21
    assert found["events_in_run"] == 20


def test_idle_time_is_where_nobody_but_kwok_writes():
    idle = summary(clean())["idle"]
    # 0.01 + 0.07 + 0.09 + 0.1 in each job, 0.6 before the end of the first and 0.3 after it.
    assert idle["seconds"] == pytest.approx(2 * 0.27 + 0.6 + 0.3)
    longest = idle["longest"][0]
    assert longest["seconds"] == pytest.approx(0.6)
    assert longest["after"] == "scheduler create pods/binding j00000-main-1"


def test_load_tells_rate_latency_and_requests_in_flight():
    load = summary(job_lines("j00000", 10), jobs=1)["creates"]
    assert load["span_s"] == pytest.approx(0.5)
    assert load["per_s"] == pytest.approx(4)
    assert load["in_flight"] == pytest.approx(1.2)
    assert load["max_ms"] == pytest.approx(500)


def test_the_table_has_client_verb_resource_and_code():
    rows = summary(clean())["requests"]
    assert ["controller", "create", "pods", 201, 4] in rows
    assert ["scheduler", "create", "pods/binding", 201, 4] in rows
    assert ["user", "create", "jobs", 201, 2] in rows
    assert [row[4] for row in rows] == sorted((row[4] for row in rows), reverse=True)


def test_reads_are_counted_and_are_no_writes():
    lines = clean() + [
        line(CONTROLLER, "get", "pods", "j00000-main-0", 11.2, 11.3, 404),
        line(CONTROLLER, "watch", "jobs", "", 9, 9.1, 200, namespace="", stage="ResponseStarted"),
        line(CONTROLLER, "watch", "jobs", "", 9, 30, 200, namespace=""),
        line("someone", "list", "pods", "", 11, 11.1, 200, namespace="")]
    found = summary(lines)
    assert ["controller", "get", "pods", 404, 1] in found["requests"]
    assert ["controller", "watch", "jobs", 200, 1] in found["requests"]
    assert not [row for row in found["requests"] if row[0] == "someone"]
    assert found["failures"] == {}
    assert found["idle"]["seconds"] == pytest.approx(summary(clean())["idle"]["seconds"])


def test_a_pod_runs_from_the_first_write_of_its_status_by_the_agent_of_its_node():
    lines = clean() + [line("system:node:n1", "patch", "pods/status", "j00000-main-0", 11.6, 11.7, 200),
                       line(CONTROLLER, "patch", "pods/status", "j00000-main-0", 10.9, 11.0, 200)]
    running = summary(lines)["curves"]["running"]
    assert [step for step, count in enumerate(running) if count] == [13, 15, 33, 35]
    assert summary(lines)["budget"]["allowed"] == 2 * (5 + 2)


def test_gangs_are_complete_with_their_last_pod():
    found = summary(clean())["gangs"]
    assert (found["created"]["mean_s"], found["created"]["last_s"]) == pytest.approx((1.7, 2.7))
    assert (found["bound"]["mean_s"], found["bound"]["last_s"]) == pytest.approx((2.0, 3.0))


def overlapping():
    """Two jobs that are admitted before the first pod; one is created whole before the other."""
    lines = [text for job, at in (("j00000", 10), ("j00001", 10)) for text in job_lines(job, at)]
    created = [text for text in lines if '"create"' in text and '"resource": "pods"' in text
               and '"subresource": ""' in text]
    others = [text for text in lines if text not in created]
    return others + [line(CONTROLLER, "create", "pods", name, at, at + 0.1) for name, at in (
        ("j00000-main-0", 10.2), ("j00000-main-1", 10.3), ("j00001-main-0", 10.4),
        ("j00001-main-1", 10.5))]


def test_in_turn_the_same_creates_complete_the_gangs_later():
    found = summary(overlapping())["gangs"]
    assert found["created"]["curve"] == [pytest.approx([0.4, 1]), pytest.approx([0.6, 2])]
    assert found["in_turn"]["curve"] == [pytest.approx([0.5, 1]), pytest.approx([0.6, 2])]


def test_a_job_takes_turns_only_from_its_admission_on():
    # The first job's pods are all created before the second job is there.
    found = summary(clean())["gangs"]
    assert found["in_turn"]["mean_s"] == pytest.approx(found["created"]["mean_s"])


def test_the_variation_is_that_of_creates():
    lines = clean() + [line(CONTROLLER, "create", "pods", f"j00002-main-{i}", 10 + i / 100,
                            10.005 + i / 100) for i in range(101)]
    assert summary(lines)["variation"] > 0.1
    assert summary(job_lines("j00000", 10), jobs=1)["variation"] == pytest.approx(3 ** 0.5)


def test_jobs_over_their_budget_are_all_counted_and_some_named():
    lines = clean()
    for job in range(30):
        lines += [line(CONTROLLER, "patch", "jobs/status", f"j{100 + job:05}", 11, 11.1, 200)] * 6
    found = summary(lines)["budget"]
    assert found["jobs_over"] == 30
    assert len(found["over"]) == audit.OVER_NAMED


def test_a_log_without_binds_is_refused():
    lines = [text for text in clean() if "binding" not in text]
    with pytest.raises(ValueError, match="2 jobs, 4 pods and 0 binds"):
        summary(lines)
