/*
 * The controller against a small API server in memory on a virtual clock: what it asks for, how
 * often, and what it makes of refusals and lost answers.
 *
 * Lists are empty and watches stay silent; a test announces objects through the stores, as a watch
 * would.
 */
#include "testing.h"

#include "api/names.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "controller/controller.h"
#include "controller/job/control.h"
#include "kube/fake_transport.h"
#include <fcntl.h>

#define JOB_UID "11111111-2222-3333-4444-555555555555"

struct server {
    struct loop *loop;
    struct fake_transport *fake;
    struct window *window;
    struct event_recorder *events;
    struct controller *controller;
    struct map pods;  /* name -> JSON, owned */
    char *job_spec;   /* owned */
    char *job_status; /* owned; raw status of the last write, "{}" before */
    char *group;      /* owned JSON of the PodGroup, NULL without */
    uint64_t rv;
    int refuse_pods;     /* HTTP status for pod creates, 0: take them */
    const char *refusal; /* Status message */
    size_t pod_posts, pod_deletes, group_posts, group_patches, group_deletes;
    size_t status_writes;
    size_t pod_limit; /* a quota: more pods than this are refused */
};

/* ---- the server --------------------------------------------------------------------------------
 */

static bool has(struct str text, const char *part)
{
    return str_find(text, str_of(part)) >= 0;
}

static int status_body(struct buf *body, int code, const char *reason, const char *message)
{
    buf_printf(body,
               "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"%s\","
               "\"message\":\"%s\",\"code\":%d}",
               reason, message, code);
    return code;
}

/* The object of a create with the identity that a server gives it. */
static char *with_identity(struct server *server, struct str body, const char *uid)
{
    ptrdiff_t at = str_find(body, STR("\"metadata\":{"));
    size_t split = (size_t)at + sizeof("\"metadata\":{") - 1;

    assert_true(at >= 0);
    return xasprintf("%.*s\"uid\":\"%s\",\"resourceVersion\":\"%llu\",%.*s",
                     STR_ARG(str_sub(body, 0, split)), uid, (unsigned long long)++server->rv,
                     STR_ARG(str_from(body, split)));
}

static struct str name_of(struct str body)
{
    struct str rest = str_from(body, (size_t)str_find(body, STR("\"name\":\"")) + 8);

    return str_sub(rest, 0, (size_t)str_chr(rest, '"'));
}

static int create_pod(struct server *server, struct str request, struct buf *body)
{
    struct str name = name_of(request);
    cleanup_free char *uid = xasprintf("pod-%.*s", STR_ARG(name));

    server->pod_posts++;
    if (server->refuse_pods)
        return status_body(body, server->refuse_pods,
                           server->refuse_pods == 422 ? "Invalid" : "Forbidden", server->refusal);
    if (map_has(&server->pods, name))
        return status_body(body, 409, "AlreadyExists", "exists");
    if (server->pod_limit && map_count(&server->pods) >= server->pod_limit)
        return status_body(body, 403, "Forbidden", "exceeded quota: rq");
    char *pod = with_identity(server, request, uid);
    map_set(&server->pods, name, pod);
    buf_add_cstr(body, pod);
    return 201;
}

static int on_pods(struct server *server, const struct kube_call_spec *spec, struct buf *body)
{
    ptrdiff_t at = str_find(spec->path, STR("/pods/"));

    if (spec->method == KUBE_POST)
        return create_pod(server, spec->body, body);
    struct str name = str_from(spec->path, (size_t)at + 6);
    char *pod = map_get(&server->pods, name);
    if (!pod)
        return status_body(body, 404, "NotFound", "not found");
    buf_add_cstr(body, pod);
    if (spec->method == KUBE_DELETE) {
        assert_true(has(spec->body, "\"preconditions\":{\"uid\":\"pod-"));
        server->pod_deletes++;
        free(map_del(&server->pods, name));
        buf_reset(body);
        buf_add_cstr(body, "{\"kind\":\"Status\",\"status\":\"Success\"}");
    }
    return 200;
}

static char *job_json(struct server *server)
{
    return xasprintf("{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"" JOB_UID "\","
                     "\"resourceVersion\":\"%llu\",\"generation\":%zu},\"spec\":%s,\"status\":%s}",
                     (unsigned long long)++server->rv, strlen(server->job_spec), server->job_spec,
                     server->job_status);
}

