/*
 * The scheduler's beginning, end and main switch between cycle and changes. See scheduler.h.
 */
#include "scheduler/scheduler.h"
#include "base/intern.h"
#include "base/log.h"
#include "scheduler/apply.h"
#include "scheduler/bind.h"
#include "scheduler/cycle.h"
#include "scheduler/evict/evictor.h"
#include "scheduler/evict/prospects.h"
#include "scheduler/metrics.h"
#include "scheduler/queues.h"
#include "scheduler/reserve.h"
#include "scheduler/status.h"
#include "scheduler/tally.h"
#include "scheduler/teller.h"
#include "scheduler/volumes/binder.h"

/* A new leader's first cycle waits for what the old one wrote last to come through the watches. */
#define TAKEOVER_NS (200 * NSEC_PER_MSEC)

/* "key:value" pairs of --node-selector: one is enough. */
static bool keep_node(const struct node *node, void *arg)
{
    const struct scheduler_params *params = arg;
    for (size_t i = 0; i < params->node_selector_count; i++) {
        struct str pair = str_of(params->node_selector[i]), key;
        if (!str_split(&pair, ':', &key))
            continue;
        cleanup_free char *name = str_dup(str_trim(key));
        const char *value = kube_pairs_get(&node->meta.labels, name);
        if (value && str_is(str_trim(pair), value))
            return true;
    }
    return params->node_selector_count == 0;
}

/* Timers of jobs know their job; the scheduler is found through the cache. */
static struct scheduler *scheduler_of(struct sched_job *job)
{
    struct cache *cache = job->cache;
    return container_of(cache, struct scheduler, cache);
}

static void on_job_timer(void *arg)
{
    struct sched_job *job = arg;
    scheduler_change(scheduler_of(job), (struct change){.kind = CHANGE_JOB,
                                                        .ns = intern_ref(job->ns),
                                                        .key = intern_ref(job->name)});
}

static void on_volume_released(void *arg)
{
    struct scheduler *scheduler = arg;
    cache_room(&scheduler->cache);
    scheduler_wake(scheduler);
}

static struct volume_binder *new_binder(struct scheduler *scheduler)
{
    const struct scheduler_params *params = &scheduler->params;
    if (!params->claims)
        return NULL;
    return volume_binder_new(
        &(struct volume_binder_params){.loop = params->loop,
                                       .transport = params->transport,
                                       .window = params->window,
                                       .claims = params->claims,
                                       .persistent_volumes = params->persistent_volumes,
                                       .volumes = scheduler->cache.volumes,
                                       .room = on_volume_released,
                                       .arg = scheduler});
}

struct scheduler *scheduler_new(const struct scheduler_params *params)
{
    struct scheduler *scheduler = xnew(struct scheduler);
    scheduler->params = *params;
    scheduler->params.config = NULL;
    scheduler->config = params->config;
    list_init(&scheduler->binds);
    list_init(&scheduler->tellers);
    list_init(&scheduler->makers);
    cache_init(&scheduler->cache, params->loop, params->window);
    scheduler->cache.schedulers = params->names;
    scheduler->cache.scheduler_count = params->name_count;
    scheduler->cache.priorityclasses = params->priorityclasses;
    scheduler->cache.podgroups = params->podgroups;
    scheduler->cache.keep_node = keep_node;
    scheduler->cache.keep_arg = &scheduler->params;
    scheduler->cache.job_timer = on_job_timer;
    scheduler->cache.prospects = scheduler->prospects = prospects_new();
    scheduler->volume_binder = new_binder(scheduler);
    scheduler->metrics = metrics_start(scheduler);
    cycle_init(scheduler);
    evictor_init(scheduler);
    teller_init(scheduler);
    queues_init(scheduler);
    tally_init(scheduler);
    apply_init(scheduler);
    config_attach(scheduler->config, scheduler);
    return scheduler;
}

static void drop_change(struct change *change)
{
    if (change->kind == CHANGE_NODE)
        node_unref(change->object);
    else if (change->kind == CHANGE_POD)
        pod_unref(change->object);
    intern_put(change->ns);
    intern_put(change->key);
}

void scheduler_free(struct scheduler *scheduler)
{
    if (!scheduler)
        return;
    apply_clear(scheduler);
    evictor_clear(scheduler);
    cycle_clear(scheduler);
    queues_clear(scheduler);
    tally_clear(scheduler);
    volume_binder_free(scheduler->volume_binder);
    bind_clear(scheduler);
    teller_clear(scheduler);
    status_clear(scheduler);
    for (size_t i = scheduler->changes_done; i < scheduler->changes.n; i++)
        drop_change(&scheduler->changes.items[i]);
    vec_clear(&scheduler->changes);
    cache_clear(&scheduler->cache);
    prospects_free(scheduler->prospects);
    sched_config_free(scheduler->config);
    sched_config_free(scheduler->next_config);
    metrics_end(scheduler->metrics);
    free(scheduler);
}

void scheduler_lead(struct scheduler *scheduler, bool leading)
{
    struct loop *loop = scheduler->params.loop;
    bool warm = scheduler->ready;
    scheduler->leading = leading;
    scheduler->cache.leads = false; /* until the first cycle */
    if (!leading) {
        reserve_drop_all(&scheduler->cache);
        evictor_clear(scheduler);
        return;
    }
    if (warm)
        scheduler->cycle.not_before_ns = loop_now(loop) + TAKEOVER_NS;
    queues_check(scheduler);
    scheduler_wake(scheduler);
}

void scheduler_set_config(struct scheduler *scheduler, struct sched_config *config)
{
    sched_config_free(scheduler->next_config);
    scheduler->next_config = config;
    scheduler_wake(scheduler);
}

void scheduler_wake(struct scheduler *scheduler)
{
    cycle_request(scheduler);
    tally_request(scheduler);
}

void scheduler_change(struct scheduler *scheduler, struct change change)
{
    if (scheduler->cycle.stage == CYCLE_IDLE)
        apply_change(scheduler, &change);
    else
        vec_push(&scheduler->changes, change);
}

void scheduler_check_stopped(struct scheduler *scheduler)
{
    loop_fn *stopped = scheduler->stopped;
    if (!stopped || scheduler->cycle.stage != CYCLE_IDLE || !list_empty(&scheduler->binds))
        return;
    scheduler->stopped = NULL;
    stopped(scheduler->stopped_arg);
}

void scheduler_stop(struct scheduler *scheduler, loop_fn *stopped, void *arg)
{
    scheduler->stopping = true;
    if (scheduler->volume_binder)
        volume_binder_stop(scheduler->volume_binder);
    evictor_clear(scheduler);
    scheduler->stopped = stopped;
    scheduler->stopped_arg = arg;
    scheduler_check_stopped(scheduler);
}
