/*
 * The transport to the server: what becomes of calls on their way, and that a reflector of
 * common/kube follows the server through all of it.
 */
#include "sim.h"

#include "base/log.h"
#include "front/transport.h"
#include "kube/reflector.h"

struct answer {
    unsigned calls;
    struct kube_result last; /* its body is gone */
    struct str body;         /* in the arena of the test */
    struct sim *sim;
};

static void on_done(const struct kube_result *result, void *arg)
{
    struct answer *answer = arg;
    answer->calls++;
    answer->last = *result;
    answer->body = arena_str(&answer->sim->arena, result->body);
}

static struct sim_fate fate; /* of the next calls */

static struct sim_fate given_fate(const struct kube_call_spec *spec, void *arg)
{
    (void)spec;
    (void)arg;
    return fate;
}

static struct kube_transport *transport_to(struct sim *sim, sim_judge_fn *judge)
{
    return sim_transport_new(&(struct sim_transport_options){.loop = sim->loop,
                                                             .server = sim->server,
                                                             .latency_ns = 10 * NSEC_PER_MSEC,
                                                             .judge = judge});
}

static struct kube_call *send(struct sim *sim, struct kube_transport *transport,
                              struct answer *answer, enum kube_method method, const char *path,
                              const char *body)
{
    answer->sim = sim;
    return kube_start(transport, &(struct kube_call_spec){.method = method,
                                                          .path = str_of(path),
                                                          .body = str_of(body),
                                                          .timeout_ns = NSEC_PER_SEC,
                                                          .on_done = on_done,
                                                          .arg = answer});
}

static void test_a_call(void **state)
{
    struct sim *sim = *state;
    struct kube_transport *transport = transport_to(sim, NULL);
    struct answer made = {0}, again = {0};
    (void)send(sim, transport, &made, KUBE_POST, PODS, POD("x"));
    assert_int_equal(sim_get(sim, PODS "/x"), 404); /* it is on its way */
    sim_wait(sim, 5 * NSEC_PER_MSEC);
    assert_int_equal(sim_get(sim, PODS "/x"), 200);
    assert_int_equal(made.calls, 0);
    sim_wait(sim, 5 * NSEC_PER_MSEC);
    assert_int_equal(made.calls, 1);
    assert_int_equal(made.last.outcome, KUBE_ANSWERED);
    assert_int_equal(made.last.status, 201);
    assert_int_equal(made.last.latency_ns, 10 * NSEC_PER_MSEC);
    assert_true(str_starts(made.body, STR("{\"kind\":\"Pod\",")));
    (void)send(sim, transport, &again, KUBE_POST, PODS, POD("x"));
    sim_wait(sim, NSEC_PER_SEC);
    assert_int_equal(again.last.status, 409);
    assert_int_equal(again.last.error.cls, ERROR_EXISTS);
    kube_transport_free(transport);
}

static void test_what_may_befall_a_call(void **state)
{
    struct sim *sim = *state;
    struct kube_transport *transport = transport_to(sim, given_fate);
    struct answer lost = {0}, mute = {0}, refused = {0}, other = {0}, read = {0};
    fate = (struct sim_fate){.lost_there = true};
    (void)send(sim, transport, &lost, KUBE_POST, PODS, POD("lost"));
    (void)send(sim, transport, &read, KUBE_GET, PODS, "");
    fate = (struct sim_fate){.lost_back = true};
    (void)send(sim, transport, &mute, KUBE_POST, PODS, POD("mute"));
    fate = (struct sim_fate){.refused = true};
    (void)send(sim, transport, &refused, KUBE_POST, PODS, POD("refused"));
    fate = (struct sim_fate){.status = 503, .body = "{}"};
    (void)send(sim, transport, &other, KUBE_POST, PODS, POD("other"));
    sim_wait(sim, 500 * NSEC_PER_MSEC);
    assert_int_equal(lost.calls + mute.calls, 0);
    assert_int_equal(refused.last.outcome, KUBE_NOT_SENT);
    assert_int_equal(other.last.status, 503);
    assert_int_equal(other.last.error.cls, ERROR_RETRY);
    sim_wait(sim, NSEC_PER_SEC);
    assert_int_equal(lost.last.outcome, KUBE_IN_DOUBT);
    assert_int_equal(mute.last.outcome, KUBE_IN_DOUBT);
    assert_int_equal(read.last.outcome, KUBE_NOT_SENT);
    assert_int_equal(sim_get(sim, PODS), 200);
    assert_str(sim_names(sim), "mute");
    kube_transport_free(transport);
}

