/*
 * What the parts of the evictor share. See evictor.h.
 */
#ifndef PUMICE_SCHEDULER_EVICT_EVICTOR_PRIVATE_H
#define PUMICE_SCHEDULER_EVICT_EVICTOR_PRIVATE_H

#include "loop/backoff.h"
#include "scheduler/evict/evictor.h"

/* A pod that is to show its place. */
struct evict_nominee {
    const char *uid, *node; /* interned */
};

struct evict_decision {
    struct list link;            /* in scheduler->decisions */
    struct scheduler *scheduler; /* borrowed */
    struct sched_job *job;       /* borrowed; its `decision` is this one */
    const char *uid;             /* interned; of the PodGroup for which it was made */
    const char *action;          /* constant */
    struct list victims;         /* struct evict_call, of those that are still there */
    uint32_t count;              /* of victims, those that are gone included */
    uint32_t places;             /* held for pods of the job */
    uint32_t used;               /* places that were let go because such a pod was placed */
    bool gang;                   /* for the job's minimum; else for pods above it */
    bool placed;                 /* the job has been given nodes */
    bool adopted;                /* made before a restart: its victims are not known */
    bool partial;                /* likewise, and not all were asked to go: the job decides again */
    bool pointless;              /* a victim cannot be evicted */
    int64_t since_ns;            /* loop time */
    int64_t gone_ns;             /* loop time at which a victim was last seen to be gone, or 0 */
    int64_t due_ns;              /* loop time at which the last one should be gone */
    VEC(struct evict_nominee) nominees;
};

/* One pod that is to go. Lives until it is gone, or, without a decision, until it is seen to go. */
struct evict_call {
    struct list link;                /* in its decision's victims, or in scheduler->strays */
    struct scheduler *scheduler;     /* borrowed */
    struct evict_decision *decision; /* borrowed; NULL: nobody waits for it (any more) */
    struct pod *pod;                 /* counted */
    const char *action;              /* constant */
    char *beneficiary;               /* owned; "job ns/name", NULL for nobody */
    char *why;                       /* owned; why it did not go when it was last asked, or NULL */
    struct sched_job *payer;         /* whose flow `request` is in, or NULL */
    struct window_request *request;  /* the POST, or NULL */
    struct kube_call *read;          /* the GET, or NULL */
    struct loop_timer timer;         /* the next POST; once it is counted, the next GET */
    struct backoff backoff;
    bool in_doubt;     /* it was asked and no answer told whether it goes */
    bool counted;      /* its fate has been said and counted */
    bool tired;        /* it was asked for long enough, and that has been said */
    int64_t began_ns;  /* loop time at which it was first sent, later by what it waited since */
    int64_t queued_ns; /* loop time since when `request` waits for its turn, 0: it does not */
    int64_t taken_ns;  /* loop time at which the server took the eviction, 0: not yet */
};

/* ---- evictor.c --------------------------------------------------------------------------------
 */

/* A decision that holds no places yet, for a job that has none. */
struct evict_decision *evict_decision_open(struct scheduler *scheduler, struct sched_job *job,
                                           const char *action);
/* Holds the place of a pod of its job. */
void evict_decision_hold(struct evict_decision *decision, struct sched_task *task,
                         struct sched_node *node);
/* As if it had never been: without a back-off. */
void evict_decision_forget(struct evict_decision *decision);

/* ---- calls.c ----------------------------------------------------------------------------------
 */

/* Asks the task to go: it is Releasing from now on. `decision` may be NULL. */
void evict_call_start(struct scheduler *scheduler, struct evict_decision *decision,
                      struct sched_task *task, const char *action);
/* Loop time at which it will have been asked for long enough. While it waits for its turn that time
 * moves on: nobody has asked it then. */
int64_t evict_call_ends(const struct evict_call *call);
/* Whether an answer is under way; it wakes the job that waits for it. */
bool evict_call_asks(const struct evict_call *call);
/* That time is over: its decision is in vain, which is said once. Nothing is done while an answer
 * is under way, for that may be that the pod goes. */
void evict_call_tire(struct evict_call *call);
/* The pod is gone: says so unless that was said, and frees the call. What is under way is
 * withdrawn.
 */
void evict_call_end(struct evict_call *call);
/* The cache has another version of the pod, or none: frees the call when that is all it waited for.
 */
void evict_call_follow(struct evict_call *call);
/* Nobody waits for it any more: if the pod has not been asked yet it stays, and the call is freed:
 * true; else it goes on until its fate is known. `at_once`: whatever is under way. */
bool evict_call_drop(struct evict_call *call, bool at_once);
/* The pod goes all the same, though nobody waits for it any more. */
void evict_call_leave(struct evict_call *call);

/* ---- nominations.c ----------------------------------------------------------------------------
 */

/* The pod is to show the node, NULL: none. */
void nomination_set(struct scheduler *scheduler, struct sched_task *task, const char *node);
/* Withdraws all writes. */
void nominations_clear(struct scheduler *scheduler);

/* ---- say.c ------------------------------------------------------------------------------------
 */

/* The decision, on the job and on those of the victims. */
void evict_say_decided(struct scheduler *scheduler, const struct sched_job *job,
                       const struct evict_victim *victims, size_t n, const char *action);
/* The same of a pod that nobody wants the room of. */
void evict_say_leaves(struct scheduler *scheduler, const struct sched_task *task,
                      const char *action);
/* So many of the loser's pods were not asked to go, and stay. */
void evict_say_spared(const struct evict_decision *decision, const struct sched_job *loser,
                      size_t n);
/* The server has taken the eviction. */
void evict_say_taken(const struct evict_call *call);
/* The decision is over and the job was not placed; `why` completes "in vain: ". */
void evict_say_vain(const struct evict_decision *decision, const char *why);
/* A victim cannot be evicted, whatever the decision was. */
void evict_say_refused(const struct evict_call *call, const char *why);

#endif
