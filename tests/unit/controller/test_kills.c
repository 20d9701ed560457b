/*
 * A controller that is killed between any two of its requests, again and again. Of what was on its
 * way some takes effect, the rest is lost, and another controller begins.
 *
 * A user fails, deletes and finishes pods, restarts, scales and suspends the job, one after the
 * other, each as soon as the status shows that the one before was understood. So it is known which
 * version and how many retries there must be, which indices have finished, and of each single
 * request whether it may be made: no pod is deleted that nothing demands, none is made that is not
 * wanted.
 *
 * Arguments: the first seed, and how many.
 */
#include "play.h"

#include "base/rng.h"

#define SEEDS 100
#define SEEDS_MAX 100000
#define STEPS 25
#define TASKS 5
#define IN_FLIGHT_MAX 256
#define PODS_MAX 16
#define BLIND_NS NSEC_PER_SEC /* after its begin a controller may not know the pods yet */

/* What a failed pod restarts; pods of `done` succeed, those of `evict` are watched over. */
enum { WHOLE, SINGLE, PLAIN, DONE, EVICT };

static const struct {
    const char *name, *policies;
    int replicas;
} tasks[TASKS] = {
    [WHOLE] = {"whole", POLICIES(POLICY("PodFailed", "RestartTask")), 3},
    [SINGLE] = {"single", POLICIES(POLICY("PodFailed", "RestartPod")), 4},
    [PLAIN] = {"plain", "", 3},
    [DONE] = {"done", "", 4},
    [EVICT] = {"evict", POLICIES(POLICY("PodEvicted", "RestartPod")), 3},
};

struct scene {
    struct server *server;
    struct rng rng;
    int replicas[TASKS];
    int version, retries;
    struct ranges finished; /* of task `done` */
    unsigned commands, kills;
    bool calm;           /* nobody is killed any more */
    uint64_t until_kill; /* requests; 0: nobody is to be killed */
    int64_t began_ns;    /* the latest controller */
    struct loop_timer kill, begin;
};

static struct scene *current; /* of the requests */

static uint64_t pick(struct scene *scene, uint64_t n)
{
    return rng_below(&scene->rng, n);
}

static void apply(struct scene *scene)
{
    cleanup_buf struct buf spec = BUF_INIT(8192);

    buf_add_cstr(&spec, "{\"minAvailable\":3,\"queue\":\"default\",\"maxRetry\":10000" POLICIES(
                            POLICY("PodFailed", "RestartJob")) ",\"tasks\":[");
    for (int i = 0; i < TASKS; i++)
        buf_printf(&spec,
                   "%s{\"name\":\"%s\",\"replicas\":%d%s,"
                   "\"template\":{\"spec\":{\"containers\":[{\"name\":\"m\"}]}}}",
                   i ? "," : "", tasks[i].name, scene->replicas[i], tasks[i].policies);
    buf_add_cstr(&spec, "]}");
    play_job(scene->server, spec.p);
}

/* ---- pods --------------------------------------------------------------------------------------
 */

static const char *note(const cJSON *pod, const char *key)
{
    return json_text(json_at(json_at(pod, "metadata"), "annotations"), key);
}

static int number_of(const cJSON *pod, const char *key)
{
    int32_t value = 0;

    (void)str_to_i32(str_of(note(pod, key)), &value);
    return value;
}

static int task_of(const cJSON *pod)
{
    int i = 0;

    while (i < TASKS && strcmp(tasks[i].name, note(pod, KEY_TASK_SPEC)) != 0)
        i++;
    assert_true(i < TASKS);
    return i;
}

static bool in_phase(const cJSON *pod, const char *phase)
{
    return strcmp(json_text(json_at(pod, "status"), "phase"), phase) == 0;
}

static bool is_going(const cJSON *pod)
{
    return json_at(json_at(pod, "metadata"), "deletionTimestamp") != NULL;
}

