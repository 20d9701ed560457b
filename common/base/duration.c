/*
 * Go durations: the text form of time.Duration, read and written with the same results as Go.
 *
 * Pure functions over 64 bits of nanoseconds.
 */
#include "base/alloc.h"
#include "base/timefmt.h"

#define MAGNITUDE_MAX ((uint64_t)1 << 63) /* the most negative duration, without its sign */

static const struct {
    const char *name;
    uint64_t ns;
} units[] = {
    {"ns", 1},           {"us", 1000},      {"\xC2\xB5s", 1000}, /* micro sign */
    {"\xCE\xBCs", 1000},                                         /* Greek mu */
    {"ms", 1000000},     {"s", 1000000000}, {"m", 60000000000},  {"h", 3600000000000},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Leading digits; false past 2^63. *ret_any tells whether there were any. */
static bool take_whole(struct str *rest, uint64_t *ret_value, bool *ret_any)
{
    uint64_t value = 0;
    size_t i = 0;
    for (; i < rest->n && is_digit(rest->p[i]); i++) {
        uint64_t digit = (uint64_t)(rest->p[i] - '0');
        if (value > (MAGNITUDE_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *rest = str_from(*rest, i);
    *ret_value = value;
    *ret_any = i > 0;
    return true;
}

/* ".digits" as digits / scale; what 64 bits do not hold is too small to matter and ignored. */
static void take_fraction(struct str *rest, uint64_t *ret_value, double *ret_scale, bool *ret_any)
{
    *ret_value = 0;
    *ret_scale = 1;
    if (rest->n == 0 || rest->p[0] != '.')
        return;
    size_t i = 1;
    bool full = false;
    for (; i < rest->n && is_digit(rest->p[i]); i++) {
        uint64_t digit = (uint64_t)(rest->p[i] - '0');
        full = full || *ret_value > (MAGNITUDE_MAX - 1 - digit) / 10;
        if (full)
            continue;
        *ret_value = *ret_value * 10 + digit;
        *ret_scale *= 10;
    }
    *ret_any = *ret_any || i > 1;
    *rest = str_from(*rest, i);
}

/* The unit's name up to the next number; 0 when it is none. */
static uint64_t take_unit(struct str *rest)
{
    size_t n = 0;
    while (n < rest->n && !is_digit(rest->p[n]) && rest->p[n] != '.')
        n++;
    struct str name = str_sub(*rest, 0, n);
    *rest = str_from(*rest, n);
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (str_is(name, units[i].name))
            return units[i].ns;
    return 0;
}

/* One "<number><unit>" added to *total. */
static bool take_term(struct str *rest, uint64_t *total)
{
    uint64_t value, fraction;
    double scale;
    bool any;
    if (!take_whole(rest, &value, &any))
        return false;
    take_fraction(rest, &fraction, &scale, &any);
    uint64_t unit = any ? take_unit(rest) : 0;
    if (unit == 0 || value > MAGNITUDE_MAX / unit)
        return false;
    value *= unit;
    if (fraction > 0)
        value += (uint64_t)((double)fraction * ((double)unit / scale));
    if (value > MAGNITUDE_MAX || *total > MAGNITUDE_MAX - value)
        return false;
    *total += value;
    return true;
}

bool duration_parse(struct str text, int64_t *ret_ns)
{
    bool negative = text.n && text.p[0] == '-';
    if (text.n && (text.p[0] == '-' || text.p[0] == '+'))
        text = str_from(text, 1);
    if (text.n == 0)
        return false;
    uint64_t total = 0;
    if (!str_is(text, "0"))
        while (text.n)
            if (!take_term(&text, &total))
                return false;
    if (!negative && total == MAGNITUDE_MAX)
        return false;
    if (negative)
        *ret_ns = total ? -(int64_t)(total - 1) - 1 : 0;
    else
        *ret_ns = (int64_t)total;
    return true;
}

bool duration_or_seconds_parse(struct str text, int64_t *ret_ns)
{
    int64_t seconds;
    if (!str_to_i64(text, &seconds))
        return duration_parse(text, ret_ns);
    return !__builtin_mul_overflow(seconds, NSEC_PER_SEC, ret_ns);
}

/* Texts are built from their end: each function writes before `at` and returns the new start. */
static char *put_before(char *at, const char *text)
{
    for (size_t n = strlen(text); n > 0; n--)
        *--at = text[n - 1];
    return at;
}

static char *put_number(char *at, uint64_t value)
{
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return at;
}

/* `value` with its last `decimals` digits after a point, trailing zeros dropped. */
static char *put_decimal(char *at, uint64_t value, int decimals)
{
    bool shown = false;
    for (; decimals > 0; decimals--) {
        char digit = (char)('0' + value % 10);
        value /= 10;
        shown = shown || digit != '0';
        if (shown)
            *--at = digit;
    }
    if (shown)
        *--at = '.';
    return put_number(at, value);
}

/* Below one second Go shows one unit with a fraction. */
static char *put_small(char *at, uint64_t ns)
{
    if (ns < (uint64_t)NSEC_PER_USEC)
        return put_number(put_before(at, "ns"), ns);
    if (ns < (uint64_t)NSEC_PER_MSEC)
        return put_decimal(put_before(at, "\xC2\xB5s"), ns, 3);
    return put_decimal(put_before(at, "ms"), ns, 6);
}

static char *put_large(char *at, uint64_t ns)
{
    uint64_t second = UINT64_C(1000000000);
    uint64_t minutes = ns / second / 60;
    at = put_decimal(put_before(at, "s"), ns % (60 * second), 9);
    if (minutes == 0)
        return at;
    at = put_number(put_before(at, "m"), minutes % 60);
    if (minutes < 60)
        return at;
    return put_number(put_before(at, "h"), minutes / 60);
}

size_t duration_format(char text[TIME_TEXT_MAX], int64_t ns)
{
    char scratch[TIME_TEXT_MAX];
    char *end = scratch + sizeof(scratch);
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    char *at;
    if (ns == 0)
        at = put_before(end, "0s");
    else if (size < (uint64_t)NSEC_PER_SEC)
        at = put_small(end, size);
    else
        at = put_large(end, size);
    if (ns < 0)
        at = put_before(at, "-");
    size_t n = (size_t)(end - at);
    memcpy(text, at, n);
    text[n] = '\0';
    return n;
}
