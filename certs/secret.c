/*
 * A certificate in a Secret that all replicas share: read, made when absent, made anew when
 * unusable, renewed in time. Whoever writes first wins; the others read what was written. A write
 * carries the resourceVersion that it was decided on.
 */
#include "base/alloc.h"
#include "base/base64.h"
#include "base/log.h"
#include "source_private.h"
#include "json/reader.h"
#include "json/writer.h"

#define CALL_TIMEOUT_NS (10 * NSEC_PER_SEC)
#define BODY_MAX ((size_t)1 << 20)
#define PATH_MAX_BYTES 1024
#define RV_MAX 64

struct field {
    const char *key;
    size_t offset; /* of the struct buf in struct cert_bundle */
};

static const struct field fields[] = {
    {"tls.crt", offsetof(struct cert_bundle, cert)},
    {"tls.key", offsetof(struct cert_bundle, key)},
    {"ca.crt", offsetof(struct cert_bundle, ca_cert)},
    {"ca.key", offsetof(struct cert_bundle, ca_key)},
};

static struct buf *field_of(struct cert_bundle *bundle, const struct field *field)
{
    return (struct buf *)(void *)((char *)bundle + field->offset);
}

/* ---- reading ------------------------------------------------------------------------------- */

static void read_data(struct json_reader *reader, struct cert_bundle *bundle)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        struct str value = json_str(reader);
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
            /* What is no base64 leaves the field empty, which the check reports. */
            if (str_is(key, fields[i].key))
                (void)base64_decode(field_of(bundle, &fields[i]), value);
        }
    }
}

static void read_version(struct json_reader *reader, char rv[RV_MAX])
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "resourceVersion")) {
            struct str text = str_cut(json_str(reader), RV_MAX - 1);
            memcpy(rv, text.n ? text.p : "", text.n);
            rv[text.n] = '\0';
        } else {
            json_skip(reader);
        }
    }
}

static int decode(struct str body, struct cert_bundle *bundle, char rv[RV_MAX], struct error *err)
{
    struct arena arena cleanup_arena = ARENA_INIT;
    struct json_reader reader;
    struct str key;
    json_init(&reader, body, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_is(key, "data"))
                read_data(&reader, bundle);
            else if (str_is(key, "metadata"))
                read_version(&reader, rv);
            else
                json_skip(&reader);
        }
    }
    return json_end(&reader, err);
}

/* ---- writing ------------------------------------------------------------------------------- */

static void write_data(struct json_writer *writer, struct cert_bundle *bundle)
{
    json_w_member_object(writer, "data");
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        struct buf text cleanup_buf = BUF_INIT(BODY_MAX);
        (void)base64_encode(&text, buf_str(field_of(bundle, &fields[i])));
        json_w_member_str(writer, fields[i].key, buf_str(&text));
        if (text.p)
            explicit_bzero(text.p, text.n);
    }
    json_w_end_object(writer);
}

/* The whole Secret, or (with `rv`) a merge patch for that version. */
static void write_secret(const struct cert_source *source, struct cert_bundle *bundle,
                         const char *rv, struct buf *out)
{
    struct json_writer writer = json_writer(out);
    json_w_object(&writer);
    json_w_member_str(&writer, "apiVersion", STR("v1"));
    json_w_member_str(&writer, "kind", STR("Secret"));
    json_w_member_object(&writer, "metadata");
    if (rv) {
        json_w_member_str(&writer, "resourceVersion", str_of(rv));
    } else {
        json_w_member_str(&writer, "name", str_of(source->config.secret));
        json_w_member_str(&writer, "namespace", str_of(source->config.ns));
    }
    json_w_end_object(&writer);
    write_data(&writer, bundle);
    json_w_end_object(&writer);
}

static void on_written(const struct kube_result *result, void *arg)
{
    struct cert_source *source = arg;
    struct cert_state state;
    struct error err = ERROR_INIT;
    source->call = NULL;
    const bool written = result->outcome == KUBE_ANSWERED && result->status / 100 == 2;
    if (written && cert_bundle_check(&source->made, &source->config.names,
                                     loop_wall(source->config.loop), &state, &err) == 0)
        cert_source_adopt(source, &source->made, &state);
    cert_bundle_clear(&source->made);
    if (written) {
        cert_source_finish(source, err.cls ? &err : NULL);
        return;
    }
    if (result->error.cls == ERROR_EXISTS || result->error.cls == ERROR_CONFLICT) {
        source->again = true; /* another replica was first */
        cert_source_finish(source, NULL);
        return;
    }
    err = result->error;
    (void)error_prefix(&err, "writing Secret %s/%s", source->config.ns, source->config.secret);
    cert_source_finish(source, &err);
}

static void write_path(const struct cert_source *source, bool named, struct buf *path)
{
    buf_printf(path, "/api/v1/namespaces/%s/secrets", source->config.ns);
    if (named)
        buf_printf(path, "/%s", source->config.secret);
}

