/*
 * What answers mean, escaping, and those parts of the libcurl transport that need no server: a
 * port where nobody listens, one where nobody answers, and credentials that do not load. The rest
 * is tested against a real API server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/log.h"
#include "kube/transport.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- kube_result_classify -------------------------------------------------------------------- */

#define STATUS(reason, message)                                                                    \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","           \
    "\"message\":\"" message "\",\"reason\":\"" reason "\",\"details\":{\"retryAfterSeconds\":7}}"

static const struct {
    int status;
    const char *body;
    enum error_class cls;
    const char *text;
} answers[] = {
    {200, "{}", ERROR_NONE, ""},
    {201, "", ERROR_NONE, ""},
    {299, "", ERROR_NONE, ""},
    {300, "", ERROR_INVALID, "HTTP 300 without a message"},
    {400, STATUS("BadRequest", "bad"), ERROR_INVALID, "bad"},
    {401, STATUS("Unauthorized", "Unauthorized"), ERROR_DENIED, "Unauthorized"},
    {403, STATUS("Forbidden", "pods \\\"x\\\" is forbidden"), ERROR_DENIED,
     "pods \"x\" is forbidden"},
    {404, STATUS("NotFound", "gone"), ERROR_NOT_FOUND, "gone"},
    {404, "404 page not found\n", ERROR_NOT_FOUND, "HTTP 404: 404 page not found"},
    {405, "", ERROR_INVALID, "HTTP 405 without a message"},
    {408, "", ERROR_RETRY, "HTTP 408 without a message"},
    {409, STATUS("AlreadyExists", "there"), ERROR_EXISTS, "there"},
    {409, STATUS("Conflict", "changed"), ERROR_CONFLICT, "changed"},
    {409, "", ERROR_CONFLICT, "HTTP 409 without a message"},
    {410, STATUS("Expired", "too old"), ERROR_GONE, "too old"},
    {413, "too large", ERROR_INVALID, "HTTP 413: too large"},
    {422, STATUS("Invalid", "line one\\nline two"), ERROR_INVALID, "line one line two"},
    {429, STATUS("TooManyRequests", "slow down"), ERROR_RETRY, "slow down"},
    {499, "", ERROR_INVALID, "HTTP 499 without a message"},
    {500, STATUS("InternalError", "webhook"), ERROR_RETRY, "webhook"},
    {502, "<html>\n<body>", ERROR_RETRY, "HTTP 502: <html>"},
    {503, "{\"kind\":\"Status\",\"mess", ERROR_RETRY, "HTTP 503: {\"kind\":\"Status\",\"mess"},
    {504, "{\"kind\":\"Other\",\"message\":\"no\"}", ERROR_RETRY,
     "HTTP 504: {\"kind\":\"Other\",\"message\":\"no\"}"},
};

static void classifies_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        struct kube_result result = {.status = answers[i].status, .body = str_of(answers[i].body)};
        kube_result_classify(&result);
        assert_int_equal(result.error.cls, answers[i].cls);
        assert_string_equal(result.error.text, answers[i].text);
    }
}

static void takes_retry_after_from_the_status(void **state)
{
    (void)state;
    struct kube_result result = {.status = 429, .body = str_of(STATUS("TooManyRequests", "x"))};
    kube_result_classify(&result);
    assert_int_equal(result.retry_after_ns, 7 * NSEC_PER_SEC);
    result.retry_after_ns = 3 * NSEC_PER_SEC; /* the header goes first */
    kube_result_classify(&result);
    assert_int_equal(result.retry_after_ns, 3 * NSEC_PER_SEC);
}

#define CAUSES(causes) "{\"kind\":\"Status\",\"details\":{\"causes\":[" causes "]}}"

