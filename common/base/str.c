/*
 * struct str: operations on borrowed slices. Nothing is owned and nothing is shared; every
 * function may be called from any thread. Number parsers are total: they take the whole slice or
 * refuse it, never depend on the locale and never wrap.
 */
#include "base/str.h"
#include "base/alloc.h"
#include <locale.h>
#include <math.h>

#define DOUBLE_TEXT_MAX 512 /* longest text of a fraction that is read */

int str_cmp(struct str a, struct str b)
{
    size_t common = a.n < b.n ? a.n : b.n;
    int order = common ? memcmp(a.p, b.p, common) : 0;
    if (order != 0)
        return order;
    return (a.n > b.n) - (a.n < b.n);
}

bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && str_eq(str_make(s.p, prefix.n), prefix);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n && str_eq(str_from(s, s.n - suffix.n), suffix);
}

ptrdiff_t str_find(struct str s, struct str needle)
{
    if (needle.n == 0)
        return 0;
    if (s.n < needle.n)
        return -1;
    const char *found = memmem(s.p, s.n, needle.p, needle.n);
    return found ? found - s.p : -1;
}

ptrdiff_t str_chr(struct str s, char c)
{
    const char *found = s.n ? memchr(s.p, c, s.n) : NULL;
    return found ? found - s.p : -1;
}

struct str str_sub(struct str s, size_t from, size_t to)
{
    if (to > s.n)
        to = s.n;
    if (from > to)
        from = to;
    return str_make(from ? s.p + from : s.p, to - from);
}

struct str str_from(struct str s, size_t from)
{
    return str_sub(s, from, s.n);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct str str_trim(struct str s)
{
    size_t from = 0, to = s.n;
    while (from < to && is_space(s.p[from]))
        from++;
    while (to > from && is_space(s.p[to - 1]))
        to--;
    return str_sub(s, from, to);
}

bool str_split(struct str *rest, char sep, struct str *ret_part)
{
    if (rest->n == 0)
        return false;
    ptrdiff_t at = str_chr(*rest, sep);
    if (at < 0) {
        *ret_part = *rest;
        *rest = STR_NULL;
        return true;
    }
    *ret_part = str_sub(*rest, 0, (size_t)at);
    *rest = str_from(*rest, (size_t)at + 1);
    return true;
}

char *str_dup(struct str s)
{
    return xstrndup(s.p, s.n);
}

/* Digits only, at least one; false past `max`. */
static bool digits_to_u64(struct str s, uint64_t max, uint64_t *ret_value)
{
    if (s.n == 0)
        return false;
    uint64_t value = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned)(unsigned char)s.p[i] - '0';
        if (digit > 9 || value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret_value = value;
    return true;
}

bool str_to_u64(struct str s, uint64_t *ret_value)
{
    return digits_to_u64(s, UINT64_MAX, ret_value);
}

bool str_to_i64(struct str s, int64_t *ret_value)
{
    bool negative = s.n && s.p[0] == '-';
    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        s = str_from(s, 1);
    uint64_t size;
    if (!digits_to_u64(s, (uint64_t)INT64_MAX + negative, &size))
        return false;
    if (negative)
        *ret_value = size ? -(int64_t)(size - 1) - 1 : 0;
    else
        *ret_value = (int64_t)size;
    return true;
}

bool str_to_i32(struct str s, int32_t *ret_value)
{
    int64_t value;
    if (!str_to_i64(s, &value) || value < INT32_MIN || value > INT32_MAX)
        return false;
    *ret_value = (int32_t)value;
    return true;
}

/* Skips digits from `i` on; returns the place after them. */
static size_t skip_digits(struct str s, size_t i)
{
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
        i++;
    return i;
}

/* [sign] digits [. digits] [e [sign] digits], with a digit on either side of the point. */
static bool is_fraction(struct str s)
{
    size_t i = s.n && (s.p[0] == '-' || s.p[0] == '+');
    size_t whole = skip_digits(s, i);
    size_t digits = whole - i;
    i = whole;
    if (i < s.n && s.p[i] == '.') {
        size_t part = skip_digits(s, i + 1);
        digits += part - i - 1;
        i = part;
    }
    if (digits == 0)
        return false;
    if (i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        i++;
        i += i < s.n && (s.p[i] == '-' || s.p[i] == '+');
        size_t exponent = skip_digits(s, i);
        if (exponent == i)
            return false;
        i = exponent;
    }
    return i == s.n;
}

bool str_to_double(struct str s, double *ret_value)
{
    if (s.n >= DOUBLE_TEXT_MAX || !is_fraction(s))
        return false;
    char text[DOUBLE_TEXT_MAX];
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    /* For the C locale this hands out a static object: no allocation, no failure. */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return false;
    double value = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    if (!isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

bool str_to_bool(struct str s, bool *ret_value)
{
    static const char *const spellings[2][6] = {
        {"false", "0", "f", "F", "FALSE", "False"},
        {"true", "1", "t", "T", "TRUE", "True"},
    };
    for (int value = 0; value < 2; value++)
        for (size_t i = 0; i < ARRAY_SIZE(spellings[0]); i++)
            if (str_is(s, spellings[value][i])) {
                *ret_value = value != 0;
                return true;
            }
    return false;
}

/* Length that the lead byte announces and the smallest and largest second byte; 0 for no lead. */
static size_t utf8_lead(unsigned char lead, unsigned char *ret_low, unsigned char *ret_high)
{
    *ret_low = 0x80;
    *ret_high = 0xBF;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    if (lead < 0xE0)
        return 2;
    if (lead < 0xF0) {
        if (lead == 0xE0) /* overlong below U+0800 */
            *ret_low = 0xA0;
        if (lead == 0xED) /* surrogates */
            *ret_high = 0x9F;
        return 3;
    }
    if (lead == 0xF0) /* overlong below U+10000 */
        *ret_low = 0x90;
    if (lead == 0xF4) /* above U+10FFFF */
        *ret_high = 0x8F;
    return 4;
}

size_t str_utf8_len(struct str s)
{
    if (s.n == 0)
        return 0;
    const unsigned char *p = (const unsigned char *)s.p;
    if (p[0] < 0x80)
        return 1;
    unsigned char low, high;
    size_t n = utf8_lead(p[0], &low, &high);
    if (n == 0 || s.n < n || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    return n;
}

struct str str_cut(struct str s, size_t max)
{
    size_t end = s.n < max ? s.n : max;
    /* Looks back at most three bytes for a lead whose character does not fit. */
    for (size_t back = 1; back <= 3 && back <= end; back++) {
        unsigned char c = (unsigned char)s.p[end - back];
        if (c < 0x80)
            break;
        if (c >= 0xC0) {
            unsigned char low, high;
            if (utf8_lead(c, &low, &high) > back)
                end -= back;
            break;
        }
    }
    return str_make(s.p, end);
}

uint64_t str_hash(struct str s)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < s.n; i++) {
        hash ^= (unsigned char)s.p[i];
        hash *= UINT64_C(0x100000001b3);
    }
    return hash;
}
