/*
 * The arithmetic of gangs, and what they are called. See cache.h.
 *
 * Role minimums count only where minMember covers their sum, as the API has always had it.
 */
#include "base/alloc.h"
#include "scheduler/cache.h"

#define UID_SIZE 36

int job_name_size(const struct sched_job *job)
{
    const char *name = job->name;
    size_t size = strlen(name);
    bool has_uid = size > UID_SIZE + 1 && name[size - UID_SIZE - 1] == '-' &&
                   name[size - UID_SIZE + 8] == '-' && name[size - 13] == '-';
    return (int)(has_uid ? size - UID_SIZE - 1 : size);
}

uint32_t job_have(const struct sched_job *job)
{
    return job->count[TASK_ALLOCATED] + job->count[TASK_BINDING] + job->count[TASK_BOUND] +
           job->count[TASK_RUNNING] + job->count[TASK_SUCCEEDED];
}

uint32_t job_waiting(const struct sched_job *job)
{
    return job->count[TASK_PENDING] + job->count[TASK_HELD] + job->count[TASK_GATED];
}

uint32_t job_live(const struct sched_job *job)
{
    return job->count[TASK_BINDING] + job->count[TASK_BOUND] + job->count[TASK_RUNNING];
}

bool job_roles_ready(const struct sched_job *job)
{
    for (size_t i = 0; job->roles_enforced && i < job->roles.n; i++)
        if ((int64_t)job->roles.items[i].have < job->roles.items[i].min)
            return false;
    return true;
}

bool job_gang_ready(const struct sched_job *job)
{
    return (int64_t)job_have(job) >= job->min_member && job_roles_ready(job);
}

bool job_gang_possible(const struct sched_job *job)
{
    if (job->minimum.settling)
        return false;
    if ((int64_t)job_have(job) + job->count[TASK_PENDING] + job->count[TASK_HELD] < job->min_member)
        return false;
    for (size_t i = 0; job->roles_enforced && i < job->roles.n; i++) {
        const struct task_role *role = &job->roles.items[i];
        if ((int64_t)role->have + role->waiting < role->min)
            return false;
    }
    return true;
}

static uint32_t at_most(int64_t wanted, size_t there)
{
    if (wanted <= 0)
        return 0;
    return wanted < (int64_t)there ? (uint32_t)wanted : (uint32_t)there;
}

void job_each_missing(const struct sched_job *job,
                      void (*visit)(const struct task_group *group, uint32_t count, void *arg),
                      void *arg)
{
    int64_t missing = (int64_t)job->min_member - job_have(job);
    int64_t surplus = missing; /* beyond what the roles need by themselves */
    for (size_t r = 0; job->roles_enforced && r < job->roles.n; r++) {
        const struct task_role *role = &job->roles.items[r];
        if (role->min > (int64_t)role->have)
            surplus -= role->min - (int64_t)role->have;
    }
    for (size_t r = 0; r < job->roles.n; r++) {
        const struct task_role *role = &job->roles.items[r];
        int64_t lacks = job->roles_enforced ? role->min - (int64_t)role->have : 0;
        for (size_t g = 0; g < job->groups.n; g++) {
            const struct task_group *group = job->groups.items[g];
            if (group->role != r)
                continue;
            uint32_t taken = at_most(lacks, group->pending.n);
            uint32_t more = at_most(surplus, group->pending.n - taken);
            lacks -= taken;
            surplus -= more;
            if (taken + more)
                visit(group, taken + more, arg);
        }
    }
}

void job_allocated(const struct sched_job *job, struct resource_set *sum)
{
    resource_set_add(sum, &job->allocated, 1);
}

struct resource_set job_lacking(const struct sched_job *job)
{
    struct resource_set lacking = {NULL, 0};
    for (uint32_t i = 0; i < job->min_resources.n; i++) {
        uint32_t id = job->min_resources.items[i].id;
        int64_t amount = job->min_resources.items[i].amount - resource_set_get(&job->allocated, id);
        if (amount > 0)
            resource_set_put(&lacking, id, amount);
    }
    return lacking;
}
