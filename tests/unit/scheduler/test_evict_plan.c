/*
 * Whom a plan evicts for a job, on small clusters, worked out by hand. (That no better set exists,
 * on random ones: test_evict_brute.c.)
 */
#include "plans.h"

static const char plain[] = PLANS_CONF("");
static const char shared[] = PLANS_CONF("  - name: proportion\n");
static const char limited[] = PLANS_CONF("  - name: capacity\n");

#define RECLAIM RULES(.kind = EVICT_RECLAIM, .whole = true)
#define STAYS "\"volcano.sh/preemptable\":\"false\""

/* A job of priority 10 that waits with `count` pods and needs them all. */
static void put_taker(struct cluster *c, unsigned count, const char *cpu)
{
    put_job(c, .name = "p", .min = (int)count, .priority = 10);
    put_pods(c, count, .job = "p", .cpu = cpu);
}

/* A job of single pods: it needs none of them. */
static void put_loose(struct cluster *c, const char *name, int priority)
{
    put_job(c, .name = name, .min = 0, .priority = priority);
}

/* ---- nobody ---------------------------------------------------------------------------------- */

static void what_never_fits_evicts_nobody(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 2, 4);
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "3");
    put_pod(c, .name = "v-1", .job = "v", .node = "n1", .cpu = "3");
    put_taker(c, 3, "4");
    plans_assert(c, "p", PREEMPT, "nothing");
    put_job(c, .name = "large", .min = 1, .priority = 10);
    put_pod(c, .name = "large-0", .job = "large", .cpu = "5");
    plans_assert(c, "large", PREEMPT, "nothing");
    cluster_free(c);
}

static void without_victims_nothing_is_decided(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 4);
    put_pod(c, .name = "other", .node = "n0", .cpu = "4");
    put_taker(c, 1, "1");
    plans_assert(c, "p", PREEMPT, "nothing");
    cluster_free(c);
}

static void equals_and_betters_stay(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 4);
    put_loose(c, "same", 10);
    put_loose(c, "more", 11);
    put_pod(c, .name = "same-0", .job = "same", .node = "n0", .cpu = "2");
    put_pod(c, .name = "more-0", .job = "more", .node = "n0", .cpu = "2");
    put_taker(c, 1, "1");
    plans_assert(c, "p", PREEMPT, "nothing");
    cluster_free(c);
}

static void whoever_never_preempts_does_not(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 2);
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "2");
    put_job(c, .name = "p", .min = 1, .priority = 10);
    put_pod(c, .name = "p-0", .job = "p", .cpu = "1", .spec = ",\"preemptionPolicy\":\"Never\"");
    plans_assert(c, "p", PREEMPT, "refused");
    cluster_free(c);
}

/* ---- the order of cost ----------------------------------------------------------------------- */

/* Two nodes of 4 CPUs, and a job of priority 10 that wants 4 CPUs on one of them. */
static struct cluster *two_nodes(void)
{
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 2, 4);
    put_taker(c, 1, "4");
    return c;
}

static void low_priorities_go_before_young_pods(void **state)
{
    (void)state;
    struct cluster *c = two_nodes();
    put_loose(c, "a", 5);
    put_loose(c, "b", 1);
    put_pod(c, .name = "a-0", .job = "a", .node = "n0", .cpu = "4", .ran = 1);
    put_pod(c, .name = "b-0", .job = "b", .node = "n1", .cpu = "4", .ran = 100000);
    plans_assert(c, "p", PREEMPT, "decided: b-0 -> p-0@n1");
    cluster_free(c);
}

static void the_highest_priority_counts(void **state)
{
    (void)state;
    struct cluster *c = two_nodes();
    put_loose(c, "a", 2);
    put_loose(c, "b", 1);
    put_loose(c, "x", 3);
    put_pod(c, .name = "a-0", .job = "a", .node = "n0", .cpu = "2", .ran = 1000);
    put_pod(c, .name = "a-1", .job = "a", .node = "n0", .cpu = "2", .ran = 1000);
    put_pod(c, .name = "b-0", .job = "b", .node = "n1", .cpu = "2");
    put_pod(c, .name = "x-0", .job = "x", .node = "n1", .cpu = "2");
    plans_assert(c, "p", PREEMPT, "decided: a-0 a-1 -> p-0@n0");
    cluster_free(c);
}

