/*
 * Plans of evictions, worked out by hand: between queues and of whole jobs, where room comes by
 * itself, where more than room is lacking, and who is spared in the end.
 */
#include "plans.h"

static const char plain[] = PLANS_CONF("");
static const char shared[] = PLANS_CONF("  - name: proportion\n");
static const char limited[] = PLANS_CONF("  - name: capacity\n");
static const char tree[] = PLANS_CONF("  - name: capacity\n    enableHierarchy: true\n");

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

/* As a pod whose image cannot be had, which may take for ever. */
static void what_does_not_run_gives_its_room_back_too(void **state)
{
    (void)state;
    struct cluster *c = three_queues(SAME, SAME ",\"reclaimable\":false", 1);
    put_pods(c, 4, .job = "a", .node = "n0", .cpu = "1", .phase = "Pending");
    plans_assert(c, "p", RECLAIM, "decided: a-3 -> p-0@n0");
    cluster_free(c);
}

/* Of a gang of four one pod does not run; of another pods have failed or leave. */
static void gangs_of_which_not_all_run_give_it_back(void **state)
{
    (void)state;
    static const struct evict_rules jobs = {.kind = EVICT_GANG_RECLAIM, .whole = true};
    struct cluster *c = three_queues(SAME, SAME ",\"reclaimable\":false", 1);
    put_job(c, .name = "a", .queue = "a", .min = 4);
    put_pod(c, .name = "a-1", .job = "a", .node = "n0", .cpu = "1", .phase = "Pending");
    plans_assert(c, "p", RECLAIM, "decided: a-0* a-1* a-2* a-3* -> p-0@n0");
    plans_assert(c, "p", &jobs, "decided: a-0* a-1* a-2* a-3* -> p-0@n0");
    put_job(c, .name = "a", .queue = "a", .min = 3); /* the last is more than it needs */
    plans_assert(c, "p", RECLAIM, "decided: a-3 -> p-0@n0");
    plans_nodes(c, 1, 5);
    put_pod(c, .name = "a-4", .job = "a", .node = "n0", .cpu = "1");
    put_pod(c, .name = "a-1", .job = "a", .node = "n0", .cpu = "1", .phase = "Failed");
    put_job(c, .name = "a", .queue = "a", .min = 4);
    put_job(c, .name = "p", .queue = "t", .min = 2);
    put_pods(c, 2, .job = "p", .cpu = "1");
    plans_assert(c, "p", RECLAIM, "decided: a-0* a-2* a-3* a-4* -> p-0@n0 p-1@n0");
    put_pod(c, .name = "a-1", .job = "a", .node = "n0", .cpu = "1", .leaves = 9);
    plans_assert(c, "p", RECLAIM, "decided: a-0* a-2* a-3* a-4* -> p-0@n0 p-1@n0");
    cluster_free(c);
}

/* The same with amounts that queues deserve; 4 and 4 of 8 CPUs are held. */
static struct cluster *deserving(const char *conf, const char *a, const char *t, unsigned takers)
{
    struct cluster *c = plans_new(conf);
    plans_nodes(c, 2, 4);
    plans_queue(c, "a", a);
    plans_queue(c, "t", t);
    put_job(c, .name = "a", .queue = "a", .min = 0, .priority = 1);
    for (int i = 0; i < 8; i++) {
        cleanup_free char *name = xasprintf("a-%d", i);
        put_pod(c, .name = name, .job = "a", .node = i < 4 ? "n0" : "n1", .cpu = "1", .ran = 9);
    }
    put_job(c, .name = "p", .queue = "t", .min = (int)takers, .priority = 0);
    put_pods(c, takers, .job = "p", .cpu = "1");
    return c;
}

static void queues_take_back_what_they_deserve(void **state)
{
    (void)state;
    static const char six[] = "\"deserved\":{\"cpu\":\"6\"}",
                      two[] = "\"deserved\":{\"cpu\":\"2\"}";
    struct cluster *c = deserving(limited, six, two, 2);
    plans_assert(c, "p", RECLAIM, "decided: a-2 a-3 -> p-0@n0 p-1@n0");
    cluster_free(c);
    c = deserving(limited, six, two, 3);
    plans_assert(c, "p", RECLAIM, "refused");
    cluster_free(c);
    c = deserving(limited, "\"deserved\":{\"cpu\":\"7\"}", two, 2);
    plans_assert(c, "p", RECLAIM, "nothing");
    cluster_free(c);
    c = deserving(limited, two, "", 1);
    plans_assert(c, "p", RECLAIM, "refused");
    cluster_free(c);
}

