/*
 * The webhook's certificate put together: see certificates.h.
 */
#include "webhook/certificates.h"
#include "base/alloc.h"
#include "base/log.h"
#include "webhook/client_ca.h"
#include "webhook/registrations.h"

/* How long a fresh process waits until callers trust it before it says that it is ready. */
#define INTRODUCTION_NS (15 * NSEC_PER_SEC)
#define CLIENT_NAMES_MAX 64

struct certificates {
    struct certificates_config config;
    struct arena arena; /* texts of names */
    struct cert_source *source;
    struct registrations *registrations;
    struct client_ca *client_ca; /* NULL: clients need no certificate */
    const char *client_names[CLIENT_NAMES_MAX];
    size_t client_name_count;
    struct tls_credentials *credentials; /* owned reference; NULL before the first */
    int64_t first_ns;                    /* when there were any first, loop time */
    bool introduced;                     /* callers know the certificate, or had time to */
    struct {
        struct metric *expiry, *authority, *rotations, *trouble, *missing, *right;
    } metrics;
};

/* ---- credentials --------------------------------------------------------------------------- */

static int make_credentials(const struct certificates *c, struct tls_credentials **ret_credentials,
                            struct error *err)
{
    const struct cert_bundle *bundle = cert_source_current(c->source);
    struct tls_credentials *credentials;
    if (tls_credentials_new(buf_str(&bundle->cert), buf_str(&bundle->key), &credentials, err) < 0)
        return -1;
    if (c->client_ca && tls_credentials_require(credentials, client_ca_pem(c->client_ca),
                                                c->client_names, c->client_name_count, err) < 0) {
        tls_credentials_unref(credentials);
        return -1;
    }
    *ret_credentials = credentials;
    return 0;
}

/* False when there are no others. */
static bool renew_credentials(struct certificates *c)
{
    struct error err = ERROR_INIT;
    struct tls_credentials *credentials;
    if (!c->source || !cert_source_current(c->source))
        return false;
    if (make_credentials(c, &credentials, &err) < 0) {
        log_error("%s", err.text);
        return false;
    }
    if (!c->credentials)
        c->first_ns = loop_now(c->config.loop);
    tls_credentials_unref(c->credentials);
    c->credentials = credentials;
    return true;
}

static void on_renewed(void *arg)
{
    struct certificates *c = arg;
    if (renew_credentials(c))
        c->config.changed(c->config.arg);
}

/* ---- what the source tells and asks -------------------------------------------------------- */

static void on_certificate(const struct cert_bundle *bundle, void *arg)
{
    (void)bundle;
    on_renewed(arg);
}

static void on_authorities(void *arg)
{
    struct certificates *c = arg;
    if (c->registrations)
        registrations_authorities_changed(c->registrations);
}

static bool is_trusted(const struct cert_set *authorities, void *arg)
{
    const struct certificates *c = arg;
    return c->registrations && registrations_trust(c->registrations, authorities);
}

/* ---- readiness ----------------------------------------------------------------------------- */

/* True for good once callers could know the certificate. */
static bool is_introduced(struct certificates *c)
{
    if (!c->introduced && c->credentials)
        c->introduced = registrations_right(c->registrations) ||
                        loop_now(c->config.loop) - c->first_ns >= INTRODUCTION_NS;
    return c->introduced;
}

static void add_line(struct buf *missing, const char *text, const char *more)
{
    buf_printf(missing, "%s%s%s%s", missing->n ? "\n" : "", text, *more ? ": " : "", more);
}

void certificates_missing(struct certificates *c, struct buf *missing)
{
    if (!c->credentials)
        add_line(missing, "there is no certificate to serve with yet",
                 cert_source_trouble(c->source));
    else if (!is_introduced(c))
        add_line(missing, "the webhook configurations do not carry the certificate's authority yet",
                 "");
    if (cert_source_stale(c->source))
        add_line(missing,
                 "the API server has not answered about the Secret for so long that the "
                 "certificate may be out of date",
                 cert_source_trouble(c->source));
}

void certificates_watches(const struct certificates *c, informers_watch_fn *see, void *arg)
{
    if (c->registrations)
        registrations_watches(c->registrations, see, arg);
}

/* ---- metrics ------------------------------------------------------------------------------- */

static double seconds(int64_t ns)
{
    return (double)ns / (double)NSEC_PER_SEC;
}

static void collect(void *arg)
{
    struct certificates *c = arg;
    const struct cert_state *state = cert_source_state(c->source);
    unsigned missing, right;
    registrations_count(c->registrations, &missing, &right);
    const bool trouble =
        *cert_source_trouble(c->source) || (c->client_ca && *client_ca_trouble(c->client_ca));
    metric_set(c->metrics.expiry, NULL, state ? seconds(state->not_after_ns) : 0);
    metric_set(c->metrics.authority, NULL, state ? seconds(state->ca_not_after_ns) : 0);
    metric_set(c->metrics.rotations, NULL, (double)cert_source_rotations(c->source));
    metric_set(c->metrics.trouble, NULL, trouble);
    metric_set(c->metrics.missing, NULL, missing);
    metric_set(c->metrics.right, NULL, right);
}

