/*
 * resourcequota: which jobs the quotas of their namespace let in, with numbers worked out by hand,
 * and when a job that was refused is asked again.
 */
#include "cluster.h"

#define CONF "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: gang\n"
#define WITH_PLUGIN CONF "  - name: resourcequota\n"

struct world {
    struct cluster *c;
    struct store *quotas;
};

static void world_sync(struct world *w)
{
    sync_store(w->quotas, w->c->rv);
}

/* A cluster of 100 CPUs at work, whose quotas are followed, but not listed yet. */
static struct world world_unsynced(const char *conf)
{
    struct world w = {.c = cluster_new(conf), .quotas = store_new(&resourcequota_store_type)};
    add_nodes(w.c, 10, 10);
    run(w.c);
    assert_true(w.c->scheduler->ready);
    scheduler_follow_quotas(w.c->scheduler, w.quotas);
    return w;
}

static struct world world_new(void)
{
    struct world w = world_unsynced(WITH_PLUGIN);
    world_sync(&w);
    return w;
}

static void world_free(struct world *w)
{
    check(w->c);
    cluster_free(w->c);
    store_free(w->quotas);
}

static void show_quota(struct world *w, bool gone, const char *ns, const char *name,
                       const char *body)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(w->quotas, false, gone,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s-%s\","
                      "\"resourceVersion\":\"%llu\"},%s}",
                      name, ns, ns, name, (unsigned long long)++w->c->rv, body));
}

/* The namespace's quota "q". */
static void put_quota(struct world *w, const char *hard, const char *used)
{
    cleanup_free char *body = xasprintf("\"status\":{\"hard\":{%s},\"used\":{%s}}", hard, used);
    show_quota(w, false, "ns", "q", body);
}

static struct test_group *put_group(struct world *w, const char *name, unsigned minimum,
                                    const char *resources)
{
    cleanup_free char *spec =
        xasprintf("\"minMember\":%u,\"minResources\":{%s}", minimum, resources);
    return add_group(w->c, name, spec);
}

static bool is_in(const struct test_group *group)
{
    return str_find(str_of(group->status), STR("Inqueue")) >= 0;
}

/* The reason as it is now; the status may be a minute behind. */
static void assert_waits(struct world *w, const struct test_group *group, const char *text)
{
    const struct sched_job *job = cache_job(&w->c->scheduler->cache, "ns", group->name);
    assert_false(is_in(group));
    assert_non_null(job);
    assert_non_null(job->why.text);
    if (str_find(str_of(job->why.text), str_of(text)) < 0)
        fail_msg("\"%s\" is not in %s", text, job->why.text);
}

/* ---- one job, one quota ---------------------------------------------------------------------- */

#define CPU(hard, used) "\"requests.cpu\":\"" hard "\"", "\"requests.cpu\":\"" used "\""
#define SAYS(needs, name, hard, used, lacking)                                                     \
    "its minimum needs " needs " of " name ", but of the " hard                                    \
    " that ResourceQuota \"q\" allows namespace \"ns\" " used " are used: " lacking " short"