static int on_job(struct server *server, const struct kube_call_spec *spec, struct buf *body)
{
    struct str status = str_from(spec->body, (size_t)str_find(spec->body, STR("\"status\":{")) + 9);

    assert_int_equal(spec->method, KUBE_PATCH);
    assert_true(has(spec->body, JOB_UID));
    server->status_writes++;
    free(server->job_status);
    server->job_status = str_dup(str_sub(status, 0, status.n - 1));
    cleanup_free char *job = job_json(server);
    buf_add_cstr(body, job);
    return 200;
}

static int on_group(struct server *server, const struct kube_call_spec *spec, struct buf *body)
{
    if (spec->method == KUBE_DELETE) {
        server->group_deletes++;
        free(take_ptr(server->group));
        buf_add_cstr(body, "{\"kind\":\"Status\",\"status\":\"Success\"}");
        return 200;
    }
    if (spec->method == KUBE_PATCH) {
        /* A server that keeps what it had: the controller must not argue in a tight loop. */
        server->group_patches++;
        buf_add_cstr(body, server->group);
        return 200;
    }
    assert_int_equal(spec->method, KUBE_POST);
    server->group_posts++;
    free(server->group);
    server->group = with_identity(server, spec->body, "pg-1");
    buf_add_cstr(body, server->group);
    return 201;
}

static int handle(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    struct server *server = arg;

    if (has(spec->path, "/events"))
        return status_body(body, 500, "InternalError", "no events here");
    if (has(spec->path, "/namespaces/n/pods"))
        return on_pods(server, spec, body);
    if (has(spec->path, "/namespaces/n/jobs/"))
        return on_job(server, spec, body);
    if (has(spec->path, "/namespaces/n/podgroups"))
        return on_group(server, spec, body);
    buf_add_cstr(body, "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}");
    return 200;
}

/* Watches stay open and silent. */
static struct kube_call *start_call(struct kube_transport *base, const struct kube_call_spec *spec)
{
    struct kube_call *call = fake_start(base, spec);

    if (spec->watch)
        loop_timer_cancel(call->fake->loop, &call->timer);
    return call;
}

static const struct kube_transport_ops ops = {
    .start = start_call, .cancel = fake_cancel, .free = fake_free};

/* ---- the test's side ---------------------------------------------------------------------------
 */

static void run(struct server *server, int64_t ms)
{
    int64_t end = loop_now(server->loop) + ms * NSEC_PER_MSEC;

    while (loop_now(server->loop) < end)
        (void)loop_turn(server->loop, end - loop_now(server->loop));
}

static void announce_job(struct server *server, const char *spec)
{
    free(server->job_spec);
    server->job_spec = xstrdup(spec);
    cleanup_free char *job = job_json(server);
    assert_non_null(store_apply(server->controller->jobs, str_of(job)));
}

/* The scheduler lets the group in. */
static void admit(struct server *server)
{
    assert_non_null(server->group);
    cleanup_free char *text = xasprintf("%.*s,\"status\":{\"phase\":\"Inqueue\"}}",
                                        (int)strlen(server->group) - 1, server->group);
    struct str raw = str_of(text);
    ptrdiff_t at = str_find(raw, STR("\"resourceVersion\":\"")) + 19;
    struct str rest = str_from(raw, (size_t)at);
    cleanup_free char *newer = xasprintf("%.*s%llu%.*s", STR_ARG(str_sub(raw, 0, (size_t)at)),
                                         (unsigned long long)++server->rv,
                                         STR_ARG(str_from(rest, (size_t)str_chr(rest, '"'))));
    assert_non_null(store_apply(server->controller->podgroups, str_of(newer)));
}

/* Every pod goes to `phase`. */
static void move_pods(struct server *server, const char *phase)
{
    struct str name;
    void *value;

    for (size_t i = 0; map_next(&server->pods, &i, &name, &value);) {
        char *pod = value;
        struct str raw = str_of(pod);
        size_t at = (size_t)str_find(raw, STR("\"resourceVersion\":\"")) + 19;
        struct str rest = str_from(raw, at);
        rest = str_from(rest, (size_t)str_chr(rest, '"'));
        char *moved = xasprintf("%.*s%llu%.*s,\"status\":{\"phase\":\"%s\"}}",
                                STR_ARG(str_sub(raw, 0, at)), (unsigned long long)++server->rv,
                                STR_ARG(str_sub(rest, 0, rest.n - 1)), phase);
        (void)store_apply(server->controller->pods, str_of(moved));
        free(moved);
    }
}

