/*
 * The webhook's own certificate authority and serving certificate, made with OpenSSL.
 *
 * ECDSA on P-256 throughout: handshakes are what makes admission slow. Everything is PEM text.
 * Pure functions, no I/O; times are wall time in nanoseconds.
 *
 * A change of the authority takes three steps, each a bundle of its own that can serve:
 * cert_bundle_stage (callers learn the next authority), cert_bundle_switch (it signs), and
 * cert_bundle_drop (callers forget the one before). What step a bundle is at is read off it.
 */
#ifndef PUMICE_CERTS_AUTHORITY_H
#define PUMICE_CERTS_AUTHORITY_H

#include "base/buf.h"
#include "base/error.h"

#define CERT_NAMES_MAX 32

/* What a serving certificate is for: DNS names and IP addresses, the first also its subject. */
struct cert_names {
    const char *items[CERT_NAMES_MAX]; /* borrowed */
    size_t n;
    size_t needed; /* the first so many are what callers use */
};

/* PEM texts, owned. */
struct cert_bundle {
    struct buf cert, key; /* what is served: a chain, leaf first, and the leaf's key */
    struct buf ca_cert;   /* every authority that callers are to trust; empty: not known */
    struct buf ca_key;    /* of the one among them that signs; empty: not known */
    struct buf next_key;  /* of one among them that is to sign next; empty: none */
};

void cert_bundle_init(struct cert_bundle *bundle);
void cert_bundle_clear(struct cert_bundle *bundle);
void cert_bundle_copy(struct cert_bundle *to, const struct cert_bundle *from);
bool cert_bundle_equal(const struct cert_bundle *a, const struct cert_bundle *b);
/* Whether both serve the same certificate with the same key. */
bool cert_bundle_same_pair(const struct cert_bundle *a, const struct cert_bundle *b);

/* Makes an authority (10 years) and a certificate of it (1 year), valid from an hour ago. */
int cert_bundle_make(struct cert_bundle *bundle, const struct cert_names *names, int64_t now_ns,
                     struct error *err);
/*
 * Makes a new serving key and certificate with the authority that signs, whose ca_key is needed.
 * It ends with its authority at the latest.
 */
int cert_bundle_renew(struct cert_bundle *bundle, const struct cert_names *names, int64_t now_ns,
                      struct error *err);
/* Makes the next authority and adds it to those that callers are to trust. */
int cert_bundle_stage(struct cert_bundle *bundle, int64_t now_ns, struct error *err);
/* The next authority becomes the one that signs, and there is a new serving certificate of it. */
int cert_bundle_switch(struct cert_bundle *bundle, const struct cert_names *names, int64_t now_ns,
                       struct error *err);
/* Leaves the authority that signs, and the next one, as those that callers are to trust. */
int cert_bundle_drop(struct cert_bundle *bundle, struct error *err);
/* Adds the authorities of a PEM text that have not expired; what cannot be read is left out. */
void cert_bundle_trust(struct cert_bundle *bundle, struct str pem, int64_t now_ns);

struct cert_state {
    int64_t not_before_ns, not_after_ns; /* of the serving certificate */
    int64_t issued_ns;                   /* when it was made, if by us */
    int64_t ca_not_after_ns;             /* of its authority */
    bool renewal_due;                    /* two thirds of its life are over */
    bool signs;                          /* there is an authority that can sign */
    bool authority_due;                  /* two thirds of the life of that one are over */
    bool staged;                         /* there is a next authority, fit to sign */
    int64_t staged_ns;                   /* since when */
    size_t spare;                        /* further authorities that callers are to trust */
};

/*
 * Whether the bundle can serve under all of these names now: PEM readable, key and certificate one
 * pair, a chain from it to one of ca_cert (if there is any), both valid. ERROR_INVALID says what is
 * wrong. `names` may be empty; of a certificate that cannot be made anew, since ca_key is not
 * known, only the needed ones are asked.
 */
int cert_bundle_check(const struct cert_bundle *bundle, const struct cert_names *names,
                      int64_t now_ns, struct cert_state *ret_state, struct error *err);
/* Whether those who trust these authorities (PEM) accept the serving certificate; dates aside. */
bool cert_bundle_trusted_by(const struct cert_bundle *bundle, struct str authorities);
/* Whether those who trust the authority of `a`, and no other, accept `b`. */
bool cert_bundle_same_authority(const struct cert_bundle *a, const struct cert_bundle *b);

#endif
