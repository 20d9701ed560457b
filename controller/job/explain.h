/*
 * Why a job does not go on: on the job itself, and an Event for each change.
 *
 * Refusals of the API server are kept as troubles until a write of that kind succeeds; the rest is
 * read off the objects. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_JOB_EXPLAIN_H
#define PUMICE_CONTROLLER_JOB_EXPLAIN_H

#include "controller/job/lifecycle.h"

/* A pod that is still there so long after its grace time is told of. */
#define STILL_TERMINATING_NS (30 * NSEC_PER_SEC)

/* Texts are borrowed from the job, the troubles or `text`. */
struct explanation {
    const char *reason, *message;
    const char *event; /* reason of the Event that goes with a change of the message; NULL: none */
    int64_t next_ns;   /* wall time at which there may be more to say; 0: none */
    char text[320];
};

/* Why the job is not further than `phase`. */
void explain(const struct job_control *control, enum job_phase phase,
             struct explanation *ret_explanation);
/* The Event's text for the explanation, owned by the caller. */
char *explain_event_text(const struct job_control *control, const struct explanation *explanation);

/* Notes a refusal. True when it is news: not what was said last, by this controller or another. */
bool trouble_set(struct job_control *control, enum job_trouble_kind kind, const char *reason,
                 const char *text);
/* It is over; the job is looked at again if there was one. */
void trouble_clear(struct job_control *control, enum job_trouble_kind kind);
/* What the job's status says of refusals holds until something else is known: for a job that is new
 * to this controller. */
void troubles_adopt(struct job_control *control);
/* For the end. */
void troubles_free(struct job_control *control);

#endif
