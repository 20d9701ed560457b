/*
 * Requests for one object of a job, and what their answers say: see objects_private.h.
 */
#include "base/intern.h"
#include "base/log.h"
#include "controller/job/explain.h"
#include "controller/job/objects_private.h"
#include "controller/job/volumes.h"
#include "controller/job/wire.h"

#define LOOKUP_TIMEOUT (30 * NSEC_PER_SEC)

/* ---- what it is -------------------------------------------------------------------------------
 */

static const struct {
    const char *api_version, *kind, *path, *resource;
} kinds[OBJECT_KIND_COUNT] = {
    [OBJECT_CONFIG_MAP] = {"v1", "ConfigMap", "/api/v1", "configmaps"},
    [OBJECT_SERVICE] = {"v1", "Service", "/api/v1", "services"},
    [OBJECT_SECRET] = {"v1", "Secret", "/api/v1", "secrets"},
    [OBJECT_NETWORK_POLICY] = {"networking.k8s.io/v1", "NetworkPolicy",
                               "/apis/networking.k8s.io/v1", "networkpolicies"},
    [OBJECT_CLAIM] = {"v1", "PersistentVolumeClaim", "/api/v1", "persistentvolumeclaims"},
};

const char *object_kind_name(enum object_kind kind)
{
    return kinds[kind].kind;
}

static const struct job_volume *volume_of(const struct job_object *object)
{
    return &object->control->job->volumes[object->volume];
}

bool object_is_foreign(const struct job_object *object)
{
    return !object->plugin && !volume_is_made(volume_of(object));
}

void object_name(const struct job_object *object, struct buf *out)
{
    if (object->plugin)
        buf_printf(out, "%s%s", object->control->name, object->object->suffix);
    else
        volume_claim_name(out, object->control->job, volume_of(object));
}

struct plugin_call object_call(const struct job_object *object)
{
    const struct job *job = object->control->job;

    return plugin_call(object->plugin, job, job_find_plugin(job, object->plugin->name));
}

static void object_path(const struct job_object *object, bool named, struct buf *path)
{
    cleanup_buf struct buf name = BUF_INIT(4096);

    buf_printf(path, "%s/namespaces/", kinds[object->kind].path);
    kube_escape(path, str_of(object->control->ns));
    buf_printf(path, "/%s", kinds[object->kind].resource);
    if (!named)
        return;
    object_name(object, &name);
    buf_add_char(path, '/');
    kube_escape(path, buf_str(&name));
}

/* ---- content ----------------------------------------------------------------------------------
 */

static uint64_t read_data(struct json_reader *reader)
{
    uint64_t sum = 1;
    struct str key;

    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        const uint64_t name = str_hash(key), value = str_hash(json_scalar(reader));
        sum += (name ^ (value << 1 | value >> 63)) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return sum ? sum : 1;
}

uint64_t object_content(struct str json)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct str key;
    uint64_t content = 1;

    json_init(&reader, json, &arena);
    bool present = json_object(&reader);
    while (present && json_key(&reader, &key)) {
        if (str_is(key, "data"))
            content = read_data(&reader);
        else
            json_skip(&reader);
    }
    return json_failed(&reader) ? 1 : content;
}

/* The members beside apiVersion, kind and metadata. */
static void write_content(const struct job_object *object, struct json_writer *w)
{
    if (object->plugin) {
        const struct plugin_call call = object_call(object);
        object->object->write(&call, &object->keys, w);
    } else {
        const char *claim = volume_of(object)->claim;
        json_w_member_raw(w, "spec", *claim ? str_of(claim) : STR("{}"));
    }
}

uint64_t object_wanted_content(const struct job_object *object)
{
    cleanup_buf struct buf text = BUF_INIT(LIMIT_REQUEST_BODY);
    struct json_writer w = json_writer(&text);

    json_w_object(&w);
    write_content(object, &w);
    json_w_end_object(&w);
    return object_content(buf_str(&text));
}

