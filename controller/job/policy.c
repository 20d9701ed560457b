/*
 * Matching of lifecycle policies: see policy.h.
 */
#include "controller/job/policy.h"

static bool names_event(const struct job_policy *policy, enum job_event event)
{
    const uint32_t wanted = UINT32_C(1) << event | UINT32_C(1) << JOB_EVENT_ANY;

    return (policy->events & wanted) != 0 &&
           (event != JOB_EVENT_POD_PENDING || policy->timeout_ns > 0);
}

static bool names_exit_code(const struct job_policy *policy, const struct job_happening *happening)
{
    for (uint32_t i = 0; policy->has_exit_code && i < happening->exit_code_count; i++) {
        if (happening->exit_codes[i] == policy->exit_code)
            return true;
    }
    return false;
}

static const struct job_policy *first_of(const struct job_policies *policies,
                                         const struct job_happening *happening)
{
    for (uint32_t i = 0; i < policies->n; i++) {
        const struct job_policy *policy = &policies->items[i];
        if (names_event(policy, happening->event) || names_exit_code(policy, happening))
            return policy;
    }
    return NULL;
}

const struct job_policy *job_policy_for(const struct job *job,
                                        const struct job_happening *happening)
{
    const struct job_policy *policy = NULL;

    if (happening->task)
        policy = first_of(&happening->task->policies, happening);
    return policy ? policy : first_of(&job->policies, happening);
}

static bool any_possible(const struct job_policies *policies, enum job_event event)
{
    for (uint32_t i = 0; i < policies->n; i++) {
        const struct job_policy *policy = &policies->items[i];
        if (names_event(policy, event) || (event == JOB_EVENT_POD_FAILED && policy->has_exit_code))
            return true;
    }
    return false;
}

bool job_policy_possible(const struct job *job, const struct job_task *task, enum job_event event)
{
    return any_possible(&job->policies, event) || (task && any_possible(&task->policies, event));
}
