/*
 * Every member of a job's status, whole, as it is written along the way.
 */
#include "play.h"

/* A time as the API has it, taken out. */
static void take_time(cJSON *object)
{
    const char *text = json_text(object, "lastTransitionTime");

    assert_int_equal(strlen(text), strlen("2027-01-15T08:00:00Z"));
    cJSON_DeleteItemFromObjectCaseSensitive(object, "lastTransitionTime");
}

/* The phases of the conditions, a space behind each; these are taken out. */
static void assert_conditions(cJSON *status, const char *phases)
{
    cleanup_buf struct buf names = BUF_INIT(4096);
    cJSON *condition;

    cJSON_ArrayForEach(condition, json_at(status, "conditions"))
    {
        buf_printf(&names, "%s ", json_text(condition, "status"));
        take_time(condition);
        assert_int_equal(cJSON_GetArraySize(condition), 1);
    }
    assert_str(buf_str(&names), phases);
    cJSON_DeleteItemFromObjectCaseSensitive(status, "conditions");
}

/* The conditions, and all the rest of the status but for times. */
static void assert_status(struct server *server, const char *phases, const char *wanted)
{
    cJSON *is = cJSON_Duplicate(play_status(server), true), *should = json_parse(str_of(wanted));

    assert_conditions(is, phases);
    take_time(json_at(is, "state"));
    if (!cJSON_Compare(is, should, true)) {
        cleanup_free char *left = json_print(is), *right = json_print(should);
        fail_msg("%s\nshould be\n%s", left, right);
    }
    cJSON_Delete(is);
    cJSON_Delete(should);
}

static const char *transition_time(struct server *server)
{
    return json_text(json_at(play_status(server), "state"), "lastTransitionTime");
}

#define AB(minimum) JOB(minimum, "", TASK("a", 2, "") "," TASK("b", 2, ""))

static void a_job_from_its_first_status_to_its_last(void **state)
{
    struct server *server = *state;

    play_job(server, AB(3));
    run(server, 2000);
    assert_status(server, "Pending ",
                  "{\"state\":{\"phase\":\"Pending\"},\"minAvailable\":3,"
                  "\"taskStatusCount\":{\"a\":{\"phase\":{}},\"b\":{\"phase\":{}}}}");
    server->pod_phase = "Pending";
    play_admit(server);
    run(server, 2000);
    assert_status(server, "Pending ",
                  "{\"state\":{\"phase\":\"Pending\"},\"minAvailable\":3,\"pending\":4,"
                  "\"taskStatusCount\":{\"a\":{\"phase\":{\"Pending\":2}},"
                  "\"b\":{\"phase\":{\"Pending\":2}}}}");
    play_pod(server, "j-a-0", "Running");
    play_pod(server, "j-a-1", "Running");
    play_pod(server, "j-b-0", "Succeeded");
    run(server, 2000);
    assert_status(server, "Pending Running ",
                  "{\"state\":{\"phase\":\"Running\"},\"minAvailable\":3,\"pending\":1,"
                  "\"running\":2,\"succeeded\":1,"
                  "\"taskStatusCount\":{\"a\":{\"phase\":{\"Running\":2}},"
                  "\"b\":{\"phase\":{\"Pending\":1,\"Succeeded\":1}}},"
                  "\"controlledResources\":{\"finished-b\":\"0\"}}");
    play_pod(server, "j-a-1", "Failed");
    play_pod(server, "j-b-1", "Unknown");
    run(server, 2000);
    assert_status(server, "Pending Running ",
                  "{\"state\":{\"phase\":\"Running\"},\"minAvailable\":3,\"running\":1,"
                  "\"succeeded\":1,\"failed\":1,\"unknown\":1,"
                  "\"taskStatusCount\":{\"a\":{\"phase\":{\"Running\":1,\"Failed\":1}},"
                  "\"b\":{\"phase\":{\"Unknown\":1,\"Succeeded\":1}}},"
                  "\"controlledResources\":{\"finished-b\":\"0\"}}");
    run(server, 63000);
    play_pod(server, "j-b-1", "Succeeded");
    play_pod(server, "j-a-0", "Succeeded");
    run(server, 2000);
    assert_status(server, "Pending Running Completed ",
                  "{\"state\":{\"phase\":\"Completed\"},\"minAvailable\":3,\"succeeded\":3,"
                  "\"failed\":1,\"runningDuration\":\"1m11s\","
                  "\"taskStatusCount\":{\"a\":{\"phase\":{\"Succeeded\":1,\"Failed\":1}},"
                  "\"b\":{\"phase\":{\"Succeeded\":2}}},"
                  "\"controlledResources\":{\"finished-a\":\"0\",\"finished-b\":\"0-1\"}}");
}

/* One condition for each phase, that of the present one last. */
static void a_restarted_job_shows_each_phase_once(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(2, POLICIES(POLICY("PodFailed", "RestartJob")), TASK("a", 2, "")));
    server->grace_ms = 5000;
    play_pod(server, "j-a-1", "Failed");
    run(server, 2000);
    assert_status(server, "Pending Running Restarting ",
                  "{\"state\":{\"phase\":\"Restarting\"},\"minAvailable\":2,\"terminating\":2,"
                  "\"version\":1,\"retryCount\":1,\"taskStatusCount\":{\"a\":{\"phase\":{}}},"
                  "\"controlledResources\":{\"restart\":\"1\"}}");
    run(server, 10000);
    assert_status(server, "Restarting Pending Running ",
                  "{\"state\":{\"phase\":\"Running\"},\"minAvailable\":2,\"running\":2,"
                  "\"version\":1,\"retryCount\":1,"
                  "\"taskStatusCount\":{\"a\":{\"phase\":{\"Running\":2}}},"
                  "\"controlledResources\":{}}");
}

