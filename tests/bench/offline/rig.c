/*
 * The scheduler and its server. See rig.h.
 */
#include "rig.h"
#include "api/podgroup.h"
#include "api/queue.h"
#include <stdio.h>

/* Versions of our own, above those of any recorded object. */
#define RV_FIRST (UINT64_C(1) << 62)
#define BODY_MAX ((size_t)1 << 20)
#define LATENCY_NS NSEC_PER_MSEC /* of the server, on the virtual clock */
#define WALL_NS (INT64_C(1764000000) * NSEC_PER_SEC)

struct kube_call {
    struct list link;
    struct kube_call_spec spec;
    char *path, *body; /* owned */
};

/* ---- the server ------------------------------------------------------------------------------ */

static void call_free(struct kube_call *call)
{
    list_remove(&call->link);
    free(call->path);
    free(call->body);
    free(call);
}

static struct kube_call *call_start(struct kube_transport *transport,
                                    const struct kube_call_spec *spec)
{
    struct rig *rig = container_of(transport, struct rig, transport);
    struct kube_call *call = xnew(struct kube_call);
    call->spec = *spec;
    call->path = str_dup(spec->path);
    call->body = str_dup(spec->body);
    call->spec.path.p = call->path;
    call->spec.body.p = call->body;
    list_append(&rig->calls, &call->link);
    if (!loop_timer_active(&rig->answers))
        loop_timer_set(rig->loop, &rig->answers, LATENCY_NS);
    return call;
}

static void call_cancel(struct kube_transport *transport, struct kube_call *call)
{
    (void)transport;
    call_free(call);
}

static void forget_calls(struct kube_transport *transport)
{
    struct rig *rig = container_of(transport, struct rig, transport);
    list_each(link, &rig->calls)
    {
        call_free(container_of(link, struct kube_call, link));
    }
    loop_timer_cancel(rig->loop, &rig->answers);
}

/* The text between the first `before` and the `after` that follows. */
static struct str between(struct str text, struct str before, struct str after)
{
    ptrdiff_t at = str_find(text, before);
    if (at < 0)
        return STR_NULL;
    struct str rest = str_from(text, (size_t)at + before.n);
    ptrdiff_t end = str_find(rest, after);
    return end < 0 ? STR_NULL : str_sub(rest, 0, (size_t)end);
}

static int grant_bind(struct rig *rig, const struct kube_call *call, struct str pod)
{
    struct str body = call->spec.body;
    struct str target = str_from(body, (size_t)str_find(body, STR("\"target\"")));
    struct str node = between(target, STR("\"name\":\""), STR("\""));
    rig->binds++;
    rig->digest += str_hash(call->spec.path) * (str_hash(node) | 1);
    if (rig->on_bind)
        rig->on_bind(rig->on_bind_arg, pod);
    return 201;
}

