/*
 * Who might go, and at what cost. See plan_private.h.
 *
 * Candidates are collected job by job, so that those of one owner stand together, in the order in
 * which its pods would go; the list of each node keeps that order. How much a job has above its
 * minimum is asked anew each time, since pods go while the plan is made.
 */
#include "scheduler/evict/plan_private.h"
#include "scheduler/holds.h"
#include "scheduler/points_evict.h"
#include <stdlib.h>

#define COLLECT_WORK 512 /* units of work in one step, and a job */
#define STUCK_NS (60 * NSEC_PER_SEC)
#define MILLION 1e6

/* ---- costs ----------------------------------------------------------------------------------- */

/* Lost work in steps of a factor of two. */
static unsigned step_of(int64_t work)
{
    return work > 0 ? 64 - (unsigned)__builtin_clzll((unsigned long long)work) : 0;
}

#define compare_numbers(a, b) (((a) > (b)) - ((a) < (b)))

int evict_cost_compare(const struct evict_cost *a, const struct evict_cost *b)
{
    int order = compare_numbers(a->rank, b->rank);
    order = order ? order : compare_numbers(a->priority, b->priority);
    order = order ? order : compare_numbers(step_of(a->work), step_of(b->work));
    order = order ? order : compare_numbers(a->pods, b->pods);
    return order ? order : compare_numbers(a->work, b->work);
}

void evict_cost_add(struct evict_cost *sum, const struct evict_cost *more)
{
    sum->rank = more->rank > sum->rank ? more->rank : sum->rank;
    sum->priority = more->priority > sum->priority ? more->priority : sum->priority;
    sum->pods += more->pods;
    sum->work = more->work > INT64_MAX - sum->work ? INT64_MAX : sum->work + more->work;
}

static int64_t lost_work(const struct evict_plan *plan, const struct pod *pod)
{
    int64_t ran_ns = pod->started_ns ? plan->wall_ns - pod->started_ns : 0;
    double seconds = ran_ns > 0 ? (double)ran_ns / (double)NSEC_PER_SEC : 0;
    double work = seconds * MILLION * cache_dominant_share(evict_cache(plan), &pod->cls->request);
    return work < 1e18 ? (int64_t)work : (int64_t)1e18;
}

/* ---- who ------------------------------------------------------------------------------------- */

/* Whether pods of the job might go at all. Where the plugin priority, or the action gangpreempt,
 * lets the more important take from the less, these do not take it back for the sake of another
 * plugin.
 */
static bool may_give(const struct evict_plan *plan, const struct sched_job *job)
{
    if (!job->uid || !job->queue || job->preemptable == PREEMPTABLE_NO)
        return false;
    if (plan->rules.inside)
        return job == plan->job;
    if (job == plan->job || map_has(&plan->exempt, str_of(job->uid)))
        return false;
    if (eviction_between_queues(plan->rules.kind))
        return job->queue != plan->job->queue && job->queue->reclaimable;
    if (job->queue != plan->job->queue)
        return false;
    if (plan->rules.kind == EVICT_GANG_PREEMPT)
        return job->priority < plan->job->priority;
    return job->priority <= plan->job->priority || !plan->ranked;
}

/* A pod that is bound and does not run holds room all the same, however long it takes. */
static bool may_go(const struct sched_task *task, bool best_effort)
{
    return (task->status == TASK_RUNNING || task->status == TASK_BOUND) && task->node &&
           task->node->object && task->pod->preemptable &&
           (!best_effort || task->pod->cls->best_effort);
}

/* On a node, and counted in what the job has. */
static bool is_live(const struct sched_task *task)
{
    return task->status >= TASK_ALLOCATED && task->status <= TASK_RUNNING;
}

/* A pod that should have been gone for long is not waited for. */
static bool will_leave(const struct evict_plan *plan, const struct sched_task *task)
{
    int64_t by_ns = task->pod->meta.deleted_ns;
    return task->status == TASK_RELEASING && task->node && task->node->object &&
           (!by_ns || plan->wall_ns < by_ns + STUCK_NS);
}

