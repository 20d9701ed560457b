/*
 * struct json_reader: the pull reader. One forward pass over the text, no recursion.
 *
 * The state is the place in the text and one flag pair for each open container; skipping a value
 * keeps its own nesting in one 64-bit word. Strings and numbers are found by scan.c. The text and
 * the arena are borrowed. Not thread-safe.
 */
#include "json/reader.h"
#include "json/scan.h"

_Static_assert(LIMIT_JSON_DEPTH <= 64, "json_skip keeps one bit for each level in 64 bits");

/* Errors that mean a limit of ours was passed: told from others by address. */
static const char too_deep[] = "nested deeper than 64 levels";
static const char too_deep_here[] = "nested deeper than allowed";
static const char too_long[] = "a string is longer than 1048576 bytes";
static const char too_many[] = "more values than allowed";

static void fail_at(struct json_reader *reader, const char *error, const char *at)
{
    if (reader->error)
        return;
    reader->error = error;
    reader->error_offset = (size_t)(at - reader->start);
}

void json_fail(struct json_reader *reader, const char *error)
{
    fail_at(reader, error, reader->at);
}

static void fail_depth(struct json_reader *reader)
{
    json_fail(reader, reader->max_depth == LIMIT_JSON_DEPTH ? too_deep : too_deep_here);
}

void json_init(struct json_reader *reader, struct str text, struct arena *arena)
{
    static const char nothing[1] = "";
    const char *start = text.p ? text.p : nothing;
    *reader = (struct json_reader){.start = start,
                                   .at = start,
                                   .end = start + text.n,
                                   .arena = arena,
                                   .max_values = SIZE_MAX,
                                   .max_depth = LIMIT_JSON_DEPTH};
}

