/*
 * What happens later: garbage collection, namespaces that end.
 */
#include "sim.h"

/* Makes a ConfigMap; `owners` are those that stand in its references, at most two. */
static struct str make(struct sim *sim, const char *name, struct str a, struct str b, bool blocks)
{
    cleanup_buf struct buf body = BUF_INIT(4096);
    buf_printf(&body, "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[", name);
    const struct str owners[] = {a, b};
    for (size_t i = 0; i < 2; i++)
        if (!str_empty(owners[i]))
            buf_printf(&body,
                       "%s{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"o\","
                       "\"uid\":\"%.*s\",\"blockOwnerDeletion\":%s}",
                       i ? "," : "", STR_ARG(owners[i]), blocks ? "true" : "false");
    buf_add_cstr(&body, "]}}");
    assert_int_equal(sim_post(sim, CONFIGMAPS, body.p), 201);
    return sim_at(sim, "metadata.uid");
}

static bool is_there(struct sim *sim, const char *name)
{
    return sim_get(sim, sim_text(sim, CONFIGMAPS "/%s", name)) == 200;
}

static void settle(struct sim *sim)
{
    sim_wait(sim, NSEC_PER_SEC);
}

static void test_dependents_go_after_their_owner(void **state)
{
    struct sim *sim = *state;
    struct str owner = make(sim, "a", STR_NULL, STR_NULL, false);
    struct str middle = make(sim, "b", owner, STR_NULL, false);
    (void)make(sim, "c", middle, STR_NULL, false);
    (void)make(sim, "d", STR_NULL, STR_NULL, false);
    settle(sim);
    assert_true(is_there(sim, "c"));
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/a", ""), 200);
    assert_true(is_there(sim, "b")); /* for a moment */
    settle(sim);
    assert_false(is_there(sim, "b"));
    assert_false(is_there(sim, "c"));
    assert_true(is_there(sim, "d"));
}

static void test_an_owner_that_never_was(void **state)
{
    struct sim *sim = *state;
    (void)make(sim, "a", STR("no-such-uid"), STR_NULL, false);
    assert_true(is_there(sim, "a"));
    settle(sim);
    assert_false(is_there(sim, "a"));
}

static void test_one_of_two_owners(void **state)
{
    struct sim *sim = *state;
    struct str a = make(sim, "a", STR_NULL, STR_NULL, false);
    struct str b = make(sim, "b", STR_NULL, STR_NULL, false);
    (void)make(sim, "c", a, b, false);
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/a", ""), 200);
    settle(sim);
    assert_true(is_there(sim, "c"));
    const struct doc *owners = doc_at(sim->body, "metadata.ownerReferences");
    assert_int_equal(doc_count(owners), 1);
    assert_true(str_eq(doc_str_at(owners->first, "uid"), b));
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/b", ""), 200);
    settle(sim);
    assert_false(is_there(sim, "c"));
}

static void test_orphans(void **state)
{
    struct sim *sim = *state;
    struct str owner = make(sim, "a", STR_NULL, STR_NULL, false);
    (void)make(sim, "b", owner, STR_NULL, false);
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/a?propagationPolicy=Orphan", ""), 200);
    assert_str(doc_str(doc_at(sim->body, "metadata.finalizers")->first), "orphan");
    settle(sim);
    assert_false(is_there(sim, "a"));
    assert_true(is_there(sim, "b"));
    assert_null(doc_at(sim->body, "metadata.ownerReferences"));
}

static void test_foreground(void **state)
{
    struct sim *sim = *state;
    struct str owner = make(sim, "a", STR_NULL, STR_NULL, false);
    (void)make(sim, "b", owner, STR_NULL, true);
    (void)make(sim, "c", owner, STR_NULL, false);
    for (int c = 'b'; c <= 'c'; c++)
        assert_int_equal(sim_merge(sim, sim_text(sim, CONFIGMAPS "/%c", c),
                                   "{\"metadata\":{\"finalizers\":[\"x/y\"]}}"),
                         200);
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/a", "{\"propagationPolicy\":\"Foreground\"}"),
                     200);
    settle(sim);
    assert_true(is_there(sim, "a"));
    assert_true(is_there(sim, "b"));
    assert_true(sim_at(sim, "metadata.deletionTimestamp").n > 0);
    assert_int_equal(sim_merge(sim, CONFIGMAPS "/b", "{\"metadata\":{\"finalizers\":null}}"), 200);
    settle(sim);
    assert_false(is_there(sim, "b"));
    assert_false(is_there(sim, "a")); /* it does not wait for c */
    assert_true(is_there(sim, "c"));
}

static void test_foreground_without_dependents(void **state)
{
    struct sim *sim = *state;
    (void)make(sim, "a", STR_NULL, STR_NULL, false);
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/a", "{\"propagationPolicy\":\"Foreground\"}"),
                     200);
    assert_true(is_there(sim, "a"));
    settle(sim);
    assert_false(is_there(sim, "a"));
}

static void test_a_namespace_ends(void **state)
{
    struct sim *sim = *state;
    const char *account = "/api/v1/namespaces/n/serviceaccounts/default";
    assert_int_equal(sim_get(sim, account), 200);
    (void)make(sim, "a", STR_NULL, STR_NULL, false);
    assert_int_equal(sim_post(sim, PODS, POD("x")), 201);
    assert_int_equal(sim_post(sim, PODS "/x/binding",
                              "{\"metadata\":{\"name\":\"x\"},\"target\":{\"name\":\"n1\"}}"),
                     201);
    assert_int_equal(sim_remove(sim, "/api/v1/namespaces/n", ""), 200);
    assert_str(sim_at(sim, "status.phase"), "Terminating");
    assert_int_equal(sim_post(sim, PODS, POD("y")), 403);
    assert_str(sim_at(sim, "message"),
               "pods \"y\" is forbidden: unable to create new content in namespace n because it is "
               "being terminated");
    assert_str(doc_str_at(doc_at(sim->body, "details.causes")->first, "reason"),
               "NamespaceTerminating");
    settle(sim);
    assert_false(is_there(sim, "a"));
    assert_int_equal(sim_get(sim, account), 404);
    assert_int_equal(sim_get(sim, "/api/v1/namespaces/n"), 200);        /* the pod has 30 seconds */
    assert_int_equal(sim_remove(sim, "/api/v1/namespaces/n", ""), 200); /* does nothing */
    assert_int_equal(sim_remove(sim, PODS "/x", "{\"gracePeriodSeconds\":0}"), 200);
    settle(sim);
    assert_int_equal(sim_get(sim, "/api/v1/namespaces/n"), 404);
    assert_int_equal(sim_post(sim, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}"), 201);
    assert_int_equal(sim_post(sim, PODS, POD("y")), 201);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_TEST(test_dependents_go_after_their_owner),
        SIM_TEST(test_an_owner_that_never_was),
        SIM_TEST(test_one_of_two_owners),
        SIM_TEST(test_orphans),
        SIM_TEST(test_foreground),
        SIM_TEST(test_foreground_without_dependents),
        SIM_TEST(test_a_namespace_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
