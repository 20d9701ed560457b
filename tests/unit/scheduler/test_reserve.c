/*
 * Nodes held for gangs that starve: when, how many, for how long, for whom, and who lets go.
 */
#include "cluster.h"
#include "scheduler/explain.h"
#include "scheduler/holds.h"
#include "scheduler/reserve.h"

#define SECOND NSEC_PER_SEC
#define MINUTE (60 * SECOND)

#define CONF(arguments)                                                                            \
    "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: priority\n"           \
    "  - name: gang\n    arguments:\n      defaultWaitingTime: 0\n" arguments                      \
    "  - name: predicates\n  - name: nodeorder\n"
#define AFTER(text) CONF("      gang.reserveAfter: " text "\n")

/* ---- a cluster in which small jobs wait for whatever becomes free ---------------------------- */

struct crowd {
    struct cluster *c;
    unsigned made, ended; /* small jobs, in order */
};

static void add_small(struct crowd *w)
{
    cleanup_free char *name = xasprintf("s%05u", w->made++);
    add_gang(w->c, name, 1, "1");
}

/* `nodes` nodes of `cpu` CPUs full of small jobs, and as many small jobs that wait. */
static struct crowd crowd_new(const char *conf, unsigned nodes, int cpu)
{
    struct crowd w = {.c = cluster_new(conf)};
    add_nodes(w.c, nodes, cpu);
    for (unsigned i = 0; i < nodes * (unsigned)cpu; i++)
        add_small(&w);
    run(w.c);
    assert_int_equal(w.c->binds, nodes * (unsigned)cpu);
    for (unsigned i = 0; i < nodes; i++)
        add_small(&w);
    return w;
}

/* The small job that has run for longest ends, another one comes. */
static void turn_over(struct crowd *w)
{
    for (; w->ended < w->made; w->ended++) {
        cleanup_free char *name = xasprintf("s%05u", w->ended);
        if (!bound(w->c, name, NULL))
            continue;
        set_phase(w->c, name, "Succeeded");
        w->ended++;
        break;
    }
    add_small(w);
}

/* How much CPU of what the gang holds is free; -1 when it holds nothing. */
static int64_t idle_of(struct cluster *c, const char *gang)
{
    const struct sched_job *job = cache_job(&c->scheduler->cache, "ns", gang);
    int64_t idle;
    if (!job || !job->reservation)
        return -1;
    (void)holds_amount(job->reservation, RESOURCE_CPU, &idle);
    return idle;
}

/* Small jobs end one by one; true once the gang has all of its pods bound. What has become free for
 * it is taken by nobody else. */
static bool churn(struct crowd *w, const char *gang, unsigned pods, int64_t length)
{
    int64_t end = loop_now(w->c->loop) + length;
    int64_t idle = -1;
    while (loop_now(w->c->loop) < end) {
        turn_over(w);
        run_for(w->c, 5 * SECOND);
        check(w->c);
        int64_t now_idle = idle_of(w->c, gang);
        if (now_idle >= 0 && now_idle < idle)
            fail_msg("%lld of %lld are left", (long long)now_idle, (long long)idle);
        idle = now_idle;
        if (bound(w->c, gang, NULL) == pods)
            return true;
        assert_int_equal(bound(w->c, gang, NULL), 0);
    }
    return false;
}

static struct sched_job *job_of(struct cluster *c, const char *name)
{
    struct sched_job *job = cache_job(&c->scheduler->cache, "ns", name);
    assert_non_null(job);
    return job;
}

static int64_t held_cpu(const struct cluster *c)
{
    return resource_vector_get(&c->scheduler->cache.held, RESOURCE_CPU);
}

static bool holds(struct cluster *c, const char *name)
{
    return job_of(c, name)->reservation != NULL;
}

/* ---- starvation ------------------------------------------------------------------------------ */

static void small_jobs_starve_a_gang_without(void **state)
{
    (void)state;
    struct crowd w = crowd_new(AFTER("0"), 20, 1);
    add_gang(w.c, "big", 2, "1");
    assert_false(churn(&w, "big", 2, 40 * MINUTE));
    assert_int_equal(held_cpu(w.c), 0);
    cluster_free(w.c);
}

