/* Cron expressions: what each form means, every limit, what is refused and how it is named. */
#include "base/alloc.h"
#include "base/cron.h"
#include "testing.h"

#define ALL(low, high) (((UINT64_C(2) << (high)) - 1) & ~((UINT64_C(1) << (low)) - 1))
#define BIT(n) (UINT64_C(1) << (n))

static struct cron parse(const char *text)
{
    struct error err = ERROR_INIT;
    struct cron cron;
    if (cron_parse(str_of(text), &cron, &err) < 0)
        fail_msg("\"%s\": %s", text, err.text);
    return cron;
}

static bool same(struct cron a, struct cron b)
{
    return a.minutes == b.minutes && a.hours == b.hours && a.days == b.days &&
           a.months == b.months && a.weekdays == b.weekdays && a.any_day == b.any_day &&
           a.any_weekday == b.any_weekday && a.every_s == b.every_s;
}

static void test_all(void **state)
{
    (void)state;
    struct cron cron = parse("* * * * *");
    assert_true(cron.minutes == ALL(0, 59));
    assert_true(cron.hours == ALL(0, 23));
    assert_true(cron.days == ALL(1, 31));
    assert_true(cron.months == ALL(1, 12));
    assert_true(cron.weekdays == ALL(0, 6));
    assert_true(cron.any_day && cron.any_weekday);
    assert_int_equal(cron.every_s, 0);
}

/* Of one field, the others being "*": the bits of the minutes. */
static void test_minutes(void **state)
{
    (void)state;
    const struct {
        const char *field;
        uint64_t bits;
    } cases[] = {
        {"?", ALL(0, 59)},
        {"0", BIT(0)},
        {"59", BIT(59)},
        {"007", BIT(7)},
        {"+7", BIT(7)},
        {"5-7", BIT(5) | BIT(6) | BIT(7)},
        {"5-5", BIT(5)},
        {"0,30", BIT(0) | BIT(30)},
        {"1,,2,", BIT(1) | BIT(2)},
        {",", 0},
        {"*/20", BIT(0) | BIT(20) | BIT(40)},
        {"*/1", ALL(0, 59)},
        {"50/5", BIT(50) | BIT(55)},
        {"58/1", BIT(58) | BIT(59)},
        {"10-20/5", BIT(10) | BIT(15) | BIT(20)},
        {"7/60", BIT(7)},
        {"7/9223372036854775807", BIT(7)},
        {"*-5", ALL(0, 59)},
        {"*-x-y/30", BIT(0) | BIT(30)},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *text = xasprintf("%s * * * *", cases[i].field);
        if (parse(text).minutes != cases[i].bits)
            fail_msg("%s: %llx", text, (unsigned long long)parse(text).minutes);
        free(text);
    }
}

static void test_names(void **state)
{
    (void)state;
    assert_true(parse("0 0 1 jan *").months == BIT(1));
    assert_true(parse("0 0 1 DEC *").months == BIT(12));
    assert_true(parse("0 0 1 Mar-may/2 *").months == (BIT(3) | BIT(5)));
    assert_true(parse("0 0 1 feb,2,nov *").months == (BIT(2) | BIT(11)));
    assert_true(parse("0 0 * * sun").weekdays == BIT(0));
    assert_true(parse("0 0 * * Mon-FRI").weekdays == ALL(1, 5));
    assert_true(parse("0 0 * * 5-sat").weekdays == (BIT(5) | BIT(6)));
}

/* Whether the days of the month and of the week limit the days. */
static void test_any(void **state)
{
    (void)state;
    struct cron cron = parse("0 0 1 * 1");
    assert_true(!cron.any_day && !cron.any_weekday);
    cron = parse("0 0 ? * 1,*");
    assert_true(cron.any_day && cron.any_weekday);
    cron = parse("0 0 */2 * */1");
    assert_true(!cron.any_day && cron.any_weekday);
    cron = parse("0 0 30 2 *");
    assert_true(cron.days == BIT(30) && cron.months == BIT(2));
}

static void test_descriptors(void **state)
{
    (void)state;
    const struct {
        const char *name, *same;
    } cases[] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_true(same(parse(cases[i].name), parse(cases[i].same)));
    }
}

