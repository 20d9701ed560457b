/*
 * struct job_control: what the controller holds about one job, by UID.
 *
 * An entry exists while the job or any of its pods or requests does. Pods that are seen before
 * their job (or after it) are only remembered: nothing is created or deleted without the job.
 * Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_JOB_CONTROL_H
#define PUMICE_CONTROLLER_JOB_CONTROL_H

#include "api/command.h"
#include "api/job.h"
#include "api/podgroup.h"
#include "api/podstate.h"
#include "base/ranges.h"
#include "controller/controller.h"
#include "controller/job/phase.h"
#include "controller/job/template.h"
#include "loop/backoff.h"

/* For so many seconds a server that answers 429 is waited for before the job says so. */
#define JOB_PATIENCE_S 5
/* See job_control_mark. */
#define RESTS_FROM_PODS 2000
#define REST_OF_POD (NSEC_PER_SEC / 1000000)

struct pod_create;
struct job_objects;

/* The place of one pod: index i of a task. */
struct pod_slot {
    struct podstate *pod;      /* borrowed from the store; NULL: none known */
    struct pod_create *create; /* under way or in doubt; NULL: none */
};

struct task_control {
    const char *name;       /* interned */
    struct pod_slot *slots; /* owned, `size` of them: one a replica */
    uint32_t size;
    uint32_t vacant;           /* slots with neither pod nor create, and not finished */
    uint32_t cursor;           /* no vacant slot below */
    uint32_t next;             /* above `cursor`: creates go on here first, see fill.c */
    struct task_counts counts; /* of the pods in slots, and of finished indices without one */
    uint32_t unbound;          /* pods in slots that wait for a node */
    int32_t old;               /* pods in slots of a version before the job's, */
    int32_t disrupted;         /* and those that an eviction made Failed (eviction.h) */
    int64_t failing_ns;        /* wall time since when its containers restart too often, 0: not */
    bool held;                 /* waits for other tasks: see depends.h */
    bool released;             /* waits no more, in this run of the job */
    struct ranges finished;    /* indices that succeeded, whatever became of their pods */
    struct ranges restart;     /* indices whose pods of before `restart_retry` go */
    int32_t restart_retry;
    struct pod_template *compiled; /* owned; NULL until needed */
};

/* What the status is to say after the next write. */
struct job_decision {
    enum job_phase phase;
    int32_t version, retry_count;
    int32_t spared;                /* of retry_count: restarts that evictions caused */
    enum job_action action;        /* taken with this write; JOB_ACTION_NONE: none */
    enum job_kill kill;            /* with an action */
    const struct command *command; /* obeyed with this write, or NULL; borrowed */
    bool targeted;                 /* the action is about `target` of task `task` */
    uint32_t task;
    struct range target;
    char cause[160]; /* why, in words; "" without an action */
};

/* A status write under way. */
struct job_sent {
    struct job_decision decision; /* without its command */
    bool by_command;
    enum job_phase from;
    uint64_t rv;       /* resourceVersion that it was decided on */
    const char *event; /* reason of an Event to record with it, a constant */
    char *event_text;  /* owned; NULL: none */
};

/* Delayed actions that were told of in this run of the job. */
struct job_told {
    int32_t version, retry_count;
    uint32_t n;
    struct {
        enum job_action action;
        int64_t timeout_ns;
    } items[8];
};

/* Evictions of one job that wait for their policy at most. */
#define EVICTIONS_MAX 4096

/* A pod that went without having ended and without our doing. */
struct job_eviction {
    uint32_t task, index;
    int32_t version, retry_count; /* of the job, when the pod was made */
    const char *pod;              /* interned name */
    int64_t at_ns;                /* wall time */
};

/* Why the API server refuses what the job needs. */
enum job_trouble_kind { JOB_TROUBLE_GROUP, JOB_TROUBLE_OBJECT, JOB_TROUBLE_POD, JOB_TROUBLE_COUNT };

struct job_trouble {
    const char *reason; /* a constant, as in Events */
    char *text;         /* owned; NULL: none */
};

/* A write of the job's PodGroup or status: at most one of each is under way. */
struct single_write {
    struct window_request *request; /* NULL: none under way */
    struct kube_call *lookup;       /* GET that settles a doubt, NULL without */
    struct loop_timer timer;        /* when to try or write again */
    struct backoff backoff;
};

/* Whether the job is still there: see alive.h. */
struct job_alive {
    bool unread;              /* it was taken over, and was not read since */
    bool doubt;               /* something that it had is gone */
    bool sure;                /* it was there just now: good for one pass */
    struct kube_call *lookup; /* GET of the job, NULL: none under way */
    struct loop_timer retry;  /* before the next GET */
    struct backoff backoff;
};

