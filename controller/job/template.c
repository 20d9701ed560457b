/*
 * Compiling pod templates: see template.h. Metadata is written here, the spec by job/splice.c.
 */
#include "controller/job/template.h"
#include "api/names.h"
#include "controller/job/splice.h"
#include "controller/job/wire.h"

struct pod_template {
    struct holed_text text; /* the whole pod */
};

void pod_name_write(struct buf *out, const char *job, const char *task, uint32_t index)
{
    buf_printf(out, "%s-%s-%u", job, task, index);
}

/* ---- labels and annotations -------------------------------------------------------------------
 */

/* A sorted set of pairs under construction; keys and texts are borrowed. */
typedef VEC(struct edit_pair) pairs;

/* Sets or replaces one pair. */
static void set_pair(pairs *set, struct str key, struct edit_text value)
{
    const struct edit_pair pair = {key, value};
    size_t low = 0, high = set->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (str_cmp(set->items[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < set->n && str_eq(set->items[low].key, key)) {
        set->items[low] = pair;
        return;
    }
    vec_push(set, pair);
    memmove(&set->items[low + 1], &set->items[low], (set->n - 1 - low) * sizeof(pair));
    set->items[low] = pair;
}

static void set_text(pairs *set, const char *key, const char *value)
{
    set_pair(set, str_of(key), edit_plain(str_of(value)));
}

static void set_hole(pairs *set, const char *key, enum edit_hole hole, uint32_t divide)
{
    set_pair(set, str_of(key), (struct edit_text){.hole = hole, .divide = divide});
}

/* What is there is sorted, so each pair goes to the end. */
static void set_all(pairs *set, const struct kube_pairs *from)
{
    for (uint32_t i = 0; i < from->n; i++)
        set_text(set, from->items[i].key, from->items[i].value);
}

/* Copies `key` from the job's annotations or labels when it is there. */
static bool inherit(pairs *set, const struct kube_pairs *from, const char *key)
{
    const char *value = kube_pairs_get(from, key);

    if (value)
        set_text(set, key, value);
    return value != NULL;
}

static void write_pairs(struct holed_text *holed, struct json_writer *w, const char *member,
                        const pairs *set)
{
    json_w_member_object(w, member);
    for (size_t i = 0; i < set->n; i++) {
        json_w_key(w, set->items[i].key);
        holed_text_write(holed, w, &set->items[i].value);
    }
    json_w_end_object(w);
}

static void write_labels(struct holed_text *holed, struct json_writer *w, const struct job *job,
                         const struct job_task *task, const struct pod_edit *edit)
{
    pairs set = {0};

    set_all(&set, &task->labels);
    for (size_t i = 0; i < edit->labels.n; i++)
        set_pair(&set, edit->labels.items[i].key, edit->labels.items[i].value);
    set_hole(&set, KEY_TASK_INDEX, EDIT_INDEX, 1);
    set_text(&set, KEY_JOB_NAME, job->meta.name);
    set_text(&set, KEY_TASK_SPEC, task->name);
    set_text(&set, KEY_JOB_NAMESPACE, job->meta.ns);
    set_text(&set, KEY_QUEUE_NAME, job->queue);
    if (task->partition_size > 0)
        set_hole(&set, KEY_PARTITION_ID, EDIT_INDEX, (uint32_t)task->partition_size);
    inherit(&set, &job->meta.labels, KEY_PREEMPTABLE);
    inherit(&set, &job->meta.labels, KEY_COOLDOWN_TIME);
    inherit(&set, &job->meta.annotations, KEY_JOB_FORWARDING);
    write_pairs(holed, w, "labels", &set);
    vec_clear(&set);
}

static void write_annotations(struct holed_text *holed, struct json_writer *w,
                              const struct job *job, const struct job_task *task,
                              const struct pod_edit *edit)
{
    pairs set = {0};
    cleanup_free char *group = xasprintf("%s-%s", job->meta.name, job->meta.uid);
    cleanup_free char *template_uid = xasprintf("%s-%s", job->meta.name, task->name);
    const struct kube_pairs *own = &job->meta.annotations;

    set_all(&set, &task->annotations);
    for (size_t i = 0; i < edit->annotations.n; i++)
        set_pair(&set, edit->annotations.items[i].key, edit->annotations.items[i].value);
    set_hole(&set, KEY_TASK_INDEX, EDIT_INDEX, 1);
    set_text(&set, KEY_TASK_SPEC, task->name);
    set_text(&set, KEY_GROUP_NAME, group);
    set_text(&set, KEY_JOB_NAME, job->meta.name);
    set_text(&set, KEY_QUEUE_NAME, job->queue);
    set_hole(&set, KEY_JOB_VERSION, EDIT_JOB_VERSION, 1);
    set_text(&set, KEY_TEMPLATE_UID, template_uid);
    set_hole(&set, KEY_JOB_RETRY_COUNT, EDIT_RETRY_COUNT, 1);
    if (*task->topology_policy)
        set_text(&set, KEY_NUMA_POLICY, task->topology_policy);
    inherit(&set, own, KEY_PREEMPTABLE);
    inherit(&set, own, KEY_COOLDOWN_TIME);
    inherit(&set, own, KEY_REVOCABLE_ZONE);
    inherit(&set, own, KEY_JOB_FORWARDING);
    if (!inherit(&set, own, KEY_JDB_MIN_AVAILABLE))
        inherit(&set, own, KEY_JDB_MAX_UNAVAILABLE);
    write_pairs(holed, w, "annotations", &set);
    vec_clear(&set);
}

/* ---- the pod ----------------------------------------------------------------------------------
 */

static void write_metadata(struct holed_text *holed, struct json_writer *w, const struct job *job,
                           const struct job_task *task, const struct pod_edit *edit)
{
    cleanup_free char *prefix = xasprintf("%s-%s-", job->meta.name, task->name);
    const struct edit_text name = edit_indexed(str_of(prefix), 0, STR_NULL);

    json_w_member_object(w, "metadata");
    json_w_key(w, STR("name"));
    holed_text_write(holed, w, &name);
    json_w_member_str(w, "namespace", str_of(job->meta.ns));
    write_labels(holed, w, job, task, edit);
    write_annotations(holed, w, job, task, edit);
    if (*task->finalizers)
        json_w_member_raw(w, "finalizers", str_of(task->finalizers));
    write_job_owner(w, job->meta.name, job->meta.uid);
    json_w_end_object(w);
}

struct pod_template *pod_template_new(const struct job *job, uint32_t task,
                                      const struct pod_edit *edit)
{
    static const struct pod_edit nothing = {.arena = ARENA_INIT};
    struct pod_template *compiled = xnew(struct pod_template);

    edit = edit ? edit : &nothing;
    holed_text_init(&compiled->text, LIMIT_REQUEST_BODY);
    struct json_writer w = json_writer(&compiled->text.text);
    json_w_object(&w);
    json_w_member_str(&w, "apiVersion", STR("v1"));
    json_w_member_str(&w, "kind", STR("Pod"));
    write_metadata(&compiled->text, &w, job, &job->tasks[task], edit);
    json_w_key(&w, STR("spec"));
    splice_spec(&compiled->text, &w, job, &job->tasks[task], edit);
    json_w_end_object(&w);
    return compiled;
}

void pod_template_free(struct pod_template *compiled)
{
    if (!compiled)
        return;
    holed_text_clear(&compiled->text);
    free(compiled);
}

void pod_template_render(const struct pod_template *compiled, uint32_t index, int32_t version,
                         int32_t retry_count, struct buf *out)
{
    holed_text_fill(&compiled->text, &(struct hole_values){index, version, retry_count}, out);
}