/* The status asks for another pod in the place of this one, in a restart of less than the job. */
static bool is_aimed_at(struct scene *scene, const cJSON *pod)
{
    cleanup_free char *key = xasprintf("restart-%s", tasks[task_of(pod)].name);
    struct str rest = str_of(play_memory(scene->server, key)), below;
    struct ranges set = RANGES_INIT;
    int32_t retries = 0;

    if (!str_split(&rest, ':', &below) || !str_to_i32(below, &retries))
        return false;
    assert_true(ranges_parse(&set, rest));
    const bool aimed = ranges_has(&set, (uint32_t)number_of(pod, KEY_TASK_INDEX)) &&
                       number_of(pod, KEY_JOB_RETRY_COUNT) < retries;
    ranges_clear(&set);
    return aimed;
}

static bool has_finished(struct scene *scene, int task, int index)
{
    return task == DONE && ranges_has(&scene->finished, (uint32_t)index);
}

static bool is_surplus(struct scene *scene, const cJSON *pod)
{
    return number_of(pod, KEY_TASK_INDEX) >= scene->replicas[task_of(pod)];
}

/* Names of the pods of a task that run and that nothing was said against; returns how many. */
static uint64_t list_pods(struct scene *scene, int task, char *ret_names[PODS_MAX])
{
    struct server *server = scene->server;
    uint64_t n = 0;
    struct str name;
    void *value;

    for (size_t i = 0; map_next(&server->objects[SERVER_PODS], &i, &name, &value);) {
        const cJSON *pod = value;
        if (n < PODS_MAX && task_of(pod) == task && !is_going(pod) && in_phase(pod, "Running") &&
            number_of(pod, KEY_JOB_VERSION) == scene->version && !is_surplus(scene, pod) &&
            !is_aimed_at(scene, pod))
            ret_names[n++] = str_dup(name);
    }
    return n;
}

/* One of them; NULL when there is none. Owned. */
static char *any_pod(struct scene *scene, int task)
{
    char *found[PODS_MAX];
    const uint64_t n = list_pods(scene, task, found);
    const uint64_t chosen = n ? pick(scene, n) : 0;

    for (uint64_t i = 0; i < n; i++)
        if (i != chosen)
            free(found[i]);
    return n ? found[chosen] : NULL;
}

/* ---- what may be asked for ---------------------------------------------------------------------
 */

static bool wants_pods(const char *phase)
{
    return strcmp(phase, "Pending") == 0 || strcmp(phase, "Running") == 0 ||
           strcmp(phase, "Restarting") == 0;
}

/* What has ended goes only when it is restarted or scaled away. */
static bool is_demanded(struct scene *scene, const cJSON *pod)
{
    const int version = number_of(pod, KEY_JOB_VERSION);
    int32_t below = 0;

    (void)str_to_i32(str_of(play_memory(scene->server, "restart")), &below);
    if (is_surplus(scene, pod) || version < below || is_aimed_at(scene, pod))
        return true;
    return !in_phase(pod, "Succeeded") && !in_phase(pod, "Failed") &&
           (version < play_number(scene->server, "version") ||
            !wants_pods(play_phase(scene->server)));
}

static void judge_delete(struct scene *scene, const struct kube_call_spec *spec)
{
    char name[256];

    server_name_of(spec->path, name, sizeof(name));
    const cJSON *pod = server_get(scene->server, SERVER_PODS, name);
    cJSON *options = json_parse(spec->body);
    const char *uid = json_text(json_at(options, "preconditions"), "uid");
    if (pod && strcmp(uid, json_text(json_at(pod, "metadata"), "uid")) == 0 && !is_going(pod) &&
        !is_demanded(scene, pod))
        fail_msg("%s is deleted, %s", name, play_status_text(scene->server).p);
    cJSON_Delete(options);
}

/* The status says so. */
static bool is_known_finished(struct scene *scene, const cJSON *pod)
{
    cleanup_free char *key = xasprintf("finished-%s", tasks[task_of(pod)].name);
    struct ranges set = RANGES_INIT;

    assert_true(ranges_parse(&set, str_of(play_memory(scene->server, key))));
    const bool finished = ranges_has(&set, (uint32_t)number_of(pod, KEY_TASK_INDEX));
    ranges_clear(&set);
    return finished;
}

