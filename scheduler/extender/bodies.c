/*
 * Bodies for the extender, with the member names of the reference's Go structs. Pure functions.
 *
 * Amounts are the reference's, too: thousandths of cores and of all but memory and pods. Of an
 * object there is what the cache keeps of it.
 */
#include "scheduler/extender/extender_private.h"
#include "scheduler/status.h"

/* Of one job; each has some hundred bytes. */
#define TASKS_MAX 5000

/* ---- resources ------------------------------------------------------------------------------- */

typedef int64_t amount_fn(const void *of, uint32_t id);

static int64_t amount_of_set(const void *of, uint32_t id)
{
    return resource_set_get(of, id);
}

static int64_t used_of_node(const void *of, uint32_t id)
{
    const struct sched_node *node = of;
    return resource_vector_get(&node->used, id);
}

static int64_t allocatable_of_node(const void *of, uint32_t id)
{
    const struct sched_node *node = of;
    return resource_vector_get(&node->object->allocatable, id);
}

static int64_t idle_of_node(const void *of, uint32_t id)
{
    return allocatable_of_node(of, id) - used_of_node(of, id);
}

static int64_t in_thousandths(int64_t amount)
{
    int64_t product;
    return __builtin_mul_overflow(amount, 1000, &product) ? INT64_MAX : product;
}

