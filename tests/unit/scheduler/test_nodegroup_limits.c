/*
 * nodegroup: how much of a group of nodes a queue may use, in a cluster on a virtual clock: counts
 * that follow, nodes held for gangs, random changes.
 */
#include "nodegroups.h"

#include "base/rng.h"
#include "scheduler/explain.h"
#include "scheduler/holds.h"

/* ---- limits ---------------------------------------------------------------------------------- */

static void limits_hold_over_all_nodes_of_a_group(void **state)
{
    struct cluster *c = cluster_new(CONF(""));
    (void)state;
    add_node_of(c, "n0", "a", 8);
    add_node_of(c, "n1", "a", 8);
    add_node_of(c, "n2", "b", 8);
    add_queue(c, "q", CPU_OF_A("5"), ONLY_A);
    add_queue(c, "other", "", ONLY_A);
    add_job(c, "q", "j0", 1, "2");
    add_job(c, "q", "j1", 1, "2");
    struct test_group *job = add_job(c, "q", "j2", 1, "2");
    run(c);
    assert_int_equal(bound(c, "j0", NULL) + bound(c, "j1", NULL), 2);
    assert_says(job, "Enough is free, but none of the 2 nodes with room may take it now.");
    assert_says(job, "0/3 nodes are available: 1 " NOT_ALLOWED ", 2 " EXCEEDED);
    cleanup_buf struct buf page = BUF_INIT(65536);
    assert_int_equal(explain_page(STR("/explain/ns/j2"), STR_NULL, &page, c->scheduler), 200);
    assert_true(str_find(buf_str(&page), STR("of nodes of group a: holds cpu 4 of 5\n")) >= 0);
    /* Others are not concerned, and what is smaller fits. */
    add_job(c, "other", "j3", 1, "2");
    add_job(c, "q", "j4", 1, "1");
    run(c);
    assert_int_equal(bound(c, "j3", NULL) + bound(c, "j4", NULL), 2);
    check(c);
    /* What ends makes room. */
    set_phase(c, "j0", "Succeeded");
    run(c);
    assert_int_equal(bound(c, "j2", NULL), 1);
    check(c);
    cluster_free(c);
}

/* All of a gang counts while it is placed, and nothing of one that was taken back. */
static void gangs_keep_within_limits(void **state)
{
    struct cluster *c = cluster_new(CONF(""));
    (void)state;
    add_node_of(c, "n0", "a", 8);
    add_node_of(c, "n1", "b", 8);
    add_queue(c, "q", CPU_OF_A("4"), AFFINITY(REQUIRED("\"a\"") "," PREFERRED("\"b\""), ""));
    add_job(c, "q", "big", 8, "2");
    run(c);
    assert_int_equal(bound(c, "big", NULL), 0);
    add_job(c, "q", "j", 4, "2");
    run(c);
    assert_on(c, "j", "n0 n0 n1 n1");
    check(c);
    cluster_free(c);
}

/* Pods that must be near one another go where the limit leaves room for all of them. */
static void gangs_that_stay_together_look_at_limits(void **state)
{
    static const char near[] =
        ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],"
        "\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
        "\"labelSelector\":{\"matchLabels\":{\"app\":\"a\"}},\"topologyKey\":\"zone\"}]}}";
    struct cluster *c = cluster_new(CONF("  - name: predicates\n"));
    (void)state;
    for (unsigned i = 0; i < 5; i++) { /* z0: 8 of a and 2 of b, z1: 6 of b */
        cleanup_free char *name = xasprintf("n%u", i);
        cleanup_free char *labels = xasprintf("\"" KEY_NODEGROUP_NAME "\":\"%s\",\"zone\":\"%s\"",
                                              i < 2 ? "a" : "b", i < 3 ? "z0" : "z1");
        cleanup_free char *cpu = xasprintf("\"cpu\":\"%d\",\"pods\":\"110\"", i < 2    ? 4
                                                                              : i == 2 ? 2
                                                                                       : 3);
        add_node_json(c, name, labels, "", cpu);
    }
    add_queue(c, "q", CPU_OF_A("3"), AFFINITY(REQUIRED("\"a\",\"b\""), ""));
    add_group(c, "j", "\"minMember\":6,\"queue\":\"q\"");
    for (unsigned i = 0; i < 6; i++) {
        cleanup_free char *name = xasprintf("j-%u", i);
        add_pod_labelled(c, name, "j", "w", "\"app\":\"a\"", near);
    }
    run(c);
    assert_on(c, "j", "n3 n3 n3 n4 n4 n4");
    check(c);
    cluster_free(c);
}

