/*
 * What objects a job needs and when: see objects.h. Each pass compares and starts at most one
 * request an object; the answers are in object_calls.c.
 */
#include "base/intern.h"
#include "controller/job/alive.h"
#include "controller/job/explain.h"
#include "controller/job/objects_private.h"
#include "controller/job/volumes.h"
#include <stdio.h>

#define NOTE_PLUGIN "plugin-"
#define NOTE_CLAIM "volume-pvc-"
#define NOTE_CONTENT "content-"
#define NOTE_MAX 384

/* ---- what the status says ---------------------------------------------------------------------
 */

static const char *noted(const struct job_control *control, const char *prefix, const char *name)
{
    char key[NOTE_MAX];

    (void)snprintf(key, sizeof(key), "%s%.253s", prefix, name);
    return kube_pairs_get(&control->job->status.controlled, key);
}

/* "16 hexadecimal digits" */
static uint64_t read_content(const char *text)
{
    uint64_t content = 0;

    for (; text && *text; text++) {
        const char *digits = "0123456789abcdef", *digit = strchr(digits, *text);
        if (!digit || content >> 60)
            return 0;
        content = content << 4 | (uint64_t)(digit - digits);
    }
    return content;
}

/* ---- the list ---------------------------------------------------------------------------------
 */

typedef VEC(struct job_object) object_list;

static void add_plugin_object(object_list *list, struct job_control *control,
                              const struct plugin_type *type, const struct plugin_object *wanted)
{
    struct job_object object = {.plugin = type, .object = wanted, .kind = wanted->kind};

    if (noted(control, NOTE_PLUGIN, type->name)) {
        object.state = OBJECT_THERE;
        if (wanted->follows)
            object.have = read_content(noted(control, NOTE_CONTENT, type->name));
    }
    vec_push(list, object);
}

static void add_plugins(object_list *list, struct job_control *control)
{
    const struct job *job = control->job;

    for (uint32_t i = 0; i < job->plugin_count; i++) {
        const struct plugin_type *type = plugin_find(job->plugins[i].name);
        if (!type || !type->objects)
            continue;
        const struct plugin_call call = plugin_call(type, job, &job->plugins[i]);
        for (const struct plugin_object *one = type->objects; one->write; one++) {
            if (!one->wanted || one->wanted(&call))
                add_plugin_object(list, control, type, one);
        }
    }
}

static void add_claims(object_list *list, struct job_control *control)
{
    const struct job *job = control->job;
    struct map seen = MAP_INIT;

    for (uint32_t i = 0; i < job->volume_count; i++) {
        cleanup_buf struct buf name = BUF_INIT(4096);
        volume_claim_name(&name, job, &job->volumes[i]);
        if (map_has(&seen, buf_str(&name)))
            continue;
        map_set(&seen, buf_str(&name), NULL);
        struct job_object object = {.volume = i, .kind = OBJECT_CLAIM};
        if (noted(control, NOTE_CLAIM, name.p))
            object.state = OBJECT_THERE;
        vec_push(list, object);
    }
    map_clear(&seen);
}

/* What is not understood of the arguments is told once. */
static void tell_unread(struct job_control *control)
{
    const struct job *job = control->job;

    for (uint32_t i = 0; i < job->plugin_count; i++) {
        const struct plugin_type *type = plugin_find(job->plugins[i].name);
        if (!type || noted(control, NOTE_PLUGIN, type->name))
            continue;
        const struct plugin_call call = plugin_call(type, job, &job->plugins[i]);
        if (call.unread.n > 0)
            job_event(control, EVENT_WARNING, "PluginError",
                      "spec.plugins.%s: arguments from \"%.*s\" on are not understood and have no "
                      "effect",
                      type->name, STR_ARG(str_cut(call.unread, 128)));
    }
}

