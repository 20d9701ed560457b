/*
 * The event loop: file descriptors, timers, deferred calls, signals and off-loop work.
 *
 * One loop, one thread: every callback runs on the thread that called loop_run, and all functions
 * are for that thread unless said otherwise. Two of the four seams live here: the clock and
 * off-loop work. A simulated loop (loop_new_virtual) has a virtual clock that jumps to the next
 * timer, takes no file descriptors, and runs off-loop work inline at the next turn.
 *
 * Order is total and repeatable: deferred calls run in the order they were made, timers by due
 * time and then in the order they were set.
 */
#ifndef PUMICE_LOOP_LOOP_H
#define PUMICE_LOOP_LOOP_H

#include "base/error.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/rng.h"
#include "base/timefmt.h"
#include <stdint.h>

struct loop;

typedef void loop_fn(void *arg);

/* A real loop on epoll and CLOCK_BOOTTIME. Never NULL. `seed` 0 seeds from the system. */
struct loop *loop_new(uint64_t seed);
/* A loop on a virtual clock that starts at `wall_ns`; for tests and the simulation. */
struct loop *loop_new_virtual(uint64_t seed, int64_t wall_ns);
/* Waits for off-loop work to end, runs the calls that are then still due (posted, `done`), and
 * frees. Timers and descriptors must be gone. NULL is fine. */
void loop_free(struct loop *loop);

/* Runs until loop_stop, or (virtual) until nothing is left to do. */
void loop_run(struct loop *loop);
/* One turn: deferred calls, due timers, ready descriptors. Waits at most `max_wait_ns`
 * (virtual: jumps by at most that much). Returns false when a virtual loop has nothing left. */
bool loop_turn(struct loop *loop, int64_t max_wait_ns);
/* Makes loop_run return after the current turn. */
void loop_stop(struct loop *loop);

/* Nanoseconds on a clock that never steps and goes on while suspended; cached for the turn. */
int64_t loop_now(const struct loop *loop);
/* The same clock, read afresh: for measuring and for lease checks after a long callback. */
int64_t loop_now_fresh(struct loop *loop);
/* Wall time, nanoseconds since the epoch: for what goes on the wire, never for deciding. */
int64_t loop_wall(const struct loop *loop);
/* The process's random numbers (another seam). */
struct rng *loop_rng(struct loop *loop);
/*
 * How often the loop has stood still for more than a second so far: the process was stopped, or a
 * call took that long. A wait that was meant is none. Looks afresh, so that whoever is about to do
 * what was decided before can tell.
 */
uint64_t loop_gaps(struct loop *loop);
/* Virtual: so much time passes and nothing runs, as if the process had been stopped. */
void loop_stand_still(struct loop *loop, int64_t ns);
/* Longest turn so far in nanoseconds and number of turns, for metrics. */
void loop_stats(const struct loop *loop, int64_t *ret_longest_turn_ns, uint64_t *ret_turns);

/* ---- timers: embedded, one shot ------------------------------------------------------------ */

struct loop_timer {
    struct heap_node node;
    int64_t due;       /* loop_now() time */
    uint64_t sequence; /* order among equals */
    loop_fn *fn;
    void *arg;
};

/* Must be called once before use. */
void loop_timer_init(struct loop_timer *timer, loop_fn *fn, void *arg);
/* Sets or moves the timer to `delay_ns` from now (0 or less: the next turn). */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t delay_ns);
/* Like loop_timer_set, but leaves an earlier due time alone. */
void loop_timer_set_earlier(struct loop *loop, struct loop_timer *timer, int64_t delay_ns);
void loop_timer_cancel(struct loop *loop, struct loop_timer *timer);

static inline bool loop_timer_active(const struct loop_timer *timer)
{
    return heap_contains(&timer->node);
}

/* ---- deferred calls: run once, later in this turn or in the next ---------------------------- */

struct loop_deferred {
    struct list link;
    bool queued;
    loop_fn *fn;
    void *arg;
};

void loop_deferred_init(struct loop_deferred *deferred, loop_fn *fn, void *arg);
/* Queues the call; harmless when it is queued already. */
void loop_defer(struct loop *loop, struct loop_deferred *deferred);
void loop_deferred_cancel(struct loop_deferred *deferred);

/* ---- file descriptors ----------------------------------------------------------------------- */

enum loop_events { LOOP_READ = 1, LOOP_WRITE = 2 };

typedef void loop_fd_fn(int fd, int events, void *arg);

/*
 * Watches `fd` (level-triggered) for `events`, replacing what was set for it before; 0 stops.
 * Errors and hang-ups are reported as LOOP_READ|LOOP_WRITE limited to what was asked for. Stop
 * before closing the descriptor.
 */
void loop_fd_set(struct loop *loop, int fd, int events, loop_fd_fn *fn, void *arg);

/*
 * Lets a busy loop's events gather: one that wakes more than twice in `gather_ns` (below a second;
 * 0, the default: never), and 200 times a second, sleeps up to that long before each wait, until
 * nothing comes in all that time twice running, so that one wake-up serves many descriptors and
 * messages.
 * Descriptors and posted calls are seen that much later; timers and deferred calls are not, and a
 * loop that is not busy is left alone.
 */
void loop_set_gather(struct loop *loop, int64_t gather_ns);

/* ---- signals -------------------------------------------------------------------------------- */

/* Calls `fn` on the loop when SIGTERM or SIGINT comes (signalfd). A second one while draining
 * exits the process with 1 at once. SIGPIPE is ignored. */
void loop_on_terminate(struct loop *loop, loop_fn *fn, void *arg);

/* ---- off-loop work (a seam) ------------------------------------------------------------------ */

/*
 * Runs `work(arg)` on a helper thread, then `done(arg)` on the loop. For what takes more than a
 * millisecond. `arg` belongs to the job until `done` ran. One helper thread, jobs in order.
 */
void loop_offload(struct loop *loop, loop_fn *work, loop_fn *done, void *arg);

/* Queues `fn(arg)` to the loop from any thread. */
void loop_post(struct loop *loop, loop_fn *fn, void *arg);

#endif
