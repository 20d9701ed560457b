/*
 * /podgroups/validate: the queue is there and open, and no networkTopology gives its tier twice.
 *
 * An UPDATE is asked only about what it changes: a queue that was closed meanwhile, or a fault
 * that was stored before there was a rule against it, does not stop the writers of a PodGroup.
 */
#include "api/minavailable.h"
#include "api/names.h"
#include "base/map.h"
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

static bool topology_faulty(const cJSON *policy)
{
    return tier_twice(tree_get(policy, "networkTopology"));
}

static void check_sub_groups(struct admission_case *c, const cJSON *spec, const cJSON *old_spec)
{
    struct map known = MAP_INIT; /* names of sub-groups that were at fault before */
    const cJSON *policy;
    cJSON_ArrayForEach(policy, tree_array(old_spec, "subGroupPolicy"))
    {
        if (topology_faulty(policy))
            map_set(&known, str_of(tree_str(policy, "name")), NULL);
    }
    cJSON_ArrayForEach(policy, tree_array(spec, "subGroupPolicy"))
    {
        const char *name = tree_str(policy, "name");
        if (topology_faulty(policy) && !map_has(&known, str_of(name)))
            problem_invalid(&c->problems, "in subGroupPolicy '%.253s': " TIER_TWICE, name);
    }
    map_clear(&known);
}

/* Of a new PodGroup: an annotation that says how many start together, and does not count. */
static void warn_of_minimum(struct admission_case *c, const cJSON *spec)
{
    static const char *const keys[] = {KEY_MIN_AVAILABLE, KEY_MIN_AVAILABLE_SHORT};
    const cJSON *annotations = tree_get(tree_get(c->object, "metadata"), "annotations");
    struct min_available minimum;
    size_t i = tree_get(annotations, keys[0]) ? 0 : 1;
    const char *text = tree_str(annotations, keys[i]);
    if (!tree_get(annotations, keys[i]))
        return;
    if (!min_available_parse(str_of(text), &minimum))
        case_warn(c,
                  "metadata.annotations[%s]: must be a number of pods from 1 on, or from 1%% to "
                  "100%% of them; it has no effect",
                  keys[i]);
    else if (tree_i64_or_0(spec, "minMember") > 0)
        case_warn(c, "metadata.annotations[%s]: has no effect where spec.minMember is set",
                  keys[i]);
}

void podgroups_validate(struct admission_case *c)
{
    const cJSON *spec = tree_get(c->object, "spec");
    const cJSON *old_spec = tree_get(c->old, "spec"); /* NULL on CREATE */
    const char *queue = tree_str(spec, "queue");
    if (!c->old || strcmp(queue, tree_str(old_spec, "queue")) != 0)
        check_queue(c, queue);
    if (topology_faulty(spec) && !topology_faulty(old_spec))
        problem_invalid(&c->problems, TIER_TWICE);
    check_sub_groups(c, spec, old_spec);
    if (!c->old)
        warn_of_minimum(c, spec);
}
