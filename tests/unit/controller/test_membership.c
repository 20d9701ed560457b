/*
 * Members of the active controllers with their Leases, on a virtual clock: they come, go in order
 * or not at all, and no shard is ever with two. What the state machine does by itself is in
 * test_shards.c, and what it does under any trouble in test_shards_storm.c.
 */
#include "lease_server.h"

#include "base/log.h"
#include "controller/shards/membership.h"
#include <fcntl.h>

#define MOST 4
#define MS NSEC_PER_MSEC

struct bench;

/* A process. */
struct member {
    struct bench *bench;
    struct lease_client client;
    struct window *window;
    struct lease *leader;
    struct membership *membership; /* NULL: it does not run */
    char identity[20];
    shard_set held, closing;
    struct loop_timer drain;
    int64_t drain_ns;
    bool leading, lost, left;
};

static struct bench {
    struct loop *loop;
    struct lease_server server;
    struct member members[MOST];
} bench;

/* ---- processes ------------------------------------------------------------------------------- */

static void adopt(shard_set set, void *arg)
{
    struct member *member = arg;
    for (int i = 0; i < MOST; i++)
        assert_int_equal(set & (bench.members[i].held | bench.members[i].closing), 0);
    member->held |= set;
}

static void let_go(shard_set set, void *arg)
{
    struct member *member = arg;
    assert_int_equal(set & ~member->held, 0);
    member->held &= ~set;
    member->closing |= set;
    loop_timer_set(bench.loop, &member->drain, member->drain_ns);
}

static void drain(void *arg)
{
    struct member *member = arg;
    const shard_set set = member->closing;
    member->closing = SHARDS_NONE;
    membership_drained(member->membership, set);
}

static void lost(void *arg)
{
    struct member *member = arg;
    member->lost = true;
}

static void on_leading(bool leading, void *arg)
{
    struct member *member = arg;
    member->leading = leading;
    membership_set_leading(member->membership, leading);
}

static void start(struct member *member)
{
    struct lease_config config = {
        .ns = "sys",
        .name = "vc",
        .identity = member->identity,
        .duration_ns = 15 * NSEC_PER_SEC,
        .renew_deadline_ns = 10 * NSEC_PER_SEC,
        .retry_period_ns = 2 * NSEC_PER_SEC,
    };
    (void)snprintf(member->identity, sizeof(member->identity), "p%d",
                   (int)(member - bench.members));
    loop_timer_init(&member->drain, drain, member);
    member->drain_ns = 20 * MS;
    lease_client_init(&member->client, &bench.server);
    member->window = window_new(bench.loop, &member->client.fake->base, &(struct window_config){0});
    member->membership =
        membership_new(&(struct membership_config){.loop = bench.loop,
                                                   .transport = &member->client.fake->base,
                                                   .window = member->window,
                                                   .lease = config,
                                                   .leader = &member->leader,
                                                   .adopt = adopt,
                                                   .let_go = let_go,
                                                   .lost = lost,
                                                   .arg = member});
    membership_elect(member->membership, &config);
    member->leader = lease_new(bench.loop, &member->client.fake->base, member->window, &config,
                               on_leading, member);
    membership_join(member->membership);
}

/* It ends, whatever it does. */
static void end(struct member *member)
{
    if (!member->membership)
        return;
    loop_timer_cancel(bench.loop, &member->drain);
    membership_free(member->membership);
    lease_free(member->leader);
    window_free(member->window);
    lease_client_clear(&member->client);
    *member = (struct member){.lost = member->lost, .left = member->left};
}

static void on_released(void *arg)
{
    struct member *member = arg;
    member->left = true;
}

static void on_left(void *arg)
{
    struct member *member = arg;
    lease_release(member->leader, on_released, member);
}

static void run_ms(int64_t ms)
{
    const int64_t over = loop_now(bench.loop) + ms * MS;
    while (loop_now(bench.loop) < over)
        (void)loop_turn(bench.loop, over - loop_now(bench.loop));
}

static unsigned share(const struct member *member)
{
    return (unsigned)__builtin_popcountll(member->held);
}

static int setup(void **state)
{
    *state = &bench;
    bench = (struct bench){.loop = loop_new_virtual(3, INT64_C(1800000000) * NSEC_PER_SEC)};
    bench.server.loop = bench.loop;
    bench.server.rv = 100; /* a server that has objects of other kinds */
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++)
        end(&bench.members[i]);
    lease_server_clear(&bench.server);
    loop_free(bench.loop);
    return 0;
}