static void a_gang_that_starves_gets_its_turn(void **state)
{
    (void)state;
    struct crowd w = crowd_new(CONF(""), 20, 1);
    struct test_group *big = add_gang(w.c, "big", 2, "1");
    assert_false(churn(&w, "big", 2, 5 * MINUTE - 5 * SECOND));
    assert_int_equal(held_cpu(w.c), 0);
    assert_silent(big, "HoldsNodes");
    assert_true(churn(&w, "big", 2, 30 * SECOND));
    run(w.c);
    assert_int_equal(held_cpu(w.c), 0);
    assert_false(holds(w.c, "big"));
    assert_silent(big, "HoldsNodes");
    assert_int_equal(job_of(w.c, "big")->short_ns, 0);
    cluster_free(w.c);
}

/* A pod that needs a node for itself: nodes are emptied for it. */
static void nodes_are_emptied_for_large_pods(void **state)
{
    (void)state;
    struct crowd w = crowd_new(AFTER("0"), 10, 4);
    add_gang(w.c, "big", 1, "4");
    assert_false(churn(&w, "big", 1, 40 * MINUTE));
    cluster_free(w.c);
    w = crowd_new(CONF(""), 10, 4);
    add_gang(w.c, "big", 1, "4");
    assert_false(churn(&w, "big", 1, 4 * MINUTE));
    assert_true(churn(&w, "big", 1, 10 * MINUTE));
    run(w.c);
    assert_int_equal(held_cpu(w.c), 0);
    cluster_free(w.c);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static void a_tenth_for_ten_minutes(void **state)
{
    (void)state;
    struct crowd w = crowd_new(CONF(""), 40, 1);
    struct test_group *big = add_gang(w.c, "big", 30, "1");
    assert_false(churn(&w, "big", 30, 6 * MINUTE));
    int64_t idle;
    assert_true(holds(w.c, "big"));
    assert_int_equal(holds_amount(job_of(w.c, "big")->reservation, RESOURCE_CPU, &idle), 4000);
    assert_int_equal(idle, 4000);
    assert_int_equal(resource_vector_get(&w.c->scheduler->cache.free, RESOURCE_CPU), 4000);
    assert_says(big, "\"HoldsNodes\"");
    assert_says(big, "\"NodesHeld\"");
    assert_says(big, "\"Unschedulable\"");
    assert_false(churn(&w, "big", 30, 8 * MINUTE));
    assert_true(holds(w.c, "big"));
    assert_false(churn(&w, "big", 30, 2 * MINUTE));
    assert_false(holds(w.c, "big")); /* since minute 15 */
    assert_int_equal(held_cpu(w.c), 0);
    assert_int_equal(resource_vector_get(&w.c->scheduler->cache.free, RESOURCE_CPU), 0);
    assert_silent(big, "HoldsNodes");
    assert_false(churn(&w, "big", 30, 8 * MINUTE));
    assert_false(holds(w.c, "big"));
    assert_false(churn(&w, "big", 30, 2 * MINUTE));
    assert_true(holds(w.c, "big")); /* since minute 25, until minute 35 */
    assert_false(churn(&w, "big", 30, 28 * MINUTE));
    assert_false(holds(w.c, "big")); /* twice as long */
    assert_false(churn(&w, "big", 30, 2 * MINUTE));
    assert_true(holds(w.c, "big"));
    cluster_free(w.c);
}

/* Nothing else is to be seen of a reservation than that it is there: nothing is held that has no
 * room in a tenth. */
static void less_than_a_pod_is_nothing(void **state)
{
    (void)state;
    struct crowd w = crowd_new(CONF(""), 9, 1);
    struct test_group *big = add_gang(w.c, "big", 3, "1");
    assert_false(churn(&w, "big", 3, 20 * MINUTE));
    assert_false(holds(w.c, "big"));
    assert_silent(big, "HoldsNodes");
    assert_int_equal(big->patches, 2); /* Inqueue, and why it waits */
    cluster_free(w.c);
}

/* What is held stays while nodes pull images, which makes no room. */
static void images_change_nothing_that_is_held(void **state)
{
    (void)state;
    struct crowd w = crowd_new(CONF(""), 20, 1);
    add_gang(w.c, "big", 2, "1");
    assert_false(churn(&w, "big", 2, 5 * MINUTE - 5 * SECOND));
    for (unsigned i = 0; i < 10 && !held_cpu(w.c); i++) {
        turn_over(&w);
        run_for(w.c, 5 * SECOND);
    }
    int64_t held = held_cpu(w.c);
    assert_true(held > 0);
    uint64_t room = w.c->scheduler->cache.room;
    for (unsigned i = 0; i < 20; i++) {
        cleanup_arena struct arena arena = ARENA_INIT;
        show(w.c->nodes, false, false,
             arena_printf(&arena,
                          "{\"metadata\":{\"name\":\"n%u\",\"uid\":\"n-n%u\",\"resourceVersion\":"
                          "\"%llu\"},\"status\":{\"allocatable\":{\"cpu\":\"1\",\"memory\":"
                          "\"64Gi\",\"pods\":\"110\"},\"images\":[{\"names\":[\"a:1\"],"
                          "\"sizeBytes\":100000000}]}}",
                          i, i, (unsigned long long)++w.c->rv));
    }
    run(w.c);
    assert_int_equal(held_cpu(w.c), held);
    assert_true(w.c->scheduler->cache.room == room);
    check(w.c);
    cluster_free(w.c);
}

static void nodes_that_go_take_their_holds_along(void **state)
{
    (void)state;
    struct crowd w = crowd_new(CONF(""), 40, 1);
    add_gang(w.c, "big", 30, "1");
    assert_false(churn(&w, "big", 30, 6 * MINUTE));
    assert_int_equal(held_cpu(w.c), 4000);
    for (unsigned i = 0; i < 20; i++) { /* a tenth of the rest is 2 */
        cleanup_free char *name = xasprintf("n%u", i);
        delete_node(w.c, name);
        run_for(w.c, SECOND / 10);
        check(w.c);
    }
    run(w.c);
    check(w.c);
    assert_true(held_cpu(w.c) <= 2000);
    cluster_free(w.c);
}

/* ---- who ------------------------------------------------------------------------------------- */

static void one_of_a_queue_at_a_time(void **state)
{
    (void)state;
    struct crowd w = crowd_new(CONF(""), 60, 1);
    add_queue(w.c, "other", "", "\"weight\":1");
    add_gang(w.c, "a", 50, "1");
    add_gang(w.c, "b", 50, "1");
    add_group(w.c, "c", "\"minMember\":50,\"queue\":\"other\"");
    add_pods(w.c, "c", "w", 50, "1");
    bool a = false, b = false, c = false;
    for (unsigned i = 0; i < 360; i++) {
        assert_false(churn(&w, "a", 50, 5 * SECOND));
        assert_false(holds(w.c, "a") && holds(w.c, "b"));
        assert_true(held_cpu(w.c) <= 6000); /* of both queues */
        a = a || holds(w.c, "a");
        b = b || holds(w.c, "b");
        c = c || holds(w.c, "c");
    }
    assert_true(a && b && c);
    cluster_free(w.c);
}

static void what_never_fits_holds_nothing(void **state)
{
    (void)state;
    struct crowd w = crowd_new(CONF(""), 20, 2);
    add_node_json(w.c, "gpu0", "\"disk\":\"ssd\"", "", "\"cpu\":\"2\",\"pods\":\"110\"");
    add_node_json(w.c, "gpu1", "\"disk\":\"ssd\"", "", "\"cpu\":\"2\",\"pods\":\"110\"");
    add_gang(w.c, "many", 45, "1"); /* of 44 */
    add_group(w.c, "wide", "\"minMember\":1,\"queue\":\"other\"");
    add_pods(w.c, "wide", "w", 1, "3"); /* on nodes of 2 */
    add_group(w.c, "picky", "\"minMember\":5,\"queue\":\"third\"");
    for (unsigned i = 0; i < 5; i++) { /* on two nodes, together of 4 */
        cleanup_free char *name = xasprintf("picky-%u", i);
        add_pod_spec(w.c, name, "picky", "w",
                     ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],"
                     "\"nodeSelector\":{\"disk\":\"ssd\"}");
    }
    add_queue(w.c, "other", "", "\"weight\":1");
    add_queue(w.c, "third", "", "\"weight\":1");
    assert_false(churn(&w, "many", 45, 16 * MINUTE));
    assert_int_equal(held_cpu(w.c), 0);
    assert_true(job_of(w.c, "many")->never_fits);
    assert_true(job_of(w.c, "wide")->never_fits);
    assert_true(job_of(w.c, "picky")->never_fits);
    assert_int_equal(bound(w.c, "picky", NULL), 0);
    cluster_free(w.c);
}