/* The first pods may come before the first status is written. */
static bool is_wanted(struct scene *scene, const cJSON *pod)
{
    struct server *server = scene->server;
    const char *phase = play_phase(server);

    return (strcmp(phase, "") == 0 || strcmp(phase, "Pending") == 0 ||
            strcmp(phase, "Running") == 0) &&
           number_of(pod, KEY_JOB_VERSION) == play_number(server, "version") &&
           number_of(pod, KEY_JOB_RETRY_COUNT) == play_number(server, "retryCount") &&
           !is_known_finished(scene, pod);
}

static void judge_create(struct scene *scene, const struct kube_call_spec *spec)
{
    cJSON *pod = json_parse(spec->body);
    const char *name = json_text(json_at(pod, "metadata"), "name");

    if (!server_get(scene->server, SERVER_PODS, name) && !is_wanted(scene, pod))
        fail_msg("%s is made, version %d, retry %d, %s", name, number_of(pod, KEY_JOB_VERSION),
                 number_of(pod, KEY_JOB_RETRY_COUNT), play_status_text(scene->server).p);
    cJSON_Delete(pod);
}

static void judge(struct scene *scene, const struct kube_call_spec *spec)
{
    if (server_kind_of(spec->path) != SERVER_PODS || !has(spec->path, "/namespaces/n/"))
        return;
    if (spec->method == KUBE_DELETE)
        judge_delete(scene, spec);
    if (spec->method == KUBE_POST)
        judge_create(scene, spec);
}

/* ---- kills -------------------------------------------------------------------------------------
 */

/* The next kill comes soon, in the middle of many requests, or later. */
static void plan_kill(struct scene *scene)
{
    scene->until_kill = scene->calm ? 0 : 1 + pick(scene, pick(scene, 2) ? 8 : 60);
}

static void end_kills(struct scene *scene)
{
    scene->calm = true;
    plan_kill(scene);
}

static void begin(void *arg)
{
    struct scene *scene = arg;

    server_begin(scene->server);
    scene->began_ns = loop_now(scene->server->loop);
    plan_kill(scene);
}

/* Calls that are on their way, as copies that take their time. */
static size_t copy_calls(struct scene *scene, struct kube_call_spec ret_specs[IN_FLIGHT_MAX])
{
    size_t n = 0;

    list_each(link, &scene->server->fake->calls)
    {
        const struct kube_call *call = container_of(link, struct kube_call, link);
        if (call->handled || call->spec.method == KUBE_GET || n == IN_FLIGHT_MAX)
            continue;
        ret_specs[n] = call->spec;
        ret_specs[n].path = str_of(str_dup(call->spec.path));
        ret_specs[n++].body = str_of(str_dup(call->spec.body));
    }
    return n;
}

static void arrive(struct scene *scene, const struct kube_call_spec *spec)
{
    cleanup_buf struct buf body = BUF_INIT((size_t)1 << 20);

    if (pick(scene, 2))
        (void)server_handle(scene->server, spec, &body);
}

static void kill_controller(void *arg)
{
    struct scene *scene = arg;
    struct kube_call_spec specs[IN_FLIGHT_MAX];
    const size_t n = copy_calls(scene, specs);

    server_end(scene->server);
    scene->kills++;
    scene->server->fake->deaf = scene->server->fake->mute = false;
    for (size_t i = 0; i < n; i++) {
        arrive(scene, &specs[i]);
        free((char *)(uintptr_t)specs[i].path.p);
        free((char *)(uintptr_t)specs[i].body.p);
    }
    loop_timer_set(scene->server->loop, &scene->begin, (int64_t)pick(scene, 3000) * NSEC_PER_MSEC);
}

/* Of the request at which the controller is killed none knows whether it took effect. */
static int on_request(struct server *server, const struct kube_call_spec *spec)
{
    struct scene *scene = current;

    if (scene->until_kill > 0 && --scene->until_kill == 0) {
        server->fake->deaf = server->fake->mute = true;
        loop_timer_set(server->loop, &scene->kill, 0);
        if (pick(scene, 2))
            return 503;
    }
    judge(scene, spec);
    return 0;
}

/* ---- waiting -----------------------------------------------------------------------------------
 */

typedef bool check_fn(struct scene *scene);

