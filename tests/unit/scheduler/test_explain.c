/*
 * The page that explains one job, and what jobs are told whose queues have had their share, with
 * the plugins that share at work.
 */
#include "cluster.h"
#include "scheduler/explain.h"

#define CONF(plugin)                                                                               \
    "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: priority\n"           \
    "  - name: gang\n  - name: predicates\n  - name: nodeorder\n" plugin

static int page(struct cluster *c, const char *path, struct buf *out)
{
    buf_clear(out);
    return explain_page(str_of(path), STR_NULL, out, c->scheduler);
}

#define assert_page(c, path, wanted, text)                                                         \
    do {                                                                                           \
        cleanup_buf struct buf out_ = BUF_INIT(65536);                                             \
        int status_ = page((c), (path), &out_);                                                    \
        if (status_ != (wanted) || str_find(buf_str(&out_), str_of(text)) < 0)                     \
            fail_msg("%d, \"%s\" not in %.*s", status_, (text), STR_ARG(buf_str(&out_)));          \
    } while (0)

static void unknown_jobs(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    assert_page(c, "/explain/ns/none", 503, "not all lists are complete yet");
    run(c);
    assert_page(c, "/explain/ns/none", 404, "neither a PodGroup \"none\"");
    assert_page(c, "/explain/", 404, "/explain/<namespace>/<job>");
    assert_page(c, "/explain/ns", 404, "/explain/<namespace>/<job>");
    assert_page(c, "/explain/ns/", 404, "/explain/<namespace>/<job>");
    add_pods(c, "ghost", "w", 1, "1"); /* pods without their PodGroup */
    run(c);
    assert_page(c, "/explain/ns/ghost", 404, "neither a PodGroup");
    cluster_free(c);
}

static void gang_that_does_not_fit(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CONF(""));
    add_nodes(c, 3, 2);
    add_gang(c, "a", 8, "1");
    run(c);
    assert_page(c, "/explain/ns/a", 200, "PodGroup:  ns/a\nphase:     Inqueue\npriority:  0\n");
    assert_page(c, "/explain/ns/a", 200, "s\nreason:    2/8 tasks in gang unsched");
    assert_page(c, "/explain/ns/a", 200, " to place its pods, the last one ");
    assert_page(c, "/explain/ns/a", 200, "pods:      8, at least 8 start together, 0 have");
    assert_page(c, "/explain/ns/a", 200, "8 pending\n");
    assert_page(c, "/explain/ns/a", 200, "task \"w\": 0 have a node or have succeeded, 8 wait");
    assert_page(c, "/explain/ns/a", 200, "cpu: 8 needed, 6 free in the whole cluster, 2 short");
    assert_page(c, "/explain/ns/a", 200, "queue:     default, open, weight 1, priority 0, 1 jobs");
    assert_page(c, "/explain/ns/a", 200, "cpu: holds 0, waits for 8, promised 0");
    assert_page(c, "/explain/ns/a", 200, "for 8 pods of task \"w\" that ask for cpu 1:\n");
    assert_page(c, "/explain/ns/a", 200, "0/3 nodes are available: 3 Insufficient cpu.");
    scheduler_lead(c->scheduler, false);
    assert_page(c, "/explain/ns/a", 200, "this scheduler stands by");
    cluster_free(c);
}

static void job_by_its_own_name(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CONF(""));
    add_nodes(c, 1, 2);
    add_gang(c, "a-01234567-89ab-cdef-0123-456789abcdef", 1, "1");
    run(c);
    assert_page(c, "/explain/ns/a", 200, "waits:     no\n");
    assert_page(c, "/explain/ns/a", 200, "PodGroup:  ns/a-01234567-89ab-cdef-0123-456789abcdef\n");
    assert_page(c, "/explain/ns/a-01234567", 404, "neither");
    cluster_free(c);
}

static void job_that_may_not_enter(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CONF("  - name: overcommit\n"));
    add_nodes(c, 1, 2);
    add_group(c, "a", "\"minMember\":1,\"minResources\":{\"cpu\":\"4\"}");
    add_group(c, "b", "\"minMember\":1,\"queue\":\"nowhere\"");
    run(c);
    assert_page(c, "/explain/ns/a", 200, "phase:     Pending");
    assert_page(c, "/explain/ns/a", 200, "overcommitted 1.2 times");
    assert_page(c, "/explain/ns/a", 200, "attempts:  none yet");
    assert_page(c, "/explain/ns/a", 200, "needs:     to enter its queue: cpu 4\n");
    assert_page(c, "/explain/ns/b", 200, "queue:     nowhere, which does not exist");
    cluster_free(c);
}

static void job_that_timed_out(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CONF(""));
    add_nodes(c, 1, 2);
    add_group_meta(c, "a", ",\"annotations\":{\"pumice.sh/waiting-time\":\"30\"}",
                   "\"minMember\":3");
    add_pods(c, "a", "w", 3, "1");
    run_for(c, 20 * NSEC_PER_SEC);
    assert_page(c, "/explain/ns/a", 200, "time-outs: 0 so far; its time in the queue is over in ");
    run_for(c, 15 * NSEC_PER_SEC);
    assert_page(c, "/explain/ns/a", 200, "time-outs: 1 so far; it may enter again in ");
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_jobs),        cmocka_unit_test(gang_that_does_not_fit),
        cmocka_unit_test(job_by_its_own_name), cmocka_unit_test(job_that_may_not_enter),
        cmocka_unit_test(job_that_timed_out),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
