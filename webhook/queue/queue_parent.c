/*
 * spec.parent of a queue (part of /queues/validate): every walk is bounded, cycles are refused.
 */
#include "api/names.h"
#include "webhook/queue/queue_rules.h"

/*
 * Levels of the subtree under `name`, the queue itself counted; stops counting above `limit`. A
 * queue has one parent, so each is visited once unless the way leads back to `start`.
 */
static int64_t height_of(const struct queue_snapshot *queues, struct str start, struct str name,
                         int64_t limit)
{
    struct queue_view *const *children;
    int64_t highest = 0;
    if (limit <= 0)
        return 1;
    const size_t count = queue_snapshot_children(queues, name, &children);
    for (size_t i = 0; i < count; i++) {
        if (str_eq(children[i]->name, start))
            continue;
        int64_t height = height_of(queues, start, children[i]->name, limit - 1);
        highest = height > highest ? height : highest;
    }
    return highest + 1;
}

/*
 * Walks from the parent up to the root. Returns the depth of the queue below the root, or -1 after
 * reporting why there is none.
 */
static int64_t depth_of(struct queue_case *q)
{
    struct problems *problems = &q->c->problems;
    struct str name = str_of(q->parent);
    int64_t depth = 1;
    while (name.n && !str_is(name, ROOT_QUEUE)) {
        const struct queue_view *ancestor = case_queue(q->c, name);
        if (str_is(name, q->name)) {
            problem_invalid(problems,
                            "queue %s cannot have %s as its parent: that queue lies below it",
                            q->name, q->parent);
            return -1;
        }
        if (!ancestor) {
            problem_state(problems,
                          "failed to get parent queue %.*s of queue %s: "
                          "queue.scheduling.volcano.sh \"%.*s\" not found",
                          STR_ARG(name), q->name, STR_ARG(name));
            return -1;
        }
        if (++depth > q->c->rules->max_queue_depth)
            break; /* deep enough to be refused; this also ends a cycle that is already there */
        name = ancestor->parent;
    }
    return depth;
}

static void check_depth(struct queue_case *q)
{
    const int64_t limit = q->c->rules->max_queue_depth;
    const struct str name = str_of(q->name);
    int64_t depth = depth_of(q);
    if (depth < 0)
        return;
    /* An update moves what lies below, too. */
    depth += height_of(q->c->queues, name, name, limit) - 1;
    if (depth > limit)
        problem_invalid(&q->c->problems, "queue %s exceeds the maximum allowed depth of %lld",
                        q->name, (long long)limit);
}

static bool is_closed(const struct queue_view *queue)
{
    return str_is(queue->state, "Closed") || str_is(queue->state, "Closing");
}

static void check_room(struct queue_case *q)
{
    struct queue_view *const *children;
    const struct queue_view *parent = queue_snapshot_get(q->c->queues, str_of(q->parent));
    if (!parent)
        return;
    if (is_closed(parent))
        problem_state(&q->c->problems,
                      "queue %s cannot be the parent queue of queue %s because its status is `%s`",
                      q->parent, q->name, parent->state.p);
    if (parent->allocated_pods &&
        queue_snapshot_children(q->c->queues, parent->name, &children) == 0)
        problem_state(&q->c->problems,
                      "queue %s cannot be the parent queue of queue %s because it has allocated "
                      "Pods: %lld",
                      q->parent, q->name, (long long)parent->allocated_pods);
}

void queue_check_parent(struct queue_case *q)
{
    if (!*q->parent)
        return;
    if (strcmp(q->name, ROOT_QUEUE) == 0) {
        problem_invalid(&q->c->problems, "queue %s cannot have a parent queue (spec.parent %.253s)",
                        q->name, q->parent);
        return;
    }
    if (strcmp(q->parent, ROOT_QUEUE) == 0)
        return;
    if (strcmp(q->parent, q->name) == 0) {
        problem_invalid(&q->c->problems, "queue %s cannot use itself as parent", q->name);
        return;
    }
    check_depth(q);
    check_room(q);
}
