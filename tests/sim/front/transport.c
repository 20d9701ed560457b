/*
 * The transport to a server in memory: see transport.h.
 */
#include "front/transport.h"
#include "base/list.h"

struct sim_transport {
    struct kube_transport base; /* first */
    struct sim_transport_options options;
    struct list calls;
};

/* A line of a stream on its way back. */
struct chunk {
    struct list link;
    int64_t due_ns;
    bool end; /* there is no more */
    size_t n;
    char text[];
};

struct kube_call {
    struct list link;
    struct sim_transport *transport;
    struct kube_call_spec spec;
    char *path, *text; /* owned */
    struct sim_fate fate;
    int64_t start_ns;
    struct loop_timer travel;  /* until it arrives, then until the answer does */
    struct loop_timer timeout; /* of the caller */
    struct loop_timer deliver; /* the next chunk */
    struct list chunks;
    struct sim_watch *watch; /* open at the server; NULL: none */
    struct sim_answer answer;
    bool arrived, opened;
    bool streams;  /* it is a watch that the server has begun */
    bool detached; /* nobody waits for it any more */
    bool *freed;   /* set when the call is freed while a callback of it runs */
};

static struct loop *loop_of(const struct kube_call *call)
{
    return call->transport->options.loop;
}

static void call_free(struct kube_call *call)
{
    if (call->watch)
        sim_watch_end(call->watch);
    if (call->freed)
        *call->freed = true;
    loop_timer_cancel(loop_of(call), &call->travel);
    loop_timer_cancel(loop_of(call), &call->timeout);
    loop_timer_cancel(loop_of(call), &call->deliver);
    list_each(link, &call->chunks) free(container_of(link, struct chunk, link));
    list_remove(&call->link);
    buf_clear(&call->answer.body);
    free(call->path);
    free(call->text);
    free(call);
}

/* What was sent arrives, whether somebody waits for it or not. */
static void leave(struct kube_call *call)
{
    bool travels = !call->arrived && call->spec.method != KUBE_GET && !call->fate.lost_there &&
                   !call->fate.refused;
    if (!travels) {
        call_free(call);
        return;
    }
    call->detached = true;
    loop_timer_cancel(loop_of(call), &call->timeout);
}

/* ---- the end of a call ----------------------------------------------------------------------- */

static void finish(struct kube_call *call, struct kube_result *result)
{
    kube_done_fn *done = call->spec.on_done;
    void *arg = call->spec.arg;
    cleanup_buf struct buf body = call->answer.body;
    result->latency_ns = loop_now(loop_of(call)) - call->start_ns;
    call->answer.body = BUF_INIT(LIMIT_RESPONSE_BODY);
    leave(call);
    done(result, arg);
}

static void fail(struct kube_call *call, enum error_class cls, const char *why)
{
    bool sent = !call->fate.refused && call->spec.method != KUBE_GET;
    struct kube_result result = {.outcome = sent ? KUBE_IN_DOUBT : KUBE_NOT_SENT};
    error_set(&result.error, cls, "%s", why);
    finish(call, &result);
}

static void on_timeout(void *arg)
{
    fail(arg, ERROR_RETRY, "no answer in time");
}

static void end_stream(struct kube_call *call, enum error_class cls)
{
    struct kube_result result = {.outcome = KUBE_ANSWERED, .status = 200};
    if (cls != ERROR_NONE)
        error_set(&result.error, cls, "stopped by its reader");
    finish(call, &result);
}

/* A whole body goes to a reader of pieces as one. */
static void on_answer(struct kube_call *call)
{
    struct kube_result result = {.outcome = KUBE_ANSWERED, .status = call->answer.status};
    result.body = buf_str(&call->answer.body);
    kube_result_classify(&result);
    if (call->spec.on_data && result.error.cls == ERROR_NONE) {
        bool goes_on = call->spec.on_data(result.body, call->spec.arg);
        result.body = STR_NULL;
        if (!goes_on)
            error_set(&result.error, ERROR_CANCELLED, "stopped by its reader");
    }
    finish(call, &result);
}

/* ---- streams --------------------------------------------------------------------------------- */

static void arm_delivery(struct kube_call *call)
{
    if (list_empty(&call->chunks) || loop_timer_active(&call->deliver))
        return;
    const struct chunk *next = container_of(call->chunks.next, struct chunk, link);
    loop_timer_set(loop_of(call), &call->deliver, next->due_ns - loop_now(loop_of(call)));
}

static void on_line(struct str line, void *arg)
{
    struct kube_call *call = arg;
    if (str_empty(line))
        call->watch = NULL; /* the server has ended it */
    if (call->fate.lost_back)
        return;
    struct chunk *chunk = xmalloc(sizeof(*chunk) + line.n);
    chunk->end = str_empty(line);
    chunk->due_ns = loop_now(loop_of(call)) + call->fate.back_ns;
    chunk->n = line.n;
    if (line.n)
        memcpy(chunk->text, line.p, line.n);
    list_append(&call->chunks, &chunk->link);
    arm_delivery(call);
}

