/*
 * Kubernetes quantities as 128-bit counts of nano units, saturated at +-(2^63-1) units.
 *
 * Reading is exact: decimal digits are weighed one by one, binary suffixes multiply the decimal
 * fraction in place, and what lies below a nano rounds away from zero. Products are taken in
 * unsigned 128 bits and checked before. Pure functions, any thread.
 */
#include "base/quantity.h"
#include "base/alloc.h"
#include "base/limits.h"
#include <stdio.h>

__extension__ typedef unsigned __int128 wide;

#define NANO_DIGITS 9
#define NANO ((wide)1000000000)
#define NANO_MAX ((wide)INT64_MAX * NANO) /* magnitude where values saturate */
#define EXPONENT_MAX 1000                 /* past this any value is saturated or below a nano */

/* A quantity's text taken apart. */
struct parts {
    bool negative;
    struct str whole;    /* digits before the point */
    struct str fraction; /* digits after it */
    struct str suffix;
};

/* The meaning of a suffix: times 10^exponent, or times 2^exponent for the binary ones. */
struct scale {
    enum quantity_format format;
    int exponent;
};

static quantity_nano with_sign(wide magnitude, bool negative)
{
    if (magnitude > NANO_MAX)
        magnitude = NANO_MAX;
    return negative ? -(quantity_nano)magnitude : (quantity_nano)magnitude;
}

static wide magnitude_of(quantity_nano nano)
{
    return nano < 0 ? -(wide)nano : (wide)nano;
}

static struct str take_digits(struct str *rest)
{
    size_t n = 0;
    while (n < rest->n && rest->p[n] >= '0' && rest->p[n] <= '9')
        n++;
    struct str digits = str_sub(*rest, 0, n);
    *rest = str_from(*rest, n);
    return digits;
}

static bool split_text(struct str text, struct parts *parts)
{
    *parts = (struct parts){.negative = text.n && text.p[0] == '-'};
    if (text.n && (text.p[0] == '-' || text.p[0] == '+'))
        text = str_from(text, 1);
    parts->whole = take_digits(&text);
    if (text.n && text.p[0] == '.') {
        text = str_from(text, 1);
        parts->fraction = take_digits(&text);
    }
    parts->suffix = text;
    return parts->whole.n + parts->fraction.n > 0;
}

/* "e3", "E-6": the exponent is clamped, since far ones all mean the same. */
static bool read_exponent(struct str suffix, struct scale *scale)
{
    struct str text = str_from(suffix, 1);
    bool negative = text.n && text.p[0] == '-';
    if (text.n && (text.p[0] == '-' || text.p[0] == '+'))
        text = str_from(text, 1);
    struct str digits = take_digits(&text);
    if (digits.n == 0 || text.n != 0)
        return false;
    int exponent = 0;
    for (size_t i = 0; i < digits.n && exponent < EXPONENT_MAX; i++)
        exponent = exponent * 10 + (digits.p[i] - '0');
    if (exponent > EXPONENT_MAX)
        exponent = EXPONENT_MAX;
    *scale = (struct scale){QUANTITY_DECIMAL_EXPONENT, negative ? -exponent : exponent};
    return true;
}

