/*
 * The authorities of clients: read at the start, read again, and kept when the file is no good.
 */
#include "testing.h"

#include "base/log.h"
#include "certs/authority.h"
#include "webhook/client_ca.h"
#include <fcntl.h>
#include <stdio.h>

#define DAY (NSEC_PER_SEC * 3600 * 24)
#define START (INT64_C(1800000000) * NSEC_PER_SEC)

struct fixture {
    struct loop *loop;
    char path[64];
    struct buf first, second, old; /* PEM; the last has expired */
    unsigned changes;
};

static void make(struct buf *pem, int64_t now_ns)
{
    static const struct cert_names names = {.n = 0};
    struct cert_bundle bundle;
    struct error err = ERROR_INIT;
    cert_bundle_init(&bundle);
    assert_int_equal(cert_bundle_make(&bundle, &names, now_ns, &err), 0);
    buf_init(pem, 10000);
    buf_add_str(pem, buf_str(&bundle.ca_cert));
    cert_bundle_clear(&bundle);
}

static int setup(void **state)
{
    struct fixture *f = xnew(struct fixture);
    f->loop = loop_new_virtual(1, START);
    (void)snprintf(f->path, sizeof(f->path), "/tmp/pumice-client-ca-XXXXXX");
    int fd = mkstemp(f->path);
    assert_true(fd >= 0);
    (void)close(fd);
    make(&f->first, START);
    make(&f->second, START);
    make(&f->old, START - 4000 * DAY);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    (void)unlink(f->path);
    buf_clear(&f->first);
    buf_clear(&f->second);
    buf_clear(&f->old);
    loop_free(f->loop);
    free(f);
    return 0;
}

static void put(const struct fixture *f, struct str text)
{
    int fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    if (text.n)
        assert_int_equal(write(fd, text.p, text.n), text.n);
    assert_int_equal(close(fd), 0);
}

static void on_changed(void *arg)
{
    struct fixture *f = arg;
    f->changes++;
}

static void run(const struct fixture *f)
{
    const int64_t until = loop_now(f->loop) + 25 * NSEC_PER_SEC;
    while (loop_now(f->loop) < until)
        (void)loop_turn(f->loop, until - loop_now(f->loop));
}

static void test_followed(void **state)
{
    struct fixture *f = *state;
    struct error err = ERROR_INIT;
    put(f, buf_str(&f->first));
    struct client_ca *ca = client_ca_new(f->loop, f->path, 10 * NSEC_PER_SEC, on_changed, f, &err);
    assert_non_null(ca);
    assert_true(str_eq(client_ca_pem(ca), buf_str(&f->first)));
    run(f);
    assert_int_equal(f->changes, 0);
    const struct str bad[] = {STR_NULL, STR("nonsense"), buf_str(&f->old)};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        put(f, bad[i]);
        run(f);
        assert_int_equal(f->changes, 0);
        assert_non_null(strstr(client_ca_trouble(ca), f->path));
        assert_true(str_eq(client_ca_pem(ca), buf_str(&f->first)));
    }
    put(f, buf_str(&f->second));
    run(f);
    assert_int_equal(f->changes, 1);
    assert_string_equal(client_ca_trouble(ca), "");
    assert_true(str_eq(client_ca_pem(ca), buf_str(&f->second)));
    assert_int_equal(unlink(f->path), 0);
    run(f);
    assert_true(*client_ca_trouble(ca) && f->changes == 1);
    client_ca_free(ca);
}

static void test_bad_at_the_start(void **state)
{
    struct fixture *f = *state;
    struct error err = ERROR_INIT;
    put(f, buf_str(&f->old));
    assert_null(client_ca_new(f->loop, f->path, NSEC_PER_SEC, on_changed, f, &err));
    assert_non_null(strstr(err.text, "has expired"));
    client_ca_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_at_the_start, setup, teardown),
    };
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    log_set_fd(null);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
