/*
 * pdb: running pods stay while a PodDisruptionBudget does not let them go.
 *
 * A pod may go when every budget that selects it allows one more disruption after the candidates
 * before it. One that a budget counts as evicted already needs nothing of that budget. As long as
 * the budgets are not known, nobody goes.
 */
#include "scheduler/plugins/plugins.h"

/* What a budget still allows. */
struct allowance {
    const struct poddisruptionbudget *budget;
    int32_t left;
};

struct counting {
    const struct cache *cache;
    VEC(struct allowance) allowances; /* of the budgets that selected any pod so far */
    VEC(size_t) needed;               /* places of those that the pod looked at needs */
};

static size_t allowance_of(struct counting *counting, const struct poddisruptionbudget *budget)
{
    size_t at = 0;
    while (at < counting->allowances.n && counting->allowances.items[at].budget != budget)
        at++;
    if (at == counting->allowances.n)
        vec_push(&counting->allowances, ((struct allowance){budget, budget->allowed}));
    return at;
}

static bool protects(const struct poddisruptionbudget *budget, const struct pod *pod)
{
    const struct pod_labels labels = pod_labels_of(pod);
    return label_selector_matches(&budget->selector, pod_labels_value, &labels) &&
           !poddisruptionbudget_counts(budget, pod->meta.name);
}

/* Whether the pod may go, too; if so it counts. */
static bool lets_go(struct counting *counting, const struct pod *pod)
{
    const struct sched_namespace *space = cache_namespace(counting->cache, pod->meta.ns);
    bool may = true;
    counting->needed.n = 0;
    for (size_t i = 0; space && i < space->budgets.n; i++) {
        if (!protects(space->budgets.items[i], pod))
            continue;
        size_t at = allowance_of(counting, space->budgets.items[i]);
        vec_push(&counting->needed, at);
        may = may && counting->allowances.items[at].left > 0;
    }
    for (size_t i = 0; may && i < counting->needed.n; i++)
        counting->allowances.items[counting->needed.items[i]].left--;
    return may;
}

/* Takes the mark from those who have to stay. */
static void keep(const struct cache *cache, const struct sched_task *const *tasks, size_t n,
                 bool *marks)
{
    struct counting counting = {.cache = cache};
    for (size_t i = 0; i < n; i++)
        marks[i] = marks[i] && cache->budgets_known && lets_go(&counting, tasks[i]->pod);
    vec_clear(&counting.allowances);
    vec_clear(&counting.needed);
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
    .name = "pdb",
    .without_effect = "it keeps pods with a PodDisruptionBudget from eviction, and nothing is "
                      "evicted yet",
    .evictable = evictable,
    .protects = true,
    .spare = spare};
