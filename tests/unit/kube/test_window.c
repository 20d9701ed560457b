/*
 * The request window: order between classes, what is retried and what is handed on,
 * fence, tokens, cancellation.
 */
#include "window_fixture.h"

#include "base/limits.h"

/* ---- plain calls ----------------------------------------------------------------------------- */

static void test_sends_what_was_rendered(void **state)
{
    struct fixture *f = *state;
    static struct job job;
    f->body_size = 3;
    submit(f, &job, "/a?b", WINDOW_CREATE, NULL);
    assert_int_equal(job.renders, 0); /* not before the slot is free */
    assert_int_equal(window_stats(f->window).waiting[WINDOW_CREATE], 1);
    turn(f);
    struct kube_call *call = manual_first(f->server);
    assert_str(call->spec.path, "/a?b");
    assert_int_equal(call->spec.body.n, 3);
    assert_int_equal(call->spec.method, KUBE_POST);
    assert_int_equal(call->spec.content, KUBE_MERGE_PATCH);
    assert_int_equal(call->spec.timeout_ns, 30 * NSEC_PER_SEC);
    manual_answer(call, 409, "{}", 0);
    assert_int_equal(job.done, 1);
    assert_int_equal(f->last.status, 409);
    assert_int_equal(f->last.error.cls, ERROR_CONFLICT);
    struct window_stats stats = window_stats(f->window);
    assert_int_equal(stats.sent[WINDOW_CREATE], 1);
    assert_int_equal(stats.waiting[WINDOW_CREATE], 0);
    assert_int_equal(stats.inflight, 0);
    assert_string_equal(window_class_name(WINDOW_STATUS), "status");
}

static void test_no_more_than_the_limit(void **state)
{
    struct fixture *f = *state;
    static struct job jobs[6], leases[3];
    for (size_t i = 0; i < 6; i++)
        submit(f, &jobs[i], "x", WINDOW_BIND, NULL);
    turn(f);
    assert_int_equal(f->server->inflight, 4);
    for (size_t i = 0; i < 3; i++)
        submit(f, &leases[i], "lease", WINDOW_LEASE, NULL);
    turn(f);
    assert_int_equal(f->server->inflight, 6); /* two slots of its own */
    assert_int_equal(window_stats(f->window).limit, 4);
    assert_int_equal(window_stats(f->window).inflight, 6);
    while (f->server->inflight > 0) {
        manual_answer(manual_first(f->server), 200, "", 0);
        turn(f);
    }
    assert_int_equal(f->done, 9);
}

static void test_refused_and_oversized_requests(void **state)
{
    struct fixture *f = *state;
    static struct job job;
    f->refuse = true;
    submit(f, &job, "a", WINDOW_STATUS, NULL);
    turn(f);
    assert_int_equal(job.done, 1);
    assert_int_equal(f->last.error.cls, ERROR_CANCELLED);
    assert_int_equal(f->last.outcome, KUBE_NOT_SENT);
    f->refuse = false;
    f->body_size = LIMIT_REQUEST_BODY;
    submit(f, &job, "b", WINDOW_STATUS, NULL);
    serve(f, "b");
    f->body_size++;
    submit(f, &job, "c", WINDOW_STATUS, NULL);
    turn(f);
    assert_int_equal(job.done, 3);
    assert_int_equal(f->last.error.cls, ERROR_LIMIT);
    assert_int_equal(f->server->started, 1);
}

/* ---- order ----------------------------------------------------------------------------------- */

static void test_classes_in_order(void **state)
{
    struct fixture *f = *state;
    static struct job jobs[WINDOW_CLASS_COUNT];
    one_at_a_time(f);
    for (int cls = WINDOW_CLASS_COUNT - 1; cls > WINDOW_LEASE; cls--)
        submit(f, &jobs[cls], window_class_name((enum window_class)cls), (enum window_class)cls,
               NULL);
    for (int cls = WINDOW_LEASE + 1; cls < WINDOW_CLASS_COUNT; cls++)
        serve(f, window_class_name((enum window_class)cls));
}

