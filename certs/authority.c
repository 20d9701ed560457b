/*
 * Making certificates, and the steps from one authority to the next: see authority.h. OpenSSL
 * objects live for one call. Nothing is changed by a function that fails.
 */
#include "authority.h"
#include "base/timefmt.h"
#include "make.h"
#include "set.h"

#define PEM_MAX ((size_t)64 << 10)
#define DAY_NS (NSEC_PER_SEC * 3600 * 24)
#define CA_LIFE_NS (3650 * DAY_NS)
#define CERT_LIFE_NS (365 * DAY_NS)

void cert_bundle_init(struct cert_bundle *bundle)
{
    buf_init(&bundle->cert, PEM_MAX);
    buf_init(&bundle->key, PEM_MAX);
    buf_init(&bundle->ca_cert, PEM_MAX);
    buf_init(&bundle->ca_key, PEM_MAX);
    buf_init(&bundle->next_key, PEM_MAX);
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
    wipe(&bundle->next_key);
}

void cert_bundle_copy(struct cert_bundle *to, const struct cert_bundle *from)
{
    cert_bundle_clear(to);
    buf_add_str(&to->cert, buf_str(&from->cert));
    buf_add_str(&to->key, buf_str(&from->key));
    buf_add_str(&to->ca_cert, buf_str(&from->ca_cert));
    buf_add_str(&to->ca_key, buf_str(&from->ca_key));
    buf_add_str(&to->next_key, buf_str(&from->next_key));
}

bool cert_bundle_same_pair(const struct cert_bundle *a, const struct cert_bundle *b)
{
    return str_eq(buf_str(&a->cert), buf_str(&b->cert)) &&
           str_eq(buf_str(&a->key), buf_str(&b->key));
}

bool cert_bundle_equal(const struct cert_bundle *a, const struct cert_bundle *b)
{
    return cert_bundle_same_pair(a, b) && str_eq(buf_str(&a->ca_cert), buf_str(&b->ca_cert)) &&
           str_eq(buf_str(&a->ca_key), buf_str(&b->ca_key)) &&
           str_eq(buf_str(&a->next_key), buf_str(&b->next_key));
}

/* ---- making -------------------------------------------------------------------------------- */

/* Puts a text in the place of another. */
static void put(struct buf *to, struct buf *text)
{
    wipe(to);
    *to = *text;
    *text = BUF_INIT(PEM_MAX);
}

static int write_set(struct buf *to, const struct cert_set *set, struct error *err)
{
    struct buf text cleanup_buf = BUF_INIT(PEM_MAX);
    if (!cert_set_write(set, &text))
        return openssl_error(err, "the authorities cannot be written");
    put(to, &text);
    return 0;
}

static X509 *make_authority(EVP_PKEY *key, int64_t now_ns)
{
    const struct cert_spec spec = {.subject = "Pumice webhook authority",
                                   .authority = true,
                                   .not_before_ns = now_ns - CERT_BACKDATE_NS,
                                   .not_after_ns = now_ns + CA_LIFE_NS};
    return cert_make(&spec, key, NULL, key);
}

/* A serving pair of an authority, into the bundle. */
static int make_pair(struct cert_bundle *bundle, X509 *ca, EVP_PKEY *ca_key,
                     const struct cert_names *names, int64_t now_ns, struct error *err)
{
    int64_t begin_ns, end_ns;
    struct cert_spec spec = {.subject = names->n ? names->items[0] : "pumice-webhook",
                             .names = names,
                             .not_before_ns = now_ns - CERT_BACKDATE_NS,
                             .not_after_ns = now_ns + CERT_LIFE_NS};
    if (!cert_times(ca, &begin_ns, &end_ns))
        return openssl_error(err, "the validity of the authority cannot be read");
    if (spec.not_after_ns > end_ns)
        spec.not_after_ns = end_ns;
    EVP_PKEY *key cleanup_key = key_make();
    X509 *cert cleanup_x509 = key ? cert_make(&spec, key, ca, ca_key) : NULL;
    struct buf cert_pem cleanup_buf = BUF_INIT(PEM_MAX), key_pem cleanup_buf = BUF_INIT(PEM_MAX);
    if (!cert || !pem_write_cert(&cert_pem, cert) || !pem_write_key(&key_pem, key))
        return openssl_error(err, "the serving certificate cannot be made");
    put(&bundle->cert, &cert_pem);
    put(&bundle->key, &key_pem);
    return 0;
}

