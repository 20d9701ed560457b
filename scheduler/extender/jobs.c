/*
 * What the extender thinks of jobs and queues, and what it is told of them.
 *
 * A job that asks to enter is refused until there is an answer. Whether it is ready is asked for
 * each state in which it is to be judged, once the plugins before find it ready; what the last
 * answer said counts for states that are new, "no" before the first; a job that runs stays ready
 * until it is said not to be. A failure counts as in the reference: ready and overused, unless
 * failures are ignored.
 */
#include "base/intern.h"
#include "base/log.h"
#include "loop/backoff.h"
#include "scheduler/extender/extender_private.h"
#include "scheduler/why.h"

#define STATES_MAX 16 /* of a job that are remembered */
#define UNREACHABLE "the extender failed"

/* A state in which a job was judged. */
struct job_state {
    uint64_t signature;
    bool ready;
    int64_t until_ns;
};

struct extender_job {
    const char *ns, *name, *uid; /* interned */
    bool asked_to_enter;         /* the answer is awaited */
    bool answered;
    enum plugin_vote vote;
    char *why;                           /* owned; of a refusal that is a failure, else NULL */
    int64_t enters_until_ns;             /* the answer stands until then */
    uint16_t enter_failures;             /* in a row */
    bool asked_if_ready;                 /* likewise */
    bool judged, ready;                  /* by the last answer */
    struct job_state states[STATES_MAX]; /* a ring */
    uint32_t states_n, states_next;
    uint16_t ready_failures;
};

struct extender_queue {
    bool asked; /* the answer is awaited */
    bool overused;
    uint32_t version;  /* of the queue when it was asked */
    int64_t until_ns;  /* the answer stands until then, failed or not */
    uint16_t failures; /* in a row */
};

/* ---- reading --------------------------------------------------------------------------------- */

int extender_read(struct str body, const char *number_name, int64_t *number, const char *text_name,
                  struct buf *text, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct str key;
    json_init(&reader, body, &arena);
    bool present = json_object(&reader);
    while (present && json_key(&reader, &key)) {
        if (number_name && str_is(key, number_name))
            *number = json_peek(&reader) == JSON_BOOL ? json_bool(&reader) : json_i64(&reader);
        else if (text_name && str_is(key, text_name))
            buf_add_str(text, json_str(&reader));
        else
            json_skip(&reader);
    }
    if (json_end(&reader, err) < 0)
        return -1;
    return present ? 0 : error_set(err, ERROR_INVALID, "the answer is null");
}

static int64_t delay_of(uint16_t failures)
{
    return backoff_delay(EXTENDER_RETRY_FIRST, EXTENDER_RETRY_MOST, failures ? failures - 1U : 0);
}

