/*
 * Semantic equality of objects: what is the same in other words, what is not, and how a difference
 * is told. Each pair is tried in both orders.
 */
#include "testing.h"

#include "base/timefmt.h"
#include "webhook/rules/equal.h"
#include <time.h>

static bool same(const char *a, const char *b, struct buf *difference)
{
    cJSON *left = cJSON_Parse(a), *right = cJSON_Parse(b);
    assert_non_null(left);
    assert_non_null(right);
    tree_keep_digits(left, str_of(a));
    tree_keep_digits(right, str_of(b));
    buf_reset(difference);
    bool equal = trees_equal(left, right, "spec", difference);
    assert_true(equal == (difference->n == 0));
    cJSON_Delete(left);
    cJSON_Delete(right);
    return equal;
}

/* Puts both texts into the same surroundings. */
static bool same_in(const char *before, const char *a, const char *b, const char *after)
{
    struct buf difference = BUF_INIT(1024);
    char *left = xasprintf("%s%s%s", before, a, after);
    char *right = xasprintf("%s%s%s", before, b, after);
    bool equal = same(left, right, &difference);
    assert_true(same(right, left, &difference) == equal);
    buf_clear(&difference);
    free(left);
    free(right);
    return equal;
}

#define POD(a, b) same_in("{\"template\":{\"spec\":{\"x\":1", a, b, "}}}")
#define CONTAINER(a, b) same_in("{\"spec\":{\"containers\":[{\"name\":\"m\"", a, b, "}]}}")
#define PLAIN(a, b) same_in("{\"x\":1", a, b, "}")

static void test_values(void **state)
{
    (void)state;
    assert_true(PLAIN(",\"requests\":{\"cpu\":1}", ",\"requests\":{\"cpu\":\"1000m\"}"));
    assert_false(PLAIN(",\"requests\":{\"cpu\":1}", ",\"requests\":{\"cpu\":\"1001m\"}"));
    assert_false(PLAIN(",\"requests\":{\"cpu\":\"0\"}", ",\"requests\":{}"));
    assert_true(
        PLAIN(",\"emptyDir\":{\"sizeLimit\":\"1Gi\"}", ",\"emptyDir\":{\"sizeLimit\":\"1024Mi\"}"));
    assert_false(
        PLAIN(",\"labels\":{\"sizeLimit\":\"1Gi\"}", ",\"labels\":{\"sizeLimit\":\"1024Mi\"}"));
    assert_false(PLAIN(",\"a\":\"1\"", ",\"a\":1"));
    assert_false(PLAIN(",\"a\":true", ",\"a\":false"));
    assert_false(PLAIN(",\"a\":[1,2]", ",\"a\":[2,1]"));
    assert_false(PLAIN(",\"a\":[1,2]", ",\"a\":[1]"));
    assert_true(PLAIN(",\"a\":{\"p\":1,\"q\":2}", ",\"a\":{\"q\":2,\"p\":1}"));
}

static void test_absent(void **state)
{
    (void)state;
    assert_true(PLAIN("", ",\"a\":null"));
    assert_true(PLAIN("", ",\"a\":[]"));
    assert_true(PLAIN("", ",\"a\":\"\""));
    assert_true(PLAIN("", ",\"resources\":{}"));
    assert_true(PLAIN("", ",\"metadata\":{\"creationTimestamp\":null,\"labels\":{}}"));
    assert_false(PLAIN("", ",\"metadata\":{\"labels\":{\"a\":\"\"}}"));
    assert_false(PLAIN(",\"userAnnotations\":{}", ",\"userAnnotations\":{\"a.b/c\":\"\"}"));
    assert_true(PLAIN("", ",\"replicas\":0"));
    assert_true(PLAIN("", ",\"tty\":false"));
    assert_false(PLAIN("", ",\"emptyDir\":{}"));
    assert_false(PLAIN("", ",\"storageClassName\":\"\""));
    assert_false(PLAIN("", ",\"terminationGracePeriodSeconds\":0"));
    assert_false(PLAIN("", ",\"automountServiceAccountToken\":false"));
    assert_false(PLAIN(",\"labels\":{\"a\":\"b\"}", ",\"labels\":{\"a\":\"b\",\"c\":\"\"}"));
    assert_false(PLAIN(",\"plugins\":{\"svc\":[]}", ",\"plugins\":{}"));
    assert_true(PLAIN(",\"plugins\":{\"svc\":[]}", ",\"plugins\":{\"svc\":[]}"));
}

