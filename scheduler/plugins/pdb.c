/*
 * pdb: running pods stay while a PodDisruptionBudget does not let them go (evict/budgets.h).
 */
#include "scheduler/evict/budgets.h"
#include "scheduler/plugins/plugins.h"

/* Takes the mark from those who have to stay. */
static void keep(const struct cache *cache, const struct sched_task *const *tasks, size_t n,
                 bool *marks)
{
    struct budget_tally tally;
    budget_tally_begin(&tally, cache);
    for (size_t i = 0; i < n; i++)
        marks[i] = marks[i] && budget_tally_take(&tally, tasks[i]->pod);
    budget_tally_clear(&tally);
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

const struct plugin_type plugin_pdb = {
    .name = "pdb", .evictable = evictable, .protects = true, .spare = spare};
