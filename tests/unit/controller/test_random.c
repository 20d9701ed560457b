/*
 * Anything in any order: pods fail, succeed and are evicted, the job is scaled, suspended and
 * restarted, answers are lost, news is late, and the controller ends at any moment. When all is
 * quiet again there are exactly the right pods, the status is true, and nothing is asked for.
 */
#include "play.h"

#include "base/rng.h"

#define SEEDS 60
#define STEPS 40

struct scene {
    struct server *server;
    struct rng rng;
    int workers; /* replicas of task w */
    int commands;
};

static uint64_t pick(struct scene *scene, uint64_t n)
{
    return rng_below(&scene->rng, n);
}

static void apply(struct scene *scene)
{
    cleanup_free char *spec = xasprintf(
        JOB(2,
            ",\"maxRetry\":1000" POLICIES(POLICY(
                "PodEvicted",
                "RestartJob") ",{\"event\":"
                              "\"PodPending\",\"action\":\"RestartPod\",\"timeout\":\"300s\"}"),
            TASK("a", 2,
                 POLICIES(POLICY(
                     "PodFailed",
                     "RestartTask"))) ","
                                      "{\"name\":\"w\",\"replicas\":%d,\"minAvailable\":1,"
                                      "\"dependsOn\":{\"name\":[\"a\"]},"
                                      "\"policies\":[" POLICY(
                                          "PodFailed",
                                          "RestartPod") "],\"template\":{\"spec\":{"
                                                        "\"containers\":[{\"name\":\"m\"}]}}}"),
        scene->workers);

    play_job(scene->server, spec);
}

/* ---- what happens -----------------------------------------------------------------------------
 */

/* Any pod that is there; NULL when there is none. Owned. */
static char *any_pod(struct scene *scene)
{
    const size_t count = play_pod_count(scene->server);
    struct str name = STR_NULL;
    size_t position = 0;
    void *pod;

    if (count == 0)
        return NULL;
    for (uint64_t i = pick(scene, count) + 1; i > 0; i--)
        (void)map_next(&scene->server->objects[SERVER_PODS], &position, &name, &pod);
    return str_dup(name);
}

static bool is_live(struct server *server, const char *name)
{
    const cJSON *pod = server_get(server, SERVER_PODS, name);
    const char *phase = json_text(json_at(pod, "status"), "phase");

    return strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0;
}

static void end_a_pod(struct scene *scene)
{
    cleanup_free char *name = any_pod(scene);

    if (!name || !is_live(scene->server, name))
        return;
    if (pick(scene, 2))
        play_exit(scene->server, name, 1, 0);
    else
        play_pod(scene->server, name, "Succeeded");
}

static void remove_a_pod(struct scene *scene)
{
    cleanup_free char *name = any_pod(scene);

    if (name)
        server_delete_pod(scene->server, name);
}

static void move_pods(struct scene *scene)
{
    play_pods(scene->server, pick(scene, 4) ? "Running" : "Pending");
}

static void scale(struct scene *scene)
{
    scene->workers = (int)pick(scene, 6) + 1;
    apply(scene);
}

static void command(struct scene *scene)
{
    static const char *const actions[] = {"AbortJob", "ResumeJob", "RestartJob", "ResumeJob"};
    cleanup_free char *name = xasprintf("c-%d", scene->commands++);

    play_command(scene->server, name, actions[pick(scene, ARRAY_SIZE(actions))]);
}

static void another_controller(struct scene *scene)
{
    server_end(scene->server);
    run(scene->server, (int64_t)pick(scene, 3000));
    server_begin(scene->server);
}

static struct scene *current; /* of the fault */

static int fail_at_random(struct server *server, const struct kube_call_spec *spec)
{
    static const int statuses[] = {500, 503, 409, 429, 403};

    (void)server;
    if (spec->method == KUBE_GET || pick(current, 4) != 0)
        return 0;
    return statuses[pick(current, spec->method == KUBE_PATCH ? 4 : 2)];
}

static void trouble(struct scene *scene)
{
    struct server *server = scene->server;
    const uint64_t kind = pick(scene, 3);

    current = scene;
    server->lag_ms = (int64_t)pick(scene, 400);
    server->grace_ms = (int64_t)pick(scene, 4) * 1000;
    server->fault = kind == 0 ? fail_at_random : NULL;
    server->fake->mute = kind == 1;
    run(server, (int64_t)pick(scene, 2000));
    server->fake->mute = false;
}

static void step(struct scene *scene)
{
    static void (*const steps[])(struct scene *scene) = {
        end_a_pod, end_a_pod, remove_a_pod,       move_pods, move_pods,
        scale,     command,   another_controller, trouble,
    };

    steps[pick(scene, ARRAY_SIZE(steps))](scene);
    run(scene->server, (int64_t)pick(scene, pick(scene, 3) ? 300 : 5000));
}

