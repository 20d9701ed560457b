/*
 * The scheduler's cache: nodes with what is used of them, jobs (PodGroups with their pods), queues.
 *
 * Kept incrementally and keyed by UID; it holds references to the pods and nodes it works on, so
 * that stores may move on while a cycle runs. A pod is charged to its node from the moment we
 * decide to bind it (or see it bound) until it has finished or is gone, whatever its scheduler; a
 * node that is not known yet keeps the charge for when it appears. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_CACHE_H
#define PUMICE_SCHEDULER_CACHE_H

#include "api/minavailable.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/poddisruptionbudget.h"
#include "api/podgroup.h"
#include "api/preemptable.h"
#include "api/priorityclass.h"
#include "api/queue.h"
#include "api/resourcequota.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/vec.h"
#include "kube/window.h"

struct sched_job;
struct sched_node;
struct fit_table;
struct census_class;
struct reservation;
struct evict_decision;
struct node_hold;
struct prospects;

/* container_of for a pointer to const. */
#define const_container_of(pointer, type, member)                                                  \
    ((const type *)(const void *)((const char *)(pointer) - offsetof(type, member)))

/* ---- pods ------------------------------------------------------------------------------------
 */

enum task_status {
    TASK_PENDING,   /* waits for a node */
    TASK_HELD,      /* waits for the end of its back-off after a failed bind */
    TASK_GATED,     /* has scheduling gates */
    TASK_ALLOCATED, /* has a node in a statement that is neither committed nor undone */
    TASK_BINDING,   /* its bind is under way, or in doubt */
    TASK_BOUND,
    TASK_RUNNING,
    TASK_RELEASING, /* terminating on its node */
    TASK_UNKNOWN,   /* on a node that is not heard of */
    TASK_SUCCEEDED,
    TASK_FAILED,
    TASK_LEAVING, /* terminating without a node */
    TASK_STATUS_COUNT
};

struct sched_task {
    struct pod *pod;          /* counted */
    struct sched_job *job;    /* borrowed; NULL for pods of others */
    struct task_group *group; /* borrowed; NULL without a job */
    struct sched_node *node;  /* borrowed; charged to it, NULL when charged to none */
    struct list link;         /* in the job's tasks */
    struct list placed;       /* among those on nodes that have its labels (census.h) */
    struct heap_node waiting; /* in the group's heap while TASK_PENDING */
    int64_t held_until_ns;    /* while TASK_HELD */
    int64_t told_ns;          /* loop time of the last write of that condition */
    uint32_t told;            /* mark of the reason its condition shows, 0 for none (teller.c) */
    uint32_t told_event;      /* mark of the reason its last event named */
    uint16_t bind_failures;   /* in a row */
    bool evicting; /* asked to go by us: TASK_RELEASING, though the pod may not show it */
    enum task_status status;
};

/* A task of the job: what the PodGroup calls a task member. */
struct task_role {
    const char *name; /* interned */
    int32_t min;
    uint32_t have;    /* allocated, binding, bound, running or succeeded */
    uint32_t waiting; /* pending or held */
    uint32_t going;   /* of those that somebody thinks of evicting; 0 but while that is counted */
};

/* Pods of a job that are alike in role, class, labels and priority. */
struct task_group {
    struct sched_job *job;    /* borrowed */
    uint32_t role;            /* index into the job's roles */
    struct pod_class *cls;    /* counted */
    struct label_set *labels; /* counted */
    int32_t priority;
    struct heap pending; /* tasks, lowest ordinal first */
    uint32_t tasks;      /* of any status */
    uint32_t placed;     /* allocated, binding, bound or running */
    uint64_t failed;     /* number of the attempt in which no node was found */
};

/* ---- jobs ------------------------------------------------------------------------------------
 */

enum job_phase { JOB_PENDING, JOB_INQUEUE, JOB_RUNNING, JOB_UNKNOWN, JOB_COMPLETED };

enum why_kind {
    WHY_NONE,
    WHY_QUEUE,     /* the queue is absent or closed */
    WHY_ADMISSION, /* a plugin refused to admit it */
    WHY_PODS,      /* fewer pods than the minimum exist */
    WHY_SHARE,     /* the queue has had its share, or may not hold as much as they ask for */
    WHY_NODES,     /* the pods do not fit */
    WHY_BINDS,     /* the API server refuses binds of its pods */
    WHY_TIMEOUT    /* it waited for so long that it had to leave its queue for a while */
};

