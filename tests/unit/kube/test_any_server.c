/*
 * The libcurl transport to servers that are none of Kubernetes': HTTP/1.1, plain or over TLS, one
 * answer a connection, and no request that nobody asked for.
 */
#include "testing.h"

#include "base/log.h"
#include "certs/authority.h"
#include "kube/transport.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <sys/socket.h>

#define CALLS_MOST 64

struct bench {
    struct loop *loop;
    struct kube_transport *transport;
    int listener;
    pid_t server;     /* a process that answers, 0: none */
    SSL_CTX *tls;     /* owned; NULL: it talks plainly */
    const char *user; /* "name:password@", NULL: none */
    char file[40];    /* with the authority of its certificate; "" for none */
    unsigned done;
    struct kube_result results[CALLS_MOST]; /* without bodies */
    char bodies[CALLS_MOST][200];
};

/* ---- the server ------------------------------------------------------------------------------ */

/* One connection, over TLS or not. */
struct peer {
    int fd;
    SSL *tls; /* NULL: plain */
};

static ssize_t receive(const struct peer *peer, char *to, size_t room)
{
    return peer->tls ? SSL_read(peer->tls, to, (int)room) : read(peer->fd, to, room);
}

static void send_all(const struct peer *peer, const char *text, int size)
{
    ssize_t sent =
        peer->tls ? SSL_write(peer->tls, text, size) : write(peer->fd, text, (size_t)size);
    if (sent != size)
        _exit(1);
}

/* What stands before the length of the answer. */
static const char *head_of(const char *request)
{
    if (strstr(request, "/broken"))
        return "503 Out Of Order\r\nContent-Type: text/plain";
    if (strstr(request, "/moved"))
        return "302 Found\r\nLocation: /hook/predicate";
    if (strstr(request, "/json"))
        return "200 OK\r\nContent-Type: application/json";
    return "200 OK\r\nContent-Type: text/plain";
}

/* Answers with the first line of the request, its body, and the request's number. */
static void answer_one(const struct peer *peer, unsigned number)
{
    char request[4096], answer[8192], body[4000];
    size_t n = 0;
    const char *head_end = NULL;
    while (n < sizeof(request) - 1 && (!head_end || !strchr(head_end, '}'))) {
        ssize_t got = receive(peer, request + n, sizeof(request) - 1 - n);
        if (got <= 0)
            return;
        n += (size_t)got;
        request[n] = '\0';
        head_end = strstr(request, "\r\n\r\n");
    }
    const char *user = strstr(request, "Authorization: ");
    int size =
        snprintf(body, sizeof(body), "%u %.*s %.100s%.*s", number, (int)strcspn(request, "\r\n"),
                 request, head_end + 4, user ? (int)strcspn(user, "\r\n") : 0, user ? user : "");
    size = snprintf(answer, sizeof(answer),
                    "HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
                    head_of(request), size, body);
    send_all(peer, answer, size);
}

static void serve_one(SSL_CTX *tls, int fd, unsigned number)
{
    struct peer peer = {fd, tls ? SSL_new(tls) : NULL};
    if (peer.tls)
        (void)SSL_set_fd(peer.tls, fd);
    if (!peer.tls || SSL_accept(peer.tls) == 1)
        answer_one(&peer, number);
    if (peer.tls)
        (void)SSL_shutdown(peer.tls);
    SSL_free(peer.tls);
}

static void run_server(int listener, SSL_CTX *tls)
{
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignored, NULL);
    for (unsigned number = 1;; number++) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            _exit(1);
        serve_one(tls, fd, number);
        close(fd);
    }
}

static char *url_of(struct bench *bench)
{
    struct sockaddr_in address;
    socklen_t size = sizeof(address);
    assert_int_equal(getsockname(bench->listener, (struct sockaddr *)&address, &size), 0);
    return xasprintf("%s://%s127.0.0.1:%d/hook/", bench->tls ? "https" : "http",
                     bench->user ? bench->user : "", ntohs(address.sin_port));
}

static int set_up(void **state)
{
    struct bench *bench = xnew(struct bench);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bench->loop = loop_new(1);
    bench->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(bench->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(bench->listener, 64), 0);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    kube_transport_free(bench->transport);
    if (bench->server) {
        kill(bench->server, SIGKILL);
        waitpid(bench->server, NULL, 0);
    }
    close(bench->listener);
    loop_free(bench->loop);
    SSL_CTX_free(bench->tls);
    (void)unsetenv("SSL_CERT_FILE");
    if (bench->file[0])
        (void)unlink(bench->file);
    free(bench);
    return 0;
}

