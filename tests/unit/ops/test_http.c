/* The health and metrics server, over real sockets: a client thread against the loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/http.h"
#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

struct client {
    struct loop *loop;
    unsigned port;
    const char *request;
    bool ipv6;
    struct buf answer; /* all that came until the server closed */
    pthread_t thread;
};

static void on_client_done(void *arg)
{
    loop_stop(arg);
}

static int connect_to(unsigned port, bool ipv6)
{
    const struct sockaddr_in in4 = {.sin_family = AF_INET,
                                    .sin_port = htons((uint16_t)port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
                                     .sin6_port = htons((uint16_t)port),
                                     .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int rc = ipv6 ? connect(fd, (const struct sockaddr *)&in6, sizeof(in6))
                  : connect(fd, (const struct sockaddr *)&in4, sizeof(in4));
    if (rc == 0)
        return fd;
    close(fd);
    return -1;
}

static void *client_main(void *arg)
{
    struct client *client = arg;
    int fd = connect_to(client->port, client->ipv6);
    char piece[4096];
    size_t size = strlen(client->request);
    if (fd >= 0 && send(fd, client->request, size, MSG_NOSIGNAL) == (ssize_t)size) {
        ssize_t n;
        while ((n = recv(fd, piece, sizeof(piece), 0)) > 0)
            buf_add(&client->answer, piece, (size_t)n);
    }
    if (fd >= 0)
        close(fd);
    loop_post(client->loop, on_client_done, client->loop);
    return NULL;
}

struct fixture {
    struct loop *loop;
    struct ops_http *http;
    struct client client;
};

static int hello(struct str path, struct str query, struct buf *out, void *arg)
{
    buf_printf(out, "%s path=%.*s query=%.*s\n", (const char *)arg, STR_ARG(path), STR_ARG(query));
    return 200;
}

static int not_ready(struct str path, struct str query, struct buf *out, void *arg)
{
    (void)path;
    (void)query;
    (void)out;
    (void)arg;
    return 503;
}

static int large(struct str path, struct str query, struct buf *out, void *arg)
{
    (void)path;
    (void)query;
    for (size_t i = 0; i < *(const size_t *)arg; i += 1024) {
        char block[1024];
        memset(block, 'x', sizeof(block));
        buf_add(out, block, sizeof(block));
    }
    return 200;
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct error err = ERROR_INIT;
    fixture = (struct fixture){.loop = loop_new(1)};
    fixture.http = ops_http_new(fixture.loop, "127.0.0.1:0", &err);
    assert_non_null(fixture.http);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    buf_clear(&fixture->client.answer);
    ops_http_free(fixture->http);
    loop_free(fixture->loop);
    return 0;
}

/* Sends `request` and runs the loop until the server closed; returns the whole answer. */
static const char *exchange_on(struct fixture *fixture, const char *request, bool ipv6)
{
    buf_clear(&fixture->client.answer);
    fixture->client = (struct client){.loop = fixture->loop,
                                      .port = ops_http_port(fixture->http),
                                      .request = request,
                                      .ipv6 = ipv6,
                                      .answer = BUF_INIT((size_t)128 << 20)};
    assert_int_equal(pthread_create(&fixture->client.thread, NULL, client_main, &fixture->client),
                     0);
    loop_run(fixture->loop);
    pthread_join(fixture->client.thread, NULL);
    return fixture->client.answer.n ? fixture->client.answer.p : "";
}

static const char *exchange(struct fixture *fixture, const char *request)
{
    return exchange_on(fixture, request, false);
}

static void assert_starts(const char *text, const char *prefix)
{
    if (strncmp(text, prefix, strlen(prefix)) != 0)
        fail_msg("\"%s\" does not start with \"%s\"", text, prefix);
}

static const char *body_of(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    assert_non_null(end);
    return end + 4;
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static void test_a_page_is_served_as_text(void **state)
{
    struct fixture *fixture = *state;
    ops_http_handle(fixture->http, "/hello", hello, (char[]){"exact"});
    const char *answer = exchange(fixture, GET("/hello"));
    assert_starts(answer, "HTTP/1.1 200 OK\r\n");
    assert_non_null(strstr(answer, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    assert_string_equal(body_of(answer), "exact path=/hello query=\n");
}

static void test_query_and_paths_below(void **state)
{
    struct fixture *fixture = *state;
    ops_http_handle(fixture->http, "/debug/", hello, (char[]){"below"});
    ops_http_handle(fixture->http, "/debug/x", hello, (char[]){"never: the first match wins"});
    assert_string_equal(body_of(exchange(fixture, GET("/debug/job?name=a%20b&x"))),
                        "below path=/debug/job query=name=a%20b&x\n");
    assert_string_equal(body_of(exchange(fixture, GET("/debug/x?"))),
                        "below path=/debug/x query=\n");
    assert_starts(exchange(fixture, GET("/debug")), "HTTP/1.1 404 Not Found\r\n");
}

static void test_unknown_path_is_404_and_an_empty_page_is_fine(void **state)
{
    struct fixture *fixture = *state;
    ops_http_handle(fixture->http, "/readyz", not_ready, NULL);
    assert_starts(exchange(fixture, GET("/readyzz")), "HTTP/1.1 404 Not Found\r\n");
    const char *answer = exchange(fixture, GET("/readyz"));
    assert_starts(answer, "HTTP/1.1 503 Service Unavailable\r\n");
    assert_string_equal(body_of(answer), "");
}

static void test_only_get_is_served(void **state)
{
    struct fixture *fixture = *state;
    ops_http_handle(fixture->http, "/x", hello, (char[]){"x"});
    static const char *const methods[] = {"POST", "PUT", "DELETE", "HEAD", "OPTIONS", "BREW"};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        struct buf request cleanup_buf = BUF_INIT(512);
        buf_printf(&request, "%s /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", methods[i]);
        const char *answer = exchange(fixture, request.p);
        assert_starts(answer, "HTTP/1.1 405 Method Not Allowed\r\n");
        assert_non_null(strstr(answer, "Allow: GET\r\n"));
    }
}

static void test_a_get_with_a_body_is_answered(void **state)
{
    struct fixture *fixture = *state;
    ops_http_handle(fixture->http, "/x", hello, (char[]){"x"});
    const char *answer = exchange(fixture, "GET /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                                           "Connection: close\r\n\r\nabcde");
    assert_starts(answer, "HTTP/1.1 200 OK\r\n");
}

static void test_two_requests_on_one_connection(void **state)
{
    struct fixture *fixture = *state;
    ops_http_handle(fixture->http, "/x", hello, (char[]){"x"});
    const char *answer = exchange(fixture, "GET /x?1 HTTP/1.1\r\nHost: x\r\n\r\n" GET("/x?2"));
    const char *first = strstr(answer, "x path=/x query=1\n");
    assert_non_null(first);
    assert_non_null(strstr(first, "x path=/x query=2\n"));
}

static void test_garbage_and_long_headers_are_refused(void **state)
{
    struct fixture *fixture = *state;
    ops_http_handle(fixture->http, "/x", hello, (char[]){"x"});
    assert_null(strstr(exchange(fixture, "\x16\x03\x01 nonsense\r\n\r\n"), "200 OK"));
    struct buf request cleanup_buf = BUF_INIT(65536);
    buf_add_cstr(&request, "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ");
    for (int i = 0; i < 20000; i++)
        buf_add_char(&request, 'a');
    buf_add_cstr(&request, "\r\n\r\n");
    assert_null(strstr(exchange(fixture, request.p), "200 OK"));
    assert_starts(exchange(fixture, GET("/x")), "HTTP/1.1 200 OK\r\n"); /* still there */
}

static void test_page_size_at_the_limit_and_past_it(void **state)
{
    struct fixture *fixture = *state;
    const size_t limit = (size_t)64 << 20, past = limit + 1024;
    ops_http_handle(fixture->http, "/limit", large, (void *)(uintptr_t)&limit);
    ops_http_handle(fixture->http, "/past", large, (void *)(uintptr_t)&past);
    const char *answer = exchange(fixture, GET("/limit"));
    assert_starts(answer, "HTTP/1.1 200 OK\r\n");
    assert_int_equal(strlen(body_of(answer)), limit);
    answer = exchange(fixture, GET("/past"));
    assert_starts(answer, "HTTP/1.1 500 Internal Server Error\r\n");
    assert_string_equal(body_of(answer), "500: the page is too large\n");
}

static void turn_for(struct loop *loop, int64_t millis)
{
    int64_t end = loop_now_fresh(loop) + millis * NSEC_PER_MSEC;
    while (loop_now_fresh(loop) < end)
        loop_turn(loop, NSEC_PER_MSEC);
}

static void test_connections_are_limited(void **state)
{
    struct fixture *fixture = *state;
    ops_http_handle(fixture->http, "/x", hello, (char[]){"x"});
    int idle[64];
    for (size_t i = 0; i < 63; i++)
        assert_true((idle[i] = connect_to(ops_http_port(fixture->http), false)) >= 0);
    turn_for(fixture->loop, 50);
    assert_starts(exchange(fixture, GET("/x")), "HTTP/1.1 200 OK\r\n"); /* the 64th */
    assert_true((idle[63] = connect_to(ops_http_port(fixture->http), false)) >= 0);
    turn_for(fixture->loop, 50);
    int extra = connect_to(ops_http_port(fixture->http), false);
    assert_true(extra >= 0); /* the kernel accepts; nobody answers */
    const char request[] = GET("/x");
    (void)send(extra, request, sizeof(request) - 1, MSG_NOSIGNAL);
    turn_for(fixture->loop, 100);
    char answer[256];
    assert_true(recv(extra, answer, sizeof(answer), MSG_DONTWAIT) <= 0);
    for (size_t i = 0; i < 64; i++)
        close(idle[i]);
    close(extra);
    assert_starts(exchange(fixture, GET("/x")), "HTTP/1.1 200 OK\r\n");
}

static void test_clients_are_let_in_after_all_have_left_at_once(void **state)
{
    struct fixture *fixture = *state;
    ops_http_handle(fixture->http, "/x", hello, (char[]){"x"});
    int idle[65];
    for (size_t i = 0; i < 65; i++)
        assert_true((idle[i] = connect_to(ops_http_port(fixture->http), false)) >= 0);
    turn_for(fixture->loop, 50);
    for (size_t i = 0; i < 65; i++)
        close(idle[i]);
    turn_for(fixture->loop, 100);
    int next = connect_to(ops_http_port(fixture->http), false);
    assert_true(next >= 0);
    const char request[] = GET("/x");
    (void)send(next, request, sizeof(request) - 1, MSG_NOSIGNAL);
    turn_for(fixture->loop, 200);
    char answer[256] = "";
    assert_true(recv(next, answer, sizeof(answer) - 1, MSG_DONTWAIT) > 0);
    assert_starts(answer, "HTTP/1.1 200 OK\r\n");
    close(next);
}

static void test_listens_on_all_addresses_and_on_ipv6(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *address;
        bool ipv4, ipv6;
    } cases[] = {
        {":0", true, true},
        {"0.0.0.0:0", true, false},
        {"[::1]:0", false, true},
        {"localhost:0", true, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = ERROR_INIT;
        ops_http_free(fixture->http);
        fixture->http = ops_http_new(fixture->loop, cases[i].address, &err);
        if (!fixture->http && cases[i].ipv6 && !cases[i].ipv4)
            skip(); /* no IPv6 here */
        assert_non_null(fixture->http);
        ops_http_handle(fixture->http, "/x", hello, (char[]){"x"});
        if (cases[i].ipv4)
            assert_starts(exchange(fixture, GET("/x")), "HTTP/1.1 200 OK\r\n");
        int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (probe < 0)
            continue;
        close(probe);
        if (cases[i].ipv6)
            assert_starts(exchange_on(fixture, GET("/x"), true), "HTTP/1.1 200 OK\r\n");
    }
}

static void test_bad_and_taken_addresses_are_named(void **state)
{
    struct fixture *fixture = *state;
    static const char *const bad[] = {"", "8080", "host", ":", ":65536", ":-1", "127.0.0.1:8o"};
    struct error err = ERROR_INIT;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_null(ops_http_new(fixture->loop, bad[i], &err));
        assert_int_equal(err.cls, ERROR_INVALID);
        assert_non_null(strstr(err.text, "is not of the form host:port"));
    }
    struct buf address cleanup_buf = BUF_INIT(64), want cleanup_buf = BUF_INIT(128);
    buf_printf(&address, "127.0.0.1:%u", ops_http_port(fixture->http));
    buf_printf(&want, "cannot listen on \"%s\": Address already in use", address.p);
    assert_null(ops_http_new(fixture->loop, address.p, &err));
    assert_string_equal(err.text, want.p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_page_is_served_as_text),
        TEST(test_query_and_paths_below),
        TEST(test_unknown_path_is_404_and_an_empty_page_is_fine),
        TEST(test_only_get_is_served),
        TEST(test_a_get_with_a_body_is_answered),
        TEST(test_two_requests_on_one_connection),
        TEST(test_garbage_and_long_headers_are_refused),
        TEST(test_page_size_at_the_limit_and_past_it),
        TEST(test_connections_are_limited),
        TEST(test_clients_are_let_in_after_all_have_left_at_once),
        TEST(test_listens_on_all_addresses_and_on_ipv6),
        TEST(test_bad_and_taken_addresses_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