/* ---- life -------------------------------------------------------------------------------------
 */

static void wake(void *arg)
{
    job_control_mark(arg);
}

void object_init(struct job_object *object, struct job_control *control)
{
    object->control = control;
    single_write_init(&object->write, wake, control);
}

static void forget_uid(struct job_object *object)
{
    intern_put(object->uid);
    object->uid = NULL;
}

bool object_busy(const struct job_object *object)
{
    return object->making || single_write_busy(&object->write);
}

/* ---- refusals ---------------------------------------------------------------------------------
 */

static const char *reason_of(const struct job_object *object)
{
    return object->plugin ? "PluginError" : "PVCError";
}

/* Its state is certain again: what was said of it is no longer true. */
static void settle(struct job_object *object, enum object_state state)
{
    struct job_objects *objects = object->control->objects;

    object->state = state;
    if (state == OBJECT_GONE) {
        object->dropping = false;
        object->have = 0;
        forget_uid(object);
    }
    backoff_reset(&object->write.backoff);
    if (objects->trouble == object) {
        objects->trouble = NULL;
        trouble_clear(object->control, JOB_TROUBLE_OBJECT);
    }
    job_control_mark(object->control);
}

/* Of several troubles the job tells one, until it is over. */
static void tell(struct job_object *object, const struct error *why)
{
    struct job_control *control = object->control;
    struct job_objects *objects = control->objects;

    if (object->dropping || (objects->trouble && objects->trouble != object))
        return;
    objects->trouble = object;
    if (!trouble_set(control, JOB_TROUBLE_OBJECT, reason_of(object), why->text))
        return;
    log_warn("job %s/%s: %s", control->ns, control->name, why->text);
    job_event(control, EVENT_WARNING, reason_of(object), "%s", why->text);
}

/* Waits by back-off. */
static void refused(struct job_object *object, const struct error *why)
{
    single_write_retry(object->control, &object->write);
    tell(object, why);
    job_control_mark(object->control);
}

/* The refusal of a write with the object's name. */
static struct error refusal(const struct job_object *object, const struct error *why)
{
    cleanup_buf struct buf name = BUF_INIT(4096);
    struct error err = *why;

    object_name(object, &name);
    (void)error_prefix(&err, "%s %s cannot be written", object_kind_name(object->kind), name.p);
    return err;
}

/* ---- looking ----------------------------------------------------------------------------------
 */

static void read_found(struct str json, struct kube_meta *ret_meta)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct str key;

    json_init(&reader, json, &arena);
    bool present = json_object(&reader);
    while (present && json_key(&reader, &key)) {
        if (str_is(key, "metadata"))
            kube_meta_read(&reader, ret_meta, NULL);
        else
            json_skip(&reader);
    }
}

static void taken_by(struct job_object *object, const struct kube_meta *meta)
{
    cleanup_buf struct buf name = BUF_INIT(4096);
    struct error err = ERROR_INIT;
    const char *kind = meta->controller.kind, *owner = meta->controller.name;

    object_name(object, &name);
    (void)error_set(&err, ERROR_EXISTS, "%s %s exists and belongs to %s%s%s; waiting for it to go",
                    object_kind_name(object->kind), name.p, kind ? kind : "nobody",
                    owner ? " " : "", owner ? owner : "");
    refused(object, &err);
}

static void found(struct job_object *object, struct str json)
{
    struct kube_meta meta = {0};

    read_found(json, &meta);
    const bool ours = meta.uid && meta.controller.uid == object->control->uid;
    if (object_is_foreign(object)) {
        settle(object, OBJECT_THERE);
    } else if (object->dropping && (!ours || meta.deleted_ns)) {
        settle(object, OBJECT_GONE);
    } else if (!ours) {
        object->state = OBJECT_UNKNOWN;
        taken_by(object, &meta);
    } else if (meta.deleted_ns) {
        object->state = OBJECT_UNKNOWN; /* it will be made again when it is gone */
        single_write_retry(object->control, &object->write);
    } else {
        intern_put(object->uid);
        object->uid = intern_ref(meta.uid);
        if (object->object && object->object->follows)
            object->have = object_content(json);
        settle(object, OBJECT_THERE);
    }
    kube_meta_clear(&meta);
}