/* Queue a deserves 3 CPUs and has 4, of which 3 fill n0: a spare pod and a gang of two; t has 2 of
 * the `n1` CPUs of n1, where the fourth one stays. */
static struct cluster *spare_and_gang(int n1, const char *t)
{
    struct cluster *c = plans_new(limited);
    plans_node(c, "n0", 3, "");
    plans_node(c, "n1", n1, "");
    plans_queue(c, "a", "\"deserved\":{\"cpu\":\"3\"}");
    plans_queue(c, "t", t);
    put_job(c, .name = "spare", .queue = "a", .min = 0);
    put_pod(c, .name = "spare-0", .job = "spare", .node = "n0", .cpu = "1", .ran = 1);
    put_job(c, .name = "gang", .queue = "a", .min = 2);
    put_pods(c, 2, .job = "gang", .node = "n0", .cpu = "1", .ran = 10);
    put_job(c, .name = "stays", .queue = "a", .min = 1,
            .meta = ",\"annotations\":{\"volcano.sh/preemptable\":\"false\"}");
    put_pods(c, 1, .job = "stays", .node = "n1", .cpu = "1", .ran = 10);
    put_job(c, .name = "has", .queue = "t", .min = 1);
    put_pods(c, 1, .job = "has", .node = "n1", .cpu = "2", .ran = 10);
    return c;
}

/* The spare pod would be the cheapest, but is too small, and without it a has what it deserves, so
 * that the gang stays; as things are the gang may go. */
static void a_spare_pod_is_no_shield_for_a_gang(void **state)
{
    (void)state;
    struct cluster *c = spare_and_gang(4, "\"deserved\":{\"cpu\":\"4\"}");
    put_job(c, .name = "p", .queue = "t", .min = 1);
    put_pods(c, 1, .job = "p", .cpu = "2");
    plans_assert(c, "p", RECLAIM, "decided: gang-0* gang-1* -> p-0@n0");
    cluster_free(c);
}

/* The same of a small gang that would be cheaper than the one that has the room. */
static void a_small_gang_is_no_shield_for_a_large_one(void **state)
{
    (void)state;
    struct cluster *c = plans_new(limited);
    plans_node(c, "n0", 4, "");
    plans_queue(c, "a", "\"deserved\":{\"cpu\":\"3\"}");
    plans_queue(c, "t", "\"deserved\":{\"cpu\":\"4\"}");
    put_job(c, .name = "small", .queue = "a", .min = 1);
    put_pods(c, 1, .job = "small", .node = "n0", .cpu = "1", .ran = 1);
    put_job(c, .name = "large", .queue = "a", .min = 3, .priority = 1);
    put_pods(c, 3, .job = "large", .node = "n0", .cpu = "1", .ran = 10);
    put_job(c, .name = "p", .queue = "t", .min = 1);
    put_pods(c, 1, .job = "p", .cpu = "3");
    plans_assert(c, "p", RECLAIM, "decided: large-0* large-1* large-2* -> p-0@n0");
    cluster_free(c);
}

/* And so is a small pod none for a large one. */
static void a_small_pod_is_no_shield_for_a_large_one(void **state)
{
    (void)state;
    struct cluster *c = plans_new(limited);
    plans_node(c, "n0", 4, "");
    plans_queue(c, "a", "\"deserved\":{\"cpu\":\"3\"}");
    plans_queue(c, "t", "\"deserved\":{\"cpu\":\"3\"}");
    put_job(c, .name = "small", .queue = "a", .min = 0);
    put_pod(c, .name = "small-0", .job = "small", .node = "n0", .cpu = "1", .ran = 1);
    put_job(c, .name = "large", .queue = "a", .min = 0, .priority = 1);
    put_pod(c, .name = "large-0", .job = "large", .node = "n0", .cpu = "3", .ran = 1);
    put_job(c, .name = "p", .queue = "t", .min = 1);
    put_pods(c, 1, .job = "p", .cpu = "3");
    plans_assert(c, "p", RECLAIM, "decided: large-0 -> p-0@n0");
    cluster_free(c);
}

