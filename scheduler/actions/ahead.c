/*
 * Volumes made ahead of the pods that share them. See ahead.h.
 */
#include "scheduler/actions/ahead.h"
#include "base/log.h"
#include "scheduler/volumes/binder.h"

#define INTERVAL (30 * NSEC_PER_SEC) /* between two such attempts for a job */

enum ahead ahead_wanted(struct scheduler *scheduler, struct sched_job *job,
                        const struct task_group *group)
{
    const struct volumes *volumes = scheduler->cache.volumes;
    int64_t now = loop_now(scheduler->params.loop);
    if (!group || !scheduler->volume_binder || !volumes_making_at(volumes, group->cls->volumes) ||
        (job->ahead_ns && now < job->ahead_ns))
        return AHEAD_NO;
    job->ahead_ns = now + INTERVAL;
    return AHEAD_WANTED;
}

void ahead_begin(struct scheduler *scheduler)
{
    volumes_presume_reached(scheduler->cache.volumes, true);
}

void ahead_ask(struct scheduler *scheduler, const struct sched_job *job,
               const struct statement *statement)
{
    struct cache *cache = &scheduler->cache;
    for (size_t i = 0; i < statement->placed.n; i++) {
        const struct pod_volumes *wanted = statement->placed.items[i]->pod->cls->volumes;
        const char *name = volumes_making_at(cache->volumes, wanted);
        const struct sched_node *node = name ? cache_node(cache, name) : NULL;
        if (!node || !node->object ||
            !volume_bind_ahead(scheduler->volume_binder, wanted, node->object))
            continue;
        log_info("a volume that pods share is made ahead of them job=%s/%s node=%s", job->ns,
                 job->name, name);
        return;
    }
}

void ahead_end(struct scheduler *scheduler)
{
    volumes_presume_reached(scheduler->cache.volumes, false);
}
