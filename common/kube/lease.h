/*
 * Leader election on a coordination.k8s.io/v1 Lease, compatible with client-go.
 *
 * Expiry is judged by locally observed changes of the Lease on the loop's clock, never by the
 * timestamps in it. The holder renews every retry period; when it has not succeeded for the renew
 * deadline it has lost. Whoever stands by looks about twice a period, and sees a renewal within an
 * eighth of it, so that it takes over that much later than the duration at most. Released
 * (holderIdentity "") on a clean stop. Loop thread only.
 */
#ifndef PUMICE_KUBE_LEASE_H
#define PUMICE_KUBE_LEASE_H

#include "kube/window.h"

struct lease;

/* A write of the Lease that is about to be sent. */
struct lease_note {
    struct str before;   /* the annotation as it stands; empty: there is none */
    int32_t term_before; /* leaseTransitions as they stand */
    int32_t term;        /* and as this write makes them */
};
/* Appends the value that the annotation is to have, LEASE_NOTE_MAX bytes at most. */
typedef void lease_note_fn(const struct lease_note *note, struct buf *value, void *arg);
#define LEASE_NOTE_MAX ((size_t)16 << 10)

struct lease_config {
    const char *ns, *name;     /* borrowed for good */
    const char *identity;      /* "<host>_<uuid>"; borrowed for good */
    int64_t duration_ns;       /* client-go default 15 s */
    int64_t renew_deadline_ns; /* 10 s */
    int64_t retry_period_ns;   /* 2 s */
    const char *note_key;      /* of an annotation that it carries, borrowed for good; NULL: none */
    lease_note_fn *note;       /* says what that is, for each write, and for each try of it */
    void *note_arg;
    bool once; /* a Lease of our own making: once held, it is lost when somebody deletes it */
};

/* `changed(leading, arg)` runs when leadership is gained or lost. Starts at the next turn. Reads go
 * through `transport`, writes through `window` in WINDOW_LEASE. */
struct lease *lease_new(struct loop *loop, struct kube_transport *transport, struct window *window,
                        const struct lease_config *config, void (*changed)(bool leading, void *arg),
                        void *arg);
/* True while we hold it and it cannot run out within `margin_ns` from a fresh clock reading. */
bool lease_held(struct lease *lease, int64_t margin_ns);
/* leaseTransitions as last seen. */
int32_t lease_term(const struct lease *lease);
/* What it is to say has changed, or it may be free: the next attempt is made now, or as soon as the
 * one under way has ended. */
void lease_hurry(struct lease *lease);
/* Gives the Lease up if held, then calls `done`. No more changes are announced. */
void lease_release(struct lease *lease, loop_fn *done, void *arg);
void lease_free(struct lease *lease);

/* "<hostname>_<uuid>" into `text`. */
#define LEASE_IDENTITY_MAX 300
void lease_identity(char text[LEASE_IDENTITY_MAX], struct rng *rng);

#endif
