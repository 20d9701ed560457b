/*
 * struct tls_credentials: a serving certificate and its key, ready for GnuTLS, and what is asked of
 * clients.
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
/*
 * Clients have to show a certificate of an authority in `authorities` (PEM), for the use of
 * clients, whose common name or one of whose alternative names (DNS, URI, mail) is among `names`;
 * any will do when `n` is 0. Others are refused in the handshake. Before the credentials are
 * shared. ERROR_INVALID when there is no authority in the text.
 */
int tls_credentials_require(struct tls_credentials *credentials, struct str authorities,
                            const char *const *names, size_t n, struct error *err);
struct tls_credentials *tls_credentials_ref(struct tls_credentials *credentials);
/* NULL is fine. */
void tls_credentials_unref(struct tls_credentials *credentials);
/* Makes a GnuTLS session (gnutls_session_t) use them. False when GnuTLS refuses. */
bool tls_credentials_use(struct tls_credentials *credentials, void *session);

/* What the pointer of such a session (gnutls_session_set_ptr) has to point at until its end. */
struct tls_session {
    struct tls_credentials *credentials; /* reference held by whoever opened the session */
};

/* TLS 1.2 and 1.3 with forward secrecy and AEAD ciphers, as a GnuTLS priority string. */
extern const char tls_priorities[];

#endif