/* Classes of different kinds of pods compete for the same nodes. */
static bool two_classes_fit(unsigned large, unsigned picky)
{
    struct cluster *c = cluster_new(CONF(""));
    bool fits;
    add_node_json(c, "n0", "\"disk\":\"ssd\"", "", "\"cpu\":\"4\",\"pods\":\"110\"");
    add_node_json(c, "n1", "", "", "\"cpu\":\"4\",\"pods\":\"110\"");
    cleanup_free char *spec = xasprintf("\"minMember\":%u", large + picky);
    add_group(c, "a", spec);
    run(c);
    add_pods(c, "a", "w", large, "3");
    for (unsigned i = 0; i < picky; i++) {
        cleanup_free char *name = xasprintf("a-p-%u", i);
        add_pod_spec(c, name, "a", "p",
                     ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"2\"}}}],"
                     "\"nodeSelector\":{\"disk\":\"ssd\"}");
    }
    struct reserve_plan *plan = reserve_plan_new(c->scheduler, job_of(c, "a"));
    while (!reserve_plan_step(plan))
        ;
    fits = reserve_plan_fits(plan);
    reserve_plan_free(plan);
    cluster_free(c);
    return fits;
}

static void the_emptied_cluster(void **state)
{
    (void)state;
    assert_true(two_classes_fit(1, 2)); /* 3 on n1, 2 + 2 on n0 */
    assert_true(two_classes_fit(2, 0));
    assert_false(two_classes_fit(2, 1)); /* 3 + 3 + 2 of 8, but 3 and 2 are more than 4 */
    assert_false(two_classes_fit(1, 3));
    assert_false(two_classes_fit(3, 0));
}

