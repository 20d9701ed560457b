/*
 * For tests of the extender: a server that answers, refuses, hangs, is late or talks rubbish, and a
 * cluster whose scheduler asks it.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_EXTENDER_H
#define PUMICE_TESTS_UNIT_SCHEDULER_EXTENDER_H

#include "cluster.h"
#include "scheduler/extender/extender.h"

#define SECOND NSEC_PER_SEC
#define MS NSEC_PER_MSEC
#define GPU "example.com/gpu"
#define URL "http://ext.test:8888/hook"

enum path { PREDICATE, PRIORITIZE, ENQUEUEABLE, ENQUEUED, READY, OVERUSED, ALLOC, DEALLOC, PATHS };

static const char *const paths[PATHS] = {"predicate", "prioritize", "enqueueable", "enqueued",
                                         "ready",     "overused",   "alloc",       "dealloc"};

struct server {
    struct cluster *c;
    struct fake_transport *fake; /* of the configuration in use; freed with it */
    unsigned connects;
    int64_t latency_ns;
    const char *answers[PATHS]; /* NULL: "{}" */
    int status;                 /* 0: 200 */
    const char *only;           /* predicate: nodes whose name has this may be taken; NULL: all */
    const char *best;           /* prioritize: this one gets 100 points */
    unsigned asked[PATHS];
    struct buf told;     /* "alloc g-w-0;..." */
    char *bodies[PATHS]; /* owned; the last one */
    unsigned most_at_once;
};

static inline enum path path_of(struct str path)
{
    assert_true(str_starts(path, STR("/")));
    for (enum path i = 0; i < PATHS; i++)
        if (str_is(str_from(path, 1), paths[i]))
            return i;
    fail_msg("nobody answers %.*s", STR_ARG(path));
    return PATHS;
}

static inline void note_told(struct server *server, enum path path, struct str body)
{
    if (path == ALLOC || path == DEALLOC)
        buf_printf(&server->told, "%s %.*s;", paths[path], STR_ARG(field(body, "Name")));
}

static inline unsigned calls_open(const struct fake_transport *fake)
{
    unsigned n = 0;
    for (const struct list *link = fake->calls.next; link != &fake->calls; link = link->next)
        n++;
    return n;
}

/* The node of a predicate's body. */
static inline struct str node_asked(struct str body)
{
    return field(str_from(body, (size_t)str_find(body, STR("\"node\":{"))), "Name");
}

static inline int serve_extender(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    struct server *server = arg;
    enum path path = path_of(spec->path);
    unsigned open = calls_open(server->fake);
    assert_true(spec->method == KUBE_POST && spec->content == KUBE_JSON);
    server->asked[path]++;
    server->most_at_once = open > server->most_at_once ? open : server->most_at_once;
    free(server->bodies[path]);
    server->bodies[path] = str_dup(spec->body);
    note_told(server, path, spec->body);
    if (server->answers[path])
        buf_add_cstr(body, server->answers[path]);
    else if (path == PREDICATE && server->only &&
             str_find(node_asked(spec->body), str_of(server->only)) < 0)
        buf_add_cstr(body, "{\"status\":\"no licence\",\"code\":2}");
    else if (path == PRIORITIZE && server->best)
        buf_printf(body, "{\"nodeScore\":{\"%s\":100,\"else\":1}}", server->best);
    else
        buf_add_cstr(body, "{}");
    return server->status ? server->status : 200;
}

static inline struct kube_transport *connect_server(void *arg, const char *url, struct error *err)
{
    struct server *server = arg;
    (void)err;
    assert_string_equal(url, URL);
    server->fake = fake_new(server->c->loop, serve_extender, server);
    server->fake->latency_ns = server->latency_ns ? server->latency_ns : 10 * MS;
    server->connects++;
    return &server->fake->base;
}

/* Only pods with a device are asked about. */
#define MANAGED "      extender.managedResources: " GPU "\n"
#define PREDICATES "      extender.predicateVerb: predicate\n"
#define SCORES "      extender.prioritizeVerb: /prioritize/\n"
#define ENTERING "      extender.jobEnqueueableVerb: enqueueable\n"
#define READINESS "      extender.jobReadyVerb: ready\n"
#define OVERUSE "      extender.queueOverusedVerb: overused\n"
#define MESSAGES                                                                                   \
    "      extender.allocateFuncVerb: alloc\n      extender.deallocateFuncVerb: dealloc\n"         \
    "      extender.jobEnqueuedVerb: enqueued\n"
