/*
 * The parts of the rules of jobs that golden cases do not reach: arguments of plugins as Go reads
 * them, and warnings at their limits.
 */
#include "testing.h"

#include "webhook/job/plugin_args.h"
#include "webhook/registry.h"

static const struct goflag flags[] = {{"name", GOFLAG_TEXT, "preset"},
                                      {"port", GOFLAG_NUMBER, "preset"},
                                      {"fast", GOFLAG_BOOL, "preset"},
                                      {NULL, GOFLAG_TEXT, NULL}};

static void assert_arg(const char *json, const char *name, const char *want)
{
    cJSON *args = cJSON_Parse(json);
    assert_str(plugin_arg(args, flags, name), want);
    cJSON_Delete(args);
}

static void test_plugin_args(void **state)
{
    (void)state;
    assert_arg("null", "name", "preset");
    assert_arg("[]", "name", "preset");
    assert_arg("[\"-name=a\"]", "name", "a");
    assert_arg("[\"--name=a\"]", "name", "a");
    assert_arg("[\"--name\",\"a\"]", "name", "a");
    assert_arg("[\"--name=a\",\"--name=b\"]", "name", "b");
    assert_arg("[\"--name=a=b\"]", "name", "a=b");
    assert_arg("[\"--name=\"]", "name", "");
    assert_arg("[\"--name\",\"--port=1\"]", "name", "--port=1");
    assert_arg("[\"--port=1\",\"--name=a\"]", "name", "a");
    assert_arg("[\"--fast\",\"--name=a\"]", "name", "a");
    assert_arg("[\"--fast=false\",\"--name=a\"]", "name", "a");
    assert_arg("[\"--fast\"]", "fast", "true");
}

static void test_plugin_args_end(void **state)
{
    (void)state;
    assert_arg("[\"--name\"]", "name", "preset");
    assert_arg("[\"---name=a\"]", "name", "preset");
    assert_arg("[\"--=a\",\"--name=a\"]", "name", "preset");
    assert_arg("[\"-\",\"--name=a\"]", "name", "preset");
    assert_arg("[\"--\",\"--name=a\"]", "name", "preset");
    assert_arg("[\"\",\"--name=a\"]", "name", "preset");
    assert_arg("[\"word\",\"--name=a\"]", "name", "preset");
    assert_arg("[\"--other=1\",\"--name=a\"]", "name", "preset");
    assert_arg("[\"--fast=maybe\",\"--name=a\"]", "name", "preset");
    assert_arg("[\"--fast\",\"false\",\"--name=a\"]", "name", "preset");
    assert_arg("[7,\"--name=a\"]", "name", "preset");
    assert_arg("[\"--name\",7]", "name", "preset");
}

static bool is_port(const char *text)
{
    struct buf json = BUF_INIT(1024);
    buf_printf(&json, "[\"--port=%s\",\"--name=a\"]", text);
    cJSON *args = cJSON_Parse(json.p);
    bool good = str_is(plugin_arg(args, flags, "name"), "a");
    cJSON_Delete(args);
    buf_clear(&json);
    return good;
}

static void test_plugin_numbers(void **state)
{
    (void)state;
    static const char *const good[] = {"0",
                                       "22",
                                       "-1",
                                       "+1",
                                       "0x1F",
                                       "0b10",
                                       "0o17",
                                       "017",
                                       "1_000",
                                       "0x_1F",
                                       "0_7",
                                       "00",
                                       "0XfF",
                                       "9223372036854775807",
                                       "-9223372036854775808"};
    static const char *const bad[] = {"",
                                      "-",
                                      "x",
                                      "2x",
                                      "08",
                                      "0x",
                                      "0b2",
                                      "1__0",
                                      "_1",
                                      "1_",
                                      "1.5",
                                      "1e3",
                                      "0x_",
                                      "ff",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999"};
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        if (!is_port(good[i]))
            fail_msg("%s is a number", good[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        if (is_port(bad[i]))
            fail_msg("%s is no number", bad[i]);
    }
}

static void test_warning_text(void **state)
{
    (void)state;
    struct arena arena = ARENA_INIT;
    struct admission_case c = {.arena = &arena};
    char text[VERDICT_WARNING_SIZE + 2];
    memset(text, 'a', sizeof(text));
    text[VERDICT_WARNING_SIZE + 1] = '\0';
    case_warn(&c, "%s", text + 1);
    assert_int_equal(strlen(c.warnings[0]), VERDICT_WARNING_SIZE);
    case_warn(&c, "%s", text);
    assert_int_equal(strlen(c.warnings[1]), VERDICT_WARNING_SIZE);
    /* A character that would be cut in the middle is left out. */
    memcpy(text + VERDICT_WARNING_SIZE - 1, "\xC3\xA4", 2);
    case_warn(&c, "%s", text);
    assert_int_equal(strlen(c.warnings[2]), VERDICT_WARNING_SIZE - 1);
    case_warn(&c, "a\tb\x7f"
                  "c\xC2\x85"
                  "d\xC2\xA0"
                  "e\xFF"
                  "f");
    assert_string_equal(c.warnings[3], "a b c d\xC2\xA0"
                                       "e f");
    arena_clear(&arena);
}

static void test_warning_count(void **state)
{
    (void)state;
    struct arena arena = ARENA_INIT;
    struct admission_case c = {.arena = &arena};
    for (int i = 0; i < VERDICT_WARNINGS_MAX; i++)
        case_warn(&c, "%d", i);
    assert_string_equal(c.warnings[VERDICT_WARNINGS_MAX - 1], "7");
    case_warn(&c, "one more");
    assert_string_equal(c.warnings[VERDICT_WARNINGS_MAX - 2], "6");
    assert_string_equal(c.warnings[VERDICT_WARNINGS_MAX - 1], "2 more warnings are not shown");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plugin_args), cmocka_unit_test(test_plugin_args_end),
        cmocka_unit_test(test_plugin_numbers), cmocka_unit_test(test_warning_text),
        cmocka_unit_test(test_warning_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