/* Why a job waits. */
struct job_why {
    enum why_kind kind;
    uint64_t signature;    /* of the kind of reason, without its numbers; 0 with WHY_NONE */
    char *text;            /* owned; a sentence, NULL with WHY_NONE */
    int64_t since_ns;      /* loop time since when we know it to wait for some reason */
    int64_t since_wall_ns; /* the same as the text says it: from the PodGroup after a restart */
    int64_t made_ns;       /* loop time of the text */
    bool passed_over; /* a reason of the same kind came while the text was too young to replace */
};

/* How long a gang waits in its queue; see waiting.h. Times are of the loop. */
struct job_wait {
    int64_t limit_ns;  /* by its annotation: 0 without one, INT64_MAX for ever */
    bool counts;       /* it is in its queue and has not started, */
    int64_t since_ns;  /* since then */
    uint32_t timeouts; /* since it last had its minimum */
    int64_t again_ns;  /* when it may enter again, once there were any */
};

enum minimum_trouble {
    MINIMUM_SOUND,
    MINIMUM_UNREADABLE, /* the annotation is neither a count nor a percentage */
    MINIMUM_NOT_USED    /* spec.minMember says something else */
};

/* How often nobody could be evicted for a job, in a row, and how things were then; see
 * actions/taking.h. */
struct job_taking {
    uint64_t state;   /* as in taking.c, when it was in vain */
    int64_t again_ns; /* loop time before which it is not looked at again */
    int64_t due_ns;   /* loop time at which it is, though nothing has changed */
    uint16_t vain;
    uint8_t outcome; /* enum evict_outcome of evict/plan.h, the last time */
};

/* By kind of eviction; plugin.h names them. */
#define JOB_TAKING_COUNT 4

/* What its annotation says of the minimum; see minimum.h. */
struct job_minimum {
    struct min_available given; /* as far as it counts; both 0 where it does not */
    bool settling;              /* pods of a percentage are still coming: not to be placed yet */
    enum minimum_trouble trouble;
    bool told; /* of the trouble */
};

/* What the PodGroup's status says, or is to say. */
struct job_status {
    enum job_phase phase;
    int32_t running, succeeded, failed;
    const char *condition; /* type of the one condition: constant, "" for none */
    const char *reason;    /* interned, "" for none */
    char *message;         /* owned */
    int64_t transition_ns; /* wall time */
    int64_t holds_ns;      /* wall time, whole seconds: since when it holds nodes, 0: it does not */
};

/* A namespace with jobs, quotas or budgets. */
struct sched_namespace {
    const char *name;                          /* interned */
    VEC(struct resourcequota *) quotas;        /* counted */
    VEC(struct poddisruptionbudget *) budgets; /* counted */
    uint32_t jobs;                             /* in the cache */
    uint64_t chances;                          /* grows when its quotas may allow a job more */
    int64_t arrival_ns; /* loop time of the last new pod of a job while there are quotas, or 0 */
};

struct sched_job {
    struct cache *cache;           /* borrowed; the one it is in */
    const char *ns, *name;         /* interned */
    struct sched_namespace *space; /* borrowed */
    const char *uid;               /* interned; the PodGroup's, NULL while there is none */
    uint64_t sequence;             /* order of arrival */
    int64_t created_ns;
    int64_t sla_ns;     /* how long it is to wait at most, by its annotation; 0 without one */
    int32_t min_member; /* how many start together, whoever says so */
    struct job_minimum minimum;
    int32_t priority;
    const char *priority_class;   /* interned; NULL without a PodGroup */
    enum preemptable preemptable; /* as its PodGroup says */
    struct sched_queue *queue;    /* borrowed; NULL without a PodGroup */
    struct resource_set min_resources;
    bool has_min_resources;
    struct resource_set allocated; /* requests of pods that have a node and are alive */
    struct resource_set pending;   /* requests of pods that are pending or held */
    struct resource_set gated;     /* requests of pods that others' scheduling gates hold back */
    struct resource_set inqueue;   /* its share in the sum of its queue; likewise */
    struct resource_set elastic;
    bool roles_enforced; /* minMember covers the sum of the role minimums */

