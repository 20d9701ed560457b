/*
 * JSON documents as trees: see doc.h.
 */
#include "server/doc.h"
#include "base/ensure.h"
#include "json/writer.h"

/* ---- reading --------------------------------------------------------------------------------- */

static struct doc *read_value(struct arena *arena, struct json_reader *reader);

static void read_members(struct arena *arena, struct json_reader *reader, struct doc *object)
{
    struct str key;
    bool open = json_object(reader);
    while (open && json_key(reader, &key)) {
        struct doc *value = read_value(arena, reader);
        doc_set(object, key, value);
    }
}

static void read_items(struct arena *arena, struct json_reader *reader, struct doc *array)
{
    bool open = json_array(reader);
    while (open && json_item(reader))
        doc_append(array, read_value(arena, reader));
}

static struct doc *read_value(struct arena *arena, struct json_reader *reader)
{
    struct doc *doc = doc_new(arena, json_peek(reader));
    switch (doc->type) {
    case JSON_OBJECT:
        read_members(arena, reader, doc);
        break;
    case JSON_ARRAY:
        read_items(arena, reader, doc);
        break;
    case JSON_STRING:
        doc->text = json_str(reader);
        break;
    case JSON_NUMBER:
        doc->text = json_raw(reader);
        break;
    case JSON_BOOL:
        doc->truth = json_bool(reader);
        break;
    case JSON_NULL:
    case JSON_NONE:
        json_skip(reader);
        break;
    }
    return doc;
}

struct doc *doc_parse(struct arena *arena, struct str text, struct error *err)
{
    struct json_reader reader;
    json_init(&reader, text, arena);
    struct doc *doc = read_value(arena, &reader);
    return json_end(&reader, err) < 0 ? NULL : doc;
}

static void print_value(struct json_writer *writer, const struct doc *doc)
{
    switch (doc->type) {
    case JSON_OBJECT:
        json_w_object(writer);
        for (doc_each(member, doc)) {
            json_w_key(writer, member->key);
            print_value(writer, member);
        }
        json_w_end_object(writer);
        break;
    case JSON_ARRAY:
        json_w_array(writer);
        for (doc_each(item, doc))
            print_value(writer, item);
        json_w_end_array(writer);
        break;
    case JSON_STRING:
        json_w_str(writer, doc->text);
        break;
    case JSON_NUMBER:
        json_w_raw(writer, doc->text);
        break;
    case JSON_BOOL:
        json_w_bool(writer, doc->truth);
        break;
    case JSON_NULL:
    case JSON_NONE:
        json_w_null(writer);
        break;
    }
}

void doc_print(struct buf *out, const struct doc *doc)
{
    struct json_writer writer = json_writer(out);
    print_value(&writer, doc);
}

/* ---- looking --------------------------------------------------------------------------------- */

bool doc_is(const struct doc *doc, enum json_type type)
{
    return doc && doc->type == type;
}

struct doc *doc_get(const struct doc *object, struct str key)
{
    if (!doc_is(object, JSON_OBJECT))
        return NULL;
    for (doc_each(member, object))
        if (str_eq(member->key, key))
            return member;
    return NULL;
}

struct doc *doc_at(const struct doc *object, const char *path)
{
    struct str rest = str_of(path), key;
    struct doc *at = NULL;
    const struct doc *in = object;
    while (str_split(&rest, '.', &key)) {
        at = doc_get(in, key);
        in = at;
    }
    return at;
}

struct str doc_str(const struct doc *doc)
{
    return doc_is(doc, JSON_STRING) ? doc->text : STR_NULL;
}

struct str doc_str_at(const struct doc *object, const char *path)
{
    return doc_str(doc_at(object, path));
}

int64_t doc_i64(const struct doc *doc, int64_t otherwise)
{
    int64_t value = 0;
    return doc_is(doc, JSON_NUMBER) && str_to_i64(doc->text, &value) ? value : otherwise;
}

bool doc_is_true(const struct doc *doc)
{
    return doc_is(doc, JSON_BOOL) && doc->truth;
}

size_t doc_count(const struct doc *container)
{
    size_t count = 0;
    for (doc_each(item, container))
        count++;
    return count;
}

