/*
 * The HTTPS server over real sockets: what it refuses, its limits at and one past, deadlines,
 * waiting, reload of the certificate. Run under TSan, it also shows that threads share well.
 */
#include "testing.h"

#include "certs/authority.h"
#include "tls_client.h"
#include "webhook/http/http_server.h"
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

struct fixture {
    struct http_config config;
    struct http_server *server;
    unsigned port;
    atomic_int waiting;    /* "/wait" answers HTTP_WAIT while this is set */
    atomic_int last_tries; /* "/wait" was told that it is the last try */
    atomic_int calls;
};

static bool is_known(struct str path, void *arg)
{
    (void)arg;
    return str_is(path, "/echo") || str_is(path, "/wait") || str_is(path, "/until");
}

/* "/echo" answers with the size of the body, "/until" with the milliseconds it may take. */
static enum http_verdict handle(const struct http_request *request, struct http_reply *reply,
                                void *arg)
{
    struct fixture *fixture = arg;
    atomic_fetch_add(&fixture->calls, 1);
    if (str_is(request->path, "/wait") && atomic_load(&fixture->waiting)) {
        if (!request->last_try)
            return HTTP_WAIT;
        atomic_fetch_add(&fixture->last_tries, 1);
    }
    if (str_is(request->path, "/until"))
        buf_printf(&reply->body, "%lld",
                   (long long)((request->until_ns - request->began_ns) / NSEC_PER_MSEC));
    else
        buf_printf(&reply->body, "%zu", request->body.n);
    assert_int_equal(request->body.p[request->body.n], 0);
    return HTTP_REPLY;
}

static struct tls_credentials *make_credentials(const char *name)
{
    const struct cert_names names = {.items = {name}, .n = 1};
    struct cert_bundle bundle;
    struct error err = ERROR_INIT;
    struct tls_credentials *credentials = NULL;
    cert_bundle_init(&bundle);
    assert_int_equal(cert_bundle_make(&bundle, &names, (int64_t)time(NULL) * NSEC_PER_SEC, &err),
                     0);
    assert_int_equal(
        tls_credentials_new(buf_str(&bundle.cert), buf_str(&bundle.key), &credentials, &err), 0);
    cert_bundle_clear(&bundle);
    return credentials;
}

static void start(struct fixture *fixture)
{
    struct error err = ERROR_INIT;
    struct tls_credentials *credentials = make_credentials("first.test");
    fixture->config.handler = handle;
    fixture->config.known = is_known;
    fixture->config.arg = fixture;
    assert_int_equal(http_server_new(&fixture->config, &fixture->server, &err), 0);
    fixture->port = http_server_port(fixture->server);
    assert_int_equal(http_server_start(fixture->server, credentials, &err), 0);
    tls_credentials_unref(credentials);
}

static int setup(void **state)
{
    struct fixture *fixture = xnew(struct fixture);
    fixture->config = (struct http_config){
        .address = "127.0.0.1",
        .threads = 2,
        .body_max = 1000,
        .bodies_total = 100000,
        .header_max = 8192,
        .wait_ns = 300 * NSEC_PER_MSEC,
        .limits = {.connections = 64,
                   .suspended = 2,
                   .idle_ns = 60 * NSEC_PER_SEC,
                   .handshake_ns = 5 * NSEC_PER_SEC,
                   .request_ns = 5 * NSEC_PER_SEC},
    };
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    http_server_free(fixture->server);
    free(fixture);
    return 0;
}

static void open_client(struct client *client, const struct fixture *fixture)
{
    assert_true(client_open(client, fixture->port));
}

/* The status of the answer to one raw request on a connection of its own. */
static int status_of(const struct fixture *fixture, const char *request)
{
    struct client client;
    struct buf answer = BUF_INIT(65536);
    open_client(&client, fixture);
    assert_true(client_send(&client, str_of(request)));
    int status = client_answer(&client, &answer) ? answer_status(&answer) : 0;
    client_close(&client);
    buf_clear(&answer);
    return status;
}

/* ---- headers ------------------------------------------------------------------------------- */

#define JSON "Host: x\r\nContent-Type: application/json\r\n"

