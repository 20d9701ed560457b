/*
 * The webhook as a process: certificate, queues, registrations and server put together.
 *
 * All of it lives on the loop thread but the handler, which runs on the server's pool and touches
 * only the struct admission (made before the pool starts; its snapshots have locks) and metrics.
 * The server listens when there is a certificate and the lists of queues and namespaces are
 * complete and watched: whoever connects gets an answer.
 */
#include "webhook/app.h"
#include "base/log.h"
#include "webhook/admission.h"
#include "webhook/certificates.h"
#include "webhook/feed.h"
#include "webhook/gates.h"
#include "webhook/http/http_server.h"
#include "webhook/options.h"
#include "webhook/pod/pods_config_watch.h"

#define DRAIN_TICK_NS (50 * NSEC_PER_MSEC)
/* No request for so long: everybody has heard that this replica is not ready, nobody comes any
 * more. */
#define DRAIN_QUIET_NS (2 * NSEC_PER_SEC)
#define DRAIN_ACCEPT_NS (5 * NSEC_PER_SEC) /* then no new connection is taken */

struct app_metrics {
    struct metric *reviews, *seconds; /* from pool threads */
    struct metric *connections, *waiting, *bodies, *refused, *cut, *rejected, *handshakes;
};

struct app {
    const struct webhook_options *options;
    struct process *process; /* borrowed */
    struct admission admission;
    struct certificates *certificates;
    struct feed *queues, *namespaces; /* the latter NULL where nothing asks for it */
    struct pods_config_watch *pods;   /* likewise */
    struct http_server *server;
    bool serving;
    struct app_metrics metrics;
    struct loop_timer drain; /* runs while stopping */
    int64_t drain_began_ns;  /* conn_now() */
};

/* ---- on the pool --------------------------------------------------------------------------- */

static void count_review(struct app *app, struct str path, const struct admission_answer *answer,
                         int64_t began_ns)
{
    const struct admission_path *entry = admission_find(path);
    const char *result = answer->status != 200 ? "error" : answer->allowed ? "allowed" : "denied";
    const char *const labels[] = {entry ? entry->path : "", result, NULL};
    metric_add(app->metrics.reviews, labels, 1);
    metric_observe(app->metrics.seconds, NULL, (double)(conn_now() - began_ns) / NSEC_PER_SEC);
}

static enum http_verdict on_review(const struct http_request *request, struct http_reply *reply,
                                   void *arg)
{
    struct app *app = arg;
    const int64_t began_ns = conn_now();
    const struct admission_question question = {.path = request->path,
                                                .body = request->body,
                                                .last_try = request->last_try,
                                                .late = began_ns > request->until_ns};
    struct admission_answer answer = {.body = &reply->body};
    admission_answer(&app->admission, &question, &answer);
    if (answer.wait)
        return HTTP_WAIT;
    count_review(app, request->path, &answer, began_ns);
    reply->status = answer.status;
    reply->json = answer.status == 200;
    return HTTP_REPLY;
}

static bool is_known(struct str path, void *arg)
{
    (void)arg;
    return admission_find(path) != NULL;
}

/* ---- serving ------------------------------------------------------------------------------- */

static void serve_if_ready(struct app *app)
{
    struct error err = ERROR_INIT;
    if (app->serving || !certificates_current(app->certificates) || !feed_ready(app->queues) ||
        !feed_ready(app->namespaces))
        return;
    if (http_server_start(app->server, certificates_current(app->certificates), &err) < 0) {
        log_error("%s", err.text);
        return;
    }
    app->serving = true;
    log_info("serving reviews port=%u", http_server_port(app->server));
}

static void on_snapshot(void *arg)
{
    struct app *app = arg;
    http_server_wake(app->server);
    serve_if_ready(app);
}

static void on_credentials(void *arg)
{
    struct app *app = arg;
    if (app->serving)
        http_server_reload_tls(app->server, certificates_current(app->certificates));
    else
        serve_if_ready(app);
}

static void ready(void *arg, struct buf *missing)
{
    struct app *app = arg;
    certificates_missing(app->certificates, missing);
    feed_missing(app->queues, missing);
    feed_missing(app->namespaces, missing);
    if (missing->n == 0 && !app->serving)
        buf_add_cstr(missing, "reviews are not served yet");
}

