/*
 * What every binary of ours has: flags, logging, loop, API client, health and metrics pages,
 * orderly shutdown. A main() describes itself in a struct process_spec and calls process_main.
 *
 * Health: /healthz is "ok" while the loop turns; /readyz names what is missing ("waiting for the
 * list of pods") with 503 until `ready` says nothing is. /metrics is in Prometheus text format.
 */
#ifndef PUMICE_OPS_PROCESS_H
#define PUMICE_OPS_PROCESS_H

#include "kube/events.h"
#include "kube/informer.h"
#include "kube/lease.h"
#include "ops/flags.h"
#include "ops/http.h"
#include "ops/metrics.h"

/* Common flags: kubeconfig, master, kube-api-qps/burst, enable-healthz, healthz-address,
 * enable-metrics, listen-address, leader-elect*, v, version, and klog's, accepted and ignored. */
struct process_options {
    const char *kubeconfig, *master;
    double kube_api_qps, kube_api_burst; /* 0: unlimited */
    int64_t max_inflight;                /* --max-inflight, 0: default */
    int64_t fixed_inflight;              /* --fixed-inflight, 0: the window adapts */
    bool enable_healthz, enable_metrics;
    const char *healthz_address, *listen_address;
    bool leader_elect;
    const char *lease_namespace, *lease_name;
    int64_t lease_duration_ns, lease_renew_deadline_ns, lease_retry_period_ns;
    int64_t verbosity;
    bool version, help;
};

struct process {
    struct process_options options;
    struct loop *loop;
    struct kube_config config;
    struct kube_transport *transport;
    struct window *window;
    struct lease_config lease_config; /* of the Lease; nothing without --leader-elect */
    struct lease *lease;              /* NULL without --leader-elect, and before the loop runs */
    struct event_recorder *events;
    struct metrics *metrics;
    struct ops_http *health, *pages; /* NULL when not enabled; one server when addresses agree */
    void *app;                       /* what `start` returned */
};

struct process_spec {
    const char *name;         /* "pumice-scheduler": program name and user agent */
    const char *component;    /* event source, for example "volcano" */
    const struct flag *flags; /* the binary's own flags, NULL-named end */
    struct process_options defaults;
    bool no_window;          /* the webhook: no window, lease or events */
    unsigned latency_leaves; /* of struct window_config */
    int64_t gather_ns;       /* see loop_set_gather */
    /* Builds the application once the client exists; NULL and `err` end the process with 1. */
    void *(*start)(struct process *process, struct error *err);
    /* What is still missing for readiness, appended; nothing appended means ready. */
    void (*ready)(void *app, struct buf *missing);
    /* Hands informers_watches of all that the application follows on; NULL: it follows nothing. */
    void (*watches)(void *app, informers_watch_fn *see, void *arg);
    /* Leadership came or went; NULL for those that have none. Without --leader-elect it comes with
     * the first turn. A lost lease ends the process after this call (exit 1), so that a fresh one
     * starts clean. */
    void (*leading)(void *app, bool leading);
    /* Adds to what the Lease is to be, just before it is asked for; may be NULL. */
    void (*elect)(void *app, struct lease_config *config);
    /* Whether a write may start that takes no longer than this; NULL: while the Lease is held. */
    bool (*may_write)(void *app, int64_t margin_ns);
    /* Begins an orderly stop; calls process_stopped when drained (30 s at most). NULL: at once. */
    void (*stop)(void *app, struct process *process);
    void (*free)(void *app);
};

/* Returns the exit code. */
int process_main(const struct process_spec *spec, int argc, char **argv);
/* See process_spec.stop. */
void process_stopped(struct process *process);
/* Something was lost that this process cannot go on without: it ends with 1, at once. */
void process_fail(struct process *process);

#endif
