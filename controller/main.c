/*
 * pumice-controller: job lifecycle, PodGroups and the fan-out of pods.
 */
#include "api/names.h"
#include "controller/controller.h"
#include "controller/options.h"
#include "ops/process.h"

static void *start(struct process *process, struct error *err)
{
    struct controller_parts parts;

    if (controller_options_parts(&controller_options, &parts, err) < 0)
        return NULL;
    struct controller *controller =
        controller_new(process->loop, process->transport, process->window, process->events);
    controller_set_parts(controller, &parts);
    controller_set_metrics(controller, process->metrics);
    for (size_t i = 0; parts.podgroups && i < controller_options.scheduler_names.n; i++)
        controller_follow_pods(controller, controller_options.scheduler_names.items[i]);
    if (!process->options.leader_elect)
        controller_set_leading(controller, true);
    return controller;
}

static void ready(void *app, struct buf *missing)
{
    controller_missing(app, missing);
}

static void leading(void *app, bool is_leading)
{
    controller_set_leading(app, is_leading);
}

static void release(void *app)
{
    controller_free(app);
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
        .leading = leading,
        .free = release,
    };

    return process_main(&spec, argc, argv);
}
