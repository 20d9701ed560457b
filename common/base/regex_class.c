/*
 * Classes of characters and escapes in patterns: see regex_parse.h. No memory, no recursion.
 */
#include "base/alloc.h"
#include "base/regex_parse.h"

#define BAD_RANGE "invalid character class range"
#define RUNE_MAX 0x10FFFF
#define PROPERTY_NAME_MAX 48

/* The two characters beyond ASCII that are another case of one in it. */
#define LONG_S 0x17F
#define KELVIN 0x212A

/* ---- sets ---------------------------------------------------------------------------------- */

static bool is_letter(uint32_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

static void add_char(struct ascii_set *set, uint32_t c, bool fold)
{
    set->bits[c / 64] |= UINT64_C(1) << (c % 64);
    if (fold && is_letter(c))
        add_char(set, c ^ ('a' ^ 'A'), false);
}

void ascii_set_add(struct ascii_set *set, uint32_t low, uint32_t high, bool fold)
{
    for (uint32_t c = low; c <= high && c < 128; c++)
        add_char(set, c, fold);
    if (fold && low <= LONG_S && LONG_S <= high)
        add_char(set, 's', true);
    if (fold && low <= KELVIN && KELVIN <= high)
        add_char(set, 'k', true);
}

/* Adds another set, or with `negated` all that is not in it. */
static void add_set(struct ascii_set *set, const struct ascii_set *other, bool negated)
{
    for (size_t i = 0; i < ARRAY_SIZE(set->bits); i++)
        set->bits[i] |= negated ? ~other->bits[i] : other->bits[i];
}

/* Adds what `ranges` lists as pairs of characters. */
static void add_ranges(struct ascii_set *set, const char *ranges, size_t n, bool fold, bool negated)
{
    struct ascii_set listed = {{0, 0}};
    for (size_t i = 0; i < n; i += 2)
        ascii_set_add(&listed, (unsigned char)ranges[i], (unsigned char)ranges[i + 1], fold);
    add_set(set, &listed, negated);
}

/* ---- named classes ------------------------------------------------------------------------- */

struct named_class {
    const char *name, *ranges; /* pairs of first and last */
    size_t n;                  /* bytes of `ranges` */
};

#define RANGES(literal) literal, sizeof(literal) - 1

static const struct named_class perl_classes[] = {
    {"d", RANGES("09")},
    {"s", RANGES("\t\n\f\r  ")},
    {"w", RANGES("09AZ__az")},
};

static const struct named_class posix_classes[] = {
    {"alnum", RANGES("09AZaz")},
    {"alpha", RANGES("AZaz")},
    {"ascii", RANGES("\0\x7F")},
    {"blank", RANGES("\t\t  ")},
    {"cntrl", RANGES("\0\x1F\x7F\x7F")},
    {"digit", RANGES("09")},
    {"graph", RANGES("!~")},
    {"lower", RANGES("az")},
    {"print", RANGES(" ~")},
    {"punct", RANGES("!/:@[`{~")},
    {"space", RANGES("\t\r  ")},
    {"upper", RANGES("AZ")},
    {"word", RANGES("09AZaz__")},
    {"xdigit", RANGES("09AFaf")},
};

static const struct named_class *find_class(const struct named_class *classes, size_t n,
                                            struct str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_is(name, classes[i].name))
            return &classes[i];
    }
    return NULL;
}

/* "\d" and the like: true when it was one. */
static bool take_perl_class(struct str *rest, bool fold, struct ascii_set *set)
{
    if (rest->n < 2 || rest->p[0] != '\\' || !is_letter((unsigned char)rest->p[1]))
        return false;
    const char lower = (char)(rest->p[1] | ('a' ^ 'A'));
    const struct named_class *class =
        find_class(perl_classes, ARRAY_SIZE(perl_classes), str_make(&lower, 1));
    if (!class)
        return false;
    add_ranges(set, class->ranges, class->n, fold, rest->p[1] != lower);
    *rest = str_from(*rest, 2);
    return true;
}

