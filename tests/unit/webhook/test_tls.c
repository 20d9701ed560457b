/*
 * Credentials that ask clients for a certificate: handshakes between two GnuTLS sessions over a
 * pair of sockets, with clients that have the right certificate, and every kind of wrong one.
 */
#include "testing.h"

#include "base/timefmt.h"
#include "certs/authority.h"
#include "webhook/http/tls.h"
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <sys/socket.h>
#include <time.h>

struct party {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t cert;
};

struct wish {
    const char *common_name, *dns, *uri, *mail; /* NULL: none */
    const char *use;
    int64_t ends_s; /* from now */
};

struct fixture {
    struct cert_bundle server;
    struct party authority, other_authority;
    struct buf pem; /* of the first */
};

static void make_party(struct party *party, const struct party *issuer, const struct wish *wish)
{
    static const unsigned char serial[] = {1, 2, 3, 4};
    assert_int_equal(gnutls_x509_privkey_init(&party->key), 0);
    assert_int_equal(gnutls_x509_privkey_generate(party->key, GNUTLS_PK_ECDSA,
                                                  GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1),
                                                  0),
                     0);
    gnutls_x509_crt_t cert;
    assert_int_equal(gnutls_x509_crt_init(&cert), 0);
    party->cert = cert;
    (void)gnutls_x509_crt_set_version(cert, 3);
    (void)gnutls_x509_crt_set_serial(cert, serial, sizeof(serial));
    (void)gnutls_x509_crt_set_activation_time(cert, time(NULL) - 7200);
    (void)gnutls_x509_crt_set_expiration_time(cert, time(NULL) + (wish ? wish->ends_s : 3600));
    (void)gnutls_x509_crt_set_key(cert, party->key);
    const char *name = wish ? wish->common_name : "an authority";
    if (name)
        (void)gnutls_x509_crt_set_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                            (unsigned)strlen(name));
    const struct {
        gnutls_x509_subject_alt_name_t type;
        const char *text;
    } others[] = {{GNUTLS_SAN_DNSNAME, wish ? wish->dns : NULL},
                  {GNUTLS_SAN_URI, wish ? wish->uri : NULL},
                  {GNUTLS_SAN_RFC822NAME, wish ? wish->mail : NULL}};
    for (size_t i = 0; i < 3; i++) {
        if (others[i].text)
            (void)gnutls_x509_crt_set_subject_alt_name(cert, others[i].type, others[i].text,
                                                       (unsigned)strlen(others[i].text),
                                                       GNUTLS_FSAN_APPEND);
    }
    if (wish && wish->use)
        (void)gnutls_x509_crt_set_key_purpose_oid(cert, wish->use, 0);
    (void)gnutls_x509_crt_set_ca_status(cert, wish ? 0 : 1);
    const struct party *signer = issuer ? issuer : party;
    assert_int_equal(gnutls_x509_crt_sign2(cert, signer->cert, signer->key, GNUTLS_DIG_SHA256, 0),
                     0);
}

static void free_party(struct party *party)
{
    gnutls_x509_crt_deinit(party->cert);
    gnutls_x509_privkey_deinit(party->key);
}

static int setup(void **state)
{
    struct fixture *f = xnew(struct fixture);
    const struct cert_names names = {.items = {"localhost"}, .n = 1};
    struct error err = ERROR_INIT;
    gnutls_datum_t pem;
    cert_bundle_init(&f->server);
    assert_int_equal(cert_bundle_make(&f->server, &names, (int64_t)time(NULL) * NSEC_PER_SEC, &err),
                     0);
    make_party(&f->authority, NULL, NULL);
    make_party(&f->other_authority, NULL, NULL);
    buf_init(&f->pem, 10000);
    assert_int_equal(gnutls_x509_crt_export2(f->authority.cert, GNUTLS_X509_FMT_PEM, &pem), 0);
    buf_add(&f->pem, pem.data, pem.size);
    gnutls_free(pem.data);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    cert_bundle_clear(&f->server);
    free_party(&f->authority);
    free_party(&f->other_authority);
    buf_clear(&f->pem);
    free(f);
    return 0;
}

/* ---- handshakes ---------------------------------------------------------------------------- */

/* One side of it, as far as it goes. */
static bool go_on(gnutls_session_t session, int *rc)
{
    if (*rc == GNUTLS_E_AGAIN)
        *rc = gnutls_handshake(session);
    return *rc == GNUTLS_E_AGAIN;
}

static gnutls_session_t open_session(unsigned role, int fd)
{
    gnutls_session_t session;
    assert_int_equal(gnutls_init(&session, role | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL), 0);
    assert_int_equal(gnutls_priority_set_direct(session, tls_priorities, NULL), 0);
    gnutls_transport_set_int(session, fd);
    return session;
}