    VEC(struct task_role) roles;
    VEC(struct task_group *) groups; /* owned; by priority, then role, then class */
    struct list tasks;
    uint32_t count[TASK_STATUS_COUNT];
    uint32_t going;                  /* like that of a role */
    uint32_t task_count, most_tasks; /* now; at any time */
    int64_t last_arrival_ns;         /* loop time of admission or of the newest pod */

    enum job_phase phase; /* as decided here */
    struct job_why why;
    struct job_wait wait;
    bool tried;          /* its pods were tried and did not fit since the last change */
    bool dirty;          /* in cache->dirty */
    bool claim_ended;    /* no pod came for so long that its claim has run out */
    bool owned_by_job;   /* its PodGroup is a Job's, whose end takes it away */
    bool share_refused;  /* its queue could not have had what it asked for when it last failed */
    uint64_t failed_at;  /* cache->room when it last failed, or cache_chances after share_refused;
                            UINT64_MAX: try again */
    uint64_t refused_at; /* job_chances when it was last refused; likewise */
    int64_t attempt_ns;  /* loop time of the last attempt to place its pods, 0 before the first */
    uint32_t attempts;   /* so far */
    int64_t placed_ns;   /* wall time at which a pod was given a node last, 0: none was yet */

    struct reservation *reservation; /* owned; what it holds on nodes (holds.h), or NULL */
    int64_t short_ns;      /* loop time since when it lacks nodes for its minimum, 0: it does not */
    int64_t reserve_ns;    /* it may hold no nodes before this loop time */
    uint16_t reserve_ends; /* reservations in a row that ended without its being placed */
    struct evict_decision *decision; /* others are evicted for it (evict/evictor.h), or NULL */
    int64_t evict_ns;                /* nobody may be evicted for it before this loop time */
    int64_t ahead_ns;       /* no volume is to be made ahead of its pods before this loop time */
    uint16_t evict_ends;    /* decisions in a row that ended without its being placed */
    bool never_fits;        /* when last looked at it would not have fitted the emptied cluster, */
    uint32_t never_version; /* with cache->versions as it was */

    struct job_taking taking[JOB_TAKING_COUNT];

    struct list admit;      /* in cache->admit while its phase is Pending */
    struct list place;      /* in cache->place while pods wait and it is admitted */
    struct list dirty_link; /* in cache->dirty */
    struct list telling;    /* in the scheduler's list of jobs whose pods are to be told */
    struct heap_node order; /* in a cycle's heap */

    struct job_status shown;        /* what the API server has */
    struct window_request *request; /* the status write under way */
    struct job_status sent;         /* what that write says */
    const char *sent_uid;           /* interned; of the PodGroup it is for, NULL: none was sent */
    int64_t retry_ns;               /* no status write before this loop time */
    uint64_t sent_rv;               /* the version that the last status write was about */
    bool conflicts;                 /* that one was not the last: others have written */
    uint16_t write_failures;        /* in a row */
    int64_t message_ns;             /* loop time of the last write of a message */
    int64_t counts_since_ns;  /* loop time since when counts differ or a reason has gone, or 0 */
    uint64_t event_signature; /* of the last event about waiting */
    int64_t tell_ns;          /* loop time at which its pods may be told again, 0: not waited for */
    struct loop_timer timer;  /* when to look again */
    struct window_flow flow;  /* its binds and status writes */
    uint32_t binds;           /* bind calls that are not over */
};

/* What pods of a queue may ask for on the nodes of one group (group_limits.h). */
struct group_limit {
    const char *group;        /* interned */
    struct resource_set most; /* what is not in it is not limited */
    struct resource_set used; /* what pods of the queue ask for that are charged to nodes there, */
    struct resource_set held; /* and what is held there for jobs of the queue (holds.h) */
};

/* Why a queue that names a parent has none. */
enum queue_trouble { QUEUE_SOUND, QUEUE_PARENT_ABSENT, QUEUE_IN_CYCLE };

struct sched_queue {
    const char *name; /* interned */
    const char *uid;  /* interned; NULL while it does not exist */
    int64_t created_ns;
    int32_t weight, priority;
    bool open, reclaimable;
    uint32_t jobs;  /* PodGroups in it */
    uint32_t index; /* its place in tables of queues; given again once it is freed */

