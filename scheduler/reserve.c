/*
 * When gangs may hold nodes, and which. See reserve.h; the books are kept in holds.c.
 */
#include "scheduler/reserve.h"
#include "api/names.h"
#include "base/log.h"
#include "loop/backoff.h"
#include "scheduler/apart.h"
#include "scheduler/evict/evictor.h"
#include "scheduler/fit.h"
#include "scheduler/holds.h"
#include "scheduler/plugins/gang.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/why.h"
#include <stdlib.h>

#define LENGTH_NS (600 * NSEC_PER_SEC)
#define BACKOFF_FIRST LENGTH_NS
#define BACKOFF_MOST (3600 * NSEC_PER_SEC)
#define DRAIN_INTERVAL (5 * NSEC_PER_SEC)    /* between looks at every node */
#define CONTEND_INTERVAL (10 * NSEC_PER_SEC) /* likewise, for jobs of one queue */
#define PLAN_INTERVAL NSEC_PER_SEC           /* likewise, for all jobs */
#define TELL_DELAY (5 * NSEC_PER_SEC)
#define MISSING_MOST 1e15 /* how far from room a place counts at most */

/* ---- when ------------------------------------------------------------------------------------ */

/* It may hold again after a back-off, which grows when it has held something in vain. */
static void back_off(struct cache *cache, struct sched_job *job, bool grow)
{
    int64_t delay = backoff_delay(BACKOFF_FIRST, BACKOFF_MOST, job->reserve_ends);
    if (grow && job->reserve_ends < UINT16_MAX)
        job->reserve_ends++;
    job->reserve_ns = loop_now(cache->loop) + delay;
    cache_dirty(cache, job);
}

/* What it holds because it starves, or NULL. */
static struct reservation *reservation_of(const struct sched_job *job)
{
    return job->reservation && !job->reservation->nominated ? job->reservation : NULL;
}

void reserve_drop(struct cache *cache, struct sched_job *job)
{
    if (!reservation_of(job))
        return;
    bool held = job->reservation->holds.n > 0;
    if (held)
        log_info("a job lets go the nodes held for it podgroup=%s/%s", job->ns, job->name);
    holds_close(cache, job->reservation);
    back_off(cache, job, held);
}

void reserve_drop_all(struct cache *cache)
{
    list_each(link, &cache->reservations)
    {
        struct reservation *reservation = container_of(link, struct reservation, link);
        if (!reservation->nominated)
            holds_close(cache, reservation);
    }
}

void reserve_failed(struct cache *cache, struct sched_job *job)
{
    if (job->short_ns)
        return;
    job->short_ns = loop_now(cache->loop);
    cache_dirty(cache, job);
}

/* What its queue may have of a resource while others want theirs, INT64_MAX for any amount. */
static int64_t limit_of(const struct scheduler *scheduler, const struct sched_queue *queue,
                        uint32_t id)
{
    const struct sched_config *config = scheduler->config;
    enum queue_figure figure = FIGURE_LIMIT;
    for (size_t i = 0; i < config->plugins.n; i++)
        if (config->plugins.items[i]->type->overused &&
            config->plugins.items[i]->enabled[POINT_OVERUSED])
            figure = FIGURE_DESERVED;
    int64_t amount = config_queue_figure(config, &scheduler->cache, queue, figure, id);
    return amount == QUEUE_NO_FIGURE ? INT64_MAX : amount;
}

/* Whether it lacks nodes although its queue was asked first: there is not enough in the cluster,
 * and by itself its queue may have the gang. */
static bool lacks_nodes(const struct scheduler *scheduler, const struct sched_job *job)
{
    struct resource_set needs = why_gang_needs(job);
    bool lacks = false, may_have = true;
    for (uint32_t i = 0; i < needs.n; i++) {
        uint32_t id = needs.items[i].id;
        int64_t amount = needs.items[i].amount;
        int64_t limit = limit_of(scheduler, job->queue, id);
        lacks = lacks || amount > resource_vector_get(&scheduler->cache.free, id);
        may_have = may_have && (limit == INT64_MAX ||
                                resource_set_get(&job->queue->allocated, id) <= limit - amount);
    }
    resource_set_clear(&needs);
    return lacks && may_have;
}

void reserve_spare(struct cache *cache, struct sched_job *job)
{
    job->short_ns = 0;
    reserve_drop(cache, job);
}

void reserve_refused(struct scheduler *scheduler, struct sched_job *job)
{
    if (lacks_nodes(scheduler, job)) {
        reserve_failed(&scheduler->cache, job);
        return;
    }
    job->short_ns = 0;
    reserve_drop(&scheduler->cache, job);
}

