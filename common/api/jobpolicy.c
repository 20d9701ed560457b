/*
 * Decoding of lifecycle policies: see jobpolicy.h.
 */
#include "api/jobpolicy.h"
#include "base/timefmt.h"
#include "base/vec.h"

static const char *const event_names[JOB_EVENT_COUNT] = {
    [JOB_EVENT_ANY] = "*",
    [JOB_EVENT_POD_FAILED] = "PodFailed",
    [JOB_EVENT_POD_EVICTED] = "PodEvicted",
    [JOB_EVENT_POD_PENDING] = "PodPending",
    [JOB_EVENT_UNKNOWN] = "Unknown",
    [JOB_EVENT_TASK_COMPLETED] = "TaskCompleted",
    [JOB_EVENT_TASK_FAILED] = "TaskFailed",
    [JOB_EVENT_JOB_UPDATED] = "JobUpdated",
};

static const char *const action_names[JOB_ACTION_COUNT] = {
    [JOB_ACTION_NONE] = "SyncJob",           [JOB_ACTION_ABORT] = "AbortJob",
    [JOB_ACTION_RESTART_JOB] = "RestartJob", [JOB_ACTION_RESTART_TASK] = "RestartTask",
    [JOB_ACTION_RESTART_POD] = "RestartPod", [JOB_ACTION_RESTART_PARTITION] = "RestartPartition",
    [JOB_ACTION_TERMINATE] = "TerminateJob", [JOB_ACTION_COMPLETE] = "CompleteJob",
    [JOB_ACTION_RESUME] = "ResumeJob",
};

const char *job_event_name(enum job_event event)
{
    return event_names[event];
}

const char *job_action_name(enum job_action action)
{
    return action_names[action];
}

enum job_action job_action_of(struct str name)
{
    for (int action = 0; action < JOB_ACTION_COUNT; action++) {
        if (str_is(name, action_names[action]))
            return (enum job_action)action;
    }
    return JOB_ACTION_NONE;
}

static uint32_t event_bit(struct str name)
{
    for (int event = 0; event < JOB_EVENT_COUNT; event++) {
        if (str_is(name, event_names[event]))
            return UINT32_C(1) << event;
    }
    return 0;
}

static void read_events(struct json_reader *reader, struct job_policy *policy)
{
    if (!json_array(reader))
        return;
    while (json_item(reader))
        policy->events |= event_bit(json_str(reader));
}

static void read_exit_code(struct json_reader *reader, struct job_policy *policy)
{
    if (json_peek(reader) != JSON_NUMBER) {
        json_skip(reader);
        return;
    }
    policy->has_exit_code = true;
    policy->exit_code = json_i32(reader);
}

static void read_policy(struct json_reader *reader, struct job_policy *policy)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "event"))
            policy->events |= event_bit(json_str(reader));
        else if (str_is(key, "events"))
            read_events(reader, policy);
        else if (str_is(key, "exitCode"))
            read_exit_code(reader, policy);
        else if (str_is(key, "action"))
            policy->action = job_action_of(json_str(reader));
        else if (str_is(key, "timeout"))
            (void)duration_parse(json_str(reader), &policy->timeout_ns);
        else
            json_skip(reader);
    }
}

void job_policies_read(struct json_reader *reader, struct job_policies *policies)
{
    VEC(struct job_policy) list = {0};

    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct job_policy policy = {0};
        read_policy(reader, &policy);
        if (policy.timeout_ns < 0)
            policy.timeout_ns = 0;
        vec_push(&list, policy);
    }
    policies->items = list.items;
    policies->n = (uint32_t)list.n;
}

void job_policies_clear(struct job_policies *policies)
{
    free(policies->items);
    *policies = (struct job_policies){0};
}
