/*
 * Files of bearer tokens.
 */
#include "sim.h"

#include "front/tokens.h"

static void test_lines_with_and_without_groups(void **state)
{
    (void)state;
    struct sim_tokens tokens = SIM_TOKENS_INIT;
    struct error err = ERROR_INIT;
    assert_int_equal(
        sim_tokens_read(&tokens, STR("t-1,alice,1\n\nt-2,bob,2,\"system:masters,dev\"\n"), &err),
        0);
    assert_true(sim_tokens_have(&tokens, STR("t-1")));
    assert_true(sim_tokens_have(&tokens, STR("t-2")));
    assert_false(sim_tokens_have(&tokens, STR("t-")));
    assert_false(sim_tokens_have(&tokens, STR("bob")));
    assert_false(sim_tokens_have(&tokens, STR_NULL));
    sim_tokens_clear(&tokens);
}

static void test_a_line_that_lacks_something_is_named(void **state)
{
    (void)state;
    static const char *const texts[] = {"t,alice,1\nt-2,bob\n", "t,alice,1\n,bob,2\n",
                                        "t,alice,1\nt-2,,2\n"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct sim_tokens tokens = SIM_TOKENS_INIT;
        struct error err = ERROR_INIT;
        assert_int_equal(sim_tokens_read(&tokens, str_of(texts[i]), &err), -1);
        assert_int_equal(err.cls, ERROR_INVALID);
        assert_non_null(strstr(err.text, "line 2"));
        assert_false(sim_tokens_have(&tokens, STR_NULL));
        sim_tokens_clear(&tokens);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_with_and_without_groups),
        cmocka_unit_test(test_a_line_that_lacks_something_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