static void test_every(void **state)
{
    (void)state;
    assert_int_equal(parse("@every 1m").every_s, 60);
    assert_int_equal(parse("@every 1h30m10s").every_s, 5410);
    assert_int_equal(parse("@every 1500ms").every_s, 1);
    assert_int_equal(parse("@every 1ns").every_s, 1);
    assert_int_equal(parse("@every 0").every_s, 1);
    assert_int_equal(parse("@every -5s").every_s, 1);
    assert_true(parse("@every 1m").minutes == 0);
}

static void test_white_space(void **state)
{
    (void)state;
    struct cron plain = parse("1 2 3 4 5");
    const char *cases[] = {
        " 1 2 3 4 5 ",
        "1\t2\n3\v4\f\r5",
        "1\xC2\xA0"
        "2\xE3\x80\x80"
        "3\xE2\x80\x8A"
        "4\xC2\x85"
        "5",
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_true(same(parse(cases[i]), plain));
}

static void test_refused(void **state)
{
    (void)state;
    const struct {
        const char *text, *message;
    } cases[] = {
        {"", "expected exactly 5 fields, found 0"},
        {"   ", "expected exactly 5 fields, found 0"},
        {"error schedule", "expected exactly 5 fields, found 2"},
        {"* * * *", "expected exactly 5 fields, found 4"},
        {"* * * * * *", "expected exactly 5 fields, found 6"},
        {"60 * * * *", "\"60\" in the field minute: must be from 0 to 59"},
        {"0-60 * * * *", "must be from 0 to 59"},
        {"* 24 * * *", "\"24\" in the field hour: must be from 0 to 23"},
        {"* * 0 * *", "\"0\" in the field day of the month: must be from 1 to 31"},
        {"* * 32 * *", "must be from 1 to 31"},
        {"* * * 0 *", "\"0\" in the field month: must be from 1 to 12"},
        {"* * * 13 *", "must be from 1 to 12"},
        {"* * * * 7", "\"7\" in the field day of the week: must be from 0 to 6"},
        {"* * * sun *", "\"sun\" in the field month: is no value of this field"},
        {"* * * * january", "is no value of this field"},
        {"jan * * * *", "is no value of this field"},
        {"-1 * * * *", "is no value of this field"},
        {"1- * * * *", "is no range of values"},
        {"1-2-3 * * * *", "is no range of values"},
        {"7-5 * * * *", "the range ends before it begins"},
        {"*/0 * * * *", "the step must be 1 or more"},
        {"*/ * * * *", "the step is no whole number"},
        {"*/-1 * * * *", "the step is no whole number"},
        {"1/2/3 * * * *", "the step is no whole number"},
        {"*/9223372036854775808 * * * *", "the step is no whole number"},
        {"99999999999999999999 * * * *", "is no value of this field"},
        {"** * * * *", "is no value of this field"},
        {"1.5 * * * *", "is no value of this field"},
        {"+ * * * *", "is no value of this field"},
        {"0 0 L * *", "is no value of this field"},
        {"@Daily", "unrecognized descriptor: @Daily"},
        {"@daily ", "unrecognized descriptor: @daily "},
        {" @daily", "expected exactly 5 fields, found 1"},
        {"@reboot", "unrecognized descriptor: @reboot"},
        {"@", "unrecognized descriptor: @"},
        {"@every", "unrecognized descriptor: @every"},
        {"@every 5", "@every takes a duration such as 1h30m, not \"5\""},
        {"@every  5s", "@every takes a duration"},
        {"@every 1d", "@every takes a duration"},
        {"TZ=UTC 0 20 * * *", "expected exactly 5 fields, found 6"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = ERROR_INIT;
        struct cron cron = {.every_s = 17};
        if (cron_parse(str_of(cases[i].text), &cron, &err) == 0)
            fail_msg("\"%s\" was read", cases[i].text);
        assert_int_equal(err.cls, ERROR_INVALID);
        if (!strstr(err.text, cases[i].message))
            fail_msg("\"%s\": %s", cases[i].text, err.text);
        assert_int_equal(cron.every_s, 17);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),         cmocka_unit_test(test_minutes),
        cmocka_unit_test(test_names),       cmocka_unit_test(test_any),
        cmocka_unit_test(test_descriptors), cmocka_unit_test(test_every),
        cmocka_unit_test(test_white_space), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