static int setup(void **state)
{
    struct server *server = xnew(struct server);

    server->rv = 100;
    server->job_spec = xstrdup("{}");
    server->job_status = xstrdup("{}");
    server->loop = loop_new_virtual(1, INT64_C(1800000000) * NSEC_PER_SEC);
    server->fake = fake_new(server->loop, handle, server);
    server->fake->base.ops = &ops;
    server->window = window_new(server->loop, &server->fake->base, &(struct window_config){0});
    server->events = event_recorder_new(server->loop, server->window, "test");
    server->controller =
        controller_new(server->loop, &server->fake->base, server->window, server->events);
    controller_set_leading(server->controller, true);
    run(server, 100);
    *state = server;
    return 0;
}

static int teardown(void **state)
{
    struct server *server = *state;

    controller_free(server->controller);
    event_recorder_free(server->events);
    window_free(server->window);
    kube_transport_free(&server->fake->base);
    loop_free(server->loop);
    map_clear_with(&server->pods, free);
    free(server->job_spec);
    free(server->job_status);
    free(server->group);
    free(server);
    return 0;
}

#define SPEC(replicas, minimum)                                                                    \
    "{\"minAvailable\":" #minimum ",\"queue\":\"default\",\"tasks\":[{\"name\":\"w\","             \
    "\"replicas\":" #replicas ",\"template\":{\"spec\":{\"containers\":[{\"name\":\"m\"}]}}}]}"

static struct job_control *control_of(struct server *server)
{
    return map_get(&server->controller->by_uid, STR(JOB_UID));
}

/* ---- tests -------------------------------------------------------------------------------------
 */

static void no_pod_before_the_group_is_let_in(void **state)
{
    struct server *server = *state;

    announce_job(server, SPEC(3, 3));
    run(server, 5000);
    assert_int_equal(server->group_posts, 1);
    assert_int_equal(server->pod_posts, 0);
    assert_int_equal(server->status_writes, 1);
    admit(server);
    run(server, 5000);
    assert_int_equal(server->pod_posts, 3);
    assert_int_equal(map_count(&server->pods), 3);
}

static void a_job_from_start_to_end_costs_few_writes(void **state)
{
    struct server *server = *state;

    announce_job(server, SPEC(20, 20));
    run(server, 200);
    admit(server);
    run(server, 500);
    move_pods(server, "Running");
    run(server, 3000);
    assert_true(has(str_of(server->job_status), "\"phase\":\"Running\""));
    assert_true(has(str_of(server->job_status), "\"running\":20"));
    assert_in_range(server->status_writes, 2, 3);
    move_pods(server, "Succeeded");
    run(server, 3000);
    assert_true(has(str_of(server->job_status), "\"phase\":\"Completed\""));
    assert_true(has(str_of(server->job_status), "\"succeeded\":20"));
    assert_in_range(server->status_writes, 3, 4);
    assert_int_equal(server->pod_posts, 20);
    assert_int_equal(server->group_posts, 1);
    assert_int_equal(server->group_deletes, 1);
    /* A finished job costs no further writes, whatever becomes of its pods. */
    size_t writes = server->status_writes;
    map_clear_with(&server->pods, free);
    server->pods = (struct map)MAP_INIT;
    run(server, 600000);
    assert_int_equal(server->status_writes, writes);
    assert_int_equal(server->pod_posts, 20);
}

static void lost_answers_make_no_second_pod(void **state)
{
    struct server *server = *state;

    announce_job(server, SPEC(10, 10));
    run(server, 200);
    admit(server);
    server->fake->mute = true;
    run(server, 20000);
    assert_int_equal(map_count(&server->pods), 10);
    server->fake->mute = false;
    run(server, 120000);
    /* Each was created once; those in doubt were looked up, not created again. */
    assert_int_equal(server->pod_posts, 10);
    assert_int_equal(job_control_present(control_of(server)), 10);
    assert_int_equal(control_of(server)->create_count, 0);
}

