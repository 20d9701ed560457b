/*
 * Scheduler plugins: tables of function pointers, one file each under plugins/, listed in
 * plugins/plugins.h.
 *
 * The configuration makes one instance for each mention, in the order of its tiers. A plugin never
 * waits and never writes to the API server. Filter and score look at nothing but the class of a pod
 * and one node, so that their answers can be kept until that node changes; those of the queue know
 * of nothing but the queue and one node. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_PLUGIN_H
#define PUMICE_SCHEDULER_PLUGIN_H

#include "scheduler/arguments.h"
#include "scheduler/cache.h"

struct scheduler;

/* Points that the configuration can switch off; config.c has their names there. */
enum plugin_point {
    POINT_JOB_ORDER,
    POINT_QUEUE_ORDER,
    POINT_JOB_READY,
    POINT_PREDICATE,
    POINT_NODE_ORDER,
    POINT_JOB_ENQUEUED, /* whether a job may enter, and that it has */
    POINT_OVERUSED,
    POINT_ALLOCATABLE,
    POINT_HIERARCHY, /* no point: "enableHierarchy", false unless set, for the plugin itself */
    /* Points of eviction (points_evict.h). */
    POINT_TASK_ORDER,
    POINT_JOB_PIPELINED,
    POINT_JOB_STARVING,
    POINT_PREEMPTABLE,
    POINT_RECLAIMABLE,
    POINT_PREEMPTIVE,
    POINT_VICTIM,
    /* Points of network topology and subgroups, which nothing asks yet. */
    POINT_BEST_NODE,
    POINT_TARGET_JOB,
    POINT_RESERVED_NODES,
    POINT_CLUSTER_ORDER, /* false unless set */
    POINT_HYPERNODE_ORDER,
    POINT_HYPERNODE_GRADIENT,
    POINT_SUBJOB_READY,
    POINT_SUBJOB_PIPELINED,
    POINT_SUBJOB_ORDER,
    POINT_COUNT
};

/* What a plugin may know of a queue and a resource. */
enum queue_figure {
    FIGURE_DESERVED, /* what it should have when others want theirs */
    FIGURE_LIMIT,    /* what it may hold at most */
    FIGURE_ENTITLED, /* what it would deserve if it wanted as much as it may hold */
    FIGURE_COUNT
};
#define QUEUE_NO_FIGURE INT64_MIN

enum plugin_vote { VOTE_ABSTAIN, VOTE_PERMIT, VOTE_REJECT };

/* Whether a plugin has to do with it that a pod found no node. */
enum plugin_miss {
    MISS_NONE,
    MISS_KEPT_OFF, /* it cannot say whether the pod may have nodes that have room */
    MISS_ASKED     /* nor can it yet, but it has asked */
};

/* Who wants the room of running pods. */
enum eviction_kind {
    EVICT_PREEMPT,      /* a pod, that of others in its queue */
    EVICT_RECLAIM,      /* a pod, that of other queues' */
    EVICT_GANG_PREEMPT, /* a job, that of others in its queue */
    EVICT_GANG_RECLAIM, /* a job, that of other queues' */
    EVICT_KIND_COUNT
};
_Static_assert(EVICT_KIND_COUNT == JOB_TAKING_COUNT, "a job remembers each kind");

/* Between queues, rather than in one. */
static inline bool eviction_between_queues(enum eviction_kind kind)
{
    return kind == EVICT_RECLAIM || kind == EVICT_GANG_RECLAIM;
}

/* For a job, rather than for one of its pods. */
static inline bool eviction_for_job(enum eviction_kind kind)
{
    return kind == EVICT_GANG_PREEMPT || kind == EVICT_GANG_RECLAIM;
}

/* How much of their jobs the candidates are. */
enum eviction_extent {
    EVICT_SINGLE, /* pods that go each for itself */
    EVICT_PART,   /* one, of a job that might go whole: whether its queue gives a job does not count
                   */
    EVICT_WHOLE   /* all that is left of one job, which goes as a whole */
};

struct eviction {
    enum eviction_kind kind;
    enum eviction_extent extent;
    bool ranked; /* only plugins that do more than protect say whose claim is the stronger one */
    const struct cache *cache;
    const struct sched_job *job;                /* that wants it */
    const struct sched_task *task;              /* its pod; NULL for a job */
    const struct sched_task *const *candidates; /* in the order in which they would be evicted */
    size_t n;
};