/* 100 seconds of the 8 CPUs' half are 50 million, in the same step as 55. */
static void few_pods_go_before_many(void **state)
{
    (void)state;
    struct cluster *c = two_nodes();
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "2", .ran = 100);
    put_pod(c, .name = "v-1", .job = "v", .node = "n0", .cpu = "2", .ran = 100);
    put_pod(c, .name = "v-2", .job = "v", .node = "n1", .cpu = "4", .ran = 110);
    plans_assert(c, "p", PREEMPT, "decided: v-2 -> p-0@n1");
    cluster_free(c);
}

static void much_lost_work_outweighs_pods(void **state)
{
    (void)state;
    struct cluster *c = two_nodes();
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "2", .ran = 100);
    put_pod(c, .name = "v-1", .job = "v", .node = "n0", .cpu = "2", .ran = 100);
    put_pod(c, .name = "v-2", .job = "v", .node = "n1", .cpu = "4", .ran = 300);
    plans_assert(c, "p", PREEMPT, "decided: v-0 v-1 -> p-0@n0");
    cluster_free(c);
}

static void of_as_many_pods_the_younger_go(void **state)
{
    (void)state;
    struct cluster *c = two_nodes();
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "4", .ran = 110);
    put_pod(c, .name = "v-1", .job = "v", .node = "n1", .cpu = "4", .ran = 109);
    plans_assert(c, "p", PREEMPT, "decided: v-1 -> p-0@n1");
    cluster_free(c);
}

static void of_equals_the_first_node(void **state)
{
    (void)state;
    struct cluster *c = two_nodes();
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-1", .job = "v", .node = "n1", .cpu = "4", .ran = 9);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "4", .ran = 9);
    plans_assert(c, "p", PREEMPT, "decided: v-0 -> p-0@n0");
    cluster_free(c);
}

/* What is in order up to the one with which the pod fits, less what is not needed then. */
static void whoever_is_not_needed_stays(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 6);
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "1", .ran = 100);
    put_pod(c, .name = "v-1", .job = "v", .node = "n0", .cpu = "1", .ran = 200);
    put_pod(c, .name = "v-2", .job = "v", .node = "n0", .cpu = "4", .ran = 400);
    put_taker(c, 1, "4");
    plans_assert(c, "p", PREEMPT, "decided: v-2 -> p-0@n0");
    cluster_free(c);
}

static void a_gang_takes_the_cheapest_places(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 4, 2);
    for (int i = 0; i < 4; i++) {
        cleanup_free char *name = xasprintf("v%d", i), *node = xasprintf("n%d", i);
        cleanup_free char *pod = xasprintf("v%d-0", i);
        put_loose(c, name, i == 2 ? 7 : i + 1);
        put_pod(c, .name = pod, .job = name, .node = node, .cpu = "2");
    }
    put_taker(c, 3, "2");
    plans_assert(c, "p", PREEMPT, "decided: v0-0 v1-0 v3-0 -> p-0@n0 p-1@n1 p-2@n3");
    cluster_free(c);
}

/* ---- gangs that give ------------------------------------------------------------------------- */

/* A node of 4 CPUs with a gang of 4 of which 2 are needed. */
static struct cluster *one_gang(unsigned takers)
{
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 4);
    put_job(c, .name = "a", .min = 2, .priority = 1);
    put_pods(c, 4, .job = "a", .node = "n0", .cpu = "1");
    put_taker(c, takers, "1");
    return c;
}

static void what_is_above_the_minimum_goes_alone(void **state)
{
    (void)state;
    struct cluster *c = one_gang(2);
    plans_assert(c, "p", PREEMPT, "decided: a-2 a-3 -> p-0@n0 p-1@n0");
    cluster_free(c);
}

static void a_gang_goes_whole(void **state)
{
    (void)state;
    struct cluster *c = one_gang(3);
    plans_assert(c, "p", PREEMPT, "decided: a-0* a-1* a-2 a-3 -> p-0@n0 p-1@n0 p-2@n0");
    plans_assert(c, "p", RULES(.kind = EVICT_PREEMPT), "nothing");
    cluster_free(c);
}

static void gangs_may_be_broken(void **state)
{
    (void)state;
    struct cluster *c = one_gang(3);
    plans_assert(c, "p", RULES(.kind = EVICT_PREEMPT, .break_gangs = true),
                 "decided: a-1 a-2 a-3 -> p-0@n0 p-1@n0 p-2@n0");
    cluster_free(c);
}

