/*
 * Making and checking certificates: see authority.h. OpenSSL objects live for one call.
 */
#include "authority.h"
#include "base/timefmt.h"
#include "make.h"
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <time.h>

#define PEM_MAX ((size_t)64 << 10)
#define BACKDATE_NS (NSEC_PER_SEC * 3600) /* clocks of API servers may be behind */
#define DAY_NS (NSEC_PER_SEC * 3600 * 24)
#define CA_LIFE_NS (3650 * DAY_NS)
#define CERT_LIFE_NS (365 * DAY_NS)

void cert_bundle_init(struct cert_bundle *bundle)
{
    buf_init(&bundle->cert, PEM_MAX);
    buf_init(&bundle->key, PEM_MAX);
    buf_init(&bundle->ca_cert, PEM_MAX);
    buf_init(&bundle->ca_key, PEM_MAX);
}

static void wipe(struct buf *buf)
{
    if (buf->p)
        explicit_bzero(buf->p, buf->cap);
    buf_clear(buf);
}

void cert_bundle_clear(struct cert_bundle *bundle)
{
    buf_clear(&bundle->cert);
    buf_clear(&bundle->ca_cert);
    wipe(&bundle->key);
    wipe(&bundle->ca_key);
}

bool cert_bundle_equal(const struct cert_bundle *a, const struct cert_bundle *b)
{
    return str_eq(buf_str(&a->cert), buf_str(&b->cert)) &&
           str_eq(buf_str(&a->key), buf_str(&b->key)) &&
           str_eq(buf_str(&a->ca_cert), buf_str(&b->ca_cert)) &&
           str_eq(buf_str(&a->ca_key), buf_str(&b->ca_key));
}

/* ---- making -------------------------------------------------------------------------------- */

static int fill_bundle(struct cert_bundle *bundle, const struct cert_names *names, int64_t now_ns,
                       bool renew, struct error *err)
{
    struct cert_spec ca_spec = {.subject = "Pumice webhook authority",
                                .authority = true,
                                .not_before_ns = now_ns - BACKDATE_NS,
                                .not_after_ns = now_ns + CA_LIFE_NS};
    struct cert_spec spec = {.subject = names->n ? names->items[0] : "pumice-webhook",
                             .names = names,
                             .not_before_ns = now_ns - BACKDATE_NS,
                             .not_after_ns = now_ns + CERT_LIFE_NS};
    EVP_PKEY *ca_key cleanup_key = renew ? pem_read_key(buf_str(&bundle->ca_key)) : key_make();
    X509 *ca cleanup_x509 = renew    ? pem_read_cert(buf_str(&bundle->ca_cert))
                            : ca_key ? cert_make(&ca_spec, ca_key, NULL, ca_key)
                                     : NULL;
    EVP_PKEY *key cleanup_key = key_make();
    X509 *cert cleanup_x509 = ca && ca_key && key ? cert_make(&spec, key, ca, ca_key) : NULL;
    if (!cert)
        return openssl_error(err, renew ? "the serving certificate cannot be renewed"
                                        : "the certificates cannot be made");
    if (!renew &&
        (!pem_write_cert(&bundle->ca_cert, ca) || !pem_write_key(&bundle->ca_key, ca_key)))
        return openssl_error(err, "the authority cannot be written");
    buf_reset(&bundle->cert);
    wipe(&bundle->key);
    if (!pem_write_cert(&bundle->cert, cert) || !pem_write_key(&bundle->key, key))
        return openssl_error(err, "the serving certificate cannot be written");
    return 0;
}

int cert_bundle_make(struct cert_bundle *bundle, const struct cert_names *names, int64_t now_ns,
                     struct error *err)
{
    cert_bundle_clear(bundle);
    return fill_bundle(bundle, names, now_ns, false, err);
}

int cert_bundle_renew(struct cert_bundle *bundle, const struct cert_names *names, int64_t now_ns,
                      struct error *err)
{
    return fill_bundle(bundle, names, now_ns, true, err);
}

/* ---- checking ------------------------------------------------------------------------------ */

static bool to_ns(const ASN1_TIME *time, int64_t *ret_ns)
{
    struct tm parts;
    if (!time || !ASN1_TIME_to_tm(time, &parts))
        return false;
    *ret_ns = (int64_t)timegm(&parts) * NSEC_PER_SEC;
    return true;
}

static int check_validity(const char *what, int64_t begin_ns, int64_t end_ns, int64_t now_ns,
                          struct error *err)
{
    char text[TIME_TEXT_MAX];
    if (begin_ns > now_ns) {
        size_t n = time_format(text, begin_ns);
        return error_set(err, ERROR_INVALID, "the %s is not valid before %.*s", what, (int)n, text);
    }
    if (end_ns <= now_ns) {
        size_t n = time_format(text, end_ns);
        return error_set(err, ERROR_INVALID, "the %s has expired at %.*s", what, (int)n, text);
    }
    return 0;
}

