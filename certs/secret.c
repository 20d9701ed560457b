/*
 * A certificate in a Secret that all replicas share: read, made when absent, repaired when
 * unusable, renewed in time, its authority too. Whoever writes first wins; the others read what was
 * written. What to do is decided anew after each read (plan.h), and a write carries the
 * resourceVersion that it was decided on.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "plan.h"
#include "secret_data.h"
#include "source_private.h"

#define CALL_TIMEOUT_NS (10 * NSEC_PER_SEC)
#define BODY_MAX ((size_t)1 << 20)
#define PATH_MAX_BYTES 1024
#define PATIENCE_NS (120 * NSEC_PER_SEC) /* then it is told that the next authority waits */

/* ---- calls --------------------------------------------------------------------------------- */

static void note_answer(struct cert_source *source, const struct kube_result *result)
{
    if (result->outcome == KUBE_ANSWERED && result->status != 429 && result->status < 500)
        source->answered = true;
}

static void on_written(const struct kube_result *result, void *arg)
{
    struct cert_source *source = arg;
    struct cert_state state;
    struct error err = ERROR_INIT;
    source->call = NULL;
    note_answer(source, result);
    if (result->outcome == KUBE_ANSWERED && result->status / 100 == 2) {
        if (cert_bundle_check(&source->made, &source->config.names, loop_wall(source->config.loop),
                              &state, &err) == 0)
            (void)cert_source_offer(source, &source->made, &state, &err);
    } else if (result->error.cls == ERROR_EXISTS || result->error.cls == ERROR_CONFLICT) {
        source->again = true; /* another replica was first */
    } else {
        err = result->error;
        (void)error_prefix(&err, "writing Secret %s/%s", source->config.ns, source->config.secret);
    }
    cert_bundle_clear(&source->made);
    cert_source_finish(source, err.cls ? &err : NULL);
}

static void write_path(const struct cert_source *source, bool named, struct buf *path)
{
    buf_printf(path, "/api/v1/namespaces/%s/secrets", source->config.ns);
    if (named)
        buf_printf(path, "/%s", source->config.secret);
}

/* Writes source->made: creates the Secret, or patches a version of it. */
static void write_made(struct cert_source *source, struct secret_write write)
{
    struct buf path cleanup_buf = BUF_INIT(PATH_MAX_BYTES), body cleanup_buf = BUF_INIT(BODY_MAX);
    const bool patch = write.version != NULL;
    write.bundle = &source->made;
    write.ns = source->config.ns;
    write.name = source->config.secret;
    write_path(source, patch, &path);
    secret_data_write(&write, &body);
    const struct kube_call_spec spec = {.method = patch ? KUBE_PATCH : KUBE_POST,
                                        .path = buf_str(&path),
                                        .content = patch ? KUBE_MERGE_PATCH : KUBE_JSON,
                                        .body = buf_str(&body),
                                        .timeout_ns = CALL_TIMEOUT_NS,
                                        .on_done = on_written,
                                        .arg = source};
    source->call = kube_start(source->config.transport, &spec);
    if (body.p)
        explicit_bzero(body.p, body.n);
}

/* ---- repair -------------------------------------------------------------------------------- */

static bool is_good(const struct cert_source *source, const struct cert_bundle *bundle)
{
    struct error ignored = ERROR_INIT;
    struct cert_state state;
    return bundle->ca_cert.n &&
           cert_bundle_check(bundle, &source->config.names, loop_wall(source->config.loop), &state,
                             &ignored) == 0;
}

/* What is in force here: nobody has to learn of another authority. */
static bool restore(struct cert_source *source)
{
    if (!source->has_current || !is_good(source, &source->current))
        return false;
    cert_bundle_copy(&source->made, &source->current);
    return true;
}

/* A new serving certificate of the same authority, if its key is there and it is still good. */
static bool renew(struct cert_source *source, const struct cert_bundle *old)
{
    struct error ignored = ERROR_INIT;
    cert_bundle_copy(&source->made, old);
    return cert_bundle_renew(&source->made, &source->config.names, loop_wall(source->config.loop),
                             &ignored) == 0 &&
           is_good(source, &source->made);
}

/* All new. Authorities that may still be in use somewhere stay trusted for a while. */
static void make_anew(struct cert_source *source, const struct secret_data *found)
{
    const int64_t now_ns = loop_wall(source->config.loop);
    struct error err = ERROR_INIT;
    if (cert_bundle_make(&source->made, &source->config.names, now_ns, &err) < 0) {
        cert_source_finish(source, &err);
        return;
    }
    if (found)
        cert_bundle_trust(&source->made, buf_str(&found->bundle.ca_cert), now_ns);
    cert_bundle_trust(&source->made, buf_str(&source->current.ca_cert), now_ns);
    write_made(source, (struct secret_write){.version = found ? found->version : NULL,
                                             .since_ns = found ? now_ns : 0});
}

static void repair(struct cert_source *source, const struct secret_data *found, const char *why)
{
    const struct cert_source_config *config = &source->config;
    const char *how = "a new serving certificate of the same authority";
    bool made = renew(source, &found->bundle);
    if (!made) {
        made = restore(source);
        how = made ? "what was there before is put back" : "a new authority";
    }
    log_warn("the certificate in the Secret cannot be used: %s secret=%s/%s reason=\"%s\"", how,
             config->ns, config->secret, why);
    if (made)
        write_made(source, (struct secret_write){.version = found->version});
    else
        make_anew(source, found);
}

/* ---- the next step ------------------------------------------------------------------------- */

