/*
 * The command line of every binary: common flags, klog's, defaults, checks, --help and --version.
 */
#include "ops/process_private.h"

#include "base/log.h"
#include "base/timefmt.h"
#include <curl/curl.h>
#include <microhttpd.h>
#include <stdio.h>

#define INFLIGHT_MAX 10000
#define USAGE_MAX ((size_t)64 << 10)

#define TO_STDERR "logs always go to standard error"
#define ONE_LEVEL "one verbosity (-v) holds for all of the program"
#define ONE_FORMAT "the format of log lines is fixed"

static const struct flag klog_flags[] = {
    {"add-dir-header", 0, FLAG_IGNORED_BOOL, NULL, ONE_FORMAT},
    {"alsologtostderr", 0, FLAG_IGNORED_BOOL, NULL, TO_STDERR},
    {"legacy-stderr-threshold-behavior", 0, FLAG_IGNORED_BOOL, NULL, TO_STDERR},
    {"log-backtrace-at", 0, FLAG_IGNORED, NULL, "backtraces are written on a crash only"},
    {"log-dir", 0, FLAG_IGNORED, NULL, TO_STDERR},
    {"log-file", 0, FLAG_IGNORED, NULL, TO_STDERR},
    {"log-file-max-size", 0, FLAG_IGNORED, NULL, TO_STDERR},
    {"log-flush-frequency", 0, FLAG_IGNORED, NULL, "every line is written at once"},
    {"logtostderr", 0, FLAG_IGNORED_BOOL, NULL, TO_STDERR},
    {"one-output", 0, FLAG_IGNORED_BOOL, NULL, TO_STDERR},
    {"skip-headers", 0, FLAG_IGNORED_BOOL, NULL, ONE_FORMAT},
    {"skip-log-headers", 0, FLAG_IGNORED_BOOL, NULL, ONE_FORMAT},
    {"stderrthreshold", 0, FLAG_IGNORED, NULL, TO_STDERR},
    {"vmodule", 0, FLAG_IGNORED, NULL, ONE_LEVEL},
    {0},
};

static void default_string(const char **slot, const char *value)
{
    if (!*slot)
        *slot = value;
}

static void default_number(int64_t *slot, int64_t value)
{
    if (*slot == 0)
        *slot = value;
}

static void set_defaults(struct process_options *options)
{
    default_string(&options->kubeconfig, "");
    default_string(&options->master, "");
    default_string(&options->healthz_address, ":11251");
    default_string(&options->listen_address, ":8080");
    default_string(&options->lease_namespace, "volcano-system");
    default_string(&options->lease_name, "");
    default_number(&options->lease_duration_ns, 15 * NSEC_PER_SEC);
    default_number(&options->lease_renew_deadline_ns, 10 * NSEC_PER_SEC);
    default_number(&options->lease_retry_period_ns, 2 * NSEC_PER_SEC);
}

static int check_lease(const struct process_options *options, struct error *err)
{
    if (!*options->lease_namespace || !*options->lease_name)
        return error_set(err, ERROR_INVALID,
                         "--leader-elect needs a --leader-elect-resource-namespace and a "
                         "--leader-elect-resource-name");
    if (options->lease_retry_period_ns <= 0)
        return error_set(err, ERROR_INVALID, "--leader-elect-retry-period must be above 0");
    if (options->lease_renew_deadline_ns <= options->lease_retry_period_ns)
        return error_set(err, ERROR_INVALID,
                         "--leader-elect-renew-deadline must be longer than "
                         "--leader-elect-retry-period");
    if (options->lease_duration_ns <= options->lease_renew_deadline_ns)
        return error_set(err, ERROR_INVALID,
                         "--leader-elect-lease-duration must be longer than "
                         "--leader-elect-renew-deadline");
    return 0;
}

static int check_window(const struct process_options *options, struct error *err)
{
    if (options->max_inflight < 0 || options->max_inflight > INFLIGHT_MAX)
        return error_set(err, ERROR_INVALID, "--max-inflight must be from 0 to %d", INFLIGHT_MAX);
    if (options->fixed_inflight < 0 || options->fixed_inflight > INFLIGHT_MAX)
        return error_set(err, ERROR_INVALID, "--fixed-inflight must be from 0 to %d", INFLIGHT_MAX);
    if (options->fixed_inflight && options->max_inflight)
        return error_set(err, ERROR_INVALID,
                         "--fixed-inflight and --max-inflight exclude each other");
    return 0;
}

static int check_options(const struct process_options *options, struct error *err)
{
    if (check_window(options, err) < 0)
        return -1;
    if (!(options->kube_api_qps >= 0) || !(options->kube_api_burst >= 0))
        return error_set(err, ERROR_INVALID,
                         "--kube-api-qps and --kube-api-burst must not be negative");
    return options->leader_elect ? check_lease(options, err) : 0;
}