int cert_bundle_make(struct cert_bundle *bundle, const struct cert_names *names, int64_t now_ns,
                     struct error *err)
{
    EVP_PKEY *key cleanup_key = key_make();
    X509 *ca cleanup_x509 = key ? make_authority(key, now_ns) : NULL;
    if (!ca)
        return openssl_error(err, "the authority cannot be made");
    if (make_pair(bundle, ca, key, names, now_ns, err) < 0)
        return -1;
    buf_reset(&bundle->ca_cert);
    wipe(&bundle->ca_key);
    wipe(&bundle->next_key);
    if (!pem_write_cert(&bundle->ca_cert, ca) || !pem_write_key(&bundle->ca_key, key))
        return openssl_error(err, "the authority cannot be written");
    return 0;
}

int cert_bundle_renew(struct cert_bundle *bundle, const struct cert_names *names, int64_t now_ns,
                      struct error *err)
{
    struct cert_set set cleanup_cert_set = {.n = 0};
    EVP_PKEY *key cleanup_key = pem_read_key(buf_str(&bundle->ca_key));
    (void)cert_set_add_pem(&set, buf_str(&bundle->ca_cert));
    X509 *ca = key ? cert_set_of_key(&set, key) : NULL;
    if (!ca)
        return openssl_error(err, "there is no authority to renew the serving certificate with");
    return make_pair(bundle, ca, key, names, now_ns, err);
}

/* ---- from one authority to the next -------------------------------------------------------- */

int cert_bundle_stage(struct cert_bundle *bundle, int64_t now_ns, struct error *err)
{
    struct cert_set set cleanup_cert_set = {.n = 0}, next cleanup_cert_set = {.n = 0};
    struct buf key_pem cleanup_buf = BUF_INIT(PEM_MAX), pem cleanup_buf = BUF_INIT(PEM_MAX);
    EVP_PKEY *key cleanup_key = key_make();
    X509 *ca cleanup_x509 = key ? make_authority(key, now_ns) : NULL;
    if (!ca || !pem_write_key(&key_pem, key) || !pem_write_cert(&pem, ca) ||
        !cert_set_add_pem(&next, buf_str(&pem)))
        return openssl_error(err, "the next authority cannot be made");
    if (!cert_set_add_pem(&set, buf_str(&bundle->ca_cert)) || !cert_set_add(&set, &next))
        return openssl_error(err, "the next authority cannot be put beside the others");
    if (write_set(&bundle->ca_cert, &set, err) < 0)
        return -1;
    put(&bundle->next_key, &key_pem);
    return 0;
}

int cert_bundle_switch(struct cert_bundle *bundle, const struct cert_names *names, int64_t now_ns,
                       struct error *err)
{
    struct cert_set set cleanup_cert_set = {.n = 0};
    EVP_PKEY *key cleanup_key = pem_read_key(buf_str(&bundle->next_key));
    (void)cert_set_add_pem(&set, buf_str(&bundle->ca_cert));
    X509 *ca = key ? cert_set_of_key(&set, key) : NULL;
    if (!ca)
        return openssl_error(err, "the next authority cannot be read");
    if (make_pair(bundle, ca, key, names, now_ns, err) < 0)
        return -1;
    put(&bundle->ca_key, &bundle->next_key);
    return 0;
}

static bool add_of_key(struct cert_set *kept, const struct cert_set *all, struct str key_pem)
{
    EVP_PKEY *key cleanup_key = pem_read_key(key_pem);
    X509 *ca = key ? cert_set_of_key(all, key) : NULL;
    const struct cert_set one = {.items = {ca}, .n = 1};
    return ca && cert_set_add(kept, &one);
}

int cert_bundle_drop(struct cert_bundle *bundle, struct error *err)
{
    struct cert_set all cleanup_cert_set = {.n = 0}, kept cleanup_cert_set = {.n = 0};
    (void)cert_set_add_pem(&all, buf_str(&bundle->ca_cert));
    if (!add_of_key(&kept, &all, buf_str(&bundle->ca_key)))
        return openssl_error(err, "the authority that signs cannot be read");
    if (bundle->next_key.n)
        (void)add_of_key(&kept, &all, buf_str(&bundle->next_key));
    return write_set(&bundle->ca_cert, &kept, err);
}

void cert_bundle_trust(struct cert_bundle *bundle, struct str pem, int64_t now_ns)
{
    struct error ignored = ERROR_INIT;
    struct cert_set set cleanup_cert_set = {.n = 0};
    (void)cert_set_add_pem(&set, buf_str(&bundle->ca_cert));
    (void)cert_set_add_pem(&set, pem);
    cert_set_drop_expired(&set, now_ns);
    (void)write_set(&bundle->ca_cert, &set, &ignored);
}
