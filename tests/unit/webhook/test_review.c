/*
 * AdmissionReviews that are not what they should be: one line for the sender, never more. Limits of
 * depth and number of values at and one past.
 */
#include "testing.h"

#include "webhook/admission.h"

#define BODY_MAX ((size_t)16 << 20)

struct asked {
    int status;
    bool wait, allowed;
    struct buf body;
};

static struct asked ask(struct admission *admission, const char *path, struct str review)
{
    struct asked asked = {.body = BUF_INIT(BODY_MAX)};
    const struct admission_question question = {
        .path = str_of(path), .body = review, .last_try = true};
    struct admission_answer answer = {.body = &asked.body};
    admission_answer(admission, &question, &answer);
    asked.status = answer.status;
    asked.wait = answer.wait;
    asked.allowed = answer.allowed;
    return asked;
}

static int setup(void **state)
{
    struct admission *admission = xnew(struct admission);
    admission_init(admission);
    *state = admission;
    return 0;
}

static int teardown(void **state)
{
    admission_clear(*state);
    free(*state);
    return 0;
}

static void assert_refused(struct admission *admission, struct str review, int status,
                           const char *text)
{
    struct asked asked = ask(admission, "/jobs/mutate", review);
    assert_int_equal(asked.status, status);
    assert_str(buf_str(&asked.body), text);
    assert_ptr_equal(strchr(asked.body.p, '\n'), asked.body.p + asked.body.n - 1);
    buf_clear(&asked.body);
}

static void test_malformed(void **state)
{
    struct admission *a = *state;
    assert_refused(a, STR_NULL, 400, "400: the body is empty; an AdmissionReview is expected\n");
    assert_refused(a, STR(" \n"), 400, "400: the body is empty; an AdmissionReview is expected\n");
    assert_refused(a, STR("null"), 400, "400: request: the review holds none\n");
    assert_refused(a, STR("{}"), 400, "400: request: the review holds none\n");
    assert_refused(a, STR("{\"request\":null}"), 400, "400: request: the review holds none\n");
    assert_refused(a, STR("{\"request\":{}}"), 400, "400: request.uid: the review holds none\n");
    assert_refused(a, STR("[]"), 400, "400: invalid JSON at byte 0: expected an object\n");
    assert_refused(a, STR("{\"request\":[]}"), 400,
                   "400: invalid JSON at byte 11: expected an object\n");
    assert_refused(a, STR("{\"request\":{\"uid\":5}}"), 400,
                   "400: invalid JSON at byte 18: expected a string\n");
    assert_refused(a, STR("{\"request\":{\"uid\":\"u\",\"object\":5}}"), 400,
                   "400: invalid JSON at byte 31: an object under review must be a JSON object\n");
    assert_refused(a, STR("{\"apiVersion\":\"admission.k8s.io/v1beta1\",\"request\":{}}"), 400,
                   "400: apiVersion: only admission.k8s.io/v1 is understood, not "
                   "\"admission.k8s.io/v1beta1\"\n");
    assert_refused(a, STR("{\"kind\":\"P\\no\\u001bd\",\"request\":{}}"), 400,
                   "400: kind: must be AdmissionReview, not \"P o d\"\n");
    assert_refused(a, STR("{\"kind\":\"Pod\",\"request\":{}}"), 400,
                   "400: kind: must be AdmissionReview, not \"Pod\"\n");
}

#define HEAD                                                                                       \
    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":"   \
    "\"u-1\",\"operation\":\"CREATE\",\"resource\":{\"group\":\"batch.volcano.sh\",\"version\":"   \
    "\"v1alpha1\",\"resource\":\"jobs\"},\"object\":"
#define TAIL "}}"

/* Every cut of a good review is refused, and none crashes. */
static void test_truncated(void **state)
{
    struct str whole = STR(HEAD "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"tasks\":[{\"replicas\":"
                                "1}]}}" TAIL);
    for (size_t n = 0; n < whole.n; n++) {
        struct asked asked = ask(*state, "/jobs/mutate", str_sub(whole, 0, n));
        assert_int_equal(asked.status, 400);
        buf_clear(&asked.body);
    }
    struct asked asked = ask(*state, "/jobs/mutate", whole);
    assert_int_equal(asked.status, 200);
    assert_true(asked.allowed);
    assert_true(str_find(buf_str(&asked.body), STR("\"uid\":\"u-1\"")) > 0);
    buf_clear(&asked.body);
}

/* A review whose object is nested so that the whole is `depth` deep. */
static struct asked ask_depth(struct admission *admission, size_t depth)
{
    struct buf text = BUF_INIT(BODY_MAX);
    buf_add_cstr(&text, HEAD "{\"a\":");
    for (size_t i = 3; i < depth; i++)
        buf_add_char(&text, '[');
    for (size_t i = 3; i < depth; i++)
        buf_add_char(&text, ']');
    buf_add_cstr(&text, "}" TAIL);
    struct asked asked = ask(admission, "/jobs/mutate", buf_str(&text));
    buf_clear(&text);
    return asked;
}

static void test_depth(void **state)
{
    struct asked asked = ask_depth(*state, LIMIT_JSON_DEPTH);
    assert_int_equal(asked.status, 200);
    buf_clear(&asked.body);
    asked = ask_depth(*state, LIMIT_JSON_DEPTH + 1);
    assert_int_equal(asked.status, 413);
    buf_clear(&asked.body);
    asked = ask_depth(*state, 100000);
    assert_int_equal(asked.status, 413);
    buf_clear(&asked.body);
}

