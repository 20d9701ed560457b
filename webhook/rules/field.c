/*
 * Errors with the path of their field: see field.h.
 */
#include "webhook/rules/field.h"

#define LINE_MAX_BYTES 4096
#define VALUE_MAX_BYTES 256

void field_write(const struct field *at, struct buf *out)
{
    if (at->parent)
        field_write(at->parent, out);
    if (at->name)
        buf_printf(out, "%s%s", at->parent ? "." : "", at->name);
    else if (at->key)
        buf_printf(out, "[%.256s]", at->key);
    else
        buf_printf(out, "[%zu]", at->index);
}

/* Once a text did not fit none is made: there may be a great many. */
static bool only_counted(struct problems *problems)
{
    if (problems->dropped)
        problem_invalid(problems, "%s", "");
    return problems->dropped > 0;
}

static void write_value(const cJSON *value, struct buf *out)
{
    char *text = value ? cJSON_PrintUnformatted(value) : NULL;
    const struct str shown = text ? str_of(text) : STR("null");
    buf_add_str(out, str_cut(shown, VALUE_MAX_BYTES));
    if (shown.n > VALUE_MAX_BYTES)
        buf_add_cstr(out, "...");
    cJSON_free(text);
}

static void add(struct problems *problems, const struct field *at, const char *kind,
                struct str value, struct str detail)
{
    struct buf line cleanup_buf = BUF_INIT(LINE_MAX_BYTES);
    if (only_counted(problems))
        return;
    field_write(at, &line);
    buf_printf(&line, ": %s", kind);
    if (value.n)
        buf_printf(&line, ": %.*s", STR_ARG(value));
    if (detail.n)
        buf_printf(&line, ": %.*s", STR_ARG(detail));
    problem_invalid(problems, "%.*s", STR_ARG(buf_str(&line)));
}

static void add_value(struct problems *problems, const struct field *at, const char *kind,
                      const cJSON *value, struct str detail)
{
    struct buf text cleanup_buf = BUF_INIT(VALUE_MAX_BYTES + 8);
    if (only_counted(problems))
        return;
    write_value(value, &text);
    add(problems, at, kind, buf_str(&text), detail);
}

/* The same for a text that is no member of a tree. */
static void add_text(struct problems *problems, const struct field *at, const char *kind,
                     const char *value, struct str detail)
{
    struct buf shown cleanup_buf = BUF_INIT(VALUE_MAX_BYTES + 8);
    const struct str cut = str_cut(str_of(value), VALUE_MAX_BYTES);
    buf_printf(&shown, "\"%.*s\"%s", STR_ARG(cut), cut.n < strlen(value) ? "..." : "");
    add(problems, at, kind, buf_str(&shown), detail);
}

void field_invalid(struct problems *problems, const struct field *at, const cJSON *value,
                   const char *detail, ...)
{
    struct buf text cleanup_buf = BUF_INIT(LINE_MAX_BYTES);
    va_list args;
    if (only_counted(problems))
        return;
    va_start(args, detail);
    buf_vprintf(&text, detail, args);
    va_end(args);
    add_value(problems, at, "Invalid value", value, buf_str(&text));
}

void field_invalid_text(struct problems *problems, const struct field *at, const char *value,
                        const char *detail, ...)
{
    struct buf text cleanup_buf = BUF_INIT(LINE_MAX_BYTES);
    va_list args;
    if (only_counted(problems))
        return;
    va_start(args, detail);
    buf_vprintf(&text, detail, args);
    va_end(args);
    add_text(problems, at, "Invalid value", value, buf_str(&text));
}

void field_required(struct problems *problems, const struct field *at, const char *detail)
{
    add(problems, at, "Required value", STR_NULL, str_of(detail));
}

void field_forbidden(struct problems *problems, const struct field *at, const char *detail)
{
    add(problems, at, "Forbidden", STR_NULL, str_of(detail));
}

void field_duplicate(struct problems *problems, const struct field *at, const cJSON *value)
{
    add_value(problems, at, "Duplicate value", value, STR_NULL);
}

void field_duplicate_text(struct problems *problems, const struct field *at, const char *value)
{
    add_text(problems, at, "Duplicate value", value, STR_NULL);
}

void field_not_found(struct problems *problems, const struct field *at, const cJSON *value)
{
    add_value(problems, at, "Not found", value, STR_NULL);
}

void field_not_supported(struct problems *problems, const struct field *at, const cJSON *value,
                         const char *const *supported)
{
    struct buf text cleanup_buf = BUF_INIT(LINE_MAX_BYTES);
    buf_add_cstr(&text, "supported values: ");
    for (size_t i = 0; supported[i]; i++)
        buf_printf(&text, "%s\"%s\"", i ? ", " : "", supported[i]);
    add_value(problems, at, "Unsupported value", value, buf_str(&text));
}

void field_too_long(struct problems *problems, const struct field *at, size_t max_bytes)
{
    struct buf text cleanup_buf = BUF_INIT(128);
    buf_printf(&text, "may not be more than %zu bytes", max_bytes);
    add(problems, at, "Too long", STR_NULL, buf_str(&text));
}

void field_too_many(struct problems *problems, const struct field *at, size_t count, size_t max)
{
    struct buf shown cleanup_buf = BUF_INIT(32), text cleanup_buf = BUF_INIT(128);
    buf_printf(&shown, "%zu", count);
    buf_printf(&text, "must have at most %zu items", max);
    add(problems, at, "Too many", buf_str(&shown), buf_str(&text));
}