static void a_gang_goes_from_all_its_nodes(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 3, 2);
    put_job(c, .name = "a", .min = 3, .priority = 1);
    put_pod(c, .name = "a-0", .job = "a", .node = "n0", .cpu = "2");
    put_pod(c, .name = "a-1", .job = "a", .node = "n1", .cpu = "2");
    put_pod(c, .name = "a-2", .job = "a", .node = "n2", .cpu = "2");
    put_taker(c, 1, "2");
    plans_assert(c, "p", PREEMPT, "decided: a-0* a-1* a-2* -> p-0@n0");
    cluster_free(c);
}

/* Of equal priority: one pod of a loose job is less than a gang of two. */
static void single_pods_go_before_gangs(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 2, 2);
    put_job(c, .name = "a", .min = 2, .priority = 1);
    put_pods(c, 2, .job = "a", .node = "n0", .cpu = "1", .ran = 60);
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n1", .cpu = "2", .ran = 60);
    put_taker(c, 1, "1");
    plans_assert(c, "p", PREEMPT, "decided: v-0 -> p-0@n1");
    cluster_free(c);
}

static void minimums_of_tasks_hold(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 5);
    put_job(c, .name = "a", .min = 3, .priority = 1,
            .spec = ",\"minTaskMember\":{\"ps\":1,\"w\":2}");
    put_pods(c, 3, .job = "a", .node = "n0", .cpu = "1");
    put_pod(c, .name = "a-ps-3", .job = "a", .node = "n0", .cpu = "1", .role = "ps");
    put_pod(c, .name = "a-ps-4", .job = "a", .node = "n0", .cpu = "1", .role = "ps");
    put_taker(c, 2, "1");
    plans_assert(c, "p", PREEMPT, "decided: a-2 a-ps-4 -> p-0@n0 p-1@n0");
    cluster_free(c);
}

/* ---- who must stay --------------------------------------------------------------------------- */

/* A gang of two of which one has something in its labels or spec. */
static struct cluster *marked_gang(const char *labels, const char *spec)
{
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 2);
    put_job(c, .name = "a", .min = 2, .priority = 1);
    put_pod(c, .name = "a-0", .job = "a", .node = "n0", .cpu = "1");
    put_pod(c, .name = "a-1", .job = "a", .node = "n0", .cpu = "1", .labels = labels, .spec = spec);
    put_taker(c, 1, "1");
    return c;
}

static void assert_marked(const char *labels, const char *spec, const char *expected)
{
    struct cluster *c = marked_gang(labels, spec);
    plans_assert(c, "p", PREEMPT, expected);
    cluster_free(c);
}

static void a_gang_stays_when_one_must(void **state)
{
    (void)state;
    assert_marked("", "", "decided: a-0* a-1* -> p-0@n0");
    assert_marked(STAYS, "", "nothing");
    assert_marked("", ",\"priorityClassName\":\"system-node-critical\"", "nothing");
}

/* Bound is enough in a queue of its own; a pod on a node that is not heard of counts for nothing.
 */
static void what_is_bound_may_go(void **state)
{
    (void)state;
    struct cluster *c = marked_gang("", "");
    put_pod(c, .name = "a-1", .job = "a", .node = "n0", .cpu = "1", .phase = "Pending");
    plans_assert(c, "p", PREEMPT, "decided: a-0* a-1* -> p-0@n0");
    put_pod(c, .name = "a-1", .job = "a", .node = "n0", .cpu = "1", .phase = "Unknown");
    plans_assert(c, "p", PREEMPT, "decided: a-0* -> p-0@n0");
    cluster_free(c);
}

static void a_group_may_refuse(void **state)
{
    (void)state;
    struct cluster *c = marked_gang("", "");
    put_job(c, .name = "a", .min = 2, .priority = 1, .meta = ",\"annotations\":{" STAYS "}");
    plans_assert(c, "p", PREEMPT, "nothing");
    cluster_free(c);
}