/* ---- others ---------------------------------------------------------------------------------- */

/* A gang holds two of 20 CPUs, one is free. */
static struct crowd held_crowd(void)
{
    struct crowd w = crowd_new(CONF(""), 20, 1);
    add_gang(w.c, "big", 10, "1");
    assert_false(churn(&w, "big", 10, 6 * MINUTE));
    assert_true(holds(w.c, "big"));
    assert_int_equal(held_cpu(w.c), 2000);
    return w;
}

static void others_are_told_for_whom(void **state)
{
    (void)state;
    struct crowd w = held_crowd();
    struct test_group *late = add_gang(w.c, "late", 1, "1");
    run_for(w.c, 10 * SECOND);
    assert_int_equal(bound(w.c, "late", NULL), 0);
    assert_says(late, "0/20 nodes are available: 18 Insufficient cpu, 2 node(s) are held for job "
                      "ns/big.");
    cleanup_buf struct buf page = BUF_INIT(65536);
    assert_int_equal(explain_page(STR("/explain/ns/big"), STR_NULL, &page, w.c->scheduler), 200);
    if (str_find(buf_str(&page), STR("holds:     places on 2 nodes for it")) < 0)
        fail_msg("%.*s", STR_ARG(buf_str(&page)));
    cluster_free(w.c);
}

static void pods_that_ask_for_nothing_go_there(void **state)
{
    (void)state;
    struct crowd w = held_crowd();
    add_group(w.c, "empty", "\"minMember\":1");
    add_pod_spec(w.c, "empty-0", "empty", "w", "");
    run_for(w.c, 10 * SECOND);
    assert_int_equal(bound(w.c, "empty", NULL), 1);
    check(w.c);
    cluster_free(w.c);
}

/* A job that comes before all is not kept off, and the gang backs off. */
static void higher_priority_is_not_kept_off(void **state)
{
    (void)state;
    struct crowd w = held_crowd();
    cleanup_arena struct arena arena = ARENA_INIT;
    show(w.c->priorityclasses, false, false,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"urgent\",\"uid\":\"pc\",\"resourceVersion\":"
                      "\"%llu\"},\"value\":1000}",
                      (unsigned long long)++w.c->rv));
    add_group(w.c, "urgent", "\"minMember\":1,\"priorityClassName\":\"urgent\"");
    add_pods(w.c, "urgent", "w", 1, "1");
    run_for(w.c, SECOND);
    assert_int_equal(bound(w.c, "urgent", NULL), 1);
    assert_false(holds(w.c, "big"));
    assert_false(churn(&w, "big", 10, 9 * MINUTE));
    assert_false(holds(w.c, "big"));
    check(w.c);
    cluster_free(w.c);
}