    /*
     * From its spec. An amount that is not in a set was not given; `capability` may hold amounts of
     * 0, but not of cpu and memory, where 0 is the same as none. Where root does not exist, queues
     * of the first level have no parent and no trouble that anybody minds.
     */
    const char *parent_name;    /* interned; "root" unless given, "" for root and absent queues */
    struct sched_queue *parent; /* borrowed; NULL: root, or its parent is absent or below itself */
    uint32_t children;          /* queues that name it as their parent, whether it exists or not */
    struct resource_set capability, deserved, guarantee;
    bool has_capability, has_deserved, has_guarantee;
    const char *hierarchy, *hierarchy_weights; /* interned annotations; "" when absent */
    struct node_groups *groups; /* counted; which groups of nodes it may use, NULL: not said */
    uint64_t groups_version;    /* of `groups`; never the same twice in a cache, 0 with NULL */
    VEC(struct group_limit) limits;

    /* Sums over its own jobs, kept with every change of a pod or PodGroup. */
    struct resource_set allocated; /* of their pods that have a node and are alive */
    struct resource_set pending;   /* of their pods that wait for one */
    struct resource_set inqueue;   /* what jobs that entered still lack of their minResources */
    struct resource_set elastic;   /* what jobs hold beyond their minResources */
    struct resource_set awaited;   /* held on nodes for jobs for which others go (holds.h) */
    uint32_t version;              /* grows with every change of the sums or the spec */

    struct sched_queue *above;  /* borrowed; what it names as its parent, there or not */
    struct list below, beside;  /* the queues that name it; its place among its own kind */
    enum queue_trouble trouble; /* why parent is not above */
    struct list untold;         /* in cache->untold_queues */

    uint64_t judged; /* number of the cycle for which `spent` was found out */
    bool spent;      /* it has had its share and gets nothing more in that cycle */
    bool beyond;     /* while `allocatable` is asked: its share does not count, only its limit */
    uint64_t lent;   /* number of the attempt that last placed a gang beyond its share; 0: none */

    struct sched_job *holder;    /* borrowed; its job that starves and holds nodes, or NULL */
    struct sched_job *contender; /* borrowed; in a cycle: the first that may hold nodes, or NULL */
    int64_t contended_ns;        /* loop time of the last look at a contender, or 0 */

    struct heap waiting;    /* a cycle's jobs */
    struct heap_node order; /* in a cycle's heap */
};

struct sched_node {
    const char *name;    /* interned */
    const char *group;   /* interned; the group it belongs to, NULL for none or while unknown */
    struct node *object; /* counted; NULL while only its pods are known */
    struct resource_vector used;
    uint32_t index;          /* its place in cache->nodes */
    uint32_t version;        /* of the object; never the same twice, whatever the node */
    uint32_t tasks;          /* charged to it */
    struct host_ports ports; /* in use */
    struct node_hold *holds; /* owned; what is kept free there for gangs (holds.h), or NULL */
};

/* ---- the cache -------------------------------------------------------------------------------
 */

struct cache {
    struct loop *loop;             /* borrowed */
    struct window *window;         /* borrowed */
    const char *const *schedulers; /* borrowed; names of the schedulers we are */
    size_t scheduler_count;
    const struct store *priorityclasses;            /* borrowed */
    const struct store *podgroups;                  /* borrowed; for what jobs do not keep */
    bool (*keep_node)(const struct node *, void *); /* whether a node is ours to use; may be NULL */
    void *keep_arg;
    loop_fn *job_timer; /* called when a job's timer fires, with the job */

    struct map nodes_by_name, jobs_by_key, tasks_by_uid, queues_by_name, namespaces;
    bool quotas_known;  /* all namespaces have theirs; they are followed only when wanted */
    uint64_t quotas_rv; /* newest version of a quota: it and all older changes of any are known */
    bool budgets_known; /* all namespaces have theirs; likewise */
    uint64_t eased;     /* grows when somebody may be evicted who could not be before */
    uint64_t workload;  /* grows when jobs, queues or nodes come, go or change, jobs have more pods
                         * than ever, or pods come or go of which nobody here knows why */
    VEC(struct sched_node *) nodes; /* NULL where one was removed */
    VEC(uint32_t) free_indices;
    struct resource_vector allocatable, used,
        free; /* sums over known nodes; free is clipped at 0 */
    size_t known_nodes;

