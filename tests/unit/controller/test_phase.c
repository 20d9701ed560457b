/*
 * Phases from counts: each rule of the evaluation order, and the truth table of minSuccess.
 */
#include "testing.h"

#include "controller/job/phase.h"

/* A job of up to two tasks; minimum -1 leaves a task's minAvailable unset. */
static struct job_task tasks[2];
static struct job job = {.tasks = tasks};

static void set_task(uint32_t at, int32_t replicas, int32_t minimum)
{
    tasks[at] = (struct job_task){.name = at ? "b" : "a",
                                  .replicas = replicas,
                                  .min_available = minimum < 0 ? 0 : minimum,
                                  .has_min_available = minimum >= 0};
}

static void set_job(uint32_t task_count, int32_t min_available, int32_t min_success)
{
    job.task_count = task_count;
    job.min_available = min_available;
    job.min_success = min_success;
}

static struct task_counts counts(int32_t pending, int32_t running, int32_t succeeded,
                                 int32_t failed)
{
    return (struct task_counts){.by_phase = {[POD_PHASE_PENDING] = pending,
                                             [POD_PHASE_RUNNING] = running,
                                             [POD_PHASE_SUCCEEDED] = succeeded,
                                             [POD_PHASE_FAILED] = failed}};
}

static enum job_phase next(enum job_phase phase, struct task_counts one, struct task_counts two)
{
    const struct task_counts both[2] = {one, two};

    return job_next_phase(&job, phase, both);
}

static void pending_waits_for_the_minimum(void **state)
{
    (void)state;
    set_task(0, 4, -1);
    set_job(1, 3, 0);
    assert_int_equal(next(JOB_PENDING, counts(4, 0, 0, 0), counts(0, 0, 0, 0)), JOB_PENDING);
    assert_int_equal(next(JOB_PENDING, counts(2, 2, 0, 0), counts(0, 0, 0, 0)), JOB_PENDING);
    assert_int_equal(next(JOB_PENDING, counts(1, 3, 0, 0), counts(0, 0, 0, 0)), JOB_RUNNING);
    assert_int_equal(next(JOB_PENDING, counts(1, 1, 1, 1), counts(0, 0, 0, 0)), JOB_RUNNING);
}

static void pods_that_ended_unseen_complete_the_job_in_one_step(void **state)
{
    (void)state;
    set_task(0, 20, -1);
    set_job(1, 20, 0);
    assert_int_equal(next(JOB_PENDING, counts(0, 0, 20, 0), counts(0, 0, 0, 0)), JOB_COMPLETED);
    set_job(1, 10, 0);
    assert_int_equal(next(JOB_PENDING, counts(0, 0, 9, 11), counts(0, 0, 0, 0)), JOB_FAILED);
}

/* Two tasks of one pod, one of them failed: what minAvailable and minSuccess make of it. */
static void one_of_two_failed(void **state)
{
    const struct {
        int32_t min_available, min_success;
        enum job_phase phase;
    } rows[] = {
        {1, 0, JOB_COMPLETED},
        {2, 0, JOB_FAILED},
        {1, 1, JOB_COMPLETED},
        {1, 2, JOB_FAILED},
    };

    (void)state;
    set_task(0, 1, -1);
    set_task(1, 1, -1);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        set_job(2, rows[i].min_available, rows[i].min_success);
        assert_int_equal(next(JOB_RUNNING, counts(0, 0, 1, 0), counts(0, 0, 0, 1)), rows[i].phase);
    }
}

static void a_task_short_of_its_minimum_fails_the_job(void **state)
{
    (void)state;
    set_task(0, 2, 1);
    set_task(1, 2, 2);
    set_job(2, 3, 0);
    assert_int_equal(next(JOB_RUNNING, counts(0, 0, 2, 0), counts(0, 0, 1, 1)), JOB_FAILED);
    /* Below the sum of the minimums only the job's own counts. */
    set_job(2, 2, 0);
    assert_int_equal(next(JOB_RUNNING, counts(0, 0, 2, 0), counts(0, 0, 1, 1)), JOB_COMPLETED);
}

static void min_success_ends_the_job_early(void **state)
{
    (void)state;
    set_task(0, 4, -1);
    set_job(1, 4, 2);
    assert_int_equal(next(JOB_RUNNING, counts(0, 3, 1, 0), counts(0, 0, 0, 0)), JOB_RUNNING);
    assert_int_equal(next(JOB_RUNNING, counts(0, 2, 2, 0), counts(0, 0, 0, 0)), JOB_COMPLETED);
}

static void running_falls_back_when_too_many_wait(void **state)
{
    (void)state;
    set_task(0, 4, -1);
    set_job(1, 3, 0);
    assert_int_equal(next(JOB_RUNNING, counts(1, 3, 0, 0), counts(0, 0, 0, 0)), JOB_RUNNING);
    assert_int_equal(next(JOB_RUNNING, counts(2, 2, 0, 0), counts(0, 0, 0, 0)), JOB_PENDING);
}

static void zero_replicas_stay_running(void **state)
{
    (void)state;
    set_task(0, 0, -1);
    set_job(1, 0, 0);
    assert_int_equal(next(JOB_RUNNING, counts(0, 0, 0, 0), counts(0, 0, 0, 0)), JOB_RUNNING);
}

static void other_phases_stay(void **state)
{
    (void)state;
    set_task(0, 1, -1);
    set_job(1, 1, 0);
    for (int phase = JOB_RESTARTING; phase < JOB_PHASE_COUNT; phase++)
        assert_int_equal(next((enum job_phase)phase, counts(0, 0, 1, 0), counts(0, 0, 0, 0)),
                         phase);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(pending_waits_for_the_minimum),
        cmocka_unit_test(pods_that_ended_unseen_complete_the_job_in_one_step),
        cmocka_unit_test(one_of_two_failed),
        cmocka_unit_test(a_task_short_of_its_minimum_fails_the_job),
        cmocka_unit_test(min_success_ends_the_job_early),
        cmocka_unit_test(running_falls_back_when_too_many_wait),
        cmocka_unit_test(zero_replicas_stay_running),
        cmocka_unit_test(other_phases_stay),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
