/*
 * status.allocated of queues: true within a second or two, in few writes, none at rest.
 */
#include "shares.h"

static const char conf[] = CONF("  - name: proportion\n");

static struct test_queue *queue_of(struct cluster *c, const char *name)
{
    struct test_queue *queue = find_queue(c, str_of(name));
    assert_non_null(queue);
    return queue;
}

static void assert_holds(struct cluster *c, const char *name, const char *allocated)
{
    assert_string_equal(queue_of(c, name)->allocated, allocated);
}

/* Queues below others count for these, too. Devices that are given back are taken out. */
static void what_pods_hold_up_to_the_root(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    run(c); /* root is there */
    add_queue(c, "top", "", "\"parent\":\"root\"");
    add_queue(c, "below", "", "\"parent\":\"top\"");
    add_node_json(c, "n0", "", "",
                  "\"cpu\":\"16\",\"memory\":\"64Gi\",\"pods\":\"110\",\"acme.example/gpu\":\"4\"");
    add_group(c, "g", "\"minMember\":1,\"queue\":\"below\"");
    add_pod_spec(
        c, "g", "g", "w",
        ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1500m\",\"memory\":\"1Gi\"},"
        "\"limits\":{\"acme.example/gpu\":\"2\"}}}]");
    add_greedy(c, "a", "top", 2, "1");
    run(c);
    assert_holds(
        c, "below",
        "{\"cpu\":\"1500m\",\"memory\":\"1073741824\",\"pods\":\"1\",\"acme.example/gpu\":\"2\"}");
    assert_holds(
        c, "top",
        "{\"cpu\":\"3500m\",\"memory\":\"1073741824\",\"pods\":\"3\",\"acme.example/gpu\":\"2\"}");
    assert_string_equal(queue_of(c, "root")->allocated, queue_of(c, "top")->allocated);
    assert_holds(c, "default", "{}");
    set_phase(c, "g", "Succeeded");
    run(c);
    assert_holds(c, "below", "{\"cpu\":\"0\",\"memory\":\"0\"}");
    assert_holds(c, "top", "{\"cpu\":\"2\",\"memory\":\"0\",\"pods\":\"2\"}");
    assert_int_equal(queue_of(c, "default")->patches, 0);
    cluster_free(c);
}

/* A burst is one or two writes; what stays as it is costs none, nor does the next leader. */
static void few_writes(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_queue(c, "q", "", "\"weight\":1");
    add_node(c, "n0", 40);
    for (int i = 0; i < 40; i++) {
        cleanup_free char *name = xasprintf("j%d", i);
        add_greedy(c, name, "q", 1, "1");
        run_for(c, 10 * NSEC_PER_MSEC);
    }
    run(c);
    assert_holds(c, "q", "{\"cpu\":\"40\",\"memory\":\"0\",\"pods\":\"40\"}");
    assert_in_range(queue_of(c, "q")->patches, 1, 2);
    unsigned requests = c->fake->requests;
    run_for(c, 600 * NSEC_PER_SEC);
    scheduler_lead(c->scheduler, false);
    run(c);
    scheduler_lead(c->scheduler, true);
    run(c);
    assert_int_equal(c->fake->requests, requests);
    cluster_free(c);
}

/* A standby tells nothing; what it finds wrong when it leads, it puts right. */
static void a_wrong_status_is_put_right(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    scheduler_lead(c->scheduler, false);
    add_queue(c, "q", "", "\"weight\":1");
    struct test_queue *queue = queue_of(c, "q");
    free(queue->allocated);
    queue->allocated = xstrdup("{\"cpu\":\"7\",\"memory\":\"0\",\"odd/thing\":\"3\"}");
    add_queue(c, "q", "", "\"weight\":1");
    run(c);
    assert_int_equal(queue->patches, 0);
    scheduler_lead(c->scheduler, true);
    run(c);
    assert_string_equal(queue->allocated, "{\"cpu\":\"0\",\"memory\":\"0\"}");
    assert_int_equal(queue->patches, 1);
    cluster_free(c);
}

/* So it does while it leads and nothing else happens; where news of that is late, once it comes. */
static void what_others_write_is_put_right(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_queue(c, "q", "", "\"weight\":1");
    add_node(c, "n0", 4);
    add_greedy(c, "a", "q", 2, "1");
    run_for(c, 10 * NSEC_PER_SEC);
    struct test_queue *queue = queue_of(c, "q");
    free(queue->allocated);
    queue->allocated = xstrdup("{\"cpu\":\"7\",\"memory\":\"0\"}");
    add_queue(c, "q", "", "\"weight\":1");
    run_for(c, 3 * NSEC_PER_SEC);
    assert_holds(c, "q", "{\"cpu\":\"2\",\"memory\":\"0\",\"pods\":\"2\"}");
    assert_int_equal(queue->patches, 2);
    queue->rv = ++c->rv;
    set_phase(c, "a", "Succeeded");
    run_for(c, 10 * NSEC_PER_SEC);
    assert_int_equal(queue->patches, 2);
    add_queue(c, "q", "", "\"weight\":1");
    run_for(c, 3 * NSEC_PER_SEC);
    assert_holds(c, "q", "{\"cpu\":\"0\",\"memory\":\"0\"}");
    cluster_free(c);
}

/* A write that got no answer may arrive when another scheduler leads, and has said more. */
static void a_late_write_says_nothing(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    cleanup_buf struct buf body = BUF_INIT(1 << 16);
    add_queue(c, "q", "", "\"weight\":1");
    add_node(c, "n0", 4);
    add_greedy(c, "a", "q", 2, "1");
    run_for(c, 10 * NSEC_PER_SEC);
    cleanup_free char *late = xstrdup(queue_of(c, "q")->last);
    set_phase(c, "a", "Succeeded");
    run_for(c, 10 * NSEC_PER_SEC);
    const struct kube_call_spec spec = {.content = KUBE_MERGE_PATCH, .body = str_of(late)};
    assert_int_equal(serve_queue_status(c, &spec, STR("q"), &body), 409);
    cluster_free(c);
}

int main(void)
{
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_pods_hold_up_to_the_root),
        cmocka_unit_test(few_writes),
        cmocka_unit_test(a_wrong_status_is_put_right),
        cmocka_unit_test(what_others_write_is_put_right),
        cmocka_unit_test(a_late_write_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
