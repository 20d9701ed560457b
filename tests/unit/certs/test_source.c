/*
 * Where the certificate comes from: a Secret behind a transport in memory, and files. Two sources
 * on one Secret are two replicas.
 */
#include "testing.h"

#include "base/base64.h"
#include "base/log.h"
#include "certs/source.h"
#include "kube/fake_transport.h"
#include "json/reader.h"
#include "json/writer.h"
#include <fcntl.h>
#include <stdio.h>

#define START (INT64_C(1800000000) * NSEC_PER_SEC)
#define DAY (NSEC_PER_SEC * 3600 * 24)
#define MINUTES(n) (NSEC_PER_SEC * 60 * (n))

/* The API server: one Secret. */
struct server {
    bool exists;
    unsigned version;
    char *data; /* owned; the raw JSON of `data` */
    unsigned gets, posts, patches;
    int fail_status; /* every call ends so; 0: none */
};

struct fixture {
    struct loop *loop;
    struct server server;
    struct fake_transport *transport;
    struct cert_source_config config;
    struct cert_source *sources[2];
    unsigned changes[2];
    char *bundles[2]; /* owned; ca of the certificate in force */
    unsigned refreshed;
};

static struct str member(struct str text, const char *name)
{
    static struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct str key, found = STR_NULL;
    arena_clear(&arena);
    json_init(&reader, text, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            struct str value = json_raw(&reader);
            if (str_is(key, name))
                found = value;
        }
    }
    return found;
}

static int status_body(struct buf *body, int status, const char *reason)
{
    buf_printf(body, "{\"kind\":\"Status\",\"reason\":\"%s\",\"message\":\"%s\",\"code\":%d}",
               reason, reason, status);
    return status;
}

static int store_data(struct server *server, struct str body)
{
    free(server->data);
    server->data = str_dup(member(body, "data"));
    server->exists = true;
    server->version++;
    return 201;
}

static int patch_secret(struct server *server, struct str text, struct buf *body)
{
    char *want = xasprintf("{\"resourceVersion\":\"%u\"", server->version);
    bool current = str_starts(member(text, "metadata"), str_of(want));
    free(want);
    server->patches++;
    if (!current)
        return status_body(body, 409, "Conflict");
    (void)store_data(server, text);
    return 200;
}

static int handle(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    struct server *server = arg;
    if (server->fail_status)
        return status_body(body, server->fail_status, "Forbidden");
    if (spec->method == KUBE_POST) {
        assert_str(spec->path, "/api/v1/namespaces/ns/secrets");
        server->posts++;
        if (server->exists)
            return status_body(body, 409, "AlreadyExists");
        return store_data(server, spec->body);
    }
    assert_str(spec->path, "/api/v1/namespaces/ns/secrets/secret");
    if (spec->method == KUBE_PATCH)
        return patch_secret(server, spec->body, body);
    server->gets++;
    if (!server->exists)
        return status_body(body, 404, "NotFound");
    buf_printf(body, "{\"metadata\":{\"resourceVersion\":\"%u\"},\"data\":%s}", server->version,
               server->data);
    return 200;
}

static void note(struct fixture *fixture, size_t i, const struct cert_bundle *bundle)
{
    fixture->changes[i]++;
    free(fixture->bundles[i]);
    fixture->bundles[i] = str_dup(buf_str(&bundle->ca_cert));
}

static void on_first(const struct cert_bundle *bundle, void *arg)
{
    note(arg, 0, bundle);
}

static void on_second(const struct cert_bundle *bundle, void *arg)
{
    note(arg, 1, bundle);
}

static int64_t expiry(const struct fixture *fixture)
{
    return cert_source_state(fixture->sources[0])->not_after_ns;
}

static int setup(void **state)
{
    struct fixture *fixture = xnew(struct fixture);
    fixture->loop = loop_new_virtual(1, START);
    fixture->transport = fake_new(fixture->loop, handle, &fixture->server);
    fixture->config = (struct cert_source_config){.loop = fixture->loop,
                                                  .transport = &fixture->transport->base,
                                                  .ns = "ns",
                                                  .secret = "secret",
                                                  .names = {.items = {"svc.ns.svc"}, .n = 1},
                                                  .arg = fixture};
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < 2; i++) {
        cert_source_free(fixture->sources[i]);
        free(fixture->bundles[i]);
    }
    kube_transport_free(&fixture->transport->base);
    loop_free(fixture->loop);
    free(fixture->server.data);
    free(fixture);
    return 0;
}

