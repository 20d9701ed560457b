/*
 * Leader election: an attempt each retry period, either a GET and what follows from it, or, while
 * we lead, at once a PUT at the version last seen. Standbys keep step with the holder.
 *
 * Safety rests on two clocks of our own. The holder counts from the moment before it sent the
 * write that succeeded; everybody else counts from the moment after they saw the Lease change. So
 * the holder's time is over before another's patience, whatever the wall clocks say. An attempt is
 * given up after half the renew deadline, so that one lost answer does not cost the Lease.
 */
#include "kube/lease.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/log.h"
#include "kube/lease_record.h"
#include <stdio.h>
#include <unistd.h>

/* The same trouble is logged again only after so long. */
#define LOG_EVERY_NS (30 * NSEC_PER_SEC)
/* A standby sees a renewal within this part of the retry period. */
#define STEPS 8

struct lease {
    struct loop *loop;                /* borrowed */
    struct kube_transport *transport; /* borrowed */
    struct window *window;            /* borrowed */
    struct lease_config config;
    void (*changed)(bool leading, void *arg);
    void *arg;

    struct lease_record record; /* as last seen */
    int64_t observed_ns;        /* when its spec was last seen to change */
    struct kube_call *get;      /* under way, or NULL */
    struct window_request *put; /* under way, or NULL */
    int64_t attempt_ns;         /* when the attempt under way began */
    int64_t sent_ns;            /* when the write under way was last handed on */
    int64_t renewed_ns;         /* sent_ns of the last write that succeeded */
    bool leading;
    bool hurry;     /* the next attempt is to follow at once */
    bool stale;     /* our version is not the current one: read it first */
    bool stepping;  /* standing by: the look before was a step ago, so a renewal is new, */
    bool in_step;   /* and it is known when they come */
    bool stopping;  /* lease_release was called */
    bool giving_up; /* the write under way is the one that gives the Lease up */

    struct loop_timer attempt;  /* the next attempt, or a look at the one under way */
    struct loop_timer deadline; /* leading: the renew deadline; stopping: patience */
    struct loop_deferred done;  /* of lease_release */
    struct error trouble;       /* last logged */
    int64_t trouble_ns;
};

static int64_t attempt_limit(const struct lease *lease)
{
    return lease->config.renew_deadline_ns / 2;
}

static void log_trouble(struct lease *lease, const struct error *error)
{
    int64_t now = loop_now(lease->loop);
    if (strcmp(error->text, lease->trouble.text) == 0 && now - lease->trouble_ns < LOG_EVERY_NS)
        return;
    lease->trouble = *error;
    lease->trouble_ns = now;
    log_warn("lease %s/%s: %s", lease->config.ns, lease->config.name, error->text);
}

/* ---- leading or not -------------------------------------------------------------------------- */

static void lose(struct lease *lease, const char *why)
{
    if (!lease->leading)
        return;
    lease->leading = lease->stepping = lease->in_step = false;
    loop_timer_cancel(lease->loop, &lease->deadline);
    log_warn("lease %s/%s: no longer the leader: %s", lease->config.ns, lease->config.name, why);
    lease->changed(false, lease->arg);
}

/* A write of ours has succeeded. */
static void renewed(struct lease *lease)
{
    int64_t now = loop_now_fresh(lease->loop);
    int64_t until = lease->sent_ns + lease->config.renew_deadline_ns;
    if (now >= until) {
        lose(lease, "the answer to the renewal came too late");
        return;
    }
    lease->renewed_ns = lease->sent_ns;
    loop_timer_set(lease->loop, &lease->deadline, until - loop_now(lease->loop));
    if (lease->leading)
        return;
    lease->leading = true;
    log_debug("lease %s/%s: became the leader", lease->config.ns, lease->config.name);
    lease->changed(true, lease->arg);
}

static void on_deadline(void *arg);

bool lease_held(struct lease *lease, int64_t margin_ns)
{
    return lease->leading &&
           loop_now_fresh(lease->loop) + margin_ns < lease->renewed_ns + lease->config.duration_ns;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void add_path(const struct lease *lease, struct buf *path, bool object)
{
    (void)buf_add_cstr(path, "/apis/coordination.k8s.io/v1/namespaces/");
    kube_escape(path, str_of(lease->config.ns));
    (void)buf_add_cstr(path, "/leases");
    if (!object)
        return;
    (void)buf_add_char(path, '/');
    kube_escape(path, str_of(lease->config.name));
}

static void ask_for_note(struct lease *lease, const char *holder, struct buf *value)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    const struct lease_note note = {
        .before = lease->record.exists
                      ? lease_record_note(&lease->record, lease->config.note_key, &arena)
                      : STR_NULL,
        .term_before = lease_term(lease),
        .term = lease_record_term(&lease->record, holder),
    };
    lease->config.note(&note, value, lease->config.note_arg);
    ENSURE(!value->overflow);
}

