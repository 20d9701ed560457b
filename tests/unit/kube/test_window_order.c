/*
 * The request window: who is next among jobs that wait in one class.
 */

#include "window_fixture.h"

static void test_nearest_gang_first_and_the_fourth_goes_round(void **state)
{
    struct fixture *f = *state;
    static struct window_flow far, near, none;
    static struct job jobs[18];
    one_at_a_time(f);
    window_flow_init(f->window, &far);
    window_flow_init(f->window, &near);
    window_flow_init(f->window, &none);
    window_flow_set_missing(&far, 5);
    window_flow_set_missing(&near, 2);
    for (size_t i = 0; i < 6; i++) {
        submit(f, &jobs[3 * i], "none", WINDOW_CREATE, &none);
        submit(f, &jobs[3 * i + 1], "far", WINDOW_CREATE, &far);
        submit(f, &jobs[3 * i + 2], "near", WINDOW_CREATE, &near);
    }
    assert_int_equal(near.count, 6);
    const char *const want[] = {"near", "near", "near", "none", "near",
                                "near", "near", "far",  "far",  "far"};
    for (size_t i = 0; i < ARRAY_SIZE(want); i++)
        serve(f, want[i]);
    window_flow_set_missing(&far, 0); /* its gang is complete: no hurry any more */
    /* The next is under way already; of what is left the flows take turns. */
    serve(f, "far");
    unsigned nones = 0;
    for (size_t i = 0; i < 7; i++) {
        turn(f);
        nones += strcmp(manual_first(f->server)->path, "none") == 0;
        serve(f, manual_first(f->server)->path);
    }
    assert_int_equal(nones, 5);
    assert_int_equal(near.count + far.count + none.count, 0);
}

static void test_weights_share_the_round(void **state)
{
    struct fixture *f = *state;
    static struct window_flow heavy, light;
    static struct job jobs[16];
    one_at_a_time(f);
    window_flow_init(f->window, &heavy);
    window_flow_init(f->window, &light);
    window_flow_set_weight(&heavy, 3);
    for (size_t i = 0; i < 8; i++) {
        submit(f, &jobs[2 * i], "heavy", WINDOW_CREATE, &heavy);
        submit(f, &jobs[2 * i + 1], "light", WINDOW_CREATE, &light);
    }
    const char *const want[] = {"heavy", "heavy", "heavy", "light", "heavy", "heavy",
                                "heavy", "light", "heavy", "heavy", "light"};
    for (size_t i = 0; i < ARRAY_SIZE(want); i++)
        serve(f, want[i]);
    for (size_t i = 0; i < 5; i++)
        serve(f, "light");
}

static void test_weight_divides_what_a_gang_misses(void **state)
{
    struct fixture *f = *state;
    static struct window_flow heavy, light;
    static struct job jobs[6];
    one_at_a_time(f);
    window_flow_init(f->window, &heavy);
    window_flow_init(f->window, &light);
    window_flow_set_missing(&heavy, 30);
    window_flow_set_missing(&light, 6);
    for (size_t i = 0; i < 3; i++) {
        submit(f, &jobs[2 * i], "heavy", WINDOW_CREATE, &heavy);
        submit(f, &jobs[2 * i + 1], "light", WINDOW_CREATE, &light);
    }
    window_flow_set_weight(&heavy, 10); /* 3 against 6, though requests wait already */
    serve(f, "heavy");
    window_flow_set_weight(&heavy, -7); /* counts as 1: 30 against 6, after the one under way */
    serve(f, "heavy");
    serve(f, "light");
    serve(f, "heavy"); /* the fourth goes round */
    serve(f, "light");
    serve(f, "light");
    window_flow_set_weight(&light, INT64_MAX);
    assert_int_equal(light.weight, WINDOW_WEIGHT_MOST);
    assert_int_equal(heavy.weight, 1);
}

static void test_age_breaks_ties(void **state)
{
    struct fixture *f = *state;
    static struct window_flow flows[3];
    static struct job jobs[3];
    one_at_a_time(f);
    for (size_t i = 0; i < 3; i++) {
        window_flow_init(f->window, &flows[i]);
        window_flow_set_missing(&flows[i], 1);
    }
    flows[0].since_ns = 30;
    flows[1].since_ns = flows[2].since_ns = 20;
    submit(f, &jobs[0], "young", WINDOW_CREATE, &flows[0]);
    submit(f, &jobs[2], "second", WINDOW_CREATE, &flows[2]);
    submit(f, &jobs[1], "first", WINDOW_CREATE, &flows[1]);
    serve(f, "first");
    serve(f, "second");
    serve(f, "young");
}

