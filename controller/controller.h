/*
 * struct controller: everything the controller process knows and does, on one loop thread.
 *
 * Watch events end in a dirty mark on the job they concern; a deferred pass then reconciles each
 * dirty job: a pass looks at what is stored and issues intents (create, delete, write status) to
 * the request window, whose answers come back through the stores. Nothing is written before all
 * lists are complete and this process leads. Where several controllers are active, each has some
 * shards of the jobs and of the PodGroups of pods (adopt.h), and the one that leads has the rest.
 */
#ifndef PUMICE_CONTROLLER_CONTROLLER_H
#define PUMICE_CONTROLLER_CONTROLLER_H

#include "base/map.h"
#include "controller/shards/map.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/window.h"

struct gc;
struct job;
struct podgroups;
struct podstate;
struct queues;
struct controller_parts;
struct metrics;

/* Families of metrics about jobs; NULL without a registry. */
struct job_metrics {
    struct metric *completed, *failed, *pod_latency, *shards;
    struct map ended; /* "NS/NAME\nQUEUE" of the jobs that have series, the first to end first */
};

struct controller {
    struct loop *loop;                /* borrowed, as are the next three */
    struct kube_transport *transport; /* reads */
    struct window *window;            /* writes */
    struct event_recorder *events;
    struct informers informers;
    struct store *jobs, *pods, *podgroups, *priorityclasses, *commands; /* owned by informers */
    struct store_handler on_jobs, on_pods, on_podgroups, on_priorityclasses, on_commands;
    struct map by_uid;  /* job UID -> struct job_control, owned */
    struct map by_name; /* "namespace/name" -> struct job_control of the current job, borrowed */
    struct list dirty;  /* job_control.dirty_link */
    struct map command_deletes; /* UID -> struct command_delete, owned by job/commands.c */
    struct loop_deferred pass;
    struct job_metrics job_metrics;
    struct gc *gc;                         /* owned */
    struct queues *queue_control;          /* owned */
    struct podgroups *bare_pods;           /* owned; NULL before controller_follow_pods */
    VEC(char *) selectors;                 /* owned; of the pods that it cares for */
    uint32_t creation_chunk;               /* creates of one job under way at most */
    struct loop_timer sweep;               /* when Commands for no job are looked for */
    bool sweep_due;                        /* that time has come */
    uint64_t sweep_rv;                     /* of the youngest Command that it is for */
    shard_set shards;                      /* that it has: all, or see adopt.h */
    struct window_gate gates[SHARD_COUNT]; /* closed for those that it does not have */
    struct loop_deferred drained;          /* something that it let go may be drained */
    void (*on_drained)(shard_set set, void *arg);
    void *drained_arg;
    bool sharded;                              /* shards come and go */
    bool leading;                              /* may write for jobs */
    bool jobs_off, queues_off, garbage_off;    /* see controller_set_parts */
    bool owner_annotations_off, workloads_off; /* the same */
    bool stopping;
};

/* Starts following the API server. Everything passed is borrowed. */
struct controller *controller_new(struct loop *loop, struct kube_transport *transport,
                                  struct window *window, struct event_recorder *events);
/* Parts that are off never write. Without it all are on. Before controller_follow_pods and
 * controller_set_leading. */
void controller_set_parts(struct controller *controller, const struct controller_parts *parts);
/* Counts in this registry from now on; it is borrowed, and must outlive the controller. */
void controller_set_metrics(struct controller *controller, struct metrics *metrics);
/* Makes PodGroups for the pods of this scheduler that no job of ours made. For the start: before
 * the loop runs. */
void controller_follow_pods(struct controller *controller, const char *scheduler);
/* Withdraws every request first; window, transport and recorder must still be there. */
void controller_free(struct controller *controller);

/* Leadership came or went. Without it passes wait; what they owe is done when it comes. */
void controller_set_leading(struct controller *controller, bool leading);
/* Every list is complete. */
bool controller_ready(const struct controller *controller);
/* Appends what is not yet complete; nothing means ready. */
void controller_missing(struct controller *controller, struct buf *missing);
/* See informers_watches. */
void controller_watches(const struct controller *controller, informers_watch_fn *see, void *arg);

/* ---- for adopt.c: what the stores' handlers do -------------------------------------------------
 */

void controller_see_job(struct controller *controller, struct job *old, struct job *now);
void controller_see_pod(struct controller *controller, struct podstate *old, struct podstate *now);
/* A job of one of these shards owns the pod. */
bool controller_has_pod(const struct podstate *pod, shard_set set);

#endif