static void test_refuses_by_header(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    assert_int_equal(status_of(fixture, "POST /no HTTP/1.1\r\n" JSON "Content-Length: 1\r\n\r\nx"),
                     404);
    assert_int_equal(status_of(fixture, "GET /echo HTTP/1.1\r\n" JSON "\r\n"), 405);
    assert_int_equal(
        status_of(fixture, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"), 415);
    assert_int_equal(status_of(fixture, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: "
                                        "application/jsonx\r\nContent-Length: 1\r\n\r\nx"),
                     415);
    assert_int_equal(status_of(fixture, "POST /echo HTTP/1.1\r\n" JSON "\r\n"), 411);
    assert_int_equal(status_of(fixture, "POST /echo HTTP/1.1\r\n" JSON
                                        "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"),
                     411);
    assert_int_equal(status_of(fixture, "POST /echo HTTP/1.1\r\n" JSON
                                        "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx"),
                     400);
    assert_int_equal(status_of(fixture, "POST /echo HTTP/1.1\r\n" JSON
                                        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
                     400);
    /* Newer versions of libmicrohttpd refuse one of these before we see it. */
    assert_in_range(http_server_stats(fixture->server).refused, 7, 8);
    assert_int_equal(atomic_load(&fixture->calls), 0);
}

static void test_accepts_parameters_of_the_type(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    assert_int_equal(status_of(fixture,
                               "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: Application/JSON; "
                               "charset=utf-8\r\nContent-Length: 1\r\n\r\nx"),
                     200);
}

/* The status of a request whose header has `size` bytes. */
static int status_of_header(const struct fixture *fixture, size_t size)
{
    struct buf request = BUF_INIT(65536);
    buf_add_cstr(&request, "POST /echo HTTP/1.1\r\n" JSON "Content-Length: 1\r\nX: ");
    while (request.n < size - 4)
        buf_add_char(&request, 'x');
    buf_add_cstr(&request, "\r\n\r\nx");
    int status = status_of(fixture, request.p);
    buf_clear(&request);
    return status;
}

/* The limit is memory of libmicrohttpd, which needs some of it for other things than the text. */
static void test_header_too_large(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    assert_int_equal(status_of_header(fixture, 8192 - 2048), 200);
    const int status = status_of_header(fixture, 8192 + 1);
    assert_true(status == 431 || status == 0);
    assert_int_equal(atomic_load(&fixture->calls), 1);
}

/* ---- bodies -------------------------------------------------------------------------------- */

static void test_body_limit(void **state)
{
    struct fixture *fixture = *state;
    struct client client;
    struct buf answer = BUF_INIT(65536);
    start(fixture);
    open_client(&client, fixture);
    assert_int_equal(client_post(&client, "/echo", 0, &answer), 200);
    assert_int_equal(client_post(&client, "/echo", 1000, &answer), 200);
    assert_true(str_ends(buf_str(&answer), STR("\r\n\r\n1000")));
    assert_int_equal(client_post(&client, "/echo", 1001, &answer), 413);
    client_close(&client);
    assert_int_equal(http_server_stats(fixture->server).requests, 2);
    buf_clear(&answer);
}

/* A request with a body of `length` bytes, of which `size` are sent. */
static void send_part(struct client *client, const char *path, size_t length, size_t size)
{
    struct buf part = BUF_INIT((size_t)1 << 20);
    buf_printf(&part, "POST %s HTTP/1.1\r\n" JSON "Content-Length: %zu\r\n\r\n", path, length);
    for (size_t i = 0; i < size; i++)
        buf_add_char(&part, 'a');
    assert_true(client_send(client, buf_str(&part)));
    buf_clear(&part);
}

static void wait_for_bodies(const struct fixture *fixture, size_t size)
{
    for (int i = 0; i < 500 && http_server_stats(fixture->server).bodies != size; i++)
        (void)usleep(10000);
    assert_int_equal(http_server_stats(fixture->server).bodies, size);
}

static void wait_for_suspended(const struct fixture *fixture, unsigned count)
{
    for (int i = 0; i < 500; i++) {
        if (http_server_stats(fixture->server).connections.suspended == count)
            return;
        (void)usleep(5000);
    }
    fail();
}

static void test_budget_of_all_bodies(void **state)
{
    struct fixture *fixture = *state;
    struct client first, second;
    struct buf answer = BUF_INIT(65536);
    fixture->config.bodies_total = 1400;
    start(fixture);
    open_client(&first, fixture);
    open_client(&second, fixture);
    send_part(&first, "/echo", 700, 600);
    wait_for_bodies(fixture, 700);
    assert_int_equal(client_post(&second, "/echo", 700, &answer), 200); /* at the budget */
    assert_int_equal(client_post(&second, "/echo", 701, &answer), 429); /* one past */
    assert_true(str_find(buf_str(&answer), STR("Retry-After: 1\r\n")) > 0);
    client_close(&first);
    wait_for_bodies(fixture, 0);
    client_close(&second);
    open_client(&second, fixture);
    assert_int_equal(client_post(&second, "/echo", 701, &answer), 200);
    client_close(&second);
    buf_clear(&answer);
}

/* Seven eighths are for all, the rest for bodies of up to 64 KiB. */
static void test_small_bodies_have_room_of_their_own(void **state)
{
    struct fixture *fixture = *state;
    struct client first, second;
    struct buf answer = BUF_INIT(65536);
    const size_t part = 100000;
    fixture->config.body_max = 10 * part;
    fixture->config.bodies_total = 16 * part;
    start(fixture);
    open_client(&first, fixture);
    open_client(&second, fixture);
    send_part(&first, "/echo", 8 * part, 8 * part - 1);
    wait_for_bodies(fixture, 8 * part);
    assert_int_equal(client_post(&second, "/echo", 6 * part, &answer), 200);
    assert_int_equal(client_post(&second, "/echo", 6 * part + 1, &answer), 429);
    client_close(&second);
    open_client(&second, fixture);
    send_part(&second, "/echo", 6 * part, 6 * part - 1);
    wait_for_bodies(fixture, 14 * part);
    struct client third;
    open_client(&third, fixture);
    assert_int_equal(client_post(&third, "/echo", 65537, &answer), 429);
    assert_int_equal(client_post(&third, "/echo", 65536, &answer), 200);
    client_close(&first);
    client_close(&second);
    client_close(&third);
    buf_clear(&answer);
}

/* When memory is short, a large body that has not come to its end after a second is given up. */
static void test_a_slow_large_body_makes_room(void **state)
{
    struct fixture *fixture = *state;
    struct client slow, small, honest;
    struct buf answer = BUF_INIT(65536);
    fixture->config.bodies_total = 1600;
    fixture->config.body_max = 1500;
    start(fixture);
    open_client(&slow, fixture);
    open_client(&small, fixture);
    open_client(&honest, fixture);
    send_part(&slow, "/echo", 1300, 600);
    send_part(&small, "/echo", 100, 50);
    wait_for_bodies(fixture, 1400);
    assert_int_equal(client_post(&honest, "/echo", 201, &answer), 429); /* nobody is slow yet */
    assert_int_equal(http_server_stats(fixture->server).connections.cuts, 0);
    (void)usleep(1100000);
    assert_int_equal(client_post(&honest, "/echo", 200, &answer), 200);
    assert_int_equal(client_receive(&slow, &answer), 0);
    wait_for_bodies(fixture, 100);
    assert_int_equal(client_post(&honest, "/echo", 1500, &answer), 200);
    client_close(&slow);
    client_close(&small);
    client_close(&honest);
    buf_clear(&answer);
}

/* ---- connections --------------------------------------------------------------------------- */

static void test_makes_room_near_the_limit(void **state)
{
    struct fixture *fixture = *state;
    struct client clients[5];
    struct buf answer = BUF_INIT(65536);
    fixture->config.limits.connections = 4;
    start(fixture);
    for (size_t i = 0; i < 5; i++)
        open_client(&clients[i], fixture);
    /* The last one is served, the oldest are gone. */
    assert_int_equal(client_post(&clients[4], "/echo", 1, &answer), 200);
    assert_int_equal(client_receive(&clients[0], &answer), 0);
    assert_true(http_server_stats(fixture->server).connections.open <= 4);
    assert_true(http_server_stats(fixture->server).connections.cuts >= 1);
    for (size_t i = 0; i < 5; i++)
        client_close(&clients[i]);
    buf_clear(&answer);
}

/* With four connections allowed, four that complete their requests can stay. */
static void test_connections_up_to_the_limit(void **state)
{
    struct fixture *fixture = *state;
    struct client clients[3], waiting, more;
    struct buf answer = BUF_INIT(65536);
    fixture->config.limits.connections = 4;
    fixture->config.limits.suspended = 4;
    fixture->config.wait_ns = 4 * NSEC_PER_SEC;
    start(fixture);
    atomic_store(&fixture->waiting, 1);
    for (size_t i = 0; i < 3; i++) {
        open_client(&clients[i], fixture);
        send_part(&clients[i], "/wait", 3, 3);
        wait_for_suspended(fixture, (unsigned)i + 1);
    }
    open_client(&waiting, fixture);
    send_part(&waiting, "/wait", 3, 3);
    wait_for_suspended(fixture, 4);
    assert_int_equal(http_server_stats(fixture->server).connections.cuts, 0);
    /* All are complete: none can be given up for a fifth. */
    assert_false(client_open(&more, fixture->port));
    assert_int_equal(http_server_stats(fixture->server).connections.rejected, 1);
    client_close(&more);
    atomic_store(&fixture->waiting, 0);
    http_server_wake(fixture->server);
    assert_true(client_answer(&waiting, &answer));
    assert_int_equal(answer_status(&answer), 200);
    for (size_t i = 0; i < 3; i++) {
        buf_reset(&answer);
        assert_true(client_answer(&clients[i], &answer));
        client_close(&clients[i]);
    }
    client_close(&waiting);
    buf_clear(&answer);
}

/* Milliseconds until the server ends a connection on which nothing is received. */
static int64_t time_to_end(struct client *client)
{
    struct buf answer = BUF_INIT(65536);
    int64_t begin = conn_now();
    assert_int_equal(client_receive(client, &answer), 0);
    buf_clear(&answer);
    return (conn_now() - begin) / NSEC_PER_MSEC;
}

static void test_slow_handshake_ends(void **state)
{
    struct fixture *fixture = *state;
    char byte = 0x16;
    fixture->config.limits.handshake_ns = NSEC_PER_SEC;
    start(fixture);
    int fd = client_socket(fixture->port);
    int64_t begin = conn_now();
    assert_int_equal(write(fd, &byte, 1), 1);
    assert_true(read(fd, &byte, 1) <= 0);
    assert_in_range((conn_now() - begin) / NSEC_PER_MSEC, 500, 3000);
    (void)close(fd);
    for (int i = 0; i < 200 && !http_server_stats(fixture->server).handshakes_failed; i++)
        (void)usleep(10000);
    assert_int_equal(http_server_stats(fixture->server).handshakes_failed, 1);
}

static void test_slow_header_ends(void **state)
{
    struct fixture *fixture = *state;
    struct client client;
    fixture->config.limits.request_ns = NSEC_PER_SEC;
    start(fixture);
    open_client(&client, fixture);
    /* Each byte would start libmicrohttpd's own timeout again. */
    int64_t begin = conn_now();
    while (conn_now() - begin < 6 * NSEC_PER_SEC && client_send(&client, STR("P")))
        (void)usleep(200000);
    assert_in_range((conn_now() - begin) / NSEC_PER_MSEC, 800, 4000);
    client_close(&client);
}

static void test_slow_body_ends(void **state)
{
    struct fixture *fixture = *state;
    struct client client;
    fixture->config.limits.request_ns = NSEC_PER_SEC;
    start(fixture);
    open_client(&client, fixture);
    send_part(&client, "/echo", 700, 10);
    assert_in_range(time_to_end(&client), 500, 3000);
    client_close(&client);
}

/* An idle connection outlives the time of a request, before and after its first one. */
static void test_idle_connection_stays(void **state)
{
    struct fixture *fixture = *state;
    struct client client;
    struct buf answer = BUF_INIT(65536);
    fixture->config.limits.request_ns = NSEC_PER_SEC;
    fixture->config.limits.idle_ns = 3 * NSEC_PER_SEC;
    start(fixture);
    open_client(&client, fixture);
    (void)usleep(1800000);
    assert_int_equal(client_post(&client, "/echo", 1, &answer), 200);
    (void)usleep(1800000);
    assert_int_equal(client_post(&client, "/echo", 1, &answer), 200);
    assert_in_range(time_to_end(&client), 2000, 5500);
    client_close(&client);
    buf_clear(&answer);
}

static double cpu_seconds(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void test_half_a_handshake_costs_nothing(void **state)
{
    struct fixture *fixture = *state;
    int fds[8];
    char byte = 0x16;
    start(fixture);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = client_socket(fixture->port);
        assert_int_equal(write(fds[i], &byte, 1), 1);
    }
    (void)usleep(200000);
    double before = cpu_seconds();
    (void)usleep(1000000);
    assert_true(cpu_seconds() - before < 0.1);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        (void)close(fds[i]);
}

/* ---- waiting ------------------------------------------------------------------------------- */

static void send_wait(struct client *client)
{
    assert_true(
        client_send(client, STR("POST /wait HTTP/1.1\r\n" JSON "Content-Length: 3\r\n\r\nabc")));
}

static void test_wake(void **state)
{
    struct fixture *fixture = *state;
    struct client client;
    struct buf answer = BUF_INIT(65536);
    fixture->config.wait_ns = 4 * NSEC_PER_SEC;
    start(fixture);
    atomic_store(&fixture->waiting, 1);
    open_client(&client, fixture);
    send_wait(&client);
    wait_for_suspended(fixture, 1);
    http_server_wake(fixture->server); /* not what it waits for */
    (void)usleep(50000);
    wait_for_suspended(fixture, 1);
    atomic_store(&fixture->waiting, 0);
    http_server_wake(fixture->server);
    assert_true(client_answer(&client, &answer));
    assert_int_equal(answer_status(&answer), 200);
    assert_int_equal(atomic_load(&fixture->last_tries), 0);
    assert_int_equal(atomic_load(&fixture->calls), 3);
    client_close(&client);
    buf_clear(&answer);
}

static void test_wait_ends(void **state)
{
    struct fixture *fixture = *state;
    struct client client;
    struct buf answer = BUF_INIT(65536);
    start(fixture);
    atomic_store(&fixture->waiting, 1);
    open_client(&client, fixture);
    int64_t begin = conn_now();
    send_wait(&client);
    assert_true(client_answer(&client, &answer));
    assert_in_range((conn_now() - begin) / NSEC_PER_MSEC, 290, 2000);
    assert_int_equal(atomic_load(&fixture->last_tries), 1);
    client_close(&client);
    buf_clear(&answer);
}

static void test_too_many_wait(void **state)
{
    struct fixture *fixture = *state;
    struct client clients[3];
    struct buf answer = BUF_INIT(65536);
    fixture->config.wait_ns = 4 * NSEC_PER_SEC;
    start(fixture);
    atomic_store(&fixture->waiting, 1);
    for (size_t i = 0; i < 3; i++)
        open_client(&clients[i], fixture);
    send_wait(&clients[0]);
    send_wait(&clients[1]);
    wait_for_suspended(fixture, 2);
    send_wait(&clients[2]);
    assert_true(client_answer(&clients[2], &answer)); /* at once */
    assert_int_equal(atomic_load(&fixture->last_tries), 1);
    wait_for_suspended(fixture, 2);
    for (size_t i = 0; i < 3; i++)
        client_close(&clients[i]);
    /* The server is freed with two requests that wait. */
    buf_clear(&answer);
}

static void test_client_timeout(void **state)
{
    struct fixture *fixture = *state;
    struct client client;
    struct buf answer = BUF_INIT(65536);
    start(fixture);
    open_client(&client, fixture);
    assert_int_equal(client_post(&client, "/until?timeout=10s", 1, &answer), 200);
    assert_true(str_ends(buf_str(&answer), STR("\r\n\r\n9800")));
    assert_int_equal(client_post(&client, "/until?timeout=400ms", 1, &answer), 200);
    assert_true(str_ends(buf_str(&answer), STR("\r\n\r\n300")));
    assert_int_equal(client_post(&client, "/until?timeout=bad", 1, &answer), 200);
    assert_true(str_ends(buf_str(&answer), STR("\r\n\r\n4800")));
    client_close(&client);
    buf_clear(&answer);
}

/* ---- certificates and the end -------------------------------------------------------------- */

static void assert_served_by(struct client *client, const char *name)
{
    unsigned count = 0;
    const gnutls_datum_t *list = gnutls_certificate_get_peers(client->session, &count);
    gnutls_x509_crt_t cert;
    assert_true(list && count > 0);
    assert_int_equal(gnutls_x509_crt_init(&cert), 0);
    assert_int_equal(gnutls_x509_crt_import(cert, &list[0], GNUTLS_X509_FMT_DER), 0);
    assert_int_equal(gnutls_x509_crt_check_hostname(cert, name), 1);
    gnutls_x509_crt_deinit(cert);
}

static void test_reload(void **state)
{
    struct fixture *fixture = *state;
    struct client before, after;
    struct buf answer = BUF_INIT(65536);
    start(fixture);
    open_client(&before, fixture);
    struct tls_credentials *second = make_credentials("second.test");
    http_server_reload_tls(fixture->server, second);
    tls_credentials_unref(second);
    open_client(&after, fixture);
    assert_served_by(&before, "first.test");
    assert_served_by(&after, "second.test");
    assert_int_equal(client_post(&before, "/echo", 5, &answer), 200);
    assert_int_equal(client_post(&after, "/echo", 5, &answer), 200);
    client_close(&before);
    client_close(&after);
    buf_clear(&answer);
}

static void test_drain_and_quiesce(void **state)
{
    struct fixture *fixture = *state;
    struct client idle, busy;
    struct buf answer = BUF_INIT(65536);
    start(fixture);
    open_client(&idle, fixture);
    open_client(&busy, fixture);
    assert_int_equal(client_post(&idle, "/echo", 1, &answer), 200);
    assert_true(str_find(buf_str(&answer), STR("Connection: close")) < 0);
    send_part(&busy, "/echo", 700, 600);
    wait_for_bodies(fixture, 700);
    assert_int_equal(http_server_quiesce(fixture->server), 1); /* the one under way */
    assert_int_equal(client_receive(&idle, &answer), 0);
    struct buf rest = BUF_INIT(1024);
    for (int i = 0; i < 100; i++)
        buf_add_char(&rest, 'a');
    assert_true(client_send(&busy, buf_str(&rest)));
    buf_reset(&answer);
    assert_true(client_answer(&busy, &answer));
    assert_int_equal(answer_status(&answer), 200);
    assert_true(str_find(buf_str(&answer), STR("Connection: close")) > 0);
    client_close(&idle);
    client_close(&busy);
    buf_clear(&rest);
    buf_clear(&answer);
}

static void test_address_in_use(void **state)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct http_server *other = NULL;
    start(fixture);
    struct http_config config = fixture->config;
    config.port = fixture->port;
    assert_int_equal(http_server_new(&config, &other, &err), -1);
    assert_non_null(strstr(err.text, "Address already in use"));
    config.address = "localhost";
    assert_int_equal(http_server_new(&config, &other, &err), -1);
    assert_non_null(strstr(err.text, "\"localhost\" is not an IP address"));
}

static void test_credentials_that_do_not_fit(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct tls_credentials *credentials = NULL;
    assert_int_equal(tls_credentials_new(STR("x"), STR("y"), &credentials, &err), -1);
    assert_int_equal(err.cls, ERROR_INVALID);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_refuses_by_header),
        TEST(test_accepts_parameters_of_the_type),
        TEST(test_header_too_large),
        TEST(test_body_limit),
        TEST(test_budget_of_all_bodies),
        TEST(test_small_bodies_have_room_of_their_own),
        TEST(test_a_slow_large_body_makes_room),
        TEST(test_connections_up_to_the_limit),
        TEST(test_makes_room_near_the_limit),
        TEST(test_slow_handshake_ends),
        TEST(test_slow_header_ends),
        TEST(test_slow_body_ends),
        TEST(test_idle_connection_stays),
        TEST(test_half_a_handshake_costs_nothing),
        TEST(test_wake),
        TEST(test_wait_ends),
        TEST(test_too_many_wait),
        TEST(test_client_timeout),
        TEST(test_reload),
        TEST(test_drain_and_quiesce),
        TEST(test_address_in_use),
        cmocka_unit_test(test_credentials_that_do_not_fit),
    };
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