/* One that has no room there anyway leaves it as it is. */
static void higher_priority_without_use_for_it(void **state)
{
    (void)state;
    struct crowd w = held_crowd();
    cleanup_arena struct arena arena = ARENA_INIT;
    show(w.c->priorityclasses, false, false,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"urgent\",\"uid\":\"pc\",\"resourceVersion\":"
                      "\"%llu\"},\"value\":1000}",
                      (unsigned long long)++w.c->rv));
    add_group(w.c, "urgent", "\"minMember\":1,\"priorityClassName\":\"urgent\"");
    add_pods(w.c, "urgent", "w", 1, "2");
    run(w.c);
    assert_true(holds(w.c, "big"));
    cluster_free(w.c);
}

/* Whoever could not fit is looked at again when nodes change. */
static void more_nodes_are_another_question(void **state)
{
    (void)state;
    struct crowd w = crowd_new(CONF(""), 20, 1);
    add_gang(w.c, "big", 21, "1");
    assert_false(churn(&w, "big", 21, 6 * MINUTE));
    assert_true(job_of(w.c, "big")->never_fits);
    add_node(w.c, "n20", 1);
    assert_false(churn(&w, "big", 21, 30 * SECOND));
    assert_false(job_of(w.c, "big")->never_fits);
    assert_true(holds(w.c, "big"));
    cluster_free(w.c);
}

/* A pod of another scheduler takes a place that was held: another one is held for it. */
static void pods_of_other_schedulers_use_what_they_use(void **state)
{
    (void)state;
    struct crowd w = held_crowd();
    const struct reservation *reservation = job_of(w.c, "big")->reservation;
    struct test_pod *pod = add_pod_spec(
        w.c, "foreign", "", "", ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]");
    snprintf(pod->node, sizeof(pod->node), "%s", reservation->holds.items[0]->node->name);
    show_pod(w.c, pod);
    run(w.c);
    int64_t idle;
    assert_int_equal(holds_amount(reservation, RESOURCE_CPU, &idle), 2000);
    assert_int_equal(idle, 1000);
    assert_false(churn(&w, "big", 10, 20 * SECOND));
    assert_int_equal(holds_amount(reservation, RESOURCE_CPU, &idle), 2000);
    assert_int_equal(idle, 2000);
    cluster_free(w.c);
}

/* ---- letting go ------------------------------------------------------------------------------ */

static void delete_group(struct cluster *c, const char *name)
{
    struct test_group *group = find_group(c, name);
    group->gone = true;
    show_group(c, group);
}

static void delete_pod_of(struct cluster *c, const char *name)
{
    struct test_pod *pod = find_pod(c, name);
    pod->gone = true;
    show_pod(c, pod);
}

/* What was held is used by small jobs at once. */
static void assert_let_go(struct crowd *w)
{
    run(w->c);
    check(w->c);
    assert_int_equal(held_cpu(w->c), 0);
    assert_int_equal(resource_vector_get(&w->c->scheduler->cache.free, RESOURCE_CPU), 0);
    cluster_free(w->c);
}

static void who_goes_lets_go(void **state)
{
    (void)state;
    struct crowd w = held_crowd();
    delete_group(w.c, "big");
    assert_let_go(&w);
    w = held_crowd();
    delete_pod_of(w.c, "big-w-3"); /* nine of ten are left */
    assert_let_go(&w);
}

static void a_closed_queue_lets_go(void **state)
{
    (void)state;
    struct crowd w = crowd_new(CONF(""), 20, 1);
    add_queue(w.c, "other", "", "\"weight\":1");
    add_group(w.c, "big", "\"minMember\":10,\"queue\":\"other\"");
    add_pods(w.c, "big", "w", 10, "1");
    assert_false(churn(&w, "big", 10, 6 * MINUTE));
    assert_true(holds(w.c, "big"));
    cleanup_arena struct arena arena = ARENA_INIT;
    show(w.c->queues, false, false,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"other\",\"uid\":\"q-other\",\"resourceVersion\":"
                      "\"%llu\"},\"spec\":{\"weight\":1},\"status\":{\"state\":\"Closed\"}}",
                      (unsigned long long)++w.c->rv));
    assert_let_go(&w);
}

static void a_new_configuration_lets_go(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct crowd w = held_crowd();
    scheduler_set_config(w.c->scheduler, sched_config_parse(STR(AFTER("0")), &err));
    assert_let_go(&w);
}

static void who_does_not_lead_lets_go(void **state)
{
    (void)state;
    struct crowd w = held_crowd();
    scheduler_lead(w.c->scheduler, false);
    assert_int_equal(held_cpu(w.c), 0);
    scheduler_lead(w.c->scheduler, true);
    run(w.c);
    check(w.c);
    cluster_free(w.c);
}

