/*
 * Leader election on a virtual clock against a Lease in memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "fake_transport.h"
#include "kube/lease.h"
#include "json/reader.h"
#include <stdio.h>

#define WALL INT64_C(1795975869123456000) /* 2026-11-29T18:11:09.123456Z */
#define PATH "/apis/coordination.k8s.io/v1/namespaces/sys/leases"

/* ---- a server with one Lease ----------------------------------------------------------------- */

struct server {
    bool exists, no_namespace;
    uint64_t rv;
    char labels[100]; /* raw JSON */
    char spec[1000];  /* raw JSON */
    char last_body[3000];
    unsigned posts, puts, gets;
};

static void answer_lease(const struct server *server, struct buf *body)
{
    (void)buf_printf(body,
                     "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\",\"namespace\":\"sys\","
                     "\"resourceVersion\":\"%llu\",\"labels\":%s},\"spec\":%s}",
                     (unsigned long long)server->rv, server->labels, server->spec);
}

static int answer_status(struct buf *body, int code, const char *reason)
{
    (void)buf_printf(body, "{\"kind\":\"Status\",\"reason\":\"%s\",\"message\":\"%s\",\"code\":%d}",
                     reason, reason, code);
    return code;
}

/* The raw member of an object, or an empty slice. */
static struct str member(struct str json, const char *name)
{
    struct json_reader r;
    struct str key, raw, found = STR_NULL;
    json_init(&r, json, NULL);
    bool present = json_object(&r);
    while (present && json_key(&r, &key)) {
        raw = json_raw(&r);
        if (str_is(key, name))
            found = raw;
    }
    assert_false(json_failed(&r));
    return found;
}

static void set_spec(struct server *server, const char *spec)
{
    (void)snprintf(server->spec, sizeof(server->spec), "%s", spec);
    server->rv++;
    server->exists = true;
}

static int accept_write(struct server *server, const struct kube_call_spec *spec, struct buf *body)
{
    struct str text = member(spec->body, "spec");
    (void)snprintf(server->last_body, sizeof(server->last_body), "%.*s", STR_ARG(spec->body));
    (void)snprintf(server->spec, sizeof(server->spec), "%.*s", STR_ARG(text));
    server->exists = true;
    server->rv++;
    answer_lease(server, body);
    return spec->method == KUBE_POST ? 201 : 200;
}

static int serve_put(struct server *server, const struct kube_call_spec *spec, struct buf *body)
{
    char rv[30];
    server->puts++;
    if (!server->exists)
        return answer_status(body, 404, "NotFound");
    (void)snprintf(rv, sizeof(rv), "\"%llu\"", (unsigned long long)server->rv);
    struct str metadata = member(spec->body, "metadata");
    if (!str_is(member(metadata, "resourceVersion"), rv))
        return answer_status(body, 409, "Conflict");
    struct str labels = member(metadata, "labels");
    (void)snprintf(server->labels, sizeof(server->labels), "%.*s", STR_ARG(labels));
    return accept_write(server, spec, body);
}

static int serve_post(struct server *server, const struct kube_call_spec *spec, struct buf *body)
{
    server->posts++;
    if (server->no_namespace)
        return answer_status(body, 404, "NotFound");
    if (server->exists)
        return answer_status(body, 409, "AlreadyExists");
    assert_true(str_is(spec->path, PATH));
    return accept_write(server, spec, body);
}

static int serve(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    struct server *server = arg;
    if (spec->method == KUBE_POST)
        return serve_post(server, spec, body);
    assert_true(str_is(spec->path, PATH "/l"));
    if (spec->method == KUBE_PUT)
        return serve_put(server, spec, body);
    server->gets++;
    if (!server->exists)
        return answer_status(body, 404, "NotFound");
    answer_lease(server, body);
    return 200;
}

static bool spec_is(const struct server *server, const char *field, const char *raw)
{
    return str_is(member(str_of(server->spec), field), raw);
}

/* ---- candidates ------------------------------------------------------------------------------ */

struct candidate {
    struct fake_transport *fake;
    struct window *window;
    struct lease *lease;
    char identity[20];
    bool leading;
    unsigned gained, lost;
    bool released;
};

struct bench {
    struct loop *loop;
    struct server server;
    struct candidate a, b;
};

