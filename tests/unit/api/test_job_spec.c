/*
 * Decoding of what steers a Job's life: policies, plugins, volumes, dependencies, and what the
 * controller reads of a pod's containers.
 */
#include "testing.h"

#include "api/job.h"
#include "api/podstate.h"

static struct job *job(const char *spec)
{
    struct error err = ERROR_INIT;
    char *text = xasprintf("{\"metadata\":{\"name\":\"j\"},\"spec\":%s}", spec);

    struct job *decoded = job_decode(str_of(text), &err);
    if (!decoded)
        fail_msg("%s", err.text);
    free(text);
    return decoded;
}

static struct podstate *pod(const char *status)
{
    struct error err = ERROR_INIT;
    char *text = xasprintf("{\"metadata\":{\"name\":\"p\",\"labels\":{\"volcano.sh/partition-id\":"
                           "\"4\"},\"annotations\":{\"volcano.sh/job-retry-count\":\"2\"}},"
                           "\"status\":%s}",
                           status);

    struct podstate *decoded = podstate_decode(str_of(text), &err);
    if (!decoded)
        fail_msg("%s", err.text);
    free(text);
    return decoded;
}

static void policies(void **state)
{
    struct job *j =
        job("{\"policies\":[{\"event\":\"PodFailed\",\"events\":[\"*\",\"PodEvicted\"],"
            "\"action\":\"RestartJob\",\"timeout\":\"1m30s\"},"
            "{\"exitCode\":137,\"action\":\"AbortJob\"},"
            "{\"event\":\"NoSuch\",\"action\":\"NoSuch\",\"timeout\":\"soon\"}],"
            "\"tasks\":[{\"policies\":[{\"event\":\"TaskFailed\",\"action\":\"RestartPartition\"}]"
            "}]}");
    const struct job_policy *first = &j->policies.items[0];

    (void)state;
    assert_int_equal(j->policies.n, 3);
    assert_int_equal(first->events, 1U << JOB_EVENT_POD_FAILED | 1U << JOB_EVENT_POD_EVICTED |
                                        1U << JOB_EVENT_ANY);
    assert_int_equal(first->action, JOB_ACTION_RESTART_JOB);
    assert_int_equal(first->timeout_ns, 90 * INT64_C(1000000000));
    assert_false(first->has_exit_code);
    assert_true(j->policies.items[1].has_exit_code);
    assert_int_equal(j->policies.items[1].exit_code, 137);
    assert_int_equal(j->policies.items[1].events, 0);
    assert_int_equal(j->policies.items[2].events, 0);
    assert_int_equal(j->policies.items[2].action, JOB_ACTION_NONE);
    assert_int_equal(j->policies.items[2].timeout_ns, 0);
    assert_int_equal(j->tasks[0].policies.items[0].action, JOB_ACTION_RESTART_PARTITION);
    job_free(j);
}

static void plugins_volumes_dependencies(void **state)
{
    struct job *j = job(
        "{\"ttlSecondsAfterFinished\":0,\"plugins\":{\"svc\":[\"--a=b\",\"c\"],\"env\":null},"
        "\"volumes\":[{\"mountPath\":\"/d\",\"volumeClaim\":{\"accessModes\":[\"ReadWriteOnce\"]}},"
        "{\"mountPath\":\"/e\",\"volumeClaimName\":\"old\"}],"
        "\"tasks\":[{\"name\":\"a\",\"maxRetry\":7,\"template\":{\"spec\":{\"hostname\":\"h\","
        "\"subdomain\":\"s\"}}},{\"name\":\"b\",\"dependsOn\":{\"name\":[\"a\"],"
        "\"iteration\":\"any\"}}]}");

    (void)state;
    assert_int_equal(j->ttl_seconds, 0);
    assert_int_equal(j->plugin_count, 2);
    assert_string_equal(job_find_plugin(j, "svc")->arguments.items[1], "c");
    assert_int_equal(job_find_plugin(j, "env")->arguments.n, 0);
    assert_null(job_find_plugin(j, "ssh"));
    assert_string_equal(j->volumes[0].claim, "{\"accessModes\":[\"ReadWriteOnce\"]}");
    assert_string_equal(j->volumes[1].claim_name, "old");
    assert_int_equal(j->tasks[0].max_retry, 7);
    assert_int_equal(j->tasks[1].max_retry, 3);
    assert_string_equal(j->tasks[0].hostname, "h");
    assert_string_equal(j->tasks[0].subdomain, "s");
    assert_string_equal(j->tasks[1].depends_on.items[0], "a");
    assert_true(j->tasks[1].depends_on_any);
    assert_ptr_equal(job_find_task(j, j->tasks[1].name), &j->tasks[1]);
    job_free(j);
    j = job("{}");
    assert_int_equal(j->ttl_seconds, -1);
    job_free(j);
}

static void containers_of_a_pod(void **state)
{
    struct podstate *p =
        pod("{\"phase\":\"Running\",\"containerStatuses\":["
            "{\"ready\":true,\"restartCount\":2,\"state\":{\"running\":{}}},"
            "{\"ready\":true,\"restartCount\":3,\"state\":{\"terminated\":{\"exitCode\":137,"
            "\"finishedAt\":\"2026-01-02T03:04:05Z\"}}}],\"initContainerStatuses\":["
            "{\"ready\":false,\"restartCount\":1,\"state\":{\"terminated\":{\"exitCode\":0}}},"
            "{\"state\":{\"terminated\":{\"exitCode\":137}}},"
            "{\"state\":{\"terminated\":{\"exitCode\":2}}}]}");

    (void)state;
    assert_true(p->ready);
    assert_int_equal(p->restarts, 6);
    assert_int_equal(p->exit_code_count, 2);
    assert_int_equal(p->exit_codes[0], 137);
    assert_int_equal(p->exit_codes[1], 2);
    assert_true(p->ended_ns > 0);
    assert_int_equal(p->retry_count, 2);
    assert_int_equal(p->partition, 4);
    podstate_free(p);
}

static void one_container_is_not_ready(void **state)
{
    struct podstate *p = pod("{\"containerStatuses\":[{\"ready\":true},{\"restartCount\":"
                             "2147483647},{\"ready\":true,\"restartCount\":1}]}");

    (void)state;
    assert_false(p->ready);
    assert_int_equal(p->restarts, INT32_MAX);
    assert_int_equal(p->exit_code_count, 0);
    podstate_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies),
        cmocka_unit_test(plugins_volumes_dependencies),
        cmocka_unit_test(containers_of_a_pod),
        cmocka_unit_test(one_container_is_not_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