/* Endless creates: a status write still follows eight of them; an event none. */
static void test_no_class_starves_but_events(void **state)
{
    struct fixture *f = *state;
    static struct job creates[100], statuses[12], event;
    one_at_a_time(f);
    for (size_t i = 0; i < ARRAY_SIZE(creates); i++)
        submit(f, &creates[i], "create", WINDOW_CREATE, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
        submit(f, &statuses[i], "status", WINDOW_STATUS, NULL);
    submit(f, &event, "event", WINDOW_EVENT, NULL);
    turn(f);
    for (unsigned i = 0; i < 100; i++) {
        /* One create takes 10 ms, so eight of them are more than the 50 ms that must pass too. */
        run_for(f->loop, 10 * MS);
        bool turn_of_status = i % 9 == 8;
        assert_string_equal(manual_first(f->server)->path, turn_of_status ? "status" : "create");
        manual_answer(manual_first(f->server), 200, "", 0);
        turn(f);
    }
    assert_int_equal(event.done, 0);
    for (size_t i = 0; i < ARRAY_SIZE(creates); i++)
        if (creates[i].request)
            cancel(&creates[i]);
    turn(f);
    for (unsigned i = 0; i < 30 && event.done == 0 && f->server->inflight > 0; i++) {
        manual_answer(manual_first(f->server), 200, "", 0);
        turn(f);
    }
    assert_int_equal(event.done, 1);
}

/* Endless PodGroups: pods are made beside them, one for each, but not before 50 ms. */
static void test_pods_do_not_fall_behind(void **state)
{
    struct fixture *f = *state;
    static struct job groups[40], pods[20];
    one_at_a_time(f);
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        submit(f, &groups[i], "group", WINDOW_BIND, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
        submit(f, &pods[i], "pod", WINDOW_CREATE, NULL);
    turn(f);
    for (unsigned i = 0; i < 30; i++) {
        run_for(f->loop, (i < 15 ? 25 : 5) * MS); /* answers are slow, and then quick */
        assert_string_equal(manual_first(f->server)->path, i && i % 2 == 0 ? "pod" : "group");
        manual_answer(manual_first(f->server), 200, "", 0);
        turn(f);
    }
}

/* What an event takes beyond what they take at best tells that others are at work. */
static void test_events_leave_a_busy_server_alone(void **state)
{
    struct fixture *f = *state;
    static struct job events[3], create;
    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        submit(f, &events[i], "event", WINDOW_EVENT, NULL);
    run_for(f->loop, 5 * MS);
    serve(f, "event");
    assert_int_equal(f->server->inflight, 1); /* no rest yet */
    run_for(f->loop, 20 * MS);
    serve(f, "event");
    run_for(f->loop, 99 * MS); /* 8 * (20 - 1.5 * 5) = 100, less what the best fades by */
    assert_int_equal(f->server->inflight, 0);
    submit(f, &create, "create", WINDOW_CREATE, NULL);
    serve(f, "create");
    run_for(f->loop, MS);
    serve(f, "event");
}

/* Events fill no window that is idle: one is in flight at a time, and holds up nothing else. */
static void test_one_event_at_a_time(void **state)
{
    struct fixture *f = *state;
    static struct job events[3], create;
    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        submit(f, &events[i], "event", WINDOW_EVENT, NULL);
    turn(f);
    assert_int_equal(f->server->inflight, 1);
    submit(f, &create, "create", WINDOW_CREATE, NULL);
    turn(f);
    assert_int_equal(f->server->inflight, 2);
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        manual_answer(manual_first(f->server), 200, "", 0);
        turn(f);
    }
    assert_int_equal(create.done, 1);
    assert_int_equal(f->server->inflight, 1);
    manual_answer(manual_first(f->server), 200, "", 0);
    turn(f);
    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        assert_int_equal(events[i].done, 1);
    assert_int_equal(f->server->inflight, 0);
}

static void test_fast_bursts_keep_strict_order(void **state)
{
    struct fixture *f = *state;
    static struct job creates[100], status;
    one_at_a_time(f);
    submit(f, &status, "status", WINDOW_STATUS, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(creates); i++)
        submit(f, &creates[i], "create", WINDOW_CREATE, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(creates); i++)
        serve(f, "create"); /* no time passes */
    serve(f, "status");
}

struct seen {
    unsigned count;
    enum window_class cls;
    int64_t latency_ns;
};

static void observe(enum window_class cls, int64_t latency_ns, void *arg)
{
    struct seen *seen = arg;
    *seen = (struct seen){seen->count + 1, cls, latency_ns};
}

static void test_each_answer_is_observed(void **state)
{
    struct fixture *f = *state;
    static struct job jobs[3];
    struct seen seen = {0};
    window_set_observer(f->window, observe, &seen);
    submit(f, &jobs[0], "a", WINDOW_STATUS, NULL);
    serve(f, "a");
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.cls, WINDOW_STATUS);
    window_set_observer(f->window, NULL, NULL);
    submit(f, &jobs[1], "b", WINDOW_STATUS, NULL);
    serve(f, "b");
    assert_int_equal(seen.count, 1);
}

