/*
 * All plugins of a configuration asked at one point, and how their answers combine. See config.h.
 */
#include "scheduler/config.h"
#include "scheduler/plugins/score.h"

#define each_plugin(plugin, config)                                                                \
    for (size_t at_ = 0; at_ < (config)->plugins.n; at_++)                                         \
        for (struct plugin *plugin = (config)->plugins.items[at_]; plugin; plugin = NULL)

void config_attach(const struct sched_config *config, struct scheduler *scheduler)
{
    each_plugin(plugin, config)
    {
        if (plugin->type->attach)
            plugin->type->attach(plugin, scheduler);
    }
}

void config_begin(const struct sched_config *config, const struct cache *cache)
{
    each_plugin(plugin, config)
    {
        if (!plugin->type->begin)
            continue;
        int64_t started = loop_now_fresh(cache->loop);
        plugin->type->begin(plugin, cache);
        plugin->begin_ns = loop_now_fresh(cache->loop) - started;
    }
}

static int by_age(int64_t created_a, int64_t created_b, const char *a, const char *b)
{
    if (created_a != created_b)
        return created_a < created_b ? -1 : 1;
    return strcmp(a, b);
}

bool config_queue_before(const struct sched_config *config, const struct sched_queue *a,
                         const struct sched_queue *b)
{
    each_plugin(plugin, config)
    {
        if (!plugin->enabled[POINT_QUEUE_ORDER] || !plugin->type->queue_order)
            continue;
        int order = plugin->type->queue_order(plugin, a, b);
        if (order)
            return order < 0;
    }
    return by_age(a->created_ns, b->created_ns, a->name, b->name) < 0;
}

bool config_order_moves(const struct sched_config *config)
{
    each_plugin(plugin, config)
    {
        if (plugin->enabled[POINT_QUEUE_ORDER] && plugin->type->order_moves &&
            plugin->type->order_moves(plugin))
            return true;
    }
    return false;
}

void config_turn_over(const struct sched_config *config, const struct sched_job *job)
{
    each_plugin(plugin, config)
    {
        if (plugin->type->turn_over)
            plugin->type->turn_over(plugin, job);
    }
}

bool config_job_before(const struct sched_config *config, const struct sched_job *a,
                       const struct sched_job *b)
{
    each_plugin(plugin, config)
    {
        if (!plugin->enabled[POINT_JOB_ORDER] || !plugin->type->job_order)
            continue;
        int order = plugin->type->job_order(plugin, a, b);
        if (order)
            return order < 0;
    }
    return by_age(a->created_ns, b->created_ns, a->uid, b->uid) < 0;
}

/* One rejection refuses; a permit ends the matter after its tier. */
bool config_job_enqueueable(const struct sched_config *config, const struct cache *cache,
                            const struct sched_job *job, struct buf *why)
{
    bool permitted = false;
    unsigned tier = 0;
    each_plugin(plugin, config)
    {
        if (permitted && plugin->tier != tier)
            return true;
        if (!plugin->enabled[POINT_JOB_ENQUEUED] || !plugin->type->job_enqueueable)
            continue;
        enum plugin_vote vote = plugin->type->job_enqueueable(plugin, cache, job, why);
        if (vote == VOTE_REJECT)
            return false;
        permitted = permitted || vote == VOTE_PERMIT;
        tier = plugin->tier;
    }
    return true;
}

int64_t config_job_due(const struct sched_config *config, const struct sched_job *job)
{
    int64_t first = INT64_MAX;
    each_plugin(plugin, config)
    {
        if (!plugin->enabled[POINT_JOB_ENQUEUED] || !plugin->type->job_due)
            continue;
        int64_t due = plugin->type->job_due(plugin, job);
        first = due < first ? due : first;
    }
    return first;
}

void config_job_enqueued(const struct sched_config *config, const struct sched_job *job)
{
    each_plugin(plugin, config)
    {
        if (plugin->enabled[POINT_JOB_ENQUEUED] && plugin->type->job_enqueued)
            plugin->type->job_enqueued(plugin, job);
    }
}

bool config_job_ready(const struct sched_config *config, const struct sched_job *job)
{
    each_plugin(plugin, config)
    {
        if (plugin->enabled[POINT_JOB_READY] && plugin->type->job_ready &&
            !plugin->type->job_ready(plugin, job))
            return false;
    }
    return true;
}

bool config_job_possible(const struct sched_config *config, const struct sched_job *job)
{
    each_plugin(plugin, config)
    {
        if (plugin->type->job_possible && !plugin->type->job_possible(plugin, job))
            return false;
    }
    return true;
}

bool config_queue_overused(const struct sched_config *config, const struct cache *cache,
                           const struct sched_queue *queue)
{
    each_plugin(plugin, config)
    {
        if (plugin->enabled[POINT_OVERUSED] && plugin->type->overused &&
            plugin->type->overused(plugin, cache, queue))
            return true;
    }
    return false;
}

