/*
 * Compiling pod templates: see template.h.
 *
 * The whole pod is written once with a one-byte mark at each hole (a byte that JSON text cannot
 * contain), then cut at the marks.
 */
#include "controller/job/template.h"
#include "api/names.h"
#include "base/intern.h"
#include "base/vec.h"
#include "controller/job/wire.h"
#include "json/writer.h"

enum hole { HOLE_INDEX = 1, HOLE_VERSION, HOLE_RETRY_COUNT };

/* Raw control characters never occur in JSON: as marks they cannot be confused with content. */
#define MARK(hole) ((char)(hole))

struct pod_template {
    struct buf text; /* owned; the whole pod with marks at the holes */
};

void pod_name_write(struct buf *out, const char *job, const char *task, uint32_t index)
{
    buf_printf(out, "%s-%s-%u", job, task, index);
}

/* ---- labels and annotations -------------------------------------------------------------------
 */

/* A sorted set of pairs under construction; `value` may end with a hole's mark. */
struct pair {
    const char *key, *value; /* borrowed */
    char mark;               /* the value is the hole's number, 0 for a plain value */
};

typedef VEC(struct pair) pairs;

/* Sets or replaces one pair. */
static void set_pair(pairs *set, const char *key, const char *value, char mark)
{
    struct pair pair = {key, value, mark};
    size_t at = 0;

    while (at < set->n && strcmp(set->items[at].key, key) < 0)
        at++;
    if (at < set->n && strcmp(set->items[at].key, key) == 0) {
        set->items[at] = pair;
        return;
    }
    vec_push(set, pair);
    memmove(&set->items[at + 1], &set->items[at], (set->n - 1 - at) * sizeof(pair));
    set->items[at] = pair;
}

static void set_all(pairs *set, const struct kube_pairs *from)
{
    for (uint32_t i = 0; i < from->n; i++)
        set_pair(set, from->items[i].key, from->items[i].value, 0);
}

/* Copies `key` from the job's annotations or labels when it is there. */
static bool inherit(pairs *set, const struct kube_pairs *from, const char *key)
{
    const char *value = kube_pairs_get(from, key);

    if (value)
        set_pair(set, key, value, 0);
    return value != NULL;
}

static void write_pairs(struct json_writer *w, const char *member, const pairs *set)
{
    json_w_member_object(w, member);
    for (size_t i = 0; i < set->n; i++) {
        json_w_key(w, str_of(set->items[i].key));
        if (set->items[i].mark) {
            char raw[3] = {'"', set->items[i].mark, '"'};
            json_w_raw(w, str_make(raw, sizeof(raw)));
        } else {
            json_w_str(w, str_of(set->items[i].value));
        }
    }
    json_w_end_object(w);
}

static void write_labels(struct json_writer *w, const struct job *job, const struct job_task *task)
{
    pairs set = {0};

    set_all(&set, &task->labels);
    set_pair(&set, KEY_TASK_INDEX, NULL, MARK(HOLE_INDEX));
    set_pair(&set, KEY_JOB_NAME, job->meta.name, 0);
    set_pair(&set, KEY_TASK_SPEC, task->name, 0);
    set_pair(&set, KEY_JOB_NAMESPACE, job->meta.ns, 0);
    set_pair(&set, KEY_QUEUE_NAME, job->queue, 0);
    inherit(&set, &job->meta.labels, KEY_PREEMPTABLE);
    inherit(&set, &job->meta.labels, KEY_COOLDOWN_TIME);
    write_pairs(w, "labels", &set);
    vec_clear(&set);
}