static void limits_that_change(void **state)
{
    struct cluster *c = cluster_new(CONF(""));
    (void)state;
    add_node_of(c, "n0", "a", 16);
    add_queue(c, "q", CPU_OF_A("2"), ONLY_A);
    add_job(c, "q", "j0", 1, "2");
    struct test_group *job = add_job(c, "q", "j1", 1, "2");
    run(c);
    assert_says(job, EXCEEDED);
    add_queue(c, "q", CPU_OF_A("4"), ONLY_A);
    run(c);
    assert_on(c, "j1", "n0");
    check(c);
    add_queue(c, "q", CPU_OF_A("3"), ONLY_A); /* less than it has: nobody has to go */
    job = add_job(c, "q", "j2", 1, "1");
    run(c);
    assert_says(job, EXCEEDED);
    add_queue(c, "q", "", ONLY_A);
    run(c);
    assert_on(c, "j2", "n0");
    check(c);
    cluster_free(c);
}

/* The pods of a node that changes its group count there. */
static void nodes_that_change_their_group(void **state)
{
    struct cluster *c = cluster_new(CONF(""));
    (void)state;
    add_node_of(c, "n0", "b", 4);
    add_node_of(c, "n1", "a", 4);
    add_queue(c, "q", CPU_OF_A("4"), AFFINITY(REQUIRED("\"b\"") "," PREFERRED("\"a\""), ""));
    add_job(c, "q", "j0", 1, "3");
    run(c);
    assert_on(c, "j0", "n0");
    add_node_of(c, "n0", "a", 4);
    struct test_group *job = add_job(c, "q", "j1", 1, "2");
    run(c);
    assert_says(job, "1 " EXCEEDED); /* n0 itself is too full */
    check(c);
    add_node_of(c, "n0", "c", 4);
    run(c);
    assert_on(c, "j1", "n1");
    check(c);
    cluster_free(c);
}

/* What runs when the scheduler starts, or moves with its job to another queue. */
static void pods_that_run_already_count(void **state)
{
    struct cluster *c = cluster_new(CONF(""));
    (void)state;
    add_queue(c, "q", CPU_OF_A("4"), ONLY_A);
    add_queue(c, "r", CPU_OF_A("4"), ONLY_A);
    struct test_group *job = add_job(c, "q", "j0", 1, "3");
    snprintf(find_pod(c, "j0-w-0")->node, NAME_SIZE, "n0");
    set_phase(c, "j0", "Running");
    add_node_of(c, "n0", "a", 16);
    struct test_group *next = add_job(c, "q", "j1", 1, "2");
    run(c);
    assert_says(next, EXCEEDED);
    check(c);
    run_for(c, 10 * NSEC_PER_SEC); /* until it is not tried again by itself */
    free(job->spec);
    job->spec = xstrdup("\"minMember\":1,\"queue\":\"r\"");
    show_group(c, job);
    run_for(c, 100 * NSEC_PER_MSEC);
    assert_int_equal(bound(c, "j1", NULL), 1);
    next = add_job(c, "r", "j2", 1, "2");
    run(c);
    assert_says(next, EXCEEDED);
    check(c);
    cluster_free(c);
}

/* ---- nodes held for gangs that starve -------------------------------------------------------- */

#define HOLDS                                                                                      \
    "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: gang\n    arguments: "          \
    "{defaultWaitingTime: 0, gang.reserveAfter: 60s}\n  - name: nodegroup\n"
#define MINUTE (60 * NSEC_PER_SEC)

