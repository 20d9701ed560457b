/*
 * struct registrations: keeps the webhook configurations of our paths pointed at us.
 *
 * Each configuration is watched by name. Its caBundle is set when it is not that of the certificate
 * in force; the certificate is read again first, so that two replicas never undo each other's
 * work. Timeout and failure policy are applied when flags ask for it. Nothing is created or
 * deleted; an absent configuration is waited for. Loop thread only.
 */
#ifndef PUMICE_WEBHOOK_REGISTRATIONS_H
#define PUMICE_WEBHOOK_REGISTRATIONS_H

#include "certs/source.h"
#include "loop/loop.h"

struct registrations;

struct registration_settings {
    int64_t timeout_seconds;    /* 0: leave alone */
    const char *failure_policy; /* "": leave alone; borrowed for good */
};

/* `certificate` is borrowed; it may have none yet. */
struct registrations *registrations_new(struct loop *loop, struct kube_transport *transport,
                                        struct cert_source *certificate,
                                        const struct registration_settings *settings);
void registrations_free(struct registrations *registrations);
/* The certificate in force is another one. */
void registrations_certificate_changed(struct registrations *registrations);
/* Configurations that are not there, and those that are and right, for metrics. */
void registrations_count(const struct registrations *registrations, unsigned *ret_missing,
                         unsigned *ret_right);

#endif
