/*
 * The libcurl transport after the process stood still: what was not sent is not sent any more, and
 * a request that was half sent is not completed. The server is a process that tells of each request
 * whose head it has read.
 */
#include "testing.h"

#include "base/ensure.h"
#include "base/limits.h"
#include "base/log.h"
#include "certs/authority.h"
#include "kube/transport.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <sys/socket.h>

#define GAP_MS INT64_C(1200)
#define SERVER_TIME 60 /* s */

struct bench {
    struct loop *loop;
    struct kube_config config;
    struct kube_transport *transport;
    struct loop_deferred stall;
    struct kube_call *call; /* the last that was started */
    pid_t server;
    int told; /* of the server: a line each request */
    char lines[4096];
    unsigned done;
    struct kube_result result; /* of the last, without its body */
};

/* ---- the server ------------------------------------------------------------------------------ */

/* Tells of the request and answers it; one to /slow is never read to its end. */
static bool serve_one(SSL *tls, int tell)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                 "Content-Length: 2\r\n\r\n{}";
    char head[8192];
    size_t n = 0;
    char *end = NULL;
    while (!end && n < sizeof(head) - 1) {
        int got = SSL_read(tls, head + n, (int)(sizeof(head) - 1 - n));
        if (got <= 0)
            return false;
        n += (size_t)got;
        head[n] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    dprintf(tell, "%.*s\n", (int)strcspn(head, "\r\n"), head);
    if (strstr(head, "/slow"))
        (void)pause();
    return SSL_write(tls, answer, sizeof(answer) - 1) > 0;
}

static void serve_all(SSL_CTX *context, int fd, int tell)
{
    SSL *tls = SSL_new(context);
    (void)SSL_set_fd(tls, fd);
    if (SSL_accept(tls) == 1)
        while (serve_one(tls, tell))
            ;
    _exit(0);
}

static SSL_CTX *make_context(int64_t now_ns)
{
    const struct cert_names names = {.items = {"127.0.0.1"}, .n = 1, .needed = 1};
    struct cert_bundle bundle;
    struct error error = ERROR_INIT;
    cert_bundle_init(&bundle);
    assert_int_equal(cert_bundle_make(&bundle, &names, now_ns, &error), 0);
    BIO *cert_text = BIO_new_mem_buf(bundle.cert.p, (int)bundle.cert.n);
    BIO *key_text = BIO_new_mem_buf(bundle.key.p, (int)bundle.key.n);
    X509 *cert = PEM_read_bio_X509(cert_text, NULL, NULL, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(key_text, NULL, NULL, NULL);
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate(context, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(context, key), 1);
    EVP_PKEY_free(key);
    X509_free(cert);
    BIO_free(key_text);
    BIO_free(cert_text);
    cert_bundle_clear(&bundle);
    return context;
}

static void run_server(int listener, int tell, int64_t now_ns)
{
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignored, NULL);
    (void)sigaction(SIGCHLD, &ignored, NULL);
    SSL_CTX *context = make_context(now_ns);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            _exit(1);
        if (fork() == 0)
            serve_all(context, fd, tell);
        close(fd);
    }
}

static void start_server(struct bench *bench)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    const int small = 4096;
    int pipes[2], listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    ENSURE(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 64), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    bench->config.server = xasprintf("https://127.0.0.1:%d", ntohs(address.sin_port));
    if ((bench->server = fork()) == 0) {
        (void)setpgid(0, 0);
        (void)alarm(SERVER_TIME); /* should the test not live to end it */
        run_server(listener, pipes[1], loop_wall(bench->loop));
    }
    (void)setpgid(bench->server, bench->server);
    close(listener);
    close(pipes[1]);
    bench->told = pipes[0];
    assert_int_equal(fcntl(bench->told, F_SETFL, O_NONBLOCK), 0);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void stand_still(void *arg)
{
    (void)arg;
    (void)usleep((useconds_t)(GAP_MS * 1000));
}

static int set_up(void **state)
{
    struct bench *bench = xnew(struct bench);
    struct error error = ERROR_INIT;
    bench->loop = loop_new(1);
    bench->config.origin = xstrdup("the test");
    bench->config.insecure = true;
    loop_deferred_init(&bench->stall, stand_still, NULL);
    start_server(bench);
    bench->transport = kube_transport_curl_new(bench->loop, &bench->config, "test/1", &error);
    assert_non_null(bench->transport);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    kube_transport_free(bench->transport);
    (void)kill(-bench->server, SIGKILL);
    (void)waitpid(bench->server, NULL, 0);
    close(bench->told);
    kube_config_clear(&bench->config);
    loop_free(bench->loop);
    free(bench);
    return 0;
}

static void on_done(const struct kube_result *result, void *arg)
{
    struct bench *bench = arg;
    bench->done++;
    bench->result = *result;
    bench->result.body = STR_NULL;
}

static void start(struct bench *bench, enum kube_method method, const char *path, struct str body)
{
    bench->call =
        kube_start(bench->transport, &(struct kube_call_spec){.method = method,
                                                              .path = str_of(path),
                                                              .body = body,
                                                              .timeout_ns = 20 * NSEC_PER_SEC,
                                                              .on_done = on_done,
                                                              .arg = bench});
}

