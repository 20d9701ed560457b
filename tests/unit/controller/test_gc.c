/*
 * Jobs that finished go when their TTL says, and no others.
 */
#include "cluster.h"

#include "api/job.h"
#include "api/names.h"
#include "controller/gc/gc.h"
#include "loop/loop_private.h"

#define JOB "/apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs/j"

struct scene {
    struct cluster cluster;
    struct store *jobs;
    struct gc *gc;
};

static int setup(void **state)
{
    struct scene *scene = xnew(struct scene);

    cluster_setup(&scene->cluster);
    scene->jobs = cluster_follow(&scene->cluster, PATH_JOBS, &job_store_type);
    scene->gc = gc_new(scene->cluster.loop, scene->cluster.window, scene->jobs);
    gc_set_leading(scene->gc, true);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;

    gc_free(scene->gc);
    cluster_teardown(&scene->cluster);
    free(scene);
    return 0;
}

/* A job that reached `phase` so many seconds ago; ttl "" for none. */
static void job(struct scene *scene, const char *phase, const char *ttl, int64_t age_s)
{
    char at[TIME_TEXT_MAX];

    (void)time_format(at, loop_wall(scene->cluster.loop) - age_s * NSEC_PER_SEC);
    cleanup_free char *limit = *ttl ? xasprintf("\"ttlSecondsAfterFinished\":%s,", ttl) : NULL;
    cleanup_free char *text =
        xasprintf("{\"spec\":{%s\"tasks\":[]},\"status\":{\"state\":{\"phase\":\"%s\","
                  "\"lastTransitionTime\":\"%s\"}}}",
                  limit ? limit : "", phase, at);
    cluster_put(&scene->cluster, JOB, text);
}

static bool is_there(struct scene *scene)
{
    return cluster_get(&scene->cluster, JOB) != NULL;
}

static void finished_jobs_go_when_their_time_is_over(void **state)
{
    static const char *const phases[] = {"Completed", "Failed", "Terminated"};
    struct scene *scene = *state;

    for (size_t i = 0; i < 3; i++) {
        job(scene, phases[i], "60", 0);
        cluster_run(&scene->cluster, 59000); /* times on the wire are whole seconds */
        assert_true(is_there(scene));
        assert_int_equal(cluster_count(&scene->cluster, "GET"), (int)i);
        cluster_run(&scene->cluster, 1200);
        assert_false(is_there(scene));
    }
    assert_int_equal(cluster_count(&scene->cluster, "GET"), 3);
    assert_int_equal(cluster_count(&scene->cluster, "DELETE"), 3);
    assert_true(cluster_said(&scene->cluster, "\"propagationPolicy\":\"Foreground\""));
    assert_true(cluster_said(&scene->cluster, "\"preconditions\":{\"uid\":\"j-uid-"));
}

static void other_phases_are_not_finished(void **state)
{
    static const char *const phases[] = {"Pending",    "Running", "Restarting", "Aborting",
                                         "Completing", "Aborted", "Terminating"};
    struct scene *scene = *state;

    for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
        job(scene, phases[i], "5", 0);
        cluster_run(&scene->cluster, 3600 * 1000);
        assert_true(is_there(scene));
    }
    job(scene, "Completed", "", 0);
    cluster_run(&scene->cluster, 3600 * 1000);
    assert_true(is_there(scene));
    assert_int_equal(scene->cluster.fake->requests, 0);
}

static void zero_seconds_are_over_at_once(void **state)
{
    struct scene *scene = *state;

    job(scene, "Completed", "0", 0);
    cluster_run(&scene->cluster, 100);
    assert_false(is_there(scene));
}

static void a_controller_that_begins_later_counts_from_the_end_of_the_job(void **state)
{
    struct scene *scene = *state;

    job(scene, "Failed", "60", 0);
    gc_free(scene->gc);
    cluster_run(&scene->cluster, 40000);
    scene->gc = gc_new(scene->cluster.loop, scene->cluster.window, scene->jobs);
    cluster_run(&scene->cluster, 40000);
    assert_true(is_there(scene)); /* it does not lead yet */
    gc_set_leading(scene->gc, true);
    cluster_run(&scene->cluster, 200);
    assert_false(is_there(scene));
}