static void print_version(const struct process_frame *frame)
{
    printf("%s %s\n%s\nlibmicrohttpd/%s\n", frame->spec->name, PUMICE_VERSION, curl_version(),
           MHD_get_version());
}

static int parse_tables(struct process_frame *frame, int argc, char **argv,
                        const struct flag *const *tables, size_t count, struct error *err)
{
    struct process_options *options = &frame->process.options;
    struct buf usage cleanup_buf = BUF_INIT(USAGE_MAX);
    flags_usage(&usage, frame->spec->name, tables, count); /* before parsing: with the defaults */
    if (flags_parse(argc, argv, tables, count, err) < 0)
        return -1;
    if (options->help)
        printf("%.*s", STR_ARG(buf_str(&usage)));
    else if (options->version)
        print_version(frame);
    if (options->help || options->version)
        return 1;
    if (*frame->lock_namespace)
        options->lease_namespace = frame->lock_namespace;
    return check_options(options, err);
}

/* A table of flags, as long as it is: one line each. */
int process_parse_flags(struct process_frame *frame, int argc, char **argv, struct error *err)
{
    struct process_options *o = &frame->process.options;
    const struct flag none[] = {{0}};
    *o = frame->spec->defaults;
    frame->lock_namespace = "";
    set_defaults(o);
    const struct flag client[] = {
        {"help", 'h', FLAG_BOOL, &o->help, "Print this text and exit."},
        {"version", 0, FLAG_BOOL, &o->version, "Print versions and exit."},
        {"v", 'v', FLAG_INT, &o->verbosity, "Verbosity of the log; from 4 on everything."},
        {"kubeconfig", 0, FLAG_STRING, &o->kubeconfig,
         "File that says how to reach the API server; without it the service account is used."},
        {"master", 0, FLAG_STRING, &o->master, "Address of the API server, above all others."},
        {"enable-healthz", 0, FLAG_BOOL, &o->enable_healthz, "Serve /healthz and /readyz."},
        {"healthz-address", 0, FLAG_STRING, &o->healthz_address, "Where to serve health."},
        {"enable-metrics", 0, FLAG_BOOL, &o->enable_metrics, "Serve /metrics."},
        {"listen-address", 0, FLAG_STRING, &o->listen_address, "Where to serve metrics."},
        {0},
    };
    const struct flag writer[] = {
        {"kube-api-qps", 0, FLAG_DOUBLE, &o->kube_api_qps,
         "Most writes a second to the API server; 0: no cap beside the adaptive one."},
        {"kube-api-burst", 0, FLAG_DOUBLE, &o->kube_api_burst,
         "Writes that may exceed --kube-api-qps at once."},
        {"max-inflight", 0, FLAG_INT, &o->max_inflight,
         "Upper bound of the writes in flight; 0: the built-in one."},
        {"fixed-inflight", 0, FLAG_INT, &o->fixed_inflight,
         "For measurements: exactly so many writes may be in flight; 0: as many as the API server "
         "bears."},
        {"leader-elect", 0, FLAG_BOOL, &o->leader_elect, "Write only while holding the Lease."},
        {"leader-elect-resource-name", 0, FLAG_STRING, &o->lease_name, "Name of the Lease."},
        {"leader-elect-resource-namespace", 0, FLAG_STRING, &o->lease_namespace,
         "Namespace of the Lease."},
        {"lock-object-namespace", 0, FLAG_STRING, &frame->lock_namespace,
         "Older name of --leader-elect-resource-namespace, and stronger."},
        {"leader-elect-lease-duration", 0, FLAG_DURATION, &o->lease_duration_ns,
         "How long others wait for a holder that is silent."},
        {"leader-elect-renew-deadline", 0, FLAG_DURATION, &o->lease_renew_deadline_ns,
         "How long the holder tries to renew before it gives up."},
        {"leader-elect-retry-period", 0, FLAG_DURATION, &o->lease_retry_period_ns,
         "Time between two tries."},
        {"leader-elect-resource-lock", 0, FLAG_IGNORED, NULL, "a Lease is the only kind there is"},
        {0},
    };
    const struct flag webhook[] = {
        {"kube-api-qps", 0, FLAG_IGNORED, NULL, "this program hardly writes"},
        {"kube-api-burst", 0, FLAG_IGNORED, NULL, "this program hardly writes"},
        {0},
    };
    const struct flag *const tables[] = {frame->spec->flags ? frame->spec->flags : none, client,
                                         frame->spec->no_window ? webhook : writer, klog_flags};
    return parse_tables(frame, argc, argv, tables, ARRAY_SIZE(tables), err);
}
