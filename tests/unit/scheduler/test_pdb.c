/*
 * pdb: whom PodDisruptionBudgets keep at the points of eviction, and how the scheduler follows
 * them.
 */
#include "evict.h"

#include "cluster.h"
#include "scheduler/evict/budgets.h"

#define PDB "- plugins:\n  - name: pdb\n"

static void put_with_status(struct bare *b, const char *ns, const char *name, const char *labels,
                            const char *status)
{
    struct error err = ERROR_INIT;
    cleanup_free char *uid = xasprintf("u-%s", name);
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\"%s},\"spec\":{"
                  "\"schedulerName\":\"other\",\"nodeName\":\"n\"},\"status\":{%s}}",
                  name, ns, uid, labels, status);
    struct pod *pod = pod_decode(str_of(json), &err);
    if (!pod)
        fail_msg("%s", err.text);
    cache_set_pod(&b->cache, uid, pod);
    pod_unref(pod);
}

#define READY "\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]"
#define UNREADY "\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]"

static void put_labelled(struct bare *b, const char *ns, const char *name, const char *labels)
{
    put_with_status(b, ns, name, labels, READY);
}

#define WEB ",\"labels\":{\"app\":\"web\"}"
#define DB ",\"labels\":{\"app\":\"db\"}"
#define BOTH ",\"labels\":{\"app\":\"web\",\"tier\":\"front\"}"
#define SELECTS(pairs) "{\"matchLabels\":{" pairs "}}"
#define SELECTS_WEB SELECTS("\"app\":\"web\"")
#define SELECTS_FRONT SELECTS("\"tier\":\"front\"")

/* `spec`, `status`: members of these. */
static void put_any_budget(struct bare *b, const char *ns, const char *name, const char *spec,
                           const char *status)
{
    struct error err = ERROR_INIT;
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"},\"spec\":{%s},"
                  "\"status\":{%s}}",
                  name, ns, spec, status);
    struct poddisruptionbudget *budget = poddisruptionbudget_decode(str_of(json), &err);
    if (!budget)
        fail_msg("%s", err.text);
    cache_set_budget(&b->cache, ns, name, budget);
    poddisruptionbudget_unref(budget);
}

/* `disrupted`: members of status.disruptedPods. */
static void put_budget(struct bare *b, const char *ns, const char *name, const char *selector,
                       int allowed, const char *disrupted)
{
    cleanup_free char *spec = xasprintf("\"selector\":%s", selector);
    cleanup_free char *status =
        xasprintf("\"disruptionsAllowed\":%d,\"disruptedPods\":{%s}", allowed, disrupted);
    put_any_budget(b, ns, name, spec, status);
}

/* Pods web-0 to web-2, db-0 and bare-0 of "ns", and web-x of "other". */
static struct bare *world_new(void)
{
    struct bare *b = bare_new();
    put_labelled(b, "ns", "web-0", WEB);
    put_labelled(b, "ns", "web-1", WEB);
    put_labelled(b, "ns", "web-2", BOTH);
    put_labelled(b, "ns", "db-0", DB);
    put_labelled(b, "ns", "bare-0", "");
    put_labelled(b, "other", "web-x", WEB);
    cache_budgets_known(&b->cache);
    return b;
}

#define ALL "web-0 web-1 web-2 db-0 bare-0 web-x"

static void assert_may_go_by(const struct bare *b, const char *tiers, enum eviction_kind kind,
                             const char *candidates, const char *expected)
{
    const struct sched_task *tasks[CANDIDATES_MOST];
    const struct eviction eviction = {
        .kind = kind, .cache = &b->cache, .candidates = tasks, .n = tasks_of(b, candidates, tasks)};
    assert_evictable(tiers_config(tiers), &eviction, expected);
}

static void assert_may_go(const struct bare *b, const char *candidates, const char *expected)
{
    for (int kind = 0; kind < EVICT_KIND_COUNT; kind++)
        assert_may_go_by(b, PDB, (enum eviction_kind)kind, candidates, expected);
}

/* ---- whom it keeps --------------------------------------------------------------------------- */

static void without_budgets_all_may_go(void **state)
{
    struct bare *b = world_new();
    (void)state;
    assert_may_go(b, ALL, ALL);
    bare_free(b);
}

static void disruptions_add_up(void **state)
{
    struct bare *b = world_new();
    (void)state;
    put_budget(b, "ns", "web", SELECTS_WEB, 0, "");
    assert_may_go(b, ALL, "db-0 bare-0 web-x");
    put_budget(b, "ns", "web", SELECTS_WEB, 2, "");
    assert_may_go(b, ALL, "web-0 web-1 db-0 bare-0 web-x");
    assert_may_go(b, "web-2 db-0 web-1 web-0", "web-2 db-0 web-1");
    put_budget(b, "ns", "web", SELECTS_WEB, 3, "");
    assert_may_go(b, ALL, ALL);
    cache_set_budget(&b->cache, "ns", "web", NULL);
    assert_may_go(b, ALL, ALL);
    bare_free(b);
}

