/*
 * Flags of the webhook: see options.h. Names and defaults are those that users of Volcano know;
 * limits are ours.
 */
#include "webhook/options.h"
#include "api/names.h"
#include "base/limits.h"
#include "base/timefmt.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)

struct webhook_options webhook_options = {
    .tls_cert_file = "",
    .tls_private_key_file = "",
    .ca_cert_file = "",
    .listen_address = "",
    .port = 8443,
    .webhook_namespace = "",
    .webhook_service_name = "",
    .webhook_url = "",
    .admission_conf = "",
    .secret_name = "volcano-admission-secret",
    .ca_overlap_ns = 24 * HOUR_NS,
    .client_ca_file = "",
    .scheduler_names = {.items = {DEFAULT_SCHEDULER_NAME}, .n = 1},
    .graceful_shutdown_ns = 30 * NSEC_PER_SEC,
    .max_queue_depth = 5,
    .root_queue_protection = true,
    .webhook_failure_policy = "",
    .tls_threads = 2,
    .max_body_bytes = (int64_t)LIMIT_REVIEW_BODY,
    .max_bodies_bytes = (int64_t)LIMIT_REVIEWS_TOTAL,
    .max_header_bytes = 32 << 10,
    .max_json_values = LIMIT_JSON_VALUES,
    .max_json_depth = LIMIT_JSON_DEPTH,
    .max_connections = 1024,
    .max_waiting = 64,
    .idle_timeout_ns = 120 * NSEC_PER_SEC,
    .handshake_timeout_ns = 10 * NSEC_PER_SEC,
    .request_timeout_ns = 10 * NSEC_PER_SEC,
    .queue_wait_ns = 500 * NSEC_PER_MSEC,
};

#define OPTION(member) &webhook_options.member

const struct flag webhook_flags[] = {
    {"listen-address", 0, FLAG_STRING, OPTION(listen_address), "IP address to serve on; all."},
    {"port", 0, FLAG_INT, OPTION(port), "Port to serve on."},
    {"tls-cert-file", 0, FLAG_STRING, OPTION(tls_cert_file),
     "PEM certificate to serve with, in place of the one in the Secret."},
    {"tls-private-key-file", 0, FLAG_STRING, OPTION(tls_private_key_file), "PEM key for it."},
    {"ca-cert-file", 0, FLAG_STRING, OPTION(ca_cert_file),
     "PEM certificate of its authority, which is put into the webhook configurations."},
    {"webhook-namespace", 0, FLAG_STRING, OPTION(webhook_namespace),
     "Namespace of the webhook's Service and of the Secret with its certificate."},
    {"webhook-service-name", 0, FLAG_STRING, OPTION(webhook_service_name),
     "Name of the webhook's Service."},
    {"webhook-url", 0, FLAG_STRING, OPTION(webhook_url),
     "URL of the webhook, where the API server reaches it without a Service."},
    {"cert-secret-name", 0, FLAG_STRING, OPTION(secret_name), "Secret with the certificate."},
    {"cert-extra-san", 0, FLAG_STRINGS, OPTION(extra_sans),
     "Further DNS name or IP address for the certificate; repeatable."},
    {"cert-check-interval", 0, FLAG_DURATION, OPTION(cert_check_interval_ns),
     "How often the certificate is read again; 0: every 30 s from the Secret, 10 s from files."},
    {"ca-overlap", 0, FLAG_DURATION, OPTION(ca_overlap_ns),
     "How long API servers are to trust an authority after its last certificate was given out."},
    {"client-ca-file", 0, FLAG_STRING, OPTION(client_ca_file),
     "PEM certificates of authorities; clients without a certificate of theirs are refused."},
    {"client-allowed-names", 0, FLAG_STRINGS, OPTION(client_allowed_names),
     "Common or alternative names of clients that are let in, with commas between; repeatable. "
     "Every certificate of --client-ca-file when not given."},
    {"enabled-admission", 0, FLAG_STRING, OPTION(enabled_admission),
     "Paths to serve, with commas between; all but /pods/mutate when not given."},
    {"scheduler-name", 0, FLAG_STRINGS, OPTION(scheduler_names),
     "Scheduler whose pods are ours; repeatable, jobs that name none get the first."},
    {"graceful-shutdown-time", 0, FLAG_DURATION, OPTION(graceful_shutdown_ns),
     "How long requests under way may take after SIGTERM."},
    {"enable-queue-allocated-pods-check", 0, FLAG_BOOL, OPTION(allocated_pods_check),
     "Refuse to delete a queue whose pods run."},
    {"max-queue-depth", 0, FLAG_INT, OPTION(max_queue_depth),
     "Most levels of queues below the root."},
    {"enable-root-queue-protection", 0, FLAG_BOOL, OPTION(root_queue_protection),
     "Refuse changes of the root queue's resources."},
    {"webhook-timeout-seconds", 0, FLAG_INT, OPTION(webhook_timeout_seconds),
     "timeoutSeconds to set in the webhook configurations; 0 leaves them alone."},
    {"webhook-failure-policy", 0, FLAG_STRING, OPTION(webhook_failure_policy),
     "failurePolicy to set in the webhook configurations, Fail or Ignore; empty leaves them "
     "alone."},
    {"tls-threads", 0, FLAG_INT, OPTION(tls_threads), "Threads that serve."},
    {"max-body-bytes", 0, FLAG_INT, OPTION(max_body_bytes), "Largest review."},
    {"max-bodies-bytes", 0, FLAG_INT, OPTION(max_bodies_bytes),
     "All reviews under way at once; an eighth of it is kept for those up to 64 KiB."},
    {"max-header-bytes", 0, FLAG_INT, OPTION(max_header_bytes), "Largest header of a request."},
    {"max-json-values", 0, FLAG_INT, OPTION(max_json_values), "Most JSON values in a review."},
    {"max-json-depth", 0, FLAG_INT, OPTION(max_json_depth), "Deepest nesting of a review."},
    {"max-connections", 0, FLAG_INT, OPTION(max_connections), "Connections open at once."},
    {"max-waiting", 0, FLAG_INT, OPTION(max_waiting),
     "Reviews that may wait at once for a queue that was made just now."},
    {"idle-timeout", 0, FLAG_DURATION, OPTION(idle_timeout_ns),
     "How long a connection may wait for its next request; longer than the 90 s of API servers."},
    {"handshake-timeout", 0, FLAG_DURATION, OPTION(handshake_timeout_ns),
     "How long a client may take from its connection to the end of the TLS handshake."},
    {"request-timeout", 0, FLAG_DURATION, OPTION(request_timeout_ns),
     "How long a client may take from a request's first byte to its last, and for the answer."},
    {"queue-wait", 0, FLAG_DURATION, OPTION(queue_wait_ns),
     "How long a review waits for a queue that is not known yet."},
    {"admission-conf", 0, FLAG_STRING, OPTION(admission_conf),
     "File that says what /pods/mutate sets on pods; read again when it changes."},
    {"feature-gates", 0, FLAG_STRINGS, OPTION(feature_gates),
     "Gates to set, as in SchedulingGatesQueueAdmission=true,PodLevelResources=false."},
    {0},
};

