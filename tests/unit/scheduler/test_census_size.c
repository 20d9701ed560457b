/*
 * What terms about other pods cost at their worst, where they mean nearly everybody: in bytes, and
 * in looks, which bound memory and time whatever the machine.
 */
#include "apps.h"
#include "heap.h"
#include "scheduler/cache_private.h"
#include "scheduler/census.h"
#include "scheduler/fit_private.h"

#define NODES 300u
#define JOBS 60u /* each has labels of its own */
#define JOB_PODS 5u
#define TERMS 64u /* of one pod */
#define PESTS 30u
#define SELECTION_MAX 1800 /* bytes of a selection, apart from what it has by node and set */

static struct census *census_of(const struct cluster *c)
{
    return c->scheduler->cache.census;
}

/* The spec of a pod that would rather keep away from everybody else, or must, and says so in as
 * many ways as it may. */
static void write_pest(struct buf *spec, unsigned number, const char *cpu, bool must)
{
    cleanup_free char *asks = cpu_spec(cpu);
    buf_printf(spec,
               "%s,\"affinity\":{\"podAntiAffinity\":{\"%sDuringSchedulingIgnored"
               "DuringExecution\":[",
               asks, must ? "required" : "preferred");
    for (unsigned i = 0; i < TERMS; i++)
        buf_printf(spec,
                   "%s%s{\"labelSelector\":{\"matchExpressions\":[{\"key\":\"app\",\"operator\":"
                   "\"NotIn\",\"values\":[\"x%u\"]}]},\"topologyKey\":\"zone\"}%s",
                   i ? "," : "",
                   must ? "" : "{\"weight\":1,\"podAffinityTerm\":", number * TERMS + i,
                   must ? "" : "}");
    buf_add_cstr(spec, "]}}");
}

static struct test_group *add_pest(struct cluster *c, unsigned number, const char *cpu, bool must)
{
    cleanup_buf struct buf spec = BUF_INIT(1 << 20);
    cleanup_free char *name = xasprintf("pest%u", number);
    write_pest(&spec, number, cpu, must);
    cleanup_free char *text = str_dup(buf_str(&spec));
    return add_app(c, name, 1, "\"app\":\"pest\"", text);
}

static void add_pests(struct cluster *c)
{
    for (unsigned i = 0; i < PESTS; i++)
        add_pest(c, i, "5000", true);
}

static void add_crowd(struct cluster *c, unsigned jobs, unsigned pods, const char *cpu)
{
    cleanup_free char *spec = cpu_spec(cpu);
    for (unsigned i = 0; i < jobs; i++) {
        cleanup_free char *name = xasprintf("j%u", i), *labels = xasprintf("\"app\":\"a%u\"", i);
        add_app(c, name, pods, labels, spec);
    }
}

static void check_bytes(const struct cluster *c)
{
    const struct census *census = census_of(c);
    size_t words = census->by_number.n / 64 + 1;
    void *value;
    assert_int_equal(map_count(&census->populations), PESTS * TERMS);
    assert_true(census->by_number.n <= PESTS * TERMS);
    for (size_t i = 0; map_next(&census->populations, &i, NULL, &value);) {
        const struct population *population = value;
        assert_int_equal(population->placed.total, JOBS * JOB_PODS);
        assert_true(counts_bytes(&population->placed) <= 1 + NODES + NODES / 8);
        assert_int_equal(counts_bytes(&population->ending), 0);
    }
    for (const struct list *link = census->sets.next; link != &census->sets; link = link->next)
        assert_true(const_container_of(link, struct census_set, link)->meant_by.cap <= 2 * words);
}

/* Whichever is there first. */
static void selections_take_a_byte_a_node(bool pests_first)
{
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, NODES, "1");
    size_t before = in_use();
    if (pests_first)
        add_pests(c);
    add_crowd(c, JOBS, JOB_PODS, "1");
    run(c);
    if (!pests_first) {
        before = in_use();
        add_pests(c);
        run(c);
    }
    assert_int_equal(c->binds, JOBS * JOB_PODS);
    check_bytes(c);
    check(c);
    fit_clear(&c->scheduler->cache);
    size_t bytes = (in_use() - before) / (PESTS * TERMS);
    size_t most = SELECTION_MAX + 2 * NODES + JOBS / 4;
    if (MEASURABLE && !pests_first) {
        print_message("%zu bytes a selection at %u nodes\n", bytes, NODES);
        assert_true(bytes <= most);
    }
    cluster_free(c);
}

static void selections_that_come_late_are_small(void **state)
{
    (void)state;
    selections_take_a_byte_a_node(false);
}

static void selections_that_are_there_first_stay_small(void **state)
{
    (void)state;
    selections_take_a_byte_a_node(true);
}

