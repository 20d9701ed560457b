/*
 * The webhook's own flags and what is made of them. Strings are borrowed from the command line.
 */
#ifndef PUMICE_WEBHOOK_OPTIONS_H
#define PUMICE_WEBHOOK_OPTIONS_H

#include "base/arena.h"
#include "certs/source.h"
#include "ops/flags.h"

struct webhook_options {
    const char *tls_cert_file, *tls_private_key_file, *ca_cert_file; /* "": not given */
    const char *listen_address;
    int64_t port;
    const char *webhook_namespace, *webhook_service_name, *webhook_url;
    const char *secret_name;
    struct flag_strings extra_sans;
    int64_t cert_check_interval_ns; /* 0: the built-in one */
    int64_t ca_overlap_ns;          /* how long an authority is trusted after its last use */
    const char *client_ca_file;     /* "": clients need no certificate */
    struct flag_strings client_allowed_names;
    const char *enabled_admission; /* NULL: all that are on by default */
    const char *admission_conf;    /* "": none */
    struct flag_strings feature_gates;
    struct flag_strings scheduler_names;
    int64_t graceful_shutdown_ns;
    int64_t max_queue_depth;
    bool allocated_pods_check, root_queue_protection;
    int64_t webhook_timeout_seconds;
    const char *webhook_failure_policy;

    int64_t tls_threads, max_body_bytes, max_bodies_bytes, max_header_bytes, max_json_values;
    int64_t max_json_depth;
    int64_t max_connections, max_waiting;
    int64_t idle_timeout_ns, handshake_timeout_ns, request_timeout_ns, queue_wait_ns;
};

/* The one set of options, with defaults before parsing, and its flags. */
extern struct webhook_options webhook_options;
extern const struct flag webhook_flags[];

/* Checks ranges and combinations. ERROR_INVALID names the flag. */
int webhook_options_check(const struct webhook_options *options, struct error *err);
/*
 * The names that the serving certificate is for: of the Service, of --webhook-url, and extra ones.
 * Texts live in `arena`. ERROR_INVALID for a URL without a host.
 */
int webhook_options_names(const struct webhook_options *options, struct arena *arena,
                          struct cert_names *ret_names, struct error *err);
/* The namespace of the Secret. */
const char *webhook_options_namespace(const struct webhook_options *options);

#endif
