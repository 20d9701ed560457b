/*
 * extender: a user's own HTTP server is asked which nodes pods may have, which are best, which jobs
 * may enter their queues and start, and which queues have had their share. Everything that it is
 * asked and told is in scheduler/extender/; here are the arguments.
 */
#include "scheduler/extender/extender.h"
#include "base/log.h"
#include "scheduler/plugins/plugins.h"

#define PREFIX "extender."

static const char *const verbs[EXTENDER_VERB_COUNT] = {
    [EXTENDER_PREDICATE] = PREFIX "predicateVerb",
    [EXTENDER_PRIORITIZE] = PREFIX "prioritizeVerb",
    [EXTENDER_JOB_ENQUEUEABLE] = PREFIX "jobEnqueueableVerb",
    [EXTENDER_JOB_READY] = PREFIX "jobReadyVerb",
    [EXTENDER_QUEUE_OVERUSED] = PREFIX "queueOverusedVerb",
    [EXTENDER_JOB_ENQUEUED] = PREFIX "jobEnqueuedVerb",
    [EXTENDER_ALLOCATE] = PREFIX "allocateFuncVerb",
    [EXTENDER_DEALLOCATE] = PREFIX "deallocateFuncVerb",
};

/* ---- arguments ------------------------------------------------------------------------------- */

static struct str without_slashes(struct str text)
{
    text = str_trim(text);
    while (str_ends(text, STR("/")))
        text.n--;
    while (str_starts(text, STR("/")))
        text = str_from(text, 1);
    return text;
}

/* True when there is any. */
static bool read_verbs(struct arguments *arguments, struct extender_settings *settings)
{
    bool any = false;
    for (int verb = 0; verb < EXTENDER_VERB_COUNT; verb++) {
        const char *text = "";
        (void)arguments_str(arguments, verbs[verb], &text);
        struct str path = without_slashes(str_of(text));
        if (str_empty(path))
            continue;
        settings->paths[verb] = xasprintf("/%.*s", STR_ARG(path));
        any = true;
    }
    return any;
}

static void add_resource(void *arg, struct str name)
{
    struct extender_settings *settings = arg;
    vec_push(&settings->resources, resource_id(name));
}

static void read_settings(struct arguments *arguments, struct extender_settings *settings)
{
    settings->timeout_ns = NSEC_PER_SEC;
    (void)arguments_duration(arguments, PREFIX "httpTimeout", &settings->timeout_ns);
    if (settings->timeout_ns <= 0)
        settings->timeout_ns = NSEC_PER_SEC;
    (void)arguments_bool(arguments, PREFIX "ignorable", &settings->ignorable);
    (void)arguments_texts(arguments, PREFIX "managedResources", add_resource, settings);
}

static int open_plugin(struct plugin *plugin, struct error *err)
{
    struct extender_settings settings = {.ignorable = false};
    const char *url = "";
    (void)arguments_str(plugin->arguments, PREFIX "urlPrefix", &url);
    struct str server = str_trim(str_of(url));
    if (!str_starts(server, STR("http://")) && !str_starts(server, STR("https://")))
        return error_set(err, ERROR_INVALID,
                         "%surlPrefix is \"%s\", which does not begin with http:// or https://",
                         PREFIX, url);
    while (str_ends(server, STR("/")))
        server.n--;
    read_settings(plugin->arguments, &settings);
    settings.url = str_dup(server);
    settings.shown = kube_url_shown(server);
    if (!read_verbs(plugin->arguments, &settings))
        log_warn("the extender is asked nothing: no verb is configured plugin=extender url=%s",
                 settings.shown);
    plugin->state = extender_new(settings);
    return 0;
}

static void close_plugin(struct plugin *plugin)
{
    extender_free(plugin->state);
}

/* ---- points ---------------------------------------------------------------------------------- */

static void attach(struct plugin *plugin, struct scheduler *scheduler)
{
    extender_attach(plugin->state, scheduler);
}

static void begin(struct plugin *plugin, const struct cache *cache)
{
    (void)cache;
    extender_begin(plugin->state);
}

static const char *crowded(const struct plugin *plugin, const struct pod_class *cls,
                           const struct sched_node *node)
{
    return extender_refuses(plugin->state, cls, node);
}

static int64_t score(const struct plugin *plugin, const struct pod_class *cls,
                     const struct sched_node *node)
{
    return extender_score(plugin->state, cls, node);
}

static enum plugin_miss missed(struct plugin *plugin, struct cache *cache,
                               const struct task_group *group, const struct fit_table *table)
{
    (void)cache;
    return extender_missed(plugin->state, group, table);
}

static enum plugin_vote job_enqueueable(struct plugin *plugin, const struct cache *cache,
                                        const struct sched_job *job, struct buf *why)
{
    (void)cache;
    return extender_enqueueable(plugin->state, job, why);
}

static int64_t job_due(const struct plugin *plugin, const struct sched_job *job)
{
    const struct loop *loop = job->cache->loop;
    int64_t due = extender_enqueue_due(plugin->state, job);
    return due == INT64_MAX ? due : loop_wall(loop) - loop_now(loop) + due;
}

static void job_enqueued(struct plugin *plugin, const struct sched_job *job)
{
    extender_tell_enqueued(plugin->state, job);
}

static bool job_ready(const struct plugin *plugin, const struct sched_job *job)
{
    return extender_ready(plugin->state, job);
}

static bool overused(struct plugin *plugin, const struct cache *cache,
                     const struct sched_queue *queue)
{
    (void)cache;
    return extender_overused(plugin->state, queue);
}

static void binding(struct plugin *plugin, const struct sched_task *task, bool failed)
{
    extender_tell_binding(plugin->state, task, failed);
}

/* There are no sessions, and no action evicts yet. */
static const char *const ignored[] = {PREFIX "onSessionOpenVerb", PREFIX "onSessionCloseVerb",
                                      PREFIX "preemptableVerb", PREFIX "reclaimableVerb", NULL};

const struct plugin_type plugin_extender = {.name = "extender",
                                            .ignored = ignored,
                                            .open = open_plugin,
                                            .close = close_plugin,
                                            .attach = attach,
                                            .begin = begin,
                                            .crowded = crowded,
                                            .score = score,
                                            .missed = missed,
                                            .job_enqueueable = job_enqueueable,
                                            .job_due = job_due,
                                            .job_enqueued = job_enqueued,
                                            .job_ready = job_ready,
                                            .overused = overused,
                                            .binding = binding};