static void kubelets_go_on(struct server *server)
{
    struct str name;
    void *pod;

    for (size_t i = 0; map_next(&server->objects[SERVER_PODS], &i, &name, &pod);) {
        cleanup_free char *copy = str_dup(name);
        if (in_phase(pod, "Pending") && !is_going(pod))
            play_pod(server, copy, "Running");
    }
}

static void await(struct scene *scene, check_fn *check, const char *what)
{
    for (int i = 0; i < 12000; i++) {
        if (check(scene))
            return;
        run(scene->server, 25);
        kubelets_go_on(scene->server);
    }
    fail_msg("%s; version %d, retry %d wanted, %s", what, scene->version, scene->retries,
             play_status_text(scene->server).p);
}

static bool is_decided(struct scene *scene)
{
    return play_number(scene->server, "version") == scene->version &&
           play_number(scene->server, "retryCount") == scene->retries;
}

static void await_decision(struct scene *scene, int version, int retries)
{
    scene->version += version;
    scene->retries += retries;
    await(scene, is_decided, "the decision");
}

/* What restarts now would cost no retry. */
static bool is_settled(struct scene *scene)
{
    const char *phase = play_phase(scene->server);

    return strcmp(phase, "Pending") == 0 || strcmp(phase, "Running") == 0;
}

static bool finished_is_known(struct scene *scene)
{
    struct ranges known = RANGES_INIT;

    assert_true(ranges_parse(&known, str_of(play_memory(scene->server, "finished-done"))));
    const bool same = ranges_equal(&known, &scene->finished);
    ranges_clear(&known);
    return same;
}

/* What has ended stays while the job is suspended. Should an index be wanted again before its pod
 * is gone, the next controller takes a running one for evicted if a policy watches over it, and a
 * success counts: such pods are waited for. */
static bool no_surplus(struct scene *scene)
{
    const bool all_go = wants_pods(play_phase(scene->server));
    void *pod;

    for (size_t i = 0; map_next(&scene->server->objects[SERVER_PODS], &i, NULL, &pod);)
        if (is_surplus(scene, pod) && (!is_going(pod) || task_of(pod) >= DONE) &&
            (all_go || !in_phase(pod, "Succeeded")))
            return false;
    return true;
}

/* ---- steps -------------------------------------------------------------------------------------
 */

static void fail_a_pod(struct scene *scene)
{
    const int task = (int)pick(scene, PLAIN + 1);

    await(scene, is_settled, "the end of a restart");
    cleanup_free char *name = any_pod(scene, task);
    if (!name)
        return;
    play_exit(scene->server, name, 1 + (int)pick(scene, 200), 0);
    await_decision(scene, task == PLAIN, 1);
    if (task == PLAIN)
        ranges_clear(&scene->finished);
}

static struct {
    char *name, *uid; /* owned; the pod that was evicted */
} evicted;

/* Another pod is there, made without a restart: nobody saw the eviction. */
static bool is_replaced(struct scene *scene)
{
    const cJSON *pod = server_get(scene->server, SERVER_PODS, evicted.name);

    return pod && strcmp(json_text(json_at(pod, "metadata"), "uid"), evicted.uid) != 0 &&
           number_of(pod, KEY_JOB_RETRY_COUNT) == scene->retries;
}

static bool is_answered(struct scene *scene)
{
    return play_number(scene->server, "retryCount") > scene->retries || is_replaced(scene);
}

static void evict_a_pod(struct scene *scene)
{
    struct server *server = scene->server;

    await(scene, is_settled, "the end of a restart");
    evicted.name = any_pod(scene, EVICT);
    if (!evicted.name)
        return;
    const unsigned kills = scene->kills;
    const bool blind = !server->controller || server->fake->deaf ||
                       loop_now(server->loop) - scene->began_ns < BLIND_NS;
    evicted.uid = xstrdup(
        json_text(json_at(server_get(server, SERVER_PODS, evicted.name), "metadata"), "uid"));
    server_delete_pod(server, evicted.name);
    await(scene, is_answered, "another pod in place of one that was evicted");
    if (!is_replaced(scene))
        await_decision(scene, 0, 1);
    else
        assert_true(blind || scene->kills > kills || server->fake->deaf);
    free(take_ptr(evicted.name));
    free(take_ptr(evicted.uid));
}

