/*
 * Events: folding, rates, limits and what is written, on a virtual clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "fake_transport.h"
#include "kube/events.h"
#include <stdio.h>

#define WALL INT64_C(1795975869000000000) /* 2026-11-29T18:11:09Z */

struct bench {
    struct loop *loop;
    struct fake_transport *fake;
    struct window *window;
    struct event_recorder *recorder;
    unsigned posts, patches;
    char path[600], body[5000]; /* of the last request */
    int status;                 /* answered instead of success; 0: none */
};

static int serve(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    struct bench *bench = arg;
    bool post = spec->method == KUBE_POST;
    assert_true(post || (spec->method == KUBE_PATCH && spec->content == KUBE_MERGE_PATCH));
    bench->posts += post ? 1 : 0;
    bench->patches += post ? 0 : 1;
    (void)snprintf(bench->path, sizeof(bench->path), "%.*s", STR_ARG(spec->path));
    (void)snprintf(bench->body, sizeof(bench->body), "%.*s", STR_ARG(spec->body));
    (void)buf_add_cstr(body, "{}");
    if (bench->status)
        return bench->status;
    return post ? 201 : 200;
}

static int set_up(void **state)
{
    struct bench *bench = xnew(struct bench);
    const struct window_config limits = {0};
    bench->loop = loop_new_virtual(3, WALL);
    bench->fake = fake_new(bench->loop, serve, bench);
    bench->window = window_new(bench->loop, &bench->fake->base, &limits);
    bench->recorder = event_recorder_new(bench->loop, bench->window, "pumice-test");
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    event_recorder_free(bench->recorder);
    window_free(bench->window);
    kube_transport_free(&bench->fake->base);
    loop_free(bench->loop);
    free(bench);
    return 0;
}

static void run_s(struct bench *bench, int64_t seconds)
{
    int64_t end = loop_now(bench->loop) + seconds * NSEC_PER_SEC;
    bool more = true;
    while (more && loop_now(bench->loop) < end)
        more = loop_turn(bench->loop, end - loop_now(bench->loop));
}

/* A time that passes whether or not anything is due. */
static void nothing(void *arg)
{
    (void)arg;
}

static void pass_s(struct bench *bench, int64_t seconds)
{
    struct loop_timer timer;
    loop_timer_init(&timer, nothing, NULL);
    loop_timer_set(bench->loop, &timer, seconds * NSEC_PER_SEC);
    while (loop_timer_active(&timer))
        (void)loop_turn(bench->loop, timer.due - loop_now(bench->loop));
}

static const struct event_ref job = {
    "batch.volcano.sh/v1alpha1", "Job", "team", "train", "uid-1", 77};

static void record(struct bench *bench, const char *reason, const char *message)
{
    event_record(bench->recorder, &job, EVENT_NORMAL, reason, "%s", message);
}

/* ---- what is written ------------------------------------------------------------------------- */

static void writes_a_core_event(void **state)
{
    struct bench *bench = *state;
    event_record(bench->recorder, &job, EVENT_WARNING, "Unschedulable", "%d of %d \"pods\"", 3, 5);
    run_s(bench, 1);
    assert_int_equal(bench->posts, 1);
    assert_string_equal(bench->path, "/api/v1/namespaces/team/events");
    assert_string_equal(
        bench->body,
        "{\"apiVersion\":\"v1\",\"kind\":\"Event\","
        "\"metadata\":{\"name\":\"train.18ec968990eb2200\",\"namespace\":\"team\"},"
        "\"involvedObject\":{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\","
        "\"namespace\":\"team\",\"name\":\"train\",\"uid\":\"uid-1\",\"resourceVersion\":\"77\"},"
        "\"reason\":\"Unschedulable\",\"message\":\"3 of 5 \\\"pods\\\"\","
        "\"source\":{\"component\":\"pumice-test\"},"
        "\"firstTimestamp\":\"2026-11-29T18:11:09Z\",\"lastTimestamp\":\"2026-11-29T18:11:09Z\","
        "\"count\":1,\"type\":\"Warning\",\"reportingComponent\":\"pumice-test\","
        "\"reportingInstance\":\"\"}");
}

static void cluster_scoped_objects_go_to_default(void **state)
{
    struct bench *bench = *state;
    const struct event_ref queue = {"v1", "Queue", "", "q", NULL, 0};
    event_record(bench->recorder, &queue, EVENT_NORMAL, "Made", "made");
    run_s(bench, 1);
    assert_string_equal(bench->path, "/api/v1/namespaces/default/events");
    assert_non_null(strstr(bench->body, "\"involvedObject\":{\"apiVersion\":\"v1\","
                                        "\"kind\":\"Queue\",\"name\":\"q\"}"));
}

