/*
 * Faults: binds that fail or are in doubt, restarts in the middle of a gang, standbys, nodes and
 * pods that come, go and change.
 */
#include "cluster.h"

static void refused_bind_is_tried_again(void **state)
{
    (void)state;
    static const int statuses[] = {403, 422, 409, 500, 503};
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        struct cluster *c = cluster_new(NULL);
        add_nodes(c, 4, 1);
        struct test_group *g = add_gang(c, "a", 4, "1");
        find_pod(c, "a-w-2")->fail = statuses[i];
        run_for(c, 200 * NSEC_PER_MSEC);
        assert_int_equal(bound(c, "a", NULL), 3);
        assert_silent(g, "\"phase\":\"Running\""); /* X13 */
        check(c);
        run_for(c, 10 * NSEC_PER_SEC);
        assert_int_equal(bound(c, "a", NULL), 4);
        assert_says(g, "\"phase\":\"Running\"");
        check(c);
        cluster_free(c);
    }
}

/* The bind took effect though its answer said otherwise: it is found out, not repeated. */
static void bind_in_doubt_is_read(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 4, 1);
    add_gang(c, "a", 4, "1");
    struct test_pod *pod = find_pod(c, "a-w-1");
    pod->fail = 500;
    pod->fail_after = true;
    run(c);
    assert_int_equal(bound(c, "a", NULL), 4);
    assert_int_equal(pod->binds, 1);
    assert_int_equal(c->scheduler->cache.tasks_by_uid.count, 4);
    assert_int_equal(cache_task(&c->scheduler->cache, pod->uid)->status, TASK_BOUND);
    check(c);
    cluster_free(c);
}

static void answers_lost_for_a_while(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 6, 1);
    struct test_group *g = add_gang(c, "a", 6, "1");
    run_for(c, 5 * NSEC_PER_MSEC);
    c->fake->mute = true;
    run_for(c, 60 * NSEC_PER_SEC);
    c->fake->mute = false;
    show_group(c, g); /* the watch is listed anew */
    run_for(c, 60 * NSEC_PER_SEC);
    assert_int_equal(bound(c, "a", NULL), 6);
    assert_int_equal(c->binds, 6);
    assert_says(g, "\"phase\":\"Running\"");
    check(c);
    cluster_free(c);
}

/* X12: one pod's bind is refused for ever; it backs off, others get the node meanwhile. */
static void poisoned_pod_backs_off(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 1, 1);
    add_gang(c, "bad", 1, "1");
    find_pod(c, "bad-w-0")->fail = -403;
    run_for(c, 120 * NSEC_PER_SEC);
    unsigned requests = c->fake->requests;
    run_for(c, 300 * NSEC_PER_SEC);
    assert_in_range(c->fake->requests - requests, 1, 12);
    add_gang(c, "good", 1, "1");
    run_for(c, 5 * NSEC_PER_SEC);
    assert_int_equal(bound(c, "good", NULL), 1);
    assert_int_equal(bound(c, "bad", NULL), 0);
    check(c);
    cluster_free(c);
}

/* The watch lags: a version from before the bind arrives after its answer. */
static void stale_version_undoes_nothing(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 2, 1);
    add_gang(c, "a", 1, "1");
    struct test_pod *pod = find_pod(c, "a-w-0");
    for (int i = 0; i < 2; i++) {
        char node[NAME_SIZE];
        run_for(c, i ? NSEC_PER_SEC : 20 * NSEC_PER_MSEC); /* under way, then answered */
        enum task_status status = cache_task(&c->scheduler->cache, pod->uid)->status;
        assert_int_equal(status, i ? TASK_BOUND : TASK_BINDING);
        memcpy(node, pod->node, sizeof(node));
        pod->node[0] = '\0';
        show_pod(c, pod);
        memcpy(pod->node, node, sizeof(node));
    }
    run(c);
    assert_int_equal(pod->asked, 1);
    assert_int_equal(cache_task(&c->scheduler->cache, pod->uid)->status, TASK_BOUND);
    check(c);
    cluster_free(c);
}

