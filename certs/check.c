/*
 * Whether certificates can be used, and how far they are on their way: see authority.h.
 */
#include "authority.h"
#include "base/timefmt.h"
#include "make.h"
#include "set.h"
#include <openssl/err.h>
#include <openssl/x509v3.h>

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

static int check_names(X509 *cert, const struct cert_names *names, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
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

/* ---- the chain ----------------------------------------------------------------------------- */

static bool trust(X509_STORE *store, const struct cert_set *authorities)
{
    for (size_t i = 0; i < authorities->n; i++) {
        if (X509_STORE_add_cert(store, authorities->items[i]) != 1)
            return false;
    }
    return authorities->n > 0;
}

static bool add_link(X509 *cert, void *chain)
{
    return X509_add_cert(chain, cert, X509_ADD_FLAG_UP_REF | X509_ADD_FLAG_NO_DUP) == 1;
}

/* The rest of what is served; an end without a further certificate is no fault. */
static void add_links(struct str pem, STACK_OF(X509) * chain)
{
    (void)pem_each_cert(pem, 1, add_link, chain);
}

static int verify(X509_STORE_CTX *context, X509 **ret_authority, struct error *err)
{
    X509_STORE_CTX_set_flags(context, X509_V_FLAG_NO_CHECK_TIME | X509_V_FLAG_PARTIAL_CHAIN);
    if (X509_verify_cert(context) != 1)
        return error_set(err, ERROR_INVALID,
                         "the serving certificate is not signed by the authority: %s",
                         X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));
    STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(context);
    *ret_authority = sk_X509_value(chain, sk_X509_num(chain) - 1);
    return X509_up_ref(*ret_authority) == 1 ? 0 : openssl_error(err, "out of references");
}

/* Finds the authority that the certificate leads to, over those that came with it. */
static int find_authority(struct str served, X509 *cert, const struct cert_set *authorities,
                          X509 **ret_authority, struct error *err)
{
    X509_STORE *store = X509_STORE_new();
    STACK_OF(X509) *chain = sk_X509_new_null();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    int rc = -1;
    if (chain)
        add_links(served, chain);
    if (store && chain && context && trust(store, authorities) &&
        X509_STORE_CTX_init(context, store, cert, chain) == 1 &&
        X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER) == 1)
        rc = verify(context, ret_authority, err);
    else
        (void)openssl_error(err, "the certificate of the authority cannot be read");
    X509_STORE_CTX_free(context);
    sk_X509_pop_free(chain, X509_free);
    X509_STORE_free(store);
    ERR_clear_error();
    return rc;
}

static bool is_trusted_by(const struct cert_bundle *bundle, const struct cert_set *authorities,
                          X509 **ret_authority)
{
    struct error ignored = ERROR_INIT;
    X509 *cert cleanup_x509 = pem_read_cert(buf_str(&bundle->cert));
    return cert &&
           find_authority(buf_str(&bundle->cert), cert, authorities, ret_authority, &ignored) == 0;
}

bool cert_bundle_trusted_by(const struct cert_bundle *bundle, struct str authorities)
{
    struct cert_set set cleanup_cert_set = {.n = 0};
    X509 *authority cleanup_x509 = NULL;
    return cert_set_add_pem(&set, authorities) && is_trusted_by(bundle, &set, &authority);
}

bool cert_bundle_same_authority(const struct cert_bundle *a, const struct cert_bundle *b)
{
    struct cert_set all cleanup_cert_set = {.n = 0};
    X509 *of_a cleanup_x509 = NULL, *of_b cleanup_x509 = NULL;
    if (!cert_set_add_pem(&all, buf_str(&a->ca_cert)) || !is_trusted_by(a, &all, &of_a))
        return false;
    const struct cert_set one = {.items = {of_a}, .n = 1};
    return is_trusted_by(b, &one, &of_b);
}

/* ---- the authorities ----------------------------------------------------------------------- */