static size_t sets_with_bits(const struct cluster *c)
{
    size_t n = 0;
    list_each(link, &census_of(c)->sets)
    {
        const struct census_set *set = container_of(link, struct census_set, link);
        uint64_t bits = 0;
        for (size_t i = 0; i < set->meant_by.n; i++)
            bits |= set->meant_by.items[i];
        n += bits != 0;
    }
    return n;
}

/* Selections that go leave their bits in all sets of labels, so that nobody looks at the sets for
 * each of them; and their numbers are used again. */
static void selections_go_at_once(void **state)
{
    (void)state;
    const unsigned sets = 500, rounds = 20;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 1, "1");
    add_crowd(c, sets, 1, "5000");
    run(c);
    struct cache *cache = &c->scheduler->cache;
    for (unsigned i = 0; i < rounds; i++) {
        struct test_group *pest = add_pest(c, i, "5000", true);
        cleanup_free char *name = xasprintf("pest%u-0", i);
        run(c);
        assert_int_equal(map_count(&census_of(c)->populations), TERMS);
        cache_set_pod(cache, find_pod(c, name)->uid, NULL);
        assert_int_equal(map_count(&census_of(c)->populations), 0);
        assert_true(sets_with_bits(c) >= sets);
        end_pods_of(c, pest, true);
        run(c);
    }
    assert_true(census_of(c)->by_number.n <= 2 * TERMS);
    check(c);
    cluster_free(c);
}

/* Numbers that are used again mean whom the new selection means, not whom the old one did. */
static void numbers_are_used_again(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 3, "8");
    add_crowd(c, 3, 1, "1");
    run(c);
    for (unsigned i = 0; i < 5; i++) {
        struct test_group *pest = add_pest(c, i, "5000", true);
        run(c);
        end_pods_of(c, pest, true);
    }
    struct test_group *a = add_app(c, "a", 3, "\"app\":\"a\"", CPU("1") APART(HOST));
    run(c);
    assert_int_equal(bound(c, a->name, NULL), 3);
    for (unsigned i = 0; i < 3; i++) {
        cleanup_free char *node = xasprintf("n%u", i);
        assert_int_equal(on_node(c, node), 2);
    }
    check(c);
    cluster_free(c);
}

static const struct fit_table *table_for(struct cluster *c, const char *job)
{
    struct cache *cache = &c->scheduler->cache;
    const struct sched_job *found = cache_job(cache, "ns", job);
    assert_non_null(found);
    return fit_table_of(cache, c->scheduler->config, found->groups.items[0]);
}

/* Tables of pods that very many terms mean: what they add up counts as their memory, and where many
 * nodes have changed it is added up afresh. */
static void tables_of_the_meant_are_bounded(void **state)
{
    (void)state;
    const unsigned pests = 10, plain = 12, nodes = 100;
    struct cluster *c = cluster_new("actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n"
                                    "  - name: gang\n  - name: predicates\n  - name: nodeorder\n");
    add_zoned_nodes(c, nodes, "8");
    for (unsigned i = 0; i < pests; i++)
        add_pest(c, i, "1", false);
    run(c);
    assert_int_equal(c->binds, pests);
    assert_int_equal(census_of(c)->felt, pests * TERMS);
    for (unsigned i = 0; i < plain; i++) {
        cleanup_free char *name = xasprintf("g%u", i), *cpu = xasprintf("%u", 100 + i);
        add_gang(c, name, 1, cpu);
    }
    run(c);
    struct cache *cache = &c->scheduler->cache;
    const struct fit_table *table = table_for(c, "g0");
    size_t sources = neighbours_sources(table->neighbours);
    size_t looks = neighbours_looks(table->neighbours);
    assert_true(sources >= (size_t)pests * TERMS);
    assert_true(cache->table_entries >= plain * sources);
    uint64_t work = cache->work;
    for (uint32_t i = 0; i < nodes / 3; i++)
        cache_log_node(cache, cache->nodes.items[i]);
    assert_ptr_equal(table_for(c, "g0"), table);
    work = cache->work - work;
    print_message("%u changes: %llu looks for %zu counts\n", nodes / 3, (unsigned long long)work,
                  sources);
    assert_true(work <= 3 * nodes + looks / 4);
    fit_clear(cache);
    assert_int_equal(cache->table_entries, 0);
    check(c);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selections_that_come_late_are_small),
        cmocka_unit_test(selections_that_are_there_first_stay_small),
        cmocka_unit_test(selections_go_at_once),
        cmocka_unit_test(numbers_are_used_again),
        cmocka_unit_test(tables_of_the_meant_are_bounded),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