static void watches(void *arg, informers_watch_fn *see, void *see_arg)
{
    const struct app *app = arg;
    certificates_watches(app->certificates, see, see_arg);
    feed_watches(app->queues, see, see_arg);
    feed_watches(app->namespaces, see, see_arg);
}

/* ---- metrics ------------------------------------------------------------------------------- */

static void collect(void *arg)
{
    struct app *app = arg;
    const struct app_metrics *m = &app->metrics;
    const struct http_stats stats = http_server_stats(app->server);
    metric_set(m->connections, NULL, stats.connections.open);
    metric_set(m->waiting, NULL, stats.connections.suspended);
    metric_set(m->bodies, NULL, (double)stats.bodies);
    metric_set(m->refused, NULL, (double)stats.refused);
    metric_set(m->cut, NULL, (double)stats.connections.cuts);
    metric_set(m->rejected, NULL, (double)stats.connections.rejected);
    metric_set(m->handshakes, NULL, (double)stats.handshakes_failed);
}

static void make_metrics(struct app *app, struct metrics *metrics)
{
    static const char *const labels[] = {"path", "result", NULL};
    static const double bounds[] = {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 1};
    struct app_metrics *m = &app->metrics;
    m->reviews = metric_new(metrics, METRIC_COUNTER, "pumice_admission_reviews_total",
                            "Reviews answered, by path and result.", labels);
    m->seconds = metric_new(metrics, METRIC_HISTOGRAM, "pumice_admission_review_seconds",
                            "Time that the rules took for one review.", NULL);
    metric_buckets(m->seconds, bounds, ARRAY_SIZE(bounds));
    const struct {
        struct metric **slot;
        enum metric_type type;
        const char *name, *help;
    } plain[] = {
        {&m->connections, METRIC_GAUGE, "pumice_admission_connections", "Open connections."},
        {&m->waiting, METRIC_GAUGE, "pumice_admission_waiting", "Reviews that wait for a queue."},
        {&m->bodies, METRIC_GAUGE, "pumice_admission_body_bytes", "Memory held by bodies."},
        {&m->refused, METRIC_COUNTER, "pumice_admission_refused_total",
         "Requests refused without a look at their body."},
        {&m->cut, METRIC_COUNTER, "pumice_admission_cut_total",
         "Connections cut because they took too long, or to make room."},
        {&m->rejected, METRIC_COUNTER, "pumice_admission_rejected_total",
         "Connections over the limit, cut at once."},
        {&m->handshakes, METRIC_COUNTER, "pumice_admission_handshakes_failed_total",
         "Connections that ended before their handshake."},
    };
    for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
        *plain[i].slot = metric_new(metrics, plain[i].type, plain[i].name, plain[i].help, NULL);
    metrics_on_collect(metrics, collect, app);
}

static int page_metrics(struct str path, struct str query, struct buf *out, void *arg)
{
    (void)path;
    (void)query;
    metrics_print(arg, out);
    return 200;
}

/* ---- life ---------------------------------------------------------------------------------- */

static void free_app(void *arg)
{
    struct app *app = arg;
    loop_timer_cancel(app->process->loop, &app->drain);
    http_server_free(app->server); /* first: its threads use the rest */
    feed_free(app->queues);
    feed_free(app->namespaces);
    pods_config_watch_free(app->pods);
    certificates_free(app->certificates);
    admission_clear(&app->admission);
    free(app);
}

static int open_server(struct app *app, struct error *err)
{
    const struct webhook_options *o = app->options;
    const struct http_config config = {
        .address = o->listen_address,
        .port = (unsigned)o->port,
        .threads = (unsigned)o->tls_threads,
        .body_max = (size_t)o->max_body_bytes,
        .bodies_total = (size_t)o->max_bodies_bytes,
        .header_max = (size_t)o->max_header_bytes,
        .wait_ns = o->queue_wait_ns,
        .limits = {.connections = (unsigned)o->max_connections,
                   .suspended = (unsigned)o->max_waiting,
                   .idle_ns = o->idle_timeout_ns,
                   .handshake_ns = o->handshake_timeout_ns,
                   .request_ns = o->request_timeout_ns},
        .known = is_known,
        .handler = on_review,
        .arg = app,
    };
    return http_server_new(&config, &app->server, err);
}

