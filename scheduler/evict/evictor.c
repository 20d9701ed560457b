/*
 * Decisions to evict: their beginning, their end, and what lies between. See evictor.h.
 *
 * A decision is looked at when its job is dirty: when one of its victims or of its own pods has
 * changed, or its time has come. Victims stay in its list until they are gone.
 */
#include "scheduler/evict/evictor.h"
#include "base/intern.h"
#include "base/log.h"
#include "scheduler/evict/evictor_private.h"
#include "scheduler/fit.h"
#include "scheduler/holds.h"
#include "scheduler/metrics.h"
#include "scheduler/why.h"

#define BACKOFF_FIRST (30 * NSEC_PER_SEC)
#define BACKOFF_MOST (600 * NSEC_PER_SEC)

void evictor_init(struct scheduler *scheduler)
{
    list_init(&scheduler->decisions);
    list_init(&scheduler->strays);
    scheduler->evictions = (struct map)MAP_INIT_BORROWS;
    scheduler->nominations = (struct map)MAP_INIT_BORROWS;
}

/* ---- the beginning --------------------------------------------------------------------------- */

struct evict_decision *evict_decision_open(struct scheduler *scheduler, struct sched_job *job,
                                           const char *action)
{
    struct evict_decision *decision = xnew(struct evict_decision);
    decision->scheduler = scheduler;
    decision->job = job;
    decision->uid = intern_ref(job->uid);
    decision->action = action;
    decision->gang = !config_job_ready(scheduler->config, job);
    decision->since_ns = decision->due_ns = loop_now(scheduler->params.loop);
    list_init(&decision->victims);
    list_init(&decision->link);
    list_append(&scheduler->decisions, &decision->link);
    job->decision = decision;
    (void)holds_nominate(&scheduler->cache, job);
    cache_dirty(&scheduler->cache, job);
    return decision;
}

