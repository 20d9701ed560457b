/*
 * A small API server in memory around a real scheduler: pods, nodes, PodGroups and queues as raw
 * JSON through real stores, answers and faults through a fake transport, on a virtual clock.
 *
 * Every object has a version; the "watch" shows a change after `watch_ns`. Checks: no node over its
 * allocatable, no gang half-bound at rest, the cache's sums equal a recount.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_CLUSTER_H
#define PUMICE_TESTS_UNIT_SCHEDULER_CLUSTER_H

#include "eviction_server.h"

/* ---- the server ------------------------------------------------------------------------------ */

static inline int serve_bind(struct cluster *c, struct test_pod *pod, struct str text,
                             struct buf *body)
{
    struct str target = str_from(text, (size_t)str_find(text, STR("\"target\"")));
    struct str node = field(target, "name");
    if (!pod)
        return answer(body, 404);
    pod->asked++;
    int fail = pod->fail;
    if (fail > 0)
        pod->fail = 0;
    if (fail && !pod->fail_after)
        return answer(body, fail > 0 ? fail : -fail);
    assert_true(str_is(field(text, "uid"), pod->uid));
    if (pod->node[0] || pod->deleted)
        return answer(body, 409);
    snprintf(pod->node, sizeof(pod->node), "%.*s", STR_ARG(node));
    pod->binds++;
    c->binds++;
    pod->rv = ++c->rv; /* the watch shows it with the next change, or by show_pod */
    if (fail)
        return answer(body, fail > 0 ? fail : -fail);
    return answer(body, 201);
}

static inline int serve_pod(struct cluster *c, const struct kube_call_spec *spec, struct str name,
                            struct str verb, struct buf *body)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    cleanup_free char *text = str_dup(name);
    struct test_pod *pod = find_pod(c, text);
    if (str_is(verb, "binding"))
        return serve_bind(c, pod, spec->body, body);
    if (str_is(verb, "eviction"))
        return serve_eviction(c, pod, spec->body, body);
    if (!pod)
        return answer(body, 404);
    if (str_find(spec->body, STR("\"nominatedNodeName\"")) >= 0) {
        int status = serve_nomination(pod, spec->body);
        if (status)
            return answer(body, status);
        pod->rv = ++c->rv;
    } else if (str_is(verb, "status")) {
        assert_int_equal(spec->content, KUBE_STRATEGIC_PATCH);
        pod->tellings++;
        pod->unschedulable = true;
        pod->told_limit = str_is(field(spec->body, "reason"), "QueueLimit");
        pod->rv = ++c->rv;
    }
    buf_add_str(body, pod_json(&arena, pod));
    return 200;
}

static inline int serve_group(struct cluster *c, const struct kube_call_spec *spec, struct str name,
                              struct buf *body)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    cleanup_free char *text = str_dup(name);
    struct test_group *group = find_group(c, text);
    if (!group)
        return answer(body, 404);
    cleanup_free char *rv = xasprintf("%llu", (unsigned long long)group->rv);
    const struct str about = field(spec->body, "resourceVersion");
    free(group->last);
    group->last = str_dup(spec->body);
    if (!str_is(field(spec->body, "uid"), group->uid) || (!str_empty(about) && !str_is(about, rv)))
        return answer(body, 409);
    if (group->fail) {
        group->fail--;
        return answer(body, 500);
    }
    size_t at = (size_t)str_find(spec->body, STR("\"status\":")) + strlen("\"status\":");
    free(group->status);
    group->status = str_dup(str_sub(spec->body, at, spec->body.n - 1));
    group->patches++;
    group->rv = ++c->rv;
    buf_add_str(body, group_json(&arena, group));
    return 200;
}

static inline struct test_queue *find_queue(struct cluster *c, struct str name)
{
    for (size_t i = 0; i < c->queue_list.n; i++)
        if (str_is(name, c->queue_list.items[i]->name))
            return c->queue_list.items[i];
    return NULL;
}