static const struct {
    const char *what, *hard, *used, *resources;
    const char *says; /* NULL: the job enters */
} rows[] = {
    {"fits to the last", CPU("10", "4"), "\"cpu\":\"6\"", NULL},
    {"a thousandth too much", CPU("10", "4"), "\"cpu\":\"6001m\"",
     SAYS("6001m", "requests.cpu", "10", "4", "1m")},
    {"the short name", "\"cpu\":\"10\"", "\"cpu\":\"4\"", "\"requests.cpu\":\"7\"",
     SAYS("7", "cpu", "10", "4", "1")},
    {"both names are one", CPU("10", "4"), "\"cpu\":\"6\",\"requests.cpu\":\"6\"", NULL},
    {"limits", "\"limits.cpu\":\"8\"", "\"limits.cpu\":\"0\"",
     "\"cpu\":\"1\",\"limits.cpu\":\"8500m\"", SAYS("8500m", "limits.cpu", "8", "0", "500m")},
    {"limits are not requests", "\"limits.cpu\":\"8\"", "", "\"cpu\":\"9\"", NULL},
    {"requests are not limits", CPU("8", "0"), "\"limits.cpu\":\"9\"", NULL},
    {"pods", "\"pods\":\"3\"", "\"pods\":\"1\"", "\"pods\":\"3\"",
     SAYS("3", "pods", "3", "1", "1")},
    {"objects", "\"count/pods\":\"3\"", "", "\"count/pods\":\"4\",\"pods\":\"4\"",
     SAYS("4", "count/pods", "3", "0", "1")},
    {"devices fit", "\"requests.nvidia.com/gpu\":\"8\"", "\"requests.nvidia.com/gpu\":\"6\"",
     "\"nvidia.com/gpu\":\"2\"", NULL},
    {"devices", "\"requests.nvidia.com/gpu\":\"8\"", "\"requests.nvidia.com/gpu\":\"6\"",
     "\"nvidia.com/gpu\":\"3\"", SAYS("3", "requests.nvidia.com/gpu", "8", "6", "1")},
    {"memory", "\"memory\":\"1Gi\"", "\"memory\":\"512Mi\"", "\"memory\":\"513Mi\"",
     SAYS("513Mi", "memory", "1Gi", "512Mi", "1Mi")},
    {"more than anybody has", "\"memory\":\"4Pi\"", "\"memory\":\"2Pi\"", "\"memory\":\"1Gi\"",
     NULL},
    {"other resources", CPU("1", "1"), "\"memory\":\"1Gi\"", NULL},
    {"over its limit, of something else", "\"cpu\":\"1\",\"pods\":\"9\"", "\"cpu\":\"5\"",
     "\"pods\":\"1\"", NULL},
    {"the second resource", "\"memory\":\"1Gi\",\"requests.cpu\":\"1\"", "",
     "\"memory\":\"1Gi\",\"cpu\":\"2\"", SAYS("2", "requests.cpu", "1", "0", "1")},
    {"nothing is needed", CPU("1", "1"), "", NULL},
    {"no limits yet", "", "", "\"cpu\":\"5\"", NULL},
};

static void by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct world w = world_new();
        put_quota(&w, rows[i].hard, rows[i].used);
        struct test_group *group = put_group(&w, "a", 4, rows[i].resources);
        run(w.c);
        if (is_in(group) != !rows[i].says)
            fail_msg("%s: %s", rows[i].what, group->status);
        if (rows[i].says) {
            assert_waits(&w, group, rows[i].says);
            assert_says(group, "\"NotEnoughResources\"");
        }
        world_free(&w);
    }
}

static void without_the_plugin_quotas_are_the_servers(void **state)
{
    (void)state;
    struct world w = world_unsynced(CONF);
    world_sync(&w);
    put_quota(&w, CPU("1", "1"));
    struct test_group *group = put_group(&w, "a", 1, "\"cpu\":\"5\"");
    run(w.c);
    assert_true(is_in(group));
    world_free(&w);
}

static void without_a_minimum_of_resources_nothing_is_asked(void **state)
{
    (void)state;
    struct world w = world_new();
    put_quota(&w, CPU("1", "1"));
    struct test_group *group = add_group(w.c, "a", "\"minMember\":3");
    run(w.c);
    assert_true(is_in(group));
    world_free(&w);
}

static void quotas_with_scopes_are_the_servers(void **state)
{
    (void)state;
    struct world w = world_new();
    show_quota(&w, false, "ns", "q",
               "\"spec\":{\"scopes\":[\"BestEffort\"]},\"status\":{\"hard\":{\"pods\":\"1\"}}");
    struct test_group *group = put_group(&w, "a", 2, "\"pods\":\"2\"");
    run(w.c);
    assert_true(is_in(group));
    world_free(&w);
}

static void quotas_are_of_their_namespace(void **state)
{
    (void)state;
    struct world w = world_new();
    show_quota(&w, false, "other", "q", "\"status\":{\"hard\":{\"pods\":\"1\"}}");
    struct test_group *group = put_group(&w, "a", 2, "\"pods\":\"2\"");
    run(w.c);
    assert_true(is_in(group));
    world_free(&w);
}

