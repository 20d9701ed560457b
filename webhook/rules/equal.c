/*
 * Semantic equality: see equal.h.
 *
 * Depth is bounded by the reader that checked the text (64), so recursion is safe. A path is kept
 * as a chain of steps on the stack and written only when a difference is found.
 */
#include "webhook/rules/equal.h"
#include "base/quantity.h"
#include "json/reader.h"
#include <math.h>

#define EXACT_MAX 9007199254740992.0 /* 2^53 */

struct step {
    const struct step *up; /* NULL at the root */
    const char *key;       /* NULL for an item of a list */
    size_t index;
};

struct comparison {
    const struct equal_sources *sources;
    const char *root;
    struct buf *difference;
};

static bool one_of(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i], text) == 0)
            return true;
    }
    return false;
}

#define ONE_OF(list, text) one_of(list, ARRAY_SIZE(list), text)

/* Fields whose zero value is left out when a Go program writes the object again. */
static bool zero_means_absent(const cJSON *item)
{
    static const char *const numbers[] = {
        "replicas",       "minAvailable",       "maxRetry",         "minPartitions",
        "hostPort",       "periodSeconds",      "successThreshold", "failureThreshold",
        "timeoutSeconds", "initialDelaySeconds"};
    static const char *const flags[] = {"hostNetwork", "hostPID",   "hostIPC", "readOnly",
                                        "stdin",       "stdinOnce", "tty"};
    static const char *const structs[] = {
        "metadata", "resources",    "template",         "spec",        "requests",
        "limits",   "labels",       "annotations",      "matchLabels", "overhead",
        "plugins",  "nodeSelector", "volumeAttributes", "options"};
    const char *key = item->string ? item->string : "";
    if (cJSON_IsArray(item))
        return !item->child;
    if (cJSON_IsObject(item))
        return !item->child && ONE_OF(structs, key);
    if (cJSON_IsString(item))
        return item->valuestring[0] == '\0' && strcmp(key, "storageClassName") != 0;
    if (cJSON_IsNumber(item))
        return item->valuedouble == 0 && ONE_OF(numbers, key);
    return cJSON_IsFalse(item) && ONE_OF(flags, key);
}

static bool differs(const struct comparison *comparison, const struct step *step)
{
    const struct step *chain[LIMIT_JSON_DEPTH + 2];
    size_t n = 0;
    for (; step && step->up && n < ARRAY_SIZE(chain); step = step->up)
        chain[n++] = step;
    buf_add_cstr(comparison->difference, comparison->root);
    while (n > 0) {
        const struct step *next = chain[--n];
        if (next->key)
            buf_printf(comparison->difference, ".%.63s", next->key);
        else
            buf_printf(comparison->difference, "[%zu]", next->index);
    }
    return false;
}

/* ---- scalars ------------------------------------------------------------------------------- */

static bool is_quantity(const struct step *step)
{
    static const char *const lists[] = {"requests", "limits", "overhead"};
    static const char *const single[] = {"sizeLimit", "divisor"};
    if (!step->key)
        return false;
    return ONE_OF(single, step->key) || (step->up && step->up->key && ONE_OF(lists, step->up->key));
}

static bool equal_quantities(const cJSON *a, const cJSON *b)
{
    struct arena arena cleanup_arena = ARENA_INIT;
    struct quantity left, right;
    struct error err = ERROR_INIT;
    return quantity_parse(tree_scalar(a, &arena), &left, &err) == 0 &&
           quantity_parse(tree_scalar(b, &arena), &right, &err) == 0 &&
           quantity_cmp(left, right) == 0;
}

/* The text of the value at the end of the chain of steps, in a document. */
static struct str text_at(struct str document, const struct step *step, struct json_reader *reader,
                          struct arena *arena)
{
    if (!step->up) {
        json_init(reader, document, arena);
        return json_raw(reader);
    }
    struct str container = text_at(document, step->up, reader, arena), found = STR_NULL, key;
    size_t index = 0;
    json_init(reader, container, arena);
    if (step->key && json_peek(reader) == JSON_OBJECT && json_object(reader)) {
        while (json_key(reader, &key)) {
            struct str value = json_raw(reader);
            if (str_is(key, step->key))
                found = value;
        }
    } else if (!step->key && json_peek(reader) == JSON_ARRAY && json_array(reader)) {
        while (json_item(reader)) {
            struct str value = json_raw(reader);
            if (index++ == step->index)
                found = value;
        }
    }
    return found;
}

static bool equal_numbers(const struct comparison *comparison, const cJSON *a, const cJSON *b,
                          const struct step *step)
{
    if (a->valuedouble != b->valuedouble)
        return false;
    if (fabs(a->valuedouble) < EXACT_MAX)
        return true;
    struct arena arena cleanup_arena = ARENA_INIT;
    struct json_reader reader;
    struct str left = text_at(comparison->sources->a, step, &reader, &arena);
    return str_eq(left, text_at(comparison->sources->b, step, &reader, &arena));
}