/* ---- checks -------------------------------------------------------------------------------- */

struct range {
    const char *flag;
    const int64_t *value;
    int64_t low, high;
};

static int check_ranges(const struct webhook_options *o, struct error *err)
{
    const struct range ranges[] = {
        {"port", &o->port, 1, 65535},
        {"tls-threads", &o->tls_threads, 1, 64},
        {"max-body-bytes", &o->max_body_bytes, 1024, INT32_MAX},
        {"max-bodies-bytes", &o->max_bodies_bytes, 1024, INT64_C(1) << 40},
        {"max-header-bytes", &o->max_header_bytes, 4096, 1 << 20},
        {"max-json-values", &o->max_json_values, 100, INT32_MAX},
        {"max-json-depth", &o->max_json_depth, 8, LIMIT_JSON_DEPTH},
        {"max-connections", &o->max_connections, 1, 65536},
        {"max-waiting", &o->max_waiting, 0, 65536},
        {"max-queue-depth", &o->max_queue_depth, 1, 64},
        {"webhook-timeout-seconds", &o->webhook_timeout_seconds, 0, 30},
    };
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        if (*ranges[i].value < ranges[i].low || *ranges[i].value > ranges[i].high)
            return error_set(err, ERROR_INVALID, "flag --%s: %lld is not from %lld to %lld",
                             ranges[i].flag, (long long)*ranges[i].value, (long long)ranges[i].low,
                             (long long)ranges[i].high);
    }
    return 0;
}

static int check_times(const struct webhook_options *o, struct error *err)
{
    const struct range times[] = {{"graceful-shutdown-time", &o->graceful_shutdown_ns, 0, 0},
                                  {"queue-wait", &o->queue_wait_ns, 0, 0},
                                  {"cert-check-interval", &o->cert_check_interval_ns, 0, 0},
                                  {"idle-timeout", &o->idle_timeout_ns, NSEC_PER_SEC, 0},
                                  {"handshake-timeout", &o->handshake_timeout_ns, NSEC_PER_SEC, 0},
                                  {"request-timeout", &o->request_timeout_ns, NSEC_PER_SEC, 0}};
    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        if (*times[i].value < times[i].low || *times[i].value > 3600 * NSEC_PER_SEC)
            return error_set(err, ERROR_INVALID, "flag --%s: must be from %llds to 1h",
                             times[i].flag, (long long)(times[i].low / NSEC_PER_SEC));
    }
    return 0;
}

