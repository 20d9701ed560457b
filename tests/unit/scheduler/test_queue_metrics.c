/*
 * Metrics of queues, as they are printed.
 */
#include "scheduler/queue_metrics.h"
#include "shares.h"

static void assert_prints(struct metrics *all, const char *line, bool wanted)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    metrics_print(all, &text);
    if ((str_find(buf_str(&text), str_of(line)) >= 0) != wanted)
        fail_msg("\"%s\" is %sin\n%s", line, wanted ? "not " : "", text.p);
}

static void delete_queue(struct cluster *c, const char *name)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(c->queues, false, true,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"%s\",\"uid\":\"q-%s\",\"resourceVersion\":"
                      "\"%llu\"}}",
                      name, name, (unsigned long long)++c->rv));
}

static void queues_are_told_and_forgotten(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CONF("  - name: capacity\n"));
    struct metrics *all = metrics_new();
    struct queue_metrics *metrics = queue_metrics_new(all, c->scheduler);
    add_nodes(c, 2, 4);
    add_queue(c, "q", "",
              "\"weight\":3,\"capability\":{\"cpu\":\"5\"},\"deserved\":{\"cpu\":\"4\"}");
    add_queue(c, "gone", "", "");
    add_greedy(c, "a", "q", 7, "1");
    run(c);
    assert_prints(all, "volcano_queue_allocated_milli_cpu{queue_name=\"q\"} 5000\n", true);
    assert_prints(all, "volcano_queue_request_milli_cpu{queue_name=\"q\"} 7000\n", true);
    assert_prints(all, "volcano_queue_deserved_milli_cpu{queue_name=\"q\"} 4000\n", true);
    assert_prints(all, "volcano_queue_capacity_milli_cpu{queue_name=\"q\"} 5000\n", true);
    assert_prints(all, "volcano_queue_real_capacity_milli_cpu{queue_name=\"q\"} 5000\n", true);
    assert_prints(all, "volcano_queue_share{queue_name=\"q\"} 1.25\n", true);
    assert_prints(all, "volcano_queue_weight{queue_name=\"q\"} 3\n", true);
    assert_prints(all, "volcano_queue_overused{queue_name=\"q\"} 1\n", true);
    assert_prints(all,
                  "volcano_queue_allocated_scalar_resources{queue_name=\"q\",resource=\"pods\"} "
                  "5\n",
                  true);
    assert_prints(all, "queue_name=\"gone\"", true);
    delete_queue(c, "gone");
    run(c);
    assert_prints(all, "queue_name=\"gone\"", false);
    metrics_free(all);
    queue_metrics_free(metrics);
    cluster_free(c);
}

int main(void)
{
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_are_told_and_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
