/*
 * Evictions: see eviction.h.
 */
#include "controller/job/eviction.h"
#include "base/intern.h"
#include "controller/job/lifecycle.h"

static bool has_ended(const struct podstate *pod)
{
    return pod->phase == POD_PHASE_SUCCEEDED || pod->phase == POD_PHASE_FAILED;
}

/* A pod that failed by a disruption, deleted or not. */
static bool failed_by_disruption(const struct podstate *pod)
{
    return pod->disrupted && pod->phase == POD_PHASE_FAILED;
}

bool pod_ended_first(const struct job_control *control, const struct podstate *pod)
{
    const int64_t grace_ns = (int64_t)pod->meta.deletion_grace_s * NSEC_PER_SEC;

    if (!has_ended(pod))
        return false;
    return !pod->meta.deleted_ns || map_has(&control->ended_first, str_of(pod->meta.uid)) ||
           (pod->ended_ns > 0 && pod->ended_ns < pod->meta.deleted_ns - grace_ns);
}

/* Told to go by others before it had ended, or made Failed by them. */
static bool was_evicted(const struct job_control *control, const struct podstate *pod)
{
    return failed_by_disruption(pod) || (!map_has(&control->own_deletes, str_of(pod->meta.uid)) &&
                                         !pod_ended_first(control, pod));
}

bool eviction_under_way(const struct job_control *control)
{
    for (uint32_t i = 0; i < control->task_count; i++) {
        for (uint32_t k = 0; k < control->tasks[i].size; k++) {
            const struct podstate *pod = control->tasks[i].slots[k].pod;
            if (pod && (pod->meta.deleted_ns || failed_by_disruption(pod)) &&
                !lifecycle_must_go(control, i, pod) && was_evicted(control, pod))
                return true;
        }
    }
    return false;
}

static void note(struct job_control *control, const struct podstate *pod)
{
    struct task_control *task;
    const struct pod_slot *slot = job_control_slot(control, pod->task, pod->index, &task);

    if (!control->job || !slot || slot->pod != pod || control->evictions.n == EVICTIONS_MAX)
        return;
    const uint32_t index = (uint32_t)(task - control->tasks);
    if (lifecycle_must_go(control, index, pod) ||
        !job_policy_possible(control->job, &control->job->tasks[index], JOB_EVENT_POD_EVICTED))
        return;
    vec_push(&control->evictions,
             ((struct job_eviction){.task = index,
                                    .index = (uint32_t)pod->index,
                                    .version = pod->job_version,
                                    .retry_count = pod->retry_count,
                                    .pod = intern_ref(pod->meta.name),
                                    .at_ns = loop_wall(control->controller->loop)}));
}

static void drop(struct job_control *control, size_t at)
{
    intern_put(control->evictions.items[at].pod);
    vec_remove(&control->evictions, at);
}

/* A pod that runs again in its place before the timeout is over has made up for the one before. */
static void forgive(struct job_control *control, const struct podstate *pod)
{
    for (size_t i = control->evictions.n; i-- > 0;) {
        const struct job_eviction *eviction = &control->evictions.items[i];
        if (eviction->pod != pod->meta.name || !control->job ||
            eviction->task >= control->job->task_count)
            continue;
        const struct job_happening what = {.event = JOB_EVENT_POD_EVICTED,
                                           .task = &control->job->tasks[eviction->task],
                                           .pod = eviction->pod};
        const struct job_policy *policy = job_policy_for(control->job, &what);
        if (policy && policy->timeout_ns > 0)
            drop(control, i);
    }
}

void eviction_watch(struct job_control *control, const struct podstate *old,
                    const struct podstate *now)
{
    if (now && now->phase == POD_PHASE_RUNNING && !now->meta.deleted_ns)
        forgive(control, now);
    if (!old)
        return;
    const struct str uid = str_of(old->meta.uid);
    if (now) {
        if (now->meta.deleted_ns && !old->meta.deleted_ns && has_ended(old))
            (void)map_set(&control->ended_first, uid, NULL);
        return;
    }
    if (was_evicted(control, old))
        note(control, old);
    (void)map_del(&control->own_deletes, uid);
    (void)map_del(&control->ended_first, uid);
}

void evictions_drop_answered(struct job_control *control)
{
    for (size_t i = control->evictions.n; i-- > 0;) {
        const struct job_eviction *eviction = &control->evictions.items[i];
        if (eviction->task < control->task_count &&
            !lifecycle_would_go(control, eviction->task, eviction->index, eviction->version,
                                eviction->retry_count))
            continue;
        drop(control, i);
    }
}

void evictions_clear(struct job_control *control)
{
    for (size_t i = 0; i < control->evictions.n; i++)
        intern_put(control->evictions.items[i].pod);
    vec_clear(&control->evictions);
}
