/*
 * Whether a gang would fit the cluster emptied of all pods but its own. See reserve.h.
 *
 * What nodes have, less what the job's own pods use there, is copied for the resources that its
 * missing pods ask for; so is what its queue may use of groups of nodes, less what the job's own
 * pods use there. First the places on it are counted for each class alone; then the classes are
 * placed one after the other, those with the fewest places to spare first. For one class that is
 * exact; several may be turned down that a cleverer packing would place. Pods that keep one another
 * away count as apart.h says; how evenly they can be spread is looked at class by class.
 */
#include "scheduler/apart.h"
#include "scheduler/fit.h"
#include "scheduler/reserve.h"

struct plan_class {
    struct pod_class *cls;          /* counted */
    const struct task_group *group; /* borrowed; one of its pods' */
    uint32_t wanted;
    uint64_t places; /* for it alone */
    bool placed;
    VEC(uint32_t) nodes; /* then: of its pods */
};

/* A limit of the queue for a group of nodes. */
struct plan_limit {
    const char *group;        /* borrowed from the queue */
    struct resource_set left; /* of what is limited */
    uint64_t places;          /* on its nodes, while those for one class are counted */
};

struct reserve_plan {
    struct scheduler *scheduler;
    const struct sched_job *job;     /* borrowed; nothing of it changes while a cycle runs */
    const struct sched_queue *queue; /* borrowed; likewise */
    VEC(struct plan_limit) limits;   /* of the queue */
    VEC(struct plan_class) classes;
    VEC(uint32_t) ids; /* the resources that they ask for */
    int64_t *room;     /* node by node, for each of `ids` */
    size_t nodes;
    size_t counted; /* classes whose places are counted */
    size_t placed;
    bool fails;
};

static void add_class(const struct task_group *group, uint32_t count, void *arg)
{
    struct reserve_plan *plan = arg;
    for (size_t i = 0; i < plan->classes.n; i++)
        if (plan->classes.items[i].cls == group->cls) {
            plan->classes.items[i].wanted += count;
            return;
        }
    vec_push(
        &plan->classes,
        ((struct plan_class){.cls = pod_class_ref(group->cls), .group = group, .wanted = count}));
}

static void collect_ids(struct reserve_plan *plan)
{
    for (size_t c = 0; c < plan->classes.n; c++) {
        const struct resource_set *request = &plan->classes.items[c].cls->request;
        for (uint32_t i = 0; i < request->n; i++) {
            bool known = false;
            for (size_t k = 0; k < plan->ids.n; k++)
                known = known || plan->ids.items[k] == request->items[i].id;
            if (!known)
                vec_push(&plan->ids, request->items[i].id);
        }
    }
}

static int64_t *room_of(const struct reserve_plan *plan, size_t node)
{
    return plan->room + node * plan->ids.n;
}

static void fill_room(struct reserve_plan *plan, struct sched_job *job)
{
    const struct cache *cache = &plan->scheduler->cache;
    plan->nodes = cache->nodes.n;
    plan->room = xcalloc(plan->nodes * plan->ids.n + 1, sizeof(*plan->room));
    for (size_t i = 0; i < plan->nodes; i++) {
        const struct sched_node *node = cache->nodes.items[i];
        for (size_t k = 0; node && node->object && k < plan->ids.n; k++)
            room_of(plan, i)[k] =
                resource_vector_get(&node->object->allocatable, plan->ids.items[k]);
    }
    list_each(link, &job->tasks)
    {
        const struct sched_task *task = container_of(link, struct sched_task, link);
        for (size_t k = 0; task->node && k < plan->ids.n; k++)
            room_of(plan, task->node->index)[k] -=
                resource_set_get(&task->pod->cls->request, plan->ids.items[k]);
    }
}

/* The limit for a node's group, or NULL. */
static struct plan_limit *limit_on(const struct reserve_plan *plan, const struct sched_node *node)
{
    for (size_t i = 0; i < plan->limits.n && node->group; i++)
        if (plan->limits.items[i].group == node->group)
            return &plan->limits.items[i];
    return NULL;
}

/* `pods` more of them are asked for there. */
static void take(struct plan_limit *limit, const struct resource_set *request, uint32_t pods)
{
    for (uint32_t i = 0; limit && i < limit->left.n; i++)
        limit->left.items[i].amount -=
            (int64_t)pods * resource_set_get(request, limit->left.items[i].id);
}