static bool render(struct buf *path, struct buf *body, void *arg)
{
    struct lease *lease = arg;
    cleanup_buf struct buf note = BUF_INIT(LEASE_NOTE_MAX);
    const char *holder = lease->giving_up ? "" : lease->config.identity;
    if (lease->config.note_key)
        ask_for_note(lease, holder, &note);
    struct lease_update update = {
        .ns = lease->config.ns,
        .name = lease->config.name,
        .holder = holder,
        .duration_ns = lease->giving_up ? NSEC_PER_SEC : lease->config.duration_ns,
        .wall_ns = loop_wall(lease->loop),
        .note_key = lease->config.note_key,
        .note = buf_str(&note),
    };
    add_path(lease, path, lease->record.exists);
    lease_record_write(&lease->record, &update, body);
    lease->hurry = false;
    lease->sent_ns = loop_now_fresh(lease->loop);
    return true;
}

static void on_written(const struct kube_result *result, void *arg);

static void write_lease(struct lease *lease)
{
    const struct window_spec spec = {
        .cls = WINDOW_LEASE,
        .method = lease->record.exists ? KUBE_PUT : KUBE_POST,
        .render = render,
        .done = on_written,
        .arg = lease,
    };
    lease->put = window_submit(lease->window, &spec);
}

static bool observe(struct lease *lease, struct str body)
{
    struct error error = ERROR_INIT;
    bool changed = false;
    if (lease_record_read(&lease->record, body, &changed, &error) < 0) {
        log_trouble(lease, &error);
        return false;
    }
    if (changed)
        lease->observed_ns = loop_now_fresh(lease->loop);
    return true;
}

static bool is_ours(const struct lease *lease)
{
    return strcmp(lease->record.holder, lease->config.identity) == 0;
}

static void finish_release(struct lease *lease);
static void attempt(struct lease *lease);

/*
 * Somebody else wrote, or the Lease is gone: what we know of it is out of date. A leader whose
 * update failed looks at once; a create that failed will not do better now.
 */
static void on_overtaken(struct lease *lease)
{
    lease->stale = true;
    if (lease->leading && lease->record.exists)
        attempt(lease);
}

/* stopping: the write that was under way has ended, well or not. */
static void go_on_releasing(struct lease *lease, bool written)
{
    if (lease->giving_up || !written || !is_ours(lease)) {
        finish_release(lease);
        return;
    }
    lease->giving_up = true;
    write_lease(lease);
}

