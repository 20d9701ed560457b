/*
 * The window's heart: takes requests in, sends them when limit, fence, tokens and the state of the
 * server allow, and judges the answers.
 *
 * Sending happens in `pump` alone, a deferred call, so that submit and cancel never call back and
 * done callbacks may submit and cancel freely. Requests are owned here from submit to done or
 * cancel; flows are embedded in their owners. Loop thread only.
 */
#include "kube/window.h"
#include "base/ensure.h"
#include "base/limits.h"
#include "kube/window_private.h"
#include <math.h>

#define DEFAULT_INITIAL 16
#define DEFAULT_MAX 256
#define DEFAULT_TIMEOUT (30 * NSEC_PER_SEC)
#define LEASE_SLOTS 2
#define EVENT_SLOTS 1 /* of the limit */
#define EVENT_REST 8  /* no further event for so many times what the last took too long ... */
#define EVENT_REST_MOST ((double)NSEC_PER_SEC) /* ... or this long */
#define EVENT_SLOW 1.5    /* times the least latency is no sign of others yet */
#define EVENT_FADES 1.002 /* the least latency grows so with each event */
#define DEFAULT_LEAVES 12 /* others may be the cause of latency; less gets nothing done */
#define PUMP_MOST 256     /* requests of one turn */
#define PATH_MAX_BYTES ((size_t)16 << 10)
#define BODY_KEEP ((size_t)64 << 10) /* a larger buffer is freed after use */
#define UNREACHABLE_FIRST (50 * NSEC_PER_MSEC)
#define UNREACHABLE_MOST (5 * NSEC_PER_SEC)
#define THROTTLE_DEFAULT NSEC_PER_SEC
#define THROTTLE_MOST (60 * NSEC_PER_SEC)
#define HOLD_MOST (5 * NSEC_PER_SEC) /* of all, for what may be one namespace's refusal */
#define LEASE_DELAY_MOST NSEC_PER_SEC
#define TOKEN_MOST (3600 * (double)NSEC_PER_SEC) /* then it is looked again */

static void pump(void *arg);
static void wake(void *arg);

static unsigned or_default(unsigned value, unsigned fallback)
{
    return value ? value : fallback;
}

struct window *window_new(struct loop *loop, struct kube_transport *transport,
                          const struct window_config *config)
{
    struct window *window = xnew(struct window);

    window->loop = loop;
    window->transport = transport;
    window->config = *config;
    if (window->config.timeout_ns <= 0)
        window->config.timeout_ns = DEFAULT_TIMEOUT;
    if (window->config.burst < 1)
        window->config.burst = config->qps > 1 ? config->qps : 1;
    window->tokens = window->config.burst;
    window->tokens_ns = loop_now(loop);
    if (config->fixed_inflight)
        window_limit_init_fixed(&window->limit, config->fixed_inflight);
    else
        window_limit_init(&window->limit, or_default(config->initial, DEFAULT_INITIAL),
                          or_default(config->max_inflight, DEFAULT_MAX),
                          or_default(config->latency_leaves, DEFAULT_LEAVES));
    window_queue_init(window);
    window_flow_init(window, &window->own);
    list_init(&window->inflight);
    loop_timer_init(&window->wake, wake, window);
    loop_deferred_init(&window->pump, pump, window);
    backoff_init(&window->unreachable, UNREACHABLE_FIRST, UNREACHABLE_MOST);
    buf_init(&window->path, PATH_MAX_BYTES);
    buf_init(&window->body, LIMIT_REQUEST_BODY);
    return window;
}

/* ---- the life of a request ------------------------------------------------------------------ */

struct window_request *window_submit(struct window *window, const struct window_spec *spec)
{
    ENSURE(!window->closing);
    struct window_request *request = xnew(struct window_request);
    *request = (struct window_request){
        .flow = spec->flow ? spec->flow : &window->own,
        .gate = spec->gate,
        .render = spec->render,
        .done = spec->done,
        .arg = spec->arg,
        .sequence = window->next_sequence++,
        .cls = (uint8_t)spec->cls,
        .method = (uint8_t)spec->method,
        .content = (uint8_t)spec->content,
        .patience_s = spec->patience_s,
    };
    list_init(&request->link);
    request->flow->count++;
    window->lanes[spec->cls].waiting++;
    if (spec->delay_ns > 0) {
        request->state = WINDOW_DELAYED;
        request->at.due_ns = loop_now(window->loop) + spec->delay_ns;
        heap_push(&window->delayed, &request->delayed);
        loop_timer_set_earlier(window->loop, &window->wake, spec->delay_ns);
    } else {
        window_queue_push(window, request);
        loop_defer(window->loop, &window->pump);
    }
    return request;
}

