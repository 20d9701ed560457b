/*
 * What the tests of the evictor share: a cluster that is full, a job that waits, and who is to go
 * for it, which is said here by hand.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_EVICTIONS_H
#define PUMICE_TESTS_UNIT_SCHEDULER_EVICTIONS_H

#include "cluster.h"
#include "scheduler/evict/evictor_private.h"
#include "scheduler/explain.h"
#include "scheduler/holds.h"

#define SECOND NSEC_PER_SEC
#define PODS_MOST 64

#define CONF                                                                                       \
    "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: priority\n"           \
    "  - name: gang\n    arguments:\n      gang.reserveAfter: 0\n  - name: predicates\n"           \
    "  - name: nodeorder\n"

/* ---- a cluster that is full ------------------------------------------------------------------ */

static inline struct sched_job *job_of(struct cluster *c, const char *name)
{
    struct sched_job *job = cache_job(&c->scheduler->cache, "ns", name);
    assert_non_null(job);
    return job;
}

static inline struct sched_task *task_of(struct cluster *c, const char *pod)
{
    struct test_pod *found = find_pod(c, pod);
    assert_non_null(found);
    return cache_task(&c->scheduler->cache, found->uid);
}

static inline enum task_status status_of(struct cluster *c, const char *pod)
{
    struct sched_task *task = task_of(c, pod);
    assert_non_null(task);
    return task->status;
}

/* `nodes` nodes of two CPUs full of the pods of gang "low", which run; gang "high" of `pods` pods
 * of two CPUs waits. */
static inline struct cluster *full_cluster(unsigned nodes, unsigned pods, bool with_events)
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
static inline void decide(struct cluster *c, unsigned pods)
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
static inline unsigned show_evicted(struct cluster *c, bool gone)
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

static inline unsigned asked(struct cluster *c)
{
    unsigned count = 0;
    for (size_t i = 0; i < c->pod_list.n; i++)
        count += c->pod_list.items[i]->evictions;
    return count;
}

static inline unsigned nominated(struct cluster *c, const char *group)
{
    unsigned count = 0;
    for (size_t i = 0; i < c->pod_list.n; i++) {
        const struct test_pod *pod = c->pod_list.items[i];
        count += !pod->gone && strcmp(pod->group, group) == 0 && pod->nominated[0];
    }
    return count;
}

static inline struct test_pod *victim_on(struct cluster *c, const char *node)
{
    for (size_t i = 0; i < c->pod_list.n; i++) {
        struct test_pod *pod = c->pod_list.items[i];
        if (!pod->gone && strcmp(pod->group, "low") == 0 && strcmp(pod->node, node) == 0)
            return pod;
    }
    fail_msg("nobody is on %s", node);
    return NULL;
}

/* Evictions of which it is not known yet whether they are taken. */
static inline unsigned asking(const struct cluster *c)
{
    void *value;
    unsigned count = 0;
    for (size_t i = 0; map_next(&c->scheduler->evictions, &i, NULL, &value);)
        count += !((const struct evict_call *)value)->counted;
    return count;
}

/* Nothing is left of a decision that did not help. */
static inline void assert_given_up(struct cluster *c)
{
    const struct sched_job *job = job_of(c, "high");
    assert_null(job->decision);
    assert_null(job->reservation);
    assert_true(list_empty(&c->scheduler->cache.reservations));
    assert_int_equal(nominated(c, "high"), 0);
    assert_int_equal(bound(c, "high", NULL), 0);
    assert_int_equal(asking(c), 0);
    assert_int_equal(map_count(&c->scheduler->nominations), 0);
    assert_false(evictor_may(c->scheduler, job));
    check(c);
}

#endif
