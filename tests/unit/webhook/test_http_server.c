/*
 * The HTTPS server over real sockets: what it refuses by the header, waiting, the client's timeout,
 * reload of the certificate, the end.
 */
#include "testing.h"

#include "http_fixture.h"

/* ---- headers ------------------------------------------------------------------------------- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_refuses_by_header),
        TEST(test_accepts_parameters_of_the_type),
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