/* Writes source->made: creates the Secret, or patches the version `rv` of it. */
static void write_made(struct cert_source *source, const char *rv)
{
    struct buf path cleanup_buf = BUF_INIT(PATH_MAX_BYTES), body cleanup_buf = BUF_INIT(BODY_MAX);
    write_path(source, rv != NULL, &path);
    write_secret(source, &source->made, rv, &body);
    const struct kube_call_spec spec = {.method = rv ? KUBE_PATCH : KUBE_POST,
                                        .path = buf_str(&path),
                                        .content = rv ? KUBE_MERGE_PATCH : KUBE_JSON,
                                        .body = buf_str(&body),
                                        .timeout_ns = CALL_TIMEOUT_NS,
                                        .on_done = on_written,
                                        .arg = source};
    source->call = kube_start(source->config.transport, &spec);
    if (body.p)
        explicit_bzero(body.p, body.n);
}

/* ---- deciding ------------------------------------------------------------------------------ */

static void copy_bundle(struct cert_bundle *to, const struct cert_bundle *from)
{
    cert_bundle_clear(to);
    buf_add_str(&to->cert, buf_str(&from->cert));
    buf_add_str(&to->key, buf_str(&from->key));
    buf_add_str(&to->ca_cert, buf_str(&from->ca_cert));
    buf_add_str(&to->ca_key, buf_str(&from->ca_key));
}

/* A Secret that was deleted comes back as it was: nobody has to learn of another authority. */
static bool restore(struct cert_source *source)
{
    struct error ignored = ERROR_INIT;
    struct cert_state state;
    if (!source->has_current ||
        cert_bundle_check(&source->current, &source->config.names, loop_wall(source->config.loop),
                          &state, &ignored) < 0)
        return false;
    copy_bundle(&source->made, &source->current);
    return true;
}

static void make_and_write(struct cert_source *source, const char *rv)
{
    struct error err = ERROR_INIT;
    if (cert_bundle_make(&source->made, &source->config.names, loop_wall(source->config.loop),
                         &err) < 0) {
        cert_source_finish(source, &err);
        return;
    }
    write_made(source, rv);
}

/* A new serving certificate of the same authority, if its key is there and it is still good. */
static bool renew(struct cert_source *source, const struct cert_bundle *old)
{
    struct error ignored = ERROR_INIT;
    struct cert_state state;
    struct cert_bundle *made = &source->made;
    const int64_t now_ns = loop_wall(source->config.loop);
    cert_bundle_clear(made);
    if (old->ca_key.n == 0)
        return false;
    buf_add_str(&made->ca_cert, buf_str(&old->ca_cert));
    buf_add_str(&made->ca_key, buf_str(&old->ca_key));
    return cert_bundle_renew(made, &source->config.names, now_ns, &ignored) == 0 &&
           cert_bundle_check(made, &source->config.names, now_ns, &state, &ignored) == 0 &&
           !state.renewal_due;
}

/* The bundle of a Secret of ours also has to say which authority callers are to trust. */
static int check(const struct cert_source_config *config, const struct cert_bundle *found,
                 struct cert_state *state, struct error *err)
{
    if (found->ca_cert.n == 0)
        return error_set(err, ERROR_INVALID, "ca.crt is empty");
    return cert_bundle_check(found, &config->names, loop_wall(config->loop), state, err);
}

static void judge(struct cert_source *source, struct cert_bundle *found, const char *rv)
{
    const struct cert_source_config *config = &source->config;
    struct error err = ERROR_INIT;
    struct cert_state state = {0};
    bool good = check(config, found, &state, &err) == 0;
    bool due = good && state.renewal_due && found->ca_key.n > 0;
    if (!good || due) {
        if (!good)
            log_warn("the certificate in the Secret cannot be used, making another "
                     "secret=%s/%s reason=\"%s\"",
                     config->ns, config->secret, err.text);
        if (renew(source, found)) {
            log_info("a new serving certificate of the same authority secret=%s/%s", config->ns,
                     config->secret);
            write_made(source, rv);
            return;
        }
        log_info("a new authority secret=%s/%s", config->ns, config->secret);
        make_and_write(source, rv);
        return;
    }
    cert_source_adopt(source, found, &state);
    cert_source_finish(source, NULL);
}

static void on_read(const struct kube_result *result, void *arg)
{
    struct cert_source *source = arg;
    struct error err = result->error;
    struct cert_bundle found;
    char rv[RV_MAX] = "";
    source->call = NULL;
    if (result->outcome == KUBE_ANSWERED && result->status == 404) {
        log_info("making the Secret with the certificates secret=%s/%s", source->config.ns,
                 source->config.secret);
        if (restore(source))
            write_made(source, NULL);
        else
            make_and_write(source, NULL);
        return;
    }
    cert_bundle_init(&found);
    bool read = result->outcome == KUBE_ANSWERED && result->status == 200 &&
                decode(result->body, &found, rv, &err) == 0;
    if (read) {
        judge(source, &found, rv);
    } else {
        (void)error_prefix(&err, "reading Secret %s/%s", source->config.ns, source->config.secret);
        cert_source_finish(source, &err);
    }
    cert_bundle_clear(&found);
}

void cert_secret_read(struct cert_source *source)
{
    struct buf path cleanup_buf = BUF_INIT(PATH_MAX_BYTES);
    write_path(source, true, &path);
    const struct kube_call_spec spec = {.method = KUBE_GET,
                                        .path = buf_str(&path),
                                        .timeout_ns = CALL_TIMEOUT_NS,
                                        .on_done = on_read,
                                        .arg = source};
    source->call = kube_start(source->config.transport, &spec);
}
