/*
 * Random clusters: pods, gangs and nodes come, go and change, binds fail, answers get lost, the
 * process is replaced. After every cycle no node is over what it has and the cache's sums equal a
 * recount; at rest a gang that is bound in part is one whose missing pods cannot all be placed.
 *
 * A failing seed is repeated with PUMICE_SEED: see property.h.
 */
#include "property.h"

#define NODES 6
#define GANGS 8

struct world {
    struct cluster *c;
    struct rng rng;
    int cpu[NODES]; /* of each node, 0: absent */
    unsigned made;
};

static struct world *current; /* for the restart's list of nodes */

static void show_nodes(struct cluster *c)
{
    for (int i = 0; i < NODES; i++) {
        cleanup_free char *name = xasprintf("n%d", i);
        if (current->cpu[i])
            add_node(c, name, current->cpu[i]);
    }
}

static bool chance(struct world *w, unsigned in)
{
    return rng_below(&w->rng, in) == 0;
}

/* CPUs of a node in use, in thousandths: as the server has it, or as binds under way will. */
static int used_of(struct cluster *c, const char *name)
{
    const struct sched_node *node = cache_node(&c->scheduler->cache, name);
    int milli = 0, charged = node ? (int)resource_vector_get(&node->used, RESOURCE_CPU) : 0;
    for (size_t i = 0; i < c->pod_list.n; i++) {
        const struct test_pod *pod = c->pod_list.items[i];
        bool live = !pod->gone && strcmp(pod->phase, "Succeeded") != 0;
        if (live && strcmp(pod->node, name) == 0)
            milli += strstr(pod->spec, "500m") ? 500 : 1000;
    }
    return milli > charged ? milli : charged;
}

/* Grows, shrinks (not below what is used) or removes an empty node. */
static void change_node(struct world *w)
{
    int i = (int)rng_below(&w->rng, NODES);
    cleanup_free char *name = xasprintf("n%d", i);
    int used = (used_of(w->c, name) + 999) / 1000;
    if (!used && w->cpu[i] && chance(w, 3)) {
        w->cpu[i] = 0;
        delete_node(w->c, name);
        return;
    }
    w->cpu[i] = used + (int)rng_below(&w->rng, 4);
    if (!w->cpu[i])
        w->cpu[i] = 1;
    add_node(w->c, name, w->cpu[i]);
}

static void new_gang(struct world *w)
{
    cleanup_free char *name = xasprintf("g%u", w->made++);
    unsigned pods = 1 + (unsigned)rng_below(&w->rng, 6);
    unsigned min = 1 + (unsigned)rng_below(&w->rng, pods);
    cleanup_free char *spec = xasprintf("\"minMember\":%u%s", min,
                                        chance(w, 2) ? ",\"minResources\":{\"cpu\":\"1\"}" : "");
    add_group(w->c, name, spec);
    add_pods(w->c, name, "w", pods, chance(w, 2) ? "1" : "500m");
}

/* Pods end together, as a job does. */
static void end_gang(struct world *w)
{
    struct cluster *c = w->c;
    struct test_group *group = c->group_list.items[rng_below(&w->rng, c->group_list.n)];
    bool remove = chance(w, 2);
    if (group->gone)
        return;
    end_pods_of(c, group, remove);
    if (remove) {
        group->gone = true;
        show_group(c, group);
    }
}

static void look(void *arg)
{
    check(arg);
}

static void trouble(struct world *w)
{
    struct cluster *c = w->c;
    struct test_pod *pod = c->pod_list.items[rng_below(&w->rng, c->pod_list.n)];
    static const int statuses[] = {403, 409, 422, 500, 503};
    switch (rng_below(&w->rng, 5)) {
    case 0:
    case 1:
        pod->fail = statuses[rng_below(&w->rng, ARRAY_SIZE(statuses))];
        pod->fail_after = pod->fail >= 500 && chance(w, 2);
        break;
    case 2:
        c->fake->mute = true;
        run_watched(c, 40 * NSEC_PER_SEC, look, c);
        c->fake->mute = false;
        break;
    case 3:
        cluster_restart(c, show_nodes);
        break;
    default: /* the watch repeats itself */
        if (!pod->gone)
            show_pod(c, pod);
        break;
    }
}

static unsigned live_gangs(const struct cluster *c)
{
    unsigned count = 0;
    for (size_t i = 0; i < c->group_list.n; i++)
        count += !c->group_list.items[i]->gone;
    return count;
}

/* How many pods of a class the nodes have room for. */
static int64_t room_for(struct cluster *c, const struct pod_class *cls)
{
    const struct cache *cache = &c->scheduler->cache;
    int64_t sum = 0;
    for (size_t i = 0; i < cache->nodes.n; i++) {
        const struct sched_node *node = cache->nodes.items[i];
        if (!node || !node->object || config_filter(c->scheduler->config, cls, node->object))
            continue;
        int64_t most = INT64_MAX;
        for (uint32_t r = 0; r < cls->request.n; r++) {
            uint32_t id = cls->request.items[r].id;
            int64_t room = (resource_vector_get(&node->object->allocatable, id) -
                            resource_vector_get(&node->used, id)) /
                           cls->request.items[r].amount;
            most = room < most ? room : most;
        }
        sum += most;
    }
    return sum;
}

/* No gang is bound in part unless its missing pods, which are all alike, have nowhere to go. */
static void check_gangs(struct cluster *c)
{
    void *value;
    for (size_t i = 0; map_next(&c->scheduler->cache.jobs_by_key, &i, NULL, &value);) {
        const struct sched_job *job = value;
        assert_int_equal(job->count[TASK_ALLOCATED], 0);
        int64_t missing = job->min_member - (int64_t)job_have(job);
        if (!job->uid || job_live(job) == 0 || missing <= 0 || job->count[TASK_PENDING] < missing)
            continue;
        int64_t room = room_for(c, job->groups.items[0]->cls);
        if (room >= missing)
            fail_msg("%lld pods of %s are missing, there is room for %lld", (long long)missing,
                     job->name, (long long)room);
    }
}

static void live(uint64_t seed, unsigned steps)
{
    struct world w = {.c = cluster_new(NULL)};
    current = &w;
    rng_seed(&w.rng, seed);
    for (int i = 0; i < 3; i++)
        change_node(&w);
    new_gang(&w);
    for (unsigned step = 0; step < steps; step++) {
        if (chance(&w, 3) && live_gangs(w.c) < GANGS)
            new_gang(&w);
        if (chance(&w, 4))
            end_gang(&w);
        if (chance(&w, 4))
            change_node(&w);
        if (chance(&w, 4))
            trouble(&w);
        run_watched(w.c, (int64_t)rng_below(&w.rng, 40) * NSEC_PER_MSEC, look, w.c);
        if (chance(&w, 4)) {
            run_watched(w.c, 150 * NSEC_PER_SEC, look, w.c);
            check_gangs(w.c);
        }
    }
    assert_true(w.c->binds > 10);
    cluster_free(w.c);
}

static void invariants_hold(void **state)
{
    (void)state;
    property_run(&(struct property){.live = live, .seeds = 60, .steps = 60, .alone_steps = 150});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invariants_hold),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
