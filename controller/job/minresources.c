/*
 * PodGroup.spec.minResources: what a gang needs at its minimum, in the names of ResourceQuota.
 */
#include "api/names.h"
#include "api/priorityclass.h"
#include "controller/job/group.h"
#include <stdio.h>

struct ranked_task {
    const struct job_task *task;
    uint32_t position;
    int32_t priority;
};

static int by_priority(const void *a, const void *b)
{
    const struct ranked_task *left = a, *right = b;

    if (left->priority != right->priority)
        return left->priority > right->priority ? -1 : 1;
    return left->position < right->position ? -1 : 1;
}

/* A class that is not known counts as 0, as does no class: global defaults do not apply. */
static int32_t priority_of(const struct job_task *task, const struct store *priorityclasses)
{
    const struct priorityclass *class = NULL;

    if (*task->priority_class_name)
        class = store_get(priorityclasses, STR(""), str_of(task->priority_class_name));
    return class ? class->value : 0;
}

static void add_named(resource_list *usage, const char *prefix, const char *name,
                      struct quantity quantity)
{
    char text[320];
    int n = snprintf(text, sizeof(text), "%s%s", prefix, name);

    if (n > 0 && (size_t)n < sizeof(text))
        resource_list_add(usage, str_make(text, (size_t)n), quantity, 1);
}

/* cpu, memory and ephemeral-storage have limits in a quota; the others only requests. */
static bool has_limit_quota(const char *name)
{
    return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 ||
           strcmp(name, "ephemeral-storage") == 0;
}

/* What one pod of the task uses, in quota names. */
static int usage_of(const struct job_task *task, resource_list *usage, struct error *err)
{
    resource_list requests = {0}, limits = {0};
    struct quantity one = quantity_from_i64(1, QUANTITY_DECIMAL_SI);

    if (pod_resources_read(str_of(task->spec), &requests, &limits, err) < 0)
        return error_prefix(err, "the template of task %s", task->name);
    add_named(usage, "", "pods", one);
    add_named(usage, "count/", "pods", one);
    for (size_t i = 0; i < requests.n; i++) {
        add_named(usage, "", requests.items[i].name, requests.items[i].quantity);
        add_named(usage, "requests.", requests.items[i].name, requests.items[i].quantity);
    }
    for (size_t i = 0; i < limits.n; i++) {
        if (has_limit_quota(limits.items[i].name))
            add_named(usage, "limits.", limits.items[i].name, limits.items[i].quantity);
    }
    resource_list_clear(&requests);
    resource_list_clear(&limits);
    return 0;
}

/* How many pods of each of the `count` ranked tasks the minimum is made of. */
static void choose(int32_t minimum, const struct ranked_task *ranked, uint32_t count,
                   int64_t *taken)
{
    int64_t minimums = 0, rest = minimum;

    for (uint32_t i = 0; i < count; i++) {
        const struct job_task *task = ranked[i].task;
        minimums += task->has_min_available ? task->min_available : task->replicas;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct job_task *task = ranked[i].task;
        int64_t want = minimum < minimums        ? task->replicas
                       : task->has_min_available ? task->min_available
                                                 : 0;
        taken[i] = want < rest ? want : rest;
        rest -= taken[i];
    }
    for (uint32_t i = 0; i < count && rest > 0; i++) {
        int64_t more = ranked[i].task->replicas - taken[i];
        more = more < rest ? more : rest;
        if (more > 0) {
            taken[i] += more;
            rest -= more;
        }
    }
}

int job_min_resources(const struct job *job, const struct job_gang *gang,
                      const struct store *priorityclasses, resource_list *ret_list,
                      struct error *err)
{
    cleanup_free struct ranked_task *ranked = xcalloc(job->task_count + 1, sizeof(*ranked));
    cleanup_free int64_t *taken = xcalloc(job->task_count + 1, sizeof(*taken));
    resource_list sum = {0};
    uint32_t count = 0;

    for (uint32_t i = 0; i < job->task_count; i++) {
        const struct job_task *task = &job->tasks[i];
        if (!gang->left_out || !gang->left_out[i])
            ranked[count++] = (struct ranked_task){task, i, priority_of(task, priorityclasses)};
    }
    qsort(ranked, count, sizeof(*ranked), by_priority);
    choose(gang->minimum, ranked, count, taken);
    for (uint32_t i = 0; i < count; i++) {
        resource_list usage = {0};
        if (taken[i] > 0 && usage_of(ranked[i].task, &usage, err) < 0) {
            resource_list_clear(&usage);
            resource_list_clear(&sum);
            return -1;
        }
        resource_list_add_all(&sum, &usage, taken[i]);
        resource_list_clear(&usage);
    }
    *ret_list = sum;
    return 0;
}