static void whoever_may_go_goes_instead(void **state)
{
    (void)state;
    struct cluster *c = marked_gang(STAYS, "");
    put_job(c, .name = "a", .min = 1, .priority = 1);
    plans_assert(c, "p", PREEMPT, "decided: a-0 -> p-0@n0");
    put_pod(c, .name = "a-1", .job = "a", .node = "n0", .cpu = "1",
            .spec = ",\"priorityClassName\":\"system-node-critical\"");
    plans_assert(c, "p", PREEMPT, "decided: a-0 -> p-0@n0");
    put_pod(c, .name = "a-1", .job = "a", .node = "n0", .cpu = "1", .labels = "\"app\":\"x\"");
    plans_budget(c, "x", "x", 0);
    plans_assert(c, "p", PREEMPT, "decided: a-0 -> p-0@n0");
    cluster_free(c);
}

static void budgets_keep_gangs(void **state)
{
    (void)state;
    struct cluster *c = marked_gang("\"app\":\"x\"", "");
    plans_budget(c, "one", "x", 0);
    plans_assert(c, "p", PREEMPT, "nothing");
    plans_budget(c, "one", "x", 1);
    plans_assert(c, "p", PREEMPT, "decided: a-0* a-1* -> p-0@n0");
    put_pod(c, .name = "a-0", .job = "a", .node = "n0", .cpu = "1", .labels = "\"app\":\"x\"");
    plans_assert(c, "p", PREEMPT, "nothing");
    plans_budget(c, "one", "x", 2);
    plans_assert(c, "p", PREEMPT, "decided: a-0* a-1* -> p-0@n0");
    plans_budget(c, "two", "x", 2);
    plans_assert(c, "p", PREEMPT, "nothing");
    cluster_free(c);
}

static void budgets_count_all_victims(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 2, 1);
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "1", .labels = "\"app\":\"x\"");
    put_pod(c, .name = "v-1", .job = "v", .node = "n1", .cpu = "1", .labels = "\"app\":\"x\"");
    plans_budget(c, "x", "x", 1);
    put_taker(c, 2, "1");
    plans_assert(c, "p", PREEMPT, "nothing");
    plans_budget(c, "x", "x", 2);
    plans_assert(c, "p", PREEMPT, "decided: v-0 v-1 -> p-0@n0 p-1@n1");
    cluster_free(c);
}

/* ---- inside a job ---------------------------------------------------------------------------- */

#define INSIDE RULES(.kind = EVICT_PREEMPT, .inside = true, .whole = true)

static void higher_ranks_take_from_lower_ones(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 3);
    put_job(c, .name = "p", .min = 2, .priority = 1);
    put_pod(c, .name = "p-0", .job = "p", .node = "n0", .cpu = "1", .rank = 1);
    put_pod(c, .name = "p-1", .job = "p", .node = "n0", .cpu = "1", .rank = 3);
    put_pod(c, .name = "p-2", .job = "p", .node = "n0", .cpu = "1", .rank = 5);
    put_pod(c, .name = "p-3", .job = "p", .cpu = "1", .rank = 3);
    plans_assert(c, "p", INSIDE, "decided: p-0 -> p-3@n0");
    put_pod(c, .name = "p-3", .job = "p", .cpu = "1", .rank = 1);
    plans_assert(c, "p", INSIDE, "nothing");
    cluster_free(c);
}

static void a_job_does_not_break_itself(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 4);
    put_job(c, .name = "p", .min = 2, .priority = 1);
    put_pods(c, 2, .job = "p", .node = "n0", .cpu = "2", .rank = 1);
    put_pod(c, .name = "p-2", .job = "p", .cpu = "4", .rank = 5);
    plans_assert(c, "p", INSIDE, "nothing");
    put_job(c, .name = "p", .min = 1, .priority = 1);
    plans_assert(c, "p", INSIDE, "decided: p-0 p-1 -> p-2@n0");
    cluster_free(c);
}

static void others_have_no_part_in_it(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 2);
    put_loose(c, "v", 0);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "1");
    put_job(c, .name = "p", .min = 1, .priority = 1);
    put_pod(c, .name = "p-0", .job = "p", .node = "n0", .cpu = "1", .rank = 5);
    put_pod(c, .name = "p-1", .job = "p", .cpu = "1", .rank = 5);
    plans_assert(c, "p", INSIDE, "nothing");
    plans_assert(c, "p", PREEMPT, "decided: v-0 -> p-1@n0");
    cluster_free(c);
}

/* ---- above the minimum ----------------------------------------------------------------------- */

