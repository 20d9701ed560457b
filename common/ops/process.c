/*
 * The frame that every binary of ours runs in: start, leadership, orderly stop.
 *
 * The frame owns everything in struct process but `app`; what was built last goes first. A stop
 * takes 30 s at most: the application drains, what it wrote is answered, the Lease is given up, the
 * loop ends. A lost Lease ends the process with 1, so that a fresh one starts from what the API
 * server says. Loop thread only.
 */
#include "ops/process_private.h"

#include "base/ensure.h"
#include "base/log.h"
#include "ops/crash.h"
#include <stdio.h>

#define DRAIN_TIME (21 * NSEC_PER_SEC)
#define ANSWER_TIME NSEC_PER_SEC /* beyond what a write may take */
#define RELEASE_TIME (3 * NSEC_PER_SEC)
#define WRITE_MARGIN_MAX (5 * NSEC_PER_SEC)
#define FENCE_RETRY (100 * NSEC_PER_MSEC)

static struct process_frame *frame_of(struct process *process)
{
    return container_of(process, struct process_frame, process);
}

/* ---- leadership ---------------------------------------------------------------------------- */

/* No write may start that could outlive the Lease. */
static bool may_write(void *arg)
{
    struct process_frame *frame = arg;
    const struct process_spec *spec = frame->spec;
    if (spec->may_write ? spec->may_write(frame->process.app, frame->margin_ns)
                        : lease_held(frame->process.lease, frame->margin_ns))
        return true;
    if (frame->leading || spec->may_write)
        loop_timer_set_earlier(frame->process.loop, &frame->kick, FENCE_RETRY);
    return false;
}

static void kick_window(void *arg)
{
    struct process_frame *frame = arg;
    window_kick(frame->process.window);
}

static void tell_app(struct process_frame *frame, bool leading)
{
    frame->leading = leading;
    if (frame->spec->leading)
        frame->spec->leading(frame->process.app, leading);
}

static void on_lead_at_once(void *arg)
{
    tell_app(arg, true);
}

static void on_leadership(bool leading, void *arg)
{
    struct process_frame *frame = arg;
    const struct process_options *options = &frame->process.options;
    if (leading == frame->leading)
        return;
    if (leading) {
        log_info("leading lease=%s/%s identity=%s", options->lease_namespace, options->lease_name,
                 frame->identity);
        tell_app(frame, true);
        window_kick(frame->process.window);
        return;
    }
    tell_app(frame, false);
    if (frame->stopping)
        return;
    log_error("lost the lease, leaving so that a fresh start follows lease=%s/%s",
              options->lease_namespace, options->lease_name);
    process_fail(&frame->process);
}

void process_fail(struct process *process)
{
    frame_of(process)->exit_code = 1;
    loop_stop(process->loop);
}

static void prepare_lease(struct process_frame *frame)
{
    const struct process_options *options = &frame->process.options;
    lease_identity(frame->identity, loop_rng(frame->process.loop));
    frame->process.lease_config =
        (struct lease_config){.ns = options->lease_namespace,
                              .name = options->lease_name,
                              .identity = frame->identity,
                              .duration_ns = options->lease_duration_ns,
                              .renew_deadline_ns = options->lease_renew_deadline_ns,
                              .retry_period_ns = options->lease_retry_period_ns};
}

static void start_lease(struct process_frame *frame)
{
    struct process *process = &frame->process;
    struct lease_config config = process->lease_config;
    if (frame->spec->elect)
        frame->spec->elect(process->app, &config);
    process->lease = lease_new(process->loop, process->transport, process->window, &config,
                               on_leadership, frame);
    window_set_fence(process->window, may_write, frame);
}

/* ---- stop ---------------------------------------------------------------------------------- */

static void on_released(void *arg)
{
    struct process_frame *frame = arg;
    loop_stop(frame->process.loop);
}

/* Whoever takes the Lease now finds all that we wrote. */
static void on_drained(void *arg)
{
    struct process_frame *frame = arg;
    if (frame->releasing)
        return;
    frame->releasing = true;
    loop_timer_set(frame->process.loop, &frame->deadline, RELEASE_TIME);
    lease_release(frame->process.lease, on_released, frame);
}

static void on_deadline(void *arg)
{
    struct process_frame *frame = arg;
    if (frame->releasing) {
        log_warn("the lease could not be given up in time");
        loop_stop(frame->process.loop);
        return;
    }
    if (frame->draining) {
        log_warn("giving the lease up with writes in flight");
        on_drained(frame);
        return;
    }
    log_warn("not drained in time, leaving with work in flight seconds=%d",
             (int)(DRAIN_TIME / NSEC_PER_SEC));
    process_stopped(&frame->process);
}

void process_stopped(struct process *process)
{
    struct process_frame *frame = frame_of(process);
    if (!frame->stopping || frame->draining)
        return;
    frame->draining = true;
    if (!process->lease) {
        loop_stop(process->loop);
        return;
    }
    loop_timer_set(process->loop, &frame->deadline, frame->margin_ns + ANSWER_TIME);
    window_drain(process->window, &frame->drained);
}

