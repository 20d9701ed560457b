/*
 * Semantic equality: see equal.h.
 *
 * Depth is bounded by the reader that checked the text (64), so recursion is safe. A path is kept
 * as a chain of steps on the stack and written only when a difference is found.
 */
#include "webhook/rules/equal.h"
#include "base/quantity.h"
#include "base/timefmt.h"
#include "webhook/rules/equal_defaults.h"
#include "json/reader.h"
#include <math.h>

#define EXACT_MAX 9007199254740992.0 /* 2^53 */
#define SHOWN_MAX 64                 /* bytes of a value in a difference */

struct step {
    const struct step *up; /* NULL at the root */
    const char *key;       /* NULL for an item of a list */
    size_t index;
    const cJSON *value; /* that is here on one of the sides, or NULL */
};

struct comparison {
    const char *root;
    struct buf *difference;
};

/* ---- numbers that a double cannot hold ----------------------------------------------------- */

static bool is_large(const cJSON *item)
{
    return cJSON_IsNumber(item) && fabs(item->valuedouble) >= EXACT_MAX;
}

static bool has_large_numbers(const cJSON *tree)
{
    const cJSON *item;
    if (is_large(tree))
        return true;
    cJSON_ArrayForEach(item, tree)
    {
        if (has_large_numbers(item))
            return true;
    }
    return false;
}

/* Takes the next number out of a JSON text: outside strings only numbers have digits. */
static struct str next_number(struct str *text)
{
    const char *p = text->p, *end = text->p + text->n;
    bool quoted = false;
    for (; p < end && (quoted || (*p != '-' && (*p < '0' || *p > '9'))); p++) {
        if (quoted && *p == '\\')
            p++;
        else if (*p == '"')
            quoted = !quoted;
    }
    const char *start = p < end ? p : end;
    for (p = start; p < end && *p && strchr("+-.eE0123456789", *p);)
        p++;
    *text = str_make(p, (size_t)(end - p));
    return str_make(start, (size_t)(p - start));
}

/* Numbers come in the same order in the tree and in the text. */
static void keep_digits(cJSON *tree, struct str *text)
{
    cJSON *item;
    if (cJSON_IsNumber(tree)) {
        const struct str digits = next_number(text);
        if (!is_large(tree) || tree->valuestring)
            return;
        tree->valuestring = cJSON_malloc(digits.n + 1); /* goes with the tree */
        memcpy(tree->valuestring, digits.p, digits.n);
        tree->valuestring[digits.n] = '\0';
    }
    cJSON_ArrayForEach(item, tree)
    {
        keep_digits(item, text);
    }
}

void tree_keep_digits(cJSON *tree, struct str text)
{
    if (has_large_numbers(tree))
        keep_digits(tree, &text);
}

static bool equal_numbers(const cJSON *a, const cJSON *b)
{
    if (a->valuedouble != b->valuedouble)
        return false;
    return !a->valuestring || !b->valuestring || strcmp(a->valuestring, b->valuestring) == 0;
}

/* ---- telling the difference ---------------------------------------------------------------- */

static void write_value(struct buf *out, const cJSON *value)
{
    const bool exact = value && cJSON_IsNumber(value) && value->valuestring;
    char *text = value && !exact ? cJSON_PrintUnformatted(value) : NULL;
    const struct str shown = exact  ? str_of(value->valuestring)
                             : text ? str_of(text)
                                    : STR("absent");
    buf_add_str(out, str_cut(shown, SHOWN_MAX));
    if (shown.n > SHOWN_MAX)
        buf_add_cstr(out, "...");
    cJSON_free(text);
}

static bool differs(const struct comparison *comparison, const struct step *step, const cJSON *a,
                    const cJSON *b)
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
    buf_add_cstr(comparison->difference, " is different (was ");
    write_value(comparison->difference, b);
    buf_add_cstr(comparison->difference, ", now ");
    write_value(comparison->difference, a);
    buf_add_char(comparison->difference, ')');
    return false;
}

/* ---- scalars ------------------------------------------------------------------------------- */

