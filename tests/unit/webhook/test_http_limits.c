/*
 * Limits of the HTTPS server over real sockets, at and one past: header, bodies, connections,
 * times.
 */
#include "testing.h"

#include "http_fixture.h"
#include <sys/resource.h>

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
    /* The last one is served, others are gone. */
    assert_int_equal(client_post(&clients[4], "/echo", 1, &answer), 200);
    assert_true(http_server_stats(fixture->server).connections.open <= 4);
    assert_true(http_server_stats(fixture->server).connections.cuts >= 1);
    for (size_t i = 0; i < 5; i++)
        client_close(&clients[i]);
    buf_clear(&answer);
}

/* Handshakes that do not come to their end make room for each other, not for who got further. */
static void test_a_flood_cuts_its_own(void **state)
{
    struct fixture *fixture = *state;
    struct client oldest, newest;
    struct buf answer = BUF_INIT(65536);
    int fds[8];
    fixture->config.limits.connections = 4;
    start(fixture);
    open_client(&oldest, fixture);
    (void)usleep(200000);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = client_socket(fixture->port);
        (void)usleep(20000);
    }
    open_client(&newest, fixture);
    assert_int_equal(client_post(&oldest, "/echo", 1, &answer), 200);
    assert_int_equal(client_post(&newest, "/echo", 1, &answer), 200);
    assert_true(http_server_stats(fixture->server).connections.cuts >= 5);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        (void)close(fds[i]);
    client_close(&oldest);
    client_close(&newest);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_header_too_large),
        TEST(test_body_limit),
        TEST(test_budget_of_all_bodies),
        TEST(test_small_bodies_have_room_of_their_own),
        TEST(test_a_slow_large_body_makes_room),
        TEST(test_connections_up_to_the_limit),
        TEST(test_a_flood_cuts_its_own),
        TEST(test_makes_room_near_the_limit),
        TEST(test_slow_handshake_ends),
        TEST(test_slow_header_ends),
        TEST(test_slow_body_ends),
        TEST(test_idle_connection_stays),
        TEST(test_half_a_handshake_costs_nothing),
    };
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
