/*
 * A server on the virtual clock for tests of the request window: so many workers, each busy with
 * one request for a random time, the others queue in the order in which they came; a distance that
 * every request travels; other clients that always have some requests there; and trouble that
 * can begin and end at any time. What it answers is counted for each tenth of a second.
 */
#ifndef PUMICE_TESTS_UNIT_KUBE_MODELLED_SERVER_H
#define PUMICE_TESTS_UNIT_KUBE_MODELLED_SERVER_H

#include "window_fixture.h"

#include <math.h>

#define WORKERS_MOST 64
#define OTHERS_MOST 64
#define FLOWS_MOST 50
#define WAITING 600 /* requests that the window always has */
#define TICK (100 * MS)
#define TICKS_MOST 1200
#define LATENCIES_MOST 200000

struct model_server {
    unsigned workers;
    int64_t service_ns; /* mean; half of it is always, the other half is random */
    int64_t away_ns;
    unsigned others; /* requests of other clients */
};

struct model;

struct other {
    struct model *model;
    struct loop_timer timer;
};

struct model {
    struct fixture *f;
    struct model_server server;
    bool running;
    bool half_429; /* every second one, by chance, is refused for a second */
    uint64_t random;
    int64_t free_at[WORKERS_MOST], begin_ns;
    struct other others[OTHERS_MOST];
    struct window_flow flows[FLOWS_MOST];
    struct job jobs[WAITING];
    unsigned other_count, served[TICKS_MOST];
    double latencies[LATENCIES_MOST]; /* of what was served, in ms */
    size_t latency_count;
};

/* One at a time is enough; static, since requests of a test that fails go on referring to it. */
static struct model model;

static inline double model_random(struct model *m)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(m->random >> 11) / 9007199254740992.0;
}

/* How long a request that arrives now stays. */
static inline int64_t model_stay(struct model *m)
{
    int64_t now = loop_now(m->f->loop);
    unsigned first = 0;
    for (unsigned i = 1; i < m->server.workers; i++)
        if (m->free_at[i] < m->free_at[first])
            first = i;
    double half = (double)m->server.service_ns / 2;
    int64_t service = (int64_t)(half - half * log(1 - model_random(m)));
    if (m->free_at[first] < now)
        m->free_at[first] = now;
    m->free_at[first] += service;
    return m->free_at[first] - now;
}

static inline void model_other(void *arg)
{
    struct other *other = arg;
    loop_timer_set(other->model->f->loop, &other->timer, model_stay(other->model));
}

static inline void model_answer(void *arg)
{
    manual_answer(arg, 201, "{}", 0);
}

static inline void model_refuse(void *arg)
{
    manual_answer(arg, 429, "", NSEC_PER_SEC);
}

static inline void model_arrive(void *arg)
{
    struct kube_call *call = arg;
    int64_t stay = model_stay(&model);
    loop_timer_init(&call->timer, model_answer, call);
    loop_timer_set(model.f->loop, &call->timer, stay);
}

static inline void model_start(struct kube_call *call, void *arg)
{
    struct model *m = arg;
    bool refused = m->half_429 && model_random(m) < 0.5;
    loop_timer_init(&call->timer, refused ? model_refuse : model_arrive, call);
    loop_timer_set(m->f->loop, &call->timer, refused ? MS : m->server.away_ns);
}

/* The owner of a request that was answered always has another. */
static inline void model_then(struct job *job)
{
    struct model *m = &model;
    struct fixture *f = job->f;
    if (f->last.error.cls == ERROR_CANCELLED)
        return;
    assert_int_equal(f->last.status, 201);
    m->served[(loop_now(f->loop) - m->begin_ns) / TICK]++;
    if (m->latency_count < LATENCIES_MOST)
        m->latencies[m->latency_count++] = (double)f->last.latency_ns / (double)MS;
    submit(f, job, NULL, WINDOW_CREATE, job->flow);
}

static inline void model_begin(struct fixture *f, const struct model_server *server, unsigned flows,
                               const struct window_config *config)
{
    model = (struct model){
        .f = f, .server = *server, .running = true, .random = 1, .other_count = server->others};
    start_window(f, config);
    f->server->on_start = model_start;
    f->server->arg = &model;
    model.begin_ns = loop_now(f->loop);
    for (unsigned i = 0; i < server->others; i++) {
        model.others[i].model = &model;
        loop_timer_init(&model.others[i].timer, model_other, &model.others[i]);
        model_other(&model.others[i]);
    }
    for (unsigned i = 0; i < flows; i++) {
        window_flow_init(f->window, &model.flows[i]);
        window_flow_set_missing(&model.flows[i], 100 + i);
    }
    for (unsigned i = 0; i < WAITING; i++) {
        model.jobs[i].then = model_then;
        model.jobs[i].flow = &model.flows[i % flows];
        submit(f, &model.jobs[i], "x", WINDOW_CREATE, model.jobs[i].flow);
    }
}

/* Once more does nothing. */
static inline void model_end(void)
{
    struct fixture *f = model.f;
    if (!model.running)
        return;
    model.running = false;
    for (unsigned i = 0; i < model.other_count; i++)
        loop_timer_cancel(f->loop, &model.others[i].timer);
    for (unsigned i = 0; i < WAITING; i++)
        if (model.jobs[i].request)
            (void)cancel(&model.jobs[i]);
    f->server->on_start = NULL;
}

/* Answers from one tick to another, a second. */
static inline double model_rate(unsigned from, unsigned to)
{
    unsigned count = 0;
    for (unsigned i = from; i < to; i++)
        count += model.served[i];
    return (double)count / ((double)(to - from) / 10);
}

static inline int model_compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static inline double model_median(double *values, size_t count)
{
    assert_true(count > 0);
    qsort(values, count, sizeof(*values), model_compare);
    return values[count / 2];
}

#endif