static void pod_deleted_while_it_is_bound(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 3, 1);
    add_gang(c, "a", 3, "1");
    run_for(c, 5 * NSEC_PER_MSEC);
    struct test_pod *pod = find_pod(c, "a-w-0");
    pod->gone = true; /* the watch does not know yet: 404 */
    run(c);
    assert_int_equal(bound(c, "a", NULL), 2);
    assert_null(cache_task(&c->scheduler->cache, pod->uid));
    check(c);
    add_pods(c, "a", "x", 1, "1");
    run(c);
    assert_int_equal(bound(c, "a", NULL), 3);
    check(c);
    cluster_free(c);
}

static void six_nodes(struct cluster *c)
{
    add_nodes(c, 6, 1);
}

/* A gang cut off half-way is completed first, though an older, more important one waits. */
static void restart_completes_the_broken_gang(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 6, 1);
    add_gang(c, "a", 5, "1");
    c->fake->latency_ns = NSEC_PER_SEC;
    /* Admitted after one round trip; then the window lets sixteen binds go at once. */
    for (size_t i = 2; i < 5; i++)
        c->pod_list.items[i]->fail = -500;
    run_for(c, 5 * NSEC_PER_SEC);
    assert_int_equal(bound(c, "a", NULL), 2);
    for (size_t i = 2; i < 5; i++)
        c->pod_list.items[i]->fail = 0;
    add_group(c, "0", "\"minMember\":6");
    add_pods(c, "0", "w", 6, "1");
    cluster_restart(c, six_nodes);
    assert_int_equal(bound(c, "a", NULL), 2);
    run_for(c, 10 * NSEC_PER_SEC);
    assert_int_equal(bound(c, "a", NULL), 5);
    assert_int_equal(bound(c, "0", NULL), 0);
    check(c);
    cluster_free(c);
}

/* G7: nothing is decided before every list is complete. */
static void half_the_facts_are_not_enough(void **state)
{
    (void)state;
    struct cluster *c = xnew(struct cluster);
    c->loop = loop_new_virtual(1, INT64_C(1764000000) * NSEC_PER_SEC);
    new_stores(c);
    start_scheduler(c, NULL);
    scheduler_lead(c->scheduler, true);
    struct store *stores[] = {c->pods, c->nodes, c->podgroups, c->queues, c->priorityclasses};
    add_nodes(c, 2, 1);
    add_gang(c, "a", 2, "1");
    for (size_t left = 0; left < ARRAY_SIZE(stores); left++) {
        run(c);
        assert_int_equal(c->binds, 0);
        store_list_begin(stores[left]);
        c->listing = true;
        if (stores[left] == c->pods)
            for (size_t i = 0; i < c->pod_list.n; i++)
                show_pod(c, c->pod_list.items[i]);
        if (stores[left] == c->nodes)
            add_nodes(c, 2, 1);
        if (stores[left] == c->podgroups)
            show_group(c, c->group_list.items[0]);
        c->listing = false;
        store_list_end(stores[left], c->rv);
    }
    run(c);
    assert_int_equal(bound(c, "a", NULL), 2);
    cluster_free(c);
}

static void standby_watches_and_writes_nothing(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    run(c);
    scheduler_lead(c->scheduler, false);
    unsigned requests = c->fake->requests;
    add_nodes(c, 2, 1);
    add_gang(c, "a", 2, "1");
    run_for(c, 60 * NSEC_PER_SEC);
    assert_int_equal(c->fake->requests, requests);
    assert_int_equal(map_count(&c->scheduler->cache.tasks_by_uid), 2);
    scheduler_lead(c->scheduler, true);
    run(c);
    assert_int_equal(bound(c, "a", NULL), 2);
    cluster_free(c);
}

/* ---- charges --------------------------------------------------------------------------------- */

/* A terminating pod keeps its place until it is gone. */
static void terminating_pods_stay_charged(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 1, 1);
    add_gang(c, "a", 1, "1");
    run(c);
    struct test_pod *pod = find_pod(c, "a-w-0");
    pod->deleted = true;
    show_pod(c, pod);
    add_gang(c, "b", 1, "1");
    run_for(c, 30 * NSEC_PER_SEC);
    assert_int_equal(bound(c, "b", NULL), 0);
    pod->gone = true;
    show_pod(c, pod);
    run(c);
    assert_int_equal(bound(c, "b", NULL), 1);
    check(c);
    cluster_free(c);
}