/* The PodGroup with the status that was sent. */
static int grant_status(struct rig *rig, struct str ns, struct str name, struct str sent,
                        struct buf *answer)
{
    cleanup_free char *key = xasprintf("%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
    const char *spec = map_get(&rig->specs, str_of(key));
    struct str uid = between(sent, STR("\"uid\":\""), STR("\""));
    ptrdiff_t status = str_find(sent, STR("\"status\":"));
    if (!spec || status < 0)
        return 404;
    struct str tail = str_from(sent, (size_t)status);
    buf_printf(answer,
               "{\"metadata\":{\"name\":\"%.*s\",\"namespace\":\"%.*s\",\"uid\":\"%.*s\","
               "\"resourceVersion\":\"%llu\"},\"spec\":%s,%.*s",
               STR_ARG(name), STR_ARG(ns), STR_ARG(uid), (unsigned long long)rig_version(rig), spec,
               STR_ARG(tail));
    return 200;
}

/* A queue that the scheduler makes. */
static int grant_queue(struct rig *rig, struct str sent, struct buf *answer)
{
    struct str name = between(sent, STR("\"name\":\""), STR("\""));
    buf_printf(answer,
               "{\"metadata\":{\"name\":\"%.*s\",\"uid\":\"q-%.*s\",\"resourceVersion\":\"%llu\"},"
               "\"spec\":{\"weight\":1}}",
               STR_ARG(name), STR_ARG(name), (unsigned long long)rig_version(rig));
    return 201;
}

static int grant(struct rig *rig, const struct kube_call *call, struct buf *answer)
{
    struct str path = call->spec.path, part, parts[12];
    size_t n = 0;
    while (n < ARRAY_SIZE(parts) && str_split(&path, '/', &part))
        parts[n++] = part;
    if (n > 1 && str_is(parts[n - 1], "binding"))
        return grant_bind(rig, call, parts[n - 2]);
    rig->writes++;
    if (n > 3 && str_is(parts[n - 2], "podgroups"))
        return grant_status(rig, parts[n - 3], parts[n - 1], call->spec.body, answer);
    if (n > 0 && str_is(parts[n - 1], "queues"))
        return grant_queue(rig, call->spec.body, answer);
    return 404; /* conditions of pods: nobody minds */
}

static void answer_calls(void *arg)
{
    struct rig *rig = arg;
    cleanup_buf struct buf answer = BUF_INIT(BODY_MAX);
    struct list asked;
    list_init(&asked);
    while (!list_empty(&rig->calls)) {
        struct list *link = rig->calls.next;
        list_remove(link);
        list_append(&asked, link);
    }
    while (!list_empty(&asked)) {
        struct kube_call *call = container_of(asked.next, struct kube_call, link);
        buf_reset(&answer);
        struct kube_result result = {.outcome = KUBE_ANSWERED, .status = grant(rig, call, &answer)};
        result.body = buf_str(&answer);
        kube_result_classify(&result);
        list_remove(&call->link);
        call->spec.on_done(&result, call->spec.arg);
        call_free(call);
    }
}

/* ---- the scheduler --------------------------------------------------------------------------- */

static void each_store(struct rig *rig, void (*what)(struct store *store))
{
    what(rig->priorityclasses);
    what(rig->queues);
    what(rig->nodes);
    what(rig->podgroups);
    what(rig->pods);
}

static struct scheduler *new_scheduler(struct rig *rig, struct sched_config *config)
{
    static const char *const names[] = {"volcano"};
    return scheduler_new(&(struct scheduler_params){.loop = rig->loop,
                                                    .transport = &rig->transport,
                                                    .window = rig->window,
                                                    .pods = rig->pods,
                                                    .nodes = rig->nodes,
                                                    .podgroups = rig->podgroups,
                                                    .queues = rig->queues,
                                                    .priorityclasses = rig->priorityclasses,
                                                    .names = names,
                                                    .name_count = ARRAY_SIZE(names),
                                                    .default_queue = "default",
                                                    .config = config});
}

struct rig *rig_new(const char *conf, struct error *err)
{
    static const struct kube_transport_ops ops = {
        .start = call_start, .cancel = call_cancel, .free = forget_calls};
    struct sched_config *config =
        conf ? sched_config_parse(str_of(conf), err) : sched_config_default();
    if (!config)
        return NULL;
    struct rig *rig = xnew(struct rig);
    rig->loop = loop_new_virtual(1, WALL_NS);
    rig->transport.ops = &ops;
    list_init(&rig->calls);
    loop_timer_init(&rig->answers, answer_calls, rig);
    rig->window = window_new(rig->loop, &rig->transport, &(struct window_config){.initial = 0});
    rig->pods = store_new(&pod_store_type);
    rig->nodes = store_new(&node_store_type);
    rig->podgroups = store_new(&podgroup_store_type);
    rig->queues = store_new(&queue_store_type);
    rig->priorityclasses = store_new(&priorityclass_store_type);
    rig->rv = RV_FIRST;
    rig->scheduler = new_scheduler(rig, config);
    each_store(rig, store_list_begin);
    return rig;
}

void rig_free(struct rig *rig)
{
    scheduler_free(rig->scheduler);
    window_free(rig->window);
    kube_transport_free(&rig->transport);
    each_store(rig, store_free);
    map_clear_with(&rig->specs, free);
    loop_free(rig->loop);
    free(rig);
}

void rig_know_group(struct rig *rig, const char *ns, const char *name, struct str spec)
{
    cleanup_free char *key = xasprintf("%s/%s", ns, name);
    free(map_set(&rig->specs, str_of(key), str_dup(spec)));
}

uint64_t rig_version(struct rig *rig)
{
    return ++rig->rv;
}

void rig_listed(struct rig *rig)
{
    struct store *stores[] = {rig->priorityclasses, rig->queues, rig->nodes, rig->podgroups,
                              rig->pods};
    for (size_t i = 0; i < ARRAY_SIZE(stores); i++)
        store_list_end(stores[i], rig->rv);
    while (loop_turn(rig->loop, 0) && !rig->scheduler->ready)
        ;
}
