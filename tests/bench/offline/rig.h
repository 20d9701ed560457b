/*
 * A real scheduler without a cluster: stores that are filled from JSON, a virtual clock, and a
 * transport that grants every bind and every status write a millisecond of that clock later.
 *
 * What is measured is the scheduler: it decodes, decides and renders as in production; the server
 * costs next to nothing. One thread.
 */
#ifndef PUMICE_BENCH_OFFLINE_RIG_H
#define PUMICE_BENCH_OFFLINE_RIG_H

#include "scheduler/scheduler.h"

struct rig {
    struct loop *loop;
    struct kube_transport transport;
    struct list calls;         /* not answered yet */
    struct loop_timer answers; /* answers them */
    struct window *window;
    struct store *pods, *nodes, *podgroups, *queues, *priorityclasses;
    struct scheduler *scheduler;
    struct map specs; /* "namespace/name" of a PodGroup to its spec as raw JSON, owned */
    uint64_t rv;      /* of the newest object */
    uint64_t binds;   /* granted */
    uint64_t writes;  /* other requests granted */
    uint64_t digest;  /* which pod went to which node, in any order */
    void (*on_bind)(void *arg, struct str pod); /* a bind is granted; may be NULL */
    void *on_bind_arg;
};

/* A scheduler that stands by, with lists that are under way. `conf`: the text of a
 * volcano-scheduler.conf, NULL for the built-in one. NULL and `err` when that is not valid. */
struct rig *rig_new(const char *conf, struct error *err);
void rig_free(struct rig *rig);
/* Notes the spec of a PodGroup, for the answers to its status writes. Before the lists end. */
void rig_know_group(struct rig *rig, const char *ns, const char *name, struct str spec);
/* A version for a new object. */
uint64_t rig_version(struct rig *rig);
/* The lists are complete. */
void rig_listed(struct rig *rig);

#endif