/* It is whole, or cannot be. */
static void forget(struct sched_job *job)
{
    job->short_ns = 0;
    job->never_fits = false;
    if (job_gang_ready(job))
        job->reserve_ends = 0;
}

void reserve_check(struct scheduler *scheduler, struct sched_job *job)
{
    struct reservation *reservation = reservation_of(job);
    bool whole = config_job_ready(scheduler->config, job);
    bool starves = !whole && job->uid && job->phase != JOB_PENDING && job->count[TASK_PENDING] &&
                   config_job_possible(scheduler->config, job);
    if (!starves)
        forget(job);
    if (!reservation)
        return;
    if (!starves)
        holds_close(&scheduler->cache, reservation);
    else if (loop_now(scheduler->params.loop) >= reservation->until_ns)
        reserve_drop(&scheduler->cache, job);
}

/* The first moment at which it may hold nodes, INT64_MAX for never. */
static int64_t due_time(const struct scheduler *scheduler, const struct sched_job *job)
{
    int64_t after = job->short_ns ? gang_arguments(scheduler->config)->reserve_after_ns : 0;
    if (after <= 0 || after > INT64_MAX - job->short_ns)
        return INT64_MAX;
    bool news = job->never_fits && job->never_version != scheduler->cache.versions;
    return news || job->short_ns + after > job->reserve_ns ? job->short_ns + after
                                                           : job->reserve_ns;
}

bool reserve_may(const struct scheduler *scheduler, const struct sched_job *job)
{
    const struct sched_queue *queue = job->queue;
    int64_t now = loop_now(scheduler->params.loop);
    bool looked = queue->contended_ns && now - queue->contended_ns < CONTEND_INTERVAL;
    return job->short_ns && !job->reservation && !queue->holder && !looked &&
           why_holds_pods(job->why.kind) && queue->uid && queue->open &&
           due_time(scheduler, job) <= now && !config_job_ready(scheduler->config, job) &&
           config_job_possible(scheduler->config, job);
}

static void ask_for_room(const struct task_group *group, uint32_t count, void *arg)
{
    struct sched_job **job = arg;
    (void)count;
    if (*job && !group->cls->best_effort && holds_may_add((*job)->cache, group->cls))
        *job = NULL;
}

bool reserve_is_worth(struct scheduler *scheduler, struct sched_job *job)
{
    struct cycle *cycle = &scheduler->cycle;
    int64_t now = loop_now(scheduler->params.loop);
    struct sched_job *without_room = job;
    if (!reserve_may(scheduler, job) ||
        (cycle->planned_ns && now - cycle->planned_ns < PLAN_INTERVAL))
        return false;
    job->queue->contended_ns = now;
    job_each_missing(job, ask_for_room, &without_room);
    if (without_room)
        return false;
    cycle->planned_ns = now;
    return true;
}

bool reserve_is_told(const struct scheduler *scheduler, const struct sched_job *job)
{
    return reservation_of(job) &&
           loop_now(scheduler->params.loop) - job->reservation->since_ns >= TELL_DELAY;
}

int64_t reserve_look(const struct scheduler *scheduler, const struct sched_job *job)
{
    const struct reservation *reservation = reservation_of(job);
    if (job->reservation && !reservation)
        return INT64_MAX;
    if (reservation && !reserve_is_told(scheduler, job))
        return reservation->since_ns + TELL_DELAY;
    if (reservation)
        return reservation->until_ns;
    int64_t due = due_time(scheduler, job);
    return due > loop_now(scheduler->params.loop) ? due : INT64_MAX;
}

void reserve_decide(struct scheduler *scheduler, struct sched_job *job, bool fits)
{
    struct cache *cache = &scheduler->cache;
    job->never_fits = !fits;
    job->never_version = cache->versions;
    if (fits) {
        (void)holds_open(cache, job, LENGTH_NS);
        return;
    }
    back_off(cache, job, true);
}

/* ---- for whom it gives way ------------------------------------------------------------------- */

bool reserve_ranks_priorities(const struct sched_config *config)
{
    const struct plugin *priority = sched_config_plugin(config, plugin_priority.name);
    return priority && priority->enabled[POINT_JOB_ORDER];
}

/* Whether pods of the class and queue may use the node, and its group as far as that goes. */
static bool may_use(const struct scheduler *scheduler, const struct fit_table *table,
                    const struct sched_queue *queue, const struct pod_class *cls,
                    const struct sched_node *node)
{
    return node && node->object && !fit_barred(table, node) &&
           !config_queue_refuse(scheduler->config, queue, &cls->request, node);
}

