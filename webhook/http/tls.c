/*
 * Serving credentials: see tls.h. GnuTLS copies what it is given, so the PEM text may go at once.
 */
#include "webhook/http/tls.h"
#include "base/alloc.h"
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <limits.h>
#include <stdatomic.h>

struct tls_credentials {
    atomic_uint references;
    gnutls_certificate_credentials_t handle; /* owned */
    bool ask_client;                         /* for a certificate */
    char **names;                            /* owned; names of clients that are let in */
    size_t n;                                /* 0: all */
};

#define NAME_MAX_BYTES 512

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

/* ---- clients ------------------------------------------------------------------------------- */

static bool is_listed(const struct tls_credentials *credentials, struct str name)
{
    for (size_t i = 0; i < credentials->n; i++) {
        if (str_is(name, credentials->names[i]))
            return true;
    }
    return false;
}

static bool has_listed_name(const struct tls_credentials *credentials, gnutls_x509_crt_t cert)
{
    char name[NAME_MAX_BYTES];
    size_t size = sizeof(name);
    if (gnutls_x509_crt_get_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &size) == 0 &&
        is_listed(credentials, str_make(name, size)))
        return true;
    for (unsigned i = 0;; i++) {
        unsigned type;
        size = sizeof(name);
        int rc = gnutls_x509_crt_get_subject_alt_name2(cert, i, name, &size, &type, NULL);
        if (rc == GNUTLS_E_SHORT_MEMORY_BUFFER)
            continue; /* longer than any that is listed */
        if (rc < 0)
            return false;
        if ((type == GNUTLS_SAN_DNSNAME || type == GNUTLS_SAN_URI ||
             type == GNUTLS_SAN_RFC822NAME) &&
            is_listed(credentials, str_make(name, size)))
            return true;
    }
}

static bool is_let_in(const struct tls_credentials *credentials, gnutls_session_t session)
{
    unsigned n = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &n);
    gnutls_x509_crt_t cert;
    if (credentials->n == 0)
        return true;
    if (!chain || n == 0 || gnutls_x509_crt_init(&cert) < 0)
        return false;
    const bool listed = gnutls_x509_crt_import(cert, &chain[0], GNUTLS_X509_FMT_DER) == 0 &&
                        has_listed_name(credentials, cert);
    gnutls_x509_crt_deinit(cert);
    return listed;
}

/* Called by GnuTLS when the client has shown its certificate. */
static int verify_client(gnutls_session_t session)
{
    static char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
    const struct tls_session *own = gnutls_session_get_ptr(session);
    gnutls_typed_vdata_st use = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                 .data = (unsigned char *)purpose};
    unsigned status = 0;
    if (gnutls_certificate_verify_peers(session, &use, 1, &status) < 0 || status != 0)
        return GNUTLS_E_CERTIFICATE_ERROR;
    return is_let_in(own->credentials, session) ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

int tls_credentials_require(struct tls_credentials *credentials, struct str authorities,
                            const char *const *names, size_t n, struct error *err)
{
    if (authorities.n > UINT_MAX)
        return error_set(err, ERROR_LIMIT, "the authorities of clients are too large");
    const gnutls_datum_t pem = datum(authorities);
    int rc = gnutls_certificate_set_x509_trust_mem(credentials->handle, &pem, GNUTLS_X509_FMT_PEM);
    if (rc <= 0)
        return error_set(err, ERROR_INVALID, "the authorities of clients cannot be used: %s",
                         rc ? gnutls_strerror(rc) : "there is no certificate");
    credentials->ask_client = true;
    credentials->names = xcalloc(n ? n : 1, sizeof(*credentials->names));
    for (; credentials->n < n; credentials->n++)
        credentials->names[credentials->n] = xstrdup(names[credentials->n]);
    return 0;
}

/* ---- life ---------------------------------------------------------------------------------- */

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
    for (size_t i = 0; i < credentials->n; i++)
        free(credentials->names[i]);
    free(credentials->names);
    free(credentials);
}

bool tls_credentials_use(struct tls_credentials *credentials, void *session)
{
    if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials->handle) !=
        GNUTLS_E_SUCCESS)
        return false;
    if (credentials->ask_client) {
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
        gnutls_session_set_verify_function(session, verify_client);
    }
    return true;
}
