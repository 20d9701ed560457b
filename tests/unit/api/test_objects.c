/*
 * Decoding of Jobs, Pods (the controller's view), PodGroups, Queues and PriorityClasses: what is
 * read, what defaults to what, and that odd objects give an error or a sane value, never a crash.
 */
#include "testing.h"

#include "api/job.h"
#include "api/podstate.h"
#include "api/priorityclass.h"
#include "api/queue.h"
#include "base/intern.h"

static struct job *job(const char *text)
{
    struct error err = ERROR_INIT;
    struct job *decoded = job_decode(str_of(text), &err);

    if (!decoded)
        fail_msg("%s", err.text);
    return decoded;
}

static void a_job(void **state)
{
    struct job *j = job(
        "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":"
        "\"12\"},"
        "\"spec\":{\"minAvailable\":3,\"queue\":\"q\",\"minSuccess\":2,\"tasks\":["
        "{\"name\":\"a\",\"replicas\":2,\"template\":{\"spec\":{\"priorityClassName\":\"p\"}}},"
        "{\"replicas\":4,\"minAvailable\":0,\"template\":{}},"
        "{\"name\":\"c\",\"replicas\":9,\"partitionPolicy\":{\"totalPartitions\":3,"
        "\"partitionSize\":3,\"minPartitions\":2}}]},"
        "\"status\":{\"state\":{\"phase\":\"Running\",\"message\":\"m\"},\"running\":5,"
        "\"conditions\":[{\"status\":\"Pending\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"}]}"
        "}");

    (void)state;
    assert_int_equal(j->meta.rv, 12);
    assert_int_equal(j->min_available, 3);
    assert_int_equal(j->min_success, 2);
    assert_int_equal(j->task_count, 3);
    assert_string_equal(j->tasks[0].priority_class_name, "p");
    assert_string_equal(j->tasks[1].name, "default");
    assert_int_equal(job_task_minimum(&j->tasks[0]), 2);
    assert_int_equal(job_task_minimum(&j->tasks[1]), 0);
    assert_int_equal(job_task_minimum(&j->tasks[2]), 6);
    assert_int_equal(job_replicas(j), 15);
    assert_int_equal(j->status.phase, JOB_RUNNING);
    assert_false(j->status.fresh);
    assert_string_equal(j->status.message, "m");
    assert_int_equal(j->status.condition_count, 1);
    job_free(j);
}

static void a_new_job_is_pending(void **state)
{
    struct job *j = job("{\"metadata\":{\"name\":\"j\"}}");

    (void)state;
    assert_int_equal(j->status.phase, JOB_PENDING);
    assert_true(j->status.fresh);
    assert_string_equal(j->queue, "");
    assert_int_equal(j->task_count, 0);
    job_free(j);
}

static void replicas_saturate(void **state)
{
    struct job *j = job("{\"spec\":{\"tasks\":[{\"replicas\":2147483647},{\"replicas\":1}]}}");

    (void)state;
    assert_int_equal(job_replicas(j), INT32_MAX);
    job_free(j);
}

static void odd_jobs_are_errors(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{\"spec\":[]}",
        "{\"spec\":{\"tasks\":{}}}",
        "{\"spec\":{\"tasks\":[{\"replicas\":-1}]}}",
        "{\"spec\":{\"tasks\":[{\"replicas\":1,\"minAvailable\":-1}]}}",
        "{\"spec\":{\"tasks\":[{\"replicas\":2147483648}]}}",
        "{\"spec\":{\"tasks\":[{\"replicas\":1.5}]}}",
        "{\"spec\":{\"tasks\":[{\"template\":{\"spec\":{\"schedulerName\":7}}}]}}",
        "{\"status\":{\"running\":\"x\"}}",
        "{\"metadata\":{\"name\":\"j\"}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct error err = ERROR_INIT;
        struct job *j = job_decode(str_of(texts[i]), &err);
        if (j)
            fail_msg("%s was read", texts[i]);
        assert_int_not_equal(err.cls, ERROR_NONE);
        assert_true(strlen(err.text) > 0);
    }
}