static void test_waiting_requests_are_small(void **state)
{
    (void)state;
    assert_in_range(sizeof(struct window_request), 1, 104);
}

/* ---- retries --------------------------------------------------------------------------------- */

static void test_429_goes_back_to_the_front(void **state)
{
    struct fixture *f = *state;
    static struct job jobs[4];
    const char *const names[] = {"a", "b", "c", "d"};
    start_window(f, &(struct window_config){.initial = 2, .max_inflight = 2});
    for (size_t i = 0; i < 4; i++)
        submit(f, &jobs[i], names[i], WINDOW_CREATE, NULL);
    turn(f);
    manual_answer(manual_first(f->server), 429, "", 2 * NSEC_PER_SEC); /* a */
    manual_answer(manual_first(f->server), 429, "", 2 * NSEC_PER_SEC); /* b */
    assert_int_equal(window_stats(f->window).waiting[WINDOW_CREATE], 4);
    assert_int_equal(window_stats(f->window).limit, 1); /* one decrease for both */
    serve(f, "c");
    serve(f, "d");
    turn(f);
    assert_int_equal(f->server->inflight, 0);
    run_for(f->loop, 2 * NSEC_PER_SEC);
    serve(f, "a");
    serve(f, "b");
    assert_int_equal(jobs[0].renders, 2); /* rendered afresh */
    assert_int_equal(jobs[0].done, 1);
    assert_int_equal(window_stats(f->window).throttled, 2);
    submit(f, &jobs[0], "e", WINDOW_CREATE, NULL);
    turn(f);
    manual_answer(manual_first(f->server), 429, "", 0);
    run_for(f->loop, NSEC_PER_SEC - 1);
    assert_int_equal(f->server->inflight, 0);
    run_for(f->loop, 1);
    serve(f, "e");
}

static void answer_all(struct fixture *f, int status, int64_t retry_after_ns)
{
    while (f->server->inflight > 0)
        manual_answer(manual_first(f->server), status, "", retry_after_ns);
    turn(f);
}

