/*
 * What a Lease says beside who holds it: an annotation that is made anew for each write, on a
 * virtual clock against one Lease in memory.
 */
#include "testing.h"

#include "base/log.h"
#include "fake_transport.h"
#include "kube/lease.h"
#include "json/reader.h"
#include <stdio.h>

#define WALL INT64_C(1795975869123456000)

/* ---- a server with one Lease ----------------------------------------------------------------- */

struct server {
    bool exists;
    unsigned rv, puts, posts, gets;
    char metadata[4000]; /* raw JSON, without its resourceVersion */
    char spec[1000];
};

/* The raw member of an object, or an empty slice. */
static struct str member(struct str json, const char *name)
{
    struct json_reader r;
    struct str key, found = STR_NULL;
    json_init(&r, json, NULL);
    bool present = json_object(&r);
    while (present && json_key(&r, &key)) {
        struct str raw = json_raw(&r);
        if (str_is(key, name))
            found = raw;
    }
    assert_false(json_failed(&r));
    return found;
}

static void keep(struct server *server, struct str body)
{
    cleanup_buf struct buf kept = BUF_INIT(sizeof(server->metadata));
    struct json_reader r;
    struct str key;
    json_init(&r, member(body, "metadata"), NULL);
    bool present = json_object(&r);
    while (present && json_key(&r, &key)) {
        struct str raw = json_raw(&r);
        if (!str_is(key, "resourceVersion"))
            buf_printf(&kept, "%c\"%.*s\":%.*s", kept.n ? ',' : '{', STR_ARG(key), STR_ARG(raw));
    }
    (void)snprintf(server->metadata, sizeof(server->metadata), "%s", kept.p);
    (void)snprintf(server->spec, sizeof(server->spec), "%.*s", STR_ARG(member(body, "spec")));
    server->exists = true;
    server->rv++;
}

static int answer(const struct server *server, struct buf *body, int code)
{
    (void)buf_printf(body,
                     "{\"kind\":\"Lease\",\"metadata\":%s,\"resourceVersion\":\"%u\"},\"spec\":%s}",
                     server->metadata, server->rv, server->spec);
    return code;
}

static int refuse(struct buf *body, int code, const char *reason)
{
    (void)buf_printf(body, "{\"kind\":\"Status\",\"reason\":\"%s\",\"code\":%d}", reason, code);
    return code;
}

static int serve(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    struct server *server = arg;
    server->gets += spec->method == KUBE_GET;
    server->puts += spec->method == KUBE_PUT;
    server->posts += spec->method == KUBE_POST;
    if (spec->method == KUBE_POST && server->exists)
        return refuse(body, 409, "AlreadyExists");
    if (spec->method != KUBE_POST && !server->exists)
        return refuse(body, 404, "NotFound");
    if (spec->method == KUBE_PUT) {
        char rv[30];
        (void)snprintf(rv, sizeof(rv), "\"%u\"", server->rv);
        if (!str_is(member(member(spec->body, "metadata"), "resourceVersion"), rv))
            return refuse(body, 409, "Conflict");
    }
    if (spec->method != KUBE_GET)
        keep(server, spec->body);
    return answer(server, body, spec->method == KUBE_POST ? 201 : 200);
}

/* The Lease as somebody else leaves it. */
static void put_lease(struct server *server, const char *annotations, const char *holder, int term)
{
    (void)snprintf(server->metadata, sizeof(server->metadata),
                   "{\"name\":\"l\",\"namespace\":\"sys\"%s", annotations);
    (void)snprintf(
        server->spec, sizeof(server->spec),
        "{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":15,\"leaseTransitions\":%d}", holder,
        term);
    server->exists = true;
    server->rv++;
}

/* ---- one that holds it ----------------------------------------------------------------------- */

struct bench {
    struct loop *loop;
    struct server server;
    struct fake_transport *fake;
    struct window *window;
    struct lease *lease;
    char value[100];
    unsigned asked, gained, lost;
    char before[100]; /* of the last time it was asked */
    int32_t term_before, term;
};

