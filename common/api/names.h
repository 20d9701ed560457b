/*
 * Names on the wire: groups, paths, labels, annotations, phases and reasons shared by the binaries.
 * All are fixed by compatibility with the batch.volcano.sh API.
 */
#ifndef PUMICE_API_NAMES_H
#define PUMICE_API_NAMES_H

#define BATCH_API_VERSION "batch.volcano.sh/v1alpha1"
#define SCHEDULING_API_VERSION "scheduling.volcano.sh/v1beta1"
#define BUS_API_VERSION "bus.volcano.sh/v1alpha1"

#define PATH_JOBS "/apis/batch.volcano.sh/v1alpha1/jobs"
#define PATH_PODGROUPS "/apis/scheduling.volcano.sh/v1beta1/podgroups"
#define PATH_QUEUES "/apis/scheduling.volcano.sh/v1beta1/queues"
#define PATH_COMMANDS "/apis/bus.volcano.sh/v1alpha1/commands"
#define PATH_PODS "/api/v1/pods"
#define PATH_NODES "/api/v1/nodes"
#define PATH_NAMESPACES "/api/v1/namespaces"
#define PATH_RESOURCEQUOTAS "/api/v1/resourcequotas"
#define PATH_CLAIMS "/api/v1/persistentvolumeclaims"
#define PATH_VOLUMES "/api/v1/persistentvolumes"
#define PATH_STORAGECLASSES "/apis/storage.k8s.io/v1/storageclasses"
#define PATH_CSINODES "/apis/storage.k8s.io/v1/csinodes"
#define PATH_PODDISRUPTIONBUDGETS "/apis/policy/v1/poddisruptionbudgets"
#define PATH_PRIORITYCLASSES "/apis/scheduling.k8s.io/v1/priorityclasses"

#define SYSTEM_NAMESPACE "volcano-system"
#define DEFAULT_SCHEDULER_NAME "volcano"
#define DEFAULT_QUEUE "default"
#define ROOT_QUEUE "root"

/* Pod annotations and labels; the ones marked L are also labels. */
#define KEY_GROUP_NAME "scheduling.k8s.io/group-name"
#define KEY_JOB_NAME "volcano.sh/job-name"           /* L */
#define KEY_JOB_NAMESPACE "volcano.sh/job-namespace" /* label only */
#define KEY_JOB_VERSION "volcano.sh/job-version"
#define KEY_JOB_RETRY_COUNT "volcano.sh/job-retry-count"
#define KEY_TASK_SPEC "volcano.sh/task-spec"   /* L */
#define KEY_TASK_INDEX "volcano.sh/task-index" /* L */
#define KEY_QUEUE_NAME "volcano.sh/queue-name" /* L */
#define KEY_TEMPLATE_UID "volcano.sh/template-uid"
#define KEY_TASK_PRIORITY "volcano.sh/task-priority"
#define KEY_SHARD_MAP "pumice.sh/shard-map"             /* of the leader's Lease */
#define KEY_SHARDS_OBEYED "pumice.sh/shards-obeyed"     /* of a member's Lease */
#define KEY_CREATION_WEIGHT "pumice.sh/creation-weight" /* of jobs: share of the fan-out */
#define KEY_BEYOND_MINIMUM "pumice.sh/beyond-minimum"   /* of jobs: "as-placed" */
#define KEY_PREEMPTABLE "volcano.sh/preemptable"        /* L */
#define KEY_COOLDOWN_TIME "volcano.sh/cooldown-time"    /* L */
#define KEY_REVOCABLE_ZONE "volcano.sh/revocable-zone"
#define KEY_JDB_MIN_AVAILABLE "volcano.sh/jdb-min-available"
#define KEY_JDB_MAX_UNAVAILABLE "volcano.sh/jdb-max-unavailable"
#define KEY_NUMA_POLICY "volcano.sh/numa-topology-policy"
#define KEY_PARTITION_ID "volcano.sh/partition-id" /* label only */
#define KEY_DELETION_COST "controller.kubernetes.io/pod-deletion-cost"
#define KEY_JOB_FORWARDING "volcano.sh/job-forwarding"     /* L */
#define KEY_SLA_WAITING_TIME "volcano.sh/sla-waiting-time" /* of PodGroups; a duration */
#define KEY_SLA_WAITING_TIME_OLD "sla-waiting-time"
#define KEY_MIN_AVAILABLE "scheduling.volcano.sh/min-available" /* 8, or 80% */
#define KEY_MIN_AVAILABLE_SHORT "minAvailable"
#define KEY_WAITING_TIME "pumice.sh/waiting-time"                    /* a duration; of jobs, too */
#define KEY_SCORING_TYPE "volcano.sh/resource-strategy-scoring-type" /* of pods; */
#define KEY_SCORING_WEIGHT "volcano.sh/resource-strategy-weight"     /* JSON, weight by resource */
#define SCORING_LEAST "LeastAllocated"
#define SCORING_MOST "MostAllocated"

/* Of pods of others and of their owners. */
#define KEY_GROUP_MIN_MEMBER "scheduling.volcano.sh/group-min-member"
#define KEY_POD_QUEUE "scheduling.volcano.sh/queue-name"
#define KEY_TOPOLOGY_MODE "volcano.sh/network-topology-mode"
#define KEY_TOPOLOGY_HIGHEST_TIER "volcano.sh/network-topology-highest-tier"
#define KEY_APPLIED_SETTINGS "volcano.sh/applied-settings" /* of their PodGroups; JSON */

#define PATH_REPLICASETS "/apis/apps/v1/replicasets"
#define PATH_STATEFULSETS "/apis/apps/v1/statefulsets"
#define PATH_DAEMONSETS "/apis/apps/v1/daemonsets"
#define PATH_BATCH_JOBS "/apis/batch/v1/jobs"

#define KEY_CLOSED_BY_PARENT "volcano.sh/closed-by-parent" /* of queues */

/* PodGroup phases. */
#define PODGROUP_PENDING "Pending"
#define PODGROUP_INQUEUE "Inqueue"
#define PODGROUP_RUNNING "Running"
#define PODGROUP_UNKNOWN "Unknown"
#define PODGROUP_COMPLETED "Completed"

/* PodGroup condition types. */
#define PODGROUP_UNSCHEDULABLE "Unschedulable"
#define PODGROUP_WAITING_TIMEOUT "WaitingTimeout" /* a reason of it */
/* Reasons of a pod's condition PodScheduled=False. */
#define POD_UNSCHEDULABLE "Unschedulable"
#define POD_QUEUE_LIMIT "QueueLimit"
#define REASON_NOT_ENOUGH_TASKS "NotEnoughTasks" /* of PodGroups, too */
#define PODGROUP_SCHEDULED "Scheduled"
/* Beside Unschedulable: places on nodes are held for it. */
#define PODGROUP_HOLDS_NODES "HoldsNodes"

#define QUEUE_OPEN "Open"
#define QUEUE_CLOSING "Closing"
#define QUEUE_CLOSED "Closed"
#define QUEUE_UNKNOWN "Unknown"

#endif