/* A server that takes nothing at all is not asked for each of a thousand requests. */
static void test_429_for_all_pauses_everything_but_leases(void **state)
{
    struct fixture *f = *state;
    static struct job jobs[1000], lease;
    start_window(f, &(struct window_config){0});
    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
        submit(f, &jobs[i], "x", WINDOW_CREATE, NULL);
    turn(f);
    for (int64_t end = loop_now(f->loop) + 10 * NSEC_PER_SEC; loop_now(f->loop) < end;) {
        answer_all(f, 429, NSEC_PER_SEC);
        run_for(f->loop, 5 * MS);
    }
    assert_in_range(f->server->started, 20, 120);
    answer_all(f, 429, 200 * NSEC_PER_SEC); /* 60 s is all we wait */
    run_for(f->loop, 2 * NSEC_PER_SEC);
    answer_all(f, 429, 200 * NSEC_PER_SEC);
    run_for(f->loop, NSEC_PER_SEC);
    assert_int_equal(f->server->inflight, 0);
    submit(f, &lease, "lease", WINDOW_LEASE, NULL);
    serve(f, "lease");
    run_for(f->loop, 60 * NSEC_PER_SEC);
    for (int i = 0; i < 5000 && f->done < 1001; i++) {
        answer_all(f, 201, 0);
        run_for(f->loop, 5 * MS);
    }
    assert_int_equal(f->done, 1001);
    assert_true(window_stats(f->window).limit > 16);
}

/* A webhook that sends one job away for an hour: others wait five seconds. */
static void test_429_of_one_flow_is_not_everybodys(void **state)
{
    struct fixture *f = *state;
    static struct window_flow flow;
    static struct job jobs[2], other;
    window_flow_init(f->window, &flow);
    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
        submit(f, &jobs[i], "refused", WINDOW_CREATE, &flow);
        turn(f);
        answer_all(f, 429, 3600 * NSEC_PER_SEC);
        run_for(f->loop, NSEC_PER_SEC);
    }
    submit(f, &other, "other", WINDOW_CREATE, NULL);
    turn(f);
    assert_int_equal(f->server->inflight, 0);
    run_for(f->loop, 4 * NSEC_PER_SEC);
    serve(f, "other");
    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
        assert_true(cancel(&jobs[i]));
}

static bool render_impatient(struct buf *path, struct buf *body, void *arg)
{
    (void)body;
    (void)arg;
    buf_add_cstr(path, "impatient");
    return true;
}

static void done_impatient(const struct kube_result *result, void *arg)
{
    struct kube_result *last = arg;

    *last = *result;
}

/* The owner of a request that is answered with 429 for too long hears of it. */
static void test_429_is_told_when_patience_ends(void **state)
{
    static const struct {
        int64_t retry_after_ns;
        uint64_t tries;
    } rows[] = {{0, 6}, {2 * NSEC_PER_SEC, 3}, {5 * NSEC_PER_SEC, 2}, {6 * NSEC_PER_SEC, 1}};
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const uint64_t before = f->server->started;
        struct kube_result last = {0};
        (void)window_submit(f->window, &(struct window_spec){.cls = WINDOW_STATUS,
                                                             .method = KUBE_PATCH,
                                                             .render = render_impatient,
                                                             .done = done_impatient,
                                                             .arg = &last,
                                                             .patience_s = 5});
        for (int k = 0; k < 2000 && last.status == 0; k++) {
            if (f->server->inflight > 0)
                manual_answer(manual_first(f->server), 429, "", rows[i].retry_after_ns);
            run_for(f->loop, 10 * MS);
        }
        assert_int_equal(last.status, 429);
        assert_int_equal(last.error.cls, ERROR_RETRY);
        assert_int_equal(last.retry_after_ns, rows[i].retry_after_ns);
        assert_int_equal(f->server->started - before, rows[i].tries);
        run_for(f->loop, 10 * NSEC_PER_SEC);
    }
}

/* What a budget refuses is no matter of load: it is told at once, and slows nothing down. */
static void test_429_of_a_budget_is_an_answer(void **state)
{
    struct fixture *f = *state;
    const unsigned limit = window_stats(f->window).limit;

    for (int i = 0; i < 5; i++) {
        struct kube_result last = {0};
        (void)window_submit(f->window, &(struct window_spec){.cls = WINDOW_DELETE,
                                                             .method = KUBE_POST,
                                                             .render = render_impatient,
                                                             .done = done_impatient,
                                                             .arg = &last});
        turn(f);
        manual_answer(manual_first(f->server), 429,
                      "{\"kind\":\"Status\",\"details\":{\"causes\":[{\"reason\":"
                      "\"DisruptionBudget\"}]}}",
                      10 * NSEC_PER_SEC);
        assert_int_equal(last.status, 429);
        assert_true(last.by_budget);
        assert_int_equal(f->server->inflight, 0);
    }
    assert_int_equal(window_stats(f->window).throttled, 0);
    assert_int_equal(window_stats(f->window).limit, limit);
}

