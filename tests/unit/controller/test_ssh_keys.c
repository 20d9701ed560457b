/*
 * Key pairs for ssh: what OpenSSH and OpenSSL say of them.
 */
#include "testing.h"

#include "base/base64.h"
#include "controller/plugins/ssh_keys.h"
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>

static struct ssh_keys make(void)
{
    struct error err = ERROR_INIT;
    struct ssh_keys keys;

    if (ssh_keys_make(&keys, &err) < 0)
        fail_msg("%s", err.text);
    return keys;
}

/* What `ssh-keygen -y` writes for the private key in this file. */
static void run_keygen(const char *path, char *line, int size)
{
    int ends[2], status = 0;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execlp("ssh-keygen", "ssh-keygen", "-y", "-P", "", "-f", path, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    assert_non_null(out);
    assert_non_null(fgets(line, size, out));
    (void)fclose(out);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void ssh_keygen_finds_the_same_public_key(void **state)
{
    struct ssh_keys keys = make();
    char path[] = "/tmp/pumice-key-XXXXXX", line[4096];
    const int fd = mkstemp(path); /* with mode 0600, as ssh wants it */

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, keys.private_key, strlen(keys.private_key)),
                     strlen(keys.private_key));
    assert_int_equal(close(fd), 0);
    run_keygen(path, line, sizeof(line));
    (void)unlink(path);
    assert_string_equal(line, keys.public_key);
    ssh_keys_clear(&keys);
}

static void the_private_key_is_rsa_of_2048_bits_in_pkcs1(void **state)
{
    struct ssh_keys keys = make();
    BIO *memory = BIO_new_mem_buf(keys.private_key, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(memory, NULL, NULL, NULL);

    (void)state;
    assert_non_null(key);
    assert_int_equal(EVP_PKEY_get_bits(key), 2048);
    assert_int_equal(EVP_PKEY_get_base_id(key), EVP_PKEY_RSA);
    assert_true(str_starts(str_of(keys.private_key), STR("-----BEGIN RSA PRIVATE KEY-----\n")));
    assert_true(str_ends(str_of(keys.private_key), STR("-----END RSA PRIVATE KEY-----\n")));
    EVP_PKEY_free(key);
    BIO_free(memory);
    ssh_keys_clear(&keys);
}

static void no_two_pairs_are_equal(void **state)
{
    struct ssh_keys one = make(), other = make();

    (void)state;
    assert_string_not_equal(one.private_key, other.private_key);
    assert_string_not_equal(one.public_key, other.public_key);
    ssh_keys_clear(&one);
    ssh_keys_clear(&other);
    assert_null(one.private_key);
    ssh_keys_clear(&one);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(ssh_keygen_finds_the_same_public_key),
        cmocka_unit_test(the_private_key_is_rsa_of_2048_bits_in_pkcs1),
        cmocka_unit_test(no_two_pairs_are_equal),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
