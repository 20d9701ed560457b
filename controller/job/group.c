/*
 * PodGroup writes: see group.h. One write is under way at most; each ends in a new pass, which
 * compares afresh, so nothing is remembered between them but the back-off.
 */
#include "controller/job/group.h"
#include "api/names.h"
#include "base/intern.h"
#include "base/log.h"
#include "controller/job/alive.h"
#include "controller/job/depends.h"
#include "controller/job/explain.h"
#include "controller/job/wire.h"
#include <stdarg.h>
#include <stdio.h>

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"
#define LOOKUP_TIMEOUT (30 * NSEC_PER_SEC)

static void group_path(const struct job_control *control, bool named, struct buf *path)
{
    buf_add_cstr(path, "/apis/" SCHEDULING_API_VERSION "/namespaces/");
    kube_escape(path, str_of(control->ns));
    buf_add_cstr(path, "/podgroups");
    if (!named)
        return;
    buf_add_char(path, '/');
    if (control->podgroup)
        kube_escape(path, str_of(control->podgroup->meta.name));
    else
        buf_printf(path, "%s-%s", control->name, control->uid);
}

bool group_is_old(const struct job_control *control)
{
    const char *text = control->podgroup
                           ? kube_pairs_get(&control->podgroup->meta.annotations, KEY_JOB_VERSION)
                           : NULL;
    int32_t version = 0;

    if (!control->podgroup)
        return false;
    /* One that somebody else made has no mark: it is of this run unless a new one begins. */
    if (!text || !str_to_i32(str_of(text), &version))
        return control->job->status.phase == JOB_RESTARTING;
    return version < control->job->status.version;
}

bool group_admitted(const struct job_control *control)
{
    return control->podgroup && strcmp(control->podgroup->phase, PODGROUP_PENDING) != 0;
}

/* ---- content ----------------------------------------------------------------------------------
 */

/* The group's minimum of a task, NULL when it does not count the task. */
static const struct podgroup_task_member *member_of(const struct podgroup *podgroup,
                                                    const char *task)
{
    for (uint32_t i = 0; podgroup && i < podgroup->min_task_member_count; i++) {
        if (podgroup->min_task_member[i].task == task)
            return &podgroup->min_task_member[i];
    }
    return NULL;
}

/* A task that waits for others is left out, or taken out. */
static void write_task_members(struct json_writer *w, const struct job_control *control)
{
    json_w_member_object(w, "minTaskMember");
    for (uint32_t i = 0; i < control->task_count; i++) {
        const struct job_task *task = &control->job->tasks[i];
        const bool held = control->tasks[i].held;
        if (held && !member_of(control->podgroup, task->name))
            continue;
        json_w_key(w, str_of(task->name));
        if (held)
            json_w_null(w);
        else
            json_w_i64(w, job_task_minimum(task));
    }
    json_w_end_object(w);
}

/* One sub-group policy for each task that is cut into partitions. */
static void write_subgroups(struct json_writer *w, const struct job_control *control)
{
    const struct job *job = control->job;

    json_w_member_array(w, "subGroupPolicy");
    for (uint32_t i = 0; i < job->task_count; i++) {
        const struct job_task *task = &job->tasks[i];
        if (task->partition_size <= 0 || control->tasks[i].held)
            continue;
        json_w_object(w);
        json_w_member_str(w, "name", str_of(task->name));
        json_w_member_i64(w, "subGroupSize", task->partition_size);
        json_w_member_i64(w, "minSubGroups", task->min_partitions);
        json_w_member_object(w, "labelSelector");
        json_w_member_object(w, "matchLabels");
        json_w_member_str(w, KEY_TASK_SPEC, str_of(task->name));
        json_w_end_object(w);
        json_w_end_object(w);
        json_w_member_array(w, "matchLabelKeys");
        json_w_str(w, STR(KEY_PARTITION_ID));
        json_w_end_array(w);
        if (*task->partition_topology)
            json_w_member_raw(w, "networkTopology", str_of(task->partition_topology));
        json_w_end_object(w);
    }
    json_w_end_array(w);
}