/* Where the gang and the spare pod would both have to go, the queue has what it deserves before the
 * second of them, whichever that is. */
static void nobody_goes_beyond_what_is_deserved_after_a_gang(void **state)
{
    (void)state;
    struct cluster *c = spare_and_gang(5, "\"deserved\":{\"cpu\":\"5\"}");
    put_job(c, .name = "p", .queue = "t", .min = 1);
    put_pods(c, 1, .job = "p", .cpu = "3");
    plans_assert(c, "p", RECLAIM, "nothing");
    put_job(c, .name = "spare", .queue = "a", .min = 0, .priority = 1); /* the gang is cheaper */
    plans_assert(c, "p", RECLAIM, "nothing");
    cluster_free(c);
}

/* A gang of 8 makes room for 6 more than the queue deserves. */
static void room_that_others_leave_is_not_had_beyond_that(void **state)
{
    (void)state;
    static const struct evict_rules rules = {.kind = EVICT_GANG_RECLAIM, .whole = true};
    struct cluster *c =
        deserving(limited, "\"deserved\":{\"cpu\":\"6\"}", "\"deserved\":{\"cpu\":\"2\"}", 3);
    put_job(c, .name = "a", .queue = "a", .min = 8);
    plans_assert(c, "p", &rules, "refused");
    put_job(c, .name = "p", .queue = "t", .min = 2);
    plans_assert(c, "p", &rules,
                 "decided: a-0* a-1* a-2* a-3* a-4* a-5* a-6* a-7* -> p-0@n0 p-1@n1");
    cluster_free(c);
}

/* 8 CPUs, of which it deserves 6, and all are one gang's: it goes whole, for one pod or two. What
 * is no gang gives what is beyond that alone. */
static void a_gang_that_is_beyond_in_part_goes_whole(void **state)
{
    (void)state;
    static const struct evict_rules jobs = {.kind = EVICT_GANG_RECLAIM, .whole = true};
    static const char seven[] = "\"deserved\":{\"cpu\":\"7\"}";
    static const char all[] = "decided: a-0* a-1* a-2* a-3* a-4* a-5* a-6* a-7* -> p-0@n0 p-1@n1";
    struct cluster *c = deserving(limited, seven, "\"deserved\":{\"cpu\":\"2\"}", 2);
    plans_assert(c, "p", RECLAIM, "nothing");
    plans_assert(c, "p", &jobs, "nothing");
    put_job(c, .name = "a", .queue = "a", .min = 8);
    plans_assert(c, "p", RECLAIM, all);
    plans_assert(c, "p", &jobs, all);
    plans_assert(c, "p", RULES(.kind = EVICT_RECLAIM), "nothing");
    plans_queue(c, "a", "\"deserved\":{\"cpu\":\"8\"}");
    plans_assert(c, "p", RECLAIM, "nothing");
    plans_queue(c, "a",
                "\"deserved\":{\"cpu\":\"7\"},\"guarantee\":{\"resource\":{\"cpu\":\"1\"}}");
    plans_assert(c, "p", RECLAIM, "nothing");
    cluster_free(c);
    c = three_queues(SAME, SAME ",\"reclaimable\":false", 2);
    put_job(c, .name = "a", .queue = "a", .min = 4);
    plans_assert(c, "p", RECLAIM, "decided: a-0* a-1* a-2* a-3* -> p-0@n0 p-1@n0");
    cluster_free(c);
}

/* A gang with a pod of which its queue holds no more than it deserves, as one that asks for
 * nothing: that goes with the others, and for its own room nobody does. */