static void on_changed(bool leading, void *arg)
{
    struct candidate *candidate = arg;
    assert_true(candidate->leading != leading);
    candidate->leading = leading;
    candidate->gained += leading ? 1 : 0;
    candidate->lost += leading ? 0 : 1;
}

static void join(struct bench *bench, struct candidate *candidate, const char *identity)
{
    const struct window_config limits = {0};
    (void)snprintf(candidate->identity, sizeof(candidate->identity), "%s", identity);
    candidate->fake = fake_new(bench->loop, serve, &bench->server);
    candidate->window = window_new(bench->loop, &candidate->fake->base, &limits);
    const struct lease_config config = {
        .ns = "sys",
        .name = "l",
        .identity = candidate->identity,
        .duration_ns = 15 * NSEC_PER_SEC,
        .renew_deadline_ns = 10 * NSEC_PER_SEC,
        .retry_period_ns = 2 * NSEC_PER_SEC,
    };
    candidate->lease = lease_new(bench->loop, &candidate->fake->base, candidate->window, &config,
                                 on_changed, candidate);
}

static void leave(struct candidate *candidate)
{
    lease_free(candidate->lease);
    candidate->lease = NULL;
    if (candidate->window)
        window_free(candidate->window);
    candidate->window = NULL;
    if (candidate->fake)
        kube_transport_free(&candidate->fake->base);
    candidate->fake = NULL;
    candidate->leading = false;
}

static int set_up(void **state)
{
    struct bench *bench = xnew(struct bench);
    bench->loop = loop_new_virtual(7, WALL);
    (void)snprintf(bench->server.labels, sizeof(bench->server.labels), "{\"x\":\"y\"}");
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    leave(&bench->a);
    leave(&bench->b);
    loop_free(bench->loop);
    free(bench);
    return 0;
}

static bool held(const struct candidate *candidate)
{
    return candidate->lease && lease_held(candidate->lease, 0);
}

static void run(struct bench *bench, int64_t ns)
{
    int64_t end = loop_now(bench->loop) + ns;
    bool more = true;
    while (more && loop_now(bench->loop) < end) {
        more = loop_turn(bench->loop, end - loop_now(bench->loop));
        assert_false(held(&bench->a) && held(&bench->b));
    }
}

static void run_s(struct bench *bench, double seconds)
{
    run(bench, (int64_t)(seconds * (double)NSEC_PER_SEC));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void creates_the_lease_and_renews_it(void **state)
{
    struct bench *bench = *state;
    join(bench, &bench->a, "a_1");
    run_s(bench, 0.1);
    assert_true(bench->a.leading);
    assert_true(lease_held(bench->a.lease, 14 * NSEC_PER_SEC));
    assert_false(lease_held(bench->a.lease, 15 * NSEC_PER_SEC));
    assert_string_equal(bench->server.last_body,
                        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                        "\"metadata\":{\"namespace\":\"sys\",\"name\":\"l\"},"
                        "\"spec\":{\"holderIdentity\":\"a_1\",\"leaseDurationSeconds\":15,"
                        "\"acquireTime\":\"2026-11-29T18:11:09.133456Z\","
                        "\"renewTime\":\"2026-11-29T18:11:09.133456Z\",\"leaseTransitions\":0}}");
    run_s(bench, 20);
    assert_in_range(bench->server.puts, 9, 11);
    assert_int_equal(bench->server.gets, 1);
    assert_int_equal(bench->server.posts, 1);
    assert_true(spec_is(&bench->server, "acquireTime", "\"2026-11-29T18:11:09.133456Z\""));
    assert_false(spec_is(&bench->server, "renewTime", "\"2026-11-29T18:11:09.133456Z\""));
    assert_true(spec_is(&bench->server, "leaseTransitions", "0"));
    assert_int_equal(bench->a.gained, 1);
    assert_int_equal(bench->a.lost, 0);
}

/* Whatever its timestamps say, a Lease is over only when it did not change for its duration. */
static void waits_by_its_own_clock(void **state)
{
    static const char *const times[] = {"2001-01-01T00:00:00.000000Z",
                                        "2099-01-01T00:00:00.000000Z"};
    struct bench *bench = *state;
    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        char spec[300];
        (void)snprintf(spec, sizeof(spec),
                       "{\"holderIdentity\":\"other\",\"leaseDurationSeconds\":20,"
                       "\"acquireTime\":\"%s\",\"renewTime\":\"%s\",\"leaseTransitions\":4}",
                       times[i], times[i]);
        set_spec(&bench->server, spec);
        join(bench, &bench->a, "a_1");
        run_s(bench, 19.9);
        assert_false(bench->a.leading);
        assert_int_equal(bench->server.puts, i);
        run_s(bench, 0.3);
        assert_true(bench->a.leading);
        assert_true(spec_is(&bench->server, "leaseTransitions", "5"));
        assert_true(spec_is(&bench->server, "leaseDurationSeconds", "15"));
        leave(&bench->a);
    }
}

