/*
 * Releases: volumes that were marked for a claim and did not become its own are let go of again.
 * See binder.h.
 *
 * The volume is read first, and after every patch that did not go through: it is released only
 * while it is marked for that claim and its phase says that nobody has begun to bind it. It is not
 * offered to anybody before that is over.
 */
#include "base/intern.h"
#include "base/log.h"
#include "scheduler/volumes/binder_private.h"

struct release {
    struct list link; /* in binder->releases */
    struct volume_binder *binder;
    struct volume_record *record;   /* which stays while it is `releasing` */
    const char *claim_uid;          /* interned */
    struct volume *volume;          /* counted; as it was read last, or NULL */
    struct window_request *request; /* the PATCH, or NULL */
    struct kube_call *read;         /* the GET, or NULL */
    struct loop_timer timer;        /* the next GET */
    struct backoff backoff;
};

static void release_free(struct release *release)
{
    struct volumes *volumes = release->binder->params.volumes;
    list_remove(&release->link);
    loop_timer_cancel(release->binder->params.loop, &release->timer);
    store_request_end(release->binder->params.persistent_volumes, STR(""),
                      str_of(release->record->name));
    release->record->releasing = false;
    volume_touch(volumes, release->record);
    volume_drop(volumes, release->record);
    volume_unref(release->volume);
    intern_put(release->claim_uid);
    free(release);
}

static void release_end(struct release *release)
{
    const struct volume_binder_params *params = &release->binder->params;
    release_free(release);
    if (params->room)
        params->room(params->arg);
}

static void again(struct release *release)
{
    struct loop *loop = release->binder->params.loop;
    loop_timer_set(loop, &release->timer, backoff_next(&release->backoff, loop_rng(loop)));
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What a user had said of the claim stays. */
static bool release_render(struct buf *path, struct buf *body, void *arg)
{
    struct release *release = arg;
    const struct volume *volume = release->volume;
    struct json_writer writer = json_writer(body);
    volume_path(path, volume->meta.name);
    patch_open(&writer, &volume->meta);
    if (volume->bound_by_controller)
        json_w_member_raw(&writer, "annotations", STR("{\"" KEY_BOUND_BY_CONTROLLER "\":null}"));
    json_w_end_object(&writer);
    json_w_member_raw(&writer, "spec",
                      volume->bound_by_controller
                          ? STR("{\"claimRef\":null}")
                          : STR("{\"claimRef\":{\"uid\":null,\"resourceVersion\":null}}"));
    json_w_end_object(&writer);
    return true;
}

static void release_done(const struct kube_result *result, void *arg)
{
    struct release *release = arg;
    struct store *store = release->binder->params.persistent_volumes;
    release->request = NULL;
    bool answered = result->outcome == KUBE_ANSWERED && result->status < 500 &&
                    result->status != 409 && result->status != 422;
    if (!answered) {
        again(release);
        return;
    }
    if (result->status < 300)
        store_apply(store, result->body);
    else if (result->status != 404)
        log_warn("a volume could not be released volume=%s status=%d error=\"%s\"",
                 release->record->name, result->status, result->error.text);
    release_end(release);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_needed(const struct release *release)
{
    const struct volume *volume = release->volume;
    return volume->claim_name && volume->claim_uid == release->claim_uid &&
           !volume->meta.deleted_ns && (volume->available || volume->pending);
}

static void read_done(const struct kube_result *result, void *arg)
{
    struct release *release = arg;
    const struct volume_binder_params *params = &release->binder->params;
    bool answered = result->outcome == KUBE_ANSWERED;
    release->read = NULL;
    if (answered && result->status == 404) {
        release_end(release);
        return;
    }
    struct volume *volume =
        answered && result->status == 200 ? volume_decode(result->body, NULL) : NULL;
    if (!volume) {
        again(release);
        return;
    }
    volume_unref(release->volume);
    release->volume = volume;
    store_apply(params->persistent_volumes, result->body);
    if (!is_needed(release)) {
        release_end(release);
        return;
    }
    release->request =
        window_submit(params->window, &(struct window_spec){.cls = WINDOW_BIND,
                                                            .method = KUBE_PATCH,
                                                            .content = KUBE_MERGE_PATCH,
                                                            .render = release_render,
                                                            .done = release_done,
                                                            .arg = release});
}

static void read_volume(void *arg)
{
    struct release *release = arg;
    cleanup_buf struct buf path = BUF_INIT(PATH_MOST);
    volume_path(&path, release->record->name);
    release->read = kube_start(release->binder->params.transport,
                               &(struct kube_call_spec){.method = KUBE_GET,
                                                        .path = buf_str(&path),
                                                        .timeout_ns = READ_TIMEOUT,
                                                        .on_done = read_done,
                                                        .arg = release});
}

/* ---- life ------------------------------------------------------------------------------------ */

void release_start(struct volume_binder *binder, struct volume_record *record,
                   const char *claim_uid)
{
    struct release *release = xnew(struct release);
    release->binder = binder;
    release->record = record;
    release->claim_uid = intern_ref(claim_uid);
    record->releasing = true;
    loop_timer_init(&release->timer, read_volume, release);
    backoff_init(&release->backoff, RETRY_FIRST, RETRY_MOST);
    store_request_begin(binder->params.persistent_volumes, STR(""), str_of(record->name));
    list_append(&binder->releases, &release->link);
    read_volume(release);
}

void releases_clear(struct volume_binder *binder)
{
    list_each(link, &binder->releases)
    {
        struct release *release = container_of(link, struct release, link);
        if (release->request)
            window_cancel(binder->params.window, release->request);
        if (release->read)
            kube_cancel(binder->params.transport, release->read);
        release_free(release);
    }
}
