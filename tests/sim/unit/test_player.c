/*
 * Played nodes and pods.
 */
#include "sim.h"

#include "front/player.h"

#define NODES "/api/v1/nodes"

static struct sim_player *player;

static int begin(void **state)
{
    if (sim_begin(state) < 0)
        return -1;
    struct sim *sim = *state;
    player = sim_player_new(sim->loop, sim->server);
    return sim_post(sim, NODES, "{\"metadata\":{\"name\":\"a\"}}") == 201 ? 0 : -1;
}

static int end(void **state)
{
    sim_player_free(player);
    return sim_end(state);
}

/* A pod with these words and labels. */
static void make(struct sim *sim, const char *words, const char *labels)
{
    assert_int_equal(
        sim_post(
            sim, PODS,
            sim_text(sim,
                     "{\"metadata\":{\"name\":\"p\",\"labels\":{%s}},\"spec\":{\"containers\":["
                     "{\"name\":\"c\",\"image\":\"i\",\"command\":[%s]}]}}",
                     labels, words)),
        201);
}

static void bind_pod(struct sim *sim)
{
    assert_int_equal(sim_post(sim, PODS "/p/binding",
                              "{\"metadata\":{\"name\":\"p\"},\"target\":{\"name\":\"a\"}}"),
                     201);
}

static struct str phase(struct sim *sim)
{
    assert_int_equal(sim_get(sim, PODS "/p"), 200);
    return sim_at(sim, "status.phase");
}

static void assert_ready(struct sim *sim)
{
    sim_wait(sim, NSEC_PER_MSEC);
    assert_int_equal(sim_get(sim, NODES "/a"), 200);
    assert_str(doc_str_at(doc_at(sim->body, "status.conditions")->first, "type"), "Ready");
    assert_str(doc_str_at(doc_at(sim->body, "status.conditions")->first, "status"), "True");
}

static void test_a_node_is_kept_ready(void **state)
{
    struct sim *sim = *state;
    assert_ready(sim);
    assert_int_equal(sim_merge(sim, NODES "/a/status",
                               "{\"status\":{\"conditions\":[{\"type\":\"Ready\","
                               "\"status\":\"False\"}]}}"),
                     200);
    assert_ready(sim);
    uint64_t rv = sim_server_rv(sim->server);
    sim_wait(sim, 100 * NSEC_PER_SEC);
    assert_int_equal(sim_server_rv(sim->server), rv);
}

static void test_a_pod_waits_for_its_node_and_runs(void **state)
{
    struct sim *sim = *state;
    make(sim, "", "");
    sim_wait(sim, 5 * NSEC_PER_SEC);
    assert_str(phase(sim), "Pending");
    bind_pod(sim);
    sim_wait(sim, 290 * NSEC_PER_MSEC);
    assert_str(phase(sim), "Pending");
    sim_wait(sim, 20 * NSEC_PER_MSEC);
    assert_str(phase(sim), "Running");
    assert_str(sim_at(sim, "status.podIP"), "10.64.0.1");
    sim_wait(sim, 1000 * NSEC_PER_SEC);
    assert_str(phase(sim), "Running"); /* it has no words */
}

static void test_how_pods_end(void **state)
{
    struct sim *sim = *state;
    static const struct {
        const char *words;
        int seconds;
        int64_t code;
    } cases[] = {
        {"\"sh\",\"-c\",\"sleep 5; exit 7\"", 5, 7},
        {"\"sh\",\"-c\",\"sleep 20\"", 20, 0},
        {"\"exit 4\"", 3, 4},
        {"\"fooxyz\"", 3, 127},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        make(sim, cases[i].words, "");
        bind_pod(sim);
        sim_wait(sim, (cases[i].seconds - 1) * NSEC_PER_SEC);
        assert_str(phase(sim), "Running");
        sim_wait(sim, 2 * NSEC_PER_SEC);
        assert_str(phase(sim), cases[i].code ? "Failed" : "Succeeded");
        const struct doc *first = doc_at(sim->body, "status.containerStatuses")->first;
        assert_int_equal(doc_i64(doc_at(first, "state.terminated.exitCode"), -1), cases[i].code);
        (void)sim_remove(sim, PODS "/p", "");
        sim_wait(sim, NSEC_PER_SEC);
        assert_int_equal(sim_get(sim, PODS "/p"), 404);
    }
}

static void test_how_pods_go(void **state)
{
    struct sim *sim = *state;
    make(sim, "\"trap '' TERM; sleep 1000\"", "");
    bind_pod(sim);
    sim_wait(sim, NSEC_PER_SEC);
    assert_int_equal(sim_remove(sim, PODS "/p", ""), 200);
    sim_wait(sim, 28 * NSEC_PER_SEC);
    assert_int_equal(sim_get(sim, PODS "/p"), 200);
    sim_wait(sim, 3 * NSEC_PER_SEC);
    assert_int_equal(sim_get(sim, PODS "/p"), 404);
    make(sim, "\"sleep 1000\"", "\"kubelet\":\"test\"");
    bind_pod(sim);
    sim_wait(sim, NSEC_PER_SEC);
    assert_int_equal(sim_remove(sim, PODS "/p", ""), 200);
    sim_wait(sim, 100 * NSEC_PER_SEC);
    assert_int_equal(sim_get(sim, PODS "/p"), 200);
}

#define PLAYED(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAYED(test_a_node_is_kept_ready),
        PLAYED(test_a_pod_waits_for_its_node_and_runs),
        PLAYED(test_how_pods_end),
        PLAYED(test_how_pods_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
