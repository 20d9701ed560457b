/*
 * Doubles of the Kubernetes client for the test of the process frame. They have the names of the
 * real functions: the linker takes them and leaves the library's own out. Included once.
 */
#ifndef PUMICE_TESTS_OPS_PROCESS_DOUBLES_H
#define PUMICE_TESTS_OPS_PROCESS_DOUBLES_H

#include "ops/process.h"
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

/* What the doubles and the application of the child do; set before the fork. */
static struct scenario {
    bool bad_config, bad_transport, bad_start, crash, no_stop, no_window;
    bool own_fence, fails;         /* the application has a fence of its own; gives up */
    bool mute_drain, mute_release; /* writes, or the Lease, never come to an end */
    int failures;                  /* of the first questions to the API server */
    int status;                    /* of the answer after them */
    const char *version;           /* its body */
    int64_t lead_after_ns;         /* 0: never */
    int64_t lose_after_ns;         /* after that; 0: never */
    const char *missing;           /* what the application lacks for readiness */
} scenario;

static int trace_fd; /* the child's end of a pipe: one line for each thing that happened */

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vdprintf(trace_fd, format, args);
    va_end(args);
}

int kube_config_load(struct kube_config *config, const char *kubeconfig, const char *master,
                     struct error *err)
{
    *config = (struct kube_config){0};
    if (scenario.bad_config)
        return error_set(err, ERROR_INVALID, "%s: no current-context", kubeconfig);
    config->server = xstrdup(*master ? master : "https://api:6443");
    config->origin = xstrdup(*kubeconfig ? kubeconfig : "service account");
    return 0;
}

void kube_config_clear(struct kube_config *config)
{
    free(config->server);
    free(config->origin);
    *config = (struct kube_config){0};
}

struct double_transport {
    struct kube_transport base;
    struct loop *loop;
    struct loop_timer timer;
    struct kube_call_spec spec;
};

static void answer(void *arg)
{
    struct double_transport *transport = arg;
    struct kube_result result = {.outcome = KUBE_ANSWERED, .status = scenario.status};
    result.body = str_of(scenario.version);
    if (scenario.failures-- > 0) {
        result = (struct kube_result){.outcome = KUBE_NOT_SENT};
        error_set(&result.error, ERROR_RETRY, "connection refused");
    }
    transport->spec.on_done(&result, transport->spec.arg);
}

static struct kube_call *double_start(struct kube_transport *base,
                                      const struct kube_call_spec *spec)
{
    struct double_transport *transport = (struct double_transport *)(void *)base;
    transport->spec = *spec;
    assert_string_equal(spec->path.p, "/version");
    loop_timer_set(transport->loop, &transport->timer, NSEC_PER_MSEC);
    return (struct kube_call *)(void *)transport;
}

static void double_cancel(struct kube_transport *base, struct kube_call *call)
{
    (void)call;
    struct double_transport *transport = (struct double_transport *)(void *)base;
    loop_timer_cancel(transport->loop, &transport->timer);
}

static void double_free(struct kube_transport *base)
{
    note("transport_free\n");
    free(base);
}

struct kube_transport *kube_transport_curl_new(struct loop *loop, struct kube_config *config,
                                               const char *user_agent, struct error *err)
{
    static const struct kube_transport_ops ops = {
        .start = double_start, .cancel = double_cancel, .free = double_free};
    assert_non_null(config->server);
    assert_string_equal(user_agent, "pumice-test");
    if (scenario.bad_transport) {
        error_set(err, ERROR_INVALID, "client certificate and key do not match");
        return NULL;
    }
    struct double_transport *transport = xnew(struct double_transport);
    transport->base.ops = &ops;
    transport->loop = loop;
    loop_timer_init(&transport->timer, answer, transport);
    return &transport->base;
}

/* The window: only its fence matters here. */
static bool (*fence)(void *arg);
static void *fence_arg;

struct window *window_new(struct loop *loop, struct kube_transport *transport,
                          const struct window_config *config)
{
    (void)loop;
    (void)transport;
    note("window max=%u fixed=%u qps=%g burst=%g timeout=%lldms%s\n", config->max_inflight,
         config->fixed_inflight, config->qps, config->burst,
         (long long)(config->timeout_ns / NSEC_PER_MSEC), config->tell_timeout ? " told" : "");
    return (struct window *)(void *)&fence;
}