/* Puts a request that had no effect back, to be tried after `delay_ns`. */
static void try_again(struct window *window, struct window_request *request, int64_t delay_ns)
{
    request->again = true;
    request->state = WINDOW_DELAYED;
    request->at.due_ns = loop_now(window->loop) + delay_ns;
    window->lanes[request->cls].waiting++;
    heap_push(&window->delayed, &request->delayed);
    loop_timer_set_earlier(window->loop, &window->wake, delay_ns);
}

/* Tells who waits for it that nothing is in flight any more. */
static void tell_drained(struct window *window, struct window_gate *gate)
{
    if (gate && gate->closed && gate->inflight == 0 && gate->drained)
        loop_defer(window->loop, gate->drained);
    if (window->drained && window->busy == 0)
        loop_defer(window->loop, take_ptr(window->drained));
}

/* The request's slot is free again. */
static void leave_flight(struct window *window, struct window_request *request)
{
    list_remove(&request->link);
    if (request->gate)
        request->gate->inflight--;
    if (request->cls == WINDOW_LEASE)
        window->busy_leases--;
    else
        window->busy--;
    if (request->cls == WINDOW_EVENT)
        window->busy_events--;
    if (request->cls == WINDOW_STATUS)
        window->busy_statuses--;
    tell_drained(window, request->gate);
}

static void finish(struct window_request *request, const struct kube_result *result)
{
    kube_done_fn *done = request->done;
    void *arg = request->arg;

    request->flow->count--;
    free(request);
    if (done)
        done(result, arg);
}

static void give_up(struct window_request *request, enum kube_outcome outcome, enum error_class cls,
                    const char *text)
{
    struct kube_result result = {.outcome = outcome};
    error_set(&result.error, cls, "%s", text);
    finish(request, &result);
}

/* Takes a request out of wherever it waits. */
static void leave_queue(struct window *window, struct window_request *request)
{
    window->lanes[request->cls].waiting--;
    if (request->state == WINDOW_DELAYED)
        heap_remove(&window->delayed, &request->delayed);
    else
        window_queue_remove(window, request);
}

/* It is nobody's from now on, but still in flight. */
static void disown(struct window *window, struct window_request *request)
{
    request->flow->count--;
    request->flow = &window->own;
    request->flow->count++;
    request->done = NULL;
}

bool window_cancel(struct window *window, struct window_request *request)
{
    bool sent = request->state == WINDOW_INFLIGHT;

    ENSURE(request->state != WINDOW_SENDING);
    if (sent && request->gate && request->gate->closed) {
        disown(window, request);
        return false;
    }
    if (sent) {
        kube_cancel(window->transport, request->at.call);
        leave_flight(window, request);
        loop_defer(window->loop, &window->pump);
    } else {
        leave_queue(window, request);
    }
    request->flow->count--;
    free(request);
    return !sent;
}

bool window_is_sent(const struct window_request *request)
{
    return request->state == WINDOW_INFLIGHT;
}

bool window_cancel_if_waiting(struct window *window, struct window_request *request)
{
    return request->state != WINDOW_INFLIGHT && window_cancel(window, request);
}

void window_free(struct window *window)
{
    struct window_request *request;
    struct heap_node *node;

    if (!window)
        return;
    window->closing = true;
    list_each(link, &window->inflight)
    {
        request = container_of(link, struct window_request, link);
        kube_cancel(window->transport, request->at.call);
        leave_flight(window, request);
        give_up(request, KUBE_IN_DOUBT, ERROR_CANCELLED, "the request was aborted at shutdown");
    }
    for (int cls = 0; cls < WINDOW_CLASS_COUNT; cls++)
        while ((request = window_queue_pick(window, &window->lanes[cls])))
            give_up(request, KUBE_NOT_SENT, ERROR_CANCELLED, "not sent before shutdown");
    while ((node = heap_pop(&window->delayed)))
        give_up(container_of(node, struct window_request, delayed), KUBE_NOT_SENT, ERROR_CANCELLED,
                "not sent before shutdown");
    loop_timer_cancel(window->loop, &window->wake);
    loop_deferred_cancel(&window->pump);
    window_queue_clear(window);
    buf_clear(&window->path);
    buf_clear(&window->body);
    free(window);
}

