/*
 * Arguments of plugins and actions: what each question takes for an answer.
 */
#include "testing.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "scheduler/arguments.h"
#include <fcntl.h>
#include <unistd.h>

static struct arguments *arguments_from(const char *json)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct arguments *arguments = arguments_new("plugin test");
    json_init(&reader, str_of(json), &arena);
    arguments_read(arguments, &reader);
    assert_false(json_failed(&reader));
    return arguments;
}

/* What an argument of that JSON text is to each question; -1: the preset stays. */
static const struct {
    const char *json;
    int whole, number, boolean, text, map, list;
} answers[] = {
    {"7", 7, 7, -1, -1, -1, -1},          {"7.0", -1, 7, -1, -1, -1, -1},
    {"-7", -7, -7, -1, -1, -1, -1},       {"99999999999999999999", -1, 1, -1, -1, -1, -1},
    {"\"7\"", -1, -1, -1, 1, -1, -1},     {"\"\"", -1, -1, -1, 1, -1, -1},
    {"true", -1, -1, 1, -1, -1, -1},      {"false", -1, -1, 0, -1, -1, -1},
    {"\"True\"", -1, -1, 1, 1, -1, -1},   {"\"off\"", -1, -1, 0, 1, -1, -1},
    {"\"yes\"", -1, -1, 1, 1, -1, -1},    {"\"maybe\"", -1, -1, -1, 1, -1, -1},
    {"{\"a\":1}", -1, -1, -1, -1, 1, -1}, {"[1,2]", -1, -1, -1, -1, -1, 1},
    {"null", -1, -1, -1, -1, -1, -1},
};

static void check_answers(size_t i)
{
    cleanup_free char *json = xasprintf("{\"a\":%s}", answers[i].json);
    struct arguments *arguments = arguments_from(json);
    int64_t whole = -100;
    double number = -100;
    bool boolean = answers[i].boolean <= 0;
    const char *text = NULL;
    struct str map = STR_NULL, list = STR_NULL;
    bool found = arguments_int(arguments, "a", &whole);
    assert_int_equal(found, whole != -100);
    assert_int_equal(whole, answers[i].whole == -1 ? -100 : answers[i].whole);
    found = arguments_double(arguments, "a", &number);
    assert_int_equal(found, number > -100);
    assert_true(answers[i].number == -1 ? number <= -100
                : answers[i].number == 1
                    ? number > 1e19
                    : number > answers[i].number - 0.1 && number < answers[i].number + 0.1);
    assert_int_equal(arguments_bool(arguments, "a", &boolean), answers[i].boolean != -1);
    assert_int_equal(boolean, answers[i].boolean != 0);
    assert_int_equal(arguments_str(arguments, "a", &text), answers[i].text == 1);
    assert_int_equal(text != NULL, answers[i].text == 1);
    assert_int_equal(arguments_json(arguments, "a", JSON_OBJECT, &map), answers[i].map == 1);
    assert_int_equal(map.n, answers[i].map == 1 ? strlen(answers[i].json) : 0);
    assert_int_equal(arguments_json(arguments, "a", JSON_ARRAY, &list), answers[i].list == 1);
    assert_false(arguments_int(arguments, "b", &whole));
    arguments_free(arguments);
}

static void types_are_kept_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
        check_answers(i);
}

/* What a duration is, in seconds; -1: the preset stays. */
static void durations_are_texts_or_seconds(void **state)
{
    static const struct {
        const char *json;
        int seconds;
    } durations[] = {{"\"30m\"", 1800}, {"90", 90},   {"\"90\"", 90},   {"\"1m30s\"", 90},
                     {"0", 0},          {"\"0\"", 0}, {"\"0s\"", 0},    {"-1", -1},
                     {"\"-5s\"", -1},   {"1.5", -1},  {"\"soon\"", -1}, {"true", -1},
                     {"{\"a\":1}", -1}, {"null", -1}};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
        cleanup_free char *json = xasprintf("{\"a\":%s}", durations[i].json);
        struct arguments *arguments = arguments_from(json);
        int64_t ns = -1;
        bool found = arguments_duration(arguments, "a", &ns);
        if (found != (durations[i].seconds >= 0) ||
            ns != (found ? durations[i].seconds * NSEC_PER_SEC : -1))
            fail_msg("%s", json);
        arguments_free(arguments);
    }
}

static void the_last_of_a_name_counts(void **state)
{
    (void)state;
    int64_t value = 0;
    struct arguments *arguments = arguments_from("{\"a\":1,\"a\":2}");
    assert_true(arguments_int(arguments, "a", &value));
    assert_int_equal(value, 2);
    arguments_free(arguments);
    arguments_free(NULL);
}

static void names_by_their_beginning(void **state)
{
    (void)state;
    struct arguments *arguments =
        arguments_from("{\"w.a\":1,\"other\":2,\"w.b\":3,\"w\":4,\"w.c\":\"x\"}");
    struct str name;
    char all[32] = "";
    size_t position = 0, n = 0;
    while (arguments_next(arguments, "w.", &position, &name))
        all[n++] = name.p[2];
    assert_string_equal(all, "abc");
    arguments_free(arguments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_kept_apart),
        cmocka_unit_test(durations_are_texts_or_seconds),
        cmocka_unit_test(the_last_of_a_name_counts),
        cmocka_unit_test(names_by_their_beginning),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
