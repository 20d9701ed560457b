/*
 * struct scheduler: cache, cycle, binds and status writes of one scheduler process.
 *
 * Stores feed the cache through handlers; while a cycle runs their changes queue until it ends. A
 * cycle starts when something changed that could matter, a few milliseconds later, never by the
 * clock alone. A standby keeps the cache warm, decides nothing and writes nothing. Loop thread
 * only.
 */
#ifndef PUMICE_SCHEDULER_SCHEDULER_H
#define PUMICE_SCHEDULER_SCHEDULER_H

#include "kube/events.h"
#include "ops/metrics.h"
#include "scheduler/config.h"
#include "scheduler/evict/losses.h"

struct scheduler_params {
    struct loop *loop; /* all borrowed */
    struct kube_transport *transport;
    struct window *window;
    struct event_recorder *events; /* NULL: no events */
    struct metrics *metrics;       /* NULL: none */
    struct store *pods, *nodes, *podgroups, *queues, *priorityclasses;
    struct store *namespaces; /* NULL: their labels are not known */
    /* All four or none: then claims are not found, and nothing is bound before pods are. */
    struct store *claims, *persistent_volumes, *storageclasses, *csinodes;
    struct store *resourcequotas; /* NULL: they are not followed; see scheduler_follow_quotas */
    struct store *budgets;        /* PodDisruptionBudgets, likewise; see scheduler_follow_budgets */
    const char *const *names;     /* schedulerName values that are ours; borrowed for good */
    size_t name_count;
    const char *default_queue;        /* borrowed for good */
    const char *const *node_selector; /* "key:value"; any one admits a node; none: all nodes */
    size_t node_selector_count;
    struct sched_config *config; /* taken over */
    /* A transport to some HTTP server, for plugins; taken over by the caller. NULL and `err` when
     * there is none. May be NULL. */
    struct kube_transport *(*connect)(void *arg, const char *url, struct error *err);
    void *connect_arg;
};

enum change_kind {
    CHANGE_NODE,
    CHANGE_POD,
    CHANGE_PODGROUP,
    CHANGE_QUEUE,
    CHANGE_PRIORITIES,
    CHANGE_NAMESPACE,
    CHANGE_CLAIM,
    CHANGE_VOLUME,
    CHANGE_STORAGECLASS,
    CHANGE_CSINODE,
    CHANGE_QUOTA,
    CHANGE_QUOTAS_KNOWN, /* the list of quotas is complete */
    CHANGE_BUDGET,
    CHANGE_BUDGETS_KNOWN, /* likewise */
    CHANGE_JOB,           /* its timer fired */
    CHANGE_BOUND,         /* a bind took effect */
    CHANGE_UNBOUND,       /* a bind had no effect, nobody's fault: try again at once */
    CHANGE_BIND_FAILED,   /* a bind was refused */
    CHANGE_SPARED         /* a pod that was asked to go stays */
};

struct change {
    enum change_kind kind;
    void *object;         /* struct node or struct pod, counted; NULL: gone, or of another kind */
    const char *ns, *key; /* interned: namespace and name, or the UID in `key` */
};

enum cycle_stage {
    CYCLE_IDLE,
    CYCLE_ACTIONS,
    CYCLE_STATUS,  /* statuses of the jobs that changed */
    CYCLE_CHANGES, /* what came in meanwhile */
};

struct cycle {
    enum cycle_stage stage;
    uint64_t number;
    size_t action; /* index into the configuration's actions */
    void *state;   /* of the action, once begun */
    bool begun;
    uint64_t chances;        /* cache_chances at the beginning */
    int64_t cost_ns;         /* time spent in slices so far, */
    int64_t action_ns;       /* and in the action under way before `mark_ns`: */
    int64_t mark_ns;         /* when it or the slice began */
    int64_t not_before_ns;   /* the next cycle */
    bool wanted;             /* something changed since it began */
    struct loop_timer timer; /* the next slice or cycle */
    char id[33];             /* random, for conditions */
    uint64_t attempts;       /* numbers attempts to place a job */
    int64_t planned_ns;      /* loop time of the last plan for a reservation, or 0 */
};

struct sched_metrics;

struct scheduler {
    struct scheduler_params params; /* without `config` */
    struct cache cache;
    struct sched_config *config;      /* owned */
    struct sched_config *next_config; /* owned; from the next cycle on, or NULL */
    struct cycle cycle;
    struct store_handler handlers[10], quota_handler, budget_handler;
    VEC(struct change) changes; /* while a cycle runs */
    size_t changes_done;
    struct list binds;                   /* bind calls that are not over */
    struct volume_binder *volume_binder; /* owned; NULL when volumes are not followed */
    struct list decisions;               /* to evict (evict/evictor.h) */
    struct list strays;                  /* evictions that nobody waits for */
    struct evict_losses losses;          /* who gave room to whom */
    struct map evictions;                /* all, by the UID of the pod */
    struct map nominations;              /* writes of places that pods are to have, likewise */
    struct list tellers;                 /* writes of pod conditions under way */
    uint32_t teller_count;
    struct list telling;          /* jobs whose pods are to be told why they wait */
    struct list tell_later;       /* jobs whose pods have been told something else just now */
    struct loop_timer tell_timer; /* the first of them */
    struct list makers;           /* creations of queues under way */
    struct loop_timer queue_timer;
    struct list tallies; /* writes of what queues hold under way */
    struct loop_timer tally_timer;
    struct loop_deferred synced;
    struct sched_metrics *metrics; /* owned */
    struct prospects *prospects;   /* owned */
    bool ready;                    /* all lists are complete */
    bool leading, stopping;
    loop_fn *stopped; /* when drained */
    void *stopped_arg;
};

/* Never NULL. */
struct scheduler *scheduler_new(const struct scheduler_params *params);
void scheduler_free(struct scheduler *scheduler);
/* Leadership came or went. */
void scheduler_lead(struct scheduler *scheduler, bool leading);
/* Follows ResourceQuotas, too, from now on; harmless when it does. Before the first cycle it waits
 * for their list as for all others; later, jobs that ask to enter do, where a plugin asks. */
void scheduler_follow_quotas(struct scheduler *scheduler, struct store *resourcequotas);
/* The same for PodDisruptionBudgets; until their list is there nobody is evicted whom they might
 * protect. */
void scheduler_follow_budgets(struct scheduler *scheduler, struct store *budgets);
/* Takes effect with the next cycle; taken over. */
void scheduler_set_config(struct scheduler *scheduler, struct sched_config *config);
/* Starts no more cycles; calls `stopped` once every bind under way is over. */
void scheduler_stop(struct scheduler *scheduler, loop_fn *stopped, void *arg);

/* ---- for its parts ----------------------------------------------------------------------------
 */

/* Applies a change now or, while a cycle runs, at its end. Takes over the references in it. */
void scheduler_change(struct scheduler *scheduler, struct change change);
/* Something happened that a cycle should look at. */
void scheduler_wake(struct scheduler *scheduler);
/* Tells the waiting stop when all binds are over. */
void scheduler_check_stopped(struct scheduler *scheduler);

#endif