static void a_live_holder_keeps_it(void **state)
{
    struct bench *bench = *state;
    join(bench, &bench->a, "a_1");
    for (int i = 0; i < 20; i++) {
        char spec[200];
        (void)snprintf(spec, sizeof(spec),
                       "{\"holderIdentity\":\"other\",\"leaseDurationSeconds\":15,"
                       "\"renewTime\":\"2026-01-01T00:00:%02d.000000Z\"}",
                       i);
        set_spec(&bench->server, spec);
        run_s(bench, 10);
        assert_false(bench->a.leading);
    }
    run_s(bench, 8);
    assert_true(bench->a.leading);
}

static void loses_it_at_the_renew_deadline(void **state)
{
    struct bench *bench = *state;
    join(bench, &bench->a, "a_1");
    run_s(bench, 4.5);
    for (unsigned puts = bench->server.puts; bench->server.puts == puts;)
        run_s(bench, 0.01);
    run_s(bench, 0.01); /* that renewal has been answered, and was sent 0.01 to 0.02 s ago */
    bench->a.fake->mute = true;
    run_s(bench, 9.97);
    assert_true(bench->a.leading);
    assert_true(lease_held(bench->a.lease, 5 * NSEC_PER_SEC));
    assert_false(lease_held(bench->a.lease, 5030 * NSEC_PER_MSEC));
    run_s(bench, 0.03);
    assert_false(bench->a.leading);
    assert_false(lease_held(bench->a.lease, -15 * NSEC_PER_SEC));
    bench->a.fake->mute = false;
    run_s(bench, 8);
    assert_true(bench->a.leading);
    assert_int_equal(bench->a.lost, 1);
}

static void survives_a_lost_answer(void **state)
{
    struct bench *bench = *state;
    join(bench, &bench->a, "a_1");
    run_s(bench, 4.5);
    for (int i = 0; i < 5; i++) {
        bench->a.fake->mute = true;
        run_s(bench, 2.1);
        bench->a.fake->mute = false;
        run_s(bench, 10);
    }
    assert_true(bench->a.leading);
    assert_int_equal(bench->a.lost, 0);
}

static void takes_a_create_in_doubt_as_its_own(void **state)
{
    struct bench *bench = *state;
    join(bench, &bench->a, "a_1");
    run_s(bench, 0.016); /* the POST has been handled or is about to be */
    bench->a.fake->mute = true;
    run_s(bench, 1);
    assert_false(bench->a.leading);
    bench->a.fake->mute = false;
    run_s(bench, 8);
    assert_true(bench->a.leading);
    assert_true(spec_is(&bench->server, "leaseTransitions", "0"));
}

static void keeps_what_others_put_into_metadata(void **state)
{
    struct bench *bench = *state;
    join(bench, &bench->a, "a_1");
    run_s(bench, 3);
    (void)snprintf(bench->server.labels, sizeof(bench->server.labels), "{\"new\":\"label\"}");
    bench->server.rv++;
    run_s(bench, 3);
    assert_true(bench->a.leading);
    assert_int_equal(bench->a.lost, 0);
    assert_string_equal(bench->server.labels, "{\"new\":\"label\"}");
    assert_int_equal(bench->server.gets, 2);
}

static void yields_when_another_took_it(void **state)
{
    struct bench *bench = *state;
    join(bench, &bench->a, "a_1");
    run_s(bench, 3);
    set_spec(&bench->server, "{\"holderIdentity\":\"thief\",\"leaseDurationSeconds\":15}");
    run_s(bench, 1.5);
    assert_false(bench->a.leading);
    assert_true(spec_is(&bench->server, "holderIdentity", "\"thief\""));
    run_s(bench, 13);
    assert_false(bench->a.leading);
    run_s(bench, 2.5);
    assert_true(bench->a.leading);
}

