/* Cron expressions: any text gives a schedule within the bounds of its fields, or a reason. */
#include "base/cron.h"
#include "fuzz.h"

#define BITS(low, high) (((UINT64_C(2) << (high)) - 1) & ~((UINT64_C(1) << (low)) - 1))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    struct cron cron;
    if (cron_parse(fuzz_text(data, size), &cron, &err) < 0) {
        FUZZ_CHECK(err.cls == ERROR_INVALID && err.text[0] != '\0');
        return 0;
    }
    FUZZ_CHECK((cron.minutes & ~BITS(0, 59)) == 0 && (cron.hours & ~BITS(0, 23)) == 0);
    FUZZ_CHECK((cron.days & ~BITS(1, 31)) == 0 && (cron.months & ~BITS(1, 12)) == 0);
    FUZZ_CHECK((cron.weekdays & ~BITS(0, 6)) == 0);
    FUZZ_CHECK(!cron.any_day || cron.days == BITS(1, 31));
    FUZZ_CHECK(!cron.any_weekday || cron.weekdays == BITS(0, 6));
    FUZZ_CHECK(cron.every_s == 0 || (cron.minutes | cron.hours | cron.days) == 0);
    FUZZ_CHECK(cron.every_s >= 0 && cron.every_s <= INT64_MAX / 1000000000);
    return 0;
}