static bool has_partitions(const struct job *job)
{
    for (uint32_t i = 0; i < job->task_count; i++) {
        if (job->tasks[i].partition_size > 0)
            return true;
    }
    return false;
}

/* With what is to go from a map that patches are merged into. */
static void write_min_resources(struct json_writer *w, const struct job_control *control)
{
    const struct podgroup *podgroup = control->podgroup;
    const resource_list *wanted = &control->min_resources;
    char text[QUANTITY_TEXT_MAX];

    json_w_member_object(w, "minResources");
    for (size_t i = 0; i < wanted->n; i++) {
        const size_t n = quantity_print(text, wanted->items[i].quantity);
        json_w_member_str(w, wanted->items[i].name, str_make(text, n));
    }
    for (uint32_t i = 0; podgroup && i < podgroup->min_resources_count; i++) {
        if (resource_list_get(wanted, str_of(podgroup->min_resources[i].name)))
            continue;
        json_w_key(w, str_of(podgroup->min_resources[i].name));
        json_w_null(w);
    }
    json_w_end_object(w);
}

/* The members that follow the job whenever it changes. */
static void write_followed(struct json_writer *w, const struct job_control *control)
{
    const struct job *job = control->job;

    json_w_member_i64(w, "minMember", depends_minimum(control));
    write_task_members(w, control);
    write_min_resources(w, control);
    if (*job->priority_class_name) {
        json_w_member_str(w, "priorityClassName", str_of(job->priority_class_name));
    } else if (control->podgroup && *control->podgroup->priority_class_name) {
        json_w_key(w, STR("priorityClassName"));
        json_w_null(w);
    }
    if (has_partitions(job))
        write_subgroups(w, control);
}

/* What kubectl keeps on an object to compare with is the Job's alone. */
static void write_annotations(struct json_writer *w, const struct kube_pairs *annotations,
                              int32_t version)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", version);
    json_w_member_object(w, "annotations");
    for (uint32_t i = 0; i < annotations->n; i++) {
        if (strcmp(annotations->items[i].key, LAST_APPLIED) != 0 &&
            strcmp(annotations->items[i].key, KEY_JOB_VERSION) != 0)
            json_w_member_str(w, annotations->items[i].key, str_of(annotations->items[i].value));
    }
    json_w_member_str(w, KEY_JOB_VERSION, str_of(text));
    json_w_end_object(w);
}

static void write_new_group(struct json_writer *w, const struct job_control *control)
{
    const struct job *job = control->job;

    json_w_object(w);
    json_w_member_str(w, "apiVersion", STR(SCHEDULING_API_VERSION));
    json_w_member_str(w, "kind", STR("PodGroup"));
    json_w_member_object(w, "metadata");
    json_w_key(w, STR("name"));
    json_w_strf(w, "%s-%s", control->name, control->uid);
    json_w_member_str(w, "namespace", str_of(control->ns));
    json_w_key(w, STR("labels"));
    kube_pairs_write(w, &job->meta.labels);
    write_annotations(w, &job->meta.annotations, job->status.version);
    write_job_owner(w, control->name, control->uid);
    json_w_end_object(w);
    json_w_member_object(w, "spec");
    if (*job->queue)
        json_w_member_str(w, "queue", str_of(job->queue));
    if (*job->network_topology)
        json_w_member_raw(w, "networkTopology", str_of(job->network_topology));
    write_followed(w, control);
    json_w_end_object(w);
    json_w_end_object(w);
}

/* Brings the cached minimum up to date. */
static int min_resources(struct job_control *control, struct error *err)
{
    if (control->min_resources_known)
        return 0;
    cleanup_free bool *left_out = xcalloc(control->task_count + 1, sizeof(*left_out));
    for (uint32_t i = 0; i < control->task_count; i++)
        left_out[i] = control->tasks[i].held;
    const struct job_gang gang = {depends_minimum(control), left_out};
    resource_list_clear(&control->min_resources);
    if (job_min_resources(control->job, &gang, control->controller->priorityclasses,
                          &control->min_resources, err) < 0)
        return -1;
    control->min_resources_known = true;
    return 0;
}

