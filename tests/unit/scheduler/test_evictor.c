/*
 * Evictions as they are carried out: each answer of the server, what is held and shown meanwhile,
 * and how a decision ends. Whom to evict is said here by hand.
 */
#include "cluster.h"
#include "scheduler/evict/evictor.h"
#include "scheduler/explain.h"
#include "scheduler/holds.h"

#define SECOND NSEC_PER_SEC
#define PODS_MOST 64

#define CONF                                                                                       \
    "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: priority\n"           \
    "  - name: gang\n    arguments:\n      gang.reserveAfter: 0\n  - name: predicates\n"           \
    "  - name: nodeorder\n"

/* ---- a cluster that is full ------------------------------------------------------------------ */

static struct sched_job *job_of(struct cluster *c, const char *name)
{
    struct sched_job *job = cache_job(&c->scheduler->cache, "ns", name);
    assert_non_null(job);
    return job;
}

static struct sched_task *task_of(struct cluster *c, const char *pod)
{
    struct test_pod *found = find_pod(c, pod);
    assert_non_null(found);
    return cache_task(&c->scheduler->cache, found->uid);
}

static enum task_status status_of(struct cluster *c, const char *pod)
{
    struct sched_task *task = task_of(c, pod);
    assert_non_null(task);
    return task->status;
}

/* `nodes` nodes of two CPUs full of the pods of gang "low", which run; gang "high" of `pods` pods
 * of two CPUs waits. */
static struct cluster *full_cluster(unsigned nodes, unsigned pods, bool with_events)
{
    struct cluster *c = cluster_open(CONF, with_events);
    add_nodes(c, nodes, 2);
    add_group_meta(c, "low",
                   ",\"ownerReferences\":[{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":"
                   "\"Job\",\"name\":\"lowjob\",\"uid\":\"j-low\",\"controller\":true}]",
                   "\"minMember\":1");
    add_pods(c, "low", "w", 2 * nodes, "1");
    run(c);
    assert_int_equal(bound(c, "low", NULL), 2 * nodes);
    set_phase(c, "low", "Running");
    add_gang(c, "high", pods, "2");
    run(c);
    assert_int_equal(bound(c, "high", NULL), 0);
    check(c);
    return c;
}

/* All pods of "low" on the first `pods` nodes go for the pods of "high". */
static void decide(struct cluster *c, unsigned pods)
{
    struct evict_victim victims[PODS_MOST];
    struct evict_place places[PODS_MOST];
    size_t victim_count = 0;
    for (unsigned i = 0; i < pods; i++) {
        cleanup_free char *node = xasprintf("n%u", i), *pod = xasprintf("high-w-%u", i);
        places[i] = (struct evict_place){task_of(c, pod), cache_node(&c->scheduler->cache, node)};
        for (size_t k = 0; k < c->pod_list.n; k++) {
            const struct test_pod *low = c->pod_list.items[k];
            if (!low->gone && strcmp(low->group, "low") == 0 && strcmp(low->node, node) == 0)
                victims[victim_count++] =
                    (struct evict_victim){cache_task(&c->scheduler->cache, low->uid), false};
        }
    }
    struct sched_job *job = job_of(c, "high");
    assert_true(evictor_may(c->scheduler, job));
    evictor_start(c->scheduler, job, victims, victim_count, places, pods, "preempt");
    assert_false(evictor_may(c->scheduler, job));
    scheduler_wake(c->scheduler); /* as after the cycle in which it is decided */
    check(c);
}

/* The watch shows what evictions have done; with `gone` those pods end. */
static unsigned show_evicted(struct cluster *c, bool gone)
{
    unsigned count = 0;
    for (size_t i = 0; i < c->pod_list.n; i++) {
        struct test_pod *pod = c->pod_list.items[i];
        if (pod->gone || !pod->deleted)
            continue;
        pod->gone = gone;
        show_pod(c, pod);
        count++;
    }
    return count;
}

static unsigned asked(struct cluster *c)
{
    unsigned count = 0;
    for (size_t i = 0; i < c->pod_list.n; i++)
        count += c->pod_list.items[i]->evictions;
    return count;
}