static bool wants_best_effort_alone(const struct evict_plan *plan)
{
    for (size_t i = 0; i < plan->wants.n; i++)
        if (!plan->wants.items[i].group->cls->best_effort)
            return false;
    return true;
}

static void add_candidate(struct evict_plan *plan, struct sched_task *task, bool part)
{
    struct evict_candidate candidate = {.task = task,
                                        .node = task->node,
                                        .status = task->status,
                                        .owner = (uint32_t)plan->owners.n,
                                        .part = part,
                                        .work = lost_work(plan, task->pod)};
    vec_push(&plan->candidates, candidate);
}

static int compare_candidates(const void *x, const void *y, void *arg)
{
    const struct evict_candidate *a = x, *b = y;
    const struct evict_plan *plan = arg;
    if (a->task == b->task)
        return 0;
    return config_victim_before(plan->scheduler->config, a->task, b->task, plan->job) ? -1 : 1;
}

/* Ends the owner whose candidates are those from `first` on, `parts` of which are no more than
 * that; where all are, nobody goes. */
static void add_owner(struct evict_plan *plan, struct sched_job *job, size_t first, size_t parts,
                      bool partly)
{
    size_t n = plan->candidates.n - first;
    if (n == parts) {
        plan->candidates.n = first;
        return;
    }
    vec_push(&plan->owners, ((struct evict_owner){.job = job,
                                                  .minimum = job->min_member,
                                                  .first = (uint32_t)first,
                                                  .n = (uint32_t)n,
                                                  .has_parts = parts > 0,
                                                  .partly = partly}));
}

static void note_due(struct evict_plan *plan, int64_t due_ns)
{
    if (due_ns > plan->wall_ns && due_ns < plan->due_ns)
        plan->due_ns = due_ns;
}

/* Whether it may go at all; then it is a candidate. Says when that may change by itself, too. */
static bool collect_task(struct evict_plan *plan, struct sched_task *task, bool best_effort,
                         size_t *parts)
{
    if (!may_go(task, best_effort))
        return false;
    note_due(plan, task->pod->spared_until_ns);
    const bool alone = evict_lets_go(plan, task, EVICT_SINGLE);
    if (!alone && (!plan->rules.whole || !eviction_between_queues(plan->rules.kind) ||
                   !evict_lets_go(plan, task, EVICT_PART)))
        return false;
    add_candidate(plan, task, !alone);
    *parts += !alone;
    return true;
}

static void take_leaving(struct evict_plan *plan, struct sched_task *task)
{
    if (task->pod->meta.deleted_ns)
        note_due(plan, task->pod->meta.deleted_ns + STUCK_NS); /* it may not leave */
    vec_push(&plan->leaving, ((struct evict_leaving){task, task->node}));
    evict_move(evict_cache(plan), task, TASK_LEAVING, NULL);
}

static void collect_job(struct evict_plan *plan, struct sched_job *job, bool best_effort)
{
    const bool gives = may_give(plan, job) && !evict_keeps(plan, job);
    size_t first = plan->candidates.n, parts = 0;
    bool partly = false;
    budget_tally_charge_leaving(&plan->tally, job);
    if (!gives && !job->count[TASK_RELEASING])
        return;
    evict_cache(plan)->work += job->task_count;
    list_each(link, &job->tasks)
    {
        struct sched_task *task = container_of(link, struct sched_task, link);
        if (will_leave(plan, task))
            take_leaving(plan, task);
        else if (!gives || !collect_task(plan, task, best_effort, &parts))
            partly = partly || is_live(task);
    }
    add_owner(plan, job, first, parts, partly);
}

