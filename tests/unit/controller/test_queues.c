/*
 * Queues: the table of states, Commands, parents and children, and what a queue costs.
 */
#include "cluster.h"

#include "api/command.h"
#include "api/names.h"
#include "api/podgroup.h"
#include "api/queue.h"
#include "controller/queue/queues.h"
#include "controller/queue/state.h"
#include "ops/metrics.h"

#define QUEUE(name) "/apis/scheduling.volcano.sh/v1beta1/queues/" name
#define GROUP "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups/g"
#define COMMAND "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands/c"
#define STATE_WRITE "PATCH " QUEUE("q") "/status?fieldManager=queue-controller&force=true "

struct scene {
    struct cluster cluster;
    struct event_recorder *events;
    struct queues_stores stores;
    struct queues *queues;
};

static void begin(struct scene *scene)
{
    scene->queues =
        queues_new(scene->cluster.loop, scene->cluster.window, scene->events, &scene->stores);
    queues_set_leading(scene->queues, true);
    cluster_run(&scene->cluster, 500);
}

static int setup(void **state)
{
    struct scene *scene = xnew(struct scene);
    struct cluster *cluster = &scene->cluster;

    cluster_setup(cluster);
    scene->stores.queues = cluster_follow(cluster, PATH_QUEUES, &queue_store_type);
    scene->stores.podgroups = cluster_follow(cluster, PATH_PODGROUPS, &podgroup_store_type);
    scene->stores.commands = cluster_follow(cluster, PATH_COMMANDS, &command_store_type);
    for (size_t i = 0; i < cluster->kinds; i++) {
        store_list_begin(cluster->stores[i]);
        store_list_end(cluster->stores[i], 100);
    }
    scene->events = event_recorder_new(cluster->loop, cluster->window, "test");
    cluster_put(cluster, QUEUE("root"), "{\"spec\":{},\"status\":{\"state\":\"Open\"}}");
    begin(scene);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;

    queues_free(scene->queues);
    event_recorder_free(scene->events);
    cluster_teardown(&scene->cluster);
    free(scene);
    return 0;
}

static void queue(struct scene *scene, const char *path, const char *parent, const char *status)
{
    cleanup_free char *text =
        xasprintf("{\"spec\":{\"parent\":\"%s\"},\"status\":{%s}}", parent, status);

    cluster_put(&scene->cluster, path, text);
    cluster_run(&scene->cluster, 1000);
}

static void set_state(struct scene *scene, const char *path, const char *state)
{
    cleanup_free char *patch = xasprintf("{\"status\":{\"state\":\"%s\"}}", state);

    cluster_merge(&scene->cluster, path, patch);
    cluster_run(&scene->cluster, 1000);
}

static void command(struct scene *scene, const char *action, const char *name)
{
    cleanup_free char *text =
        xasprintf("{\"action\":\"%s\",\"target\":{\"apiVersion\":\"%s\",\"kind\":\"Queue\","
                  "\"name\":\"%s\"}}",
                  action, SCHEDULING_API_VERSION, name);

    cluster_put(&scene->cluster, COMMAND, text);
    cluster_run(&scene->cluster, 1000);
}

static void obeyed_command(struct scene *scene, const char *action, const char *name)
{
    command(scene, action, name);
    assert_null(cluster_get(&scene->cluster, COMMAND));
}

static void expect(struct scene *scene, const char *path, const char *state)
{
    assert_string_equal(json_text(json_at(cluster_get(&scene->cluster, path), "status"), "state"),
                        state);
}

static const char *mark(struct scene *scene, const char *path)
{
    const cJSON *meta = json_at(cluster_get(&scene->cluster, path), "metadata");

    return json_text(json_at(meta, "annotations"), KEY_CLOSED_BY_PARENT);
}

static void group(struct scene *scene, const char *name)
{
    cleanup_free char *text = xasprintf("{\"spec\":{\"queue\":\"%s\"}}", name);

    cluster_put(&scene->cluster, GROUP, text);
    cluster_run(&scene->cluster, 1000);
}

/* ---- the table ---------------------------------------------------------------------------------
 */