/* No policy cares: the pod is made again. */
static void remove_a_pod(struct scene *scene)
{
    cleanup_free char *name = any_pod(scene, (int)pick(scene, DONE + 1));

    if (name)
        server_delete_pod(scene->server, name);
}

static void finish_a_pod(struct scene *scene)
{
    cleanup_free char *name = any_pod(scene, DONE);

    if (!name)
        return;
    const int index = number_of(server_get(scene->server, SERVER_PODS, name), KEY_TASK_INDEX);
    play_pod(scene->server, name, "Succeeded");
    ranges_add(&scene->finished, (uint32_t)index, (uint32_t)index);
    await(scene, finished_is_known, "the finished index in the status");
    if (pick(scene, 2))
        server_delete_pod(scene->server, name);
}

static void scale(struct scene *scene)
{
    const int task = (int)pick(scene, TASKS);
    const int size = (int)pick(scene, (uint64_t)tasks[task].replicas + 3);
    int others = 0, all = 0;

    for (int i = 0; i < TASKS; i++) {
        all += i == task ? size : scene->replicas[i];
        others += i == DONE ? 0 : i == task ? size : scene->replicas[i];
    }
    if (all < 3 || others == 0)
        return; /* too few, or those left may all have finished */
    scene->replicas[task] = size;
    if (task == DONE)
        ranges_remove(&scene->finished, (uint32_t)size, UINT32_MAX);
    apply(scene);
    run(scene->server, scene->server->lag_ms + 20);
    await(scene, no_surplus, "the end of surplus pods");
    await(scene, finished_is_known, "that scaled away is forgotten");
}

static void command(struct scene *scene, const char *action, int retries)
{
    cleanup_free char *name = xasprintf("c-%u", scene->commands++);

    play_command(scene->server, name, action);
    await_decision(scene, 1, retries);
    if (strcmp(action, "RestartJob") == 0)
        ranges_clear(&scene->finished);
}

static void restart(struct scene *scene)
{
    await(scene, is_settled, "the end of a restart");
    command(scene, "RestartJob", 1);
}

static bool is_aborted(struct scene *scene)
{
    return strcmp(play_phase(scene->server), "Aborted") == 0;
}

static void suspend(struct scene *scene)
{
    command(scene, "AbortJob", 0);
    if (pick(scene, 2))
        await(scene, is_aborted, "the job to be aborted");
    if (pick(scene, 3) == 0)
        scale(scene);
    command(scene, pick(scene, 3) ? "ResumeJob" : "RestartJob", 0);
    await(scene, no_surplus, "the end of surplus pods");
}

static void step(struct scene *scene)
{
    static void (*const steps[])(struct scene *scene) = {
        fail_a_pod,   fail_a_pod, fail_a_pod, evict_a_pod, remove_a_pod, remove_a_pod,
        finish_a_pod, scale,      scale,      restart,     suspend,
    };

    scene->server->lag_ms = (int64_t)pick(scene, 3) * 60;
    scene->server->grace_ms = (int64_t)pick(scene, 3) * 500;
    steps[pick(scene, ARRAY_SIZE(steps))](scene);
    run(scene->server, (int64_t)pick(scene, pick(scene, 2) ? 30 : 2000));
    kubelets_go_on(scene->server);
}

/* ---- how it must end ---------------------------------------------------------------------------
 */

static int all_replicas(const struct scene *scene)
{
    int sum = 0;

    for (int i = 0; i < TASKS; i++)
        sum += scene->replicas[i];
    return sum;
}

static void check_pods(struct scene *scene)
{
    size_t ended = 0;

    for (int task = 0; task < TASKS; task++) {
        for (int i = 0; i < scene->replicas[task]; i++) {
            cleanup_free char *name = xasprintf("j-%s-%d", tasks[task].name, i);
            const cJSON *pod = server_get(scene->server, SERVER_PODS, name);
            if (has_finished(scene, task, i)) {
                assert_true(!pod || in_phase(pod, "Succeeded"));
                ended += !pod;
                continue;
            }
            assert_non_null(pod);
            assert_true(in_phase(pod, "Running") && !is_going(pod));
            assert_int_equal(number_of(pod, KEY_JOB_VERSION), scene->version);
        }
    }
    assert_int_equal(play_pod_count(scene->server) + ended, all_replicas(scene));
}

