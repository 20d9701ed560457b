/*
 * The libcurl transport to servers that are none of Kubernetes': plain HTTP/1.1, one answer a
 * connection, and no request that nobody asked for.
 */
#include "testing.h"

#include "base/log.h"
#include "kube/transport.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#define CALLS_MOST 64

struct bench {
    struct loop *loop;
    struct kube_transport *transport;
    int listener;
    pid_t server; /* a process that answers, 0: none */
    unsigned done;
    struct kube_result results[CALLS_MOST]; /* without bodies */
    char bodies[CALLS_MOST][200];
};

/* ---- the server ------------------------------------------------------------------------------ */

/* Answers with the first line of the request, its body, and the request's number. */
static void answer_one(int fd, unsigned number)
{
    char request[4096], answer[8192], body[4000];
    size_t n = 0;
    const char *head_end = NULL;
    while (n < sizeof(request) - 1 && (!head_end || !strchr(head_end, '}'))) {
        ssize_t got = read(fd, request + n, sizeof(request) - 1 - n);
        if (got <= 0)
            return;
        n += (size_t)got;
        request[n] = '\0';
        head_end = strstr(request, "\r\n\r\n");
    }
    int size = snprintf(body, sizeof(body), "%u %.*s %.100s", number, (int)strcspn(request, "\r\n"),
                        request, head_end + 4);
    size = snprintf(answer, sizeof(answer),
                    "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
                    "Connection: close\r\n\r\n%s",
                    strstr(request, "/broken") ? "503 Out Of Order" : "200 OK", size, body);
    if (write(fd, answer, (size_t)size) != size)
        _exit(1);
}

static void run_server(int listener)
{
    for (unsigned number = 1;; number++) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            _exit(1);
        answer_one(fd, number);
        close(fd);
    }
}

static char *url_of(struct bench *bench)
{
    struct sockaddr_in address;
    socklen_t size = sizeof(address);
    assert_int_equal(getsockname(bench->listener, (struct sockaddr *)&address, &size), 0);
    return xasprintf("http://127.0.0.1:%d/hook/", ntohs(address.sin_port));
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
    free(bench);
    return 0;
}

static void connect_to(struct bench *bench, bool answers)
{
    struct error error = ERROR_INIT;
    cleanup_free char *url = url_of(bench);
    if (answers && (bench->server = fork()) == 0)
        run_server(bench->listener);
    bench->transport = kube_transport_curl_for_url(bench->loop, url, "test/1", &error);
    assert_non_null(bench->transport);
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
        TEST(many_calls_at_once),
        TEST(large_answers_are_refused),
        TEST(one_that_hangs_runs_out_of_time),
        TEST(one_that_is_not_there_fails_at_once),
        TEST(other_urls_are_refused),
    };
    log_set_fd(-1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