static void foreign_pod(struct cluster *c, const char *node, const char *cpu, const char *phase)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(c->pods, false, false,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"f\",\"namespace\":\"x\",\"uid\":\"f\","
                      "\"resourceVersion\":\"%llu\"},\"spec\":{\"schedulerName\":\"other\","
                      "\"nodeName\":\"%s\",\"containers\":[{\"resources\":{\"requests\":{"
                      "\"cpu\":\"%s\"}}}]},\"status\":{\"phase\":\"%s\"}}",
                      (unsigned long long)++c->rv, node, cpu, phase));
}

/* Pods of others take room too; one on a node not known yet is remembered. */
static void unknown_nodes_are_remembered(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    foreign_pod(c, "n0", "600m", "Running");
    add_gang(c, "a", 1, "500m");
    add_nodes(c, 1, 1);
    run(c);
    assert_int_equal(bound(c, "a", NULL), 0);
    foreign_pod(c, "n0", "600m", "Succeeded");
    run(c);
    assert_int_equal(bound(c, "a", NULL), 1);
    check(c);
    /* The Node object goes and comes back while its pod lives. */
    delete_node(c, "n0");
    run(c);
    add_gang(c, "b", 1, "600m");
    add_nodes(c, 1, 1);
    run(c);
    assert_int_equal(bound(c, "b", NULL), 0);
    check(c);
    cluster_free(c);
}

static void gpu_node(struct cluster *c, int gpus)
{
    cleanup_free char *allocatable =
        xasprintf("\"cpu\":\"16\",\"pods\":\"110\",\"acme.example/gpu\":\"%d\"", gpus);
    add_node_json(c, "n0", "", "", allocatable);
}

static void gpu_pod(struct cluster *c, const char *name, int gpus)
{
    cleanup_free char *spec =
        xasprintf(",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"},\"limits\":{"
                  "\"acme.example/gpu\":\"%d\"}}}]",
                  gpus);
    add_group(c, name, "\"minMember\":1");
    add_pod_spec(c, name, name, "w", spec);
    run(c);
}

/* G6: only the short resource blocks. */
static void shrunken_node_serves_what_it_has(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    gpu_node(c, 8);
    gpu_pod(c, "eight", 8);
    assert_int_equal(bound(c, "eight", NULL), 1);
    for (int step = 0; step < 3; step++) {
        static const int allocatable[] = {6, 0, 8};
        cleanup_free char *cpu = xasprintf("cpu%d", step), *gpu = xasprintf("gpu%d", step);
        gpu_node(c, allocatable[step]);
        add_gang(c, cpu, 1, "1");
        gpu_pod(c, gpu, 1);
        assert_int_equal(bound(c, cpu, NULL), 1);
        assert_int_equal(bound(c, gpu, NULL), 0);
    }
    gpu_node(c, 6);
    set_phase(c, "eight", "Succeeded");
    run(c);
    for (int step = 0; step < 3; step++) {
        cleanup_free char *gpu = xasprintf("gpu%d", step);
        assert_int_equal(bound(c, gpu, NULL), 1);
    }
    gpu_pod(c, "four", 4);
    gpu_pod(c, "three", 3);
    assert_int_equal(bound(c, "four", NULL), 0);
    assert_int_equal(bound(c, "three", NULL), 1);
    check(c);
    cluster_free(c);
}

/* G4: what an init container asks for counts, and there is no slack. */
static void init_containers_count(void **state)
{
    (void)state;
    static const char spec[] =
        ",\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":\"6\"}}}],\"containers\":["
        "{\"resources\":{\"requests\":{\"cpu\":\"100m\"}}},"
        "{\"resources\":{\"limits\":{\"cpu\":\"10m\"}}}]";
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 1, 8);
    add_group(c, "a", "\"minMember\":1");
    add_group(c, "b", "\"minMember\":1");
    add_pod_spec(c, "a", "a", "w", spec);
    run(c);
    add_pod_spec(c, "b", "b", "w", spec);
    run(c);
    assert_int_equal(c->binds, 1);
    add_node_json(c, "n1", "", "", "\"cpu\":\"5999m\",\"pods\":\"9\"");
    run(c);
    assert_int_equal(c->binds, 1);
    add_node_json(c, "n1", "", "", "\"cpu\":\"6\",\"pods\":\"9\"");
    run(c);
    assert_int_equal(c->binds, 2);
    check(c);
    cluster_free(c);
}

