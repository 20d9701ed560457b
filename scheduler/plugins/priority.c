/*
 * priority: jobs of a higher PriorityClass first. (Pods within a job are always in the order of
 * their priority.)
 */
#include "scheduler/plugins/plugins.h"

static int job_order(const struct plugin *plugin, const struct sched_job *a,
                     const struct sched_job *b)
{
    (void)plugin;
    return (a->priority < b->priority) - (a->priority > b->priority);
}

const struct plugin_type plugin_priority = {.name = "priority", .job_order = job_order};
