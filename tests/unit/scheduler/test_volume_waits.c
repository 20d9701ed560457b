/*
 * Pods that wait for their volumes: whatever may help them is noticed. On random clusters, with
 * claims, volumes, classes and limits that come, go and change.
 */
#include "property.h"
#include "volumes.h"

#define NODES 6
#define CLAIMS 5
#define VOLUMES 6
#define JOBS 10
#define DRIVER "csi.test"

struct world {
    struct cluster *c;
    struct rng rng;
    unsigned made;
};

static unsigned below(struct world *w, unsigned bound)
{
    return (unsigned)rng_below(&w->rng, bound);
}

static struct volumes *volumes_of(struct world *w)
{
    return w->c->scheduler->cache.volumes;
}

/* What the scheduler does with a change. */
static void changed(struct world *w, bool helps)
{
    if (!helps)
        return;
    cache_room(&w->c->scheduler->cache);
    scheduler_wake(w->c->scheduler);
}

static void random_node(struct world *w)
{
    unsigned i = below(w, NODES);
    cleanup_free char *name = xasprintf("n%u", i);
    cleanup_free char *labels = xasprintf("\"kubernetes.io/hostname\":\"n%u\",\"zone\":\"z%u\","
                                          "\"topology.kubernetes.io/zone\":\"z%u\"",
                                          i, i % 3, i % 3);
    cleanup_free char *allocatable = xasprintf("\"cpu\":\"%u\",\"pods\":\"110\"", 2 + below(w, 4));
    add_node_json(w->c, name, labels, "", allocatable);
}

static void random_csinode(struct world *w)
{
    cleanup_free char *name = xasprintf("n%u", below(w, NODES));
    if (below(w, 4))
        changed(w, put_csinode(volumes_of(w), name, DRIVER, 1 + (int)below(w, 3)));
    else
        changed(w, volumes_set_csinode(volumes_of(w), name, NULL));
}

static const char *const classes[] = {"local", "made", "at-once"};

static void random_class(struct world *w)
{
    static const char topologies[] =
        ",\"allowedTopologies\":[{\"matchLabelExpressions\":[{\"key\":\"zone\",\"values\":["
        "\"z0\"]}]}]";
    unsigned i = below(w, ARRAY_SIZE(classes));
    if (!below(w, 5))
        changed(w, volumes_set_class(volumes_of(w), classes[i], NULL));
    else
        changed(w, put_class(volumes_of(w), classes[i], i ? DRIVER : NO_PROVISIONER,
                             i < 2 ? WAITS : "Immediate", below(w, 2) ? "" : topologies));
}

static void random_claim(struct world *w)
{
    cleanup_free char *name = xasprintf("c%u", below(w, CLAIMS));
    cleanup_free char *volume = xasprintf("v%u", below(w, VOLUMES));
    unsigned what = below(w, 6);
    if (what == 0)
        changed(w, cut_claim(volumes_of(w), name));
    else if (what == 1)
        changed(w, put_bound(volumes_of(w), name, volume));
    else
        changed(w, put_claim(volumes_of(w), name, classes[below(w, ARRAY_SIZE(classes))],
                             1 + (int)below(w, 3)));
}

static void random_volume(struct world *w)
{
    cleanup_free char *name = xasprintf("v%u", below(w, VOLUMES));
    const char *label = below(w, 2) ? "kubernetes.io/hostname" : "zone";
    cleanup_free char *reach = below(w, 5) ? xasprintf(REACHED_FROM("%s", "%s%u"), label,
                                                       label[0] == 'z' ? "z" : "n", below(w, 3))
                                           : xstrdup("");
    cleanup_free char *kept =
        below(w, 3)
            ? xstrdup("")
            : xasprintf(",\"claimRef\":{\"namespace\":\"ns\",\"name\":\"c%u\"}", below(w, CLAIMS));
    cleanup_free char *spec =
        xasprintf(",\"storageClassName\":\"%s\",\"capacity\":{\"storage\":\"%uGi\"}%s%s%s",
                  classes[below(w, 2)], 1 + below(w, 3), reach, kept,
                  below(w, 2) ? "" : ",\"csi\":{\"driver\":\"" DRIVER "\",\"volumeHandle\":\"h\"}");
    if (!below(w, 4))
        changed(w, volumes_set_volume(volumes_of(w), name, NULL));
    else
        changed(w, put_volume_with(volumes_of(w), name, "", spec,
                                   below(w, 5) ? "Available" : "Released"));
}

/* A gang whose pods share a claim or have one each. */
static void new_job(struct world *w)
{
    cleanup_free char *name = xasprintf("g%u", w->made++);
    unsigned pods = 1 + below(w, 3), first = below(w, CLAIMS), shared = below(w, 2);
    cleanup_free char *group = xasprintf("\"minMember\":%u", pods);
    add_group(w->c, name, group);
    for (unsigned i = 0; i < pods; i++) {
        cleanup_free char *pod = xasprintf("%s-%u", name, i);
        cleanup_free char *spec = xasprintf(
            ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],\"volumes\":[{"
            "\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"c%u\"}}]",
            (first + (shared ? 0 : i)) % CLAIMS);
        add_pod_spec(w->c, pod, name, "w", spec);
    }
}

static void end_job(struct world *w)
{
    struct cluster *c = w->c;
    struct test_group *group = c->group_list.items[below(w, (unsigned)c->group_list.n)];
    if (group->gone)
        return;
    end_pods_of(c, group, true);
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

/* At rest nobody waits whom another look would place. */
static void nothing_is_overlooked(struct world *w)
{
    struct cluster *c = w->c;
    run_for(c, 5 * NSEC_PER_SEC);
    unsigned binds = c->binds;
    changed(w, true);
    run_for(c, NSEC_PER_SEC);
    if (c->binds != binds)
        fail_msg("%u pods were overlooked", c->binds - binds);
    assert_null(cache_audit(&c->scheduler->cache)); /* nodes may have become too small */
}

static void change_something(struct world *w)
{
    static void (*const changes[])(struct world *) = {random_node,  random_csinode, random_class,
                                                      random_claim, random_volume,  random_claim,
                                                      end_job,      random_volume};
    changes[below(w, ARRAY_SIZE(changes))](w);
}

static uint64_t bound_ever;

static void live(uint64_t seed, unsigned steps)
{
    struct world w = {
        .c = cluster_new("actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n"
                         "  - name: gang\n  - name: predicates\n  - name: nodeorder\n")};
    rng_seed(&w.rng, seed);
    for (unsigned i = 0; i < 2 * NODES; i++)
        random_node(&w);
    for (unsigned i = 0; i < 30; i++) {
        random_class(&w);
        random_claim(&w);
        random_volume(&w);
    }
    new_job(&w);
    for (unsigned step = 0; step < steps; step++) {
        if (below(&w, 2) && live_jobs(w.c) < JOBS)
            new_job(&w);
        change_something(&w);
        nothing_is_overlooked(&w);
    }
    bound_ever += w.c->binds;
    cluster_free(w.c);
}

static void what_may_help_is_noticed(void **state)
{
    (void)state;
    property_run(&(struct property){.live = live, .seeds = 40, .steps = 100, .alone_steps = 150});
    print_message("%llu pods were bound\n", (unsigned long long)bound_ever);
    assert_true(bound_ever > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_help_is_noticed),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