/* Skips white space; the next byte, or NUL at the end of the text or after an error. */
static inline unsigned char next_byte(struct json_reader *reader)
{
    if (reader->error)
        return 0;
    const char *at = reader->at;
    while (at < reader->end && (unsigned char)*at <= ' ' &&
           (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    reader->at = at;
    return at < reader->end ? (unsigned char)*at : 0;
}

/* Raises `wanted`, or the end of the text when that is what is wrong. */
static void fail_wanted(struct json_reader *reader, const char *wanted)
{
    json_fail(reader, reader->at < reader->end ? wanted : json_unexpected_end);
}

static bool count_value(struct json_reader *reader)
{
    if (reader->values >= reader->max_values) {
        json_fail(reader, too_many);
        return false;
    }
    reader->values++;
    return true;
}

/* ---- strings, numbers and literals ---- */

/* Strings that hold more than plain ASCII, or an error. */
static bool scan_hard_string(struct json_reader *reader, struct json_string *ret_string)
{
    const char *at = reader->at;
    const char *error = json_scan_string(&at, reader->end, ret_string);
    if (!error && ret_string->size > LIMIT_JSON_STRING) {
        at = reader->at;
        error = too_long;
    }
    if (error) {
        fail_at(reader, error, at);
        return false;
    }
    reader->at = at;
    return true;
}

/* Reads a string with the reader standing on its opening quote. */
static inline bool scan_string(struct json_reader *reader, struct json_string *ret_string)
{
    const char *start = reader->at + 1;
    const char *close = json_skip_plain(start, reader->end);
    size_t size = (size_t)(close - start);
    if (close == reader->end || *close != '"' || size > LIMIT_JSON_STRING)
        return scan_hard_string(reader, ret_string);
    *ret_string = (struct json_string){{start, size}, size};
    reader->at = close + 1;
    return true;
}

static bool read_string(struct json_reader *reader, struct str *ret_text)
{
    struct json_string string;
    if (!scan_string(reader, &string))
        return false;
    if (string.size == string.raw.n) {
        *ret_text = string.raw;
        return true;
    }
    if (!reader->arena) {
        json_fail(reader, "a string with escapes where none is expected");
        return false;
    }
    char *text = arena_alloc(reader->arena, string.size + 1);
    json_decode_string(&string, text);
    *ret_text = str_make(text, string.size);
    return true;
}

static bool read_number(struct json_reader *reader, struct str *ret_text)
{
    const char *end = json_number_end(reader->at, reader->end);
    if (!end) {
        json_fail(reader, "malformed number");
        return false;
    }
    *ret_text = str_make(reader->at, (size_t)(end - reader->at));
    reader->at = end;
    return true;
}

static bool read_literal(struct json_reader *reader, struct str literal)
{
    size_t left = (size_t)(reader->end - reader->at);
    if (left < literal.n || memcmp(reader->at, literal.p, literal.n) != 0) {
        json_fail(reader, "expected a value");
        return false;
    }
    reader->at += literal.n;
    return true;
}

static enum json_type type_of(unsigned char c)
{
    switch (c) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
        return JSON_BOOL;
    case 'n':
        return JSON_NULL;
    default:
        return c == '-' || (c >= '0' && c <= '9') ? JSON_NUMBER : JSON_NONE;
    }
}

enum json_type json_peek(struct json_reader *reader)
{
    return type_of(next_byte(reader));
}

/* ---- containers ---- */

/*
 * Starts a value. Takes null itself; raises an error for anything but `wanted`. True when a value
 * of the wanted type stands at the reader.
 */
static bool begin(struct json_reader *reader, enum json_type wanted, const char *error)
{
    enum json_type type = json_peek(reader);
    if (reader->error)
        return false;
    if (type != wanted && type != JSON_NULL) {
        fail_wanted(reader, type == JSON_NONE ? "expected a value" : error);
        return false;
    }
    if (!count_value(reader))
        return false;
    if (type == JSON_NULL) {
        (void)read_literal(reader, STR("null"));
        return false;
    }
    return true;
}

static bool enter(struct json_reader *reader, bool object)
{
    if (reader->depth >= reader->max_depth) {
        fail_depth(reader);
        return false;
    }
    reader->fresh[reader->depth] = true;
    reader->object[reader->depth] = object;
    reader->depth++;
    reader->at++;
    return true;
}

bool json_object(struct json_reader *reader)
{
    return begin(reader, JSON_OBJECT, "expected an object") && enter(reader, true);
}

bool json_array(struct json_reader *reader)
{
    return begin(reader, JSON_ARRAY, "expected an array") && enter(reader, false);
}

/*
 * Goes to the next member or item of the innermost container: false at its end, which is left, and
 * after an error.
 */
static bool advance(struct json_reader *reader, bool object)
{
    if (reader->error || reader->depth == 0)
        return false;
    unsigned top = reader->depth - 1U;
    if (reader->object[top] != object) {
        json_fail(reader, object ? "expected an object" : "expected an array");
        return false;
    }
    unsigned char c = next_byte(reader);
    if (c == (object ? '}' : ']')) {
        reader->at++;
        reader->depth--;
        return false;
    }
    if (!reader->fresh[top]) {
        if (c != ',') {
            fail_wanted(reader, object ? "expected ',' or '}'" : "expected ',' or ']'");
            return false;
        }
        reader->at++;
    }
    reader->fresh[top] = false;
    return true;
}

/* Checks for the quote of a key, after white space. */
static bool at_key(struct json_reader *reader)
{
    if (next_byte(reader) == '"')
        return true;
    fail_wanted(reader, "expected a key in quotes");
    return false;
}

static bool take_colon(struct json_reader *reader)
{
    if (next_byte(reader) != ':') {
        fail_wanted(reader, "expected ':' after a key");
        return false;
    }
    reader->at++;
    return true;
}

bool json_key(struct json_reader *reader, struct str *ret_key)
{
    return advance(reader, true) && at_key(reader) && read_string(reader, ret_key) &&
           take_colon(reader);
}

bool json_item(struct json_reader *reader)
{
    if (!advance(reader, false))
        return false;
    if (json_peek(reader) != JSON_NONE)
        return true;
    fail_wanted(reader, "expected a value");
    return false;
}

/* ---- typed values ---- */

struct str json_str(struct json_reader *reader)
{
    struct str text;
    if (!begin(reader, JSON_STRING, "expected a string") || !read_string(reader, &text))
        return STR_NULL;
    return text;
}

int64_t json_i64(struct json_reader *reader)
{
    struct str text;
    int64_t value;
    if (!begin(reader, JSON_NUMBER, "expected an integer"))
        return 0;
    const char *at = reader->at;
    if (!read_number(reader, &text))
        return 0;
    if (str_to_i64(text, &value))
        return value;
    fail_at(reader, "not an integer of 64 bits", at);
    return 0;
}

int32_t json_i32(struct json_reader *reader)
{
    (void)next_byte(reader);
    const char *at = reader->at;
    int64_t value = json_i64(reader);
    if (value >= INT32_MIN && value <= INT32_MAX)
        return (int32_t)value;
    fail_at(reader, "not an integer of 32 bits", at);
    return 0;
}

double json_double(struct json_reader *reader)
{
    struct str text;
    double value;
    if (!begin(reader, JSON_NUMBER, "expected a number"))
        return 0;
    const char *at = reader->at;
    if (!read_number(reader, &text))
        return 0;
    if (str_to_double(text, &value))
        return value;
    fail_at(reader, "number out of range", at);
    return 0;
}

bool json_bool(struct json_reader *reader)
{
    if (!begin(reader, JSON_BOOL, "expected true or false"))
        return false;
    if (*reader->at == 't')
        return read_literal(reader, STR("true"));
    (void)read_literal(reader, STR("false"));
    return false;
}

struct str json_scalar(struct json_reader *reader)
{
    if (json_peek(reader) != JSON_NUMBER) {
        struct str text;
        if (!begin(reader, JSON_STRING, "expected a string or a number") ||
            !read_string(reader, &text))
            return STR_NULL;
        return text;
    }
    struct str text;
    return count_value(reader) && read_number(reader, &text) ? text : STR_NULL;
}

/* ---- skipping ---- */

/* The containers that a skip has opened: one bit each, the newest lowest, set for objects. */
struct nesting {
    uint64_t objects;
    unsigned open;
};

static void skip_scalar(struct json_reader *reader, unsigned char c)
{
    struct json_string string;
    struct str text;
    if (!count_value(reader))
        return;
    switch (type_of(c)) {
    case JSON_STRING:
        (void)scan_string(reader, &string);
        break;
    case JSON_NUMBER:
        (void)read_number(reader, &text);
        break;
    case JSON_BOOL:
        (void)read_literal(reader, c == 't' ? STR("true") : STR("false"));
        break;
    case JSON_NULL:
        (void)read_literal(reader, STR("null"));
        break;
    default:
        fail_wanted(reader, "expected a value");
        break;
    }
}

static void skip_key(struct json_reader *reader)
{
    struct json_string string;
    if (at_key(reader) && scan_string(reader, &string))
        (void)take_colon(reader);
}

/*
 * Skips a scalar or an empty container, or enters a container up to its first value. True in the
 * last case: a value follows.
 */
static bool skip_open(struct json_reader *reader, struct nesting *nesting)
{
    unsigned char c = next_byte(reader);
    if (c != '{' && c != '[') {
        skip_scalar(reader, c);
        return false;
    }
    if (reader->depth + nesting->open >= reader->max_depth) {
        fail_depth(reader);
        return false;
    }
    if (!count_value(reader))
        return false;
    bool object = c == '{';
    reader->at++;
    if (next_byte(reader) == (object ? '}' : ']')) {
        reader->at++;
        return false;
    }
    nesting->objects = nesting->objects << 1 | object;
    nesting->open++;
    if (object)
        skip_key(reader);
    return true;
}

/* After a value: leaves the containers that end here. True when another value follows. */
static bool skip_close(struct json_reader *reader, struct nesting *nesting)
{
    while (nesting->open > 0 && !reader->error) {
        bool object = nesting->objects & 1;
        unsigned char c = next_byte(reader);
        if (c == ',') {
            reader->at++;
            if (object)
                skip_key(reader);
            return true;
        }
        if (c != (object ? '}' : ']')) {
            fail_wanted(reader, object ? "expected ',' or '}'" : "expected ',' or ']'");
            return false;
        }
        reader->at++;
        nesting->objects >>= 1;
        nesting->open--;
    }
    return false;
}

void json_skip(struct json_reader *reader)
{
    struct nesting nesting = {0, 0};
    while (!reader->error)
        if (!skip_open(reader, &nesting) && !skip_close(reader, &nesting))
            return;
}

struct str json_raw(struct json_reader *reader)
{
    (void)next_byte(reader);
    const char *start = reader->at;
    json_skip(reader);
    return reader->error ? STR_NULL : str_make(start, (size_t)(reader->at - start));
}

int json_end(struct json_reader *reader, struct error *err)
{
    (void)next_byte(reader);
    if (reader->depth > 0 || reader->values == 0)
        fail_wanted(reader, "expected a value");
    if (reader->at < reader->end)
        json_fail(reader, "more text after the value");
    if (!reader->error)
        return 0;
    bool limit = reader->error == too_deep || reader->error == too_deep_here ||
                 reader->error == too_long || reader->error == too_many;
    return error_set(err, limit ? ERROR_LIMIT : ERROR_INVALID, "invalid JSON at byte %zu: %s",
                     reader->error_offset, reader->error);
}
