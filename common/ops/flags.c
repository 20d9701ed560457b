/*
 * Command-line flags in pflag's manner: the parser and the --help text.
 *
 * Tables are searched in order, so a binary may override a common flag. Values land where the
 * table points; strings are borrowed from argv. Run once at start, before any thread.
 */
#include "ops/flags.h"

#include "base/log.h"
#include "base/timefmt.h"

struct parser {
    int argc, next; /* next: index of the argument not yet looked at */
    char **argv;
    const struct flag *const *tables;
    size_t table_count;
    bool noticed_stray;
};

/* Dashes and underscores are the same. */
static bool same_name(struct str given, const char *name)
{
    if (given.n != strlen(name))
        return false;
    for (size_t i = 0; i < given.n; i++) {
        const bool given_dash = given.p[i] == '-' || given.p[i] == '_';
        const bool name_dash = name[i] == '-' || name[i] == '_';
        if (given_dash != name_dash || (!given_dash && given.p[i] != name[i]))
            return false;
    }
    return true;
}

static const struct flag *find_flag(const struct parser *parser, struct str name, char letter)
{
    for (size_t t = 0; t < parser->table_count; t++) {
        for (const struct flag *flag = parser->tables[t]; flag->name; flag++) {
            if (letter ? flag->letter == letter : same_name(name, flag->name))
                return flag;
        }
    }
    return NULL;
}

static bool takes_no_value(const struct flag *flag)
{
    return flag->type == FLAG_BOOL || flag->type == FLAG_IGNORED_BOOL;
}

static int bad_value(const struct flag *flag, struct str text, const char *want, struct error *err)
{
    return error_set(err, ERROR_INVALID, "flag --%s: \"%.*s\" is not %s", flag->name, STR_ARG(text),
                     want);
}

static int add_string(const struct flag *flag, const char *text, struct error *err)
{
    struct flag_strings *strings = flag->value;
    if (!strings->set)
        strings->n = 0;
    strings->set = true;
    if (strings->n == FLAG_STRINGS_MAX)
        return error_set(err, ERROR_LIMIT, "flag --%s: given more than %d times", flag->name,
                         FLAG_STRINGS_MAX);
    strings->items[strings->n++] = text;
    return 0;
}

/* `text` is NUL-terminated and lives in argv. */
static int store_value(const struct flag *flag, const char *text, struct error *err)
{
    const struct str value = str_of(text);
    switch (flag->type) {
    case FLAG_BOOL:
        return str_to_bool(value, flag->value) ? 0 : bad_value(flag, value, "true or false", err);
    case FLAG_INT:
        return str_to_i64(value, flag->value) ? 0 : bad_value(flag, value, "a whole number", err);
    case FLAG_DOUBLE:
        return str_to_double(value, flag->value) ? 0 : bad_value(flag, value, "a number", err);
    case FLAG_DURATION:
        return duration_parse(value, flag->value)
                   ? 0
                   : bad_value(flag, value, "a duration such as 15s or 1m30s", err);
    case FLAG_STRING:
        *(const char **)flag->value = text;
        return 0;
    case FLAG_STRINGS:
        return add_string(flag, text, err);
    case FLAG_IGNORED:
    case FLAG_IGNORED_BOOL:
        log_info("flag has no effect flag=--%s reason=\"%s\"", flag->name, flag->help);
        return 0;
    }
    return error_set(err, ERROR_FATAL, "flag --%s has an unknown type", flag->name);
}

/* Stores the value: what was attached with '=' (not NULL), else the next argument if one is due. */
static int take_value(struct parser *parser, const struct flag *flag, const char *attached,
                      struct error *err)
{
    if (attached)
        return store_value(flag, attached, err);
    if (takes_no_value(flag))
        return store_value(flag, "true", err);
    if (parser->next == parser->argc)
        return error_set(err, ERROR_INVALID, "flag --%s needs a value", flag->name);
    return store_value(flag, parser->argv[parser->next++], err);
}

static int parse_long(struct parser *parser, const char *text, struct error *err)
{
    const char *equals = strchr(text, '=');
    const struct str name = equals ? str_make(text, (size_t)(equals - text)) : str_of(text);
    const struct flag *flag = find_flag(parser, name, 0);
    if (!flag)
        return error_set(err, ERROR_INVALID, "unknown flag --%.*s (--help lists the flags)",
                         STR_ARG(name));
    return take_value(parser, flag, equals ? equals + 1 : NULL, err);
}

