/*
 * Arguments of plugins and actions. See arguments.h.
 */
#include "scheduler/arguments.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/timefmt.h"

#define LIST_MAX ((size_t)4096)

struct argument {
    enum json_type type;
    char *text; /* owned; of a string what it says, of anything else its JSON */
};

struct arguments *arguments_new(const char *place)
{
    struct arguments *arguments = xnew(struct arguments);
    arguments->place = xstrdup(place);
    return arguments;
}

static void argument_free(void *value)
{
    struct argument *argument = value;
    if (argument)
        free(argument->text);
    free(argument);
}

void arguments_free(struct arguments *arguments)
{
    if (!arguments)
        return;
    map_clear_with(&arguments->values, argument_free);
    map_clear(&arguments->asked);
    free(arguments->place);
    free(arguments);
}

void arguments_read(struct arguments *arguments, struct json_reader *reader)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        struct argument *argument = xnew(struct argument);
        argument->type = json_peek(reader);
        argument->text =
            str_dup(argument->type == JSON_STRING ? json_str(reader) : json_raw(reader));
        argument_free(map_set(&arguments->values, key, argument));
    }
}

/* ---- questions ------------------------------------------------------------------------------- */

/* NULL when it is absent or null. */
static const struct argument *ask(struct arguments *arguments, const char *name)
{
    const struct argument *argument = map_get(&arguments->values, str_of(name));
    if (!map_has(&arguments->asked, str_of(name)))
        map_set(&arguments->asked, str_of(name), NULL);
    return argument && argument->type != JSON_NULL ? argument : NULL;
}

static void complain(const struct arguments *arguments, const char *name, const char *text,
                     const char *wanted)
{
    log_warn(
        "an argument in the configuration is of the wrong type; its preset is used place=\"%s\" "
        "argument=%s value=\"%s\" wanted=\"%s\"",
        arguments->place, name, text, wanted);
}

bool arguments_int(struct arguments *arguments, const char *name, int64_t *value)
{
    const struct argument *argument = ask(arguments, name);
    if (!argument)
        return false;
    if (argument->type == JSON_NUMBER && str_to_i64(str_of(argument->text), value))
        return true;
    complain(arguments, name, argument->text, "a whole number");
    return false;
}

bool arguments_double(struct arguments *arguments, const char *name, double *value)
{
    const struct argument *argument = ask(arguments, name);
    if (!argument)
        return false;
    if (argument->type == JSON_NUMBER && str_to_double(str_of(argument->text), value))
        return true;
    complain(arguments, name, argument->text, "a number");
    return false;
}

/* What YAML 1.1 has beside Go's spellings. */
static bool bool_of(struct str text, bool *value)
{
    static const struct {
        const char *text;
        bool value;
    } more[] = {{"yes", true}, {"Yes", true},  {"YES", true},  {"y", true},
                {"Y", true},   {"on", true},   {"On", true},   {"ON", true},
                {"no", false}, {"No", false},  {"NO", false},  {"n", false},
                {"N", false},  {"off", false}, {"Off", false}, {"OFF", false}};
    for (size_t i = 0; i < ARRAY_SIZE(more); i++)
        if (str_is(text, more[i].text)) {
            *value = more[i].value;
            return true;
        }
    return str_to_bool(text, value);
}

bool arguments_bool(struct arguments *arguments, const char *name, bool *value)
{
    const struct argument *argument = ask(arguments, name);
    if (!argument)
        return false;
    bool may_be = argument->type == JSON_BOOL || argument->type == JSON_STRING;
    if (may_be && bool_of(str_of(argument->text), value))
        return true;
    complain(arguments, name, argument->text, "true or false");
    return false;
}

bool arguments_str(struct arguments *arguments, const char *name, const char **value)
{
    const struct argument *argument = ask(arguments, name);
    if (!argument)
        return false;
    if (argument->type == JSON_STRING) {
        *value = argument->text;
        return true;
    }
    complain(arguments, name, argument->text, "a text");
    return false;
}