static void what_is_more_is_taken_as_far_as_it_goes(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 3);
    put_loose(c, "v", 1);
    put_pods(c, 2, .job = "v", .node = "n0", .cpu = "1");
    put_job(c, .name = "p", .min = 1, .priority = 10);
    put_pod(c, .name = "p-0", .job = "p", .node = "n0", .cpu = "1");
    for (int i = 1; i < 5; i++) {
        cleanup_free char *name = xasprintf("p-%d", i);
        put_pod(c, .name = name, .job = "p", .cpu = "1");
    }
    plans_assert(c, "p", PREEMPT, "decided: v-0 v-1 -> p-1@n0 p-2@n0");
    cluster_free(c);
}

/* ---- between queues -------------------------------------------------------------------------- */

/* 8 CPUs, of which queues a and b hold 4 each; p waits in queue t with pods of one CPU. */
static struct cluster *three_queues(const char *a, const char *b, unsigned takers)
{
    struct cluster *c = plans_new(shared);
    plans_nodes(c, 2, 4);
    plans_queue(c, "a", a);
    plans_queue(c, "b", b);
    plans_queue(c, "t", "\"weight\":1");
    put_job(c, .name = "a", .queue = "a", .min = 0, .priority = 1);
    put_job(c, .name = "b", .queue = "b", .min = 0, .priority = 99);
    put_pods(c, 4, .job = "a", .node = "n0", .cpu = "1", .ran = 10);
    put_pods(c, 4, .job = "b", .node = "n1", .cpu = "1", .ran = 10);
    put_job(c, .name = "p", .queue = "t", .min = (int)takers, .priority = 0);
    put_pods(c, takers, .job = "p", .cpu = "1");
    return c;
}

#define SAME "\"weight\":1"

static void the_queue_that_is_served_last_gives_first(void **state)
{
    (void)state;
    struct cluster *c = three_queues(SAME, SAME ",\"priority\":-1", 1);
    plans_assert(c, "p", RECLAIM, "decided: b-3 -> p-0@n1");
    cluster_free(c);
    c = three_queues(SAME ",\"priority\":-1", SAME, 1);
    plans_assert(c, "p", RECLAIM, "decided: a-3 -> p-0@n0");
    cluster_free(c);
}

/* Each deserves 3, and 2 of the third. */
static void queues_give_what_is_beyond_their_share(void **state)
{
    (void)state;
    struct cluster *c = three_queues(SAME, SAME, 2);
    plans_assert(c, "p", RECLAIM, "decided: a-3 b-3 -> p-0@n1 p-1@n0");
    plans_assert(c, "p", PREEMPT, "nothing");
    cluster_free(c);
}

/* Each deserves 2 2/3. */
static void nobody_takes_more_than_it_deserves(void **state)
{
    (void)state;
    struct cluster *c = three_queues(SAME, SAME ",\"reclaimable\":false", 3);
    plans_assert(c, "p", RECLAIM, "refused");
    put_job(c, .name = "p", .queue = "t", .min = 0);
    plans_assert(c, "p", RECLAIM, "decided: a-2 a-3 -> p-0@n0 p-1@n0");
    cluster_free(c);
}

static void queues_may_keep_what_they_have(void **state)
{
    (void)state;
    struct cluster *c = three_queues(SAME ",\"reclaimable\":false", SAME, 1);
    plans_assert(c, "p", RECLAIM, "decided: b-3 -> p-0@n1");
    plans_queue(c, "b", SAME ",\"reclaimable\":false");
    plans_assert(c, "p", RECLAIM, "nothing");
    cluster_free(c);
}

static void what_does_not_run_yet_is_not_reclaimed(void **state)
{
    (void)state;
    struct cluster *c = three_queues(SAME, SAME ",\"reclaimable\":false", 1);
    put_pods(c, 4, .job = "a", .node = "n0", .cpu = "1", .phase = "Pending");
    plans_assert(c, "p", RECLAIM, "nothing");
    cluster_free(c);
}

/* ---- kinds that judge whole jobs ------------------------------------------------------------- */

static void whole_jobs_of_lower_priority(void **state)
{
    (void)state;
    static const struct evict_rules rules = {.kind = EVICT_GANG_PREEMPT, .whole = true};
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 2, 2);
    put_job(c, .name = "a", .min = 2, .priority = 10);
    put_pods(c, 2, .job = "a", .node = "n0", .cpu = "1");
    put_job(c, .name = "b", .min = 2, .priority = 9);
    put_pods(c, 2, .job = "b", .node = "n1", .cpu = "1", .ran = 9000);
    put_taker(c, 2, "1");
    plans_assert(c, "p", &rules, "decided: b-0* b-1* -> p-0@n1 p-1@n1");
    put_job(c, .name = "b", .min = 2, .priority = 10);
    plans_assert(c, "p", &rules, "nothing");
    cluster_free(c);
}

