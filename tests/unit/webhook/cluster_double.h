/*
 * An API server in memory with what the webhook's certificate needs: one Secret, and one webhook
 * configuration for each admission path, with lists, watches, patches and resourceVersions. Each
 * replica has a link of its own, which can be cut, or end its replica at its n-th request.
 *
 * caBundles keep their history, so that tests can ask what a lagging API server goes by.
 */
#ifndef PUMICE_TESTS_UNIT_WEBHOOK_CLUSTER_DOUBLE_H
#define PUMICE_TESTS_UNIT_WEBHOOK_CLUSTER_DOUBLE_H

#include "base/alloc.h"
#include "base/list.h"
#include "base/vec.h"
#include "kube/transport.h"
#include "webhook/registry.h"
#include "json/reader.h"
#include "json/writer.h"

#define SECRET_PATH "/api/v1/namespaces/ns/secrets"
#define CONFIGS_MAX 32
#define HALF_WAY_NS (5 * NSEC_PER_MSEC)
#define WATCH_LIFE_NS (40 * NSEC_PER_SEC)

static const char *const secret_keys[] = {"tls.crt", "tls.key", "ca.crt", "ca.key", "next-ca.key"};
#define SECRET_KEYS ARRAY_SIZE(secret_keys)

struct bundle_version {
    int64_t from_ns; /* loop time */
    char *base64;    /* owned; NULL: there is no configuration */
};

struct config_double {
    const struct admission_path *entry;
    uint64_t version; /* of the last change */
    bool exists, read_only;
    VEC(struct bundle_version) history;
};

struct cluster {
    struct loop *loop;
    uint64_t version;
    bool secret_exists;
    uint64_t secret_version;
    char *fields[SECRET_KEYS]; /* owned; base64, NULL without it */
    char *renew, *since;       /* owned; annotations, NULL without them */
    struct config_double configs[CONFIGS_MAX];
    size_t n;
    struct list calls; /* of all links */
    unsigned secret_writes;
    void (*changed)(void *arg); /* a caBundle is another */
    void *arg;
};

struct link {
    struct kube_transport base; /* first */
    struct cluster *cluster;
    bool cut;
    unsigned requests;
    unsigned fatal_request; /* 0: none */
    bool fatal_after;       /* it takes effect all the same */
    bool dead;              /* its replica has to be freed */
};

struct kube_call {
    struct list node;
    struct link *link;
    struct kube_call_spec spec;
    char *path, *text;
    struct loop_timer timer, timeout;
    struct config_double *watched;
    uint64_t seen; /* version that the watch has shown */
    bool handled;
    int status;
    struct buf body;
};

/* ---- objects ------------------------------------------------------------------------------- */

static inline const char *bundle_of(const struct config_double *config)
{
    const char *base64 = config->history.items[config->history.n - 1].base64;
    return base64 ? base64 : "";
}

static inline void cluster_notify(struct cluster *cluster);

static inline void set_bundle(struct cluster *cluster, struct config_double *config, char *base64)
{
    const struct bundle_version version = {loop_now(cluster->loop), base64};
    vec_push(&config->history, version);
    config->version = ++cluster->version;
    config->exists = base64 != NULL;
    cluster_notify(cluster);
    if (cluster->changed)
        cluster->changed(cluster->arg);
}

static inline void write_config(const struct config_double *config, struct buf *out)
{
    struct json_writer w = json_writer(out);
    json_w_object(&w);
    json_w_member_object(&w, "metadata");
    json_w_member_str(&w, "name", str_of(config->entry->configuration));
    json_w_member_str(&w, "uid", str_of(config->entry->configuration));
    cleanup_free char *version = xasprintf("%llu", (unsigned long long)config->version);
    json_w_member_str(&w, "resourceVersion", str_of(version));
    json_w_end_object(&w);
    json_w_member_array(&w, "webhooks");
    json_w_object(&w);
    json_w_member_str(&w, "name", STR("hook.volcano.sh"));
    json_w_member_str(&w, "failurePolicy", STR("Fail"));
    json_w_member_i64(&w, "timeoutSeconds", 10);
    json_w_member_object(&w, "clientConfig");
    json_w_member_str(&w, "caBundle", str_of(bundle_of(config)));
    json_w_end_object(&w);
    json_w_end_object(&w);
    json_w_end_array(&w);
    json_w_end_object(&w);
}

