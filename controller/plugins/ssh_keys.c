/*
 * Key pairs for ssh, made by OpenSSL: see ssh_keys.h.
 */
#include "controller/plugins/ssh_keys.h"
#include "base/alloc.h"
#include "base/base64.h"
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#define KEY_BITS 2048

/* ---- the wire format of ssh -------------------------------------------------------------------
 */

static void add_u32(struct buf *out, size_t value)
{
    const unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                                    (unsigned char)(value >> 8), (unsigned char)value};

    buf_add(out, bytes, sizeof(bytes));
}

static void add_string(struct buf *out, struct str text)
{
    add_u32(out, text.n);
    buf_add_str(out, text);
}

/* A number with a zero in front when its highest bit is set, as it has a sign. */
static void add_number(struct buf *out, const BIGNUM *number)
{
    unsigned char bytes[1 + KEY_BITS / 8] = {0};
    const size_t n = (size_t)BN_num_bytes(number);

    (void)BN_bn2bin(number, bytes + 1);
    const bool padded = (bytes[1] & 0x80) != 0;
    add_u32(out, n + padded);
    buf_add(out, padded ? bytes : bytes + 1, n + padded);
}

static char *public_line(EVP_PKEY *key)
{
    BIGNUM *n = NULL, *e = NULL;
    cleanup_buf struct buf wire = BUF_INIT(1024);
    struct buf line = BUF_INIT(2048);

    if (EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_N, &n) == 1 &&
        EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &e) == 1) {
        add_string(&wire, STR("ssh-rsa"));
        add_number(&wire, e);
        add_number(&wire, n);
        buf_add_cstr(&line, "ssh-rsa ");
        (void)base64_encode(&line, buf_str(&wire));
        buf_add_char(&line, '\n');
    }
    BN_free(n);
    BN_free(e);
    return buf_take(&line);
}

static char *private_pem(EVP_PKEY *key)
{
    BIO *memory = BIO_new(BIO_s_secmem());
    char *text = NULL, *data = NULL;

    if (memory && PEM_write_bio_PrivateKey_traditional(memory, key, NULL, NULL, 0, NULL, NULL)) {
        const long n = BIO_get_mem_data(memory, &data);
        text = n > 0 ? xstrndup(data, (size_t)n) : NULL;
    }
    BIO_free(memory);
    return text;
}

/* ---- pairs ------------------------------------------------------------------------------------
 */

int ssh_keys_make(struct ssh_keys *ret_keys, struct error *err)
{
    EVP_PKEY *key = EVP_RSA_gen(KEY_BITS);
    struct ssh_keys keys = {0};

    if (key) {
        keys.private_key = private_pem(key);
        keys.public_key = public_line(key);
    }
    EVP_PKEY_free(key);
    if (!keys.private_key || !keys.public_key) {
        ssh_keys_clear(&keys);
        return error_set(err, ERROR_RETRY, "an RSA key for ssh could not be made");
    }
    *ret_keys = keys;
    return 0;
}

void ssh_keys_clear(struct ssh_keys *keys)
{
    if (keys->private_key)
        explicit_bzero(keys->private_key, strlen(keys->private_key));
    free(take_ptr(keys->private_key));
    free(take_ptr(keys->public_key));
}