static bool render(struct buf *path, struct buf *body, void *arg)
{
    struct job_control *control = arg;
    struct json_writer w = json_writer(body);

    if (!control->job || control->job->meta.deleted_ns || min_resources(control, NULL) < 0)
        return false;
    group_path(control, control->podgroup != NULL, path);
    if (control->podgroup) {
        json_w_object(&w);
        json_w_member_object(&w, "metadata");
        json_w_member_str(&w, "uid", str_of(control->podgroup->meta.uid));
        json_w_end_object(&w);
        json_w_member_object(&w, "spec");
        write_followed(&w, control);
        json_w_end_object(&w);
        json_w_end_object(&w);
    } else {
        write_new_group(&w, control);
    }
    return true;
}

/* ---- comparison -------------------------------------------------------------------------------
 */

static bool members_equal(const struct job_control *control)
{
    for (uint32_t i = 0; i < control->task_count; i++) {
        const struct job_task *task = &control->job->tasks[i];
        const struct podgroup_task_member *member = member_of(control->podgroup, task->name);
        if (control->tasks[i].held ? member != NULL
                                   : !member || member->min != job_task_minimum(task))
            return false;
    }
    return true;
}

static bool resources_equal(const struct podgroup *podgroup, const resource_list *wanted)
{
    resource_list stored = {0};

    stored.items = podgroup->min_resources;
    stored.n = podgroup->min_resources_count;
    return resource_list_equal(&stored, wanted);
}

static bool up_to_date(const struct job_control *control)
{
    const struct job *job = control->job;
    const struct podgroup *podgroup = control->podgroup;

    return podgroup->min_member == depends_minimum(control) &&
           podgroup->priority_class_name == job->priority_class_name && members_equal(control) &&
           resources_equal(podgroup, &control->min_resources);
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static void after_write(struct job_control *control)
{
    if (control->job)
        job_control_mark(control);
    else
        job_control_release(control);
}

/* Told on the job, and once in an Event. */
__attribute__((format(printf, 2, 3))) static void refused(struct job_control *control,
                                                          const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!trouble_set(control, JOB_TROUBLE_GROUP, "PodGroupError", text))
        return;
    log_warn("job %s/%s: %s", control->ns, control->name, text);
    job_event(control, EVENT_WARNING, "PodGroupError", "%s", text);
}

/* After an answer: whoever changes what we wrote is not argued with in a tight loop. */
static void settle(struct job_control *control)
{
    if (control->job && (!control->podgroup || !up_to_date(control)))
        single_write_retry(control, &control->group_write);
    else
        backoff_reset(&control->group_write.backoff);
}

/* The group that has our name may be from a try whose answer was lost, or somebody else's. */
static void looked_up(const struct kube_result *result, void *arg)
{
    struct job_control *control = arg;
    struct error err = ERROR_INIT;
    struct podgroup *podgroup;

    control->group_write.lookup = NULL;
    podgroup = result->error.cls == ERROR_NONE ? podgroup_decode(result->body, &err) : NULL;
    if (podgroup && podgroup->meta.controller.uid == control->uid) {
        (void)store_apply(control->controller->podgroups, result->body);
        settle(control);
    } else {
        if (podgroup)
            refused(control, "there is a PodGroup %s that does not belong to this job",
                    podgroup->meta.name);
        single_write_retry(control, &control->group_write);
    }
    podgroup_free(podgroup);
    after_write(control);
}

static void look_up(struct job_control *control)
{
    cleanup_buf struct buf path = BUF_INIT(4096);

    group_path(control, true, &path);
    control->group_write.lookup = kube_start(control->controller->transport,
                                             &(struct kube_call_spec){.method = KUBE_GET,
                                                                      .path = buf_str(&path),
                                                                      .timeout_ns = LOOKUP_TIMEOUT,
                                                                      .on_done = looked_up,
                                                                      .arg = control});
}

