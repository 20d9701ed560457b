/*
 * struct json_patch: RFC 6902 operations written straight into the caller's buffer.
 *
 * Paths and values are borrowed for the call. Not thread-safe.
 */
#include "json/patch.h"

void json_patch_init(struct json_patch *patch, struct buf *out)
{
    *patch = (struct json_patch){json_writer(out), 0};
    json_w_array(&patch->writer);
}

/* One operation; `value` is NULL for those that carry none. */
static void add_operation(struct json_patch *patch, const char *op, struct str path,
                          const struct str *value)
{
    json_w_object(&patch->writer);
    json_w_member_str(&patch->writer, "op", str_of(op));
    json_w_member_str(&patch->writer, "path", path);
    if (value)
        json_w_member_raw(&patch->writer, "value", *value);
    json_w_end_object(&patch->writer);
    patch->count++;
}

void json_patch_add(struct json_patch *patch, struct str path, struct str value)
{
    add_operation(patch, "add", path, &value);
}

void json_patch_replace(struct json_patch *patch, struct str path, struct str value)
{
    add_operation(patch, "replace", path, &value);
}

void json_patch_remove(struct json_patch *patch, struct str path)
{
    add_operation(patch, "remove", path, NULL);
}

void json_patch_test(struct json_patch *patch, struct str path, struct str value)
{
    add_operation(patch, "test", path, &value);
}

size_t json_patch_end(struct json_patch *patch)
{
    json_w_end_array(&patch->writer);
    return patch->count;
}

void json_pointer_token(struct buf *pointer, struct str token)
{
    buf_add_char(pointer, '/');
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] == '~')
            buf_add_str(pointer, STR("~0"));
        else if (token.p[i] == '/')
            buf_add_str(pointer, STR("~1"));
        else
            buf_add_char(pointer, token.p[i]);
    }
}
