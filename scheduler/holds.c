/*
 * The books of what is held on nodes. See holds.h.
 *
 * A node_hold lives while it has parts: it is in its node's chain and in its reservation's list.
 */
#include "scheduler/holds.h"
#include "base/ensure.h"
#include "scheduler/cache_private.h"
#include "scheduler/group_limits.h"

/* ---- sums ------------------------------------------------------------------------------------ */

int64_t holds_on(const struct sched_node *node, uint32_t id)
{
    int64_t sum = 0;
    for (const struct node_hold *hold = node->holds; hold; hold = hold->next)
        if (!hold->reservation->lifted)
            (void)resource_sum_add(&sum, resource_set_get(&hold->amount, id));
    return sum;
}

const char *holds_reason(const struct sched_node *node)
{
    for (const struct node_hold *hold = node->holds; hold; hold = hold->next)
        if (!hold->reservation->lifted)
            return hold->reservation->reason;
    return NULL;
}

static int64_t free_of(const struct sched_node *node, uint32_t id)
{
    return resource_vector_get(&node->object->allocatable, id) -
           resource_vector_get(&node->used, id);
}

bool holds_hide_room(const struct sched_node *node, const struct pod_class *cls)
{
    bool hidden = false;
    for (uint32_t i = 0; i < cls->request.n; i++) {
        uint32_t id = cls->request.items[i].id;
        int64_t room = free_of(node, id) - cls->request.items[i].amount;
        if (room < 0)
            return false;
        hidden = hidden || room < holds_on(node, id);
    }
    return hidden;
}

uint32_t holds_pods(const struct reservation *reservation)
{
    uint32_t pods = 0;
    for (size_t i = 0; i < reservation->classes.n; i++)
        pods += reservation->classes.items[i].held;
    return pods;
}

int64_t holds_amount(const struct reservation *reservation, uint32_t id, int64_t *ret_free)
{
    int64_t sum = 0, idle = 0;
    for (size_t i = 0; i < reservation->holds.n; i++) {
        const struct node_hold *hold = reservation->holds.items[i];
        int64_t amount = resource_set_get(&hold->amount, id);
        int64_t room = free_of(hold->node, id);
        sum += amount;
        idle += room <= 0 ? 0 : room < amount ? room : amount;
    }
    *ret_free = idle;
    return sum;
}

bool holds_may_add(const struct cache *cache, const struct pod_class *cls)
{
    const struct resource_set *more = &cls->request;
    for (uint32_t i = 0; i < more->n; i++) {
        uint32_t id = more->items[i].id;
        int64_t sum = resource_vector_get(&cache->held, id) + more->items[i].amount;
        if (sum > resource_vector_get(&cache->allocatable, id) / HOLDS_PART)
            return false;
    }
    return true;
}

static bool is_within_now(const struct cache *cache)
{
    for (uint32_t id = 0; id < cache->held.n; id++)
        if (cache->held.v[id] > resource_vector_get(&cache->allocatable, id) / HOLDS_PART)
            return false;
    return true;
}

/* ---- reservations ---------------------------------------------------------------------------- */

static struct reservation *new_reservation(struct cache *cache, struct sched_job *job)
{
    struct reservation *reservation = xnew(struct reservation);
    ENSURE(job->queue && !job->reservation);
    reservation->job = job;
    reservation->since_ns = loop_now(cache->loop);
    reservation->since_wall_ns = loop_wall(cache->loop);
    reservation->reason =
        xasprintf(HOLDS_REASON "job %s/%.*s", job->ns, job_name_size(job), job->name);
    job->reservation = reservation;
    list_init(&reservation->link);
    list_append(&cache->reservations, &reservation->link);
    return reservation;
}

struct reservation *holds_open(struct cache *cache, struct sched_job *job, int64_t length_ns)
{
    struct reservation *reservation = new_reservation(cache, job);
    ENSURE(!job->queue->holder);
    job->queue->holder = job;
    reservation->until_ns = reservation->since_ns + length_ns;
    reservation->until_wall_ns = reservation->since_wall_ns + length_ns;
    return reservation;
}

struct reservation *holds_nominate(struct cache *cache, struct sched_job *job)
{
    if (job->reservation)
        holds_close(cache, job->reservation);
    struct reservation *reservation = new_reservation(cache, job);
    reservation->nominated = true;
    reservation->until_ns = reservation->until_wall_ns = INT64_MAX;
    return reservation;
}

struct held_class *holds_class(struct reservation *reservation, struct pod_class *cls)
{
    for (size_t i = 0; i < reservation->classes.n; i++)
        if (reservation->classes.items[i].cls == cls)
            return &reservation->classes.items[i];
    vec_push(&reservation->classes, ((struct held_class){.cls = pod_class_ref(cls)}));
    return &reservation->classes.items[reservation->classes.n - 1];
}

/* ---- holds ----------------------------------------------------------------------------------- */

/* So much more is held on a node: that counts for its group, and where others go for it, as what
 * the queue has. */