/* A replica that hears nothing for half of the overlap is not ready: see cert_source_stale. */
static int check_certificates(const struct webhook_options *o, struct error *err)
{
    const int64_t interval_ns = o->cert_check_interval_ns ? o->cert_check_interval_ns
                                : *o->tls_cert_file       ? CERT_FILES_INTERVAL_NS
                                                          : CERT_SECRET_INTERVAL_NS;
    if (!*o->tls_cert_file != !*o->tls_private_key_file)
        return error_set(err, ERROR_INVALID,
                         "flags --tls-cert-file and --tls-private-key-file go together");
    if (*o->ca_cert_file && !*o->tls_cert_file)
        return error_set(err, ERROR_INVALID, "flag --ca-cert-file needs --tls-cert-file");
    if (o->client_allowed_names.n && !*o->client_ca_file)
        return error_set(err, ERROR_INVALID, "flag --client-allowed-names needs --client-ca-file");
    if (o->ca_overlap_ns < 4 * interval_ns || o->ca_overlap_ns > 720 * HOUR_NS)
        return error_set(err, ERROR_INVALID,
                         "flag --ca-overlap: must be from four times --cert-check-interval to "
                         "720h");
    return 0;
}

int webhook_options_check(const struct webhook_options *o, struct error *err)
{
    const char *policy = o->webhook_failure_policy;
    if (check_ranges(o, err) < 0 || check_times(o, err) < 0 || check_certificates(o, err) < 0)
        return -1;
    if (!*o->webhook_namespace && !*o->webhook_service_name && !*o->webhook_url)
        return error_set(err, ERROR_INVALID,
                         "one of the flags --webhook-service-name, --webhook-namespace and "
                         "--webhook-url is needed");
    if (*policy && strcmp(policy, "Fail") != 0 && strcmp(policy, "Ignore") != 0)
        return error_set(err, ERROR_INVALID,
                         "flag --webhook-failure-policy: \"%s\" is not Fail or Ignore", policy);
    if (o->scheduler_names.n == 0 || !*o->scheduler_names.items[0])
        return error_set(err, ERROR_INVALID, "flag --scheduler-name: the name is empty");
    return 0;
}

/* ---- names --------------------------------------------------------------------------------- */

const char *webhook_options_namespace(const struct webhook_options *o)
{
    return *o->webhook_namespace ? o->webhook_namespace : SYSTEM_NAMESPACE;
}

static void add_name(struct cert_names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(names->items[i], name) == 0)
            return;
    }
    if (names->n < CERT_NAMES_MAX)
        names->items[names->n++] = name;
}

/* Further names of the Service. */
static void add_service(const struct webhook_options *o, struct arena *arena,
                        struct cert_names *names)
{
    const char *service = o->webhook_service_name, *ns = webhook_options_namespace(o);
    add_name(names, service);
    add_name(names, arena_printf(arena, "%s.%s", service, ns).p);
    add_name(names, arena_printf(arena, "%s.%s.svc.cluster.local", service, ns).p);
}

static struct str host_of(struct str url)
{
    ptrdiff_t scheme = str_find(url, STR("://"));
    struct str rest = scheme >= 0 ? str_from(url, (size_t)scheme + 3) : url;
    if (str_starts(rest, STR("["))) {
        ptrdiff_t end = str_chr(rest, ']');
        return end > 0 ? str_sub(rest, 1, (size_t)end) : STR_NULL;
    }
    size_t n = 0;
    while (n < rest.n && rest.p[n] != ':' && rest.p[n] != '/' && rest.p[n] != '?')
        n++;
    return str_sub(rest, 0, n);
}

int webhook_options_names(const struct webhook_options *o, struct arena *arena,
                          struct cert_names *ret_names, struct error *err)
{
    *ret_names = (struct cert_names){0};
    /* What API servers use comes first: it is the subject, too. */
    if (*o->webhook_service_name)
        add_name(ret_names, arena_printf(arena, "%s.%s.svc", o->webhook_service_name,
                                         webhook_options_namespace(o))
                                .p);
    if (*o->webhook_url) {
        struct str host = host_of(str_of(o->webhook_url));
        if (str_empty(host))
            return error_set(err, ERROR_INVALID, "flag --webhook-url: \"%s\" has no host",
                             o->webhook_url);
        add_name(ret_names, arena_str(arena, host).p);
    }
    ret_names->needed = ret_names->n;
    if (*o->webhook_service_name)
        add_service(o, arena, ret_names);
    for (size_t i = 0; i < o->extra_sans.n; i++)
        add_name(ret_names, o->extra_sans.items[i]);
    return 0;
}