static void cuts_long_names(void **state)
{
    struct bench *bench = *state;
    char name[254];
    memset(name, 'a', sizeof(name));
    name[253] = '\0';
    name[235] = '.'; /* the last one that would be kept */
    const struct event_ref pod = {"v1", "Pod", "ns", name, "u", 0};
    event_record(bench->recorder, &pod, EVENT_NORMAL, "R", "m");
    run_s(bench, 1);
    const char *start = strstr(bench->body, "\"name\":\"") + 8;
    const char *end = strchr(start, '"');
    assert_int_equal(end - start, 235 + 17);
    assert_memory_equal(start + 234, "a.18ec96", 8);
}

static void check_message(struct bench *bench, const char *text, size_t expected)
{
    event_record(bench->recorder, &job, EVENT_NORMAL, "R", "%s", text);
    run_s(bench, 1);
    const char *start = strstr(bench->body, "\"message\":\"") + 11;
    assert_int_equal(strchr(start, '"') - start, expected);
}

static void cuts_long_messages_between_characters(void **state)
{
    struct bench *bench = *state;
    char text[1030];
    memset(text, 'x', sizeof(text));
    text[1024] = '\0';
    check_message(bench, text, 1024);
    text[1024] = 'x';
    text[1025] = '\0';
    check_message(bench, text, 1024);
    memcpy(text + 1022, "\xe2\x82\xac", 4); /* a character of three bytes over the edge */
    check_message(bench, text, 1022);
}

/* ---- folding --------------------------------------------------------------------------------- */

static void repeats_become_a_count(void **state)
{
    struct bench *bench = *state;
    record(bench, "R", "m");
    run_s(bench, 1);
    for (int i = 0; i < 100; i++) {
        record(bench, "R", "m");
        pass_s(bench, 1);
    }
    assert_int_equal(bench->posts, 1);
    assert_int_equal(bench->patches, 3);
    pass_s(bench, 31);
    assert_string_equal(bench->path, "/api/v1/namespaces/team/events/train.18ec968990eb2200");
    assert_string_equal(bench->body, "{\"count\":101,\"lastTimestamp\":\"2026-11-29T18:12:49Z\"}");
    unsigned before = bench->patches;
    pass_s(bench, 300);
    assert_int_equal(bench->patches, before);
}

static void different_ones_do_not_fold(void **state)
{
    struct bench *bench = *state;
    const struct event_ref other = {job.api_version, "Job", "team", "train", "uid-2", 1};
    record(bench, "R", "m");
    record(bench, "R", "n");
    record(bench, "S", "m");
    event_record(bench->recorder, &job, EVENT_WARNING, "R", "m");
    event_record(bench->recorder, &other, EVENT_NORMAL, "R", "m");
    run_s(bench, 1);
    assert_int_equal(bench->posts, 5);
}

static void folds_for_ten_minutes(void **state)
{
    struct bench *bench = *state;
    record(bench, "R", "m");
    pass_s(bench, 599);
    record(bench, "R", "m");
    pass_s(bench, 1);
    assert_int_equal(bench->posts, 1);
    assert_int_equal(bench->patches, 1);
    pass_s(bench, 600);
    record(bench, "R", "m");
    pass_s(bench, 1);
    assert_int_equal(bench->posts, 2);
}

static void a_count_waits_in_the_queue_with_its_event(void **state)
{
    struct bench *bench = *state;
    record(bench, "R", "m");
    record(bench, "R", "m");
    record(bench, "R", "m");
    run_s(bench, 1);
    assert_int_equal(bench->posts, 1);
    assert_non_null(strstr(bench->body, "\"count\":3"));
    pass_s(bench, 60);
    assert_int_equal(bench->patches, 0);
}

static void an_expired_event_is_made_again(void **state)
{
    struct bench *bench = *state;
    record(bench, "R", "m");
    pass_s(bench, 40);
    bench->status = 404;
    record(bench, "R", "m");
    bench->fake->latency_ns = 2 * NSEC_PER_SEC;
    pass_s(bench, 2);
    bench->status = 0;
    pass_s(bench, 5);
    assert_int_equal(bench->patches, 1);
    assert_int_equal(bench->posts, 2);
    assert_non_null(strstr(bench->body, "\"count\":2"));
    assert_int_equal(event_recorder_dropped(bench->recorder), 0);
}

/* ---- rates and limits ------------------------------------------------------------------------ */

static void record_numbers(struct bench *bench, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        event_record(bench->recorder, &job, EVENT_NORMAL, "R", "message %u", i);
}

static void an_object_has_twenty_five_and_one_in_five_minutes(void **state)
{
    struct bench *bench = *state;
    record_numbers(bench, 0, 25);
    pass_s(bench, 5);
    assert_int_equal(bench->posts, 25);
    assert_int_equal(event_recorder_dropped(bench->recorder), 0);
    record_numbers(bench, 25, 26);
    pass_s(bench, 294);
    assert_int_equal(bench->posts, 25);
    assert_int_equal(event_recorder_dropped(bench->recorder), 1);
    pass_s(bench, 1);
    record_numbers(bench, 26, 28);
    pass_s(bench, 5);
    assert_int_equal(bench->posts, 26);
    assert_int_equal(event_recorder_dropped(bench->recorder), 2);
}