static void whole_jobs_of_other_queues(void **state)
{
    (void)state;
    struct cluster *c = three_queues(SAME, SAME ",\"reclaimable\":false", 2);
    put_job(c, .name = "a", .queue = "a", .min = 4, .priority = 1);
    plans_assert(c, "p", RULES(.kind = EVICT_GANG_RECLAIM, .whole = true),
                 "decided: a-0* a-1* a-2* a-3* -> p-0@n0 p-1@n0");
    plans_assert(c, "p", RULES(.kind = EVICT_GANG_RECLAIM), "nothing");
    cluster_free(c);
}

/* ---- room that comes by itself --------------------------------------------------------------- */

static void pods_that_leave_are_waited_for(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 2, 2);
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "2", .leaves = 20);
    put_taker(c, 1, "2");
    plans_node(c, "n1", 1, "");
    plans_assert(c, "p", PREEMPT, "no need");
    plans_node(c, "n1", 2, "");
    put_pod(c, .name = "v-1", .job = "v", .node = "n1", .cpu = "2");
    plans_assert(c, "p", PREEMPT, "no need");
    put_job(c, .name = "p", .min = 2, .priority = 10);
    put_pods(c, 2, .job = "p", .cpu = "2");
    plans_assert(c, "p", PREEMPT, "decided: v-1 -> p-0@n0 p-1@n1");
    cluster_free(c);
}

static void pods_that_do_not_leave_are_not(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 2, 2);
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "2", .leaves = -61);
    put_pod(c, .name = "v-1", .job = "v", .node = "n1", .cpu = "2");
    put_taker(c, 1, "2");
    plans_assert(c, "p", PREEMPT, "decided: v-1 -> p-0@n1");
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "2", .leaves = -59);
    plans_assert(c, "p", PREEMPT, "no need");
    cluster_free(c);
}

/* ---- more than room -------------------------------------------------------------------------- */

#define APP "\"app\":\"x\""
#define OTHERS "\"labelSelector\":{\"matchLabels\":{" APP "}}"
#define APART                                                                                      \
    ",\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":["     \
    "{" OTHERS ",\"topologyKey\":\"kubernetes.io/hostname\"}]}}"
#define SPREAD                                                                                     \
    ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"whenUnsatisfiable\":\"DoNotSchedule\","      \
    "\"topologyKey\":\"kubernetes.io/hostname\"," OTHERS "}]"

static void whoever_is_in_the_way_goes(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 8);
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "1");
    put_pod(c, .name = "v-1", .job = "v", .node = "n0", .cpu = "1", .labels = APP, .ran = 900);
    put_job(c, .name = "p", .min = 1, .priority = 10);
    put_pod(c, .name = "p-0", .job = "p", .cpu = "1", .spec = APART);
    plans_assert(c, "p", PREEMPT, "decided: v-1 -> p-0@n0");
    cluster_free(c);
}

static void ports_are_freed(void **state)
{
    (void)state;
    static const char port[] = ",\"ports\":[{\"containerPort\":80,\"hostPort\":8080}]";
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 8);
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "1");
    put_pod(c, .name = "v-1", .job = "v", .node = "n0", .cpu = "1", .ports = port, .ran = 900);
    put_job(c, .name = "p", .min = 1, .priority = 10);
    put_pod(c, .name = "p-0", .job = "p", .cpu = "1", .ports = port);
    plans_assert(c, "p", PREEMPT, "decided: v-1 -> p-0@n0");
    cluster_free(c);
}

static void pods_are_spread_out(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 2, 8);
    put_pod(c, .name = "full", .node = "n1", .cpu = "8");
    put_loose(c, "v", 1);
    put_pods(c, 2, .job = "v", .node = "n0", .cpu = "1", .labels = APP);
    put_job(c, .name = "p", .min = 1, .priority = 10);
    put_pod(c, .name = "p-0", .job = "p", .cpu = "1", .labels = APP, .spec = SPREAD);
    plans_assert(c, "p", PREEMPT, "decided: v-0 v-1 -> p-0@n0");
    cluster_free(c);
}

