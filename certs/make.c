/*
 * Keys and certificates with OpenSSL: see make.h.
 */
#include "make.h"
#include "base/timefmt.h"
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <time.h>

#define SUBJECT_MAX 64
#define NAMES_TEXT_MAX ((size_t)8 << 10)

int openssl_error(struct error *err, const char *what)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    return error_set(err, ERROR_INVALID, "%s%s%s", what, reason ? ": " : "", reason ? reason : "");
}

EVP_PKEY *key_make(void)
{
    return EVP_EC_gen("P-256");
}

/* ---- PEM ----------------------------------------------------------------------------------- */

static BIO *bio_of(struct str text)
{
    return text.n && text.n <= INT32_MAX ? BIO_new_mem_buf(text.p, (int)text.n) : NULL;
}

X509 *pem_read_cert(struct str pem)
{
    BIO *bio = bio_of(pem);
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    BIO_free(bio);
    return cert;
}

bool pem_each_cert(struct str pem, size_t skip, bool (*take)(X509 *cert, void *arg), void *arg)
{
    BIO *bio = bio_of(pem);
    size_t n = 0;
    bool good = bio != NULL;
    for (X509 *cert; good && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)); X509_free(cert)) {
        if (n++ >= skip)
            good = take(cert, arg);
    }
    /* The end of the text is an error to OpenSSL, too. */
    const int reason = ERR_GET_REASON(ERR_peek_last_error());
    good = good && n > 0 && reason == PEM_R_NO_START_LINE;
    BIO_free(bio);
    ERR_clear_error();
    return good;
}

/* Never asks a terminal for a password. */
static int no_password(char *text, int size, int writing, void *arg)
{
    (void)text;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

EVP_PKEY *pem_read_key(struct str pem)
{
    BIO *bio = bio_of(pem);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;
    BIO_free(bio);
    return key;
}

/* Takes what was written to a memory BIO. */
static bool take_bio(struct buf *out, BIO *bio, bool good)
{
    char *text = NULL;
    long size = bio ? BIO_get_mem_data(bio, &text) : 0;
    good = good && size > 0 && buf_add(out, text, (size_t)size);
    BIO_free(bio);
    return good;
}

bool pem_write_cert(struct buf *out, X509 *cert)
{
    BIO *bio = BIO_new(BIO_s_mem());
    return take_bio(out, bio, bio && PEM_write_bio_X509(bio, cert) == 1);
}

bool pem_write_key(struct buf *out, EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_secmem());
    return take_bio(out, bio,
                    bio && PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1);
}

/* ---- certificates -------------------------------------------------------------------------- */

static bool add_extension(X509 *cert, X509 *ca, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, ca ? ca : cert, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool added = extension && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

static bool is_address(const char *name)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

/* Names with anything but these characters would be read as OpenSSL configuration. */
static bool is_plain(const char *name)
{
    return *name && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "-.:*_") == strlen(name);
}

static bool add_names(X509 *cert, X509 *ca, const struct cert_names *names)
{
    struct buf text cleanup_buf = BUF_INIT(NAMES_TEXT_MAX);
    for (size_t i = 0; i < names->n; i++) {
        if (!is_plain(names->items[i]))
            return false;
        buf_printf(&text, "%s%s:%s", i ? "," : "", is_address(names->items[i]) ? "IP" : "DNS",
                   names->items[i]);
    }
    return !text.overflow && (text.n == 0 || add_extension(cert, ca, NID_subject_alt_name, text.p));
}

static bool add_extensions(const struct cert_spec *spec, X509 *cert, X509 *ca)
{
    if (spec->authority)
        return add_extension(cert, ca, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
               add_extension(cert, ca, NID_key_usage, "critical,keyCertSign,cRLSign") &&
               add_extension(cert, ca, NID_subject_key_identifier, "hash");
    return add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(cert, ca, NID_key_usage, "critical,digitalSignature") &&
           add_extension(cert, ca, NID_ext_key_usage, "serverAuth") &&
           add_extension(cert, ca, NID_subject_key_identifier, "hash") &&
           add_extension(cert, ca, NID_authority_key_identifier, "keyid:always") &&
           (!spec->names || add_names(cert, ca, spec->names));
}

static bool to_ns(const ASN1_TIME *time, int64_t *ret_ns)
{
    struct tm parts;
    if (!time || !ASN1_TIME_to_tm(time, &parts))
        return false;
    *ret_ns = (int64_t)timegm(&parts) * NSEC_PER_SEC;
    return true;
}

bool cert_times(const X509 *cert, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
    return to_ns(X509_get0_notBefore(cert), ret_begin_ns) &&
           to_ns(X509_get0_notAfter(cert), ret_end_ns);
}

X509 *cert_set_of_key(const struct cert_set *set, EVP_PKEY *key)
{
    for (size_t i = 0; i < set->n; i++) {
        if (X509_check_private_key(set->items[i], key) == 1)
            return set->items[i];
    }
    ERR_clear_error(); /* that it is not that of the others */
    return NULL;
}

/* A positive random number of 127 bits. */
static bool set_serial(X509 *cert)
{
    BIGNUM *number = BN_new();
    bool set = number && BN_rand(number, 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ODD) == 1 &&
               BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    return set;
}

static bool set_subject(X509 *cert, const char *subject)
{
    const struct str text = str_cut(str_of(subject), SUBJECT_MAX);
    return X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
                                      (const unsigned char *)text.p, (int)text.n, -1, 0) == 1;
}

static bool set_times(const struct cert_spec *spec, X509 *cert)
{
    return ASN1_TIME_set(X509_getm_notBefore(cert), spec->not_before_ns / NSEC_PER_SEC) &&
           ASN1_TIME_set(X509_getm_notAfter(cert), spec->not_after_ns / NSEC_PER_SEC);
}

X509 *cert_make(const struct cert_spec *spec, EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key)
{
    X509 *cert = X509_new();
    bool good = cert && X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
                set_subject(cert, spec->subject) && set_times(spec, cert) &&
                X509_set_issuer_name(cert, X509_get_subject_name(ca ? ca : cert)) == 1 &&
                X509_set_pubkey(cert, key) == 1 && add_extensions(spec, cert, ca) &&
                X509_sign(cert, ca_key, EVP_sha256()) > 0;
    if (good)
        return cert;
    X509_free(cert);
    return NULL;
}