static void every_state_meets_every_action(void **state)
{
    /* What comes of Sync, OpenQueue, CloseQueue; first without PodGroups, then with some. */
    static const char *const table[][7] = {
        {"Open", "Open", "Open", "Closed", "Open", "Open", "Closing"},
        {"Closing", "Closed", "Open", "Closed", "Closing", "Open", "Closing"},
        {"Closed", "Closed", "Open", "Closed", "Closed", "Open", "Closed"},
        {"Unknown", "Unknown", "Open", "Closed", "Unknown", "Open", "Closing"},
        {"Strange", "Strange", "Strange", "Strange", "Strange", "Strange", "Strange"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        for (size_t column = 0; column < 6; column++) {
            const struct queue_facts facts = {.state = table[i][0],
                                              .action = (enum queue_action)(column % 3),
                                              .has_groups = column >= 3};
            assert_string_equal(queue_state_next(&facts), table[i][column + 1]);
        }
    }
}

/* ---- one queue ---------------------------------------------------------------------------------
 */

static void a_new_queue_is_opened_below_the_root(void **state)
{
    struct scene *scene = *state;
    struct cluster *cluster = &scene->cluster;

    cluster_put(cluster, QUEUE("q"), "{\"spec\":{\"weight\":1}}");
    cluster_run(cluster, 1000);
    expect(scene, QUEUE("q"), "Open");
    assert_string_equal(json_text(json_at(cluster_get(cluster, QUEUE("q")), "spec"), "parent"),
                        "root");
    assert_string_equal(json_text(json_at(cluster_get(cluster, QUEUE("root")), "spec"), "parent"),
                        "");
    assert_int_equal(cluster_count(cluster, STATE_WRITE), 1);
    assert_true(cluster_said(cluster, "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\","
                                      "\"kind\":\"Queue\","));
    assert_true(cluster_said(cluster, "\"status\":{\"state\":\"Open\"}}"));
    /* At rest it costs nothing, whatever its PodGroups do. */
    unsigned requests = cluster->fake->requests;
    group(scene, "q");
    cluster_merge(cluster, GROUP, "{\"status\":{\"phase\":\"Running\"}}");
    cluster_run(cluster, 600000);
    assert_int_equal(cluster->fake->requests, requests);
}

static void a_queue_closes_with_its_last_group(void **state)
{
    struct scene *scene = *state;

    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    group(scene, "q");
    obeyed_command(scene, "CloseQueue", "q");
    expect(scene, QUEUE("q"), "Closing");
    cluster_remove(&scene->cluster, GROUP);
    cluster_run(&scene->cluster, 1000);
    expect(scene, QUEUE("q"), "Closed");
    obeyed_command(scene, "OpenQueue", "q");
    expect(scene, QUEUE("q"), "Open");
    assert_int_equal(cluster_count(&scene->cluster, STATE_WRITE), 3);
    assert_true(cluster_said(&scene->cluster, "Close queue succeed"));
}

static void a_group_that_moves_away_counts_no_more(void **state)
{
    struct scene *scene = *state;

    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    queue(scene, QUEUE("r"), "root", "\"state\":\"Open\"");
    group(scene, "q");
    set_state(scene, QUEUE("q"), "Closing");
    expect(scene, QUEUE("q"), "Closing");
    group(scene, "r");
    expect(scene, QUEUE("q"), "Closed");
    set_state(scene, QUEUE("r"), "Closing");
    expect(scene, QUEUE("r"), "Closing");
}

static void a_state_that_a_user_writes_holds(void **state)
{
    static const char *const states[] = {"Closed", "Open", "Unknown"};
    struct scene *scene = *state;

    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    unsigned requests = scene->cluster.fake->requests;
    for (size_t i = 0; i < 3; i++) {
        set_state(scene, QUEUE("q"), states[i]);
        expect(scene, QUEUE("q"), states[i]);
    }
    assert_int_equal(scene->cluster.fake->requests, requests);
}

/* ---- commands ----------------------------------------------------------------------------------
 */

static void the_root_does_not_close(void **state)
{
    struct scene *scene = *state;

    obeyed_command(scene, "CloseQueue", "root");
    expect(scene, QUEUE("root"), "Open");
    cluster_run(&scene->cluster, 1000);
    assert_true(cluster_said(&scene->cluster, "the root queue cannot be closed"));
}

static void commands_that_can_do_nothing_go(void **state)
{
    struct scene *scene = *state;

    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    obeyed_command(scene, "OpenQueue", "q");
    obeyed_command(scene, "AbortJob", "q");
    command(scene, "CloseQueue", "no-such-queue");
    assert_non_null(cluster_get(&scene->cluster, COMMAND)); /* it may be heard of later */
    cluster_run(&scene->cluster, 20000);
    assert_null(cluster_get(&scene->cluster, COMMAND));
    expect(scene, QUEUE("q"), "Open");
    assert_int_equal(cluster_count(&scene->cluster, STATE_WRITE), 0);
    assert_true(cluster_said(&scene->cluster, "CommandIgnored"));
    cluster_put(&scene->cluster, COMMAND,
                "{\"action\":\"CloseQueue\",\"target\":{\"apiVersion\":\"scheduling.volcano.sh/"
                "v1beta1\",\"kind\":\"Queue\",\"name\":\"q\",\"uid\":\"of-one-before\"}}");
    cluster_run(&scene->cluster, 1000);
    assert_null(cluster_get(&scene->cluster, COMMAND));
    expect(scene, QUEUE("q"), "Open");
}

static void a_command_waits_for_late_news_of_its_queue(void **state)
{
    struct scene *scene = *state;

    command(scene, "CloseQueue", "q");
    cluster_run(&scene->cluster, 10000);
    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    expect(scene, QUEUE("q"), "Closed");
    assert_null(cluster_get(&scene->cluster, COMMAND));
}

/* The queue is written, and what comes back cannot be read. */
static void a_queue_that_cannot_be_read_is_written_seldom(void **state)
{
    struct scene *scene = *state;

    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    queue(scene, QUEUE("child"), "q", "\"state\":\"Open\"");
    cluster_merge(&scene->cluster, QUEUE("child"),
                  "{\"spec\":{\"capability\":{\"cpu\":\"lots\"}}}");
    unsigned requests = scene->cluster.fake->requests;
    obeyed_command(scene, "CloseQueue", "q");
    cluster_run(&scene->cluster, 30000);
    assert_in_range(scene->cluster.fake->requests - requests, 3, 30);
    cluster_merge(&scene->cluster, QUEUE("child"), "{\"spec\":{\"capability\":{\"cpu\":\"1\"}}}");
    cluster_run(&scene->cluster, 60000);
    expect(scene, QUEUE("child"), "Closed");
}

static void commands_for_jobs_are_left_alone(void **state)
{
    struct scene *scene = *state;

    cluster_put(&scene->cluster, COMMAND,
                "{\"action\":\"AbortJob\",\"target\":{\"apiVersion\":\"batch.volcano.sh/v1alpha1\","
                "\"kind\":\"Job\",\"name\":\"q\"}}");
    cluster_run(&scene->cluster, 60000);
    assert_non_null(cluster_get(&scene->cluster, COMMAND));
}

static int refuse_deletes(struct cluster *cluster, const struct kube_call_spec *spec)
{
    (void)cluster;
    return spec->method == KUBE_DELETE ? 500 : 0;
}

static void a_command_is_obeyed_once(void **state)
{
    struct scene *scene = *state;

    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    scene->cluster.fault = refuse_deletes;
    cluster_put(&scene->cluster, COMMAND,
                "{\"action\":\"CloseQueue\",\"target\":{\"apiVersion\":\"scheduling.volcano.sh/"
                "v1beta1\",\"kind\":\"Queue\",\"name\":\"q\"}}");
    cluster_run(&scene->cluster, 1000);
    expect(scene, QUEUE("q"), "Closed");
    set_state(scene, QUEUE("q"), "Open"); /* somebody opens it before the Command is gone */
    cluster_run(&scene->cluster, 120000);
    expect(scene, QUEUE("q"), "Open");
    scene->cluster.fault = NULL;
    cluster_run(&scene->cluster, 60000);
    assert_null(cluster_get(&scene->cluster, COMMAND));
    expect(scene, QUEUE("q"), "Open");
}

/* ---- parents and children ----------------------------------------------------------------------
 */

static void children_close_and_open_with_their_parent(void **state)
{
    struct scene *scene = *state;

    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    queue(scene, QUEUE("child"), "q", "\"state\":\"Open\"");
    queue(scene, QUEUE("grandchild"), "child", "\"state\":\"Open\"");
    queue(scene, QUEUE("shut"), "q", "\"state\":\"Closed\"");
    group(scene, "child");
    obeyed_command(scene, "CloseQueue", "q");
    expect(scene, QUEUE("q"), "Closed");
    expect(scene, QUEUE("child"), "Closing");
    expect(scene, QUEUE("grandchild"), "Closed");
    assert_string_equal(mark(scene, QUEUE("child")), "true");
    assert_string_equal(mark(scene, QUEUE("grandchild")), "true");
    obeyed_command(scene, "OpenQueue", "child");
    expect(scene, QUEUE("child"), "Closing"); /* not below a closed one */
    obeyed_command(scene, "OpenQueue", "q");
    cluster_run(&scene->cluster, 2000);
    expect(scene, QUEUE("q"), "Open");
    expect(scene, QUEUE("child"), "Open");
    expect(scene, QUEUE("grandchild"), "Open");
    assert_string_equal(mark(scene, QUEUE("child")), "false");
    assert_string_equal(mark(scene, QUEUE("grandchild")), "false");
    expect(scene, QUEUE("shut"), "Closed"); /* closed by somebody else */
    assert_string_equal(mark(scene, QUEUE("shut")), "");
}

static void a_restart_goes_on_where_it_was(void **state)
{
    struct scene *scene = *state;

    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    queue(scene, QUEUE("child"), "q", "\"state\":\"Open\"");
    queues_free(scene->queues);
    set_state(scene, QUEUE("q"), "Closing");
    begin(scene);
    expect(scene, QUEUE("q"), "Closed");
    expect(scene, QUEUE("child"), "Closed");
    queues_free(scene->queues);
    set_state(scene, QUEUE("q"), "Open");
    begin(scene);
    cluster_run(&scene->cluster, 1000);
    expect(scene, QUEUE("child"), "Open");
}

static int refuse_writes(struct cluster *cluster, const struct kube_call_spec *spec)
{
    (void)cluster;
    return spec->method == KUBE_PATCH ? 409 : 0;
}

static void refused_writes_are_tried_again_slowly(void **state)
{
    struct scene *scene = *state;

    scene->cluster.fault = refuse_writes;
    queue(scene, QUEUE("q"), "root", "\"state\":\"\"");
    cluster_run(&scene->cluster, 120000);
    assert_in_range(cluster_count(&scene->cluster, STATE_WRITE), 5, 20);
    scene->cluster.fault = NULL;
    cluster_run(&scene->cluster, 60000);
    expect(scene, QUEUE("q"), "Open");
}

static void nothing_is_written_without_leading(void **state)
{
    struct scene *scene = *state;

    queues_set_leading(scene->queues, false);
    queue(scene, QUEUE("q"), "", "");
    cluster_run(&scene->cluster, 60000);
    assert_int_equal(scene->cluster.fake->requests, 0);
    queues_set_leading(scene->queues, true);
    cluster_run(&scene->cluster, 1000);
    expect(scene, QUEUE("q"), "Open");
}

/* ---- events -----------------------------------------------------------------------------------
 */

/* An Event of that type and reason whose message begins so has been written. */
static bool told(struct scene *scene, const char *type, const char *reason, const char *message)
{
    char *said[] = {xasprintf("\"type\":\"%s\"", type), xasprintf("\"reason\":\"%s\"", reason),
                    xasprintf("\"message\":\"%s", message)};
    struct str rest = buf_str(&scene->cluster.log), line;
    bool found = false;

    while (str_split(&rest, '\n', &line))
        found |= str_starts(line, STR("POST /api/v1/namespaces/default/events ")) &&
                 str_find(line, str_of(said[0])) >= 0 && str_find(line, str_of(said[1])) >= 0 &&
                 str_find(line, str_of(said[2])) >= 0;
    for (size_t i = 0; i < ARRAY_SIZE(said); i++)
        free(said[i]);
    return found;
}

static int refuse_states(struct cluster *cluster, const struct kube_call_spec *spec)
{
    (void)cluster;
    return spec->method == KUBE_PATCH ? 500 : 0;
}

static void what_becomes_of_a_command_is_told(void **state)
{
    struct scene *scene = *state;

    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    queue(scene, QUEUE("child"), "q", "\"state\":\"Open\"");
    obeyed_command(scene, "CloseQueue", "q");
    cluster_run(&scene->cluster, 1000);
    assert_true(told(scene, "Normal", "CloseQueue", "Close queue succeed"));
    obeyed_command(scene, "OpenQueue", "child");
    cluster_run(&scene->cluster, 1000);
    assert_true(told(scene, "Warning", "OpenQueue", "its parent is closed"));
    obeyed_command(scene, "CloseQueue", "root");
    cluster_run(&scene->cluster, 1000);
    assert_true(told(scene, "Warning", "CloseQueue", "the root queue cannot be closed"));
}

static void states_that_cannot_be_written_are_told_of(void **state)
{
    static const char *const actions[] = {"CloseQueue", "OpenQueue"};
    static const char *const results[] = {"Closed", "Open"};
    struct scene *scene = *state;

    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *text =
            xasprintf("{\"action\":\"%s\",\"target\":{\"apiVersion\":\"%s\",\"kind\":\"Queue\","
                      "\"name\":\"q\"}}",
                      actions[i], SCHEDULING_API_VERSION);
        scene->cluster.fault = refuse_states;
        cluster_put(&scene->cluster, COMMAND, text);
        cluster_run(&scene->cluster, 2000);
        assert_true(told(scene, "Warning", actions[i], "refused"));
        scene->cluster.fault = NULL;
        cluster_run(&scene->cluster, 60000);
        expect(scene, QUEUE("q"), results[i]);
        assert_null(cluster_get(&scene->cluster, COMMAND));
    }
}

