/*
 * Inside of the process frame, shared by process.c (start, leadership, stop), process_flags.c
 * (command line), process_pages.c (health and metrics) and probe.c (is the API server there).
 */
#ifndef PUMICE_OPS_PROCESS_PRIVATE_H
#define PUMICE_OPS_PROCESS_PRIVATE_H

#include "loop/backoff.h"
#include "ops/process.h"

/* Asks the API server for its version until it answers once. Embedded in the frame. */
struct probe {
    struct loop *loop;                /* borrowed */
    struct kube_transport *transport; /* borrowed */
    const char *server;               /* borrowed; for messages */
    struct kube_call *call;           /* under way, or NULL */
    struct loop_timer timer;
    struct backoff backoff;
    int64_t logged_at; /* when the last failure was logged; 0: never */
    bool reached;
    char cause[256]; /* why not reached so far; "" before the first answer */
};

/* Starts asking: at once, then with back-off from 1 s to 30 s. Failures are logged at most once a
 * minute; an API server that is too old is named once. */
void probe_start(struct probe *probe, struct loop *loop, struct kube_transport *transport,
                 const char *server);
void probe_stop(struct probe *probe);
/* Appends what readiness waits for: nothing once the API server has answered. */
void probe_missing(const struct probe *probe, struct buf *missing);

/* The families that the frame itself fills; NULL where there is nothing to count. */
struct process_metrics {
    struct metric *turns, *longest_turn;
    struct metric *limit, *inflight, *waiting, *sent, *throttled, *failed, *latency, *floor;
    struct metric *events_dropped, *leader, *staleness;
    struct metric *memory, *cpu, *fds;
};

struct process_frame {
    struct process process; /* what the application sees; the first member */
    const struct process_spec *spec;
    const char *lock_namespace; /* --lock-object-namespace, overrides lease_namespace */
    char identity[LEASE_IDENTITY_MAX];
    struct probe probe;
    struct process_metrics metrics;
    struct loop_deferred lead_at_once; /* without election the application leads from the start */
    struct loop_timer kick;            /* asks the fence again */
    struct loop_timer deadline;        /* of the step of the stop that is under way */
    struct loop_deferred drained;      /* nothing that we wrote is in flight any more */
    int64_t margin_ns;                 /* what a write may take at most while we lead */
    bool leading;
    bool stopping, draining, releasing; /* steps of the stop */
    int exit_code;
};

/* process_flags.c: fills process.options. 0: go on; 1: done, exit with 0 (--help, --version);
 * -1 with `err`. */
int process_parse_flags(struct process_frame *frame, int argc, char **argv, struct error *err);

/* process_pages.c: servers, pages and metrics families. */
int process_open_pages(struct process_frame *frame, struct error *err);
void process_close_pages(struct process_frame *frame);

#endif
