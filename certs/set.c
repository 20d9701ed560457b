/*
 * Sets of certificates: see set.h.
 */
#include "set.h"
#include "make.h"

static bool has(const struct cert_set *set, const X509 *cert)
{
    for (size_t i = 0; i < set->n; i++) {
        if (X509_cmp(set->items[i], cert) == 0)
            return true;
    }
    return false;
}

static bool add_one(X509 *cert, void *arg)
{
    struct cert_set *set = arg;
    if (has(set, cert))
        return true;
    if (set->n == CERT_SET_MAX || X509_up_ref(cert) != 1)
        return false;
    set->items[set->n++] = cert;
    return true;
}

void cert_set_clear(struct cert_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        X509_free(set->items[i]);
    set->n = 0;
}

bool cert_set_add_pem(struct cert_set *set, struct str pem)
{
    return pem_each_cert(pem, 0, add_one, set);
}

bool cert_set_add(struct cert_set *set, const struct cert_set *other)
{
    for (size_t i = 0; i < other->n; i++) {
        if (!add_one(other->items[i], set))
            return false;
    }
    return true;
}

/* Keeps those for which `keep` says so. */
static void filter(struct cert_set *set, bool (*keep)(const X509 *cert, const void *arg),
                   const void *arg)
{
    size_t n = 0;
    for (size_t i = 0; i < set->n; i++) {
        if (keep(set->items[i], arg))
            set->items[n++] = set->items[i];
        else
            X509_free(set->items[i]);
    }
    set->n = n;
}

static bool is_not_in(const X509 *cert, const void *other)
{
    return !has(other, cert);
}

void cert_set_remove(struct cert_set *set, const struct cert_set *other)
{
    filter(set, is_not_in, other);
}

bool cert_set_contains(const struct cert_set *set, const struct cert_set *other)
{
    for (size_t i = 0; i < other->n; i++) {
        if (!has(set, other->items[i]))
            return false;
    }
    return true;
}

bool cert_set_overlaps(const struct cert_set *set, const struct cert_set *other)
{
    for (size_t i = 0; i < other->n; i++) {
        if (has(set, other->items[i]))
            return true;
    }
    return false;
}

static bool is_alive(const X509 *cert, const void *now_ns)
{
    int64_t begin_ns, end_ns;
    return cert_times(cert, &begin_ns, &end_ns) && end_ns > *(const int64_t *)now_ns;
}

void cert_set_drop_expired(struct cert_set *set, int64_t now_ns)
{
    filter(set, is_alive, &now_ns);
}

bool cert_set_write(const struct cert_set *set, struct buf *pem)
{
    for (size_t i = 0; i < set->n; i++) {
        if (!pem_write_cert(pem, set->items[i]))
            return false;
    }
    return true;
}
