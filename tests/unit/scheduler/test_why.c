/*
 * Why jobs wait: that the sentence is true, stays so, and says since when; which pods are told, as
 * what, and how often.
 */
#include "cluster.h"
#include "scheduler/why.h"

#define SECOND NSEC_PER_SEC
#define NO_SHARES                                                                                  \
    "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: priority\n"           \
    "  - name: gang\n  - name: predicates\n  - name: nodeorder\n  - name: overcommit\n"

static struct sched_job *job_of(struct cluster *c, const char *name)
{
    return cache_job(&c->scheduler->cache, "ns", name);
}

static void assert_why(struct cluster *c, const char *name, const char *text, bool present)
{
    const struct sched_job *job = job_of(c, name);
    const char *why = job && job->why.text ? job->why.text : "(nothing)";
    if ((strstr(why, text) != NULL) != present)
        fail_msg("\"%s\" is %s in \"%s\"", text, present ? "not" : "there", why);
}

/* Nothing happens any more, and yet the numbers of two seconds ago are replaced. */
static void young_reasons_come_right(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NO_SHARES);
    add_node(c, "n0", 2);
    struct test_group *big = add_gang(c, "big", 9, "1");
    struct test_group *out =
        add_group(c, "out", "\"minMember\":1,\"minResources\":{\"cpu\":\"99\"}");
    run_for(c, SECOND / 2);
    assert_why(c, "big", "needs cpu 9 and 2 is free (7 short)", true);
    assert_why(c, "out", "of the cluster's 2 (overcommitted 1.2 times)", true);
    add_node(c, "n1", 3);
    run_for(c, SECOND / 2);
    assert_why(c, "big", "needs cpu 9 and 2 is free (7 short)",
               true); /* too young to be replaced */
    run_for(c, 3 * SECOND);
    assert_why(c, "big", "needs cpu 9 and 5 is free (4 short)", true);
    uint64_t cycles = c->scheduler->cycle.number;
    run_for(c, 50 * SECOND);
    assert_true(c->scheduler->cycle.number - cycles <= 2);
    run_for(c, 60 * SECOND);
    assert_says(big, "needs cpu 9 and 5 is free (4 short)");
    assert_says(out, "of the cluster's 5 (over");
    cluster_free(c);
}

static void add_selecting(struct cluster *c, const char *name, const char *value)
{
    cleanup_free char *spec = xasprintf(",\"nodeSelector\":{\"disk\":\"%s\"},\"containers\":[{"
                                        "\"resources\":{\"requests\":{\"cpu\":\"1500m\"}}}]",
                                        value);
    cleanup_free char *pod = xasprintf("%s-w-0", name);
    add_group(c, name, "\"minMember\":1");
    add_pod_spec(c, pod, name, "w", spec);
}

/* Room does not help where labels do not match. */
static void selectors_are_named(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 2, 8);
    add_node_json(c, "s0", "\"disk\":\"ssd\"", "", "\"cpu\":\"1\",\"pods\":\"9\"");
    add_selecting(c, "none", "tape");
    add_selecting(c, "some", "ssd");
    run(c);
    assert_why(c, "none", "Enough is free, but no node may take such a pod.", true);
    assert_why(c, "none", "didn't match Pod's node affinity/selector", true);
    assert_why(c, "none", "A pod of task \"w\" (cpu 1.5): 0/3 nodes", true);
    assert_why(c, "some", "not on single ones of the 1 nodes that may take such a pod", true);
    add_gang(c, "wide", 1, "9");
    run(c);
    assert_why(c, "wide", "Enough is free in all, but not on single nodes.", true);
    cluster_free(c);
}

static void nodes_again(struct cluster *c)
{
    add_nodes(c, 1, 1);
}

/* A restart does not make a job's wait begin anew. */
static void waiting_since(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 1, 1);
    struct test_group *a = add_gang(c, "a", 2, "1");
    run(c);
    assert_why(c, "a", "Waiting since 2025-11-24T16:00:00Z.", true);
    assert_says(a, "Waiting since 2025-11-24T16:00:00Z.");
    assert_says(a, "\"lastTransitionTime\":\"2025-11-24T16:00:00Z\"");
    run_for(c, 100 * SECOND);
    cluster_restart(c, nodes_again);
    run_for(c, 100 * SECOND);
    assert_why(c, "a", "Waiting since 2025-11-24T16:00:00Z.", true);
    assert_says(a, "\"lastTransitionTime\":\"2025-11-24T16:00:00Z\"");
    cluster_free(c);
}

/* Long reasons are cut, but not what comes last. */
static void long_reasons_are_cut(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_gang(c, "a", 1, "1");
    run(c);
    struct sched_job *job = job_of(c, "a");
    char text[2 * WHY_TEXT_MAX];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    why_set(c->scheduler, job, WHY_NODES, 1, "%s", text);
    assert_true(strlen(job->why.text) < WHY_TEXT_MAX);
    assert_why(c, "a", "xxx... Waiting since 2025-", true);
    cluster_free(c);
}

/* Another class of reason is told, but no pod twice within a minute. */
static void pods_are_told_once_a_minute(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 2, 1);
    add_gang(c, "a", 3, "1");
    const struct test_pod *pod = find_pod(c, "a-w-0");
    run_for(c, 4 * SECOND);
    assert_int_equal(pod->tellings, 0);
    run_for(c, 4 * SECOND);
    assert_int_equal(pod->tellings, 1);
    add_node_json(c, "n9", "", "\"unschedulable\":true", "\"cpu\":\"8\",\"pods\":\"9\"");
    run_for(c, 50 * SECOND);
    assert_why(c, "a", "1 node(s) were unschedulable", true);
    assert_int_equal(pod->tellings, 1);
    add_pods(c, "a", "new", 1, "1");
    run_for(c, 2 * SECOND);
    assert_int_equal(find_pod(c, "a-new-0")->tellings, 1); /* the first time it is told at once */
    assert_int_equal(pod->tellings, 1);
    run_for(c, 20 * SECOND);
    assert_int_equal(pod->tellings, 2);
    run_for(c, 600 * SECOND);
    assert_int_equal(pod->tellings, 2);
    assert_int_equal(find_pod(c, "a-new-0")->tellings, 1);
    cluster_free(c);
}

