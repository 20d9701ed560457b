/*
 * Gangs: all or nothing, minimums of roles, what happens when one does not fit.
 */
#include "cluster.h"

static void gang_starts_whole(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 3, 2);
    struct test_group *g = add_gang(c, "a", 6, "1");
    run(c);
    assert_int_equal(bound(c, "a", NULL), 6);
    assert_int_equal(c->queue_posts, 2);
    assert_says(g, "\"phase\":\"Running\"");
    assert_says(g, "\"type\":\"Scheduled\"");
    assert_int_equal(g->patches, 2);
    check(c);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gang_starts_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