static void test_defaults_of_pods(void **state)
{
    (void)state;
    assert_true(POD("", ",\"restartPolicy\":\"Always\",\"dnsPolicy\":\"ClusterFirst\","
                        "\"terminationGracePeriodSeconds\":30,\"securityContext\":{},"
                        "\"enableServiceLinks\":true"));
    assert_false(POD("", ",\"restartPolicy\":\"Never\""));
    assert_false(POD("", ",\"terminationGracePeriodSeconds\":31"));
    assert_false(POD("", ",\"schedulerName\":\"default-scheduler\""));
    assert_true(POD(",\"serviceAccountName\":\"sa\"",
                    ",\"serviceAccountName\":\"sa\",\"serviceAccount\":\"sa\""));
    assert_true(POD(",\"serviceAccountName\":\"sa\"", ",\"serviceAccount\":\"sa\""));
    assert_false(POD("", ",\"serviceAccount\":\"sa\""));
    assert_true(POD(",\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"s\"}}]",
                    ",\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"s\","
                    "\"defaultMode\":420}}]"));
    assert_false(POD(",\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"s\"}}]",
                     ",\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"s\","
                     "\"defaultMode\":256}}]"));
    assert_false(PLAIN("", ",\"protocol\":\"TCP\""));
}

static void test_defaults_of_containers(void **state)
{
    (void)state;
    assert_true(CONTAINER(",\"ports\":[{\"containerPort\":1}]",
                          ",\"ports\":[{\"containerPort\":1,\"protocol\":\"TCP\"}]"));
    assert_false(CONTAINER(",\"ports\":[{\"containerPort\":1}]",
                           ",\"ports\":[{\"containerPort\":1,\"protocol\":\"UDP\"}]"));
    assert_true(CONTAINER("", ",\"terminationMessagePath\":\"/dev/termination-log\","
                              "\"terminationMessagePolicy\":\"File\""));
    assert_true(CONTAINER(",\"livenessProbe\":{\"httpGet\":{\"port\":1}}",
                          ",\"livenessProbe\":{\"httpGet\":{\"port\":1,\"path\":\"/\",\"scheme\":"
                          "\"HTTP\"},\"timeoutSeconds\":1,\"periodSeconds\":10,"
                          "\"successThreshold\":1,\"failureThreshold\":3}"));
    assert_false(CONTAINER(",\"livenessProbe\":{}", ",\"livenessProbe\":{\"periodSeconds\":11}"));
    assert_true(CONTAINER(",\"env\":[{\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"a\"}}}]",
                          ",\"env\":[{\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"a\","
                          "\"apiVersion\":\"v1\"}}}]"));
    assert_true(CONTAINER(",\"env\":[{\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"a\"}}}]",
                          ",\"env\":[{\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"a\","
                          "\"divisor\":\"0\"}}}]"));
}

static void test_pull_policy(void **state)
{
    (void)state;
    static const struct {
        const char *image, *policy;
    } cases[] = {{"x", "Always"},
                 {"x:latest", "Always"},
                 {"x:1", "IfNotPresent"},
                 {"host:5000/x", "Always"},
                 {"host:5000/x:1", "IfNotPresent"},
                 {"host:5000/x@sha256:aa", "IfNotPresent"},
                 {"x:latest@sha256:aa", "Always"},
                 {"x:1@sha256:aa", "IfNotPresent"},
                 {"", "Always"}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const bool always = strcmp(cases[i].policy, "Always") == 0;
        char *absent = xasprintf(",\"image\":\"%s\"", cases[i].image);
        char *given = xasprintf("%s,\"imagePullPolicy\":\"%s\"", absent, cases[i].policy);
        char *other =
            xasprintf("%s,\"imagePullPolicy\":\"%s\"", absent, always ? "IfNotPresent" : "Always");
        assert_true(CONTAINER(absent, given));
        assert_false(CONTAINER(absent, other));
        free(absent);
        free(given);
        free(other);
    }
}

