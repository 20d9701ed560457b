/*
 * The extender's calls: when they are sent, what their end means, and when the scheduler is woken.
 *
 * Questions are sent in the order in which they came, several at once. Messages are sent one after
 * the other, beside them, so that they arrive in order. A server that does not answer at
 * all is left alone for a while, if it matters what it says; messages are tried all the same.
 */
#include "base/intern.h"
#include "base/log.h"
#include "loop/backoff.h"
#include "scheduler/extender/extender_private.h"
#include "scheduler/metrics.h"

/* Complaints about calls of one verb in the log. */
#define LOG_INTERVAL (10 * NSEC_PER_SEC)
/* What has not been needed for so long is dropped. */
#define TIDY_INTERVAL (60 * NSEC_PER_SEC)

static const struct {
    const char *name; /* for the metrics and the log */
    extender_take_fn *take;
    extender_fail_fn *fail; /* NULL: it does not matter to anybody */
} verbs[EXTENDER_VERB_COUNT] = {
    [EXTENDER_PREDICATE] = {"predicate", extender_take_predicate, extender_fail_predicate},
    [EXTENDER_PRIORITIZE] = {"prioritize", extender_take_scores, extender_fail_scores},
    [EXTENDER_JOB_ENQUEUEABLE] = {"jobEnqueueable", extender_take_enqueueable,
                                  extender_fail_enqueueable},
    [EXTENDER_JOB_READY] = {"jobReady", extender_take_ready, extender_fail_ready},
    [EXTENDER_QUEUE_OVERUSED] = {"queueOverused", extender_take_overused, extender_fail_overused},
    [EXTENDER_JOB_ENQUEUED] = {"jobEnqueued", extender_take_told, NULL},
    [EXTENDER_ALLOCATE] = {"allocateFunc", extender_take_told, NULL},
    [EXTENDER_DEALLOCATE] = {"deallocateFunc", extender_take_told, NULL},
};

static bool is_told(enum extender_verb verb)
{
    return verb >= EXTENDER_JOB_ENQUEUED;
}

int64_t extender_now(const struct extender *extender)
{
    return loop_now(extender->scheduler->params.loop);
}

/* ---- one call -------------------------------------------------------------------------------- */

struct extender_call *extender_call_new(struct extender *extender, enum extender_verb verb,
                                        struct str about)
{
    struct extender_call *call = xnew(struct extender_call);
    list_init(&call->link);
    call->extender = extender;
    call->verb = verb;
    call->sent_ns = -1;
    call->about = intern_get(about);
    buf_init(&call->body, LIMIT_REQUEST_BODY);
    call->writer = json_writer(&call->body);
    json_w_object(&call->writer);
    return call;
}

static void call_free(struct extender_call *call)
{
    list_remove(&call->link);
    buf_clear(&call->body);
    intern_put(call->about);
    free(call);
}

/* Takes it out of those that are sent. */
static void leave(struct extender_call *call)
{
    struct extender *extender = call->extender;
    list_remove(&call->link);
    call->sent = NULL;
    if (is_told(call->verb))
        extender->telling = false;
    else
        extender->asked--;
}

/* Of each verb, with how many there were since the last line. */
static void complain(struct extender *extender, const struct extender_call *call, const char *why)
{
    int64_t now = extender_now(extender);
    struct extender_complaints *complaints = &extender->complaints[call->verb];
    complaints->since++;
    if (complaints->logged_ns && now - complaints->logged_ns < LOG_INTERVAL)
        return;
    log_warn("the extender failed url=%s call=%s about=%s error=\"%s\" times=%u",
             extender->settings.shown, verbs[call->verb].name, call->about, why, complaints->since);
    *complaints = (struct extender_complaints){.logged_ns = now};
}

/* It did not answer at all: nothing is sent for a while, which is longer each time. Calls that were
 * under way when that began do not count, nor do those that were never sent. */