void certificates_measure(struct certificates *c, struct metrics *metrics)
{
    const struct {
        struct metric **slot;
        enum metric_type type;
        const char *name, *help;
    } plain[] = {
        {&c->metrics.expiry, METRIC_GAUGE, "pumice_certificate_expiry_seconds",
         "End of the serving certificate, seconds since 1970."},
        {&c->metrics.authority, METRIC_GAUGE, "pumice_certificate_authority_expiry_seconds",
         "End of the serving certificate's authority, seconds since 1970."},
        {&c->metrics.rotations, METRIC_COUNTER, "pumice_certificate_rotations_total",
         "How often another certificate was put in force after the first."},
        {&c->metrics.trouble, METRIC_GAUGE, "pumice_certificate_trouble",
         "1 while something is wrong with the certificate; the log and /readyz say what."},
        {&c->metrics.missing, METRIC_GAUGE, "pumice_webhook_configurations_missing",
         "Webhook configurations of ours that do not exist."},
        {&c->metrics.right, METRIC_GAUGE, "pumice_webhook_configurations_right",
         "Webhook configurations of ours with the right authority."},
    };
    for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
        *plain[i].slot = metric_new(metrics, plain[i].type, plain[i].name, plain[i].help, NULL);
    metrics_on_collect(metrics, collect, c);
}

/* ---- life ---------------------------------------------------------------------------------- */

/* Splits at commas, too. */
static int read_client_names(struct certificates *c, struct error *err)
{
    const struct flag_strings *given = &c->config.options->client_allowed_names;
    for (size_t i = 0; i < given->n; i++) {
        struct str rest = str_of(given->items[i]), name;
        while (str_split(&rest, ',', &name)) {
            if (str_empty(str_trim(name)))
                continue;
            if (c->client_name_count == CLIENT_NAMES_MAX)
                return error_set(err, ERROR_LIMIT,
                                 "flag --client-allowed-names: more than %d names",
                                 CLIENT_NAMES_MAX);
            c->client_names[c->client_name_count++] = arena_str(&c->arena, str_trim(name)).p;
        }
    }
    return 0;
}

static int open_client_ca(struct certificates *c, struct error *err)
{
    const struct webhook_options *o = c->config.options;
    const int64_t interval_ns =
        o->cert_check_interval_ns ? o->cert_check_interval_ns : CERT_FILES_INTERVAL_NS;
    if (read_client_names(c, err) < 0)
        return -1;
    if (!*o->client_ca_file)
        return 0;
    c->client_ca =
        client_ca_new(c->config.loop, o->client_ca_file, interval_ns, on_renewed, c, err);
    return c->client_ca ? 0 : error_prefix(err, "flag --client-ca-file");
}

static int open_source(struct certificates *c, struct error *err)
{
    const struct webhook_options *o = c->config.options;
    struct cert_source_config config = {
        .loop = c->config.loop,
        .transport = c->config.transport,
        .ns = webhook_options_namespace(o),
        .secret = o->secret_name,
        .cert_file = *o->tls_cert_file ? o->tls_cert_file : NULL,
        .key_file = o->tls_private_key_file,
        .ca_file = *o->ca_cert_file ? o->ca_cert_file : NULL,
        .interval_ns = o->cert_check_interval_ns,
        .overlap_ns = o->ca_overlap_ns,
        .trusted = is_trusted,
        .changed = on_certificate,
        .authorities = on_authorities,
        .arg = c,
    };
    if (webhook_options_names(o, &c->arena, &config.names, err) < 0)
        return -1;
    c->source = cert_source_new(&config, err);
    return c->source ? 0 : -1;
}

struct certificates *certificates_new(const struct certificates_config *config, struct error *err)
{
    const struct registration_settings settings = {
        .timeout_seconds = config->options->webhook_timeout_seconds,
        .failure_policy = config->options->webhook_failure_policy,
        .overlap_ns = config->options->ca_overlap_ns,
        .enabled = config->enabled};
    struct certificates *c = xnew(struct certificates);
    c->config = *config;
    if (open_client_ca(c, err) < 0 || open_source(c, err) < 0) {
        certificates_free(c);
        return NULL;
    }
    c->registrations = registrations_new(config->loop, config->transport, c->source, &settings);
    (void)renew_credentials(c); /* from files they are there at once */
    return c;
}

void certificates_free(struct certificates *c)
{
    if (!c)
        return;
    registrations_free(c->registrations);
    cert_source_free(c->source);
    client_ca_free(c->client_ca);
    tls_credentials_unref(c->credentials);
    arena_clear(&c->arena);
    free(c);
}

struct tls_credentials *certificates_current(const struct certificates *c)
{
    return c->credentials;
}