static void a_foreign_pod_is_waited_for(void **state)
{
    struct server *server = *state;

    map_set(&server->pods, STR("j-w-1"),
            xstrdup("{\"metadata\":{\"name\":\"j-w-1\",\"namespace\":\"n\",\"uid\":\"other\","
                    "\"resourceVersion\":\"5\"}}"));
    announce_job(server, SPEC(3, 3));
    run(server, 200);
    admit(server);
    run(server, 20000);
    assert_int_equal(job_control_present(control_of(server)), 2);
    assert_true(has(str_of(server->job_status), "exists and belongs to"));
    free(map_del(&server->pods, STR("j-w-1")));
    run(server, 120000);
    assert_int_equal(job_control_present(control_of(server)), 3);
    assert_false(has(str_of(server->job_status), "exists and belongs to"));
}

/* The pod as a deletion of its job with "Orphan", or a hand, leaves it. */
static void orphan(struct server *server, const char *name)
{
    char *pod = xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"pod-%s\","
                          "\"resourceVersion\":\"%llu\",\"labels\":{\"volcano.sh/job-name\":\"j\","
                          "\"volcano.sh/task-spec\":\"w\",\"volcano.sh/task-index\":\"1\"}}}",
                          name, name, (unsigned long long)++server->rv);

    free(map_set(&server->pods, str_of(name), pod));
    (void)store_apply(server->controller->pods, str_of(pod));
}

static void remove_pod(struct server *server, const char *name)
{
    cleanup_free char *pod = map_del(&server->pods, str_of(name));

    assert_non_null(pod);
    store_apply_deleted(server->controller->pods, str_of(pod));
}

static void a_pod_that_loses_its_owner_is_waited_for(void **state)
{
    struct server *server = *state;

    announce_job(server, SPEC(3, 3));
    run(server, 200);
    admit(server);
    run(server, 1000);
    assert_int_equal(job_control_present(control_of(server)), 3);
    orphan(server, "j-w-1");
    run(server, 5000);
    assert_int_equal(job_control_present(control_of(server)), 2);
    assert_true(has(str_of(server->job_status), "exists and belongs to nobody;"));
    remove_pod(server, "j-w-1");
    run(server, 120000);
    assert_int_equal(job_control_present(control_of(server)), 3);
    assert_false(has(str_of(server->job_status), "exists and belongs to"));
}

static void orphans_of_an_earlier_job_are_waited_for(void **state)
{
    struct server *server = *state;

    orphan(server, "j-w-1");
    announce_job(server, SPEC(3, 3));
    run(server, 200);
    admit(server);
    run(server, 20000);
    assert_int_equal(job_control_present(control_of(server)), 2);
    assert_true(has(str_of(server->job_status), "exists and belongs to nobody;"));
    remove_pod(server, "j-w-1");
    run(server, 120000);
    assert_int_equal(job_control_present(control_of(server)), 3);
}

static void pods_of_an_earlier_job_are_told_of_when_they_stay(void **state)
{
    struct server *server = *state;
    cleanup_free char *pod =
        xasprintf("{\"metadata\":{\"name\":\"j-w-1\",\"namespace\":\"n\",\"uid\":\"pod-old\","
                  "\"resourceVersion\":\"%llu\",\"labels\":{\"volcano.sh/job-name\":\"j\"},"
                  "\"ownerReferences\":[{\"apiVersion\":\"" BATCH_API_VERSION "\",\"kind\":\"Job\","
                  "\"name\":\"j\",\"uid\":\"uid-old\",\"controller\":true}]}}",
                  (unsigned long long)++server->rv);

    (void)store_apply(server->controller->pods, str_of(pod));
    announce_job(server, SPEC(3, 3));
    run(server, 200);
    admit(server);
    run(server, 300);
    /* One that goes soon is not worth a write. */
    assert_int_equal(server->status_writes, 1);
    run(server, 1000);
    assert_true(has(str_of(server->job_status), "pods of an earlier job of this name still exist"));
    assert_int_equal(server->status_writes, 2);
    assert_int_equal(server->pod_posts, 2);
    store_apply_deleted(server->controller->pods, str_of(pod));
    run(server, 5000);
    assert_int_equal(server->pod_posts, 3);
    assert_false(has(str_of(server->job_status), "earlier job"));
}

