/*
 * The least of OpenAPI: see openapi.h.
 */
#include "front/openapi.h"
#include "server/resources.h"

#define ROOT "/openapi/v3"

static struct doc *add_object(struct arena *arena, struct doc *to, struct str key)
{
    return doc_ensure(arena, to, key, JSON_OBJECT);
}

static struct doc *new_document(struct arena *arena)
{
    struct doc *doc = doc_new(arena, JSON_OBJECT);
    struct doc *info = add_object(arena, doc, STR("info"));
    doc_set_str(arena, doc, "openapi", STR("3.0.0"));
    doc_set_str(arena, info, "title", STR("Kubernetes"));
    doc_set_str(arena, info, "version", STR("v1.36.0"));
    return doc;
}

/* "api/v1", "apis/policy/v1". */
static struct str version_path(struct arena *arena, const struct sim_resource *resource)
{
    char text[SIM_TITLE_MAX];
    sim_resource_api_version(resource, text, sizeof(text));
    return arena_printf(arena, "%s/%s", *resource->group ? "apis" : "api", text);
}

static struct doc *versions(struct arena *arena)
{
    struct doc *doc = doc_new(arena, JSON_OBJECT);
    struct doc *paths = add_object(arena, doc, STR("paths"));
    for (size_t i = 0; i < sim_resource_count(); i++) {
        struct str path = version_path(arena, sim_resource_at(i));
        doc_set_str(arena, add_object(arena, paths, path), "serverRelativeURL",
                    arena_printf(arena, ROOT "/%.*s", STR_ARG(path)));
    }
    return doc;
}

static struct str object_path(struct arena *arena, const struct sim_resource *resource)
{
    struct str base = version_path(arena, resource);
    return arena_printf(arena, "/%.*s%s/%s/{name}", STR_ARG(base),
                        sim_resource_is(resource, SIM_NAMESPACED) ? "/namespaces/{namespace}" : "",
                        resource->plural);
}

static struct doc *field_validation(struct arena *arena)
{
    struct doc *parameter = doc_new(arena, JSON_OBJECT);
    doc_set_str(arena, parameter, "name", STR("fieldValidation"));
    doc_set_str(arena, parameter, "in", STR("query"));
    doc_set_str(arena, add_object(arena, parameter, STR("schema")), "type", STR("string"));
    return parameter;
}

static void add_patch(struct arena *arena, struct doc *paths, const struct sim_resource *resource)
{
    struct doc *path = add_object(arena, paths, object_path(arena, resource));
    struct doc *patch = add_object(arena, path, STR("patch"));
    struct doc *kind = add_object(arena, patch, STR("x-kubernetes-group-version-kind"));
    doc_append(doc_ensure(arena, patch, STR("parameters"), JSON_ARRAY), field_validation(arena));
    doc_set_str(arena, kind, "group", str_of(resource->group));
    doc_set_str(arena, kind, "version", str_of(resource->version));
    doc_set_str(arena, kind, "kind", str_of(resource->kind));
    (void)add_object(arena, patch, STR("responses"));
}

static struct doc *one_version(struct arena *arena, struct str wanted)
{
    struct doc *doc = new_document(arena);
    struct doc *paths = add_object(arena, doc, STR("paths"));
    for (size_t i = 0; i < sim_resource_count(); i++) {
        if (str_eq(version_path(arena, sim_resource_at(i)), wanted))
            add_patch(arena, paths, sim_resource_at(i));
    }
    return paths->first ? doc : NULL;
}

struct doc *sim_openapi_at(struct arena *arena, struct str path)
{
    if (str_is(path, ROOT))
        return versions(arena);
    if (!str_starts(path, STR(ROOT "/")))
        return NULL;
    return one_version(arena, str_from(path, sizeof(ROOT)));
}
