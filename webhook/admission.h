/*
 * From the body of a review to the body of its answer; no HTTP, no API calls.
 *
 * Thread-safe: a struct admission is set up before the pool starts and not changed afterwards but
 * for the snapshots, each of which has its own lock.
 */
#ifndef PUMICE_WEBHOOK_ADMISSION_H
#define PUMICE_WEBHOOK_ADMISSION_H

#include "webhook/registry.h"

#define ADMISSION_PATHS_MAX 16

struct admission {
    struct admission_rules rules;
    struct snapshot_cell queues;     /* of struct queue_snapshot */
    struct snapshot_cell namespaces; /* of struct namespace_snapshot */
    struct snapshot_cell pods;       /* of struct pods_config; may be empty */
    struct review_limits limits;
    bool enabled[ADMISSION_PATHS_MAX]; /* by index into admission_paths */
};

/* Everything enabled that is on by default, default rules, nothing known. */
void admission_init(struct admission *admission);
void admission_clear(struct admission *admission);
/* Enables exactly the paths of a comma-separated list. ERROR_INVALID names one that is unknown. */
int admission_enable(struct admission *admission, struct str list, struct error *err);

/* Whether a path is enabled. */
bool admission_enabled(const struct admission *admission, struct str path);

struct admission_question {
    struct str path, body;
    bool last_try; /* `wait` is no answer any more */
    bool late;     /* the client's time is up: deny without a look */
};

struct admission_answer {
    int status;       /* HTTP status; a text in `body` unless 200 */
    bool wait;        /* nothing was written: ask again when queues have changed */
    bool allowed;     /* meaningful with status 200 */
    struct buf *body; /* in: where to write */
};

void admission_answer(struct admission *admission, const struct admission_question *question,
                      struct admission_answer *answer);

#endif
