/*
 * Arguments in Go's syntax: see goflag.h.
 */
#include "base/goflag.h"
#include "base/alloc.h"

struct word {
    struct str name, value;
    bool has_value;
};

/* Takes the name, and the value behind '=', out of a word. False when the word ends the flags. */
static bool split_word(struct str text, struct word *ret_word)
{
    if (text.n < 2 || text.p[0] != '-')
        return false;
    struct str rest = str_from(text, text.p[1] == '-' ? 2 : 1);
    if (rest.n == 0 || rest.p[0] == '-' || rest.p[0] == '=')
        return false;
    const ptrdiff_t equals = str_chr(rest, '=');
    ret_word->has_value = equals >= 0;
    ret_word->name = equals < 0 ? rest : str_sub(rest, 0, (size_t)equals);
    ret_word->value = equals < 0 ? STR_NULL : str_from(rest, (size_t)equals + 1);
    return true;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    const char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

/* Takes the prefix of a number off. */
static int base_of(struct str *text)
{
    static const struct {
        char letter;
        int base;
    } prefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};
    if (text->n < 2 || text->p[0] != '0')
        return 10;
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        if ((text->p[1] | 0x20) == prefixes[i].letter) {
            *text = str_from(*text, 2);
            return prefixes[i].base;
        }
    }
    *text = str_from(*text, 1);
    return 8;
}

bool goflag_number(struct str text, int64_t *ret_value)
{
    const bool negative = text.n && text.p[0] == '-';
    if (text.n && (text.p[0] == '-' || text.p[0] == '+'))
        text = str_from(text, 1);
    const size_t before = text.n;
    const int base = base_of(&text);
    bool digit_before = text.n < before; /* a prefix may have '_' behind it */
    uint64_t value = 0;
    for (size_t i = 0; i < text.n; i++) {
        const bool gap = text.p[i] == '_';
        const int digit = gap ? 0 : digit_of(text.p[i]);
        if (gap ? !digit_before || i + 1 == text.n : digit >= base)
            return false;
        digit_before = !gap;
        if (!gap && (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
                     __builtin_add_overflow(value, (uint64_t)digit, &value)))
            return false;
    }
    if (text.n == 0 || value > (uint64_t)INT64_MAX + negative)
        return false;
    *ret_value = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static bool fits(enum goflag_kind kind, struct str value)
{
    int64_t number;
    bool truth;

    if (kind == GOFLAG_NUMBER)
        return goflag_number(value, &number);
    return kind == GOFLAG_TEXT || str_to_bool(value, &truth);
}

static const struct goflag *find(const struct goflag *known, struct str name)
{
    for (; known->name; known++) {
        if (str_is(name, known->name))
            return known;
    }
    return NULL;
}

static enum goflag_step set(const struct goflag *flag, struct str value,
                            const struct goflag **ret_flag, struct str *ret_value)
{
    if (!fits(flag->kind, value))
        return GOFLAG_END;
    *ret_flag = flag;
    *ret_value = value;
    return GOFLAG_SET;
}

enum goflag_step goflag_read(struct goflag_reader *reader, struct str text,
                             const struct goflag **ret_flag, struct str *ret_value)
{
    const struct goflag *pending = reader->pending;
    struct word word;

    reader->pending = NULL;
    if (pending)
        return set(pending, text, ret_flag, ret_value);
    if (!split_word(text, &word))
        return GOFLAG_END;
    const struct goflag *flag = find(reader->known, word.name);
    if (!flag)
        return GOFLAG_END;
    if (word.has_value)
        return set(flag, word.value, ret_flag, ret_value);
    if (flag->kind == GOFLAG_BOOL)
        return set(flag, STR("true"), ret_flag, ret_value);
    reader->pending = flag;
    return GOFLAG_MORE;
}