/* Counts may change without a step: the time is that of the step. */
static void the_time_is_that_of_the_last_step(void **state)
{
    struct server *server = *state;

    play_start(server, AB(2));
    cleanup_free char *since = xstrdup(transition_time(server));
    run(server, 60000);
    play_pod(server, "j-a-0", "Succeeded");
    run(server, 3000);
    assert_int_equal(play_number(server, "succeeded"), 1);
    assert_string_equal(transition_time(server), since);
    play_pods(server, "Succeeded");
    run(server, 3000);
    assert_string_equal(play_phase(server), "Completed");
    assert_string_not_equal(transition_time(server), since);
}

static void min_available_follows_the_spec(void **state)
{
    struct server *server = *state;

    play_start(server, AB(4));
    assert_int_equal(play_number(server, "minAvailable"), 4);
    play_job(server, AB(1));
    run(server, 3000);
    assert_int_equal(play_number(server, "minAvailable"), 1);
    assert_string_equal(play_phase(server), "Running");
    play_job(server, AB(0));
    run(server, 3000);
    assert_null(json_at(play_status(server), "minAvailable"));
}

/* An ended job has its duration from creation; one that only rests has none. */
static void the_duration_is_that_of_ended_jobs(void **state)
{
    static const struct {
        const char *action, *phase, *duration;
    } rows[] = {
        {"CompleteJob", "Completed", "1h1m"},
        {"TerminateJob", "Terminated", "1h1m"},
        {"AbortJob", "Aborted", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, SPEC(1, 1));
        run(server, 3660000);
        play_command(server, "end", rows[i].action);
        run(server, 3000);
        assert_string_equal(play_phase(server), rows[i].phase);
        const char *duration = json_text(play_status(server), "runningDuration");
        assert_true(str_starts(str_of(duration), str_of(rows[i].duration)));
        assert_int_equal(*duration == '\0', *rows[i].duration == '\0');
        (void)server_teardown(&arg);
    }
}

/* What others wrote into the status stays: the reference's own notes, too. */
static void notes_of_others_stay(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(1, 1));
    cJSON *status = json_at(server_get(server, SERVER_JOBS, "j"), "status");
    json_set(json_member(status, "controlledResources"), "volume-pvc-x", cJSON_CreateString("x"));
    server_touch(server, SERVER_JOBS, server_get(server, SERVER_JOBS, "j"));
    play_pods(server, "Succeeded");
    run(server, 3000);
    assert_string_equal(play_phase(server), "Completed");
    assert_string_equal(play_memory(server, "volume-pvc-x"), "x");
}

static struct buf late; /* the body of a status write that gets no answer, and arrives later */

static int hold_back(struct server *server, const struct kube_call_spec *spec)
{
    (void)server;
    if (spec->method != KUBE_PATCH || !has(spec->path, "/status") || late.n > 0)
        return 0;
    buf_add_str(&late, spec->body);
    return 504;
}

/* A write about a job that is gone says nothing about the one of that name that came after it. */
static void a_late_status_is_no_word_about_the_next_job(void **state)
{
    struct server *server = *state;
    cleanup_buf struct buf answer = BUF_INIT((size_t)1 << 20);

    play_start(server, SPEC(2, 2));
    run(server, 2000);
    assert_string_equal(play_phase(server), "Running");
    buf_init(&late, (size_t)1 << 20);
    server->fault = hold_back;
    play_pods(server, "Succeeded");
    while (late.n == 0)
        run(server, 5);
    server->fault = NULL;
    play_delete_job(server);
    run(server, 2000);
    server->group_phase = NULL;
    play_job(server, SPEC(1, 1));
    run(server, 2000);
    assert_string_equal(play_phase(server), "Pending");
    cJSON *job = server_get(server, SERVER_JOBS, "j");
    assert_int_equal(server_patch(server, SERVER_JOBS, job, buf_str(&late), &answer), 409);
    buf_clear(&late);
    assert_string_equal(play_phase(server), "Pending");
}

/* News of what another wrote may be late, as when a watch has died: then the job is read, once. */
static void what_another_wrote_is_read_where_news_of_it_is_late(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    run(server, 2000);
    for (int i = 0; i < 2; i++) {
        char rv[24];
        (void)snprintf(rv, sizeof(rv), "%llu", (unsigned long long)++server->rv);
        json_set(json_at(server_get(server, SERVER_JOBS, "j"), "metadata"), "resourceVersion",
                 cJSON_CreateString(rv));
        const size_t asked = server->asked;
        play_pod(server, i == 0 ? "j-w-0" : "j-w-1", "Succeeded");
        run(server, 3000);
        assert_int_equal(play_number(server, "succeeded"), i + 1);
        assert_in_range(server->asked - asked, 3, 5); /* refused, read, written */
    }
    assert_string_equal(play_phase(server), "Completed");
    assert_false(has(buf_str(&server->said), "JobStatusError"));
}

int main(void)
{
    server_quiet();
#define TEST(name) cmocka_unit_test_setup_teardown(name, server_setup, server_teardown)
    const struct CMUnitTest all[] = {
        TEST(a_job_from_its_first_status_to_its_last),
        TEST(a_restarted_job_shows_each_phase_once),
        TEST(the_time_is_that_of_the_last_step),
        TEST(min_available_follows_the_spec),
        cmocka_unit_test(the_duration_is_that_of_ended_jobs),
        TEST(notes_of_others_stay),
        TEST(a_late_status_is_no_word_about_the_next_job),
        TEST(what_another_wrote_is_read_where_news_of_it_is_late),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