static void leave_alone(struct extender *extender, const struct extender_call *call,
                        const struct error *why)
{
    int64_t now = extender_now(extender);
    if (is_told(call->verb) || call->sent_ns < extender->quiet_until_ns)
        return;
    int64_t delay = backoff_delay(EXTENDER_RETRY_FIRST, EXTENDER_RETRY_MOST, extender->failures++);
    extender->quiet_until_ns = now + delay;
    extender->silence = *why;
}

static void fail(struct extender_call *call, const char *why)
{
    complain(call->extender, call, why);
    if (verbs[call->verb].fail)
        verbs[call->verb].fail(call, why);
}

/* What an answer says of itself; negative and `err` when it is none. */
static int check(const struct kube_result *result, struct error *err)
{
    if (result->error.cls != ERROR_NONE) {
        *err = result->error;
        return -1;
    }
    if (result->status != 200)
        return error_set(err, ERROR_RETRY, "HTTP %d, which is not 200", result->status);
    if (result->body.n > EXTENDER_ANSWER_MAX)
        return error_set(err, ERROR_LIMIT, "the answer is larger than allowed");
    return 0;
}

static void finish(struct extender_call *call, const struct kube_result *result)
{
    struct extender *extender = call->extender;
    struct error err = ERROR_INIT;
    bool heard = result->outcome == KUBE_ANSWERED || result->error.cls == ERROR_LIMIT;
    bool usable = check(result, &err) == 0;
    if (heard && call->sent_ns >= 0)
        extender->quiet_until_ns = extender->failures = 0;
    else
        leave_alone(extender, call, &result->error);
    bool taken = usable && verbs[call->verb].take(call, result->body, &err) == 0;
    metrics_extender(extender->scheduler, verbs[call->verb].name, taken, result->latency_ns);
    if (!taken)
        fail(call, err.text);
    call_free(call);
    loop_defer(extender->scheduler->params.loop, &extender->pump);
}

static void on_done(const struct kube_result *result, void *arg)
{
    struct extender_call *call = arg;
    leave(call);
    finish(call, result);
}

/* ---- sending --------------------------------------------------------------------------------- */

static struct extender_line *line_of(struct extender_call *call)
{
    struct extender *extender = call->extender;
    return is_told(call->verb) ? &extender->tells : &extender->asks;
}

static bool is_full(const struct extender_line *line)
{
    return line->n >= EXTENDER_WAITING_MAX || line->bytes >= EXTENDER_WAITING_BYTES;
}

/* Takes a call out of the line. */
static struct extender_call *line_take(struct extender_line *line, struct list *link)
{
    struct extender_call *call = container_of(link, struct extender_call, link);
    list_remove(link);
    line->n--;
    line->bytes -= call->body.n;
    return call;
}

static void send_call(struct extender_call *call)
{
    struct extender *extender = call->extender;
    list_append(&extender->sent, &call->link);
    call->sent_ns = extender_now(extender);
    if (is_told(call->verb))
        extender->telling = true;
    else
        extender->asked++;
    call->sent =
        kube_start(extender->transport, &(struct kube_call_spec){
                                            .method = KUBE_POST,
                                            .path = str_of(extender->settings.paths[call->verb]),
                                            .content = KUBE_JSON,
                                            .body = buf_str(&call->body),
                                            .timeout_ns = extender->settings.timeout_ns,
                                            .answer_max = EXTENDER_ANSWER_MAX,
                                            .on_done = on_done,
                                            .arg = call,
                                        });
    buf_clear(&call->body);
}

static bool is_silent(const struct extender *extender)
{
    return extender_now(extender) < extender->quiet_until_ns;
}

/* Why a call cannot be sent. */
static bool cannot_go(const struct extender_call *call, struct error *why)
{
    const struct extender *extender = call->extender;
    if (!extender->transport)
        *why = extender->trouble;
    else if (call->body.overflow)
        error_set(why, ERROR_LIMIT, "the question is larger than %zu bytes", LIMIT_REQUEST_BODY);
    else if (!is_told(call->verb) && is_silent(extender))
        *why = extender->silence;
    else
        return false;
    return true;
}