static void on_terminate(void *arg)
{
    struct process_frame *frame = arg;
    log_info("stopping");
    frame->stopping = true;
    loop_timer_set(frame->process.loop, &frame->deadline, DRAIN_TIME);
    if (frame->spec->stop)
        frame->spec->stop(frame->process.app, &frame->process);
    else
        process_stopped(&frame->process);
}

/* ---- start and end ------------------------------------------------------------------------- */

static void build_window(struct process_frame *frame)
{
    struct process *process = &frame->process;
    const struct process_options *options = &process->options;
    int64_t margin = options->lease_duration_ns / 3;
    frame->margin_ns = margin < WRITE_MARGIN_MAX ? margin : WRITE_MARGIN_MAX;
    const struct window_config config = {
        .max_inflight = (unsigned)options->max_inflight,
        .latency_leaves = frame->spec->latency_leaves,
        .fixed_inflight = (unsigned)options->fixed_inflight,
        .qps = options->kube_api_qps,
        .burst = options->kube_api_burst,
        .timeout_ns = options->leader_elect ? frame->margin_ns : 0,
        .tell_timeout = options->leader_elect,
    };
    process->window = window_new(process->loop, process->transport, &config);
    process->events = event_recorder_new(process->loop, process->window, frame->spec->component);
}

static int build(struct process_frame *frame, struct error *err)
{
    struct process *process = &frame->process;
    const struct process_options *options = &process->options;
    if (kube_config_load(&process->config, options->kubeconfig, options->master, err) < 0)
        return -1;
    process->transport =
        kube_transport_curl_new(process->loop, &process->config, frame->spec->name, err);
    if (!process->transport)
        return error_prefix(err, "%s", process->config.origin);
    if (!frame->spec->no_window)
        build_window(frame);
    if (!frame->spec->no_window && options->leader_elect)
        prepare_lease(frame);
    if (process_open_pages(frame, err) < 0)
        return -1;
    probe_start(&frame->probe, process->loop, process->transport, process->config.server);
    process->app = frame->spec->start(process, err);
    return process->app ? 0 : -1;
}

static void destroy(struct process_frame *frame)
{
    struct process *process = &frame->process;
    process_close_pages(frame);
    loop_timer_cancel(process->loop, &frame->kick);
    loop_timer_cancel(process->loop, &frame->deadline);
    loop_deferred_cancel(&frame->lead_at_once);
    loop_deferred_cancel(&frame->drained);
    if (process->app && frame->spec->free)
        frame->spec->free(process->app);
    probe_stop(&frame->probe);
    if (process->events)
        event_recorder_free(process->events);
    if (process->lease)
        lease_free(process->lease);
    if (process->window) {
        window_set_fence(process->window, NULL, NULL);
        window_free(process->window);
    }
    loop_timer_cancel(process->loop, &frame->kick); /* the fence may have been asked once more */
    kube_transport_free(process->transport);
    metrics_free(process->metrics);
    loop_free(process->loop);
    kube_config_clear(&process->config);
}

static void run(struct process_frame *frame)
{
    struct process *process = &frame->process;
    log_info("started version=%s server=%s config=%s", PUMICE_VERSION, process->config.server,
             process->config.origin);
    if (process->options.leader_elect && !frame->spec->no_window)
        start_lease(frame);
    else
        loop_defer(process->loop, &frame->lead_at_once);
    loop_run(process->loop);
}

int process_main(const struct process_spec *spec, int argc, char **argv)
{
    struct process_frame frame = {.spec = spec};
    struct error err = ERROR_INIT;
    crash_setup(spec->name);
    log_setup(spec->name, 0);
    int rc = process_parse_flags(&frame, argc, argv, &err);
    if (rc != 0) {
        if (rc < 0)
            log_error("%s", err.text);
        return rc < 0 ? 2 : 0;
    }
    log_setup(spec->name, (int)frame.process.options.verbosity);
    frame.process.loop = loop_new(0);
    loop_set_gather(frame.process.loop, spec->gather_ns);
    frame.process.metrics = metrics_new();
    loop_timer_init(&frame.kick, kick_window, &frame);
    loop_timer_init(&frame.deadline, on_deadline, &frame);
    loop_deferred_init(&frame.lead_at_once, on_lead_at_once, &frame);
    loop_deferred_init(&frame.drained, on_drained, &frame);
    /* Before the application starts threads of its own, which are not to get these signals. */
    loop_on_terminate(frame.process.loop, on_terminate, &frame);
    if (build(&frame, &err) < 0) {
        log_error("%s", err.text);
        frame.exit_code = 1;
    } else {
        run(&frame);
        log_info("stopped code=%d", frame.exit_code);
    }
    destroy(&frame);
    return frame.exit_code;
}