static bool read_suffix(struct str suffix, struct scale *scale)
{
    static const struct {
        const char *text;
        struct scale scale;
    } known[] = {
        {"", {QUANTITY_DECIMAL_SI, 0}},   {"n", {QUANTITY_DECIMAL_SI, -9}},
        {"u", {QUANTITY_DECIMAL_SI, -6}}, {"m", {QUANTITY_DECIMAL_SI, -3}},
        {"k", {QUANTITY_DECIMAL_SI, 3}},  {"M", {QUANTITY_DECIMAL_SI, 6}},
        {"G", {QUANTITY_DECIMAL_SI, 9}},  {"T", {QUANTITY_DECIMAL_SI, 12}},
        {"P", {QUANTITY_DECIMAL_SI, 15}}, {"E", {QUANTITY_DECIMAL_SI, 18}},
        {"Ki", {QUANTITY_BINARY_SI, 10}}, {"Mi", {QUANTITY_BINARY_SI, 20}},
        {"Gi", {QUANTITY_BINARY_SI, 30}}, {"Ti", {QUANTITY_BINARY_SI, 40}},
        {"Pi", {QUANTITY_BINARY_SI, 50}}, {"Ei", {QUANTITY_BINARY_SI, 60}},
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (str_is(suffix, known[i].text)) {
            *scale = known[i].scale;
            return true;
        }
    return suffix.n > 1 && (suffix.p[0] == 'e' || suffix.p[0] == 'E') &&
           read_exponent(suffix, scale);
}

/* value * factor + more, kept just above NANO_MAX once it is past it. */
static wide grow(wide value, unsigned factor, unsigned more)
{
    if (value > NANO_MAX)
        return value;
    return value * factor + more;
}

/* whole.fraction * 10^exponent in nanos, rounded up. */
static wide decimal_nanos(const struct parts *parts, int exponent)
{
    wide nanos = 0;
    bool rest = false;                                         /* a digit below one nano */
    int weight = (int)parts->whole.n + exponent + NANO_DIGITS; /* digits above one nano */
    size_t total = parts->whole.n + parts->fraction.n;
    for (size_t i = 0; i < total; i++, weight--) {
        bool whole = i < parts->whole.n;
        const char *c = whole ? &parts->whole.p[i] : &parts->fraction.p[i - parts->whole.n];
        if (weight > 0)
            nanos = grow(nanos, 10, (unsigned)(*c - '0'));
        else
            rest = rest || *c != '0';
    }
    for (; weight > 0 && nanos != 0 && nanos <= NANO_MAX; weight--)
        nanos = grow(nanos, 10, 0);
    return nanos + rest;
}

/* whole.fraction * 2^exponent in nanos, rounded up; `exponent` is a multiple of ten. */
static wide binary_nanos(const struct parts *parts, int exponent)
{
    wide whole = 0;
    for (size_t i = 0; i < parts->whole.n; i++)
        whole = grow(whole, 10, (unsigned)(parts->whole.p[i] - '0'));
    unsigned char digits[LIMIT_QUANTITY_TEXT];
    size_t n = parts->fraction.n;
    for (size_t i = 0; i < n; i++)
        digits[i] = (unsigned char)(parts->fraction.p[i] - '0');
    for (; exponent > 0; exponent -= 10) {
        unsigned carry = 0;
        for (size_t i = n; i-- > 0;) {
            unsigned product = digits[i] * 1024U + carry;
            digits[i] = (unsigned char)(product % 10);
            carry = product / 10;
        }
        whole = grow(whole, 1024, carry);
    }
    if (whole > (wide)INT64_MAX)
        return NANO_MAX;
    unsigned nanos = 0;
    bool rest = false;
    for (size_t i = 0; i < n || i < NANO_DIGITS; i++) {
        unsigned digit = i < n ? digits[i] : 0;
        if (i < NANO_DIGITS)
            nanos = nanos * 10 + digit;
        else
            rest = rest || digit != 0;
    }
    return whole * NANO + nanos + rest;
}

int quantity_parse(struct str text, struct quantity *ret_quantity, struct error *err)
{
    if (text.n > LIMIT_QUANTITY_TEXT)
        return error_set(err, ERROR_LIMIT, "a quantity of %zu bytes is longer than %d", text.n,
                         LIMIT_QUANTITY_TEXT);
    struct parts parts;
    struct scale scale;
    if (!split_text(text, &parts) || !read_suffix(parts.suffix, &scale))
        return error_set(err, ERROR_INVALID,
                         "\"%.*s\" is not a quantity (a number with an optional suffix such as m, "
                         "k, Mi or e3)",
                         STR_ARG(text));
    wide nanos = scale.format == QUANTITY_BINARY_SI ? binary_nanos(&parts, scale.exponent)
                                                    : decimal_nanos(&parts, scale.exponent);
    /* Less than one byte cannot be told in binary units. */
    if (scale.format == QUANTITY_BINARY_SI && nanos > 0 && nanos < NANO)
        scale.format = QUANTITY_DECIMAL_SI;
    *ret_quantity = (struct quantity){with_sign(nanos, parts.negative), scale.format};
    return 0;
}

struct quantity quantity_from_i64(int64_t value, enum quantity_format format)
{
    wide magnitude = magnitude_of(value);
    return (struct quantity){with_sign(magnitude * NANO, value < 0), format};
}

struct quantity quantity_from_milli(int64_t milli, enum quantity_format format)
{
    wide magnitude = magnitude_of(milli);
    return (struct quantity){with_sign(magnitude * (NANO / 1000), milli < 0), format};
}

/* Whole units with the largest power of 1024 that divides them. */
static size_t print_binary(char text[QUANTITY_TEXT_MAX], uint64_t units, const char *sign)
{
    static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    size_t i = 0;
    while (i + 1 < ARRAY_SIZE(suffixes) && units % 1024 == 0) {
        units /= 1024;
        i++;
    }
    int n =
        snprintf(text, QUANTITY_TEXT_MAX, "%s%llu%s", sign, (unsigned long long)units, suffixes[i]);
    return (size_t)n;
}

/* Digits with the largest power of 1000 that divides them; `nanos` is not zero. */
static size_t print_decimal(char text[QUANTITY_TEXT_MAX], wide nanos, const char *sign,
                            enum quantity_format format)
{
    static const char *const suffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    size_t i = 0;
    while (i + 1 < ARRAY_SIZE(suffixes) && nanos % 1000 == 0) {
        nanos /= 1000;
        i++;
    }
    char digits[40];
    char *at = digits + sizeof(digits);
    *--at = '\0';
    for (; nanos; nanos /= 10)
        *--at = (char)('0' + (int)(nanos % 10));
    int exponent = (int)i * 3 - NANO_DIGITS;
    int n;
    if (format == QUANTITY_DECIMAL_EXPONENT && exponent != 0)
        n = snprintf(text, QUANTITY_TEXT_MAX, "%s%se%d", sign, at, exponent);
    else
        n = snprintf(text, QUANTITY_TEXT_MAX, "%s%s%s", sign, at, suffixes[i]);
    return (size_t)n;
}

size_t quantity_print(char text[QUANTITY_TEXT_MAX], struct quantity quantity)
{
    wide nanos = magnitude_of(quantity.nano);
    const char *sign = quantity.nano < 0 ? "-" : "";
    if (nanos == 0) {
        memcpy(text, "0", 2);
        return 1;
    }
    if (quantity.format == QUANTITY_BINARY_SI && nanos >= 1024 * NANO && nanos % NANO == 0)
        return print_binary(text, (uint64_t)(nanos / NANO), sign);
    return print_decimal(text, nanos, sign, quantity.format);
}

static struct quantity add_nano(struct quantity a, quantity_nano more, enum quantity_format other)
{
    quantity_nano sum = a.nano + more; /* both are far below 2^127 */
    return (struct quantity){with_sign(magnitude_of(sum), sum < 0), a.nano ? a.format : other};
}

struct quantity quantity_add(struct quantity a, struct quantity b)
{
    return add_nano(a, b.nano, b.format);
}

struct quantity quantity_sub(struct quantity a, struct quantity b)
{
    return add_nano(a, -b.nano, b.format);
}

int quantity_cmp(struct quantity a, struct quantity b)
{
    return (a.nano > b.nano) - (a.nano < b.nano);
}

struct quantity quantity_mul(struct quantity a, int64_t factor)
{
    wide value = magnitude_of(a.nano);
    wide times = magnitude_of(factor);
    wide product = times && value > NANO_MAX / times ? NANO_MAX : value * times;
    a.nano = with_sign(product, (a.nano < 0) != (factor < 0));
    return a;
}

/* nano / unit rounded away from zero and saturated. */
static int64_t divide_up(quantity_nano nano, wide unit)
{
    wide units = (magnitude_of(nano) + unit - 1) / unit;
    if (units > (wide)INT64_MAX)
        units = (wide)INT64_MAX;
    return nano < 0 ? -(int64_t)units : (int64_t)units;
}

int64_t quantity_value(struct quantity quantity)
{
    return divide_up(quantity.nano, NANO);
}

int64_t quantity_milli(struct quantity quantity)
{
    return divide_up(quantity.nano, NANO / 1000);
}
