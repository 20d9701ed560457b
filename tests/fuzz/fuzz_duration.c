/* Durations and times: whatever is read is written as a text that reads as the same value. */
#include "base/timefmt.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_text(data, size);
    char written[TIME_TEXT_MAX];
    int64_t ns, back;
    if (duration_parse(text, &ns)) {
        size_t n = duration_format(written, ns);
        FUZZ_CHECK(duration_parse(str_make(written, n), &back) && back == ns);
    }
    if (time_parse(text, &ns)) {
        size_t n = time_format_micro(written, ns);
        bool read = time_parse(str_make(written, n), &back);
        /* Rounded down to the microsecond, which may lie before the first nanosecond there is. */
        FUZZ_CHECK(read ? back <= ns && (uint64_t)ns - (uint64_t)back < 1000
                        : ns < INT64_MIN + 1000);
    }
    return 0;
}
