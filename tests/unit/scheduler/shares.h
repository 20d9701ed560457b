/*
 * Queues with jobs that want as much as they can get, for the tests of plugins that share.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_SHARES_H
#define PUMICE_TESTS_UNIT_SCHEDULER_SHARES_H

#include "cluster.h"

#define CONF(plugins)                                                                              \
    "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: priority\n"           \
    "  - name: gang\n- plugins:\n  - name: predicates\n  - name: nodeorder\n" plugins

/* A job in a queue whose pods may start one by one. */
static inline struct test_group *add_greedy(struct cluster *c, const char *name, const char *queue,
                                            unsigned pods, const char *cpu)
{
    cleanup_free char *spec = xasprintf("\"minMember\":1,\"queue\":\"%s\"", queue);
    struct test_group *group = add_group(c, name, spec);
    add_pods(c, name, "w", pods, cpu);
    return group;
}

static inline void assert_bound(struct cluster *c, const char *group, unsigned count)
{
    unsigned found = bound(c, group, NULL);
    if (found != count)
        fail_msg("%u pods of \"%s\" are bound, not %u", found, group, count);
}

/* Why the job waits, with all or with some of its pods. */
static inline void assert_waits(const struct cluster *c, const char *group, const char *text)
{
    const struct sched_job *job = cache_job(&c->scheduler->cache, "ns", group);
    const char *why = job && job->why.text ? job->why.text : "(nothing)";
    if (str_find(str_of(why), str_of(text)) < 0)
        fail_msg("\"%s\" is not in \"%s\"", text, why);
}

#endif
