/*
 * shuffle: which pods it evicts of those that a plugin names. How they are evicted is another's
 * matter: here a pod is on its way out from the moment it is asked to go.
 */
#include "cluster.h"

#include "scheduler/evict/evictor.h"
#include "scheduler/points_evict.h"

void __wrap_evictor_evict(struct scheduler *scheduler, struct sched_task *task, const char *action);

static struct buf *evicted; /* names, with spaces between */
static unsigned evictions;

void __wrap_evictor_evict(struct scheduler *scheduler, struct sched_task *task, const char *action)
{
    assert_string_equal(action, "shuffle");
    buf_printf(evicted, "%s%s", evicted->n ? " " : "", task->pod->meta.name);
    evictions++;
    cache_set_task(&scheduler->cache, task, TASK_RELEASING, task->node);
}

/* Names the pods of jobs whose names begin with "m". */
static void name_movers(struct plugin *plugin, const struct cache *cache,
                        const struct sched_task *const *tasks, size_t n, bool *go)
{
    (void)plugin;
    (void)cache;
    for (size_t i = 0; i < n; i++)
        go[i] = tasks[i]->job->name[0] == 'm';
}

#define TIERS(plugins) "actions: \"allocate, shuffle\"\ntiers:\n- plugins:\n" plugins
#define PLAIN TIERS("  - name: predicates\n")

static struct cluster *world_new(const char *conf, bool budgets_known)
{
    static const struct plugin_type namer = {.name = "namer", .victims = name_movers};
    struct cluster *c = cluster_new(conf);
    struct plugin *plugin = xnew(struct plugin);
    plugin->type = &namer;
    plugin->enabled[POINT_VICTIM] = true;
    vec_push(&c->scheduler->config->plugins, plugin);
    if (budgets_known)
        cache_budgets_known(&c->scheduler->cache);
    add_nodes(c, 2, 100);
    buf_reset(evicted);
    evictions = 0;
    return c;
}

/* Its pods run. */
static void add_running(struct cluster *c, const char *name, unsigned pods, const char *spec)
{
    add_group(c, name, spec);
    add_pods(c, name, "w", pods, "10m");
    run(c);
    assert_int_equal(bound(c, name, NULL), pods);
    set_phase(c, name, "Running");
}

#define assert_evicted(names) assert_str(buf_str(evicted), names)

/* ---------------------------------------------------------------------------------------------- */

static void who_is_named_goes(void **state)
{
    (void)state;
    struct cluster *c = world_new(PLAIN, true);
    add_group(c, "m-early", "\"minMember\":1");
    add_pods(c, "m-early", "w", 1, "1");
    run(c);
    assert_int_equal(bound(c, "m-early", NULL), 1); /* and does not run yet */
    add_running(c, "stays", 3, "\"minMember\":1");
    add_running(c, "m", 2, "\"minMember\":1");
    run(c);
    assert_evicted("m-w-0 m-w-1");
    cluster_free(c);
}

static void who_says_no_stays(void **state)
{
    (void)state;
    struct cluster *c = world_new(PLAIN, true);
    add_group_meta(c, "m-gang", ",\"annotations\":{\"volcano.sh/preemptable\":\"false\"}",
                   "\"minMember\":2");
    add_pods(c, "m-gang", "w", 2, "1");
    add_group(c, "m", "\"minMember\":1");
    cleanup_free char *spec = cpu_spec("1");
    add_pod_labelled(c, "m-w-0", "m", "w", "\"volcano.sh/preemptable\":\"false\"", spec);
    add_pod_labelled(c, "m-w-1", "m", "w", "", spec);
    run(c);
    set_phase(c, "m-gang", "Running");
    set_phase(c, "m", "Running");
    run(c);
    assert_evicted("m-w-1");
    cluster_free(c);
}

static void gangs_keep_their_minimum(void **state)
{
    (void)state;
    struct cluster *c = world_new(TIERS("  - name: gang\n"), true);
    add_running(c, "m-strict", 3, "\"minMember\":3");
    add_running(c, "m", 4, "\"minMember\":2");
    run(c);
    assert_evicted("m-w-0 m-w-1");
    cluster_free(c);
    c = world_new(TIERS("  - name: gang\n    enabledVictim: false\n"), true);
    add_running(c, "m", 2, "\"minMember\":2");
    run(c);
    assert_evicted("m-w-0 m-w-1");
    cluster_free(c);
}

static void critical_pods_stay(void **state)
{
    (void)state;
    struct cluster *c = world_new(TIERS("  - name: conformance\n"), true);
    add_group(c, "m", "\"minMember\":1");
    cleanup_free char *plain = cpu_spec("1");
    cleanup_free char *critical =
        xasprintf("%s,\"priorityClassName\":\"system-node-critical\"", plain);
    add_pod_spec(c, "m-w-0", "m", "w", critical);
    add_pod_spec(c, "m-w-1", "m", "w", plain);
    run(c);
    set_phase(c, "m", "Running");
    run(c);
    assert_evicted("m-w-1");
    cluster_free(c);
}

/* Without the plugin pdb, and though the budget does not show yet whom it lost. */
static void budgets_are_kept(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct poddisruptionbudget *budget = poddisruptionbudget_decode(
        STR("{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\"},\"spec\":{\"selector\":{}},"
            "\"status\":{\"disruptionsAllowed\":2}}"),
        &err);
    assert_non_null(budget);
    struct cluster *c = world_new(PLAIN, true);
    cache_set_budget(&c->scheduler->cache, "ns", "b", budget);
    add_running(c, "m", 4, "\"minMember\":1");
    run(c);
    cache_room(&c->scheduler->cache);
    scheduler_wake(c->scheduler);
    run(c);
    assert_evicted("m-w-0 m-w-1");
    cluster_free(c);
    poddisruptionbudget_unref(budget);
    c = world_new(PLAIN, false);
    add_running(c, "m", 4, "\"minMember\":1");
    run(c);
    assert_evicted("");
    cluster_free(c);
}

/* More than one step of anything. */
static void many_are_evicted_in_steps(void **state)
{
    (void)state;
    struct cluster *c = world_new(PLAIN, true);
    for (unsigned i = 0; i < 150; i++) {
        char name[NAME_SIZE];
        (void)snprintf(name, sizeof(name), "%c%u", i % 2 ? 'm' : 's', i);
        add_group(c, name, "\"minMember\":1");
        add_pods(c, name, "w", 1, "10m");
    }
    run(c);
    for (unsigned i = 0; i < 150; i++) {
        char name[NAME_SIZE];
        (void)snprintf(name, sizeof(name), "%c%u", i % 2 ? 'm' : 's', i);
        set_phase(c, name, "Running");
    }
    run(c);
    assert_int_equal(evictions, 75);
    cluster_free(c);
}

int main(void)
{
    cleanup_buf struct buf names = BUF_INIT(1 << 16);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_named_goes),        cmocka_unit_test(who_says_no_stays),
        cmocka_unit_test(gangs_keep_their_minimum), cmocka_unit_test(critical_pods_stay),
        cmocka_unit_test(budgets_are_kept),         cmocka_unit_test(many_are_evicted_in_steps),
    };
    evicted = &names;
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