static void count(const struct reservation *reservation, const struct sched_node *node,
                  const struct resource_set *amount, int64_t times)
{
    struct sched_queue *queue = reservation->job->queue;
    if (reservation->lifted)
        return;
    group_limits_hold(queue, node, amount, times);
    if (!reservation->nominated)
        return;
    (void)resource_set_add(&queue->awaited, amount, times);
    queue->version++;
}

static struct node_hold *hold_of(struct reservation *reservation, struct sched_node *node)
{
    for (struct node_hold *hold = node->holds; hold; hold = hold->next)
        if (hold->reservation == reservation)
            return hold;
    struct node_hold *hold = xnew(struct node_hold);
    hold->reservation = reservation;
    hold->node = node;
    hold->next = node->holds;
    node->holds = hold;
    vec_push(&reservation->holds, hold);
    return hold;
}

static struct hold_part *part_of(struct node_hold *hold, const struct pod_class *cls)
{
    for (size_t i = 0; i < hold->parts.n; i++)
        if (hold->parts.items[i].cls == cls)
            return &hold->parts.items[i];
    return NULL;
}

bool holds_add(struct cache *cache, struct reservation *reservation, struct sched_node *node,
               struct pod_class *cls)
{
    if (!reservation->nominated && !holds_may_add(cache, cls))
        return false;
    struct node_hold *hold = hold_of(reservation, node);
    struct hold_part *part = part_of(hold, cls);
    if (part)
        part->pods++;
    else
        vec_push(&hold->parts, ((struct hold_part){pod_class_ref(cls), 1}));
    (void)resource_set_add(&hold->amount, &cls->request, 1);
    if (!reservation->nominated)
        (void)resource_vector_add(&cache->held, &cls->request, 1);
    count(reservation, node, &cls->request, 1);
    holds_class(reservation, cls)->held++;
    cache_log_node(cache, node);
    return true;
}

/* Frees the hold with index `at` in its reservation; it must have no parts. */
static void hold_free(struct node_hold *hold, size_t at)
{
    struct node_hold **link = &hold->node->holds;
    while (*link != hold)
        link = &(*link)->next;
    *link = hold->next;
    vec_remove(&hold->reservation->holds, at);
    vec_clear(&hold->parts);
    resource_set_clear(&hold->amount);
    free(hold);
}

/* Lets go some pods of a part; a hold without parts is then to be freed. */
static void let_go(struct cache *cache, struct node_hold *hold, struct hold_part *part,
                   uint32_t pods)
{
    const struct resource_set *request = &part->cls->request;
    const struct reservation *reservation = hold->reservation;
    for (uint32_t i = 0; !reservation->nominated && i < request->n; i++)
        *resource_vector_slot(&cache->held, request->items[i].id) -=
            request->items[i].amount * (int64_t)pods;
    (void)resource_set_add(&hold->amount, request, -(int64_t)pods);
    count(reservation, hold->node, request, -(int64_t)pods);
    holds_class(hold->reservation, part->cls)->held -= pods;
    part->pods -= pods;
    cache_log_node(cache, hold->node);
    cache_room(cache);
    if (part->pods)
        return;
    pod_class_unref(part->cls);
    vec_remove(&hold->parts, (size_t)(part - hold->parts.items));
}

/* Whether pods of the class could not have their place there yet. */
static bool is_hollow(const struct node_hold *hold, const struct pod_class *cls)
{
    for (uint32_t i = 0; i < cls->request.n; i++) {
        uint32_t id = cls->request.items[i].id;
        if (free_of(hold->node, id) < holds_on(hold->node, id))
            return true;
    }
    return false;
}

/* Lets go one pod of the part; a hold without parts, the one with that index, goes with it. */
static void let_one_go(struct cache *cache, struct node_hold *hold, struct hold_part *part,
                       size_t at)
{
    let_go(cache, hold, part, 1);
    if (!hold->parts.n)
        hold_free(hold, at);
}

bool holds_remove(struct cache *cache, struct reservation *reservation, struct pod_class *cls,
                  bool any)
{
    size_t n = reservation->holds.n;
    for (size_t pass = 0; pass < (any ? 2 : 1); pass++)
        for (size_t at = n; at-- > 0;) {
            struct node_hold *hold = reservation->holds.items[at];
            struct hold_part *part = part_of(hold, cls);
            if (!part || (pass == 0 && !is_hollow(hold, cls)))
                continue;
            let_one_go(cache, hold, part, at);
            return true;
        }
    return false;
}

bool holds_remove_on(struct cache *cache, struct reservation *reservation,
                     const struct sched_node *node, struct pod_class *cls)
{
    for (size_t at = reservation->holds.n; at-- > 0;) {
        struct node_hold *hold = reservation->holds.items[at];
        struct hold_part *part = hold->node == node ? part_of(hold, cls) : NULL;
        if (!part)
            continue;
        let_one_go(cache, hold, part, at);
        return true;
    }
    return false;
}

static void empty_hold(struct cache *cache, struct reservation *reservation, size_t at)
{
    struct node_hold *hold = reservation->holds.items[at];
    while (hold->parts.n) {
        struct hold_part *last = &hold->parts.items[hold->parts.n - 1];
        let_go(cache, hold, last, last->pods);
    }
    hold_free(hold, at);
}