static void written(const struct kube_result *result, void *arg)
{
    struct job_control *control = arg;
    struct single_write *write = &control->group_write;

    write->request = NULL;
    if (result->error.cls == ERROR_NONE) {
        (void)store_apply(control->controller->podgroups, result->body);
        trouble_clear(control, JOB_TROUBLE_GROUP);
        settle(control);
    } else if (result->error.cls == ERROR_CANCELLED) {
        /* The job went away while this waited. */
    } else if (result->error.cls == ERROR_EXISTS ||
               (!control->podgroup && result->outcome == KUBE_IN_DOUBT)) {
        if (result->outcome == KUBE_IN_DOUBT && write->backoff.failures > 0)
            refused(control, "PodGroup cannot be written: %s", result->error.text);
        look_up(control);
        return;
    } else {
        refused(control, "PodGroup cannot be written: %s", result->error.text);
        alive_doubt(control); /* the job may be gone by then */
        single_write_refused(control, write, result);
    }
    after_write(control);
}

void group_sync(struct job_control *control)
{
    struct single_write *write = &control->group_write;
    struct error err = ERROR_INIT;

    if (single_write_busy(write))
        return;
    if (min_resources(control, &err) < 0) {
        refused(control, "%s", err.text);
        single_write_retry(control, write);
        return;
    }
    if (control->podgroup && up_to_date(control)) {
        trouble_clear(control, JOB_TROUBLE_GROUP);
        return;
    }
    if (!alive_checked(control))
        return;
    write->request = window_submit(
        control->controller->window,
        &(struct window_spec){.cls = WINDOW_BIND, /* it lets pods be made: before them */
                              .gate = job_gate(control),
                              .method = control->podgroup ? KUBE_PATCH : KUBE_POST,
                              .content = control->podgroup ? KUBE_MERGE_PATCH : KUBE_JSON,
                              .render = render,
                              .done = written,
                              .arg = control,
                              .patience_s = job_patience(write->backoff.failures)});
}

/* ---- deletion ---------------------------------------------------------------------------------
 */

static bool render_delete(struct buf *path, struct buf *body, void *arg)
{
    struct job_control *control = arg;

    if (!control->podgroup)
        return false;
    group_path(control, true, path);
    return write_delete_options(body, control->podgroup->meta.uid);
}

static void group_deleted(const struct kube_result *result, void *arg)
{
    struct job_control *control = arg;
    struct single_write *write = &control->group_delete;

    write->request = NULL;
    if (result->error.cls == ERROR_NONE || result->error.cls == ERROR_NOT_FOUND) {
        struct podgroup *podgroup = control->podgroup;
        backoff_reset(&write->backoff);
        if (podgroup && result->error.cls == ERROR_NONE)
            store_apply_delete_answer(control->controller->podgroups, str_of(podgroup->meta.ns),
                                      str_of(podgroup->meta.name), str_of(podgroup->meta.uid),
                                      result->body);
        else if (podgroup)
            store_forget(control->controller->podgroups, str_of(podgroup->meta.ns),
                         str_of(podgroup->meta.name), str_of(podgroup->meta.uid));
    } else if (result->error.cls != ERROR_CANCELLED) {
        single_write_retry(control, write);
    }
    after_write(control);
}

void group_delete(struct job_control *control)
{
    struct single_write *write = &control->group_delete;

    if (!control->podgroup || control->podgroup->meta.deleted_ns || single_write_busy(write) ||
        !alive_checked(control))
        return;
    write->request =
        window_submit(control->controller->window, &(struct window_spec){.cls = WINDOW_DELETE,
                                                                         .gate = job_gate(control),
                                                                         .method = KUBE_DELETE,
                                                                         .render = render_delete,
                                                                         .done = group_deleted,
                                                                         .arg = control});
}