#define IGNORABLE "      extender.ignorable: true\n"

static inline struct sched_config *extender_config(const char *arguments)
{
    struct error err = ERROR_INIT;
    cleanup_free char *yaml =
        xasprintf("actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n"
                  "  - name: priority\n  - name: gang\n  - name: predicates\n"
                  "  - name: nodeorder\n%s%s",
                  arguments ? "  - name: extender\n    arguments:\n"
                              "      extender.urlPrefix: " URL "/\n"
                            : "",
                  arguments ? arguments : "");
    struct sched_config *config = sched_config_parse(str_of(yaml), &err);
    if (!config)
        fail_msg("%s", err.text);
    return config;
}

static inline void time_is_over(void *arg)
{
    (void)arg;
}

/* Time goes by though nothing may happen, for which a virtual clock would stand still. */
static inline void pass(struct cluster *c, int64_t ns)
{
    struct loop_timer timer;
    loop_timer_init(&timer, time_is_over, NULL);
    loop_timer_set(c->loop, &timer, ns);
    run_for(c, ns);
    loop_timer_cancel(c->loop, &timer);
}

/* NULL: without the plugin. */
static inline void use_extender(struct server *server, const char *arguments)
{
    scheduler_set_config(server->c->scheduler, extender_config(arguments));
}

static inline struct cluster *cluster_of(struct server *server, const char *arguments)
{
    *server = (struct server){.c = cluster_new(NULL), .told = BUF_INIT(1 << 20)};
    server->c->scheduler->params.connect = connect_server;
    server->c->scheduler->params.connect_arg = server;
    use_extender(server, arguments);
    pass(server->c, SECOND); /* in use from the first cycle on */
    return server->c;
}

static inline void server_free(struct server *server)
{
    check(server->c);
    cluster_free(server->c);
    for (int i = 0; i < PATHS; i++)
        free(server->bodies[i]);
    buf_clear(&server->told);
}

static inline void add_gpu_nodes(struct cluster *c, unsigned count, int gpus)
{
    cleanup_free char *allocatable =
        xasprintf("\"cpu\":\"64\",\"memory\":\"64Gi\",\"pods\":\"110\",\"" GPU "\":\"%d\"", gpus);
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *name = xasprintf("n%02u", i);
        add_node_json(c, name, "", "", allocatable);
    }
}

static inline struct test_group *add_gpu_gang(struct cluster *c, const char *name, unsigned count)
{
    cleanup_free char *minimum =
        xasprintf("\"minMember\":%u,\"minResources\":{\"" GPU "\":\"%u\"}", count, count);
    struct test_group *group = add_group(c, name, minimum);
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *pod = xasprintf("%s-w-%u", name, i);
        add_pod_spec(c, pod, name, "w",
                     ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\",\"" GPU
                     "\":\"1\"}}}]");
    }
    return group;
}

/* One pod that asks for that much CPU beside a device, with a label of so many bytes: each amount
 * is a class of its own. */
static inline struct test_group *add_gpu_pod(struct cluster *c, const char *name, unsigned millis,
                                             size_t label)
{
    cleanup_free char *spec = xasprintf(",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":"
                                        "\"%um\",\"" GPU "\":\"1\"}}}]",
                                        millis);
    cleanup_free char *text = xcalloc(label + 1, 1);
    memset(text, 'x', label);
    cleanup_free char *labels = xasprintf("\"text\":\"%s\"", text);
    struct test_group *group = add_group(c, name, "\"minMember\":1");
    add_pod_labelled(c, name, name, "w", labels, spec);
    return group;
}

static inline const struct extender *extender_of(const struct server *server)
{
    const struct sched_config *config = server->c->scheduler->config;
    return config->plugins.items[config->plugins.n - 1]->state;
}

static inline const char *node_of_pod(struct cluster *c, const char *name)
{
    return find_pod(c, name)->node;
}

/* Runs until that many pods of the group have a node, or the time is over; how long it took. */
static inline int64_t time_to_bind(struct cluster *c, const char *group, unsigned count,
                                   int64_t most)
{
    int64_t started = loop_now(c->loop), end = started + most;
    while (bound(c, group, NULL) < count && loop_now(c->loop) < end &&
           loop_turn(c->loop, end - loop_now(c->loop)))
        ;
    return bound(c, group, NULL) < count ? -1 : loop_now(c->loop) - started;
}

#endif