static void test_what_was_not_sent_is_tried_again(void **state)
{
    struct fixture *f = *state;
    static struct job jobs[200], lease;
    char name[16];
    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
        (void)snprintf(name, sizeof(name), "%zu", i);
        submit(f, &jobs[i], name, WINDOW_BIND, NULL);
    }
    submit(f, &lease, "lease", WINDOW_LEASE, NULL);
    turn(f);
    int64_t begin = loop_now(f->loop);
    while (loop_now(f->loop) - begin < 60 * NSEC_PER_SEC) {
        while (f->server->inflight > 0)
            manual_fail(manual_first(f->server), KUBE_NOT_SENT, ERROR_RETRY);
        run_for(f->loop, 10 * MS);
    }
    assert_int_equal(f->done, 0);
    assert_in_range(lease.renders, 50, 100);       /* once a second at least */
    assert_in_range(jobs[0].renders, 12, 30);      /* every five seconds in the end */
    assert_in_range(f->server->started, 100, 260); /* of four at a time, and the lease */
    assert_int_equal(jobs[4].renders, 0);          /* they kept their order */
    cancel(&lease);
    for (int i = 0; i < 600 && f->server->inflight == 0; i++)
        run_for(f->loop, 10 * MS);
    assert_string_equal(manual_first(f->server)->path, "0");
    manual_fail(manual_first(f->server), KUBE_NOT_SENT, ERROR_INVALID);
    assert_int_equal(jobs[0].done, 1); /* that will never heal: the caller's */
    assert_int_equal(f->last.error.cls, ERROR_INVALID);
}

static void test_doubt_and_faults_are_the_callers(void **state)
{
    struct fixture *f = *state;
    static struct job jobs[8];
    start_window(f, &(struct window_config){.initial = 8});
    for (size_t i = 0; i < 8; i++)
        submit(f, &jobs[i], "x", WINDOW_CREATE, NULL);
    turn(f);
    manual_fail(manual_first(f->server), KUBE_IN_DOUBT, ERROR_RETRY);
    assert_int_equal(f->last.outcome, KUBE_IN_DOUBT);
    manual_answer(manual_first(f->server), 500, "", 0);
    assert_int_equal(f->last.status, 500);
    assert_int_equal(f->done, 2);
    struct window_stats stats = window_stats(f->window);
    assert_int_equal(stats.failed, 2);
    assert_int_equal(stats.limit, 5); /* 8 * 0.7, once for faults of one moment */
    run_for(f->loop, 20 * MS);
    manual_answer(manual_first(f->server), 503, "", 0);
    assert_int_equal(window_stats(f->window).limit, 3);
}

/* ---- delay, fence, tokens -------------------------------------------------------------------- */

static void test_delayed_requests(void **state)
{
    struct fixture *f = *state;
    static struct job late, soon, now;
    one_at_a_time(f);
    submit_delayed(f, &late, "late", WINDOW_BIND, NULL, 300 * MS);
    submit_delayed(f, &soon, "soon", WINDOW_BIND, NULL, 200 * MS);
    submit(f, &now, "now", WINDOW_EVENT, NULL);
    serve(f, "now"); /* delays nobody else */
    run_for(f->loop, 200 * MS - 1);
    assert_int_equal(f->server->inflight, 0);
    run_for(f->loop, 1);
    serve(f, "soon");
    run_for(f->loop, 99 * MS);
    assert_int_equal(f->server->inflight, 0);
    run_for(f->loop, MS);
    serve(f, "late");
}

static bool fence(void *arg)
{
    return *(bool *)arg;
}