static void write_resource(struct json_writer *writer, const char *name, amount_fn *amount,
                           const void *of)
{
    json_w_member_object(writer, name);
    json_w_member_i64(writer, "MilliCPU", amount(of, RESOURCE_CPU));
    json_w_member_i64(writer, "Memory", amount(of, RESOURCE_MEMORY));
    json_w_member_object(writer, "ScalarResources");
    for (uint32_t id = 0; id < resource_id_count(); id++)
        if (id != RESOURCE_CPU && id != RESOURCE_MEMORY && id != RESOURCE_PODS && amount(of, id))
            json_w_member_i64(writer, resource_name(id), in_thousandths(amount(of, id)));
    json_w_end_object(writer);
    json_w_member_i64(writer, "MaxTaskNum", amount(of, RESOURCE_PODS));
    json_w_end_object(writer);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* The reference's numbers. */
static int64_t status_number(enum task_status status)
{
    static const int64_t numbers[TASK_STATUS_COUNT] = {
        [TASK_PENDING] = 1,  [TASK_HELD] = 1,        [TASK_GATED] = 1,    [TASK_ALLOCATED] = 2,
        [TASK_BINDING] = 8,  [TASK_BOUND] = 16,      [TASK_RUNNING] = 32, [TASK_RELEASING] = 64,
        [TASK_LEAVING] = 64, [TASK_SUCCEEDED] = 128, [TASK_FAILED] = 256, [TASK_UNKNOWN] = 512};
    return numbers[status];
}

static void write_identity(struct json_writer *writer, const char *ns, const char *name,
                           const char *uid)
{
    json_w_member_str(writer, "name", str_of(name));
    if (ns)
        json_w_member_str(writer, "namespace", str_of(ns));
    if (uid)
        json_w_member_str(writer, "uid", str_of(uid));
}

static void write_pod(struct json_writer *writer, const struct sched_task *task)
{
    const struct pod *pod = task->pod;
    json_w_member_object(writer, "Pod");
    json_w_member_object(writer, "metadata");
    write_identity(writer, pod->meta.ns, pod->meta.name, pod->meta.uid);
    json_w_key(writer, STR("labels"));
    kube_pairs_write(writer, &pod->labels->pairs);
    json_w_end_object(writer);
    json_w_member_object(writer, "spec");
    json_w_member_str(writer, "schedulerName", str_of(pod->scheduler));
    if (task->node)
        json_w_member_str(writer, "nodeName", str_of(task->node->name));
    json_w_key(writer, STR("nodeSelector"));
    kube_pairs_write(writer, &pod->cls->node_selector);
    json_w_end_object(writer);
    json_w_end_object(writer);
}

/* What a task has in its own right and as one of a job. */
static void write_task_head(struct json_writer *writer, const struct sched_task *task)
{
    const struct pod *pod = task->pod;
    json_w_member_str(writer, "UID", str_of(pod->meta.uid));
    json_w_key(writer, STR("Job"));
    json_w_strf(writer, "%s/%s", task->job->ns, task->job->name);
    json_w_member_str(writer, "Name", str_of(pod->meta.name));
    json_w_member_str(writer, "Namespace", str_of(pod->meta.ns));
    json_w_member_str(writer, "TaskRole", str_of(pod->role));
    write_resource(writer, "Resreq", amount_of_set, &pod->cls->request);
    json_w_member_str(writer, "NodeName", str_of(task->node ? task->node->name : ""));
    json_w_member_i64(writer, "Status", status_number(task->status));
    json_w_member_i64(writer, "Priority", pod->priority);
}

void extender_write_task(struct json_writer *writer, const char *name,
                         const struct sched_task *task)
{
    json_w_member_object(writer, name);
    write_task_head(writer, task);
    write_resource(writer, "InitResreq", amount_of_set, &task->pod->cls->request);
    json_w_member_bool(writer, "BestEffort", task->pod->cls->best_effort);
    write_pod(writer, task);
    json_w_end_object(writer);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void write_node_members(struct json_writer *writer, const struct sched_node *node)
{
    json_w_member_str(writer, "Name", str_of(node->name));
    json_w_member_object(writer, "Node");
    json_w_member_object(writer, "metadata");
    write_identity(writer, NULL, node->name, node->object->meta.uid);
    json_w_key(writer, STR("labels"));
    kube_pairs_write(writer, &node->object->meta.labels);
    json_w_end_object(writer);
    json_w_member_object(writer, "spec");
    json_w_member_bool(writer, "unschedulable", node->object->unschedulable);
    json_w_end_object(writer);
    json_w_end_object(writer);
    write_resource(writer, "Idle", idle_of_node, node);
    write_resource(writer, "Used", used_of_node, node);
    write_resource(writer, "Allocatable", allocatable_of_node, node);
}

void extender_write_node(struct json_writer *writer, const char *name,
                         const struct sched_node *node)
{
    json_w_member_object(writer, name);
    write_node_members(writer, node);
    json_w_end_object(writer);
}

void extender_write_node_item(struct json_writer *writer, const struct sched_node *node)
{
    json_w_object(writer);
    write_node_members(writer, node);
    json_w_end_object(writer);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void write_tasks(struct json_writer *writer, const struct sched_job *job)
{
    unsigned left = TASKS_MAX;
    json_w_member_object(writer, "Tasks");
    for (const struct list *link = job->tasks.next; link != &job->tasks && left;
         link = link->next) {
        const struct sched_task *task = const_container_of(link, struct sched_task, link);
        json_w_member_object(writer, task->pod->meta.uid);
        write_task_head(writer, task);
        json_w_end_object(writer);
        left--;
    }
    json_w_end_object(writer);
}

static void write_podgroup(struct json_writer *writer, const struct sched_job *job)
{
    json_w_member_object(writer, "PodGroup");
    json_w_member_object(writer, "metadata");
    write_identity(writer, job->ns, job->name, job->uid);
    json_w_end_object(writer);
    json_w_member_object(writer, "spec");
    json_w_member_i64(writer, "minMember", job->min_member);
    json_w_member_str(writer, "queue", str_of(job->queue->name));
    json_w_member_str(writer, "priorityClassName",
                      str_of(job->priority_class ? job->priority_class : ""));
    json_w_end_object(writer);
    json_w_member_object(writer, "status");
    json_w_member_str(writer, "phase", str_of(podgroup_phase_name(job->phase)));
    json_w_end_object(writer);
    json_w_end_object(writer);
}

static void write_sums(struct json_writer *writer, const struct sched_job *job)
{
    struct resource_set total = resource_set_copy(&job->allocated);
    (void)resource_set_add(&total, &job->pending, 1);
    write_resource(writer, "Allocated", amount_of_set, &job->allocated);
    write_resource(writer, "TotalRequest", amount_of_set, &total);
    write_resource(writer, "MinResources", amount_of_set, &job->min_resources);
    resource_set_clear(&total);
}

void extender_write_job(struct json_writer *writer, const char *name, const struct sched_job *job)
{
    json_w_member_object(writer, name);
    json_w_key(writer, STR("UID"));
    json_w_strf(writer, "%s/%s", job->ns, job->name);
    json_w_member_str(writer, "PgUID", str_of(job->uid));
    json_w_member_str(writer, "Name", str_of(job->name));
    json_w_member_str(writer, "Namespace", str_of(job->ns));
    json_w_member_str(writer, "Queue", str_of(job->queue->name));
    json_w_member_i64(writer, "Priority", job->priority);
    json_w_member_i64(writer, "MinAvailable", job->min_member);
    json_w_member_object(writer, "TaskMinAvailable");
    for (size_t i = 0; i < job->roles.n; i++)
        json_w_member_i64(writer, job->roles.items[i].name, job->roles.items[i].min);
    json_w_end_object(writer);
    write_sums(writer, job);
    write_tasks(writer, job);
    write_podgroup(writer, job);
    json_w_end_object(writer);
}

/* ---- queues ---------------------------------------------------------------------------------- */

void extender_write_queue(struct json_writer *writer, const char *name,
                          const struct sched_queue *queue)
{
    json_w_member_object(writer, name);
    json_w_member_str(writer, "UID", str_of(queue->name));
    json_w_member_str(writer, "Name", str_of(queue->name));
    json_w_member_i64(writer, "Weight", queue->weight);
    json_w_member_str(writer, "Weights", str_of(queue->hierarchy_weights));
    json_w_member_str(writer, "Hierarchy", str_of(queue->hierarchy));
    write_resource(writer, "Allocated", amount_of_set, &queue->allocated);
    json_w_member_object(writer, "Queue");
    json_w_member_object(writer, "metadata");
    write_identity(writer, NULL, queue->name, queue->uid);
    json_w_end_object(writer);
    json_w_member_object(writer, "spec");
    json_w_member_i64(writer, "weight", queue->weight);
    json_w_member_i64(writer, "priority", queue->priority);
    json_w_member_bool(writer, "reclaimable", queue->reclaimable);
    json_w_member_str(writer, "parent", str_of(queue->parent_name));
    json_w_end_object(writer);
    json_w_member_object(writer, "status");
    json_w_member_str(writer, "state", queue->open ? STR("Open") : STR("Closed"));
    json_w_end_object(writer);
    json_w_end_object(writer);
    json_w_end_object(writer);
}
