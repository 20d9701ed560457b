/*
 * Resource lists of admission: see resources.h.
 */
#include "webhook/rules/resources.h"

struct quantity_text quantity_text(struct quantity quantity)
{
    struct quantity_text result;
    size_t size = quantity_print(result.text, quantity);
    result.text[size < QUANTITY_TEXT_MAX ? size : QUANTITY_TEXT_MAX] = '\0';
    return result;
}

static int by_name(const void *a, const void *b)
{
    const struct resource *left = a, *right = b;
    return str_cmp(left->name, right->name);
}

void resources_sort(struct resources *list)
{
    if (list->n > 1)
        qsort(list->items, list->n, sizeof(*list->items), by_name);
}

/* Pods, quota counts and extended resources cannot be split. */
static bool is_whole_resource(struct str name)
{
    if (str_is(name, "pods") || str_starts(name, STR("count/")))
        return true;
    return str_chr(name, '/') >= 0 && !str_starts(name, STR("kubernetes.io/"));
}

static void check(const struct resource *resource, const char *path, struct problems *problems)
{
    if (resource->quantity.nano < 0)
        problem_invalid(problems,
                        "%s.%s: Invalid value: \"%s\": must be greater than or equal to 0", path,
                        resource->name.p, quantity_text(resource->quantity).text);
    else if (is_whole_resource(resource->name) && resource->quantity.nano % 1000000000 != 0)
        problem_invalid(problems, "%s.%s: Invalid value: \"%s\": must be an integer", path,
                        resource->name.p, quantity_text(resource->quantity).text);
}

struct resources resources_read(const cJSON *object, const char *path, struct arena *arena,
                                struct problems *problems)
{
    struct resources list = {0};
    if (!cJSON_IsObject(object))
        return list;
    if (cJSON_GetArraySize(object) > RESOURCES_MAX) {
        problem_invalid(problems, "%s: more than %d resources", path, RESOURCES_MAX);
        return list;
    }
    list.items = arena_calloc(arena, (size_t)cJSON_GetArraySize(object) + 1, sizeof(*list.items));
    const cJSON *item;
    cJSON_ArrayForEach(item, object)
    {
        struct resource *resource = &list.items[list.n];
        struct str text = tree_scalar(item, arena);
        struct error err = ERROR_INIT;
        resource->name = str_of(item->string);
        if (quantity_parse(text, &resource->quantity, &err) < 0) {
            problem_invalid(problems, "%s.%s: Invalid value: \"%.*s\": must be a quantity", path,
                            item->string, STR_ARG(str_cut(text, 64)));
            continue;
        }
        check(resource, path, problems);
        list.n++;
    }
    resources_sort(&list);
    return list;
}

const struct resource *resources_find(const struct resources *list, struct str name)
{
    const struct resource key = {.name = name};
    if (list->n == 0)
        return NULL;
    return bsearch(&key, list->items, list->n, sizeof(*list->items), by_name);
}

const struct quantity *resources_get(const struct resources *list, struct str name)
{
    const struct resource *found = resources_find(list, name);
    return found ? &found->quantity : NULL;
}

bool resources_equal(const struct resources *a, const struct resources *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (!str_eq(a->items[i].name, b->items[i].name) ||
            quantity_cmp(a->items[i].quantity, b->items[i].quantity) != 0)
            return false;
    }
    return true;
}
