/*
 * struct tls_credentials: a serving certificate and its key, ready for GnuTLS.
 *
 * Immutable and counted: each connection holds a reference for as long as its session lives, so a
 * new pair can be put in force at any moment without a restart. Thread-safe.
 */
#ifndef PUMICE_WEBHOOK_TLS_H
#define PUMICE_WEBHOOK_TLS_H

#include "base/error.h"
#include "base/str.h"

struct tls_credentials;

/*
 * From a PEM certificate chain (leaf first) and its PEM key; the caller holds the one reference.
 * ERROR_INVALID when either cannot be read or the key is not that of the certificate.
 */
int tls_credentials_new(struct str certificate, struct str key,
                        struct tls_credentials **ret_credentials, struct error *err);
struct tls_credentials *tls_credentials_ref(struct tls_credentials *credentials);
/* NULL is fine. */
void tls_credentials_unref(struct tls_credentials *credentials);
/* Makes a GnuTLS session (gnutls_session_t) use them. False when GnuTLS refuses. */
bool tls_credentials_use(struct tls_credentials *credentials, void *session);

/* TLS 1.2 and 1.3 with forward secrecy and AEAD ciphers, as a GnuTLS priority string. */
extern const char tls_priorities[];

#endif
