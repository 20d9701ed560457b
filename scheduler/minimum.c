/*
 * Minimums of gangs. See minimum.h.
 */
#include "scheduler/minimum.h"
#include "api/names.h"

#define NAMES KEY_MIN_AVAILABLE " (or " KEY_MIN_AVAILABLE_SHORT ")"

/* The role minimums count only where the minimum covers their sum. */
static void set_minimum(struct sched_job *job, int32_t minimum)
{
    int64_t sum = 0;
    for (size_t i = 0; i < job->roles.n; i++)
        sum += job->roles.items[i].min;
    job->min_member = minimum;
    job->roles_enforced = sum > 0 && minimum >= sum;
}

/* Of which a percentage is taken. */
static uint32_t countable(const struct sched_job *job)
{
    return job->task_count - job->count[TASK_FAILED] - job->count[TASK_RELEASING] -
           job->count[TASK_LEAVING];
}

void minimum_follow(struct sched_job *job)
{
    if (job->minimum.given.percent)
        set_minimum(job, min_available_of(&job->minimum.given, countable(job)));
}

void minimum_pod_came(struct sched_job *job)
{
    job->minimum.settling = job->minimum.given.percent && job_live(job) == 0;
}

static const char *annotation_of(const struct podgroup *podgroup)
{
    const char *text = kube_pairs_get(&podgroup->meta.annotations, KEY_MIN_AVAILABLE);
    return text ? text : kube_pairs_get(&podgroup->meta.annotations, KEY_MIN_AVAILABLE_SHORT);
}

/* What the annotation gives, as far as it counts. */
static enum minimum_trouble read_given(const struct podgroup *podgroup,
                                       struct min_available *ret_given)
{
    const char *text = annotation_of(podgroup);
    struct min_available given;
    *ret_given = (struct min_available){0, 0};
    if (!text)
        return MINIMUM_SOUND;
    if (!min_available_parse(str_of(text), &given))
        return MINIMUM_UNREADABLE;
    if (podgroup->min_member > 0)
        return MINIMUM_NOT_USED;
    *ret_given = given;
    return MINIMUM_SOUND;
}

static bool is_given(const struct min_available *given)
{
    return given->count || given->percent;
}

int32_t minimum_of(const struct sched_job *job, const struct podgroup *podgroup)
{
    struct min_available given;
    (void)read_given(podgroup, &given);
    return is_given(&given) ? min_available_of(&given, countable(job)) : podgroup->min_member;
}

void minimum_read(struct sched_job *job, const struct podgroup *podgroup)
{
    struct job_minimum *minimum = &job->minimum;
    struct min_available given;
    enum minimum_trouble trouble = read_given(podgroup, &given);
    bool begins = given.percent && !minimum->given.percent;
    minimum->told = minimum->told && minimum->trouble == trouble;
    minimum->trouble = trouble;
    minimum->given = given;
    set_minimum(job, minimum_of(job, podgroup));
    if (begins || !given.percent)
        minimum_pod_came(job);
}

/* ---- the wait for further pods --------------------------------------------------------------- */

int64_t minimum_next(const struct sched_job *job)
{
    return job->minimum.settling ? job->last_arrival_ns + MINIMUM_SETTLE : INT64_MAX;
}

void minimum_look(struct sched_job *job)
{
    if (!job->minimum.settling || minimum_next(job) > loop_now(job->cache->loop))
        return;
    job->minimum.settling = false;
    job->failed_at = UINT64_MAX;
}

/* ---- what is wrong with it ------------------------------------------------------------------- */

void minimum_tell(struct scheduler *scheduler, struct sched_job *job)
{
    struct event_recorder *events = scheduler->params.events;
    struct event_ref ref = {SCHEDULING_API_VERSION, "PodGroup", job->ns, job->name, job->uid, 0};
    if (job->minimum.told || job->minimum.trouble == MINIMUM_SOUND)
        return;
    job->minimum.told = true;
    if (!events)
        return;
    if (job->minimum.trouble == MINIMUM_NOT_USED)
        event_record(events, &ref, EVENT_WARNING, "MinAvailableIgnored",
                     "the annotation " NAMES " has no effect: spec.minMember is %d",
                     job->min_member);
    else
        event_record(events, &ref, EVENT_WARNING, "MinAvailableIgnored",
                     "the annotation " NAMES " has no effect: it must be a number of pods from 1 "
                     "on, or from 1%% to 100%% of them");
}