static void knows_who_refused(void **state)
{
    static const struct {
        int status;
        const char *body;
        bool by_budget;
    } rows[] = {
        {429, CAUSES("{\"reason\":\"DisruptionBudget\",\"message\":\"x needs 2 healthy pods\"}"),
         true},
        {429, CAUSES("{\"reason\":\"Other\"},{\"reason\":\"DisruptionBudget\"}"), true},
        {429, CAUSES("{\"reason\":\"DisruptionBudget\"},{\"message\":\"x\"}"), true},
        {429, CAUSES("{\"reason\":\"Other\"}"), false},
        {429, CAUSES(""), false},
        {429, STATUS("TooManyRequests", "DisruptionBudget"), false},
        {429, "Too many requests, please try again later.", false},
        {403, CAUSES("{\"reason\":\"DisruptionBudget\"}"), false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_result result = {.status = rows[i].status, .body = str_of(rows[i].body)};
        kube_result_classify(&result);
        assert_int_equal(result.by_budget, rows[i].by_budget);
    }
}

/* As kube-apiserver 1.34 answers a patch of a pod whose metadata name another UID. */
static void knows_that_it_is_another_object(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum error_class cls;
        bool other_uid;
    } rows[] = {
        {422, CAUSES("{\"reason\":\"FieldValueInvalid\",\"field\":\"metadata.uid\"}"),
         ERROR_CONFLICT, true},
        {422, CAUSES("{\"field\":\"metadata.uid\"},{\"field\":\"spec\"}"), ERROR_CONFLICT, true},
        {422, CAUSES("{\"reason\":\"FieldValueInvalid\",\"field\":\"spec\"}"), ERROR_INVALID,
         false},
        {422, STATUS("Invalid", "metadata.uid"), ERROR_INVALID, false},
        {409, CAUSES("{\"field\":\"metadata.uid\"}"), ERROR_CONFLICT, false},
        {403, CAUSES("{\"field\":\"metadata.uid\"}"), ERROR_DENIED, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_result result = {.status = rows[i].status, .body = str_of(rows[i].body)};
        kube_result_classify(&result);
        assert_int_equal(result.error.cls, rows[i].cls);
        assert_int_equal(result.other_uid, rows[i].other_uid);
    }
}

static void cuts_long_messages(void **state)
{
    (void)state;
    char body[2000];
    memset(body, 'x', sizeof(body));
    struct kube_result result = {.status = 500, .body = str_make(body, sizeof(body))};
    kube_result_classify(&result);
    assert_int_equal(strlen(result.error.text), ERROR_TEXT_MAX - 1);
}

static void escapes(void **state)
{
    (void)state;
    cleanup_buf struct buf out = BUF_INIT(1000);
    kube_escape(&out, STR("aZ09-._~ /?&=%+,:\n"));
    kube_escape(&out, (struct str){"\0\xc3\xa9", 3});
    assert_true(str_is(buf_str(&out), "aZ09-._~%20%2F%3F%26%3D%25%2B%2C%3A%0A%00%C3%A9"));
}

/* ---- the libcurl transport without a server -------------------------------------------------- */

struct bench {
    struct loop *loop;
    struct kube_config config;
    struct kube_transport *transport;
    struct kube_call *other; /* cancelled by the first answer */
    bool inside;             /* of kube_start or kube_cancel */
    unsigned done;
    struct kube_result result; /* of the last */
};

static void on_done(const struct kube_result *result, void *arg)
{
    struct bench *bench = arg;
    assert_false(bench->inside);
    bench->done++;
    bench->result = *result;
    if (bench->other) {
        struct kube_call *other = bench->other;
        bench->other = NULL;
        bench->inside = true;
        kube_cancel(bench->transport, other);
        bench->inside = false;
    }
    loop_stop(bench->loop);
}

static struct kube_call *start(struct bench *bench, enum kube_method method, struct str body,
                               int64_t timeout_ns)
{
    const struct kube_call_spec spec = {
        .method = method,
        .path = STR("/api/v1/pods?limit=1"),
        .body = body,
        .timeout_ns = timeout_ns,
        .on_done = on_done,
        .arg = bench,
    };
    bench->inside = true;
    struct kube_call *call = kube_start(bench->transport, &spec);
    bench->inside = false;
    return call;
}

/* A loopback port where nobody answers, or, not `listening`, nobody can connect. */
static int open_port(bool listening, char server[40])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    if (listening)
        assert_int_equal(listen(fd, 5), 0);
    (void)snprintf(server, 40, "https://127.0.0.1:%d", ntohs(address.sin_port));
    return fd;
}

