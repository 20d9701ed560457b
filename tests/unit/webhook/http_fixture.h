/*
 * A server with small limits and a handler that echoes, for tests of the HTTPS server, and what
 * they ask of it. Each test sets what it needs in `config` and calls start().
 */
#ifndef PUMICE_TESTS_UNIT_WEBHOOK_HTTP_FIXTURE_H
#define PUMICE_TESTS_UNIT_WEBHOOK_HTTP_FIXTURE_H

#include "certs/authority.h"
#include "tls_client.h"
#include "webhook/http/http_server.h"
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define JSON "Host: x\r\nContent-Type: application/json\r\n"

struct fixture {
    struct http_config config;
    struct http_server *server;
    unsigned port;
    atomic_int waiting;    /* "/wait" answers HTTP_WAIT while this is set */
    atomic_int last_tries; /* "/wait" was told that it is the last try */
    atomic_int calls;
};

static inline bool is_known(struct str path, void *arg)
{
    (void)arg;
    return str_is(path, "/echo") || str_is(path, "/wait") || str_is(path, "/until");
}

/* "/echo" answers with the size of the body, "/until" with the milliseconds it may take. */
static inline enum http_verdict handle(const struct http_request *request, struct http_reply *reply,
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

static inline struct tls_credentials *make_credentials(const char *name)
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

static inline void start(struct fixture *fixture)
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

static inline int setup(void **state)
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

static inline int teardown(void **state)
{
    struct fixture *fixture = *state;
    http_server_free(fixture->server);
    free(fixture);
    return 0;
}

static inline void open_client(struct client *client, const struct fixture *fixture)
{
    assert_true(client_open(client, fixture->port));
}

/* The status of the answer to one raw request on a connection of its own. */
static inline int status_of(const struct fixture *fixture, const char *request)
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

/* A request with a body of `length` bytes, of which `size` are sent. */
static inline void send_part(struct client *client, const char *path, size_t length, size_t size)
{
    struct buf part = BUF_INIT((size_t)1 << 20);
    buf_printf(&part, "POST %s HTTP/1.1\r\n" JSON "Content-Length: %zu\r\n\r\n", path, length);
    for (size_t i = 0; i < size; i++)
        buf_add_char(&part, 'a');
    assert_true(client_send(client, buf_str(&part)));
    buf_clear(&part);
}

static inline void wait_for_bodies(const struct fixture *fixture, size_t size)
{
    for (int i = 0; i < 500 && http_server_stats(fixture->server).bodies != size; i++)
        (void)usleep(10000);
    assert_int_equal(http_server_stats(fixture->server).bodies, size);
}

static inline void wait_for_suspended(const struct fixture *fixture, unsigned count)
{
    for (int i = 0; i < 500; i++) {
        if (http_server_stats(fixture->server).connections.suspended == count)
            return;
        (void)usleep(5000);
    }
    fail();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