static unsigned nominated(struct cluster *c, const char *group)
{
    unsigned count = 0;
    for (size_t i = 0; i < c->pod_list.n; i++) {
        const struct test_pod *pod = c->pod_list.items[i];
        count += !pod->gone && strcmp(pod->group, group) == 0 && pod->nominated[0];
    }
    return count;
}

static struct test_pod *victim_on(struct cluster *c, const char *node)
{
    for (size_t i = 0; i < c->pod_list.n; i++) {
        struct test_pod *pod = c->pod_list.items[i];
        if (!pod->gone && strcmp(pod->group, "low") == 0 && strcmp(pod->node, node) == 0)
            return pod;
    }
    fail_msg("nobody is on %s", node);
    return NULL;
}

/* Nothing is left of a decision that did not help. */
static void assert_given_up(struct cluster *c)
{
    const struct sched_job *job = job_of(c, "high");
    assert_null(job->decision);
    assert_null(job->reservation);
    assert_true(list_empty(&c->scheduler->cache.reservations));
    assert_int_equal(nominated(c, "high"), 0);
    assert_int_equal(bound(c, "high", NULL), 0);
    assert_int_equal(map_count(&c->scheduler->evictions), 0);
    assert_int_equal(map_count(&c->scheduler->nominations), 0);
    assert_false(evictor_may(c->scheduler, job));
    check(c);
}

/* ---- the usual way --------------------------------------------------------------------------- */

static void victims_go_and_the_job_comes(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(3, 2, false);
    decide(c, 2);
    assert_int_equal(job_of(c, "low")->count[TASK_RELEASING], 4);
    run_for(c, SECOND);
    assert_int_equal(asked(c), 4);
    assert_string_equal(find_pod(c, "high-w-0")->nominated, "n0");
    assert_string_equal(find_pod(c, "high-w-1")->nominated, "n1");
    assert_string_equal(task_of(c, "high-w-1")->pod->nominated, "n1");
    add_gang(c, "other", 1, "1"); /* what becomes free is not for it */
    assert_int_equal(show_evicted(c, false), 4);
    run_for(c, 25 * SECOND);
    assert_int_equal(bound(c, "high", NULL), 0);
    check(c);
    for (size_t i = 0; i < 2; i++) { /* one node only: the gang waits, and nobody else comes */
        struct test_pod *pod = victim_on(c, "n0");
        pod->gone = true;
        show_pod(c, pod);
    }
    run(c);
    assert_int_equal(bound(c, "high", NULL) + bound(c, "other", NULL), 0);
    assert_non_null(job_of(c, "high")->decision);
    check(c);
    assert_int_equal(show_evicted(c, true), 2);
    run(c);
    assert_int_equal(bound(c, "high", NULL), 2);
    assert_int_equal(bound(c, "other", NULL), 0);
    assert_null(job_of(c, "high")->decision);
    assert_null(job_of(c, "high")->reservation);
    assert_int_equal(asked(c), 4);
    assert_int_equal(map_count(&c->scheduler->evictions), 0);
    assert_true(evictor_may(c->scheduler, job_of(c, "high")));
    check(c);
    cluster_free(c);
}

/* Whoever is evicted is evicted for a place that is on record. */
static void places_are_shown_first(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(12, 12, false);
    c->fake->latency_ns = SECOND;
    decide(c, 12);
    run_for(c, 600 * NSEC_PER_MSEC); /* sixteen requests have arrived, no answer has */
    assert_int_equal(nominated(c, "high"), 12);
    assert_in_range(asked(c), 0, 4);
    run_for(c, 5 * SECOND);
    assert_int_equal(asked(c), 24);
    cluster_free(c);
}

