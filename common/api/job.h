/*
 * struct job: batch.volcano.sh/v1alpha1 Job as the controller keeps it.
 *
 * Immutable once decoded and owned by its store. Pod templates stay raw text, interned by content,
 * so that what users wrote reaches the pods byte for byte and a thousand equal jobs hold one copy.
 */
#ifndef PUMICE_API_JOB_H
#define PUMICE_API_JOB_H

#include "api/jobpolicy.h"
#include "api/resourcelist.h"
#include "kube/meta.h"
#include "kube/store.h"

enum job_phase {
    JOB_PENDING, /* also the empty phase of a new job */
    JOB_RUNNING,
    JOB_RESTARTING,
    JOB_ABORTING,
    JOB_ABORTED,
    JOB_COMPLETING,
    JOB_COMPLETED,
    JOB_TERMINATING,
    JOB_TERMINATED,
    JOB_FAILED,
    JOB_PHASE_COUNT
};

/* A list of interned texts. */
struct job_names {
    const char **items; /* owned */
    uint32_t n;
};

struct job_task {
    const char *name; /* interned; "default" when empty */
    int32_t replicas;
    int32_t min_available; /* meaningful when has_min_available */
    bool has_min_available;
    int32_t max_retry;                      /* restarts of its containers; 3 when absent or 0 */
    int32_t partition_size, min_partitions; /* 0 without a partitionPolicy */
    struct job_policies policies;
    struct job_names depends_on;    /* tasks */
    bool depends_on_any;            /* one of them is enough (iteration: any) */
    const char *partition_topology; /* interned raw JSON of its networkTopology, "" without */
    const char *topology_policy;    /* interned; "" when absent */
    struct kube_pairs labels, annotations; /* of the template */
    const char *finalizers;                /* interned raw JSON of the template's, "" without */
    const char *spec;                 /* interned raw JSON of template.spec; "{}" when absent */
    const char *scheduler_name;       /* interned; template's, "" when absent */
    const char *priority_class_name;  /* interned; template's, "" when absent */
    const char *hostname, *subdomain; /* interned; template's, "" when absent */
};

/* A job plugin that is asked for, with its arguments as written. */
struct job_plugin {
    const char *name; /* interned */
    struct job_names arguments;
};

struct job_volume {
    const char *mount_path, *claim_name; /* interned, "" when absent */
    const char *claim;                   /* interned raw JSON of volumeClaim, "" without */
};

struct job_phase_condition {
    const char *status; /* interned; a phase */
    int64_t transition_ns;
};

struct job_status {
    enum job_phase phase;
    bool fresh;            /* no phase written yet */
    const char *reason;    /* interned */
    char *message;         /* owned */
    int64_t transition_ns; /* state.lastTransitionTime, wall */
    int32_t min_available, pending, running, succeeded, failed, terminating, unknown;
    int32_t version, retry_count;
    const char *running_duration;           /* interned text, "" when absent */
    struct job_phase_condition *conditions; /* owned */
    uint32_t condition_count;
    struct kube_pairs controlled; /* controlledResources */
};

struct job {
    struct kube_meta meta; /* all annotations are kept: the PodGroup inherits them */
    const char *scheduler_name, *queue, *priority_class_name; /* interned, "" when absent */
    int32_t min_available, min_success, max_retry;            /* min_success 0: unset */
    const char *network_topology;                             /* interned raw JSON, "" without */
    int32_t ttl_seconds;                                      /* -1: none */
    struct job_policies policies;
    struct job_plugin *plugins; /* owned, in the order of the manifest */
    struct job_volume *volumes; /* owned */
    uint32_t plugin_count, volume_count;
    struct job_task *tasks; /* owned */
    uint32_t task_count;
    struct job_status status;
};

extern const struct store_type job_store_type;

struct job *job_decode(struct str raw, struct error *err);
void job_free(struct job *job);

const char *job_phase_name(enum job_phase phase);
/* True for Completed, Failed and Terminated. */
bool job_phase_finished(enum job_phase phase);

/* The task of that name (interned), or NULL. */
const struct job_task *job_find_task(const struct job *job, const char *name);
/* The plugin of that name, or NULL. */
const struct job_plugin *job_find_plugin(const struct job *job, const char *name);
/* The minimum of a task: its minAvailable, else minPartitions x partitionSize, else replicas. */
int32_t job_task_minimum(const struct job_task *task);
/* Sum of replicas over all tasks, saturated at INT32_MAX. */
int32_t job_replicas(const struct job *job);

#endif
