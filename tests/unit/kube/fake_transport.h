/*
 * A transport in memory for unit tests: each call reaches a handler after half the latency and its
 * answer comes after the other half. Faults are set from outside at any time.
 */
#ifndef PUMICE_TESTS_UNIT_KUBE_FAKE_TRANSPORT_H
#define PUMICE_TESTS_UNIT_KUBE_FAKE_TRANSPORT_H

#include "base/alloc.h"
#include "base/list.h"
#include "kube/transport.h"

struct fake_transport;

/* Answers a call: status and body (appended). */
typedef int fake_handler(void *arg, const struct kube_call_spec *spec, struct buf *body);

struct fake_transport {
    struct kube_transport base; /* first */
    struct loop *loop;
    fake_handler *handler;
    void *arg;
    struct list calls;
    int64_t latency_ns;
    bool deaf;         /* requests are lost */
    bool mute;         /* answers are lost, requests take effect */
    bool refusing;     /* connections are refused */
    unsigned requests; /* handled so far */
};

struct kube_call {
    struct list link;
    struct fake_transport *fake;
    struct kube_call_spec spec;
    char *path, *text;
    struct loop_timer timer, timeout;
    int64_t start_ns;
    bool handled, sent;
    int status;
    struct buf body;
};

static inline void fake_call_free(struct kube_call *call)
{
    list_remove(&call->link);
    loop_timer_cancel(call->fake->loop, &call->timer);
    loop_timer_cancel(call->fake->loop, &call->timeout);
    free(call->path);
    free(call->text);
    buf_clear(&call->body);
    free(call);
}

static inline void fake_end(struct kube_call *call, struct kube_result *result)
{
    list_remove(&call->link);
    loop_timer_cancel(call->fake->loop, &call->timer);
    loop_timer_cancel(call->fake->loop, &call->timeout);
    result->latency_ns = loop_now(call->fake->loop) - call->start_ns;
    call->spec.on_done(result, call->spec.arg);
    fake_call_free(call);
}

static inline void fake_fail(struct kube_call *call, const char *why)
{
    struct kube_result result = {
        .outcome = call->sent && call->spec.method != KUBE_GET ? KUBE_IN_DOUBT : KUBE_NOT_SENT};
    error_set(&result.error, ERROR_RETRY, "%s", why);
    fake_end(call, &result);
}

static inline void fake_on_timeout(void *arg)
{
    fake_fail(arg, "no answer in time");
}

static inline void fake_on_timer(void *arg)
{
    struct kube_call *call = arg;
    struct fake_transport *fake = call->fake;
    if (fake->refusing && !call->handled) {
        fake_fail(call, "connection refused");
        return;
    }
    call->sent = true;
    if (!call->handled && !fake->deaf) {
        fake->requests++;
        call->status = fake->handler(fake->arg, &call->spec, &call->body);
        call->handled = true;
        loop_timer_set(fake->loop, &call->timer, fake->latency_ns / 2);
    } else if (call->handled && !fake->mute) {
        struct kube_result result = {.outcome = KUBE_ANSWERED, .status = call->status};
        result.body = buf_str(&call->body);
        kube_result_classify(&result);
        fake_end(call, &result);
    }
}

static inline struct kube_call *fake_start(struct kube_transport *base,
                                           const struct kube_call_spec *spec)
{
    struct fake_transport *fake = container_of(base, struct fake_transport, base);
    struct kube_call *call = xnew(struct kube_call);
    call->fake = fake;
    call->spec = *spec;
    call->path = str_dup(spec->path);
    call->text = str_dup(spec->body);
    call->spec.path.p = call->path;
    call->spec.body.p = call->text;
    call->start_ns = loop_now(fake->loop);
    call->body = BUF_INIT((size_t)1 << 20);
    list_append(&fake->calls, &call->link);
    loop_timer_init(&call->timer, fake_on_timer, call);
    loop_timer_init(&call->timeout, fake_on_timeout, call);
    loop_timer_set(fake->loop, &call->timer, fake->latency_ns / 2);
    if (spec->timeout_ns > 0)
        loop_timer_set(fake->loop, &call->timeout, spec->timeout_ns);
    return call;
}

static inline void fake_cancel(struct kube_transport *base, struct kube_call *call)
{
    (void)base;
    fake_call_free(call);
}

static inline void fake_free(struct kube_transport *base)
{
    struct fake_transport *fake = container_of(base, struct fake_transport, base);
    while (!list_empty(&fake->calls))
        fake_call_free(container_of(fake->calls.next, struct kube_call, link));
    free(fake);
}

static inline struct fake_transport *fake_new(struct loop *loop, fake_handler *handler, void *arg)
{
    static const struct kube_transport_ops ops = {
        .start = fake_start, .cancel = fake_cancel, .free = fake_free};
    struct fake_transport *fake = xnew(struct fake_transport);
    fake->base.ops = &ops;
    fake->loop = loop;
    fake->handler = handler;
    fake->arg = arg;
    fake->latency_ns = 10 * NSEC_PER_MSEC;
    list_init(&fake->calls);
    return fake;
}

#endif
