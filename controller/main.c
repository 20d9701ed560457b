/*
 * pumice-controller: job lifecycle, PodGroups and the fan-out of pods.
 */
#include "api/names.h"
#include "controller/controller.h"
#include "ops/process.h"

static struct flag_strings scheduler_names = {.items = {DEFAULT_SCHEDULER_NAME}, .n = 1};

static const struct flag flags[] = {
    {"scheduler-name", 0, FLAG_STRINGS, &scheduler_names,
     "schedulers whose bare pods get a PodGroup (repeatable)"},
    {"worker-threads", 0, FLAG_IGNORED, NULL, "one event loop does all the work"},
    {"worker-threads-for-podgroup", 0, FLAG_IGNORED, NULL, "one event loop does all the work"},
    {"worker-threads-for-queue", 0, FLAG_IGNORED, NULL, "one event loop does all the work"},
    {"worker-threads-for-gc", 0, FLAG_IGNORED, NULL, "one event loop does all the work"},
    {"worker-threads-for-cronjob", 0, FLAG_IGNORED, NULL, "one event loop does all the work"},
    {"max-requeue-num", 0, FLAG_IGNORED, NULL, "errors that can heal are retried without limit"},
    {"sharding-configmap", 0, FLAG_IGNORED, NULL, "there is no agent scheduler"},
    {"sharding-configmap-namespace", 0, FLAG_IGNORED, NULL, "there is no agent scheduler"},
    {"feature-gates", 0, FLAG_IGNORED, NULL, "every feature of this version is on"},
    {NULL, 0, FLAG_IGNORED, NULL, NULL},
};

static void *start(struct process *process, struct error *err)
{
    struct controller *controller =
        controller_new(process->loop, process->transport, process->window, process->events);

    (void)err;
    controller_set_metrics(controller, process->metrics);
    for (size_t i = 0; i < scheduler_names.n; i++)
        controller_follow_pods(controller, scheduler_names.items[i]);
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
        .flags = flags,
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