static inline struct str queue_json(struct arena *arena, struct cluster *c,
                                    struct test_queue *queue)
{
    queue->rv = ++c->rv;
    return arena_printf(
        arena,
        "{\"metadata\":{\"name\":\"%s\",\"uid\":\"q-%s\",\"resourceVersion\":"
        "\"%llu\",\"annotations\":{%s}},\"spec\":{%s},\"status\":{\"allocated\":%s}}",
        queue->name, queue->name, (unsigned long long)queue->rv, queue->annotations, queue->spec,
        queue->allocated);
}

static inline struct test_queue *make_queue(struct cluster *c, struct str name,
                                            const char *annotations, const char *spec)
{
    struct test_queue *queue = find_queue(c, name);
    if (!queue) {
        queue = xnew(struct test_queue);
        snprintf(queue->name, sizeof(queue->name), "%.*s", STR_ARG(name));
        queue->allocated = xstrdup("{}");
        vec_push(&c->queue_list, queue);
    }
    free(queue->annotations);
    free(queue->spec);
    queue->annotations = xstrdup(annotations);
    queue->spec = xstrdup(spec);
    return queue;
}

/* What a merge patch with these members leaves of an object that has no others: members that are
 * null go. The first is not. */
static inline char *without_nulls(struct str members)
{
    char *text = str_dup(members);
    for (char *null; (null = strstr(text, ":null")) != NULL;) {
        char *from = null;
        while (*from != ',')
            from--;
        memmove(from, null + strlen(":null"), strlen(null + strlen(":null")) + 1);
    }
    return text;
}

static inline int serve_queue_status(struct cluster *c, const struct kube_call_spec *spec,
                                     struct str name, struct buf *body)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct test_queue *queue = find_queue(c, name);
    if (!queue)
        return answer(body, 404);
    assert_int_equal(spec->content, KUBE_MERGE_PATCH);
    free(queue->last);
    queue->last = str_dup(spec->body);
    /* The UID is not looked at: a patch of the status of a custom object. */
    cleanup_free char *rv = xasprintf("%llu", (unsigned long long)queue->rv);
    const struct str about = field(spec->body, "resourceVersion");
    if (!str_empty(about) && !str_is(about, rv))
        return answer(body, 409);
    size_t at = (size_t)str_find(spec->body, STR("\"allocated\":")) + strlen("\"allocated\":");
    free(queue->allocated);
    queue->allocated = without_nulls(str_sub(spec->body, at, spec->body.n - 2));
    queue->patches++;
    buf_add_str(body, queue_json(&arena, c, queue));
    return 200;
}

static inline int serve_queue(struct cluster *c, const struct kube_call_spec *spec,
                              struct buf *body)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct test_queue *queue = make_queue(c, field(spec->body, "name"), "", "\"weight\":1");
    c->queue_posts++;
    buf_add_str(body, queue_json(&arena, c, queue));
    return 201;
}

static inline int serve(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    struct cluster *c = arg;
    struct str path = spec->path, part, parts[12];
    size_t n = 0;
    while (n < 12 && str_split(&path, '/', &part))
        parts[n++] = part;
    if (str_is(parts[n - 1], "events") || str_is(parts[n - 2], "events"))
        return serve_event(c, spec->body, body);
    if (spec->method == KUBE_POST && str_is(parts[n - 1], "queues"))
        return serve_queue(c, spec, body);
    if (str_is(parts[n - 3], "queues"))
        return serve_queue_status(c, spec, parts[n - 2], body);
    if (str_is(parts[n - 2], "podgroups"))
        return serve_group(c, spec, parts[n - 1], body);
    if (str_is(parts[n - 2], "pods"))
        return serve_pod(c, spec, parts[n - 1], STR_NULL, body);
    return serve_pod(c, spec, parts[n - 2], parts[n - 1], body);
}

