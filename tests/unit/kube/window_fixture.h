/*
 * What tests of the request window share: a window on a virtual clock and a transport played by
 * hand, and requests that count what happens to them. Jobs and flows of tests are static, so that
 * a test that fails leaves nothing dangling behind.
 */
#ifndef PUMICE_TESTS_UNIT_KUBE_WINDOW_FIXTURE_H
#define PUMICE_TESTS_UNIT_KUBE_WINDOW_FIXTURE_H

#include "testing.h"

#include "kube/window_private.h"
#include "manual_transport.h"
#include <stdio.h>

#define MS NSEC_PER_MSEC

struct fixture {
    struct loop *loop;
    struct manual *server;
    struct window *window;
    bool inside;      /* a submit or cancel is running: nothing may call back */
    bool refuse;      /* render gives up */
    size_t body_size; /* bytes that render writes */
    unsigned done;    /* callbacks run */
    struct kube_result last;
};

/* A request of a test; its name is its path. */
struct job {
    struct fixture *f;
    char name[16];
    unsigned renders, done;
    struct window_request *request;
    struct window_flow *flow;      /* for the test's use */
    void (*then)(struct job *job); /* what its done callback does besides */
};

static inline void start_window(struct fixture *f, const struct window_config *config)
{
    window_free(f->window);
    f->window = window_new(f->loop, &f->server->base, config);
}

static inline int setup(void **state)
{
    struct fixture *f = xnew(struct fixture);
    f->loop = loop_new_virtual(1, 0);
    f->server = manual_new(f->loop);
    start_window(f, &(struct window_config){.initial = 4});
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;
    window_free(f->window);
    assert_int_equal(f->server->inflight, 0);
    kube_transport_free(&f->server->base);
    loop_free(f->loop);
    free(f);
    return 0;
}

static inline bool render(struct buf *path, struct buf *body, void *arg)
{
    struct job *job = arg;
    assert_false(job->f->inside);
    job->renders++;
    buf_add_cstr(path, job->name);
    for (size_t i = 0; i < job->f->body_size; i += 4096) {
        static const char piece[4096] = "x";
        size_t left = job->f->body_size - i;
        buf_add(body, piece, left < sizeof(piece) ? left : sizeof(piece));
    }
    return !job->f->refuse;
}

static inline void done(const struct kube_result *result, void *arg)
{
    struct job *job = arg;
    assert_false(job->f->inside);
    job->done++;
    job->request = NULL;
    job->f->done++;
    job->f->last = *result;
    if (job->then)
        job->then(job);
}

static inline void submit_delayed(struct fixture *f, struct job *job, const char *name,
                                  enum window_class cls, struct window_flow *flow, int64_t delay_ns)
{
    const struct window_spec spec = {.cls = cls,
                                     .flow = flow,
                                     .method = KUBE_POST,
                                     .content = KUBE_MERGE_PATCH,
                                     .render = render,
                                     .done = done,
                                     .arg = job,
                                     .delay_ns = delay_ns};
    job->f = f;
    if (name)
        (void)snprintf(job->name, sizeof(job->name), "%s", name);
    f->inside = true;
    job->request = window_submit(f->window, &spec);
    f->inside = false;
}

static inline void submit(struct fixture *f, struct job *job, const char *name,
                          enum window_class cls, struct window_flow *flow)
{
    submit_delayed(f, job, name, cls, flow, 0);
}

static inline bool cancel(struct job *job)
{
    job->f->inside = true;
    bool unsent = window_cancel(job->f->window, job->request);
    job->f->inside = false;
    job->request = NULL;
    return unsent;
}

static inline void turn(struct fixture *f)
{
    run_for(f->loop, 0);
}

/* The one call under way is `name`'s; answers it and lets the window go on. */
static inline void serve(struct fixture *f, const char *name)
{
    turn(f);
    assert_int_equal(f->server->inflight, 1);
    assert_string_equal(manual_first(f->server)->path, name);
    manual_answer(manual_first(f->server), 201, "{}", 0);
    turn(f);
}

static inline void one_at_a_time(struct fixture *f)
{
    start_window(f, &(struct window_config){.initial = 1, .max_inflight = 1});
}

#endif
