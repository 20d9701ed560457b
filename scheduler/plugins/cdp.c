/*
 * cdp: pods stay for their cooldown, which begins when they are given their node.
 *
 * Those whose label or annotation volcano.sh/cooldown-time says so (api/pod.h).
 */
#include "scheduler/plugins/plugins.h"

/* Takes the mark from those whose cooldown is not over. */
static void keep(const struct cache *cache, const struct sched_task *const *tasks, size_t n,
                 bool *marks)
{
    const int64_t now_ns = loop_wall(cache->loop);
    for (size_t i = 0; i < n; i++)
        marks[i] = marks[i] && tasks[i]->pod->spared_until_ns <= now_ns;
}

static enum plugin_vote evictable(struct plugin *plugin, const struct eviction *eviction, bool *may)
{
    (void)plugin;
    keep(eviction->cache, eviction->candidates, eviction->n, may);
    return VOTE_PERMIT;
}

static void spare(struct plugin *plugin, const struct cache *cache,
                  const struct sched_task *const *tasks, size_t n, bool *go)
{
    (void)plugin;
    keep(cache, tasks, n, go);
}

const struct plugin_type plugin_cdp = {
    .name = "cdp", .evictable = evictable, .protects = true, .spare = spare};
