/*
 * Which jobs are let in because others would be evicted for them, worked out by hand.
 */
#include "shares.h"

#include "scheduler/action.h"

#define OVERCOMMIT "  - name: overcommit\n"
#define PROPORTION OVERCOMMIT "  - name: proportion\n"
#define CAPACITY OVERCOMMIT "  - name: capacity\n"
#define TREE CAPACITY "    enableHierarchy: true\n"
#define TIERS(plugins)                                                                             \
    "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n"     \
    "- plugins:\n" plugins

static void *begin_nothing(struct scheduler *scheduler)
{
    (void)scheduler;
    return NULL;
}

/* Jobs are asked whether they enter as if an action of this name were configured, which does
 * nothing. */
static void pretend(struct cluster *c, const char *name)
{
    static const struct action_type types[] = {{.name = "preempt", .begin = begin_nothing},
                                               {.name = "reclaim", .begin = begin_nothing},
                                               {.name = "gangpreempt", .begin = begin_nothing},
                                               {.name = "gangreclaim", .begin = begin_nothing}};
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (strcmp(types[i].name, name) != 0)
            continue;
        struct action *action = xnew(struct action);
        action->type = &types[i];
        vec_push(&c->scheduler->config->actions, action);
    }
}

static void add_class(struct cluster *c, const char *name, int value, const char *members)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(c->priorityclasses, false, false,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"%s\",\"uid\":\"c-%s\",\"resourceVersion\":"
                      "\"%llu\"},\"value\":%d%s}",
                      name, name, (unsigned long long)++c->rv, value, members));
}

/* Ten CPUs; classes "low" (10), "high" (100) and "meek" (100, preempts nobody). */
static struct cluster *world_new(const char *conf, const char *action)
{
    struct cluster *c = cluster_new(conf);
    add_class(c, "low", 10, "");
    add_class(c, "high", 100, "");
    add_class(c, "meek", 100, ",\"preemptionPolicy\":\"Never\"");
    pretend(c, action);
    add_nodes(c, 1, 10);
    return c;
}

/* A job that runs: so many pods of one CPU, of which it needs `minimum`. */
static void add_runner(struct cluster *c, const char *name, const char *class, const char *queue,
                       unsigned pods)
{
    cleanup_free char *spec = xasprintf("\"minMember\":%u,\"minResources\":{\"cpu\":\"%u\"},"
                                        "\"priorityClassName\":\"%s\",\"queue\":\"%s\"",
                                        pods, pods, class, queue);
    add_group(c, name, spec);
    add_pods(c, name, "w", pods, "1");
    run(c);
    assert_bound(c, name, pods);
}

/* A job without pods yet, that needs so many CPUs. */
static struct test_group *add_asker(struct cluster *c, const char *name, const char *class,
                                    const char *queue, unsigned cpus)
{
    cleanup_free char *spec = xasprintf("\"minMember\":%u,\"minResources\":{\"cpu\":\"%u\"},"
                                        "\"priorityClassName\":\"%s\",\"queue\":\"%s\"",
                                        cpus, cpus, class, queue);
    return add_group(c, name, spec);
}

#define assert_enters(group) assert_says(group, "Inqueue")
#define assert_waits_outside(group) assert_silent(group, "Inqueue")

/* ---- in one queue ---------------------------------------------------------------------------- */

static const char *const single_queue_confs[] = {TIERS(OVERCOMMIT), TIERS(PROPORTION),
                                                 TIERS(CAPACITY), TIERS(TREE)};

static void who_is_more_important_enters_a_full_cluster(void **state)
{
    static const char *const actions[] = {"preempt", "gangpreempt"};
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_SIZE(single_queue_confs); i++) {
        struct cluster *c = world_new(single_queue_confs[i / 2], actions[i % 2]);
        add_queue(c, "root", "", "");
        add_runner(c, "runs", "low", "default", 10);
        struct test_group *equal = add_asker(c, "equal", "low", "default", 4);
        struct test_group *meek = add_asker(c, "meek", "meek", "default", 4);
        run(c);
        assert_waits_outside(equal);
        assert_waits_outside(meek);
        struct test_group *high = add_asker(c, "high", "high", "default", 10);
        run(c);
        assert_enters(high);
        assert_waits_outside(equal);
        check(c);
        cluster_free(c);
    }
}