bool evict_collect(struct evict_plan *plan)
{
    struct cache *cache = evict_cache(plan);
    struct evict_givers *givers = plan->rules.givers ? plan->rules.givers : &plan->own_givers;
    const bool best_effort = wants_best_effort_alone(plan);
    const uint64_t most = cache->work + COLLECT_WORK;
    if (!evict_givers_find(givers, cache))
        return false;
    for (; plan->cursor < givers->jobs.n && cache->work < most; plan->cursor++) {
        cache->work++;
        collect_job(plan, givers->jobs.items[plan->cursor], best_effort);
    }
    return plan->cursor == givers->jobs.n;
}

/* ---- in order -------------------------------------------------------------------------------- */

static const struct sched_task *example_of(const struct evict_plan *plan,
                                           const struct evict_owner *owner)
{
    return plan->candidates.items[owner->first].task;
}

static int compare_givers(const void *x, const void *y, void *arg)
{
    const struct evict_owner *a = *(const struct evict_owner *const *)x;
    const struct evict_owner *b = *(const struct evict_owner *const *)y;
    const struct evict_plan *plan = arg;
    if (a->job->queue == b->job->queue)
        return 0;
    return config_victim_before(plan->scheduler->config, example_of(plan, a), example_of(plan, b),
                                plan->job)
               ? -1
               : 1;
}

/* The rank of a queue is how many others give before it. */
static void rank_queues(struct evict_plan *plan)
{
    cleanup_free uint32_t *ranks = xcalloc(evict_cache(plan)->queue_slots + 1, sizeof(*ranks));
    VEC(const struct evict_owner *) givers = {0}; /* one of each queue */
    for (size_t i = 0; i < plan->owners.n; i++)
        if (!ranks[plan->owners.items[i].job->queue->index]++)
            vec_push(&givers, &plan->owners.items[i]);
    if (givers.n > 1)
        qsort_r(givers.items, givers.n, sizeof(*givers.items), compare_givers, plan);
    for (size_t i = 0; i < givers.n; i++)
        ranks[givers.items[i]->job->queue->index] = (uint32_t)i;
    for (size_t i = 0; i < plan->owners.n; i++)
        plan->owners.items[i].rank = ranks[plan->owners.items[i].job->queue->index];
    vec_clear(&givers);
}

static void sort_owner(struct evict_plan *plan, const struct evict_owner *owner)
{
    if (owner->n > 1)
        qsort_r(&plan->candidates.items[owner->first], owner->n, sizeof(*plan->candidates.items),
                compare_candidates, plan);
    evict_cache(plan)->work += (uint64_t)2 * owner->n;
}

static void sort_by_node(struct evict_plan *plan)
{
    const size_t nodes = evict_cache(plan)->nodes.n, n = plan->candidates.n;
    rank_queues(plan);
    plan->node_first = xcalloc(nodes + 2, sizeof(*plan->node_first));
    plan->by_node = xcalloc(n + 1, sizeof(*plan->by_node));
    uint32_t *next = plan->node_first + 1; /* one ahead, so that filling leaves it right */
    for (size_t i = 0; i < n; i++)
        next[plan->candidates.items[i].node->index + 1]++;
    for (size_t i = 0; i < nodes; i++)
        next[i + 1] += next[i];
    for (uint32_t i = 0; i < n; i++)
        plan->by_node[next[plan->candidates.items[i].node->index]++] = i;
    evict_cache(plan)->work += nodes + n;
}

bool evict_arrange(struct evict_plan *plan)
{
    const uint64_t most = evict_cache(plan)->work + COLLECT_WORK;
    while (plan->cursor < plan->owners.n && evict_cache(plan)->work < most)
        sort_owner(plan, &plan->owners.items[plan->cursor++]);
    if (plan->cursor < plan->owners.n)
        return false;
    sort_by_node(plan);
    return true;
}

/* ---- options of a node ----------------------------------------------------------------------- */

static int32_t priority_of(const struct evict_plan *plan, const struct evict_candidate *candidate)
{
    return plan->rules.inside ? candidate->task->pod->priority : candidate->task->job->priority;
}