/* What the tables over nodes look at themselves for a plugin, because it is not a matter of one
 * node alone: what is enforced, and the weights of scores that are set in relation to other nodes'.
 */
struct node_rules {
    bool pod_affinity, spread;
    unsigned volume_checks;       /* what of them is looked at: volumes/volumes.h */
    int64_t volume_timeout_ns;    /* of binding them, 0: the preset */
    int64_t taints_weight;        /* PreferNoSchedule */
    int64_t node_affinity_weight; /* preferred terms */
    int64_t pod_affinity_weight, spread_weight, images_weight;
};

struct plugin {
    const struct plugin_type *type;
    unsigned tier;
    bool enabled[POINT_COUNT];
    struct arguments *arguments; /* owned */
    void *state;                 /* the plugin's own */
    int64_t begin_ns;            /* what `begin` took last */
};

struct plugin_type {
    const char *name;
    /* What to tell a user who configures a plugin that does nothing in this version, else NULL. */
    const char *without_effect;
    /* Arguments that are accepted without effect, NULL at the end; may be NULL. */
    const char *const *ignored;
    /* Reads the arguments and makes `state`; may be NULL. A failure rejects the whole file: it is
     * for what cannot be passed over, not for single values of a wrong type. */
    int (*open)(struct plugin *plugin, struct error *err);
    void (*close)(struct plugin *plugin);
    /* The configuration is taken into use by `scheduler`, which outlives the plugin: for those that
     * learn something at any time. They may then have nodes looked at and jobs asked for again,
     * also between two steps of a cycle; jobs are tried again from `begin`. */
    void (*attach)(struct plugin *plugin, struct scheduler *scheduler);
    /* Before the first action of a cycle. */
    void (*begin)(struct plugin *plugin, const struct cache *cache);
    /* Which comes first: <0, 0, >0. The first plugin that is not 0 decides. */
    int (*queue_order)(const struct plugin *plugin, const struct sched_queue *a,
                       const struct sched_queue *b);
    /* Whether a turn of one queue may change the order among others, as with queues that have
     * parents. Without it only the queue whose turn it is moves. */
    bool (*order_moves)(const struct plugin *plugin);
    /* The turn of a job is over: what it and its queue hold may have changed, and queues will be
     * compared again. */
    void (*turn_over)(struct plugin *plugin, const struct sched_job *job);
    int (*job_order)(const struct plugin *plugin, const struct sched_job *a,
                     const struct sched_job *b);
    /* Whether a job may enter its queue; a rejection is explained in `why` (a sentence; one
     * that begins with "waiting for " is of another kind than the others). */
    enum plugin_vote (*job_enqueueable)(struct plugin *plugin, const struct cache *cache,
                                        const struct sched_job *job, struct buf *why);
    /* When (wall time) the answer to that changes by itself, INT64_MAX for never; may be past. */
    int64_t (*job_due)(const struct plugin *plugin, const struct sched_job *job);
    /* The job has entered. */
    void (*job_enqueued)(struct plugin *plugin, const struct sched_job *job);
    /* Whether enough of the job is placed to bind it; whether that can be at all. */
    bool (*job_ready)(const struct plugin *plugin, const struct sched_job *job);
    bool (*job_possible)(const struct plugin *plugin, const struct sched_job *job);
    /* Whether a queue has had its share: it gets nothing more in this cycle. One yes decides. */
    bool (*overused)(struct plugin *plugin, const struct cache *cache,
                     const struct sched_queue *queue);
    /*
     * Whether a queue may have one more pod of this class now; a refusal is explained in `why` (a
     * sentence naming queue, resource, needed, used, limit). All must agree. A gang is asked for
     * as a whole first, with a class of which only `request` is set. With queue->beyond what others
     * want does not count, only what the queue may have at all.
     */
    bool (*allocatable)(struct plugin *plugin, const struct cache *cache,
                        const struct sched_queue *queue, const struct pod_class *cls,
                        struct buf *why);
    /* What the queue may have of a resource by this plugin, QUEUE_NO_FIGURE when it does not say;
     * for explanations and metrics. The first plugin that says something counts. */
    int64_t (*queue_figure)(struct plugin *plugin, const struct cache *cache,
                            const struct sched_queue *queue, enum queue_figure figure, uint32_t id);
    /* Why such a pod may not run on the node whatever is free there (a constant text), or NULL. */
    const char *(*filter)(const struct plugin *plugin, const struct pod_class *cls,
                          const struct node *node);
    /* Why such a pod may not run on the node with what is used there now, though there is room (a
     * text that lives as long as the plugin), or NULL. */
    const char *(*crowded)(const struct plugin *plugin, const struct pod_class *cls,
                           const struct sched_node *node);
    /* No node was found for the first pod of a group that waits, by its table, which is up to date.
     * For plugins that may withdraw what they say in `crowded`. */
    enum plugin_miss (*missed)(struct plugin *plugin, struct cache *cache,
                               const struct task_group *group, const struct fit_table *table);
    /* A pod is about to be bound to its node, or (`failed`) that came to nothing. */
    void (*binding)(struct plugin *plugin, const struct sched_task *task, bool failed);
    /* Adds what the tables are to look at for it, as far as its points are enabled; a weight of 0
     * is not looked at. */
    void (*rules)(const struct plugin *plugin, struct node_rules *rules);
    /* How well it would fit: more is better, in millionths of the points that users give weights
     * to. */
    int64_t (*score)(const struct plugin *plugin, const struct pod_class *cls,
                     const struct sched_node *node);