static void test_what_is_cancelled_arrives(void **state)
{
    struct sim *sim = *state;
    struct kube_transport *transport = transport_to(sim, given_fate);
    struct answer answer = {0}, late = {0};
    fate = (struct sim_fate){.there_ns = NSEC_PER_SEC / 2};
    kube_cancel(transport, send(sim, transport, &answer, KUBE_POST, PODS, POD("x")));
    fate = (struct sim_fate){.there_ns = 3 * NSEC_PER_SEC};
    (void)send(sim, transport, &late, KUBE_POST, PODS, POD("y"));
    sim_wait(sim, 2 * NSEC_PER_SEC);
    assert_int_equal(answer.calls, 0);
    assert_int_equal(late.last.outcome, KUBE_IN_DOUBT);
    assert_int_equal(sim_get(sim, PODS), 200);
    assert_str(sim_names(sim), "x");
    sim_wait(sim, 2 * NSEC_PER_SEC);
    assert_int_equal(late.calls, 1);
    assert_int_equal(sim_get(sim, PODS), 200);
    assert_str(sim_names(sim), "x y");
    kube_transport_free(transport);
}

/* ---- a reflector ----------------------------------------------------------------------------- */

static void meta_free(void *object)
{
    kube_meta_clear(object);
    free(object);
}

static void *meta_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct kube_meta *meta = xnew(struct kube_meta);
    struct json_reader reader;
    struct str key;
    json_init(&reader, raw, &arena);
    for (bool open = json_object(&reader); open && json_key(&reader, &key);) {
        if (str_is(key, "metadata"))
            kube_meta_read(&reader, meta, NULL);
        else
            json_skip(&reader);
    }
    if (json_end(&reader, err) == 0)
        return meta;
    meta_free(meta);
    return NULL;
}

static const struct store_type meta_type = {"ConfigMap", meta_decode, meta_free};

/* The store holds what the server does. */
static void assert_follows(struct sim *sim, const struct store *store)
{
    size_t count = 0;
    assert_int_equal(sim_get(sim, CONFIGMAPS "?labelSelector=on"), 200);
    for (doc_each(item, doc_get(sim->body, STR("items")))) {
        const struct kube_meta *meta =
            store_get(store, STR("n"), doc_str_at(item, "metadata.name"));
        assert_non_null(meta);
        assert_str(doc_str_at(item, "metadata.uid"), meta->uid);
        assert_str(doc_str_at(item, "metadata.resourceVersion"),
                   sim_text(sim, "%llu", (unsigned long long)meta->rv));
        count++;
    }
    assert_int_equal(store_count(store), count);
}

/* Somebody does something to one of forty objects. */
static void stir(struct sim *sim, struct rng *rng)
{
    unsigned n = (unsigned)rng_below(rng, 40);
    const char *path = sim_text(sim, CONFIGMAPS "/c%u", n);
    switch (rng_below(rng, 5)) {
    case 0:
        (void)sim_remove(sim, path, "");
        break;
    case 1:
        (void)sim_merge(sim, path, "{\"metadata\":{\"labels\":{\"on\":null}}}");
        break;
    case 2:
        (void)sim_merge(sim, path, "{\"metadata\":{\"labels\":{\"on\":\"1\"}}}");
        break;
    case 3:
        (void)sim_merge(
            sim, path,
            sim_text(sim, "{\"data\":{\"x\":\"%llu\"}}", (unsigned long long)rng_next(rng)));
        break;
    default:
        (void)sim_post(
            sim, CONFIGMAPS,
            sim_text(sim, "{\"metadata\":{\"name\":\"c%u\",\"labels\":{\"on\":\"\"}}}", n));
    }
}

