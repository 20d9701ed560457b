/*
 * Taking shards over and letting them go: see adopt.h.
 */
#include "controller/adopt.h"
#include "api/job.h"
#include "controller/job/alive.h"
#include "controller/job/commands.h"
#include "controller/job/control.h"
#include "controller/job/metrics.h"
#include "controller/podgroup/podgroups.h"

static void tell_drained(void *arg)
{
    struct controller *controller = arg;
    shard_set set = SHARDS_NONE;

    for (uint32_t i = 0; i < SHARD_COUNT; i++) {
        if (controller->gates[i].closed && controller->gates[i].inflight == 0)
            set |= UINT64_C(1) << i;
    }
    controller->on_drained(set, controller->drained_arg);
}

void controller_set_sharded(struct controller *controller,
                            void (*drained)(shard_set set, void *arg), void *arg)
{
    controller->sharded = true;
    controller->leading = !controller->jobs_off;
    controller->shards = SHARDS_NONE;
    controller->on_drained = drained;
    controller->drained_arg = arg;
    loop_deferred_init(&controller->drained, tell_drained, controller);
    for (uint32_t i = 0; i < SHARD_COUNT; i++)
        controller->gates[i] =
            (struct window_gate){.closed = true, .drained = &controller->drained};
}

/* ---- taking over ------------------------------------------------------------------------------
 */

static void adopt_jobs(struct controller *controller, shard_set set)
{
    struct job *job;

    for (size_t i = 0; (job = store_next(controller->jobs, &i));) {
        if (!shard_in(set, shard_of(job->meta.ns, job->meta.name)))
            continue;
        controller_see_job(controller, NULL, job);
        alive_take_over(map_get(&controller->by_uid, str_of(job->meta.uid)));
    }
}

static void adopt_pods(struct controller *controller, shard_set set)
{
    struct podstate *pod;

    for (size_t i = 0; (pod = store_next(controller->pods, &i));) {
        if (controller_has_pod(pod, set))
            controller_see_pod(controller, NULL, pod);
    }
}

void controller_adopt(struct controller *controller, shard_set set)
{
    controller->shards |= set;
    job_metrics_shards(controller, controller->shards);
    for (uint32_t i = 0; i < SHARD_COUNT; i++) {
        if (shard_in(set, i))
            window_open_gate(controller->window, &controller->gates[i]);
    }
    adopt_jobs(controller, set);
    adopt_pods(controller, set);
    if (controller->bare_pods)
        podgroups_adopt(controller->bare_pods, set);
    commands_sweep_later(controller);
    loop_defer(controller->loop, &controller->pass);
}

/* ---- letting go -------------------------------------------------------------------------------
 */

static void forget_job(struct controller *controller, struct job_control *control)
{
    cleanup_buf struct buf key = BUF_INIT(1024);

    buf_printf(&key, "%s/%s", control->ns, control->name);
    if (map_get(&controller->by_name, buf_str(&key)) == control)
        (void)map_del(&controller->by_name, buf_str(&key));
    (void)map_del(&controller->by_uid, str_of(control->uid));
    job_control_free(control);
}

void controller_let_go(struct controller *controller, shard_set set)
{
    void *value;

    controller->shards &= ~set;
    job_metrics_shards(controller, controller->shards);
    for (uint32_t i = 0; i < SHARD_COUNT; i++) {
        if (shard_in(set, i))
            window_close_gate(controller->window, &controller->gates[i]);
    }
    for (size_t i = 0; map_next(&controller->by_uid, &i, NULL, &value);) {
        struct job_control *control = value;
        if (shard_in(set, control->shard))
            forget_job(controller, control);
    }
    commands_let_go_shards(controller, set);
    if (controller->bare_pods)
        podgroups_let_go(controller->bare_pods, set);
    loop_defer(controller->loop, &controller->drained);
}
