/*
 * Why a job does not go on: see explain.h.
 */
#include "controller/job/explain.h"
#include "api/names.h"
#include "controller/job/depends.h"
#include "controller/job/group.h"
#include "controller/job/lifecycle.h"
#include <stdio.h>

/* ---- troubles ---------------------------------------------------------------------------------
 */

bool trouble_set(struct job_control *control, enum job_trouble_kind kind, const char *reason,
                 const char *text)
{
    struct job_trouble *trouble = &control->troubles[kind];
    const bool same = trouble->text && strcmp(trouble->text, text) == 0;

    trouble->reason = reason;
    if (same)
        return false;
    free(trouble->text);
    trouble->text = xstrdup(text);
    job_control_mark(control);
    return !control->job || strcmp(control->job->status.message, text) != 0;
}

void trouble_clear(struct job_control *control, enum job_trouble_kind kind)
{
    struct job_trouble *trouble = &control->troubles[kind];

    if (!trouble->text)
        return;
    free(take_ptr(trouble->text));
    job_control_mark(control);
}

void troubles_adopt(struct job_control *control)
{
    static const struct {
        const char *reason;
        enum job_trouble_kind kind;
    } known[] = {{"PodGroupError", JOB_TROUBLE_GROUP},
                 {"PluginError", JOB_TROUBLE_OBJECT},
                 {"PVCError", JOB_TROUBLE_OBJECT},
                 {"FailedCreate", JOB_TROUBLE_POD}};
    const struct job_status *status = &control->job->status;

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        if (strcmp(status->reason, known[i].reason) == 0 && *status->message)
            (void)trouble_set(control, known[i].kind, known[i].reason, status->message);
    }
}

void troubles_free(struct job_control *control)
{
    for (int kind = 0; kind < JOB_TROUBLE_COUNT; kind++)
        free(take_ptr(control->troubles[kind].text));
}

/* ---- pods that stay ---------------------------------------------------------------------------
 */

struct overdue {
    const struct podstate *pod; /* the one that should have gone first */
    uint32_t count;
};

static void look(struct overdue *overdue, const struct podstate *pod)
{
    if (!pod || !pod->meta.deleted_ns)
        return;
    overdue->count++;
    if (!overdue->pod || pod->meta.deleted_ns < overdue->pod->meta.deleted_ns)
        overdue->pod = pod;
}

static struct overdue find_overdue(const struct job_control *control)
{
    struct overdue overdue = {0};

    for (uint32_t i = 0; i < control->task_count; i++) {
        if (control->tasks[i].counts.terminating == 0)
            continue;
        for (uint32_t k = 0; k < control->tasks[i].size; k++)
            look(&overdue, control->tasks[i].slots[k].pod);
    }
    for (size_t i = 0; i < control->strays.n; i++)
        look(&overdue, control->strays.items[i]);
    return overdue;
}

/* Restarting, Aborting and the like wait for pods to go. */
static bool waits_for_pods_to_go(enum job_phase phase)
{
    return phase == JOB_RESTARTING || phase == JOB_ABORTING || phase == JOB_COMPLETING ||
           phase == JOB_TERMINATING;
}

/* The text has no numbers that change by themselves: each change is a write. */
static bool explain_overdue(const struct job_control *control, enum job_phase phase,
                            struct explanation *explanation)
{
    if (!waits_for_pods_to_go(phase))
        return false;
    const struct overdue overdue = find_overdue(control);
    if (!overdue.pod)
        return false;
    const int64_t at_ns = time_add(overdue.pod->meta.deleted_ns, STILL_TERMINATING_NS);
    if (at_ns > loop_wall(control->controller->loop)) {
        explanation->next_ns = at_ns;
        return false;
    }
    explanation->reason = explanation->event = "PodStillTerminating";
    explanation->message = explanation->text;
    (void)snprintf(explanation->text, sizeof(explanation->text),
                   "pod %.250s was to be gone by now and is still there%s", overdue.pod->meta.name,
                   overdue.count > 1 ? ", and others are" : "");
    return true;
}