static void count_failure(uint16_t *failures)
{
    if (*failures < UINT16_MAX)
        ++*failures;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static bool asks_for(const struct extender *extender, const struct resource_set *set)
{
    for (size_t i = 0; i < extender->settings.resources.n; i++)
        if (resource_set_get(set, extender->settings.resources.items[i]) > 0)
            return true;
    return false;
}

/* Whether the job is its business: by its minimum, or by a pod that is there. */
static bool manages_job(const struct extender *extender, const struct sched_job *job)
{
    bool manages = extender->settings.resources.n == 0 || asks_for(extender, &job->min_resources);
    for (size_t i = 0; i < job->groups.n && !manages; i++)
        manages = asks_for(extender, &job->groups.items[i]->cls->request);
    return manages && extender->scheduler && job->uid && job->queue;
}

static struct extender_job *job_find(const struct extender *extender, const char *uid)
{
    return map_get(&extender->jobs, str_of(uid));
}

static struct extender_job *job_get(struct extender *extender, const struct sched_job *job)
{
    struct extender_job *found = job_find(extender, job->uid);
    if (found)
        return found;
    found = xnew(struct extender_job);
    found->ns = intern_ref(job->ns);
    found->name = intern_ref(job->name);
    found->uid = intern_ref(job->uid);
    map_set(&extender->jobs, str_of(job->uid), found);
    return found;
}

static void job_free(void *value)
{
    struct extender_job *job = value;
    intern_put(job->ns);
    intern_put(job->name);
    intern_put(job->uid);
    free(job->why);
    free(job);
}

/* The cache's job, NULL when it is gone. */
static struct sched_job *cached(const struct extender *extender, const struct extender_job *known)
{
    struct sched_job *job = cache_job(&extender->scheduler->cache, known->ns, known->name);
    return job && job->uid == known->uid ? job : NULL;
}

static void ask_job(struct extender *extender, enum extender_verb verb, const struct sched_job *job,
                    uint64_t mark)
{
    struct extender_call *call = extender_call_new(extender, verb, str_of(job->uid));
    call->mark = mark;
    extender_write_job(&call->writer, "job", job);
    extender_submit(call);
}

/* ---- entering -------------------------------------------------------------------------------- */

enum plugin_vote extender_enqueueable(struct extender *extender, const struct sched_job *job,
                                      struct buf *why)
{
    if (!extender->settings.paths[EXTENDER_JOB_ENQUEUEABLE] || !manages_job(extender, job))
        return VOTE_ABSTAIN;
    struct extender_job *known = job_get(extender, job);
    bool stands = known->answered && extender_now(extender) < known->enters_until_ns;
    if (!stands && !known->asked_to_enter && extender_may_ask(extender)) {
        known->asked_to_enter = true;
        ask_job(extender, EXTENDER_JOB_ENQUEUEABLE, job, 0);
    }
    if (known->answered && (stands || known->vote == VOTE_REJECT)) {
        if (known->vote == VOTE_REJECT)
            buf_add_cstr(why, known->why ? known->why : "the extender refuses it");
        return known->vote;
    }
    buf_add_cstr(why, EXTENDER_WAITING);
    return VOTE_REJECT;
}

int64_t extender_enqueue_due(const struct extender *extender, const struct sched_job *job)
{
    if (!extender->scheduler || !job->uid)
        return INT64_MAX;
    const struct extender_job *known = job_find(extender, job->uid);
    if (!known || known->asked_to_enter || (known->answered && known->vote != VOTE_REJECT))
        return INT64_MAX;
    int64_t ask_at = extender_ask_at(extender);
    return known->enters_until_ns > ask_at ? known->enters_until_ns : ask_at;
}

static void enter_answered(struct extender_call *call, enum plugin_vote vote, const char *failure)
{
    struct extender *extender = call->extender;
    struct extender_job *known = job_find(extender, call->about);
    if (!known)
        return;
    bool first = !known->answered;
    known->asked_to_enter = false;
    known->answered = true;
    known->vote = vote;
    free(known->why);
    known->why = failure && vote == VOTE_REJECT ? xasprintf(UNREACHABLE ": %s", failure) : NULL;
    if (failure)
        count_failure(&known->enter_failures);
    else
        known->enter_failures = 0;
    known->enters_until_ns =
        extender_now(extender) + (known->why ? delay_of(known->enter_failures) : EXTENDER_FRESH_NS);
    struct sched_job *job = cached(extender, known);
    if (!job)
        return;
    if (first && job->why.kind == WHY_ADMISSION)
        why_clear(job); /* that it waits for the answer */
    cache_ask_again(job);
    cache_dirty(job->cache, job);
    scheduler_wake(extender->scheduler);
}

int extender_take_enqueueable(struct extender_call *call, struct str body, struct error *err)
{
    int64_t status = 0;
    if (extender_read(body, "status", &status, NULL, NULL, err) < 0)
        return -1;
    enter_answered(call, status > 0 ? VOTE_PERMIT : status < 0 ? VOTE_REJECT : VOTE_ABSTAIN, NULL);
    return 0;
}

void extender_fail_enqueueable(struct extender_call *call, const char *why)
{
    enter_answered(call, call->extender->settings.ignorable ? VOTE_ABSTAIN : VOTE_REJECT, why);
}

/* ---- ready ----------------------------------------------------------------------------------- */

/* Differs when the job may be judged otherwise. */
static uint64_t signature_of(const struct sched_job *job)
{
    const uint64_t parts[] = {
        str_hash(str_make((const char *)job->count, sizeof(job->count))),
        (uint64_t)job->min_member,
        job->task_count,
    };
    return str_hash(str_make((const char *)parts, sizeof(parts)));
}

static const struct job_state *state_of(const struct extender_job *known, uint64_t signature)
{
    for (uint32_t i = 0; i < known->states_n; i++)
        if (known->states[i].signature == signature)
            return &known->states[i];
    return NULL;
}

static bool has_started(const struct sched_job *job)
{
    return job->count[TASK_BINDING] + job->count[TASK_BOUND] + job->count[TASK_RUNNING] > 0;
}

bool extender_ready(struct extender *extender, const struct sched_job *job)
{
    if (!extender->settings.paths[EXTENDER_JOB_READY] || !manages_job(extender, job))
        return true;
    struct extender_job *known = job_get(extender, job);
    uint64_t signature = signature_of(job);
    const struct job_state *state = state_of(known, signature);
    bool stands = state && extender_now(extender) < state->until_ns;
    if (!stands && !known->asked_if_ready && extender_may_ask(extender)) {
        known->asked_if_ready = true;
        ask_job(extender, EXTENDER_JOB_READY, job, signature);
    }
    bool ready = state ? state->ready : known->judged ? known->ready : has_started(job);
    if (!ready)
        extender_wait(extender, &extender->unready, job,
                      known->asked_if_ready ? INT64_MAX
                      : stands              ? state->until_ns
                                            : extender_ask_at(extender));
    return ready;
}

/* Where it goes: over an older answer, in a free place, or over the oldest. */
static struct job_state *place_for(struct extender_job *known, uint64_t signature)
{
    for (uint32_t i = 0; i < known->states_n; i++)
        if (known->states[i].signature == signature)
            return &known->states[i];
    if (known->states_n < STATES_MAX)
        return &known->states[known->states_n++];
    struct job_state *oldest = &known->states[known->states_next];
    known->states_next = (known->states_next + 1) % STATES_MAX;
    return oldest;
}

static void ready_answered(struct extender_call *call, bool ready, bool failed)
{
    struct extender *extender = call->extender;
    int64_t now = extender_now(extender);
    struct extender_job *known = job_find(extender, call->about);
    if (!known)
        return;
    if (failed)
        count_failure(&known->ready_failures);
    else
        known->ready_failures = 0;
    known->asked_if_ready = false;
    known->judged = true;
    known->ready = ready;
    *place_for(known, call->mark) = (struct job_state){
        call->mark, ready, now + (failed ? delay_of(known->ready_failures) : EXTENDER_FRESH_NS)};
    struct sched_job *job = cached(extender, known);
    if (!job)
        return;
    cache_dirty(job->cache, job);
    extender_wait(extender, &extender->unready, job, now);
}

int extender_take_ready(struct extender_call *call, struct str body, struct error *err)
{
    int64_t status = 0;
    if (extender_read(body, "status", &status, NULL, NULL, err) < 0)
        return -1;
    ready_answered(call, status != 0, false);
    return 0;
}

/* What runs goes on. */
void extender_fail_ready(struct extender_call *call, const char *why)
{
    const struct extender_job *known = job_find(call->extender, call->about);
    const struct sched_job *job = known ? cached(call->extender, known) : NULL;
    (void)why;
    ready_answered(call, !call->extender->settings.ignorable || (job && has_started(job)), true);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static struct extender_queue *queue_get(struct extender *extender, const char *name)
{
    struct extender_queue *found = map_get(&extender->queues, str_of(name));
    if (found)
        return found;
    found = xnew(struct extender_queue);
    map_set(&extender->queues, str_of(name), found);
    return found;
}

bool extender_overused(struct extender *extender, const struct sched_queue *queue)
{
    if (!extender->settings.paths[EXTENDER_QUEUE_OVERUSED] || !extender->scheduler)
        return false;
    struct extender_queue *known = queue_get(extender, queue->name);
    int64_t now = extender_now(extender);
    bool stands = now < known->until_ns && (known->version == queue->version || known->failures);
    if (!stands && !known->asked && extender_may_ask(extender)) {
        struct extender_call *call =
            extender_call_new(extender, EXTENDER_QUEUE_OVERUSED, str_of(queue->name));
        known->asked = true;
        known->version = queue->version;
        extender_write_queue(&call->writer, "queue", queue);
        extender_submit(call);
    }
    if (known->overused && !known->asked)
        extender_look_at(extender,
                         now < known->until_ns ? known->until_ns : extender_ask_at(extender));
    return known->overused;
}

static void queue_answered(struct extender_call *call, bool overused, bool failed)
{
    struct extender *extender = call->extender;
    struct extender_queue *known = map_get(&extender->queues, str_of(call->about));
    if (!known)
        return;
    if (failed)
        count_failure(&known->failures);
    else
        known->failures = 0;
    bool eased = known->overused && !overused;
    known->asked = false;
    known->overused = overused;
    known->until_ns =
        extender_now(extender) + (failed ? delay_of(known->failures) : EXTENDER_FRESH_NS);
    if (eased)
        extender_look_at(extender, extender_now(extender));
    else if (overused)
        extender_look_at(extender, known->until_ns);
}

int extender_take_overused(struct extender_call *call, struct str body, struct error *err)
{
    int64_t overused = 0;
    if (extender_read(body, "overused", &overused, NULL, NULL, err) < 0)
        return -1;
    queue_answered(call, overused != 0, false);
    return 0;
}

void extender_fail_overused(struct extender_call *call, const char *why)
{
    (void)why;
    queue_answered(call, !call->extender->settings.ignorable, true);
}

/* ---- messages -------------------------------------------------------------------------------- */

void extender_tell_enqueued(struct extender *extender, const struct sched_job *job)
{
    if (extender->settings.paths[EXTENDER_JOB_ENQUEUED] && manages_job(extender, job))
        ask_job(extender, EXTENDER_JOB_ENQUEUED, job, 0);
}

void extender_tell_binding(struct extender *extender, const struct sched_task *task, bool failed)
{
    enum extender_verb verb = failed ? EXTENDER_DEALLOCATE : EXTENDER_ALLOCATE;
    if (!extender->settings.paths[verb] || !extender->scheduler ||
        !extender_manages(extender, task->pod->cls))
        return;
    cleanup_free char *about = xasprintf("%s/%s", task->pod->meta.ns, task->pod->meta.name);
    struct extender_call *call = extender_call_new(extender, verb, str_of(about));
    extender_write_task(&call->writer, "task", task);
    extender_submit(call);
}

int extender_take_told(struct extender_call *call, struct str body, struct error *err)
{
    cleanup_buf struct buf message = BUF_INIT(EXTENDER_ANSWER_MAX);
    (void)call;
    if (!body.n) /* nothing is expected */
        return 0;
    if (extender_read(body, NULL, NULL, "errorMessage", &message, err) < 0)
        return -1;
    return message.n
               ? error_set(err, ERROR_INVALID, "%.*s", STR_ARG(str_cut(buf_str(&message), 256)))
               : 0;
}

/* ---- keeping --------------------------------------------------------------------------------- */

void extender_tidy_jobs(struct extender *extender)
{
    struct str key;
    void *value;
    for (size_t i = 0; map_next(&extender->jobs, &i, &key, &value);)
        if (!cached(extender, value)) {
            map_del(&extender->jobs, key);
            job_free(value);
        }
    for (size_t i = 0; map_next(&extender->queues, &i, &key, &value);) {
        cleanup_free char *name = str_dup(key);
        if (cache_queue(&extender->scheduler->cache, name))
            continue;
        map_del(&extender->queues, key);
        free(value);
    }
}

void extender_jobs_clear(struct extender *extender)
{
    map_clear_with(&extender->jobs, job_free);
    map_clear_with(&extender->queues, free);
}
