/*
 * pumice-scheduler: binds the pods of jobs to nodes, whole gangs at a time.
 *
 * This file is the program around struct scheduler: flags, informers, configuration file and its
 * reload, orderly stop. Loop thread only.
 */
#include "api/claim.h"
#include "api/csinode.h"
#include "api/names.h"
#include "api/namespace.h"
#include "api/storageclass.h"
#include "api/volume.h"
#include "base/ensure.h"
#include "base/log.h"
#include "kube/informer.h"
#include "ops/process.h"
#include "scheduler/conf_file.h"
#include "scheduler/debug.h"
#include "scheduler/explain.h"
#include "scheduler/scheduler.h"
#include <signal.h>

/*
 * In flight however slow the answers are. What slows binds in a large job is the kubelets' statuses
 * of those before them: giving way to these would not end the job any sooner.
 */
#define BINDS_LEAST 32
#define NO_CAPACITY "CSIStorageCapacity is not looked at"
#define NO_SAMPLING "every node is considered; that costs little here"
#define NO_PLUGIN_FILES "plugins are compiled in"
#define NO_SHARDING "one scheduler is active, others stand by"
#define PLAIN_HTTP "health and metrics are served in plain HTTP"
#define NO_DUMPS "see /debug/cache and /explain"

static struct {
    struct flag_strings names;
    const char *conf, *default_queue;
    struct flag_strings node_selector;
    bool no_default_conf;
} options = {.names = {.items = {DEFAULT_SCHEDULER_NAME}, .n = 1}, .default_queue = DEFAULT_QUEUE};

static const struct flag flags[] = {
    {"scheduler-name", 0, FLAG_STRINGS, &options.names,
     "Pods with one of these scheduler names are scheduled. Repeatable."},
    {"scheduler-conf", 0, FLAG_STRING, &options.conf,
     "Configuration file (actions and plugins), read again when it changes."},
    {"default-queue", 0, FLAG_STRING, &options.default_queue,
     "The queue that is created when it is absent."},
    {"node-selector", 0, FLAG_STRINGS, &options.node_selector,
     "Only nodes with one of these labels (key:value) are used. Repeatable."},
    {"disable-default-scheduler-config", 0, FLAG_BOOL, &options.no_default_conf,
     "Exit when the configuration file cannot be used, rather than use the built-in one."},
    {"schedule-period", 0, FLAG_IGNORED, NULL, "cycles start when something changes"},
    {"resource-sync-timeout", 0, FLAG_IGNORED, NULL, "nothing is decided on half the facts"},
    {"resync-period", 0, FLAG_IGNORED, NULL, "watches are resumed and lists compared as needed"},
    {"ca-cert-file", 0, FLAG_IGNORED, NULL, PLAIN_HTTP},
    {"tls-cert-file", 0, FLAG_IGNORED, NULL, PLAIN_HTTP},
    {"tls-private-key-file", 0, FLAG_IGNORED, NULL, PLAIN_HTTP},
    {"priority-class", 0, FLAG_IGNORED_BOOL, NULL, "priority classes are always followed"},
    {"csi-storage", 0, FLAG_IGNORED_BOOL, NULL, NO_CAPACITY},
    {"ignored-provisioners", 0, FLAG_IGNORED, NULL, "only what CSINodes say limits volumes"},
    {"enable-pprof", 0, FLAG_IGNORED_BOOL, NULL, "there is no Go profile to serve"},
    {"minimum-feasible-nodes", 0, FLAG_IGNORED, NULL, NO_SAMPLING},
    {"minimum-percentage-nodes-to-find", 0, FLAG_IGNORED, NULL, NO_SAMPLING},
    {"percentage-nodes-to-find", 0, FLAG_IGNORED, NULL, NO_SAMPLING},
    {"plugins-dir", 0, FLAG_IGNORED, NULL, NO_PLUGIN_FILES},
    {"cache-dumper", 0, FLAG_IGNORED_BOOL, NULL, NO_DUMPS},
    {"cache-dump-dir", 0, FLAG_IGNORED, NULL, NO_DUMPS},
    {"node-worker-threads", 0, FLAG_IGNORED, NULL, "one event loop does all the work"},
    {"gate-removal-worker-num", 0, FLAG_IGNORED, NULL, "scheduling gates are left to others"},
    {"feature-gates", 0, FLAG_IGNORED, NULL, "there are none"},
    {"scheduler-sharding-mode", 0, FLAG_IGNORED, NULL, NO_SHARDING},
    {"scheduler-sharding-name", 0, FLAG_IGNORED, NULL, NO_SHARDING},
    {NULL, 0, FLAG_BOOL, NULL, NULL},
};