static uint64_t mix(uint64_t sum, const char *text)
{
    return (sum ^ str_hash(str_of(text))) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* A number for what decides which objects there are: it does not change in the life of a job,
 * unless somebody gets past admission. */
static uint64_t shape_of(const struct job *job)
{
    uint64_t sum = job->volume_count;

    for (uint32_t i = 0; i < job->plugin_count; i++) {
        sum = mix(sum, job->plugins[i].name);
        for (uint32_t k = 0; k < job->plugins[i].arguments.n; k++)
            sum = mix(sum, job->plugins[i].arguments.items[k]);
    }
    for (uint32_t i = 0; i < job->volume_count; i++) {
        sum = mix(sum, job->volumes[i].mount_path);
        sum = mix(sum, job->volumes[i].claim_name);
    }
    return sum;
}

static struct job_objects *objects_of(struct job_control *control)
{
    struct job_objects *objects = control->objects;
    object_list list = {0};

    if (objects)
        return objects;
    objects = control->objects = xnew(struct job_objects);
    objects->generation = -1;
    objects->shape = shape_of(control->job);
    add_plugins(&list, control);
    add_claims(&list, control);
    objects->items = list.items;
    objects->n = list.n;
    for (size_t i = 0; i < objects->n; i++)
        object_init(&objects->items[i], control);
    return objects;
}

void objects_free(struct job_control *control)
{
    struct job_objects *objects = take_ptr(control->objects);

    if (!objects)
        return;
    for (size_t i = 0; i < objects->n; i++)
        object_clear(&objects->items[i]);
    free(objects->items);
    free(objects);
}

void objects_refit(struct job_control *control)
{
    if (control->objects && (!control->job || shape_of(control->job) != control->objects->shape))
        objects_free(control);
}

/* ---- wanted -----------------------------------------------------------------------------------
 */

/* A plugin that can never work ends the job. */
static bool fit(struct job_control *control, struct job_objects *objects)
{
    struct error err = ERROR_INIT;
    const bool was_unfit = objects->unfit;

    objects->unfit = plugins_check(control->job, &err) < 0;
    if (was_unfit && !objects->unfit)
        trouble_clear(control, JOB_TROUBLE_OBJECT);
    if (objects->unfit && trouble_set(control, JOB_TROUBLE_OBJECT, "PluginError", err.text))
        job_event(control, EVENT_WARNING, "PluginError", "%s", err.text);
    return !objects->unfit;
}

/* The job is new or changed: is it fit for its plugins, and what should contents be? */
static bool look_afresh(struct job_control *control, struct job_objects *objects)
{
    if (objects->generation == control->job->meta.generation)
        return !objects->unfit;
    if (objects->generation < 0)
        tell_unread(control);
    objects->generation = control->job->meta.generation;
    for (size_t i = 0; i < objects->n; i++) {
        struct job_object *object = &objects->items[i];
        if (object->object && object->object->follows)
            object->wanted = object_wanted_content(object);
    }
    return fit(control, objects);
}

static bool is_right(const struct job_object *object)
{
    return object->state == OBJECT_THERE && object->have == object->wanted;
}

static void bring_about(struct job_object *object)
{
    if (object->state == OBJECT_GONE)
        object->state = OBJECT_UNKNOWN;
    object->dropping = false;
    if (object->state == OBJECT_UNKNOWN && !object_is_foreign(object))
        object_create(object);
    else if (object->state == OBJECT_UNKNOWN || !object->uid)
        object_look_up(object);
    else
        object_update(object);
}

bool objects_sync(struct job_control *control)
{
    bool all = true;

    if (control->job->plugin_count == 0 && control->job->volume_count == 0)
        return true;
    struct job_objects *objects = objects_of(control);
    if (!look_afresh(control, objects)) {
        if (!control->doomed)
            job_control_mark(control); /* the status tells */
        control->doomed = true;
        return false;
    }
    for (size_t i = 0; i < objects->n; i++) {
        struct job_object *object = &objects->items[i];
        const bool right = is_right(object) && !object->dropping;
        all = all && right;
        if (!right && !object_busy(object) && alive_checked(control))
            bring_about(object);
    }
    return all;
}

/* ---- no more wanted ---------------------------------------------------------------------------
 */

static bool pods_live(const struct job_control *control)
{
    int64_t live = 0;

    for (uint32_t i = 0; i < control->task_count; i++) {
        const struct task_counts *counts = &control->tasks[i].counts;
        live += counts->by_phase[POD_PHASE_PENDING] + counts->by_phase[POD_PHASE_RUNNING] +
                counts->by_phase[POD_PHASE_UNKNOWN] + counts->terminating;
    }
    return live > 0 || control->create_count > 0;
}

/* True when there may be objects: made by this process, or noted by one before. */
static bool may_have_objects(const struct job_control *control)
{
    const struct job *job = control->job;

    for (uint32_t i = 0; i < job->plugin_count && !control->objects; i++) {
        const struct plugin_type *type = plugin_find(job->plugins[i].name);
        if (type && type->objects && noted(control, NOTE_PLUGIN, type->name))
            return true;
    }
    return control->objects != NULL;
}

static void take_away(struct job_object *object)
{
    if (object->state == OBJECT_UNKNOWN) {
        object->state = OBJECT_GONE; /* it was never made */
        object->dropping = false;
        return;
    }
    object->dropping = true;
    if (object->uid)
        object_delete(object);
    else
        object_look_up(object);
}

void objects_drop(struct job_control *control)
{
    if (!may_have_objects(control) || pods_live(control))
        return;
    struct job_objects *objects = objects_of(control);
    if (objects->trouble) {
        objects->trouble = NULL;
        trouble_clear(control, JOB_TROUBLE_OBJECT);
    }
    for (size_t i = 0; i < objects->n; i++) {
        struct job_object *object = &objects->items[i];
        if (object->plugin && object->state != OBJECT_GONE && !object_busy(object) &&
            alive_checked(control))
            take_away(object);
    }
}

/* ---- notes ------------------------------------------------------------------------------------
 */

struct notes {
    const struct job_control *control;
    objects_note_fn *differs;
    void *arg;
};

static void note(const struct notes *notes, const char *prefix, const char *name, struct str value)
{
    const char *now = noted(notes->control, prefix, name);
    char key[NOTE_MAX];

    if (str_eq(value, now ? str_of(now) : STR_NULL))
        return;
    (void)snprintf(key, sizeof(key), "%s%.253s", prefix, name);
    notes->differs(key, value, notes->arg);
}

/* How many objects of the plugin there are, may be, and are not. */
struct tally {
    size_t there, unknown, gone;
    const struct job_object *follower; /* one whose content is noted */
};

static struct tally tally(const struct job_control *control, const struct plugin_type *type)
{
    struct tally tally = {0};
    const struct job_objects *objects = control->objects;

    for (size_t i = 0; objects && i < objects->n; i++) {
        const struct job_object *object = &objects->items[i];
        if (object->plugin != type)
            continue;
        tally.there += object->state == OBJECT_THERE;
        tally.unknown += object->state == OBJECT_UNKNOWN;
        tally.gone += object->state == OBJECT_GONE;
        if (object->object->follows)
            tally.follower = object;
    }
    return tally;
}

/* While pods are wanted the plugin is noted once all it needs is there; then until all is gone. */
static void note_plugin(const struct notes *notes, const struct plugin_type *type, bool alive)
{
    const struct tally count = tally(notes->control, type);
    const char *now = noted(notes->control, NOTE_PLUGIN, type->name);
    const bool known = notes->control->objects || !type->objects;
    const bool all = known && count.unknown + count.gone == 0;
    const bool none = known && count.unknown + count.there == 0;
    const bool wanted = alive ? all || (now && !none) : now && !none;
    const struct job_object *follower = count.follower;
    char content[24] = "";

    note(notes, NOTE_PLUGIN, type->name, wanted ? str_of(type->name) : STR_NULL);
    if (!follower)
        return;
    if (wanted && follower->have)
        (void)snprintf(content, sizeof(content), "%llx", (unsigned long long)follower->have);
    note(notes, NOTE_CONTENT, type->name, str_of(content));
}

static void note_claims(const struct notes *notes)
{
    const struct job_objects *objects = notes->control->objects;

    for (size_t i = 0; objects && i < objects->n; i++) {
        cleanup_buf struct buf name = BUF_INIT(4096);
        if (objects->items[i].plugin || objects->items[i].state != OBJECT_THERE)
            continue;
        object_name(&objects->items[i], &name);
        note(notes, NOTE_CLAIM, name.p, buf_str(&name));
    }
}

void objects_notes(const struct job_control *control, enum job_phase phase,
                   objects_note_fn *differs, void *arg)
{
    const struct notes notes = {control, differs, arg};
    const struct job *job = control->job;

    for (uint32_t i = 0; i < job->plugin_count; i++) {
        const struct plugin_type *type = plugin_find(job->plugins[i].name);
        if (type && type->noted)
            note_plugin(&notes, type, job_phase_wants_pods(phase));
    }
    note_claims(&notes);
}