/* ---- how it must end --------------------------------------------------------------------------
 */

static bool is_finished(struct server *server, const char *task, int index)
{
    cleanup_free char *key = xasprintf("finished-%s", task);
    struct ranges set = RANGES_INIT;

    assert_true(ranges_parse(&set, str_of(play_memory(server, key))));
    const bool finished = ranges_has(&set, (uint32_t)index);
    ranges_clear(&set);
    return finished;
}

/* Each index has its pod, of this run, or has finished. */
static void check_task(struct server *server, const char *task, int replicas)
{
    for (int i = 0; i < replicas; i++) {
        cleanup_free char *name = xasprintf("j-%s-%d", task, i);
        const cJSON *pod = server_get(server, SERVER_PODS, name);
        if (!pod && is_finished(server, task, i))
            continue;
        assert_non_null(pod);
        assert_null(json_at(json_at(pod, "metadata"), "deletionTimestamp"));
        const char *version =
            json_text(json_at(json_at(pod, "metadata"), "annotations"), KEY_JOB_VERSION);
        cleanup_free char *wanted = xasprintf("%d", play_number(server, "version"));
        if (is_live(server, name))
            assert_string_equal(version, wanted);
    }
}

/* Pods of a task, or of all ("") in a phase. */
static int count_phase(struct server *server, const char *task, const char *phase)
{
    cleanup_free char *start = xasprintf("j-%s", task);
    int count = 0;
    struct str name;
    void *pod;

    for (size_t i = 0; map_next(&server->objects[SERVER_PODS], &i, &name, &pod);)
        count += str_starts(name, str_of(start)) &&
                 strcmp(json_text(json_at(pod, "status"), "phase"), phase) == 0;
    return count;
}

static void check(struct scene *scene)
{
    struct server *server = scene->server;
    const char *phase = play_phase(server);
    const bool wants = strcmp(phase, "Running") == 0 || strcmp(phase, "Pending") == 0;

    assert_int_equal(map_count(&server->objects[SERVER_COMMANDS]), 0);
    assert_int_equal(play_number(server, "running"), count_phase(server, "", "Running"));
    assert_int_equal(play_number(server, "pending"), count_phase(server, "", "Pending"));
    assert_int_equal(play_number(server, "terminating"), 0);
    assert_string_equal(play_memory(server, "restart"), "");
    assert_string_equal(play_memory(server, "restart-a"), "");
    assert_string_equal(play_memory(server, "restart-w"), "");
    assert_int_equal(server_get(server, SERVER_GROUPS, GROUP_NAME) != NULL, wants);
    if (!wants) {
        assert_int_equal(count_phase(server, "", "Running") + count_phase(server, "", "Pending"),
                         0);
        return;
    }
    check_task(server, "a", 2);
    /* What failed before the job was suspended stays so when it is resumed; w waits for it. */
    if (count_phase(server, "a", "Failed") == 0)
        check_task(server, "w", scene->workers);
    assert_true(play_pod_count(server) <= (size_t)(2 + scene->workers));
    if (count_phase(server, "", "Pending") == 0)
        assert_string_equal(phase, "Running");
}

/* The kubelets go on; what waits for its turn has it. */
static void settle(struct scene *scene)
{
    struct server *server = scene->server;

    server->fault = NULL;
    server->lag_ms = 0;
    for (int i = 0; i < 30; i++) {
        play_pods(server, "Running");
        run(server, 10000);
    }
}

static void play_scene(struct server *server, uint64_t seed)
{
    struct scene scene = {.server = server, .workers = 4};

    rng_seed(&scene.rng, seed);
    server->group_phase = "Inqueue";
    server->pod_phase = "Pending";
    apply(&scene);
    for (int i = 0; i < STEPS; i++)
        step(&scene);
    settle(&scene);
    const size_t asked = server->asked;
    run(server, 600000);
    assert_int_equal(server->asked, asked);
    check(&scene);
}

static void anything_in_any_order(void **state)
{
    const uint64_t seed = (uint64_t)(uintptr_t)*state;
    void *server;

    (void)server_setup(&server);
    play_scene(server, seed);
    (void)server_teardown(&server);
}

/* One test a seed, so that a failure names it. */
int main(void)
{
    struct CMUnitTest all[SEEDS];
    char names[SEEDS][16];

    server_quiet();
    for (uintptr_t i = 0; i < SEEDS; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "seed %u", (unsigned)(i + 1));
        all[i] = (struct CMUnitTest){
            .name = names[i], .test_func = anything_in_any_order, .initial_state = (void *)(i + 1)};
    }
    return cmocka_run_group_tests(all, NULL, NULL);
}
