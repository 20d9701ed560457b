/*
 * All plugins of a configuration asked about evictions. See points_evict.h.
 */
#include "scheduler/points_evict.h"

#define each_plugin(plugin, config)                                                                \
    for (size_t at_ = 0; at_ < (config)->plugins.n; at_++)                                         \
        for (struct plugin *plugin = (config)->plugins.items[at_]; plugin; plugin = NULL)

#define FEW 64 /* candidates for which nothing is allocated */

/* ---- who may be evicted ---------------------------------------------------------------------- */

static void mark(bool *marks, size_t n, bool value)
{
    for (size_t i = 0; i < n; i++)
        marks[i] = value;
}

/* Keeps the marks that both have; how many these are. */
static size_t intersect(bool *marks, const bool *others, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        marks[i] = marks[i] && others[i];
        count += marks[i];
    }
    return count;
}

/* The flags that switch it off; those of whole jobs have none. */
static bool has_evictable(const struct plugin *plugin, enum eviction_kind kind)
{
    if (!plugin->type->evictable)
        return false;
    if (kind == EVICT_PREEMPT)
        return plugin->enabled[POINT_PREEMPTABLE];
    return kind != EVICT_RECLAIM || plugin->enabled[POINT_RECLAIMABLE];
}

/* The answer of one plugin, into `own`; false when it has none. */
static bool ask(struct plugin *plugin, const struct eviction *eviction, bool *own)
{
    if (!has_evictable(plugin, eviction->kind))
        return false;
    mark(own, eviction->n, true);
    enum plugin_vote vote = plugin->type->evictable(plugin, eviction, own);
    if (vote == VOTE_REJECT)
        mark(own, eviction->n, false);
    return vote != VOTE_ABSTAIN;
}

/* Whom no plugin protects. */
static void find_unprotected(const struct sched_config *config, const struct eviction *eviction,
                             bool *free_to_go, bool *own)
{
    mark(free_to_go, eviction->n, true);
    each_plugin(plugin, config)
    {
        if (plugin->type->protects && ask(plugin, eviction, own))
            (void)intersect(free_to_go, own, eviction->n);
    }
}

/* Asks the tier that begins with plugin `*at`, and moves on to the next; how many it lets go. */
static size_t ask_tier(const struct sched_config *config, const struct eviction *eviction,
                       size_t *at, bool *may, bool *own)
{
    const unsigned tier = config->plugins.items[*at]->tier;
    size_t left = eviction->n;
    bool decides = false;
    mark(may, eviction->n, true);
    for (; *at < config->plugins.n && config->plugins.items[*at]->tier == tier; ++*at) {
        if (!left || !ask(config->plugins.items[*at], eviction, own))
            continue;
        decides = decides || !eviction->ranked || !config->plugins.items[*at]->type->protects;
        left = intersect(may, own, eviction->n);
    }
    return decides ? left : 0;
}

size_t config_evictable(const struct sched_config *config, const struct eviction *eviction,
                        bool *ret_may)
{
    bool few[2 * FEW];
    cleanup_free bool *many = eviction->n > FEW ? xcalloc(2 * eviction->n, sizeof(*many)) : NULL;
    bool *free_to_go = many ? many : few, *own = free_to_go + eviction->n;
    find_unprotected(config, eviction, free_to_go, own);
    for (size_t at = 0; at < config->plugins.n;) {
        size_t count = ask_tier(config, eviction, &at, ret_may, own);
        if (count)
            count = intersect(ret_may, free_to_go, eviction->n);
        if (count)
            return count;
    }
    mark(ret_may, eviction->n, false);
    return 0;
}

/* Whether a plugin keeps all pods of the job, so that nothing of its tier lets them go. */
static bool keeps_job(struct plugin *plugin, const struct eviction *eviction,
                      const struct sched_job *job)
{
    return plugin->type->keeps_job && plugin->type->keeps_job(plugin, eviction, job);
}

bool config_keeps_job(const struct sched_config *config, const struct eviction *eviction,
                      const struct sched_job *job)
{
    bool open = false; /* a tier may let somebody go */
    for (size_t at = 0; at < config->plugins.n;) {
        const unsigned tier = config->plugins.items[at]->tier;
        bool decides = false, keeps = false;
        for (; at < config->plugins.n && config->plugins.items[at]->tier == tier; at++) {
            struct plugin *plugin = config->plugins.items[at];
            if (!has_evictable(plugin, eviction->kind))
                continue;
            decides = decides || !eviction->ranked || !plugin->type->protects;
            bool one = (!keeps || plugin->type->protects) && keeps_job(plugin, eviction, job);
            if (one && plugin->type->protects)
                return true;
            keeps = keeps || one;
        }
        open = open || (decides && !keeps);
    }
    return !open;
}

/* Those whom plugins of the tier that begins with plugin `*at` name, less those whom any plugin
 * spares; moves on to the next tier. */