static void without_the_action_nobody_counts_on_it(void **state)
{
    static const struct {
        const char *conf, *action;
    } rows[] = {
        {TIERS(PROPORTION), ""},
        {TIERS(PROPORTION), "reclaim"},
        {"actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: priority\n    "
         "enablePreemptable: false\n" PROPORTION,
         "preempt"},
        {"actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n" PROPORTION, "preempt"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct cluster *c = world_new(rows[i].conf, rows[i].action);
        add_runner(c, "runs", "low", "default", 10);
        struct test_group *high = add_asker(c, "high", "high", "default", 4);
        run(c);
        assert_waits_outside(high);
        cluster_free(c);
    }
}

/* Six of ten CPUs are held by lower jobs, three by an equal one; 1.2 times the cluster is 12. */
static void only_what_lower_jobs_hold_counts(void **state)
{
    (void)state;
    struct cluster *c = world_new(TIERS(OVERCOMMIT), "preempt");
    add_runner(c, "a", "low", "default", 4);
    add_runner(c, "b", "low", "default", 2);
    add_runner(c, "c", "high", "default", 3);
    struct test_group *much = add_asker(c, "much", "high", "default", 10);
    run(c);
    assert_waits_outside(much);
    assert_says(much, "needs cpu 10, but of the cluster's 10 (overcommitted 1.2 times) only 3");
    struct test_group *fits = add_asker(c, "fits", "high", "default", 9);
    run(c);
    assert_enters(fits);
    /* What was promised once is not promised again. */
    struct test_group *more = add_asker(c, "more", "high", "default", 2);
    run(c);
    assert_waits_outside(more);
    cluster_free(c);
}

static void gangs_that_may_not_go_do_not_count(void **state)
{
    (void)state;
    struct cluster *c = world_new(TIERS(OVERCOMMIT), "preempt");
    add_group_meta(c, "stays", ",\"annotations\":{\"volcano.sh/preemptable\":\"false\"}",
                   "\"minMember\":10,\"priorityClassName\":\"low\"");
    add_pods(c, "stays", "w", 10, "1");
    run(c);
    assert_bound(c, "stays", 10);
    struct test_group *high = add_asker(c, "high", "high", "default", 4);
    run(c);
    assert_waits_outside(high);
    cluster_free(c);
}

static void other_queues_are_not_preempted(void **state)
{
    (void)state;
    struct cluster *c = world_new(TIERS(OVERCOMMIT), "preempt");
    add_queue(c, "other", "", "");
    add_runner(c, "runs", "low", "other", 10);
    struct test_group *high = add_asker(c, "high", "high", "default", 4);
    run(c);
    assert_waits_outside(high);
    cluster_free(c);
}

/* A queue that is full, in a cluster that is not. */
static void a_full_queue_lets_the_more_important_in(void **state)
{
    static const char *const confs[] = {TIERS(PROPORTION), TIERS(CAPACITY), TIERS(TREE)};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(confs); i++) {
        struct cluster *c = world_new(confs[i], "preempt");
        add_queue(c, "root", "", "");
        add_queue(c, "p", "", "\"capability\":{\"cpu\":\"5\"}");
        add_queue(c, "q", "", "\"parent\":\"p\",\"capability\":{\"cpu\":\"4\"}");
        add_runner(c, "runs", "low", "q", 4);
        struct test_group *low = add_asker(c, "low", "low", "q", 1);
        struct test_group *much = add_asker(c, "much", "high", "q", 5);
        struct test_group *fits = add_asker(c, "fits", "high", "q", 4);
        run(c);
        assert_waits_outside(low);
        assert_waits_outside(much);
        assert_enters(fits);
        cluster_free(c);
    }
}

/* ---- between queues -------------------------------------------------------------------------- */

/* Two queues of equal weight share ten CPUs, all of which one has: the other's half is five, and
 * two CPUs are overcommitted. */