static void run_for_ms(struct bench *bench, int64_t ms)
{
    int64_t end = loop_now_fresh(bench->loop) + ms * NSEC_PER_MSEC;
    while (loop_now_fresh(bench->loop) < end)
        (void)loop_turn(bench->loop, 10 * NSEC_PER_MSEC);
}

/* Runs until so many calls have ended, 10 s at most. */
static void wait_for(struct bench *bench, unsigned done)
{
    int64_t end = loop_now_fresh(bench->loop) + 10 * NSEC_PER_SEC;
    while (bench->done < done && loop_now_fresh(bench->loop) < end)
        (void)loop_turn(bench->loop, 100 * NSEC_PER_MSEC);
    assert_int_equal(bench->done, done);
}

/* How many requests of those words the server has heard of, when all has come that will come. */
static unsigned heard(struct bench *bench, const char *words)
{
    unsigned count = 0;
    run_for_ms(bench, 200);
    size_t n = strlen(bench->lines);
    ssize_t got = read(bench->told, bench->lines + n, sizeof(bench->lines) - 1 - n);
    bench->lines[n + (got > 0 ? (size_t)got : 0)] = '\0';
    for (const char *at = bench->lines; (at = strstr(at, words)) != NULL; at++)
        count++;
    return count;
}

/* A connection is open and idle. */
static void open_connection(struct bench *bench)
{
    start(bench, KUBE_GET, "/first", STR_NULL);
    wait_for(bench, 1);
    assert_int_equal(bench->result.status, 200);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void what_was_not_sent_is_not_sent_any_more(void **state)
{
    struct bench *bench = *state;
    open_connection(bench);
    /* It waits in the lane, then in libcurl. */
    for (unsigned after = 0; after <= 1; after++) {
        if (!after)
            loop_defer(bench->loop, &bench->stall);
        start(bench, KUBE_POST, "/late", STR("{}"));
        if (after)
            loop_defer(bench->loop, &bench->stall);
        wait_for(bench, 2 + after);
        assert_int_equal(bench->result.outcome, KUBE_NOT_SENT);
        assert_int_equal(bench->result.error.cls, ERROR_RETRY);
        assert_int_equal(heard(bench, "POST /late"), 0);
    }
    start(bench, KUBE_POST, "/later", STR("{}"));
    wait_for(bench, 4);
    assert_int_equal(bench->result.status, 200);
    assert_int_equal(heard(bench, "POST /later"), 1);
}

static void cancel_and_stand_still(void *arg)
{
    struct bench *bench = arg;
    kube_cancel(bench->transport, bench->call);
    stand_still(NULL);
}

static void what_was_cancelled_is_not_sent_either(void **state)
{
    struct bench *bench = *state;
    open_connection(bench);
    (void)heard(bench, "POST");
    loop_deferred_init(&bench->stall, cancel_and_stand_still, bench);
    start(bench, KUBE_POST, "/cancelled", STR("{}"));
    loop_defer(bench->loop, &bench->stall); /* libcurl has it by then */
    assert_int_equal(heard(bench, "POST /cancelled"), 0);
    assert_int_equal(bench->done, 1);
}

static void reading_goes_on(void **state)
{
    struct bench *bench = *state;
    open_connection(bench);
    start(bench, KUBE_GET, "/second", STR_NULL);
    loop_defer(bench->loop, &bench->stall);
    wait_for(bench, 2);
    assert_int_equal(bench->result.status, 200);
}

/* The server takes no more; when it would, it gets an end of the connection. */
static void what_was_half_sent_is_not_completed(void **state)
{
    struct bench *bench = *state;
    cleanup_free char *body = xcalloc(1, LIMIT_REQUEST_BODY);
    memset(body, 'x', LIMIT_REQUEST_BODY);
    open_connection(bench);
    start(bench, KUBE_POST, "/slow", str_make(body, LIMIT_REQUEST_BODY));
    assert_int_equal(heard(bench, "POST /slow"), 1);
    assert_int_equal(bench->done, 1);
    loop_defer(bench->loop, &bench->stall);
    const int64_t begin = loop_now_fresh(bench->loop);
    wait_for(bench, 2);
    assert_int_equal(bench->result.outcome, KUBE_IN_DOUBT);
    assert_true(loop_now_fresh(bench->loop) - begin < 5 * NSEC_PER_SEC);
    start(bench, KUBE_POST, "/later", STR("{}"));
    wait_for(bench, 3);
    assert_int_equal(bench->result.status, 200);
}

/* A request on its way is no matter of gaps: it was sent in time. */
static void what_was_sent_is_waited_for(void **state)
{
    struct bench *bench = *state;
    open_connection(bench);
    start(bench, KUBE_POST, "/slow", STR("{}"));
    assert_int_equal(heard(bench, "POST /slow"), 1);
    loop_defer(bench->loop, &bench->stall);
    run_for_ms(bench, 2 * GAP_MS);
    assert_int_equal(bench->done, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_not_sent_is_not_sent_any_more),
        TEST(what_was_cancelled_is_not_sent_either),
        TEST(reading_goes_on),
        TEST(what_was_half_sent_is_not_completed),
        TEST(what_was_sent_is_waited_for),
    };
    log_setup("test", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