    struct list admit, place, dirty; /* jobs */
    struct list untold_queues;       /* with trouble that the log does not name yet */
    uint32_t queue_slots;            /* indices of queues given so far, */
    VEC(uint32_t) free_queue_slots;  /* and those of them that are free */
    uint64_t room;                   /* grows whenever something that waits may now fit */
    uint64_t relief;                 /* grows whenever a queue holds or asks for less */
    uint64_t news;                   /* grows when single jobs in `admit` are to be asked again */
    uint64_t all_refused; /* cache_admit_state when all in `admit` had been asked in vain */
    uint64_t next_sequence;
    uint32_t versions;       /* of nodes given so far */
    uint64_t group_versions; /* of what queues say of groups of nodes, given so far */
    bool limits_stale;       /* what queues use of limits of groups is to be counted afresh */
    bool stating;            /* a statement is being made or undone: room does not grow */
    bool swapping;           /* the record of a pod is being replaced: its volumes stay chosen */
    bool leads;              /* phases are decided here; else what PodGroups show is followed */

    /* Changes of nodes, for the tables of fit.c: a ring of node indices. */
    uint32_t *log;
    uint32_t log_cap;            /* a power of two */
    uint64_t log_head;           /* changes so far */
    uint64_t log_base;           /* changes before it are not in the ring any more */
    struct list tables;          /* struct fit_table, least recently used first */
    struct map tables_by_key;    /* those that are not of a class alone */
    struct census *census;       /* owned (census.h) */
    struct map topologies;       /* struct topology by its label (topology.h) */
    struct map node_labels;      /* struct node_label by its name (node_labels.h) */
    struct map images;           /* how many known nodes have it, by name (images.h) */
    struct volumes *volumes;     /* owned (volumes/volumes.h) */
    struct prospects *prospects; /* borrowed (evict/prospects.h); NULL: nobody is evicted */
    struct list reservations;    /* struct reservation (holds.h), oldest first */
    struct resource_vector held; /* by those of jobs that starve */
    size_t table_entries;        /* over all tables, */
    size_t table_count;          /* of which there are so many */
    uint64_t work;               /* units of work done, for slicing */
    struct loop_timer recount;   /* runs while a saturated sum waits for a fresh count */
};

void cache_init(struct cache *cache, struct loop *loop, struct window *window);
void cache_clear(struct cache *cache);

/* The present state of an object, or NULL for one that is gone. Each returns true when something
 * changed that a cycle should look at. */
bool cache_set_node(struct cache *cache, const char *name, struct node *node);
bool cache_set_pod(struct cache *cache, const char *uid, struct pod *pod);
bool cache_set_podgroup(struct cache *cache, const char *ns, const char *name,
                        const struct podgroup *podgroup);
bool cache_set_queue(struct cache *cache, const char *name, const struct queue *queue);
/* The labels of a namespace, NULL for one that is gone. */
bool cache_set_namespace(struct cache *cache, const char *name, const struct kube_pairs *labels);
/* True when a job of the namespace may be allowed now what was refused before. */
bool cache_set_quota(struct cache *cache, const char *ns, const char *name,
                     struct resourcequota *quota);
/* All quotas there are have been set. */
void cache_quotas_known(struct cache *cache);
/* The budget is this from now on (NULL: gone). True when it may let more go than before. */
bool cache_set_budget(struct cache *cache, const char *ns, const char *name,
                      struct poddisruptionbudget *budget);
/* All budgets there are have been set. */
void cache_budgets_known(struct cache *cache);
/* The namespace, NULL when nothing is known of it. */
const struct sched_namespace *cache_namespace(const struct cache *cache, const char *ns);
/* Names in the log, once, the queues whose parent is absent or below themselves. */
void cache_tell_queues(struct cache *cache);
/* Works out the priority of every job again. */
void cache_priorities_changed(struct cache *cache);

struct sched_task *cache_task(const struct cache *cache, const char *uid);
struct sched_job *cache_job(const struct cache *cache, const char *ns, const char *name);
struct sched_node *cache_node(const struct cache *cache, const char *name);
struct sched_queue *cache_queue(const struct cache *cache, const char *name);