static inline void write_secret(const struct cluster *cluster, struct buf *out)
{
    struct json_writer w = json_writer(out);
    json_w_object(&w);
    json_w_member_object(&w, "metadata");
    cleanup_free char *version = xasprintf("%llu", (unsigned long long)cluster->secret_version);
    json_w_member_str(&w, "resourceVersion", str_of(version));
    json_w_member_object(&w, "annotations");
    if (cluster->renew)
        json_w_member_str(&w, "pumice.sh/renew", str_of(cluster->renew));
    if (cluster->since)
        json_w_member_str(&w, "pumice.sh/authority-since", str_of(cluster->since));
    json_w_end_object(&w);
    json_w_end_object(&w);
    json_w_member_object(&w, "data");
    for (size_t i = 0; i < SECRET_KEYS; i++) {
        if (cluster->fields[i])
            json_w_member_str(&w, secret_keys[i], str_of(cluster->fields[i]));
    }
    json_w_end_object(&w);
    json_w_end_object(&w);
}

/* ---- requests ------------------------------------------------------------------------------ */

static inline int status_answer(struct buf *body, int code, const char *reason)
{
    buf_printf(body, "{\"kind\":\"Status\",\"reason\":\"%s\",\"message\":\"%s\",\"code\":%d}",
               reason, reason, code);
    return code;
}

static inline void take_text(struct json_reader *reader, char **slot)
{
    const bool none = json_peek(reader) == JSON_NULL;
    struct str text = json_str(reader);
    free(*slot);
    *slot = none ? NULL : str_dup(text);
}

static inline void merge_fields(struct cluster *cluster, struct json_reader *reader)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        size_t i = 0;
        while (i < SECRET_KEYS && !str_is(key, secret_keys[i]))
            i++;
        assert_true(i < SECRET_KEYS);
        take_text(reader, &cluster->fields[i]);
    }
}

static inline void merge_metadata(struct cluster *cluster, struct json_reader *reader)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (!str_is(key, "annotations") || !json_object(reader)) {
            json_skip(reader);
            continue;
        }
        while (json_key(reader, &key))
            take_text(reader, str_is(key, "pumice.sh/renew") ? &cluster->renew : &cluster->since);
    }
}

/* The version that a patch names. */
static inline uint64_t wanted_version(struct str text)
{
    const struct str key = STR("\"resourceVersion\":\"");
    ptrdiff_t at = str_find(text, key);
    assert_true(at >= 0);
    struct str rest = str_from(text, (size_t)at + key.n);
    uint64_t version;
    assert_true(str_to_u64(str_sub(rest, 0, (size_t)str_chr(rest, '"')), &version));
    return version;
}

static inline int merge_secret(struct cluster *cluster, struct str text)
{
    struct arena arena cleanup_arena = ARENA_INIT;
    struct json_reader reader;
    struct str key;
    json_init(&reader, text, &arena);
    assert_true(json_object(&reader));
    while (json_key(&reader, &key)) {
        if (str_is(key, "data"))
            merge_fields(cluster, &reader);
        else if (str_is(key, "metadata"))
            merge_metadata(cluster, &reader);
        else
            json_skip(&reader);
    }
    cluster->secret_exists = true;
    cluster->secret_version = ++cluster->version;
    cluster->secret_writes++;
    return 200;
}