/* The job's PodGroup under another name, owner or version. */
static void announce_group(struct server *server, const char *name, const char *owner, bool gone)
{
    cleanup_free char *group = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"%s-uid\","
        "\"resourceVersion\":\"%llu\",\"ownerReferences\":[{\"apiVersion\":\"" BATCH_API_VERSION
        "\",\"kind\":\"%s\",\"name\":\"j\",\"uid\":\"" JOB_UID
        "\",\"controller\":true}]},\"spec\":{\"minMember\":1}}",
        name, name, (unsigned long long)++server->rv, owner);

    if (gone)
        store_apply_deleted(server->controller->podgroups, str_of(group));
    else
        (void)store_apply(server->controller->podgroups, str_of(group));
}

static void another_group_of_the_job_changes_nothing(void **state)
{
    struct server *server = *state;

    announce_job(server, SPEC(3, 3));
    run(server, 200);
    admit(server);
    run(server, 1000);
    const struct podgroup *ours = control_of(server)->podgroup;
    assert_non_null(ours);
    announce_group(server, "mine", "Job", false);
    run(server, 1000);
    announce_group(server, "mine", "Job", true);
    run(server, 60000);
    assert_ptr_equal(control_of(server)->podgroup, ours);
    assert_int_equal(server->group_posts, 1);
    assert_int_equal(server->group_patches, 0);
}

static void a_group_that_loses_its_owner_is_let_go(void **state)
{
    struct server *server = *state;

    announce_job(server, SPEC(3, 3));
    run(server, 200);
    assert_non_null(control_of(server)->podgroup);
    cleanup_free char *other =
        xasprintf("{\"metadata\":{\"name\":\"j-" JOB_UID "\",\"namespace\":\"n\",\"uid\":\"pg-1\","
                  "\"resourceVersion\":\"%llu\"},\"spec\":{\"minMember\":3}}",
                  (unsigned long long)++server->rv);
    (void)store_apply(server->controller->podgroups, str_of(other));
    assert_null(control_of(server)->podgroup);
    run(server, 60000);
    /* The server takes any create; each answer has the same UID and owner as before. */
    assert_in_range(server->group_posts, 2, 20);
}

static void a_quota_is_waited_for_without_storming(void **state)
{
    struct server *server = *state;

    server->pod_limit = 5;
    announce_job(server, SPEC(500, 3));
    run(server, 200);
    admit(server);
    run(server, 300000);
    assert_int_equal(map_count(&server->pods), 5);
    /* What was in flight was refused; after that one try each back-off. */
    assert_in_range(server->pod_posts, 6, 60);
    assert_true(has(str_of(server->job_status), "exceeded quota"));
    assert_true(has(str_of(server->job_status), "\"phase\":\"Pending\""));
    server->pod_limit = 0;
    run(server, 120000);
    assert_int_equal(map_count(&server->pods), 500);
    assert_false(has(str_of(server->job_status), "exceeded quota"));
}

static void a_pod_that_can_never_be_ends_the_job(void **state)
{
    struct server *server = *state;

    server->refuse_pods = 422;
    server->refusal = "Pod is invalid: spec.containers: Required value";
    announce_job(server, SPEC(3, 3));
    run(server, 200);
    admit(server);
    run(server, 10000);
    assert_true(has(str_of(server->job_status), "\"phase\":\"Failed\""));
    assert_true(has(str_of(server->job_status), "Required value"));
    size_t posts = server->pod_posts;
    run(server, 300000);
    assert_int_equal(server->pod_posts, posts);
}

static void a_deleted_job_asks_for_nothing_more(void **state)
{
    struct server *server = *state;

    server->fake->latency_ns = 100 * NSEC_PER_MSEC;
    announce_job(server, SPEC(2000, 2000));
    run(server, 500);
    admit(server);
    run(server, 500);
    assert_in_range(server->pod_posts, 16, 1000);
    cleanup_free char *job = job_json(server);
    store_apply_deleted(server->controller->jobs, str_of(job));
    run(server, 200);
    size_t posts = server->pod_posts;
    run(server, 60000);
    assert_int_equal(server->pod_posts, posts);
}

