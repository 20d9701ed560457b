/*
 * Why a job waits, in sentences that a person can act on.
 */
#ifndef PUMICE_SCHEDULER_WHY_H
#define PUMICE_SCHEDULER_WHY_H

#include "scheduler/scheduler.h"

#define WHY_TEXT_MAX ((size_t)1024)

/* Whether a reason of that kind is worth writing again (the text costs a look at every node): the
 * kind is new, or the text is old. */
bool why_is_due(const struct scheduler *scheduler, const struct sched_job *job, enum why_kind kind);
/* The same; if it is not, the job is tried again as soon as it is, to hear what is true by then.
 * For reasons that are found only when something has changed, lest jobs be tried for ever. */
bool why_is_due_or_later(struct scheduler *scheduler, struct sched_job *job, enum why_kind kind);
/* When (loop time) that is; INT64_MAX when no reason was passed over. */
int64_t why_due_time(const struct sched_job *job);
/* Sets the reason; `since`, with which the text ends, is kept while the job waits for any. */
void why_set(struct scheduler *scheduler, struct sched_job *job, enum why_kind kind,
             uint64_t signature, const char *format, ...) __attribute__((format(printf, 5, 6)));
void why_clear(struct sched_job *job);

/* What names a kind of reason without its numbers; `signature` tells those of one kind apart. */
static inline uint64_t why_signature(enum why_kind kind, uint64_t signature)
{
    return signature * 8 + (uint64_t)kind;
}

/* Whether a reason of that kind keeps pods waiting that could otherwise be placed. */
static inline bool why_holds_pods(enum why_kind kind)
{
    return kind == WHY_NODES || kind == WHY_SHARE;
}

/* Queue absent or closed; true when it is, and the reason is set. */
bool why_queue(struct scheduler *scheduler, struct sched_job *job);
/* Fewer pods than the minimum. */
void why_pods(struct scheduler *scheduler, struct sched_job *job);
/* Pods had nodes, but their binds were refused. */
void why_binds(struct scheduler *scheduler, struct sched_job *job);
/* The gang does not fit: `would` more pods fit, then one of `group` did not, for the reasons in
 * `nodes`. Nothing of the attempt is placed any more. */
void why_gang(struct scheduler *scheduler, struct sched_job *job, const struct task_group *group,
              uint32_t would, uint64_t signature, struct str nodes);
/* The gang has its minimum on nodes, but a plugin does not find it ready. */
void why_unready(struct scheduler *scheduler, struct sched_job *job);
/* The job's queue has had its share. */
void why_overused(struct scheduler *scheduler, struct sched_job *job);
/* The queue may not hold what the gang, or one more pod above its minimum, asks for; `why` is the
 * sentence of the plugin that says so. */
void why_share(struct scheduler *scheduler, struct sched_job *job, struct str why);
/* Pods above the minimum do not fit. */
void why_surplus(struct scheduler *scheduler, struct sched_job *job, const struct task_group *group,
                 uint64_t signature, struct str nodes);

/* What the pods that are still to be placed for the minimum ask for, in the order of placing. */
struct resource_set why_gang_needs(const struct sched_job *job);
/* Whether as much is free in all: after a failure only such a gang is worth another attempt. */
bool why_gang_fits(const struct cache *cache, const struct sched_job *job);

#endif