/* G4: 100m and a limit of 10m are 110m, to the last thousandth. */
static void limits_stand_in_for_requests(void **state)
{
    (void)state;
    static const char spec[] =
        ",\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":\"10m\"}}}],\"containers\":["
        "{\"resources\":{\"requests\":{\"cpu\":\"100m\"}}},"
        "{\"resources\":{\"limits\":{\"cpu\":\"10m\"}}}]";
    static const char *const idle[] = {"108m", "109m", "110m"};
    struct cluster *c = cluster_new(NULL);
    add_group(c, "a", "\"minMember\":1");
    add_pod_spec(c, "a", "a", "w", spec);
    for (unsigned i = 0; i < ARRAY_SIZE(idle); i++) {
        cleanup_free char *cpu = xasprintf("\"cpu\":\"%s\",\"pods\":\"9\"", idle[i]);
        assert_int_equal(c->binds, 0);
        add_node_json(c, "n0", "", "", cpu);
        run(c);
    }
    assert_int_equal(c->binds, 1);
    check(c);
    cluster_free(c);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void status_write_is_retried(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 1, 1);
    struct test_group *g = add_group(c, "a", "\"minMember\":1");
    g->fail = 3;
    run_for(c, 20 * NSEC_PER_SEC);
    assert_says(g, "\"phase\":\"Inqueue\"");
    g->gone = true; /* the watch does not know: 404, then nothing more is asked */
    add_pods(c, "a", "w", 1, "1");
    run_for(c, 20 * NSEC_PER_SEC);
    unsigned requests = c->fake->requests;
    run_for(c, 100 * NSEC_PER_SEC);
    assert_int_equal(c->fake->requests, requests);
    cluster_free(c);
}

/* A write that got no answer may arrive when another scheduler leads: it would let a job in that
 * this one has not. */
static void a_late_status_says_nothing(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    cleanup_buf struct buf body = BUF_INIT(1 << 16);
    add_nodes(c, 1, 1);
    struct test_group *g = add_group(c, "a", "\"minMember\":1");
    run(c);
    assert_says(g, "\"phase\":\"Inqueue\"");
    cleanup_free char *late = xstrdup(g->last);
    add_pods(c, "a", "w", 1, "1");
    run(c);
    assert_says(g, "\"phase\":\"Running\"");
    const struct kube_call_spec spec = {.content = KUBE_MERGE_PATCH, .body = str_of(late)};
    assert_int_equal(serve_group(c, &spec, STR("a"), &body), 409);
    cluster_free(c);
}

/* Others write PodGroups, too. As soon as their news is here, ours is written. */
static void a_status_goes_with_what_others_write(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 1, 1);
    struct test_group *g = add_group(c, "a", "\"minMember\":1");
    g->rv = ++c->rv; /* the watch is late */
    run_for(c, 3 * NSEC_PER_SEC);
    assert_int_equal(g->patches, 0);
    unsigned requests = c->fake->requests;
    run_for(c, 60 * NSEC_PER_SEC);
    assert_in_range(c->fake->requests - requests, 1, 20);
    show_group(c, g);
    run_for(c, 200 * NSEC_PER_MSEC);
    assert_says(g, "\"phase\":\"Inqueue\"");
    cluster_free(c);
}

/* Deleted and made again under the same name: another job. */
static void podgroup_is_made_again(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 2, 1);
    struct test_group *g = add_gang(c, "a", 2, "1");
    run(c);
    set_phase(c, "a", "Succeeded");
    run(c);
    assert_says(g, "Completed");
    g->gone = true;
    show_group(c, g);
    for (size_t i = 0; i < 2; i++) {
        c->pod_list.items[i]->gone = true;
        show_pod(c, c->pod_list.items[i]);
    }
    run(c);
    assert_int_equal(map_count(&c->scheduler->cache.jobs_by_key), 0);
    g = add_gang(c, "a", 2, "1");
    run(c);
    assert_says(g, "Running");
    assert_int_equal(bound(c, "a", NULL), 2);
    check(c);
    cluster_free(c);
}

/* The status of a PodGroup is on its way when another one of its name takes its place. What that
 * write says, whether it came in time or not, is no news of the new one. */