/* 40 nodes of 1 CPU, half of them in each group, all used by jobs of the queue "small". */
static struct cluster *full_cluster(const char *annotations, const char *spec)
{
    struct cluster *c = cluster_new(HOLDS);
    for (int i = 0; i < 40; i++) {
        cleanup_free char *name = xasprintf("n%02d", i);
        add_node_of(c, name, i % 2 ? "b" : "a", 1);
    }
    add_queue(c, "small", "", AFFINITY(REQUIRED("\"a\",\"b\""), ""));
    add_queue(c, "q", annotations, spec);
    for (int i = 0; i < 40; i++) {
        cleanup_free char *name = xasprintf("s%02d", i);
        add_job(c, "small", name, 1, "1");
    }
    run(c);
    assert_int_equal(c->binds, 40);
    return c;
}

/* How many nodes of a group are held. */
static unsigned held_in(const struct cluster *c, const char *group)
{
    unsigned count = 0;
    for (size_t i = 0; i < c->scheduler->cache.nodes.n; i++) {
        const struct sched_node *node = c->scheduler->cache.nodes.items[i];
        count += node && node->holds && strcmp(node->group, group) == 0;
    }
    return count;
}

static void nodes_of_other_groups_are_not_held(void **state)
{
    struct cluster *c = full_cluster("", AFFINITY(REQUIRED("\"b\""), ""));
    (void)state;
    add_job(c, "q", "big", 4, "1");
    run_for(c, 3 * MINUTE);
    check(c);
    assert_int_equal(held_in(c, "b"), 4);
    assert_int_equal(held_in(c, "a"), 0);
    cluster_free(c);
}

/* What is held counts in the limit as if it were used. */
static void no_more_is_held_than_the_limit(void **state)
{
    struct cluster *c = full_cluster(CPU_OF_A("1"), AFFINITY(REQUIRED("\"a\",\"b\""), ""));
    (void)state;
    add_job(c, "q", "big", 4, "1");
    run_for(c, 3 * MINUTE);
    check(c);
    assert_int_equal(held_in(c, "a"), 1);
    assert_int_equal(held_in(c, "b"), 3);
    /* Nor when places become free. */
    set_phase(c, "s20", "Succeeded");
    set_phase(c, "s22", "Succeeded");
    run_for(c, MINUTE);
    check(c);
    assert_true(held_in(c, "a") <= 1);
    /* To the holder itself it is free. */
    for (size_t i = 0; i < c->pod_list.n; i++) {
        struct test_pod *pod = c->pod_list.items[i];
        const struct sched_node *node = cache_node(&c->scheduler->cache, pod->node);
        if (!node || !node->holds)
            continue;
        pod->phase = "Succeeded";
        show_pod(c, pod);
    }
    run_for(c, MINUTE);
    assert_int_equal(bound(c, "big", NULL), 4);
    check(c);
    cluster_free(c);
}

/* A gang that its limit would never let start holds nothing. */
static void a_gang_beyond_its_limit_holds_nothing(void **state)
{
    struct cluster *c = full_cluster(CPU_OF_A("3"), ONLY_A);
    (void)state;
    add_job(c, "q", "big", 4, "1");
    run_for(c, 5 * MINUTE);
    check(c);
    assert_int_equal(held_in(c, "a") + held_in(c, "b"), 0);
    cluster_free(c);
}

/* ---- random changes -------------------------------------------------------------------------- */

#define QUEUES 4
#define NODES 8
#define NODE_CPU 16

/* What the Queues of this test may say, and what that means. */
static const struct {
    const char *spec;
    const char *groups; /* that may be used, one letter each */
} affinities[] = {{ONLY_A, "a"},
                  {AFFINITY(REQUIRED("\"b\"") "," PREFERRED("\"a\""), ""), "ab"},
                  {AFFINITY(REQUIRED("\"b\""), PREFERRED("\"a\"") "," REQUIRED("\"b\"")), "a"},
                  {"", ""}};

static const struct {
    const char *annotations;
    int64_t milli[2], pods[2]; /* of groups a and b; 0: not limited */
} limits[] = {{"", {0, 0}, {0, 0}},
              {CPU_OF_A("4"), {4000, 0}, {0, 0}},
              {CPU_OF_A("9"), {9000, 0}, {0, 0}},
              {LIMITS("{\\\"a\\\":{\\\"pods\\\":\\\"3\\\"},\\\"b\\\":{\\\"cpu\\\":\\\"6\\\"}}"),
               {0, 6000},
               {3, 0}}};