struct evict_cost evict_candidate_cost(const struct evict_plan *plan,
                                       const struct evict_candidate *candidate)
{
    return (struct evict_cost){.rank = plan->owners.items[candidate->owner].rank,
                               .priority = priority_of(plan, candidate),
                               .pods = 1,
                               .work = candidate->work};
}

/* Of what is still there of a job. */
static struct evict_cost cost_of_whole(struct evict_plan *plan, struct evict_owner *owner)
{
    if (owner->costed)
        return owner->cost;
    owner->cost = evict_cost_none;
    for (uint32_t i = owner->first; i < owner->first + owner->n; i++) {
        if (!evict_is_there(&plan->candidates.items[i]))
            continue;
        struct evict_cost cost = evict_candidate_cost(plan, &plan->candidates.items[i]);
        evict_cost_add(&owner->cost, &cost);
    }
    owner->costed = true;
    evict_cache(plan)->work += owner->n / 8;
    return owner->cost;
}

static struct task_role *role_of(const struct evict_candidate *candidate)
{
    return &candidate->task->job->roles.items[candidate->task->group->role];
}

/* Whether its job keeps its minimum without it and those that are going. */
static bool is_spare(const struct evict_plan *plan, const struct evict_candidate *candidate)
{
    const struct evict_owner *owner = &plan->owners.items[candidate->owner];
    const struct sched_job *job = owner->job;
    const struct task_role *role = role_of(candidate);
    if (plan->rules.inside || plan->rules.break_gangs)
        return true;
    if ((int64_t)job_have(job) - job->going <= owner->minimum)
        return false;
    return !job->roles_enforced || (int64_t)role->have - role->going > role->min;
}

static void list_single(struct evict_plan *plan, uint32_t index)
{
    struct evict_candidate *candidate = &plan->candidates.items[index];
    candidate->single = true;
    candidate->task->job->going++;
    role_of(candidate)->going++;
    vec_push(&plan->options,
             ((struct evict_option){index, false, evict_candidate_cost(plan, candidate)}));
}

/* Those listed from that option on, of one owner, count as going no more. */
static void end_owner(struct evict_plan *plan, size_t from)
{
    for (size_t i = from; i < plan->options.n; i++) {
        const struct evict_candidate *candidate =
            &plan->candidates.items[plan->options.items[i].candidate];
        candidate->task->job->going = role_of(candidate)->going = 0;
    }
}

static bool may_go_whole(const struct evict_plan *plan, const struct evict_owner *owner)
{
    return plan->rules.whole && !owner->partly && !owner->refused;
}

static int compare_options(const void *x, const void *y)
{
    const struct evict_option *a = x, *b = y;
    int order = evict_cost_compare(&a->cost, &b->cost);
    return order ? order : compare_numbers(a->candidate, b->candidate);
}

/* The pods of one owner on a node, from place `at` of by_node on: singles up to what it can spare,
 * then the rest at once. Returns the place behind them. */
static uint32_t list_owner(struct evict_plan *plan, uint32_t at, uint32_t end)
{
    const uint32_t number = plan->candidates.items[plan->by_node[at]].owner;
    struct evict_owner *owner = &plan->owners.items[number];
    const size_t from = plan->options.n;
    uint32_t whole = UINT32_MAX; /* the first that is not spare */
    for (; at < end && plan->candidates.items[plan->by_node[at]].owner == number; at++) {
        const uint32_t index = plan->by_node[at];
        struct evict_candidate *candidate = &plan->candidates.items[index];
        candidate->single = false;
        if (!evict_is_there(candidate) || candidate->part)
            continue;
        if (is_spare(plan, candidate))
            list_single(plan, index);
        else if (whole == UINT32_MAX)
            whole = index;
    }
    end_owner(plan, from);
    if (whole != UINT32_MAX && may_go_whole(plan, owner))
        vec_push(&plan->options, ((struct evict_option){whole, true, cost_of_whole(plan, owner)}));
    return at;
}