/* web-2 is of both: the eviction API refuses it. */
static void pods_of_several_budgets_stay(void **state)
{
    struct bare *b = world_new();
    (void)state;
    put_budget(b, "ns", "web", SELECTS_WEB, 1, "");
    put_budget(b, "ns", "front", SELECTS_FRONT, 0, "");
    assert_may_go(b, "web-2 web-1 web-0", "web-1");
    put_budget(b, "ns", "front", SELECTS_FRONT, 5, "");
    assert_may_go(b, "web-2 web-1 web-0", "web-1");
    cache_set_budget(&b->cache, "ns", "front", NULL);
    assert_may_go(b, "web-2 web-1 web-0", "web-2");
    bare_free(b);
}

/* What the server counted once it counts again as long as the pod does not go. */
static void pods_that_are_counted_already_count_again(void **state)
{
    struct bare *b = world_new();
    (void)state;
    put_budget(b, "ns", "web", SELECTS_WEB, 1, "\"web-0\":\"2026-11-30T12:00:00Z\"");
    assert_may_go(b, "web-0 web-1 web-2", "web-0");
    put_budget(b, "ns", "web", SELECTS_WEB, 0, "\"web-0\":\"2026-11-30T12:00:00Z\"");
    assert_may_go(b, "web-1 web-0 web-2", "");
    bare_free(b);
}

/* They are no part of what a budget is about; several of them do not matter either. */
static void pods_that_do_not_run_may_go(void **state)
{
    struct bare *b = world_new();
    (void)state;
    put_budget(b, "ns", "web", SELECTS_WEB, 0, "");
    put_budget(b, "ns", "front", SELECTS_FRONT, 0, "");
    assert_may_go(b, "web-0 web-1 web-2", "");
    put_with_status(b, "ns", "web-2", BOTH, "\"phase\":\"Pending\"");
    assert_may_go(b, "web-0 web-1 web-2", "web-2");
    bare_free(b);
}

/* Those that are not ready, by the policy and the health of the budget; ready ones stay. */
static void pods_that_are_not_ready(void **state)
{
    static const struct {
        const char *policy, *status, *go; /* of web-0, which is ready, web-1 and web-2 */
    } rows[] = {
        {"", "", ""},
        {"", "\"currentHealthy\":1,\"desiredHealthy\":2", ""},
        {"", "\"currentHealthy\":2,\"desiredHealthy\":2", "web-1 web-2"},
        {"", "\"currentHealthy\":2,\"desiredHealthy\":0", ""},
        {"IfHealthyBudget", "\"currentHealthy\":1,\"desiredHealthy\":2", ""},
        {"IfHealthyBudget", "\"currentHealthy\":3,\"desiredHealthy\":2", "web-1 web-2"},
        {"AlwaysAllow", "\"currentHealthy\":0,\"desiredHealthy\":2", "web-1 web-2"},
        {"AlwaysAllow", "\"disruptionsAllowed\":1", "web-0 web-1 web-2"}, /* they take nothing */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct bare *b = world_new();
        cleanup_free char *spec = xasprintf("\"selector\":%s,\"unhealthyPodEvictionPolicy\":\"%s\"",
                                            SELECTS_WEB, rows[i].policy);
        put_with_status(b, "ns", "web-1", WEB, UNREADY);
        put_with_status(b, "ns", "web-2", WEB, "\"phase\":\"Running\"");
        put_any_budget(b, "ns", "web", spec, rows[i].status);
        assert_may_go(b, "web-0 web-1 web-2", rows[i].go);
        bare_free(b);
    }
}

/* Pods without labels too; no selector selects nobody. */
static void an_empty_selector_means_the_namespace(void **state)
{
    struct bare *b = world_new();
    (void)state;
    put_budget(b, "ns", "all", "{}", 0, "");
    assert_may_go(b, ALL, "web-x");
    put_budget(b, "ns", "all", "{}", 4, "");
    assert_may_go(b, ALL, "web-0 web-1 web-2 db-0 web-x");
    put_budget(b, "ns", "all", "null", 0, "");
    assert_may_go(b, ALL, ALL);
    bare_free(b);
}

static void until_budgets_are_known_all_stay(void **state)
{
    struct bare *b = world_new();
    (void)state;
    b->cache.budgets_known = false;
    assert_may_go(b, ALL, "");
    bare_free(b);
}