/* Sends a call, or ends it when that cannot be. */
static void go(struct extender_call *call)
{
    struct kube_result result = {.outcome = KUBE_NOT_SENT};
    if (cannot_go(call, &result.error))
        finish(call, &result);
    else
        send_call(call);
}

static void pump(void *arg)
{
    struct extender *extender = arg;
    list_each(link, &extender->asks.calls)
    {
        if (extender->asked >= EXTENDER_CALLS_MAX - 1)
            break;
        go(line_take(&extender->asks, link));
    }
    list_each(link, &extender->tells.calls)
    {
        if (extender->telling)
            break;
        go(line_take(&extender->tells, link));
    }
}

/* The messages that have waited longest are not sent any more, as far as there is no room. */
static void drop_oldest(struct extender *extender)
{
    struct extender_line *line = &extender->tells;
    list_each(link, &line->calls)
    {
        if (!is_full(line))
            return;
        struct extender_call *call = line_take(line, link);
        complain(extender, call, "too many messages wait to be told; the oldest are dropped");
        metrics_extender(extender->scheduler, verbs[call->verb].name, false, 0);
        call_free(call);
    }
}

void extender_submit(struct extender_call *call)
{
    struct extender *extender = call->extender;
    struct extender_line *line = line_of(call);
    json_w_end_object(&call->writer);
    if (is_told(call->verb))
        drop_oldest(extender);
    list_append(&line->calls, &call->link);
    line->n++;
    line->bytes += call->body.n;
    loop_defer(extender->scheduler->params.loop, &extender->pump);
}

static void clear(struct extender *extender, struct list *calls)
{
    list_each(link, calls)
    {
        struct extender_call *call = container_of(link, struct extender_call, link);
        if (call->sent)
            kube_cancel(extender->transport, call->sent);
        call_free(call);
    }
}

void extender_calls_clear(struct extender *extender)
{
    clear(extender, &extender->asks.calls);
    clear(extender, &extender->tells.calls);
    clear(extender, &extender->sent);
}

/* ---- when ------------------------------------------------------------------------------------ */

/* Where failures are ignored, silence is a quick one. */
static bool is_left_alone(const struct extender *extender)
{
    return is_silent(extender) && !extender->settings.ignorable;
}

/* Whether as many questions wait, or are sent, as may. One that did not answer is asked only a few,
 * to see whether it does now. */
static bool is_busy(const struct extender *extender)
{
    bool tried = extender->failures && !extender->settings.ignorable;
    return is_full(&extender->asks) ||
           (tried && extender->asks.n + extender->asked >= EXTENDER_NODES_AT_ONCE);
}

bool extender_may_ask(struct extender *extender)
{
    int64_t now = extender_now(extender);
    if (is_left_alone(extender))
        return false;
    if (!is_busy(extender))
        return true;
    if (extender->full_until_ns <= now)
        extender->full_until_ns = now + EXTENDER_FULL_NS;
    return false;
}

int64_t extender_ask_at(const struct extender *extender)
{
    int64_t quiet = is_left_alone(extender) ? extender->quiet_until_ns : 0;
    return extender->full_until_ns > quiet ? extender->full_until_ns : quiet;
}

void extender_look_at(struct extender *extender, int64_t when_ns)
{
    struct loop *loop = extender->scheduler->params.loop;
    if (when_ns != INT64_MAX)
        loop_timer_set_earlier(loop, &extender->timer, when_ns - loop_now(loop));
}

void extender_wait(struct extender *extender, struct extender_waiters *waiters,
                   const struct sched_job *job, int64_t retry_ns)
{
    cleanup_free char *key = xasprintf("%s/%s", job->ns, job->name);
    map_set(&waiters->jobs, str_of(key), NULL);
    if (retry_ns >= waiters->retry_ns)
        return;
    waiters->retry_ns = retry_ns;
    extender_look_at(extender, retry_ns);
}

