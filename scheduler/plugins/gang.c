/*
 * gang: a job is bound only when its minimum is placed, in all and for each role.
 */
#include "scheduler/plugins/gang.h"
#include "base/alloc.h"
#include "base/timefmt.h"
#include "scheduler/plugins/plugins.h"

#define WAITING_PRESET (30 * 60 * NSEC_PER_SEC)
#define RESERVE_AFTER_PRESET (5 * 60 * NSEC_PER_SEC)

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
    for (size_t i = 0; i < config->plugins.n; i++)
        if (config->plugins.items[i]->type == &plugin_gang)
            return config->plugins.items[i]->state;
    return &none;
}

/* Jobs that are not complete come before jobs that only want more. */
static int job_order(const struct plugin *plugin, const struct sched_job *a,
                     const struct sched_job *b)
{
    (void)plugin;
    return (int)job_gang_ready(a) - (int)job_gang_ready(b);
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

const struct plugin_type plugin_gang = {.name = "gang",
                                        .open = open_plugin,
                                        .close = close_plugin,
                                        .job_order = job_order,
                                        .job_ready = job_ready,
                                        .job_possible = job_possible};