static void who_is_told_to_lets_go_and_backs_off(void **state)
{
    (void)state;
    struct crowd w = held_crowd();
    reserve_drop(&w.c->scheduler->cache, job_of(w.c, "big"));
    assert_int_equal(held_cpu(w.c), 0);
    assert_false(churn(&w, "big", 10, 9 * MINUTE));
    assert_false(holds(w.c, "big"));
    assert_false(churn(&w, "big", 10, 2 * MINUTE));
    assert_true(holds(w.c, "big"));
    cluster_free(w.c);
}

/* Its queue may not have it any more: it does not wait for nodes. */
static void a_smaller_queue_lets_go(void **state)
{
    (void)state;
    struct crowd w = crowd_new(CONF("  - name: capacity\n"), 20, 1);
    add_queue(w.c, "other", "", "\"weight\":1");
    add_group(w.c, "big", "\"minMember\":10,\"queue\":\"other\"");
    add_pods(w.c, "big", "w", 10, "1");
    assert_false(churn(&w, "big", 10, 6 * MINUTE));
    cleanup_buf struct buf page = BUF_INIT(65536);
    explain_page(STR("/explain/ns/big"), STR_NULL, &page, w.c->scheduler);
    if (!holds(w.c, "big"))
        fail_msg("%.*s", STR_ARG(buf_str(&page)));
    add_queue(w.c, "other", "", "\"weight\":1,\"capability\":{\"cpu\":\"5\"}");
    assert_let_go(&w);
}

/* The gang starts as soon as what it lacks beside its places is free. */
static void the_holder_takes_its_places(void **state)
{
    (void)state;
    struct crowd w = held_crowd();
    for (unsigned i = 0; i < 8; i++) { /* at once, so that the small jobs are no faster */
        cleanup_free char *name = xasprintf("s%05u", w.ended++);
        set_phase(w.c, name, "Succeeded");
    }
    run(w.c);
    check(w.c);
    assert_int_equal(bound(w.c, "big", NULL), 10);
    assert_int_equal(held_cpu(w.c), 0);
    cluster_free(w.c);
}

/* Another PodGroup of its name has not starved yet, nor held anything in vain. */
static void one_made_again_starves_anew(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(AFTER("1m"));
    add_nodes(c, 20, 1);
    add_gang(c, "fills", 20, "1");
    run(c);
    struct test_group *group = add_gang(c, "gang", 2, "1");
    for (int i = 0; i < 2; i++) { /* first before it holds something, then after */
        run_for(c, i == 0 ? 50 * SECOND : MINUTE);
        assert_int_equal(holds(c, "gang"), i);
        group->gone = true;
        show_group(c, group);
        group = add_group(c, "gang", "\"minMember\":2");
        run_for(c, 50 * SECOND);
        assert_false(holds(c, "gang"));
        run_for(c, 20 * SECOND);
        assert_true(holds(c, "gang"));
    }
    check(c);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_jobs_starve_a_gang_without),
        cmocka_unit_test(a_gang_that_starves_gets_its_turn),
        cmocka_unit_test(nodes_are_emptied_for_large_pods),
        cmocka_unit_test(a_tenth_for_ten_minutes),
        cmocka_unit_test(less_than_a_pod_is_nothing),
        cmocka_unit_test(images_change_nothing_that_is_held),
        cmocka_unit_test(nodes_that_go_take_their_holds_along),
        cmocka_unit_test(one_of_a_queue_at_a_time),
        cmocka_unit_test(what_never_fits_holds_nothing),
        cmocka_unit_test(the_emptied_cluster),
        cmocka_unit_test(others_are_told_for_whom),
        cmocka_unit_test(pods_that_ask_for_nothing_go_there),
        cmocka_unit_test(higher_priority_is_not_kept_off),
        cmocka_unit_test(higher_priority_without_use_for_it),
        cmocka_unit_test(more_nodes_are_another_question),
        cmocka_unit_test(pods_of_other_schedulers_use_what_they_use),
        cmocka_unit_test(who_goes_lets_go),
        cmocka_unit_test(a_closed_queue_lets_go),
        cmocka_unit_test(a_new_configuration_lets_go),
        cmocka_unit_test(who_does_not_lead_lets_go),
        cmocka_unit_test(who_is_told_to_lets_go_and_backs_off),
        cmocka_unit_test(a_smaller_queue_lets_go),
        cmocka_unit_test(the_holder_takes_its_places),
        cmocka_unit_test(one_made_again_starves_anew),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
