/*
 * Following a certificate: see source.h. Where it is read from is in secret.c and files.c.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "source_private.h"
#include <stdio.h>

#define AGAIN_NS (50 * NSEC_PER_MSEC)
#define RETRY_FIRST_NS (500 * NSEC_PER_MSEC)
#define PATIENCE_NS (60 * NSEC_PER_SEC) /* then it is told that something waits */
#define DAY_NS (NSEC_PER_SEC * 3600 * 24)
#define WARN_BEFORE_END_NS (30 * DAY_NS)

static bool from_files(const struct cert_source *source)
{
    return source->config.cert_file != NULL;
}

static int64_t interval(const struct cert_source *source)
{
    if (source->config.interval_ns)
        return source->config.interval_ns;
    return from_files(source) ? CERT_FILES_INTERVAL_NS : CERT_SECRET_INTERVAL_NS;
}

static void read_now(void *arg)
{
    struct cert_source *source = arg;
    if (source->reading) {
        source->again = true;
        return;
    }
    source->reading = true;
    if (from_files(source))
        cert_files_read(source);
    else
        cert_secret_read(source);
}

/* ---- what callers are to trust ------------------------------------------------------------- */

/* Whoever tells the callers hears of a change. */
static void update_wanted(struct cert_source *source)
{
    struct cert_set wanted = {.n = 0};
    (void)cert_set_add_pem(&wanted, buf_str(&source->current.ca_cert));
    (void)cert_set_add(&wanted, &source->pending);
    (void)cert_set_add(&wanted, &source->retired);
    const bool same = wanted.n == source->wanted.n && cert_set_contains(&wanted, &source->wanted);
    cert_set_clear(&source->wanted);
    source->wanted = wanted;
    if (!same && source->config.authorities)
        source->config.authorities(source->config.arg);
}

static void forget_retired(struct cert_source *source)
{
    if (!source->retired.n || loop_now(source->config.loop) < source->retired_until_ns)
        return;
    cert_set_clear(&source->retired);
    update_wanted(source);
}

/* Other replicas may serve certificates of these for a while. */
static void retire_current(struct cert_source *source)
{
    (void)cert_set_add_pem(&source->retired, buf_str(&source->current.ca_cert));
    source->retired_until_ns = loop_now(source->config.loop) + source->config.overlap_ns;
}

/* ---- what is served ------------------------------------------------------------------------ */

static void adopt(struct cert_source *source, struct cert_bundle *bundle, bool first)
{
    char until[TIME_TEXT_MAX];
    if (!first && !cert_source_stale(source) &&
        !cert_bundle_trusted_by(&source->current, buf_str(&bundle->ca_cert)))
        retire_current(source);
    struct cert_bundle old = source->current;
    source->current = *bundle;
    cert_bundle_init(bundle);
    cert_bundle_clear(&old);
    source->has_current = true;
    source->rotations += !first;
    source->warned_ns = 0;
    size_t n = time_format(until, source->state.not_after_ns);
    log_info("certificate in force until=%.*s", (int)n, until);
    source->config.changed(&source->current, source->config.arg);
}

/* Callers would refuse it now, and accept the one in force. */
static bool must_wait(const struct cert_source *source, const struct cert_bundle *bundle,
                      const struct cert_set *authorities)
{
    const struct cert_source_config *config = &source->config;
    return source->has_current && config->trusted && authorities->n && !cert_source_stale(source) &&
           source->state.not_after_ns > loop_wall(config->loop) &&
           !cert_bundle_same_authority(&source->current, bundle) &&
           !config->trusted(authorities, config->arg);
}

static int hold_back(struct cert_source *source, struct cert_set *authorities, struct error *err)
{
    const int64_t now_ns = loop_now(source->config.loop);
    if (!source->pending_since_ns) {
        source->pending_since_ns = now_ns;
        log_info("a certificate of another authority is there; it is served when the webhook "
                 "configurations carry that authority");
    }
    cert_set_clear(&source->pending);
    source->pending = *authorities;
    authorities->n = 0;
    update_wanted(source);
    if (now_ns - source->pending_since_ns < PATIENCE_NS)
        return 0;
    return error_set(err, ERROR_RETRY,
                     "a certificate of another authority waits: not all webhook configurations "
                     "carry that authority yet");
}

