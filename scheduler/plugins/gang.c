/*
 * gang: a job is bound only when its minimum is placed, in all and for each role.
 */
#include "scheduler/plugins/gang.h"
#include "base/alloc.h"
#include "base/timefmt.h"
#include "scheduler/plugins/plugins.h"

#define WAITING_PRESET (INT64_C(30) * 60 * NSEC_PER_SEC)
#define RESERVE_AFTER_PRESET (INT64_C(5) * 60 * NSEC_PER_SEC)

static int open_plugin(struct plugin *plugin, struct error *err)
{
    struct gang_arguments *gang = xnew(struct gang_arguments);
    (void)err;
    gang->waiting_ns = WAITING_PRESET;
    gang->reserve_after_ns = RESERVE_AFTER_PRESET;
    arguments_duration(plugin->arguments, "defaultWaitingTime", &gang->waiting_ns);
    arguments_duration(plugin->arguments, "gang.reserveAfter", &gang->reserve_after_ns);
    plugin->state = gang;
    return 0;
}

static void close_plugin(struct plugin *plugin)
{
    free(plugin->state);
}

const struct gang_arguments *gang_arguments(const struct sched_config *config)
{
    static const struct gang_arguments none;
    const struct plugin *gang = sched_config_plugin(config, plugin_gang.name);
    return gang ? gang->state : &none;
}

/* Jobs that are not complete come before jobs that only want more, and of these, those whose
 * waiting has timed out come last. */
static int job_order(const struct plugin *plugin, const struct sched_job *a,
                     const struct sched_job *b)
{
    (void)plugin;
    int order = (int)job_gang_ready(a) - (int)job_gang_ready(b);
    return order ? order : (int)(a->wait.timeouts > 0) - (int)(b->wait.timeouts > 0);
}

static bool job_ready(const struct plugin *plugin, const struct sched_job *job)
{
    (void)plugin;
    return job_gang_ready(job);
}

static bool job_possible(const struct plugin *plugin, const struct sched_job *job)
{
    (void)plugin;
    return job_gang_possible(job);
}

/* ---- eviction -------------------------------------------------------------------------------- */

/* Takes the mark from those whom jobs need for their minimum, in order: what a job has above that
 * goes. */
static void keep_minimums(const struct sched_task *const *tasks, size_t n, bool *may)
{
    for (size_t i = 0; i < n; i++) {
        struct sched_job *job = tasks[i]->job;
        struct task_role *role = &job->roles.items[tasks[i]->group->role];
        may[i] = may[i] && (int64_t)job_have(job) - job->going > job->min_member &&
                 (!job->roles_enforced || (int64_t)role->have - role->going > role->min);
        job->going += may[i];
        role->going += may[i];
    }
    for (size_t i = 0; i < n; i++)
        tasks[i]->job->going = tasks[i]->job->roles.items[tasks[i]->group->role].going = 0;
}

/* Of whole jobs that are evicted for a job nothing has to stay. */
static enum plugin_vote evictable(struct plugin *plugin, const struct eviction *eviction, bool *may)
{
    (void)plugin;
    if (!eviction_for_job(eviction->kind))
        keep_minimums(eviction->candidates, eviction->n, may);
    return VOTE_PERMIT;
}

static bool keeps_job(struct plugin *plugin, const struct eviction *eviction,
                      const struct sched_job *job)
{
    (void)plugin;
    return !eviction_for_job(eviction->kind) && (int64_t)job_have(job) <= job->min_member;
}

/* Those that nobody wants the room of: a job keeps its minimum. */
static void spare(struct plugin *plugin, const struct cache *cache,
                  const struct sched_task *const *tasks, size_t n, bool *go)
{
    (void)plugin;
    (void)cache;
    keep_minimums(tasks, n, go);
}

static bool job_starving(const struct plugin *plugin, const struct sched_job *job)
{
    (void)plugin;
    return (int64_t)job_have(job) < job->min_member;
}

static enum plugin_vote job_pipelined(const struct plugin *plugin, const struct sched_job *job)
{
    (void)plugin;
    return job_gang_ready(job) ? VOTE_PERMIT : VOTE_REJECT;
}

const struct plugin_type plugin_gang = {.name = "gang",
                                        .open = open_plugin,
                                        .close = close_plugin,
                                        .job_order = job_order,
                                        .job_ready = job_ready,
                                        .job_possible = job_possible,
                                        .evictable = evictable,
                                        .keeps_job = keeps_job,
                                        .protects = true,
                                        .spare = spare,
                                        .job_starving = job_starving,
                                        .job_pipelined = job_pipelined};