/* ---- metrics ----------------------------------------------------------------------------------
 */

static void expect_series(struct metrics *metrics, const char *phase, const char *name, int count)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    cleanup_free char *line =
        xasprintf("\nvolcano_queue_pod_group_%s_count{queue_name=\"%s\"} %d\n", phase, name, count);

    metrics_print(metrics, &text);
    if (str_find(buf_str(&text), str_of(line)) < 0)
        fail_msg("%s is not in %s", line, text.p);
}

static void expect_no_series(struct metrics *metrics, const char *name)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    cleanup_free char *label = xasprintf("{queue_name=\"%s\"}", name);

    metrics_print(metrics, &text);
    assert_true(str_find(buf_str(&text), str_of(label)) < 0);
}

static void podgroups_are_counted_by_phase(void **state)
{
    static const char *const phases[] = {"Inqueue", "Running", "Unknown", "Completed", "Pending"};
    static const char *const names[] = {"inqueue", "running", "unknown", "completed", "pending"};
    struct scene *scene = *state;
    struct metrics *metrics = metrics_new();

    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    queues_set_metrics(scene->queues, metrics);
    for (size_t i = 0; i < 5; i++)
        expect_series(metrics, names[i], "q", 0);
    group(scene, "q");
    expect_series(metrics, "pending", "q", 1);
    for (size_t i = 0; i < 5; i++) {
        cleanup_free char *patch = xasprintf("{\"status\":{\"phase\":\"%s\"}}", phases[i]);
        cluster_merge(&scene->cluster, GROUP, patch);
        for (size_t other = 0; other < 5; other++)
            expect_series(metrics, names[other], "q", other == i);
    }
    cluster_merge(&scene->cluster, GROUP, "{\"status\":{\"phase\":\"Strange\"}}");
    expect_series(metrics, "pending", "q", 0);
    cluster_merge(&scene->cluster, GROUP, "{\"status\":{\"phase\":\"Running\"}}");
    cluster_remove(&scene->cluster, GROUP);
    expect_series(metrics, "running", "q", 0);
    queues_free(take_ptr(scene->queues));
    metrics_free(metrics);
}