static void connect_to(struct bench *bench, bool answers)
{
    struct error error = ERROR_INIT;
    cleanup_free char *url = url_of(bench);
    if (answers && (bench->server = fork()) == 0)
        run_server(bench->listener, bench->tls);
    bench->transport = kube_transport_curl_for_url(bench->loop, url, "test/1", &error);
    assert_non_null(bench->transport);
}

/* ---- TLS ------------------------------------------------------------------------------------- */

static void write_authority(struct bench *bench, const struct cert_bundle *bundle)
{
    (void)snprintf(bench->file, sizeof(bench->file), "/tmp/pumice-any-server-XXXXXX");
    int fd = mkstemp(bench->file);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bundle->ca_cert.p, bundle->ca_cert.n), bundle->ca_cert.n);
    close(fd);
}

/* The server has a certificate for its address from here on. */
static void use_tls(struct bench *bench)
{
    const struct cert_names names = {.items = {"127.0.0.1"}, .n = 1, .needed = 1};
    struct cert_bundle bundle;
    struct error error = ERROR_INIT;
    cert_bundle_init(&bundle);
    assert_int_equal(cert_bundle_make(&bundle, &names, loop_wall(bench->loop), &error), 0);
    BIO *cert_text = BIO_new_mem_buf(bundle.cert.p, (int)bundle.cert.n);
    BIO *key_text = BIO_new_mem_buf(bundle.key.p, (int)bundle.key.n);
    X509 *cert = PEM_read_bio_X509(cert_text, NULL, NULL, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(key_text, NULL, NULL, NULL);
    bench->tls = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate(bench->tls, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(bench->tls, key), 1);
    write_authority(bench, &bundle);
    EVP_PKEY_free(key);
    X509_free(cert);
    BIO_free(key_text);
    BIO_free(cert_text);
    cert_bundle_clear(&bundle);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void on_done(const struct kube_result *result, void *arg)
{
    struct bench *bench = arg;
    (void)snprintf(bench->bodies[bench->done], sizeof(bench->bodies[0]), "%.*s",
                   STR_ARG(result->body));
    bench->results[bench->done++] = *result;
}

static struct kube_call *post(struct bench *bench, const char *path, size_t answer_max)
{
    return kube_start(bench->transport, &(struct kube_call_spec){.method = KUBE_POST,
                                                                 .path = str_of(path),
                                                                 .body = STR("{}"),
                                                                 .timeout_ns = NSEC_PER_SEC,
                                                                 .answer_max = answer_max,
                                                                 .on_done = on_done,
                                                                 .arg = bench});
}

static void wait_for(struct bench *bench, unsigned done)
{
    int64_t end = loop_now_fresh(bench->loop) + 20 * NSEC_PER_SEC;
    while (bench->done < done && loop_now_fresh(bench->loop) < end)
        (void)loop_turn(bench->loop, 100 * NSEC_PER_MSEC);
    assert_int_equal(bench->done, done);
}

static void speaks_plain_http(void **state)
{
    struct bench *bench = *state;
    connect_to(bench, true);
    (void)post(bench, "/predicate", 0);
    wait_for(bench, 1);
    assert_int_equal(bench->results[0].outcome, KUBE_ANSWERED);
    assert_int_equal(bench->results[0].status, 200);
    assert_string_equal(bench->bodies[0], "1 POST /hook/predicate HTTP/1.1 {}");
    (void)post(bench, "/broken", 0);
    wait_for(bench, 2);
    assert_int_equal(bench->results[1].status, 503);
    assert_string_equal(bench->bodies[1], "2 POST /hook/broken HTTP/1.1 {}");
}

/* The authorities are the system's or those that the environment names. */
static void speaks_tls_with_whom_it_trusts(void **state)
{
    struct bench *bench = *state;
    use_tls(bench);
    connect_to(bench, true);
    (void)post(bench, "/predicate", 0);
    wait_for(bench, 1);
    assert_int_equal(bench->results[0].outcome, KUBE_NOT_SENT);
    assert_non_null(strstr(bench->results[0].error.text, "is not trusted"));
    assert_non_null(strstr(bench->results[0].error.text, "the CA is that of the system"));
    kube_transport_free(bench->transport);
    assert_int_equal(setenv("SSL_CERT_FILE", bench->file, 1), 0);
    connect_to(bench, false);
    (void)post(bench, "/predicate", 0);
    wait_for(bench, 2);
    assert_int_equal(bench->results[1].status, 200);
    assert_non_null(strstr(bench->bodies[1], "POST /hook/predicate HTTP/1.1 {}"));
}

static void authorities_must_be_there(void **state)
{
    struct bench *bench = *state;
    struct error error = ERROR_INIT;
    assert_int_equal(setenv("SSL_CERT_FILE", "/nowhere/ca.pem", 1), 0);
    assert_null(kube_transport_curl_for_url(bench->loop, "https://x", "test/1", &error));
    assert_non_null(strstr(error.text, "/nowhere/ca.pem"));
}

static void a_password_is_used_and_not_shown(void **state)
{
    struct bench *bench = *state;
    bench->user = "me:secret@";
    use_tls(bench);
    connect_to(bench, true);
    (void)post(bench, "/predicate", 0);
    wait_for(bench, 1);
    assert_non_null(strstr(bench->results[0].error.text, "is not trusted"));
    assert_null(strstr(bench->results[0].error.text, "secret"));
    kube_transport_free(bench->transport);
    assert_int_equal(setenv("SSL_CERT_FILE", bench->file, 1), 0);
    connect_to(bench, false);
    (void)post(bench, "/predicate", 0);
    wait_for(bench, 2);
    assert_non_null(strstr(bench->bodies[1], "{}Authorization: Basic bWU6c2VjcmV0"));
}

/* Its caller says that this is no answer, and does not take it for silence. */
static void what_is_no_json_is_an_answer(void **state)
{
    struct bench *bench = *state;
    connect_to(bench, true);
    (void)post(bench, "/json", 0);
    wait_for(bench, 1);
    assert_int_equal(bench->results[0].outcome, KUBE_ANSWERED);
    assert_string_equal(bench->bodies[0], "1 POST /hook/json HTTP/1.1 {}");
}

static void redirections_are_not_followed(void **state)
{
    struct bench *bench = *state;
    connect_to(bench, true);
    (void)post(bench, "/moved", 0);
    wait_for(bench, 1);
    assert_int_equal(bench->results[0].status, 302);
    assert_int_equal(bench->results[0].error.cls, ERROR_INVALID);
    assert_string_equal(bench->bodies[0], "1 POST /hook/moved HTTP/1.1 {}");
}

static void many_calls_at_once(void **state)
{
    struct bench *bench = *state;
    connect_to(bench, true);
    for (unsigned i = 0; i < 40; i++)
        (void)post(bench, "/predicate", 0);
    wait_for(bench, 40);
    for (unsigned i = 0; i < 40; i++)
        assert_int_equal(bench->results[i].status, 200);
}

static void large_answers_are_refused(void **state)
{
    struct bench *bench = *state;
    connect_to(bench, true);
    (void)post(bench, "/predicate", 10);
    wait_for(bench, 1);
    assert_int_equal(bench->results[0].error.cls, ERROR_LIMIT);
}

static void one_that_hangs_runs_out_of_time(void **state)
{
    struct bench *bench = *state;
    connect_to(bench, false);
    (void)post(bench, "/predicate", 0);
    wait_for(bench, 1);
    assert_string_equal(bench->results[0].error.text, "POST /predicate: no answer within 1 s");
    (void)post(bench, "/predicate", 0); /* goes with the transport */
    (void)loop_turn(bench->loop, 10 * NSEC_PER_MSEC);
}

static void one_that_is_not_there_fails_at_once(void **state)
{
    struct bench *bench = *state;
    struct error error = ERROR_INIT;
    cleanup_free char *url = url_of(bench);
    close(bench->listener);
    bench->transport = kube_transport_curl_for_url(bench->loop, url, "test/1", &error);
    (void)post(bench, "/predicate", 0);
    wait_for(bench, 1);
    assert_int_equal(bench->results[0].outcome, KUBE_NOT_SENT);
    assert_non_null(strstr(bench->results[0].error.text, "Failed to connect"));
    bench->listener = dup(0);
}

static void other_urls_are_refused(void **state)
{
    static const char *const urls[] = {"",          "ftp://x",    "x:80",      "http://",
                                       "http:///x", "https://:1", "http://a b"};
    struct bench *bench = *state;
    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        struct error error = ERROR_INIT;
        assert_null(kube_transport_curl_for_url(bench->loop, urls[i], "test/1", &error));
        assert_int_equal(error.cls, ERROR_INVALID);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(speaks_plain_http),
        TEST(speaks_tls_with_whom_it_trusts),
        TEST(authorities_must_be_there),
        TEST(a_password_is_used_and_not_shown),
        TEST(what_is_no_json_is_an_answer),
        TEST(redirections_are_not_followed),
        TEST(many_calls_at_once),
        TEST(large_answers_are_refused),
        TEST(one_that_hangs_runs_out_of_time),
        TEST(one_that_is_not_there_fails_at_once),
        TEST(other_urls_are_refused),
    };
    log_set_fd(-1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
