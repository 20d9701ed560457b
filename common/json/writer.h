/*
 * struct json_writer: appends JSON to a capped buffer. Commas are placed by the writer; strings are
 * escaped; raw JSON is spliced in as it is. Overflow shows in the buffer's `overflow`.
 *
 *     struct json_writer w = json_writer(&buf);
 *     json_w_object(&w);
 *     json_w_key(&w, STR("name")); json_w_str(&w, name);
 *     json_w_end_object(&w);
 *
 * The json_w_member_* helpers write key and value in one call.
 */
#ifndef PUMICE_JSON_WRITER_H
#define PUMICE_JSON_WRITER_H

#include "base/buf.h"

struct json_writer {
    struct buf *out; /* borrowed */
    bool comma;      /* the next value or key needs a comma before it */
};

static inline struct json_writer json_writer(struct buf *out)
{
    return (struct json_writer){out, false};
}

void json_w_object(struct json_writer *writer);
void json_w_end_object(struct json_writer *writer);
void json_w_array(struct json_writer *writer);
void json_w_end_array(struct json_writer *writer);
void json_w_key(struct json_writer *writer, struct str key);
/* Invalid UTF-8 in `value` becomes U+FFFD, so that the output is always valid. */
void json_w_str(struct json_writer *writer, struct str value);
void json_w_strf(struct json_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void json_w_i64(struct json_writer *writer, int64_t value);
void json_w_bool(struct json_writer *writer, bool value);
void json_w_null(struct json_writer *writer);
/* `json` must be one well-formed value. */
void json_w_raw(struct json_writer *writer, struct str json);

void json_w_member_str(struct json_writer *writer, const char *key, struct str value);
void json_w_member_i64(struct json_writer *writer, const char *key, int64_t value);
void json_w_member_bool(struct json_writer *writer, const char *key, bool value);
void json_w_member_raw(struct json_writer *writer, const char *key, struct str json);
/* Opens a member that is an object or array. */
void json_w_member_object(struct json_writer *writer, const char *key);
void json_w_member_array(struct json_writer *writer, const char *key);

/* Appends `value` as a quoted JSON string to a buffer, without a writer. */
void json_quote(struct buf *out, struct str value);

#endif