static void all_quotas_must_allow_it(void **state)
{
    (void)state;
    struct world w = world_new();
    put_quota(&w, CPU("10", "0"));
    show_quota(&w, false, "ns", "small", "\"status\":{\"hard\":{\"cpu\":\"3\"}}");
    struct test_group *group = put_group(&w, "a", 1, "\"cpu\":\"4\"");
    run(w.c);
    assert_waits(&w, group, "of the 3 that ResourceQuota \"small\" allows namespace \"ns\"");
    world_free(&w);
}

/* ---- what was promised ----------------------------------------------------------------------- */

static void jobs_of_one_cycle_share_what_is_left(void **state)
{
    (void)state;
    struct world w = world_new();
    put_quota(&w, CPU("10", "1"));
    struct test_group *a = put_group(&w, "a", 4, "\"cpu\":\"4\"");
    struct test_group *b = put_group(&w, "b", 4, "\"cpu\":\"4\"");
    struct test_group *c = put_group(&w, "c", 4, "\"cpu\":\"4\"");
    struct test_group *d = put_group(&w, "d", 1, "\"cpu\":\"1\"");
    run(w.c);
    assert_true(is_in(a));
    assert_true(is_in(b));
    assert_waits(&w, c,
                 "needs 4 of requests.cpu, but of the 10 that ResourceQuota \"q\" allows "
                 "namespace \"ns\" 1 are used and 8 promised to jobs before it: 3 short");
    assert_true(is_in(d)); /* 1 + 8 + 1: those behind it are asked all the same */
    world_free(&w);
}

static void a_promise_holds_until_the_pods_are_there(void **state)
{
    (void)state;
    struct world w = world_new();
    put_quota(&w, CPU("10", "0"));
    struct test_group *a = put_group(&w, "a", 4, "\"cpu\":\"4\"");
    run(w.c);
    assert_true(is_in(a));
    struct test_group *b = put_group(&w, "b", 7, "\"cpu\":\"7\"");
    run(w.c);
    assert_waits(&w, b, "0 are used and 4 promised to jobs before it: 1 short");
    add_pods(w.c, "a", "w", 3, "1"); /* three of the four */
    put_quota(&w, CPU("10", "3"));
    struct test_group *c = put_group(&w, "c", 6, "\"cpu\":\"6\"");
    run(w.c);
    assert_true(is_in(c)); /* 3 used, 1 promised, 6 needed */
    world_free(&w);
}

/* The server counts a pod before we hear of it: for a moment it counts twice. */
static void pods_that_appear_let_others_in(void **state)
{
    (void)state;
    struct world w = world_new();
    put_quota(&w, CPU("10", "0"));
    (void)put_group(&w, "a", 4, "\"cpu\":\"4\"");
    run(w.c);
    put_quota(&w, CPU("10", "4"));
    struct test_group *b = put_group(&w, "b", 6, "\"cpu\":\"6\"");
    run(w.c);
    assert_waits(&w, b, "4 are used and 4 promised to jobs before it: 4 short");
    add_pods(w.c, "a", "w", 4, "1");
    run(w.c);
    assert_true(is_in(b));
    world_free(&w);
}

/* It may be the other way round: the pods are there, and the quota does not show them yet. */
static void pods_that_no_quota_shows_yet_count(void **state)
{
    (void)state;
    struct world w = world_new();
    put_quota(&w, CPU("10", "0"));
    (void)put_group(&w, "a", 4, "\"cpu\":\"4\"");
    run(w.c);
    add_pods(w.c, "a", "w", 4, "1");
    struct test_group *b = put_group(&w, "b", 7, "\"cpu\":\"7\"");
    run_for(w.c, NSEC_PER_SEC / 2);
    assert_int_equal(bound(w.c, "a", NULL), 4);
    assert_waits(&w, b, "0 are used and 4 promised to jobs before it: 1 short");
    show_quota(&w, false, "other", "q", "\"status\":{}"); /* newer: all before it is known */
    put_quota(&w, CPU("10", "4"));
    struct test_group *c = put_group(&w, "c", 6, "\"cpu\":\"6\"");
    run_for(w.c, NSEC_PER_SEC / 4);
    assert_true(is_in(c));
    run(w.c);
    assert_false(is_in(b));
    world_free(&w);
}

