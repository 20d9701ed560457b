/*
 * What binder.c, write.c and release.c share. Only these include it.
 */
#ifndef PUMICE_SCHEDULER_VOLUMES_BINDER_PRIVATE_H
#define PUMICE_SCHEDULER_VOLUMES_BINDER_PRIVATE_H

#include "loop/backoff.h"
#include "scheduler/volumes/binder.h"
#include "scheduler/volumes/records.h"
#include "json/writer.h"

#define READ_TIMEOUT (10 * NSEC_PER_SEC)
#define RETRY_FIRST (200 * NSEC_PER_MSEC)
#define RETRY_MOST (10 * NSEC_PER_SEC)
#define PATH_MOST 4096

struct volume_binder {
    struct volume_binder_params params;
    struct list binds, writes, releases;
    bool stopping; /* nothing is released any more */
};

struct volume_bind {
    struct list link; /* in binder->binds */
    struct volume_binder *binder;
    struct plan *plan; /* its own from the start on; the pod's until it is forgotten */
    struct node *node; /* counted */
    struct window_flow *flow;
    volume_bind_done_fn *done;
    void *arg;
    struct loop_timer deadline;
    int64_t timeout_ns;
    struct loop_deferred look;
    char *trouble; /* owned; it has failed, and ends when its writes have */
    unsigned writes;
};

/* ---- write.c ---- */

/* Tells the API server of a choice, or finds that it knows. */
void write_start(struct volume_bind *bind, struct choice *choice);
/* Why the API server has not been told of a choice yet, in words that last until it is; or NULL. */
const char *write_trouble(struct volume_binder *binder, const struct choice *choice);
/* Withdraws what the bind has not sent yet, and asks no longer what became of what it has. */
void writes_withdraw(struct volume_bind *bind);
/* Withdraws all; without a word to the binds. */
void writes_clear(struct volume_binder *binder);

/* Paths of the two kinds of objects. */
void claim_path(struct buf *path, const struct kube_meta *claim);
void volume_path(struct buf *path, const char *name);
/* Opens a merge patch and its metadata, with the guards: UID and resourceVersion. */
void patch_open(struct json_writer *writer, const struct kube_meta *meta);

/* ---- release.c ---- */

/* The volume is let go of again by the claim with that UID. */
void release_start(struct volume_binder *binder, struct volume_record *record,
                   const char *claim_uid);
void releases_clear(struct volume_binder *binder);

#endif
