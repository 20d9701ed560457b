/*
 * struct registrations: keeps the webhook configurations of our paths pointed at us.
 *
 * Each configuration is watched by name. Its caBundle gets the authorities that callers are to
 * trust (cert_source_authorities) when one of them is missing; the certificate is read again first,
 * so that two replicas never undo each other's work. Others that are found in it stay for the
 * length of the overlap, since another replica may serve a certificate of theirs. Timeout and
 * failure policy are applied when flags ask for it. Nothing is created or deleted; an absent
 * configuration is waited for. Loop thread only.
 */
#ifndef PUMICE_WEBHOOK_REGISTRATIONS_H
#define PUMICE_WEBHOOK_REGISTRATIONS_H

#include "certs/source.h"
#include "kube/informer.h"
#include "loop/loop.h"

struct registrations;

struct registration_settings {
    int64_t timeout_seconds;    /* 0: leave alone */
    const char *failure_policy; /* "": leave alone; borrowed for good */
    int64_t overlap_ns;         /* how long an authority stays that we know nothing of */
    const bool *enabled;        /* by index into admission_paths; borrowed for good. The others'
                                   configurations are kept right too, but nothing waits for them */
};

/* `certificate` is borrowed; it may have none yet. */
struct registrations *registrations_new(struct loop *loop, struct kube_transport *transport,
                                        struct cert_source *certificate,
                                        const struct registration_settings *settings);
void registrations_free(struct registrations *registrations);
/* The authorities that callers are to trust are others. */
void registrations_authorities_changed(struct registrations *registrations);
/* Whether the configurations that there are carry the authorities, as far as is known. */
bool registrations_right(const struct registrations *registrations);
/*
 * Whether that is so for all of these authorities, and has been for long enough that every API
 * server knows it.
 */
bool registrations_trust(const struct registrations *registrations,
                         const struct cert_set *authorities);
/* See informers_watches. */
void registrations_watches(const struct registrations *registrations, informers_watch_fn *see,
                           void *arg);
/* Configurations of enabled paths that are not there, and those that are and right, for metrics. */
void registrations_count(const struct registrations *registrations, unsigned *ret_missing,
                         unsigned *ret_right);

#endif
