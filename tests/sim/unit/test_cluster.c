/*
 * Our controller and scheduler against the server in memory, all in one process on one virtual
 * clock; the test plays the users and the kubelets.
 */
#include "sim.h"

#include "api/claim.h"
#include "api/csinode.h"
#include "api/names.h"
#include "api/namespace.h"
#include "api/storageclass.h"
#include "api/volume.h"
#include "base/log.h"
#include "controller/controller.h"
#include "front/transport.h"
#include "scheduler/scheduler.h"

#define STEP (250 * NSEC_PER_MSEC)

/* What a process of ours has beside its own. */
struct program {
    struct kube_transport *transport;
    struct window *window;
    struct event_recorder *events;
};

struct cluster {
    struct sim *sim;
    struct program for_controller, for_scheduler;
    struct controller *controller;
    struct informers informers;
    struct scheduler *scheduler;
    struct rng faults;
    bool faulty;
};

/* ---- programs -------------------------------------------------------------------------------- */

/* While there is trouble, one call of ten is lost, refused or answered 500, and all take longer. */
static struct sim_fate judge(const struct kube_call_spec *spec, void *arg)
{
    struct cluster *cluster = arg;
    struct sim_fate fate = {.there_ns = 2 * NSEC_PER_MSEC, .back_ns = 2 * NSEC_PER_MSEC};
    (void)spec;
    if (!cluster->faulty)
        return fate;
    fate.there_ns += (int64_t)rng_below(&cluster->faults, 100) * NSEC_PER_MSEC;
    fate.back_ns += (int64_t)rng_below(&cluster->faults, 100) * NSEC_PER_MSEC;
    switch (rng_below(&cluster->faults, 40)) {
    case 0:
        fate.lost_there = true;
        break;
    case 1:
        fate.lost_back = true;
        break;
    case 2:
        fate.refused = true;
        break;
    case 3:
        fate.status = 500;
        fate.body = "{}";
        break;
    default:
        break;
    }
    return fate;
}

static void program_begin(struct program *program, struct cluster *cluster, const char *component)
{
    struct loop *loop = cluster->sim->loop;
    const struct window_config config = {.timeout_ns = 5 * NSEC_PER_SEC};
    program->transport = sim_transport_new(&(struct sim_transport_options){
        .loop = loop, .server = cluster->sim->server, .judge = judge, .arg = cluster});
    program->window = window_new(loop, program->transport, &config);
    program->events = event_recorder_new(loop, program->window, component);
}

static void program_end(struct program *program)
{
    event_recorder_free(program->events);
    window_free(program->window);
    kube_transport_free(program->transport);
}

static struct store *follow(struct cluster *cluster, const struct store_type *type,
                            const char *path)
{
    return informers_add(&cluster->informers, type, &(struct reflector_spec){.path = path});
}

static void begin_scheduler(struct cluster *cluster)
{
    static const char *const names[] = {DEFAULT_SCHEDULER_NAME};
    struct program *program = &cluster->for_scheduler;
    program_begin(program, cluster, DEFAULT_SCHEDULER_NAME);
    informers_init(&cluster->informers, cluster->sim->loop, program->transport);
    cluster->scheduler = scheduler_new(&(struct scheduler_params){
        .loop = cluster->sim->loop,
        .transport = program->transport,
        .window = program->window,
        .events = program->events,
        .priorityclasses = follow(cluster, &priorityclass_store_type, PATH_PRIORITYCLASSES),
        .queues = follow(cluster, &queue_store_type, PATH_QUEUES),
        .namespaces = follow(cluster, &namespace_labels_store_type, PATH_NAMESPACES),
        .storageclasses = follow(cluster, &storageclass_store_type, PATH_STORAGECLASSES),
        .csinodes = follow(cluster, &csinode_store_type, PATH_CSINODES),
        .persistent_volumes = follow(cluster, &volume_store_type, PATH_VOLUMES),
        .claims = follow(cluster, &claim_store_type, PATH_CLAIMS),
        .nodes = follow(cluster, &node_store_type, PATH_NODES),
        .podgroups = follow(cluster, &podgroup_store_type, PATH_PODGROUPS),
        .pods = follow(cluster, &pod_store_type, PATH_PODS),
        .names = names,
        .name_count = 1,
        .default_queue = DEFAULT_QUEUE,
        .config = sched_config_default(),
    });
    scheduler_lead(cluster->scheduler, true);
}

