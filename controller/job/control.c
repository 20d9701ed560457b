/*
 * Bookkeeping of one job: slots, strays and counts, kept right pod by pod. See control.h.
 */
#include "controller/job/control.h"
#include "api/names.h"
#include "base/ensure.h"
#include "base/intern.h"
#include "base/limits.h"
#include "controller/job/alive.h"
#include "controller/job/commands.h"
#include "controller/job/depends.h"
#include "controller/job/eviction.h"
#include "controller/job/explain.h"
#include "controller/job/lifecycle.h"
#include "controller/job/objects.h"
#include "controller/job/pods.h"
#include <stdarg.h>
#include <stdio.h>

#define RETRY_MOST (60 * NSEC_PER_SEC)

/* ---- single writes ----------------------------------------------------------------------------
 */

void single_write_init(struct single_write *write, loop_fn *fn, struct job_control *control)
{
    *write = (struct single_write){0};
    loop_timer_init(&write->timer, fn, control);
    backoff_init(&write->backoff, NSEC_PER_SEC / 5, RETRY_MOST);
}

bool single_write_busy(const struct single_write *write)
{
    return write->request || write->lookup || loop_timer_active(&write->timer);
}

void single_write_cancel(struct job_control *control, struct single_write *write)
{
    struct controller *controller = control->controller;

    if (write->request)
        (void)window_cancel(controller->window, write->request);
    if (write->lookup)
        kube_cancel(controller->transport, write->lookup);
    write->request = NULL;
    write->lookup = NULL;
    loop_timer_cancel(controller->loop, &write->timer);
}

void single_write_retry(struct job_control *control, struct single_write *write)
{
    struct loop *loop = control->controller->loop;

    loop_timer_set(loop, &write->timer, backoff_next(&write->backoff, loop_rng(loop)));
}

int64_t job_retry_delay(struct job_control *control, struct backoff *backoff,
                        const struct kube_result *result)
{
    const int64_t delay_ns = backoff_next(backoff, loop_rng(control->controller->loop));
    const int64_t asked_ns =
        result->retry_after_ns < RETRY_MOST ? result->retry_after_ns : RETRY_MOST;

    return delay_ns > asked_ns ? delay_ns : asked_ns;
}

void single_write_refused(struct job_control *control, struct single_write *write,
                          const struct kube_result *result)
{
    loop_timer_set(control->controller->loop, &write->timer,
                   job_retry_delay(control, &write->backoff, result));
}

/* ---- life -------------------------------------------------------------------------------------
 */

static void wake(void *arg)
{
    job_control_mark(arg);
}

static void try_delete(void *arg)
{
    pods_try_delete(arg);
}

struct job_control *job_control_get(struct controller *controller, const char *uid, const char *ns,
                                    const char *name)
{
    struct job_control *control = map_get(&controller->by_uid, str_of(uid));

    if (control)
        return control;
    control = xnew(struct job_control);
    control->controller = controller;
    control->uid = intern_get(str_of(uid));
    control->ns = intern_get(str_of(ns));
    control->name = intern_get(str_of(name));
    control->shard = shard_of(ns, name);
    list_init(&control->dirty_link);
    list_init(&control->creates);
    window_flow_init(controller->window, &control->flow);
    backoff_init(&control->create_backoff, NSEC_PER_SEC, RETRY_MOST);
    backoff_init(&control->status_conflicts, 20 * NSEC_PER_MSEC, 60 * NSEC_PER_MSEC);
    loop_timer_init(&control->hold, wake, control);
    backoff_init(&control->delete_backoff, NSEC_PER_SEC / 5, RETRY_MOST / 2);
    loop_timer_init(&control->delete_hold, try_delete, control);
    single_write_init(&control->group_write, wake, control);
    single_write_init(&control->group_delete, wake, control);
    single_write_init(&control->status_write, wake, control);
    loop_timer_init(&control->due, wake, control);
    loop_timer_init(&control->rest, wake, control);
    alive_init(control);
    map_set(&controller->by_uid, str_of(uid), control);
    return control;
}

static void tasks_clear(struct job_control *control)
{
    for (uint32_t i = 0; i < control->task_count; i++) {
        intern_put(control->tasks[i].name);
        free(control->tasks[i].slots);
        ranges_clear(&control->tasks[i].finished);
        ranges_clear(&control->tasks[i].restart);
        pod_template_free(control->tasks[i].compiled);
    }
    free(control->tasks);
    control->tasks = NULL;
    control->task_count = 0;
}