/* Whether a pod of the queue would have room where something is held, were it not. */
static bool is_in_the_way(struct scheduler *scheduler, const struct reservation *reservation,
                          const struct sched_queue *queue, struct pod_class *cls)
{
    const struct fit_table *table = fit_table(&scheduler->cache, scheduler->config, queue, cls);
    for (size_t i = 0; i < reservation->holds.n; i++) {
        const struct sched_node *node = reservation->holds.items[i]->node;
        if (may_use(scheduler, table, queue, cls, node) && holds_hide_room(node, cls))
            return true;
    }
    return false;
}

/* Whether the job goes before the one for which others are evicted: nobody goes between queues for
 * others than those for whom that was decided. */
static bool goes_before(const struct scheduler *scheduler, const struct sched_job *job,
                        const struct reservation *reservation)
{
    return reserve_ranks_priorities(scheduler->config) &&
           reservation->job->priority < job->priority && reservation->job->queue == job->queue;
}

void reserve_lift(struct scheduler *scheduler, struct sched_job *job, bool mending)
{
    if (job->reservation)
        holds_lift(&scheduler->cache, job);
    if (!mending)
        return;
    list_each(link, &scheduler->cache.reservations)
    {
        struct reservation *reservation = container_of(link, struct reservation, link);
        if (!reservation->nominated || goes_before(scheduler, job, reservation))
            holds_lift(&scheduler->cache, reservation->job);
    }
}

/* Whether a job for which others are evicted gives way to one of its queue that is more important,
 * for a pod of the class or, with NULL, for its share of the queue. */
static bool lifts(struct scheduler *scheduler, struct reservation *reservation,
                  const struct sched_job *job, struct pod_class *cls)
{
    if (reservation->job->queue != job->queue || reservation->lifted ||
        (cls && !is_in_the_way(scheduler, reservation, job->queue, cls)))
        return false;
    holds_lift(&scheduler->cache, reservation->job);
    return true;
}

/* Likewise a gang that holds nodes because it starves. */
static bool drops(struct scheduler *scheduler, const struct reservation *reservation,
                  const struct sched_job *job, struct pod_class *cls)
{
    if (!cls || !is_in_the_way(scheduler, reservation, job->queue, cls))
        return false;
    reserve_drop(&scheduler->cache, reservation->job);
    return true;
}

bool reserve_yield(struct scheduler *scheduler, const struct sched_job *job, struct pod_class *cls,
                   bool lift)
{
    bool any = false;
    if (!reserve_ranks_priorities(scheduler->config))
        return false;
    list_each(link, &scheduler->cache.reservations)
    {
        struct reservation *reservation = container_of(link, struct reservation, link);
        if (reservation->job->priority >= job->priority)
            continue;
        bool gives = reservation->nominated ? lift && lifts(scheduler, reservation, job, cls)
                                            : drops(scheduler, reservation, job, cls);
        any = any || gives;
    }
    return any;
}

/* Whether the queue of the holder may still have all that is held for it. */
static bool has_share(struct scheduler *scheduler, const struct reservation *reservation)
{
    struct pod_class sum = {.request = {NULL, 0}};
    cleanup_buf struct buf why = BUF_INIT(4 * WHY_TEXT_MAX);
    for (size_t i = 0; i < reservation->holds.n; i++)
        (void)resource_set_add(&sum.request, &reservation->holds.items[i]->amount, 1);
    bool has = config_allocatable(scheduler->config, &scheduler->cache, reservation->job->queue,
                                  &sum, &why);
    resource_set_clear(&sum.request);
    return has;
}

void reserve_settle(struct scheduler *scheduler, const struct sched_job *job,
                    struct sched_task *const *placed, size_t n)
{
    if (list_empty(&scheduler->cache.reservations))
        return;
    cleanup_free bool *used = xcalloc(scheduler->cache.nodes.n + 1, sizeof(*used));
    for (size_t i = 0; i < n; i++)
        if (placed[i]->node)
            used[placed[i]->node->index] = true;
    list_each(link, &scheduler->cache.reservations)
    {
        struct reservation *reservation = container_of(link, struct reservation, link);
        if (!reservation->nominated || !reservation->lifted || reservation->job == job)
            continue;
        if (!has_share(scheduler, reservation) || evictor_lost_places(reservation, used))
            holds_close(&scheduler->cache, reservation); /* the evictor sees that */
        else
            holds_restore_of(&scheduler->cache, reservation);
    }
}

