/*
 * struct cert_set: a few certificates, each once, in the order in which they came.
 *
 * What callers trust is compared as certificates, never as text: order, line ends and comments of
 * PEM do not matter. Embedded; no I/O; not thread-safe.
 */
#ifndef PUMICE_CERTS_SET_H
#define PUMICE_CERTS_SET_H

#include "base/buf.h"

#define CERT_SET_MAX 16

struct x509_st;

struct cert_set {
    struct x509_st *items[CERT_SET_MAX]; /* owned references */
    size_t n;
};

void cert_set_clear(struct cert_set *set);
/*
 * Adds the certificates of a PEM text. False when one of them cannot be read, there is none, or
 * they are too many; those before it have been added then.
 */
bool cert_set_add_pem(struct cert_set *set, struct str pem);
/* Adds those of `other`; false when they are too many. */
bool cert_set_add(struct cert_set *set, const struct cert_set *other);
void cert_set_remove(struct cert_set *set, const struct cert_set *other);
/* Whether all of `other` are in `set`; and whether any of them is. */
bool cert_set_contains(const struct cert_set *set, const struct cert_set *other);
bool cert_set_overlaps(const struct cert_set *set, const struct cert_set *other);
/* Drops those that have expired. */
void cert_set_drop_expired(struct cert_set *set, int64_t now_ns);
/* Appends them as PEM; false when the buffer is full. */
bool cert_set_write(const struct cert_set *set, struct buf *pem);

static inline void cleanup_cert_set_fn(struct cert_set *set)
{
    cert_set_clear(set);
}
#define cleanup_cert_set __attribute__((cleanup(cleanup_cert_set_fn)))

#endif