static void collect_limits(struct reserve_plan *plan, struct sched_job *job)
{
    if (!config_queue_limited(plan->scheduler->config, plan->queue))
        return;
    for (size_t i = 0; i < plan->queue->limits.n; i++) {
        const struct group_limit *limit = &plan->queue->limits.items[i];
        vec_push(&plan->limits, ((struct plan_limit){.group = limit->group,
                                                     .left = resource_set_copy(&limit->most)}));
    }
    list_each(link, &job->tasks)
    {
        const struct sched_task *task = container_of(link, struct sched_task, link);
        if (task->node)
            take(limit_on(plan, task->node), &task->pod->cls->request, 1);
    }
}

struct reserve_plan *reserve_plan_new(struct scheduler *scheduler, struct sched_job *job)
{
    struct reserve_plan *plan = xnew(struct reserve_plan);
    plan->scheduler = scheduler;
    plan->job = job;
    plan->queue = job->queue;
    job_each_missing(job, add_class, plan);
    collect_ids(plan);
    fill_room(plan, job);
    collect_limits(plan, job);
    scheduler->cache.work += plan->nodes + job->task_count;
    return plan;
}

/* How many pods of the class the limit leaves open, at most UINT32_MAX; NULL: any. */
static uint32_t places_within(const struct plan_limit *limit, const struct pod_class *cls)
{
    int64_t places = UINT32_MAX;
    for (uint32_t i = 0; limit && i < limit->left.n; i++) {
        int64_t amount = resource_set_get(&cls->request, limit->left.items[i].id);
        int64_t here = amount > 0 ? limit->left.items[i].amount / amount : places;
        places = here < places ? here : places;
    }
    return places > 0 ? (uint32_t)places : 0;
}

/* How many pods of the class have their place in the room, at most UINT32_MAX. */
static uint32_t places_in(const struct reserve_plan *plan, const int64_t *room,
                          const struct pod_class *cls)
{
    int64_t places = UINT32_MAX;
    for (size_t k = 0; k < plan->ids.n; k++) {
        int64_t amount = resource_set_get(&cls->request, plan->ids.items[k]);
        int64_t here = amount > 0 ? room[k] / amount : places;
        places = here < places ? here : places;
    }
    return places > 0 ? (uint32_t)places : 0;
}

static bool may_take(const struct reserve_plan *plan, const struct fit_table *table, size_t node)
{
    const struct sched_node *at = plan->scheduler->cache.nodes.items[node];
    return at && at->object && !fit_barred(table, at);
}

static const struct fit_table *table_of(const struct reserve_plan *plan, struct pod_class *cls)
{
    struct scheduler *scheduler = plan->scheduler;
    scheduler->cache.work += plan->nodes;
    return fit_table(&scheduler->cache, scheduler->config, plan->queue, cls);
}

/* What the job's pods that are on nodes, or placed by the plan, leave to the class; NULL: all. */
static struct apart *apart_of(const struct reserve_plan *plan, const struct plan_class *entry,
                              const struct fit_table *table)
{
    struct scheduler *scheduler = plan->scheduler;
    struct apart *apart =
        apart_new(&scheduler->cache, scheduler->config, entry->group, entry->wanted);
    for (size_t i = 0; apart && i < plan->nodes; i++)
        if (may_take(plan, table, i))
            apart_offer(apart, (uint32_t)i, places_in(plan, room_of(plan, i), entry->cls));
    if (apart)
        apart_count_placed(apart, plan->job);
    for (size_t c = 0; apart && c < plan->classes.n; c++)
        for (size_t i = 0; i < plan->classes.items[c].nodes.n; i++)
            apart_count(apart, plan->classes.items[c].cls, plan->classes.items[c].nodes.items[i]);
    return apart;
}

/* How many of up to `places` pods may be there beside one another, and counts them. */
static uint32_t places_beside(struct apart *apart, const struct pod_class *cls, size_t node,
                              uint32_t places)
{
    uint32_t n = 0;
    if (!apart)
        return places;
    for (; n < places && !apart_refuses(apart, (uint32_t)node); n++)
        apart_count(apart, cls, (uint32_t)node);
    return n;
}