static void scaling_down_takes_the_highest(void **state)
{
    struct server *server = *state;

    announce_job(server, SPEC(8, 2));
    run(server, 200);
    admit(server);
    run(server, 500);
    assert_int_equal(map_count(&server->pods), 8);
    free(server->job_spec);
    server->job_spec = xstrdup("{}");
    announce_job(server, "{\"minAvailable\":2,\"queue\":\"default\",\"tasks\":[{\"name\":\"w\","
                         "\"replicas\":2,\"template\":{\"spec\":{\"containers\":[{\"name\":\"m\"}"
                         "]}}}],\"x\":0}");
    run(server, 1000);
    assert_int_equal(server->pod_deletes, 6);
    run(server, 60000);
    assert_in_range(server->group_patches, 1, 20);
    assert_true(map_has(&server->pods, STR("j-w-0")));
    assert_true(map_has(&server->pods, STR("j-w-1")));
}

static void nothing_is_written_without_leading(void **state)
{
    struct server *server = *state;

    controller_set_leading(server->controller, false);
    announce_job(server, SPEC(3, 3));
    run(server, 60000);
    assert_int_equal(server->group_posts + server->status_writes + server->pod_posts, 0);
    cleanup_free char *job = job_json(server);
    store_apply_deleted(server->controller->jobs, str_of(job));
    run(server, 1000);
    /* A standby forgets what is gone. */
    assert_int_equal(map_count(&server->controller->by_uid), 0);
}

static void a_large_job_waits_in_small_memory(void **state)
{
    struct server *server = *state;

    server->fake->latency_ns = NSEC_PER_SEC;
    announce_job(server, SPEC(10000, 10000));
    run(server, 3000);
    admit(server);
    run(server, 100);
    assert_int_equal(control_of(server)->create_count, JOB_CREATE_CHUNK);
}

#define TWO_TASKS(first, second)                                                                   \
    "{\"minAvailable\":1,\"queue\":\"default\",\"tasks\":[{\"name\":\"a\",\"replicas\":" first     \
    "},{\"name\":\"b\",\"replicas\":" second "}]}"

static void a_job_gets_places_for_so_many_pods_and_no_more(void **state)
{
    struct server *server = *state;

    assert_int_equal(LIMIT_JOB_PODS, 1000000);
    announce_job(server, TWO_TASKS("999999", "1"));
    assert_int_equal(control_of(server)->tasks[0].size, 999999);
    assert_int_equal(control_of(server)->tasks[1].size, 1);
    announce_job(server, TWO_TASKS("999999", "2 "));
    assert_int_equal(control_of(server)->tasks[1].size, 1);
    announce_job(server, TWO_TASKS("2147483647", "2147483647"));
    assert_int_equal(control_of(server)->tasks[0].size, LIMIT_JOB_PODS);
    assert_int_equal(control_of(server)->tasks[1].size, 0);
    run(server, 1000);
}

int main(void)
{
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

    log_set_fd(quiet);
    const struct CMUnitTest all[] = {
        cmocka_unit_test_setup_teardown(no_pod_before_the_group_is_let_in, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_from_start_to_end_costs_few_writes, setup, teardown),
        cmocka_unit_test_setup_teardown(lost_answers_make_no_second_pod, setup, teardown),
        cmocka_unit_test_setup_teardown(a_foreign_pod_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pod_that_loses_its_owner_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(orphans_of_an_earlier_job_are_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(pods_of_an_earlier_job_are_told_of_when_they_stay, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(another_group_of_the_job_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_group_that_loses_its_owner_is_let_go, setup, teardown),
        cmocka_unit_test_setup_teardown(a_quota_is_waited_for_without_storming, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pod_that_can_never_be_ends_the_job, setup, teardown),
        cmocka_unit_test_setup_teardown(a_deleted_job_asks_for_nothing_more, setup, teardown),
        cmocka_unit_test_setup_teardown(scaling_down_takes_the_highest, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_written_without_leading, setup, teardown),
        cmocka_unit_test_setup_teardown(a_large_job_waits_in_small_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_gets_places_for_so_many_pods_and_no_more, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
