/*
 * Reading which groups of nodes a queue may use. See nodegroups.h.
 */
#include "api/nodegroups.h"
#include "base/ensure.h"
#include "base/intern.h"

static void names_clear(struct group_names *names)
{
    for (uint32_t i = 0; i < names->n; i++)
        intern_put(names->items[i]);
    free(names->items);
    *names = (struct group_names){NULL, 0};
}

static void limits_clear(struct node_groups *groups)
{
    for (uint32_t i = 0; i < groups->limit_count; i++) {
        intern_put(groups->limits[i].group);
        resource_list_clear(&groups->limits[i].amounts);
    }
    free(groups->limits);
    groups->limits = NULL;
    groups->limit_count = 0;
    groups->limits_invalid = false;
}

struct node_groups *node_groups_new(void)
{
    struct node_groups *groups = xnew(struct node_groups);
    groups->refs = 1;
    return groups;
}

struct node_groups *node_groups_ref(struct node_groups *groups)
{
    groups->refs++;
    return groups;
}

void node_groups_unref(struct node_groups *groups)
{
    if (!groups)
        return;
    ENSURE(groups->refs > 0);
    if (--groups->refs)
        return;
    names_clear(&groups->required);
    names_clear(&groups->preferred);
    names_clear(&groups->anti_required);
    names_clear(&groups->anti_preferred);
    limits_clear(groups);
    free(groups);
}

/* ---- affinity -------------------------------------------------------------------------------- */

static void names_read(struct json_reader *reader, struct group_names *names)
{
    names_clear(names);
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        names->items = xreallocarray(names->items, names->n + 1, sizeof(*names->items));
        names->items[names->n++] = intern_get(json_str(reader));
    }
}

static void terms_read(struct json_reader *reader, struct group_names *required,
                       struct group_names *preferred)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "requiredDuringSchedulingIgnoredDuringExecution"))
            names_read(reader, required);
        else if (str_is(key, "preferredDuringSchedulingIgnoredDuringExecution"))
            names_read(reader, preferred);
        else
            json_skip(reader);
    }
}

void node_groups_read_affinity(struct json_reader *reader, struct node_groups *groups)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "nodeGroupAffinity"))
            terms_read(reader, &groups->required, &groups->preferred);
        else if (str_is(key, "nodeGroupAntiAffinity"))
            terms_read(reader, &groups->anti_required, &groups->anti_preferred);
        else
            json_skip(reader);
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void amounts_read(struct json_reader *reader, struct group_amounts *limit)
{
    resource_list_read(reader, &limit->amounts);
    for (size_t i = 0; i < limit->amounts.n; i++)
        if (limit->amounts.items[i].quantity.nano < 0)
            json_fail(reader, "a quantity that is not negative was expected");
}

static void limits_read(struct json_reader *reader, struct node_groups *groups)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        groups->limits =
            xreallocarray(groups->limits, groups->limit_count + 1, sizeof(*groups->limits));
        struct group_amounts *limit = &groups->limits[groups->limit_count++];
        *limit = (struct group_amounts){.group = intern_get(key)};
        amounts_read(reader, limit);
    }
}

void node_groups_read_limits(struct node_groups *groups, struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct error err = ERROR_INIT;
    struct json_reader reader;
    limits_clear(groups);
    if (str_empty(str_trim(text)))
        return;
    json_init(&reader, text, &arena);
    limits_read(&reader, groups);
    if (json_end(&reader, &err) == 0)
        return;
    limits_clear(groups);
    groups->limits_invalid = true;
}

/* ---- looking --------------------------------------------------------------------------------- */

bool node_groups_have_affinity(const struct node_groups *groups)
{
    return groups->required.n || groups->preferred.n || groups->anti_required.n ||
           groups->anti_preferred.n;
}

bool node_groups_say_anything(const struct node_groups *groups)
{
    return node_groups_have_affinity(groups) || groups->limit_count || groups->limits_invalid;
}

static bool names_equal(const struct group_names *a, const struct group_names *b)
{
    return a->n == b->n && (!a->n || memcmp(a->items, b->items, a->n * sizeof(*a->items)) == 0);
}

static bool limits_equal(const struct node_groups *a, const struct node_groups *b)
{
    if (a->limits_invalid != b->limits_invalid || a->limit_count != b->limit_count)
        return false;
    for (uint32_t i = 0; i < a->limit_count; i++)
        if (a->limits[i].group != b->limits[i].group ||
            !resource_list_equal(&a->limits[i].amounts, &b->limits[i].amounts))
            return false;
    return true;
}

bool node_groups_equal(const struct node_groups *a, const struct node_groups *b)
{
    static const struct node_groups none;
    a = a ? a : &none;
    b = b ? b : &none;
    return names_equal(&a->required, &b->required) && names_equal(&a->preferred, &b->preferred) &&
           names_equal(&a->anti_required, &b->anti_required) &&
           names_equal(&a->anti_preferred, &b->anti_preferred) && limits_equal(a, b);
}

int64_t group_names_find(const struct group_names *names, const char *group)
{
    for (uint32_t i = 0; i < names->n; i++)
        if (names->items[i] == group)
            return i;
    return -1;
}