static void made_again_during_a_write(bool in_time)
{
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 1, 2);
    run(c);
    unsigned requests = c->fake->requests;
    struct test_group *old = add_group(c, "a", "\"minMember\":2");
    old->gone = !in_time;
    while (c->fake->requests == requests)
        run_for(c, NSEC_PER_MSEC);
    assert_int_equal(old->patches, in_time);
    old->gone = true;
    show_group(c, old);
    struct test_group *new = add_gang(c, "a", 2, "1");
    run(c);
    set_phase(c, "a", "Running");
    run_for(c, 5 * NSEC_PER_SEC);
    assert_says(new, "\"phase\":\"Running\",\"running\":2");
    check(c);
    cluster_free(c);
}

static void podgroup_is_made_again_during_a_write(void **state)
{
    (void)state;
    made_again_during_a_write(true);
    made_again_during_a_write(false);
}

static void queue_state(struct cluster *c, const char *name, const char *status)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(c->queues, false, false,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"%s\",\"uid\":\"q-%s\","
                      "\"resourceVersion\":\"%llu\"},\"spec\":{},\"status\":{"
                      "\"state\":\"%s\"}}",
                      name, name, (unsigned long long)++c->rv, status));
}

static void queues_open_and_close(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 4, 1);
    struct test_group *g = add_group(c, "a", "\"minMember\":1,\"queue\":\"q\"");
    add_pods(c, "a", "w", 1, "1");
    run(c);
    assert_says(g, "queue \\\"q\\\" does not exist");
    queue_state(c, "q", "Closed");
    run_for(c, 5 * NSEC_PER_SEC);
    assert_says(g, "queue \\\"q\\\" is not open");
    queue_state(c, "q", "Open");
    run(c);
    assert_int_equal(bound(c, "a", NULL), 1);
    assert_silent(g, "Unschedulable");
    cluster_free(c);
}

static void default_queue_comes_back(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    c->fake->refusing = true;
    run_for(c, 20 * NSEC_PER_SEC);
    assert_int_equal(c->queue_posts, 0);
    c->fake->refusing = false;
    run_for(c, 20 * NSEC_PER_SEC);
    assert_int_equal(c->queue_posts, 2);
    show(c->queues, false, true,
         STR("{\"metadata\":{\"name\":\"default\",\"uid\":\"q-default\","
             "\"resourceVersion\":\"99\"}}"));
    run(c);
    assert_int_equal(c->queue_posts, 3);
    cluster_free(c);
}

static void on_stopped(void *arg)
{
    *(bool *)arg = true;
}

static void stop_finishes_binds(void **state)
{
    (void)state;
    bool stopped = false;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 30, 1);
    c->fake->latency_ns = 50 * NSEC_PER_MSEC;
    add_gang(c, "a", 30, "1");
    run_for(c, 200 * NSEC_PER_MSEC);
    add_gang(c, "b", 1, "1");
    scheduler_stop(c->scheduler, on_stopped, &stopped);
    run_for(c, 10 * NSEC_PER_SEC);
    assert_true(stopped);
    assert_true(bound(c, "a", NULL) == 30 || bound(c, "a", NULL) == 0);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_bind_is_tried_again),
        cmocka_unit_test(bind_in_doubt_is_read),
        cmocka_unit_test(answers_lost_for_a_while),
        cmocka_unit_test(poisoned_pod_backs_off),
        cmocka_unit_test(stale_version_undoes_nothing),
        cmocka_unit_test(pod_deleted_while_it_is_bound),
        cmocka_unit_test(restart_completes_the_broken_gang),
        cmocka_unit_test(half_the_facts_are_not_enough),
        cmocka_unit_test(standby_watches_and_writes_nothing),
        cmocka_unit_test(terminating_pods_stay_charged),
        cmocka_unit_test(unknown_nodes_are_remembered),
        cmocka_unit_test(shrunken_node_serves_what_it_has),
        cmocka_unit_test(init_containers_count),
        cmocka_unit_test(limits_stand_in_for_requests),
        cmocka_unit_test(status_write_is_retried),
        cmocka_unit_test(a_late_status_says_nothing),
        cmocka_unit_test(a_status_goes_with_what_others_write),
        cmocka_unit_test(podgroup_is_made_again),
        cmocka_unit_test(podgroup_is_made_again_during_a_write),
        cmocka_unit_test(queues_open_and_close),
        cmocka_unit_test(default_queue_comes_back),
        cmocka_unit_test(stop_finishes_binds),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