static inline int serve_secret(struct cluster *cluster, const struct kube_call_spec *spec,
                               struct buf *body)
{
    if (spec->method == KUBE_POST)
        return cluster->secret_exists ? status_answer(body, 409, "AlreadyExists")
                                      : merge_secret(cluster, spec->body);
    if (!cluster->secret_exists)
        return status_answer(body, 404, "NotFound");
    if (spec->method == KUBE_GET) {
        write_secret(cluster, body);
        return 200;
    }
    if (wanted_version(spec->body) != cluster->secret_version)
        return status_answer(body, 409, "Conflict");
    return merge_secret(cluster, spec->body);
}

static inline int patch_config(struct cluster *cluster, struct config_double *config,
                               struct str text, struct buf *body)
{
    const struct str key = STR("caBundle\",\"value\":\"");
    if (!config->exists)
        return status_answer(body, 404, "NotFound");
    if (config->read_only)
        return status_answer(body, 403, "Forbidden");
    ptrdiff_t at = str_find(text, key);
    assert_true(at >= 0);
    struct str rest = str_from(text, (size_t)at + key.n);
    set_bundle(cluster, config, str_dup(str_sub(rest, 0, (size_t)str_chr(rest, '"'))));
    write_config(config, body);
    return 200;
}

static inline struct config_double *find_config(struct cluster *cluster, struct str path)
{
    for (size_t i = 0; i < cluster->n; i++) {
        if (str_find(path, str_of(cluster->configs[i].entry->configuration)) >= 0)
            return &cluster->configs[i];
    }
    fail_msg("unknown path %.*s", STR_ARG(path));
    return NULL;
}

static inline int serve(struct cluster *cluster, const struct kube_call_spec *spec,
                        struct buf *body)
{
    if (str_starts(spec->path, STR(SECRET_PATH)))
        return serve_secret(cluster, spec, body);
    struct config_double *config = find_config(cluster, spec->path);
    if (spec->method == KUBE_PATCH)
        return patch_config(cluster, config, spec->body, body);
    buf_printf(body, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"items\":[",
               (unsigned long long)cluster->version);
    if (config->exists)
        write_config(config, body);
    buf_add_cstr(body, "]}");
    return 200;
}

/* ---- calls --------------------------------------------------------------------------------- */

static inline void call_free(struct kube_call *call)
{
    struct loop *loop = call->link->cluster->loop;
    list_remove(&call->node);
    loop_timer_cancel(loop, &call->timer);
    loop_timer_cancel(loop, &call->timeout);
    free(call->path);
    free(call->text);
    buf_clear(&call->body);
    free(call);
}

static inline void call_end(struct kube_call *call, struct kube_result *result)
{
    list_remove(&call->node);
    list_init(&call->node);
    call->spec.on_done(result, call->spec.arg);
    call_free(call);
}

static inline void on_call_timeout(void *arg)
{
    struct kube_call *call = arg;
    struct kube_result result = {.outcome = KUBE_IN_DOUBT};
    if (call->watched && !call->link->cut)
        result = (struct kube_result){.outcome = KUBE_ANSWERED, .status = 200};
    else
        (void)error_set(&result.error, ERROR_RETRY, "no answer in time");
    call_end(call, &result);
}

/* Shows a watch what it has not seen. */
static inline void watch_push(struct kube_call *call)
{
    const struct config_double *config = call->watched;
    if (config->version <= call->seen || call->link->cut)
        return;
    struct buf line cleanup_buf = BUF_INIT((size_t)1 << 20);
    buf_printf(&line, "{\"type\":\"%s\",\"object\":", config->exists ? "MODIFIED" : "DELETED");
    write_config(config, &line);
    buf_add_cstr(&line, "}\n");
    call->seen = config->version;
    (void)call->spec.on_data(buf_str(&line), call->spec.arg);
}

