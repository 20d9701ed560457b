/*
 * struct json_patch: builds a JSON Patch (RFC 6902) as text.
 *
 *     json_patch_init(&p, &buf);
 *     json_patch_add(&p, "/spec/queue", STR("\"default\""));
 *     if (json_patch_end(&p) > 0) ... send buf
 */
#ifndef PUMICE_JSON_PATCH_H
#define PUMICE_JSON_PATCH_H

#include "json/writer.h"

struct json_patch {
    struct json_writer writer;
    size_t count; /* operations so far */
};

void json_patch_init(struct json_patch *patch, struct buf *out);
/* `path` is a finished JSON pointer, `value` one well-formed JSON value. */
void json_patch_add(struct json_patch *patch, struct str path, struct str value);
void json_patch_replace(struct json_patch *patch, struct str path, struct str value);
void json_patch_remove(struct json_patch *patch, struct str path);
void json_patch_test(struct json_patch *patch, struct str path, struct str value);
/* Closes the array; returns the number of operations. */
size_t json_patch_end(struct json_patch *patch);

/* Appends one reference token to a JSON pointer: "/" and `token` with ~ and / escaped. */
void json_pointer_token(struct buf *pointer, struct str token);

#endif