static size_t name_victims(const struct sched_config *config, const struct cache *cache,
                           const struct sched_task *const *tasks, size_t n, size_t *at, bool *go)
{
    const unsigned tier = config->plugins.items[*at]->tier;
    mark(go, n, false);
    for (; *at < config->plugins.n && config->plugins.items[*at]->tier == tier; ++*at) {
        struct plugin *plugin = config->plugins.items[*at];
        if (plugin->enabled[POINT_VICTIM] && plugin->type->victims)
            plugin->type->victims(plugin, cache, tasks, n, go);
    }
    if (!intersect(go, go, n))
        return 0;
    each_plugin(plugin, config)
    {
        if (plugin->enabled[POINT_VICTIM] && plugin->type->spare)
            plugin->type->spare(plugin, cache, tasks, n, go);
    }
    return intersect(go, go, n);
}

size_t config_victims(const struct sched_config *config, const struct cache *cache,
                      const struct sched_task *const *tasks, size_t n, bool *ret_go)
{
    mark(ret_go, n, false);
    for (size_t at = 0; at < config->plugins.n;) {
        size_t count = name_victims(config, cache, tasks, n, &at, ret_go);
        if (count)
            return count;
    }
    return 0;
}

bool config_names_victims(const struct sched_config *config)
{
    each_plugin(plugin, config)
    {
        if (plugin->enabled[POINT_VICTIM] && plugin->type->victims)
            return true;
    }
    return false;
}

/* ---- for whom -------------------------------------------------------------------------------- */

bool config_job_starving(const struct sched_config *config, const struct sched_job *job)
{
    unsigned tier = 0;
    bool starving = false, asked = false;
    each_plugin(plugin, config)
    {
        if (!plugin->enabled[POINT_JOB_STARVING] || !plugin->type->job_starving)
            continue;
        if (asked && (plugin->tier != tier || !starving))
            return starving;
        asked = true;
        tier = plugin->tier;
        starving = plugin->type->job_starving(plugin, job);
    }
    return starving;
}

bool config_job_pipelined(const struct sched_config *config, const struct sched_job *job)
{
    bool permitted = false;
    unsigned tier = 0;
    each_plugin(plugin, config)
    {
        if (permitted && plugin->tier != tier)
            return true;
        if (!plugin->enabled[POINT_JOB_PIPELINED] || !plugin->type->job_pipelined)
            continue;
        enum plugin_vote vote = plugin->type->job_pipelined(plugin, job);
        if (vote == VOTE_REJECT)
            return false;
        permitted = permitted || vote == VOTE_PERMIT;
        tier = plugin->tier;
    }
    return true;
}

bool config_preemptive(const struct sched_config *config, const struct cache *cache,
                       const struct sched_queue *queue, const struct resource_set *request)
{
    bool asked = false;
    each_plugin(plugin, config)
    {
        if (!plugin->enabled[POINT_PREEMPTIVE] || !plugin->type->preemptive)
            continue;
        asked = true;
        if (!plugin->type->preemptive(plugin, cache, queue, request))
            return false;
    }
    return asked;
}

/* ---- in which order -------------------------------------------------------------------------- */

bool config_task_before(const struct sched_config *config, const struct sched_task *a,
                        const struct sched_task *b)
{
    each_plugin(plugin, config)
    {
        if (!plugin->enabled[POINT_TASK_ORDER] || !plugin->type->task_order)
            continue;
        int order = plugin->type->task_order(plugin, a, b);
        if (order)
            return order < 0;
    }
    if (a->pod->ordinal != b->pod->ordinal)
        return a->pod->ordinal < b->pod->ordinal;
    if (a->pod->meta.created_ns != b->pod->meta.created_ns)
        return a->pod->meta.created_ns < b->pod->meta.created_ns;
    return strcmp(a->pod->meta.uid, b->pod->meta.uid) < 0;
}

static bool gives_before(const struct sched_config *config, const struct sched_queue *a,
                         const struct sched_queue *b, const struct sched_queue *taker)
{
    each_plugin(plugin, config)
    {
        if (!plugin->type->victim_queue_order)
            continue;
        int order = plugin->type->victim_queue_order(plugin, a, b, taker);
        if (order)
            return order < 0;
    }
    return config_queue_before(config, b, a);
}

static bool is_gone(const struct sched_job *job)
{
    return !job || !job->uid || !job->queue;
}

bool config_victim_before(const struct sched_config *config, const struct sched_task *a,
                          const struct sched_task *b, const struct sched_job *taker)
{
    const bool a_gone = is_gone(a->job), b_gone = is_gone(b->job);
    if (a_gone != b_gone)
        return a_gone;
    if (a_gone || a->job == b->job)
        return config_task_before(config, b, a);
    if (a->job->queue == b->job->queue || !taker)
        return config_job_before(config, b->job, a->job);
    return gives_before(config, a->job->queue, b->job->queue, taker->queue);
}
