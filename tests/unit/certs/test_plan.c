/*
 * What comes next: every row of the table.
 */
#include "testing.h"

#include "base/timefmt.h"
#include "certs/plan.h"

#define NOW (INT64_C(1800000000) * NSEC_PER_SEC)
#define OVERLAP (100 * NSEC_PER_SEC)

static struct cert_facts steady(void)
{
    return (struct cert_facts){
        .state = {.signs = true}, .since_ns = NOW - OVERLAP, .overlap_ns = OVERLAP, .now_ns = NOW};
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    struct cert_facts facts = steady();
    assert_int_equal(cert_plan(&facts), CERT_KEEP);
}

/* Without a key that signs it is somebody else's. */
static void test_what_is_not_ours_is_left_alone(void **state)
{
    (void)state;
    struct cert_facts facts = steady();
    facts.state =
        (struct cert_state){.renewal_due = true, .authority_due = true, .staged = true, .spare = 3};
    facts.trusted = true;
    facts.request = CERT_REQUEST_AUTHORITY;
    assert_int_equal(cert_plan(&facts), CERT_KEEP);
}

static void test_a_leaf(void **state)
{
    (void)state;
    struct cert_facts facts = steady();
    facts.state.renewal_due = true;
    assert_int_equal(cert_plan(&facts), CERT_RENEW);
    facts.state.renewal_due = false;
    facts.request = CERT_REQUEST_LEAF;
    assert_int_equal(cert_plan(&facts), CERT_RENEW);
    facts.state.staged = true; /* while a next authority waits, too */
    assert_int_equal(cert_plan(&facts), CERT_RENEW);
    facts.trusted = true; /* the switch makes one anyway */
    assert_int_equal(cert_plan(&facts), CERT_SWITCH);
}

static void test_an_authority(void **state)
{
    (void)state;
    struct cert_facts facts = steady();
    facts.state.authority_due = true;
    facts.state.renewal_due = true;
    assert_int_equal(cert_plan(&facts), CERT_STAGE);
    facts = steady();
    facts.request = CERT_REQUEST_AUTHORITY;
    assert_int_equal(cert_plan(&facts), CERT_STAGE);
    facts.state.staged = true;
    assert_int_equal(cert_plan(&facts), CERT_KEEP);
    facts.trusted = true;
    assert_int_equal(cert_plan(&facts), CERT_SWITCH);
}

static void test_the_authorities_before_go_in_time(void **state)
{
    (void)state;
    struct cert_facts facts = steady();
    facts.state.spare = 1;
    assert_int_equal(cert_plan(&facts), CERT_DROP);
    facts.since_ns++;
    assert_int_equal(cert_plan(&facts), CERT_KEEP);
}

static void test_the_most_authorities(void **state)
{
    (void)state;
    struct cert_facts facts = steady();
    facts.request = CERT_REQUEST_AUTHORITY;
    facts.state.spare = CERT_AUTHORITIES_MAX - 2;
    assert_int_equal(cert_plan(&facts), CERT_STAGE);
    facts.state.spare++;
    assert_int_equal(cert_plan(&facts), CERT_DROP); /* then there is room again */
    facts.since_ns = NOW;
    assert_int_equal(cert_plan(&facts), CERT_KEEP);
}

static void test_what_a_step_fulfils(void **state)
{
    (void)state;
    assert_true(cert_step_fulfils(CERT_RENEW, CERT_REQUEST_LEAF));
    assert_true(cert_step_fulfils(CERT_SWITCH, CERT_REQUEST_LEAF));
    assert_false(cert_step_fulfils(CERT_STAGE, CERT_REQUEST_LEAF));
    assert_false(cert_step_fulfils(CERT_DROP, CERT_REQUEST_LEAF));
    assert_true(cert_step_fulfils(CERT_STAGE, CERT_REQUEST_AUTHORITY));
    assert_true(cert_step_fulfils(CERT_SWITCH, CERT_REQUEST_AUTHORITY));
    assert_false(cert_step_fulfils(CERT_RENEW, CERT_REQUEST_AUTHORITY));
    assert_false(cert_step_fulfils(CERT_RENEW, CERT_REQUEST_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_what_is_not_ours_is_left_alone),
        cmocka_unit_test(test_a_leaf),
        cmocka_unit_test(test_an_authority),
        cmocka_unit_test(test_the_authorities_before_go_in_time),
        cmocka_unit_test(test_the_most_authorities),
        cmocka_unit_test(test_what_a_step_fulfils),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
