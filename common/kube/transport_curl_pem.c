/*
 * Checks a kube_config's certificates and key before the first connection, because libcurl would
 * tell of a bad one only as a failed handshake.
 */
#include "kube/transport_curl.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

static int fail(const struct kube_config *config, const char *what, struct error *err)
{
    ERR_clear_error();
    return error_set(err, ERROR_INVALID, "%s: %s", config->origin ? config->origin : "credentials",
                     what);
}

/* OpenSSL would otherwise ask the terminal for the passphrase of an encrypted key. */
static int no_passphrase(char *text, int size, int writing, void *arg)
{
    (void)text;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

/* Limits of the config keep the sizes far below INT_MAX. */
static BIO *open_pem(const struct buf *pem)
{
    return BIO_new_mem_buf(pem->p, (int)pem->n);
}

static X509 *read_cert(const struct buf *pem)
{
    BIO *bio = open_pem(pem);
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, no_passphrase, NULL) : NULL;
    BIO_free(bio);
    return cert;
}

static EVP_PKEY *read_key(const struct buf *pem)
{
    BIO *bio = open_pem(pem);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
    BIO_free(bio);
    return key;
}

static int check_pair(const struct kube_config *config, X509 *cert, EVP_PKEY *key,
                      struct error *err)
{
    if (!cert)
        return fail(config, "the client certificate is no PEM certificate", err);
    if (!key)
        return fail(config, "the client key is no PEM private key without a passphrase", err);
    if (X509_check_private_key(cert, key) != 1)
        return fail(config, "the client key does not belong to the client certificate", err);
    return 0;
}

int kube_config_check_pem(const struct kube_config *config, struct error *err)
{
    if (config->ca.n > 0) {
        X509 *ca = read_cert(&config->ca);
        if (!ca)
            return fail(config, "the certificate authority is no PEM certificate", err);
        X509_free(ca);
    }
    if (config->cert.n == 0 && config->key.n == 0)
        return 0;
    X509 *cert = read_cert(&config->cert);
    EVP_PKEY *key = read_key(&config->key);
    int rc = check_pair(config, cert, key, err);
    X509_free(cert);
    EVP_PKEY_free(key);
    return rc;
}