/* Moves a task to a status; `node` is where it is charged, NULL for nowhere. */
void cache_set_task(struct cache *cache, struct sched_task *task, enum task_status status,
                    struct sched_node *node);
/* Gives a pending task its node: charged, TASK_ALLOCATED, with what it needs of volumes there.
 * False, and nothing has changed, when these cannot be had after all. */
bool cache_place_task(struct cache *cache, struct sched_task *task, struct sched_node *node);
/* A task whose bind failed: it gives its node back and waits until `until_ns`. */
void cache_hold_task(struct cache *cache, struct sched_task *task, int64_t until_ns);
/* A task is asked to go: it is TASK_RELEASING on its node from now on, whatever its pod shows,
 * until that terminates. Or it is not to go after all: it is again what its pod shows. */
void cache_evict_task(struct cache *cache, struct sched_task *task);
void cache_spare_task(struct cache *cache, struct sched_task *task);
/* Frees a job of which nothing is left; harmless otherwise. */
void cache_drop_job(struct cache *cache, struct sched_job *job);
/* Marks a job for the end of the cycle. */
void cache_dirty(struct cache *cache, struct sched_job *job);
/* Something that waits may now fit. */
void cache_room(struct cache *cache);
/* Differs when something that a queue refused may now be granted: there is room, or a queue holds
 * or asks for less. */
static inline uint64_t cache_chances(const struct cache *cache)
{
    return cache->room + cache->relief;
}
/* Differs when any job that was refused when it asked to enter may now be let in. */
static inline uint64_t cache_admit_state(const struct cache *cache)
{
    return cache_chances(cache) + cache->news;
}
/* The job is asked again, though nothing has changed for others. */
static inline void cache_ask_again(struct sched_job *job)
{
    job->refused_at = UINT64_MAX;
    job->cache->news++;
}
/* Quotas may let jobs of the namespace in that were refused. */
static inline void cache_quota_eased(struct cache *cache, struct sched_namespace *space)
{
    space->chances++;
    cache->news++;
}
/* Differs when something that was refused to the job when it asked to enter may now be granted. */
static inline uint64_t job_chances(const struct sched_job *job)
{
    return cache_chances(job->cache) + job->space->chances;
}
/* Keeps the job in the right lists, and its queue's sums right, after a change of phase, counts or
 * claim_ended. */
void cache_file_job(struct cache *cache, struct sched_job *job);
/* The largest part of any resource of the cluster that is held, 0 to 1 (more on an oversold one).
 */
double cache_dominant_share(const struct cache *cache, const struct resource_set *held);
/* Every sum compared with a fresh count; a constant text on the first difference, else NULL. Costs
 * a look at every pod. */
const char *cache_audit(const struct cache *cache);

/* ---- arithmetic of gangs ---------------------------------------------------------------------
 */

/* How much of its name is that of its Job, whose PodGroup has the Job's UID behind a dash. */
int job_name_size(const struct sched_job *job);
/* Allocated, binding, bound, running and succeeded. */
uint32_t job_have(const struct sched_job *job);
/* Pending, held and gated. */
uint32_t job_waiting(const struct sched_job *job);
/* On a node and alive. */
uint32_t job_live(const struct sched_job *job);
bool job_roles_ready(const struct sched_job *job);
bool job_gang_ready(const struct sched_job *job);
/* Whether the minimum could be reached with the pods that exist and have no scheduling gates. */
bool job_gang_possible(const struct sched_job *job);
/* Visits the groups of the pods that are still to be placed for the minimum, in the order of
 * placing, with how many of each. */
void job_each_missing(const struct sched_job *job,
                      void (*visit)(const struct task_group *group, uint32_t count, void *arg),
                      void *arg);
/* Adds what its placed pods ask for. */
void job_allocated(const struct sched_job *job, struct resource_set *sum);
/* What it still lacks of its minResources. */
struct resource_set job_lacking(const struct sched_job *job);
/* Its share of one resource in its queue's `inqueue` and `elastic`. */
int64_t job_promised(const struct sched_job *job, uint32_t id);
int64_t job_beyond(const struct sched_job *job, uint32_t id);

#endif