/* A one-pod job behind one of ten thousand waits for moments. */
static void test_a_small_job_does_not_wait_for_a_large_one(void **state)
{
    struct fixture *f = *state;
    static struct window_flow large, small;
    struct job *many = xcalloc(10000, sizeof(*many));
    static struct job one;
    one_at_a_time(f);
    window_flow_init(f->window, &large);
    window_flow_init(f->window, &small);
    for (size_t i = 0; i < 10000; i++)
        submit(f, &many[i], "large", WINDOW_CREATE, &large);
    serve(f, "large");
    submit(f, &one, "small", WINDOW_CREATE, &small);
    unsigned waited = 0;
    for (; !one.done; waited++)
        serve(f, manual_first(f->server)->path);
    assert_in_range(waited, 1, 4);
    window_free(f->window);
    f->window = NULL;
    assert_int_equal(many[9999].done, 1);
    free(many);
    start_window(f, &(struct window_config){0});
}

static void test_ten_thousand_flows_go_by_what_they_miss(void **state)
{
    struct fixture *f = *state;
    const size_t n = 10000;
    struct window_flow *flows = xcalloc(n, sizeof(*flows));
    struct job *jobs = xcalloc(n, sizeof(*jobs));
    one_at_a_time(f);
    for (size_t i = 0; i < n; i++) {
        char name[16];
        uint32_t missing = (uint32_t)((i * 7919) % n + 1);
        window_flow_init(f->window, &flows[i]);
        window_flow_set_missing(&flows[i], missing);
        (void)snprintf(name, sizeof(name), "%u", missing);
        submit(f, &jobs[i], name, WINDOW_CREATE, &flows[i]);
    }
    turn(f);
    int64_t last = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t missing = 0;
        assert_true(str_to_i64(manual_first(f->server)->spec.path, &missing));
        if (i % 4 != 3) {
            assert_true(missing > last);
            last = missing;
        }
        serve(f, manual_first(f->server)->path);
    }
    free(flows);
    free(jobs);
}

/* ---- news beside work ------------------------------------------------------------------------ */

static unsigned in_flight_of(const struct fixture *f, const char *name)
{
    unsigned count = 0;
    for (const struct kube_call *call = f->server->calls; call; call = call->next)
        count += strcmp(call->path, name) == 0;
    return count;
}

static void answer_one(struct fixture *f, const char *name)
{
    struct kube_call *call = f->server->calls;
    while (call && strcmp(call->path, name) != 0)
        call = call->next;
    assert_non_null(call);
    manual_answer(call, 200, "{}", 0);
    turn(f);
}

static void test_statuses_take_a_quarter_beside_work(void **state)
{
    struct fixture *f = *state;
    static struct job statuses[12], pods[7], event;
    start_window(f, &(struct window_config){.fixed_inflight = 8});
    submit(f, &pods[0], "pod", WINDOW_CREATE, NULL);
    turn(f);
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
        submit(f, &statuses[i], "status", WINDOW_STATUS, NULL);
    submit(f, &event, "event", WINDOW_EVENT, NULL);
    turn(f);
    assert_int_equal(in_flight_of(f, "status"), 2);
    assert_int_equal(in_flight_of(f, "event"), 0);
    answer_one(f, "status"); /* makes room for one, whatever else is in flight */
    answer_one(f, "pod");
    assert_int_equal(in_flight_of(f, "status"), 2);
    run_for(f->loop, 999 * MS); /* room is left for what is more urgent */
    for (size_t i = 1; i < ARRAY_SIZE(pods); i++)
        submit(f, &pods[i], "pod", WINDOW_CREATE, NULL);
    turn(f);
    assert_int_equal(in_flight_of(f, "pod"), 6);
    for (size_t i = 1; i < ARRAY_SIZE(pods); i++)
        answer_one(f, "pod");
    assert_int_equal(in_flight_of(f, "status"), 2);
    run_for(f->loop, NSEC_PER_SEC); /* nothing urgent has come: all slots are theirs */
    answer_one(f, "status");
    assert_int_equal(in_flight_of(f, "status"), 8);
}

static void test_a_small_window_has_room_for_a_status(void **state)
{
    struct fixture *f = *state;
    static struct job statuses[3], pod;
    start_window(f, &(struct window_config){.fixed_inflight = 2});
    submit(f, &pod, "pod", WINDOW_CREATE, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
        submit(f, &statuses[i], "status", WINDOW_STATUS, NULL);
    turn(f);
    assert_int_equal(in_flight_of(f, "status"), 1);
    answer_one(f, "pod");
    assert_int_equal(in_flight_of(f, "status"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nearest_gang_first_and_the_fourth_goes_round),
        TEST(test_weights_share_the_round),
        TEST(test_weight_divides_what_a_gang_misses),
        TEST(test_age_breaks_ties),
        TEST(test_a_small_job_does_not_wait_for_a_large_one),
        TEST(test_ten_thousand_flows_go_by_what_they_miss),
        TEST(test_statuses_take_a_quarter_beside_work),
        TEST(test_a_small_window_has_room_for_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
