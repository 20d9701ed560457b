/*
 * Thin wrappers of OpenSSL for authority.c: keys, certificates, PEM. Private to certs/.
 */
#ifndef PUMICE_CERTS_MAKE_H
#define PUMICE_CERTS_MAKE_H

#include "authority.h"
#include "base/timefmt.h"
#include "set.h"
#include <openssl/x509.h>

#define CERT_BACKDATE_NS (NSEC_PER_SEC * 3600) /* clocks of API servers may be behind */

struct cert_spec {
    const char *subject;            /* common name, cut at 64 bytes */
    const struct cert_names *names; /* subject alternative names; NULL for none */
    bool authority;
    int64_t not_before_ns, not_after_ns;
};

/* All return NULL or false when OpenSSL fails; openssl_error tells why. */
EVP_PKEY *key_make(void);
/* A certificate for `key`, signed by `ca` (NULL: by itself) with `ca_key`. */
X509 *cert_make(const struct cert_spec *spec, EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key);

X509 *pem_read_cert(struct str pem);
/*
 * Hands the certificates of a PEM text but the first `skip` to `take`, which may keep a reference.
 * False when `take` says so, when one cannot be read, and when there is none at all.
 */
bool pem_each_cert(struct str pem, size_t skip, bool (*take)(X509 *cert, void *arg), void *arg);
EVP_PKEY *pem_read_key(struct str pem);
bool pem_write_cert(struct buf *out, X509 *cert);
bool pem_write_key(struct buf *out, EVP_PKEY *key);

/* The certificate that a key belongs to, borrowed; or NULL. */
X509 *cert_set_of_key(const struct cert_set *set, EVP_PKEY *key);
/* When a certificate begins and ends, wall time. False when that cannot be read. */
bool cert_times(const X509 *cert, int64_t *ret_begin_ns, int64_t *ret_end_ns);

/* ERROR_INVALID with "<what>: <OpenSSL's first reason>"; empties OpenSSL's queue of errors. */
int openssl_error(struct error *err, const char *what);

static inline void cleanup_x509_fn(X509 **cert)
{
    X509_free(*cert);
}
static inline void cleanup_key_fn(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}
#define cleanup_x509 __attribute__((cleanup(cleanup_x509_fn)))
#define cleanup_key __attribute__((cleanup(cleanup_key_fn)))

#endif
