/*
 * /podgroups/validate: the queue is there and open, and no networkTopology gives its tier twice.
 */
#include "api/names.h"
#include "webhook/registry.h"

static bool tier_twice(const cJSON *topology)
{
    return tree_get(topology, "highestTierAllowed") && *tree_str(topology, "highestTierName");
}

#define TIER_TWICE                                                                                 \
    "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology "              \
    "simultaneously."

static void check_queue(struct admission_case *c, const char *name)
{
    if (!*name)
        return;
    const struct queue_view *queue = case_queue(c, str_of(name));
    if (!queue)
        problem_state(&c->problems,
                      "unable to find queue: queue.scheduling.volcano.sh \"%.253s\" not found",
                      name);
    else if (!str_is(queue->state, QUEUE_OPEN))
        problem_state(&c->problems,
                      "can only submit PodGroup to queue with state `Open`, queue `%s` status is "
                      "`%s`.",
                      queue->name.p, queue->state.p);
}

void podgroups_validate(struct admission_case *c)
{
    const cJSON *spec = tree_get(c->object, "spec"), *policy;
    check_queue(c, tree_str(spec, "queue"));
    if (tier_twice(tree_get(spec, "networkTopology")))
        problem_invalid(&c->problems, TIER_TWICE);
    cJSON_ArrayForEach(policy, tree_array(spec, "subGroupPolicy"))
    {
        if (tier_twice(tree_get(policy, "networkTopology")))
            problem_invalid(&c->problems, "in subGroupPolicy '%.253s': " TIER_TWICE,
                            tree_str(policy, "name"));
    }
}
