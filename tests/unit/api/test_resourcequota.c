/*
 * ResourceQuotas: what is read of them, what cannot be read, and which changes ease a limit.
 */
#include "testing.h"

#include "api/resourcequota.h"

#define META "\"metadata\":{\"name\":\"q\",\"namespace\":\"ns\",\"uid\":\"u\"}"

static struct resourcequota *quota(const char *text)
{
    struct error err = ERROR_INIT;
    struct resourcequota *decoded = resourcequota_decode(str_of(text), &err);
    if (!decoded)
        fail_msg("%s", err.text);
    return decoded;
}

static struct resourcequota *with_status(const char *status)
{
    cleanup_free char *text = xasprintf("{" META ",\"status\":%s}", status);
    return quota(text);
}

static void assert_amount(const resource_list *list, const char *name, int64_t milli)
{
    const struct quantity *quantity = resource_list_get(list, str_of(name));
    assert_non_null(quantity);
    assert_int_equal(quantity_milli(*quantity), milli);
}

static void a_quota(void **state)
{
    struct resourcequota *q = quota(
        "{\"metadata\":{\"name\":\"q\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":"
        "\"7\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"hard\":{\"pods\":\"99\"}},\"status\":{\"hard\""
        ":{\"requests.cpu\":\"2\",\"pods\":\"10\"},\"used\":{\"requests.cpu\":\"500m\"}}}");
    (void)state;
    assert_string_equal(q->meta.name, "q");
    assert_string_equal(q->meta.ns, "ns");
    assert_int_equal(q->meta.rv, 7);
    assert_int_equal(q->hard.n, 2); /* of the status: what is enforced */
    assert_amount(&q->hard, "requests.cpu", 2000);
    assert_amount(&q->hard, "pods", 10000);
    assert_amount(&q->used, "requests.cpu", 500);
    assert_null(resource_list_get(&q->used, STR("pods")));
    assert_false(q->scoped);
    resourcequota_unref(resourcequota_ref(q));
    assert_string_equal(q->meta.name, "q");
    resourcequota_unref(q);
    resourcequota_unref(NULL);
}

static void a_quota_that_nobody_has_looked_at_limits_nothing(void **state)
{
    struct resourcequota *q = quota("{" META ",\"spec\":{\"hard\":{\"pods\":\"1\"}}}");
    (void)state;
    assert_int_equal(q->hard.n, 0);
    resourcequota_unref(q);
}

static void scopes(void **state)
{
    static const struct {
        const char *spec;
        bool scoped;
    } rows[] = {
        {"{}", false},
        {"{\"scopes\":[]}", false},
        {"{\"scopes\":null,\"scopeSelector\":null}", false},
        {"{\"scopes\":[\"BestEffort\"]}", true},
        {"{\"scopeSelector\":{}}", false},
        {"{\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":"
         "\"In\",\"values\":[\"high\"]}]},\"scopes\":[]}",
         true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        cleanup_free char *text = xasprintf("{" META ",\"spec\":%s}", rows[i].spec);
        struct resourcequota *q = quota(text);
        assert_int_equal(q->scoped, rows[i].scoped);
        resourcequota_unref(q);
    }
}

static void odd_quotas_are_errors(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"metadata\":{\"name\":\"q\"}}",
        "{\"metadata\":{\"namespace\":\"ns\"}}",
        "{" META ",\"status\":{\"hard\":{\"pods\":\"many\"}}}",
        "{" META ",\"status\":{\"hard\":{\"pods\":{}}}}",
        "{" META ",\"status\":7}",
        "{" META ",\"spec\":{\"scopes\":\"BestEffort\"}}",
        "{" META,
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct error err = ERROR_INIT;
        struct resourcequota *q = resourcequota_decode(str_of(texts[i]), &err);
        if (q)
            fail_msg("read: %s", texts[i]);
        assert_true(err.text[0]);
    }
}

static void changes_that_ease(void **state)
{
#define BEFORE "{\"hard\":{\"cpu\":\"4\",\"pods\":\"9\"},\"used\":{\"cpu\":\"2\",\"pods\":\"3\"}}"
    static const struct {
        const char *before, *after;
        bool eases;
    } rows[] = {
        {NULL, BEFORE, false},
        {NULL, NULL, false},
        {BEFORE, NULL, true},
        {BEFORE, BEFORE, false},
        {BEFORE,
         "{\"hard\":{\"cpu\":\"4\",\"pods\":\"9\"},\"used\":{\"cpu\":\"3\",\"pods\":\"4\"}}",
         false},
        {BEFORE,
         "{\"hard\":{\"cpu\":\"3\",\"pods\":\"9\"},\"used\":{\"cpu\":\"2\",\"pods\":\"3\"}}",
         false},
        {BEFORE,
         "{\"hard\":{\"cpu\":\"4\",\"pods\":\"9\"},\"used\":{\"cpu\":\"3\",\"pods\":\"2\"}}", true},
        {BEFORE,
         "{\"hard\":{\"cpu\":\"5\",\"pods\":\"1\"},\"used\":{\"cpu\":\"2\",\"pods\":\"3\"}}", true},
        {BEFORE, "{\"hard\":{\"cpu\":\"4\"},\"used\":{\"cpu\":\"2\"}}", true},
        {"{\"hard\":{\"cpu\":\"4\"},\"used\":{\"cpu\":\"2\"}}", BEFORE, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct resourcequota *before = rows[i].before ? with_status(rows[i].before) : NULL;
        struct resourcequota *after = rows[i].after ? with_status(rows[i].after) : NULL;
        if (resourcequota_eases(before, after) != rows[i].eases)
            fail_msg("row %zu", i);
        resourcequota_unref(before);
        resourcequota_unref(after);
    }
}

static void scopes_that_come_and_go_ease_what_they_leave_out(void **state)
{
    struct resourcequota *all = with_status("{\"hard\":{\"cpu\":\"4\"}}");
    struct resourcequota *some =
        quota("{" META ",\"spec\":{\"scopes\":[\"Terminating\"]},\"status\""
              ":{\"hard\":{\"cpu\":\"4\"}}}");
    (void)state;
    assert_true(resourcequota_eases(all, some));
    assert_false(resourcequota_eases(some, all));
    assert_false(resourcequota_eases(some, NULL));
    resourcequota_unref(all);
    resourcequota_unref(some);
}

static void names_of_requests(void **state)
{
    (void)state;
    assert_str(resourcequota_resource(STR("requests.cpu")), "cpu");
    assert_str(resourcequota_resource(STR("cpu")), "cpu");
    assert_str(resourcequota_resource(STR("requests.nvidia.com/gpu")), "nvidia.com/gpu");
    assert_str(resourcequota_resource(STR("limits.cpu")), "limits.cpu");
    assert_str(resourcequota_resource(STR("count/pods")), "count/pods");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quota),
        cmocka_unit_test(a_quota_that_nobody_has_looked_at_limits_nothing),
        cmocka_unit_test(scopes),
        cmocka_unit_test(odd_quotas_are_errors),
        cmocka_unit_test(changes_that_ease),
        cmocka_unit_test(scopes_that_come_and_go_ease_what_they_leave_out),
        cmocka_unit_test(names_of_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
