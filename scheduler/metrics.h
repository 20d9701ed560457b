/*
 * The scheduler's metrics, under the names that dashboards know where the meaning is the same.
 * Without a metrics collection every call does nothing.
 */
#ifndef PUMICE_SCHEDULER_METRICS_H
#define PUMICE_SCHEDULER_METRICS_H

#include "scheduler/scheduler.h"

/* NULL when the scheduler has no metrics. */
struct sched_metrics *metrics_start(struct scheduler *scheduler);
void metrics_end(struct sched_metrics *metrics);
/* A cycle took that long, pauses between its slices aside. */
void metrics_cycle(struct scheduler *scheduler, int64_t cost_ns);
/* The plugins began a cycle. */
void metrics_begin(struct scheduler *scheduler);
/* An action took that long, pauses aside. */
void metrics_action(struct scheduler *scheduler, const char *action, int64_t cost_ns);
/* A job's minimum was placed. */
void metrics_job(struct scheduler *scheduler, const struct sched_job *job);
/* A pod has come to a stage: we heard of it; it has a node, and so has all that has to start with
 * it; its bind is sent; its bind is answered (told by metrics_bind). */
#define METRICS_POD_WATCHED "Watched"
#define METRICS_POD_ASSUMED "Assumed"
#define METRICS_POD_PREBOUND "PreBound"
#define METRICS_POD_BOUND "Bound"
void metrics_pod(struct scheduler *scheduler, const struct pod *pod, const char *stage);
/* A stage took that long: finding nodes in one turn of a job, pauses aside; from a pod's getting
 * its node to its bind being sent; from there to the answer. */
#define METRICS_STAGE_PREDICATE "Predicate"
#define METRICS_STAGE_PREBIND "PreBind"
#define METRICS_STAGE_BIND "Bind"
void metrics_stage(struct scheduler *scheduler, const char *stage, int64_t took_ns);
/* Others are to be evicted for a job, or so many for nobody's sake. */
void metrics_decision(struct scheduler *scheduler, const char *action, size_t victims);
/* What became of an eviction: the server took it, the pod had gone, it is refused for good. */
#define METRICS_EVICTION_DONE "done"
#define METRICS_EVICTION_GONE "gone"
#define METRICS_EVICTION_REFUSED "refused"
void metrics_eviction(struct scheduler *scheduler, const char *result);
/* A call of the extender is over: whether it had an answer of use, and how long it took. */
void metrics_extender(struct scheduler *scheduler, const char *verb, bool answered,
                      int64_t took_ns);
/* A bind took effect, or failed. */
void metrics_bind(struct scheduler *scheduler, const struct pod *pod, bool bound);

#endif
