/*
 * struct json_writer: JSON text appended to a capped buffer; the only state is the pending comma.
 *
 * Names and values are borrowed for the call. Whatever bytes come in, the output is valid UTF-8.
 * Not thread-safe.
 */
#include "json/writer.h"
#include <stdarg.h>

/* The comma before a value or key, where one is due. */
static void separate(struct json_writer *writer)
{
    if (writer->comma)
        buf_add_char(writer->out, ',');
    writer->comma = true;
}

static void open_container(struct json_writer *writer, char bracket)
{
    separate(writer);
    buf_add_char(writer->out, bracket);
    writer->comma = false;
}

static void close_container(struct json_writer *writer, char bracket)
{
    buf_add_char(writer->out, bracket);
    writer->comma = true;
}

void json_w_object(struct json_writer *writer)
{
    open_container(writer, '{');
}

void json_w_end_object(struct json_writer *writer)
{
    close_container(writer, '}');
}

void json_w_array(struct json_writer *writer)
{
    open_container(writer, '[');
}

void json_w_end_array(struct json_writer *writer)
{
    close_container(writer, ']');
}

void json_w_key(struct json_writer *writer, struct str key)
{
    separate(writer);
    json_quote(writer->out, key);
    buf_add_char(writer->out, ':');
    writer->comma = false;
}

void json_w_str(struct json_writer *writer, struct str value)
{
    separate(writer);
    json_quote(writer->out, value);
}

void json_w_strf(struct json_writer *writer, const char *format, ...)
{
    cleanup_buf struct buf text = BUF_INIT(writer->out->max);
    va_list args;
    va_start(args, format);
    bool fits = buf_vprintf(&text, format, args);
    va_end(args);
    if (!fits)
        writer->out->overflow = true;
    json_w_str(writer, buf_str(&text));
}

void json_w_i64(struct json_writer *writer, int64_t value)
{
    separate(writer);
    buf_add_i64(writer->out, value);
}

void json_w_bool(struct json_writer *writer, bool value)
{
    json_w_raw(writer, value ? STR("true") : STR("false"));
}

void json_w_null(struct json_writer *writer)
{
    json_w_raw(writer, STR("null"));
}

void json_w_raw(struct json_writer *writer, struct str json)
{
    separate(writer);
    buf_add_str(writer->out, json);
}

void json_w_member_str(struct json_writer *writer, const char *key, struct str value)
{
    json_w_key(writer, str_of(key));
    json_w_str(writer, value);
}

void json_w_member_i64(struct json_writer *writer, const char *key, int64_t value)
{
    json_w_key(writer, str_of(key));
    json_w_i64(writer, value);
}

void json_w_member_bool(struct json_writer *writer, const char *key, bool value)
{
    json_w_key(writer, str_of(key));
    json_w_bool(writer, value);
}

void json_w_member_raw(struct json_writer *writer, const char *key, struct str json)
{
    json_w_key(writer, str_of(key));
    json_w_raw(writer, json);
}

void json_w_member_object(struct json_writer *writer, const char *key)
{
    json_w_key(writer, str_of(key));
    json_w_object(writer);
}

void json_w_member_array(struct json_writer *writer, const char *key)
{
    json_w_key(writer, str_of(key));
    json_w_array(writer);
}

/* The escape for a byte that cannot stand in a string as it is. */
static void add_escape(struct buf *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char plain[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *found = c ? strchr(plain, c) : NULL;
    if (found) {
        char escape[2] = {'\\', letters[found - plain]};
        buf_add(out, escape, sizeof(escape));
    } else {
        char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        buf_add(out, escape, sizeof(escape));
    }
}

void json_quote(struct buf *out, struct str value)
{
    buf_add_char(out, '"');
    size_t done = 0; /* bytes already in the buffer */
    for (size_t i = 0; i < value.n;) {
        unsigned char c = (unsigned char)value.p[i];
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            i++;
            continue;
        }
        size_t size = c < 0x80 ? 0 : str_utf8_len(str_from(value, i));
        if (size) {
            i += size;
            continue;
        }
        buf_add_str(out, str_sub(value, done, i));
        if (c < 0x80)
            add_escape(out, c);
        else
            buf_add_str(out, STR("\xEF\xBF\xBD"));
        done = ++i;
    }
    buf_add_str(out, str_from(value, done));
    buf_add_char(out, '"');
}
