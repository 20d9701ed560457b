/*
 * nodegroup: which groups of nodes the jobs of a queue may use, and how much of them.
 *
 * Nodes belong to a group by the label volcano.sh/nodegroup-name. The Queue names groups to use and
 * to avoid (spec.affinity); with enableHierarchy a queue that names none takes after the nearest
 * queue above it that does. Its annotation volcano.sh/nodegroup-resource-limits holds for the pods
 * of this very queue.
 */
#include "base/alloc.h"
#include "scheduler/group_limits.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/plugins/score.h"

#define POINTS_REQUIRED 100
#define POINTS_PREFERRED 50
#define POINTS_AVOIDED (-1)

struct nodegroup {
    bool strict;  /* nodes without a group are for nobody */
    bool ordered; /* the first of the preferred groups is the best */
};

static int open_plugin(struct plugin *plugin, struct error *err)
{
    struct nodegroup *nodegroup = xnew(struct nodegroup);
    (void)err;
    nodegroup->strict = true;
    (void)arguments_bool(plugin->arguments, "strict", &nodegroup->strict);
    (void)arguments_bool(plugin->arguments, "enablePreferredOrder", &nodegroup->ordered);
    plugin->state = nodegroup;
    return 0;
}

static void close_plugin(struct plugin *plugin)
{
    free(plugin->state);
}

/* The queue whose affinity counts for it: itself or one above it; NULL for none. */
static const struct sched_queue *speaker_of(const struct plugin *plugin,
                                            const struct sched_queue *queue)
{
    const struct sched_queue *at = queue;
    while (at && !(at->groups && node_groups_have_affinity(at->groups)))
        at = plugin->enabled[POINT_HIERARCHY] ? at->parent : NULL;
    return at;
}

/* A group that is only to be avoided may be used. */
static bool allows(const struct node_groups *groups, const char *group)
{
    if (group_names_find(&groups->anti_preferred, group) >= 0)
        return true;
    return group_names_find(&groups->anti_required, group) < 0 &&
           (group_names_find(&groups->required, group) >= 0 ||
            group_names_find(&groups->preferred, group) >= 0);
}

static const char *queue_filter(const struct plugin *plugin, const struct sched_queue *queue,
                                const struct sched_node *node)
{
    const struct nodegroup *nodegroup = plugin->state;
    if (queue->groups && queue->groups->limits_invalid)
        return "node group resource limit annotation invalid";
    const struct sched_queue *speaker = speaker_of(plugin, queue);
    if (!node->group)
        return nodegroup->strict || speaker ? "node group label not found" : NULL;
    if (!speaker)
        return "node group affinity not specified";
    return allows(speaker->groups, node->group) ? NULL
                                                : "node does not satisfy the node group affinity";
}

static int64_t queue_score(const struct plugin *plugin, const struct sched_queue *queue,
                           const struct sched_node *node)
{
    const struct nodegroup *nodegroup = plugin->state;
    const struct sched_queue *speaker = node->group ? speaker_of(plugin, queue) : NULL;
    if (!speaker)
        return 0;
    const struct node_groups *groups = speaker->groups;
    if (group_names_find(&groups->anti_preferred, node->group) >= 0)
        return POINTS_AVOIDED * (int64_t)SCORE_UNIT;
    int64_t at = group_names_find(&groups->preferred, node->group), n = groups->preferred.n;
    int64_t score = 0;
    if (group_names_find(&groups->required, node->group) >= 0)
        score += POINTS_REQUIRED * (int64_t)SCORE_UNIT;
    if (at >= 0)
        score += POINTS_PREFERRED * (int64_t)SCORE_UNIT * (nodegroup->ordered ? n - at : n) / n;
    return score;
}

static uint64_t queue_stamp(const struct plugin *plugin, const struct sched_queue *queue)
{
    const struct sched_queue *speaker = speaker_of(plugin, queue);
    return (queue->groups_version << 32) + (speaker ? speaker->groups_version : 0);
}

static const char *queue_refuse(const struct plugin *plugin, const struct sched_queue *queue,
                                const struct resource_set *request, const struct sched_node *node)
{
    const struct group_limit *limit = group_limit_of(queue, node);
    (void)plugin;
    return limit && group_limit_exceeded(limit, request) ? "node group resource limit exceeded"
                                                         : NULL;
}

const struct plugin_type plugin_nodegroup = {.name = "nodegroup",
                                             .open = open_plugin,
                                             .close = close_plugin,
                                             .queue_filter = queue_filter,
                                             .queue_score = queue_score,
                                             .queue_stamp = queue_stamp,
                                             .queue_refuse = queue_refuse};
