/*
 * Writes of choices: a patch, and where its fate is unknown a look at the object. See binder.h.
 *
 * A write lives from write_start until its fate is known. It holds the version of the object that
 * it goes out from, and the choice; the bind that began it waits for it.
 */
#include "scheduler/volumes/binder_private.h"

struct choice_write {
    struct list link; /* in binder->writes */
    struct volume_binder *binder;
    struct volume_bind *bind;
    struct choice *choice;
    struct claim *claim;            /* counted; as it was when it began, or was read last */
    struct volume *volume;          /* likewise; NULL: the claim is what is written */
    struct window_request *request; /* the PATCH, or NULL */
    struct kube_call *read;         /* the GET, or NULL */
    struct loop_timer timer;        /* the next GET */
    struct backoff backoff;
    bool answered; /* the last PATCH was refused, in the words of `error`; else it is in doubt */
    struct error error;
    struct error last; /* of the last PATCH or GET that failed */
};

static void read_object(void *arg);
static void submit(struct choice_write *write, int64_t delay_ns);

static struct store *store_of(const struct choice_write *write)
{
    const struct volume_binder_params *params = &write->binder->params;
    return write->volume ? params->persistent_volumes : params->claims;
}

static const struct kube_meta *meta_of(const struct choice_write *write)
{
    return write->volume ? &write->volume->meta : &write->claim->meta;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void write_free(struct choice_write *write)
{
    const struct kube_meta *meta = meta_of(write);
    list_remove(&write->link);
    loop_timer_cancel(write->binder->params.loop, &write->timer);
    store_request_end(store_of(write), str_of(meta->ns), str_of(meta->name));
    claim_unref(write->claim);
    volume_unref(write->volume);
    free(write);
}

static void write_end(struct choice_write *write, enum choice_state state)
{
    struct volumes *volumes = write->binder->params.volumes;
    struct volume_bind *bind = write->bind;
    struct choice *choice = write->choice;
    choice->state = state;
    bind->writes--;
    loop_defer(write->binder->params.loop, &bind->look);
    write_free(write);
    choice_changed(volumes, choice);
    choice_release(volumes, choice);
}

static void write_fail(struct choice_write *write, char *trouble)
{
    write->choice->trouble = trouble;
    write_end(write, CHOICE_FAILED);
}

static void fail_gone(struct choice_write *write)
{
    const char *key = write->choice->claim->key;
    write_fail(write, write->volume ? xasprintf("volume \"%s\", chosen for claim \"%s\", is gone",
                                                write->volume->meta.name, key)
                                    : xasprintf("claim \"%s\" was deleted", key));
}

static void fail_refused(struct choice_write *write)
{
    const struct choice *choice = write->choice;
    write_fail(write,
               write->volume
                   ? xasprintf("volume \"%s\" could not be given to claim \"%s\": %s",
                               write->volume->meta.name, choice->claim->key, write->error.text)
                   : xasprintf("no volume could be asked for claim \"%s\" on node \"%s\": %s",
                               choice->claim->key, choice->node, write->error.text));
}

static void written(struct choice_write *write, uint64_t rv)
{
    write->choice->written_rv = rv;
    write_end(write, CHOICE_WRITTEN);
}

/* ---- how the object stands ------------------------------------------------------------------- */

enum standing { STANDING_OPEN, STANDING_WRITTEN, STANDING_TAKEN };

static enum standing volume_stands(const struct volume *volume, const struct claim *claim)
{
    if (!volume->claim_name)
        return STANDING_OPEN;
    if (!volume_is_for(volume, claim))
        return STANDING_TAKEN;
    return volume->claim_uid[0] ? STANDING_WRITTEN : STANDING_OPEN;
}

/* One that has a volume meanwhile is somebody else's doing, which the bind looks at. */
static enum standing claim_stands(const struct claim *claim, const char *node)
{
    if (claim->volume[0])
        return STANDING_WRITTEN;
    if (!claim->selected_node)
        return STANDING_OPEN;
    return strcmp(claim->selected_node, node) == 0 ? STANDING_WRITTEN : STANDING_TAKEN;
}

static enum standing stands(const struct choice_write *write)
{
    return write->volume ? volume_stands(write->volume, write->claim)
                         : claim_stands(write->claim, write->choice->node);
}

static void fail_taken(struct choice_write *write)
{
    const struct choice *choice = write->choice;
    const struct volume *volume = write->volume;
    write_fail(
        write,
        volume
            ? xasprintf("volume \"%s\", chosen for claim \"%s\", was given to claim \"%s/%s\"",
                        volume->meta.name, choice->claim->key, volume->claim_ns, volume->claim_name)
            : xasprintf("a volume for claim \"%s\" is asked for on node \"%s\" already",
                        choice->claim->key, write->claim->selected_node));
}

/* ---- reading --------------------------------------------------------------------------------- */

static void read_later(struct choice_write *write)
{
    struct loop *loop = write->binder->params.loop;
    loop_timer_set(loop, &write->timer, backoff_next(&write->backoff, loop_rng(loop)));
}

/* Takes the version that was read in place of the one that was written from; false when it cannot
 * be read, or is of another object of that name. */
static bool take_version(struct choice_write *write, struct str body, bool *ret_readable)
{
    struct claim *claim = write->volume ? NULL : claim_decode(body, NULL);
    struct volume *volume = write->volume ? volume_decode(body, NULL) : NULL;
    const struct kube_meta *meta = claim ? &claim->meta : volume ? &volume->meta : NULL;
    bool same = meta && meta->uid == meta_of(write)->uid;
    *ret_readable = meta != NULL;
    if (!same) {
        claim_unref(claim);
        volume_unref(volume);
    } else if (claim) {
        claim_unref(write->claim);
        write->claim = claim;
    } else {
        volume_unref(write->volume);
        write->volume = volume;
    }
    return same;
}

static void go_on(struct choice_write *write, uint64_t rv_before)
{
    struct loop *loop = write->binder->params.loop;
    enum standing standing = stands(write);
    if (standing == STANDING_WRITTEN)
        written(write, meta_of(write)->rv);
    else if (standing == STANDING_TAKEN)
        fail_taken(write);
    else if (write->answered && meta_of(write)->rv == rv_before)
        fail_refused(write);
    else if (write->bind->trouble)
        write_end(write, CHOICE_MADE);
    else
        submit(write, backoff_next(&write->backoff, loop_rng(loop)));
}

static void read_done(const struct kube_result *result, void *arg)
{
    struct choice_write *write = arg;
    const struct kube_meta *meta = meta_of(write);
    uint64_t rv_before = meta->rv;
    bool readable;
    write->read = NULL;
    if (result->outcome == KUBE_ANSWERED && result->status == 404) {
        store_forget(store_of(write), str_of(meta->ns), str_of(meta->name), str_of(meta->uid));
        fail_gone(write);
        return;
    }
    if (result->outcome != KUBE_ANSWERED || result->status != 200) {
        write->last = result->error;
        read_later(write);
        return;
    }
    bool same = take_version(write, result->body, &readable);
    store_apply(store_of(write), result->body);
    if (!readable)
        read_later(write);
    else if (!same)
        fail_gone(write);
    else
        go_on(write, rv_before);
}

static void object_path(const struct choice_write *write, struct buf *path)
{
    if (write->volume)
        volume_path(path, write->volume->meta.name);
    else
        claim_path(path, &write->claim->meta);
}

static void read_object(void *arg)
{
    struct choice_write *write = arg;
    cleanup_buf struct buf path = BUF_INIT(PATH_MOST);
    object_path(write, &path);
    write->read = kube_start(write->binder->params.transport,
                             &(struct kube_call_spec){.method = KUBE_GET,
                                                      .path = buf_str(&path),
                                                      .timeout_ns = READ_TIMEOUT,
                                                      .on_done = read_done,
                                                      .arg = write});
}

/* ---- writing --------------------------------------------------------------------------------- */

void claim_path(struct buf *path, const struct kube_meta *claim)
{
    buf_printf(path, "/api/v1/namespaces/%s/persistentvolumeclaims/%s", claim->ns, claim->name);
}

void volume_path(struct buf *path, const char *name)
{
    buf_printf(path, "/api/v1/persistentvolumes/%s", name);
}

void patch_open(struct json_writer *writer, const struct kube_meta *meta)
{
    json_w_object(writer);
    json_w_member_object(writer, "metadata");
    json_w_member_str(writer, "uid", str_of(meta->uid));
    json_w_key(writer, STR("resourceVersion"));
    json_w_strf(writer, "%llu", (unsigned long long)meta->rv);
}

static void annotate(struct json_writer *writer, const char *key, const char *value)
{
    json_w_member_object(writer, "annotations");
    json_w_member_str(writer, key, str_of(value));
    json_w_end_object(writer);
}

/* A user's own choice of the claim does not become the controller's. */
static void volume_body(struct json_writer *writer, const struct volume *volume,
                        const struct kube_meta *claim)
{
    if (!volume->claim_name)
        annotate(writer, KEY_BOUND_BY_CONTROLLER, "yes");
    json_w_end_object(writer);
    json_w_member_object(writer, "spec");
    json_w_member_object(writer, "claimRef");
    json_w_member_str(writer, "apiVersion", STR("v1"));
    json_w_member_str(writer, "kind", STR("PersistentVolumeClaim"));
    json_w_member_str(writer, "namespace", str_of(claim->ns));
    json_w_member_str(writer, "name", str_of(claim->name));
    json_w_member_str(writer, "uid", str_of(claim->uid));
    json_w_key(writer, STR("resourceVersion"));
    json_w_strf(writer, "%llu", (unsigned long long)claim->rv);
    json_w_end_object(writer);
    json_w_end_object(writer);
}

static bool write_render(struct buf *path, struct buf *body, void *arg)
{
    struct choice_write *write = arg;
    struct json_writer writer = json_writer(body);
    if (write->bind->trouble)
        return false;
    object_path(write, path);
    patch_open(&writer, meta_of(write));
    if (write->volume) {
        volume_body(&writer, write->volume, &write->claim->meta);
    } else {
        annotate(&writer, KEY_SELECTED_NODE, write->choice->node);
        json_w_end_object(&writer);
    }
    json_w_end_object(&writer);
    return true;
}

static bool is_final(const struct kube_result *result)
{
    return result->outcome == KUBE_ANSWERED && result->status >= 400 && result->status < 500 &&
           result->status != 404 && result->status != 409 && result->status != 422;
}

static void write_done(const struct kube_result *result, void *arg)
{
    struct choice_write *write = arg;
    struct kube_identity identity;
    write->request = NULL;
    write->error = write->last = result->error;
    write->answered = result->outcome == KUBE_ANSWERED && result->status < 500;
    if (result->outcome == KUBE_NOT_SENT) {
        write_end(write, CHOICE_MADE);
    } else if (is_final(result)) {
        fail_refused(write);
    } else if (result->outcome == KUBE_ANSWERED && result->status < 300 &&
               kube_identity_read(result->body, &identity, NULL) == 0) {
        store_apply(store_of(write), result->body);
        written(write, identity.rv);
    } else {
        read_object(write);
    }
}

static void submit(struct choice_write *write, int64_t delay_ns)
{
    write->request = window_submit(write->binder->params.window,
                                   &(struct window_spec){.cls = WINDOW_BIND,
                                                         .flow = write->bind->flow,
                                                         .method = KUBE_PATCH,
                                                         .content = KUBE_MERGE_PATCH,
                                                         .render = write_render,
                                                         .done = write_done,
                                                         .arg = write,
                                                         .delay_ns = delay_ns});
}

/* A volume that is gone, or a claim of another UID, needs no write to be found out. */
void write_start(struct volume_bind *bind, struct choice *choice)
{
    struct volume *volume = choice->volume ? choice->volume->object : NULL;
    struct claim *claim = choice->claim->object;
    if ((choice->volume && !volume) || claim->meta.uid != choice->claim_uid)
        return;
    struct choice_write *write = xnew(struct choice_write);
    write->binder = bind->binder;
    write->bind = bind;
    write->choice = choice;
    write->claim = claim_ref(claim);
    write->volume = volume ? volume_ref(volume) : NULL;
    loop_timer_init(&write->timer, read_object, write);
    backoff_init(&write->backoff, RETRY_FIRST, RETRY_MOST);
    store_request_begin(store_of(write), str_of(meta_of(write)->ns), str_of(meta_of(write)->name));
    list_append(&bind->binder->writes, &write->link);
    choice->state = CHOICE_WRITING;
    choice->holds++;
    bind->writes++;
    if (stands(write) == STANDING_OPEN)
        submit(write, 0);
    else if (stands(write) == STANDING_WRITTEN)
        written(write, meta_of(write)->rv);
    else
        fail_taken(write);
}

const char *write_trouble(struct volume_binder *binder, const struct choice *choice)
{
    const char *trouble = NULL;
    list_each(link, &binder->writes)
    {
        const struct choice_write *write = container_of(link, struct choice_write, link);
        if (write->choice == choice && write->last.text[0])
            trouble = write->last.text;
    }
    return trouble;
}

/* The PATCH is in doubt, and no answer to a GET is waited for any more. */
static void leave_in_doubt(struct choice_write *write)
{
    if (write->read)
        kube_cancel(write->binder->params.transport, write->read);
    write->choice->doubtful = true;
    write_end(write, CHOICE_MADE);
}

void writes_withdraw(struct volume_bind *bind)
{
    list_each(link, &bind->binder->writes)
    {
        struct choice_write *write = container_of(link, struct choice_write, link);
        if (write->bind != bind)
            continue;
        if (!write->request)
            leave_in_doubt(write);
        else if (window_cancel_if_waiting(bind->binder->params.window, write->request))
            write_end(write, CHOICE_MADE);
    }
}

void writes_clear(struct volume_binder *binder)
{
    list_each(link, &binder->writes)
    {
        struct choice_write *write = container_of(link, struct choice_write, link);
        struct choice *choice = write->choice;
        if (write->request)
            window_cancel(binder->params.window, write->request);
        if (write->read)
            kube_cancel(binder->params.transport, write->read);
        write->bind->writes--;
        write_free(write);
        choice_release(binder->params.volumes, choice);
    }
}