    /* ---- what depends on the queue: with any of these, queues have tables of their own ---- */

    /* Why no pod of the queue may run on the node (a constant text), or NULL. */
    const char *(*queue_filter)(const struct plugin *plugin, const struct sched_queue *queue,
                                const struct sched_node *node);
    /* How well the node suits pods of the queue, as in `score`. */
    int64_t (*queue_score)(const struct plugin *plugin, const struct sched_queue *queue,
                           const struct sched_node *node);
    /* A number that differs when these two may say something else, though no node has changed. */
    uint64_t (*queue_stamp)(const struct plugin *plugin, const struct sched_queue *queue);
    /* Why a pod that asks for this may not run on the node now, for what its queue has elsewhere (a
     * constant text), or NULL. Asked at each look, of queues with `limits` alone. */
    const char *(*queue_refuse)(const struct plugin *plugin, const struct sched_queue *queue,
                                const struct resource_set *request, const struct sched_node *node);

    /* ---- eviction: points_evict.h says how the answers combine ---- */

    /*
     * Which candidates may be evicted: takes `may` from the others (all have it at first).
     * VOTE_ABSTAIN: it says nothing of evictions of this kind, and `may` does not count;
     * VOTE_REJECT: none may.
     */
    enum plugin_vote (*evictable)(struct plugin *plugin, const struct eviction *eviction,
                                  bool *may);
    /* Whether it would take `may` from every pod of that job, whichever they are, were one of them
     * the only candidate (`candidates` do not count); asked so that not each has to be. May be
     * NULL, and false when that is not quickly known or `evictable` abstains. */
    bool (*keeps_job)(struct plugin *plugin, const struct eviction *eviction,
                      const struct sched_job *job);
    /* Whom it does not let go stays, whatever tier decides. */
    bool protects;
    /* Which running pods are to go though nobody wants their room: sets `go` for them. Those of one
     * job stand together. */
    void (*victims)(struct plugin *plugin, const struct cache *cache,
                    const struct sched_task *const *tasks, size_t n, bool *go);
    /* Which of those that plugins of a tier named are to stay all the same: takes `go` from them.
     */
    void (*spare)(struct plugin *plugin, const struct cache *cache,
                  const struct sched_task *const *tasks, size_t n, bool *go);
    /* Whether the job has so little that others may be evicted for it. */
    bool (*job_starving)(const struct plugin *plugin, const struct sched_job *job);
    /* Whether enough of the job is placed, or will be once those that were evicted are gone. */
    enum plugin_vote (*job_pipelined)(const struct plugin *plugin, const struct sched_job *job);
    /* Whether a queue may have others evicted for a pod that asks for this. */
    bool (*preemptive)(struct plugin *plugin, const struct cache *cache,
                       const struct sched_queue *queue, const struct resource_set *request);
    /* Which pod of a job is placed first: <0, 0, >0. */
    int (*task_order)(const struct plugin *plugin, const struct sched_task *a,
                      const struct sched_task *b);
    /* Which queue gives its pods away first to a job of `taker`: <0, 0, >0. */
    int (*victim_queue_order)(const struct plugin *plugin, const struct sched_queue *a,
                              const struct sched_queue *b, const struct sched_queue *taker);
};

/* The plugin of that name, or NULL. */
const struct plugin_type *plugin_type_find(struct str name);
/* All names, for messages: "gang, priority, ...". */
const char *plugin_names(void);

#endif