static void test_the_fence_holds_all_but_leases(void **state)
{
    struct fixture *f = *state;
    static struct job bind, lease;
    bool open = false;
    window_set_fence(f->window, fence, &open);
    submit(f, &bind, "bind", WINDOW_BIND, NULL);
    submit(f, &lease, "lease", WINDOW_LEASE, NULL);
    serve(f, "lease");
    run_for(f->loop, 10 * NSEC_PER_SEC);
    assert_int_equal(bind.renders, 0);
    open = true;
    window_kick(f->window);
    serve(f, "bind");
    open = false;
    submit(f, &bind, "again", WINDOW_BIND, NULL);
    turn(f);
    assert_int_equal(f->server->inflight, 0);
    window_set_fence(f->window, NULL, NULL);
    serve(f, "again");
}

static void test_qps_and_burst(void **state)
{
    struct fixture *f = *state;
    static struct job jobs[40], lease;
    start_window(f, &(struct window_config){.fixed_inflight = 100, .qps = 10, .burst = 5});
    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
        submit(f, &jobs[i], "x", WINDOW_CREATE, NULL);
    turn(f);
    assert_int_equal(f->server->started, 5);
    submit(f, &lease, "lease", WINDOW_LEASE, NULL);
    turn(f);
    assert_int_equal(f->server->started, 6);
    run_for(f->loop, 1050 * MS);
    assert_int_equal(f->server->started, 16);
    run_for(f->loop, NSEC_PER_SEC);
    assert_int_equal(f->server->started, 26);
    answer_all(f, 200, 0);
    for (int i = 0; i < 20; i++) {
        run_for(f->loop, 100 * MS);
        answer_all(f, 200, 0);
    }
    assert_int_equal(f->done, 41);
    run_for(f->loop, 60 * NSEC_PER_SEC); /* no more than the burst is saved up */
    for (size_t i = 0; i < 10; i++)
        submit(f, &jobs[i], "x", WINDOW_CREATE, NULL);
    turn(f);
    assert_int_equal(f->server->inflight, 5);
}

static void test_hardly_any_qps(void **state)
{
    struct fixture *f = *state;
    static struct job jobs[3];
    start_window(f, &(struct window_config){.qps = 1e-300});
    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
        submit(f, &jobs[i], "x", WINDOW_CREATE, NULL);
    run_for(f->loop, 10000 * NSEC_PER_SEC);
    assert_int_equal(f->server->started, 1);
    start_window(f, &(struct window_config){.qps = 0.1});
    submit(f, &jobs[0], "x", WINDOW_CREATE, NULL);
    submit(f, &jobs[1], "y", WINDOW_CREATE, NULL);
    serve(f, "x");
    run_for(f->loop, 9900 * MS);
    assert_int_equal(f->server->inflight, 0);
    run_for(f->loop, 200 * MS);
    serve(f, "y");
}

/* ---- cancelling ------------------------------------------------------------------------------ */

static void test_cancel_in_every_state(void **state)
{
    struct fixture *f = *state;
    static struct window_flow flow;
    static struct job delayed, waiting, inflight, throttled, next;
    one_at_a_time(f);
    window_flow_init(f->window, &flow);
    window_flow_set_missing(&flow, 3);
    submit(f, &throttled, "throttled", WINDOW_BIND, &flow);
    turn(f);
    manual_answer(manual_first(f->server), 429, "", NSEC_PER_SEC);
    submit(f, &inflight, "inflight", WINDOW_BIND, &flow);
    turn(f);
    submit(f, &waiting, "waiting", WINDOW_BIND, &flow);
    submit(f, &next, "next", WINDOW_BIND, &flow);
    submit_delayed(f, &delayed, "delayed", WINDOW_BIND, &flow, NSEC_PER_SEC);
    turn(f);
    assert_int_equal(flow.count, 5);
    assert_true(cancel(&delayed));
    assert_true(cancel(&throttled));
    assert_true(cancel(&waiting));
    assert_false(cancel(&inflight));
    assert_int_equal(f->server->cancelled, 1);
    assert_int_equal(flow.count, 1);
    serve(f, "next"); /* the slot is free again */
    run_for(f->loop, 10 * NSEC_PER_SEC);
    assert_int_equal(f->done, 1);
    assert_int_equal(f->server->started, 3);
    for (int cls = 0; cls < WINDOW_CLASS_COUNT; cls++)
        assert_int_equal(window_stats(f->window).waiting[cls], 0);
    submit(f, &waiting, "last", WINDOW_BIND, &flow); /* cancelled before any turn */
    assert_true(cancel(&waiting));
    turn(f);
    assert_int_equal(f->server->inflight + flow.count, 0);
}