/* Whether the server lets a client with this certificate (NULL: with none) in. */
static bool shakes_hands(struct tls_credentials *credentials, const struct party *client)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    gnutls_certificate_credentials_t shown;
    assert_int_equal(gnutls_certificate_allocate_credentials(&shown), 0);
    if (client) {
        gnutls_x509_crt_t chain[] = {client->cert};
        assert_int_equal(gnutls_certificate_set_x509_key(shown, chain, 1, client->key), 0);
        /* Shown also to a server that names other authorities. */
        gnutls_certificate_set_flags(shown, GNUTLS_CERTIFICATE_SKIP_KEY_CERT_MATCH);
    }
    struct tls_session own = {credentials};
    gnutls_session_t a = open_session(GNUTLS_SERVER, fds[0]);
    gnutls_session_t b = open_session(GNUTLS_CLIENT | GNUTLS_FORCE_CLIENT_CERT, fds[1]);
    gnutls_session_set_ptr(a, &own);
    assert_true(tls_credentials_use(credentials, a));
    assert_int_equal(gnutls_credentials_set(b, GNUTLS_CRD_CERTIFICATE, shown), 0);
    int server = GNUTLS_E_AGAIN, mine = GNUTLS_E_AGAIN;
    for (unsigned i = 0; i < 100 && server == GNUTLS_E_AGAIN; i++) {
        (void)go_on(b, &mine);
        (void)go_on(a, &server);
    }
    gnutls_deinit(a);
    gnutls_deinit(b);
    gnutls_certificate_free_credentials(shown);
    (void)close(fds[0]);
    (void)close(fds[1]);
    return server == 0;
}

static struct tls_credentials *ask_for(const struct fixture *f, const char *const *names, size_t n)
{
    struct tls_credentials *credentials;
    struct error err = ERROR_INIT;
    assert_int_equal(
        tls_credentials_new(buf_str(&f->server.cert), buf_str(&f->server.key), &credentials, &err),
        0);
    assert_int_equal(tls_credentials_require(credentials, buf_str(&f->pem), names, n, &err), 0);
    return credentials;
}

static bool lets_in(struct tls_credentials *credentials, const struct party *issuer,
                    const struct wish *wish)
{
    struct party client;
    make_party(&client, issuer, wish);
    bool in = shakes_hands(credentials, &client);
    free_party(&client);
    return in;
}

#define CLIENT_USE GNUTLS_KP_TLS_WWW_CLIENT

static void test_any_certificate_of_the_authority(void **state)
{
    const struct fixture *f = *state;
    struct tls_credentials *credentials = ask_for(f, NULL, 0);
    const struct wish good = {.common_name = "x", .use = CLIENT_USE, .ends_s = 60};
    struct wish wish = good;
    assert_true(lets_in(credentials, &f->authority, &wish));
    assert_false(shakes_hands(credentials, NULL));
    assert_false(lets_in(credentials, &f->other_authority, &wish));
    assert_false(lets_in(credentials, NULL, &wish)); /* signed by itself */
    wish.use = GNUTLS_KP_TLS_WWW_SERVER;
    assert_false(lets_in(credentials, &f->authority, &wish));
    wish = good;
    wish.ends_s = -60;
    assert_false(lets_in(credentials, &f->authority, &wish));
    tls_credentials_unref(credentials);
}

static void test_names(void **state)
{
    const struct fixture *f = *state;
    static const char *const names[] = {"kube-apiserver", "api.test", "spiffe://a/b", "a@b.test"};
    struct tls_credentials *credentials = ask_for(f, names, ARRAY_SIZE(names));
    char longer[700];
    memset(longer, 'a', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    const struct {
        struct wish wish;
        bool in;
    } rows[] = {
        {{.common_name = "kube-apiserver"}, true},
        {{.common_name = "kube-apiserver2"}, false},
        {{.common_name = "kube-apiserve"}, false},
        {{.common_name = "Kube-Apiserver"}, false},
        {{.common_name = "x", .dns = "api.test"}, true},
        {{.dns = "api.test"}, true},
        {{.common_name = "x", .dns = "other.test"}, false},
        {{.common_name = "x", .dns = "kube-apiserver"}, true},
        {{.common_name = "x", .dns = "other.test", .uri = "spiffe://a/b"}, true},
        {{.common_name = "x", .mail = "a@b.test"}, true},
        {{.common_name = "x", .dns = longer, .mail = "a@b.test"}, true},
        {{.common_name = "x", .dns = longer}, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct wish wish = rows[i].wish;
        wish.use = CLIENT_USE;
        wish.ends_s = 60;
        if (lets_in(credentials, &f->authority, &wish) != rows[i].in)
            fail_msg("row %zu", i);
    }
    const struct wish right = {.common_name = names[0], .use = CLIENT_USE, .ends_s = 60};
    assert_false(lets_in(credentials, &f->other_authority, &right));
    tls_credentials_unref(credentials);
}

static void test_clients_that_nobody_asks(void **state)
{
    const struct fixture *f = *state;
    struct tls_credentials *credentials;
    struct error err = ERROR_INIT;
    assert_int_equal(
        tls_credentials_new(buf_str(&f->server.cert), buf_str(&f->server.key), &credentials, &err),
        0);
    assert_true(shakes_hands(credentials, NULL));
    assert_int_equal(tls_credentials_require(credentials, STR("none"), NULL, 0, &err), -1);
    assert_int_equal(err.cls, ERROR_INVALID);
    tls_credentials_unref(credentials);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_certificate_of_the_authority),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_clients_that_nobody_asks),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
