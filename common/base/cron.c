/*
 * Reading cron expressions: see cron.h. One pass over the text, no memory.
 */
#include "base/cron.h"
#include "base/alloc.h"
#include "base/timefmt.h"

#define FIELDS 5
#define SHOWN 64 /* bytes of the user's text in a message */

struct bounds {
    const char *name;
    unsigned low, high;
    const char *const *names; /* of the values from `low` on, each of three letters; or NULL */
};

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                          "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

static const struct bounds fields[FIELDS] = {
    {"minute", 0, 59, NULL},
    {"hour", 0, 23, NULL},
    {"day of the month", 1, 31, NULL},
    {"month", 1, 12, month_names},
    {"day of the week", 0, 6, weekday_names},
};

static const struct {
    const char *name, *fields;
} descriptors[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

/* ---- one item of a list -------------------------------------------------------------------- */

/* Digits with an optional plus sign; values past any field's are as good as the largest. */
static bool read_number(struct str text, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (text.n && text.p[0] == '+')
        text = str_from(text, 1);
    if (text.n == 0)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        const uint64_t digit = (uint64_t)(text.p[i] - '0');
        if (value > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret_value = value;
    return true;
}

static bool same_letters(struct str text, const char *lower)
{
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];
        if ((c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c) != lower[i])
            return false;
    }
    return true;
}

static bool read_value(const struct bounds *bounds, struct str text, uint64_t *ret_value)
{
    for (unsigned i = 0; bounds->names && text.n == 3 && i <= bounds->high - bounds->low; i++) {
        if (same_letters(text, bounds->names[i])) {
            *ret_value = bounds->low + i;
            return true;
        }
    }
    return read_number(text, ret_value);
}

/* `text` up to the first `mark` into *ret_head; true and the rest in *ret_tail if there is one. */
static bool cut(struct str text, char mark, struct str *ret_head, struct str *ret_tail)
{
    const ptrdiff_t at = str_chr(text, mark);
    *ret_head = at < 0 ? text : str_sub(text, 0, (size_t)at);
    *ret_tail = at < 0 ? STR_NULL : str_from(text, (size_t)at + 1);
    return at >= 0;
}

static int bad_item(const struct bounds *bounds, struct str item, const char *why,
                    struct error *err)
{
    const struct str shown = str_cut(item, SHOWN);
    return error_set(err, ERROR_INVALID, "\"%.*s\" in the field %s: %s", STR_ARG(shown),
                     bounds->name, why);
}

static int check_range(const struct bounds *bounds, struct str item, uint64_t low, uint64_t high,
                       uint64_t step, struct error *err)
{
    if (low < bounds->low || high > bounds->high)
        return error_set(err, ERROR_INVALID, "\"%.*s\" in the field %s: must be from %u to %u",
                         STR_ARG(str_cut(item, SHOWN)), bounds->name, bounds->low, bounds->high);
    if (low > high)
        return bad_item(bounds, item, "the range ends before it begins", err);
    if (step == 0)
        return bad_item(bounds, item, "the step must be 1 or more", err);
    return 0;
}