static void test_host_port(void **state)
{
    (void)state;
    const char *absent = ",\"ports\":[{\"containerPort\":80}]";
    const char *given = ",\"ports\":[{\"containerPort\":80,\"hostPort\":80}]";
    const char *after = "}]}}";
    assert_true(same_in("{\"spec\":{\"hostNetwork\":true,\"containers\":[{\"name\":\"m\"", absent,
                        given, after));
    assert_false(same_in("{\"spec\":{\"containers\":[{\"name\":\"m\"", absent, given, after));
    assert_false(same_in("{\"spec\":{\"hostNetwork\":true,\"containers\":[{\"name\":\"m\"", absent,
                         ",\"ports\":[{\"containerPort\":80,\"hostPort\":81}]", after));
}

static void test_large_numbers(void **state)
{
    (void)state;
    assert_true(PLAIN(",\"s\":\"\\\"7\\\\\",\"a\":9007199254740993", /* digits in a string */
                      ",\"s\":\"\\\"7\\\\\",\"a\":9007199254740993"));
    assert_false(PLAIN(",\"a\":9007199254740993", ",\"a\":9007199254740992"));
    assert_false(PLAIN(",\"s\":\"\\\"7\\\\\",\"a\":[-1.5e3,9007199254740993]",
                       ",\"s\":\"\\\"7\\\\\",\"a\":[-1.5e3,9007199254740992]"));
}

static void test_text(void **state)
{
    (void)state;
    struct buf text = BUF_INIT(1024);
    assert_false(same("{\"a\":[{\"b\":1}]}", "{\"a\":[{\"b\":2}]}", &text));
    assert_str(buf_str(&text), "spec.a[0].b is different (was 2, now 1)");
    assert_false(same("{\"a\":9007199254740993}", "{}", &text));
    assert_str(buf_str(&text), "spec.a is different (was absent, now 9007199254740993)");
    assert_false(same("{\"a\":null}", "{\"a\":7}", &text));
    assert_str(buf_str(&text), "spec.a is different (was 7, now absent)");
    char value[256];
    memset(value, 'x', sizeof(value));
    value[255] = '\0';
    char *object = xasprintf("{\"a\":\"%s\"}", value);
    assert_false(same("{\"a\":\"\"}", object, &text));
    assert_int_equal(text.n, strlen("spec.a is different (was ..., now \"\")") + 64);
    free(object);
    buf_clear(&text);
}

/* Many large numbers: the text is gone through once, not once for each. */
static void test_many_large_numbers(void **state)
{
    (void)state;
    struct buf text = BUF_INIT((size_t)16 << 20), difference = BUF_INIT(1024);
    buf_add_cstr(&text, "{\"supplementalGroups\":[9007199254740993");
    for (int i = 0; i < 200000; i++)
        buf_add_cstr(&text, ",9007199254740993");
    buf_add_cstr(&text, "]}");
    const clock_t before = clock();
    assert_true(same(text.p, text.p, &difference));
    assert_true(clock() - before < 20 * CLOCKS_PER_SEC);
    buf_clear(&text);
    buf_clear(&difference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_absent),
                                       cmocka_unit_test(test_defaults_of_pods),
                                       cmocka_unit_test(test_defaults_of_containers),
                                       cmocka_unit_test(test_pull_policy),
                                       cmocka_unit_test(test_host_port),
                                       cmocka_unit_test(test_large_numbers),
                                       cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_many_large_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
