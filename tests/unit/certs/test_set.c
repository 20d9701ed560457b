/*
 * Sets of certificates: each once, compared as certificates, bounded.
 */
#include "testing.h"

#include "base/timefmt.h"
#include "certs/authority.h"
#include "certs/set.h"

#define DAY (NSEC_PER_SEC * 3600 * 24)
#define NOW (INT64_C(1800000000) * NSEC_PER_SEC)
#define MADE (CERT_SET_MAX + 1)

static const struct cert_names names = {.items = {"svc"}, .n = 1};

struct fixture {
    struct cert_bundle made[MADE]; /* each with an authority of its own, the first made long ago */
};

static int setup(void **state)
{
    struct fixture *f = xnew(struct fixture);
    struct error err = ERROR_INIT;
    for (size_t i = 0; i < MADE; i++) {
        cert_bundle_init(&f->made[i]);
        assert_int_equal(cert_bundle_make(&f->made[i], &names, i ? NOW : NOW - 4000 * DAY, &err),
                         0);
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < MADE; i++)
        cert_bundle_clear(&f->made[i]);
    free(f);
    return 0;
}

static struct str pem_of(const struct fixture *f, size_t i)
{
    return buf_str(&f->made[i].ca_cert);
}

static void test_each_once_and_in_order(void **state)
{
    const struct fixture *f = *state;
    struct cert_set set cleanup_cert_set = {.n = 0};
    struct buf text cleanup_buf = BUF_INIT(100000), want cleanup_buf = BUF_INIT(100000);
    buf_printf(&text, "# a comment\n%.*s\r\n%.*s%.*s", STR_ARG(pem_of(f, 2)), STR_ARG(pem_of(f, 1)),
               STR_ARG(pem_of(f, 2)));
    assert_true(cert_set_add_pem(&set, buf_str(&text)));
    assert_int_equal(set.n, 2);
    assert_true(cert_set_add_pem(&set, pem_of(f, 1)));
    assert_int_equal(set.n, 2);
    buf_reset(&text);
    assert_true(cert_set_write(&set, &text));
    buf_printf(&want, "%.*s%.*s", STR_ARG(pem_of(f, 2)), STR_ARG(pem_of(f, 1)));
    assert_true(str_eq(buf_str(&text), buf_str(&want)));
    struct buf small cleanup_buf = BUF_INIT(100);
    assert_false(cert_set_write(&set, &small));
}

static void test_what_is_no_certificate(void **state)
{
    const struct fixture *f = *state;
    struct cert_set set cleanup_cert_set = {.n = 0};
    struct buf text cleanup_buf = BUF_INIT(100000);
    assert_false(cert_set_add_pem(&set, STR_NULL));
    assert_false(cert_set_add_pem(&set, STR("none")));
    assert_false(cert_set_add_pem(&set, buf_str(&f->made[1].key)));
    buf_printf(&text, "%.*s-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n",
               STR_ARG(pem_of(f, 1)));
    assert_false(cert_set_add_pem(&set, buf_str(&text)));
    assert_int_equal(set.n, 1); /* the one before it */
    buf_truncate(&text, text.n - 10);
    assert_false(cert_set_add_pem(&set, buf_str(&text)));
}

static void test_algebra(void **state)
{
    const struct fixture *f = *state;
    struct cert_set a cleanup_cert_set = {.n = 0}, b cleanup_cert_set = {.n = 0};
    struct cert_set empty cleanup_cert_set = {.n = 0};
    assert_true(cert_set_add_pem(&a, pem_of(f, 1)) && cert_set_add_pem(&a, pem_of(f, 2)));
    assert_true(cert_set_add_pem(&b, pem_of(f, 2)));
    assert_true(cert_set_contains(&a, &b) && cert_set_overlaps(&a, &b));
    assert_false(cert_set_contains(&b, &a));
    assert_true(cert_set_contains(&b, &empty));
    assert_false(cert_set_overlaps(&b, &empty));
    cert_set_remove(&a, &b);
    assert_int_equal(a.n, 1);
    assert_false(cert_set_overlaps(&a, &b));
    assert_true(cert_set_add(&a, &b));
    assert_true(cert_set_contains(&a, &b));
}

static void test_the_expired_go(void **state)
{
    const struct fixture *f = *state;
    struct cert_set set cleanup_cert_set = {.n = 0};
    assert_true(cert_set_add_pem(&set, pem_of(f, 0)) && cert_set_add_pem(&set, pem_of(f, 1)));
    cert_set_drop_expired(&set, NOW);
    assert_int_equal(set.n, 1);
    cert_set_drop_expired(&set, NOW + 3650 * DAY - 1);
    assert_int_equal(set.n, 1);
    cert_set_drop_expired(&set, NOW + 3650 * DAY);
    assert_int_equal(set.n, 0);
}

static void test_the_limit(void **state)
{
    const struct fixture *f = *state;
    struct cert_set set cleanup_cert_set = {.n = 0}, last cleanup_cert_set = {.n = 0};
    for (size_t i = 0; i < CERT_SET_MAX; i++)
        assert_true(cert_set_add_pem(&set, pem_of(f, i)));
    assert_int_equal(set.n, CERT_SET_MAX);
    assert_true(cert_set_add_pem(&set, pem_of(f, 0)));
    assert_false(cert_set_add_pem(&set, pem_of(f, CERT_SET_MAX)));
    assert_true(cert_set_add_pem(&last, pem_of(f, CERT_SET_MAX)));
    assert_false(cert_set_add(&set, &last));
    assert_int_equal(set.n, CERT_SET_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_once_and_in_order),
        cmocka_unit_test(test_what_is_no_certificate),
        cmocka_unit_test(test_algebra),
        cmocka_unit_test(test_the_expired_go),
        cmocka_unit_test(test_the_limit),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
