/*
 * The event loop's core: turns, clock, timers and deferred calls.
 *
 * A turn is: posted calls, deferred calls, due timers, then a wait for descriptors that lasts until
 * the next timer. Calls that are made or timers that become due while a phase runs belong to the
 * next turn, so that no phase can starve another. The caller owns timers and deferred calls
 * (embedded); the loop only links them. One thread.
 */
#include "loop/loop_private.h"

#include "base/ensure.h"
#include <time.h>

/* A simulated clock starts here and not at 0, which callers may take for "never". */
#define VIRTUAL_START NSEC_PER_SEC
#define GAP NSEC_PER_SEC

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;
    ENSURE(clock_gettime(id, &ts) == 0);
    return (int64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static bool timer_less(const struct heap_node *a, const struct heap_node *b, void *arg)
{
    (void)arg;
    const struct loop_timer *x = (const struct loop_timer *)(const void *)a;
    const struct loop_timer *y = (const struct loop_timer *)(const void *)b;
    _Static_assert(offsetof(struct loop_timer, node) == 0, "the node is the first member");
    return x->due != y->due ? x->due < y->due : x->sequence < y->sequence;
}

static struct loop_timer *next_timer(const struct loop *loop)
{
    struct heap_node *node = heap_peek(&loop->timers);
    return node ? container_of(node, struct loop_timer, node) : NULL;
}

static struct loop *loop_alloc(uint64_t seed)
{
    struct loop *loop = xnew(struct loop);
    loop->epoll_fd = loop->wake_fd = loop->signal_fd = -1;
    heap_init(&loop->timers, timer_less, NULL);
    list_init(&loop->deferred);
    if (seed)
        rng_seed(&loop->rng, seed);
    else
        rng_seed_random(&loop->rng);
    ENSURE(pthread_mutex_init(&loop->lock, NULL) == 0);
    ENSURE(pthread_cond_init(&loop->job_added, NULL) == 0);
    return loop;
}

struct loop *loop_new(uint64_t seed)
{
    struct loop *loop = loop_alloc(seed);
    loop_poll_open(loop);
    loop->now = loop->alive_ns = read_clock(CLOCK_BOOTTIME);
    return loop;
}

struct loop *loop_new_virtual(uint64_t seed, int64_t wall_ns)
{
    struct loop *loop = loop_alloc(seed);
    loop->simulated = true;
    loop->now = loop->alive_ns = VIRTUAL_START;
    loop->wall_offset = wall_ns - VIRTUAL_START;
    return loop;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    loop_offload_finish(loop);
    ENSURE(!heap_peek(&loop->timers));
    loop_poll_close(loop);
    heap_clear(&loop->timers);
    pthread_mutex_destroy(&loop->lock);
    pthread_cond_destroy(&loop->job_added);
    free(loop);
}

static void run_deferred(struct loop *loop)
{
    struct list batch;
    list_init(&batch);
    if (list_empty(&loop->deferred))
        return;
    list_append(&loop->deferred, &batch); /* the batch takes the place of the head ... */
    list_remove(&loop->deferred);         /* ... which starts empty again */
    while (!list_empty(&batch)) {
        struct loop_deferred *deferred = container_of(batch.next, struct loop_deferred, link);
        loop_deferred_cancel(deferred);
        deferred->fn(deferred->arg);
    }
}

static void run_timers(struct loop *loop)
{
    uint64_t limit = loop->next_sequence;
    struct loop_timer *timer;
    while ((timer = next_timer(loop)) && timer->due <= loop->now && timer->sequence < limit) {
        heap_remove(&loop->timers, &timer->node);
        timer->fn(timer->arg);
    }
}

/* How long the turn may wait: not at all with work at hand, else up to the next timer. */
static int64_t wait_time(struct loop *loop, int64_t max_wait_ns)
{
    if (loop->stopping || max_wait_ns <= 0 || !list_empty(&loop->deferred) || loop_has_posted(loop))
        return 0;
    const struct loop_timer *timer = next_timer(loop);
    int64_t left = timer ? timer->due - loop_now_fresh(loop) : INT64_MAX;
    if (left < 0)
        left = 0;
    return left < max_wait_ns ? left : max_wait_ns;
}

static void note_turn(struct loop *loop, int64_t busy_ns)
{
    loop->turns++;
    if (busy_ns > loop->longest_turn)
        loop->longest_turn = busy_ns;
}

static bool turn_virtual(struct loop *loop, int64_t max_wait_ns)
{
    loop_run_jobs_inline(loop);
    loop_run_posted(loop);
    run_deferred(loop);
    run_timers(loop);
    note_turn(loop, 0);
    int64_t wait = wait_time(loop, max_wait_ns);
    bool idle = !next_timer(loop) && list_empty(&loop->deferred) && !loop_has_posted(loop);
    if (idle)
        return false;
    loop->now += wait;
    loop_note_alive(loop, wait);
    return true;
}

bool loop_turn(struct loop *loop, int64_t max_wait_ns)
{
    if (loop->simulated)
        return turn_virtual(loop, max_wait_ns);
    loop_note_alive(loop, 0);
    int64_t start = loop->now = loop->alive_ns;
    loop_run_posted(loop);
    run_deferred(loop);
    run_timers(loop);
    int64_t wait = wait_time(loop, max_wait_ns);
    int64_t before = wait > 0 ? read_clock(CLOCK_BOOTTIME) : start;
    int64_t busy = before - start;
    loop_poll(loop, wait);
    start = wait > 0 ? loop->now : before;
    note_turn(loop, busy + (read_clock(CLOCK_BOOTTIME) - start));
    return true;
}

void loop_run(struct loop *loop)
{
    while (loop_turn(loop, INT64_MAX) && !loop->stopping)
        ;
    loop->stopping = false;
}

void loop_stop(struct loop *loop)
{
    loop->stopping = true;
}

int64_t loop_now(const struct loop *loop)
{
    return loop->now;
}

int64_t loop_now_fresh(struct loop *loop)
{
    return loop->simulated ? loop->now : read_clock(CLOCK_BOOTTIME);
}

int64_t loop_wall(const struct loop *loop)
{
    return loop->simulated ? loop->now + loop->wall_offset : read_clock(CLOCK_REALTIME);
}

struct rng *loop_rng(struct loop *loop)
{
    return &loop->rng;
}

void loop_note_alive(struct loop *loop, int64_t waited_ns)
{
    const int64_t now = loop_now_fresh(loop);

    if (now - loop->alive_ns - waited_ns > GAP)
        loop->gaps++;
    loop->alive_ns = now;
}

uint64_t loop_gaps(struct loop *loop)
{
    loop_note_alive(loop, 0);
    return loop->gaps;
}

void loop_stand_still(struct loop *loop, int64_t ns)
{
    ENSURE(loop->simulated);
    loop->now += ns;
}

void loop_stats(const struct loop *loop, int64_t *ret_longest_turn_ns, uint64_t *ret_turns)
{
    *ret_longest_turn_ns = loop->longest_turn;
    *ret_turns = loop->turns;
}

/* ---- timers -------------------------------------------------------------------------------- */

void loop_timer_init(struct loop_timer *timer, loop_fn *fn, void *arg)
{
    *timer = (struct loop_timer){.fn = fn, .arg = arg};
}

static int64_t due_after(const struct loop *loop, int64_t delay_ns)
{
    if (delay_ns <= 0)
        return loop->now;
    return delay_ns > INT64_MAX - loop->now ? INT64_MAX : loop->now + delay_ns;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t delay_ns)
{
    timer->due = due_after(loop, delay_ns);
    timer->sequence = loop->next_sequence++;
    if (loop_timer_active(timer))
        heap_update(&loop->timers, &timer->node);
    else
        heap_push(&loop->timers, &timer->node);
}

void loop_timer_set_earlier(struct loop *loop, struct loop_timer *timer, int64_t delay_ns)
{
    if (!loop_timer_active(timer) || due_after(loop, delay_ns) < timer->due)
        loop_timer_set(loop, timer, delay_ns);
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    heap_remove(&loop->timers, &timer->node);
}

/* ---- deferred calls ------------------------------------------------------------------------ */

void loop_deferred_init(struct loop_deferred *deferred, loop_fn *fn, void *arg)
{
    *deferred = (struct loop_deferred){.fn = fn, .arg = arg};
    list_init(&deferred->link);
}

void loop_defer(struct loop *loop, struct loop_deferred *deferred)
{
    if (deferred->queued)
        return;
    deferred->queued = true;
    list_append(&loop->deferred, &deferred->link);
}

void loop_deferred_cancel(struct loop_deferred *deferred)
{
    if (!deferred->queued)
        return;
    deferred->queued = false;
    list_remove(&deferred->link);
}
