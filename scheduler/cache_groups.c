/*
 * Roles and groups of jobs in the cache. See cache.h.
 */
#include "base/intern.h"
#include "scheduler/cache_private.h"

uint32_t cache_role_get(struct sched_job *job, const char *name)
{
    for (size_t i = 0; i < job->roles.n; i++)
        if (job->roles.items[i].name == name)
            return (uint32_t)i;
    vec_push(&job->roles, ((struct task_role){.name = intern_ref(name)}));
    return (uint32_t)(job->roles.n - 1);
}

/* Higher priority first, then by name of the role, then the class and the labels seen first. */
static int compare_groups(const struct sched_job *job, const struct task_group *a,
                          const struct task_group *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    int order = strcmp(job->roles.items[a->role].name, job->roles.items[b->role].name);
    if (order)
        return order;
    if (a->cls != b->cls)
        return a->cls->id < b->cls->id ? -1 : 1;
    return a->labels->id < b->labels->id ? -1 : a->labels->id > b->labels->id;
}

static bool task_before(const struct heap_node *x, const struct heap_node *y, void *arg)
{
    const struct sched_task *a = const_container_of(x, struct sched_task, waiting);
    const struct sched_task *b = const_container_of(y, struct sched_task, waiting);
    (void)arg;
    if (a->pod->ordinal != b->pod->ordinal)
        return a->pod->ordinal < b->pod->ordinal;
    if (a->pod->meta.created_ns != b->pod->meta.created_ns)
        return a->pod->meta.created_ns < b->pod->meta.created_ns;
    return strcmp(a->pod->meta.uid, b->pod->meta.uid) < 0;
}

struct task_group *cache_group_get(struct sched_job *job, const struct pod *pod)
{
    uint32_t role = cache_role_get(job, pod->role);
    for (size_t i = 0; i < job->groups.n; i++) {
        struct task_group *group = job->groups.items[i];
        if (group->role == role && group->cls == pod->cls && group->labels == pod->labels &&
            group->priority == pod->priority)
            return group;
    }
    struct task_group *group = xnew(struct task_group);
    group->job = job;
    group->role = role;
    group->cls = pod_class_ref(pod->cls);
    group->labels = label_set_ref(pod->labels);
    group->priority = pod->priority;
    heap_init(&group->pending, task_before, NULL);
    vec_push(&job->groups, group);
    for (size_t i = job->groups.n - 1;
         i > 0 && compare_groups(job, group, job->groups.items[i - 1]) < 0; i--) {
        job->groups.items[i] = job->groups.items[i - 1];
        job->groups.items[i - 1] = group;
    }
    return group;
}

static void free_group(struct task_group *group)
{
    heap_clear(&group->pending);
    pod_class_unref(group->cls);
    label_set_unref(group->labels);
    free(group);
}

void cache_group_drop(struct sched_job *job, struct task_group *group)
{
    if (group->tasks)
        return;
    for (size_t i = 0; i < job->groups.n; i++)
        if (job->groups.items[i] == group) {
            vec_remove(&job->groups, i);
            break;
        }
    free_group(group);
}

void cache_groups_clear(struct sched_job *job)
{
    for (size_t i = 0; i < job->groups.n; i++)
        free_group(job->groups.items[i]);
    vec_clear(&job->groups);
    for (size_t i = 0; i < job->roles.n; i++)
        intern_put(job->roles.items[i].name);
    vec_clear(&job->roles);
}