static void start_some(int count)
{
    for (int i = 0; i < count; i++)
        start(&bench.members[i]);
    run_ms(3000);
}

static struct member *leader(void)
{
    for (int i = 0; i < MOST; i++)
        if (bench.members[i].leading)
            return &bench.members[i];
    fail();
    return NULL;
}

/* The name of a member's Lease. */
static char *lease_of(const struct member *member)
{
    struct str name;
    void *object;
    for (size_t i = 0; map_next(&bench.server.objects, &i, &name, &object);)
        if (!str_is(name, "vc") &&
            strcmp(json_text(json_at(object, "spec"), "holderIdentity"), member->identity) == 0)
            return str_dup(name);
    fail();
    return NULL;
}

/* ---- coming ---------------------------------------------------------------------------------- */

static void one_has_all_within_a_moment(void **state)
{
    (void)state;
    start(&bench.members[0]);
    run_ms(300);
    assert_int_equal(share(&bench.members[0]), SHARD_COUNT);
}

static void at_rest_only_leases_are_renewed(void **state)
{
    (void)state;
    start_some(3);
    const struct lease_server before = bench.server;
    run_ms(30000);
    /* Four Leases every two seconds; the two that do not lead look at the leader's, twice each. */
    assert_in_range(bench.server.puts - before.puts, 56, 62);
    assert_int_equal(bench.server.posts, before.posts);
    assert_int_equal(bench.server.deletes, 0);
    assert_in_range(bench.server.gets - before.gets, 44, 90);
    assert_int_equal(bench.server.lists, 3);
}

static void each_that_comes_gets_its_share(void **state)
{
    (void)state;
    start_some(1);
    for (int n = 2; n <= MOST; n++) {
        start(&bench.members[n - 1]);
        run_ms(600);
        for (int i = 0; i < n; i++)
            assert_in_range(share(&bench.members[i]), SHARD_COUNT / n, SHARD_COUNT / n + 1);
    }
}

static void a_shard_waits_until_it_is_drained(void **state)
{
    (void)state;
    start_some(1);
    bench.members[0].drain_ns = 3 * NSEC_PER_SEC;
    start(&bench.members[1]);
    run_ms(2500);
    assert_int_equal(share(&bench.members[0]), SHARD_COUNT / 2);
    assert_int_equal(share(&bench.members[1]), 0);
    run_ms(1500);
    assert_int_equal(share(&bench.members[1]), SHARD_COUNT / 2);
}

/* ---- going ----------------------------------------------------------------------------------- */

static void who_leaves_in_order_keeps_nobody_waiting(void **state)
{
    (void)state;
    start_some(3);
    struct member *first = leader();
    membership_leave(first->membership, on_left, first);
    run_ms(600);
    assert_true(first->left);
    end(first);
    run_ms(100);
    unsigned sum = 0;
    for (int i = 0; i < MOST; i++)
        sum += share(&bench.members[i]);
    assert_int_equal(sum, SHARD_COUNT);
    assert_ptr_not_equal(leader(), first);
    run_ms(2000);
    assert_int_equal(map_count(&bench.server.objects), 3); /* its Lease is gone as well */
}

static void who_ends_is_waited_for_until_its_lease_is_over(void **state)
{
    (void)state;
    start_some(2);
    struct member *first = leader();
    struct member *other = first == &bench.members[0] ? &bench.members[1] : &bench.members[0];
    end(first);
    run_ms(12000);
    assert_int_equal(share(other), SHARD_COUNT / 2);
    run_ms(8000);
    assert_int_equal(share(other), SHARD_COUNT);
    run_ms(2000);
    assert_int_equal(map_count(&bench.server.objects), 2);
}

static void who_comes_while_another_is_silent_gets_what_is_free(void **state)
{
    (void)state;
    start_some(3);
    struct member *dead = leader() == &bench.members[0] ? &bench.members[1] : &bench.members[0];
    end(dead);
    run_ms(1000);
    start(&bench.members[3]);
    run_ms(1000);
    assert_in_range(share(&bench.members[3]), 9, 12); /* two thirds of sixteen */
    run_ms(16000);
    assert_in_range(share(&bench.members[3]), 21, 22);
}

/* ---- trouble --------------------------------------------------------------------------------- */

