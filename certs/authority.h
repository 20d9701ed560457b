/*
 * The webhook's own certificate authority and serving certificate, made with OpenSSL.
 *
 * ECDSA on P-256 throughout: handshakes are what makes admission slow. Everything is PEM text.
 * Pure functions, no I/O; times are wall time in nanoseconds.
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
};

/* PEM texts, owned. ca_key is empty when the authority's key is not known. */
struct cert_bundle {
    struct buf cert, key, ca_cert, ca_key;
};

void cert_bundle_init(struct cert_bundle *bundle);
void cert_bundle_clear(struct cert_bundle *bundle);
bool cert_bundle_equal(const struct cert_bundle *a, const struct cert_bundle *b);

/* Makes an authority (10 years) and a certificate of it (1 year), valid from an hour ago. */
int cert_bundle_make(struct cert_bundle *bundle, const struct cert_names *names, int64_t now_ns,
                     struct error *err);
/* Makes a new serving key and certificate with the authority in the bundle, which needs ca_key. */
int cert_bundle_renew(struct cert_bundle *bundle, const struct cert_names *names, int64_t now_ns,
                      struct error *err);

struct cert_state {
    int64_t not_before_ns, not_after_ns; /* of the serving certificate */
    int64_t ca_not_after_ns;
    bool renewal_due; /* two thirds of its life are over, or the authority's */
};

/*
 * Whether the bundle can serve under all of these names now: PEM readable, key and certificate one
 * pair, a chain from it to one of ca_cert (if there is any), both valid. ERROR_INVALID says what is
 * wrong. `names` may be empty.
 */
int cert_bundle_check(const struct cert_bundle *bundle, const struct cert_names *names,
                      int64_t now_ns, struct cert_state *ret_state, struct error *err);

#endif
