/*
 * /queues/validate: steps of CREATE and UPDATE, and DELETE. The steps themselves are in
 * queue_fields.c, queue_groups.c, queue_parent.c and queue_hierarchy.c.
 *
 * An UPDATE is asked only about what it changes: a queue that predates a rule can be labelled,
 * closed and deleted.
 */
#include "api/names.h"
#include "webhook/queue/queue_rules.h"

static void check_root(const struct queue_case *q)
{
    if (q->c->rules->root_queue_protection && q->resources_changed)
        problem_invalid(&q->c->problems,
                        "can not change root queue's resource attributes (spec.capability, "
                        "spec.deserved, spec.guarantee)");
}

static void check_write(struct admission_case *c, bool create)
{
    struct queue_case q = {.c = c};
    queue_read(&q, create);
    const bool root = strcmp(q.name, ROOT_QUEUE) == 0;
    queue_check_fields(&q);
    if (q.limits_changed)
        queue_check_groups(&q);
    if (q.parent_changed)
        queue_check_parent(&q);
    if (root && !create)
        check_root(&q);
    if (!root && c->problems.count == 0 && !c->wait && (q.parent_changed || q.resources_changed))
        queue_check_hierarchy(&q);
    queue_case_clear(&q);
}

/* ---- deletion ------------------------------------------------------------------------------ */

#define NAMED_CHILDREN_MAX 10

static void check_children(struct admission_case *c, struct str name)
{
    struct queue_view *const *children;
    const size_t count = queue_snapshot_children(c->queues, name, &children);
    if (count == 0)
        return;
    c->wait = !c->last_try; /* they may have been deleted a moment ago */
    problem_invalid(&c->problems, "queue %.*s can not be deleted because it has %zu child queues: ",
                    STR_ARG(name), count);
    for (size_t i = 0; i < count && i < NAMED_CHILDREN_MAX; i++)
        problem_more(&c->problems, "%s%s", i ? ", " : "", children[i]->name.p);
    if (count > NAMED_CHILDREN_MAX)
        problem_more(&c->problems, ", ...");
}

static void check_delete(struct admission_case *c)
{
    /* Of a collection the API server names no object, but it sends each. */
    struct str name = c->review->name;
    if (str_empty(name))
        name = str_of(tree_str(tree_get(c->old, "metadata"), "name"));
    if (str_is(name, DEFAULT_QUEUE) || str_is(name, ROOT_QUEUE)) {
        problem_invalid(&c->problems, "`%.*s` queue can not be deleted", STR_ARG(name));
        return;
    }
    if (!c->queues->synced) {
        c->wait = !c->last_try;
        problem_state(&c->problems, "the children of queue %.*s are not known yet", STR_ARG(name));
        return;
    }
    const struct queue_view *queue = queue_snapshot_get(c->queues, name);
    if (!queue && !c->old) {
        problem_state(&c->problems, "queue.scheduling.volcano.sh \"%.*s\" not found",
                      STR_ARG(name));
        return;
    }
    if (c->rules->allocated_pods_check && queue && queue->allocated_pods)
        problem_invalid(&c->problems,
                        "queue %.*s cannot be deleted because it has allocated Pods: %lld",
                        STR_ARG(name), (long long)queue->allocated_pods);
    check_children(c, name);
}

void queues_validate(struct admission_case *c)
{
    if (str_is(c->review->operation, "DELETE"))
        check_delete(c);
    else
        check_write(c, str_is(c->review->operation, "CREATE"));
}
