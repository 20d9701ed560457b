/*
 * Counting and timing. See measure.h.
 */
#include "measure.h"
#include "base/ensure.h"
#include "common.h"
#include "scheduler/action.h"
#include "scheduler/bind.h"
#include "scheduler/fit.h"
#include "scheduler/statement.h"
#include <malloc.h>

/* Without a bind for so long (virtual time) the run is over. */
#define QUIET_NS (5 * NSEC_PER_SEC)

/* What the functions before malloc and the scheduler's own see and note. */
static struct {
    struct measure *run; /* NULL: nothing is counted */
    uint64_t allocs;
    uint64_t turn;
    const struct sched_job *job; /* of the last placement, NULL once it was bound or undone */
    uint64_t job_turn;           /* when that was */
    uint64_t job_allocs;         /* so far then */
    uint64_t attempt;            /* placements in a row */
    int64_t attempt_ns;          /* when the first of them was over */
} probe;

/* ---- what the linker puts before others' functions --------------------------------------------
 */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
struct fit_table *__real_fit_table_of(struct cache *cache, const struct sched_config *config,
                                      const struct task_group *group);
bool __real_statement_place(struct cache *cache, struct statement *statement,
                            struct sched_task *task, struct sched_node *node);
void __real_bind_start(struct scheduler *scheduler, struct sched_task *task);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
struct fit_table *__wrap_fit_table_of(struct cache *cache, const struct sched_config *config,
                                      const struct task_group *group);
bool __wrap_statement_place(struct cache *cache, struct statement *statement,
                            struct sched_task *task, struct sched_node *node);
void __wrap_bind_start(struct scheduler *scheduler, struct sched_task *task);

void *__wrap_malloc(size_t size)
{
    probe.allocs++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    probe.allocs++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    probe.allocs++;
    return __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    probe.allocs++;
    return __real_reallocarray(old, count, size);
}

struct fit_table *__wrap_fit_table_of(struct cache *cache, const struct sched_config *config,
                                      const struct task_group *group)
{
    uint64_t work = cache->work;
    struct fit_table *table = __real_fit_table_of(cache, config, group);
    if (probe.run) {
        probe.run->lookups++;
        probe.run->refreshed += cache->work - work;
    }
    return table;
}

/* A run of placements has ended: its time counts, but for what came before the first. */
static void end_attempt(void)
{
    if (probe.attempt > 1) {
        probe.run->placing += probe.attempt - 1;
        probe.run->placing_ns += cpu_time() - probe.attempt_ns;
    }
    probe.attempt = 0;
    probe.job = NULL;
}

bool __wrap_statement_place(struct cache *cache, struct statement *statement,
                            struct sched_task *task, struct sched_node *node)
{
    if (!probe.run)
        return __real_statement_place(cache, statement, task, node);
    if (probe.job != task->job && probe.attempt)
        end_attempt();
    if (probe.job == task->job && probe.job_turn == probe.turn) {
        probe.run->hot++;
        probe.run->hot_allocs += probe.allocs - probe.job_allocs;
    }
    probe.job_allocs = probe.allocs; /* those of placing itself count with the next one */
    bool placed = __real_statement_place(cache, statement, task, node);
    probe.run->placements++;
    probe.job = task->job;
    probe.job_turn = probe.turn;
    if (!probe.attempt++) {
        probe.run->gangs++;
        probe.attempt_ns = cpu_time();
    }
    return placed;
}

void __wrap_bind_start(struct scheduler *scheduler, struct sched_task *task)
{
    uint64_t before = probe.allocs;
    if (probe.run && probe.attempt)
        end_attempt();
    __real_bind_start(scheduler, task);
    if (probe.run)
        probe.run->bind_allocs += probe.allocs - before;
}

/* ---- steps of actions ------------------------------------------------------------------------ */

#define ACTIONS_MAX 16

/* The actions as they are, and what the scheduler is given in their place. */
static const struct action_type *actions[ACTIONS_MAX];
static struct action_type counted[ACTIONS_MAX];

static bool count_step(struct scheduler *scheduler, void *state)
{
    uint64_t before = probe.allocs;
    bool done = actions[scheduler->cycle.action]->step(scheduler, state);
    if (probe.run)
        probe.run->step_allocs += probe.allocs - before;
    return done;
}

static void count_steps(struct sched_config *config)
{
    ENSURE(config->actions.n <= ACTIONS_MAX);
    for (size_t i = 0; i < config->actions.n; i++) {
        actions[i] = config->actions.items[i]->type;
        counted[i] = *actions[i];
        counted[i].step = count_step;
        config->actions.items[i]->type = &counted[i];
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

typedef VEC(int64_t) times;

static int compare(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static struct measure_times summary(times *all)
{
    struct measure_times ret = {.count = all->n};
    if (!all->n)
        return ret;
    qsort(all->items, all->n, sizeof(*all->items), compare);
    for (size_t i = 0; i < all->n; i++)
        ret.sum += all->items[i];
    ret.median = all->items[all->n / 2];
    ret.p99 = all->items[(all->n - 1) * 99 / 100];
    ret.longest = all->items[all->n - 1];
    return ret;
}

/* Pods that are ours and wait. */
static uint64_t waiting(const struct cache *cache)
{
    uint64_t count = 0;
    void *value;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);)
        count += job_waiting(value);
    return count;
}

/* One turn; adds its time to the turns and to that of the cycle that it belongs to. */
static bool take_turn(struct rig *rig, int64_t most_ns, times *turns, int64_t *cycle_ns)
{
    const struct cycle *cycle = &rig->scheduler->cycle;
    bool busy = cycle->stage != CYCLE_IDLE;
    uint64_t number = cycle->number;
    int64_t started = cpu_time();
    bool more = loop_turn(rig->loop, most_ns);
    int64_t took = cpu_time() - started;
    probe.turn++;
    vec_push(turns, took);
    if (busy || cycle->number != number)
        *cycle_ns += took;
    return more;
}

void measure_run(struct rig *rig, struct measure *ret)
{
    times turns = {0}, cycles = {0};
    int64_t began = loop_now(rig->loop), last = began, cycle_ns = 0;
    uint64_t binds = rig->binds, writes = rig->writes;
    *ret = (struct measure){0};
    count_steps(rig->scheduler->config);
    probe.run = ret;
    scheduler_lead(rig->scheduler, true);
    while (loop_now(rig->loop) < last + QUIET_NS) {
        uint64_t before = rig->binds;
        bool more = take_turn(rig, QUIET_NS, &turns, &cycle_ns);
        if (cycle_ns && rig->scheduler->cycle.stage == CYCLE_IDLE) {
            vec_push(&cycles, cycle_ns);
            cycle_ns = 0;
        }
        if (rig->binds != before)
            last = loop_now(rig->loop);
        if (!more)
            break;
    }
    probe.run = NULL;
    ret->binds = rig->binds - binds;
    ret->writes = rig->writes - writes;
    ret->waiting = waiting(&rig->scheduler->cache);
    ret->virtual_ns = last - began;
    ret->turns = summary(&turns);
    ret->cycles = summary(&cycles);
    ret->cpu_ns = ret->turns.sum;
    vec_clear(&turns);
    vec_clear(&cycles);
}

size_t measure_memory(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