static int read_request(const struct secret_data *found, const struct cert_state *state,
                        enum cert_request *ret_request, struct error *err)
{
    *ret_request = CERT_REQUEST_NONE;
    if (!*found->request)
        return 0;
    if (!state->signs)
        return error_set(err, ERROR_INVALID,
                         "annotation " CERT_ANNOTATION_RENEW
                         ": the Secret holds no key (ca.key) of an authority to renew with");
    if (strcmp(found->request, CERT_RENEW_LEAF) == 0)
        *ret_request = CERT_REQUEST_LEAF;
    else if (strcmp(found->request, CERT_RENEW_AUTHORITY) == 0)
        *ret_request = CERT_REQUEST_AUTHORITY;
    else
        return error_set(err, ERROR_INVALID,
                         "annotation " CERT_ANNOTATION_RENEW ": \"%s\" is neither " CERT_RENEW_LEAF
                         " nor " CERT_RENEW_AUTHORITY,
                         found->request);
    return 0;
}

static bool is_trusted(const struct cert_source *source, const struct cert_bundle *bundle)
{
    struct cert_set set cleanup_cert_set = {.n = 0};
    return !source->config.trusted || (cert_set_add_pem(&set, buf_str(&bundle->ca_cert)) &&
                                       source->config.trusted(&set, source->config.arg));
}

/* Changes source->made as the step says. */
static int apply_step(struct cert_source *source, enum cert_step step, struct error *err)
{
    struct cert_bundle *made = &source->made;
    const struct cert_names *names = &source->config.names;
    const int64_t now_ns = loop_wall(source->config.loop);
    switch (step) {
    case CERT_RENEW:
        return cert_bundle_renew(made, names, now_ns, err);
    case CERT_STAGE:
        return cert_bundle_stage(made, now_ns, err);
    case CERT_SWITCH:
        return cert_bundle_switch(made, names, now_ns, err);
    case CERT_DROP:
        return cert_bundle_drop(made, err);
    case CERT_KEEP:
        break;
    }
    return 0;
}

static const char *step_text(enum cert_step step)
{
    static const char *const texts[] = {
        [CERT_RENEW] = "a new serving certificate of the same authority",
        [CERT_STAGE] = "a next authority; it signs when the webhook configurations carry it",
        [CERT_SWITCH] = "the next authority signs from now on; the one before stays trusted",
        [CERT_DROP] = "the authority before is not trusted any more",
    };
    return texts[step];
}

/* source->made holds what was found. */
static void take_step(struct cert_source *source, const struct secret_data *found,
                      enum cert_step step, enum cert_request request)
{
    struct error err = ERROR_INIT;
    if (apply_step(source, step, &err) < 0) {
        cert_bundle_clear(&source->made);
        cert_source_finish(source, &err);
        return;
    }
    log_info("%s secret=%s/%s", step_text(step), source->config.ns, source->config.secret);
    write_made(source, (struct secret_write){
                           .version = found->version,
                           .clear_request = cert_step_fulfils(step, request),
                           .since_ns = step == CERT_SWITCH ? loop_wall(source->config.loop) : 0});
}

static int check_waiting(const struct cert_source *source, const struct cert_state *state,
                         struct error *err)
{
    if (!state->staged || loop_wall(source->config.loop) - state->staged_ns <= PATIENCE_NS)
        return 0;
    return error_set(err, ERROR_RETRY,
                     "the next authority waits: not all webhook configurations carry it yet");
}

/* What was found can be used. It is, also if the next step should fail. */
static void go_on(struct cert_source *source, struct secret_data *found, struct cert_facts *facts)
{
    struct error err = ERROR_INIT;
    int rc = read_request(found, &facts->state, &facts->request, &err);
    facts->overlap_ns = source->config.overlap_ns;
    facts->since_ns = found->since_ns ? found->since_ns : facts->state.issued_ns;
    facts->trusted = facts->state.staged && is_trusted(source, &found->bundle);
    const enum cert_step step = cert_plan(facts);
    if (step != CERT_KEEP)
        cert_bundle_copy(&source->made, &found->bundle);
    if (cert_source_offer(source, &found->bundle, &facts->state, &err) < 0)
        rc = -1;
    if (step != CERT_KEEP) {
        take_step(source, found, step, facts->request);
        return;
    }
    if (rc == 0)
        rc = check_waiting(source, &facts->state, &err);
    cert_source_finish(source, rc < 0 ? &err : NULL);
}

static void judge(struct cert_source *source, struct secret_data *found)
{
    struct error err = ERROR_INIT;
    struct cert_facts facts = {.now_ns = loop_wall(source->config.loop)};
    if (found->bundle.ca_cert.n == 0)
        (void)error_set(&err, ERROR_INVALID, "ca.crt is empty");
    else
        (void)cert_bundle_check(&found->bundle, &source->config.names, facts.now_ns, &facts.state,
                                &err);
    if (err.cls)
        repair(source, found, err.text);
    else
        go_on(source, found, &facts);
}

/* ---- reading ------------------------------------------------------------------------------- */

static void on_read(const struct kube_result *result, void *arg)
{
    struct cert_source *source = arg;
    struct error err = result->error;
    struct secret_data found = {.since_ns = 0};
    source->call = NULL;
    note_answer(source, result);
    if (result->outcome == KUBE_ANSWERED && result->status == 404) {
        log_info("making the Secret with the certificates secret=%s/%s", source->config.ns,
                 source->config.secret);
        if (restore(source))
            write_made(source, (struct secret_write){.version = NULL});
        else
            make_anew(source, NULL);
        return;
    }
    cert_bundle_init(&found.bundle);
    if (result->outcome == KUBE_ANSWERED && result->status == 200 &&
        secret_data_read(result->body, &found, &err) == 0) {
        judge(source, &found);
    } else {
        (void)error_prefix(&err, "reading Secret %s/%s", source->config.ns, source->config.secret);
        cert_source_finish(source, &err);
    }
    cert_bundle_clear(&found.bundle);
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
