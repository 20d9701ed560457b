/*
 * A user's own HTTP server that is asked about nodes, jobs and queues: the plugin "extender".
 *
 * Nothing waits for it. What is not known is asked while a cycle runs and used in a later one,
 * which the answer wakes; until then it counts as the worst, for those that need to know. Questions
 * about nodes (asking.c, opinions.c) are asked for a class of pods whose pods found no node, about
 * the best nodes that have room; those about jobs and queues (jobs.c) when they are to be judged.
 * What the server is only told is sent one after the other (calls.c). Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_EXTENDER_H
#define PUMICE_SCHEDULER_EXTENDER_H

#include "kube/transport.h"
#include "scheduler/scheduler.h"

/* How long an answer counts, and for how long at most while more is asked for the same pods. */
#define EXTENDER_FRESH_NS (10 * NSEC_PER_SEC)
#define EXTENDER_FRESH_MOST_NS (60 * NSEC_PER_SEC)
/* After a failure it is asked again no sooner. */
#define EXTENDER_RETRY_FIRST NSEC_PER_SEC
#define EXTENDER_RETRY_MOST (30 * NSEC_PER_SEC)
/* Calls at once, one of them for messages; and nodes that are asked about for a class of pods. */
#define EXTENDER_CALLS_MAX 32
#define EXTENDER_NODES_AT_ONCE 16
#define EXTENDER_ANSWER_MAX ((size_t)32 << 10) /* several times the longest that is of use */
/* What waits to be sent: so many questions or bodies of so many bytes, and as many messages. Then
 * nothing more is asked for a moment, and the oldest messages are dropped. */
#define EXTENDER_WAITING_MAX 4096
#define EXTENDER_WAITING_BYTES ((size_t)16 << 20)
#define EXTENDER_FULL_NS (500 * NSEC_PER_MSEC)
/* Opinions of nodes that are kept while they are out of date, if not many more are. */
#define EXTENDER_OPINIONS_MAX 500000
#define EXTENDER_WAITING "waiting for the extender"

enum extender_verb {
    EXTENDER_PREDICATE,
    EXTENDER_PRIORITIZE,
    EXTENDER_JOB_ENQUEUEABLE,
    EXTENDER_JOB_READY,
    EXTENDER_QUEUE_OVERUSED,
    EXTENDER_JOB_ENQUEUED, /* from here on it is only told */
    EXTENDER_ALLOCATE,
    EXTENDER_DEALLOCATE,
    EXTENDER_VERB_COUNT
};

struct extender_settings {
    char *url;                        /* owned; without a slash at the end */
    char *shown;                      /* owned; the same without a password */
    char *paths[EXTENDER_VERB_COUNT]; /* owned; "/predicate"; NULL: it is not asked that */
    int64_t timeout_ns;
    bool ignorable;
    VEC(uint32_t) resources; /* only pods that ask for one of these; none: all pods */
};

/* Jobs that are to be tried again once there are news. */
struct extender_waiters {
    struct map jobs;  /* "namespace/name", without values */
    int64_t retry_ns; /* or at this loop time, INT64_MAX for never */
    bool news;
};

/* Calls that wait to be sent. */
struct extender_line {
    struct list calls; /* struct extender_call, owned */
    size_t n, bytes;   /* of their bodies */
};

/* Failed calls of one verb. */
struct extender_complaints {
    int64_t logged_ns; /* loop time of the last line in the log, 0 before the first */
    uint32_t since;    /* how many there were since then */
};

struct extender_class;

struct extender {
    struct extender_settings settings;
    struct scheduler *scheduler;      /* borrowed; NULL before it is taken into use */
    struct kube_transport *transport; /* owned; NULL when there is none, */
    struct error trouble;             /* for this reason */
    struct extender_line asks, tells; /* questions and messages that wait */
    struct list sent;                 /* struct extender_call, owned */
    unsigned asked;                   /* of those that are sent: questions */
    bool telling;                     /* and a message */
    struct loop_deferred pump;
    struct loop_timer timer; /* wakes the scheduler */
    int64_t full_until_ns;   /* too many questions waited: looked at again then */
    int64_t quiet_until_ns;  /* nothing is sent before: it did not answer, */
    struct error silence;    /* for this reason */
    uint32_t failures;       /* in a row */
    struct extender_complaints complaints[EXTENDER_VERB_COUNT];
    struct map refusals, failures_seen; /* texts, each by itself, owned; kept for good */
    struct map classes;                 /* struct extender_class by the class's number, owned */
    size_t next_class;                  /* place in it of the one whose jobs are tried next */
    unsigned looks;                     /* at all nodes, in this cycle */
    uint64_t marks;                     /* given so far */
    struct map jobs;                    /* struct extender_job by UID, owned */
    struct map queues;                  /* struct extender_queue by name, owned */
    struct extender_waiters unready;    /* jobs that are to be judged ready */
    int64_t tidied_ns;                  /* loop time at which what is unused was last dropped */
};

/* Takes the settings over. Never NULL. */
struct extender *extender_new(struct extender_settings settings);
/* Withdraws all calls, and frees. */
void extender_free(struct extender *extender);
void extender_attach(struct extender *extender, struct scheduler *scheduler);
/* Before a cycle: answers that are too old are dropped, and jobs tried for which there are news. */
void extender_begin(struct extender *extender);
/* Whether pods of the class are its business. */
bool extender_manages(const struct extender *extender, const struct pod_class *cls);

/* ---- nodes: opinions.c, asking.c ------------------------------------------------------------- */

/* Why the node may not be taken as far as is known (a text that lives as long as the extender), or
 * NULL. */
const char *extender_refuses(struct extender *extender, const struct pod_class *cls,
                             const struct sched_node *node);
/* The points that it gives the node, as a score. */
int64_t extender_score(struct extender *extender, const struct pod_class *cls,
                       const struct sched_node *node);
/* The first pod of the group found no node: asks about the best ones of those that
 * extender_refuses keeps it off, as far as it may. */
enum plugin_miss extender_missed(struct extender *extender, const struct task_group *group,
                                 const struct fit_table *table);

/* ---- jobs, queues and messages: jobs.c ------------------------------------------------------- */

enum plugin_vote extender_enqueueable(struct extender *extender, const struct sched_job *job,
                                      struct buf *why);
/* When (loop time) to ask again for a job that was refused, INT64_MAX for never. */
int64_t extender_enqueue_due(const struct extender *extender, const struct sched_job *job);
bool extender_ready(struct extender *extender, const struct sched_job *job);
bool extender_overused(struct extender *extender, const struct sched_queue *queue);
void extender_tell_enqueued(struct extender *extender, const struct sched_job *job);
/* The pod has its node, or (`failed`) has it no more. */
void extender_tell_binding(struct extender *extender, const struct sched_task *task, bool failed);

#endif
