/*
 * How decisions to evict end, and what becomes of them when another scheduler leads.
 */
#include "evictions.h"

/* ---- ends ------------------------------------------------------------------------------------ */

/* Sixteen requests go at a time: those that have not gone are not sent any more. */
static void preemptor_is_deleted(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(12, 12, false);
    c->fake->latency_ns = SECOND;
    decide(c, 12);
    run_for(c, 600 * NSEC_PER_MSEC);
    unsigned sent = asked(c);
    assert_in_range(sent, 1, 15);
    end_pods_of(c, find_group(c, "high"), true);
    find_group(c, "high")->gone = true;
    show_group(c, c->group_list.items[1]);
    run_for(c, 10 * SECOND);
    assert_int_equal(asked(c), sent);
    assert_null(cache_job(&c->scheduler->cache, "ns", "high"));
    assert_true(list_empty(&c->scheduler->cache.reservations));
    assert_int_equal(asking(c), 0);
    assert_int_equal(job_of(c, "low")->count[TASK_RELEASING], sent);
    assert_int_equal(show_evicted(c, true), sent);
    run(c);
    assert_int_equal(map_count(&c->scheduler->evictions), 0);
    check(c);
    assert_int_equal(job_of(c, "low")->count[TASK_RUNNING], 24 - sent);
    cluster_free(c);
}

static void pods_of_the_preemptor_go(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(2, 2, false);
    decide(c, 2);
    run_for(c, SECOND);
    find_pod(c, "high-w-1")->gone = true;
    show_pod(c, c->pod_list.items[c->pod_list.n - 1]);
    run_for(c, 5 * SECOND);
    assert_given_up(c);
    cluster_free(c);
}

/* What was decided for the PodGroup that had its name before is not held against it. */
static void preemptor_is_made_again(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(2, 2, false);
    struct test_group *group = find_group(c, "high");
    decide(c, 2);
    run_for(c, SECOND);
    group->gone = true;
    show_group(c, group);
    add_group(c, "high", "\"minMember\":2");
    run_for(c, 5 * SECOND);
    assert_null(job_of(c, "high")->decision);
    assert_int_equal(nominated(c, "high"), 0);
    assert_true(evictor_may(c->scheduler, job_of(c, "high")));
    assert_int_equal(job_of(c, "high")->evict_ends, 0);
    check(c);
    cluster_free(c);
}

/* A victim that takes its time has it, and some more; then its place is not kept any longer. */
static void victims_that_do_not_go(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(1, 1, false);
    c->grace_ns = 100 * SECOND;
    decide(c, 1);
    run_for(c, SECOND);
    show_evicted(c, false);
    run_for(c, 120 * SECOND);
    assert_non_null(job_of(c, "high")->decision);
    assert_int_equal(nominated(c, "high"), 1);
    check(c);
    run_for(c, 15 * SECOND);
    assert_given_up(c);
    add_gang(c, "other", 1, "2");
    show_evicted(c, true);
    run_for(c, 5 * SECOND);
    assert_int_equal(bound(c, "other", NULL) + bound(c, "high", NULL), 1);
    check(c);
    cluster_free(c);
}

/* Each decision in vain makes it wait for longer, until it is placed. */
static void back_off_grows(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(1, 1, false);
    int64_t before = 0;
    victim_on(c, "n0")->no_eviction = -403;
    for (int i = 0; i < 4; i++) {
        decide(c, 1);
        show_evicted(c, true);
        run_for(c, SECOND);
        int64_t delay = job_of(c, "high")->evict_ns - loop_now(c->loop);
        assert_true(delay > before);
        before = delay;
        run_for(c, delay);
        assert_true(evictor_may(c->scheduler, job_of(c, "high")));
        assert_int_equal(job_of(c, "high")->evict_ends, i + 1);
    }
    set_phase(c, "low", "Succeeded");
    run(c);
    assert_int_equal(bound(c, "high", NULL), 1);
    cluster_free(c);
}

/* Room elsewhere: those who were not asked yet stay. */
static void placed_elsewhere(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(2, 1, false);
    struct test_pod *victim = victim_on(c, "n0");
    victim->no_eviction = -429;
    victim->by_budget = true;
    decide(c, 1);
    run_for(c, SECOND);
    add_node(c, "new", 2);
    run_for(c, 5 * SECOND);
    assert_string_equal(find_pod(c, "high-w-0")->node, "new");
    assert_int_equal(status_of(c, victim->name), TASK_RUNNING);
    assert_null(job_of(c, "high")->decision);
    assert_true(list_empty(&c->scheduler->cache.reservations));
    assert_int_equal(job_of(c, "high")->evict_ends, 0);
    check(c);
    cluster_free(c);
}

