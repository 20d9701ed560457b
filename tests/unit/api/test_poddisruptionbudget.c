/*
 * PodDisruptionBudgets: what is read of them, and what cannot be read.
 */
#include "testing.h"

#include "api/labels.h"
#include "api/poddisruptionbudget.h"
#include "base/intern.h"

#define META "\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\",\"uid\":\"u\",\"generation\":2}"

static struct poddisruptionbudget *budget_of(const char *text)
{
    struct error err = ERROR_INIT;
    struct poddisruptionbudget *budget = poddisruptionbudget_decode(str_of(text), &err);
    if (!budget)
        fail_msg("%s", err.text);
    return budget;
}

static bool counts(const struct poddisruptionbudget *budget, const char *name)
{
    const char *pod = intern_get(str_of(name));
    bool counted = poddisruptionbudget_counts(budget, pod);
    intern_put(pod);
    return counted;
}

static void a_budget(void **state)
{
    (void)state;
    struct poddisruptionbudget *budget = budget_of(
        "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\",\"uid\":\"u\",\"generation\":2,"
        "\"labels\":{\"a\":\"b\"}},\"spec\":{\"minAvailable\":\"50%\",\"selector\":{"
        "\"matchLabels\":{\"app\":\"web\"}}},\"status\":{\"observedGeneration\":2,"
        "\"disruptionsAllowed\":3,\"disruptedPods\":{\"p\":\"2026-11-30T12:00:00Z\",\"q\":null},"
        "\"conditions\":[{}]}}");
    assert_string_equal(budget->meta.name, "b");
    assert_string_equal(budget->meta.ns, "ns");
    assert_int_equal(budget->meta.labels.n, 0);
    assert_int_equal(budget->allowed, 3);
    assert_true(budget->selector.present);
    assert_int_equal(budget->selector.all.n, 1);
    assert_true(counts(budget, "p"));
    assert_true(counts(budget, "q"));
    assert_false(counts(budget, "r"));
    poddisruptionbudget_unref(poddisruptionbudget_ref(budget));
    assert_int_equal(budget->allowed, 3);
    poddisruptionbudget_unref(budget);
    poddisruptionbudget_unref(NULL);
}

static void how_many_may_go(void **state)
{
    static const struct {
        const char *status;
        int32_t allowed;
    } rows[] = {
        {"{}", 0}, /* nobody has looked at it yet */
        {"{\"observedGeneration\":2}", 0},
        {"{\"observedGeneration\":2,\"disruptionsAllowed\":1}", 1},
        {"{\"observedGeneration\":3,\"disruptionsAllowed\":1}", 1},
        {"{\"observedGeneration\":1,\"disruptionsAllowed\":1}", 0}, /* of an older spec */
        {"{\"disruptionsAllowed\":1}", 0},
        {"{\"observedGeneration\":2,\"disruptionsAllowed\":-1}", 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        cleanup_free char *text = xasprintf("{\"status\":%s," META "}", rows[i].status);
        struct poddisruptionbudget *budget = budget_of(text);
        if (budget->allowed != rows[i].allowed)
            fail_msg("%s: %d", rows[i].status, budget->allowed);
        poddisruptionbudget_unref(budget);
    }
}

static void when_unready_pods_may_go(void **state)
{
    static const struct {
        const char *spec, *status;
        bool may_go;
    } rows[] = {
        {"", "", false},
        {"", "\"currentHealthy\":2,\"desiredHealthy\":2", true},
        {"", "\"currentHealthy\":1,\"desiredHealthy\":2", false},
        {"", "\"currentHealthy\":2,\"desiredHealthy\":0", false},
        {"\"unhealthyPodEvictionPolicy\":\"IfHealthyBudget\"", "", false},
        {"\"unhealthyPodEvictionPolicy\":\"IfHealthyBudget\"",
         "\"desiredHealthy\":1,\"currentHealthy\":1", true},
        {"\"unhealthyPodEvictionPolicy\":\"AlwaysAllow\"", "", true},
        {"\"unhealthyPodEvictionPolicy\":\"AlwaysAllow\"",
         "\"currentHealthy\":1,\"desiredHealthy\":2", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        cleanup_free char *text =
            xasprintf("{\"status\":{%s},\"spec\":{%s}," META "}", rows[i].status, rows[i].spec);
        struct poddisruptionbudget *budget = budget_of(text);
        if (budget->unready_may_go != rows[i].may_go)
            fail_msg("%s", text);
        poddisruptionbudget_unref(budget);
    }
}

/* No selector: nobody; an empty one: everybody, with or without labels. */
static void whom_it_selects(void **state)
{
    static const struct {
        const char *spec;
        bool labelled, bare;
    } rows[] = {
        {"{}", false, false},
        {"{\"selector\":null}", false, false},
        {"{\"selector\":{}}", true, true},
        {"{\"selector\":{\"matchLabels\":{}}}", true, true},
        {"{\"selector\":{\"matchLabels\":{\"app\":\"web\"}}}", true, false},
        {"{\"selector\":{\"matchLabels\":{\"app\":\"db\"}}}", false, false},
        {"{\"selector\":{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"DoesNotExist\"}]}}",
         false, true},
    };
    struct kube_pair pair = {intern_get(STR("app")), intern_get(STR("web"))};
    const struct kube_pairs some = {&pair, 1}, none = {NULL, 0};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        cleanup_free char *text = xasprintf("{" META ",\"spec\":%s}", rows[i].spec);
        struct poddisruptionbudget *budget = budget_of(text);
        if (label_selector_matches(&budget->selector, pairs_value, &some) != rows[i].labelled ||
            label_selector_matches(&budget->selector, pairs_value, &none) != rows[i].bare)
            fail_msg("%s", rows[i].spec);
        poddisruptionbudget_unref(budget);
    }
    intern_put(pair.key);
    intern_put(pair.value);
}

static void what_cannot_be_read(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"{" META ",\"status\":{\"disruptionsAllowed\":\"x\"}}", "poddisruptionbudget b"},
        {"{" META ",\"spec\":{\"selector\":[]}}", "poddisruptionbudget b"},
        {"{\"spec\":[]}", "poddisruptionbudget (unnamed)"},
        {"{\"metadata\":{\"name\":\"b\"}}", "metadata.namespace"},
        {"{\"metadata\":{\"namespace\":\"ns\"}}", "metadata.name"},
        {"", "invalid JSON"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error err = ERROR_INIT;
        assert_null(poddisruptionbudget_decode(str_of(rows[i].text), &err));
        if (str_find(str_of(err.text), str_of(rows[i].says)) < 0)
            fail_msg("\"%s\" is not in \"%s\"", rows[i].says, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget),
        cmocka_unit_test(how_many_may_go),
        cmocka_unit_test(when_unready_pods_may_go),
        cmocka_unit_test(whom_it_selects),
        cmocka_unit_test(what_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
