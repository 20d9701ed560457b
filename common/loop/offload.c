/*
 * Calls posted from other threads, and off-loop work.
 *
 * One helper thread, started with the first job, takes jobs in order and posts each job's `done`.
 * The lock guards only the two queues; neither `work` nor any call runs under it. In a simulated
 * loop there is no thread: jobs run inline at the next turn.
 */
#include "loop/loop_private.h"

#include "base/ensure.h"
#include <signal.h>

static void lock(struct loop *loop)
{
    ENSURE(pthread_mutex_lock(&loop->lock) == 0);
}

static void unlock(struct loop *loop)
{
    ENSURE(pthread_mutex_unlock(&loop->lock) == 0);
}

void loop_post(struct loop *loop, loop_fn *fn, void *arg)
{
    lock(loop);
    vec_push(&loop->posted, ((struct loop_call){fn, arg}));
    const bool first = loop->posted.n == 1;
    unlock(loop);
    if (first)
        loop_wake(loop);
}

bool loop_has_posted(struct loop *loop)
{
    lock(loop);
    const bool waiting = loop->posted.n > 0 || (loop->simulated && loop->jobs.n > 0);
    unlock(loop);
    return waiting;
}

void loop_run_posted(struct loop *loop)
{
    lock(loop);
    struct loop_call *calls = take_ptr(loop->posted.items);
    const size_t n = loop->posted.n;
    loop->posted.n = loop->posted.cap = 0;
    unlock(loop);
    for (size_t i = 0; i < n; i++)
        calls[i].fn(calls[i].arg);
    free(calls);
}

/* Takes the next job; waits for one while `wait`. False when there is none (any more). */
static bool take_job(struct loop *loop, bool wait, struct loop_job *ret_job)
{
    lock(loop);
    while (wait && loop->next_job == loop->jobs.n && !loop->helper_quit)
        pthread_cond_wait(&loop->job_added, &loop->lock);
    const bool found = loop->next_job < loop->jobs.n;
    if (found)
        *ret_job = loop->jobs.items[loop->next_job++];
    if (loop->next_job == loop->jobs.n)
        loop->next_job = loop->jobs.n = 0;
    unlock(loop);
    return found;
}

static void *helper_main(void *arg)
{
    struct loop *loop = arg;
    struct loop_job job = {0};
    while (take_job(loop, true, &job)) {
        job.work(job.arg);
        loop_post(loop, job.done, job.arg);
    }
    return NULL;
}

/* Signals are the loop thread's: the helper is born with all of them blocked. */
static void start_helper(struct loop *loop)
{
    sigset_t all, old;
    sigfillset(&all);
    ENSURE(pthread_sigmask(SIG_BLOCK, &all, &old) == 0);
    ENSURE(pthread_create(&loop->helper, NULL, helper_main, loop) == 0);
    ENSURE(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
    loop->helper_running = true;
}

void loop_offload(struct loop *loop, loop_fn *work, loop_fn *done, void *arg)
{
    if (!loop->simulated && !loop->helper_running)
        start_helper(loop);
    lock(loop);
    vec_push(&loop->jobs, ((struct loop_job){work, done, arg}));
    pthread_cond_signal(&loop->job_added);
    unlock(loop);
}

void loop_run_jobs_inline(struct loop *loop)
{
    lock(loop);
    size_t n = loop->jobs.n - loop->next_job;
    unlock(loop);
    struct loop_job job = {0};
    while (n-- > 0 && take_job(loop, false, &job)) {
        job.work(job.arg);
        job.done(job.arg);
    }
}

static void stop_helper(struct loop *loop)
{
    lock(loop);
    loop->helper_quit = true;
    pthread_cond_signal(&loop->job_added);
    unlock(loop);
    ENSURE(pthread_join(loop->helper, NULL) == 0);
    loop->helper_running = loop->helper_quit = false;
}

void loop_offload_finish(struct loop *loop)
{
    do {
        if (loop->helper_running)
            stop_helper(loop);
        if (loop->simulated)
            loop_run_jobs_inline(loop);
        loop_run_posted(loop);
    } while (loop->helper_running || loop_has_posted(loop));
    vec_clear(&loop->jobs);
    vec_clear(&loop->posted);
}