static void places_are_lost(void **state)
{
    (void)state;
    for (int closes = 0; closes < 2; closes++) {
        struct cluster *c = full_cluster(2, 2, false);
        decide(c, 2);
        run_for(c, SECOND);
        if (closes)
            show(
                c->queues, false, false,
                STR("{\"metadata\":{\"name\":\"default\",\"uid\":\"q-default\",\"resourceVersion\":"
                    "\"99999\"},\"spec\":{},\"status\":{\"state\":\"Closed\"}}"));
        else
            delete_node(c, "n1");
        run_for(c, 5 * SECOND);
        assert_given_up(c);
        cluster_free(c);
    }
}

/* A node that changes stays the one that is held. */
static void nodes_may_change(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(1, 1, false);
    decide(c, 1);
    run_for(c, SECOND);
    add_node_json(c, "n0", "\"a\":\"b\"", "", "\"cpu\":\"2\",\"memory\":\"64Gi\",\"pods\":\"110\"");
    run(c);
    assert_int_equal(holds_pods(job_of(c, "high")->reservation), 1);
    check(c);
    show_evicted(c, true);
    run(c);
    assert_int_equal(bound(c, "high", NULL), 1);
    cluster_free(c);
}

/* The job may look for another at once, and those who were not asked yet stay. */
static void a_node_may_be_closed(void **state)
{
    static const char *const specs[] = {
        "\"unschedulable\":true",
        "\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"}]",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
        struct cluster *c = full_cluster(2, 2, false);
        struct test_pod *victim = victim_on(c, "n0");
        victim->no_eviction = -429;
        victim->by_budget = true;
        decide(c, 2);
        run_for(c, SECOND);
        add_node_json(c, "n1", "", specs[i], "\"cpu\":\"2\",\"memory\":\"64Gi\",\"pods\":\"110\"");
        run_for(c, SECOND);
        assert_null(job_of(c, "high")->decision);
        run_for(c, 4 * SECOND);
        assert_given_up(c);
        assert_int_equal(status_of(c, victim->name), TASK_RUNNING);
        cluster_free(c);
    }
}

/* A gang of high priority, of which one pod would have room where the one victim goes for "high".
 */
static struct cluster *urgent_cluster(const char *queue, unsigned pods)
{
    struct cluster *c = full_cluster(1, 1, false);
    cleanup_free char *spec = xasprintf(
        "\"minMember\":%u,\"priorityClassName\":\"urgent\",\"queue\":\"%s\"", pods, queue);
    add_queue(c, "other", "", "\"weight\":1");
    decide(c, 1);
    run_for(c, SECOND);
    show(c->priorityclasses, false, false,
         STR("{\"metadata\":{\"name\":\"urgent\",\"uid\":\"pc\",\"resourceVersion\":\"900\"},"
             "\"value\":100}"));
    add_group(c, "urgent", spec);
    add_pods(c, "urgent", "w", pods, "2");
    run(c);
    return c;
}

static void higher_priority_takes_the_room(void **state)
{
    (void)state;
    struct cluster *c = urgent_cluster("default", 1);
    assert_non_null(job_of(c, "high")->decision); /* nothing is there to take yet */
    check(c);
    show_evicted(c, true);
    run(c);
    assert_int_equal(bound(c, "urgent", NULL), 1);
    assert_given_up(c);
    cluster_free(c);
}

static void assert_high_is_placed(struct cluster *c)
{
    show_evicted(c, true);
    run(c);
    assert_int_equal(bound(c, "high", NULL), 1);
    assert_int_equal(bound(c, "urgent", NULL), 0);
    assert_null(job_of(c, "high")->decision);
    check(c);
    cluster_free(c);
}

/* Between queues their shares count, not the priorities of jobs: whoever gave the room might be the
 * one who takes it, and be evicted for it again. */
static void higher_priority_of_another_queue_does_not(void **state)
{
    (void)state;
    assert_high_is_placed(urgent_cluster("other", 1));
}

/* It would not help the whole of it, and the victims would have gone for nobody. */
static void higher_priority_that_does_not_fit_does_not(void **state)
{
    (void)state;
    assert_high_is_placed(urgent_cluster("default", 2));
}

/* ---- leaders and restarts -------------------------------------------------------------------- */

static void leadership_is_lost(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(12, 12, false);
    c->fake->latency_ns = SECOND;
    decide(c, 12);
    run_for(c, 600 * NSEC_PER_MSEC);
    unsigned sent = asked(c);
    assert_in_range(sent, 1, 15);
    scheduler_lead(c->scheduler, false);
    run_for(c, 10 * SECOND);
    assert_int_equal(asked(c), sent);
    assert_true(list_empty(&c->scheduler->cache.reservations));
    assert_null(job_of(c, "high")->decision);
    check(c);
    assert_int_equal(show_evicted(c, false), sent);
    assert_int_equal(job_of(c, "low")->count[TASK_RELEASING], sent);
    check(c);
    cluster_free(c);
}

/* The process may end while evictions are under way. */
static void set_flag(void *arg)
{
    *(bool *)arg = true;
}

