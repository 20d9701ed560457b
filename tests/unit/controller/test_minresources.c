/*
 * minResources: which pods the minimum is made of, and in which names they are counted.
 */
#include "testing.h"

#include "api/priorityclass.h"
#include "controller/job/group.h"

#define TASK(name, replicas, minimum, cpu, priority)                                               \
    "{\"name\":\"" name "\",\"replicas\":" replicas minimum ",\"template\":{\"spec\":{" priority   \
    "\"containers\":[{\"name\":\"m\",\"resources\":{\"requests\":{\"cpu\":\"" cpu "\"}}}]}}}"

static void check(const char *min_available, const char *tasks, const char *cpu, const char *pods)
{
    cleanup_free char *text =
        xasprintf("{\"metadata\":{\"name\":\"j\"},\"spec\":{\"minAvailable\":%s,\"tasks\":[%s]}}",
                  min_available, tasks);
    struct error err = ERROR_INIT;
    struct store *classes = store_new(&priorityclass_store_type);
    struct job *job = job_decode(str_of(text), &err);
    resource_list list = {0};
    char value[QUANTITY_TEXT_MAX];

    if (!job)
        fail_msg("%s", err.text);
    (void)store_apply(classes, STR("{\"metadata\":{\"name\":\"high\",\"uid\":\"p1\","
                                   "\"resourceVersion\":\"1\"},\"value\":1000}"));
    const struct job_gang gang = {.minimum = job->min_available};
    assert_int_equal(job_min_resources(job, &gang, classes, &list, &err), 0);
    (void)quantity_print(value, *resource_list_get(&list, STR("cpu")));
    assert_string_equal(value, cpu);
    (void)quantity_print(value, *resource_list_get(&list, STR("requests.cpu")));
    assert_string_equal(value, cpu);
    (void)quantity_print(value, *resource_list_get(&list, STR("pods")));
    assert_string_equal(value, pods);
    (void)quantity_print(value, *resource_list_get(&list, STR("count/pods")));
    assert_string_equal(value, pods);
    resource_list_clear(&list);
    job_free(job);
    store_free(classes);
}

static void all_of_one_task(void **state)
{
    (void)state;
    check("3", TASK("a", "3", "", "500m", ""), "1500m", "3");
}

static void below_the_task_minimums_the_important_tasks_count_first(void **state)
{
    (void)state;
    /* 3 of 2 + 4: the high task gives its 2, the other 1. */
    check(
        "3",
        TASK("a", "4", "", "1", "") "," TASK("b", "2", "", "10", "\"priorityClassName\":\"high\","),
        "21", "3");
}

static void task_minimums_first_then_the_rest(void **state)
{
    (void)state;
    /* Minimums 1 + 2 = 3; minAvailable 5: two more from the first task. */
    check("5",
          TASK("a", "4", ",\"minAvailable\":1", "1", "") "," TASK("b", "2", ",\"minAvailable\":2",
                                                                  "10", ""),
          "23", "5");
}

static void no_more_than_there_are(void **state)
{
    (void)state;
    check("9", TASK("a", "2", "", "1", ""), "2", "2");
}

static void names_of_a_quota(void **state)
{
    struct error err = ERROR_INIT;
    struct store *classes = store_new(&priorityclass_store_type);
    resource_list list = {0};
    struct job *job = job_decode(
        STR("{\"metadata\":{\"name\":\"j\"},\"spec\":{\"minAvailable\":1,\"tasks\":[{\"replicas\":"
            "1,"
            "\"template\":{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"2\","
            "\"acme.example/gpu\":\"1\"},\"requests\":{\"memory\":\"1Gi\"}}}]}}}]}}"),
        &err);
    struct buf out = BUF_INIT(4096);
    struct json_writer w = json_writer(&out);

    (void)state;
    assert_non_null(job);
    const struct job_gang gang = {.minimum = job->min_available};
    assert_int_equal(job_min_resources(job, &gang, classes, &list, &err), 0);
    resource_list_write(&w, &list);
    assert_string_equal(out.p, "{\"acme.example/gpu\":\"1\",\"count/pods\":\"1\",\"cpu\":\"2\","
                               "\"limits.cpu\":\"2\",\"memory\":\"1Gi\",\"pods\":\"1\","
                               "\"requests.acme.example/gpu\":\"1\",\"requests.cpu\":\"2\","
                               "\"requests.memory\":\"1Gi\"}");
    buf_clear(&out);
    resource_list_clear(&list);
    job_free(job);
    store_free(classes);
}