void extender_news(struct extender *extender, struct extender_waiters *waiters, int64_t when_ns)
{
    waiters->news = true;
    if (map_count(&waiters->jobs))
        extender_look_at(extender, when_ns);
}

bool extender_is_due(struct extender *extender, struct extender_waiters *waiters)
{
    if (!waiters->news && extender_now(extender) < waiters->retry_ns) {
        extender_look_at(extender, waiters->retry_ns);
        return false;
    }
    if (map_count(&waiters->jobs))
        return true;
    waiters->retry_ns = INT64_MAX;
    waiters->news = false;
    return false;
}

void extender_wake(struct extender *extender, struct extender_waiters *waiters)
{
    struct str key, ns;
    for (size_t i = 0; map_next(&waiters->jobs, &i, &key, NULL);) {
        if (!str_split(&key, '/', &ns))
            continue;
        cleanup_free char *space = str_dup(ns), *name = str_dup(key);
        struct sched_job *job = cache_job(&extender->scheduler->cache, space, name);
        if (job)
            job->failed_at = UINT64_MAX;
    }
    map_clear(&waiters->jobs);
    waiters->retry_ns = INT64_MAX;
    waiters->news = false;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void on_timer(void *arg)
{
    struct extender *extender = arg;
    scheduler_wake(extender->scheduler);
}

struct extender *extender_new(struct extender_settings settings)
{
    struct extender *extender = xnew(struct extender);
    extender->settings = settings;
    extender->unready.retry_ns = INT64_MAX;
    list_init(&extender->asks.calls);
    list_init(&extender->tells.calls);
    list_init(&extender->sent);
    loop_deferred_init(&extender->pump, pump, extender);
    loop_timer_init(&extender->timer, on_timer, extender);
    return extender;
}

void extender_attach(struct extender *extender, struct scheduler *scheduler)
{
    const struct scheduler_params *params = &scheduler->params;
    extender->scheduler = scheduler;
    extender->tidied_ns = extender_now(extender);
    error_set(&extender->trouble, ERROR_FATAL, "there is no way to other servers");
    if (params->connect)
        extender->transport =
            params->connect(params->connect_arg, extender->settings.url, &extender->trouble);
}

static void settings_clear(struct extender_settings *settings)
{
    free(settings->url);
    free(settings->shown);
    for (int verb = 0; verb < EXTENDER_VERB_COUNT; verb++)
        free(settings->paths[verb]);
    vec_clear(&settings->resources);
}

void extender_free(struct extender *extender)
{
    if (extender->scheduler) {
        extender_calls_clear(extender);
        loop_timer_cancel(extender->scheduler->params.loop, &extender->timer);
        loop_deferred_cancel(&extender->pump);
    }
    kube_transport_free(extender->transport);
    extender_classes_clear(extender);
    extender_texts_clear(extender);
    extender_jobs_clear(extender);
    map_clear(&extender->unready.jobs);
    settings_clear(&extender->settings);
    free(extender);
}

void extender_begin(struct extender *extender)
{
    int64_t now = extender_now(extender);
    extender->looks = 0;
    extender_begin_classes(extender);
    if (extender_is_due(extender, &extender->unready))
        extender_wake(extender, &extender->unready);
    if (now - extender->tidied_ns < TIDY_INTERVAL)
        return;
    extender->tidied_ns = now;
    extender_tidy_classes(extender);
    extender_tidy_jobs(extender);
}

bool extender_manages(const struct extender *extender, const struct pod_class *cls)
{
    const struct extender_settings *settings = &extender->settings;
    for (size_t i = 0; i < settings->resources.n; i++)
        if (resource_set_get(&cls->request, settings->resources.items[i]) > 0)
            return true;
    return settings->resources.n == 0;
}
