/*
 * /jobflows/validate: the flows of a JobFlow can be put in order.
 */
#include "base/map.h"
#include "webhook/kinds/kind_rules.h"
#include "webhook/rules/graph.h"
#include "webhook/rules/naming.h"

#define NOT_A_DAG "jobflow Flow is not DAG"

static const char *flow_name(const cJSON *flow, size_t index, char text[GRAPH_NAME_MAX])
{
    (void)index;
    (void)text;
    return tree_str(flow, "name");
}

static const cJSON *targets(const cJSON *flow)
{
    return tree_array(tree_get(flow, "dependsOn"), "targets");
}

static void check_order(struct admission_case *c, const cJSON *flows)
{
    const struct graph_items items = {flows, flow_name, targets};
    const struct graph_finding finding = graph_check(&items, c->arena);
    if (finding.verdict == GRAPH_STRANGER)
        problem_invalid(&c->problems,
                        NOT_A_DAG
                        ": vertex is not defined: %.253s (spec.flows: the flow \"%.253s\" "
                        "has it in dependsOn.targets; add a flow of that name)",
                        finding.dependency, finding.item);
    else if (finding.verdict == GRAPH_CIRCLE)
        problem_invalid(&c->problems,
                        NOT_A_DAG
                        ": spec.flows: the flow \"%.253s\" waits for itself by way of its "
                        "dependsOn.targets; take one of these out",
                        finding.item);
}

/* What is legal and does not do what it seems to. */
static void warn(struct admission_case *c, const cJSON *flows)
{
    struct map names = MAP_INIT; /* value: non-NULL once told */
    const char *own_name = tree_str(tree_get(c->object, "metadata"), "name");
    const cJSON *flow;
    cJSON_ArrayForEach(flow, flows)
    {
        const struct str name = str_of(tree_str(flow, "name"));
        if (!map_has(&names, name)) {
            const struct str job = arena_printf(c->arena, "%s-%s", own_name, name.p);
            const char *reason = naming_qualified(job);
            map_set(&names, name, NULL);
            if (reason)
                case_warn(c, "spec.flows: the job \"%.253s\" of this flow will be refused: %s",
                          job.p, reason);
        } else if (!map_set(&names, name, &names)) {
            case_warn(c, "spec.flows: the name \"%.253s\" is there twice; the last one counts",
                      name.p);
        }
    }
    map_clear(&names);
}

void jobflows_validate(struct admission_case *c)
{
    static const char *const spec_path[] = {"spec", NULL};
    if (kind_unchanged(c, spec_path))
        return;
    const cJSON *flows = tree_array(tree_get(c->object, "spec"), "flows");
    check_order(c, flows);
    warn(c, flows);
}