/* ---- counting without the plugin -------------------------------------------------------------
 */

static bool take(struct budget_tally *tally, const struct bare *b, const char *name)
{
    return budget_tally_take(tally, task_of(b, name)->pod);
}

/* Whom nobody asks about counts as well; what is refused does not. */
static void what_is_given_back_can_be_taken(void **state)
{
    struct bare *b = world_new();
    struct budget_tally tally;
    (void)state;
    put_budget(b, "ns", "web", SELECTS_WEB, 1, "");
    budget_tally_begin(&tally, &b->cache);
    assert_true(take(&tally, b, "web-0"));
    assert_false(take(&tally, b, "web-1"));
    assert_true(take(&tally, b, "db-0"));
    assert_true(take(&tally, b, "web-x"));
    budget_tally_give_back(&tally, task_of(b, "db-0")->pod);
    assert_false(take(&tally, b, "web-1"));
    budget_tally_give_back(&tally, task_of(b, "web-0")->pod);
    assert_true(take(&tally, b, "web-1"));
    budget_tally_charge(&tally, task_of(b, "web-2")->pod);
    budget_tally_give_back(&tally, task_of(b, "web-1")->pod);
    assert_false(take(&tally, b, "web-1"));
    budget_tally_give_back(&tally, task_of(b, "web-2")->pod);
    assert_true(take(&tally, b, "web-1"));
    budget_tally_clear(&tally);
    budget_tally_begin(&tally, &b->cache);
    assert_true(take(&tally, b, "web-0"));
    budget_tally_clear(&tally);
    bare_free(b);
}

/* Whom the budget shows as on its way already costs it no more; whoever is to go does. */
static void what_shows_in_the_budget_is_not_charged_twice(void **state)
{
    struct bare *b = world_new();
    struct budget_tally tally;
    (void)state;
    put_budget(b, "ns", "web", SELECTS_WEB, 1, "\"web-0\":\"2026-11-30T12:00:00Z\"");
    budget_tally_begin(&tally, &b->cache);
    budget_tally_charge(&tally, task_of(b, "web-0")->pod);
    assert_true(take(&tally, b, "web-1"));
    budget_tally_give_back(&tally, task_of(b, "web-1")->pod);
    assert_true(take(&tally, b, "web-0"));
    assert_false(take(&tally, b, "web-1"));
    budget_tally_give_back(&tally, task_of(b, "web-0")->pod);
    assert_true(take(&tally, b, "web-1"));
    budget_tally_clear(&tally);
    bare_free(b);
}

/* Nor do they cost it anything on their way, or get back what they did not take. */
static void who_is_not_guarded_changes_nothing(void **state)
{
    struct bare *b = world_new();
    struct budget_tally tally;
    (void)state;
    put_budget(b, "ns", "web", SELECTS_WEB, 1, "");
    put_with_status(b, "ns", "web-0", WEB, "\"phase\":\"Pending\"");
    budget_tally_begin(&tally, &b->cache);
    budget_tally_charge(&tally, task_of(b, "web-0")->pod);
    assert_true(take(&tally, b, "web-1"));
    assert_true(take(&tally, b, "web-0"));
    budget_tally_give_back(&tally, task_of(b, "web-0")->pod);
    assert_false(take(&tally, b, "web-2"));
    budget_tally_clear(&tally);
    bare_free(b);
}

/* ---- together -------------------------------------------------------------------------------- */

static void they_are_kept_in_whatever_tier(void **state)
{
    struct bare *b = world_new();
    (void)state;
    put_budget(b, "ns", "web", SELECTS_WEB, 1, "");
    assert_may_go_by(b, PDB "- plugins:\n  - name: conformance\n", EVICT_PREEMPT, ALL,
                     "web-0 db-0 bare-0 web-x");
    assert_may_go_by(b, "- plugins:\n  - name: conformance\n" PDB, EVICT_RECLAIM, ALL,
                     "web-0 db-0 bare-0 web-x");
    assert_may_go_by(b, "- plugins:\n  - name: conformance\n" PDB "    enablePreemptable: false\n",
                     EVICT_PREEMPT, ALL, ALL);
    bare_free(b);
}

/* Names the first `names` of the pods. */
static void name_some(struct plugin *plugin, const struct cache *cache,
                      const struct sched_task *const *tasks, size_t n, bool *go)
{
    const size_t *names = plugin->state;
    (void)cache;
    (void)tasks;
    for (size_t i = 0; i < n && i < *names; i++)
        go[i] = true;
}