struct app {
    struct process *process;
    struct informers informers;
    struct scheduler *scheduler;
    struct conf_file *conf;       /* NULL without a configuration file */
    struct store *resourcequotas; /* borrowed; NULL while no configuration asked for them */
    struct store *budgets;        /* likewise */
};

/* ---- configuration --------------------------------------------------------------------------- */

static struct store *follow(struct app *app, const struct store_type *type, const char *path)
{
    return informers_add(&app->informers, type, &(struct reflector_spec){.path = path});
}

/* With many pods a quota changes all the time: they are followed once a plugin looks at them. */
static struct store *follow_quotas(struct app *app, const struct sched_config *config)
{
    if (!app->resourcequotas && sched_config_has_plugin(config, "resourcequota"))
        app->resourcequotas = follow(app, &resourcequota_store_type, PATH_RESOURCEQUOTAS);
    return app->resourcequotas;
}

/* Whoever evicts keeps to them; the plugin tells which pods do not come into question at all. */
static bool wants_budgets(const struct sched_config *config)
{
    static const char *const evict[] = {"preempt", "reclaim", "gangpreempt", "gangreclaim",
                                        "shuffle"};
    bool wants = sched_config_has_plugin(config, "pdb");
    for (size_t i = 0; i < ARRAY_SIZE(evict); i++)
        wants = wants || sched_config_has_action(config, evict[i]);
    return wants;
}

static struct store *follow_budgets(struct app *app, const struct sched_config *config)
{
    if (!app->budgets && wants_budgets(config))
        app->budgets = follow(app, &poddisruptionbudget_store_type, PATH_PODDISRUPTIONBUDGETS);
    return app->budgets;
}

static void on_conf_changed(struct sched_config *config, void *arg)
{
    struct app *app = arg;
    struct store *resourcequotas = follow_quotas(app, config);
    if (resourcequotas)
        scheduler_follow_quotas(app->scheduler, resourcequotas);
    struct store *budgets = follow_budgets(app, config);
    if (budgets)
        scheduler_follow_budgets(app->scheduler, budgets);
    scheduler_set_config(app->scheduler, config);
}

/* NULL when the process is not to start without its file. */
static struct sched_config *first_config(struct app *app, struct error *err)
{
    if (!options.conf || !options.conf[0])
        return sched_config_default();
    app->conf = conf_file_new(app->process->loop, options.conf, on_conf_changed, app);
    struct sched_config *config = conf_file_read(app->conf, err);
    if (config || options.no_default_conf)
        return config;
    log_error("the configuration is not used, the built-in one takes its place: %s", err->text);
    return sched_config_default();
}

/* ---- the application ------------------------------------------------------------------------- */

/* For the extender, who is no part of Kubernetes. */
static struct kube_transport *connect_to(void *arg, const char *url, struct error *err)
{
    struct process *process = arg;
    return kube_transport_curl_for_url(process->loop, url, "pumice-scheduler", err);
}

