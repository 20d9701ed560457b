/*
 * Certificates: what is made can be used; what is wrong is named; life and renewal at their edges.
 */
#include "testing.h"

#include "base/timefmt.h"
#include "certs/authority.h"

#define DAY (NSEC_PER_SEC * 3600 * 24)
#define NOW (INT64_C(1800000000) * NSEC_PER_SEC)

static const struct cert_names names = {.items = {"svc.ns.svc", "svc", "127.0.0.1", "::1"}, .n = 4};
static const struct cert_names none = {.n = 0};

static void make(struct cert_bundle *bundle)
{
    struct error err = ERROR_INIT;
    cert_bundle_init(bundle);
    assert_int_equal(cert_bundle_make(bundle, &names, NOW, &err), 0);
}

static int check(const struct cert_bundle *bundle, const struct cert_names *wanted, int64_t now,
                 struct error *err)
{
    struct cert_state state;
    *err = (struct error)ERROR_INIT;
    return cert_bundle_check(bundle, wanted, now, &state, err);
}

static void assert_wrong(const struct cert_bundle *bundle, const struct cert_names *wanted,
                         int64_t now, const char *text)
{
    struct error err;
    assert_int_equal(check(bundle, wanted, now, &err), -1);
    assert_int_equal(err.cls, ERROR_INVALID);
    if (!strstr(err.text, text))
        fail_msg("\"%s\" does not say \"%s\"", err.text, text);
}

static void test_made(void **state)
{
    (void)state;
    struct cert_bundle bundle;
    struct cert_state life;
    struct error err = ERROR_INIT;
    make(&bundle);
    assert_int_equal(cert_bundle_check(&bundle, &names, NOW, &life, &err), 0);
    assert_false(life.renewal_due);
    assert_int_equal(life.not_after_ns, NOW + 365 * DAY);
    assert_int_equal(life.ca_not_after_ns, NOW + 3650 * DAY);
    assert_true(str_starts(buf_str(&bundle.key), STR("-----BEGIN PRIVATE KEY-----")));
    const struct cert_names other = {.items = {"svc", "other.test"}, .n = 2};
    assert_wrong(&bundle, &other, NOW, "is not for other.test");
    cert_bundle_clear(&bundle);
}

/* Of what we did not make only the names that callers use are asked. */
static void test_needed_names(void **state)
{
    (void)state;
    struct cert_bundle bundle;
    struct error err;
    const struct cert_names wanted = {
        .items = {"svc", "127.0.0.1", "other.test"}, .n = 3, .needed = 2};
    const struct cert_names wrong = {.items = {"svc", "other.test"}, .n = 2, .needed = 2};
    make(&bundle);
    assert_wrong(&bundle, &wanted, NOW, "is not for other.test");
    buf_reset(&bundle.ca_key);
    assert_int_equal(check(&bundle, &wanted, NOW, &err), 0);
    assert_wrong(&bundle, &wrong, NOW, "is not for other.test");
    cert_bundle_clear(&bundle);
}

static void test_life(void **state)
{
    (void)state;
    struct cert_bundle bundle;
    struct error err;
    struct cert_state life;
    make(&bundle);
    assert_wrong(&bundle, &names, NOW - 3601 * NSEC_PER_SEC, "is not valid before");
    assert_int_equal(check(&bundle, &names, NOW - 3600 * NSEC_PER_SEC, &err), 0);
    assert_int_equal(check(&bundle, &names, NOW + 365 * DAY - 1, &err), 0);
    assert_wrong(&bundle, &names, NOW + 365 * DAY, "the serving certificate has expired");
    assert_int_equal(cert_bundle_check(&bundle, &names, NOW + 243 * DAY, &life, &err), 0);
    assert_false(life.renewal_due);
    assert_int_equal(cert_bundle_check(&bundle, &names, NOW + 244 * DAY, &life, &err), 0);
    assert_true(life.renewal_due);
    cert_bundle_clear(&bundle);
}