static uint32_t least_of(uint64_t a, uint32_t b)
{
    return a < b ? (uint32_t)a : b;
}

static void count_places(struct reserve_plan *plan, struct plan_class *entry)
{
    const struct fit_table *table = table_of(plan, entry->cls);
    struct apart *apart = apart_of(plan, entry, table);
    uint64_t most = apart ? apart_most(apart) : UINT64_MAX;
    for (size_t i = 0; i < plan->limits.n; i++)
        plan->limits.items[i].places = 0;
    for (size_t i = 0; i < plan->nodes; i++) {
        if (!may_take(plan, table, i))
            continue;
        struct plan_limit *limit = limit_on(plan, plan->scheduler->cache.nodes.items[i]);
        uint32_t places = places_in(plan, room_of(plan, i), entry->cls);
        if (apart)
            places = places_beside(apart, entry->cls, i, least_of(entry->wanted, places));
        *(limit ? &limit->places : &entry->places) += places;
    }
    for (size_t i = 0; i < plan->limits.n; i++) {
        const struct plan_limit *limit = &plan->limits.items[i];
        entry->places += least_of(limit->places, places_within(limit, entry->cls));
    }
    entry->places = entry->places < most ? entry->places : most;
    plan->fails = plan->fails || entry->places < entry->wanted;
    apart_free(&plan->scheduler->cache, apart);
}

/* So many pods of the class are on the node from now on. */
static void take_places(struct reserve_plan *plan, struct plan_class *entry, size_t node,
                        uint32_t pods)
{
    int64_t *room = room_of(plan, node);
    take(limit_on(plan, plan->scheduler->cache.nodes.items[node]), &entry->cls->request, pods);
    for (size_t k = 0; k < plan->ids.n; k++)
        room[k] -= pods * resource_set_get(&entry->cls->request, plan->ids.items[k]);
    for (uint32_t i = 0; i < pods; i++)
        vec_push(&entry->nodes, (uint32_t)node);
}

static void place(struct reserve_plan *plan, struct plan_class *entry)
{
    const struct fit_table *table = table_of(plan, entry->cls);
    struct apart *apart = apart_of(plan, entry, table);
    uint32_t left = entry->wanted;
    for (size_t i = 0; i < plan->nodes && left; i++) {
        if (!may_take(plan, table, i))
            continue;
        const struct plan_limit *limit = limit_on(plan, plan->scheduler->cache.nodes.items[i]);
        uint32_t places = places_in(plan, room_of(plan, i), entry->cls);
        places = least_of(places_within(limit, entry->cls), least_of(places, left));
        places = places_beside(apart, entry->cls, i, places);
        take_places(plan, entry, i, places);
        left -= places;
    }
    apart_free(&plan->scheduler->cache, apart);
    entry->placed = true;
    plan->fails = plan->fails || left > 0;
}

/* The class that has the fewest places to spare of those that are not placed yet. */
static struct plan_class *next_class(struct reserve_plan *plan)
{
    struct plan_class *next = NULL;
    for (size_t i = 0; i < plan->classes.n; i++) {
        struct plan_class *entry = &plan->classes.items[i];
        if (!entry->placed &&
            (!next || entry->places - entry->wanted < next->places - next->wanted))
            next = entry;
    }
    return next;
}

bool reserve_plan_step(struct reserve_plan *plan)
{
    if (plan->fails || plan->placed == plan->classes.n)
        return true;
    if (plan->counted < plan->classes.n) {
        count_places(plan, &plan->classes.items[plan->counted++]);
        return false;
    }
    place(plan, next_class(plan));
    plan->placed++;
    return false;
}

bool reserve_plan_fits(const struct reserve_plan *plan)
{
    return !plan->fails;
}

void reserve_plan_free(struct reserve_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->classes.n; i++) {
        pod_class_unref(plan->classes.items[i].cls);
        vec_clear(&plan->classes.items[i].nodes);
    }
    vec_clear(&plan->classes);
    vec_clear(&plan->ids);
    for (size_t i = 0; i < plan->limits.n; i++)
        resource_set_clear(&plan->limits.items[i].left);
    vec_clear(&plan->limits);
    free(plan->room);
    free(plan);
}