static void start(struct fixture *fixture, size_t i)
{
    struct error err = ERROR_INIT;
    fixture->config.changed = i ? on_second : on_first;
    fixture->sources[i] = cert_source_new(&fixture->config, &err);
    assert_non_null(fixture->sources[i]);
}

static void run(struct fixture *fixture, int64_t span_ns)
{
    const int64_t end = loop_now(fixture->loop) + span_ns;
    while (loop_now(fixture->loop) < end && loop_turn(fixture->loop, end - loop_now(fixture->loop)))
        ;
}

static void test_made_once(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 0);
    start(fixture, 1);
    assert_null(cert_source_current(fixture->sources[0]));
    run(fixture, NSEC_PER_SEC);
    assert_int_equal(fixture->changes[0], 1);
    assert_int_equal(fixture->changes[1], 1);
    assert_string_equal(fixture->bundles[0], fixture->bundles[1]);
    assert_int_equal(fixture->server.posts, 2); /* one of them was too late */
    assert_int_equal(fixture->server.version, 1);
    run(fixture, MINUTES(10));
    assert_int_equal(fixture->changes[0], 1);
    assert_int_equal(fixture->server.patches, 0);
    assert_in_range(fixture->server.gets, 20, 60);
}

static void test_deleted_comes_back_as_it_was(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 0);
    start(fixture, 1);
    run(fixture, NSEC_PER_SEC);
    char *data = xstrdup(fixture->server.data);
    fixture->server.exists = false;
    run(fixture, 60 * NSEC_PER_SEC);
    assert_true(fixture->server.exists);
    assert_string_equal(fixture->server.data, data);
    assert_int_equal(fixture->changes[0], 1);
    assert_int_equal(fixture->changes[1], 1);
    free(data);
}

static void add_field(struct json_writer *writer, const char *key, const struct buf *value)
{
    struct buf text = BUF_INIT(65536);
    assert_true(base64_encode(&text, buf_str(value)));
    json_w_member_str(writer, key, buf_str(&text));
    buf_clear(&text);
}

/* Puts into the Secret what was made at that time. */
static void store_bundle(struct fixture *fixture, int64_t made_ns)
{
    struct cert_bundle bundle;
    struct buf text = BUF_INIT(65536);
    struct json_writer writer = json_writer(&text);
    struct error err = ERROR_INIT;
    cert_bundle_init(&bundle);
    assert_int_equal(cert_bundle_make(&bundle, &fixture->config.names, made_ns, &err), 0);
    json_w_object(&writer);
    add_field(&writer, "tls.crt", &bundle.cert);
    add_field(&writer, "tls.key", &bundle.key);
    add_field(&writer, "ca.crt", &bundle.ca_cert);
    add_field(&writer, "ca.key", &bundle.ca_key);
    json_w_end_object(&writer);
    fixture->server.data = buf_take(&text);
    fixture->server.exists = true;
    fixture->server.version = 1;
    cert_bundle_clear(&bundle);
}

/* A certificate lives for 365 days and the hour before. */
#define RENEWAL_AGE ((365 * DAY + 3600 * NSEC_PER_SEC) / 3 * 2 - 3600 * NSEC_PER_SEC)

static void test_renewed_in_time(void **state)
{
    struct fixture *fixture = *state;
    store_bundle(fixture, START - RENEWAL_AGE + MINUTES(10));
    start(fixture, 0);
    start(fixture, 1);
    run(fixture, MINUTES(9));
    char *authority = xstrdup(fixture->bundles[0]);
    const int64_t expiry_ns = expiry(fixture);
    assert_int_equal(fixture->server.version, 1);
    run(fixture, MINUTES(3));
    assert_int_equal(fixture->server.version, 2);
    assert_int_equal(fixture->changes[0], 2);
    assert_int_equal(fixture->changes[1], 2);
    assert_true(expiry(fixture) > expiry_ns + 200 * DAY);
    assert_string_equal(fixture->bundles[0], authority);
    assert_string_equal(fixture->bundles[1], authority);
    free(authority);
}