static void on_changed(bool leading, void *arg)
{
    struct bench *bench = arg;
    bench->gained += leading;
    bench->lost += !leading;
}

static void say(const struct lease_note *note, struct buf *value, void *arg)
{
    struct bench *bench = arg;
    bench->asked++;
    (void)snprintf(bench->before, sizeof(bench->before), "%.*s", STR_ARG(note->before));
    bench->term_before = note->term_before;
    bench->term = note->term;
    (void)buf_add_cstr(value, bench->value);
}

static int set_up(void **state)
{
    struct bench *bench = xnew(struct bench);
    bench->loop = loop_new_virtual(7, WALL);
    bench->fake = fake_new(bench->loop, serve, &bench->server);
    bench->window = window_new(bench->loop, &bench->fake->base, &(struct window_config){0});
    (void)snprintf(bench->value, sizeof(bench->value), "first");
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    lease_free(bench->lease);
    window_free(bench->window);
    kube_transport_free(&bench->fake->base);
    loop_free(bench->loop);
    free(bench);
    return 0;
}

static void join(struct bench *bench, bool once)
{
    const struct lease_config config = {
        .ns = "sys",
        .name = "l",
        .identity = "me",
        .duration_ns = 15 * NSEC_PER_SEC,
        .renew_deadline_ns = 10 * NSEC_PER_SEC,
        .retry_period_ns = 2 * NSEC_PER_SEC,
        .note_key = "x/note",
        .note = say,
        .note_arg = bench,
        .once = once,
    };
    bench->lease =
        lease_new(bench->loop, &bench->fake->base, bench->window, &config, on_changed, bench);
}

static void run_ms(struct bench *bench, int64_t ms)
{
    int64_t end = loop_now(bench->loop) + ms * NSEC_PER_MSEC;
    while (loop_now(bench->loop) < end && loop_turn(bench->loop, end - loop_now(bench->loop)))
        ;
}