void evict_decision_hold(struct evict_decision *decision, struct sched_task *task,
                         struct sched_node *node)
{
    (void)holds_add(&decision->scheduler->cache, decision->job->reservation, node, task->pod->cls);
    vec_push(&decision->nominees,
             ((struct evict_nominee){intern_ref(task->pod->meta.uid), intern_ref(node->name)}));
    decision->places++;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void free_decision(struct evict_decision *decision)
{
    decision->job->decision = NULL;
    list_remove(&decision->link);
    for (size_t i = 0; i < decision->nominees.n; i++) {
        intern_put(decision->nominees.items[i].uid);
        intern_put(decision->nominees.items[i].node);
    }
    vec_clear(&decision->nominees);
    intern_put(decision->uid);
    cache_dirty(&decision->scheduler->cache, decision->job);
    free(decision);
}

static void let_go(struct evict_decision *decision)
{
    struct reservation *reservation = decision->job->reservation;
    if (reservation && reservation->nominated)
        holds_close(&decision->scheduler->cache, reservation);
}

/* Nominations that are still shown are taken back. */
static void denominate(struct evict_decision *decision)
{
    for (size_t i = 0; i < decision->nominees.n; i++) {
        struct sched_task *task =
            cache_task(&decision->scheduler->cache, decision->nominees.items[i].uid);
        if (task && task->job && task->status <= TASK_GATED)
            nomination_set(decision->scheduler, task, NULL);
    }
}

/* Nobody is evicted for the job for a while, longer each time. */
static void back_off(const struct evict_decision *decision)
{
    struct sched_job *job = decision->job;
    struct loop *loop = decision->scheduler->params.loop;
    int64_t delay = backoff_delay(BACKOFF_FIRST, BACKOFF_MOST, job->evict_ends);
    if (job->evict_ends < UINT16_MAX)
        job->evict_ends++;
    job->evict_ns = loop_now(loop) + rng_jitter(loop_rng(loop), delay, 0.2);
}

enum ending { GOES_ON, PLACED, USELESS, LOST, POINTLESS, LATE };

static const char *const ending_texts[] = {
    [PLACED] = "it is placed",
    [USELESS] = "it cannot use the room any more",
    [LOST] = "places that were to be its own are lost",
    [POINTLESS] = "a pod could not be evicted",
    [LATE] = "it was not placed in time",
};

/* Victims of a job stand together. */
static void drop_victims(struct evict_decision *decision)
{
    const struct sched_job *loser = NULL;
    size_t spared = 0;
    list_each(link, &decision->victims)
    {
        struct evict_call *call = container_of(link, struct evict_call, link);
        const struct sched_task *task =
            cache_task(&decision->scheduler->cache, call->pod->meta.uid);
        if (task && task->job != loser) {
            evict_say_spared(decision, loser, spared);
            loser = task->job;
            spared = 0;
        }
        spared += evict_call_drop(call, false);
    }
    evict_say_spared(decision, loser, spared);
}

static struct sched_job *victim_job(const struct evict_decision *decision,
                                    const struct evict_call *call)
{
    const struct sched_task *task = cache_task(&decision->scheduler->cache, call->pod->meta.uid);
    return task ? task->job : NULL;
}

/* Whether a queue may have so much again of what its jobs gave; shares of queues do not count where
 * it was taken from another queue for being beyond its own. */
static bool may_have_again(const struct evict_decision *decision, struct sched_queue *queue,
                           const struct resource_set *amount)
{
    const struct scheduler *scheduler = decision->scheduler;
    const struct pod_class sum = {.request = *amount};
    cleanup_buf struct buf why = BUF_INIT(4 * WHY_TEXT_MAX);
    queue->beyond = queue != decision->job->queue;
    bool may = config_allocatable(scheduler->config, &scheduler->cache, queue, &sum, &why);
    queue->beyond = false;
    return may;
}

/* The victims of one job, which stand together, from that one on; what they ask for is added to
 * what others have been given back. Returns the link behind them. */
static struct list *end_victims(struct evict_decision *decision, struct list *first,
                                struct resource_set *given_back)
{
    struct sched_job *job = victim_job(decision, container_of(first, struct evict_call, link));
    struct resource_set all = resource_set_copy(given_back);
    struct list *end = first;
    do {
        const struct evict_call *call = container_of(end, struct evict_call, link);
        (void)resource_set_add(&all, &call->pod->cls->request, 1);
        end = end->next;
    } while (end != &decision->victims &&
             victim_job(decision, container_of(end, struct evict_call, link)) == job);
    size_t spared = 0;
    bool stay = job && job->queue && may_have_again(decision, job->queue, &all);
    for (struct list *link = first, *next; link != end; link = next) {
        struct evict_call *call = container_of(link, struct evict_call, link);
        next = link->next;
        if (stay)
            spared += evict_call_drop(call, false);
        else
            evict_call_leave(call);
    }
    evict_say_spared(decision, job, spared);
    resource_set_clear(stay ? given_back : &all);
    if (stay)
        *given_back = all;
    return end;
}

/* The job has found its places before all were gone. Those who were not asked yet stay, if what it
 * has now leaves their queues enough for that: for all of a job, else a part of it would stay that
 * is never whole again. */
static void end_all_victims(struct evict_decision *decision)
{
    struct resource_set given_back = {NULL, 0};
    for (struct list *link = decision->victims.next; link != &decision->victims;)
        link = end_victims(decision, link, &given_back);
    resource_set_clear(&given_back);
}

void evict_decision_forget(struct evict_decision *decision)
{
    let_go(decision);
    denominate(decision);
    drop_victims(decision);
    free_decision(decision);
}

static void end_decision(struct evict_decision *decision, enum ending ending)
{
    struct sched_job *job = decision->job;
    log_info("a decision to evict is over podgroup=%s/%s action=%s why=\"%s\"", job->ns, job->name,
             decision->action, ending_texts[ending]);
    if (ending == PLACED)
        job->evict_ends = 0;
    else if (job->uid == decision->uid)
        back_off(decision);
    if (ending != PLACED && ending != USELESS)
        evict_say_vain(decision, ending_texts[ending]);
    let_go(decision);
    if (ending == PLACED)
        end_all_victims(decision);
    evict_decision_forget(decision);
}

/* ---- in between ------------------------------------------------------------------------------ */

/* Loop time at which a victim that is still there should be gone. */
static int64_t due_time(const struct scheduler *scheduler, const struct evict_call *call,
                        const struct sched_task *task)
{
    int64_t deleted = task->pod->meta.deleted_ns;
    if (deleted)
        return loop_now(scheduler->params.loop) + (deleted - loop_wall(scheduler->params.loop));
    return call->taken_ns ? call->taken_ns + DECISION_PATIENCE : evict_call_ends(call);
}

/* Strikes out the victims that are gone; finds out when the others should be. */
static void count_victims(struct evict_decision *decision)
{
    struct scheduler *scheduler = decision->scheduler;
    int64_t now = loop_now(scheduler->params.loop), due = decision->since_ns;
    list_each(link, &decision->victims)
    {
        struct evict_call *call = container_of(link, struct evict_call, link);
        const struct sched_task *task = cache_task(&scheduler->cache, call->pod->meta.uid);
        if (!task || !task->node) {
            decision->gone_ns = now;
            evict_call_end(call);
            continue;
        }
        if (!call->taken_ns && task->pod->meta.deleted_ns)
            call->taken_ns = now; /* whether by us or not */
        int64_t at = due_time(scheduler, call, task);
        due = at > due ? at : due;
        if (!call->taken_ns && now >= evict_call_ends(call))
            evict_call_tire(call);
    }
    if (!decision->adopted)
        decision->due_ns = due;
}

static int64_t until(const struct evict_decision *decision)
{
    int64_t last = decision->due_ns > decision->gone_ns ? decision->due_ns : decision->gone_ns;
    return last + DECISION_SPARE;
}

/* The first of the job's groups of that class, or NULL. */
static const struct task_group *group_of(const struct sched_job *job, const struct pod_class *cls)
{
    for (size_t i = 0; i < job->groups.n; i++)
        if (job->groups.items[i]->cls == cls && job->groups.items[i]->pending.n)
            return job->groups.items[i];
    return NULL;
}

/* Whether none of the class may go where its places are held. */
static bool is_barred(const struct evict_decision *decision, const struct pod_class *cls)
{
    struct scheduler *scheduler = decision->scheduler;
    const struct reservation *reservation = decision->job->reservation;
    const struct task_group *group = group_of(decision->job, cls);
    if (!group)
        return false;
    const struct fit_table *table = fit_table_of(&scheduler->cache, scheduler->config, group);
    for (size_t i = 0; i < reservation->holds.n; i++) {
        const struct node_hold *hold = reservation->holds.items[i];
        for (size_t p = 0; p < hold->parts.n; p++)
            if (hold->parts.items[p].cls == cls && fit_barred(table, hold->node))
                return true;
    }
    return false;
}

/* Whether a node with a place is closed to the pod that was to have it, as by a taint. */
static bool has_closed_places(const struct evict_decision *decision)
{
    const struct reservation *reservation = decision->job->reservation;
    for (size_t i = 0; i < reservation->classes.n; i++)
        if (reservation->classes.items[i].held &&
            is_barred(decision, reservation->classes.items[i].cls))
            return true;
    return false;
}

static enum ending ending_of(const struct evict_decision *decision)
{
    const struct scheduler *scheduler = decision->scheduler;
    const struct sched_job *job = decision->job;
    if (job->uid != decision->uid || job->phase == JOB_PENDING)
        return USELESS;
    if (decision->placed)
        return PLACED;
    if (!job_waiting(job) || !config_job_possible(scheduler->config, job))
        return USELESS;
    if (!job->reservation || holds_pods(job->reservation) + decision->used < decision->places ||
        has_closed_places(decision))
        return LOST;
    if (decision->pointless)
        return POINTLESS;
    return loop_now(scheduler->params.loop) >= until(decision) ? LATE : GOES_ON;
}

void evictor_check(struct scheduler *scheduler, struct sched_job *job)
{
    struct evict_decision *decision = job->decision;
    (void)scheduler;
    if (!decision)
        return;
    count_victims(decision);
    enum ending ending = ending_of(decision);
    if (ending != GOES_ON)
        end_decision(decision, ending);
}

int64_t evictor_look(const struct scheduler *scheduler, const struct sched_job *job)
{
    int64_t now = loop_now(scheduler->params.loop);
    if (!job->decision)
        return job->evict_ns > now && job_waiting(job) ? job->evict_ns : INT64_MAX;
    int64_t next = until(job->decision);
    for (const struct list *link = job->decision->victims.next; link != &job->decision->victims;
         link = link->next) {
        const struct evict_call *call = const_container_of(link, struct evict_call, link);
        int64_t ends = evict_call_ends(call);
        if (!call->taken_ns && !evict_call_asks(call) && ends < next)
            next = ends;
    }
    return next;
}

/* The place of a pod that has its node: there, else any other. */
static void use_place(struct evict_decision *decision, const struct sched_task *task)
{
    struct cache *cache = &decision->scheduler->cache;
    struct reservation *reservation = decision->job->reservation;
    struct pod_class *cls = task->pod->cls;
    if (reservation && (holds_remove_on(cache, reservation, task->node, cls) ||
                        holds_remove(cache, reservation, cls, true)))
        decision->used++;
}

bool evictor_next_place(const struct scheduler *scheduler, const struct sched_job *job,
                        size_t *cursor, struct evict_place *ret_place)
{
    const struct evict_decision *decision = job->decision;
    while (decision && *cursor < decision->nominees.n) {
        const struct evict_nominee *nominee = &decision->nominees.items[(*cursor)++];
        struct sched_task *task = cache_task(&scheduler->cache, nominee->uid);
        struct sched_node *node = cache_node(&scheduler->cache, nominee->node);
        *ret_place = (struct evict_place){task, node};
        if (task && task->job == job && task->status == TASK_PENDING && node && node->object)
            return true;
    }
    return false;
}

void evictor_placed(struct scheduler *scheduler, struct sched_job *job,
                    struct sched_task *const *tasks, size_t n)
{
    struct evict_decision *decision = job->decision;
    if (!decision)
        return;
    for (size_t i = 0; i < n && !decision->gang; i++)
        use_place(decision, tasks[i]);
    if (decision->gang || decision->used >= decision->places) {
        decision->placed = true;
        let_go(decision);
    }
    cache_dirty(&scheduler->cache, job);
}

void evictor_pod_changed(struct scheduler *scheduler, const char *uid)
{
    struct evict_call *call = map_get(&scheduler->evictions, str_of(uid));
    if (call && call->decision)
        cache_dirty(&scheduler->cache, call->decision->job);
    else if (call)
        evict_call_follow(call);
}

bool evictor_spare(struct scheduler *scheduler, const struct change *change)
{
    struct sched_task *task = cache_task(&scheduler->cache, change->key);
    if (task)
        cache_spare_task(&scheduler->cache, task);
    return true;
}

/* Adds what those still use who are evicted for the job, by node. */
static void add_victims(const struct sched_job *job, struct resource_vector *by_node)
{
    if (!job->decision)
        return;
    list_each(link, &job->decision->victims)
    {
        const struct pod *pod = container_of(link, struct evict_call, link)->pod;
        const struct sched_task *task = cache_task(job->cache, pod->meta.uid);
        if (task && task->node)
            (void)resource_vector_add(&by_node[task->node->index], &task->pod->cls->request, 1);
    }
}

/* Whether what the hold is for has no room there any more, also once those are gone who are evicted
 * for it. */
static bool is_taken(const struct node_hold *hold, const struct resource_vector *victims)
{
    const struct sched_node *node = hold->node;
    for (uint32_t i = 0; i < hold->amount.n; i++) {
        const uint32_t id = hold->amount.items[i].id;
        int64_t room = resource_vector_get(&node->object->allocatable, id) -
                       resource_vector_get(&node->used, id);
        (void)resource_sum_add(&room, resource_vector_get(&victims[node->index], id));
        if (room < hold->amount.items[i].amount)
            return true;
    }
    return false;
}

bool evictor_lost_places(const struct reservation *reservation, const bool *nodes)
{
    const struct cache *cache = reservation->job->cache;
    struct resource_vector *victims = xcalloc(cache->nodes.n + 1, sizeof(*victims));
    bool taken = false;
    add_victims(reservation->job, victims);
    for (size_t i = 0; i < reservation->holds.n && !taken; i++) {
        const struct node_hold *hold = reservation->holds.items[i];
        taken = nodes[hold->node->index] && is_taken(hold, victims);
    }
    for (size_t i = 0; i < cache->nodes.n; i++)
        resource_vector_clear(&victims[i]);
    free(victims);
    return taken;
}

/* ---- saying ---------------------------------------------------------------------------------- */

void evictor_explain(const struct scheduler *scheduler, const struct sched_job *job,
                     struct buf *out)
{
    const struct evict_decision *decision = job->decision;
    int64_t now = loop_now(scheduler->params.loop);
    if (!decision && job->evict_ns > now)
        buf_printf(out, "evicts:    nobody for %lld s: the last time did not help\n",
                   (long long)((job->evict_ns - now) / NSEC_PER_SEC));
    if (!decision)
        return;
    unsigned left = 0, taken = 0;
    for (const struct list *link = decision->victims.next; link != &decision->victims;
         link = link->next) {
        left++;
        taken += const_container_of(link, struct evict_call, link)->taken_ns != 0;
    }
    int64_t ends = until(decision);
    buf_printf(out,
               "evicts:    %u pods (%s), %lld s ago; %u of them are still there, %u of these were "
               "asked to go\n           its places are held for %lld s more at most\n",
               decision->count, decision->action,
               (long long)((now - decision->since_ns) / NSEC_PER_SEC), left, taken,
               (long long)((ends > now ? ends - now : 0) / NSEC_PER_SEC));
}

static void drop_at_once(struct list *calls)
{
    list_each(link, calls)
    {
        (void)evict_call_drop(container_of(link, struct evict_call, link), true);
    }
}

void evictor_clear(struct scheduler *scheduler)
{
    list_each(link, &scheduler->decisions)
    {
        struct evict_decision *decision = container_of(link, struct evict_decision, link);
        let_go(decision);
        drop_at_once(&decision->victims);
        free_decision(decision);
    }
    drop_at_once(&scheduler->strays);
    nominations_clear(scheduler);
    losses_clear(&scheduler->losses);
    map_clear(&scheduler->evictions);
}