static void test_renew(void **state)
{
    (void)state;
    struct cert_bundle bundle, old;
    struct cert_state life;
    struct error err = ERROR_INIT;
    const int64_t later = NOW + 300 * DAY;
    make(&bundle);
    cert_bundle_init(&old);
    buf_add_str(&old.ca_cert, buf_str(&bundle.ca_cert));
    buf_add_str(&old.cert, buf_str(&bundle.cert));
    assert_int_equal(cert_bundle_renew(&bundle, &names, later, &err), 0);
    assert_int_equal(cert_bundle_check(&bundle, &names, later, &life, &err), 0);
    assert_int_equal(life.not_after_ns, later + 365 * DAY);
    assert_true(str_eq(buf_str(&old.ca_cert), buf_str(&bundle.ca_cert)));
    assert_false(str_eq(buf_str(&old.cert), buf_str(&bundle.cert)));
    cert_bundle_clear(&bundle);
    cert_bundle_clear(&old);
}

static void test_without_its_key_nothing_is_renewed(void **state)
{
    (void)state;
    struct cert_bundle bundle;
    struct error err = ERROR_INIT;
    make(&bundle);
    buf_clear(&bundle.ca_key);
    assert_int_equal(cert_bundle_renew(&bundle, &names, NOW, &err), -1);
    cert_bundle_clear(&bundle);
}

static struct cert_state look(const struct cert_bundle *bundle, int64_t now)
{
    struct error err = ERROR_INIT;
    struct cert_state state;
    assert_int_equal(cert_bundle_check(bundle, &names, now, &state, &err), 0);
    return state;
}

static void test_from_one_authority_to_the_next(void **state)
{
    (void)state;
    struct cert_bundle bundle, old;
    struct error err = ERROR_INIT;
    make(&bundle);
    cert_bundle_init(&old);
    cert_bundle_copy(&old, &bundle);
    struct cert_state found = look(&bundle, NOW);
    assert_true(found.signs && !found.staged && found.spare == 0);

    assert_int_equal(cert_bundle_stage(&bundle, NOW + DAY, &err), 0);
    found = look(&bundle, NOW + DAY);
    assert_true(found.signs && found.staged && found.spare == 0);
    assert_int_equal(found.staged_ns, NOW + DAY);
    assert_true(cert_bundle_same_pair(&bundle, &old));

    assert_int_equal(cert_bundle_switch(&bundle, &names, NOW + 2 * DAY, &err), 0);
    found = look(&bundle, NOW + 2 * DAY);
    assert_true(found.signs && !found.staged && found.spare == 1);
    assert_int_equal(found.issued_ns, NOW + 2 * DAY);
    assert_int_equal(found.ca_not_after_ns, NOW + 3651 * DAY);
    assert_false(cert_bundle_same_authority(&old, &bundle));
    assert_true(cert_bundle_trusted_by(&old, buf_str(&bundle.ca_cert)));
    assert_false(cert_bundle_trusted_by(&bundle, buf_str(&old.ca_cert)));

    assert_int_equal(cert_bundle_drop(&bundle, &err), 0);
    found = look(&bundle, NOW + 2 * DAY);
    assert_true(found.signs && found.spare == 0);
    assert_false(cert_bundle_trusted_by(&old, buf_str(&bundle.ca_cert)));

    assert_int_equal(cert_bundle_stage(&bundle, NOW + 3 * DAY, &err), 0);
    assert_int_equal(cert_bundle_drop(&bundle, &err), 0); /* the next one stays */
    found = look(&bundle, NOW + 3 * DAY);
    assert_true(found.staged && found.spare == 0);
    cert_bundle_clear(&bundle);
    cert_bundle_clear(&old);
}

/* A certificate does not outlive its authority; neither is used after its time. */
static void test_ages_of_authorities(void **state)
{
    (void)state;
    struct cert_bundle bundle;
    struct error err = ERROR_INIT;
    const int64_t life = 3650 * DAY + 3600 * NSEC_PER_SEC, old = NOW - 3600 * NSEC_PER_SEC;
    make(&bundle);
    assert_int_equal(cert_bundle_renew(&bundle, &names, NOW + 2400 * DAY, &err), 0);
    assert_false(look(&bundle, old + life / 3 * 2 - 1).authority_due);
    assert_true(look(&bundle, old + life / 3 * 2).authority_due);
    assert_int_equal(cert_bundle_stage(&bundle, NOW + 2434 * DAY, &err), 0);
    assert_int_equal(cert_bundle_renew(&bundle, &names, NOW + 3600 * DAY, &err), 0);
    assert_int_equal(look(&bundle, NOW + 3600 * DAY).not_after_ns, NOW + 3650 * DAY);
    assert_true(look(&bundle, NOW + 3600 * DAY).staged);
    assert_wrong(&bundle, &names, NOW + 3650 * DAY, "has expired");
    cert_bundle_clear(&bundle);
}