static bool annotations_are(const struct bench *bench, const char *json)
{
    cleanup_free char *metadata = xasprintf("%s}", bench->server.metadata);
    return str_is(member(str_of(metadata), "annotations"), json);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_new_lease_says_it(void **state)
{
    struct bench *bench = *state;
    join(bench, false);
    run_ms(bench, 100);
    assert_int_equal(bench->gained, 1);
    assert_true(annotations_are(bench, "{\"x/note\":\"first\"}"));
    assert_string_equal(bench->before, "");
    assert_int_equal(bench->term, 0);
    assert_int_equal(lease_term(bench->lease), 0);
}

static void each_renewal_says_it_anew(void **state)
{
    struct bench *bench = *state;
    join(bench, false);
    run_ms(bench, 100);
    (void)snprintf(bench->value, sizeof(bench->value), "two \"words\"");
    run_ms(bench, 2500);
    assert_true(annotations_are(bench, "{\"x/note\":\"two \\\"words\\\"\"}"));
    assert_string_equal(bench->before, "first");
    (void)snprintf(bench->value, sizeof(bench->value), "third");
    run_ms(bench, 2500);
    assert_string_equal(bench->before, "two \"words\"");
}

/* Whoever takes it sees what stands there, and which transition its write is. */
static void taking_it_tells_what_was_there(void **state)
{
    struct bench *bench = *state;
    put_lease(
        &bench->server,
        ",\"annotations\":{\"a\":\"b\",\"x/note\":\"old\",\"c\":\"d\"},\"labels\":{\"e\":\"f\"}",
        "", 4);
    join(bench, false);
    run_ms(bench, 100);
    assert_int_equal(bench->gained, 1);
    assert_string_equal(bench->before, "old");
    assert_int_equal(bench->term_before, 4);
    assert_int_equal(bench->term, 5);
    assert_int_equal(lease_term(bench->lease), 5);
    assert_true(annotations_are(bench, "{\"a\":\"b\",\"c\":\"d\",\"x/note\":\"first\"}"));
    assert_non_null(strstr(bench->server.metadata, "\"labels\":{\"e\":\"f\"}"));
    run_ms(bench, 2500);
    assert_int_equal(bench->term_before, 5);
    assert_int_equal(bench->term, 5);
}

static void giving_it_up_keeps_the_term(void **state)
{
    struct bench *bench = *state;
    put_lease(&bench->server, "", "", 4);
    join(bench, false);
    run_ms(bench, 100);
    lease_release(bench->lease, NULL, NULL);
    run_ms(bench, 5);
    assert_int_equal(bench->term, 5);
    assert_true(annotations_are(bench, "{\"x/note\":\"first\"}"));
}

/* ---- haste ----------------------------------------------------------------------------------- */

static void what_has_changed_is_said_at_once(void **state)
{
    struct bench *bench = *state;
    join(bench, false);
    run_ms(bench, 100);
    (void)snprintf(bench->value, sizeof(bench->value), "second");
    lease_hurry(bench->lease);
    lease_hurry(bench->lease);
    run_ms(bench, 20);
    assert_int_equal(bench->server.puts, 1);
    assert_true(annotations_are(bench, "{\"x/note\":\"second\"}"));
    run_ms(bench, 1900);
    assert_int_equal(bench->server.puts, 1); /* and then again after the period */
    run_ms(bench, 200);
    assert_int_equal(bench->server.puts, 2);
}

/* What is on its way does not say it yet. */
static void haste_during_a_write_is_another_write(void **state)
{
    struct bench *bench = *state;
    join(bench, false);
    run_ms(bench, 100);
    lease_hurry(bench->lease);
    run_ms(bench, 2);
    assert_int_equal(bench->asked, 2);
    (void)snprintf(bench->value, sizeof(bench->value), "second");
    lease_hurry(bench->lease);
    run_ms(bench, 40);
    assert_int_equal(bench->asked, 3);
    assert_int_equal(bench->server.puts, 2);
    assert_true(annotations_are(bench, "{\"x/note\":\"second\"}"));
}

static void haste_with_no_answer_is_no_storm(void **state)
{
    struct bench *bench = *state;
    join(bench, false);
    run_ms(bench, 100);
    bench->fake->deaf = true;
    for (int i = 0; i < 10; i++) {
        lease_hurry(bench->lease);
        run_ms(bench, 100);
    }
    assert_int_equal(bench->asked, 2);
}

static void one_that_becomes_free_is_taken_at_once(void **state)
{
    struct bench *bench = *state;
    put_lease(&bench->server, "", "other", 4);
    join(bench, false);
    run_ms(bench, 100);
    assert_int_equal(bench->server.gets, 1);
    put_lease(&bench->server, "", "", 4);
    lease_hurry(bench->lease);
    run_ms(bench, 50);
    assert_int_equal(bench->gained, 1);
}

/* ---- Leases of one's own making -------------------------------------------------------------- */

static void a_lease_of_ones_own_is_lost_when_it_is_deleted(void **state)
{
    struct bench *bench = *state;
    join(bench, true);
    run_ms(bench, 100);
    assert_int_equal(bench->server.posts, 1);
    bench->server.exists = false;
    run_ms(bench, 2500);
    assert_int_equal(bench->lost, 1);
    assert_int_equal(bench->server.posts, 1);
}

static void any_other_is_made_again(void **state)
{
    struct bench *bench = *state;
    join(bench, false);
    run_ms(bench, 100);
    bench->server.exists = false;
    run_ms(bench, 2500);
    assert_int_equal(bench->lost, 0);
    assert_int_equal(bench->server.posts, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_lease_says_it),
        TEST(each_renewal_says_it_anew),
        TEST(taking_it_tells_what_was_there),
        TEST(giving_it_up_keeps_the_term),
        TEST(what_has_changed_is_said_at_once),
        TEST(haste_during_a_write_is_another_write),
        TEST(haste_with_no_answer_is_no_storm),
        TEST(one_that_becomes_free_is_taken_at_once),
        TEST(a_lease_of_ones_own_is_lost_when_it_is_deleted),
        TEST(any_other_is_made_again),
    };
    log_setup("test", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