static bool equal_scalars(const struct comparison *comparison, const cJSON *a, const cJSON *b,
                          const struct step *step)
{
    if (cJSON_IsString(a) && cJSON_IsString(b) && strcmp(a->valuestring, b->valuestring) == 0)
        return true;
    if (cJSON_IsBool(a) && cJSON_IsBool(b))
        return cJSON_IsTrue(a) == cJSON_IsTrue(b);
    if (cJSON_IsNumber(a) && cJSON_IsNumber(b) && equal_numbers(comparison, a, b, step))
        return true;
    return is_quantity(step) && equal_quantities(a, b);
}

/* ---- containers ---------------------------------------------------------------------------- */

static bool equal_items(const struct comparison *comparison, cJSON *a, cJSON *b,
                        const struct step *step);

static int by_key(const void *a, const void *b)
{
    cJSON *const *left = a, *const *right = b;
    return strcmp((*left)->string, (*right)->string);
}

static bool is_sorted(const cJSON *object)
{
    for (const cJSON *item = object->child; item && item->next; item = item->next) {
        if (strcmp(item->string, item->next->string) > 0)
            return false;
    }
    return true;
}

/* Puts the members in order of their keys. What the API server sends already is. */
static void sort_members(cJSON *object)
{
    if (is_sorted(object))
        return;
    const size_t n = (size_t)cJSON_GetArraySize(object);
    cJSON **items = xcalloc(n, sizeof(*items));
    size_t i = 0;
    for (cJSON *item = object->child; item; item = item->next)
        items[i++] = item;
    qsort(items, n, sizeof(*items), by_key);
    for (i = 0; i < n; i++) {
        items[i]->prev = items[i ? i - 1 : n - 1];
        items[i]->next = i + 1 < n ? items[i + 1] : NULL;
    }
    object->child = items[0];
    free(items);
}

/* A member that only one side has. */
static bool equal_to_none(const struct comparison *comparison, const cJSON *item,
                          const struct step *up)
{
    /* Of plugins the keys count, whatever their arguments. */
    const bool named = up->key && strcmp(up->key, "plugins") == 0;
    const struct step step = {up, item->string, 0};
    if (cJSON_IsNull(item) || (!named && zero_means_absent(item)))
        return true;
    return differs(comparison, &step);
}

/* Members with the same key; null is like none. */
static bool equal_twins(const struct comparison *comparison, cJSON *a, cJSON *b,
                        const struct step *up)
{
    const struct step step = {up, a->string, 0};
    if (cJSON_IsNull(b))
        return equal_to_none(comparison, a, up);
    if (cJSON_IsNull(a))
        return equal_to_none(comparison, b, up);
    return equal_items(comparison, a, b, &step);
}

static bool equal_members(const struct comparison *comparison, cJSON *a, cJSON *b,
                          const struct step *up)
{
    sort_members(a);
    sort_members(b);
    cJSON *left = a->child, *right = b->child;
    while (left || right) {
        int order = !left ? 1 : !right ? -1 : strcmp(left->string, right->string);
        bool equal = order < 0   ? equal_to_none(comparison, left, up)
                     : order > 0 ? equal_to_none(comparison, right, up)
                                 : equal_twins(comparison, left, right, up);
        if (!equal)
            return false;
        left = order <= 0 ? left->next : left;
        right = order >= 0 ? right->next : right;
    }
    return true;
}

static bool equal_lists(const struct comparison *comparison, const cJSON *a, const cJSON *b,
                        const struct step *up)
{
    cJSON *left = a->child, *right = b->child;
    struct step step = {up, NULL, 0};
    for (; left && right; left = left->next, right = right->next, step.index++) {
        if (!equal_items(comparison, left, right, &step))
            return false;
    }
    return left || right ? differs(comparison, &step) : true;
}

static bool equal_items(const struct comparison *comparison, cJSON *a, cJSON *b,
                        const struct step *step)
{
    if (cJSON_IsObject(a) && cJSON_IsObject(b))
        return equal_members(comparison, a, b, step);
    if (cJSON_IsArray(a) && cJSON_IsArray(b))
        return equal_lists(comparison, a, b, step);
    if (cJSON_IsNull(a) && cJSON_IsNull(b))
        return true;
    return equal_scalars(comparison, a, b, step) ? true : differs(comparison, step);
}

bool trees_equal(cJSON *a, cJSON *b, const struct equal_sources *sources, const char *root,
                 struct buf *difference)
{
    const struct comparison comparison = {sources, root, difference};
    const struct step top = {0};
    return equal_items(&comparison, a, b, &top);
}
