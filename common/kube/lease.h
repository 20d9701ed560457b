/*
 * Leader election on a coordination.k8s.io/v1 Lease, compatible with client-go.
 *
 * Expiry is judged by locally observed changes of the Lease on the loop's clock, never by the
 * timestamps in it. The holder renews every retry period; when it has not succeeded for the renew
 * deadline it has lost. Released (holderIdentity "") on a clean stop. Loop thread only.
 */
#ifndef PUMICE_KUBE_LEASE_H
#define PUMICE_KUBE_LEASE_H

#include "kube/window.h"

struct lease;

struct lease_config {
    const char *ns, *name;     /* borrowed for good */
    const char *identity;      /* "<host>_<uuid>"; borrowed for good */
    int64_t duration_ns;       /* client-go default 15 s */
    int64_t renew_deadline_ns; /* 10 s */
    int64_t retry_period_ns;   /* 2 s */
};

/* `changed(leading, arg)` runs when leadership is gained or lost. Starts at the next turn. Reads go
 * through `transport`, writes through `window` in WINDOW_LEASE. */
struct lease *lease_new(struct loop *loop, struct kube_transport *transport, struct window *window,
                        const struct lease_config *config, void (*changed)(bool leading, void *arg),
                        void *arg);
/* True while we hold it and it cannot run out within `margin_ns` from a fresh clock reading. */
bool lease_held(struct lease *lease, int64_t margin_ns);
/* Gives the Lease up if held, then calls `done`. No more changes are announced. */
void lease_release(struct lease *lease, loop_fn *done, void *arg);
void lease_free(struct lease *lease);

/* "<hostname>_<uuid>" into `text`. */
#define LEASE_IDENTITY_MAX 300
void lease_identity(char text[LEASE_IDENTITY_MAX], struct rng *rng);

#endif