static void check(struct scene *scene)
{
    struct server *server = scene->server;
    const int finished = (int)ranges_count(&scene->finished, PODS_MAX);

    check_pods(scene);
    assert_string_equal(play_phase(server), "Running");
    assert_true(is_decided(scene) && finished_is_known(scene));
    assert_int_equal(play_number(server, "running"), all_replicas(scene) - finished);
    assert_int_equal(play_number(server, "succeeded"), finished);
    assert_int_equal(play_number(server, "pending") + play_number(server, "failed") +
                         play_number(server, "terminating"),
                     0);
    assert_string_equal(play_memory(server, "restart"), "");
    assert_int_equal(map_count(&server->objects[SERVER_COMMANDS]), 0);
    assert_int_equal(map_count(&server->objects[SERVER_GROUPS]), 1);
}

static bool has_completed(struct scene *scene)
{
    return strcmp(play_phase(scene->server), "Completed") == 0;
}

static void complete(struct scene *scene)
{
    struct server *server = scene->server;
    struct str name;
    void *pod;

    scene->calm = false;
    plan_kill(scene);
    for (size_t i = 0; map_next(&server->objects[SERVER_PODS], &i, &name, &pod);) {
        cleanup_free char *copy = str_dup(name);
        if (in_phase(pod, "Running"))
            play_pod(server, copy, "Succeeded");
        run(server, (int64_t)pick(scene, 10));
    }
    await(scene, has_completed, "the end of the job");
    end_kills(scene);
    run(server, 60000);
    assert_int_equal(play_number(server, "succeeded"), all_replicas(scene));
    assert_true(is_decided(scene));
    assert_int_equal(map_count(&server->objects[SERVER_GROUPS]), 0);
}

static void play_scene(struct scene *scene)
{
    scene->server->group_phase = "Inqueue";
    scene->server->pod_phase = "Pending";
    for (int i = 0; i < TASKS; i++)
        scene->replicas[i] = tasks[i].replicas;
    scene->server->fault = on_request;
    plan_kill(scene);
    apply(scene);
    for (int i = 0; i < STEPS; i++)
        step(scene);
    end_kills(scene);
    for (int i = 0; i < 60; i++) {
        run(scene->server, 2000);
        kubelets_go_on(scene->server);
    }
    check(scene);
    complete(scene);
    assert_true(scene->kills > 0);
}

static void killed_between_any_two_requests(void **state)
{
    struct scene scene = {0};
    void *server;

    (void)server_setup(&server);
    scene.server = server;
    rng_seed(&scene.rng, (uint64_t)(uintptr_t)*state);
    loop_timer_init(&scene.kill, kill_controller, &scene);
    loop_timer_init(&scene.begin, begin, &scene);
    current = &scene;
    play_scene(&scene);
    ranges_clear(&scene.finished);
    (void)server_teardown(&server);
}

/* One test a seed, so that a failure names it. */
int main(int argc, char **argv)
{
    uint64_t first = 1, count = SEEDS;

    if (argc == 3 && (!str_to_u64(str_of(argv[1]), &first) ||
                      !str_to_u64(str_of(argv[2]), &count) || count > SEEDS_MAX))
        return 2;
    struct CMUnitTest *all = xcalloc(count, sizeof(*all));
    server_quiet();
    for (uint64_t i = 0; i < count; i++)
        all[i] =
            (struct CMUnitTest){.name = xasprintf("seed %llu", (unsigned long long)(first + i)),
                                .test_func = killed_between_any_two_requests,
                                .initial_state = (void *)(uintptr_t)(first + i)};
    const int failed = _cmocka_run_group_tests("kills", all, count, NULL, NULL);
    for (uint64_t i = 0; i < count; i++)
        free((char *)(uintptr_t)all[i].name);
    free(all);
    return failed;
}
