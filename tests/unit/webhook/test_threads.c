/*
 * Everything that threads share, at once: clients with new and kept connections send reviews, while
 * the loop's thread publishes snapshots with and without the queue that the jobs name, wakes those
 * that wait for it, and changes the certificate. Run under TSan it shows that they share well.
 */
#include "testing.h"

#include "certs/authority.h"
#include "tls_client.h"
#include "webhook/admission.h"
#include "webhook/http/http_server.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define CLIENTS 6
#define CONNECTIONS 16 /* of each client, one after the other */
#define REVIEWS 10     /* on each connection */

struct fixture {
    struct admission admission;
    struct http_server *server;
    atomic_int left; /* clients that are not done */
    atomic_int allowed, suspended;
};

static bool is_known(struct str path, void *arg)
{
    (void)arg;
    return admission_find(path) != NULL;
}

static enum http_verdict handle(const struct http_request *request, struct http_reply *reply,
                                void *arg)
{
    struct fixture *fixture = arg;
    const struct admission_question question = {
        .path = request->path, .body = request->body, .last_try = request->last_try};
    struct admission_answer answer = {.body = &reply->body};
    admission_answer(&fixture->admission, &question, &answer);
    if (answer.wait) {
        atomic_fetch_add(&fixture->suspended, 1);
        return HTTP_WAIT;
    }
    reply->status = answer.status;
    return HTTP_REPLY;
}

static struct tls_credentials *make_credentials(void)
{
    const struct cert_names names = {.items = {"x.test"}, .n = 1};
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

/* The queues, with or without the one that jobs name. */
static void publish(struct fixture *fixture, bool with_queue)
{
    const char *const texts[] = {"{\"metadata\":{\"name\":\"root\"}}",
                                 "{\"metadata\":{\"name\":\"default\"}}"};
    struct queue_view *views[ARRAY_SIZE(texts)];
    const size_t n = with_queue ? 2 : 1;
    for (size_t i = 0; i < n; i++) {
        cJSON *tree = cJSON_Parse(texts[i]);
        views[i] = queue_view_from_tree(tree);
        cJSON_Delete(tree);
    }
    snapshot_cell_publish(&fixture->admission.queues, queue_snapshot_new(views, n, true));
    http_server_wake(fixture->server);
}

static void review(struct fixture *fixture, struct client *client, unsigned number)
{
    struct buf body = BUF_INIT(65536), request = BUF_INIT(65536), answer = BUF_INIT(65536);
    char uid[64];
    buf_printf(&body,
               "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
               "\"uid\":\"u-%u\",\"operation\":\"CREATE\",\"resource\":{\"group\":"
               "\"batch.volcano.sh\",\"version\":\"v1alpha1\",\"resource\":\"jobs\"},\"object\":{"
               "\"metadata\":{\"name\":\"j\"},\"spec\":{\"queue\":\"default\",\"minAvailable\":1,"
               "\"tasks\":[{\"name\":\"t\",\"replicas\":1,\"template\":{\"spec\":{"
               "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}]"
               "}}}}",
               number);
    buf_printf(&request,
               "POST /jobs/validate?timeout=10s HTTP/1.1\r\nHost: x\r\nContent-Type: "
               "application/json\r\nContent-Length: %zu\r\n\r\n",
               body.n);
    buf_add_str(&request, buf_str(&body));
    assert_true(client_send(client, buf_str(&request)));
    assert_true(client_answer(client, &answer));
    assert_int_equal(answer_status(&answer), 200);
    (void)snprintf(uid, sizeof(uid), "\"uid\":\"u-%u\",\"allowed\":", number);
    const ptrdiff_t at = str_find(buf_str(&answer), str_of(uid));
    assert_true(at > 0);
    if (str_starts(str_from(buf_str(&answer), (size_t)at + strlen(uid)), STR("true")))
        atomic_fetch_add(&fixture->allowed, 1);
    else
        assert_true(str_find(buf_str(&answer), STR("\\\"default\\\" not found")) > 0);
    buf_clear(&body);
    buf_clear(&request);
    buf_clear(&answer);
}

static void *be_client(void *arg)
{
    struct fixture *fixture = arg;
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        struct client client;
        assert_true(client_open(&client, http_server_port(fixture->server)));
        for (unsigned j = 0; j < REVIEWS; j++)
            review(fixture, &client, i * REVIEWS + j);
        client_close(&client);
    }
    atomic_fetch_sub(&fixture->left, 1);
    return NULL;
}

static void start(struct fixture *fixture)
{
    struct error err = ERROR_INIT;
    const struct http_config config = {
        .address = "127.0.0.1",
        .threads = 3,
        .body_max = 100000,
        .bodies_total = 1000000,
        .header_max = 8192,
        .wait_ns = 20 * NSEC_PER_MSEC,
        .limits = {.connections = 64,
                   .suspended = 8,
                   .idle_ns = 60 * NSEC_PER_SEC,
                   .handshake_ns = 10 * NSEC_PER_SEC,
                   .request_ns = 10 * NSEC_PER_SEC},
        .known = is_known,
        .handler = handle,
        .arg = fixture,
    };
    struct tls_credentials *credentials = make_credentials();
    assert_int_equal(http_server_new(&config, &fixture->server, &err), 0);
    assert_int_equal(http_server_start(fixture->server, credentials, &err), 0);
    tls_credentials_unref(credentials);
}

static void test_all_at_once(void **state)
{
    (void)state;
    struct fixture *fixture = xnew(struct fixture);
    pthread_t clients[CLIENTS];
    struct tls_credentials *credentials[2] = {make_credentials(), make_credentials()};
    admission_init(&fixture->admission);
    start(fixture);
    atomic_store(&fixture->left, CLIENTS);
    for (size_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&clients[i], NULL, be_client, fixture), 0);
    for (unsigned round = 0; atomic_load(&fixture->left) > 0; round++) {
        publish(fixture, round % 4 != 0);
        http_server_reload_tls(fixture->server, credentials[round % 2]);
        assert_true(http_server_stats(fixture->server).connections.open <= CLIENTS + 8);
        (void)usleep(2000);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_join(clients[i], NULL), 0);
    assert_int_equal(http_server_stats(fixture->server).requests, CLIENTS * CONNECTIONS * REVIEWS);
    assert_true(atomic_load(&fixture->allowed) > CLIENTS * CONNECTIONS * REVIEWS / 2);
    assert_true(atomic_load(&fixture->suspended) > 0);
    http_server_free(fixture->server);
    for (size_t i = 0; i < ARRAY_SIZE(credentials); i++)
        tls_credentials_unref(credentials[i]);
    admission_clear(&fixture->admission);
    free(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_at_once)};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