/* No quota changes after the last pod, as it was counted before: after a second that is clear. */
static void doubt_ends_after_a_second(void **state)
{
    (void)state;
    struct world w = world_new();
    put_quota(&w, CPU("10", "0"));
    (void)put_group(&w, "a", 4, "\"cpu\":\"4\"");
    run(w.c);
    put_quota(&w, CPU("10", "4"));
    add_pods(w.c, "a", "w", 4, "1");
    struct test_group *b = put_group(&w, "b", 6, "\"cpu\":\"6\"");
    run_for(w.c, NSEC_PER_SEC / 2);
    assert_waits(&w, b, "4 are used and 4 promised to jobs before it: 4 short");
    run_for(w.c, NSEC_PER_SEC);
    assert_true(is_in(b));
    world_free(&w);
}

/* Half of its pods are there: half of the limits, which are not kept, and one pod more. */
static void limits_are_promised_by_the_number_of_pods(void **state)
{
    (void)state;
    struct world w = world_new();
    put_quota(&w, "\"limits.cpu\":\"20\"", "");
    (void)put_group(&w, "a", 3, "\"cpu\":\"3\",\"limits.cpu\":\"10\"");
    run(w.c);
    add_pods(w.c, "a", "w", 2, "1");
    put_quota(&w, "\"limits.cpu\":\"20\"", "\"limits.cpu\":\"7\"");
    struct test_group *b = put_group(&w, "b", 1, "\"limits.cpu\":\"9700m\"");
    run(w.c);
    /* A third of 10, rounded up to a nano: 7 + 3.333333334 + 9.7 are more than 20. */
    assert_waits(&w, b, "7 are used and 3333333334n promised");
    struct test_group *c = put_group(&w, "c", 1, "\"limits.cpu\":\"9600m\"");
    run(w.c);
    assert_true(is_in(c));
    world_free(&w);
}

static void pods_that_exist_already_need_nothing(void **state)
{
    (void)state;
    struct world w = world_new();
    put_quota(&w, CPU("4", "4"));
    add_pods(w.c, "a", "w", 4, "1"); /* bare pods: the server has counted them */
    struct test_group *a = put_group(&w, "a", 4, "\"cpu\":\"4\"");
    run(w.c);
    assert_int_equal(bound(w.c, "a", NULL), 4);
    assert_silent(a, "short");
    world_free(&w);
}

static void who_gets_no_pods_gives_the_promise_back(void **state)
{
    (void)state;
    struct world w = world_new();
    put_quota(&w, CPU("10", "0"));
    (void)put_group(&w, "a", 8, "\"cpu\":\"8\"");
    run(w.c);
    struct test_group *b = put_group(&w, "b", 8, "\"cpu\":\"8\"");
    run_for(w.c, 20 * NSEC_PER_SEC);
    assert_waits(&w, b, "8 promised");
    run_for(w.c, 20 * NSEC_PER_SEC);
    assert_true(is_in(b));
    world_free(&w);
}

/* ---- asked again ----------------------------------------------------------------------------- */

/* A job of 8 CPUs that waits for a quota of 10, of which 5 are used. */
static struct test_group *waits(struct world *w)
{
    *w = world_new();
    put_quota(w, CPU("10", "5"));
    struct test_group *group = put_group(w, "a", 1, "\"cpu\":\"8\"");
    run(w->c);
    assert_waits(w, group, "3 short");
    return group;
}

static void a_larger_quota_lets_it_in(void **state)
{
    struct world w;
    struct test_group *group = waits(&w);
    (void)state;
    run(w.c); /* a text stands for two seconds */
    put_quota(&w, CPU("12", "5"));
    run(w.c);
    assert_waits(&w, group, "1 short");
    put_quota(&w, CPU("13", "5"));
    run(w.c);
    assert_true(is_in(group));
    world_free(&w);
}