void evict_list_options(struct evict_plan *plan, uint32_t node)
{
    uint32_t at = plan->node_first[node], end = plan->node_first[node + 1];
    plan->options.n = 0;
    evict_cache(plan)->work += 1 + (end - at);
    while (at < end)
        at = list_owner(plan, at, end);
    if (plan->options.n > 1)
        qsort(plan->options.items, plan->options.n, sizeof(*plan->options.items), compare_options);
}

/* ---- an estimate ----------------------------------------------------------------------------- */

static bool lacks_nothing(const struct evict_plan *plan)
{
    for (size_t i = 0; i < plan->lacks.n; i++)
        if (plan->lacks.items[i] > 0)
            return false;
    return true;
}

static void note_lacks(struct evict_plan *plan, const struct sched_node *node,
                       const struct pod_class *cls)
{
    plan->lacks.n = 0;
    for (uint32_t i = 0; i < cls->request.n; i++) {
        uint32_t id = cls->request.items[i].id;
        int64_t room = resource_vector_get(&node->object->allocatable, id) -
                       resource_vector_get(&node->used, id);
        int64_t held = cls->best_effort ? 0 : holds_on(node, id);
        vec_push(&plan->lacks, cls->request.items[i].amount + held - room);
    }
}

/* A pod goes (`sign` -1), or comes back. */
static void add_pod(struct evict_plan *plan, const struct pod_class *cls, const struct pod *pod,
                    int sign)
{
    for (uint32_t i = 0; i < cls->request.n; i++)
        plan->lacks.items[i] +=
            sign * resource_set_get(&pod->cls->request, cls->request.items[i].id);
}

/* The pods of a job that are on the node of one of them, without those that are options of their
 * own unless `all`. */
static void add_job_there(struct evict_plan *plan, const struct pod_class *cls,
                          const struct evict_candidate *one, bool all, int sign)
{
    const uint32_t node = one->node->index;
    for (uint32_t at = plan->node_first[node]; at < plan->node_first[node + 1]; at++) {
        const struct evict_candidate *candidate = &plan->candidates.items[plan->by_node[at]];
        if (candidate->owner == one->owner && evict_is_there(candidate) &&
            (all || !candidate->single))
            add_pod(plan, cls, candidate->task->pod, sign);
    }
}

/* What an option says of this node: of a job that goes whole, all its pods there that no option
 * before names. */
static void add_option(struct evict_plan *plan, const struct pod_class *cls, size_t option,
                       int sign)
{
    const struct evict_option *chosen = &plan->options.items[option];
    const struct evict_candidate *first = &plan->candidates.items[chosen->candidate];
    if (chosen->whole)
        add_job_there(plan, cls, first, false, sign);
    else
        add_pod(plan, cls, first->task->pod, sign);
}

bool evict_suffices(struct evict_plan *plan, const struct evict_option *option,
                    const struct pod_class *cls)
{
    const struct evict_candidate *first = &plan->candidates.items[option->candidate];
    evict_cache(plan)->work++;
    note_lacks(plan, first->node, cls);
    if (option->whole)
        add_job_there(plan, cls, first, true, -1);
    else
        add_pod(plan, cls, first->task->pod, -1);
    return lacks_nothing(plan);
}

bool evict_estimate(struct evict_plan *plan, const struct sched_node *node,
                    const struct pod_class *cls, struct evict_cost *ret_cost)
{
    size_t n = 0;
    evict_list_options(plan, node->index);
    note_lacks(plan, node, cls);
    *ret_cost = evict_cost_none;
    if (!plan->options.n)
        return false;
    for (; n < plan->options.n && !lacks_nothing(plan); n++)
        add_option(plan, cls, n, -1);
    if (!lacks_nothing(plan))
        return false;
    for (size_t i = n; i-- > 0;) {
        add_option(plan, cls, i, 1);
        if (lacks_nothing(plan))
            continue;
        add_option(plan, cls, i, -1);
        evict_cost_add(ret_cost, &plan->options.items[i].cost);
    }
    return true;
}