/* "[:alpha:]" inside a class: 1, 0 when it is none, -1. */
static int take_posix_class(struct str *rest, bool fold, struct ascii_set *set, struct error *err)
{
    if (rest->n <= 2 || !str_starts(*rest, STR("[:")))
        return 0;
    const ptrdiff_t end = str_find(str_from(*rest, 2), STR(":]"));
    if (end < 0)
        return 0;
    struct str name = str_sub(*rest, 2, (size_t)end + 2);
    const bool negated = name.n && name.p[0] == '^';
    const struct named_class *class =
        find_class(posix_classes, ARRAY_SIZE(posix_classes), negated ? str_from(name, 1) : name);
    if (!class)
        return regex_error(err, BAD_RANGE, str_sub(*rest, 0, (size_t)end + 4));
    add_ranges(set, class->ranges, class->n, fold, negated);
    *rest = str_from(*rest, (size_t)end + 4);
    return 1;
}

/* ---- Unicode properties -------------------------------------------------------------------- */

/* Capital first, the rest small, without '_', '-' and ' '; false when it is too long for any. */
static bool canonical_name(struct str name, char text[PROPERTY_NAME_MAX], struct str *ret_name)
{
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
        if (c == '_' || c == '-' || c == ' ')
            continue;
        if (n == PROPERTY_NAME_MAX)
            return false;
        if ((n == 0 && lower) || (n > 0 && upper))
            c = (char)(c ^ ('a' ^ 'A'));
        text[n++] = c;
    }
    *ret_name = str_make(text, n);
    return true;
}

