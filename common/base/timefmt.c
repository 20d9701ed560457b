/*
 * RFC 3339 times: conversion by calendar arithmetic, no time zone tables, no libc calls.
 *
 * Pure functions. Times outside what 64 bits of nanoseconds hold (1677 to 2262) are refused.
 */
#include "base/timefmt.h"
#include <stdio.h>

#define SEC_PER_DAY 86400

/* Days from 1970-01-01 to a date of the Gregorian calendar; March starts the counted year. */
static int64_t days_from_date(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static void date_from_days(int64_t days, int *ret_year, int *ret_month, int *ret_day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted_month = (5 * day_of_year + 2) / 153;
    *ret_day = (int)(day_of_year - (153 * shifted_month + 2) / 5 + 1);
    *ret_month = (int)(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
    *ret_year = (int)(year_of_era + era * 400 + (*ret_month <= 2));
}

/* Splits into whole seconds, rounded down, and the nanoseconds above them. */
static int64_t split_seconds(int64_t wall_ns, int64_t *ret_fraction)
{
    int64_t seconds = wall_ns / NSEC_PER_SEC;
    int64_t fraction = wall_ns % NSEC_PER_SEC;
    if (fraction < 0) {
        fraction += NSEC_PER_SEC;
        seconds--;
    }
    *ret_fraction = fraction;
    return seconds;
}

/* "2026-11-29T17:51:09", without an end. */
static size_t format_seconds(char text[TIME_TEXT_MAX], int64_t seconds)
{
    int64_t days = seconds / SEC_PER_DAY;
    int64_t rest = seconds % SEC_PER_DAY;
    if (rest < 0) {
        rest += SEC_PER_DAY;
        days--;
    }
    int year, month, day;
    date_from_days(days, &year, &month, &day);
    int n = snprintf(text, TIME_TEXT_MAX, "%04d-%02d-%02dT%02d:%02d:%02d", year, month, day,
                     (int)(rest / 3600), (int)(rest / 60 % 60), (int)(rest % 60));
    return (size_t)n;
}

size_t time_format(char text[TIME_TEXT_MAX], int64_t wall_ns)
{
    int64_t fraction;
    size_t n = format_seconds(text, split_seconds(wall_ns, &fraction));
    text[n++] = 'Z';
    text[n] = '\0';
    return n;
}

size_t time_format_micro(char text[TIME_TEXT_MAX], int64_t wall_ns)
{
    int64_t fraction;
    size_t n = format_seconds(text, split_seconds(wall_ns, &fraction));
    int more = snprintf(text + n, TIME_TEXT_MAX - n, ".%06dZ", (int)(fraction / NSEC_PER_USEC));
    return n + (size_t)more;
}

/* Takes exactly `count` digits off the front. */
static bool take_digits(struct str *rest, size_t count, int *ret_value)
{
    if (rest->n < count)
        return false;
    int value = 0;
    for (size_t i = 0; i < count; i++) {
        if (rest->p[i] < '0' || rest->p[i] > '9')
            return false;
        value = value * 10 + (rest->p[i] - '0');
    }
    *rest = str_from(*rest, count);
    *ret_value = value;
    return true;
}

static bool take_char(struct str *rest, char c)
{
    if (rest->n == 0 || rest->p[0] != c)
        return false;
    *rest = str_from(*rest, 1);
    return true;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* The date and time of day as seconds since the epoch, without an offset. */
static bool take_seconds(struct str *rest, int64_t *ret_seconds)
{
    int year, month, day, hour, minute, second;
    if (!take_digits(rest, 4, &year) || !take_char(rest, '-') || !take_digits(rest, 2, &month) ||
        !take_char(rest, '-') || !take_digits(rest, 2, &day) || !take_char(rest, 'T') ||
        !take_digits(rest, 2, &hour) || !take_char(rest, ':') || !take_digits(rest, 2, &minute) ||
        !take_char(rest, ':') || !take_digits(rest, 2, &second))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 ||
        minute > 59 || second > 59)
        return false;
    *ret_seconds = days_from_date(year, month, day) * SEC_PER_DAY + INT64_C(3600) * hour +
                   INT64_C(60) * minute + second;
    return true;
}

/* An optional fraction as nanoseconds; digits past the ninth are dropped. */
static bool take_fraction(struct str *rest, int64_t *ret_ns)
{
    *ret_ns = 0;
    if (!take_char(rest, '.'))
        return true;
    size_t n = 0;
    int64_t scale = NSEC_PER_SEC;
    for (; n < rest->n && rest->p[n] >= '0' && rest->p[n] <= '9'; n++) {
        scale /= 10;
        *ret_ns += (rest->p[n] - '0') * scale;
    }
    *rest = str_from(*rest, n);
    return n > 0;
}

/* "Z" or an offset, in seconds east. */
static bool take_offset(struct str *rest, int64_t *ret_seconds)
{
    *ret_seconds = 0;
    if (take_char(rest, 'Z'))
        return true;
    int sign = take_char(rest, '-') ? -1 : 1;
    if (sign > 0 && !take_char(rest, '+'))
        return false;
    int hour, minute;
    if (!take_digits(rest, 2, &hour) || !take_char(rest, ':') || !take_digits(rest, 2, &minute) ||
        hour > 23 || minute > 59)
        return false;
    *ret_seconds = sign * (int64_t)(hour * 3600 + minute * 60);
    return true;
}

static bool parse(struct str text, int64_t *ret_wall_ns, bool *ret_held)
{
    int64_t seconds, fraction, offset;
    if (!take_seconds(&text, &seconds) || !take_fraction(&text, &fraction) ||
        !take_offset(&text, &offset) || text.n != 0)
        return false;
    seconds -= offset;
    /* Computed from the second above for times before 1970, so that the lowest one is reached. */
    if (seconds < 0 && fraction > 0) {
        seconds++;
        fraction -= NSEC_PER_SEC;
    }
    *ret_held = !__builtin_mul_overflow(seconds, NSEC_PER_SEC, ret_wall_ns) &&
                !__builtin_add_overflow(*ret_wall_ns, fraction, ret_wall_ns);
    if (!*ret_held)
        *ret_wall_ns = seconds < 0 ? INT64_MIN : INT64_MAX;
    return true;
}

bool time_parse_nearest(struct str text, int64_t *ret_wall_ns)
{
    int64_t wall_ns;
    bool held;
    if (!parse(text, &wall_ns, &held))
        return false;
    *ret_wall_ns = wall_ns;
    return true;
}

bool time_parse(struct str text, int64_t *ret_wall_ns)
{
    int64_t wall_ns;
    bool held;
    if (!parse(text, &wall_ns, &held) || !held)
        return false;
    *ret_wall_ns = wall_ns;
    return true;
}

int64_t time_add(int64_t a_ns, int64_t b_ns)
{
    int64_t sum_ns;
    if (__builtin_add_overflow(a_ns, b_ns, &sum_ns))
        return b_ns < 0 ? INT64_MIN : INT64_MAX;
    return sum_ns;
}