static void start_scheduler(struct app *app, struct sched_config *config)
{
    struct process *process = app->process;
    struct scheduler_params params = {
        .loop = process->loop,
        .transport = process->transport,
        .window = process->window,
        .events = process->events,
        .metrics = process->metrics,
        .names = options.names.items,
        .name_count = options.names.n,
        .default_queue = options.default_queue,
        .node_selector = options.node_selector.items,
        .node_selector_count = options.node_selector.n,
        .config = config,
        .connect = connect_to,
        .connect_arg = process,
    };
    informers_init(&app->informers, process->loop, process->transport);
    params.priorityclasses = follow(app, &priorityclass_store_type, PATH_PRIORITYCLASSES);
    params.queues = follow(app, &queue_store_type, PATH_QUEUES);
    params.namespaces = follow(app, &namespace_labels_store_type, PATH_NAMESPACES);
    params.storageclasses = follow(app, &storageclass_store_type, PATH_STORAGECLASSES);
    params.csinodes = follow(app, &csinode_store_type, PATH_CSINODES);
    params.persistent_volumes = follow(app, &volume_store_type, PATH_VOLUMES);
    params.claims = follow(app, &claim_store_type, PATH_CLAIMS);
    params.nodes = follow(app, &node_store_type, PATH_NODES);
    params.podgroups = follow(app, &podgroup_store_type, PATH_PODGROUPS);
    params.pods = follow(app, &pod_store_type, PATH_PODS);
    params.resourcequotas = follow_quotas(app, config);
    params.budgets = follow_budgets(app, config);
    app->scheduler = scheduler_new(&params);
}

static void open_pages(struct app *app)
{
    struct ops_http *http = app->process->health ? app->process->health : app->process->pages;
    if (http)
        ops_http_handle(http, "/debug/cache", debug_cache_page, app->scheduler);
    if (http)
        ops_http_handle(http, "/explain/", explain_page, app->scheduler);
}

static void app_free(void *arg)
{
    struct app *app = arg;
    conf_file_free(app->conf);
    scheduler_free(app->scheduler);
    informers_clear(&app->informers);
    free(app);
}

static int check_node_selector(struct error *err)
{
    for (size_t i = 0; i < options.node_selector.n; i++) {
        if (str_chr(str_of(options.node_selector.items[i]), ':') <= 0)
            return error_set(err, ERROR_INVALID, "flag --node-selector: \"%s\" is not key:value",
                             options.node_selector.items[i]);
    }
    return 0;
}

static void *app_start(struct process *process, struct error *err)
{
    if (check_node_selector(err) < 0)
        return NULL;
    struct app *app = xnew(struct app);
    app->process = process;
    struct sched_config *config = first_config(app, err);
    if (!config) {
        conf_file_free(app->conf);
        free(app);
        return NULL;
    }
    start_scheduler(app, config);
    open_pages(app);
    return app;
}

static void app_ready(void *arg, struct buf *missing)
{
    struct app *app = arg;
    informers_missing(&app->informers, missing);
}

static void app_watches(void *arg, informers_watch_fn *see, void *see_arg)
{
    const struct app *app = arg;
    informers_watches(&app->informers, see, see_arg);
}

static void app_leading(void *arg, bool leading)
{
    struct app *app = arg;
    scheduler_lead(app->scheduler, leading);
}

static void on_drained(void *arg)
{
    struct app *app = arg;
    process_stopped(app->process);
}

static void app_stop(void *arg, struct process *process)
{
    struct app *app = arg;
    (void)process;
    scheduler_stop(app->scheduler, on_drained, app);
}

/* With these the reference dumps its cache; they are not to end this process. */
static void ignore_dump_signals(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    ENSURE(sigaction(SIGUSR1, &ignore, NULL) == 0);
    ENSURE(sigaction(SIGUSR2, &ignore, NULL) == 0);
}

int main(int argc, char **argv)
{
    static const struct process_spec spec = {
        .name = "pumice-scheduler",
        .component = DEFAULT_SCHEDULER_NAME,
        .latency_leaves = BINDS_LEAST,
        .gather_ns = 8 * NSEC_PER_MSEC, /* small beside what a bind takes with so many in flight */
        .flags = flags,
        .defaults = {.healthz_address = ":11251",
                     .listen_address = ":8080",
                     .leader_elect = true,
                     .lease_namespace = SYSTEM_NAMESPACE,
                     .lease_name = DEFAULT_SCHEDULER_NAME},
        .start = app_start,
        .ready = app_ready,
        .watches = app_watches,
        .leading = app_leading,
        .stop = app_stop,
        .free = app_free,
    };
    ignore_dump_signals();
    return process_main(&spec, argc, argv);
}