static int open_certificates(struct app *app, struct error *err)
{
    const struct certificates_config config = {.loop = app->process->loop,
                                               .transport = app->process->transport,
                                               .options = app->options,
                                               .enabled = app->admission.enabled,
                                               .changed = on_credentials,
                                               .arg = app};
    app->certificates = certificates_new(&config, err);
    return app->certificates ? 0 : -1;
}

static int set_rules(struct app *app, struct error *err)
{
    const struct webhook_options *o = app->options;
    struct webhook_gates gates;
    admission_init(&app->admission);
    if (webhook_gates_parse(&o->feature_gates, &gates, err) < 0)
        return -1;
    app->admission.limits = (struct review_limits){.values = (size_t)o->max_json_values,
                                                   .depth = (unsigned)o->max_json_depth};
    app->admission.rules =
        (struct admission_rules){.scheduler_name = o->scheduler_names.items[0],
                                 .scheduler_names = o->scheduler_names.items,
                                 .scheduler_name_count = o->scheduler_names.n,
                                 .max_queue_depth = o->max_queue_depth,
                                 .root_queue_protection = o->root_queue_protection,
                                 .allocated_pods_check = o->allocated_pods_check,
                                 .pod_level_resources = gates.pod_level_resources,
                                 .scheduling_gates = gates.scheduling_gates};
    return o->enabled_admission
               ? admission_enable(&app->admission, str_of(o->enabled_admission), err)
               : 0;
}

/* Begins to follow what the enabled rules look at. */
static void follow(struct app *app)
{
    struct process *process = app->process;
    struct admission *admission = &app->admission;
    app->queues = feed_new(process->loop, process->transport, &feed_queues, &admission->queues,
                           on_snapshot, app);
    if (admission_enabled(admission, STR("/podgroups/mutate")))
        app->namespaces = feed_new(process->loop, process->transport, &feed_namespaces,
                                   &admission->namespaces, on_snapshot, app);
    if (*app->options->admission_conf && admission_enabled(admission, STR("/pods/mutate")))
        app->pods =
            pods_config_watch_new(process->loop, app->options->admission_conf, &admission->pods);
}

static int build(struct app *app, struct error *err)
{
    struct process *process = app->process;
    if (set_rules(app, err) < 0 || open_server(app, err) < 0 || open_certificates(app, err) < 0)
        return -1;
    follow(app);
    make_metrics(app, process->metrics);
    certificates_measure(app->certificates, process->metrics);
    if (process->health && !process->pages)
        ops_http_handle(process->health, "/metrics", page_metrics, process->metrics);
    return 0;
}

static void on_drain(void *arg);

static void *start(struct process *process, struct error *err)
{
    if (webhook_options_check(&webhook_options, err) < 0)
        return NULL;
    struct app *app = xnew(struct app);
    app->options = &webhook_options;
    app->process = process;
    loop_timer_init(&app->drain, on_drain, app);
    if (build(app, err) == 0)
        return app;
    free_app(app);
    return NULL;
}

/* ---- stop ---------------------------------------------------------------------------------- */

/*
 * First everything goes on, with answers that close their connections; when no request has come
 * for a moment, or after some seconds, no new connection is taken; when no request is under way,
 * or the time is up, the process ends.
 */
static void on_drain(void *arg)
{
    struct app *app = arg;
    const int64_t now = conn_now();
    const struct http_stats stats = http_server_stats(app->server);
    const bool over = now - app->drain_began_ns >= app->options->graceful_shutdown_ns;
    const bool quiet = stats.connections.active == 0 &&
                       now - app->drain_began_ns >= DRAIN_QUIET_NS &&
                       now - stats.last_request_ns >= DRAIN_QUIET_NS;
    bool done = over || !app->serving;
    if (quiet || now - app->drain_began_ns >= DRAIN_ACCEPT_NS)
        done = http_server_quiesce(app->server) == 0 || done;
    if (done)
        process_stopped(app->process);
    else
        loop_timer_set(app->process->loop, &app->drain, DRAIN_TICK_NS);
}

static void stop(void *arg, struct process *process)
{
    struct app *app = arg;
    (void)process;
    app->drain_began_ns = conn_now();
    http_server_drain(app->server);
    on_drain(app);
}

const struct process_spec webhook_process = {.name = "pumice-webhook",
                                             .component = "vc-webhook-manager",
                                             .flags = webhook_flags,
                                             .no_window = true,
                                             .start = start,
                                             .ready = ready,
                                             .watches = watches,
                                             .stop = stop,
                                             .free = free_app};
