/*
 * struct cert_source: where the webhook's certificate comes from, followed for ever.
 *
 * Either a Secret, which is made when absent, repaired when unusable and renewed at two thirds of
 * its life; or files, read again when their content changes. What is unusable is logged and the
 * last good certificate kept. Loop thread only.
 */
#ifndef PUMICE_CERTS_SOURCE_H
#define PUMICE_CERTS_SOURCE_H

#include "authority.h"
#include "kube/transport.h"

struct cert_source;

struct cert_source_config {
    struct loop *loop;                /* borrowed */
    struct kube_transport *transport; /* borrowed; for a Secret */
    const char *ns, *secret;          /* borrowed for good */
    const char *cert_file, *key_file; /* borrowed for good; NULL: the Secret is used */
    const char *ca_file;              /* may be NULL with files: the authority is not known then */
    struct cert_names names;          /* what the certificate in the Secret is for */
    int64_t interval_ns;              /* between two reads; 0: 30 s, files 10 s */
    /* A usable certificate that is not the one before; borrowed until the next call. */
    void (*changed)(const struct cert_bundle *bundle, const struct cert_state *state, void *arg);
    void *arg;
};

/* Starts reading at the next turn. Files are read at once: ERROR_INVALID when they are no good. */
struct cert_source *cert_source_new(const struct cert_source_config *config, struct error *err);
void cert_source_free(struct cert_source *source);

/* The certificate in force; NULL before the first. */
const struct cert_bundle *cert_source_current(const struct cert_source *source);
/* Reads again now and then calls `done`, at a later turn. One at a time. */
void cert_source_refresh(struct cert_source *source, loop_fn *done, void *arg);
/* What is wrong at the moment, "" when all is well. */
const char *cert_source_trouble(const struct cert_source *source);

#endif
