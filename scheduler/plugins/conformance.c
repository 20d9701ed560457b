/*
 * conformance: pods that keep the cluster alive are never evicted: those of the two system classes
 * of priority, and all of the namespace kube-system.
 */
#include "scheduler/plugins/plugins.h"

static bool is_critical(const struct pod *pod)
{
    return pod->critical || strcmp(pod->meta.ns, "kube-system") == 0;
}

static enum plugin_vote evictable(struct plugin *plugin, const struct eviction *eviction, bool *may)
{
    (void)plugin;
    for (size_t i = 0; i < eviction->n; i++)
        if (is_critical(eviction->candidates[i]->pod))
            may[i] = false;
    return VOTE_PERMIT;
}

static void spare(struct plugin *plugin, const struct cache *cache,
                  const struct sched_task *const *tasks, size_t n, bool *go)
{
    (void)plugin;
    (void)cache;
    for (size_t i = 0; i < n; i++)
        go[i] = go[i] && !is_critical(tasks[i]->pod);
}

const struct plugin_type plugin_conformance = {
    .name = "conformance", .evictable = evictable, .protects = true, .spare = spare};
