/*
 * What a job remembers in status.controlledResources: see lifecycle.h. Written as a merge patch
 * against what is stored, read when the job is laid out or its status changes.
 */
#include "base/intern.h"
#include "controller/job/lifecycle.h"
#include "controller/job/objects.h"
#include <stdio.h>

#define VALUE_MAX ((size_t)64 << 10)
#define KEY_MAX 128

/* ---- reading ----------------------------------------------------------------------------------
 */

static const char *stored(const struct job_control *control, const char *prefix, const char *task)
{
    char key[KEY_MAX];

    (void)snprintf(key, sizeof(key), "%s%s", prefix, task);
    return kube_pairs_get(&control->job->status.controlled, key);
}

/* "<retry count>:<indices>" */
static void read_restart(const char *text, struct task_control *task)
{
    struct str rest = str_of(text), retry;

    if (!text || !str_split(&rest, ':', &retry) || !str_to_i32(retry, &task->restart_retry) ||
        !ranges_parse(&task->restart, rest))
        task->restart_retry = 0;
}

/* No more than there were restarts. */
static void read_spared(struct job_control *control)
{
    const char *text = kube_pairs_get(&control->job->status.controlled, MEMORY_EVICTED);

    if (!text || !str_to_i32(str_of(text), &control->spared) || control->spared < 0)
        control->spared = 0;
    if (control->spared > control->job->status.retry_count)
        control->spared = control->job->status.retry_count;
}

void job_control_read_restarts(struct job_control *control)
{
    const char *version = kube_pairs_get(&control->job->status.controlled, MEMORY_RESTART);

    if (!version || !str_to_i32(str_of(version), &control->restart_version))
        control->restart_version = 0;
    read_spared(control);
    for (uint32_t i = 0; i < control->task_count; i++) {
        struct task_control *task = &control->tasks[i];
        ranges_clear(&task->restart);
        read_restart(stored(control, MEMORY_RESTART_TASK, task->name), task);
    }
}

bool job_control_read_finished(struct job_control *control, uint32_t task, struct ranges *set)
{
    const char *text = stored(control, MEMORY_FINISHED_TASK, control->tasks[task].name);
    const uint32_t size = control->tasks[task].size, before = ranges_count(set, size);

    if (text)
        (void)ranges_parse(set, str_of(text));
    return ranges_count(set, size) != before;
}

/* ---- what it should be ------------------------------------------------------------------------
 */

static bool is_old(const struct podstate *pod, int32_t version)
{
    return (pod->job_version < 0 ? 0 : pod->job_version) < version;
}

/* The version below which all pods go, 0 when none is left or asked for. */
static int32_t wanted_restart(const struct job_control *control,
                              const struct job_decision *decision)
{
    if (decision->action != JOB_ACTION_NONE && decision->kill == JOB_KILL_ALL)
        return decision->version;
    if (control->restart_version == 0 || decision->phase == JOB_FAILED)
        return 0;
    for (uint32_t i = 0; i < control->task_count; i++) {
        for (uint32_t k = 0; k < control->tasks[i].size; k++) {
            const struct podstate *pod = control->tasks[i].slots[k].pod;
            if (pod && is_old(pod, control->restart_version))
                return control->restart_version;
        }
    }
    return 0;
}

/* Indices whose pods still have to go, with those of the decision. */
static int32_t wanted_task_restart(const struct job_control *control, uint32_t index,
                                   const struct job_decision *decision, struct ranges *ret_set)
{
    const struct task_control *task = &control->tasks[index];
    const bool aimed =
        decision->action != JOB_ACTION_NONE && decision->targeted && decision->task == index;

    for (size_t i = 0; i < task->restart.n; i++) {
        for (uint32_t k = task->restart.items[i].first;
             k <= task->restart.items[i].last && k < task->size; k++) {
            const struct podstate *pod = task->slots[k].pod;
            if (pod && (pod->retry_count < 0 ? 0 : pod->retry_count) < task->restart_retry)
                ranges_add(ret_set, k, k);
        }
    }
    if (aimed)
        ranges_add(ret_set, decision->target.first, decision->target.last);
    return aimed ? decision->retry_count : task->restart_retry;
}

