/*
 * Inside of the event loop, shared by loop.c (turns, timers, deferred calls), poll.c (descriptors,
 * signals, waking) and offload.c (posted calls and off-loop work). Not for anybody else.
 */
#ifndef PUMICE_LOOP_LOOP_PRIVATE_H
#define PUMICE_LOOP_LOOP_PRIVATE_H

#include "base/vec.h"
#include "loop/loop.h"
#include <pthread.h>

/* What is watched on one descriptor; the table of these is indexed by descriptor. */
struct loop_watch {
    int events;          /* LOOP_READ | LOOP_WRITE; 0: not watched */
    uint32_t generation; /* counts uses of the slot, so that stale events are told apart */
    loop_fd_fn *fn;
    void *arg;
};

struct loop_call {
    loop_fn *fn;
    void *arg;
};

struct loop_job {
    loop_fn *work, *done;
    void *arg;
};

struct loop {
    bool simulated, stopping;
    int64_t now;         /* cached for the turn */
    int64_t wall_offset; /* simulated: wall time minus now */
    struct rng rng;
    int64_t longest_turn;
    uint64_t turns;
    int64_t alive_ns; /* when it was last known to run */
    uint64_t gaps;    /* see loop_gaps */

    struct heap timers; /* of struct loop_timer, by due time and sequence */
    uint64_t next_sequence;
    struct list deferred; /* of struct loop_deferred, in order */

    int epoll_fd, wake_fd, signal_fd; /* -1 when there is none */
    bool no_pwait2;                   /* the kernel has no epoll_pwait2 */
    int64_t gather_ns;                /* see loop_set_gather */
    int64_t woken_at;                 /* when the last poll returned */
    int64_t wake_interval;            /* mean time between returns of waits, while not gathering */
    unsigned quiet; /* of the last times in which events were to gather, in vain */
    VEC(struct loop_watch) watches;
    loop_fn *terminate;
    void *terminate_arg;
    unsigned terminations; /* signals seen so far */

    pthread_mutex_t lock; /* guards all that follows */
    VEC(struct loop_call) posted;
    VEC(struct loop_job) jobs;
    size_t next_job; /* index of the first job not taken yet */
    bool helper_quit;
    pthread_cond_t job_added;
    bool helper_running; /* loop thread only */
    pthread_t helper;    /* loop thread only */
};

/* loop.c: it runs, after a wait of at most `waited_ns` that was meant. */
void loop_note_alive(struct loop *loop, int64_t waited_ns);

/* poll.c: opens epoll and the wake descriptor; closes what is open. */
void loop_poll_open(struct loop *loop);
void loop_poll_close(struct loop *loop);
/* Waits at most `wait_ns` for descriptors, refreshes `now`, and calls back for those ready. */
void loop_poll(struct loop *loop, int64_t wait_ns);
/* Makes a wait return; any thread. */
void loop_wake(struct loop *loop);

/* offload.c: runs the calls that were posted up to now, and (simulated) the off-loop work. */
void loop_run_posted(struct loop *loop);
void loop_run_jobs_inline(struct loop *loop);
/* Whether posted calls or untaken jobs wait. */
bool loop_has_posted(struct loop *loop);
/* Ends the helper thread once its jobs are done, then runs every call that is still due. */
void loop_offload_finish(struct loop *loop);

#endif
