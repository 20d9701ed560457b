/*
 * Whom a plan evicts for a job, on small clusters, worked out by hand: in which order, of which
 * jobs. (What else matters: test_evict_room.c. That no better set exists: test_evict_brute.c.)
 */
#include "plans.h"

static const char plain[] = PLANS_CONF("");

#define STAYS "\"volcano.sh/preemptable\":\"false\""

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

/* drf would have them share; priority has the last word. */
static void those_below_take_nothing_back(void **state)
{
    (void)state;
    struct cluster *c = plans_new(PLANS_CONF("  - name: drf\n"));
    plans_nodes(c, 1, 2);
    put_loose(c, "v", 11);
    put_pods(c, 2, .job = "v", .node = "n0", .cpu = "1");
    put_taker(c, 1, "1");
    plans_assert(c, "p", PREEMPT, "nothing");
    put_loose(c, "v", 10);
    plans_assert(c, "p", PREEMPT, "decided: v-1 -> p-0@n0");
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

/* What a budget lets go may be used up by those who cost less and are not enough: then another one
 * goes, a single pod or a gang. */
static void a_budget_is_for_whom_it_helps(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 1, 4);
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n0", .cpu = "1", .labels = "\"app\":\"x\"");
    put_pod(c, .name = "v-1", .job = "v", .node = "n0", .cpu = "3", .ran = 1000,
            .labels = "\"app\":\"x\"");
    plans_budget(c, "x", "x", 1);
    put_taker(c, 1, "3");
    plans_assert(c, "p", PREEMPT, "decided: v-1 -> p-0@n0");
    put_job(c, .name = "g", .min = 1, .priority = 2);
    put_pod(c, .name = "v-1", .job = "g", .node = "n0", .cpu = "3", .ran = 1000,
            .labels = "\"app\":\"x\"");
    plans_assert(c, "p", PREEMPT, "decided: v-1* -> p-0@n0");
    plans_budget(c, "x", "x", 0);
    plans_assert(c, "p", PREEMPT, "nothing");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_never_fits_evicts_nobody),
        cmocka_unit_test(without_victims_nothing_is_decided),
        cmocka_unit_test(equals_and_betters_stay),
        cmocka_unit_test(those_below_take_nothing_back),
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
        cmocka_unit_test(a_budget_is_for_whom_it_helps),
        cmocka_unit_test(higher_ranks_take_from_lower_ones),
        cmocka_unit_test(a_job_does_not_break_itself),
        cmocka_unit_test(others_have_no_part_in_it),
        cmocka_unit_test(what_is_more_is_taken_as_far_as_it_goes),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
