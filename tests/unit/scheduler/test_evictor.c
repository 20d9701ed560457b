/*
 * Evictions as they are carried out: each answer of the server, what is held and shown meanwhile,
 * and what is said.
 */
#include "evictions.h"
#include "scheduler/metrics.h"

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
    run_for(c, 600 * NSEC_PER_MSEC); /* some requests have arrived, no answer has */
    assert_int_equal(nominated(c, "high"), 12);
    assert_in_range(asked(c), 0, 12);
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
    } rows[] = {{429, true}, {429, false}, {500, false}};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct cluster *c = full_cluster(1, 1, false);
        struct test_pod *victim = victim_on(c, "n0");
        victim->no_eviction = -rows[i].status;
        victim->by_budget = rows[i].by_budget;
        decide(c, 1);
        run_for(c, DECISION_PATIENCE - SECOND);
        assert_in_range(victim->evictions, 5, 40);
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

/* Many requests, or a slow server: they wait for their turn for longer than anybody is patient. */
static void those_who_wait_for_their_turn_are_waited_for(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(30, 30, false);
    c->fake->latency_ns = 12 * SECOND;
    victim_on(c, "n0")->no_eviction = 500; /* and that one has to queue twice */
    decide(c, 30);
    run_for(c, DECISION_PATIENCE + 5 * SECOND);
    assert_in_range(asked(c), 1, 59);
    for (int i = 0; i < 12 && asked(c) < 61; i++) {
        assert_non_null(job_of(c, "high")->decision);
        run_for(c, 12 * SECOND);
        show_evicted(c, true);
    }
    assert_int_equal(asked(c), 61);
    run_for(c, 12 * SECOND);
    show_evicted(c, true);
    run_for(c, 60 * SECOND);
    assert_int_equal(bound(c, "high", NULL), 30);
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

/* The server takes the eviction, and nothing follows: the pod is not on its way for ever. */
static void taken_and_not_followed(void **state)
{
    (void)state;
    for (int wanted = 0; wanted < 2; wanted++) {
        struct cluster *c = full_cluster(1, 1, true);
        struct test_pod *victim = victim_on(c, "n0");
        victim->stays = true;
        if (wanted)
            decide(c, 1);
        else
            evictor_evict(c->scheduler, task_of(c, victim->name), "shuffle");
        run_for(c, DECISION_PATIENCE - SECOND);
        assert_int_equal(status_of(c, victim->name), TASK_RELEASING);
        c->fake->refusing = true; /* it cannot be read at first */
        run_for(c, 3 * SECOND);
        assert_int_equal(status_of(c, victim->name), TASK_RELEASING);
        c->fake->refusing = false;
        run_for(c, 20 * SECOND);
        assert_int_equal(status_of(c, victim->name), TASK_RUNNING);
        assert_int_equal(victim->evictions, 1);
        assert_null(job_of(c, "high")->decision);
        assert_null(map_get(&c->scheduler->evictions, str_of(victim->uid)));
        check(c);
        cluster_free(c);
    }
}

/* The watch is late: what is read tells as much. */
static void taken_and_not_seen(void **state)
{
    (void)state;
    for (int gone = 0; gone < 3; gone++) { /* the last is replaced */
        struct cluster *c = full_cluster(1, 1, false);
        struct test_pod *victim = victim_on(c, "n0");
        cleanup_free char *uid = xstrdup(victim->uid);
        evictor_evict(c->scheduler, task_of(c, victim->name), "shuffle");
        run_for(c, SECOND);
        assert_true(victim->deleted);
        victim->gone = gone > 0;
        if (gone == 2)
            replace_pod(c, victim);
        assert_true(cache_task(&c->scheduler->cache, uid)->evicting);
        run_for(c, DECISION_PATIENCE + SECOND);
        const struct sched_task *task = cache_task(&c->scheduler->cache, uid);
        assert_int_equal(task == NULL, gone > 0);
        if (task) {
            assert_false(task->evicting);
            assert_int_equal(task->status, TASK_RELEASING);
        }
        assert_int_equal(map_count(&c->scheduler->evictions), 0);
        check(c);
        cluster_free(c);
    }
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
    assert_int_equal(asking(c), 0);
    check(c);
    show_evicted(c, true);
    run(c);
    assert_int_equal(map_count(&c->scheduler->evictions), 0);
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
    assert_said(
        c, "PodGroup high Evict: 4 pods of 1 job are to be evicted for it (preempt): ns/low (4)");
    cleanup_free char *taken =
        xasprintf("Pod %s Evict: Pod is evicted, because of preempt: it makes room for job ns/high",
                  victim_on(c, "n0")->name);
    assert_said(c, taken);
    cleanup_free char *kept = xasprintf(
        "PodGroup high EvictFailed: pod ns/%s cannot be evicted for it (preempt): status 403",
        victim->name);
    assert_said(c, kept);
    cleanup_free char *stays =
        xasprintf("PodGroup low EvictFailed: pod ns/%s stays: it cannot be evicted for job ns/high "
                  "(preempt): status 403",
                  victim->name);
    assert_said(c, stays);
    unsigned of_job = 0, of_group = 0;
    for (size_t i = 0; i < c->said.n; i++) {
        struct str said = str_of(c->said.items[i]);
        of_job += str_starts(said, STR("Job lowjob Evict: 4 of its pods are to be evicted for job "
                                       "ns/high (preempt): low"));
        of_group += str_starts(
            said,
            STR("PodGroup low Evict: 4 of its pods are to be evicted for job ns/high (preempt)"));
    }
    assert_int_equal(of_job, 1);
    assert_int_equal(of_group, 1);
    cluster_free(c);
}

static bool was_begun(struct cluster *c, const char *text)
{
    bool begun = false;
    for (size_t i = 0; i < c->said.n && !begun; i++)
        begun = str_starts(str_of(c->said.items[i]), str_of(text));
    return begun;
}

/* Whom a budget keeps until nobody is patient any more counts as refused, and both sides are told.
 */
static void those_who_are_kept_for_too_long_are_told(void **state)
{
    (void)state;
    struct metrics *all = metrics_new();
    cleanup_buf struct buf page = BUF_INIT(1 << 20);
    struct cluster *c = full_cluster(1, 1, true);
    c->scheduler->params.metrics = all;
    c->scheduler->metrics = metrics_start(c->scheduler);
    struct test_pod *victim = victim_on(c, "n0");
    victim->no_eviction = -429;
    victim->by_budget = true;
    decide(c, 1);
    run_for(c, DECISION_PATIENCE + 10 * SECOND);
    assert_given_up(c);
    metrics_print(all, &page);
    assert_true(str_find(buf_str(&page), STR("evictions_total{result=\"refused\"} 1\n")) >= 0);
    cleanup_free char *kept = xasprintf("PodGroup high EvictFailed: pod ns/%s cannot be evicted "
                                        "for it (preempt): the budget keeps it",
                                        victim->name);
    assert_said(c, kept);
    cleanup_free char *stays = xasprintf("PodGroup low EvictFailed: pod ns/%s stays: it cannot be "
                                         "evicted for job ns/high (preempt): the budget keeps it",
                                         victim->name);
    assert_said(c, stays);
    assert_true(was_begun(c, "PodGroup high EvictFailed: pods were to make room for it in vain "
                             "(preempt): a pod could not be evicted; none are for "));
    cluster_free(c);
    metrics_free(all);
}

/* Who is asked when patience ends has refused nothing: its answer is waited for. */
static void late_answers_are_waited_for(void **state)
{
    (void)state;
    struct metrics *all = metrics_new();
    cleanup_buf struct buf page = BUF_INIT(1 << 20);
    struct cluster *c = full_cluster(1, 1, true);
    c->scheduler->params.metrics = all;
    c->scheduler->metrics = metrics_start(c->scheduler);
    struct test_pod *victim = victim_on(c, "n0");
    victim->no_eviction = 429; /* the first time */
    victim->by_budget = true;
    c->fake->latency_ns = 20 * SECOND;
    decide(c, 1);
    run_for(c, DECISION_PATIENCE + SECOND);
    assert_int_equal(asking(c), 1);
    uint64_t cycles = c->scheduler->cycle.number;
    run_for(c, 12 * SECOND);
    assert_true(c->scheduler->cycle.number - cycles < 50); /* it wakes nobody meanwhile */
    assert_int_equal(asked(c), 3);                         /* there is another one on that node */
    assert_int_equal(show_evicted(c, true), 2);
    run_for(c, 60 * SECOND);
    assert_int_equal(bound(c, "high", NULL), 1);
    metrics_print(all, &page);
    assert_true(str_find(buf_str(&page), STR("evictions_total{result=\"done\"} 2\n")) >= 0);
    assert_true(str_find(buf_str(&page), STR("evictions_total{result=\"refused\"}")) < 0);
    for (size_t i = 0; i < c->said.n; i++)
        assert_null(strstr(c->said.items[i], "cannot be evicted"));
    cluster_free(c);
    metrics_free(all);
}

/* Nor is the job placed that has waited for them: it is told when it may have others go again. */
static void what_was_in_vain_is_told(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(1, 1, true);
    c->grace_ns = 10 * SECOND;
    decide(c, 1);
    run_for(c, SECOND);
    show_evicted(c, false);
    run_for(c, 60 * SECOND);
    assert_given_up(c);
    assert_true(was_begun(c, "PodGroup high EvictFailed: pods were to make room for it in vain "
                             "(preempt): it was not placed in time; none are for "));
    cluster_free(c);
}

static void those_who_are_not_asked_are_told(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(12, 12, true);
    c->fake->latency_ns = SECOND;
    decide(c, 12);
    run_for(c, 600 * NSEC_PER_MSEC);
    unsigned sent = asked(c);
    assert_in_range(sent, 1, 15);
    find_group(c, "high")->gone = true;
    show_group(c, c->group_list.items[1]);
    run_for(c, 60 * SECOND);
    assert_int_equal(asked(c), sent);
    cleanup_free char *stay = xasprintf("PodGroup low Evict: %u of its pods stay, which were to be "
                                        "evicted for job ns/high (preempt)",
                                        24 - sent);
    assert_said(c, stay);
    cluster_free(c);
}

/* By shuffle: nobody is named for whom, and equal Events are one. */
static void jobs_are_told_of_those_whose_room_nobody_wants(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(2, 1, true);
    evictor_evict(c->scheduler, task_of(c, victim_on(c, "n0")->name), "shuffle");
    evictor_evict(c->scheduler, task_of(c, victim_on(c, "n1")->name), "shuffle");
    run_for(c, 60 * SECOND);
    assert_said(c, "PodGroup low Evict: One of its pods is to be evicted (shuffle)");
    assert_said(c, "Job lowjob Evict: One of its pods is to be evicted (shuffle)");
    unsigned told = 0;
    for (size_t i = 0; i < c->said.n; i++)
        told += strstr(c->said.items[i], "PodGroup low Evict") != NULL;
    assert_int_equal(told, 1);
    cluster_free(c);
}

/* An eviction whose answer was lost, or that the server called a fault, and that took effect. */
static void what_took_effect_is_told(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct cluster *c = full_cluster(1, 1, true);
        struct test_pod *victim = victim_on(c, "n0");
        cleanup_free char *taken = xasprintf(
            "Pod %s Evict: Pod is evicted, because of preempt: it makes room for job ns/high",
            victim->name);
        victim->no_eviction = way ? 0 : 500;
        victim->evicted_after = true;
        c->fake->mute = way > 0;
        decide(c, 1);
        run_for(c, 500 * NSEC_PER_MSEC);
        assert_false(was_said(c, taken));
        show_evicted(c, way == 2); /* the last goes at once */
        c->fake->mute = false;
        run_for(c, 60 * SECOND);
        assert_said(c, taken);
        cluster_free(c);
    }
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
        cmocka_unit_test(those_who_wait_for_their_turn_are_waited_for),
        cmocka_unit_test(gone_before_it_is_asked),
        cmocka_unit_test(taken_and_not_followed),
        cmocka_unit_test(taken_and_not_seen),
        cmocka_unit_test(shuffled),
        cmocka_unit_test(several_hold_places),
        cmocka_unit_test(everybody_is_told),
        cmocka_unit_test(those_who_are_kept_for_too_long_are_told),
        cmocka_unit_test(late_answers_are_waited_for),
        cmocka_unit_test(what_was_in_vain_is_told),
        cmocka_unit_test(those_who_are_not_asked_are_told),
        cmocka_unit_test(jobs_are_told_of_those_whose_room_nobody_wants),
        cmocka_unit_test(what_took_effect_is_told),
        cmocka_unit_test(explained),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
