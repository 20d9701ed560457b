/*
 * Minimums as counts or percentages: what is read, and what it makes of a number of pods.
 */
#include "testing.h"

#include "api/minavailable.h"

static const struct {
    const char *text;
    int32_t count, percent;
} texts[] = {
    {"1", 1, 0},      {"8", 8, 0},   {"2147483647", 2147483647, 0}, {"1%", 0, 1}, {"80%", 0, 80},
    {"100%", 0, 100}, {"007", 7, 0},
};

static const char *const bad[] = {"",     "%",    "0",    "0%",  "-1",         "+1",
                                  "101%", "80 %", " 80%", "8.5", "80.5%",      "five",
                                  "80%%", "%80",  "-80%", "1e1", "2147483648", "99999999999999%"};

static void what_is_read(void **state)
{
    struct min_available minimum;
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (!min_available_parse(str_of(texts[i].text), &minimum) ||
            minimum.count != texts[i].count || minimum.percent != texts[i].percent)
            fail_msg("%s", texts[i].text);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (min_available_parse(str_of(bad[i]), &minimum) || minimum.count || minimum.percent)
            fail_msg("\"%s\" was taken", bad[i]);
}

static void parts_are_rounded_up(void **state)
{
    static const struct {
        struct min_available minimum;
        uint32_t pods;
        int32_t result;
    } cases[] = {
        {{0, 80}, 10, 8},
        {{0, 80}, 11, 9},
        {{0, 80}, 9, 8},
        {{0, 80}, 1, 1},
        {{0, 80}, 0, 1},
        {{0, 1}, 100, 1},
        {{0, 1}, 101, 2},
        {{0, 100}, 7, 7},
        {{0, 50}, 3, 2},
        {{8, 0}, 3, 8},
        {{0, 100}, UINT32_MAX, INT32_MAX},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (min_available_of(&cases[i].minimum, cases[i].pods) != cases[i].result)
            fail_msg("case %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read),
        cmocka_unit_test(parts_are_rounded_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
