/*
 * What the parts of the extender share. See extender.h.
 */
#ifndef PUMICE_SCHEDULER_EXTENDER_PRIVATE_H
#define PUMICE_SCHEDULER_EXTENDER_PRIVATE_H

#include "scheduler/extender/extender.h"
#include "json/writer.h"

/* ---- calls: calls.c -------------------------------------------------------------------------- */

struct extender_call {
    struct list link;
    struct extender *extender;
    enum extender_verb verb;
    struct buf body;
    struct json_writer writer;  /* of `body` */
    struct extender_class *cls; /* borrowed, it stays while it has calls; NULL for none */
    const char *about;          /* interned: the node, the job's UID, the queue, or the pod */
    uint64_t mark;              /* what was asked about, for the one who asked */
    struct kube_call *sent;     /* NULL before */
    int64_t sent_ns;            /* loop time, -1 before */
};

/* A call to be filled and submitted; its body is an open object. `about` is copied. */
struct extender_call *extender_call_new(struct extender *extender, enum extender_verb verb,
                                        struct str about);
/* Closes the body, and sends the call as soon as it may. Its answer never comes at once. */
void extender_submit(struct extender_call *call);
/* Frees all calls without an answer. */
void extender_calls_clear(struct extender *extender);
/* Whether it may be asked now, */
bool extender_may_ask(struct extender *extender);
/* and when (loop time) it may when not; else past. */
int64_t extender_ask_at(const struct extender *extender);
/* Wakes the scheduler at that loop time, or sooner. */
void extender_look_at(struct extender *extender, int64_t when_ns);
int64_t extender_now(const struct extender *extender);

/* ---- waiters: calls.c ------------------------------------------------------------------------ */

/* The job is to be tried again with the next news, or at `retry_ns`. */
void extender_wait(struct extender *extender, struct extender_waiters *waiters,
                   const struct sched_job *job, int64_t retry_ns);
/* There are news. */
void extender_news(struct extender *extender, struct extender_waiters *waiters, int64_t when_ns);
/* Whether it is time to try jobs again; if not, sees to it that the time is not missed. */
bool extender_is_due(struct extender *extender, struct extender_waiters *waiters);
/* Has them tried again. */
void extender_wake(struct extender *extender, struct extender_waiters *waiters);

/* ---- what becomes of answers ----------------------------------------------------------------- */

/* Takes an answer; negative and `err` when it cannot be used, which is then a failure. */
typedef int extender_take_fn(struct extender_call *call, struct str body, struct error *err);
/* There is no answer that could be used; `why` is borrowed. */
typedef void extender_fail_fn(struct extender_call *call, const char *why);

extender_take_fn extender_take_predicate, extender_take_scores; /* opinions.c */
extender_fail_fn extender_fail_predicate, extender_fail_scores;
extender_take_fn extender_take_enqueueable, extender_take_ready,
    extender_take_overused; /* jobs.c */
extender_fail_fn extender_fail_enqueueable, extender_fail_ready, extender_fail_overused;
extender_take_fn extender_take_told;

/* Reads one number or boolean (as 0 or 1) and one text of an answer; members that are absent stay
 * as they are, a NULL name is not looked for. `text` is appended to. */
int extender_read(struct str body, const char *number_name, int64_t *number, const char *text_name,
                  struct buf *text, struct error *err);

/* ---- texts: texts.c -------------------------------------------------------------------------- */

/* Why a node may not be taken: by the server's word, or for want of it. They live as long as the
 * extender. */
const char *extender_refusal_text(struct extender *extender, struct str status);
const char *extender_failure_text(struct extender *extender, const char *why);
void extender_texts_clear(struct extender *extender);

/* ---- opinions of nodes: opinions.c, asking.c ------------------------------------------------- */

struct opinion {
    const char *node;   /* interned; the one it is of, and its key */
    const char *reason; /* why it may not be taken; NULL when it may */
    int64_t score;
    int64_t until_ns;  /* it stands until then */
    uint16_t failures; /* in a row */
    bool known;
    /* While answers are awaited: what they are to become. */
    unsigned awaited;    /* a bit for each verb */
    const char *refusal; /* or NULL */
    const char *failure; /* of a question, or NULL */
    int64_t next_score;
    uint64_t mark; /* of the question for scores */
};

/* What a look at the nodes of a table found. */
struct extender_look {
    const struct fit_table *table; /* NULL: it does not stand any more */
    uint64_t log;                  /* the cache's when it was made */
    int64_t retry_ns;              /* when others may be asked about */
    bool any;                      /* the extender keeps such pods off one that has room, */
    bool unsure;                   /* though it has not refused it */
    bool all;                      /* those in the line are all that may be asked about */
};

struct extender_class {
    uint64_t id;               /* the class's; it may be gone */
    struct map opinions;       /* struct opinion by the address of the node's name, owned */
    uint32_t open;             /* opinions of which answers are awaited, */
    uint32_t calls;            /* and calls that refer to the class */
    int64_t heard_ns;          /* loop time of the last answer, */
    int64_t used_ns;           /* and of the last need */
    int64_t expires_ns;        /* when the first opinion for a node is to be dropped */
    struct extender_look look; /* the last one */
    VEC(uint32_t) line;        /* indices of nodes to be asked about, the best last, */
    int64_t line_until_ns;     /* until this loop time */
    struct extender_waiters waiters;
};

extern const char extender_waiting[];

/* Whether it is asked about nodes for pods of the class. */
bool extender_asks(const struct extender *extender, const struct pod_class *cls);
/* The record of the class, made when it is absent. */
struct extender_class *extender_class_get(struct extender *extender, const struct pod_class *cls);
/* The opinion of the node of that name (interned), NULL when there is none; made when absent. */
struct opinion *extender_opinion_of(const struct extender_class *cls, const char *name);
struct opinion *extender_opinion_get(struct extender_class *cls, const char *name);
/* Why its node may not be taken, NULL when it may; without an opinion, extender_waiting. */
const char *extender_reason_of(const struct opinion *opinion);

/* ---- keeping: opinions.c, jobs.c ------------------------------------------------------------- */

/* Before a cycle. */
void extender_begin_classes(struct extender *extender);
/* Drops what is known of classes, jobs and queues that nobody has needed for a while. */
void extender_tidy_classes(struct extender *extender);
void extender_tidy_jobs(struct extender *extender);
void extender_classes_clear(struct extender *extender);
void extender_jobs_clear(struct extender *extender);

/* ---- bodies: bodies.c ------------------------------------------------------------------------ */

/* Each writes a member of that name, with the members of the reference's object that we keep. */
void extender_write_task(struct json_writer *writer, const char *name,
                         const struct sched_task *task);
void extender_write_node(struct json_writer *writer, const char *name,
                         const struct sched_node *node);
void extender_write_job(struct json_writer *writer, const char *name, const struct sched_job *job);
void extender_write_queue(struct json_writer *writer, const char *name,
                          const struct sched_queue *queue);
/* The node as an item of an array. */
void extender_write_node_item(struct json_writer *writer, const struct sched_node *node);

#endif