void job_control_free(struct job_control *control)
{
    struct controller *controller = control->controller;

    list_remove(&control->dirty_link);
    pods_cancel_creates(control);
    pods_cancel_deletes(control);
    single_write_cancel(control, &control->group_write);
    single_write_cancel(control, &control->group_delete);
    single_write_cancel(control, &control->status_write);
    alive_cancel(control);
    loop_timer_cancel(controller->loop, &control->hold);
    loop_timer_cancel(controller->loop, &control->delete_hold);
    loop_timer_cancel(controller->loop, &control->due);
    loop_timer_cancel(controller->loop, &control->rest);
    evictions_clear(control);
    objects_free(control);
    tasks_clear(control);
    vec_clear(&control->strays);
    vec_clear(&control->commands);
    map_clear(&control->deletes);
    map_clear(&control->own_deletes);
    map_clear(&control->ended_first);
    resource_list_clear(&control->min_resources);
    intern_put(control->uid);
    intern_put(control->ns);
    intern_put(control->name);
    troubles_free(control);
    free(control->sent.event_text);
    free(control);
}

/* True while a pod of the job is in one of its slots. */
static bool has_pods(const struct job_control *control)
{
    for (uint32_t i = 0; i < control->task_count; i++) {
        const struct task_counts *counts = &control->tasks[i].counts;
        int64_t sum = counts->terminating;
        for (int phase = 0; phase < POD_PHASE_COUNT; phase++)
            sum += counts->by_phase[phase];
        if (sum > 0)
            return true;
    }
    return control->strays.n > 0;
}

void job_control_release(struct job_control *control)
{
    if (control->job || control->create_count > 0 || map_count(&control->deletes) > 0 ||
        control->flow.count > 0 || single_write_busy(&control->group_write) ||
        single_write_busy(&control->group_delete) || single_write_busy(&control->status_write) ||
        alive_asking(control) || has_pods(control))
        return;
    map_del(&control->controller->by_uid, str_of(control->uid));
    job_control_free(control);
}

/* True when the next pass of a large job has to wait, and will come by itself. */
static bool is_resting(struct job_control *control)
{
    struct loop *loop = control->controller->loop;

    if (!control->job || loop_now(loop) >= control->rests_until_ns)
        return false;
    if (!loop_timer_active(&control->rest))
        loop_timer_set(loop, &control->rest, control->rests_until_ns - loop_now(loop));
    return true;
}

void job_control_passed(struct job_control *control)
{
    const int64_t pods = (int64_t)job_control_present(control) + (int64_t)control->strays.n;

    control->rests_until_ns =
        pods < RESTS_FROM_PODS ? 0 : loop_now(control->controller->loop) + pods * REST_OF_POD;
}

void job_control_mark(struct job_control *control)
{
    struct controller *controller = control->controller;

    if (control->dirty || controller->stopping || (control->job && !controller->leading) ||
        is_resting(control))
        return;
    control->dirty = true;
    list_append(&controller->dirty, &control->dirty_link);
    loop_defer(controller->loop, &controller->pass);
}