/* ---- making things --------------------------------------------------------------------------- */

static inline void add_node_json(struct cluster *c, const char *name, const char *labels,
                                 const char *spec, const char *allocatable)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(c->nodes, c->listing, false,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"%s\",\"uid\":\"n-%s\",\"resourceVersion\":"
                      "\"%llu\",\"labels\":{%s}},\"spec\":{%s},\"status\":{\"allocatable\":{"
                      "%s}}}",
                      name, name, (unsigned long long)++c->rv, labels, spec, allocatable));
}

static inline void add_node(struct cluster *c, const char *name, int cpu)
{
    cleanup_free char *allocatable =
        xasprintf("\"cpu\":\"%d\",\"memory\":\"64Gi\",\"pods\":\"110\"", cpu);
    add_node_json(c, name, "", "", allocatable);
}

static inline void add_nodes(struct cluster *c, unsigned count, int cpu)
{
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *name = xasprintf("n%u", i);
        add_node(c, name, cpu);
    }
}

static inline void delete_node(struct cluster *c, const char *name)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(c->nodes, false, true,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"%s\",\"uid\":\"n-%s\","
                      "\"resourceVersion\":\"%llu\"}}",
                      name, name, (unsigned long long)++c->rv));
}

/* `annotations` and `spec`: members of these objects. */
static inline void add_queue(struct cluster *c, const char *name, const char *annotations,
                             const char *spec)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct test_queue *queue = make_queue(c, str_of(name), annotations, spec);
    show(c->queues, c->listing, false, queue_json(&arena, c, queue));
}

static inline struct test_group *add_group_meta(struct cluster *c, const char *name,
                                                const char *meta, const char *spec)
{
    struct test_group *group = xnew(struct test_group);
    snprintf(group->name, sizeof(group->name), "%s", name);
    snprintf(group->uid, sizeof(group->uid), "g-%s-%llu", name, (unsigned long long)c->rv);
    group->meta = xstrdup(meta);
    group->spec = xstrdup(spec);
    group->status = xstrdup("{}");
    vec_push(&c->group_list, group);
    show_group(c, group);
    return group;
}

static inline struct test_group *add_group(struct cluster *c, const char *name, const char *spec)
{
    return add_group_meta(c, name, "", spec);
}

static inline struct test_pod *add_pod_labelled(struct cluster *c, const char *name,
                                                const char *group, const char *role,
                                                const char *labels, const char *spec)
{
    struct test_pod *pod = xnew(struct test_pod);
    snprintf(pod->name, sizeof(pod->name), "%s", name);
    snprintf(pod->group, sizeof(pod->group), "%s", group);
    snprintf(pod->role, sizeof(pod->role), "%s", role);
    snprintf(pod->uid, sizeof(pod->uid), "p-%s-%llu", name, (unsigned long long)c->rv);
    pod->spec = xstrdup(spec);
    pod->labels = xstrdup(labels);
    pod->phase = "Pending";
    vec_push(&c->pod_list, pod);
    show_pod(c, pod);
    return pod;
}

static inline struct test_pod *add_pod_spec(struct cluster *c, const char *name, const char *group,
                                            const char *role, const char *spec)
{
    return add_pod_labelled(c, name, group, role, "", spec);
}

static inline char *cpu_spec(const char *cpu)
{
    return xasprintf(",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]", cpu);
}

static inline void add_pods(struct cluster *c, const char *group, const char *role, unsigned count,
                            const char *cpu)
{
    cleanup_free char *spec = cpu_spec(cpu);
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *name = xasprintf("%s-%s-%u", group, role, i);
        add_pod_spec(c, name, group, role, spec);
    }
}

/* A gang of `count` pods that all start together. */
static inline struct test_group *add_gang(struct cluster *c, const char *name, unsigned count,
                                          const char *cpu)
{
    cleanup_free char *spec = xasprintf("\"minMember\":%u", count);
    struct test_group *group = add_group(c, name, spec);
    add_pods(c, name, "w", count, cpu);
    return group;
}