static int set_up(void **state)
{
    struct bench *bench = xnew(struct bench);
    bench->loop = loop_new(1);
    bench->config.origin = xstrdup("the test");
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    kube_transport_free(bench->transport);
    kube_config_clear(&bench->config);
    loop_free(bench->loop);
    free(bench);
    return 0;
}

static int connect_to(struct bench *bench, bool listening)
{
    char server[40];
    struct error error = ERROR_INIT;
    int fd = open_port(listening, server);
    bench->config.server = xstrdup(server);
    bench->transport = kube_transport_curl_new(bench->loop, &bench->config, "test/1", &error);
    assert_non_null(bench->transport);
    return fd;
}

/* Runs until so many calls have ended, at most 10 s. */
static void wait_for(struct bench *bench, unsigned done)
{
    int64_t end = loop_now_fresh(bench->loop) + 10 * NSEC_PER_SEC;
    while (bench->done < done && loop_now_fresh(bench->loop) < end)
        (void)loop_turn(bench->loop, 100 * NSEC_PER_MSEC);
    assert_int_equal(bench->done, done);
}

static void a_refused_connection_had_no_effect(void **state)
{
    struct bench *bench = *state;
    int fd = connect_to(bench, false);
    (void)start(bench, KUBE_POST, STR("{}"), 5 * NSEC_PER_SEC);
    (void)start(bench, KUBE_DELETE, STR(""), 5 * NSEC_PER_SEC);
    (void)start(bench, KUBE_GET, STR(""), 5 * NSEC_PER_SEC);
    wait_for(bench, 3);
    assert_int_equal(bench->result.outcome, KUBE_NOT_SENT);
    assert_int_equal(bench->result.status, 0);
    assert_int_equal(bench->result.error.cls, ERROR_RETRY);
    assert_non_null(strstr(bench->result.error.text, "GET /api/v1/pods: Failed to connect to "
                                                     "127.0.0.1"));
    assert_int_equal(close(fd), 0);
}

static void a_silent_server_runs_out_of_time(void **state)
{
    struct bench *bench = *state;
    int fd = connect_to(bench, true);
    (void)start(bench, KUBE_POST, STR("{}"), 300 * NSEC_PER_MSEC);
    wait_for(bench, 1);
    assert_int_equal(bench->result.outcome, KUBE_NOT_SENT);
    assert_int_equal(bench->result.error.cls, ERROR_RETRY);
    assert_string_equal(bench->result.error.text, "POST /api/v1/pods: no answer within 0.3 s");
    assert_in_range(bench->result.latency_ns, 300 * NSEC_PER_MSEC, 2 * NSEC_PER_SEC);
    assert_int_equal(close(fd), 0);
}

static void a_cancelled_call_says_nothing(void **state)
{
    struct bench *bench = *state;
    int fd = connect_to(bench, false);
    struct kube_call *first = start(bench, KUBE_GET, STR(""), 0);
    bench->inside = true;
    kube_cancel(bench->transport, first);
    bench->inside = false;
    (void)start(bench, KUBE_GET, STR(""), 0);
    bench->other = start(bench, KUBE_GET, STR(""), 0);
    wait_for(bench, 1);
    for (int i = 0; i < 5; i++)
        (void)loop_turn(bench->loop, 20 * NSEC_PER_MSEC);
    assert_int_equal(bench->done, 1);
    assert_int_equal(close(fd), 0);
}

static void can_be_freed_with_calls_under_way(void **state)
{
    struct bench *bench = *state;
    int fd = connect_to(bench, true);
    (void)start(bench, KUBE_GET, STR(""), 0);
    struct kube_call *call = start(bench, KUBE_GET, STR(""), 0);
    for (int i = 0; i < 5; i++)
        (void)loop_turn(bench->loop, 20 * NSEC_PER_MSEC);
    (void)start(bench, KUBE_GET, STR(""), 0);
    kube_cancel(bench->transport, call);
    kube_transport_free(bench->transport);
    bench->transport = NULL;
    assert_int_equal(bench->done, 0);
    assert_int_equal(close(fd), 0);
}

