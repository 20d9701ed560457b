/*
 * YAML to JSON: libyaml's events fed to the JSON writer, no tree.
 *
 * Open collections are kept in a fixed stack of LIMIT_JSON_DEPTH. Text that is JSON already passes
 * through unchanged. Input and output are borrowed for the call. Pure, any thread.
 */
#include "json/yaml.h"
#include "base/limits.h"
#include "json/reader.h"
#include "json/writer.h"
#include <yaml.h>

struct level {
    bool mapping;
    bool key; /* in a mapping: the next node is a key */
};

struct converter {
    struct json_writer writer;
    struct level levels[LIMIT_JSON_DEPTH];
    size_t depth;
    struct error *err; /* borrowed, may be NULL */
};

static int fail_mark(struct converter *converter, enum error_class cls, yaml_mark_t mark,
                     const char *problem)
{
    return error_set(converter->err, cls, "invalid YAML at line %zu, column %zu: %s", mark.line + 1,
                     mark.column + 1, problem);
}

static int fail_parser(struct converter *converter, const yaml_parser_t *parser)
{
    const char *problem = parser->problem ? parser->problem : "unreadable";
    if (parser->error == YAML_READER_ERROR)
        return error_set(converter->err, ERROR_INVALID, "invalid YAML at byte %zu: %s",
                         parser->problem_offset, problem);
    if (parser->error == YAML_MEMORY_ERROR)
        return error_set(converter->err, ERROR_FATAL, "out of memory while reading YAML");
    return fail_mark(converter, ERROR_INVALID, parser->problem_mark, problem);
}

/* ---- plain scalars by the core schema ---- */

