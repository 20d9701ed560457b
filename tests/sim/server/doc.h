/*
 * struct doc: a JSON document as a tree that can be changed.
 *
 * A server has to patch, merge and compare objects that it knows little of, which takes a tree. All
 * of a tree lives in one arena and dies with it, so nothing is freed one by one; numbers keep the
 * text that they were written with, so an int64 survives whatever passes through. Strings are
 * slices of the parsed text or of the arena: both must outlive the tree.
 *
 * A node stands in one place: what is put somewhere else is cloned first. Not thread-safe.
 */
#ifndef PUMICE_TESTS_SIM_SERVER_DOC_H
#define PUMICE_TESTS_SIM_SERVER_DOC_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "json/reader.h"

struct doc {
    enum json_type type;
    bool truth;        /* of a JSON_BOOL */
    struct str key;    /* its name, as a member of an object */
    struct str text;   /* of a string, decoded; of a number, as it was written */
    struct doc *first; /* members or items, in order */
    struct doc *last;
    struct doc *next; /* the next one in the same container */
};

/* `for (doc_each(item, container))`: the body may change the item, not the container. NULL is an
 * empty container. */
#define doc_each(item, container)                                                                  \
    struct doc *item = (container) ? (container)->first : NULL;                                    \
    item;                                                                                          \
    item = item->next

/* ---- reading --------------------------------------------------------------------------------- */

/* One whole document; of members with the same name the last one stands. NULL with ERROR_INVALID
 * where it is no JSON. */
struct doc *doc_parse(struct arena *arena, struct str text, struct error *err);
/* Appends it as compact JSON. */
void doc_print(struct buf *out, const struct doc *doc);

/* ---- looking; a NULL document, or one of another type, has nothing in it --------------------- */

struct doc *doc_get(const struct doc *object, struct str key);
/* A member of a member: "spec.nodeName". Only for names without dots. */
struct doc *doc_at(const struct doc *object, const char *path);
/* The text of a string; empty otherwise. */
struct str doc_str(const struct doc *doc);
struct str doc_str_at(const struct doc *object, const char *path);
int64_t doc_i64(const struct doc *doc, int64_t otherwise);
/* True for the literal true only. */
bool doc_is_true(const struct doc *doc);
size_t doc_count(const struct doc *container);
bool doc_is(const struct doc *doc, enum json_type type);
/* Objects are equal whatever the order of their members; numbers when their texts are. Two NULL
 * are equal. */
bool doc_equal(const struct doc *a, const struct doc *b);

/* ---- making ---------------------------------------------------------------------------------- */

struct doc *doc_new(struct arena *arena, enum json_type type);
/* `text` is borrowed. */
struct doc *doc_string(struct arena *arena, struct str text);
struct doc *doc_number(struct arena *arena, int64_t value);
struct doc *doc_bool(struct arena *arena, bool value);
/* A deep copy, without its key; the texts are shared. */
struct doc *doc_clone(struct arena *arena, const struct doc *doc);

/* ---- changing -------------------------------------------------------------------------------- */

/* Sets a member (the key is borrowed): in the place of one of that name, else at the end. */
void doc_set(struct doc *object, struct str key, struct doc *value);
/* Takes the member away; false when there is none. */
bool doc_del(struct doc *object, struct str key);
/* The member, made as an object or array when it is not there or null. */
struct doc *doc_ensure(struct arena *arena, struct doc *object, struct str key,
                       enum json_type type);
void doc_append(struct doc *container, struct doc *item);
/* Puts an item before the one at `position`, at the end when there is none there. */
void doc_insert(struct doc *array, size_t position, struct doc *item);
/* Takes a child out of its container. */
void doc_remove(struct doc *container, struct doc *child);
/* Makes `doc` what `other` is; its key and place stay. `other` must not be used any more. */
void doc_become(struct doc *doc, const struct doc *other);

/* Shorthands for what is set most. The text is borrowed. */
void doc_set_str(struct arena *arena, struct doc *object, const char *key, struct str text);
void doc_set_i64(struct arena *arena, struct doc *object, const char *key, int64_t value);

#endif