int cert_source_offer(struct cert_source *source, struct cert_bundle *bundle,
                      const struct cert_state *state, struct error *err)
{
    struct cert_set authorities cleanup_cert_set = {.n = 0};
    const bool first = !source->has_current;
    if (!first && !source->pending_since_ns && cert_bundle_equal(&source->current, bundle)) {
        source->state = *state;
        return 0;
    }
    const bool same = !first && cert_bundle_same_pair(&source->current, bundle);
    (void)cert_set_add_pem(&authorities, buf_str(&bundle->ca_cert));
    if (!same && must_wait(source, bundle, &authorities))
        return hold_back(source, &authorities, err);
    cert_set_clear(&source->pending);
    source->pending_since_ns = 0;
    source->state = *state;
    if (same)
        cert_bundle_copy(&source->current, bundle);
    else
        adopt(source, bundle, first);
    update_wanted(source);
    return 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

static void warn_of_end(struct cert_source *source)
{
    const int64_t now_ns = loop_wall(source->config.loop);
    char until[TIME_TEXT_MAX];
    if (!source->has_current || source->state.not_after_ns - now_ns > WARN_BEFORE_END_NS ||
        now_ns - source->warned_ns < DAY_NS)
        return;
    source->warned_ns = now_ns;
    size_t n = time_format(until, source->state.not_after_ns);
    log_warn("the serving certificate ends soon end=%.*s days=%lld", (int)n, until,
             (long long)((source->state.not_after_ns - now_ns) / DAY_NS));
}

static void note_trouble(struct cert_source *source, const char *text)
{
    if (strcmp(source->trouble, text) != 0)
        log_warn("certificate: %s%s", text,
                 source->has_current ? "; the one before stays in force" : "");
    (void)snprintf(source->trouble, sizeof(source->trouble), "%s", text);
}

void cert_source_finish(struct cert_source *source, const struct error *err)
{
    struct loop *loop = source->config.loop;
    int64_t delay_ns = interval(source);
    source->reading = false;
    if (source->answered)
        source->answered_ns = loop_now(loop);
    source->answered = false;
    if (err) {
        note_trouble(source, err->text);
        int64_t retry_ns = backoff_next(&source->backoff, loop_rng(loop));
        delay_ns = retry_ns < delay_ns ? retry_ns : delay_ns;
    } else {
        source->trouble[0] = '\0';
        backoff_reset(&source->backoff);
        delay_ns = rng_jitter(loop_rng(loop), delay_ns, 0.1);
    }
    warn_of_end(source);
    forget_retired(source);
    const bool again = source->again;
    source->again = false;
    loop_timer_set(loop, &source->timer, again ? AGAIN_NS : delay_ns);
    if (again || !source->refreshed)
        return;
    loop_fn *refreshed = source->refreshed;
    source->refreshed = NULL;
    refreshed(source->refreshed_arg); /* may ask for the next refresh */
}

struct cert_source *cert_source_new(const struct cert_source_config *config, struct error *err)
{
    struct cert_source *source = xnew(struct cert_source);
    source->config = *config;
    source->answered_ns = loop_now(config->loop);
    cert_bundle_init(&source->current);
    cert_bundle_init(&source->made);
    backoff_init(&source->backoff, RETRY_FIRST_NS, CERT_SECRET_INTERVAL_NS);
    loop_timer_init(&source->timer, read_now, source);
    if (!from_files(source)) {
        loop_timer_set(config->loop, &source->timer, 0);
        return source;
    }
    read_now(source);
    if (!source->has_current) {
        (void)error_set(err, ERROR_INVALID, "%s", source->trouble);
        cert_source_free(source);
        return NULL;
    }
    return source;
}

void cert_source_free(struct cert_source *source)
{
    if (!source)
        return;
    if (source->call)
        kube_cancel(source->config.transport, source->call);
    loop_timer_cancel(source->config.loop, &source->timer);
    cert_bundle_clear(&source->current);
    cert_bundle_clear(&source->made);
    cert_set_clear(&source->wanted);
    cert_set_clear(&source->pending);
    cert_set_clear(&source->retired);
    free(source);
}

const struct cert_bundle *cert_source_current(const struct cert_source *source)
{
    return source->has_current ? &source->current : NULL;
}

const struct cert_state *cert_source_state(const struct cert_source *source)
{
    return source->has_current ? &source->state : NULL;
}

const struct cert_set *cert_source_authorities(const struct cert_source *source)
{
    return &source->wanted;
}

uint64_t cert_source_rotations(const struct cert_source *source)
{
    return source->rotations;
}

bool cert_source_stale(const struct cert_source *source)
{
    return !from_files(source) &&
           loop_now(source->config.loop) - source->answered_ns >= source->config.overlap_ns / 2;
}

void cert_source_refresh(struct cert_source *source, loop_fn *done, void *arg)
{
    source->refreshed = done;
    source->refreshed_arg = arg;
    if (source->reading)
        source->again = true;
    else
        loop_timer_set(source->config.loop, &source->timer, 0);
}

const char *cert_source_trouble(const struct cert_source *source)
{
    return source->trouble;
}
