/*
 * The cache's namespaces: which ResourceQuotas and PodDisruptionBudgets they have. See cache.h.
 *
 * One is kept while it has jobs or any of these, so that a job finds its quotas without a search.
 */
#include "base/intern.h"
#include "scheduler/cache_private.h"

static struct sched_namespace *space_get(struct cache *cache, const char *ns)
{
    struct sched_namespace *space = map_get(&cache->namespaces, str_of(ns));
    if (space)
        return space;
    space = xnew(struct sched_namespace);
    space->name = intern_get(str_of(ns));
    map_set(&cache->namespaces, str_of(ns), space);
    return space;
}

static void free_space(void *value)
{
    struct sched_namespace *space = value;
    for (size_t i = 0; i < space->quotas.n; i++)
        resourcequota_unref(space->quotas.items[i]);
    vec_clear(&space->quotas);
    for (size_t i = 0; i < space->budgets.n; i++)
        poddisruptionbudget_unref(space->budgets.items[i]);
    vec_clear(&space->budgets);
    intern_put(space->name);
    free(space);
}

static void space_drop(struct cache *cache, struct sched_namespace *space)
{
    if (space->jobs || space->quotas.n || space->budgets.n)
        return;
    map_del(&cache->namespaces, str_of(space->name));
    free_space(space);
}

void cache_namespace_enter(struct cache *cache, struct sched_job *job)
{
    job->space = space_get(cache, job->ns);
    job->space->jobs++;
}

void cache_namespace_leave(struct cache *cache, struct sched_job *job)
{
    job->space->jobs--;
    space_drop(cache, job->space);
    job->space = NULL;
}

void cache_namespaces_clear(struct cache *cache)
{
    map_clear_with(&cache->namespaces, free_space);
}

const struct sched_namespace *cache_namespace(const struct cache *cache, const char *ns)
{
    return map_get(&cache->namespaces, str_of(ns));
}

/* ---- quotas ---------------------------------------------------------------------------------- */

/* The quota's place in its namespace; quotas.n when it is not there. */
static size_t position(const struct sched_namespace *space, const char *name)
{
    size_t at = 0;
    while (at < space->quotas.n && strcmp(space->quotas.items[at]->meta.name, name) != 0)
        at++;
    return at;
}

bool cache_set_quota(struct cache *cache, const char *ns, const char *name,
                     struct resourcequota *quota)
{
    struct sched_namespace *space = space_get(cache, ns);
    size_t at = position(space, name);
    struct resourcequota *before = at < space->quotas.n ? space->quotas.items[at] : NULL;
    bool eases = resourcequota_eases(before, quota);
    if (quota)
        resourcequota_ref(quota);
    if (quota && quota->meta.rv > cache->quotas_rv)
        cache->quotas_rv = quota->meta.rv;
    if (before && quota)
        space->quotas.items[at] = quota;
    else if (before)
        vec_remove(&space->quotas, at);
    else if (quota)
        vec_push(&space->quotas, quota);
    resourcequota_unref(before);
    if (eases)
        cache_quota_eased(cache, space);
    eases = eases && space->jobs;
    space_drop(cache, space);
    return eases;
}

void cache_quotas_known(struct cache *cache)
{
    cache->quotas_known = true;
    cache_room(cache);
}

/* ---- budgets --------------------------------------------------------------------------------- */

/* The budget's place in its namespace; budgets.n when it is not there. */
static size_t budget_position(const struct sched_namespace *space, const char *name)
{
    size_t at = 0;
    while (at < space->budgets.n && strcmp(space->budgets.items[at]->meta.name, name) != 0)
        at++;
    return at;
}

static bool eases(const struct poddisruptionbudget *before,
                  const struct poddisruptionbudget *budget)
{
    return before && (!budget || budget->allowed > before->allowed ||
                      (budget->unready_may_go && !before->unready_may_go));
}

bool cache_set_budget(struct cache *cache, const char *ns, const char *name,
                      struct poddisruptionbudget *budget)
{
    struct sched_namespace *space = space_get(cache, ns);
    size_t at = budget_position(space, name);
    struct poddisruptionbudget *before = at < space->budgets.n ? space->budgets.items[at] : NULL;
    const bool eased = eases(before, budget);
    cache->eased += eased;
    if (budget)
        poddisruptionbudget_ref(budget);
    if (before && budget)
        space->budgets.items[at] = budget;
    else if (before)
        vec_remove(&space->budgets, at);
    else if (budget)
        vec_push(&space->budgets, budget);
    poddisruptionbudget_unref(before);
    space_drop(cache, space);
    return eased;
}

void cache_budgets_known(struct cache *cache)
{
    cache->eased += !cache->budgets_known;
    cache->budgets_known = true;
}
