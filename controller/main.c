/*
 * pumice-controller: job lifecycle, PodGroups and the fan-out of pods.
 *
 * With --shards every replica is a member of the active ones (shards/membership.h): it joins once
 * its lists are complete. Without, the one with the Lease is active, and the others stand by.
 */
#include "api/names.h"
#include "base/log.h"
#include "controller/adopt.h"
#include "controller/options.h"
#include "controller/shards/membership.h"
#include "ops/process.h"

#define JOIN_PAUSE (50 * NSEC_PER_MSEC)

struct app {
    struct process *process; /* borrowed */
    struct controller *controller;
    struct membership *membership; /* NULL without --shards */
    struct loop_timer join;        /* until the lists are complete */
    bool leading;
};

/* ---- shards -----------------------------------------------------------------------------------
 */

static void adopt(shard_set set, void *arg)
{
    const struct app *app = arg;

    controller_adopt(app->controller, set);
}

static void let_go(shard_set set, void *arg)
{
    const struct app *app = arg;

    controller_let_go(app->controller, set);
}

static void drained(shard_set set, void *arg)
{
    const struct app *app = arg;

    membership_drained(app->membership, set);
}

static void lost(void *arg)
{
    const struct app *app = arg;

    log_error("lost its Lease as a member, leaving so that a fresh start follows");
    process_fail(app->process);
}

static void join(void *arg)
{
    struct app *app = arg;

    if (controller_ready(app->controller))
        membership_join(app->membership);
    else
        loop_timer_set(app->process->loop, &app->join, JOIN_PAUSE);
}

static void become_member(struct app *app)
{
    struct process *process = app->process;

    app->membership = membership_new(&(struct membership_config){.loop = process->loop,
                                                                 .transport = process->transport,
                                                                 .window = process->window,
                                                                 .lease = process->lease_config,
                                                                 .leader = &process->lease,
                                                                 .adopt = adopt,
                                                                 .let_go = let_go,
                                                                 .lost = lost,
                                                                 .arg = app});
    controller_set_sharded(app->controller, drained, app);
    loop_timer_set(process->loop, &app->join, 0);
}

/* ---- the frame's calls ------------------------------------------------------------------------
 */

static void *start(struct process *process, struct error *err)
{
    struct controller_parts parts;

    if (controller_options_parts(&controller_options, &parts, err) < 0)
        return NULL;
    if (controller_options.shards && !process->options.leader_elect) {
        (void)error_set(err, ERROR_INVALID,
                        "--shards needs --leader-elect: the one with the Lease says who has which");
        return NULL;
    }
    struct app *app = xnew(struct app);
    app->process = process;
    loop_timer_init(&app->join, join, app);
    app->controller =
        controller_new(process->loop, process->transport, process->window, process->events);
    controller_set_parts(app->controller, &parts);
    controller_set_metrics(app->controller, process->metrics);
    if (controller_options.shards)
        become_member(app);
    for (size_t i = 0; parts.podgroups && i < controller_options.scheduler_names.n; i++)
        controller_follow_pods(app->controller, controller_options.scheduler_names.items[i]);
    if (!process->options.leader_elect)
        controller_set_leading(app->controller, true);
    return app;
}

static void ready(void *arg, struct buf *missing)
{
    const struct app *app = arg;

    controller_missing(app->controller, missing);
    if (app->membership)
        membership_missing(app->membership, missing);
}

static void watches(void *arg, informers_watch_fn *see, void *see_arg)
{
    const struct app *app = arg;

    controller_watches(app->controller, see, see_arg);
    if (app->membership)
        membership_watches(app->membership, see, see_arg);
}

static void leading(void *arg, bool is_leading)
{
    struct app *app = arg;

    app->leading = is_leading;
    if (app->membership)
        membership_set_leading(app->membership, is_leading);
    controller_set_leading(app->controller, is_leading);
}

static void elect(void *arg, struct lease_config *config)
{
    const struct app *app = arg;

    if (app->membership)
        membership_elect(app->membership, config);
}

/* Whoever leads writes on account of that Lease, too; whoever has no shard, of that alone. */
static bool may_write(void *arg, int64_t margin_ns)
{
    const struct app *app = arg;
    struct lease *lease = app->process->lease;

    if (app->membership && (!app->leading || membership_shards(app->membership)) &&
        !membership_held(app->membership, margin_ns))
        return false;
    return (app->membership && !app->leading) || lease_held(lease, margin_ns);
}

static void left(void *arg)
{
    const struct app *app = arg;

    process_stopped(app->process);
}

static void stop(void *arg, struct process *process)
{
    struct app *app = arg;

    loop_timer_cancel(process->loop, &app->join);
    if (app->membership)
        membership_leave(app->membership, left, app);
    else
        process_stopped(process);
}

static void release(void *arg)
{
    struct app *app = arg;

    loop_timer_cancel(app->process->loop, &app->join);
    membership_free(app->membership);
    controller_free(app->controller);
    free(app);
}

int main(int argc, char **argv)
{
    const struct process_spec spec = {
        .name = "pumice-controller",
        .component = "vc-controller-manager",
        .gather_ns = 4 * NSEC_PER_MSEC, /* small beside the 20 ms of a create to a busy server */
        .flags = controller_flags,
        .defaults = {.healthz_address = ":11251",
                     .listen_address = ":8081",
                     .leader_elect = true,
                     .lease_namespace = SYSTEM_NAMESPACE,
                     .lease_name = "vc-controller-manager",
                     .lease_duration_ns = 15 * NSEC_PER_SEC,
                     .lease_renew_deadline_ns = 10 * NSEC_PER_SEC,
                     .lease_retry_period_ns = 2 * NSEC_PER_SEC,
                     .verbosity = 3},
        .start = start,
        .ready = ready,
        .watches = watches,
        .leading = leading,
        .elect = elect,
        .may_write = may_write,
        .stop = stop,
        .free = release,
    };

    return process_main(&spec, argc, argv);
}
