/*
 * struct field: where in an object a value is, and errors that name the place as Kubernetes does:
 * "<path>: <kind of error>: <value>: <detail>".
 *
 * A field is a link in a chain on the stack: making one costs nothing, text is written only for an
 * error. The parent must outlive the child. Names and keys are borrowed.
 */
#ifndef PUMICE_WEBHOOK_FIELD_H
#define PUMICE_WEBHOOK_FIELD_H

#include "webhook/rules/problems.h"
#include "webhook/rules/tree.h"

struct field {
    const struct field *parent; /* NULL: the first one */
    const char *name;           /* of a member, or NULL */
    const char *key;            /* in brackets; with neither, `index` is */
    size_t index;
};

/* The first one; `path` may have dots: "template.spec". */
static inline struct field field_root(const char *path)
{
    return (struct field){.name = path};
}
/* .name */
static inline struct field field_member(const struct field *parent, const char *name)
{
    return (struct field){.parent = parent, .name = name};
}
/* [index] */
static inline struct field field_item(const struct field *parent, size_t index)
{
    return (struct field){.parent = parent, .index = index};
}
/* [key] */
static inline struct field field_key(const struct field *parent, const char *key)
{
    return (struct field){.parent = parent, .key = key};
}

/* Appends the path. */
void field_write(const struct field *at, struct buf *out);

/*
 * Each adds one problem. A value is shown as it is in JSON, cut after some characters; NULL is
 * shown as null. `detail` may be "".
 */
void field_invalid(struct problems *problems, const struct field *at, const cJSON *value,
                   const char *detail, ...) __attribute__((format(printf, 4, 5)));
/* The same with a value that is no member of the tree, shown in quotes. */
void field_invalid_text(struct problems *problems, const struct field *at, const char *value,
                        const char *detail, ...) __attribute__((format(printf, 4, 5)));
void field_required(struct problems *problems, const struct field *at, const char *detail);
void field_forbidden(struct problems *problems, const struct field *at, const char *detail);
void field_duplicate(struct problems *problems, const struct field *at, const cJSON *value);
/* The same with a value that is no member of the tree, shown in quotes. */
void field_duplicate_text(struct problems *problems, const struct field *at, const char *value);
void field_not_found(struct problems *problems, const struct field *at, const cJSON *value);
/* `supported` ends with NULL. */
void field_not_supported(struct problems *problems, const struct field *at, const cJSON *value,
                         const char *const *supported);
void field_too_long(struct problems *problems, const struct field *at, size_t max_bytes);
void field_too_many(struct problems *problems, const struct field *at, size_t count, size_t max);

#endif
