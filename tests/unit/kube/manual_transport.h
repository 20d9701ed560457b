/*
 * A transport whose calls the test answers by hand: whole answers, pieces of streams, failures, at
 * any time. A hook sees each call as it starts, for tests that play a server.
 */
#ifndef PUMICE_TESTS_UNIT_KUBE_MANUAL_TRANSPORT_H
#define PUMICE_TESTS_UNIT_KUBE_MANUAL_TRANSPORT_H

#include "base/alloc.h"
#include "kube/transport.h"

struct manual;

struct kube_call {
    struct kube_call *next; /* younger */
    struct manual *owner;
    struct kube_call_spec spec; /* path and body are the next two */
    char *path, *body;          /* owned */
    int64_t start_ns;
    struct loop_timer timer; /* the hook's to use */
};

struct manual {
    struct kube_transport base; /* first */
    struct loop *loop;
    struct kube_call *calls; /* under way, oldest first */
    unsigned inflight, started, cancelled, given_up;
    void (*on_start)(struct kube_call *call, void *arg); /* may be NULL; must not answer */
    void (*on_end)(struct kube_call *call, void *arg);   /* answered or cancelled; may be NULL */
    void *arg;
};

static inline void manual_drop(struct kube_call *call)
{
    if (call->owner->on_end)
        call->owner->on_end(call, call->owner->arg);
    call->owner->inflight--;
    struct kube_call **at = &call->owner->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    loop_timer_cancel(call->owner->loop, &call->timer);
    free(call->path);
    free(call->body);
    free(call);
}

static inline struct kube_call *manual_start(struct kube_transport *base,
                                             const struct kube_call_spec *spec)
{
    struct manual *manual = container_of(base, struct manual, base);
    struct kube_call *call = xnew(struct kube_call);
    call->owner = manual;
    call->spec = *spec;
    call->path = str_dup(spec->path);
    call->body = str_dup(spec->body);
    call->spec.path.p = call->path;
    call->spec.body.p = call->body;
    call->start_ns = loop_now(manual->loop);
    loop_timer_init(&call->timer, NULL, call);
    struct kube_call **end = &manual->calls;
    while (*end)
        end = &(*end)->next;
    *end = call;
    manual->started++;
    manual->inflight++;
    if (manual->on_start)
        manual->on_start(call, manual->arg);
    return call;
}

static inline void manual_cancel(struct kube_transport *base, struct kube_call *call)
{
    struct manual *manual = container_of(base, struct manual, base);
    manual->cancelled++;
    manual_drop(call);
}

static inline void manual_give_up(struct kube_transport *base, struct kube_call *call)
{
    struct manual *manual = container_of(base, struct manual, base);
    manual->given_up++;
    manual_drop(call);
}

static inline void manual_free(struct kube_transport *base)
{
    struct manual *manual = container_of(base, struct manual, base);
    while (manual->calls)
        manual_drop(manual->calls);
    free(manual);
}

static inline struct manual *manual_new(struct loop *loop)
{
    static const struct kube_transport_ops ops = {.start = manual_start,
                                                  .cancel = manual_cancel,
                                                  .give_up = manual_give_up,
                                                  .free = manual_free};
    struct manual *manual = xnew(struct manual);
    manual->base.ops = &ops;
    manual->loop = loop;
    return manual;
}

/* The oldest call under way, or NULL. */
static inline struct kube_call *manual_first(struct manual *manual)
{
    return manual->calls;
}

static inline void manual_finish(struct kube_call *call, struct kube_result *result)
{
    kube_done_fn *done = call->spec.on_done;
    void *arg = call->spec.arg;
    result->latency_ns = loop_now(call->owner->loop) - call->start_ns;
    manual_drop(call);
    done(result, arg);
}

/* A complete answer; with 2xx to a streaming call the body goes to on_data first. */
static inline void manual_answer(struct kube_call *call, int status, const char *body,
                                 int64_t retry_after_ns)
{
    struct kube_result result = {.outcome = KUBE_ANSWERED,
                                 .status = status,
                                 .body = str_of(body),
                                 .retry_after_ns = retry_after_ns};
    kube_result_classify(&result);
    manual_finish(call, &result);
}

static inline void manual_fail(struct kube_call *call, enum kube_outcome outcome,
                               enum error_class cls)
{
    struct kube_result result = {.outcome = outcome};
    error_set(&result.error, cls, "the line is dead");
    manual_finish(call, &result);
}

/* A piece of a stream. False when the receiver stopped it, which has ended the call. */
static inline bool manual_data(struct kube_call *call, struct str data)
{
    if (call->spec.on_data(data, call->spec.arg))
        return true;
    manual_fail(call, KUBE_ANSWERED, ERROR_CANCELLED);
    return false;
}

static inline void time_is_up(void *arg)
{
    (void)arg;
}

/* Lets exactly so much virtual time pass, even with nothing to do; what is due at the end has run.
 */
static inline void run_for(struct loop *loop, int64_t ns)
{
    struct loop_timer pause;
    int64_t end = loop_now(loop) + ns;
    loop_timer_init(&pause, time_is_up, NULL);
    loop_timer_set(loop, &pause, ns);
    while (loop_now(loop) < end)
        (void)loop_turn(loop, end - loop_now(loop));
    for (int i = 0; i < 8; i++)
        (void)loop_turn(loop, 0);
    loop_timer_cancel(loop, &pause);
}

#endif