static void a_full_queue_gives_to_its_own(void **state)
{
    (void)state;
    struct cluster *c = plans_new(limited);
    plans_nodes(c, 2, 4);
    plans_queue(c, "q", "\"capability\":{\"cpu\":\"3\"}");
    put_job(c, .name = "v", .queue = "q", .min = 0, .priority = 1);
    put_pods(c, 3, .job = "v", .node = "n0", .cpu = "1");
    put_job(c, .name = "p", .queue = "q", .min = 2, .priority = 10);
    put_pods(c, 2, .job = "p", .cpu = "1");
    plans_assert(c, "p", PREEMPT, "decided: v-1 v-2 -> p-0@n0 p-1@n0");
    put_job(c, .name = "p", .queue = "q", .min = 4, .priority = 10);
    put_pods(c, 4, .job = "p", .cpu = "1");
    plans_assert(c, "p", PREEMPT, "nothing");
    cluster_free(c);
}

/* ---- sparing --------------------------------------------------------------------------------- */

static void whoever_went_early_may_stay(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 2, 4);
    put_loose(c, "a", 1);
    put_pod(c, .name = "a-0", .job = "a", .node = "n0", .cpu = "1");
    put_job(c, .name = "b", .min = 2, .priority = 2);
    put_pod(c, .name = "b-0", .job = "b", .node = "n0", .cpu = "3");
    put_pod(c, .name = "b-1", .job = "b", .node = "n1", .cpu = "4");
    put_taker(c, 3, "1");
    cleanup_free char *text = plans_decide(c, "p", PREEMPT);
    assert_true(str_starts(str_of(text), STR("decided: b-0* b-1* -> ")));
    plans_check_undone(c, "p", PREEMPT);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_never_fits_evicts_nobody),
        cmocka_unit_test(without_victims_nothing_is_decided),
        cmocka_unit_test(equals_and_betters_stay),
        cmocka_unit_test(whoever_never_preempts_does_not),
        cmocka_unit_test(low_priorities_go_before_young_pods),
        cmocka_unit_test(the_highest_priority_counts),
        cmocka_unit_test(few_pods_go_before_many),
        cmocka_unit_test(much_lost_work_outweighs_pods),
        cmocka_unit_test(of_as_many_pods_the_younger_go),
        cmocka_unit_test(of_equals_the_first_node),
        cmocka_unit_test(whoever_is_not_needed_stays),
        cmocka_unit_test(a_gang_takes_the_cheapest_places),
        cmocka_unit_test(what_is_above_the_minimum_goes_alone),
        cmocka_unit_test(a_gang_goes_whole),
        cmocka_unit_test(gangs_may_be_broken),
        cmocka_unit_test(a_gang_goes_from_all_its_nodes),
        cmocka_unit_test(single_pods_go_before_gangs),
        cmocka_unit_test(minimums_of_tasks_hold),
        cmocka_unit_test(a_gang_stays_when_one_must),
        cmocka_unit_test(what_is_bound_may_go),
        cmocka_unit_test(a_group_may_refuse),
        cmocka_unit_test(whoever_may_go_goes_instead),
        cmocka_unit_test(budgets_keep_gangs),
        cmocka_unit_test(budgets_count_all_victims),
        cmocka_unit_test(higher_ranks_take_from_lower_ones),
        cmocka_unit_test(a_job_does_not_break_itself),
        cmocka_unit_test(others_have_no_part_in_it),
        cmocka_unit_test(what_is_more_is_taken_as_far_as_it_goes),
        cmocka_unit_test(the_queue_that_is_served_last_gives_first),
        cmocka_unit_test(queues_give_what_is_beyond_their_share),
        cmocka_unit_test(nobody_takes_more_than_it_deserves),
        cmocka_unit_test(queues_may_keep_what_they_have),
        cmocka_unit_test(what_does_not_run_yet_is_not_reclaimed),
        cmocka_unit_test(whole_jobs_of_lower_priority),
        cmocka_unit_test(whole_jobs_of_other_queues),
        cmocka_unit_test(pods_that_leave_are_waited_for),
        cmocka_unit_test(pods_that_do_not_leave_are_not),
        cmocka_unit_test(whoever_is_in_the_way_goes),
        cmocka_unit_test(ports_are_freed),
        cmocka_unit_test(pods_are_spread_out),
        cmocka_unit_test(a_full_queue_gives_to_its_own),
        cmocka_unit_test(whoever_went_early_may_stay),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