/* The name of the member that holds the value at `step`, or the list of such values. */
static const char *holder(const struct step *step)
{
    while (step && !step->key)
        step = step->up;
    return step ? step->key : "";
}

static bool is_quantity(const struct step *step)
{
    static const char *const lists[] = {"requests", "limits", "overhead"};
    if (!step->key)
        return false;
    const char *in = holder(step->up);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        if (strcmp(in, lists[i]) == 0)
            return true;
    }
    return (strcmp(step->key, "sizeLimit") == 0 && strcmp(in, "emptyDir") == 0) ||
           (strcmp(step->key, "divisor") == 0 && strcmp(in, "resourceFieldRef") == 0);
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

/* Go programs write the timeout of a lifecycle policy anew: "60s" comes back as "1m0s". */
static bool is_duration(const struct step *step)
{
    return step->key && strcmp(step->key, "timeout") == 0 &&
           strcmp(holder(step->up), "policies") == 0;
}

static bool equal_durations(const cJSON *a, const cJSON *b)
{
    int64_t left, right;
    return cJSON_IsString(a) && cJSON_IsString(b) &&
           duration_parse(str_of(a->valuestring), &left) &&
           duration_parse(str_of(b->valuestring), &right) && left == right;
}

static bool equal_scalars(const cJSON *a, const cJSON *b, const struct step *step)
{
    if (cJSON_IsString(a) && cJSON_IsString(b) && strcmp(a->valuestring, b->valuestring) == 0)
        return true;
    if (cJSON_IsBool(a) && cJSON_IsBool(b))
        return cJSON_IsTrue(a) == cJSON_IsTrue(b);
    if (cJSON_IsNumber(a) && cJSON_IsNumber(b) && equal_numbers(a, b))
        return true;
    return is_quantity(step) ? equal_quantities(a, b) : is_duration(step) && equal_durations(a, b);
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

static bool on_node_network(const struct step *step)
{
    for (; step; step = step->up) {
        if (step->key && strcmp(step->key, "spec") == 0)
            return tree_bool(step->value, "hostNetwork");
    }
    return false;
}

/* A member of `a`, or of `b`, that the other one has not; the other of the two is NULL. */
static bool equal_to_none(const struct comparison *comparison, const cJSON *a, const cJSON *b,
                          const cJSON *other, const struct step *up)
{
    const struct lone_member member = {.in = holder(up),
                                       .item = a ? a : b,
                                       .other = other,
                                       .on_node_network = on_node_network(up)};
    const struct step step = {.up = up, .key = member.item->string};
    return equal_by_default(&member) || differs(comparison, &step, a, b);
}

/* `left` of `a` and `right` of `b` have the same key; null is like none. */
static bool equal_twins(const struct comparison *comparison, cJSON *left, cJSON *right,
                        const struct step *up)
{
    const struct step step = {.up = up, .key = left->string, .value = left};
    return equal_items(comparison, left, right, &step);
}

static bool equal_members(const struct comparison *comparison, cJSON *a, cJSON *b,
                          const struct step *up)
{
    sort_members(a);
    sort_members(b);
    cJSON *left = a->child, *right = b->child;
    while (left || right) {
        int order = !left ? 1 : !right ? -1 : strcmp(left->string, right->string);
        bool equal;
        if (order < 0 || (order == 0 && cJSON_IsNull(right)))
            equal = equal_to_none(comparison, left, NULL, b, up);
        else if (order > 0 || cJSON_IsNull(left))
            equal = equal_to_none(comparison, NULL, right, a, up);
        else
            equal = equal_twins(comparison, left, right, up);
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
    struct step step = {.up = up};
    for (; left && right; left = left->next, right = right->next, step.index++) {
        step.value = left;
        if (!equal_items(comparison, left, right, &step))
            return false;
    }
    return left || right ? differs(comparison, &step, left, right) : true;
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
    return equal_scalars(a, b, step) ? true : differs(comparison, step, a, b);
}

bool trees_equal(cJSON *a, cJSON *b, const char *root, struct buf *difference)
{
    const struct comparison comparison = {root, difference};
    const struct step top = {.value = a};
    return equal_items(&comparison, a, b, &top);
}