static void a_step_of_the_clock_changes_nothing(void **state)
{
    struct scene *scene = *state;

    job(scene, "Completed", "600", 0);
    scene->cluster.loop->wall_offset += 3600 * NSEC_PER_SEC;
    cluster_run(&scene->cluster, 599000);
    assert_true(is_there(scene));
    scene->cluster.loop->wall_offset -= 7200 * NSEC_PER_SEC;
    cluster_run(&scene->cluster, 1200);
    assert_false(is_there(scene));
    /* One that finished in the future, by our clock, waits no longer than its TTL. */
    job(scene, "Completed", "600", -7200);
    cluster_run(&scene->cluster, 599000);
    assert_true(is_there(scene));
    cluster_run(&scene->cluster, 1200);
    assert_false(is_there(scene));
    job(scene, "Completed", "2147483647", INT64_C(-7400000000)); /* both of centuries */
    cluster_run(&scene->cluster, 600000);
    assert_true(is_there(scene));
}

static void what_the_watch_has_not_told_is_seen_before_the_delete(void **state)
{
    struct scene *scene = *state;

    job(scene, "Completed", "60", 0);
    scene->cluster.silent = true;
    job(scene, "Completed", "600", 0);
    cluster_run(&scene->cluster, 300000);
    assert_true(is_there(scene));
    assert_int_equal(cluster_count(&scene->cluster, "GET"), 1);
    assert_int_equal(cluster_count(&scene->cluster, "DELETE"), 0);
    cluster_run(&scene->cluster, 301000);
    assert_false(is_there(scene));
}

static void another_job_of_the_name_is_left_alone(void **state)
{
    struct scene *scene = *state;

    job(scene, "Completed", "60", 0);
    scene->cluster.silent = true;
    cluster_remove(&scene->cluster, JOB);
    job(scene, "Running", "60", 0);
    cluster_run(&scene->cluster, 600000);
    assert_true(is_there(scene));
    assert_int_equal(cluster_count(&scene->cluster, "DELETE"), 0);
}

static void a_ttl_that_is_taken_away_saves_the_job(void **state)
{
    struct scene *scene = *state;

    job(scene, "Completed", "60", 0);
    cluster_run(&scene->cluster, 30000);
    job(scene, "Completed", "", 30);
    cluster_run(&scene->cluster, 600000);
    assert_true(is_there(scene));
    assert_int_equal(scene->cluster.fake->requests, 0);
}

static int refuse_deletes(struct cluster *cluster, const struct kube_call_spec *spec)
{
    (void)cluster;
    return spec->method == KUBE_DELETE ? 500 : 0;
}

static void a_refusal_is_tried_again_until_it_heals(void **state)
{
    struct scene *scene = *state;

    scene->cluster.fault = refuse_deletes;
    job(scene, "Completed", "1", 0);
    cluster_run(&scene->cluster, 600000);
    assert_true(is_there(scene));
    assert_in_range(cluster_count(&scene->cluster, "DELETE"), 5, 25);
    scene->cluster.fault = NULL;
    cluster_run(&scene->cluster, 80000);
    assert_false(is_there(scene));
}

static void what_is_under_way_ends_with_the_controller(void **state)
{
    struct scene *scene = *state;

    scene->cluster.fake->latency_ns = NSEC_PER_SEC;
    job(scene, "Completed", "0", 0);
    cluster_run(&scene->cluster, 600);
    gc_free(take_ptr(scene->gc));
    cluster_run(&scene->cluster, 5000);
    assert_true(is_there(scene));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finished_jobs_go_when_their_time_is_over, setup, teardown),
        cmocka_unit_test_setup_teardown(other_phases_are_not_finished, setup, teardown),
        cmocka_unit_test_setup_teardown(zero_seconds_are_over_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_controller_that_begins_later_counts_from_the_end_of_the_job, setup, teardown),
        cmocka_unit_test_setup_teardown(a_step_of_the_clock_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_watch_has_not_told_is_seen_before_the_delete,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(another_job_of_the_name_is_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_ttl_that_is_taken_away_saves_the_job, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refusal_is_tried_again_until_it_heals, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_under_way_ends_with_the_controller, setup,
                                        teardown),
    };

    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
