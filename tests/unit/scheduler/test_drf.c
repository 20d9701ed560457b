/*
 * drf in a small cluster: dominant shares of jobs, and of queues in a hierarchy.
 */
#include "base/rng.h"
#include "shares.h"

static const char flat[] = CONF("  - name: drf\n");
static const char tree[] = CONF("  - name: drf\n    enableHierarchy: true\n");

static void add_user(struct cluster *c, const char *name, const char *cpu, const char *memory)
{
    cleanup_free char *spec =
        xasprintf(",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"%s\",\"memory\":"
                  "\"%s\"}}}]",
                  cpu, memory);
    add_group(c, name, "\"minMember\":1");
    for (int i = 0; i < 9; i++) {
        cleanup_free char *pod = xasprintf("%s-%d", name, i);
        add_pod_spec(c, pod, name, "w", spec);
    }
}

/* The example of the paper: 9 CPU and 18 GB, tasks of <1, 4> and <3, 1>. Shares after each turn:
 * 2/9, 1/3; 4/9, 2/3; 6/9. */
static void the_example_of_the_paper(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(flat);
    add_node_json(c, "n0", "", "", "\"cpu\":\"9\",\"memory\":\"18Gi\",\"pods\":\"110\"");
    add_user(c, "a", "1", "4Gi");
    add_user(c, "b", "3", "1Gi");
    run(c);
    assert_bound(c, "a", 3);
    assert_bound(c, "b", 2);
    check(c);
    cluster_free(c);
}

static void pods_are_a_resource_too(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(flat);
    add_node_json(c, "n0", "", "", "\"cpu\":\"100\",\"memory\":\"100Gi\",\"pods\":\"4\"");
    add_user(c, "a", "1", "1Gi");
    add_user(c, "b", "10", "1Gi");
    run(c);
    assert_bound(c, "a", 2);
    assert_bound(c, "b", 2);
    cluster_free(c);
}

/* ---- against a slow reference ---------------------------------------------------------------- */

#define USERS 6
#define PODS_MOST 12

struct user {
    int cpu, memory, pods; /* CPUs and GiB of a pod; how many it wants */
    int have;
    bool full; /* its next pod does not fit */
};

/* The largest part of any resource that its pods hold. */
static double dominant(const struct user *user, const int *total)
{
    double cpu = (double)(user->have * user->cpu) / total[0];
    double memory = (double)(user->have * user->memory) / total[1];
    double pods = (double)user->have / total[2];
    double most = cpu > memory ? cpu : memory;
    return most > pods ? most : pods;
}

/* Progressive filling, as the paper has it: the next pod is of the user whose dominant share is the
 * smallest, the first of them; one whose pod does not fit gets no more. */
static void fill(struct user *users, const int *total)
{
    int left[3] = {total[0], total[1], total[2]};
    for (;;) {
        struct user *next = NULL;
        for (int i = 0; i < USERS; i++) {
            struct user *user = &users[i];
            if (!user->full && user->have < user->pods &&
                (!next || dominant(user, total) < dominant(next, total)))
                next = user;
        }
        if (!next)
            return;
        next->full = next->cpu > left[0] || next->memory > left[1] || left[2] < 1;
        if (next->full)
            continue;
        next->have++;
        left[0] -= next->cpu;
        left[1] -= next->memory;
        left[2]--;
    }
}

static void add_random_user(struct cluster *c, struct rng *rng, struct user *user, int number)
{
    *user = (struct user){.cpu = 1 + (int)rng_below(rng, 5),
                          .memory = 1 + (int)rng_below(rng, 5),
                          .pods = 1 + (int)rng_below(rng, PODS_MOST)};
    cleanup_free char *name = xasprintf("u%d", number);
    cleanup_free char *spec =
        xasprintf(",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"%d\",\"memory\":"
                  "\"%dGi\"}}}]",
                  user->cpu, user->memory);
    add_group(c, name, "\"minMember\":1");
    for (int i = 0; i < user->pods; i++) {
        cleanup_free char *pod = xasprintf("%s-%d", name, i);
        add_pod_spec(c, pod, name, "w", spec);
    }
}

