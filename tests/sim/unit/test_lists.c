/*
 * Lists: order, selections, pages and what they show while objects change.
 */
#include "sim.h"

static void make(struct sim *sim, const char *ns, const char *name, const char *labels)
{
    const char *path = sim_text(sim, "/api/v1/namespaces/%s/configmaps", ns);
    assert_int_equal(
        sim_post(sim, path,
                 sim_text(sim, "{\"metadata\":{\"name\":\"%s\",\"labels\":{%s}}}", name, labels)),
        201);
}

static void make_some(struct sim *sim)
{
    assert_int_equal(sim_post(sim, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n-b\"}}"), 201);
    make(sim, "n", "b", "\"a\":\"1\",\"x\":\"\"");
    make(sim, "n", "a", "\"a\":\"2\"");
    make(sim, "n", "c", "");
    make(sim, "n-b", "z", "\"a\":\"1\"");
}

static void assert_lists(struct sim *sim, const char *query, const char *names)
{
    const char *path = sim_text(sim, CONFIGMAPS "?%s", query);
    assert_int_equal(sim_get(sim, path), 200);
    assert_str(sim_names(sim), names);
}

static void test_order_and_namespaces(void **state)
{
    struct sim *sim = *state;
    make_some(sim);
    assert_int_equal(sim_get(sim, "/api/v1/configmaps"), 200);
    assert_str(sim_names(sim), "z a b c"); /* "n-b/" comes before "n/" */
    assert_str(sim_at(sim, "kind"), "ConfigMapList");
    assert_str(sim_at(sim, "metadata.resourceVersion"),
               sim_text(sim, "%llu", (unsigned long long)sim_server_rv(sim->server)));
    assert_lists(sim, "", "a b c");
    assert_int_equal(sim_get(sim, "/api/v1/namespaces/none/configmaps"), 200);
    assert_str(sim_names(sim), "");
}

static void test_items_of_what_is_built_in_have_no_kind(void **state)
{
    struct sim *sim = *state;
    make(sim, "n", "a", "");
    assert_lists(sim, "", "a");
    const struct doc *item = doc_get(sim->body, STR("items"))->first;
    assert_null(doc_get(item, STR("kind")));
    assert_null(doc_get(item, STR("apiVersion")));
    assert_int_equal(sim_post(sim, JOBS,
                              "{\"spec\":{},\"apiVersion\":\"batch.volcano.sh/v1alpha1\","
                              "\"kind\":\"Job\",\"metadata\":{\"name\":\"j\"}}"),
                     201);
    assert_int_equal(sim_get(sim, JOBS), 200);
    item = doc_get(sim->body, STR("items"))->first;
    assert_str(doc_str_at(item, "kind"), "Job");
    assert_str(doc_str_at(item, "apiVersion"), "batch.volcano.sh/v1alpha1");
}