void window_free(struct window *window)
{
    (void)window;
    note("window_free\n");
}

void window_set_fence(struct window *window, bool (*may_write)(void *arg), void *arg)
{
    (void)window;
    fence = may_write;
    fence_arg = arg;
}

void window_kick(struct window *window)
{
    (void)window;
    note("kick may_write=%d\n", fence ? fence(fence_arg) : 1);
}

void window_drain(struct window *window, struct loop_deferred *drained)
{
    (void)window;
    note("window_drain\n");
    if (!scenario.mute_drain)
        drained->fn(drained->arg);
}

static void (*observer)(enum window_class cls, int64_t latency_ns, void *arg);
static void *observer_arg;

void window_set_observer(struct window *window,
                         void (*observe)(enum window_class cls, int64_t latency_ns, void *arg),
                         void *arg)
{
    (void)window;
    observer = observe;
    observer_arg = arg;
}

/* Each look at it has seen one more answer. */
struct window_stats window_stats(const struct window *window)
{
    (void)window;
    observer(WINDOW_CREATE, 30 * NSEC_PER_MSEC, observer_arg);
    return (struct window_stats){.limit = 16,
                                 .inflight = 3,
                                 .waiting = {[WINDOW_CREATE] = 7},
                                 .sent = {[WINDOW_BIND] = 42},
                                 .throttled = 1,
                                 .failed = 2,
                                 .latency_ns = 5 * NSEC_PER_MSEC};
}

const char *window_class_name(enum window_class cls)
{
    static const char *const names[] = {"lease", "bind", "delete", "create", "status", "event"};
    return names[cls];
}

struct event_recorder *event_recorder_new(struct loop *loop, struct window *window,
                                          const char *component)
{
    (void)loop;
    (void)window;
    assert_string_equal(component, "test");
    return (struct event_recorder *)(void *)&fence_arg;
}

void event_recorder_free(struct event_recorder *recorder)
{
    (void)recorder;
}

uint64_t event_recorder_dropped(const struct event_recorder *recorder)
{
    (void)recorder;
    return 9;
}

static struct double_lease {
    struct loop *loop;
    struct loop_timer gain, lose, released;
    void (*changed)(bool leading, void *arg);
    void *arg;
    bool held;
} lease_double;

static void on_gain(void *arg)
{
    struct double_lease *lease = arg;
    lease->held = true;
    lease->changed(true, lease->arg);
}

static void on_lose(void *arg)
{
    struct double_lease *lease = arg;
    lease->held = false;
    lease->changed(false, lease->arg);
}

struct lease *lease_new(struct loop *loop, struct kube_transport *transport, struct window *window,
                        const struct lease_config *config, void (*changed)(bool leading, void *arg),
                        void *arg)
{
    (void)transport;
    (void)window;
    note("lease %s/%s %s\n", config->ns, config->name, config->identity);
    lease_double = (struct double_lease){.loop = loop, .changed = changed, .arg = arg};
    loop_timer_init(&lease_double.gain, on_gain, &lease_double);
    loop_timer_init(&lease_double.lose, on_lose, &lease_double);
    if (scenario.lead_after_ns)
        loop_timer_set(loop, &lease_double.gain, scenario.lead_after_ns);
    if (scenario.lose_after_ns)
        loop_timer_set(loop, &lease_double.lose, scenario.lead_after_ns + scenario.lose_after_ns);
    return (struct lease *)(void *)&lease_double;
}

bool lease_held(struct lease *lease, int64_t margin_ns)
{
    assert_int_equal(margin_ns, 5 * NSEC_PER_SEC);
    return ((struct double_lease *)(void *)lease)->held;
}

void lease_release(struct lease *lease, loop_fn *done, void *arg)
{
    (void)lease;
    note("lease_release\n");
    if (scenario.mute_release)
        return;
    loop_timer_init(&lease_double.released, done, arg);
    loop_timer_set(lease_double.loop, &lease_double.released, NSEC_PER_MSEC);
}

void lease_free(struct lease *lease)
{
    (void)lease;
    loop_timer_cancel(lease_double.loop, &lease_double.gain);
    loop_timer_cancel(lease_double.loop, &lease_double.lose);
    note("lease_free\n");
}

void lease_identity(char text[LEASE_IDENTITY_MAX], struct rng *rng)
{
    (void)rng;
    snprintf(text, LEASE_IDENTITY_MAX, "host_1");
}

#endif