/* The times of the authority that a key belongs to; false when it is not valid now. */
static bool times_of_key(const struct cert_set *set, struct str key_pem, int64_t now_ns,
                         int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
    EVP_PKEY *key cleanup_key = pem_read_key(key_pem);
    X509 *ca = key ? cert_set_of_key(set, key) : NULL;
    ERR_clear_error();
    return ca && cert_times(ca, ret_begin_ns, ret_end_ns) && *ret_begin_ns <= now_ns &&
           *ret_end_ns > now_ns;
}

static void look_at_authorities(const struct cert_bundle *bundle, const struct cert_set *set,
                                int64_t now_ns, struct cert_state *state)
{
    int64_t begin_ns, end_ns;
    state->signs = times_of_key(set, buf_str(&bundle->ca_key), now_ns, &begin_ns, &end_ns);
    state->authority_due = state->signs && is_old(begin_ns, end_ns, now_ns);
    state->staged = times_of_key(set, buf_str(&bundle->next_key), now_ns, &begin_ns, &end_ns) &&
                    !is_old(begin_ns, end_ns, now_ns);
    if (state->staged)
        state->staged_ns = begin_ns + CERT_BACKDATE_NS;
    const size_t in_use = (size_t)state->signs + (size_t)state->staged;
    state->spare = set->n > in_use ? set->n - in_use : 0;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static int check_pair(const struct cert_bundle *bundle, X509 *cert, struct error *err)
{
    EVP_PKEY *key cleanup_key = pem_read_key(buf_str(&bundle->key));
    if (!cert)
        return openssl_error(err, "the serving certificate cannot be read");
    if (!key)
        return openssl_error(err, "the key of the serving certificate cannot be read");
    if (X509_check_private_key(cert, key) != 1)
        return openssl_error(err, "the key is not that of the serving certificate");
    return 0;
}

static int check_cert(X509 *cert, int64_t now_ns, struct cert_state *state, struct error *err)
{
    if (!cert_times(cert, &state->not_before_ns, &state->not_after_ns))
        return openssl_error(err, "the validity of the serving certificate cannot be read");
    state->issued_ns = state->not_before_ns + CERT_BACKDATE_NS;
    state->renewal_due = is_old(state->not_before_ns, state->not_after_ns, now_ns);
    state->ca_not_after_ns = state->not_after_ns;
    return check_validity("serving certificate", state->not_before_ns, state->not_after_ns, now_ns,
                          err);
}

static int check_authority(const struct cert_bundle *bundle, X509 *cert,
                           const struct cert_set *authorities, int64_t now_ns,
                           struct cert_state *state, struct error *err)
{
    X509 *authority cleanup_x509 = NULL;
    int64_t begin_ns;
    if (find_authority(buf_str(&bundle->cert), cert, authorities, &authority, err) < 0)
        return -1;
    if (!cert_times(authority, &begin_ns, &state->ca_not_after_ns))
        return openssl_error(err, "the validity of the authority cannot be read");
    return check_validity("certificate of the authority", begin_ns, state->ca_not_after_ns, now_ns,
                          err);
}

int cert_bundle_check(const struct cert_bundle *bundle, const struct cert_names *names,
                      int64_t now_ns, struct cert_state *ret_state, struct error *err)
{
    struct cert_state state = {0};
    struct cert_set authorities cleanup_cert_set = {.n = 0};
    X509 *cert cleanup_x509 = pem_read_cert(buf_str(&bundle->cert));
    const size_t asked = bundle->ca_key.n ? names->n : names->needed;
    if (check_pair(bundle, cert, err) < 0 || check_cert(cert, now_ns, &state, err) < 0 ||
        check_names(cert, names, asked, err) < 0)
        return -1;
    if (bundle->ca_cert.n) {
        if (!cert_set_add_pem(&authorities, buf_str(&bundle->ca_cert)))
            return openssl_error(err, "the certificate of the authority cannot be read");
        if (check_authority(bundle, cert, &authorities, now_ns, &state, err) < 0)
            return -1;
    }
    look_at_authorities(bundle, &authorities, now_ns, &state);
    *ret_state = state;
    return 0;
}