static void write_annotations(struct json_writer *w, const struct job *job,
                              const struct job_task *task)
{
    pairs set = {0};
    cleanup_free char *group = xasprintf("%s-%s", job->meta.name, job->meta.uid);
    cleanup_free char *template_uid = xasprintf("%s-%s", job->meta.name, task->name);
    const struct kube_pairs *own = &job->meta.annotations;

    set_all(&set, &task->annotations);
    set_pair(&set, KEY_TASK_INDEX, NULL, MARK(HOLE_INDEX));
    set_pair(&set, KEY_TASK_SPEC, task->name, 0);
    set_pair(&set, KEY_GROUP_NAME, group, 0);
    set_pair(&set, KEY_JOB_NAME, job->meta.name, 0);
    set_pair(&set, KEY_QUEUE_NAME, job->queue, 0);
    set_pair(&set, KEY_JOB_VERSION, NULL, MARK(HOLE_VERSION));
    set_pair(&set, KEY_TEMPLATE_UID, template_uid, 0);
    set_pair(&set, KEY_JOB_RETRY_COUNT, NULL, MARK(HOLE_RETRY_COUNT));
    if (*task->topology_policy)
        set_pair(&set, KEY_NUMA_POLICY, task->topology_policy, 0);
    inherit(&set, own, KEY_PREEMPTABLE);
    inherit(&set, own, KEY_COOLDOWN_TIME);
    inherit(&set, own, KEY_REVOCABLE_ZONE);
    if (!inherit(&set, own, KEY_JDB_MIN_AVAILABLE))
        inherit(&set, own, KEY_JDB_MAX_UNAVAILABLE);
    write_pairs(w, "annotations", &set);
    vec_clear(&set);
}

/* ---- the pod ----------------------------------------------------------------------------------
 */

static void write_metadata(struct json_writer *w, const struct job *job,
                           const struct job_task *task)
{
    json_w_member_object(w, "metadata");
    json_w_key(w, STR("name"));
    cleanup_buf struct buf name = BUF_INIT(1024);
    buf_printf(&name, "\"%s-%s-%c\"", job->meta.name, task->name, MARK(HOLE_INDEX));
    json_w_raw(w, buf_str(&name));
    json_w_member_str(w, "namespace", str_of(job->meta.ns));
    write_labels(w, job, task);
    write_annotations(w, job, task);
    if (*task->finalizers)
        json_w_member_raw(w, "finalizers", str_of(task->finalizers));
    write_job_owner(w, job->meta.name, job->meta.uid);
    json_w_end_object(w);
}

/* The template's spec with schedulerName and priorityClassName filled from the job where empty. */
static void write_spec(struct json_writer *w, const struct job *job, const struct job_task *task)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct str key;
    bool add_scheduler = !*task->scheduler_name;
    bool add_priority = !*task->priority_class_name && *job->priority_class_name;

    json_w_member_object(w, "spec");
    json_init(&reader, str_of(task->spec), &arena);
    bool present = json_object(&reader);
    while (present && json_key(&reader, &key)) {
        struct str value = json_raw(&reader);
        if ((add_scheduler && str_eq(key, STR("schedulerName"))) ||
            (add_priority && str_eq(key, STR("priorityClassName"))))
            continue;
        json_w_key(w, key);
        json_w_raw(w, value);
    }
    if (add_scheduler)
        json_w_member_str(w, "schedulerName",
                          *job->scheduler_name ? str_of(job->scheduler_name)
                                               : STR(DEFAULT_SCHEDULER_NAME));
    if (add_priority)
        json_w_member_str(w, "priorityClassName", str_of(job->priority_class_name));
    json_w_end_object(w);
}

struct pod_template *pod_template_new(const struct job *job, uint32_t task)
{
    struct pod_template *compiled = xnew(struct pod_template);
    struct json_writer w;

    buf_init(&compiled->text, LIMIT_REQUEST_BODY);
    w = json_writer(&compiled->text);
    json_w_object(&w);
    json_w_member_str(&w, "apiVersion", STR("v1"));
    json_w_member_str(&w, "kind", STR("Pod"));
    write_metadata(&w, job, &job->tasks[task]);
    write_spec(&w, job, &job->tasks[task]);
    json_w_end_object(&w);
    return compiled;
}

void pod_template_free(struct pod_template *compiled)
{
    if (!compiled)
        return;
    buf_clear(&compiled->text);
    free(compiled);
}

void pod_template_render(const struct pod_template *compiled, uint32_t index, int32_t version,
                         int32_t retry_count, struct buf *out)
{
    const int64_t values[] = {
        [HOLE_INDEX] = index, [HOLE_VERSION] = version, [HOLE_RETRY_COUNT] = retry_count};
    const char *at = compiled->text.p, *end = at + compiled->text.n;

    while (at < end) {
        const char *next = at;
        while (next < end && ((unsigned char)*next > HOLE_RETRY_COUNT || *next == 0))
            next++;
        buf_add(out, at, (size_t)(next - at));
        if (next < end)
            buf_add_i64(out, values[(unsigned char)*next]);
        at = next + 1;
    }
}