static void a_moved_group_is_counted_where_it_is(void **state)
{
    struct scene *scene = *state;
    struct metrics *metrics = metrics_new();

    queues_set_metrics(scene->queues, metrics);
    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    group(scene, "q");
    group(scene, "late");
    expect_series(metrics, "pending", "q", 0);
    expect_no_series(metrics, "late"); /* there is no such queue yet */
    queue(scene, QUEUE("late"), "root", "\"state\":\"Open\"");
    expect_series(metrics, "pending", "late", 1);
    cluster_remove(&scene->cluster, QUEUE("late"));
    expect_no_series(metrics, "late");
    queues_free(take_ptr(scene->queues));
    metrics_free(metrics);
}

static void only_who_leads_tells_of_queues(void **state)
{
    struct scene *scene = *state;
    struct metrics *metrics = metrics_new();

    queues_set_metrics(scene->queues, metrics);
    queue(scene, QUEUE("q"), "root", "\"state\":\"Open\"");
    queues_set_leading(scene->queues, false);
    group(scene, "q");
    expect_no_series(metrics, "q");
    queues_set_leading(scene->queues, true);
    expect_series(metrics, "pending", "q", 1);
    queues_free(take_ptr(scene->queues));
    metrics_free(metrics);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_meets_every_action),
        TEST(a_new_queue_is_opened_below_the_root),
        TEST(a_queue_closes_with_its_last_group),
        TEST(a_group_that_moves_away_counts_no_more),
        TEST(a_state_that_a_user_writes_holds),
        TEST(the_root_does_not_close),
        TEST(commands_that_can_do_nothing_go),
        TEST(a_command_waits_for_late_news_of_its_queue),
        TEST(a_queue_that_cannot_be_read_is_written_seldom),
        TEST(commands_for_jobs_are_left_alone),
        TEST(a_command_is_obeyed_once),
        TEST(children_close_and_open_with_their_parent),
        TEST(a_restart_goes_on_where_it_was),
        TEST(refused_writes_are_tried_again_slowly),
        TEST(nothing_is_written_without_leading),
        TEST(what_becomes_of_a_command_is_told),
        TEST(states_that_cannot_be_written_are_told_of),
        TEST(podgroups_are_counted_by_phase),
        TEST(a_moved_group_is_counted_where_it_is),
        TEST(only_who_leads_tells_of_queues),
    };

    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