static void test_depth_of_a_flag(void **state)
{
    struct admission *admission = *state;
    admission->limits.depth = 10;
    struct asked asked = ask_depth(admission, 10);
    assert_int_equal(asked.status, 200);
    buf_clear(&asked.body);
    asked = ask_depth(admission, 11);
    assert_int_equal(asked.status, 413);
    assert_true(str_find(buf_str(&asked.body), STR("nested deeper than allowed")) > 0);
    buf_clear(&asked.body);
}

/* A review of another version, or without what it needs, is answered under its uid. */
static void test_not_v1(void **state)
{
    struct asked asked = ask(*state, "/jobs/validate",
                             STR("{\"apiVersion\":\"admission.k8s.io/v1beta1\",\"kind\":"
                                 "\"AdmissionReview\",\"request\":{\"uid\":\"u-1\"}}"));
    assert_int_equal(asked.status, 200);
    assert_false(asked.allowed);
    assert_str(buf_str(&asked.body),
               "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1beta1\","
               "\"response\":{\"uid\":\"u-1\",\"allowed\":false,\"status\":{\"metadata\":{},"
               "\"status\":\"Failure\",\"message\":\"apiVersion: only admission.k8s.io/v1 is "
               "understood, not \\\"admission.k8s.io/v1beta1\\\"\",\"reason\":\"BadRequest\","
               "\"code\":400}}}");
    buf_clear(&asked.body);
    asked = ask(*state, "/jobs/validate", STR("{\"kind\":\"Pod\",\"request\":{\"uid\":\"u-2\"}}"));
    assert_int_equal(asked.status, 200);
    assert_true(str_find(buf_str(&asked.body), STR("\"uid\":\"u-2\",\"allowed\":false")) > 0);
    buf_clear(&asked.body);
}

static void test_number_of_values(void **state)
{
    struct admission *admission = *state;
    struct str review = STR(HEAD "{\"a\":[1,2,3]}" TAIL);
    /* Outer object, apiVersion, kind, request, uid, operation, resource and its 3, object, a and
     * its 3. */
    admission->limits.values = 15;
    struct asked asked = ask(admission, "/jobs/mutate", review);
    assert_int_equal(asked.status, 200);
    buf_clear(&asked.body);
    admission->limits.values = 14;
    asked = ask(admission, "/jobs/mutate", review);
    assert_int_equal(asked.status, 413);
    buf_clear(&asked.body);
}

static void test_unknown_path(void **state)
{
    struct asked asked = ask(*state, "/nothing/mutate", STR("{}"));
    assert_int_equal(asked.status, 404);
    buf_clear(&asked.body);
}

static void test_late(void **state)
{
    struct buf body = BUF_INIT(BODY_MAX);
    const struct admission_question question = {
        .path = STR("/jobs/mutate"), .body = STR(HEAD "{}" TAIL), .late = true};
    struct admission_answer answer = {.body = &body};
    admission_answer(*state, &question, &answer);
    assert_int_equal(answer.status, 200);
    assert_false(answer.allowed);
    assert_true(str_find(buf_str(&body), STR("came too late")) > 0);
    assert_true(str_find(buf_str(&body), STR("\"code\":503")) > 0);
    buf_clear(&body);
}

static void test_enabled(void **state)
{
    struct admission *admission = *state;
    struct error err = ERROR_INIT;
    assert_int_equal(admission_enable(admission, STR(" /jobs/validate, ,"), &err), 0);
    for (size_t i = 0; admission_paths[i].path; i++)
        assert_int_equal(admission->enabled[i],
                         strcmp(admission_paths[i].path, "/jobs/validate") == 0);
    assert_int_equal(admission_enable(admission, STR("/jobs/validate,/nope"), &err), -1);
    assert_non_null(strstr(err.text, "enabled admission /nope not found"));
    assert_int_equal(admission_enable(admission, STR(""), &err), 0);
    assert_false(admission->enabled[0]);
}

/* What a hostile client can send at most takes moments, not minutes. */
static void test_large_reviews(void **state)
{
    struct buf text = BUF_INIT(BODY_MAX);
    buf_add_cstr(&text, HEAD "{\"spec\":{\"tasks\":[");
    for (int i = 0; i < 40000; i++)
        buf_printf(&text, "%s{\"name\":\"t%d\",\"replicas\":1,\"dependsOn\":{\"name\":[\"t%d\"]}}",
                   i ? "," : "", i, (i + 1) % 40000);
    buf_add_cstr(&text, "]}}" TAIL);
    assert_false(text.overflow);
    struct asked asked = ask(*state, "/jobs/validate", buf_str(&text));
    assert_int_equal(asked.status, 200);
    assert_false(asked.allowed);
    assert_true(asked.body.n < 20000);
    buf_clear(&asked.body);
    buf_clear(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_malformed),        TEST(test_truncated),       TEST(test_depth),
        TEST(test_number_of_values), TEST(test_unknown_path),    TEST(test_late),
        TEST(test_enabled),          TEST(test_depth_of_a_flag), TEST(test_not_v1),
        TEST(test_large_reviews),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