static bool equal_members(const struct doc *a, const struct doc *b)
{
    if (doc_count(a) != doc_count(b))
        return false;
    const struct doc *other = b->first; /* mostly the order is the same */
    for (doc_each(member, a)) {
        if (!other || !str_eq(other->key, member->key))
            other = doc_get(b, member->key);
        if (!other || !doc_equal(member, other))
            return false;
        other = other->next;
    }
    return true;
}

static bool equal_items(const struct doc *a, const struct doc *b)
{
    const struct doc *other = b->first;
    for (doc_each(item, a)) {
        if (!other || !doc_equal(item, other))
            return false;
        other = other->next;
    }
    return !other;
}

bool doc_equal(const struct doc *a, const struct doc *b)
{
    if (!a || !b)
        return a == b;
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case JSON_OBJECT:
        return equal_members(a, b);
    case JSON_ARRAY:
        return equal_items(a, b);
    case JSON_BOOL:
        return a->truth == b->truth;
    case JSON_STRING:
    case JSON_NUMBER:
        return str_eq(a->text, b->text);
    case JSON_NULL:
    case JSON_NONE:
        break;
    }
    return true;
}

/* ---- making ---------------------------------------------------------------------------------- */

struct doc *doc_new(struct arena *arena, enum json_type type)
{
    struct doc *doc = arena_new(arena, struct doc);
    doc->type = type;
    return doc;
}

struct doc *doc_string(struct arena *arena, struct str text)
{
    struct doc *doc = doc_new(arena, JSON_STRING);
    doc->text = text;
    return doc;
}

struct doc *doc_number(struct arena *arena, int64_t value)
{
    struct doc *doc = doc_new(arena, JSON_NUMBER);
    doc->text = arena_printf(arena, "%lld", (long long)value);
    return doc;
}

struct doc *doc_bool(struct arena *arena, bool value)
{
    struct doc *doc = doc_new(arena, JSON_BOOL);
    doc->truth = value;
    return doc;
}

struct doc *doc_clone(struct arena *arena, const struct doc *doc)
{
    struct doc *copy = doc_new(arena, doc->type);
    copy->text = doc->text;
    copy->truth = doc->truth;
    for (doc_each(item, doc)) {
        struct doc *child = doc_clone(arena, item);
        child->key = item->key;
        doc_append(copy, child);
    }
    return copy;
}

/* ---- changing -------------------------------------------------------------------------------- */

void doc_append(struct doc *container, struct doc *item)
{
    item->next = NULL;
    if (container->last)
        container->last->next = item;
    else
        container->first = item;
    container->last = item;
}

void doc_become(struct doc *doc, const struct doc *other)
{
    struct str key = doc->key;
    struct doc *next = doc->next;
    *doc = *other;
    doc->key = key;
    doc->next = next;
}

void doc_set(struct doc *object, struct str key, struct doc *value)
{
    ENSURE(object->type == JSON_OBJECT);
    struct doc *old = doc_get(object, key);
    if (old) {
        doc_become(old, value);
        return;
    }
    value->key = key;
    doc_append(object, value);
}

void doc_remove(struct doc *container, struct doc *child)
{
    struct doc *before = NULL, *at = container->first;
    while (at != child) {
        before = at;
        at = at->next;
    }
    if (before)
        before->next = child->next;
    else
        container->first = child->next;
    if (container->last == child)
        container->last = before;
    child->next = NULL;
}

bool doc_del(struct doc *object, struct str key)
{
    struct doc *member = doc_get(object, key);
    if (member)
        doc_remove(object, member);
    return member != NULL;
}

void doc_insert(struct doc *array, size_t position, struct doc *item)
{
    struct doc *before = NULL, *at = array->first;
    for (; at && position > 0; position--) {
        before = at;
        at = at->next;
    }
    if (!at) {
        doc_append(array, item);
        return;
    }
    item->next = at;
    if (before)
        before->next = item;
    else
        array->first = item;
}

struct doc *doc_ensure(struct arena *arena, struct doc *object, struct str key, enum json_type type)
{
    struct doc *member = doc_get(object, key);
    if (doc_is(member, type))
        return member;
    doc_set(object, key, doc_new(arena, type));
    return doc_get(object, key);
}

void doc_set_str(struct arena *arena, struct doc *object, const char *key, struct str text)
{
    doc_set(object, str_of(key), doc_string(arena, text));
}

void doc_set_i64(struct arena *arena, struct doc *object, const char *key, int64_t value)
{
    doc_set(object, str_of(key), doc_number(arena, value));
}
