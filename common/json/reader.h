/*
 * struct json_reader: a pull reader for JSON. No tree, no recursion, no allocation for strings
 * without escapes.
 *
 * Errors are sticky: after the first one every call returns "nothing" and json_failed() is true,
 * so decoders read straight through and check once. Strings are slices of the input, or of the
 * arena when they hold escapes (decoded to UTF-8; "\u0000" is kept as a NUL byte). Accepts exactly
 * RFC 8259 in valid UTF-8; duplicate keys are handed out as they come (last one wins by nature).
 * Not thread-safe; the text must outlive the slices.
 *
 *     json_init(&r, text, &arena);
 *     if (json_object(&r))
 *         while (json_key(&r, &key)) {
 *             if (str_eq(key, STR("name")))
 *                 name = json_str(&r);
 *             else
 *                 json_skip(&r);
 *         }
 *     if (json_failed(&r)) ...
 */
#ifndef PUMICE_JSON_READER_H
#define PUMICE_JSON_READER_H

#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/str.h"

enum json_type {
    JSON_NONE, /* end of input, or an error */
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json_reader {
    const char *start, *at, *end;
    struct arena *arena;           /* borrowed; for strings with escapes; may be NULL, then such
                                      a string is an error */
    const char *error;             /* first error, a constant text; NULL while all is well */
    size_t error_offset;           /* byte offset of that error */
    size_t values;                 /* values read or skipped so far */
    size_t max_values;             /* more than this is an error; default SIZE_MAX */
    uint8_t max_depth;             /* of open arrays and objects; LIMIT_JSON_DEPTH at most */
    uint8_t depth;                 /* open arrays and objects */
    bool fresh[LIMIT_JSON_DEPTH];  /* by depth: nothing read yet inside this container */
    bool object[LIMIT_JSON_DEPTH]; /* by depth: this container is an object */
};

void json_init(struct json_reader *reader, struct str text, struct arena *arena);

/* The type of the value that comes next; JSON_NONE at the end or after an error. Reads nothing. */
enum json_type json_peek(struct json_reader *reader);

/*
 * Enters an object. False, with the value consumed, when the next value is null (so absent and
 * null are alike); an error when it is anything else. Never call json_key after false: it would go
 * on with the object around this one.
 */
bool json_object(struct json_reader *reader) __attribute__((warn_unused_result));
/* The next key of the object entered last; its value must be read or skipped. False at its end,
 * which also leaves the object. */
bool json_key(struct json_reader *reader, struct str *ret_key);

/* The same for arrays: json_array enters, json_item is true while another value follows. */
bool json_array(struct json_reader *reader) __attribute__((warn_unused_result));
bool json_item(struct json_reader *reader);

/*
 * Typed values. null reads as empty/0/false. Any other type, a fraction where an integer is asked
 * for, or a number out of range is an error.
 */
struct str json_str(struct json_reader *reader);
int64_t json_i64(struct json_reader *reader);
int32_t json_i32(struct json_reader *reader);
double json_double(struct json_reader *reader);
bool json_bool(struct json_reader *reader);
/* A string or number as its text (quantities, int-or-string). */
struct str json_scalar(struct json_reader *reader);

/* Skips the next value, checking that it is well-formed. */
void json_skip(struct json_reader *reader);
/* Skips it and returns its bytes as they stand in the input. */
struct str json_raw(struct json_reader *reader);

/* Raises an error of the caller's at the current position (text is a constant). */
void json_fail(struct json_reader *reader, const char *error);

static inline bool json_failed(const struct json_reader *reader)
{
    return reader->error != NULL;
}

/*
 * Ends reading: checks that only white space is left. 0, or -1 with the first error as
 * "invalid JSON at byte N: ..." (ERROR_INVALID; ERROR_LIMIT where a limit was passed).
 */
int json_end(struct json_reader *reader, struct error *err);

#endif