void job_event(struct job_control *control, enum event_type type, const char *reason,
               const char *format, ...)
{
    struct event_ref ref = {BATCH_API_VERSION, "Job", control->ns, control->name, control->uid, 0};
    char text[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    event_record(control->controller->events, &ref, type, reason, "%s", text);
}

/* ---- slots ------------------------------------------------------------------------------------
 */

static struct task_control *find_task(struct job_control *control, const char *task)
{
    for (uint32_t i = 0; i < control->task_count; i++) {
        if (control->tasks[i].name == task)
            return &control->tasks[i];
    }
    return NULL;
}

struct pod_slot *job_control_slot(struct job_control *control, const char *task, int32_t index,
                                  struct task_control **ret_task)
{
    struct task_control *found = find_task(control, task);

    if (ret_task)
        *ret_task = found;
    if (!found || index < 0 || (uint32_t)index >= found->size)
        return NULL;
    return &found->slots[index];
}

/* What has succeeded for good is counted as that while its pod goes. */
static void count(const struct job_control *control, struct task_control *task,
                  const struct podstate *pod, int32_t by)
{
    if (pod->meta.deleted_ns &&
        !(pod->phase == POD_PHASE_SUCCEEDED && ranges_has(&task->finished, (uint32_t)pod->index)))
        task->counts.terminating += by;
    else
        task->counts.by_phase[pod->phase] += by;
    if (!pod->bound && !pod->meta.deleted_ns && pod->phase == POD_PHASE_PENDING)
        task->unbound += (uint32_t)by;
    if (pod_was_disrupted(pod))
        task->disrupted += by;
    if (lifecycle_is_old(pod, control->seen_version))
        task->old += by;
    else if (pod->phase == POD_PHASE_RUNNING && pod->ready && !pod->meta.deleted_ns)
        task->counts.ready += by;
}

/* A slot that neither has a pod, nor gets one, nor is done with. */
static bool is_vacant(const struct task_control *task, uint32_t index)
{
    const struct pod_slot *slot = &task->slots[index];

    return !slot->pod && !slot->create && !ranges_has(&task->finished, index);
}

/* Notes that the slot may have become vacant or taken. */
static void settle(struct task_control *task, uint32_t index, bool was_vacant)
{
    bool vacant = is_vacant(task, index);

    if (vacant == was_vacant)
        return;
    if (vacant) {
        task->vacant++;
        if (index < task->cursor)
            task->cursor = index;
    } else {
        task->vacant--;
    }
}

/* What succeeded stays counted when its pod goes. */
static void count_remembered(struct task_control *task, uint32_t index, int32_t by)
{
    if (ranges_has(&task->finished, index))
        task->counts.by_phase[POD_PHASE_SUCCEEDED] += by;
}

static void drop_stray(struct job_control *control, const struct podstate *pod)
{
    for (size_t i = 0; i < control->strays.n; i++) {
        if (control->strays.items[i] == pod) {
            vec_remove(&control->strays, i);
            return;
        }
    }
}

static void unplace(struct job_control *control, struct podstate *pod)
{
    struct task_control *task;
    struct pod_slot *slot = job_control_slot(control, pod->task, pod->index, &task);

    if (!slot || slot->pod != pod) {
        drop_stray(control, pod);
        return;
    }
    bool vacant = is_vacant(task, (uint32_t)pod->index);
    slot->pod = NULL;
    count(control, task, pod, -1);
    count_remembered(task, (uint32_t)pod->index, 1);
    settle(task, (uint32_t)pod->index, vacant);
}

/* Success of a pod that is not about to be restarted is for good. */
static void remember_success(struct job_control *control, struct task_control *task,
                             const struct podstate *pod)
{
    if (control->job && pod->phase == POD_PHASE_SUCCEEDED && pod_ended_first(control, pod) &&
        !lifecycle_must_go(control, (uint32_t)(task - control->tasks), pod))
        ranges_add(&task->finished, (uint32_t)pod->index, (uint32_t)pod->index);
}

/* A pod of another name is none that we made, whatever else it says. */
static bool has_our_name(const struct job_control *control, const struct podstate *pod)
{
    char name[512];
    const int n = snprintf(name, sizeof(name), "%s-%s-%d", control->name, pod->task, pod->index);

    return n > 0 && (size_t)n < sizeof(name) && strcmp(name, pod->meta.name) == 0;
}

static void place(struct job_control *control, struct podstate *pod)
{
    struct task_control *task;
    struct pod_slot *slot = job_control_slot(control, pod->task, pod->index, &task);

    if (!slot || slot->pod || !has_our_name(control, pod)) {
        vec_push(&control->strays, pod);
        return;
    }
    bool vacant = is_vacant(task, (uint32_t)pod->index);
    count_remembered(task, (uint32_t)pod->index, -1);
    slot->pod = pod;
    remember_success(control, task, pod);
    count(control, task, pod, 1);
    settle(task, (uint32_t)pod->index, vacant);
}

/* ---- pods -------------------------------------------------------------------------------------
 */

static bool has_place(struct job_control *control, const struct podstate *pod)
{
    const struct pod_slot *slot = job_control_slot(control, pod->task, pod->index, NULL);

    return slot && slot->pod == pod;
}

void job_control_set_pod(struct job_control *control, struct podstate *old, struct podstate *now)
{
    eviction_watch(control, old, now);
    if (!now && has_place(control, old))
        alive_doubt(control);
    if (old)
        unplace(control, old);
    if (now)
        place(control, now);
    job_control_mark(control);
}

void job_control_set_create(struct job_control *control, const char *task, uint32_t index,
                            struct pod_create *create)
{
    struct task_control *found;
    struct pod_slot *slot = job_control_slot(control, task, (int32_t)index, &found);

    if (!slot)
        return;
    bool vacant = is_vacant(found, index);
    slot->create = create;
    settle(found, index, vacant);
}

/* ---- the job ----------------------------------------------------------------------------------
 */

static void collect(struct job_control *control)
{
    for (uint32_t i = 0; i < control->task_count; i++) {
        for (uint32_t k = 0; k < control->tasks[i].size; k++) {
            if (control->tasks[i].slots[k].pod)
                vec_push(&control->strays, control->tasks[i].slots[k].pod);
        }
    }
}

/* Empty slots for every replica, but never more than memory is good for. */
static void lay_out(struct job_control *control)
{
    const struct job *job = control->job;
    uint32_t left = LIMIT_JOB_PODS;

    control->task_count = job->task_count;
    control->tasks = xcalloc(job->task_count, sizeof(*control->tasks));
    for (uint32_t i = 0; i < job->task_count; i++) {
        struct task_control *task = &control->tasks[i];
        uint32_t replicas = (uint32_t)job->tasks[i].replicas;
        task->name = intern_ref(job->tasks[i].name);
        task->size = replicas < left ? replicas : left;
        task->vacant = task->size;
        task->slots = xcalloc(task->size, sizeof(*task->slots));
        left -= task->size;
    }
    if (job_replicas(job) > LIMIT_JOB_PODS)
        job_event(control, EVENT_WARNING, "TooManyReplicas",
                  "spec.tasks ask for %d pods in all; no more than %d are created",
                  job_replicas(job), LIMIT_JOB_PODS);
}

/* What is known to have finished: what the status says, and (`kept`) what it does not say yet. */
static void take_finished(struct job_control *control, const struct task_control *kept,
                          uint32_t kept_count)
{
    for (uint32_t i = 0; i < control->task_count; i++) {
        struct task_control *task = &control->tasks[i];
        for (uint32_t k = 0; k < kept_count; k++) {
            for (size_t r = 0; kept[k].name == task->name && r < kept[k].finished.n; r++)
                ranges_add(&task->finished, kept[k].finished.items[r].first,
                           kept[k].finished.items[r].last);
        }
        (void)job_control_read_finished(control, i, &task->finished);
        /* What was scaled away starts afresh should it come back. */
        ranges_remove(&task->finished, task->size, UINT32_MAX);
        const uint32_t count = ranges_count(&task->finished, task->size);
        task->counts.by_phase[POD_PHASE_SUCCEEDED] = (int32_t)count;
        task->vacant -= count;
    }
}

/* True while the status says nothing that makes earlier successes void. */
static bool same_run(const struct job_control *control)
{
    return control->job && control->job->status.version == control->seen_version &&
           control->job->status.retry_count == control->seen_retry_count;
}

static void tasks_drop(struct task_control *tasks, uint32_t count)
{
    struct job_control husk = {.tasks = tasks, .task_count = count};

    tasks_clear(&husk);
}

/* Lays the slots out anew for the job's tasks and puts every known pod in its place. */
static void rebuild(struct job_control *control)
{
    struct task_control *before = control->tasks;
    const uint32_t before_count = control->task_count;

    collect(control);
    control->tasks = NULL;
    control->task_count = 0;
    control->first_task = 0;
    if (control->job) {
        lay_out(control);
        job_control_read_restarts(control);
        take_finished(control, before, same_run(control) ? before_count : 0);
        if (control->seen_version == control->job->status.version)
            depends_carry_over(control, before, before_count);
        control->seen_version = control->job->status.version;
        control->seen_retry_count = control->job->status.retry_count;
    }
    tasks_drop(before, before_count);
    size_t n = control->strays.n;
    struct podstate **pods = control->strays.items;
    control->strays.items = NULL;
    control->strays.n = control->strays.cap = 0;
    for (size_t i = 0; i < n; i++)
        place(control, pods[i]);
    free(pods);
    pods_reattach(control);
}

/* True when the status says of finished pods what the slots do not know. */
static bool memory_is_news(struct job_control *control)
{
    bool news = !same_run(control);

    for (uint32_t i = 0; i < control->task_count && !news; i++) {
        struct ranges set = RANGES_INIT;
        for (size_t r = 0; r < control->tasks[i].finished.n; r++)
            ranges_add(&set, control->tasks[i].finished.items[r].first,
                       control->tasks[i].finished.items[r].last);
        news = job_control_read_finished(control, i, &set);
        ranges_clear(&set);
    }
    return news;
}

/* What its annotations ask of the fan-out; a weight that is no number is none. */
static void read_wishes(struct job_control *control, const struct job *job)
{
    const char *weight = kube_pairs_get(&job->meta.annotations, KEY_CREATION_WEIGHT);
    const char *beyond = kube_pairs_get(&job->meta.annotations, KEY_BEYOND_MINIMUM);
    int64_t value = 1;

    if (weight && !str_to_i64(str_of(weight), &value))
        value = 1;
    window_flow_set_weight(&control->flow, value);
    control->as_placed = beyond && strcmp(beyond, "as-placed") == 0;
}

void job_control_set_job(struct job_control *control, struct job *job, bool spec_changed)
{
    control->job = job;
    if (job)
        read_wishes(control, job);
    if (spec_changed) {
        control->doomed = false;
        control->min_resources_known = false;
    }
    if (spec_changed)
        objects_refit(control);
    if (spec_changed || memory_is_news(control))
        rebuild(control);
    else
        job_control_read_restarts(control);
    if (job)
        evictions_drop_answered(control);
    job_control_mark(control);
}

uint32_t job_control_present(const struct job_control *control)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < control->task_count; i++)
        sum += control->tasks[i].size - control->tasks[i].vacant;
    return sum;
}
