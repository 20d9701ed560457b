/*
 * Compiled pod templates: what the pod looks like, and that the user's spec passes byte for byte.
 */
#include "testing.h"

#include "api/podstate.h"
#include "controller/job/template.h"

static const char job_text[] =
    "{\"metadata\":{\"name\":\"train\",\"namespace\":\"team\",\"uid\":\"u-1\","
    "\"resourceVersion\":\"7\",\"annotations\":{\"volcano.sh/preemptable\":\"true\",\"x\":\"y\"}},"
    "\"spec\":{\"schedulerName\":\"volcano\",\"queue\":\"q1\",\"minAvailable\":2,"
    "\"priorityClassName\":\"high\",\"tasks\":[{\"name\":\"worker\",\"replicas\":2,\"template\":{"
    "\"metadata\":{\"labels\":{\"app\":\"a\\\"b\",\"volcano.sh/job-name\":\"forged\"}},"
    "\"spec\":{\"containers\":[{\"name\":\"m\",\"image\":\"x\",\"env\":[{\"name\":\"N\","
    "\"value\":\"\\u0041\\n\"}]}],\"priority\":9007199254740993}}}]}}";

static char *render(const char *text, uint32_t index)
{
    struct error err = ERROR_INIT;
    struct job *job = job_decode(str_of(text), &err);
    struct buf out = BUF_INIT(LIMIT_REQUEST_BODY);

    if (!job)
        fail_msg("%s", err.text);
    struct pod_template *compiled = pod_template_new(job, 0, NULL);
    pod_template_render(compiled, index, 3, 1, &out);
    pod_template_free(compiled);
    job_free(job);
    return buf_take(&out);
}

static void a_pod_says_whose_it_is(void **state)
{
    cleanup_free char *text = render(job_text, 12);
    struct error err = ERROR_INIT;
    struct podstate *pod = podstate_decode(str_of(text), &err);

    (void)state;
    assert_non_null(pod);
    assert_string_equal(pod->meta.name, "train-worker-12");
    assert_string_equal(pod->meta.ns, "team");
    assert_string_equal(pod->meta.controller.uid, "u-1");
    assert_string_equal(pod->meta.controller.kind, "Job");
    assert_string_equal(pod->job_name, "train");
    assert_string_equal(pod->task, "worker");
    assert_int_equal(pod->index, 12);
    assert_int_equal(pod->job_version, 3);
    podstate_free(pod);
}

static void contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s is missing in %s", part, text);
}

static void members_are_replaced_not_doubled(void **state)
{
    cleanup_free char *text = render(job_text, 0);

    (void)state;
    assert_null(strstr(text, "forged"));
    contains(text, "\"app\":\"a\\\"b\"");
    contains(text, "\"scheduling.k8s.io/group-name\":\"train-u-1\"");
    contains(text, "\"volcano.sh/job-retry-count\":\"1\"");
    contains(text, "\"volcano.sh/preemptable\":\"true\"");
    assert_null(strstr(text, "\"x\":\"y\""));
}

static void the_spec_passes_byte_for_byte(void **state)
{
    cleanup_free char *text = render(job_text, 0);

    (void)state;
    contains(text, "\"value\":\"\\u0041\\n\"");
    contains(text, "\"priority\":9007199254740993");
    contains(text, "\"schedulerName\":\"volcano\",\"priorityClassName\":\"high\"}}");
}

static void the_template_wins_over_the_job(void **state)
{
    cleanup_free char *text =
        render("{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"u\"},\"spec\":{"
               "\"schedulerName\":\"volcano\",\"priorityClassName\":\"high\",\"tasks\":[{"
               "\"replicas\":1,\"template\":{\"spec\":{\"schedulerName\":\"mine\","
               "\"priorityClassName\":\"low\",\"containers\":[]}}}]}}",
               0);

    (void)state;
    contains(text, "\"spec\":{\"schedulerName\":\"mine\",\"priorityClassName\":\"low\","
                   "\"containers\":[]}}");
    contains(text, "\"name\":\"j-default-0\"");
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(a_pod_says_whose_it_is),
        cmocka_unit_test(members_are_replaced_not_doubled),
        cmocka_unit_test(the_spec_passes_byte_for_byte),
        cmocka_unit_test(the_template_wins_over_the_job),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