static void end_scheduler(struct cluster *cluster)
{
    scheduler_free(cluster->scheduler);
    informers_clear(&cluster->informers);
    program_end(&cluster->for_scheduler);
}

static void begin_controller(struct cluster *cluster)
{
    struct program *program = &cluster->for_controller;
    program_begin(program, cluster, "vc-controller-manager");
    cluster->controller =
        controller_new(cluster->sim->loop, program->transport, program->window, program->events);
    controller_set_leading(cluster->controller, true);
}

static void end_controller(struct cluster *cluster)
{
    controller_free(cluster->controller);
    program_end(&cluster->for_controller);
}

static int cluster_begin(void **state)
{
    struct cluster *cluster = xnew(struct cluster);
    void *sim = NULL;
    if (sim_begin(&sim) < 0)
        return -1;
    cluster->sim = sim;
    begin_controller(cluster);
    begin_scheduler(cluster);
    *state = cluster;
    return 0;
}

static int cluster_end(void **state)
{
    struct cluster *cluster = *state;
    void *sim = cluster->sim;
    end_scheduler(cluster);
    end_controller(cluster);
    free(cluster);
    return sim_end(&sim);
}

/* ---- users and kubelets ---------------------------------------------------------------------- */

static void add_node(struct sim *sim, const char *name)
{
    assert_int_equal(
        sim_post(sim, "/api/v1/nodes",
                 sim_text(sim,
                          "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"capacity\":{\"cpu\":\"4\","
                          "\"memory\":\"8Gi\",\"pods\":\"110\"},\"conditions\":"
                          "[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                          name)),
        201);
}

static void submit(struct sim *sim, const char *name, int pods)
{
    assert_int_equal(
        sim_post(sim, JOBS,
                 sim_text(sim,
                          "{\"apiVersion\":\"" BATCH_API_VERSION "\",\"kind\":\"Job\","
                          "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"minAvailable\":%d,"
                          "\"schedulerName\":\"volcano\",\"queue\":\"default\",\"tasks\":"
                          "[{\"name\":\"w\",\"replicas\":%d,\"minAvailable\":%d,\"template\":"
                          "{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
                          "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
                          name, pods, pods, pods)),
        201);
}

/* Starts what is bound, and ends what is to be deleted. */
static void kubelets(struct sim *sim)
{
    assert_int_equal(sim_get(sim, PODS "?fieldSelector=spec.nodeName!%3D"), 200);
    const struct doc *pods = doc_get(sim->body, STR("items"));
    for (doc_each(pod, pods)) {
        struct str name = doc_str_at(pod, "metadata.name");
        const char *path = sim_text(sim, PODS "/%.*s", STR_ARG(name));
        if (doc_at(pod, "metadata.deletionTimestamp"))
            (void)sim_remove(sim, path, "{\"gracePeriodSeconds\":0}");
        else if (str_is(doc_str_at(pod, "status.phase"), "Pending"))
            assert_int_equal(sim_merge(sim, sim_text(sim, "%s/status", path),
                                       "{\"status\":{\"phase\":\"Running\",\"conditions\":"
                                       "[{\"type\":\"Ready\",\"status\":\"True\"}]}}"),
                             200);
    }
}

static void run(struct cluster *cluster, int seconds)
{
    for (int64_t left = seconds * NSEC_PER_SEC; left > 0; left -= STEP) {
        sim_wait(cluster->sim, STEP);
        kubelets(cluster->sim);
        arena_reset(&cluster->sim->arena);
    }
}

static size_t count(struct sim *sim, const char *path)
{
    assert_int_equal(sim_get(sim, path), 200);
    return doc_count(doc_get(sim->body, STR("items")));
}

static size_t bound(struct sim *sim)
{
    return count(sim, PODS "?fieldSelector=spec.nodeName!%3D");
}

static void assert_phase(struct sim *sim, const char *name, const char *phase)
{
    assert_int_equal(sim_get(sim, sim_text(sim, JOBS "/%s", name)), 200);
    assert_str(sim_at(sim, "status.state.phase"), phase);
}

static void finish_pods(struct sim *sim)
{
    assert_int_equal(sim_get(sim, PODS), 200);
    const struct doc *pods = doc_get(sim->body, STR("items"));
    for (doc_each(pod, pods))
        assert_int_equal(
            sim_merge(sim,
                      sim_text(sim, PODS "/%.*s/status", STR_ARG(doc_str_at(pod, "metadata.name"))),
                      "{\"status\":{\"phase\":\"Succeeded\"}}"),
            200);
}

/* ---- stories --------------------------------------------------------------------------------- */

static void test_a_job_from_beginning_to_end(void **state)
{
    struct cluster *cluster = *state;
    struct sim *sim = cluster->sim;
    add_node(sim, "a");
    add_node(sim, "b");
    run(cluster, 5);
    assert_int_equal(sim_get(sim, QUEUES "/default"), 200);
    submit(sim, "j", 6);
    run(cluster, 5);
    assert_int_equal(bound(sim), 6);
    assert_phase(sim, "j", "Running");
    assert_int_equal(sim_number(sim, "status.running"), 6);
    finish_pods(sim);
    run(cluster, 5);
    assert_phase(sim, "j", "Completed");
    assert_int_equal(sim_remove(sim, JOBS "/j", ""), 200);
    run(cluster, 5);
    assert_int_equal(count(sim, PODS), 0);
    assert_int_equal(count(sim, PODGROUPS), 0);
}

static void test_a_gang_waits_whole(void **state)
{
    struct cluster *cluster = *state;
    struct sim *sim = cluster->sim;
    add_node(sim, "a");
    run(cluster, 5);
    submit(sim, "j", 6);
    run(cluster, 10);
    assert_int_equal(bound(sim), 0);
    assert_phase(sim, "j", "Pending");
    add_node(sim, "b");
    run(cluster, 5);
    assert_int_equal(bound(sim), 6);
    assert_phase(sim, "j", "Running");
}

static void test_quiet_writes_nothing(void **state)
{
    struct cluster *cluster = *state;
    struct sim *sim = cluster->sim;
    add_node(sim, "a");
    run(cluster, 5);
    submit(sim, "j", 3);
    run(cluster, 30);
    uint64_t rv = sim_server_rv(sim->server);
    run(cluster, 300);
    assert_int_equal(sim_server_rv(sim->server), rv);
}

/* Through lost, refused and failed calls, and with both programs begun anew in between. */
static void test_through_trouble(void **state)
{
    struct cluster *cluster = *state;
    struct sim *sim = cluster->sim;
    add_node(sim, "a");
    add_node(sim, "b");
    rng_seed(&cluster->faults, 1);
    for (int round = 0; round < 5; round++) {
        cluster->faulty = true;
        submit(sim, "j", 4);
        submit(sim, "k", 4);
        run(cluster, 20);
        end_controller(cluster);
        begin_controller(cluster);
        run(cluster, 2);
        end_scheduler(cluster);
        begin_scheduler(cluster);
        run(cluster, 20);
        cluster->faulty = false;
        run(cluster, 120);
        assert_int_equal(bound(sim), 8);
        assert_phase(sim, "j", "Running");
        assert_phase(sim, "k", "Running");
        cluster->faulty = true;
        assert_int_equal(sim_remove(sim, JOBS "/j", ""), 200);
        assert_int_equal(sim_remove(sim, JOBS "/k", ""), 200);
        run(cluster, 20);
        cluster->faulty = false;
        run(cluster, 60);
        assert_int_equal(count(sim, PODS), 0);
        assert_int_equal(count(sim, PODGROUPS), 0);
    }
}

int main(void)
{
    log_set_fd(-1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_job_from_beginning_to_end, cluster_begin,
                                        cluster_end),
        cmocka_unit_test_setup_teardown(test_a_gang_waits_whole, cluster_begin, cluster_end),
        cmocka_unit_test_setup_teardown(test_quiet_writes_nothing, cluster_begin, cluster_end),
        cmocka_unit_test_setup_teardown(test_through_trouble, cluster_begin, cluster_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