/* ---- answers -------------------------------------------------------------------------------- */

static int64_t lease_delay(const struct window_request *request, int64_t delay_ns)
{
    bool shorten = request->cls == WINDOW_LEASE && delay_ns > LEASE_DELAY_MOST;
    return shorten ? LEASE_DELAY_MOST : delay_ns;
}

static void hold(struct window *window, int64_t delay_ns)
{
    int64_t until = loop_now(window->loop) + delay_ns;
    if (until > window->hold_ns)
        window->hold_ns = until;
}

/* Counts a wait for which the owner has the patience; false without it. */
static bool has_patience(struct window_request *request, int64_t delay_ns)
{
    const int64_t waited_s = request->waited_s + (delay_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC;

    if (request->patience_s == 0)
        return true;
    if (waited_s > request->patience_s)
        return false;
    request->waited_s = (uint8_t)waited_s;
    return true;
}

/* A second decrease without a success in between: the server takes nothing, so stop asking. */
static void throttled(struct window *window, struct window_request *request,
                      const struct kube_result *result)
{
    int64_t delay = result->retry_after_ns > 0 ? result->retry_after_ns : THROTTLE_DEFAULT;

    if (delay > THROTTLE_MOST)
        delay = THROTTLE_MOST;
    window->throttled++;
    if (request->cls != WINDOW_LEASE &&
        window_limit_fault(&window->limit, loop_now(window->loop))) {
        if (window->rejecting)
            hold(window, delay < HOLD_MOST ? delay : HOLD_MOST);
        window->rejecting = true;
    }
    if (has_patience(request, delay))
        try_again(window, request, lease_delay(request, delay));
    else
        finish(request, result);
}

/* All calls of one moment fail alike, so the delay grows once for all of them. */
static void unreachable(struct window *window, struct window_request *request)
{
    int64_t now = loop_now(window->loop);

    window->failed++;
    if (now >= window->hold_ns)
        hold(window, backoff_next(&window->unreachable, loop_rng(window->loop)));
    try_again(window, request, lease_delay(request, window->hold_ns - now));
}

/*
 * Others may need the server, which this process cannot see: the more an event took beyond what
 * they take at best, the longer a rest.
 */
static void rest_events(struct window *window, int64_t latency_ns)
{
    const double latency = (double)latency_ns, least = window->event_least * EVENT_FADES;
    window->event_least = window->event_least > 0 && least < latency ? least : latency;
    const double excess = fmax(latency - window->event_least * EVENT_SLOW, 0);
    const double rest = fmin(EVENT_REST * excess, EVENT_REST_MOST);
    window->events_ns = loop_now(window->loop) + (int64_t)rest;
}

/* Tells the limit, and the events that wait, what an answer means for them. */
static void measure(struct window *window, const struct window_request *request,
                    const struct kube_result *result)
{
    int64_t now = loop_now(window->loop);
    bool answered = result->outcome == KUBE_ANSWERED;

    if (answered)
        backoff_reset(&window->unreachable);
    if (result->outcome == KUBE_IN_DOUBT || (answered && result->status >= 500)) {
        window->failed++;
        if (request->cls != WINDOW_LEASE)
            (void)window_limit_fault(&window->limit, now);
    } else if (answered && request->cls != WINDOW_LEASE) {
        window->rejecting = false;
        window_limit_answer(&window->limit, (enum window_class)request->cls, result->latency_ns,
                            window->full_ns >= now - result->latency_ns, now);
        if (request->cls == WINDOW_EVENT)
            rest_events(window, result->latency_ns);
    }
}

static void answered(const struct kube_result *result, void *arg)
{
    struct window_request *request = arg;
    struct window *window = request->flow->window;
    const bool wanted = request->done != NULL;

    leave_flight(window, request);
    loop_defer(window->loop, &window->pump);
    if (result->outcome == KUBE_ANSWERED && window->observe)
        window->observe((enum window_class)request->cls, result->latency_ns, window->observe_arg);
    if (wanted && result->outcome == KUBE_NOT_SENT && result->error.cls == ERROR_RETRY) {
        unreachable(window, request);
    } else if (wanted && result->outcome == KUBE_ANSWERED && result->status == 429 &&
               !result->by_budget) {
        backoff_reset(&window->unreachable);
        throttled(window, request, result);
    } else {
        measure(window, request, result);
        finish(request, result);
    }
}

/* ---- sending -------------------------------------------------------------------------------- */

static void start_call(struct window *window, struct window_request *request)
{
    const struct kube_call_spec spec = {
        .method = (enum kube_method)request->method,
        .path = buf_str(&window->path),
        .content = (enum kube_content)request->content,
        .body = buf_str(&window->body),
        .timeout_ns = window->config.timeout_ns,
        .on_done = answered,
        .arg = request,
    };
    request->state = WINDOW_INFLIGHT;
    list_append(&window->inflight, &request->link);
    window->lanes[request->cls].sent++;
    if (request->gate)
        request->gate->inflight++;
    if (request->cls == WINDOW_EVENT)
        window->busy_events++;
    if (request->cls == WINDOW_STATUS)
        window->busy_statuses++;
    if (request->cls < WINDOW_STATUS && request->cls != WINDOW_LEASE)
        window->urgent_ns = loop_now(window->loop);
    if (request->cls == WINDOW_LEASE) {
        window->busy_leases++;
    } else {
        window->busy++;
        window->tokens -= 1;
    }
    request->at.call = kube_start(window->transport, &spec);
}

static void tell_timeout(struct window *window)
{
    const char *sep = str_chr(buf_str(&window->path), '?') < 0 ? "?" : "&";

    if (window->config.tell_timeout)
        buf_printf(&window->path, "%stimeout=%lldms", sep,
                   (long long)(window->config.timeout_ns / NSEC_PER_MSEC));
}

static void send_request(struct window *window, struct window_request *request)
{
    window->lanes[request->cls].waiting--;
    request->state = WINDOW_SENDING;
    buf_reset(&window->path);
    buf_reset(&window->body);
    if (request->gate && request->gate->closed) {
        give_up(request, KUBE_NOT_SENT, ERROR_CANCELLED, "it is no longer this process's to send");
        return;
    }
    const bool wanted = request->render(&window->path, &window->body, request->arg);
    tell_timeout(window);
    if (!wanted)
        give_up(request, KUBE_NOT_SENT, ERROR_CANCELLED, "no longer wanted");
    else if (window->path.overflow || window->body.overflow)
        give_up(request, KUBE_NOT_SENT, ERROR_LIMIT, "the request is larger than 4 MiB");
    else
        start_call(window, request);
    if (window->body.cap > BODY_KEEP)
        buf_clear(&window->body);
}

/* Whether the QPS bucket has a token; if not, the wake-up is set to when it has. */
static bool has_token(struct window *window)
{
    const struct window_config *config = &window->config;
    int64_t now = loop_now(window->loop);

    if (config->qps <= 0)
        return true;
    window->tokens += config->qps * (double)(now - window->tokens_ns) / (double)NSEC_PER_SEC;
    if (window->tokens > config->burst)
        window->tokens = config->burst;
    window->tokens_ns = now;
    if (window->tokens >= 1)
        return true;
    double wait_ns = fmin((1 - window->tokens) / config->qps * (double)NSEC_PER_SEC, TOKEN_MOST);
    loop_timer_set_earlier(window->loop, &window->wake, (int64_t)wait_ns + 1);
    return false;
}

static bool may_send(struct window *window)
{
    int64_t now = loop_now(window->loop);

    if (window->draining)
        return false;
    if (window->busy >= window_limit_now(&window->limit)) {
        window->full_ns = now;
        return false;
    }
    if (now < window->hold_ns) {
        loop_timer_set_earlier(window->loop, &window->wake, window->hold_ns - now);
        return false;
    }
    return has_token(window) && (!window->may_write || window->may_write(window->fence_arg));
}

static bool may_send_event(struct window *window)
{
    const int64_t rest = window->events_ns - loop_now(window->loop);
    if (window->busy_events >= EVENT_SLOTS)
        return false;
    if (rest > 0)
        loop_timer_set_earlier(window->loop, &window->wake, rest);
    return rest <= 0;
}

static struct window_request *next_request(struct window *window)
{
    struct window_lane *leases = &window->lanes[WINDOW_LEASE];

    if (window->busy_leases < LEASE_SLOTS && !list_empty(&leases->ready))
        return window_queue_pick(window, leases);
    struct window_lane *lane = window_queue_lane(window);
    if (lane && lane->cls == WINDOW_EVENT && !may_send_event(window))
        return NULL;
    return lane && may_send(window) ? window_queue_pick(window, lane) : NULL;
}

static void pump(void *arg)
{
    struct window *window = arg;

    for (unsigned i = 0; i < PUMP_MOST; i++) {
        struct window_request *request = next_request(window);
        if (!request)
            return;
        send_request(window, request);
    }
    loop_defer(window->loop, &window->pump);
}

/* Moves what has become due into the queues. */
static void wake(void *arg)
{
    struct window *window = arg;
    int64_t now = loop_now(window->loop);
    struct heap_node *node;

    while ((node = heap_peek(&window->delayed))) {
        struct window_request *request = container_of(node, struct window_request, delayed);
        if (request->at.due_ns > now) {
            loop_timer_set_earlier(window->loop, &window->wake, request->at.due_ns - now);
            break;
        }
        heap_pop(&window->delayed);
        if (!request->again)
            request->sequence = window->next_sequence++;
        window_queue_push(window, request);
    }
    loop_defer(window->loop, &window->pump);
}

/* ---- the rest ------------------------------------------------------------------------------- */

void window_set_fence(struct window *window, bool (*may_write)(void *arg), void *arg)
{
    window->may_write = may_write;
    window->fence_arg = arg;
    window_kick(window);
}

void window_kick(struct window *window)
{
    loop_defer(window->loop, &window->pump);
}

void window_close_gate(struct window *window, struct window_gate *gate)
{
    gate->closed = true;
    tell_drained(window, gate);
}

void window_open_gate(struct window *window, struct window_gate *gate)
{
    gate->closed = false;
    window_kick(window);
}

void window_clear_gate(struct window *window, struct window_gate *gate)
{
    list_each(link, &window->inflight)
    {
        struct window_request *request = container_of(link, struct window_request, link);
        if (request->gate != gate || request->done)
            continue;
        kube_cancel(window->transport, request->at.call);
        leave_flight(window, request);
        request->flow->count--;
        free(request);
    }
    if (gate->drained)
        loop_deferred_cancel(gate->drained);
}

void window_drain(struct window *window, struct loop_deferred *drained)
{
    window->draining = true;
    window->drained = drained;
    tell_drained(window, NULL);
}

void window_set_observer(struct window *window,
                         void (*observe)(enum window_class cls, int64_t latency_ns, void *arg),
                         void *arg)
{
    window->observe = observe;
    window->observe_arg = arg;
}

struct window_stats window_stats(const struct window *window)
{
    struct window_stats stats = {
        .limit = (unsigned)window->limit.value,
        .inflight = window->busy + window->busy_leases,
        .throttled = window->throttled,
        .failed = window->failed,
        .latency_floor_ns = window_limit_floor(&window->limit),
        .latency_ns = (int64_t)window->limit.latency,
    };
    for (int cls = 0; cls < WINDOW_CLASS_COUNT; cls++) {
        stats.waiting[cls] = window->lanes[cls].waiting;
        stats.sent[cls] = window->lanes[cls].sent;
    }
    return stats;
}

const char *window_class_name(enum window_class cls)
{
    static const char *const names[WINDOW_CLASS_COUNT] = {
        [WINDOW_LEASE] = "lease",   [WINDOW_BIND] = "bind",     [WINDOW_DELETE] = "delete",
        [WINDOW_CREATE] = "create", [WINDOW_STATUS] = "status", [WINDOW_EVENT] = "event",
    };
    return names[cls];
}