bool config_allocatable(const struct sched_config *config, const struct cache *cache,
                        const struct sched_queue *queue, const struct pod_class *cls,
                        struct buf *why)
{
    each_plugin(plugin, config)
    {
        if (plugin->enabled[POINT_ALLOCATABLE] && plugin->type->allocatable &&
            !plugin->type->allocatable(plugin, cache, queue, cls, why))
            return false;
    }
    return true;
}

int64_t config_queue_figure(const struct sched_config *config, const struct cache *cache,
                            const struct sched_queue *queue, enum queue_figure figure, uint32_t id)
{
    int64_t amount = QUEUE_NO_FIGURE;
    each_plugin(plugin, config)
    {
        if (plugin->type->queue_figure && amount == QUEUE_NO_FIGURE)
            amount = plugin->type->queue_figure(plugin, cache, queue, figure, id);
    }
    return amount;
}

const char *config_filter(const struct sched_config *config, const struct pod_class *cls,
                          const struct node *node)
{
    each_plugin(plugin, config)
    {
        if (!plugin->enabled[POINT_PREDICATE] || !plugin->type->filter)
            continue;
        const char *reason = plugin->type->filter(plugin, cls, node);
        if (reason)
            return reason;
    }
    return NULL;
}

const char *config_crowded(const struct sched_config *config, const struct pod_class *cls,
                           const struct sched_node *node)
{
    for (size_t i = 0; i < config->crowded.n; i++) {
        const struct plugin *plugin = config->crowded.items[i];
        const char *reason = plugin->type->crowded(plugin, cls, node);
        if (reason)
            return reason;
    }
    return NULL;
}

enum plugin_miss config_missed(const struct sched_config *config, struct cache *cache,
                               const struct task_group *group, const struct fit_table *table)
{
    enum plugin_miss most = MISS_NONE;
    each_plugin(plugin, config)
    {
        if (!plugin->enabled[POINT_PREDICATE] || !plugin->type->missed)
            continue;
        enum plugin_miss miss = plugin->type->missed(plugin, cache, group, table);
        most = miss > most ? miss : most;
    }
    return most;
}

void config_binding(const struct sched_config *config, const struct sched_task *task, bool failed)
{
    each_plugin(plugin, config)
    {
        if (plugin->type->binding)
            plugin->type->binding(plugin, task, failed);
    }
}

int64_t config_score(const struct sched_config *config, const struct pod_class *cls,
                     const struct sched_node *node)
{
    int64_t score = 0;
    for (size_t i = 0; i < config->scorers.n; i++) {
        const struct plugin *plugin = config->scorers.items[i];
        score = score_plus(score, plugin->type->score(plugin, cls, node));
    }
    return score;
}

/* ---- what depends on the queue --------------------------------------------------------------- */

const char *config_queue_filter(const struct sched_config *config, const struct sched_queue *queue,
                                const struct sched_node *node)
{
    for (size_t i = 0; i < config->by_queue.n; i++) {
        const struct plugin *plugin = config->by_queue.items[i];
        if (!plugin->enabled[POINT_PREDICATE] || !plugin->type->queue_filter)
            continue;
        const char *reason = plugin->type->queue_filter(plugin, queue, node);
        if (reason)
            return reason;
    }
    return NULL;
}

int64_t config_queue_score(const struct sched_config *config, const struct sched_queue *queue,
                           const struct sched_node *node, int64_t score)
{
    for (size_t i = 0; i < config->by_queue.n; i++) {
        const struct plugin *plugin = config->by_queue.items[i];
        if (plugin->enabled[POINT_NODE_ORDER] && plugin->type->queue_score)
            score = score_plus(score, plugin->type->queue_score(plugin, queue, node));
    }
    return score;
}

uint64_t config_queue_stamp(const struct sched_config *config, const struct sched_queue *queue)
{
    uint64_t stamp = 0;
    for (size_t i = 0; i < config->by_queue.n; i++) {
        const struct plugin *plugin = config->by_queue.items[i];
        if (plugin->type->queue_stamp)
            stamp = stamp * UINT64_C(0x9e3779b97f4a7c15) + plugin->type->queue_stamp(plugin, queue);
    }
    return stamp;
}

bool config_queue_limited(const struct sched_config *config, const struct sched_queue *queue)
{
    for (size_t i = 0; i < config->by_queue.n && queue->limits.n; i++)
        if (config->by_queue.items[i]->enabled[POINT_PREDICATE] &&
            config->by_queue.items[i]->type->queue_refuse)
            return true;
    return false;
}

const char *config_queue_refuse(const struct sched_config *config, const struct sched_queue *queue,
                                const struct resource_set *request, const struct sched_node *node)
{
    for (size_t i = 0; i < config->by_queue.n && queue->limits.n; i++) {
        const struct plugin *plugin = config->by_queue.items[i];
        if (!plugin->enabled[POINT_PREDICATE] || !plugin->type->queue_refuse)
            continue;
        const char *reason = plugin->type->queue_refuse(plugin, queue, request, node);
        if (reason)
            return reason;
    }
    return NULL;
}
