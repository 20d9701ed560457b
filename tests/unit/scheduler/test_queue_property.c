/*
 * Random clusters with queues: jobs come and end, pods terminate slowly, queues get more or less.
 * After every cycle no queue holds more than its capability, no node is over what it has, and the
 * cache's sums equal a recount; at rest no gang is bound in part, and no pod waits that its queue
 * and a node have room for.
 *
 * A failing seed is repeated with PUMICE_SEED: see property.h.
 */
#include "property.h"

#define NODES 4
#define QUEUES 4
#define JOBS 10

#define CONF_GANG(gang, plugins)                                                                   \
    "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: priority\n"           \
    "  - name: gang\n" gang "- plugins:\n  - name: predicates\n  - name: nodeorder\n" plugins
#define CONF(plugins) CONF_GANG("", plugins)
/* Gangs come to hold nodes soon. */
#define HOLDS "    arguments:\n      gang.reserveAfter: 5s\n"

static const char *const confs[] = {
    CONF("  - name: capacity\n"),
    CONF("  - name: capacity\n    enableHierarchy: true\n"),
    CONF("  - name: overcommit\n  - name: drf\n  - name: proportion\n"),
    CONF_GANG(HOLDS, "  - name: capacity\n"),
    CONF_GANG(HOLDS, "  - name: drf\n  - name: proportion\n"),
};

struct world {
    struct cluster *c;
    struct rng rng;
    int capability[QUEUES]; /* CPUs; 0: not made yet */
    unsigned made;
};

static unsigned below(struct world *w, unsigned bound)
{
    return (unsigned)rng_below(&w->rng, bound);
}

static int64_t held(struct world *w, const char *queue)
{
    const struct sched_queue *found = cache_queue(&w->c->scheduler->cache, queue);
    return found ? resource_set_get(&found->allocated, RESOURCE_CPU) : 0;
}

/* More or less than before, but not less than what it holds. */
static void change_queue(struct world *w)
{
    unsigned i = below(w, QUEUES);
    cleanup_free char *name = xasprintf("q%u", i);
    int least = (int)((held(w, name) + 999) / 1000);
    w->capability[i] = least + (int)below(w, 6);
    if (!w->capability[i])
        w->capability[i] = 1;
    cleanup_free char *spec =
        xasprintf("\"weight\":%u,\"capability\":{\"cpu\":\"%d\"},\"deserved\":{\"cpu\":\"1\"}",
                  1 + i, w->capability[i]);
    add_queue(w->c, name, "", spec);
}

static void new_job(struct world *w)
{
    cleanup_free char *name = xasprintf("g%u", w->made++);
    unsigned pods = 1 + below(w, 5), min = 1 + below(w, pods);
    cleanup_free char *spec =
        xasprintf("\"minMember\":%u,\"queue\":\"q%u\"%s", min, below(w, QUEUES),
                  below(w, 2) ? ",\"minResources\":{\"cpu\":\"1\"}" : "");
    add_group(w->c, name, spec);
    add_pods(w->c, name, "w", pods, below(w, 2) ? "1" : "500m");
}

/* The job's pods succeed, begin to terminate, or are gone. */
static void end_pods(struct world *w)
{
    struct cluster *c = w->c;
    struct test_group *group = c->group_list.items[below(w, (unsigned)c->group_list.n)];
    unsigned how = below(w, 3);
    for (size_t i = 0; i < c->pod_list.n; i++) {
        struct test_pod *pod = c->pod_list.items[i];
        if (pod->gone || strcmp(pod->group, group->name) != 0)
            continue;
        if (how == 0 && pod->node[0] && !pod->deleted)
            pod->phase = "Succeeded";
        else if (how == 1)
            pod->deleted = true;
        else
            pod->gone = true;
        show_pod(c, pod);
    }
    if (how != 2 || group->gone)
        return;
    group->gone = true;
    show_group(c, group);
}