/* "-v=4", "-v4", "-v 4"; letters of flags without a value may stand together. */
static int parse_short(struct parser *parser, const char *text, struct error *err)
{
    for (; *text; text++) {
        const struct flag *flag = find_flag(parser, STR_NULL, *text);
        if (!flag)
            return error_set(err, ERROR_INVALID, "unknown flag -%c (--help lists the flags)",
                             *text);
        const char *rest = text + 1;
        if (*rest == '=')
            return take_value(parser, flag, rest + 1, err);
        if (!takes_no_value(flag))
            return take_value(parser, flag, *rest ? rest : NULL, err);
        if (take_value(parser, flag, NULL, err) < 0)
            return -1;
    }
    return 0;
}

static void notice_stray(struct parser *parser, const char *text)
{
    if (!parser->noticed_stray)
        log_warn("arguments that are not flags are ignored first=\"%s\"", text);
    parser->noticed_stray = true;
}

int flags_parse(int argc, char **argv, const struct flag *const *tables, size_t table_count,
                struct error *err)
{
    struct parser parser = {.argc = argc, .next = 1, .argv = argv, .tables = tables};
    parser.table_count = table_count;
    bool only_strays = false; /* after "--" */
    while (parser.next < argc) {
        const char *text = argv[parser.next++];
        int rc = 0;
        if (only_strays || text[0] != '-' || text[1] == '\0')
            notice_stray(&parser, text);
        else if (strcmp(text, "--") == 0)
            only_strays = true;
        else if (text[1] == '-')
            rc = parse_long(&parser, text + 2, err);
        else
            rc = parse_short(&parser, text + 1, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* ---- --help -------------------------------------------------------------------------------- */

static void add_default(struct buf *out, const struct flag *flag)
{
    char text[TIME_TEXT_MAX];
    const char *string;
    switch (flag->type) {
    case FLAG_BOOL:
        buf_printf(out, " (default %s)", *(const bool *)flag->value ? "true" : "false");
        break;
    case FLAG_INT:
        buf_printf(out, " (default %lld)", (long long)*(const int64_t *)flag->value);
        break;
    case FLAG_DOUBLE:
        buf_printf(out, " (default %g)", *(const double *)flag->value);
        break;
    case FLAG_DURATION:
        duration_format(text, *(const int64_t *)flag->value);
        buf_printf(out, " (default %s)", text);
        break;
    case FLAG_STRING:
        string = *(const char *const *)flag->value;
        if (string && *string)
            buf_printf(out, " (default \"%s\")", string);
        break;
    case FLAG_STRINGS:
        for (size_t i = 0; i < ((const struct flag_strings *)flag->value)->n; i++)
            buf_printf(out, "%s\"%s\"", i ? ", " : " (default ",
                       ((const struct flag_strings *)flag->value)->items[i]);
        buf_add_cstr(out, ((const struct flag_strings *)flag->value)->n ? ")" : "");
        break;
    case FLAG_IGNORED:
    case FLAG_IGNORED_BOOL:
        break;
    }
}

static const char *type_word(enum flag_type type)
{
    switch (type) {
    case FLAG_INT:
        return " INT";
    case FLAG_DOUBLE:
        return " NUMBER";
    case FLAG_DURATION:
        return " DURATION";
    case FLAG_STRING:
    case FLAG_IGNORED:
        return " STRING";
    case FLAG_STRINGS:
        return " STRING ...";
    case FLAG_BOOL:
    case FLAG_IGNORED_BOOL:
        break;
    }
    return "";
}

static void add_flag(struct buf *out, const struct flag *flag)
{
    if (flag->letter)
        buf_printf(out, "  -%c, ", flag->letter);
    else
        buf_add_cstr(out, "      ");
    buf_printf(out, "--%s%s\n          %s", flag->name, type_word(flag->type), flag->help);
    add_default(out, flag);
    buf_add_char(out, '\n');
}

/* Lists what takes effect, or what is ignored; a flag that an earlier table overrides is left out.
 */
static void add_section(struct buf *out, const struct parser *parser, bool ignored)
{
    for (size_t t = 0; t < parser->table_count; t++) {
        for (const struct flag *flag = parser->tables[t]; flag->name; flag++) {
            const bool is_ignored = flag->type == FLAG_IGNORED || flag->type == FLAG_IGNORED_BOOL;
            if (is_ignored == ignored && find_flag(parser, str_of(flag->name), 0) == flag)
                add_flag(out, flag);
        }
    }
}

void flags_usage(struct buf *out, const char *program, const struct flag *const *tables,
                 size_t table_count)
{
    const struct parser parser = {.tables = tables, .table_count = table_count};
    buf_printf(out, "Usage: %s [flags]\n\nFlags:\n", program);
    add_section(out, &parser, false);
    buf_add_cstr(out, "\nAccepted for compatibility, without effect:\n");
    add_section(out, &parser, true);
}