/* Storage has limits in a quota; pages and devices of nobody's have requests alone. */
static void storage_and_pages(void **state)
{
    struct error err = ERROR_INIT;
    resource_list list = {0};
    struct job *job = job_decode(
        STR("{\"metadata\":{\"name\":\"j\"},\"spec\":{\"minAvailable\":2,\"tasks\":[{\"replicas\":"
            "2,\"template\":{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{"
            "\"ephemeral-storage\":\"2Gi\",\"hugepages-2Mi\":\"4Mi\",\"memory\":\"1Gi\"},"
            "\"requests\":{\"ephemeral-storage\":\"1Gi\",\"hugepages-2Mi\":\"4Mi\"}}}]}}}]}}"),
        &err);
    struct store *classes = store_new(&priorityclass_store_type);
    struct buf out = BUF_INIT(4096);
    struct json_writer w = json_writer(&out);

    (void)state;
    assert_non_null(job);
    const struct job_gang gang = {.minimum = job->min_available};
    assert_int_equal(job_min_resources(job, &gang, classes, &list, &err), 0);
    resource_list_write(&w, &list);
    assert_string_equal(
        out.p,
        "{\"count/pods\":\"2\",\"ephemeral-storage\":\"2Gi\",\"hugepages-2Mi\":\"8Mi\","
        "\"limits.ephemeral-storage\":\"4Gi\",\"limits.memory\":\"2Gi\",\"memory\":\"2Gi\","
        "\"pods\":\"2\",\"requests.ephemeral-storage\":\"2Gi\",\"requests.hugepages-2Mi\":\"8Mi\","
        "\"requests.memory\":\"2Gi\"}");
    buf_clear(&out);
    resource_list_clear(&list);
    job_free(job);
    store_free(classes);
}

/* A class that is not known, and none, are 0; equal tasks keep their order. */
static void unknown_classes_count_as_zero(void **state)
{
    (void)state;
    check("2",
          TASK("a", "2", "", "1", "\"priorityClassName\":\"nobody\",") "," TASK("b", "2", "", "10",
                                                                                ""),
          "2", "2");
}

/* Two init containers, a sidecar between them, and a limit without a request. */
static void init_containers_and_sidecars(void **state)
{
    struct error err = ERROR_INIT;
    resource_list requests = {0}, limits = {0};
    char value[QUANTITY_TEXT_MAX];

    (void)state;
    assert_int_equal(
        pod_resources_read(
            STR("{\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":\"3\"}}},"
                "{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}},"
                "{\"resources\":{\"requests\":{\"cpu\":\"5\"}}}],"
                "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"100m\"}}},"
                "{\"resources\":{\"limits\":{\"cpu\":\"10m\"}}}],\"overhead\":{\"cpu\":\"1m\"}}"),
            &requests, &limits, &err),
        0);
    /* The second init container beside the sidecar is the peak: 5 + 1, plus the overhead. */
    (void)quantity_print(value, *resource_list_get(&requests, STR("cpu")));
    assert_string_equal(value, "6001m");
    resource_list_clear(&requests);
    resource_list_clear(&limits);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(all_of_one_task),
        cmocka_unit_test(below_the_task_minimums_the_important_tasks_count_first),
        cmocka_unit_test(task_minimums_first_then_the_rest),
        cmocka_unit_test(no_more_than_there_are),
        cmocka_unit_test(names_of_a_quota),
        cmocka_unit_test(storage_and_pages),
        cmocka_unit_test(unknown_classes_count_as_zero),
        cmocka_unit_test(init_containers_and_sidecars),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