/* The PodGroup of the run before goes before there is another. */
static bool explain_old_group(const struct job_control *control, struct explanation *explanation)
{
    const struct podgroup *podgroup = control->podgroup;

    if (!group_is_old(control) || !podgroup->meta.deleted_ns)
        return false;
    const int64_t at_ns = time_add(podgroup->meta.deleted_ns, STILL_TERMINATING_NS);
    if (at_ns > loop_wall(control->controller->loop)) {
        explanation->next_ns = at_ns;
        return false;
    }
    explanation->reason = explanation->event = "PodGroupStillTerminating";
    explanation->message = explanation->text;
    (void)snprintf(explanation->text, sizeof(explanation->text),
                   "PodGroup %.250s of the run before was to be gone by now and is still there",
                   podgroup->meta.name);
    return true;
}

/* ---- the rest ---------------------------------------------------------------------------------
 */

static bool explain_trouble(const struct job_control *control, struct explanation *explanation)
{
    for (int kind = 0; kind < JOB_TROUBLE_COUNT; kind++) {
        if (!control->troubles[kind].text)
            continue;
        explanation->reason = control->troubles[kind].reason;
        explanation->message = control->troubles[kind].text;
        return true;
    }
    if (!control->names_held)
        return false;
    explanation->reason = "FailedCreate";
    explanation->message =
        "pods of an earlier job of this name still exist; waiting for them to go";
    return true;
}

static bool explain_group(const struct job_control *control, struct explanation *explanation)
{
    const struct podgroup_condition *condition =
        control->podgroup ? podgroup_condition(control->podgroup, PODGROUP_UNSCHEDULABLE) : NULL;

    if (!condition || strcmp(condition->status, "True") != 0)
        return false;
    explanation->reason = condition->reason;
    explanation->message = condition->message;
    explanation->event = "PodGroupPending";
    return true;
}

static bool explain_dependency(const struct job_control *control, struct explanation *explanation)
{
    const char *task, *needed;

    if (!depends_waiting(control, &task, &needed))
        return false;
    explanation->reason = "DependencyNotReady";
    explanation->message = explanation->text;
    (void)snprintf(explanation->text, sizeof(explanation->text),
                   "task %.100s waits for task %.100s", task, needed);
    return true;
}

/* The last of its runs is over. */
static bool explain_retries(const struct job_control *control, enum job_phase phase,
                            struct explanation *explanation)
{
    const struct job_status *status = &control->job->status;

    if (phase != JOB_FAILED || status->phase != JOB_RESTARTING ||
        lifecycle_retries(control) < job_max_retry(control->job))
        return false;
    explanation->reason = "MaxRetryReached";
    explanation->message = explanation->text;
    (void)snprintf(explanation->text, sizeof(explanation->text),
                   "the job had to be restarted %d times, and maxRetry lets it be started %d times",
                   lifecycle_retries(control), job_max_retry(control->job));
    return true;
}

void explain(const struct job_control *control, enum job_phase phase,
             struct explanation *ret_explanation)
{
    const struct job_status *status = &control->job->status;

    *ret_explanation = (struct explanation){.reason = "", .message = ""};
    if (job_phase_finished(status->phase)) {
        ret_explanation->reason = status->reason;
        ret_explanation->message = status->message;
        return;
    }
    if (explain_trouble(control, ret_explanation) ||
        explain_overdue(control, phase, ret_explanation) ||
        explain_old_group(control, ret_explanation) ||
        explain_retries(control, phase, ret_explanation) || phase != JOB_PENDING)
        return;
    if (!explain_group(control, ret_explanation))
        (void)explain_dependency(control, ret_explanation);
}

char *explain_event_text(const struct job_control *control, const struct explanation *explanation)
{
    if (strcmp(explanation->event, "PodGroupPending") != 0)
        return xstrdup(explanation->message);
    return xasprintf("PodGroup %s:%s unschedulable, reason: %s", control->ns, control->name,
                     explanation->message);
}