static void a_lease_that_is_deleted_ends_its_process(void **state)
{
    (void)state;
    start_some(2);
    struct member *other = leader() == &bench.members[0] ? &bench.members[1] : &bench.members[0];
    cleanup_free char *name = lease_of(other);
    lease_server_remove(&bench.server, name);
    run_ms(2500);
    assert_true(other->lost);
    assert_int_equal(share(leader()), SHARD_COUNT / 2); /* it may have written until now */
    end(other);
    run_ms(17000);
    assert_int_equal(share(leader()), SHARD_COUNT);
}

static void a_first_lease_that_nobody_heard_of_is_left_behind(void **state)
{
    (void)state;
    start(&bench.members[0]);
    run_ms(1000);
    struct member *second = &bench.members[1];
    start(second);
    second->client.mute_posts = true;
    run_ms(2000);
    cleanup_free char *first_name = lease_of(second);
    run_ms(9000);
    second->client.mute_posts = second->client.fake->mute = false;
    run_ms(8000);
    assert_int_equal(share(second), SHARD_COUNT / 2);
    run_ms(30000);
    assert_false(map_has(&bench.server.objects, str_of(first_name)));
    assert_false(second->lost);
}

static void a_refusal_to_delete_is_no_storm(void **state)
{
    (void)state;
    start_some(2);
    struct member *first = leader();
    first->client.refuse_deletes = 403;
    end(first == &bench.members[0] ? &bench.members[1] : &bench.members[0]);
    run_ms(80000);
    assert_int_equal(share(first), SHARD_COUNT);
    assert_in_range(bench.server.deletes, 2, 3);
}

/* The Lease of one that ended cannot be deleted: those of others are, all the same. */
static void one_that_cannot_be_deleted_is_in_nobodys_way(void **state)
{
    (void)state;
    start_some(MOST);
    struct member *first = leader();
    cleanup_free char *undying = NULL;
    for (int i = 0; i < MOST; i++) {
        if (&bench.members[i] == first)
            continue;
        if (!undying)
            undying = lease_of(&bench.members[i]);
        end(&bench.members[i]);
    }
    first->client.refuse_deletes = 403;
    first->client.undying = undying;
    run_ms(25000);
    assert_int_equal(share(first), SHARD_COUNT);
    assert_int_equal(map_count(&bench.server.objects), 3); /* and those of the leader */
    assert_true(map_has(&bench.server.objects, str_of(undying)));
    first->client.refuse_deletes = 0;
    run_ms(30000);
    assert_int_equal(map_count(&bench.server.objects), 2);
    first->client.undying = NULL;
}

/* A map that somebody wipes, or a Lease of the leader that is gone, costs a moment. */
static void a_lost_map_is_made_anew(void **state)
{
    (void)state;
    start_some(2);
    lease_server_remove(&bench.server, "vc");
    run_ms(5000);
    assert_int_equal(share(&bench.members[0]) + share(&bench.members[1]), SHARD_COUNT);
    assert_int_equal(share(&bench.members[0]), SHARD_COUNT / 2);
}

/* Somebody who knows nothing of shards has the Lease: it does all the work. */
static void whoever_knows_no_shards_has_them_all(void **state)
{
    (void)state;
    start_some(2);
    cJSON *object = map_get(&bench.server.objects, STR("vc")), *spec = json_at(object, "spec");
    json_set(spec, "holderIdentity", cJSON_CreateString("other"));
    json_set(spec, "leaseTransitions", cJSON_CreateNumber(9));
    lease_server_stamp(&bench.server, object);
    lease_server_note(&bench.server, "MODIFIED", object);
    run_ms(100);
    assert_int_equal(share(&bench.members[0]) + share(&bench.members[1]), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_has_all_within_a_moment),
        TEST(at_rest_only_leases_are_renewed),
        TEST(each_that_comes_gets_its_share),
        TEST(a_shard_waits_until_it_is_drained),
        TEST(who_leaves_in_order_keeps_nobody_waiting),
        TEST(who_ends_is_waited_for_until_its_lease_is_over),
        TEST(who_comes_while_another_is_silent_gets_what_is_free),
        TEST(a_lease_that_is_deleted_ends_its_process),
        TEST(a_first_lease_that_nobody_heard_of_is_left_behind),
        TEST(a_refusal_to_delete_is_no_storm),
        TEST(one_that_cannot_be_deleted_is_in_nobodys_way),
        TEST(a_lost_map_is_made_anew),
        TEST(whoever_knows_no_shards_has_them_all),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