static void assert_victims(const struct bare *b, size_t names, const char *tasks,
                           const char *expected)
{
    static const struct plugin_type namer = {.name = "namer", .victims = name_some};
    struct sched_config *config = tiers_config(PDB);
    struct plugin plugin = {.type = &namer, .enabled = {[POINT_VICTIM] = true}, .state = &names};
    const struct sched_task *all[CANDIDATES_MOST];
    cleanup_buf struct buf text = BUF_INIT(256);
    bool go[CANDIDATES_MOST];
    size_t n = tasks_of(b, tasks, all), seen = 0;
    vec_push(&config->plugins, &plugin);
    size_t count = config_victims(config, &b->cache, all, n, go);
    config->plugins.n--;
    for (size_t i = 0; i < n; i++)
        if (go[i])
            buf_printf(&text, "%s%s", seen++ ? " " : "", all[i]->pod->meta.name);
    assert_int_equal(count, seen);
    assert_str(buf_str(&text), expected);
    sched_config_free(config);
}

/* It names nobody itself. */
static void victims_of_others_are_spared(void **state)
{
    struct bare *b = world_new();
    (void)state;
    put_budget(b, "ns", "web", SELECTS_WEB, 1, "");
    assert_victims(b, 0, ALL, "");
    assert_victims(b, 6, ALL, "web-0 db-0 bare-0 web-x");
    assert_victims(b, 2, "web-1 web-2 web-0", "web-1");
    assert_victims(b, 1, "db-0 web-1", "db-0");
    b->cache.budgets_known = false;
    assert_victims(b, 6, ALL, "");
    bare_free(b);
}

/* ---- how they are followed ------------------------------------------------------------------- */

static void show_budget(struct cluster *c, struct store *budgets, bool gone, int allowed)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(budgets, false, gone,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\",\"uid\":\"b\","
                      "\"resourceVersion\":\"%llu\"},\"status\":{\"disruptionsAllowed\":%d}}",
                      (unsigned long long)++c->rv, allowed));
}

static void budgets_are_followed(void **state)
{
    struct cluster *c = cluster_new("actions: allocate\ntiers:\n" PDB);
    struct store *budgets = store_new(&poddisruptionbudget_store_type);
    const struct cache *cache = &c->scheduler->cache;
    (void)state;
    run(c);
    scheduler_follow_budgets(c->scheduler, budgets);
    scheduler_follow_budgets(c->scheduler, budgets);
    run(c);
    assert_false(cache->budgets_known);
    sync_store(budgets, c->rv);
    run(c);
    assert_true(cache->budgets_known);
    assert_null(cache_namespace(cache, "ns"));
    show_budget(c, budgets, false, 3);
    run(c);
    assert_int_equal(cache_namespace(cache, "ns")->budgets.n, 1);
    assert_int_equal(cache_namespace(cache, "ns")->budgets.items[0]->allowed, 3);
    show_budget(c, budgets, false, 2);
    run(c);
    assert_int_equal(cache_namespace(cache, "ns")->budgets.n, 1);
    assert_int_equal(cache_namespace(cache, "ns")->budgets.items[0]->allowed, 2);
    show_budget(c, budgets, true, 2);
    run(c);
    assert_null(cache_namespace(cache, "ns"));
    cluster_free(c);
    store_free(budgets);
}

/* A scheduler that starts with the plugin waits for their list before it does anything. */
static void budgets_are_awaited_at_the_start(void **state)
{
    struct cluster *c = cluster_new(NULL);
    struct store *budgets = store_new(&poddisruptionbudget_store_type);
    (void)state;
    scheduler_follow_budgets(c->scheduler, budgets);
    run(c);
    assert_false(c->scheduler->ready);
    sync_store(budgets, c->rv);
    run(c);
    assert_true(c->scheduler->ready);
    cluster_free(c);
    store_free(budgets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_budgets_all_may_go),
        cmocka_unit_test(disruptions_add_up),
        cmocka_unit_test(pods_of_several_budgets_stay),
        cmocka_unit_test(pods_that_are_counted_already_count_again),
        cmocka_unit_test(pods_that_do_not_run_may_go),
        cmocka_unit_test(pods_that_are_not_ready),
        cmocka_unit_test(an_empty_selector_means_the_namespace),
        cmocka_unit_test(until_budgets_are_known_all_stay),
        cmocka_unit_test(what_is_given_back_can_be_taken),
        cmocka_unit_test(what_shows_in_the_budget_is_not_charged_twice),
        cmocka_unit_test(who_is_not_guarded_changes_nothing),
        cmocka_unit_test(they_are_kept_in_whatever_tier),
        cmocka_unit_test(victims_of_others_are_spared),
        cmocka_unit_test(budgets_are_followed),
        cmocka_unit_test(budgets_are_awaited_at_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
