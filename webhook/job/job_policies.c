/*
 * Lifecycle policies of jobs and tasks (part of /jobs/validate).
 */
#include "base/map.h"
#include "base/timefmt.h"
#include "webhook/job/job_rules.h"
#include <stdio.h>

#define ANY_EVENT "*"

static const char *const events[] = {ANY_EVENT, "PodFailed",     "PodEvicted", "PodPending",
                                     "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated"};
static const char *const actions[] = {"AbortJob",    "RestartJob",       "RestartTask",
                                      "RestartPod",  "RestartPartition", "TerminateJob",
                                      "CompleteJob", "ResumeJob"};

struct policy_check {
    struct problems *problems;
    const char *label, *where;
    struct map codes; /* exit codes of earlier policies, as text */
    unsigned seen;    /* events of earlier policies, by index */
    unsigned current; /* events of this policy */
    bool bad_event, bad_action;
};

static int index_of(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i], text) == 0)
            return (int)i;
    }
    return -1;
}

/* An exit code without an action is no fault: it has no effect. */
static void check_action(struct policy_check *check, const cJSON *policy, bool required)
{
    const char *action = tree_str(policy, "action");
    if (index_of(actions, ARRAY_SIZE(actions), action) >= 0 || (!*action && !required))
        return;
    check->bad_action = true;
    problem_invalid(check->problems, "%s: Invalid value: \"%.64s\": invalid policy action%s",
                    check->label, action, check->where);
}

static void check_event(struct policy_check *check, const char *event)
{
    int index = index_of(events, ARRAY_SIZE(events), event);
    if (index < 0) {
        check->bad_event = true;
        problem_invalid(check->problems, "%s: Invalid value: \"%.64s\": invalid policy event%s",
                        check->label, event, check->where);
        return;
    }
    if (check->seen & (1U << index))
        problem_invalid(check->problems,
                        "%s: Invalid value: \"%s\": duplicate event %s  across different policy%s",
                        check->label, event, event, check->where);
    check->current |= 1U << index;
}

static void check_events(struct policy_check *check, const cJSON *policy)
{
    const cJSON *item;
    check->current = 0;
    cJSON_ArrayForEach(item, tree_array(policy, "events"))
    {
        check_event(check, cJSON_IsString(item) ? item->valuestring : "");
    }
    const char *event = tree_str(policy, "event");
    int index = index_of(events, ARRAY_SIZE(events), event);
    if (*event && (index < 0 || !(check->current & (1U << index))))
        check_event(check, event);
    check->seen |= check->current;
    check_action(check, policy, true);
}

static void check_exit_code(struct policy_check *check, const cJSON *policy)
{
    char text[32];
    const int64_t code = tree_i64_or_0(policy, "exitCode");
    (void)snprintf(text, sizeof(text), "%lld", (long long)code);
    if (code == 0)
        problem_invalid(check->problems, "%s: Invalid value: \"0\": 0 is not a valid error code%s",
                        check->label, check->where);
    else if (map_has(&check->codes, str_of(text)))
        problem_invalid(check->problems, "%s: Invalid value: \"%s\": duplicate exitCode %s%s",
                        check->label, text, text, check->where);
    map_set(&check->codes, str_of(text), NULL);
    check_action(check, policy, false);
}

static void check_timeout(struct policy_check *check, const cJSON *policy)
{
    const cJSON *timeout = tree_get(policy, "timeout");
    const char *text = tree_str(policy, "timeout");
    int64_t ns = 0;
    if (!timeout || (duration_parse(str_of(text), &ns) && ns >= 0))
        return;
    problem_invalid(check->problems,
                    "%s: Invalid value: \"%.64s\": the timeout must be a duration such as 90s, 5m "
                    "or 1h30m%s",
                    check->label, text, check->where);
}

static void check_policy(struct policy_check *check, const cJSON *policy)
{
    const cJSON *list = tree_array(policy, "events");
    const bool has_event = *tree_str(policy, "event") || (list && list->child);
    const bool has_code = tree_get(policy, "exitCode") != NULL;
    if (has_event && has_code)
        problem_invalid(check->problems, "%s: must not specify event and exitCode simultaneously%s",
                        check->label, check->where);
    else if (has_event)
        check_events(check, policy);
    else if (has_code)
        check_exit_code(check, policy);
    else
        problem_invalid(check->problems, "%s: either event and exitCode should be specified%s",
                        check->label, check->where);
    check_timeout(check, policy);
}

static void list_valid(struct problems *problems, const char *what, const char *const *list,
                       size_t n)
{
    problem_more(problems, ", valid %s are [", what);
    for (size_t i = 0; i < n; i++)
        problem_more(problems, "%s%s", i ? ", " : "", list[i]);
    problem_more(problems, "]");
}

void job_check_policies(struct problems *problems, const cJSON *policies, const char *label,
                        const char *where)
{
    struct policy_check check = {.problems = problems, .label = label, .where = where};
    const cJSON *policy;
    cJSON_ArrayForEach(policy, policies)
    {
        check_policy(&check, policy);
    }
    map_clear(&check.codes);
    if ((check.seen & 1U) && (check.seen & ~1U))
        problem_invalid(problems, "%s: if there's * here, no other policy should be here%s", label,
                        where);
    if (check.bad_event)
        list_valid(problems, "events", events, ARRAY_SIZE(events));
    if (check.bad_action)
        list_valid(problems, "actions", actions, ARRAY_SIZE(actions));
}