static bool is_one_of(struct str text, const char *const *words)
{
    for (; *words; words++)
        if (str_is(text, *words))
            return true;
    return false;
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

/* A number's digits as JSON wants them: no needless zeros in front, at least one digit. */
static struct str json_digits(struct str digits)
{
    while (digits.n > 1 && digits.p[0] == '0')
        digits = str_from(digits, 1);
    return digits.n ? digits : STR("0");
}

/* The value of a hexadecimal digit; 16 for any other character. */
static unsigned digit_value(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (unsigned)(found - digits) % 16 : 16;
}

/* 0x1F and 0o17; false when `text` is neither or needs more than 64 bits. */
static bool based_number(struct str text, uint64_t *ret_value)
{
    unsigned base = str_starts(text, STR("0x")) ? 16 : str_starts(text, STR("0o")) ? 8 : 0;
    if (base == 0 || text.n < 3)
        return false;
    uint64_t value = 0;
    for (size_t i = 2; i < text.n; i++) {
        unsigned digit = digit_value(text.p[i]);
        if (digit >= base || value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    *ret_value = value;
    return true;
}

/* Writes `text` as a JSON number; false when it is none. */
static bool write_number(struct json_writer *writer, struct str text)
{
    char number[24];
    uint64_t value;
    if (based_number(text, &value)) {
        int n = snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
        json_w_raw(writer, str_make(number, (size_t)n));
        return true;
    }
    bool negative = text.n && text.p[0] == '-';
    struct str rest = str_from(text, negative || (text.n && text.p[0] == '+'));
    struct str whole = take_digits(&rest);
    struct str fraction = STR_NULL;
    if (rest.n && rest.p[0] == '.') {
        rest = str_from(rest, 1);
        fraction = take_digits(&rest);
    }
    if (whole.n + fraction.n == 0)
        return false;
    struct str exponent = rest;
    if (rest.n && (rest.p[0] == 'e' || rest.p[0] == 'E')) {
        rest = str_from(rest, 1);
        rest = str_from(rest, rest.n && (rest.p[0] == '-' || rest.p[0] == '+'));
        if (take_digits(&rest).n == 0)
            return false;
    }
    if (rest.n)
        return false;
    json_w_raw(writer, negative ? STR("-") : STR_NULL);
    buf_add_str(writer->out, json_digits(whole));
    if (fraction.n) {
        buf_add_char(writer->out, '.');
        buf_add_str(writer->out, fraction);
    }
    buf_add_str(writer->out, exponent);
    return true;
}

/* A plain scalar as null, boolean, number or string. */
static int write_plain(struct converter *converter, const yaml_event_t *event, struct str text)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    static const char *const no_json[] = {".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf",
                                          "+.INF", "-.inf", "-.Inf", "-.INF", ".nan",
                                          ".NaN",  ".NAN",  NULL};
    struct json_writer *writer = &converter->writer;
    if (is_one_of(text, no_json))
        return fail_mark(converter, ERROR_INVALID, event->start_mark,
                         "infinity and not-a-number are not supported");
    if (is_one_of(text, nulls))
        json_w_null(writer);
    else if (is_one_of(text, trues) || is_one_of(text, falses))
        json_w_bool(writer, is_one_of(text, trues));
    else if (!write_number(writer, text))
        json_w_str(writer, text);
    return 0;
}

/* ---- events ---- */

/* Tags beside the string tag and those of plain collections ask for types we do not have. */
static bool is_tag(const yaml_char_t *tag, const char *name)
{
    struct str text = str_of((const char *)tag);
    return str_is(text, "!") || (str_starts(text, STR("tag:yaml.org,2002:")) &&
                                 str_is(str_from(text, sizeof("tag:yaml.org,2002:") - 1), name));
}

static int write_scalar(struct converter *converter, const yaml_event_t *event)
{
    struct str text = str_make((const char *)event->data.scalar.value, event->data.scalar.length);
    const yaml_char_t *tag = event->data.scalar.tag;
    if (tag && !is_tag(tag, "str"))
        return fail_mark(converter, ERROR_INVALID, event->start_mark,
                         "tags other than !!str are not supported");
    struct level *top = converter->depth ? &converter->levels[converter->depth - 1] : NULL;
    if (top && top->mapping && top->key) {
        json_w_key(&converter->writer, text);
        top->key = false;
        return 0;
    }
    if (top)
        top->key = true;
    if (!tag && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return write_plain(converter, event, text);
    json_w_str(&converter->writer, text);
    return 0;
}

static int open_level(struct converter *converter, const yaml_event_t *event, bool mapping)
{
    const yaml_char_t *tag =
        mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    if (tag && !is_tag(tag, mapping ? "map" : "seq"))
        return fail_mark(converter, ERROR_INVALID, event->start_mark,
                         "tags on collections are not supported");
    struct level *top = converter->depth ? &converter->levels[converter->depth - 1] : NULL;
    if (top && top->mapping && top->key)
        return fail_mark(converter, ERROR_INVALID, event->start_mark,
                         "a key must be a scalar, not a collection");
    if (converter->depth >= LIMIT_JSON_DEPTH)
        return fail_mark(converter, ERROR_LIMIT, event->start_mark, "nested deeper than 64 levels");
    if (top)
        top->key = true;
    converter->levels[converter->depth++] = (struct level){.mapping = mapping, .key = true};
    if (mapping)
        json_w_object(&converter->writer);
    else
        json_w_array(&converter->writer);
    return 0;
}

static void close_level(struct converter *converter, bool mapping)
{
    converter->depth--;
    if (mapping)
        json_w_end_object(&converter->writer);
    else
        json_w_end_array(&converter->writer);
}

static const yaml_char_t *anchor_of(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor;
    default:
        return NULL;
    }
}

/* 0 to go on, 1 at the end of the first document, -1 on an error. */
static int convert_event(struct converter *converter, const yaml_event_t *event)
{
    if (event->type == YAML_ALIAS_EVENT || anchor_of(event))
        return fail_mark(converter, ERROR_INVALID, event->start_mark,
                         "anchors and aliases are not supported");
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return write_scalar(converter, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_level(converter, event, /*mapping=*/false);
    case YAML_MAPPING_START_EVENT:
        return open_level(converter, event, /*mapping=*/true);
    case YAML_SEQUENCE_END_EVENT:
        close_level(converter, /*mapping=*/false);
        return 0;
    case YAML_MAPPING_END_EVENT:
        close_level(converter, /*mapping=*/true);
        return 0;
    case YAML_STREAM_END_EVENT:
        json_w_null(&converter->writer); /* no document at all */
        return 1;
    case YAML_DOCUMENT_END_EVENT:
        return 1;
    default:
        return 0;
    }
}

static int convert_first_document(struct converter *converter, yaml_parser_t *parser)
{
    int rc = 0;
    while (rc == 0) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return fail_parser(converter, parser);
        rc = convert_event(converter, &event);
        yaml_event_delete(&event);
        if (rc >= 0 && converter->writer.out->overflow)
            rc = error_set(converter->err, ERROR_LIMIT,
                           "a YAML document is larger than %zu bytes as JSON",
                           converter->writer.out->max);
    }
    return rc < 0 ? -1 : 0;
}

/* JSON in YAML's clothing: read as JSON, which keeps surrogate pairs and big numbers exact. */
static bool is_json(struct str text)
{
    struct str start = str_trim(text);
    if (start.n == 0 || (start.p[0] != '{' && start.p[0] != '['))
        return false;
    struct json_reader reader;
    json_init(&reader, text, NULL);
    json_skip(&reader);
    return json_end(&reader, NULL) == 0;
}

int yaml_to_json(struct str yaml, struct buf *out, struct error *err)
{
    if (is_json(yaml)) {
        if (buf_add_str(out, str_trim(yaml)))
            return 0;
        return error_set(err, ERROR_LIMIT, "a JSON document is larger than %zu bytes", out->max);
    }
    struct converter converter = {.writer = json_writer(out), .err = err};
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return error_set(err, ERROR_FATAL, "out of memory while reading YAML");
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)(yaml.p ? yaml.p : ""), yaml.n);
    int rc = convert_first_document(&converter, &parser);
    yaml_parser_delete(&parser);
    return rc;
}