static void old_versions_do_not_bring_a_victim_back(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(1, 1, false);
    struct test_pod *victim = victim_on(c, "n0");
    decide(c, 1);
    run_for(c, SECOND);
    victim->deleted = false; /* as it was before the eviction came through, with another label */
    free(victim->labels);
    victim->labels = xstrdup("\"a\":\"b\"");
    show_pod(c, victim);
    run(c);
    assert_int_equal(status_of(c, victim->name), TASK_RELEASING);
    assert_int_equal(bound(c, "high", NULL), 0);
    check(c);
    victim->deleted = true;
    show_pod(c, victim);
    assert_false(task_of(c, victim->name)->evicting);
    assert_int_equal(status_of(c, victim->name), TASK_RELEASING);
    show_evicted(c, true);
    run(c);
    assert_int_equal(bound(c, "high", NULL), 1);
    check(c);
    cluster_free(c);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Answers that do not keep a victim for long. */
static void asked_until_it_goes(void **state)
{
    static const struct {
        int status;
        bool by_budget, after;
    } rows[] = {
        {500, false, false}, {500, false, true}, {503, false, false}, {504, false, true},
        {429, false, false}, {429, true, false}, {409, false, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct cluster *c = full_cluster(1, 1, false);
        struct test_pod *victim = victim_on(c, "n0");
        victim->no_eviction = rows[i].status;
        victim->by_budget = rows[i].by_budget;
        victim->evicted_after = rows[i].after;
        decide(c, 1);
        run_for(c, 10 * SECOND);
        assert_int_equal(victim->evictions, 2);
        assert_true(victim->deleted);
        assert_int_equal(asked(c), 3);
        show_evicted(c, true);
        run(c);
        assert_int_equal(bound(c, "high", NULL), 1);
        check(c);
        cluster_free(c);
    }
}

/* Answers that keep a victim: the decision ends, and who has not gone yet is as before. */
static void refused_for_good(void **state)
{
    static const int statuses[] = {400, 403, 422};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        struct cluster *c = full_cluster(2, 2, false);
        struct test_pod *victim = victim_on(c, "n1");
        victim->no_eviction = -statuses[i];
        decide(c, 2);
        run_for(c, 5 * SECOND);
        assert_int_equal(victim->evictions, 1);
        assert_int_equal(status_of(c, victim->name), TASK_RUNNING);
        assert_given_up(c);
        show_evicted(c, true);
        run(c);
        assert_given_up(c);
        run_for(c, 60 * SECOND);
        assert_true(evictor_may(c->scheduler, job_of(c, "high")));
        cluster_free(c);
    }
}

/* A budget that does not yield, and a server that never says what is wrong. */
static void refused_for_too_long(void **state)
{
    static const struct {
        int status;
        bool by_budget;
    } rows[] = {{429, true}, {500, false}};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct cluster *c = full_cluster(1, 1, false);
        struct test_pod *victim = victim_on(c, "n0");
        victim->no_eviction = -rows[i].status;
        victim->by_budget = rows[i].by_budget;
        decide(c, 1);
        run_for(c, DECISION_PATIENCE - SECOND);
        assert_in_range(victim->evictions, 5, 20);
        assert_int_equal(status_of(c, victim->name), TASK_RELEASING);
        assert_non_null(job_of(c, "high")->decision);
        run_for(c, 8 * SECOND);
        unsigned evictions = victim->evictions;
        assert_int_equal(status_of(c, victim->name), TASK_RUNNING);
        assert_given_up(c);
        run_for(c, 60 * SECOND);
        assert_int_equal(victim->evictions, evictions);
        cluster_free(c);
    }
}

static void no_answers_for_a_while(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(2, 2, false);
    c->fake->mute = true;
    decide(c, 2);
    run_for(c, 20 * SECOND);
    c->fake->mute = false;
    assert_int_equal(show_evicted(c, false), 4); /* that it goes tells as much */
    run_for(c, 20 * SECOND);
    assert_non_null(job_of(c, "high")->decision);
    assert_int_equal(show_evicted(c, true), 4);
    run_for(c, 30 * SECOND);
    assert_int_equal(bound(c, "high", NULL), 2);
    check(c);
    cluster_free(c);
}

/* Another pod of that name, which no watch has shown yet. */
static void replace_pod(struct cluster *c, const struct test_pod *old)
{
    struct test_pod *pod = xnew(struct test_pod);
    *pod = *old;
    pod->gone = pod->deleted = false;
    pod->evictions = 0;
    pod->node[0] = pod->group[0] = '\0';
    snprintf(pod->uid, sizeof(pod->uid), "another");
    pod->spec = xstrdup(old->spec);
    pod->labels = xstrdup(old->labels);
    pod->phase = "Pending";
    pod->rv = ++c->rv;
    vec_push(&c->pod_list, pod);
}