struct made_job {
    unsigned queue, pods;
    int64_t milli; /* of each pod */
};

struct world {
    struct cluster *c;
    struct rng rng;
    VEC(struct made_job) jobs;   /* called "0", "1", ... */
    const char *group_of[NODES]; /* of nodes "0", "1", ... */
    unsigned affinity_of[QUEUES], limit_of[QUEUES];
    unsigned placed, waiting, exceeded; /* pods looked at; looks at a full limit */
};

static unsigned below(struct world *w, unsigned bound)
{
    return (unsigned)rng_below(&w->rng, bound);
}

static void change_node(struct world *w, unsigned node)
{
    static const char *const groups[] = {"a", "b", "a", "b", NULL};
    cleanup_free char *name = xasprintf("%u", node);
    w->group_of[node] = groups[below(w, ARRAY_SIZE(groups))];
    add_node_of(w->c, name, w->group_of[node], NODE_CPU);
}

static void change_queue(struct world *w, unsigned queue)
{
    cleanup_free char *name = xasprintf("%u", queue);
    unsigned affinity = below(w, ARRAY_SIZE(affinities)), limit = below(w, ARRAY_SIZE(limits));
    w->affinity_of[queue] = affinity;
    w->limit_of[queue] = limit;
    add_queue(w->c, name, limits[limit].annotations, affinities[affinity].spec);
}

/* Any of those that run. */
static void end_job(struct world *w)
{
    struct test_group *chosen = NULL;
    unsigned count = 0;
    for (size_t i = 0; i < w->c->group_list.n; i++) {
        struct test_group *group = w->c->group_list.items[i];
        if (!group->gone && bound(w->c, group->name, NULL) && below(w, ++count) == 0)
            chosen = group;
    }
    if (!chosen)
        return;
    end_pods_of(w->c, chosen, true);
    chosen->gone = true;
    show_group(w->c, chosen);
}

static void make_job(struct world *w)
{
    struct made_job job = {below(w, QUEUES), 1 + below(w, 4), 500 * (1 + below(w, 4))};
    cleanup_free char *queue = xasprintf("%u", job.queue);
    cleanup_free char *name = xasprintf("%zu", w->jobs.n);
    cleanup_free char *cpu = xasprintf("%dm", (int)job.milli);
    vec_push(&w->jobs, job);
    add_job(w->c, queue, name, job.pods, cpu);
}

static void change(struct world *w)
{
    unsigned what = below(w, 12);
    if (what == 0)
        change_node(w, below(w, NODES));
    else if (what == 1)
        change_queue(w, below(w, QUEUES));
    else if (what < 6)
        end_job(w);
    else
        make_job(w);
}

static unsigned number_of(const char *text)
{
    uint64_t number;
    assert_true(str_to_u64(str_of(text), &number));
    return (unsigned)number;
}

/* The group of the node that a pod is on, NULL without a node. */
static const char *group_under(const struct world *w, const struct test_pod *pod)
{
    return !pod->gone && pod->node[0] ? w->group_of[number_of(pod->node)] : NULL;
}

/* Whether the queue has no more on nodes of a group than its limit. */
static bool is_within(const struct world *w, unsigned queue, const char *group)
{
    const unsigned at = group[0] == 'b', limit = w->limit_of[queue];
    int64_t milli = 0, pods = 0;
    for (size_t i = 0; i < w->c->pod_list.n; i++) {
        const struct test_pod *pod = w->c->pod_list.items[i];
        const char *under = group_under(w, pod);
        const struct made_job *job = &w->jobs.items[number_of(pod->group)];
        if (!under || strcmp(under, group) != 0 || job->queue != queue)
            continue;
        milli += job->milli;
        pods++;
    }
    return (!limits[limit].milli[at] || milli <= limits[limit].milli[at]) &&
           (!limits[limit].pods[at] || pods <= limits[limit].pods[at]);
}

/* Pods that have got a node since the last change are where their queue allows it, within its
 * limit. Those that were there before may be anywhere. */