/* Pods that wait for their queue, or for others of their gang, are told as well. */
static void pods_without_a_queue_or_peers_are_told(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 2, 1);
    add_group(c, "lost", "\"minMember\":1,\"queue\":\"nowhere\"");
    add_pods(c, "lost", "w", 1, "1");
    add_group(c, "few", "\"minMember\":3");
    add_pods(c, "few", "w", 2, "1");
    run_for(c, 10 * SECOND);
    assert_int_equal(find_pod(c, "lost-w-0")->tellings, 1);
    assert_true(find_pod(c, "lost-w-0")->told_limit);
    assert_int_equal(find_pod(c, "few-w-0")->tellings, 0); /* a third may be on its way */
    run_for(c, 30 * SECOND);
    assert_int_equal(find_pod(c, "few-w-0")->tellings, 1);
    assert_false(find_pod(c, "few-w-0")->told_limit);
    assert_why(c, "few", "not enough pods exist: 2 of at least 3, in queue \"default\".", true);
    cluster_free(c);
}

/* Jobs that may not enter cost nothing in cycles that are about something else. */
static void refused_jobs_cost_nothing(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NO_SHARES);
    struct cache *cache = &c->scheduler->cache;
    add_node(c, "n0", 1);
    for (unsigned i = 0; i < 1000; i++) {
        cleanup_free char *name = xasprintf("j%u", i);
        add_group(c, name, "\"minMember\":1,\"minResources\":{\"cpu\":\"9\"}");
    }
    run_for(c, 120 * SECOND);
    uint64_t cycles = c->scheduler->cycle.number, work = cache->work;
    scheduler_wake(c->scheduler);
    run(c);
    assert_int_equal(c->scheduler->cycle.number - cycles, 1);
    assert_true(cache->work - work < 100);
    work = cache->work;
    add_group(c, "new", "\"minMember\":1,\"minResources\":{\"cpu\":\"1\"}");
    run(c);
    assert_int_equal(job_of(c, "new")->phase, JOB_INQUEUE);
    assert_true(cache->work - work >= 1000); /* it is put in order among them all */
    add_node(c, "n1", 10);
    run_for(c, 5 * SECOND);
    assert_int_equal(job_of(c, "j0")->phase, JOB_INQUEUE);
    assert_int_equal(job_of(c, "j1")->phase, JOB_PENDING);
    cluster_free(c);
}

/* Three of its pods have nodes, the fourth is refused its own for 25 minutes. */
static void refused_binds_are_a_reason(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NO_SHARES);
    add_node(c, "n0", 4);
    struct test_group *group = add_gang(c, "a", 4, "1");
    find_pod(c, "a-w-1")->fail = -403;
    run_for(c, 120 * SECOND);
    assert_says(group, "\"reason\":\"BindRefused\",\"message\":\"the API server refuses to bind");
    unsigned patches = group->patches;
    run_for(c, 1500 * SECOND);
    assert_int_equal(group->patches, patches);
    assert_int_equal(bound(c, "a", NULL), 3);
    find_pod(c, "a-w-1")->fail = 0;
    run_for(c, 80 * SECOND);
    assert_int_equal(bound(c, "a", NULL), 4);
    set_phase(c, "a", "Running");
    run(c);
    assert_says(group, "\"phase\":\"Running\"");
    assert_silent(group, "BindRefused");
    assert_why(c, "a", "bind", false);
    cluster_free(c);
}

/* Of a job whose minimum runs, pods with and without requests find no node for reasons of their
 * own. Whenever something changes they are tried again, and what is told stays the same. */
static void two_reasons_do_not_take_turns(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NO_SHARES);
    add_node_json(c, "n0", "", "", "\"cpu\":\"1\",\"pods\":\"1\"");
    add_group(c, "a", "\"minMember\":1");
    add_pods(c, "a", "w", 2, "1");
    add_pod_spec(c, "bare", "a", "v", "");
    run_for(c, 10 * SECOND);
    assert_int_equal(c->binds, 1);
    for (unsigned i = 0; i < 10; i++) {
        cleanup_free char *cpu = xasprintf("\"cpu\":\"%u\",\"pods\":\"9\"", i + 1);
        cleanup_free char *other = xasprintf("other%u", i);
        add_node_json(c, "n1", "", "\"unschedulable\":true", cpu);
        run_for(c, 70 * SECOND);
        add_group(c, other, "\"minMember\":1"); /* a cycle, but no room */
        run_for(c, 70 * SECOND);
    }
    assert_why(c, "a", "A pod of task \"w\" (cpu 1)", true);
    assert_true(find_pod(c, "bare")->tellings <= 2); /* there was a node, then there were two */
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(young_reasons_come_right),
        cmocka_unit_test(selectors_are_named),
        cmocka_unit_test(waiting_since),
        cmocka_unit_test(long_reasons_are_cut),
        cmocka_unit_test(pods_are_told_once_a_minute),
        cmocka_unit_test(pods_without_a_queue_or_peers_are_told),
        cmocka_unit_test(refused_jobs_cost_nothing),
        cmocka_unit_test(refused_binds_are_a_reason),
        cmocka_unit_test(two_reasons_do_not_take_turns),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