/* ---- which nodes ----------------------------------------------------------------------------- */

static void want(const struct task_group *group, uint32_t count, void *arg)
{
    if (!group->cls->best_effort)
        holds_class(arg, group->cls)->wanted += count;
}

void reserve_begin(struct sched_job *job)
{
    struct reservation *reservation = reservation_of(job);
    if (!reservation)
        return;
    reservation->filled = reservation->drained = 0;
    for (size_t i = 0; i < reservation->classes.n; i++)
        reservation->classes.items[i].wanted = 0;
    job_each_missing(job, want, reservation);
    for (size_t i = 0; i < reservation->classes.n; i++) {
        const struct held_class *entry = &reservation->classes.items[i];
        while (entry->held > entry->wanted &&
               holds_remove(job->cache, reservation, entry->cls, true))
            ;
    }
}

/* The first of the job's groups of that class that has pods waiting, or NULL. */
static const struct task_group *group_of(const struct sched_job *job, const struct pod_class *cls)
{
    for (size_t i = 0; i < job->groups.n; i++)
        if (job->groups.items[i]->cls == cls && job->groups.items[i]->pending.n)
            return job->groups.items[i];
    return NULL;
}

/* How many pods of the class the node would have room for, were it empty. */
static uint32_t places_on(const struct pod_class *cls, const struct sched_node *node)
{
    int64_t places = UINT32_MAX;
    for (uint32_t i = 0; i < cls->request.n; i++) {
        int64_t amount = cls->request.items[i].amount;
        int64_t room = resource_vector_get(&node->object->allocatable, cls->request.items[i].id);
        places = amount > 0 && room / amount < places ? room / amount : places;
    }
    return places > 0 ? (uint32_t)places : 0;
}

static void offer_nodes(struct scheduler *scheduler, const struct sched_queue *queue,
                        struct pod_class *cls, struct apart *apart)
{
    struct cache *cache = &scheduler->cache;
    const struct fit_table *table = fit_table(cache, scheduler->config, queue, cls);
    for (size_t i = 0; i < cache->nodes.n; i++) {
        const struct sched_node *node = cache->nodes.items[i];
        if (may_use(scheduler, table, queue, cls, node))
            apart_offer(apart, node->index, places_on(cls, node));
    }
    cache->work += cache->nodes.n;
}

/* What the job's pods and the places held for it leave to pods of the group; NULL: everything. */
static struct apart *apart_of(struct scheduler *scheduler, const struct reservation *reservation,
                              const struct task_group *group, uint32_t wanted)
{
    struct apart *apart = apart_new(&scheduler->cache, scheduler->config, group, wanted);
    if (!apart)
        return NULL;
    offer_nodes(scheduler, reservation->job->queue, group->cls, apart);
    apart_count_placed(apart, reservation->job);
    for (size_t i = 0; i < reservation->holds.n; i++) {
        const struct node_hold *hold = reservation->holds.items[i];
        for (size_t p = 0; p < hold->parts.n; p++)
            for (uint32_t n = 0; n < hold->parts.items[p].pods; n++)
                apart_count(apart, hold->parts.items[p].cls, hold->node->index);
    }
    return apart;
}

static bool is_apart(const struct sched_node *node, void *arg)
{
    return !apart_refuses(arg, node->index) && !apart_is_uneven(arg, node->index);
}

/* A place that is free for a pod of the class, held in addition to or instead of another. */
static bool hold_free_place(struct scheduler *scheduler, struct reservation *reservation,
                            const struct held_class *entry)
{
    struct cache *cache = &scheduler->cache;
    struct pod_class *cls = entry->cls;
    const struct task_group *group = group_of(reservation->job, cls);
    if (!group)
        return false;
    struct apart *apart = apart_of(scheduler, reservation, group, entry->wanted);
    const struct fit_table *table = fit_table_of(cache, scheduler->config, group);
    struct sched_node *node =
        apart ? fit_best_of(cache, table, is_apart, apart) : fit_best(cache, table);
    apart_free(cache, apart);
    if (!node)
        return false;
    if (entry->held < entry->wanted && holds_add(cache, reservation, node, cls))
        return true;
    return holds_remove(cache, reservation, cls, false) && holds_add(cache, reservation, node, cls);
}

/* A node on which a pod would fit once others' pods end. */
struct candidate {
    int64_t missing; /* the largest part of what the pod asks for that is not free, in millionths */
    struct sched_node *node;
};

