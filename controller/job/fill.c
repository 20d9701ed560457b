/*
 * Which pods are created next: vacant slots in the order of tasks and indices.
 *
 * No more of one job wait in the window than --creation-chunk, so that memory stays flat at any
 * size. A job that says so (KEY_BEYOND_MINIMUM) is created up to its minimum, those of its tasks
 * first, and beyond it only as the pods before get nodes. After a refusal the next task is first,
 * and in its own task the pod behind the refused one, all round: what is refused for ever (by a
 * policy, or too large for the quota) keeps nobody else. Loop thread only.
 */
#include "api/names.h"
#include "controller/job/depends.h"
#include "controller/job/explain.h"
#include "controller/job/pods.h"

#define BEYOND_STEP 16 /* pods beyond the minimum that may wait for a node at once */

/*
 * A pod of an earlier job of the same name still holds this name: it goes soon, and its going wakes
 * us. Of any other pod the API server's refusal tells, so that the job can say what it waits for.
 */
static bool name_taken(struct job_control *control, const char *task, uint32_t index)
{
    cleanup_buf struct buf name = BUF_INIT(1024);
    const struct podstate *pod;

    pod_name_write(&name, control->name, task, index);
    pod = store_get(control->controller->pods, str_of(control->ns), buf_str(&name));
    return pod && pod->meta.controller.uid && pod->job_name == control->name;
}

static uint32_t present_of(const struct task_control *task)
{
    return task->size - task->vacant;
}

/* Queues creates for vacant slots from `begin` on until `limit` of the job are under way, or the
 * task has `most` pods. Returns the first slot not looked at; `ret_held`: a name is taken. */
static uint32_t fill_from(struct job_control *control, struct task_control *task, uint32_t begin,
                          uint32_t limit, uint32_t most, bool *ret_held)
{
    uint32_t index = begin;

    for (; index < task->size && present_of(task) < most && control->create_count < limit;
         index++) {
        const struct pod_slot *slot = &task->slots[index];
        if (slot->pod || slot->create || ranges_has(&task->finished, index))
            continue;
        if (name_taken(control, task->name, index))
            *ret_held = true;
        else
            pods_create(control, task->name, index);
    }
    return index;
}

static void fill_task(struct job_control *control, struct task_control *task, uint32_t limit,
                      uint32_t most)
{
    bool held = false;

    if (task->next > task->cursor)
        task->next = fill_from(control, task, task->next, limit, most, &held);
    if (task->next <= task->cursor || task->next == task->size) {
        const uint32_t index = fill_from(control, task, task->cursor, limit, most, &held);
        task->next = 0;
        if (!held)
            task->cursor = index;
    }
    control->names_held |= held;
}

void pods_pass_over(struct job_control *control, const char *task, uint32_t index)
{
    struct task_control *refused;

    if (!job_control_slot(control, task, (int32_t)index, &refused))
        return;
    refused->next = index + 1;
    control->first_task = (uint32_t)(refused - control->tasks + 1) % control->task_count;
}

void pods_put_back(struct job_control *control, const char *task, uint32_t index)
{
    struct task_control *found;

    if (job_control_slot(control, task, (int32_t)index, &found) && index < found->next)
        found->next = index;
}

/* The task whose turn is the n-th. */
static uint32_t nth_task(const struct job_control *control, uint32_t n)
{
    return (control->first_task + n) % control->task_count;
}

static uint32_t task_minimum(const struct job_control *control, uint32_t task)
{
    int32_t minimum = job_task_minimum(&control->job->tasks[task]);

    return minimum > 0 ? (uint32_t)minimum : 0;
}

/* The minimums of tasks count where the job's covers their sum, as in the gang. */
static void fill_minimums(struct job_control *control, uint32_t limit, int64_t minimum)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < control->task_count; i++)
        if (depends_may_start(control, i))
            sum += task_minimum(control, i);
    for (uint32_t n = 0; sum <= minimum && n < control->task_count; n++) {
        const uint32_t i = nth_task(control, n);
        if (depends_may_start(control, i))
            fill_task(control, &control->tasks[i], limit, task_minimum(control, i));
    }
}

/* How many pods may exist now: the minimum, or some more than have a node. */
static int64_t most_present(const struct job_control *control, int64_t minimum)
{
    int64_t waiting = control->create_count;

    if (!control->as_placed)
        return INT64_MAX;
    for (uint32_t i = 0; i < control->task_count; i++)
        waiting += control->tasks[i].unbound;
    int64_t placed = (int64_t)job_control_present(control) - waiting;
    return placed + BEYOND_STEP > minimum ? placed + BEYOND_STEP : minimum;
}

static void fill(struct job_control *control, uint32_t limit, int64_t minimum)
{
    int64_t most = most_present(control, minimum);

    if (control->as_placed)
        fill_minimums(control, limit, minimum);
    for (uint32_t n = 0; n < control->task_count; n++) {
        const uint32_t i = nth_task(control, n);
        struct task_control *task = &control->tasks[i];
        int64_t room = most - (int64_t)job_control_present(control);
        if (room <= 0)
            return;
        if (depends_may_start(control, i))
            fill_task(control, task, limit,
                      room < task->vacant ? present_of(task) + (uint32_t)room : task->size);
    }
}

/* Also when the job was scaled to what there is. */
static bool nothing_missing(const struct job_control *control)
{
    for (uint32_t i = 0; i < control->task_count; i++) {
        if (control->tasks[i].vacant > 0 && depends_may_start(control, i))
            return false;
    }
    return true;
}

void pods_create_missing(struct job_control *control)
{
    uint32_t limit = control->probing ? 1 : control->controller->creation_chunk;
    int32_t minimum = depends_minimum(control);
    bool held = control->names_held;
    uint32_t present;

    if (loop_timer_active(&control->hold))
        return;
    control->names_held = false;
    fill(control, limit, minimum);
    if (control->names_held != held)
        job_control_mark(control); /* the status tells */
    present = job_control_present(control) - control->create_count;
    if (control->create_count == 0 && nothing_missing(control))
        pods_clear_trouble(control);
    window_flow_set_missing(&control->flow,
                            minimum > (int64_t)present ? (uint32_t)minimum - present : 0);
}
