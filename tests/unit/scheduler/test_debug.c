/*
 * The page that compares the cache with its stores: silent while they agree, also with binds and
 * changes under way, and naming what differs when the cache is broken on purpose.
 */
#include "cluster.h"
#include "scheduler/debug.h"

static int page(struct cluster *c, const char *query, struct buf *out)
{
    buf_clear(out);
    return debug_cache_page(STR("/debug/cache"), str_of(query), out, c->scheduler);
}

#define assert_page(c, wanted_status, text)                                                        \
    do {                                                                                           \
        cleanup_buf struct buf out_ = BUF_INIT(65536);                                             \
        int status_ = page((c), "", &out_);                                                        \
        if (status_ != (wanted_status) || str_find(buf_str(&out_), str_of(text)) < 0)              \
            fail_msg("%d, \"%s\" not in %.*s", status_, (text), STR_ARG(buf_str(&out_)));          \
    } while (0)

/* Two nodes; a gang that runs, one that waits, a pod of another scheduler. */
static struct cluster *scene(void)
{
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 2, 4);
    add_gang(c, "g", 2, "1");
    add_gang(c, "h", 2, "9");
    run(c);
    for (size_t i = 0; i < c->pod_list.n; i++)
        show_pod(c, c->pod_list.items[i]);
    run(c);
    return c;
}

static void in_agreement(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    assert_page(c, 200, "\"consistent\":true,\"running\":false,\"waiting\":0,\"audit\":\"ok\"");
    cluster_free(c);
    c = scene();
    assert_page(c, 200,
                "\"pods\":{\"store\":4,\"cache\":4},\"nodes\":{\"store\":2,\"cache\":2},"
                "\"podGroups\":{\"store\":2,\"cache\":2},");
    assert_page(c, 200, "\"differences\":0,\"first\":[]}\n");
    cleanup_buf struct buf out = BUF_INIT(65536);
    assert_int_equal(page(c, "from=2", &out), 200);
    assert_int_equal(page(c, "from=x", &out), 400);
    cluster_free(c);
}

/* While a cycle runs, changes wait: what they concern is no difference. */
static void under_way(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 2, 4);
    run(c);
    c->scheduler->cycle.stage = CYCLE_ACTIONS;
    add_gang(c, "g", 2, "1");
    add_node(c, "n0", 5);
    delete_node(c, "n1");
    assert_page(c, 200, "\"running\":true,\"waiting\":5,");
    c->scheduler->cycle.stage = CYCLE_IDLE;
    assert_page(c, 200, "\"waiting\":5,");
    c->scheduler->changes_done = 4; /* as if the last but one were forgotten */
    assert_page(c, 500, "\"differences\":4,");
    c->scheduler->changes_done = 0;
    cluster_free(c);
}

static void pods_and_nodes(void **state)
{
    (void)state;
    struct cluster *c = scene();
    struct cache *cache = &c->scheduler->cache;
    struct sched_task *task = cache_task(cache, find_pod(c, "g-w-0")->uid);
    struct sched_node *node = task->node;
    ENSURE(node);
    cache_set_task(cache, task, TASK_PENDING, NULL);
    assert_page(c, 500, "\"first\":[\"pod ns/g-w-0: not charged to its node\"]");
    cache_set_task(cache, task, TASK_BOUND, node);
    assert_page(c, 200, "\"consistent\":true");
    (*resource_vector_slot(&node->used, RESOURCE_CPU))++;
    assert_page(c, 500, "\"audit\":\"a node's used amounts differ from its pods\"");
    (*resource_vector_slot(&node->used, RESOURCE_CPU))--;
    cleanup_free char *uid = xstrdup(find_pod(c, "h-w-1")->uid);
    struct pod *pod = pod_ref(cache_task(cache, uid)->pod);
    cache_set_pod(cache, uid, NULL);
    assert_page(c, 500, "pod ns/h-w-1: not in the cache");
    cache_set_pod(cache, uid, pod);
    pod_unref(pod);
    assert_page(c, 200, "\"consistent\":true");
    cache_set_node(cache, "n1", NULL);
    assert_page(c, 500, "\"n1: the node is not in the cache as it is\"");
    cluster_free(c);
}

static void groups_and_queues(void **state)
{
    (void)state;
    struct cluster *c = scene();
    struct cache *cache = &c->scheduler->cache;
    struct sched_job *job = cache_job(cache, "ns", "g");
    job->min_member++;
    assert_page(c, 500, "\"ns/g: the PodGroup is not in the cache as it is\"");
    job->min_member--;
    cache_queue(cache, "default")->weight++;
    assert_page(c, 500, "\"default: the queue is not in the cache as it is\"");
    cache_queue(cache, "default")->weight--;
    (void)resource_set_put(&job->queue->allocated, RESOURCE_CPU, 1);
    assert_page(c, 500, "\"audit\":\"a queue's sums of requests differ from its jobs\"");
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_agreement), cmocka_unit_test(under_way),
                                       cmocka_unit_test(pods_and_nodes),
                                       cmocka_unit_test(groups_and_queues)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