static void test_label_selectors(void **state)
{
    struct sim *sim = *state;
    make_some(sim);
    static const char *const cases[][2] = {
        {"a%3D1", "b"}, {"a%3D%3D1", "b"},          {"a!%3D1", "a c"},          {"a", "a b"},
        {"!a", "c"},    {"a+in+(1,2)", "a b"},      {"a%20notin%20(1)", "a c"}, {"a,x", "b"},
        {"x%3D", "b"},  {"a+in+(1,2),a!%3D2", "b"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_lists(sim, sim_text(sim, "labelSelector=%s", cases[i][0]), cases[i][1]);
    static const char *const wrong[] = {"a+b", "a+in+1", "a+in+(1", "%3D1", "a+on+(1)", "!"};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_int_equal(sim_get(sim, sim_text(sim, CONFIGMAPS "?labelSelector=%s", wrong[i])),
                         400);
}

static void test_field_selectors(void **state)
{
    struct sim *sim = *state;
    make_some(sim);
    assert_lists(sim, "fieldSelector=metadata.name%3Da", "a");
    assert_lists(sim, "fieldSelector=metadata.name!%3Da", "b c");
    assert_lists(sim, "fieldSelector=metadata.namespace%3Dn,metadata.name%3D%3Dc", "c");
    assert_int_equal(sim_post(sim, PODS, POD("x")), 201);
    assert_int_equal(sim_get(sim, PODS "?fieldSelector=spec.nodeName%3D,status.phase%3DPending"),
                     200);
    assert_str(sim_names(sim), "x");
    assert_int_equal(sim_get(sim, PODS "?fieldSelector=spec.nodeName!%3D"), 200);
    assert_str(sim_names(sim), "");
    assert_int_equal(sim_get(sim, PODS "?fieldSelector=spec.x%3D1"), 400);
    assert_str(sim_at(sim, "message"), "field label not supported: spec.x");
    assert_int_equal(sim_get(sim, PODS "?fieldSelector=abc"), 400);
}

static const char *page_after(struct sim *sim, const char *query)
{
    cleanup_buf struct buf path = BUF_INIT(4096);
    buf_printf(&path, CONFIGMAPS "?%s&continue=", query);
    kube_escape(&path, sim_at(sim, "metadata.continue"));
    return arena_str(&sim->arena, buf_str(&path)).p;
}

static void test_pages(void **state)
{
    struct sim *sim = *state;
    make_some(sim);
    assert_lists(sim, "limit=2", "a b");
    const char *next = page_after(sim, "limit=2");
    assert_int_equal(sim_get(sim, next), 200);
    assert_str(sim_names(sim), "c");
    assert_null(doc_at(sim->body, "metadata.continue"));
    assert_lists(sim, "limit=3", "a b c");
    assert_null(doc_at(sim->body, "metadata.continue"));
    assert_lists(sim, "limit=1&labelSelector=a", "a");
    assert_int_equal(sim_get(sim, page_after(sim, "limit=1&labelSelector=a")), 200);
    assert_str(sim_names(sim), "b");
    assert_null(doc_at(sim->body, "metadata.continue"));
    assert_int_equal(sim_get(sim, CONFIGMAPS "?continue=zz"), 400);
    assert_int_equal(sim_get(sim, CONFIGMAPS "?limit=x"), 400);
}

/* What changes after the first page does not show in the others. */
static void test_pages_show_one_state(void **state)
{
    struct sim *sim = *state;
    for (int c = 'a'; c <= 'f'; c++)
        make(sim, "n", (char[]){(char)c, '\0'}, "");
    assert_lists(sim, "limit=1", "a");
    struct str rv = sim_at(sim, "metadata.resourceVersion");
    const char *next = page_after(sim, "");
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/c", ""), 200);
    assert_int_equal(sim_merge(sim, CONFIGMAPS "/d", "{\"data\":{\"new\":\"1\"}}"), 200);
    make(sim, "n", "bb", "");
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/e", ""), 200);
    make(sim, "n", "e", "\"again\":\"\"");
    make(sim, "n", "zz", "");
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/zz", ""), 200);
    assert_int_equal(sim_get(sim, next), 200);
    assert_str(sim_names(sim), "b c d e f");
    assert_true(str_eq(sim_at(sim, "metadata.resourceVersion"), rv));
    for (doc_each(item, doc_get(sim->body, STR("items")))) {
        assert_null(doc_get(item, STR("data")));
        assert_null(doc_at(item, "metadata.labels"));
    }
    assert_lists(sim, "", "a b bb d e f");
    assert_lists(sim, sim_text(sim, "resourceVersion=%.*s&resourceVersionMatch=Exact", STR_ARG(rv)),
                 "a b c d e f");
}

static void test_a_token_expires(void **state)
{
    struct sim *sim = *state;
    make_some(sim);
    assert_lists(sim, "limit=1", "a");
    const char *next = page_after(sim, "limit=1");
    make(sim, "n", "d", "");
    sim_server_compact(sim->server);
    assert_int_equal(sim_get(sim, next), 410);
    assert_str(sim_at(sim, "reason"), "Expired");
    assert_true(
        str_starts(sim_at(sim, "message"), STR("The provided continue parameter is too old")));
    assert_int_equal(sim_get(sim, page_after(sim, "")), 200); /* inconsistent, but it goes on */
    assert_str(sim_names(sim), "b c d");
}

static int begin_short(void **state)
{
    return sim_begin_with(state, 4);
}

static void test_history_is_bounded(void **state)
{
    struct sim *sim = *state;
    make_some(sim);
    assert_lists(sim, "limit=1", "a");
    const char *next = page_after(sim, "");
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            sim_merge(sim, CONFIGMAPS "/c", sim_text(sim, "{\"data\":{\"a\":\"%d\"}}", i)), 200);
    assert_int_equal(sim_get(sim, next), 200);
    assert_str(sim_names(sim), "b c");
    assert_int_equal(sim_merge(sim, CONFIGMAPS "/c", "{\"data\":null}"), 200);
    assert_int_equal(sim_get(sim, next), 410);
}

static void test_deleting_a_selection(void **state)
{
    struct sim *sim = *state;
    make_some(sim);
    assert_int_equal(sim_remove(sim, CONFIGMAPS "?labelSelector=a", ""), 200);
    assert_str(sim_names(sim), "a b");
    assert_lists(sim, "", "c");
    assert_int_equal(sim_get(sim, "/api/v1/configmaps"), 200);
    assert_str(sim_names(sim), "z c");
    assert_int_equal(sim_remove(sim, CONFIGMAPS "?fieldSelector=x%3D1", ""), 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_TEST(test_order_and_namespaces),
        SIM_TEST(test_items_of_what_is_built_in_have_no_kind),
        SIM_TEST(test_label_selectors),
        SIM_TEST(test_field_selectors),
        SIM_TEST(test_pages),
        SIM_TEST(test_pages_show_one_state),
        SIM_TEST(test_a_token_expires),
        cmocka_unit_test_setup_teardown(test_history_is_bounded, begin_short, sim_end),
        SIM_TEST(test_deleting_a_selection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
