/*
 * Many gangs and not enough room: none waits for another for ever, and no room stays idle while a
 * gang that fits into it waits.
 */
#include "base/rng.h"
#include "cluster.h"

#define NODES 4
#define SLOTS (4 * NODES) /* of one CPU */
#define GANGS 60
#define STEP (20 * NSEC_PER_MSEC)
#define LIFE NSEC_PER_SEC               /* of a pod that runs */
#define IDLE_MOST (250 * NSEC_PER_MSEC) /* some cycles and the binds of a gang */

struct rivals {
    struct cluster *c;
    unsigned size[GANGS];
    int64_t ends[GANGS]; /* when the gang's pods end, 0 before all are bound */
    int64_t idle_since;  /* a gang that fits waits since then, 0: none does */
};

static char *gang_name(unsigned gang)
{
    return xasprintf("g%u", gang);
}

static void submit_all(struct rivals *r, struct rng *rng)
{
    for (unsigned i = 0; i < GANGS; i++) {
        cleanup_free char *name = gang_name(i);
        r->size[i] = 1 + (unsigned)rng_below(rng, 8);
        add_gang(r->c, name, r->size[i], "1");
    }
}

/* Pods run as soon as they are bound, and end together. */
static void play_kubelets(struct rivals *r, unsigned gang)
{
    cleanup_free char *name = gang_name(gang);
    int64_t now = loop_now(r->c->loop);
    if (!r->ends[gang] && bound(r->c, name, NULL) == r->size[gang]) {
        r->ends[gang] = now + LIFE;
        set_phase(r->c, name, "Running");
    } else if (r->ends[gang] && r->ends[gang] <= now) {
        r->ends[gang] = INT64_MAX;
        set_phase(r->c, name, "Succeeded");
    }
}

/* Slots that pods hold which run or will; `ret_least`: the smallest gang of which none is bound. */
static unsigned held(const struct rivals *r, unsigned *ret_least)
{
    unsigned slots = 0;
    *ret_least = SLOTS + 1;
    for (unsigned i = 0; i < GANGS; i++) {
        cleanup_free char *name = gang_name(i);
        unsigned count = r->ends[i] == INT64_MAX ? 0 : bound(r->c, name, NULL);
        slots += count;
        if (!r->ends[i] && count == 0 && r->size[i] < *ret_least)
            *ret_least = r->size[i];
    }
    return slots;
}

static void check_use(struct rivals *r)
{
    int64_t now = loop_now(r->c->loop);
    unsigned least, slots = held(r, &least);
    assert_true(slots <= SLOTS);
    if (slots + least > SLOTS)
        r->idle_since = 0;
    else if (!r->idle_since)
        r->idle_since = now;
    else if (now - r->idle_since > IDLE_MOST)
        fail_msg("%u of %u slots are held while a gang of %u waits", slots, SLOTS, least);
}

static bool all_ended(const struct rivals *r)
{
    for (unsigned i = 0; i < GANGS; i++)
        if (r->ends[i] != INT64_MAX)
            return false;
    return true;
}

/* G1: 60 gangs of 1 to 8 pods on 16 slots, in random order, each over after a second. */
static void many_gangs_all_end(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct rng rng;
        struct rivals r = {.c = cluster_new(NULL)};
        rng_seed(&rng, seed);
        add_nodes(r.c, NODES, SLOTS / NODES);
        submit_all(&r, &rng);
        for (unsigned steps = 0; !all_ended(&r); steps++) {
            assert_true(steps * STEP < 60 * NSEC_PER_SEC);
            for (unsigned i = 0; i < GANGS; i++)
                play_kubelets(&r, i);
            run_for(r.c, STEP);
            check_use(&r);
        }
        check(r.c);
        cluster_free(r.c);
    }
}

static void hundred_nodes(struct cluster *c)
{
    add_nodes(c, 100, 1);
}

static void cut_off_after(unsigned binds)
{
    struct cluster *c = cluster_new(NULL);
    hundred_nodes(c);
    add_gang(c, "a", 100, "1");
    for (unsigned i = binds; i < 100; i++)
        c->pod_list.items[i]->fail = -500;
    run_for(c, 10 * NSEC_PER_SEC);
    assert_int_equal(bound(c, "a", NULL), binds);
    add_gang(c, "b", 100, "1");
    for (unsigned i = binds; i < 100; i++)
        c->pod_list.items[i]->fail = 0;
    cluster_restart(c, hundred_nodes);
    run_for(c, 10 * NSEC_PER_SEC);
    assert_int_equal(bound(c, "a", NULL), 100);
    assert_int_equal(bound(c, "b", NULL), 0);
    check(c);
    cluster_free(c);
}

/* G1: of two gangs that each fill the cluster, the one that had begun when the scheduler ended goes
 * on. */
static void a_gang_cut_off_goes_first(void **state)
{
    (void)state;
    cut_off_after(1);
    cut_off_after(50);
    cut_off_after(99);
}

/* G1: two gangs that each fill the cluster, one bind in 20 fails: never are both in part. */
static void one_gang_at_a_time(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_gang(c, "a", 100, "1");
    add_gang(c, "b", 100, "1");
    for (size_t i = 0; i < c->pod_list.n; i += 20)
        c->pod_list.items[i]->fail = 500;
    hundred_nodes(c);
    for (unsigned steps = 0; steps < 500; steps++) {
        run_for(c, STEP);
        unsigned a = bound(c, "a", NULL), b = bound(c, "b", NULL);
        assert_true(a == 0 || b == 0);
    }
    assert_int_equal(bound(c, "a", NULL) + bound(c, "b", NULL), 100);
    check(c);
    cluster_free(c);
}

static void set_cordoned(struct cluster *c, bool cordoned)
{
    add_node_json(c, "n0", "", cordoned ? "\"unschedulable\":true" : "",
                  "\"cpu\":\"3\",\"pods\":\"9\"");
}

/* Its pods are evicted one after the other, and each is made again as it is gone. */
static void an_evicted_gang_queues_again(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    set_cordoned(c, false);
    struct test_group *gang = add_gang(c, "g", 3, "1");
    run(c);
    set_phase(c, "g", "Running");
    run(c);
    assert_says(gang, "\"Running\"");
    set_cordoned(c, true);
    for (size_t i = 0; i < 3; i++) {
        c->pod_list.items[i]->deleted = true;
        show_pod(c, c->pod_list.items[i]);
    }
    run(c);
    assert_says(gang, "\"Running\""); /* they are still there */
    for (size_t i = 0; i < 3; i++) {
        struct test_pod *pod = c->pod_list.items[i];
        pod->gone = true;
        show_pod(c, pod);
        add_pod_spec(c, pod->name, "g", "w", pod->spec);
        run(c);
    }
    assert_silent(gang, "\"Running\"");
    assert_int_equal(bound(c, "g", NULL), 0);
    set_cordoned(c, false);
    run(c);
    assert_int_equal(bound(c, "g", NULL), 3);
    set_phase(c, "g", "Running");
    run(c);
    assert_says(gang, "\"Running\"");
    check(c);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_gangs_all_end),
        cmocka_unit_test(a_gang_cut_off_goes_first),
        cmocka_unit_test(one_gang_at_a_time),
        cmocka_unit_test(an_evicted_gang_queues_again),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
