/*
 * cdp: whom a cooldown keeps at the points of eviction.
 */
#include "evict.h"

#define CDP "- plugins:\n  - name: cdp\n"
#define CONFORMANCE "- plugins:\n  - name: conformance\n"

/* A pod that got its node `age_s` seconds ago. */
static void put_cooling(struct bare *b, const char *name, const char *cooldown, int64_t age_s)
{
    struct error err = ERROR_INIT;
    char since[TIME_TEXT_MAX];
    (void)time_format(since, loop_wall(b->loop) - age_s * NSEC_PER_SEC);
    cleanup_free char *uid = xasprintf("u-%s", name);
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\",\"labels\":{"
                  "\"volcano.sh/cooldown-time\":\"%s\"}},\"spec\":{\"schedulerName\":\"other\","
                  "\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":"
                  "\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":\"%s\"}]}}",
                  name, uid, cooldown, since);
    struct pod *pod = pod_decode(str_of(json), &err);
    if (!pod)
        fail_msg("%s", err.text);
    cache_set_pod(&b->cache, uid, pod);
    pod_unref(pod);
}

static struct bare *world_new(void)
{
    struct bare *b = bare_new();
    put_cooling(b, "young", "10m", 10);
    put_cooling(b, "old", "10m", 601);
    put_cooling(b, "careless", "soon", 1);
    put_pod(b, "plain", "", ",\"nodeName\":\"n\"", "\"phase\":\"Running\"");
    return b;
}

#define ALL "young old careless plain"

static void assert_may_go(const struct bare *b, const char *tiers, const char *expected)
{
    for (int kind = 0; kind < EVICT_KIND_COUNT; kind++) {
        const struct sched_task *tasks[CANDIDATES_MOST];
        const struct eviction eviction = {.kind = (enum eviction_kind)kind,
                                          .cache = &b->cache,
                                          .candidates = tasks,
                                          .n = tasks_of(b, ALL, tasks)};
        assert_evictable(tiers_config(tiers), &eviction, expected);
    }
}

static void pods_stay_until_their_cooldown_is_over(void **state)
{
    struct bare *b = world_new();
    (void)state;
    assert_may_go(b, CDP, "old careless plain");
    put_cooling(b, "young", "10m", 599);
    assert_may_go(b, CDP, "old careless plain");
    put_cooling(b, "young", "10m", 600);
    assert_may_go(b, CDP, ALL);
    bare_free(b);
}

static void they_are_kept_in_whatever_tier(void **state)
{
    struct bare *b = world_new();
    (void)state;
    assert_may_go(b, CONFORMANCE, ALL);
    assert_may_go(b, CDP CONFORMANCE, "old careless plain");
    assert_may_go(b, CONFORMANCE CDP, "old careless plain");
    bare_free(b);
}

/* Names everybody. */
static void name_all(struct plugin *plugin, const struct cache *cache,
                     const struct sched_task *const *tasks, size_t n, bool *go)
{
    (void)plugin;
    (void)cache;
    (void)tasks;
    for (size_t i = 0; i < n; i++)
        go[i] = true;
}

static void victims_of_others_are_spared(void **state)
{
    static const struct plugin_type namer = {.name = "namer", .victims = name_all};
    struct bare *b = world_new();
    struct sched_config *config = tiers_config(CDP);
    struct plugin plugin = {.type = &namer, .enabled = {[POINT_VICTIM] = true}};
    const struct sched_task *tasks[CANDIDATES_MOST];
    bool go[CANDIDATES_MOST];
    size_t n = tasks_of(b, ALL, tasks);
    (void)state;
    vec_push(&config->plugins, &plugin);
    assert_int_equal(config_victims(config, &b->cache, tasks, n, go), 3);
    assert_false(go[0]);
    config->plugins.n--;
    sched_config_free(config);
    bare_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_stay_until_their_cooldown_is_over),
        cmocka_unit_test(they_are_kept_in_whatever_tier),
        cmocka_unit_test(victims_of_others_are_spared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