struct job_control {
    struct controller *controller;
    struct list dirty_link;
    bool dirty;
    const char *uid, *ns, *name; /* interned */
    uint8_t shard;               /* of ns and name */
    struct job *job;             /* borrowed from the store; NULL: not known (yet, or any more) */
    struct podgroup *podgroup;   /* borrowed from the store; NULL: none */
    struct task_control *tasks;  /* owned, one a task of the job */
    uint32_t task_count;
    VEC(struct podstate *) strays; /* pods outside the slots: surplus, or task unknown */
    int32_t restart_version;       /* pods of an older version go, ended or not; 0: none */
    int32_t spared;                /* of status.retryCount: restarts that evictions caused */
    VEC(struct job_eviction) evictions;
    struct command_list commands; /* borrowed from the store, oldest first */
    struct map own_deletes;       /* UIDs of pods that we deleted and that are still there */
    struct map ended_first;       /* UIDs of pods that had ended before they were deleted */
    struct loop_timer due;        /* when the next policy with a timeout acts */
    int64_t group_unknown_ns;     /* wall time since when the PodGroup is Unknown, 0: not */
    int32_t seen_version, seen_retry_count; /* of the job, when slots were laid out */
    struct list creates;                    /* struct pod_create.link */
    uint32_t create_count;                  /* of them */
    uint32_t first_task;                    /* whose pods are created first, see fill.c */
    uint32_t lost;          /* creates without effect or refusal since the last that went through */
    struct map deletes;     /* pod UID -> struct pod_delete under way */
    struct loop_timer rest; /* active: marked, and the next pass comes then */
    int64_t rests_until_ns; /* loop time; a large job has no pass before */
    struct backoff delete_backoff; /* grows while deletes are refused */
    struct loop_timer delete_hold; /* active: none before it fires */
    struct window_flow flow;
    resource_list min_resources; /* cached; what the gang needs at its minimum */
    bool min_resources_known;

    struct backoff create_backoff; /* grows while creates are refused */
    struct loop_timer hold;        /* active: no creates before it fires */
    bool probing;                  /* after a refusal: one create at a time until one succeeds */
    struct job_trouble troubles[JOB_TROUBLE_COUNT];
    bool as_placed;  /* beyond the minimum pods are created as those before get nodes */
    bool names_held; /* pods of an earlier job have names that we need */
    bool doomed;     /* a refusal that can never heal: the job fails */

    struct job_alive alive;
    struct job_objects *objects;      /* owned by objects.c; NULL: not looked at */
    struct single_write group_write;  /* PodGroup create or patch */
    struct single_write group_delete; /* PodGroup delete */
    struct single_write status_write;
    struct job_sent sent;            /* by the last status write */
    struct backoff status_conflicts; /* in a row */
    struct job_told told;
    int64_t status_written_ns; /* loop_now() of the last status write, 0 before */
};

/* That of its shard: everything that is written for the job goes through it. */
static inline struct window_gate *job_gate(const struct job_control *control)
{
    return &control->controller->gates[control->shard];
}

/* The entry of a job UID, made when absent. */
struct job_control *job_control_get(struct controller *controller, const char *uid, const char *ns,
                                    const char *name);
/* Frees the entry if nothing is left to it. */
void job_control_release(struct job_control *control);
/* Withdraws its requests and frees it; for shutdown. */
void job_control_free(struct job_control *control);

/* Marks it for the next pass; without leadership only what can be freed is looked at. While a pass
 * may look at all pods of a job, and those of a large one change all the time (it is aborted, say),
 * the passes of a job of at least RESTS_FROM_PODS have REST_OF_POD between them for each pod. */
void job_control_mark(struct job_control *control);
/* A pass of the job is over. */
void job_control_passed(struct job_control *control);

/* The job is new, changed or (NULL) gone. */
void job_control_set_job(struct job_control *control, struct job *job, bool spec_changed);
/* A pod of this job was added (old NULL), changed, or removed (now NULL). */
void job_control_set_pod(struct job_control *control, struct podstate *old, struct podstate *now);

/* Reads what the job's status says of restarts under way (memory.c). */
void job_control_read_restarts(struct job_control *control);
/* Adds the finished indices that the status names; returns whether any is new to the task. */
bool job_control_read_finished(struct job_control *control, uint32_t task, struct ranges *set);

/* The slot of a task's pod, NULL when the job has no such replica. */
struct pod_slot *job_control_slot(struct job_control *control, const char *task, int32_t index,
                                  struct task_control **ret_task);
/* Attaches or detaches a create, keeping `vacant` and `cursor` right. */
void job_control_set_create(struct job_control *control, const char *task, uint32_t index,
                            struct pod_create *create);
/* Pods in slots plus pods being created. */
uint32_t job_control_present(const struct job_control *control);

/* One reconcile pass: see reconcile.c. */
void job_reconcile(struct job_control *control);

/* An Event on the job. */
void job_event(struct job_control *control, enum event_type type, const char *reason,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

void single_write_init(struct single_write *write, loop_fn *fn, struct job_control *control);
/* Withdraws whatever is under way. */
void single_write_cancel(struct job_control *control, struct single_write *write);
/* True while a request, a look-up or a wait is under way. */
bool single_write_busy(const struct single_write *write);
/* Waits by back-off, then calls the timer's function. */
void single_write_retry(struct job_control *control, struct single_write *write);
/* The same after an answer, whose Retry-After is kept. */
void single_write_refused(struct job_control *control, struct single_write *write,
                          const struct kube_result *result);

/* The patience of a request that was refused so often before: what is told needs only back-off. */
static inline uint8_t job_patience(uint32_t failures)
{
    return failures > 0 ? 1 : JOB_PATIENCE_S;
}

/* A back-off's next delay, or the answer's Retry-After if longer; about a minute at most. */
int64_t job_retry_delay(struct job_control *control, struct backoff *backoff,
                        const struct kube_result *result);

#endif