/* "*", "n" or "n-m", each with an optional "/step". Sets bits; *any when all values are meant. */
static int read_item(const struct bounds *bounds, struct str item, uint64_t *bits, bool *any,
                     struct error *err)
{
    struct str range, step_text, first, second;
    uint64_t low = bounds->low, high = bounds->high, step = 1;
    const bool stepped = cut(item, '/', &range, &step_text);
    const bool ranged = cut(range, '-', &first, &second);
    const bool all = str_is(first, "*") || str_is(first, "?");
    if (!all) {
        if (!read_value(bounds, first, &low))
            return bad_item(bounds, item, "is no value of this field", err);
        if (!ranged)
            high = stepped ? bounds->high : low;
        else if (!read_value(bounds, second, &high))
            return bad_item(bounds, item, "is no range of values of this field", err);
    }
    if (stepped && !read_number(step_text, &step))
        return bad_item(bounds, item, "the step is no whole number", err);
    if (check_range(bounds, item, low, high, step, err) < 0)
        return -1;
    for (uint64_t value = low; value <= high; value += step)
        *bits |= UINT64_C(1) << value;
    *any = *any || (all && step == 1);
    return 0;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static int read_field(const struct bounds *bounds, struct str list, uint64_t *ret_bits,
                      bool *ret_any, struct error *err)
{
    struct str item;
    uint64_t bits = 0;
    bool any = false;
    while (str_split(&list, ',', &item)) {
        if (item.n && read_item(bounds, item, &bits, &any, err) < 0)
            return -1;
    }
    *ret_bits = bits;
    *ret_any = any;
    return 0;
}

/* Bytes of the white space at the start of `text`, as Go sees it; 0 when there is none. */
static size_t space_len(struct str text)
{
    static const char *const wide[] = {
        "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\xA8",
        "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80",
    };
    if (text.n == 0)
        return 0;
    if (text.p[0] == ' ' || (text.p[0] >= '\t' && text.p[0] <= '\r'))
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(wide); i++) {
        if (str_starts(text, str_of(wide[i])))
            return strlen(wide[i]);
    }
    /* U+2000 to U+200A */
    const bool typographic = str_starts(text, STR("\xE2\x80")) && text.n > 2 &&
                             (unsigned char)text.p[2] >= 0x80 && (unsigned char)text.p[2] <= 0x8A;
    return typographic ? 3 : 0;
}

/* Takes the next field off `*rest`; false when nothing but white space is left. */
static bool take_field(struct str *rest, struct str *ret_field)
{
    for (size_t n; (n = space_len(*rest)) > 0;)
        *rest = str_from(*rest, n);
    size_t end = 0;
    while (end < rest->n && space_len(str_from(*rest, end)) == 0)
        end++;
    *ret_field = str_sub(*rest, 0, end);
    *rest = str_from(*rest, end);
    return end > 0;
}

static int read_fields(struct str text, struct cron *cron, struct error *err)
{
    struct str parts[FIELDS], part;
    uint64_t *const bits[FIELDS] = {&cron->minutes, &cron->hours, &cron->days, &cron->months,
                                    &cron->weekdays};
    bool any[FIELDS];
    size_t n = 0;
    for (; take_field(&text, &part); n++) {
        if (n < FIELDS)
            parts[n] = part;
    }
    if (n != FIELDS)
        return error_set(err, ERROR_INVALID, "expected exactly 5 fields, found %zu", n);
    for (size_t i = 0; i < FIELDS; i++) {
        if (read_field(&fields[i], parts[i], bits[i], &any[i], err) < 0)
            return -1;
    }
    cron->any_day = any[2];
    cron->any_weekday = any[4];
    return 0;
}

static int read_every(struct str duration, struct cron *cron, struct error *err)
{
    int64_t ns;
    if (!duration_parse(duration, &ns))
        return error_set(err, ERROR_INVALID, "@every takes a duration such as 1h30m, not \"%.*s\"",
                         STR_ARG(str_cut(duration, SHOWN)));
    cron->every_s = ns < NSEC_PER_SEC ? 1 : ns / NSEC_PER_SEC;
    return 0;
}

int cron_parse(struct str text, struct cron *ret_cron, struct error *err)
{
    const struct str every = STR("@every ");
    struct cron cron = {0};
    struct str line = text;
    if (text.n && text.p[0] == '@') {
        if (str_starts(text, every)) {
            if (read_every(str_from(text, every.n), &cron, err) < 0)
                return -1;
            *ret_cron = cron;
            return 0;
        }
        line = STR_NULL;
        for (size_t i = 0; i < ARRAY_SIZE(descriptors); i++) {
            if (str_is(text, descriptors[i].name))
                line = str_of(descriptors[i].fields);
        }
        if (!line.p)
            return error_set(err, ERROR_INVALID, "unrecognized descriptor: %.*s",
                             STR_ARG(str_cut(text, SHOWN)));
    }
    if (read_fields(line, &cron, err) < 0)
        return -1;
    *ret_cron = cron;
    return 0;
}