static inline void set_phase(struct cluster *c, const char *group, const char *phase)
{
    for (size_t i = 0; i < c->pod_list.n; i++) {
        struct test_pod *pod = c->pod_list.items[i];
        if (pod->gone || strcmp(pod->group, group) != 0 || !pod->node[0])
            continue;
        pod->phase = phase;
        show_pod(c, pod);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static inline void sync_store(struct store *store, uint64_t rv)
{
    store_list_begin(store);
    store_list_end(store, rv);
}

static inline void start_scheduler(struct cluster *c, const char *conf)
{
    static const char *const names[] = {"volcano"};
    struct error err = ERROR_INIT;
    struct sched_config *config =
        conf ? sched_config_parse(str_of(conf), &err) : sched_config_default();
    assert_non_null(config);
    c->fake = fake_new(c->loop, serve, c);
    c->window = window_new(c->loop, &c->fake->base, &(struct window_config){.initial = 16});
    c->events = c->with_events ? event_recorder_new(c->loop, c->window, "volcano") : NULL;
    c->scheduler = scheduler_new(&(struct scheduler_params){.loop = c->loop,
                                                            .transport = &c->fake->base,
                                                            .window = c->window,
                                                            .events = c->events,
                                                            .pods = c->pods,
                                                            .nodes = c->nodes,
                                                            .podgroups = c->podgroups,
                                                            .queues = c->queues,
                                                            .priorityclasses = c->priorityclasses,
                                                            .names = names,
                                                            .name_count = 1,
                                                            .default_queue = "default",
                                                            .config = config});
}

static inline void stop_scheduler(struct cluster *c)
{
    scheduler_free(c->scheduler);
    event_recorder_free(c->events);
    window_free(c->window);
    kube_transport_free(&c->fake->base);
    c->scheduler = NULL;
}

static inline void new_stores(struct cluster *c)
{
    c->pods = store_new(&pod_store_type);
    c->nodes = store_new(&node_store_type);
    c->podgroups = store_new(&podgroup_store_type);
    c->queues = store_new(&queue_store_type);
    c->priorityclasses = store_new(&priorityclass_store_type);
}

static inline void free_stores(struct cluster *c)
{
    store_free(c->pods);
    store_free(c->nodes);
    store_free(c->podgroups);
    store_free(c->queues);
    store_free(c->priorityclasses);
}

static inline void sync_all(struct cluster *c)
{
    struct store *stores[] = {c->pods, c->nodes, c->podgroups, c->queues, c->priorityclasses};
    for (size_t i = 0; i < ARRAY_SIZE(stores); i++)
        if (!store_synced(stores[i]))
            sync_store(stores[i], 0);
}

/* A scheduler that leads, with complete (empty) lists. NULL: the built-in configuration. */
static inline struct cluster *cluster_open(const char *conf, bool with_events)
{
    struct cluster *c = xnew(struct cluster);
    c->with_events = with_events;
    c->grace_ns = 30 * NSEC_PER_SEC;
    c->loop = loop_new_virtual(1, INT64_C(1764000000) * NSEC_PER_SEC);
    new_stores(c);
    start_scheduler(c, conf);
    sync_all(c);
    scheduler_lead(c->scheduler, true);
    return c;
}

static inline struct cluster *cluster_new(const char *conf)
{
    return cluster_open(conf, false);
}

static inline void cluster_free(struct cluster *c)
{
    stop_scheduler(c);
    free_stores(c);
    for (size_t i = 0; i < c->pod_list.n; i++) {
        free(c->pod_list.items[i]->spec);
        free(c->pod_list.items[i]->labels);
        free(c->pod_list.items[i]);
    }
    for (size_t i = 0; i < c->group_list.n; i++) {
        free(c->group_list.items[i]->meta);
        free(c->group_list.items[i]->spec);
        free(c->group_list.items[i]->status);
        free(c->group_list.items[i]->last);
        free(c->group_list.items[i]);
    }
    vec_clear(&c->pod_list);
    for (size_t i = 0; i < c->said.n; i++)
        free(c->said.items[i]);
    vec_clear(&c->said);
    for (size_t i = 0; i < c->queue_list.n; i++) {
        free(c->queue_list.items[i]->annotations);
        free(c->queue_list.items[i]->spec);
        free(c->queue_list.items[i]->allocated);
        free(c->queue_list.items[i]->last);
        free(c->queue_list.items[i]);
    }
    vec_clear(&c->group_list);
    vec_clear(&c->queue_list);
    loop_free(c->loop);
    free(c);
}

/* The process is replaced: a new scheduler lists what the server has. */
static inline void cluster_restart(struct cluster *c, void (*nodes)(struct cluster *))
{
    stop_scheduler(c);
    free_stores(c);
    new_stores(c);
    start_scheduler(c, NULL);
    struct store *stores[] = {c->pods, c->nodes, c->podgroups, c->queues, c->priorityclasses};
    for (size_t i = 0; i < ARRAY_SIZE(stores); i++)
        store_list_begin(stores[i]);
    c->listing = true;
    nodes(c);
    for (size_t i = 0; i < c->group_list.n; i++)
        show_group(c, c->group_list.items[i]);
    for (size_t i = 0; i < c->pod_list.n; i++)
        show_pod(c, c->pod_list.items[i]);
    c->listing = false;
    for (size_t i = 0; i < ARRAY_SIZE(stores); i++)
        store_list_end(stores[i], c->rv);
    scheduler_lead(c->scheduler, true);
}

static inline void run_for(struct cluster *c, int64_t ns)
{
    int64_t end = loop_now(c->loop) + ns;
    while (loop_now(c->loop) < end && loop_turn(c->loop, end - loop_now(c->loop)))
        ;
}

static inline void run(struct cluster *c)
{
    run_for(c, 2 * NSEC_PER_SEC);
}

/* ---- looking --------------------------------------------------------------------------------- */

static inline unsigned bound(struct cluster *c, const char *group, const char *role)
{
    unsigned count = 0;
    for (size_t i = 0; i < c->pod_list.n; i++) {
        const struct test_pod *pod = c->pod_list.items[i];
        if (!pod->gone && strcmp(pod->group, group) == 0 && pod->node[0] &&
            (!role || strcmp(pod->role, role) == 0))
            count++;
    }
    return count;
}

static inline void check(struct cluster *c)
{
    const struct cache *cache = &c->scheduler->cache;
    const char *wrong = cache_audit(cache);
    if (wrong)
        fail_msg("%s", wrong);
    cleanup_buf struct buf page = BUF_INIT(65536);
    if (!debug_cache(c->scheduler, 0, &page))
        fail_msg("%.*s", STR_ARG(buf_str(&page)));
    for (size_t i = 0; i < cache->nodes.n; i++) {
        const struct sched_node *node = cache->nodes.items[i];
        for (uint32_t id = 0; node && node->object && id < resource_id_count(); id++)
            assert_true(resource_vector_get(&node->used, id) <=
                        resource_vector_get(&node->object->allocatable, id));
    }
}

#define assert_says(group, text)                                                                   \
    do {                                                                                           \
        if (str_find(str_of((group)->status), str_of(text)) < 0)                                   \
            fail_msg("\"%s\" is not in %s", text, (group)->status);                                \
    } while (0)

#define assert_silent(group, text)                                                                 \
    do {                                                                                           \
        if (str_find(str_of((group)->status), str_of(text)) >= 0)                                  \
            fail_msg("\"%s\" is in %s", text, (group)->status);                                    \
    } while (0)

#endif