static void stops_at_once(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(2, 2, false);
    bool stopped = false;
    c->fake->mute = true;
    decide(c, 2);
    run_for(c, SECOND);
    scheduler_stop(c->scheduler, set_flag, &stopped);
    assert_true(stopped);
    run_for(c, 60 * SECOND);
    assert_true(list_empty(&c->scheduler->cache.reservations));
    check(c);
    cluster_free(c);
}

static void three_nodes(struct cluster *c)
{
    add_nodes(c, 3, 2);
    add_queue(c, "default", "", "\"weight\":1");
}

/* Victims terminate: their places are held for the pods that show them, and nobody is evicted. */
static void places_survive_a_restart(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(3, 2, false);
    decide(c, 2);
    run_for(c, SECOND);
    cluster_restart(c, three_nodes);
    add_gang(c, "other", 1, "1");
    run_for(c, 5 * SECOND);
    const struct sched_job *job = job_of(c, "high");
    assert_non_null(job->decision);
    assert_int_equal(holds_pods(job->reservation), 2);
    check(c);
    run_for(c, 20 * SECOND);
    struct test_pod *first = victim_on(c, "n0");
    first->gone = true;
    show_pod(c, first);
    run(c);
    assert_int_equal(bound(c, "other", NULL), 0);
    show_evicted(c, true);
    run(c);
    assert_int_equal(bound(c, "high", NULL), 2);
    assert_int_equal(bound(c, "other", NULL), 0);
    assert_int_equal(asked(c), 4);
    assert_null(job_of(c, "high")->decision);
    check(c);
    cluster_free(c);
}

/* Shown, but nobody was asked to go: the job decides afresh, and at once. */
static void killed_before_anybody_was_asked(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(3, 2, false);
    for (int i = 0; i < 2; i++)
        snprintf(find_pod(c, i ? "high-w-1" : "high-w-0")->nominated, NAME_SIZE, "n%d", i);
    find_pod(c, "high-w-0")->nominated[1] = '7'; /* and one of a node that is not there */
    cluster_restart(c, three_nodes);
    run_for(c, 5 * SECOND);
    assert_null(job_of(c, "high")->decision);
    assert_true(list_empty(&c->scheduler->cache.reservations));
    assert_int_equal(nominated(c, "high"), 0);
    assert_true(evictor_may(c->scheduler, job_of(c, "high")));
    assert_int_equal(asked(c), 0);
    check(c);
    cluster_free(c);
}

/* Some places were shown and some victims asked: the job decides for the rest, and keeps these. */
static void killed_when_some_were_asked(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(3, 2, false);
    snprintf(find_pod(c, "high-w-0")->nominated, NAME_SIZE, "n0");
    for (size_t i = 0; i < c->pod_list.n; i++)
        c->pod_list.items[i]->deleted |= strcmp(c->pod_list.items[i]->node, "n0") == 0;
    cluster_restart(c, three_nodes);
    run_for(c, 5 * SECOND);
    assert_int_equal(holds_pods(job_of(c, "high")->reservation), 1);
    assert_true(evictor_may(c->scheduler, job_of(c, "high")));
    check(c);
    struct evict_victim victim = {task_of(c, victim_on(c, "n1")->name), false};
    struct evict_place places[2];
    for (unsigned i = 0; i < 2; i++) {
        places[i].task = task_of(c, i ? "high-w-1" : "high-w-0");
        places[i].node = cache_node(&c->scheduler->cache, i ? "n1" : "n0");
    }
    evictor_start(c->scheduler, job_of(c, "high"), &victim, 1, places, 2, "preempt");
    run_for(c, SECOND);
    assert_int_equal(nominated(c, "high"), 2);
    assert_int_equal(holds_pods(job_of(c, "high")->reservation), 2);
    assert_false(evictor_may(c->scheduler, job_of(c, "high")));
    check(c);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preemptor_is_deleted),
        cmocka_unit_test(preemptor_is_made_again),
        cmocka_unit_test(pods_of_the_preemptor_go),
        cmocka_unit_test(victims_that_do_not_go),
        cmocka_unit_test(back_off_grows),
        cmocka_unit_test(placed_elsewhere),
        cmocka_unit_test(places_are_lost),
        cmocka_unit_test(nodes_may_change),
        cmocka_unit_test(a_node_may_be_closed),
        cmocka_unit_test(higher_priority_takes_the_room),
        cmocka_unit_test(higher_priority_of_another_queue_does_not),
        cmocka_unit_test(higher_priority_that_does_not_fit_does_not),
        cmocka_unit_test(leadership_is_lost),
        cmocka_unit_test(stops_at_once),
        cmocka_unit_test(places_survive_a_restart),
        cmocka_unit_test(killed_before_anybody_was_asked),
        cmocka_unit_test(killed_when_some_were_asked),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
