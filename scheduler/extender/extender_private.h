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
/* Has the jobs tried again if it is time; else sees to it that the time is not missed. */
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