static void a_gang_goes_with_all_kinds_of_its_pods(void **state)
{
    (void)state;
    static const struct evict_rules jobs = {.kind = EVICT_GANG_RECLAIM, .whole = true};
    static const char gone[] = "decided: a-0* a-1* a-2* a-3* a-4* a-5* a-6* a-7* a-8* -> p-0@n0";
    struct cluster *c =
        deserving(limited, "\"deserved\":{\"cpu\":\"6\"}", "\"deserved\":{\"cpu\":\"2\"}", 1);
    put_job(c, .name = "a", .queue = "a", .min = 9);
    put_pod(c, .name = "a-8", .job = "a", .node = "n0", .cpu = "0", .role = "launcher");
    plans_assert(c, "p", RECLAIM, gone);
    plans_assert(c, "p", &jobs, gone);
    put_pod(c, .name = "a-8", .job = "a", .node = "n0", .cpu = "0", .role = "launcher",
            .labels = "\"volcano.sh/preemptable\":\"false\"");
    plans_assert(c, "p", RECLAIM, "nothing");
    put_pod(c, .name = "a-8", .job = "a", .node = "n0", .cpu = "0", .role = "launcher",
            .spec = ",\"priorityClassName\":\"system-node-critical\"");
    plans_assert(c, "p", RECLAIM, "nothing");
    cluster_free(c);
}

static void guarantees_stay(void **state)
{
    (void)state;
    struct cluster *c = deserving(limited,
                                  "\"deserved\":{\"cpu\":\"1\"},\"guarantee\":{\"resource\":{"
                                  "\"cpu\":\"7\"}}",
                                  "\"deserved\":{\"cpu\":\"2\"}", 1);
    plans_assert(c, "p", RECLAIM, "decided: a-3 -> p-0@n0");
    put_job(c, .name = "p", .queue = "t", .min = 2);
    put_pods(c, 2, .job = "p", .cpu = "1");
    plans_assert(c, "p", RECLAIM, "refused"); /* all but one CPU is guaranteed to the other */
    plans_queue(c, "a",
                "\"deserved\":{\"cpu\":\"1\"},\"guarantee\":{\"resource\":{\"cpu\":\"8\"}}");
    plans_queue(c, "t",
                "\"deserved\":{\"cpu\":\"2\"},\"guarantee\":{\"resource\":{\"cpu\":\"1\"}}");
    put_job(c, .name = "p", .queue = "t", .min = 0);
    plans_assert(c, "p", RECLAIM, "nothing");
    cluster_free(c);
}