static void test_expired_is_replaced(void **state)
{
    struct fixture *fixture = *state;
    store_bundle(fixture, START - 366 * DAY);
    start(fixture, 0);
    run(fixture, NSEC_PER_SEC);
    assert_int_equal(fixture->server.version, 2);
    assert_int_equal(fixture->changes[0], 1);
    assert_true(expiry(fixture) > START + 364 * DAY);
}

static void test_unusable_content_is_replaced(void **state)
{
    struct fixture *fixture = *state;
    fixture->server.exists = true;
    fixture->server.version = 7;
    fixture->server.data = xstrdup("{\"tls.crt\":\"!!\",\"tls.key\":\"\",\"other\":\"eA==\"}");
    start(fixture, 0);
    run(fixture, NSEC_PER_SEC);
    assert_int_equal(fixture->server.patches, 1);
    assert_int_equal(fixture->server.version, 8);
    assert_int_equal(fixture->changes[0], 1);
    assert_non_null(cert_source_current(fixture->sources[0]));
}

/* Without the authority's certificate nobody could be told whom to trust. */
static void test_an_emptied_authority_is_replaced(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 0);
    run(fixture, NSEC_PER_SEC);
    ptrdiff_t at = str_find(str_of(fixture->server.data), STR("\"ca.crt\":\"")) + 10;
    struct str rest = str_from(str_of(fixture->server.data), (size_t)at);
    rest = str_from(rest, (size_t)str_chr(rest, '"'));
    char *emptied = xasprintf("%.*s%.*s", (int)at, fixture->server.data, STR_ARG(rest));
    free(fixture->server.data);
    fixture->server.data = emptied;
    fixture->server.version++;
    start(fixture, 1);
    run(fixture, NSEC_PER_SEC);
    assert_int_equal(fixture->server.version, 3);
    assert_int_equal(fixture->changes[1], 1);
    assert_true(strlen(fixture->bundles[1]) > 0);
}

static void test_other_names_keep_the_authority(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 0);
    run(fixture, NSEC_PER_SEC);
    fixture->config.names.items[fixture->config.names.n++] = "extra.test";
    start(fixture, 1);
    run(fixture, NSEC_PER_SEC);
    assert_int_equal(fixture->server.version, 2);
    assert_string_equal(fixture->bundles[0], fixture->bundles[1]);
}

static void test_trouble_is_told_and_retried(void **state)
{
    struct fixture *fixture = *state;
    fixture->server.fail_status = 403;
    start(fixture, 0);
    run(fixture, 5 * NSEC_PER_SEC);
    assert_non_null(strstr(cert_source_trouble(fixture->sources[0]), "reading Secret ns/secret"));
    assert_null(cert_source_current(fixture->sources[0]));
    fixture->server.fail_status = 0;
    run(fixture, 60 * NSEC_PER_SEC);
    assert_string_equal(cert_source_trouble(fixture->sources[0]), "");
    assert_int_equal(fixture->changes[0], 1);
    fixture->server.fail_status = 403;
    run(fixture, 60 * NSEC_PER_SEC);
    assert_non_null(cert_source_current(fixture->sources[0])); /* the one before */
}

static void on_refreshed(void *arg)
{
    struct fixture *fixture = arg;
    fixture->refreshed++;
}

static void test_refresh(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 0);
    run(fixture, NSEC_PER_SEC);
    unsigned gets = fixture->server.gets;
    cert_source_refresh(fixture->sources[0], on_refreshed, fixture);
    assert_int_equal(fixture->refreshed, 0);
    run(fixture, NSEC_PER_SEC);
    assert_int_equal(fixture->refreshed, 1);
    assert_int_equal(fixture->server.gets, gets + 1);
    /* While a read is under way another one follows it. */
    cert_source_refresh(fixture->sources[0], on_refreshed, fixture);
    run(fixture, NSEC_PER_MSEC);
    cert_source_refresh(fixture->sources[0], on_refreshed, fixture);
    run(fixture, NSEC_PER_SEC);
    assert_int_equal(fixture->refreshed, 2);
    assert_int_equal(fixture->server.gets, gets + 3);
}

/* ---- files --------------------------------------------------------------------------------- */