static void open_stream(struct kube_call *call)
{
    bool opened = call->opened;
    call->opened = true;
    if (!opened && call->spec.on_open)
        call->spec.on_open(call->spec.arg);
}

static void on_deliver(void *arg)
{
    struct kube_call *call = arg;
    struct chunk *chunk = container_of(call->chunks.next, struct chunk, link);
    bool freed = false, end = chunk->end, goes_on = true;
    list_remove(&chunk->link);
    open_stream(call);
    call->freed = &freed;
    if (!end)
        goes_on = call->spec.on_data(str_make(chunk->text, chunk->n), call->spec.arg);
    free(chunk);
    if (freed)
        return;
    call->freed = NULL;
    if (end || !goes_on)
        end_stream(call, goes_on ? ERROR_NONE : ERROR_CANCELLED);
    else
        arm_delivery(call);
}

void sim_transport_drop_streams(struct kube_transport *base)
{
    struct sim_transport *transport = container_of(base, struct sim_transport, base);
    list_each(link, &transport->calls)
    {
        struct kube_call *call = container_of(link, struct kube_call, link);
        if (!call->watch)
            continue;
        sim_watch_end(call->watch);
        on_line(STR_NULL, call);
    }
}

/* ---- travelling ------------------------------------------------------------------------------ */

static void ask(struct kube_call *call)
{
    const struct sim_transport_options *options = &call->transport->options;
    const struct sim_request request = {.method = call->spec.method,
                                        .content = call->spec.content,
                                        .path = call->spec.path,
                                        .body = call->spec.body};
    if (call->fate.status) {
        call->answer.status = call->fate.status;
        buf_add_cstr(&call->answer.body, call->fate.body);
    } else if (call->spec.on_data && sim_request_is_watch(&request)) {
        call->watch = sim_server_watch(options->server, &request, &call->answer, on_line, call);
        call->streams = call->watch != NULL;
    } else {
        sim_server_handle(options->server, &request, &call->answer);
    }
}

static void on_travel(void *arg)
{
    struct kube_call *call = arg;
    if (call->fate.refused) {
        fail(call, ERROR_RETRY, "connection refused");
        return;
    }
    if (call->arrived) {
        if (call->streams)
            open_stream(call);
        else
            on_answer(call);
        return;
    }
    if (call->fate.lost_there)
        return;
    ask(call);
    call->arrived = true;
    if (call->detached)
        call_free(call);
    else if (!call->fate.lost_back)
        loop_timer_set(loop_of(call), &call->travel, call->fate.back_ns);
}

static struct sim_fate judge(struct sim_transport *transport, const struct kube_call_spec *spec)
{
    const struct sim_transport_options *options = &transport->options;
    if (options->judge)
        return options->judge(spec, options->arg);
    return (struct sim_fate){.there_ns = options->latency_ns / 2,
                             .back_ns = options->latency_ns - options->latency_ns / 2};
}

static struct kube_call *start(struct kube_transport *base, const struct kube_call_spec *spec)
{
    struct sim_transport *transport = container_of(base, struct sim_transport, base);
    struct kube_call *call = xnew(struct kube_call);
    call->transport = transport;
    call->fate = judge(transport, spec);
    call->spec = *spec;
    call->path = str_dup(spec->path);
    call->text = str_dup(spec->body);
    call->spec.path.p = call->path;
    call->spec.body.p = call->text;
    call->start_ns = loop_now(transport->options.loop);
    call->answer = (struct sim_answer)SIM_ANSWER_INIT;
    list_init(&call->chunks);
    list_append(&transport->calls, &call->link);
    loop_timer_init(&call->travel, on_travel, call);
    loop_timer_init(&call->timeout, on_timeout, call);
    loop_timer_init(&call->deliver, on_deliver, call);
    loop_timer_set(transport->options.loop, &call->travel, call->fate.there_ns);
    if (spec->timeout_ns > 0)
        loop_timer_set(transport->options.loop, &call->timeout, spec->timeout_ns);
    return call;
}

static void cancel(struct kube_transport *base, struct kube_call *call)
{
    (void)base;
    leave(call);
}

static void transport_free(struct kube_transport *base)
{
    struct sim_transport *transport = container_of(base, struct sim_transport, base);
    list_each(link, &transport->calls) call_free(container_of(link, struct kube_call, link));
    free(transport);
}

struct kube_transport *sim_transport_new(const struct sim_transport_options *options)
{
    static const struct kube_transport_ops ops = {
        .start = start, .cancel = cancel, .free = transport_free};
    struct sim_transport *transport = xnew(struct sim_transport);
    transport->base.ops = &ops;
    transport->options = *options;
    list_init(&transport->calls);
    return &transport->base;
}
