/*
 * Host ports: sums and conflicts, beside a look at each pair.
 */
#include "testing.h"

#include "api/hostports.h"
#include "base/alloc.h"
#include "base/intern.h"
#include "base/rng.h"

static const char *const addresses[] = {"0.0.0.0", "10.0.0.1", "10.0.0.2", "::1"};
static const char *const protocols[] = {"TCP", "UDP"};

static struct host_ports random_ports(struct rng *rng, unsigned most, unsigned doors)
{
    struct host_ports ports = {NULL, 0};
    for (uint64_t n = rng_below(rng, most + 1); n; n--) {
        struct host_port port = {intern_get(str_of(addresses[rng_below(rng, 4)])),
                                 intern_get(str_of(protocols[rng_below(rng, 2)])),
                                 1 + (int32_t)rng_below(rng, doors)};
        host_ports_add(&ports, &port);
        intern_put(port.ip);
        intern_put(port.protocol);
    }
    host_ports_sort(&ports);
    return ports;
}

static bool collide(const struct host_port *a, const struct host_port *b)
{
    bool any = strcmp(a->ip, addresses[0]) == 0 || strcmp(b->ip, addresses[0]) == 0;
    return a->port == b->port && strcmp(a->protocol, b->protocol) == 0 &&
           (any || strcmp(a->ip, b->ip) == 0);
}

static bool conflict_slowly(const struct host_ports *a, const struct host_ports *b)
{
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < b->n; k++)
            if (collide(&a->items[i], &b->items[k]))
                return true;
    return false;
}

/* How many are equal to it. */
static unsigned count_of(const struct host_ports *ports, const struct host_port *port)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < ports->n; i++)
        count += ports->items[i].port == port->port && ports->items[i].ip == port->ip &&
                 ports->items[i].protocol == port->protocol;
    return count;
}

static void each_pair_decides(void **state)
{
    struct rng rng;
    unsigned conflicts = 0, rounds = 20000;
    (void)state;
    rng_seed(&rng, 1);
    for (unsigned i = 0; i < rounds; i++) {
        struct host_ports a = random_ports(&rng, 6, 12), b = random_ports(&rng, 3, 12);
        bool conflict = host_ports_conflict(&a, &b);
        assert_int_equal(conflict, conflict_slowly(&a, &b));
        assert_int_equal(conflict, host_ports_conflict(&b, &a));
        conflicts += conflict;
        host_ports_clear(&a);
        host_ports_clear(&b);
    }
    assert_in_range(conflicts, rounds / 10, rounds / 10 * 9);
    assert_int_equal(intern_count(), 0);
}

/* Pods come and go; each is counted as often as it is there. */
static void what_is_merged_is_unmerged(void **state)
{
    struct rng rng;
    (void)state;
    rng_seed(&rng, 2);
    for (unsigned round = 0; round < 500; round++) {
        struct host_ports parts[4], sum = {NULL, 0};
        for (unsigned i = 0; i < 4; i++) {
            parts[i] = random_ports(&rng, 8, 3);
            host_ports_merge(&sum, &parts[i]);
        }
        for (unsigned i = 0; i < 4; i++) {
            uint32_t before = sum.n;
            unsigned there = sum.n ? count_of(&sum, &sum.items[0]) : 0;
            unsigned goes = sum.n ? count_of(&parts[i], &sum.items[0]) : 0;
            struct host_port first = {NULL, NULL, 0};
            if (sum.n)
                first = (struct host_port){intern_ref(sum.items[0].ip),
                                           intern_ref(sum.items[0].protocol), sum.items[0].port};
            host_ports_unmerge(&sum, &parts[i]);
            assert_int_equal(sum.n, before - parts[i].n);
            if (first.ip)
                assert_int_equal(count_of(&sum, &first), there - goes);
            intern_put(first.ip);
            intern_put(first.protocol);
            host_ports_clear(&parts[i]);
        }
        assert_int_equal(sum.n, 0);
        host_ports_clear(&sum);
    }
    assert_int_equal(intern_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pair_decides),
        cmocka_unit_test(what_is_merged_is_unmerged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