static void makes_a_deleted_lease_again(void **state)
{
    struct bench *bench = *state;
    join(bench, &bench->a, "a_1");
    run_s(bench, 3);
    bench->server.exists = false;
    bench->server.rv++;
    run_s(bench, 2);
    assert_true(bench->server.exists);
    assert_true(bench->a.leading);
    assert_int_equal(bench->a.lost, 0);
}

static void does_not_spin_without_a_namespace(void **state)
{
    struct bench *bench = *state;
    join(bench, &bench->a, "a_1");
    run_s(bench, 3);
    bench->server.exists = false;
    bench->server.no_namespace = true;
    unsigned before = bench->a.fake->requests;
    run_s(bench, 60);
    assert_in_range(bench->a.fake->requests - before, 20, 65);
    assert_false(bench->a.leading);
}

static void an_unreadable_lease_is_left_alone(void **state)
{
    struct bench *bench = *state;
    set_spec(&bench->server, "{\"holderIdentity\":7}");
    join(bench, &bench->a, "a_1");
    run_s(bench, 60);
    assert_false(bench->a.leading);
    assert_int_equal(bench->server.puts, 0);
    assert_in_range(bench->server.gets, 25, 32);
}

static void on_released(void *arg)
{
    struct candidate *candidate = arg;
    assert_false(candidate->released);
    candidate->released = true;
}

static void release_hands_over_at_once(void **state)
{
    struct bench *bench = *state;
    join(bench, &bench->a, "a_1");
    run_s(bench, 1);
    join(bench, &bench->b, "b_1");
    run_s(bench, 5);
    assert_true(bench->a.leading);
    lease_release(bench->a.lease, on_released, &bench->a);
    assert_false(bench->a.released);
    assert_false(lease_held(bench->a.lease, 0));
    run_s(bench, 0.1);
    assert_true(bench->a.released);
    assert_true(spec_is(&bench->server, "holderIdentity", "\"\""));
    assert_true(spec_is(&bench->server, "leaseDurationSeconds", "1"));
    assert_true(spec_is(&bench->server, "leaseTransitions", "0"));
    run_s(bench, 2.5);
    assert_true(bench->b.leading);
    assert_true(spec_is(&bench->server, "leaseTransitions", "1"));
    assert_int_equal(bench->a.lost, 0);
}

static void release_while_renewing_waits_for_it(void **state)
{
    struct bench *bench = *state;
    join(bench, &bench->a, "a_1");
    bench->a.fake->latency_ns = 400 * NSEC_PER_MSEC;
    run_s(bench, 4.9); /* renewals at 2 s after 0.0, each under way for 0.4 s */
    while (list_empty(&bench->a.fake->calls))
        run_s(bench, 0.1);
    lease_release(bench->a.lease, on_released, &bench->a);
    run_s(bench, 1);
    assert_true(bench->a.released);
    assert_true(spec_is(&bench->server, "holderIdentity", "\"\""));
}

static void release_ends_without_an_answer(void **state)
{
    struct bench *bench = *state;
    join(bench, &bench->a, "a_1");
    run_s(bench, 3);
    bench->a.fake->deaf = true;
    lease_release(bench->a.lease, on_released, &bench->a);
    run_s(bench, 4.9);
    assert_false(bench->a.released);
    run_s(bench, 0.2);
    assert_true(bench->a.released);
}

static void release_without_the_lease_writes_nothing(void **state)
{
    struct bench *bench = *state;
    set_spec(&bench->server, "{\"holderIdentity\":\"other\",\"leaseDurationSeconds\":15}");
    join(bench, &bench->a, "a_1");
    run_s(bench, 3);
    lease_release(bench->a.lease, on_released, &bench->a);
    assert_false(bench->a.released);
    run_s(bench, 30);
    assert_true(bench->a.released);
    assert_int_equal(bench->server.puts, 0);
}

static void a_standby_takes_over_from_the_dead(void **state)
{
    struct bench *bench = *state;
    join(bench, &bench->a, "a_1");
    run_s(bench, 1);
    join(bench, &bench->b, "b_1");
    run_s(bench, 10);
    leave(&bench->a);
    run_s(bench, 12.5);
    assert_false(bench->b.leading);
    run_s(bench, 5);
    assert_true(bench->b.leading);
}

/* However the standby's looks and the holder's renewals lie to each other, it sees each of these
 * soon after it came, without looking all the time; so it takes over as soon as the duration
 * allows. */