static void not_found(struct job_object *object)
{
    cleanup_buf struct buf name = BUF_INIT(4096);
    struct error err = ERROR_INIT;

    if (object->dropping) {
        settle(object, OBJECT_GONE);
        return;
    }
    if (!object_is_foreign(object)) {
        forget_uid(object);
        object->state = OBJECT_UNKNOWN;
        object->have = 0;
        single_write_retry(object->control, &object->write);
        return;
    }
    object_name(object, &name);
    (void)error_set(&err, ERROR_NOT_FOUND,
                    "PersistentVolumeClaim %s is not found; the job is Pending until the PVC is "
                    "created",
                    name.p);
    refused(object, &err);
}

static void looked_up(const struct kube_result *result, void *arg)
{
    struct job_object *object = arg;

    object->write.lookup = NULL;
    if (result->error.cls == ERROR_NONE)
        found(object, result->body);
    else if (result->error.cls == ERROR_NOT_FOUND)
        not_found(object);
    else
        refused(object, &result->error);
}

void object_look_up(struct job_object *object)
{
    cleanup_buf struct buf path = BUF_INIT(8192);

    object_path(object, true, &path);
    object->write.lookup = kube_start(object->control->controller->transport,
                                      &(struct kube_call_spec){.method = KUBE_GET,
                                                               .path = buf_str(&path),
                                                               .timeout_ns = LOOKUP_TIMEOUT,
                                                               .on_done = looked_up,
                                                               .arg = object});
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static bool render(struct buf *path, struct buf *body, void *arg)
{
    struct job_object *object = arg;
    struct job_control *control = object->control;
    cleanup_buf struct buf name = BUF_INIT(4096);
    struct json_writer w = json_writer(body);

    if (!control->job || control->job->meta.deleted_ns)
        return false;
    object_path(object, object->uid != NULL, path);
    object_name(object, &name);
    json_w_object(&w);
    if (!object->uid) {
        json_w_member_str(&w, "apiVersion", str_of(kinds[object->kind].api_version));
        json_w_member_str(&w, "kind", str_of(kinds[object->kind].kind));
    }
    json_w_member_object(&w, "metadata");
    if (object->uid) {
        json_w_member_str(&w, "uid", str_of(object->uid));
    } else {
        json_w_member_str(&w, "name", buf_str(&name));
        json_w_member_str(&w, "namespace", str_of(control->ns));
        write_job_owner(&w, control->name, control->uid);
    }
    json_w_end_object(&w);
    write_content(object, &w);
    json_w_end_object(&w);
    if (object->object && object->object->follows)
        object->sent = object_content(buf_str(body));
    return true;
}

static void was_written(struct job_object *object, struct str json)
{
    struct kube_meta meta = {0};

    read_found(json, &meta);
    intern_put(object->uid);
    object->uid = intern_ref(meta.uid);
    object->have = object->sent;
    ssh_keys_clear(&object->keys);
    kube_meta_clear(&meta);
    settle(object, OBJECT_THERE);
}

/* A create that will never be taken ends the job; what is there can stay as it is. */
static void not_written(struct job_object *object, const struct kube_result *result)
{
    const struct error err = refusal(object, &result->error);

    if (!object->uid && (result->status == 422 || result->error.cls == ERROR_LIMIT))
        object->control->doomed = true;
    refused(object, &err);
}

/* It may have been written, or somebody else's may be there. */
static void in_doubt(struct job_object *object, const struct kube_result *result)
{
    const struct error err = refusal(object, &result->error);

    if (object->write.backoff.failures > 0 && result->error.cls != ERROR_EXISTS)
        tell(object, &err);
    object_look_up(object);
}

static void written(const struct kube_result *result, void *arg)
{
    struct job_object *object = arg;
    const enum error_class cls = result->error.cls;

    object->write.request = NULL;
    if (cls == ERROR_NONE)
        was_written(object, result->body);
    else if (cls == ERROR_CANCELLED)
        job_control_mark(object->control);
    else if (object->uid && cls == ERROR_NOT_FOUND)
        not_found(object);
    else if (cls == ERROR_EXISTS || cls == ERROR_CONFLICT || result->outcome == KUBE_IN_DOUBT ||
             result->status >= 500)
        in_doubt(object, result);
    else
        not_written(object, result);
}

static void submit(struct job_object *object, enum kube_method method)
{
    /* In the class of what lets pods be made. */
    object->write.request = window_submit(
        object->control->controller->window,
        &(struct window_spec){.cls = WINDOW_BIND,
                              .gate = job_gate(object->control),
                              .method = method,
                              .content = method == KUBE_PATCH ? KUBE_MERGE_PATCH : KUBE_JSON,
                              .render = render,
                              .done = written,
                              .arg = object,
                              .patience_s = job_patience(object->write.backoff.failures)});
}

void object_update(struct job_object *object)
{
    submit(object, KUBE_PATCH);
}

/* ---- keys -------------------------------------------------------------------------------------
 */

struct key_making {
    struct job_object *object; /* NULL once nobody waits for them */
    struct ssh_keys keys;
    struct error err;
    bool made;
};

/* On a helper thread. */
static void make_keys(void *arg)
{
    struct key_making *making = arg;

    making->made = ssh_keys_make(&making->keys, &making->err) == 0;
}

static void keys_made(void *arg)
{
    struct key_making *making = arg;
    struct job_object *object = making->object;

    if (object) {
        object->making = NULL;
        if (making->made)
            object->keys = making->keys;
        else
            refused(object, &making->err);
        job_control_mark(object->control);
    } else {
        ssh_keys_clear(&making->keys);
    }
    free(making);
}

void object_create(struct job_object *object)
{
    if (object->object && object->object->needs_keys && !object->keys.private_key) {
        const struct plugin_call call = object_call(object);
        if (object->object->needs_keys(&call)) {
            object->making = xnew(struct key_making);
            object->making->object = object;
            loop_offload(object->control->controller->loop, make_keys, keys_made, object->making);
            return;
        }
    }
    forget_uid(object);
    submit(object, KUBE_POST);
}

/* ---- deleting ---------------------------------------------------------------------------------
 */

static bool render_delete(struct buf *path, struct buf *body, void *arg)
{
    struct job_object *object = arg;

    if (!object->control->job)
        return false;
    object_path(object, true, path);
    return write_delete_options(body, object->uid);
}

static void deleted(const struct kube_result *result, void *arg)
{
    struct job_object *object = arg;

    object->write.request = NULL;
    switch (result->error.cls) {
    case ERROR_NONE:
    case ERROR_NOT_FOUND:
    case ERROR_CONFLICT: /* another UID holds the name: ours is gone */
        settle(object, OBJECT_GONE);
        break;
    case ERROR_CANCELLED:
        job_control_mark(object->control);
        break;
    default:
        single_write_retry(object->control, &object->write);
        break;
    }
}

void object_delete(struct job_object *object)
{
    object->write.request = window_submit(object->control->controller->window,
                                          &(struct window_spec){.cls = WINDOW_DELETE,
                                                                .gate = job_gate(object->control),
                                                                .method = KUBE_DELETE,
                                                                .render = render_delete,
                                                                .done = deleted,
                                                                .arg = object});
}

void object_clear(struct job_object *object)
{
    if (object->making)
        object->making->object = NULL;
    single_write_cancel(object->control, &object->write);
    forget_uid(object);
    ssh_keys_clear(&object->keys);
}