bool arguments_duration(struct arguments *arguments, const char *name, int64_t *value)
{
    const struct argument *argument = ask(arguments, name);
    int64_t ns;
    if (!argument)
        return false;
    bool may_be = argument->type == JSON_STRING || argument->type == JSON_NUMBER;
    if (may_be && duration_or_seconds_parse(str_of(argument->text), &ns) && ns >= 0) {
        *value = ns;
        return true;
    }
    complain(arguments, name, argument->text, "a duration, or a number of seconds");
    return false;
}

static void give_text(struct str text, void (*each)(void *arg, struct str text), void *arg)
{
    text = str_trim(text);
    if (!str_empty(text))
        each(arg, text);
}

/* False when the JSON is no list of texts; those before have been given. */
static bool give_list(struct str json, void (*each)(void *arg, struct str text), void *arg)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct error err = ERROR_INIT;
    json_init(&reader, json, &arena);
    bool present = json_array(&reader);
    while (present && json_item(&reader))
        give_text(json_str(&reader), each, arg);
    return json_end(&reader, &err) == 0;
}

bool arguments_texts(struct arguments *arguments, const char *name,
                     void (*each)(void *arg, struct str text), void *arg)
{
    const struct argument *argument = ask(arguments, name);
    if (!argument)
        return false;
    struct str rest = str_of(argument->text), part;
    if (argument->type == JSON_STRING) {
        while (str_split(&rest, ',', &part))
            give_text(part, each, arg);
        return true;
    }
    if (argument->type == JSON_ARRAY && give_list(rest, each, arg))
        return true;
    complain(arguments, name, argument->text, "a list of texts");
    return false;
}

bool arguments_json(struct arguments *arguments, const char *name, enum json_type type,
                    struct str *value)
{
    const struct argument *argument = ask(arguments, name);
    if (!argument)
        return false;
    if (argument->type == type) {
        *value = str_of(argument->text);
        return true;
    }
    complain(arguments, name, argument->text, type == JSON_OBJECT ? "a map" : "a list");
    return false;
}

bool arguments_next(struct arguments *arguments, const char *prefix, size_t *position,
                    struct str *ret_name)
{
    while (map_next(&arguments->values, position, ret_name, NULL))
        if (str_starts(*ret_name, str_of(prefix)))
            return true;
    return false;
}

void arguments_ignore(struct arguments *arguments, const char *name)
{
    if (ask(arguments, name))
        log_info("an argument in the configuration has no effect in this version place=\"%s\" "
                 "argument=%s",
                 arguments->place, name);
}

/* ---- what is not known ----------------------------------------------------------------------- */

static void list_names(const struct map *names, struct buf *out)
{
    struct str name;
    for (size_t i = 0; map_next(names, &i, &name, NULL);)
        buf_printf(out, "%s%.*s", out->n ? ", " : "", STR_ARG(name));
    if (!out->n)
        buf_add_cstr(out, "none");
}

void arguments_report(const struct arguments *arguments)
{
    struct str name;
    for (size_t i = 0; map_next(&arguments->values, &i, &name, NULL);) {
        cleanup_buf struct buf known = BUF_INIT(LIST_MAX);
        if (map_has(&arguments->asked, name))
            continue;
        list_names(&arguments->asked, &known);
        log_warn("an argument in the configuration is not known and has no effect place=\"%s\" "
                 "argument=%.*s known=\"%s\"",
                 arguments->place, STR_ARG(name), known.p);
    }
}

void config_read_bool(struct json_reader *reader, bool *value)
{
    if (json_peek(reader) != JSON_STRING) {
        if (json_peek(reader) == JSON_NULL)
            json_skip(reader);
        else
            *value = json_bool(reader);
    } else if (!bool_of(json_str(reader), value)) {
        json_fail(reader, "a boolean is neither true nor false");
    }
}