static void gone_before_it_is_asked(void **state)
{
    (void)state;
    for (int other = 0; other < 2; other++) {
        struct cluster *c = full_cluster(1, 1, false);
        struct test_pod *victim = victim_on(c, "n0");
        cleanup_free char *name = xstrdup(victim->name), *uid = xstrdup(victim->uid);
        decide(c, 1);
        victim->gone = true; /* the watch does not know it yet */
        if (other)
            replace_pod(c, victim);
        run_for(c, 5 * SECOND);
        assert_null(cache_task(&c->scheduler->cache, uid));
        if (other)
            assert_false(find_pod(c, name)->deleted);
        show_evicted(c, true);
        run(c);
        assert_int_equal(bound(c, "high", NULL), 1);
        check(c);
        cluster_free(c);
    }
}

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
    assert_int_equal(map_count(&c->scheduler->evictions), 0);
    assert_int_equal(job_of(c, "low")->count[TASK_RELEASING], sent);
    assert_int_equal(show_evicted(c, true), sent);
    run(c);
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

static void higher_priority_takes_the_room(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(1, 1, false);
    decide(c, 1);
    run_for(c, SECOND);
    show(c->priorityclasses, false, false,
         STR("{\"metadata\":{\"name\":\"urgent\",\"uid\":\"pc\",\"resourceVersion\":\"900\"},"
             "\"value\":100}"));
    add_group(c, "urgent", "\"minMember\":1,\"priorityClassName\":\"urgent\"");
    add_pods(c, "urgent", "w", 1, "2");
    run(c);
    assert_non_null(job_of(c, "high")->decision); /* nothing is there to take yet */
    check(c);
    show_evicted(c, true);
    run(c);
    assert_int_equal(bound(c, "urgent", NULL), 1);
    assert_given_up(c);
    cluster_free(c);
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

/* ---- others ---------------------------------------------------------------------------------- */

/* Nobody wants its room: asked for a while, then it stays. */
static void shuffled(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(2, 1, false);
    struct test_pod *first = victim_on(c, "n0"), *second = victim_on(c, "n1");
    first->no_eviction = -429;
    first->by_budget = true;
    evictor_evict(c->scheduler, task_of(c, first->name), "shuffle");
    evictor_evict(c->scheduler, task_of(c, second->name), "shuffle");
    assert_int_equal(job_of(c, "low")->count[TASK_RELEASING], 2);
    run_for(c, DECISION_PATIENCE + 12 * SECOND);
    assert_int_equal(status_of(c, first->name), TASK_RUNNING);
    assert_in_range(first->evictions, 5, 20);
    assert_int_equal(status_of(c, second->name), TASK_RELEASING);
    assert_int_equal(second->evictions, 1);
    assert_int_equal(map_count(&c->scheduler->evictions), 0);
    check(c);
    show_evicted(c, true);
    run(c);
    check(c);
    cluster_free(c);
}

/* More than one job of a queue may have others evicted, beside one that starves. */
static void several_hold_places(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(4, 2, false);
    decide(c, 2);
    add_gang(c, "more", 1, "2");
    run(c);
    struct evict_victim victim = {task_of(c, victim_on(c, "n3")->name), false};
    struct evict_place place = {task_of(c, "more-w-0"), cache_node(&c->scheduler->cache, "n3")};
    evictor_start(c->scheduler, job_of(c, "more"), &victim, 1, &place, 1, "preempt");
    add_gang(c, "starves", 1, "2");
    run(c);
    (void)holds_open(&c->scheduler->cache, job_of(c, "starves"), 600 * SECOND);
    check(c);
    assert_false(holds_add(&c->scheduler->cache, job_of(c, "starves")->reservation, place.node,
                           place.task->pod->cls)); /* more than a tenth */
    assert_int_equal(resource_vector_get(&c->scheduler->cache.held, RESOURCE_CPU), 0);
    check(c);
    run(c);
    show_evicted(c, true);
    run(c);
    assert_int_equal(bound(c, "high", NULL), 2);
    assert_int_equal(bound(c, "more", NULL), 0); /* one of two pods has gone there */
    assert_int_equal(bound(c, "starves", NULL), 0);
    assert_non_null(job_of(c, "more")->decision);
    check(c);
    cluster_free(c);
}

static bool was_said(struct cluster *c, const char *text)
{
    for (size_t i = 0; i < c->said.n; i++)
        if (strcmp(c->said.items[i], text) == 0)
            return true;
    return false;
}

#define assert_said(c, text)                                                                       \
    do {                                                                                           \
        if (!was_said(c, text)) {                                                                  \
            for (size_t at_ = 0; at_ < (c)->said.n; at_++)                                         \
                print_message("%s\n", (c)->said.items[at_]);                                       \
            fail_msg("nobody said \"%s\"", text);                                                  \
        }                                                                                          \
    } while (0)

static void everybody_is_told(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(2, 2, true);
    struct test_pod *victim = victim_on(c, "n1");
    victim->no_eviction = -403;
    decide(c, 2);
    run_for(c, 60 * SECOND);
    assert_said(c, "PodGroup high Evict: 4 pods of 1 job are evicted for it (preempt): ns/low (4)");
    cleanup_free char *taken =
        xasprintf("Pod %s Evict: Pod is evicted, because of preempt: it makes room for job ns/high",
                  victim_on(c, "n0")->name);
    assert_said(c, taken);
    cleanup_free char *kept = xasprintf(
        "PodGroup high EvictFailed: pod ns/%s cannot be evicted for it (preempt): status 403",
        victim->name);
    assert_said(c, kept);
    unsigned of_job = 0, of_group = 0;
    for (size_t i = 0; i < c->said.n; i++) {
        struct str said = str_of(c->said.items[i]);
        of_job += str_starts(
            said,
            STR("Job lowjob Evict: 4 of its pods are evicted for job ns/high (preempt): low"));
        of_group += str_starts(
            said, STR("PodGroup low Evict: 4 of its pods are evicted for job ns/high (preempt)"));
    }
    assert_int_equal(of_job, 1);
    assert_int_equal(of_group, 1);
    cluster_free(c);
}

static void explained(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(2, 2, false);
    decide(c, 2);
    run_for(c, SECOND);
    cleanup_buf struct buf page = BUF_INIT(65536);
    assert_int_equal(explain_page(STR("/explain/ns/high"), STR_NULL, &page, c->scheduler), 200);
    assert_true(str_find(buf_str(&page), STR("evicts:    4 pods (preempt), 1 s ago; 4 of them are "
                                             "still there, 4 of these were asked to go\n")) > 0);
    assert_true(str_find(buf_str(&page), STR("holds:     places on 2 nodes for it (cpu 4, free of "
                                             "it 0)\n")) > 0);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(victims_go_and_the_job_comes),
        cmocka_unit_test(places_are_shown_first),
        cmocka_unit_test(old_versions_do_not_bring_a_victim_back),
        cmocka_unit_test(asked_until_it_goes),
        cmocka_unit_test(refused_for_good),
        cmocka_unit_test(refused_for_too_long),
        cmocka_unit_test(no_answers_for_a_while),
        cmocka_unit_test(gone_before_it_is_asked),
        cmocka_unit_test(preemptor_is_deleted),
        cmocka_unit_test(pods_of_the_preemptor_go),
        cmocka_unit_test(victims_that_do_not_go),
        cmocka_unit_test(back_off_grows),
        cmocka_unit_test(placed_elsewhere),
        cmocka_unit_test(places_are_lost),
        cmocka_unit_test(nodes_may_change),
        cmocka_unit_test(higher_priority_takes_the_room),
        cmocka_unit_test(leadership_is_lost),
        cmocka_unit_test(stops_at_once),
        cmocka_unit_test(places_survive_a_restart),
        cmocka_unit_test(killed_before_anybody_was_asked),
        cmocka_unit_test(shuffled),
        cmocka_unit_test(several_hold_places),
        cmocka_unit_test(everybody_is_told),
        cmocka_unit_test(explained),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
