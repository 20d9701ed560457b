/*
 * struct certificates: all that has to do with the certificate that the webhook serves: where it
 * comes from, who is told to trust it (registrations.h), and what clients have to show. Loop thread
 * only; the credentials may go anywhere.
 */
#ifndef PUMICE_WEBHOOK_CERTIFICATES_H
#define PUMICE_WEBHOOK_CERTIFICATES_H

#include "kube/informer.h"
#include "ops/metrics.h"
#include "webhook/http/tls.h"
#include "webhook/options.h"

struct certificates;

struct certificates_config {
    struct loop *loop;                     /* borrowed */
    struct kube_transport *transport;      /* borrowed */
    const struct webhook_options *options; /* borrowed for good */
    const bool *enabled;                   /* by index into admission_paths; borrowed for good */
    /* Other credentials are in force; not called for those that certificates_new finds. */
    loop_fn *changed;
    void *arg;
};

/* ERROR_INVALID when files or names are no good. */
struct certificates *certificates_new(const struct certificates_config *config, struct error *err);
/* NULL is fine. */
void certificates_free(struct certificates *certificates);
/* What is to be served with, borrowed; NULL while there is nothing. */
struct tls_credentials *certificates_current(const struct certificates *certificates);
/* Appends why nobody should be sent here, a line for each reason. */
void certificates_missing(struct certificates *certificates, struct buf *missing);
/* See informers_watches. */
void certificates_watches(const struct certificates *certificates, informers_watch_fn *see,
                          void *arg);
/* Adds the metrics; `metrics` ends before this does. */
void certificates_measure(struct certificates *certificates, struct metrics *metrics);

#endif