/* A cut link loses what comes now, in either direction. */
static inline void on_call_timer(void *arg)
{
    struct kube_call *call = arg;
    struct link *link = call->link;
    if (link->cut || link->dead)
        return;
    if (call->watched) {
        watch_push(call);
        return;
    }
    if (call->handled) {
        struct kube_result result = {
            .outcome = KUBE_ANSWERED, .status = call->status, .body = buf_str(&call->body)};
        kube_result_classify(&result);
        call_end(call, &result);
        return;
    }
    link->dead = ++link->requests == link->fatal_request;
    if (!link->dead || link->fatal_after)
        call->status = serve(link->cluster, &call->spec, &call->body);
    call->handled = true;
    loop_timer_set(link->cluster->loop, &call->timer, HALF_WAY_NS);
}

static inline void cluster_notify(struct cluster *cluster)
{
    for (struct list *at = cluster->calls.next; at != &cluster->calls; at = at->next) {
        struct kube_call *call = container_of(at, struct kube_call, node);
        if (call->watched)
            loop_timer_set(cluster->loop, &call->timer, HALF_WAY_NS);
    }
}

static inline uint64_t version_in(struct str path)
{
    struct str rest = str_from(path, (size_t)str_find(path, STR("resourceVersion=")) + 16);
    uint64_t version;
    assert_true(str_to_u64(str_sub(rest, 0, (size_t)str_chr(rest, '&')), &version));
    return version;
}

static inline struct kube_call *link_start(struct kube_transport *base,
                                           const struct kube_call_spec *spec)
{
    struct link *link = container_of(base, struct link, base);
    struct cluster *cluster = link->cluster;
    struct kube_call *call = xnew(struct kube_call);
    call->link = link;
    call->spec = *spec;
    call->spec.path.p = call->path = str_dup(spec->path);
    call->spec.body.p = call->text = str_dup(spec->body);
    call->body = BUF_INIT((size_t)1 << 20);
    if (spec->watch) {
        call->watched = find_config(cluster, spec->path);
        call->seen = version_in(spec->path);
    }
    list_append(&cluster->calls, &call->node);
    loop_timer_init(&call->timer, on_call_timer, call);
    loop_timer_init(&call->timeout, on_call_timeout, call);
    loop_timer_set(cluster->loop, &call->timer, HALF_WAY_NS);
    loop_timer_set(cluster->loop, &call->timeout, spec->watch ? WATCH_LIFE_NS : spec->timeout_ns);
    return call;
}

static inline void link_cancel(struct kube_transport *base, struct kube_call *call)
{
    (void)base;
    call_free(call);
}

static inline void link_free(struct kube_transport *base)
{
    free(container_of(base, struct link, base));
}

static inline struct link *link_new(struct cluster *cluster)
{
    static const struct kube_transport_ops ops = {
        .start = link_start, .cancel = link_cancel, .free = link_free};
    struct link *link = xnew(struct link);
    link->base.ops = &ops;
    link->cluster = cluster;
    return link;
}

/* ---- life ---------------------------------------------------------------------------------- */

static inline void cluster_init(struct cluster *cluster, struct loop *loop)
{
    *cluster = (struct cluster){.loop = loop, .version = 100};
    list_init(&cluster->calls);
    for (; admission_paths[cluster->n].path; cluster->n++) {
        assert_true(cluster->n < CONFIGS_MAX);
        cluster->configs[cluster->n].entry = &admission_paths[cluster->n];
        set_bundle(cluster, &cluster->configs[cluster->n], NULL);
    }
}

static inline void cluster_clear(struct cluster *cluster)
{
    assert_true(list_empty(&cluster->calls));
    for (size_t i = 0; i < cluster->n; i++) {
        for (size_t k = 0; k < cluster->configs[i].history.n; k++)
            free(cluster->configs[i].history.items[k].base64);
        vec_clear(&cluster->configs[i].history);
    }
    for (size_t i = 0; i < SECRET_KEYS; i++)
        free(cluster->fields[i]);
    free(cluster->renew);
    free(cluster->since);
}

#endif