/* Negative when the pod would not fit there even then. */
static int64_t missing_on(const struct pod_class *cls, const struct sched_node *node)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < cls->request.n; i++) {
        uint32_t id = cls->request.items[i].id;
        int64_t amount = cls->request.items[i].amount;
        int64_t room = resource_vector_get(&node->object->allocatable, id) - holds_on(node, id);
        if (amount <= 0)
            continue;
        if (amount > room)
            return -1;
        double lacks = (double)(amount - room + resource_vector_get(&node->used, id));
        double times = 1e6 * lacks / (double)amount; /* a node far over its allocatable */
        int64_t part = times < MISSING_MOST ? (int64_t)times : (int64_t)MISSING_MOST;
        most = part > most ? part : most;
    }
    return most;
}

static int compare_candidates(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    if (a->missing != b->missing)
        return a->missing < b->missing ? -1 : 1;
    return a->node->index < b->node->index ? -1 : a->node->index > b->node->index;
}

/* Nodes on which a pod would fit in the end, the best first; the array is for the caller. */
static struct candidate *candidates_of(struct scheduler *scheduler, const struct sched_queue *queue,
                                       struct pod_class *cls, size_t *ret_n)
{
    struct cache *cache = &scheduler->cache;
    const struct fit_table *table = fit_table(cache, scheduler->config, queue, cls);
    struct candidate *found = xcalloc(cache->nodes.n + 1, sizeof(*found));
    size_t n = 0;
    for (size_t i = 0; i < cache->nodes.n; i++) {
        struct sched_node *node = cache->nodes.items[i];
        int64_t missing = may_use(scheduler, table, queue, cls, node) ? missing_on(cls, node) : -1;
        if (missing >= 0)
            found[n++] = (struct candidate){missing, node};
    }
    qsort(found, n, sizeof(*found), compare_candidates);
    cache->work += cache->nodes.n;
    *ret_n = n;
    return found;
}

/* Holds places that are not free yet, one a node: whose pods end there soonest is not known. Each
 * counts in the limits of its queue and keeps others away, so that the next may have to be
 * elsewhere. */
static bool hold_used_places(struct scheduler *scheduler, struct reservation *reservation,
                             struct pod_class *cls, uint32_t wanted)
{
    const struct sched_queue *queue = reservation->job->queue;
    const struct task_group *group = group_of(reservation->job, cls);
    struct apart *apart = group ? apart_of(scheduler, reservation, group, wanted) : NULL;
    size_t n;
    struct candidate *found = candidates_of(scheduler, queue, cls, &n);
    uint32_t held = 0;
    for (size_t i = 0; i < n && held < wanted; i++) {
        if (config_queue_refuse(scheduler->config, queue, &cls->request, found[i].node) ||
            (apart && !is_apart(found[i].node, apart)))
            continue;
        if (!holds_add(&scheduler->cache, reservation, found[i].node, cls))
            break;
        if (apart)
            apart_count(apart, cls, found[i].node->index);
        held++;
    }
    free(found);
    apart_free(&scheduler->cache, apart);
    return held > 0;
}

/* One class more. Each looks at every node, so not more often than now and then. */
static bool drain(struct scheduler *scheduler, struct reservation *reservation)
{
    int64_t now = loop_now(scheduler->params.loop);
    if (!reservation->drained && reservation->drained_ns &&
        now - reservation->drained_ns < DRAIN_INTERVAL)
        return false;
    while (reservation->drained < reservation->classes.n) {
        const struct held_class *entry = &reservation->classes.items[reservation->drained++];
        if (entry->held >= entry->wanted || !holds_may_add(&scheduler->cache, entry->cls))
            continue;
        reservation->drained_ns = now;
        if (hold_used_places(scheduler, reservation, entry->cls, entry->wanted - entry->held))
            reservation->drained = reservation->classes.n;
        return true;
    }
    return false;
}

/* One place of a class, until there is none that is free. */
static bool fill(struct scheduler *scheduler, struct reservation *reservation)
{
    if (reservation->filled == reservation->classes.n)
        return false;
    const struct held_class *entry = &reservation->classes.items[reservation->filled];
    if (!entry->wanted || !hold_free_place(scheduler, reservation, entry))
        reservation->filled++;
    return true;
}

bool reserve_step(struct scheduler *scheduler, struct sched_job *job)
{
    struct reservation *reservation = reservation_of(job);
    if (!reservation)
        return false;
    if (fill(scheduler, reservation) || drain(scheduler, reservation))
        return true;
    if (!reservation->holds.n) /* there is no room for one of its pods in what may be held */
        reserve_drop(&scheduler->cache, job);
    return false;
}
