/*
 * sla: jobs have a time that they are to wait at most: by their annotation, else "sla-waiting-time"
 * of the plugin. Those that have one come first, the earliest end before the others; one that has
 * waited for so long enters its queue, whatever plugins of later tiers say.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "scheduler/plugins/plugins.h"

#define WAITING_TIME "sla-waiting-time"

struct sla {
    int64_t waiting_ns; /* of jobs without the annotation; 0: none */
};

static int open_plugin(struct plugin *plugin, struct error *err)
{
    struct sla *sla = xnew(struct sla);
    const char *text = NULL;
    (void)err;
    plugin->state = sla;
    if (!arguments_str(plugin->arguments, WAITING_TIME, &text))
        return 0;
    if (duration_parse(str_of(text), &sla->waiting_ns) && sla->waiting_ns > 0)
        return 0;
    sla->waiting_ns = 0;
    log_warn("the time that jobs are to wait at most is no duration above 0; jobs without the "
             "annotation have none plugin=sla " WAITING_TIME "=\"%s\"",
             text);
    return 0;
}

static void close_plugin(struct plugin *plugin)
{
    free(plugin->state);
}

static int64_t job_due(const struct plugin *plugin, const struct sched_job *job)
{
    const struct sla *sla = plugin->state;
    int64_t due, waiting = job->sla_ns ? job->sla_ns : sla->waiting_ns;
    if (!waiting || __builtin_add_overflow(job->created_ns, waiting, &due))
        return INT64_MAX;
    return due;
}

static int job_order(const struct plugin *plugin, const struct sched_job *a,
                     const struct sched_job *b)
{
    int64_t due_a = job_due(plugin, a), due_b = job_due(plugin, b);
    return (due_a > due_b) - (due_a < due_b);
}

static enum plugin_vote job_enqueueable(struct plugin *plugin, const struct cache *cache,
                                        const struct sched_job *job, struct buf *why)
{
    (void)why;
    return job_due(plugin, job) <= loop_wall(cache->loop) ? VOTE_PERMIT : VOTE_ABSTAIN;
}

const struct plugin_type plugin_sla = {.name = "sla",
                                       .open = open_plugin,
                                       .close = close_plugin,
                                       .job_order = job_order,
                                       .job_due = job_due,
                                       .job_enqueueable = job_enqueueable};