static struct rng *trouble; /* NULL: there is none */

static struct sim_fate random_fate(const struct kube_call_spec *spec, void *arg)
{
    struct sim_fate one = {.there_ns = NSEC_PER_MSEC, .back_ns = NSEC_PER_MSEC};
    (void)spec;
    (void)arg;
    if (!trouble)
        return one;
    one.there_ns += (int64_t)rng_below(trouble, 200) * NSEC_PER_MSEC;
    one.back_ns += (int64_t)rng_below(trouble, 200) * NSEC_PER_MSEC;
    one.lost_there = rng_below(trouble, 20) == 0;
    one.lost_back = rng_below(trouble, 20) == 0;
    one.refused = rng_below(trouble, 20) == 0;
    one.status = rng_below(trouble, 20) == 0 ? 500 : rng_below(trouble, 20) == 0 ? 410 : 0;
    one.body = "{}";
    return one;
}

static void follow_through_trouble(struct sim *sim, uint64_t seed)
{
    struct rng rng;
    struct store *store = store_new(&meta_type);
    struct kube_transport *transport = transport_to(sim, random_fate);
    struct reflector *reflector = reflector_new(
        sim->loop, transport, store,
        &(struct reflector_spec){.path = "/api/v1/configmaps", .label_selector = "on"});
    rng_seed(&rng, seed);
    trouble = &rng;
    for (int step = 0; step < 300; step++) {
        stir(sim, &rng);
        sim_wait(sim, (int64_t)rng_below(&rng, 400) * NSEC_PER_MSEC);
        if (rng_below(&rng, 20) == 0)
            sim_transport_drop_streams(transport);
        if (rng_below(&rng, 40) == 0)
            sim_server_compact(sim->server);
        arena_reset(&sim->arena);
    }
    trouble = NULL;
    sim_wait(sim, 120 * NSEC_PER_SEC);
    assert_follows(sim, store);
    stir(sim, &rng); /* and goes on */
    sim_wait(sim, NSEC_PER_SEC);
    assert_follows(sim, store);
    reflector_free(reflector);
    kube_transport_free(transport);
    store_free(store);
}

static void test_a_reflector_follows(void **state)
{
    struct sim *sim = *state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        follow_through_trouble(sim, seed);
}

static void test_pages_for_a_reflector(void **state)
{
    struct sim *sim = *state;
    struct store *store = store_new(&meta_type);
    struct kube_transport *transport = transport_to(sim, NULL);
    for (int i = 0; i < 1201; i++)
        assert_int_equal(
            sim_post(
                sim, CONFIGMAPS,
                sim_text(sim, "{\"metadata\":{\"name\":\"c%d\",\"labels\":{\"on\":\"\"}}}", i)),
            201);
    struct reflector *reflector =
        reflector_new(sim->loop, transport, store,
                      &(struct reflector_spec){.path = "/api/v1/namespaces/n/configmaps"});
    sim_wait(sim, NSEC_PER_SEC);
    assert_true(store_synced(store));
    assert_int_equal(reflector_stats(reflector).lists, 1);
    assert_int_equal(store_count(store), 1201);
    assert_follows(sim, store);
    reflector_free(reflector);
    kube_transport_free(transport);
    store_free(store);
}

int main(void)
{
    log_set_fd(-1); /* what the reflector says of all the trouble */
    const struct CMUnitTest tests[] = {
        SIM_TEST(test_a_call),
        SIM_TEST(test_what_may_befall_a_call),
        SIM_TEST(test_what_is_cancelled_arrives),
        SIM_TEST(test_a_reflector_follows),
        SIM_TEST(test_pages_for_a_reflector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
