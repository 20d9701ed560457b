/*
 * status.nominatedNodeName of pods that wait for a place that others have to leave. See evictor.h.
 *
 * One write for a pod is under way at a time; what it is to show may change meanwhile.
 */
#include "base/intern.h"
#include "base/log.h"
#include "scheduler/evict/evictor_private.h"
#include "scheduler/pod_calls.h"

#define RETRY_FIRST NSEC_PER_SEC
#define RETRY_MOST (30 * NSEC_PER_SEC)

struct nomination {
    struct scheduler *scheduler;    /* borrowed */
    struct pod *pod;                /* counted */
    const char *node;               /* interned; what it is to show, "" for none */
    const char *sent;               /* interned; what it was last told to show, or NULL */
    struct sched_job *payer;        /* whose flow `request` is in */
    struct window_request *request; /* never NULL but in passing */
    bool urgent;                    /* `request` goes with the evictions */
    unsigned failures;
};

static struct sched_task *task_of(const struct nomination *nomination)
{
    struct sched_task *task = cache_task(&nomination->scheduler->cache, nomination->pod->meta.uid);
    return task && task->job && task->status <= TASK_GATED ? task : NULL;
}

/* What it shows by its newest version, of which the cache may not know yet. */
static const char *shown_by(const struct scheduler *scheduler, const struct pod *known)
{
    const struct pod *pod =
        store_get(scheduler->params.pods, str_of(known->meta.ns), str_of(known->meta.name));
    return pod && pod->meta.uid == known->meta.uid ? pod->nominated : known->nominated;
}

static void end_request(struct nomination *nomination)
{
    const struct kube_meta *meta = &nomination->pod->meta;
    store_request_end(nomination->scheduler->params.pods, str_of(meta->ns), str_of(meta->name));
    cache_dirty(&nomination->scheduler->cache, nomination->payer);
    scheduler_wake(nomination->scheduler);
    nomination->request = NULL;
}

static void nomination_free(struct nomination *nomination)
{
    struct scheduler *scheduler = nomination->scheduler;
    if (nomination->request) {
        window_cancel(scheduler->params.window, nomination->request);
        end_request(nomination);
    }
    map_del(&scheduler->nominations, str_of(nomination->pod->meta.uid));
    pod_unref(nomination->pod);
    intern_put(nomination->node);
    intern_put(nomination->sent);
    free(nomination);
}

static bool nominate_render(struct buf *path, struct buf *body, void *arg)
{
    struct nomination *nomination = arg;
    const struct sched_task *task = task_of(nomination);
    struct json_writer writer = json_writer(body);
    if (!task ||
        (!nomination->sent && shown_by(nomination->scheduler, task->pod) == nomination->node))
        return false;
    intern_put(nomination->sent);
    nomination->sent = intern_ref(nomination->node);
    pod_patch_status(path, &writer, nomination->pod);
    json_w_key(&writer, STR("nominatedNodeName"));
    if (nomination->node[0])
        json_w_str(&writer, str_of(nomination->node));
    else
        json_w_null(&writer);
    json_w_end_object(&writer);
    json_w_end_object(&writer);
    return true;
}

static void submit(struct nomination *nomination, struct sched_job *payer, int64_t delay_ns);

/* Whether what it is to show is shown, or never will be. Only a place can be refused for good: one
 * that is not taken back would be held by the scheduler after this one. */
static bool is_over(const struct nomination *nomination, const struct sched_task *task,
                    const struct kube_result *result)
{
    if (!task)
        return true;
    if (result->error.cls == ERROR_CANCELLED)
        return nomination->node == shown_by(nomination->scheduler, task->pod);
    if (nomination->node != nomination->sent)
        return false;
    if (result->outcome == KUBE_ANSWERED && result->status == 200)
        return true;
    return result->error.cls != ERROR_RETRY && result->error.cls != ERROR_CONFLICT &&
           nomination->node[0];
}

static void note_failure(struct nomination *nomination, const struct error *err)
{
    if (nomination->failures++ == 0 || err->cls != ERROR_RETRY)
        log_warn("a nomination cannot be written pod=%s/%s node=%s error=\"%s\"",
                 nomination->pod->meta.ns, nomination->pod->meta.name, nomination->node, err->text);
}

static void nominate_done(const struct kube_result *result, void *arg)
{
    struct nomination *nomination = arg;
    struct scheduler *scheduler = nomination->scheduler;
    bool written = result->outcome == KUBE_ANSWERED && result->status == 200;
    bool failed = !written && result->error.cls != ERROR_CANCELLED;
    const struct sched_task *task = task_of(nomination);
    end_request(nomination);
    if (written)
        store_apply(scheduler->params.pods, result->body);
    if (failed)
        note_failure(nomination, &result->error);
    else
        nomination->failures = 0;
    if (is_over(nomination, task, result))
        nomination_free(nomination);
    else
        submit(nomination, task->job,
               failed ? backoff_delay(RETRY_FIRST, RETRY_MOST, nomination->failures - 1) : 0);
}

/* Nominations go with the evictions, and before them; that one is over may wait. */
static void submit(struct nomination *nomination, struct sched_job *payer, int64_t delay_ns)
{
    struct scheduler *scheduler = nomination->scheduler;
    nomination->payer = payer;
    nomination->urgent = nomination->node[0];
    store_request_begin(scheduler->params.pods, str_of(nomination->pod->meta.ns),
                        str_of(nomination->pod->meta.name));
    nomination->request = window_submit(
        scheduler->params.window,
        &(struct window_spec){.cls = nomination->urgent ? WINDOW_DELETE : WINDOW_STATUS,
                              .flow = &payer->flow,
                              .method = KUBE_PATCH,
                              .content = KUBE_STRATEGIC_PATCH,
                              .render = nominate_render,
                              .done = nominate_done,
                              .arg = nomination,
                              .delay_ns = delay_ns});
}

/* It is a place now: it does not wait where what is over waits. */
static void hurry(struct nomination *nomination, struct sched_job *payer)
{
    if (!window_cancel_if_waiting(nomination->scheduler->params.window, nomination->request))
        return; /* once that is answered */
    end_request(nomination);
    submit(nomination, payer, 0);
}

void nomination_set(struct scheduler *scheduler, struct sched_task *task, const char *node)
{
    struct nomination *nomination = map_get(&scheduler->nominations, str_of(task->pod->meta.uid));
    const char *wanted = intern_get(str_of(node));
    if (nomination) {
        intern_put(nomination->node);
        nomination->node = wanted;
        if (wanted[0] && !nomination->urgent)
            hurry(nomination, task->job);
        return;
    }
    if (shown_by(scheduler, task->pod) == wanted) {
        intern_put(wanted);
        return;
    }
    nomination = xnew(struct nomination);
    nomination->scheduler = scheduler;
    nomination->pod = pod_ref(task->pod);
    nomination->node = wanted;
    map_set(&scheduler->nominations, str_of(nomination->pod->meta.uid), nomination);
    submit(nomination, task->job, 0);
}

void nominations_clear(struct scheduler *scheduler)
{
    void *value;
    for (size_t i = 0; map_next(&scheduler->nominations, &i, NULL, &value);)
        nomination_free(value);
    map_clear(&scheduler->nominations);
}