static void a_count_without_a_token_comes_later(void **state)
{
    struct bench *bench = *state;
    record_numbers(bench, 0, 25);
    pass_s(bench, 5);
    record_numbers(bench, 0, 1);
    pass_s(bench, 290);
    assert_int_equal(bench->patches, 0);
    pass_s(bench, 10);
    assert_int_equal(bench->patches, 1);
    assert_int_equal(event_recorder_dropped(bench->recorder), 0);
}

static void record_object(struct bench *bench, unsigned number)
{
    char uid[20];
    (void)snprintf(uid, sizeof(uid), "uid-%u", number);
    const struct event_ref pod = {"v1", "Pod", "ns", uid, uid, 0};
    event_record(bench->recorder, &pod, EVENT_NORMAL, "Scheduled", "to node n");
}

static void record_objects(struct bench *bench, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        record_object(bench, i);
}

static void a_thousand_wait(void **state)
{
    struct bench *bench = *state;
    bench->fake->deaf = true;
    record_objects(bench, 0, 1000);
    assert_int_equal(event_recorder_dropped(bench->recorder), 0);
    record(bench, "R", "one more");
    assert_int_equal(event_recorder_dropped(bench->recorder), 1);
    bench->fake->deaf = false;
    pass_s(bench, 60);
    assert_int_equal(bench->posts, 1000);
}

/* The oldest that waits goes, not the one that is under way. */
static void what_is_under_way_is_not_dropped(void **state)
{
    struct bench *bench = *state;
    bench->fake->latency_ns = NSEC_PER_SEC / 2;
    record_object(bench, 0);
    (void)loop_turn(bench->loop, 0);
    bench->fake->latency_ns = 0;
    record_objects(bench, 1, 1001);
    assert_int_equal(event_recorder_dropped(bench->recorder), 1);
    pass_s(bench, 60);
    assert_int_equal(bench->posts, 1000);
    record_object(bench, 0);
    pass_s(bench, 40);
    assert_int_equal(bench->patches, 1); /* known, so it was written */
    record_object(bench, 1);
    pass_s(bench, 5);
    assert_int_equal(bench->posts, 1001); /* the one that was dropped */
}

/* However many objects there are, only the last 4,096 are remembered. */
static void forgets_the_oldest(void **state)
{
    struct bench *bench = *state;
    for (unsigned i = 0; i < 4097; i += 100) {
        record_objects(bench, i, i + 100 < 4097 ? i + 100 : 4097);
        pass_s(bench, 5);
    }
    assert_int_equal(bench->posts, 4097);
    record_object(bench, 1);
    pass_s(bench, 40);
    assert_int_equal(bench->posts, 4097);
    assert_int_equal(bench->patches, 1);
    record_object(bench, 0);
    pass_s(bench, 5);
    assert_int_equal(bench->posts, 4098);
    assert_int_equal(event_recorder_dropped(bench->recorder), 0);
}

static void tries_three_times_then_drops(void **state)
{
    struct bench *bench = *state;
    bench->status = 500;
    record(bench, "R", "m");
    pass_s(bench, 120);
    assert_int_equal(bench->posts, 3);
    assert_int_equal(event_recorder_dropped(bench->recorder), 1);
}

static void a_refusal_is_final(void **state)
{
    struct bench *bench = *state;
    bench->status = 403;
    record(bench, "R", "m");
    pass_s(bench, 120);
    assert_int_equal(bench->posts, 1);
    assert_int_equal(event_recorder_dropped(bench->recorder), 1);
}

static void can_be_freed_with_events_under_way(void **state)
{
    struct bench *bench = *state;
    bench->fake->deaf = true;
    record_objects(bench, 0, 100);
    run_s(bench, 1);
    record_objects(bench, 100, 150);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(writes_a_core_event),
        TEST(cluster_scoped_objects_go_to_default),
        TEST(cuts_long_names),
        TEST(cuts_long_messages_between_characters),
        TEST(repeats_become_a_count),
        TEST(different_ones_do_not_fold),
        TEST(folds_for_ten_minutes),
        TEST(a_count_waits_in_the_queue_with_its_event),
        TEST(an_expired_event_is_made_again),
        TEST(an_object_has_twenty_five_and_one_in_five_minutes),
        TEST(a_count_without_a_token_comes_later),
        TEST(a_thousand_wait),
        TEST(what_is_under_way_is_not_dropped),
        TEST(forgets_the_oldest),
        TEST(tries_three_times_then_drops),
        TEST(a_refusal_is_final),
        TEST(can_be_freed_with_events_under_way),
    };
    log_set_fd(-1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