static const struct regex_property *find_property(struct str name)
{
    char text[PROPERTY_NAME_MAX];
    struct str canonical;
    size_t low = 0, high = regex_properties_count;
    if (!canonical_name(name, text, &canonical))
        return NULL;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = str_cmp(canonical, str_of(regex_properties[middle].name));
        if (order == 0)
            return &regex_properties[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* "\pL", "\p{Greek}", "\P{^Greek}": 1, 0 when it is none, -1. */
static int take_property(struct str *rest, bool fold, struct ascii_set *set, struct error *err)
{
    if (rest->n < 2 || rest->p[0] != '\\' || (rest->p[1] | ('a' ^ 'A')) != 'p')
        return 0;
    bool negated = rest->p[1] == 'P';
    struct str after = str_from(*rest, 2), name;
    if (after.n && after.p[0] == '{') {
        const ptrdiff_t end = str_chr(after, '}');
        if (end < 0)
            return regex_error(err, BAD_RANGE, *rest);
        name = str_sub(after, 1, (size_t)end);
        after = str_from(after, (size_t)end + 1);
    } else {
        name = after;
        if (after.n)
            (void)regex_take_char(&after);
        name = str_sub(name, 0, name.n - after.n);
    }
    if (name.n && name.p[0] == '^') {
        negated = !negated;
        name = str_from(name, 1);
    }
    const struct regex_property *property = find_property(name);
    if (!property)
        return regex_error(err, BAD_RANGE, str_sub(*rest, 0, rest->n - after.n));
    add_set(set, fold ? &property->folded : &property->plain, negated);
    *rest = after;
    return 1;
}

/* ---- escapes ------------------------------------------------------------------------------- */

static int hex_digit(uint32_t c)
{
    if (is_digit(c))
        return (int)(c - '0');
    c |= 'a' ^ 'A';
    return c >= 'a' && c <= 'f' ? (int)(c - 'a') + 10 : -1;
}

/* Behind "\x{": digits up to the brace. False when it is not right. */
static bool take_hex_in_braces(struct str *rest, uint32_t *ret_char)
{
    uint32_t value = 0;
    for (size_t digits = 0; rest->n; digits++) {
        const uint32_t c = regex_take_char(rest);
        const int digit = hex_digit(c);
        if (c == '}') {
            *ret_char = value;
            return digits > 0;
        }
        if (digit < 0)
            return false;
        value = value * 16 + (uint32_t)digit;
        if (value > RUNE_MAX)
            return false;
    }
    return false;
}

/* Behind "\x": two digits, or any number in braces. */
static bool take_hex(struct str *rest, uint32_t *ret_char)
{
    int digits[2] = {-1, -1};
    for (size_t i = 0; i < ARRAY_SIZE(digits) && rest->n; i++) {
        const uint32_t c = regex_take_char(rest);
        if (i == 0 && c == '{')
            return take_hex_in_braces(rest, ret_char);
        digits[i] = hex_digit(c);
    }
    if (digits[0] < 0 || digits[1] < 0)
        return false;
    *ret_char = (uint32_t)(digits[0] * 16 + digits[1]);
    return true;
}

/* `first` and up to two more octal digits. */
static uint32_t take_octal(struct str *rest, uint32_t first)
{
    uint32_t value = first - '0';
    for (int i = 0; i < 2 && rest->n && rest->p[0] >= '0' && rest->p[0] <= '7'; i++) {
        value = value * 8 + (uint32_t)(rest->p[0] - '0');
        *rest = str_from(*rest, 1);
    }
    return value;
}

/* The character that a letter or digit behind a backslash stands for; false when it is none. */
static bool take_named_char(struct str *rest, uint32_t c, uint32_t *ret_char)
{
    static const char names[] = "afnrtv", meanings[] = "\a\f\n\r\t\v";
    const char *name = strchr(names, (int)c);
    if (name) {
        *ret_char = (unsigned char)meanings[name - names];
        return true;
    }
    if (c == 'x')
        return take_hex(rest, ret_char);
    /* A single digit but 0 would refer to a group, which is not supported. */
    const bool octal =
        c == '0' || (c >= '1' && c <= '7' && rest->n && rest->p[0] >= '0' && rest->p[0] <= '7');
    if (octal)
        *ret_char = take_octal(rest, c);
    return octal;
}

int regex_take_escape(struct str *rest, uint32_t *ret_char, struct error *err)
{
    struct str after = str_from(*rest, 1);
    if (after.n == 0)
        return regex_error(err, "trailing backslash at end of expression", STR_NULL);
    const uint32_t c = regex_take_char(&after);
    const bool plain = c < 128 && !is_letter(c) && !is_digit(c);
    if (plain)
        *ret_char = c;
    else if (c >= 128 || !take_named_char(&after, c, ret_char))
        return regex_error(err, "invalid escape sequence", str_sub(*rest, 0, rest->n - after.n));
    *rest = after;
    return 0;
}

/* ---- classes in brackets ------------------------------------------------------------------- */

static int take_class_char(struct str *rest, struct str whole, uint32_t *ret_char,
                           struct error *err)
{
    if (rest->n == 0)
        return regex_error(err, "missing closing ]", whole);
    if (rest->p[0] == '\\')
        return regex_take_escape(rest, ret_char, err);
    *ret_char = regex_take_char(rest);
    return 0;
}

/* "a" or "a-z". */
static int take_range(struct str *rest, struct str whole, bool fold, struct ascii_set *set,
                      struct error *err)
{
    const struct str from = *rest;
    uint32_t low = 0, high;
    if (take_class_char(rest, whole, &low, err) < 0)
        return -1;
    high = low;
    if (rest->n >= 2 && rest->p[0] == '-' && rest->p[1] != ']') {
        *rest = str_from(*rest, 1);
        if (take_class_char(rest, whole, &high, err) < 0)
            return -1;
        if (high < low)
            return regex_error(err, BAD_RANGE, str_sub(from, 0, from.n - rest->n));
    }
    ascii_set_add(set, low, high, fold);
    return 0;
}

static int take_class_item(struct str *rest, struct str whole, bool fold, struct ascii_set *set,
                           struct error *err)
{
    int done = take_posix_class(rest, fold, set, err);
    if (done == 0)
        done = take_property(rest, fold, set, err);
    if (done == 0)
        done = take_perl_class(rest, fold, set);
    return done ? done : take_range(rest, whole, fold, set, err);
}

static int take_brackets(struct str *rest, bool fold, struct ascii_set *set, struct error *err)
{
    const struct str whole = *rest;
    struct ascii_set listed = {{0, 0}};
    *rest = str_from(*rest, 1);
    const bool negated = rest->n && rest->p[0] == '^';
    if (negated)
        *rest = str_from(*rest, 1);
    bool first = true; /* a "]" is one of the characters there */
    while (first || rest->n == 0 || rest->p[0] != ']') {
        if (take_class_item(rest, whole, fold, &listed, err) < 0)
            return -1;
        first = false;
    }
    *rest = str_from(*rest, 1);
    add_set(set, &listed, negated);
    return 1;
}

int regex_take_class(struct str *rest, bool fold, struct ascii_set *ret_set, struct error *err)
{
    *ret_set = (struct ascii_set){{0, 0}};
    if (rest->p[0] == '[')
        return take_brackets(rest, fold, ret_set, err);
    const int done = take_property(rest, fold, ret_set, err);
    return done ? done : take_perl_class(rest, fold, ret_set);
}