/* The finished indices but for those that are about to run again. */
static void wanted_finished(const struct job_control *control, uint32_t index,
                            const struct job_decision *decision, struct ranges *ret_set)
{
    const struct task_control *task = &control->tasks[index];

    if (decision->action != JOB_ACTION_NONE && decision->kill == JOB_KILL_ALL)
        return;
    for (size_t i = 0; i < task->finished.n; i++)
        ranges_add(ret_set, task->finished.items[i].first, task->finished.items[i].last);
    if (decision->action != JOB_ACTION_NONE && decision->targeted && decision->task == index)
        ranges_remove(ret_set, decision->target.first, decision->target.last);
}

/* ---- writing ----------------------------------------------------------------------------------
 */

/* Gets each entry that differs; `value` is "" for one that goes. */
typedef void entry_fn(const char *key, struct str value, void *arg);

static void compare(const struct job_control *control, const char *prefix, const char *task,
                    struct str value, entry_fn *differs, void *arg)
{
    const char *now = stored(control, prefix, task);
    char key[KEY_MAX];

    if (str_eq(value, now ? str_of(now) : STR_NULL))
        return;
    (void)snprintf(key, sizeof(key), "%s%s", prefix, task);
    differs(key, value, arg);
}

/* 0 is not written. */
static void compare_number(const struct job_control *control, const char *key, int32_t number,
                           entry_fn *differs, void *arg)
{
    char text[16] = "";

    if (number > 0)
        (void)snprintf(text, sizeof(text), "%d", number);
    compare(control, key, "", str_of(text), differs, arg);
}

static void each_task_entry(const struct job_control *control, uint32_t index,
                            const struct job_decision *decision, entry_fn *differs, void *arg)
{
    const char *name = control->tasks[index].name;
    struct ranges restart = RANGES_INIT, finished = RANGES_INIT;
    cleanup_buf struct buf value = BUF_INIT(VALUE_MAX);
    const int32_t retry = wanted_task_restart(control, index, decision, &restart);

    if (restart.n > 0) {
        buf_printf(&value, "%d:", retry);
        ranges_write(&restart, &value);
    }
    compare(control, MEMORY_RESTART_TASK, name, buf_str(&value), differs, arg);
    buf_reset(&value);
    wanted_finished(control, index, decision, &finished);
    ranges_write(&finished, &value);
    if (!value.overflow)
        compare(control, MEMORY_FINISHED_TASK, name, buf_str(&value), differs, arg);
    ranges_clear(&restart);
    ranges_clear(&finished);
}

static void each_entry(const struct job_control *control, const struct job_decision *decision,
                       entry_fn *differs, void *arg)
{
    compare_number(control, MEMORY_RESTART, wanted_restart(control, decision), differs, arg);
    compare_number(control, MEMORY_EVICTED, decision->spared, differs, arg);
    if (decision->command)
        compare(control, MEMORY_COMMAND, "", str_of(decision->command->meta.uid), differs, arg);
    for (uint32_t i = 0; i < control->task_count; i++)
        each_task_entry(control, i, decision, differs, arg);
}

/* Of a job that has ended only the objects that are still there may change. */
static void each_difference(const struct job_control *control, const struct job_decision *decision,
                            entry_fn *differs, void *arg)
{
    if (!job_phase_finished(control->job->status.phase))
        each_entry(control, decision, differs, arg);
    objects_notes(control, decision->phase, differs, arg);
}

static void write_entry(const char *key, struct str value, void *arg)
{
    struct json_writer *w = arg;

    json_w_key(w, str_of(key));
    if (value.n)
        json_w_str(w, value);
    else
        json_w_null(w);
}

void lifecycle_write_memory(struct json_writer *w, const struct job_control *control,
                            const struct job_decision *decision)
{
    if (!lifecycle_memory_differs(control, decision))
        return;
    json_w_member_object(w, "controlledResources");
    each_difference(control, decision, write_entry, w);
    json_w_end_object(w);
}

static void note_difference(const char *key, struct str value, void *arg)
{
    (void)key;
    (void)value;
    *(bool *)arg = true;
}

bool lifecycle_memory_differs(const struct job_control *control,
                              const struct job_decision *decision)
{
    bool differs = false;

    each_difference(control, decision, note_difference, &differs);
    return differs;
}
