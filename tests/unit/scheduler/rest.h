/*
 * What the tests have in common in which evictions have to come to an end: a cluster whose kubelets
 * end pods, and whose job controller makes them again at once, so that they wait in their queue.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_REST_H
#define PUMICE_TESTS_UNIT_SCHEDULER_REST_H

#include "property.h"

#define SECOND NSEC_PER_SEC
#define GRACE (2 * NSEC_PER_SEC)

/* ---- kubelets and the job controller --------------------------------------------------------- */

static inline void make_again(struct cluster *c, struct test_pod *pod)
{
    pod->gone = true;
    show_pod(c, pod);
    cleanup_free char *name = xstrdup(pod->name);
    add_pod_labelled(c, name, pod->group, pod->role, pod->labels, pod->spec);
}

/* Pods of this role are on a node whose kubelet does not end them. */
#define STUCK "stuck"

static inline void do_nothing(void *arg)
{
    (void)arg;
}

/* Goes by, too, when the scheduler waits for nothing. */
static inline void pass_second(struct cluster *c)
{
    struct loop_timer timer;
    loop_timer_init(&timer, do_nothing, NULL);
    loop_timer_set(c->loop, &timer, SECOND);
    run_for(c, SECOND);
    loop_timer_cancel(c->loop, &timer);
}

/* One second goes by; how many were evicted in it. */
static inline unsigned tick(struct cluster *c)
{
    unsigned evicted = 0;
    pass_second(c);
    for (size_t i = 0; i < c->pod_list.n; i++) {
        struct test_pod *pod = c->pod_list.items[i];
        if (pod->gone)
            continue;
        if (pod->deleted && strcmp(pod->role, STUCK) == 0)
            continue;
        if (pod->deleted && loop_wall(c->loop) >= pod->deletion_ns) {
            if (getenv("PUMICE_SEED"))
                print_message("%s of %s went from %s\n", pod->name, pod->group, pod->node);
            make_again(c, pod);
            evicted++;
        } else if (pod->deleted || (pod->node[0] && strcmp(pod->phase, "Pending") == 0)) {
            pod->phase = "Running";
            show_pod(c, pod);
        }
    }
    return evicted;
}

static inline unsigned ticks(struct cluster *c, unsigned seconds)
{
    unsigned evicted = 0;
    for (unsigned i = 0; i < seconds; i++)
        evicted += tick(c);
    return evicted;
}

/* ---- clusters ------------------------------------------------------------------------------- */

static inline struct cluster *rest_new(const char *conf)
{
    struct cluster *c = cluster_new(conf);
    c->grace_ns = GRACE;
    cache_budgets_known(&c->scheduler->cache);
    for (int i = 0; i < 4; i++) {
        cleanup_free char *json = xasprintf(
            "{\"metadata\":{\"name\":\"c%d\",\"uid\":\"c-%d\",\"resourceVersion\":\"%llu\"},"
            "\"value\":%d}",
            i, i, (unsigned long long)++c->rv, i);
        show(c->priorityclasses, false, false, str_of(json));
    }
    return c;
}

static inline unsigned below(struct rng *rng, unsigned n)
{
    return (unsigned)rng_below(rng, n);
}

/* A gang that has started has its minimum. */
static inline void check_gangs(struct cluster *c)
{
    for (size_t i = 0; i < c->group_list.n; i++) {
        const struct test_group *group = c->group_list.items[i];
        const struct sched_job *job = cache_job(&c->scheduler->cache, "ns", group->name);
        unsigned there = bound(c, group->name, NULL);
        if (there && (int64_t)there < job->min_member)
            fail_msg("%s has %u of %d pods", group->name, there, job->min_member);
    }
}

#endif
