/*
 * A cache without a scheduler around it: pods, PodGroups, nodes and queues from JSON, each change
 * made by hand. Every look at it is preceded by an audit.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_BARE_H
#define PUMICE_TESTS_UNIT_SCHEDULER_BARE_H

#include "testing.h"

#include "base/ensure.h"
#include "base/intern.h"
#include "base/log.h"
#include "kube/fake_transport.h"
#include "scheduler/cache.h"

struct bare {
    struct loop *loop;
    struct fake_transport *fake;
    struct window *window;
    struct store *priorityclasses;
    struct cache cache;
};

static inline int bare_serve(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    (void)arg;
    (void)spec;
    (void)body;
    return 500;
}

static inline void bare_timer(void *arg)
{
    (void)arg;
}

static inline struct bare *bare_new(void)
{
    static const char *const names[] = {"volcano"};
    struct bare *b = xnew(struct bare);
    b->loop = loop_new_virtual(1, INT64_C(1764000000) * NSEC_PER_SEC);
    b->fake = fake_new(b->loop, bare_serve, b);
    b->window = window_new(b->loop, &b->fake->base, &(struct window_config){.initial = 1});
    b->priorityclasses = store_new(&priorityclass_store_type);
    cache_init(&b->cache, b->loop, b->window);
    b->cache.schedulers = names;
    b->cache.scheduler_count = 1;
    b->cache.priorityclasses = b->priorityclasses;
    b->cache.job_timer = bare_timer;
    return b;
}

static inline void bare_free(struct bare *b)
{
    cache_clear(&b->cache);
    store_free(b->priorityclasses);
    window_free(b->window);
    kube_transport_free(&b->fake->base);
    loop_free(b->loop);
    free(b);
}

static inline void audited(const struct bare *b)
{
    const char *wrong = cache_audit(&b->cache);
    if (wrong)
        fail_msg("%s", wrong);
}

/* `members`: of the spec after the name of the scheduler, beginning with a comma, or "". */
static inline bool put_pod(struct bare *b, const char *name, const char *group, const char *members,
                           const char *status)
{
    struct error err = ERROR_INIT;
    cleanup_free char *json = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u-%s\",\"annotations\":{"
        "\"scheduling.k8s.io/group-name\":\"%s\"}},\"spec\":{\"schedulerName\":\"volcano\"%s},"
        "\"status\":{%s}}",
        name, name, group, members, status);
    struct pod *pod = pod_decode(str_of(json), &err);
    if (!pod)
        fail_msg("%s", err.text);
    cleanup_free char *uid = xasprintf("u-%s", name);
    bool changed = cache_set_pod(&b->cache, uid, pod);
    pod_unref(pod);
    return changed;
}

static inline bool cut_pod(struct bare *b, const char *name)
{
    cleanup_free char *uid = xasprintf("u-%s", name);
    return cache_set_pod(&b->cache, uid, NULL);
}

static inline struct sched_task *task_of(const struct bare *b, const char *name)
{
    cleanup_free char *uid = xasprintf("u-%s", name);
    return cache_task(&b->cache, uid);
}

static inline struct sched_job *put_group(struct bare *b, const char *name, const char *spec,
                                          const char *phase)
{
    struct error err = ERROR_INIT;
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"g-%s\"},"
                  "\"spec\":{%s},\"status\":{\"phase\":\"%s\"}}",
                  name, name, spec, phase);
    struct podgroup *group = podgroup_decode(str_of(json), &err);
    if (!group)
        fail_msg("%s", err.text);
    cache_set_podgroup(&b->cache, "ns", name, group);
    podgroup_free(group);
    return cache_job(&b->cache, "ns", name);
}

static inline bool put_queue(struct bare *b, const char *name, const char *annotations,
                             const char *spec)
{
    struct error err = ERROR_INIT;
    cleanup_free char *json = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"uid\":\"q-%s\",\"annotations\":{%s}},\"spec\":{%s}}",
        name, name, annotations, spec);
    struct queue *queue = queue_decode(str_of(json), &err);
    if (!queue)
        fail_msg("%s", err.text);
    bool changed = cache_set_queue(&b->cache, name, queue);
    queue_free(queue);
    return changed;
}

static inline bool put_node(struct bare *b, const char *name, const char *allocatable)
{
    struct error err = ERROR_INIT;
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"uid\":\"n-%s\"},\"status\":{"
                  "\"allocatable\":{%s}}}",
                  name, name, allocatable);
    struct node *node = node_decode(str_of(json), &err);
    if (!node)
        fail_msg("%s", err.text);
    bool changed = cache_set_node(&b->cache, name, node);
    node_unref(node);
    return changed;
}

/* "cpu=500 memory=1024 " of a set, in the order of the numbers of its names. */
static inline void assert_set(const struct bare *b, const struct resource_set *set,
                              const char *expected)
{
    cleanup_buf struct buf text = BUF_INIT(4096);
    audited(b);
    for (uint32_t i = 0; i < set->n; i++)
        buf_printf(&text, "%s%s=%lld", i ? " " : "", resource_name(set->items[i].id),
                   (long long)set->items[i].amount);
    assert_str(buf_str(&text), expected);
}

#endif
