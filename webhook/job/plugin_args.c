/*
 * Arguments of job plugins: see plugin_args.h.
 */
#include "webhook/job/plugin_args.h"
#include "base/ensure.h"

struct flag {
    struct str name, value;
    bool has_value;
};

/* Takes the name, and the value behind '=', out of a word. False when the word ends the flags. */
static bool split_word(struct str word, struct flag *ret_flag)
{
    if (word.n < 2 || word.p[0] != '-')
        return false;
    struct str rest = str_from(word, word.p[1] == '-' ? 2 : 1);
    if (rest.n == 0 || rest.p[0] == '-' || rest.p[0] == '=')
        return false;
    const ptrdiff_t equals = str_chr(rest, '=');
    ret_flag->has_value = equals >= 0;
    ret_flag->name = equals < 0 ? rest : str_sub(rest, 0, (size_t)equals);
    ret_flag->value = equals < 0 ? STR_NULL : str_from(rest, (size_t)equals + 1);
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

/* A whole number of 64 bits: a sign, 0x, 0o, 0b or 0 in front, '_' between digits. */
static bool is_number(struct str text)
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
    return text.n > 0 && value <= (uint64_t)INT64_MAX + negative;
}

static bool fits(enum plugin_flag_kind kind, struct str value)
{
    bool unused;
    if (kind == PLUGIN_NUMBER)
        return is_number(value);
    return kind == PLUGIN_TEXT || str_to_bool(value, &unused);
}

static const struct plugin_flag *find(const struct plugin_flag *known, struct str name)
{
    for (; known->name; known++) {
        if (str_is(name, known->name))
            return known;
    }
    return NULL;
}

struct str plugin_arg(const cJSON *args, const struct plugin_flag *known, const char *name,
                      const char *preset)
{
    struct str found = str_of(preset);
    const cJSON *arg = cJSON_IsArray(args) ? args->child : NULL;
    struct flag flag;
    for (; cJSON_IsString(arg) && split_word(str_of(arg->valuestring), &flag); arg = arg->next) {
        const struct plugin_flag *match = find(known, flag.name);
        if (!match)
            break;
        if (!flag.has_value && match->kind == PLUGIN_BOOL) {
            flag.value = STR("true");
        } else if (!flag.has_value) {
            arg = arg->next;
            if (!cJSON_IsString(arg))
                break;
            flag.value = str_of(arg->valuestring);
        }
        if (!fits(match->kind, flag.value))
            break;
        if (strcmp(match->name, name) == 0)
            found = flag.value;
    }
    return found;
}
