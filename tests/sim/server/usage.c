/*
 * Usage of quotas: see usage.h.
 */
#include "server/usage.h"
#include "base/quantity.h"

static struct quantity quantity_of(struct str text)
{
    struct quantity quantity = QUANTITY_ZERO;
    struct error err = ERROR_INIT;
    if (quantity_parse(text, &quantity, &err) < 0)
        return QUANTITY_ZERO;
    return quantity;
}

static struct str text_of(const struct doc *amount)
{
    return doc_is(amount, JSON_NUMBER) ? amount->text : doc_str(amount);
}

void sim_usage_add(struct arena *arena, struct doc *total, struct str name, struct str amount)
{
    char text[QUANTITY_TEXT_MAX];
    const struct doc *old = doc_get(total, name);
    struct quantity sum = quantity_of(amount);
    if (old)
        sum = quantity_add(quantity_of(text_of(old)), sum);
    size_t n = quantity_print(text, sum);
    doc_set(total, name, doc_string(arena, arena_str(arena, str_make(text, n))));
}

bool sim_usage_exceeds(struct str a, struct str b)
{
    return quantity_cmp(quantity_of(a), quantity_of(b)) > 0;
}

/* ---- pods ------------------------------------------------------------------------------------ */

static bool restarts_always(const struct doc *container)
{
    return str_is(doc_str_at(container, "restartPolicy"), "Always");
}

/* The most that a pod asks at any time of one kind ("requests", "limits"), by resource: all its
 * containers together, or one of those that run before them. */
static struct doc *most_of(struct arena *arena, const struct doc *spec, const char *kind)
{
    struct doc *most = doc_new(arena, JSON_OBJECT);
    struct str path = arena_printf(arena, "resources.%s", kind);
    for (doc_each(container, doc_get(spec, STR("containers"))))
        for (doc_each(one, doc_at(container, path.p)))
            sim_usage_add(arena, most, one->key, text_of(one));
    for (doc_each(container, doc_get(spec, STR("initContainers"))))
        for (doc_each(one, doc_at(container, path.p))) {
            const struct doc *sum = doc_get(most, one->key);
            if (restarts_always(container))
                sim_usage_add(arena, most, one->key, text_of(one));
            else if (!sum || sim_usage_exceeds(text_of(one), text_of(sum)))
                doc_set(most, one->key, doc_string(arena, text_of(one)));
        }
    return most;
}

static bool is_plain(struct str name)
{
    return str_is(name, "cpu") || str_is(name, "memory") || str_is(name, "ephemeral-storage");
}

static void pod_usage(struct arena *arena, const struct doc *pod, struct doc *usage)
{
    struct str phase = doc_str_at(pod, "status.phase");
    const struct doc *spec = doc_get(pod, STR("spec"));
    if (str_is(phase, "Succeeded") || str_is(phase, "Failed"))
        return;
    sim_usage_add(arena, usage, STR("pods"), STR("1"));
    for (doc_each(one, most_of(arena, spec, "requests"))) {
        sim_usage_add(arena, usage, arena_printf(arena, "requests.%.*s", STR_ARG(one->key)),
                      text_of(one));
        if (is_plain(one->key))
            sim_usage_add(arena, usage, one->key, text_of(one));
    }
    for (doc_each(one, most_of(arena, spec, "limits")))
        if (is_plain(one->key))
            sim_usage_add(arena, usage, arena_printf(arena, "limits.%.*s", STR_ARG(one->key)),
                          text_of(one));
}

/* ---- all kinds ------------------------------------------------------------------------------- */

static struct str count_name(struct arena *arena, const struct sim_resource *resource)
{
    char title[SIM_TITLE_MAX];
    sim_resource_title(resource, title, sizeof(title));
    return arena_printf(arena, "count/%s", title);
}

struct doc *sim_usage_of(struct arena *arena, const struct sim_resource *resource,
                         const struct doc *object)
{
    static const enum sim_resource_id by_name[] = {SIM_CLAIMS, SIM_SERVICES, SIM_SECRETS,
                                                   SIM_QUOTAS};
    struct doc *usage = doc_new(arena, JSON_OBJECT);
    sim_usage_add(arena, usage, count_name(arena, resource), STR("1"));
    for (size_t i = 0; i < ARRAY_SIZE(by_name); i++)
        if (resource == sim_resource_at(by_name[i]))
            sim_usage_add(arena, usage, str_of(resource->plural), STR("1"));
    if (resource == sim_resource_at(SIM_PODS))
        pod_usage(arena, object, usage);
    if (resource == sim_resource_at(SIM_CLAIMS))
        sim_usage_add(arena, usage, STR("requests.storage"),
                      text_of(doc_at(object, "spec.resources.requests.storage")));
    return usage;
}

static bool names_any(const struct doc *hard, const struct doc *usage)
{
    for (doc_each(one, usage))
        if (doc_get(hard, one->key))
            return true;
    return false;
}

/* Is there anything in the quota that objects of this kind count against? */
static bool is_counted(struct arena *arena, const struct sim_resource *resource,
                       const struct doc *hard)
{
    if (!sim_resource_is(resource, SIM_NAMESPACED))
        return false;
    if (resource == sim_resource_at(SIM_PODS))
        return true;
    return names_any(hard, sim_usage_of(arena, resource, NULL));
}

static void sum_up(const struct sim_server *server, const struct sim_resource *resource,
                   struct str ns, const struct doc *hard, struct arena *arena, struct doc *total)
{
    struct str from = arena_printf(arena, "%.*s/", STR_ARG(ns));
    for (struct sim_object *object = sim_store_from(&server->store, resource, from);
         object && sim_key_in(str_of(object->key), ns); object = sim_object_next(object)) {
        cleanup_arena struct arena scratch = ARENA_INIT;
        struct doc *doc = sim_version_doc(&scratch, object->now);
        for (doc_each(one, sim_usage_of(&scratch, resource, doc)))
            if (doc_get(hard, one->key))
                sim_usage_add(arena, total, doc_get(hard, one->key)->key, one->text);
    }
}

struct doc *sim_usage_in(const struct sim_server *server, struct arena *arena, struct str ns,
                         const struct doc *hard)
{
    struct doc *total = doc_new(arena, JSON_OBJECT);
    for (doc_each(one, hard))
        doc_set_str(arena, total, arena_str(arena, one->key).p, STR("0"));
    for (size_t i = 0; i < sim_resource_count(); i++)
        if (is_counted(arena, sim_resource_at(i), hard))
            sum_up(server, sim_resource_at(i), ns, hard, arena, total);
    return total;
}