/* Queue up is full, and what it has is a's: that gives to t, which is below it as well. */
static void brothers_give_within_what_is_above_them(void **state)
{
    (void)state;
    struct cluster *c = plans_new(tree);
    plans_nodes(c, 3, 4);
    plans_queue(c, "root", "");
    plans_queue(c, "up", "\"parent\":\"root\",\"capability\":{\"cpu\":\"4\"}");
    plans_queue(c, "a", "\"parent\":\"up\",\"deserved\":{\"cpu\":\"2\"}");
    plans_queue(c, "t", "\"parent\":\"up\",\"deserved\":{\"cpu\":\"2\"}");
    plans_queue(c, "far", "\"parent\":\"root\"");
    put_job(c, .name = "a", .queue = "a", .min = 0);
    put_pods(c, 4, .job = "a", .node = "n1", .cpu = "1");
    put_job(c, .name = "f", .queue = "far", .min = 0);
    put_pods(c, 4, .job = "f", .node = "n0", .cpu = "1");
    put_pod(c, .name = "full", .node = "n2", .cpu = "4");
    put_job(c, .name = "p", .queue = "t", .min = 2);
    put_pods(c, 2, .job = "p", .cpu = "1");
    plans_assert(c, "p", RECLAIM, "decided: a-2 a-3 -> p-0@n1 p-1@n1");
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

/* Queue b has all that is too much, and may keep it. */
static void who_has_no_more_than_its_share_keeps_it(void **state)
{
    (void)state;
    struct cluster *c = plans_new(shared);
    plans_nodes(c, 2, 4);
    plans_queue(c, "a", SAME);
    plans_queue(c, "b", SAME ",\"reclaimable\":false");
    plans_queue(c, "t", SAME);
    put_job(c, .name = "a", .queue = "a", .min = 2);
    put_job(c, .name = "b", .queue = "b", .min = 0);
    put_pods(c, 2, .job = "a", .node = "n0", .cpu = "1");
    put_pod(c, .name = "b-0", .job = "b", .node = "n0", .cpu = "2");
    put_pod(c, .name = "b-1", .job = "b", .node = "n1", .cpu = "2");
    put_pod(c, .name = "b-2", .job = "b", .node = "n1", .cpu = "2");
    put_job(c, .name = "p", .queue = "t", .min = 1);
    put_pods(c, 1, .job = "p", .cpu = "1");
    plans_assert(c, "p", RECLAIM, "nothing");
    plans_assert(c, "p", RULES(.kind = EVICT_GANG_RECLAIM, .whole = true), "nothing");
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

/* n0 is free, but held for job h, which starves; n1 is v's, all others are full. */
static void what_is_held_for_others_is_theirs(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 12, 2);
    for (int i = 2; i < 12; i++) {
        cleanup_free char *name = xasprintf("o%d", i), *node = xasprintf("n%d", i);
        put_pod(c, .name = name, .node = node, .cpu = "2");
    }
    put_loose(c, "v", 1);
    put_pod(c, .name = "v-0", .job = "v", .node = "n1", .cpu = "2");
    put_taker(c, 1, "2");
    struct sched_job *h = put_job(c, .name = "h", .min = 1, .priority = 10);
    struct sched_task *pod = put_pod(c, .name = "h-0", .job = "h", .cpu = "2");
    plans_assert(c, "p", PREEMPT, "no need");
    struct reservation *held = holds_open(plans_cache(c), h, NSEC_PER_SEC);
    assert_true(holds_add(plans_cache(c), held, cache_node(plans_cache(c), "n0"), pod->pod->cls));
    plans_assert(c, "p", PREEMPT, "decided: v-0 -> p-0@n1");
    plans_assert(c, "h", PREEMPT, "no need");
    holds_close(plans_cache(c), held);
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

/* Two pods above the minimum go, each for one; then the third, for two more, and it has room for
 * all. */
static void a_part_of_a_gang_is_enough(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    plans_nodes(c, 2, 1);
    plans_node(c, "n2", 4, "");
    put_job(c, .name = "a", .min = 1, .priority = 1);
    put_pod(c, .name = "a-0", .job = "a", .node = "n0", .cpu = "1");
    put_pod(c, .name = "a-1", .job = "a", .node = "n1", .cpu = "1");
    put_pod(c, .name = "a-2", .job = "a", .node = "n2", .cpu = "3");
    put_taker(c, 4, "1");
    plans_assert(c, "p", PREEMPT, "decided: a-2 -> p-0@n2 p-1@n2 p-2@n2 p-3@n2");
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_queue_that_is_served_last_gives_first),
        cmocka_unit_test(queues_give_what_is_beyond_their_share),
        cmocka_unit_test(nobody_takes_more_than_it_deserves),
        cmocka_unit_test(queues_may_keep_what_they_have),
        cmocka_unit_test(what_does_not_run_gives_its_room_back_too),
        cmocka_unit_test(gangs_of_which_not_all_run_give_it_back),
        cmocka_unit_test(queues_take_back_what_they_deserve),
        cmocka_unit_test(a_spare_pod_is_no_shield_for_a_gang),
        cmocka_unit_test(a_small_gang_is_no_shield_for_a_large_one),
        cmocka_unit_test(a_small_pod_is_no_shield_for_a_large_one),
        cmocka_unit_test(nobody_goes_beyond_what_is_deserved_after_a_gang),
        cmocka_unit_test(room_that_others_leave_is_not_had_beyond_that),
        cmocka_unit_test(a_gang_that_is_beyond_in_part_goes_whole),
        cmocka_unit_test(a_gang_goes_with_all_kinds_of_its_pods),
        cmocka_unit_test(guarantees_stay),
        cmocka_unit_test(brothers_give_within_what_is_above_them),
        cmocka_unit_test(whole_jobs_of_lower_priority),
        cmocka_unit_test(whole_jobs_of_other_queues),
        cmocka_unit_test(who_has_no_more_than_its_share_keeps_it),
        cmocka_unit_test(pods_that_leave_are_waited_for),
        cmocka_unit_test(pods_that_do_not_leave_are_not),
        cmocka_unit_test(what_is_held_for_others_is_theirs),
        cmocka_unit_test(whoever_is_in_the_way_goes),
        cmocka_unit_test(ports_are_freed),
        cmocka_unit_test(pods_are_spread_out),
        cmocka_unit_test(a_full_queue_gives_to_its_own),
        cmocka_unit_test(whoever_went_early_may_stay),
        cmocka_unit_test(a_part_of_a_gang_is_enough),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