static struct job *victim;

static void cancel_and_resubmit(struct job *job)
{
    if (victim->request)
        window_cancel(job->f->window, victim->request);
    victim->request = NULL;
    job->then = NULL;
    submit(job->f, job, "again", WINDOW_BIND, NULL);
}

static void test_callbacks_may_submit_and_cancel(void **state)
{
    struct fixture *f = *state;
    static struct job first = {.then = cancel_and_resubmit}, second;
    one_at_a_time(f);
    victim = &second;
    submit(f, &first, "first", WINDOW_BIND, NULL);
    submit(f, &second, "second", WINDOW_BIND, NULL);
    serve(f, "first");
    serve(f, "again");
    assert_int_equal(second.renders, 0);
    first.then = cancel_and_resubmit; /* and when a request is refused by its renderer */
    f->refuse = true;
    submit(f, &first, "refused", WINDOW_BIND, NULL);
    submit(f, &second, "second", WINDOW_BIND, NULL);
    turn(f);
    assert_int_equal(first.done, 4);
    assert_int_equal(second.done, 0);
}

static void test_free_ends_everything(void **state)
{
    struct fixture *f = *state;
    static struct job jobs[6];
    one_at_a_time(f);
    for (size_t i = 0; i < 4; i++)
        submit(f, &jobs[i], "x", i % 2 ? WINDOW_STATUS : WINDOW_CREATE, NULL);
    submit_delayed(f, &jobs[4], "x", WINDOW_BIND, NULL, NSEC_PER_SEC);
    submit(f, &jobs[5], "x", WINDOW_LEASE, NULL);
    turn(f);
    window_free(f->window);
    f->window = NULL;
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(jobs[i].done, 1);
    assert_int_equal(f->last.error.cls, ERROR_CANCELLED);
    assert_int_equal(f->server->cancelled, 2);
    window_free(NULL);
    start_window(f, &(struct window_config){0});
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sends_what_was_rendered),
        TEST(test_no_more_than_the_limit),
        TEST(test_refused_and_oversized_requests),
        TEST(test_classes_in_order),
        TEST(test_no_class_starves_but_events),
        TEST(test_pods_do_not_fall_behind),
        TEST(test_events_leave_a_busy_server_alone),
        TEST(test_one_event_at_a_time),
        TEST(test_fast_bursts_keep_strict_order),
        TEST(test_each_answer_is_observed),
        cmocka_unit_test(test_waiting_requests_are_small),
        TEST(test_429_goes_back_to_the_front),
        TEST(test_429_for_all_pauses_everything_but_leases),
        TEST(test_429_of_one_flow_is_not_everybodys),
        TEST(test_429_is_told_when_patience_ends),
        TEST(test_429_of_a_budget_is_an_answer),
        TEST(test_what_was_not_sent_is_tried_again),
        TEST(test_doubt_and_faults_are_the_callers),
        TEST(test_delayed_requests),
        TEST(test_the_fence_holds_all_but_leases),
        TEST(test_qps_and_burst),
        TEST(test_hardly_any_qps),
        TEST(test_cancel_in_every_state),
        TEST(test_callbacks_may_submit_and_cancel),
        TEST(test_free_ends_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