static void limits_the_request_body(void **state)
{
    struct bench *bench = *state;
    int fd = connect_to(bench, false);
    char *body = xcalloc(1, LIMIT_REQUEST_BODY + 1);
    (void)start(bench, KUBE_POST, str_make(body, LIMIT_REQUEST_BODY), 0);
    wait_for(bench, 1);
    assert_int_equal(bench->result.error.cls, ERROR_RETRY);
    (void)start(bench, KUBE_POST, str_make(body, LIMIT_REQUEST_BODY + 1), 0);
    wait_for(bench, 2);
    assert_int_equal(bench->result.error.cls, ERROR_LIMIT);
    assert_int_equal(bench->result.outcome, KUBE_NOT_SENT);
    free(body);
    assert_int_equal(close(fd), 0);
}

/* ---- credentials ----------------------------------------------------------------------------- */

static void add_pem(struct buf *out, BIO *bio)
{
    char *data;
    long n = BIO_get_mem_data(bio, &data);
    assert_true(buf_add(out, data, (size_t)n));
    BIO_free(bio);
}

static EVP_PKEY *make_key(struct buf *pem)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    BIO *bio = BIO_new(BIO_s_mem());
    assert_non_null(key);
    assert_int_equal(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
    *pem = BUF_INIT(10000);
    add_pem(pem, bio);
    return key;
}

static void make_cert(EVP_PKEY *key, struct buf *pem)
{
    X509 *cert = X509_new();
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(X509_set_pubkey(cert, key), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(cert), 0));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(cert), 1000));
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_bio_X509(bio, cert), 1);
    *pem = BUF_INIT(10000);
    add_pem(pem, bio);
    X509_free(cert);
}

static void refuse(struct bench *bench, const char *words)
{
    struct error error = ERROR_INIT;
    assert_null(kube_transport_curl_new(bench->loop, &bench->config, "test/1", &error));
    assert_int_equal(error.cls, ERROR_INVALID);
    assert_non_null(strstr(error.text, "the test: "));
    assert_non_null(strstr(error.text, words));
}

static void set_pem(struct buf *pem, const char *text)
{
    buf_clear(pem);
    *pem = BUF_INIT(10000);
    assert_true(buf_add_cstr(pem, text));
}

static void checks_certificates_and_keys(void **state)
{
    struct bench *bench = *state;
    struct kube_config *config = &bench->config;
    struct error error = ERROR_INIT;
    config->server = xstrdup("https://127.0.0.1:1");
    EVP_PKEY *key = make_key(&config->key);
    make_cert(key, &config->cert);
    make_cert(key, &config->ca);
    bench->transport = kube_transport_curl_new(bench->loop, config, "test/1", &error);
    assert_non_null(bench->transport);
    kube_transport_free(bench->transport);
    bench->transport = NULL;

    struct buf other_pem;
    EVP_PKEY *other = make_key(&other_pem);
    buf_clear(&config->key);
    config->key = other_pem;
    refuse(bench, "the client key does not belong to the client certificate");
    set_pem(&config->key, "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n");
    refuse(bench, "the client key is no PEM private key");
    set_pem(&config->cert, "nonsense");
    refuse(bench, "the client certificate is no PEM certificate");
    set_pem(&config->ca, "nonsense");
    refuse(bench, "the certificate authority is no PEM certificate");
    EVP_PKEY_free(key);
    EVP_PKEY_free(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classifies_answers),
        cmocka_unit_test(takes_retry_after_from_the_status),
        cmocka_unit_test(knows_who_refused),
        cmocka_unit_test(knows_that_it_is_another_object),
        cmocka_unit_test(cuts_long_messages),
        cmocka_unit_test(escapes),
        TEST(a_refused_connection_had_no_effect),
        TEST(a_silent_server_runs_out_of_time),
        TEST(a_cancelled_call_says_nothing),
        TEST(can_be_freed_with_calls_under_way),
        TEST(limits_the_request_body),
        TEST(checks_certificates_and_keys),
    };
    log_set_fd(-1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