static unsigned live_jobs(const struct cluster *c)
{
    unsigned count = 0;
    for (size_t i = 0; i < c->group_list.n; i++)
        count += !c->group_list.items[i]->gone;
    return count;
}

/* ---- what must be true ----------------------------------------------------------------------- */

static void check_queues(struct world *w)
{
    for (unsigned i = 0; i < QUEUES; i++) {
        cleanup_free char *name = xasprintf("q%u", i);
        if (w->capability[i] && held(w, name) > 1000 * (int64_t)w->capability[i])
            fail_msg("queue %s holds %lld of %d", name, (long long)held(w, name), w->capability[i]);
    }
}

static void look(void *arg)
{
    struct world *w = arg;
    check(w->c);
    check_queues(w);
}

/* Whether one more pod of the group could be placed. */
static bool could_go(struct cluster *c, const struct sched_job *job, struct task_group *group)
{
    cleanup_buf struct buf why = BUF_INIT(4096);
    struct cache *cache = &c->scheduler->cache;
    const struct sched_config *config = c->scheduler->config;
    return group->pending.n && job->queue->open &&
           !config_queue_overused(config, cache, job->queue) &&
           config_allocatable(config, cache, job->queue, group->cls, &why) &&
           fit_best(cache, fit_table_of(cache, config, group));
}

static void check_jobs(struct cluster *c)
{
    struct cache *cache = &c->scheduler->cache;
    void *value;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);) {
        const struct sched_job *job = value;
        assert_int_equal(job->count[TASK_ALLOCATED], 0);
        if (!job->uid || job->phase == JOB_PENDING)
            continue;
        bool one_missing = (int64_t)job_have(job) + 1 >= job->min_member;
        for (size_t g = 0; one_missing && g < job->groups.n; g++)
            if (could_go(c, job, job->groups.items[g]))
                fail_msg("%s could go on: %s", job->name,
                         job->why.text ? job->why.text : "no reason");
    }
}

/* Nothing ends here while others have their minimum, so a gang is whole or not there. */
static void check_whole(struct cluster *c)
{
    for (size_t i = 0; i < c->group_list.n; i++) {
        const struct test_group *group = c->group_list.items[i];
        const struct sched_job *job = cache_job(&c->scheduler->cache, "ns", group->name);
        if (group->gone || !job || job->count[TASK_RELEASING] || job->count[TASK_LEAVING])
            continue;
        if ((int64_t)job->task_count < job->min_member)
            continue; /* some of its pods were taken away while it was being bound */
        unsigned there = bound(c, group->name, NULL);
        if (there && (int64_t)there < job->min_member)
            fail_msg("%u of %d pods of %s are bound", there, job->min_member, group->name);
    }
}

static void live(uint64_t seed, unsigned steps)
{
    struct world w = {.c = cluster_new(confs[seed % ARRAY_SIZE(confs)])};
    rng_seed(&w.rng, seed);
    add_queue(w.c, "root", "", "");
    add_nodes(w.c, NODES, 4);
    for (unsigned i = 0; i < 4 * QUEUES; i++)
        change_queue(&w);
    new_job(&w);
    for (unsigned step = 0; step < steps; step++) {
        if (below(&w, 2) && live_jobs(w.c) < JOBS)
            new_job(&w);
        if (!below(&w, 4))
            end_pods(&w);
        if (!below(&w, 4))
            change_queue(&w);
        run_watched(w.c, (int64_t)below(&w, 40) * NSEC_PER_MSEC, look, &w);
        if (below(&w, 3))
            continue;
        run_watched(w.c, 150 * NSEC_PER_SEC, look, &w);
        check_jobs(w.c);
        check_whole(w.c);
    }
    assert_true(w.c->binds > 5);
    cluster_free(w.c);
}

static void invariants_hold(void **state)
{
    (void)state;
    property_run(&(struct property){.live = live, .seeds = 240, .steps = 60, .alone_steps = 60});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invariants_hold),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