static void agrees_with_progressive_filling(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 7);
    for (int round = 0; round < 200; round++) {
        struct cluster *c = cluster_new(flat);
        struct user users[USERS];
        int total[3] = {10 + (int)rng_below(&rng, 60), 10 + (int)rng_below(&rng, 60),
                        6 + (int)rng_below(&rng, 60)};
        for (int i = 0; i < USERS; i++)
            add_random_user(c, &rng, &users[i], i);
        cleanup_free char *node = xasprintf("\"cpu\":\"%d\",\"memory\":\"%dGi\",\"pods\":\"%d\"",
                                            total[0], total[1], total[2]);
        add_node_json(c, "n0", "", "", node);
        run(c);
        fill(users, total);
        for (int i = 0; i < USERS; i++) {
            cleanup_free char *name = xasprintf("u%d", i);
            assert_bound(c, name, (unsigned)users[i].have);
        }
        cluster_free(c);
    }
}

#define HIERARCHY(path, weights)                                                                   \
    "\"volcano.sh/hierarchy\":\"" path "\",\"volcano.sh/hierarchy-weights\":\"" weights "\""

static void groups_share_before_queues_do(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(tree);
    add_nodes(c, 3, 4);
    add_queue(c, "dev", HIERARCHY("root/eng/dev", "1/1/1"), "");
    add_queue(c, "test", HIERARCHY("root/eng/test", "1/1/1"), "");
    add_queue(c, "sci", HIERARCHY("root/sci", "1/1"), "");
    add_greedy(c, "d", "dev", 12, "1");
    add_greedy(c, "t", "test", 12, "1");
    add_greedy(c, "s1", "sci", 12, "1");
    add_greedy(c, "s2", "sci", 12, "1");
    run(c);
    assert_bound(c, "d", 3);
    assert_bound(c, "t", 3);
    assert_bound(c, "s1", 3);
    assert_bound(c, "s2", 3);
    check(c);
    cluster_free(c);
}

/* "eng" wants two pods only; the rest goes to "sci", and a queue without annotation counts as a
 * group of weight 1. */
static void saturated_groups_come_last(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(tree);
    add_nodes(c, 3, 4);
    add_queue(c, "eng", HIERARCHY("root/eng", "1/9"), "");
    add_queue(c, "sci", HIERARCHY("root/sci", "1/4"), "");
    add_queue(c, "plain", "", "");
    add_greedy(c, "e", "eng", 2, "1");
    add_greedy(c, "s", "sci", 12, "1");
    add_greedy(c, "p", "plain", 12, "1");
    run(c);
    assert_bound(c, "e", 2);
    assert_bound(c, "s", 8);
    assert_bound(c, "p", 2);
    check(c);
    cluster_free(c);
}

static void shares_follow_from_cycle_to_cycle(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(tree);
    add_nodes(c, 1, 4);
    add_queue(c, "a", HIERARCHY("root/a", "1/1"), "");
    add_queue(c, "b", HIERARCHY("root/b", "1/1"), "");
    add_greedy(c, "a", "a", 12, "1");
    run(c);
    assert_bound(c, "a", 4);
    add_greedy(c, "b", "b", 12, "1");
    add_node(c, "n1", 4);
    run(c);
    assert_bound(c, "a", 4);
    assert_bound(c, "b", 4);
    add_node(c, "n2", 2);
    run(c);
    assert_bound(c, "a", 5);
    assert_bound(c, "b", 5);
    check(c);
    cluster_free(c);
}

/* The queue that holds nothing lets its job in first, though it is not the first by name. */
static void jobs_enter_in_the_order_of_shares(void **state)
{
    (void)state;
    struct cluster *c =
        cluster_new(CONF("  - name: drf\n    enableHierarchy: true\n  - name: overcommit\n"));
    add_nodes(c, 1, 4);
    add_queue(c, "a", HIERARCHY("root/a", "1/1"), "");
    add_queue(c, "b", HIERARCHY("root/b", "1/1"), "");
    add_greedy(c, "a", "a", 3, "1");
    run(c);
    assert_bound(c, "a", 3);
#define ONE_IN(queue) "\"minMember\":1,\"queue\":\"" queue "\",\"minResources\":{\"cpu\":\"1\"}"
    struct test_group *a = add_group(c, "more", ONE_IN("a"));
    struct test_group *b = add_group(c, "first", ONE_IN("b"));
    run(c);
    assert_says(a, "\"phase\":\"Pending\"");
    assert_says(b, "\"phase\":\"Inqueue\"");
    cluster_free(c);
}

int main(void)
{
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_paper),
        cmocka_unit_test(agrees_with_progressive_filling),
        cmocka_unit_test(pods_are_a_resource_too),
        cmocka_unit_test(groups_share_before_queues_do),
        cmocka_unit_test(saturated_groups_come_last),
        cmocka_unit_test(shares_follow_from_cycle_to_cycle),
        cmocka_unit_test(jobs_enter_in_the_order_of_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