static void a_standby_keeps_step_with_the_holder(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 20; i++) {
        join(bench, &bench->a, "a_1");
        run_s(bench, 20); /* the one before is over */
        assert_true(bench->a.leading);
        run_s(bench, 0.1 * i);
        join(bench, &bench->b, "b_1");
        run_s(bench, 10);
        const unsigned gets = bench->server.gets;
        run_s(bench, 60);
        assert_in_range(bench->server.gets - gets, 30, 90);
        for (unsigned puts = bench->server.puts; bench->server.puts == puts;)
            run_s(bench, 0.01);
        leave(&bench->a); /* with its last renewal just through */
        run_s(bench, 14.95);
        assert_false(bench->b.leading);
        run_s(bench, 0.45);
        assert_true(bench->b.leading);
        leave(&bench->b);
    }
}

/* It does so from the first renewal on: a standby may be needed as soon as it is there. */
static void a_new_standby_is_in_step_at_once(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 20; i++) {
        join(bench, &bench->a, "a_1");
        run_s(bench, 20 + 0.1 * i); /* the one before is over */
        assert_true(bench->a.leading);
        join(bench, &bench->b, "b_1");
        for (unsigned n = 0, puts = bench->server.puts; n < 2; puts = bench->server.puts, n++)
            while (bench->server.puts == puts)
                run_s(bench, 0.01);
        leave(&bench->a);
        run_s(bench, 14.95);
        assert_false(bench->b.leading);
        run_s(bench, 0.45);
        assert_true(bench->b.leading);
        leave(&bench->b);
    }
}

/* Whatever is lost or late, never two hold it; and when all is well, one does. */
static void never_two(void **state)
{
    struct bench *bench = *state;
    struct rng *rng = loop_rng(bench->loop);
    join(bench, &bench->a, "a_1");
    join(bench, &bench->b, "b_1");
    unsigned changes = 0;
    for (int i = 0; i < 3000; i++) {
        struct candidate *candidate = rng_below(rng, 2) ? &bench->a : &bench->b;
        candidate->fake->mute = rng_below(rng, 3) == 0;
        candidate->fake->deaf = rng_below(rng, 4) == 0;
        candidate->fake->refusing = rng_below(rng, 5) == 0;
        candidate->fake->latency_ns = (int64_t)rng_below(rng, 6) * NSEC_PER_SEC;
        run(bench, (int64_t)rng_below(rng, 20) * NSEC_PER_SEC);
        changes = bench->a.gained + bench->b.gained;
    }
    assert_true(changes > 100);
    struct candidate *both[] = {&bench->a, &bench->b};
    for (size_t i = 0; i < 2; i++) {
        both[i]->fake->mute = both[i]->fake->deaf = both[i]->fake->refusing = false;
        both[i]->fake->latency_ns = NSEC_PER_MSEC;
    }
    run_s(bench, 40);
    assert_true(held(&bench->a) != held(&bench->b));
}

static void identities_differ(void **state)
{
    struct bench *bench = *state;
    char one[LEASE_IDENTITY_MAX], two[LEASE_IDENTITY_MAX];
    lease_identity(one, loop_rng(bench->loop));
    lease_identity(two, loop_rng(bench->loop));
    assert_string_not_equal(one, two);
    const char *uuid = strrchr(one, '_');
    assert_non_null(uuid);
    assert_int_equal(strlen(uuid + 1), 36);
    assert_int_equal(uuid[1 + 14], '4');
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(creates_the_lease_and_renews_it),
        TEST(waits_by_its_own_clock),
        TEST(a_live_holder_keeps_it),
        TEST(loses_it_at_the_renew_deadline),
        TEST(survives_a_lost_answer),
        TEST(takes_a_create_in_doubt_as_its_own),
        TEST(keeps_what_others_put_into_metadata),
        TEST(yields_when_another_took_it),
        TEST(makes_a_deleted_lease_again),
        TEST(does_not_spin_without_a_namespace),
        TEST(an_unreadable_lease_is_left_alone),
        TEST(release_hands_over_at_once),
        TEST(release_while_renewing_waits_for_it),
        TEST(release_ends_without_an_answer),
        TEST(release_without_the_lease_writes_nothing),
        TEST(a_standby_takes_over_from_the_dead),
        TEST(a_standby_keeps_step_with_the_holder),
        TEST(a_new_standby_is_in_step_at_once),
        TEST(never_two),
        TEST(identities_differ),
    };
    log_set_fd(-1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