static void less_use_lets_it_in(void **state)
{
    struct world w;
    struct test_group *group = waits(&w);
    (void)state;
    put_quota(&w, CPU("10", "2"));
    run(w.c);
    assert_true(is_in(group));
    world_free(&w);
}

static void no_quota_lets_it_in(void **state)
{
    struct world w;
    struct test_group *group = waits(&w);
    (void)state;
    show_quota(&w, true, "ns", "q", "\"status\":{}");
    run(w.c);
    assert_true(is_in(group));
    world_free(&w);
}

static void more_use_asks_nobody(void **state)
{
    struct world w;
    struct test_group *group = waits(&w);
    const struct sched_job *job = cache_job(&w.c->scheduler->cache, "ns", "a");
    run_for(w.c, 10 * NSEC_PER_SEC); /* nothing is looked at any more */
    uint64_t chances = job_chances(job), cycles = w.c->scheduler->cycle.number;
    (void)state;
    put_quota(&w, CPU("10", "6"));
    run(w.c);
    assert_true(job_chances(job) == chances);
    assert_true(w.c->scheduler->cycle.number == cycles);
    assert_waits(&w, group, "3 short");
    world_free(&w);
}

static void nobody_enters_before_the_quotas_are_known(void **state)
{
    (void)state;
    struct world w = world_unsynced(WITH_PLUGIN);
    struct test_group *group = put_group(&w, "a", 1, "\"cpu\":\"8\"");
    run(w.c);
    assert_waits(&w, group, "the ResourceQuotas of the cluster are not known yet");
    world_sync(&w);
    run(w.c);
    assert_true(is_in(group));
    world_free(&w);
}

/* A scheduler that is told of them at the start waits for their list, as for all others. */
static void quotas_are_a_list_to_wait_for(void **state)
{
    (void)state;
    struct world w = world_new();
    struct cluster *c = w.c;
    struct scheduler_params params = c->scheduler->params;
    struct error err = ERROR_INIT;
    scheduler_free(c->scheduler);
    params.resourcequotas = store_new(&resourcequota_store_type);
    params.config = sched_config_parse(str_of(WITH_PLUGIN), &err);
    c->scheduler = scheduler_new(&params);
    struct test_group *group = put_group(&w, "a", 1, "\"cpu\":\"8\"");
    scheduler_lead(c->scheduler, true);
    run(c);
    assert_false(c->scheduler->ready);
    assert_string_equal(group->status, "{}");
    sync_store(params.resourcequotas, 0);
    run(c);
    assert_true(is_in(group));
    struct store *second = params.resourcequotas;
    world_free(&w);
    store_free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(without_the_plugin_quotas_are_the_servers),
        cmocka_unit_test(without_a_minimum_of_resources_nothing_is_asked),
        cmocka_unit_test(quotas_with_scopes_are_the_servers),
        cmocka_unit_test(quotas_are_of_their_namespace),
        cmocka_unit_test(all_quotas_must_allow_it),
        cmocka_unit_test(jobs_of_one_cycle_share_what_is_left),
        cmocka_unit_test(a_promise_holds_until_the_pods_are_there),
        cmocka_unit_test(pods_that_appear_let_others_in),
        cmocka_unit_test(pods_that_no_quota_shows_yet_count),
        cmocka_unit_test(doubt_ends_after_a_second),
        cmocka_unit_test(limits_are_promised_by_the_number_of_pods),
        cmocka_unit_test(pods_that_exist_already_need_nothing),
        cmocka_unit_test(who_gets_no_pods_gives_the_promise_back),
        cmocka_unit_test(a_larger_quota_lets_it_in),
        cmocka_unit_test(less_use_lets_it_in),
        cmocka_unit_test(no_quota_lets_it_in),
        cmocka_unit_test(more_use_asks_nobody),
        cmocka_unit_test(nobody_enters_before_the_quotas_are_known),
        cmocka_unit_test(quotas_are_a_list_to_wait_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
