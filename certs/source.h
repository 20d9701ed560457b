/*
 * struct cert_source: where the webhook's certificate comes from, followed for ever.
 *
 * Either a Secret, which all replicas share: made when absent, repaired when unusable, renewed at
 * two thirds of its life or when an annotation asks for it, its authority too; or files, read again
 * when their content changes. What is unusable is told and the last good certificate kept.
 *
 * A certificate of an authority that callers do not know yet waits until they do, and authorities
 * that were in use stay among those that callers are to trust for a while. Loop thread only.
 */
#ifndef PUMICE_CERTS_SOURCE_H
#define PUMICE_CERTS_SOURCE_H

#include "authority.h"
#include "kube/transport.h"
#include "set.h"

/* On the Secret: CERT_RENEW_LEAF or CERT_RENEW_AUTHORITY; taken away when it was begun. */
#define CERT_ANNOTATION_RENEW "pumice.sh/renew"
#define CERT_RENEW_LEAF "leaf"
#define CERT_RENEW_AUTHORITY "authority"
/* Since when the authority signs, RFC 3339. */
#define CERT_ANNOTATION_SINCE "pumice.sh/authority-since"
/* The key of the next authority, whose certificate is in ca.crt already. */
#define CERT_NEXT_KEY "next-ca.key"

/* How often the certificate is read again unless told otherwise. */
#define CERT_SECRET_INTERVAL_NS (30 * NSEC_PER_SEC)
#define CERT_FILES_INTERVAL_NS (10 * NSEC_PER_SEC)

struct cert_source;

struct cert_source_config {
    struct loop *loop;                /* borrowed */
    struct kube_transport *transport; /* borrowed; for a Secret */
    const char *ns, *secret;          /* borrowed for good */
    const char *cert_file, *key_file; /* borrowed for good; NULL: the Secret is used */
    const char *ca_file;              /* may be NULL with files: the authority is not known then */
    struct cert_names names;          /* what the certificate in the Secret is for */
    int64_t interval_ns;              /* between two reads; 0: 30 s, files 10 s */
    int64_t overlap_ns; /* how long an authority is trusted after its last certificate */
    /* Whether callers trust all of these; NULL: they do. */
    bool (*trusted)(const struct cert_set *authorities, void *arg);
    /* Another certificate is in force. Borrowed until the next call. */
    void (*changed)(const struct cert_bundle *bundle, void *arg);
    /* cert_source_authorities gives another set; may be NULL. */
    void (*authorities)(void *arg);
    void *arg;
};

/* Starts reading at the next turn. Files are read at once: ERROR_INVALID when they are no good. */
struct cert_source *cert_source_new(const struct cert_source_config *config, struct error *err);
void cert_source_free(struct cert_source *source);

/* The certificate in force and what is known of it; NULL before the first. */
const struct cert_bundle *cert_source_current(const struct cert_source *source);
const struct cert_state *cert_source_state(const struct cert_source *source);
/* The authorities that callers are to trust; none while they are not known. */
const struct cert_set *cert_source_authorities(const struct cert_source *source);
/* Reads again now and then calls `done`, at a later turn. One at a time. */
void cert_source_refresh(struct cert_source *source, loop_fn *done, void *arg);
/* What is wrong at the moment, "" when all is well. */
const char *cert_source_trouble(const struct cert_source *source);
/* How often another certificate was put in force after the first. */
uint64_t cert_source_rotations(const struct cert_source *source);
/*
 * The API server has been silent for half of overlap_ns: the certificate in force may soon be one
 * that callers do not trust any more, and nobody should be sent here.
 */
bool cert_source_stale(const struct cert_source *source);

#endif