static void write_file(const char *path, const struct buf *content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    if (content->n)
        assert_int_equal(write(fd, content->p, content->n), content->n);
    assert_int_equal(close(fd), 0);
}

struct files {
    char folder[32];
    char *cert, *key, *ca;
};

static void open_files(struct files *files)
{
    (void)snprintf(files->folder, sizeof(files->folder), "/tmp/pumice-certs-XXXXXX");
    assert_non_null(mkdtemp(files->folder));
    files->cert = xasprintf("%s/tls.crt", files->folder);
    files->key = xasprintf("%s/tls.key", files->folder);
    files->ca = xasprintf("%s/ca.crt", files->folder);
}

static void close_files(struct files *files)
{
    (void)unlink(files->cert);
    (void)unlink(files->key);
    (void)unlink(files->ca);
    (void)rmdir(files->folder);
    free(files->cert);
    free(files->key);
    free(files->ca);
}

static void write_bundle(const struct files *files, const struct cert_bundle *bundle)
{
    write_file(files->cert, &bundle->cert);
    write_file(files->key, &bundle->key);
    write_file(files->ca, &bundle->ca_cert);
}

static void make_bundle(struct cert_bundle *bundle, int64_t now_ns)
{
    const struct cert_names names = {.items = {"files.test"}, .n = 1};
    struct error err = ERROR_INIT;
    cert_bundle_init(bundle);
    assert_int_equal(cert_bundle_make(bundle, &names, now_ns, &err), 0);
}

static void test_files(void **state)
{
    struct fixture *fixture = *state;
    struct files files;
    struct cert_bundle first, second;
    make_bundle(&first, START);
    make_bundle(&second, START);
    open_files(&files);
    write_bundle(&files, &first);
    fixture->config.cert_file = files.cert;
    fixture->config.key_file = files.key;
    fixture->config.ca_file = files.ca;
    start(fixture, 0);
    assert_int_equal(fixture->changes[0], 1); /* at once */
    run(fixture, 60 * NSEC_PER_SEC);
    assert_int_equal(fixture->changes[0], 1);
    /* A key that does not fit is told, and the old pair stays. */
    write_file(files.key, &second.key);
    run(fixture, 15 * NSEC_PER_SEC);
    assert_int_equal(fixture->changes[0], 1);
    assert_non_null(strstr(cert_source_trouble(fixture->sources[0]), "tls.crt"));
    write_bundle(&files, &second);
    run(fixture, 15 * NSEC_PER_SEC);
    assert_int_equal(fixture->changes[0], 2);
    assert_string_equal(cert_source_trouble(fixture->sources[0]), "");
    write_file(files.cert, &(struct buf){.n = 0});
    run(fixture, 15 * NSEC_PER_SEC);
    assert_int_equal(fixture->changes[0], 2);
    assert_true(cert_bundle_equal(cert_source_current(fixture->sources[0]), &second) ||
                second.ca_key.n > 0);
    close_files(&files);
    cert_bundle_clear(&first);
    cert_bundle_clear(&second);
}

static void test_bad_files_at_the_start(void **state)
{
    struct fixture *fixture = *state;
    struct files files;
    struct cert_bundle expired;
    struct error err = ERROR_INIT;
    open_files(&files);
    fixture->config.changed = on_first;
    fixture->config.cert_file = files.cert;
    fixture->config.key_file = files.key;
    assert_null(cert_source_new(&fixture->config, &err));
    assert_non_null(strstr(err.text, "tls.crt"));
    make_bundle(&expired, START - 400 * DAY);
    write_bundle(&files, &expired);
    assert_null(cert_source_new(&fixture->config, &err));
    assert_non_null(strstr(err.text, "has expired"));
    cert_bundle_clear(&expired);
    close_files(&files);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_made_once),
        TEST(test_deleted_comes_back_as_it_was),
        TEST(test_renewed_in_time),
        TEST(test_expired_is_replaced),
        TEST(test_unusable_content_is_replaced),
        TEST(test_an_emptied_authority_is_replaced),
        TEST(test_other_names_keep_the_authority),
        TEST(test_trouble_is_told_and_retried),
        TEST(test_refresh),
        TEST(test_files),
        TEST(test_bad_files_at_the_start),
    };
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    log_set_fd(null);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