void holds_close(struct cache *cache, struct reservation *reservation)
{
    while (reservation->holds.n)
        empty_hold(cache, reservation, reservation->holds.n - 1);
    for (size_t i = 0; i < reservation->classes.n; i++)
        pod_class_unref(reservation->classes.items[i].cls);
    list_remove(&reservation->link);
    reservation->job->reservation = NULL;
    if (!reservation->nominated)
        reservation->job->queue->holder = NULL;
    cache_dirty(cache, reservation->job);
    cache_room(cache);
    vec_clear(&reservation->classes);
    vec_clear(&reservation->holds);
    free(reservation->reason);
    free(reservation);
}

/* The youngest reservation gives first. */
static void trim(struct cache *cache)
{
    struct list *link = cache->reservations.prev;
    while (link != &cache->reservations && !is_within_now(cache)) {
        struct reservation *reservation = container_of(link, struct reservation, link);
        if (reservation->holds.n && !reservation->nominated)
            empty_hold(cache, reservation, reservation->holds.n - 1);
        else
            link = link->prev;
    }
}

/* Nothing is held there any more. */
static void leave_node(struct cache *cache, struct reservation *reservation,
                       const struct sched_node *node)
{
    for (size_t at = reservation->holds.n; at-- > 0;)
        if (reservation->holds.items[at]->node == node) {
            empty_hold(cache, reservation, at);
            cache_dirty(cache, reservation->job);
        }
}

void holds_node_changed(struct cache *cache, struct sched_node *node)
{
    if (node->holds)
        list_each(link, &cache->reservations)
        {
            struct reservation *reservation = container_of(link, struct reservation, link);
            if (!reservation->nominated || !node->object)
                leave_node(cache, reservation, node);
            else
                cache_dirty(cache, reservation->job); /* the evictor is to look at it */
        }
    trim(cache);
}

void holds_queue_closed(struct cache *cache, const struct sched_queue *queue)
{
    list_each(link, &cache->reservations)
    {
        struct reservation *reservation = container_of(link, struct reservation, link);
        if (reservation->job->queue == queue)
            holds_close(cache, reservation);
    }
}

/* ---- lifting --------------------------------------------------------------------------------- */

static void set_lifted(struct cache *cache, struct reservation *reservation, bool lifted)
{
    if (reservation->lifted == lifted)
        return;
    reservation->lifted = false;
    for (size_t i = 0; i < reservation->holds.n; i++) {
        const struct node_hold *hold = reservation->holds.items[i];
        count(reservation, hold->node, &hold->amount, lifted ? -1 : 1);
        cache_log_node(cache, hold->node);
    }
    reservation->lifted = lifted;
}

void holds_lift(struct cache *cache, const struct sched_job *holder)
{
    set_lifted(cache, holder->reservation, true);
}

void holds_restore_of(struct cache *cache, struct reservation *reservation)
{
    set_lifted(cache, reservation, false);
}

void holds_restore(struct cache *cache)
{
    list_each(link, &cache->reservations)
    {
        set_lifted(cache, container_of(link, struct reservation, link), false);
    }
}

/* ---- the audit ------------------------------------------------------------------------------- */

static const char *audit_hold(const struct node_hold *hold, struct resource_vector *held)
{
    struct resource_set sum = {NULL, 0};
    bool chained = false;
    for (const struct node_hold *at = hold->node->holds; at; at = at->next)
        chained |= at == hold;
    for (size_t i = 0; i < hold->parts.n; i++)
        resource_set_add(&sum, &hold->parts.items[i].cls->request, hold->parts.items[i].pods);
    if (!hold->reservation->nominated)
        resource_vector_add(held, &sum, 1);
    bool match =
        chained && hold->parts.n && hold->node->object && resource_set_equal(&sum, &hold->amount);
    resource_set_clear(&sum);
    return match ? NULL : "what a node keeps free differs from the pods it is for";
}

static const char *audit_reservation(const struct reservation *reservation,
                                     struct resource_vector *held)
{
    const struct sched_job *job = reservation->job;
    const char *wrong = NULL;
    if (job->reservation != reservation || !job->queue ||
        (job->queue->holder == job) == reservation->nominated)
        return "a reservation is not the one of its job and queue";
    for (size_t i = 0; i < reservation->holds.n && !wrong; i++)
        wrong = audit_hold(reservation->holds.items[i], held);
    return wrong;
}

const char *holds_audit(const struct cache *cache)
{
    struct resource_vector held = {NULL, 0};
    const char *wrong = NULL;
    for (const struct list *link = cache->reservations.next; link != &cache->reservations && !wrong;
         link = link->next)
        wrong = audit_reservation(const_container_of(link, struct reservation, link), &held);
    if (!wrong && !resource_vector_equal(&held, &cache->held))
        wrong = "the sum of what is held differs from a count";
    if (!wrong && !is_within_now(cache))
        wrong = "more than a tenth of the cluster is held for gangs that starve";
    resource_vector_clear(&held);
    return wrong;
}
