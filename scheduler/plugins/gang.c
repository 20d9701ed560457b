/*
 * gang: a job is bound only when its minimum is placed, in all and for each role.
 */
#include "scheduler/plugins/plugins.h"

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

const struct plugin_type plugin_gang = {
    .name = "gang", .job_order = job_order, .job_ready = job_ready, .job_possible = job_possible};