static void check_new_pods(struct world *w, bool *seen)
{
    for (size_t i = 0; i < w->c->pod_list.n; i++) {
        const struct test_pod *pod = w->c->pod_list.items[i];
        if (seen[i] || pod->gone || !pod->node[0])
            continue;
        unsigned queue = w->jobs.items[number_of(pod->group)].queue;
        const char *group = group_under(w, pod);
        seen[i] = true;
        w->placed++;
        if (!group || !strchr(affinities[w->affinity_of[queue]].groups, group[0]))
            fail_msg("%s is on a node of group %s", pod->name, group ? group : "none");
        if (!is_within(w, queue, group))
            fail_msg("with %s queue %u is above its limit for %s", pod->name, queue, group);
    }
    for (size_t i = 0; i < w->c->group_list.n; i++)
        w->exceeded += !w->c->group_list.items[i]->gone &&
                       str_find(str_of(w->c->group_list.items[i]->status), STR(EXCEEDED)) >= 0;
}

static int64_t free_on(const struct world *w, unsigned node)
{
    int64_t milli = NODE_CPU * 1000;
    for (size_t i = 0; i < w->c->pod_list.n; i++) {
        const struct test_pod *pod = w->c->pod_list.items[i];
        if (!pod->gone && pod->node[0] && number_of(pod->node) == node)
            milli -= w->jobs.items[number_of(pod->group)].milli;
    }
    return milli;
}

/* Whether one more pod of a job may have a place on the node. */
static bool could_have(struct world *w, struct test_pod *pod, unsigned node)
{
    const struct made_job *job = &w->jobs.items[number_of(pod->group)];
    const char *group = w->group_of[node];
    if (!group || !strchr(affinities[w->affinity_of[job->queue]].groups, group[0]) ||
        free_on(w, node) < job->milli)
        return false;
    snprintf(pod->node, sizeof(pod->node), "%u", node);
    bool within = is_within(w, job->queue, group);
    pod->node[0] = '\0';
    return within;
}

/* No job of a single pod waits that could start. */
static void check_waiting_pods(struct world *w)
{
    for (size_t i = 0; i < w->c->pod_list.n; i++) {
        struct test_pod *pod = w->c->pod_list.items[i];
        if (pod->gone || pod->node[0] || w->jobs.items[number_of(pod->group)].pods > 1)
            continue;
        w->waiting++;
        for (unsigned node = 0; node < NODES; node++)
            if (could_have(w, pod, node))
                fail_msg("%s could have a place on node %u", pod->name, node);
    }
}

static void random_changes_agree_with_a_recount(void **state)
{
    struct world w = {.c = cluster_new(CONF(""))};
    bool *seen = xcalloc(8000, sizeof(*seen));
    (void)state;
    rng_seed(&w.rng, 8);
    for (unsigned i = 0; i < NODES; i++)
        change_node(&w, i);
    for (unsigned i = 0; i < QUEUES; i++)
        change_queue(&w, i);
    for (unsigned i = 0; i < 700; i++) {
        change(&w);
        run_for(w.c, 200 * NSEC_PER_MSEC);
        check(w.c);
        assert_true(w.c->pod_list.n <= 8000);
        check_new_pods(&w, seen);
        check_waiting_pods(&w);
    }
    assert_true(w.placed > 200);
    assert_true(w.waiting > 200);
    assert_true(w.exceeded > 50);
    free(seen);
    vec_clear(&w.jobs);
    cluster_free(w.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_hold_over_all_nodes_of_a_group),
        cmocka_unit_test(gangs_keep_within_limits),
        cmocka_unit_test(gangs_that_stay_together_look_at_limits),
        cmocka_unit_test(limits_that_change),
        cmocka_unit_test(nodes_that_change_their_group),
        cmocka_unit_test(pods_that_run_already_count),
        cmocka_unit_test(nodes_of_other_groups_are_not_held),
        cmocka_unit_test(no_more_is_held_than_the_limit),
        cmocka_unit_test(a_gang_beyond_its_limit_holds_nothing),
        cmocka_unit_test(random_changes_agree_with_a_recount),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