static void on_written(const struct kube_result *result, void *arg)
{
    struct lease *lease = arg;
    enum error_class cls = result->error.cls;
    lease->put = NULL;
    bool written = cls == ERROR_NONE && observe(lease, result->body);
    if (cls != ERROR_NONE && cls != ERROR_CANCELLED)
        log_trouble(lease, &result->error);
    if (lease->stopping) {
        go_on_releasing(lease, written);
    } else if (written) {
        lease->stale = false;
        renewed(lease);
        if (lease->hurry)
            loop_timer_set(lease->loop, &lease->attempt, 0);
    } else if (cls == ERROR_CONFLICT || cls == ERROR_EXISTS || cls == ERROR_NOT_FOUND) {
        on_overtaken(lease);
    } else {
        lease->stale = true;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The nanoseconds until the holder's time is over as far as we have seen. */
static int64_t patience(const struct lease *lease)
{
    int64_t duration =
        lease->record.duration_ns > 0 ? lease->record.duration_ns : lease->config.duration_ns;
    return lease->observed_ns + duration - loop_now_fresh(lease->loop);
}

/*
 * A standby looks again when a renewal is due, and then in small steps until it has seen it: it
 * counts from when it saw one, so what it sees late delays its own turn. So it does at first, too,
 * and after a look without an answer: how late it saw the renewal before it does not know.
 */
static int64_t next_look(struct lease *lease)
{
    const int64_t period = lease->config.retry_period_ns, step = period / STEPS;
    const bool renewed = lease->observed_ns >= lease->attempt_ns;
    lease->in_step = lease->in_step || (renewed && lease->stepping);
    lease->stepping = !renewed || !lease->in_step;
    return rng_jitter(loop_rng(lease->loop), lease->stepping ? step : period - step, 0.1);
}

/* The record is fresh: take, renew or wait. */
static void consider(struct lease *lease)
{
    if (!lease->record.exists || lease->record.holder[0] == '\0' || is_ours(lease)) {
        write_lease(lease);
        return;
    }
    lose(lease, "another process holds it");
    int64_t wait = patience(lease), look = next_look(lease);
    if (wait <= 0)
        write_lease(lease);
    else
        loop_timer_set(lease->loop, &lease->attempt, wait < look ? wait : look);
}

static void on_got(const struct kube_result *result, void *arg)
{
    struct lease *lease = arg;
    lease->get = NULL;
    if (result->error.cls == ERROR_NOT_FOUND && result->outcome == KUBE_ANSWERED) {
        lease->record.exists = false;
        if (lease->config.once && lease->leading)
            lose(lease, "somebody has deleted it");
        else
            consider(lease);
    } else if (result->error.cls != ERROR_NONE) {
        lease->stepping = lease->in_step = false;
        log_trouble(lease, &result->error);
    } else if (observe(lease, result->body)) {
        consider(lease);
    }
    if (lease->hurry && !lease->put)
        loop_timer_set(lease->loop, &lease->attempt, 0);
}

static void read_lease(struct lease *lease)
{
    cleanup_buf struct buf path = BUF_INIT(4096);
    add_path(lease, &path, true);
    const struct kube_call_spec spec = {
        .method = KUBE_GET,
        .path = buf_str(&path),
        .timeout_ns = attempt_limit(lease),
        .on_done = on_got,
        .arg = lease,
    };
    lease->get = kube_start(lease->transport, &spec);
}

/* ---- attempts -------------------------------------------------------------------------------- */

static void cancel_attempt(struct lease *lease)
{
    if (lease->get) {
        kube_cancel(lease->transport, take_ptr(lease->get));
        lease->stepping = lease->in_step = false;
    }
    if (lease->put) {
        (void)window_cancel(lease->window, take_ptr(lease->put));
        lease->stale = true; /* it may have taken effect */
    }
}

static void attempt(struct lease *lease)
{
    cancel_attempt(lease);
    lease->hurry = false;
    lease->attempt_ns = loop_now(lease->loop);
    int64_t period = lease->config.retry_period_ns;
    /* Candidates spread out; the leader keeps time. */
    if (!lease->leading)
        period = rng_jitter(loop_rng(lease->loop), period + period / 10, 0.1);
    loop_timer_set(lease->loop, &lease->attempt, period);
    if (lease->leading && !lease->stale)
        write_lease(lease);
    else
        read_lease(lease);
}

static void on_attempt(void *arg)
{
    struct lease *lease = arg;
    int64_t age = loop_now(lease->loop) - lease->attempt_ns;
    bool busy = lease->get || lease->put;
    if (busy && age < attempt_limit(lease))
        loop_timer_set(lease->loop, &lease->attempt, attempt_limit(lease) - age);
    else
        attempt(lease);
}

static void on_deadline(void *arg)
{
    struct lease *lease = arg;
    if (!lease->stopping) {
        lose(lease, "it could not be renewed in time");
        return;
    }
    cancel_attempt(lease);
    finish_release(lease);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct lease *lease_new(struct loop *loop, struct kube_transport *transport, struct window *window,
                        const struct lease_config *config, void (*changed)(bool leading, void *arg),
                        void *arg)
{
    struct lease *lease = xnew(struct lease);
    lease->loop = loop;
    lease->transport = transport;
    lease->window = window;
    lease->config = *config;
    lease->changed = changed;
    lease->arg = arg;
    lease->stale = true;
    lease_record_init(&lease->record);
    loop_timer_init(&lease->attempt, on_attempt, lease);
    loop_timer_init(&lease->deadline, on_deadline, lease);
    loop_deferred_init(&lease->done, NULL, NULL);
    lease->attempt_ns = loop_now(loop);
    loop_timer_set(loop, &lease->attempt, 0);
    return lease;
}

static void finish_release(struct lease *lease)
{
    loop_timer_cancel(lease->loop, &lease->deadline);
    loop_defer(lease->loop, &lease->done);
}

int32_t lease_term(const struct lease *lease)
{
    return lease->record.exists ? lease->record.transitions : 0;
}

void lease_hurry(struct lease *lease)
{
    if (lease->stopping)
        return;
    if (lease->get || lease->put)
        lease->hurry = true;
    else
        loop_timer_set(lease->loop, &lease->attempt, 0);
}

void lease_release(struct lease *lease, loop_fn *done, void *arg)
{
    bool held = lease->leading;
    loop_deferred_init(&lease->done, done, arg);
    lease->stopping = true;
    lease->leading = false;
    loop_timer_cancel(lease->loop, &lease->attempt);
    if (lease->get)
        kube_cancel(lease->transport, take_ptr(lease->get));
    if (!lease->put && !held) {
        finish_release(lease);
        return;
    }
    loop_timer_set(lease->loop, &lease->deadline, attempt_limit(lease));
    if (lease->put)
        return; /* on_written goes on */
    lease->giving_up = true;
    write_lease(lease);
}

void lease_free(struct lease *lease)
{
    if (!lease)
        return;
    cancel_attempt(lease);
    loop_timer_cancel(lease->loop, &lease->attempt);
    loop_timer_cancel(lease->loop, &lease->deadline);
    loop_deferred_cancel(&lease->done);
    lease_record_clear(&lease->record);
    free(lease);
}

void lease_identity(char text[LEASE_IDENTITY_MAX], struct rng *rng)
{
    char host[256] = "";
    if (gethostname(host, sizeof(host) - 1) < 0 || host[0] == '\0')
        (void)snprintf(host, sizeof(host), "unknown");
    uint64_t high = rng_next(rng), low = rng_next(rng);
    (void)snprintf(text, LEASE_IDENTITY_MAX, "%s_%08x-%04x-4%03x-%04x-%012llx", host,
                   (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff),
                   (unsigned)(high & 0xfff), (unsigned)(0x8000 | (low >> 48 & 0x3fff)),
                   (unsigned long long)(low & 0xffffffffffffULL));
}
