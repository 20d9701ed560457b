/*
 * Scanning of JSON strings and numbers: pure functions over a range of bytes.
 *
 * Strings are scanned eight bytes at a time up to the next byte that matters; UTF-8 is checked only
 * where a byte above 0x7F is met. Nothing is allocated or shared; any thread.
 */
#include "json/scan.h"

const char json_unexpected_end[] = "the text ends too early";

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The code unit of "\uXXXX" at `at`, or -1. */
static int32_t read_unit(const char *at, const char *end)
{
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    int32_t unit = 0;
    for (int i = 2; i < 6; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/*
 * The code point that the escape at `at` stands for, and its length in the text. -1 for a bad
 * escape, and for half a surrogate pair, which no UTF-8 can carry.
 */
static int32_t read_escape(const char *at, const char *end, size_t *ret_size)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (end - at < 2)
        return -1;
    *ret_size = 2;
    const char *letter = at[1] ? strchr(letters, at[1]) : NULL;
    if (letter)
        return meanings[letter - letters];
    *ret_size = 6;
    int32_t unit = read_unit(at, end);
    if (unit < 0xD800 || unit > 0xDFFF)
        return unit;
    int32_t low = unit < 0xDC00 ? read_unit(at + 6, end) : -1;
    if (low < 0xDC00 || low > 0xDFFF)
        return -1;
    *ret_size = 12;
    return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

static size_t utf8_size(int32_t point)
{
    return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}

static char *put_utf8(char *to, int32_t point)
{
    size_t size = utf8_size(point);
    if (size == 1) {
        *to = (char)point;
        return to + 1;
    }
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = size; i-- > 1; point >>= 6)
        to[i] = (char)(0x80 | (point & 0x3F));
    to[0] = (char)(leads[size] | point);
    return to + size;
}

/* The length of the escape or the character outside plain ASCII at `at`; NULL, or what is wrong. */
static const char *scan_special(const char *at, const char *end, size_t *ret_size,
                                size_t *ret_decoded)
{
    if (*at == '\\') {
        int32_t point = read_escape(at, end, ret_size);
        if (point < 0)
            return "invalid escape in a string";
        *ret_decoded = utf8_size(point);
        return NULL;
    }
    if ((unsigned char)*at < 0x20)
        return "control character in a string";
    *ret_size = *ret_decoded = str_utf8_len(str_make(at, (size_t)(end - at)));
    return *ret_size ? NULL : "invalid UTF-8 in a string";
}

const char *json_scan_string(const char **at, const char *end, struct json_string *ret_string)
{
    const char *start = *at + 1;
    size_t saved = 0; /* bytes that decoding takes away */
    const char *here = json_skip_plain(start, end);
    while (here < end && *here != '"') {
        size_t size = 0, decoded = 0;
        const char *error = scan_special(here, end, &size, &decoded);
        if (error) {
            *at = here;
            return error;
        }
        saved += size - decoded;
        here = json_skip_plain(here + size, end);
    }
    if (here >= end) {
        *at = end;
        return json_unexpected_end;
    }
    struct str raw = str_make(start, (size_t)(here - start));
    *ret_string = (struct json_string){raw, raw.n - saved};
    *at = here + 1;
    return NULL;
}

void json_decode_string(const struct json_string *string, char *text)
{
    const char *at = string->raw.p;
    const char *end = at + string->raw.n;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((escape ? escape : end) - at);
        memcpy(text, at, plain);
        text += plain;
        at += plain;
        if (escape) {
            size_t size = 0;
            text = put_utf8(text, read_escape(at, end, &size));
            at += size;
        }
    }
    *text = '\0';
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

const char *json_number_end(const char *at, const char *end)
{
    at += at < end && *at == '-';
    if (at < end && *at == '0') {
        at++;
    } else {
        const char *digits = at;
        at = skip_digits(at, end);
        if (at == digits)
            return NULL;
    }
    if (at < end && *at == '.') {
        const char *digits = ++at;
        at = skip_digits(at, end);
        if (at == digits)
            return NULL;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '-' || *at == '+');
        const char *digits = at;
        at = skip_digits(at, end);
        if (at == digits)
            return NULL;
    }
    return at;
}
