/*
 * Following a certificate: see source.h. Where it is read from is in secret.c and files.c.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "source_private.h"
#include <stdio.h>

#define SECRET_INTERVAL_NS (30 * NSEC_PER_SEC)
#define FILES_INTERVAL_NS (10 * NSEC_PER_SEC)
#define AGAIN_NS (50 * NSEC_PER_MSEC)
#define RETRY_FIRST_NS (500 * NSEC_PER_MSEC)
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
    return from_files(source) ? FILES_INTERVAL_NS : SECRET_INTERVAL_NS;
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

void cert_source_adopt(struct cert_source *source, struct cert_bundle *bundle,
                       const struct cert_state *state)
{
    source->state = *state;
    if (source->has_current && cert_bundle_equal(&source->current, bundle))
        return;
    struct cert_bundle old = source->current;
    source->current = *bundle;
    cert_bundle_init(bundle);
    cert_bundle_clear(&old);
    source->has_current = true;
    source->warned_ns = 0;
    char until[TIME_TEXT_MAX];
    size_t n = time_format(until, state->not_after_ns);
    log_info("certificate in force until=%.*s", (int)n, until);
    source->config.changed(&source->current, state, source->config.arg);
}

static void warn_of_end(struct cert_source *source)
{
    const int64_t now_ns = loop_wall(source->config.loop);
    char until[TIME_TEXT_MAX];
    if (!source->has_current || source->state.not_after_ns - now_ns > WARN_BEFORE_END_NS ||
        now_ns - source->warned_ns < DAY_NS)
        return;
    source->warned_ns = now_ns;
    size_t n = time_format(until, source->state.not_after_ns);
    log_warn("the serving certificate ends soon end=%.*s", (int)n, until);
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
    cert_bundle_init(&source->current);
    cert_bundle_init(&source->made);
    backoff_init(&source->backoff, RETRY_FIRST_NS, SECRET_INTERVAL_NS);
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
    free(source);
}

const struct cert_bundle *cert_source_current(const struct cert_source *source)
{
    return source->has_current ? &source->current : NULL;
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