static void test_what_is_missing_for_a_step(void **state)
{
    (void)state;
    struct cert_bundle bundle;
    struct error err = ERROR_INIT;
    make(&bundle);
    assert_int_equal(cert_bundle_switch(&bundle, &names, NOW, &err), -1); /* no next one */
    struct cert_bundle other;
    make(&other);
    buf_add_str(&bundle.next_key, buf_str(&other.ca_key)); /* of one that nobody is to trust */
    assert_false(look(&bundle, NOW).staged);
    assert_int_equal(cert_bundle_switch(&bundle, &names, NOW, &err), -1);
    buf_reset(&bundle.ca_key);
    assert_false(look(&bundle, NOW).signs);
    assert_int_equal(cert_bundle_drop(&bundle, &err), -1);
    cert_bundle_trust(&bundle, buf_str(&other.ca_cert), NOW);
    assert_int_equal(look(&bundle, NOW).spare, 1); /* the other one is the next */
    cert_bundle_clear(&bundle);
    cert_bundle_clear(&other);
}

static void swap(struct buf *a, struct buf *b)
{
    struct buf kept = *a;
    *a = *b;
    *b = kept;
}

static void test_parts_that_do_not_fit(void **state)
{
    (void)state;
    struct cert_bundle bundle, other;
    struct error err;
    make(&bundle);
    make(&other);
    assert_false(cert_bundle_equal(&bundle, &other));
    assert_true(cert_bundle_equal(&bundle, &bundle));
    swap(&bundle.key, &other.key);
    assert_wrong(&bundle, &names, NOW, "the key is not that of the serving certificate");
    swap(&bundle.key, &other.key);
    swap(&bundle.ca_cert, &other.ca_cert);
    assert_wrong(&bundle, &names, NOW, "not signed by the authority");
    /* Both authorities at once, as during a change. */
    buf_add_str(&bundle.ca_cert, buf_str(&other.ca_cert));
    assert_int_equal(check(&bundle, &names, NOW, &err), 0);
    cert_bundle_clear(&bundle);
    cert_bundle_clear(&other);
}

static void test_unreadable(void **state)
{
    (void)state;
    struct cert_bundle bundle;
    struct error err;
    make(&bundle);
    buf_truncate(&bundle.key, 40);
    assert_wrong(&bundle, &names, NOW, "the key of the serving certificate cannot be read");
    buf_reset(&bundle.cert);
    assert_wrong(&bundle, &names, NOW, "the serving certificate cannot be read");
    cert_bundle_clear(&bundle);
    make(&bundle);
    buf_reset(&bundle.ca_cert);
    buf_add_cstr(&bundle.ca_cert, "nothing");
    assert_wrong(&bundle, &names, NOW, "the certificate of the authority cannot be read");
    buf_reset(&bundle.ca_cert); /* not known, and so not checked */
    assert_int_equal(check(&bundle, &none, NOW, &err), 0);
    cert_bundle_clear(&bundle);
}

static void test_names_are_no_configuration(void **state)
{
    (void)state;
    const struct cert_names bad = {.items = {"a,DNS:b.test"}, .n = 1};
    struct cert_bundle bundle;
    struct error err = ERROR_INIT;
    cert_bundle_init(&bundle);
    assert_int_equal(cert_bundle_make(&bundle, &bad, NOW, &err), -1);
    cert_bundle_clear(&bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made),
        cmocka_unit_test(test_needed_names),
        cmocka_unit_test(test_life),
        cmocka_unit_test(test_renew),
        cmocka_unit_test(test_without_its_key_nothing_is_renewed),
        cmocka_unit_test(test_from_one_authority_to_the_next),
        cmocka_unit_test(test_ages_of_authorities),
        cmocka_unit_test(test_what_is_missing_for_a_step),
        cmocka_unit_test(test_parts_that_do_not_fit),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_names_are_no_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