static int check_names(X509 *cert, const struct cert_names *names, struct error *err)
{
    for (size_t i = 0; i < names->n; i++) {
        const char *name = names->items[i];
        if (X509_check_host(cert, name, 0, 0, NULL) != 1 && X509_check_ip_asc(cert, name, 0) != 1)
            return error_set(err, ERROR_INVALID, "the serving certificate is not for %s", name);
    }
    return 0;
}

/* Two thirds of the time from begin to end are over. */
static bool is_old(int64_t begin_ns, int64_t end_ns, int64_t now_ns)
{
    return now_ns >= begin_ns + (end_ns - begin_ns) / 3 * 2;
}

static int check_times(X509 *cert, X509 *ca, int64_t now_ns, struct cert_state *state,
                       struct error *err)
{
    int64_t ca_begin_ns;
    if (!to_ns(X509_get0_notBefore(cert), &state->not_before_ns) ||
        !to_ns(X509_get0_notAfter(cert), &state->not_after_ns) ||
        !to_ns(X509_get0_notBefore(ca), &ca_begin_ns) ||
        !to_ns(X509_get0_notAfter(ca), &state->ca_not_after_ns))
        return openssl_error(err, "the validity of the certificates cannot be read");
    state->renewal_due = is_old(state->not_before_ns, state->not_after_ns, now_ns) ||
                         is_old(ca_begin_ns, state->ca_not_after_ns, now_ns);
    if (check_validity("serving certificate", state->not_before_ns, state->not_after_ns, now_ns,
                       err) < 0)
        return -1;
    return check_validity("certificate of the authority", ca_begin_ns, state->ca_not_after_ns,
                          now_ns, err);
}

/* Certificates of a PEM text into `take`; false when the text ends in the middle of one. */
static bool each_cert(struct str pem, size_t skip, bool (*take)(X509 *cert, void *arg), void *arg)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    bool good = bio != NULL;
    for (X509 *cert; good && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)); X509_free(cert)) {
        if (skip > 0)
            skip--;
        else
            good = take(cert, arg);
    }
    BIO_free(bio);
    ERR_clear_error(); /* that there is no further one */
    return good;
}

static bool add_trusted(X509 *cert, void *store)
{
    return X509_STORE_add_cert(store, cert) == 1;
}

static bool add_link(X509 *cert, void *chain)
{
    return X509_add_cert(chain, cert, X509_ADD_FLAG_UP_REF | X509_ADD_FLAG_NO_DUP) == 1;
}

/* Whether the certificate leads to one of the authorities, over those that came with it. */
static int check_chain(const struct cert_bundle *bundle, X509 *cert, struct error *err)
{
    X509_STORE *store = X509_STORE_new();
    STACK_OF(X509) *chain = sk_X509_new_null();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    bool ready = store && chain && context &&
                 each_cert(buf_str(&bundle->ca_cert), 0, add_trusted, store) &&
                 each_cert(buf_str(&bundle->cert), 1, add_link, chain) &&
                 X509_STORE_CTX_init(context, store, cert, chain) == 1 &&
                 X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER) == 1;
    int rc = -1;
    if (ready)
        X509_STORE_CTX_set_flags(context, X509_V_FLAG_NO_CHECK_TIME | X509_V_FLAG_PARTIAL_CHAIN);
    if (!ready)
        (void)openssl_error(err, "the certificates cannot be checked");
    else if (X509_verify_cert(context) == 1)
        rc = 0;
    else
        (void)error_set(err, ERROR_INVALID,
                        "the serving certificate is not signed by the authority: %s",
                        X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));
    X509_STORE_CTX_free(context);
    sk_X509_pop_free(chain, X509_free);
    X509_STORE_free(store);
    ERR_clear_error();
    return rc;
}

int cert_bundle_check(const struct cert_bundle *bundle, const struct cert_names *names,
                      int64_t now_ns, struct cert_state *ret_state, struct error *err)
{
    struct cert_state state = {0};
    const bool own = bundle->ca_cert.n == 0; /* the authority is not known */
    X509 *cert cleanup_x509 = pem_read_cert(buf_str(&bundle->cert));
    X509 *ca cleanup_x509 = pem_read_cert(buf_str(own ? &bundle->cert : &bundle->ca_cert));
    EVP_PKEY *key cleanup_key = pem_read_key(buf_str(&bundle->key));
    if (!cert)
        return openssl_error(err, "the serving certificate cannot be read");
    if (!key)
        return openssl_error(err, "the key of the serving certificate cannot be read");
    if (!ca)
        return openssl_error(err, "the certificate of the authority cannot be read");
    if (X509_check_private_key(cert, key) != 1)
        return openssl_error(err, "the key is not that of the serving certificate");
    if (check_times(cert, ca, now_ns, &state, err) < 0 || check_names(cert, names, err) < 0)
        return -1;
    if (!own && check_chain(bundle, cert, err) < 0)
        return -1;
    *ret_state = state;
    return 0;
}
