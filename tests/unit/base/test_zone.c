/* Names of time zones: the table is sorted, every name of it is found, others are not. */
#include "base/zone.h"
#include "testing.h"

static void test_table(void **state)
{
    (void)state;
    assert_true(zone_names_count > 500);
    for (size_t i = 0; i < zone_names_count; i++) {
        assert_true(zone_known(str_of(zone_names[i])));
        if (i > 0)
            assert_true(str_cmp(str_of(zone_names[i - 1]), str_of(zone_names[i])) < 0);
    }
}

static void test_known(void **state)
{
    (void)state;
    const char *known[] = {"UTC",
                           "Etc/UTC",
                           "Europe/Berlin",
                           "Pacific/Honolulu",
                           "America/Argentina/ComodRivadavia",
                           "Etc/GMT+12",
                           "EST5EDT",
                           "Asia/Calcutta",
                           "Zulu"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_true(zone_known(str_of(known[i])));
}

static void test_unknown(void **state)
{
    (void)state;
    const char *unknown[] = {"",
                             "utc",
                             "Local",
                             "Amerrica/New_York",
                             "Zulv",
                             "Europe/Berlin ",
                             "Europe/Berlinn",
                             "Europe/Berli",
                             "A",
                             "zzz",
                             "Europe",
                             "europe/berlin"};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
        assert_false(zone_known(str_of(unknown[i])));
    assert_false(zone_known(STR("UTC\0")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_known),
                                       cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
