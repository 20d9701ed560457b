/*
 * dependsOn of the tasks of a job (part of /jobs/validate).
 */
#include "webhook/job/job_rules.h"
#include "webhook/rules/graph.h"

#define NOT_A_DAG                                                                                  \
    "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG)"

_Static_assert(TASK_NAME_MAX == GRAPH_NAME_MAX, "a task's name has room");

static const cJSON *dependencies(const cJSON *task)
{
    return tree_array(tree_get(task, "dependsOn"), "name");
}

void job_check_dependencies(struct admission_case *c, const cJSON *tasks)
{
    const struct graph_items items = {tasks, job_task_name, dependencies};
    const struct graph_finding finding = graph_check(&items, c->arena);
    if (finding.verdict == GRAPH_STRANGER)
        problem_invalid(&c->problems,
                        NOT_A_DAG ": task %.63s depends on \"%.63s\", which is no task of the job",
                        finding.item, finding.dependency);
    else if (finding.verdict == GRAPH_CIRCLE)
        problem_invalid(&c->problems, NOT_A_DAG);
}
