/*
 * Serving credentials: see tls.h. GnuTLS copies what it is given, so the PEM text may go at once.
 */
#include "webhook/http/tls.h"
#include "base/alloc.h"
#include <gnutls/gnutls.h>
#include <limits.h>
#include <stdatomic.h>

struct tls_credentials {
    atomic_uint references;
    gnutls_certificate_credentials_t handle; /* owned */
};

const char tls_priorities[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:"
    "-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305";

/* GnuTLS reads only; its type has no const. */
static gnutls_datum_t datum(struct str text)
{
    union {
        const char *text;
        unsigned char *bytes;
    } pointer = {.text = text.p};
    return (gnutls_datum_t){pointer.bytes, (unsigned)text.n};
}

int tls_credentials_new(struct str certificate, struct str key,
                        struct tls_credentials **ret_credentials, struct error *err)
{
    if (certificate.n > UINT_MAX || key.n > UINT_MAX)
        return error_set(err, ERROR_LIMIT, "the certificate or its key is too large");
    struct tls_credentials *credentials = xnew(struct tls_credentials);
    atomic_init(&credentials->references, 1);
    int rc = gnutls_certificate_allocate_credentials(&credentials->handle);
    if (rc == GNUTLS_E_SUCCESS) {
        const gnutls_datum_t certificate_pem = datum(certificate), key_pem = datum(key);
        rc = gnutls_certificate_set_x509_key_mem2(credentials->handle, &certificate_pem, &key_pem,
                                                  GNUTLS_X509_FMT_PEM, NULL, 0);
    }
    if (rc < 0) {
        tls_credentials_unref(credentials);
        return error_set(err, ERROR_INVALID, "the certificate and its key cannot be used: %s",
                         gnutls_strerror(rc));
    }
    *ret_credentials = credentials;
    return 0;
}

struct tls_credentials *tls_credentials_ref(struct tls_credentials *credentials)
{
    atomic_fetch_add(&credentials->references, 1);
    return credentials;
}

void tls_credentials_unref(struct tls_credentials *credentials)
{
    if (!credentials || atomic_fetch_sub(&credentials->references, 1) != 1)
        return;
    if (credentials->handle)
        gnutls_certificate_free_credentials(credentials->handle);
    free(credentials);
}

bool tls_credentials_use(struct tls_credentials *credentials, void *session)
{
    return gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials->handle) ==
           GNUTLS_E_SUCCESS;
}