/* Odd, but no reason to give up on the object. */
static void tolerated_jobs(void **state)
{
    static const char *const texts[] = {
        "{\"spec\":null}",
        "{\"spec\":{\"tasks\":null}}",
        "{\"spec\":{\"tasks\":[null]}}",
        "{\"spec\":{\"tasks\":[{\"template\":null}]}}",
        "{\"spec\":{\"tasks\":[{\"template\":{\"spec\":7}}]}}",
        "{\"status\":{\"state\":{\"phase\":\"Dancing\"}}}",
        "{\"status\":{\"state\":{\"phase\":\"Running\",\"phase\":\"Failed\",\"message\":\"a\","
        "\"message\":\"b\"}}}",
        "{\"spec\":{\"tasks\":[{}],\"tasks\":[{},{}]}}",
        "{\"metadata\":{\"name\":\"a\"},\"metadata\":{\"name\":\"b\"}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        job_free(job(texts[i]));
}

static void phases_round_trip(void **state)
{
    (void)state;
    for (int phase = 0; phase < JOB_PHASE_COUNT; phase++) {
        cleanup_free char *text = xasprintf("{\"status\":{\"state\":{\"phase\":\"%s\"}}}",
                                            job_phase_name((enum job_phase)phase));
        struct job *j = job(text);
        assert_int_equal(j->status.phase, phase);
        job_free(j);
    }
}

static struct podstate *podstate(const char *text)
{
    struct error err = ERROR_INIT;
    struct podstate *pod = podstate_decode(str_of(text), &err);

    if (!pod)
        fail_msg("%s", err.text);
    return pod;
}

static void a_pod_of_a_job(void **state)
{
    struct podstate *pod =
        podstate("{\"metadata\":{\"name\":\"p\",\"labels\":{\"volcano.sh/task-index\":\"3\","
                 "\"volcano.sh/task-spec\":\"w\"},\"annotations\":{\"volcano.sh/job-name\":\"j\","
                 "\"volcano.sh/job-version\":\"2\"}},\"spec\":{\"nodeName\":\"n1\"},"
                 "\"status\":{\"phase\":\"Succeeded\"}}");

    (void)state;
    assert_string_equal(pod->job_name, "j");
    assert_string_equal(pod->task, "w");
    assert_int_equal(pod->index, 3);
    assert_int_equal(pod->job_version, 2);
    assert_int_equal(pod->phase, POD_PHASE_SUCCEEDED);
    assert_true(pod->bound);
    assert_int_equal(pod->meta.labels.n, 0);
    podstate_free(pod);
}

static void odd_pods_are_read(void **state)
{
    static const char *const texts[] = {
        "{\"metadata\":{\"labels\":{\"volcano.sh/task-index\":\"x\"}}}",
        "{\"metadata\":{\"labels\":{\"volcano.sh/task-index\":\"-1\"}}}",
        "{\"metadata\":{\"labels\":{\"volcano.sh/task-index\":\"99999999999\"}}}",
        "{\"metadata\":{\"annotations\":{\"volcano.sh/job-version\":\"\"}}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct podstate *pod = podstate(texts[i]);
        assert_int_equal(pod->index, -1);
        assert_int_equal(pod->job_version, -1);
        podstate_free(pod);
    }
    struct podstate *pod = podstate("{\"status\":{\"phase\":\"Dancing\"}}");
    assert_int_equal(pod->phase, POD_PHASE_UNKNOWN);
    podstate_free(pod);
}

static void a_podgroup(void **state)
{
    struct error err = ERROR_INIT;
    struct podgroup *group = podgroup_decode(
        STR("{\"metadata\":{\"name\":\"g\"},\"spec\":{\"minMember\":3,\"minTaskMember\":{\"b\":2,"
            "\"a\":1},\"minResources\":{\"memory\":\"1Gi\",\"cpu\":\"500m\"}},\"status\":{"
            "\"phase\":\"Inqueue\",\"running\":1,\"conditions\":[{\"type\":\"Unschedulable\","
            "\"status\":\"True\",\"reason\":\"r\",\"message\":\"m\"},{\"type\":\"Scheduled\"}]}}"),
        &err);

    (void)state;
    assert_non_null(group);
    assert_int_equal(group->min_member, 3);
    assert_string_equal(group->queue, "default");
    assert_string_equal(group->min_task_member[0].task, "a");
    assert_int_equal(group->min_task_member[1].min, 2);
    assert_string_equal(group->min_resources[0].name, "cpu");
    assert_int_equal(quantity_milli(group->min_resources[0].quantity), 500);
    assert_string_equal(group->phase, "Inqueue");
    assert_string_equal(podgroup_condition(group, "Unschedulable")->message, "m");
    assert_string_equal(podgroup_condition(group, "Scheduled")->status, "");
    assert_null(podgroup_condition(group, "Other"));
    podgroup_free(group);
}

static void a_podgroup_without_a_spec(void **state)
{
    struct error err = ERROR_INIT;
    struct podgroup *group = podgroup_decode(STR("{\"metadata\":{\"name\":\"g\"}}"), &err);

    (void)state;
    assert_non_null(group);
    assert_string_equal(group->phase, "Pending");
    assert_int_equal(group->min_member, 0);
    podgroup_free(group);
    assert_null(podgroup_decode(STR("{\"spec\":{\"minResources\":{\"cpu\":\"much\"}}}"), &err));
    assert_int_equal(err.cls, ERROR_INVALID);
}

static void a_queue(void **state)
{
    struct error err = ERROR_INIT;
    struct queue *q = queue_decode(
        STR("{\"metadata\":{\"name\":\"q\"},\"spec\":{\"reclaimable\":false,\"parent\":\"root\","
            "\"capability\":{\"cpu\":\"2\"},\"guarantee\":{\"resource\":{\"cpu\":\"1\"}}},"
            "\"status\":{\"state\":\"Closed\"}}"),
        &err);

    (void)state;
    assert_non_null(q);
    assert_int_equal(q->weight, 1);
    assert_false(q->reclaimable);
    assert_string_equal(q->parent, "root");
    assert_int_equal(q->capability.n, 1);
    assert_int_equal(q->guarantee.n, 1);
    assert_false(q->deserved.present);
    assert_false(queue_is_open(q));
    queue_free(q);
    q = queue_decode(STR("{\"spec\":{\"reclaimable\":null}}"), &err);
    assert_non_null(q);
    assert_true(q->reclaimable);
    assert_true(queue_is_open(q));
    queue_free(q);
}

static void priorities(void **state)
{
    struct store *classes = store_new(&priorityclass_store_type);

    (void)state;
    assert_int_equal(priorityclass_value(classes, "high"), 0);
    (void)store_apply(classes, STR("{\"metadata\":{\"name\":\"high\",\"uid\":\"1\","
                                   "\"resourceVersion\":\"1\"},\"value\":1000}"));
    assert_int_equal(priorityclass_value(classes, "high"), 1000);
    assert_int_equal(priorityclass_value(classes, ""), 0);
    (void)store_apply(classes, STR("{\"metadata\":{\"name\":\"usual\",\"uid\":\"2\","
                                   "\"resourceVersion\":\"2\"},\"value\":-5,"
                                   "\"globalDefault\":true}"));
    assert_int_equal(priorityclass_value(classes, ""), -5);
    assert_int_equal(priorityclass_value(classes, "gone"), -5);
    store_free(classes);
}

/* Whatever was read or refused above, no interned text is left behind. */
static void nothing_is_left_behind(void **state)
{
    (void)state;
    assert_int_equal(intern_count(), 0);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(a_job),
        cmocka_unit_test(a_new_job_is_pending),
        cmocka_unit_test(replicas_saturate),
        cmocka_unit_test(odd_jobs_are_errors),
        cmocka_unit_test(tolerated_jobs),
        cmocka_unit_test(phases_round_trip),
        cmocka_unit_test(a_pod_of_a_job),
        cmocka_unit_test(odd_pods_are_read),
        cmocka_unit_test(a_podgroup),
        cmocka_unit_test(a_podgroup_without_a_spec),
        cmocka_unit_test(a_queue),
        cmocka_unit_test(priorities),
        cmocka_unit_test(nothing_is_left_behind),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