static void a_queue_may_have_its_share_back(void **state)
{
    static const char *const actions[] = {"reclaim", "gangreclaim", ""};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        struct cluster *c = world_new(TIERS(PROPORTION), actions[i]);
        add_queue(c, "a", "", "\"weight\":1");
        add_queue(c, "b", "", "\"weight\":1");
        add_runner(c, "runs", "high", "a", 10);
        struct test_group *much = add_asker(c, "much", "low", "b", 6);
        struct test_group *fits = add_asker(c, "fits", "low", "b", 5);
        run(c);
        assert_waits_outside(much);
        if (*actions[i])
            assert_enters(fits);
        else
            assert_waits_outside(fits);
        check(c);
        cluster_free(c);
    }
}

static void queues_that_do_not_give_back_do_not_count(void **state)
{
    (void)state;
    struct cluster *c = world_new(TIERS(PROPORTION), "reclaim");
    add_queue(c, "a", "", "\"weight\":1,\"reclaimable\":false");
    add_queue(c, "b", "", "\"weight\":1");
    add_runner(c, "runs", "low", "a", 10);
    struct test_group *fits = add_asker(c, "fits", "low", "b", 5);
    run(c);
    assert_waits_outside(fits);
    cluster_free(c);
}

/* With weights 1:4 the second deserves eight of ten; it holds three already. */
static void what_the_queue_holds_is_taken_off(void **state)
{
    (void)state;
    struct cluster *c = world_new(TIERS(PROPORTION), "reclaim");
    add_queue(c, "a", "", "\"weight\":1");
    add_queue(c, "b", "", "\"weight\":4");
    add_runner(c, "first", "low", "b", 3);
    add_runner(c, "runs", "low", "a", 2);
    add_runner(c, "more", "low", "b", 5);
    struct test_group *none = add_asker(c, "none", "low", "b", 1);
    run(c);
    assert_waits_outside(none);
    struct test_group *back = add_asker(c, "back", "low", "a", 1);
    run(c);
    assert_waits_outside(back);
    check(c);
    cluster_free(c);
}

static void what_a_queue_deserves_it_may_have_back(void **state)
{
    static const char *const confs[] = {TIERS(CAPACITY), TIERS(TREE)};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(confs); i++) {
        struct cluster *c = world_new(confs[i], "reclaim");
        add_queue(c, "root", "", "");
        add_queue(c, "p", "", "\"capability\":{\"cpu\":\"8\"}");
        add_queue(c, "a", "", "\"parent\":\"p\",\"deserved\":{\"cpu\":\"4\"}");
        add_queue(c, "b", "", "\"parent\":\"p\",\"deserved\":{\"cpu\":\"4\"}");
        add_runner(c, "runs", "low", "a", 8);
        add_runner(c, "rest", "low", "default", 2);
        struct test_group *much = add_asker(c, "much", "low", "b", 7);
        struct test_group *fits = add_asker(c, "fits", "low", "b", 4);
        run(c);
        assert_waits_outside(much);
        assert_enters(fits);
        check(c);
        cluster_free(c);
    }
}

/* Nobody says what queues deserve: nothing is given back. */
static void without_shares_there_is_nothing_to_reclaim(void **state)
{
    (void)state;
    struct cluster *c = world_new(TIERS(OVERCOMMIT), "reclaim");
    add_queue(c, "a", "", "");
    add_runner(c, "runs", "low", "a", 10);
    struct test_group *asks = add_asker(c, "asks", "high", "default", 3);
    run(c);
    assert_waits_outside(asks);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_more_important_enters_a_full_cluster),
        cmocka_unit_test(without_the_action_nobody_counts_on_it),
        cmocka_unit_test(only_what_lower_jobs_hold_counts),
        cmocka_unit_test(gangs_that_may_not_go_do_not_count),
        cmocka_unit_test(other_queues_are_not_preempted),
        cmocka_unit_test(a_full_queue_lets_the_more_important_in),
        cmocka_unit_test(a_queue_may_have_its_share_back),
        cmocka_unit_test(queues_that_do_not_give_back_do_not_count),
        cmocka_unit_test(what_the_queue_holds_is_taken_off),
        cmocka_unit_test(what_a_queue_deserves_it_may_have_back),
        cmocka_unit_test(without_shares_there_is_nothing_to_reclaim),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
