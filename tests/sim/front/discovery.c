/*
 * Health, version and resources: see discovery.h.
 */
#include "front/discovery.h"
#include "base/alloc.h"
#include "front/openapi.h"
#include "server/doc.h"
#include "server/resources.h"

/* The release whose answers the server gives; what follows '+' is no part of its order. */
#define VERSION                                                                                    \
    "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.0+sim\",\"platform\":\"linux/"       \
    "amd64\"}"

static struct doc *kind_of(struct arena *arena, const char *kind)
{
    struct doc *doc = doc_new(arena, JSON_OBJECT);
    doc_set_str(arena, doc, "kind", str_of(kind));
    doc_set_str(arena, doc, "apiVersion", STR("v1"));
    return doc;
}

static struct str api_version(struct arena *arena, const struct sim_resource *resource)
{
    char text[SIM_TITLE_MAX];
    sim_resource_api_version(resource, text, sizeof(text));
    return arena_str(arena, str_of(text));
}

/* ---- groups ---------------------------------------------------------------------------------- */

static struct doc *group_version(struct arena *arena, const struct sim_resource *resource)
{
    struct doc *version = doc_new(arena, JSON_OBJECT);
    doc_set_str(arena, version, "groupVersion", api_version(arena, resource));
    doc_set_str(arena, version, "version", str_of(resource->version));
    return version;
}

/* Fills a group with all of its versions, the first in the table preferred. */
static void fill_group(struct arena *arena, struct doc *group, const char *name)
{
    struct doc *versions = doc_ensure(arena, group, STR("versions"), JSON_ARRAY);
    struct str last = STR_NULL;
    doc_set_str(arena, group, "name", str_of(name));
    for (size_t i = 0; i < sim_resource_count(); i++) {
        const struct sim_resource *resource = sim_resource_at(i);
        if (strcmp(resource->group, name) != 0 || str_is(last, resource->version))
            continue;
        last = str_of(resource->version);
        doc_append(versions, group_version(arena, resource));
        if (!doc_get(group, STR("preferredVersion")))
            doc_set(group, STR("preferredVersion"), group_version(arena, resource));
    }
}

static bool is_first_of_group(size_t id)
{
    for (size_t i = 0; i < id; i++) {
        if (strcmp(sim_resource_at(i)->group, sim_resource_at(id)->group) == 0)
            return false;
    }
    return true;
}

static struct doc *all_groups(struct arena *arena)
{
    struct doc *list = kind_of(arena, "APIGroupList");
    struct doc *groups = doc_ensure(arena, list, STR("groups"), JSON_ARRAY);
    for (size_t i = 0; i < sim_resource_count(); i++) {
        const char *name = sim_resource_at(i)->group;
        if (!*name || !is_first_of_group(i))
            continue;
        struct doc *group = doc_new(arena, JSON_OBJECT);
        fill_group(arena, group, name);
        doc_append(groups, group);
    }
    return list;
}

/* NULL when there is no such group. */
static struct doc *one_group(struct arena *arena, struct str name)
{
    struct doc *group = kind_of(arena, "APIGroup");
    for (size_t i = 0; i < sim_resource_count(); i++) {
        if (str_is(name, sim_resource_at(i)->group)) {
            fill_group(arena, group, sim_resource_at(i)->group);
            return group;
        }
    }
    return NULL;
}

static struct doc *core_versions(struct arena *arena)
{
    struct doc *doc = doc_new(arena, JSON_OBJECT);
    doc_set_str(arena, doc, "kind", STR("APIVersions"));
    doc_append(doc_ensure(arena, doc, STR("versions"), JSON_ARRAY), doc_string(arena, STR("v1")));
    return doc;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* What kubectl takes for the plural beside the kind; by spaces. */
static const struct {
    const char *group, *plural, *names;
} shorts[] = {
    {"", "pods", "po"},
    {"", "namespaces", "ns"},
    {"", "nodes", "no"},
    {"", "resourcequotas", "quota"},
    {"", "persistentvolumeclaims", "pvc"},
    {"", "persistentvolumes", "pv"},
    {"", "services", "svc"},
    {"", "serviceaccounts", "sa"},
    {"", "configmaps", "cm"},
    {"", "events", "ev"},
    {"policy", "poddisruptionbudgets", "pdb"},
    {"scheduling.k8s.io", "priorityclasses", "pc"},
    {"storage.k8s.io", "storageclasses", "sc"},
    {"networking.k8s.io", "networkpolicies", "netpol"},
    {"apps", "deployments", "deploy"},
    {"apps", "replicasets", "rs"},
    {"apps", "statefulsets", "sts"},
    {"apps", "daemonsets", "ds"},
    {"apiextensions.k8s.io", "customresourcedefinitions", "crd crds"},
    {"batch.volcano.sh", "jobs", "vcjob vj"},
    {"batch.volcano.sh", "cronjobs", "cronvcjob cronvj"},
    {"scheduling.volcano.sh", "podgroups", "pg podgroup-v1beta1"},
    {"scheduling.volcano.sh", "queues", "q queue-v1beta1"},
    {"flow.volcano.sh", "jobflows", "jf"},
    {"flow.volcano.sh", "jobtemplates", "jt"},
    {"topology.volcano.sh", "hypernodes", "hn"},
};

static struct str singular(struct arena *arena, const struct sim_resource *resource)
{
    char text[SIM_TITLE_MAX];
    size_t n = 0;
    for (const char *c = resource->kind; *c && n < sizeof(text); c++)
        text[n++] = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    return arena_str(arena, str_make(text, n));
}

static void add_short_names(struct arena *arena, struct doc *entry,
                            const struct sim_resource *resource)
{
    for (size_t i = 0; i < ARRAY_SIZE(shorts); i++) {
        if (strcmp(shorts[i].group, resource->group) != 0 ||
            strcmp(shorts[i].plural, resource->plural) != 0)
            continue;
        struct doc *names = doc_ensure(arena, entry, STR("shortNames"), JSON_ARRAY);
        struct str rest = str_of(shorts[i].names), name;
        while (str_split(&rest, ' ', &name))
            doc_append(names, doc_string(arena, name));
    }
}

/* ---- resources of a version ------------------------------------------------------------------ */

static void add_verbs(struct arena *arena, struct doc *entry, bool whole)
{
    static const char *const names[] = {
        "get", "patch", "update", "create", "delete", "deletecollection", "list", "watch"};
    struct doc *verbs = doc_ensure(arena, entry, STR("verbs"), JSON_ARRAY);
    for (size_t i = 0; i < (whole ? ARRAY_SIZE(names) : 3); i++)
        doc_append(verbs, doc_string(arena, str_of(names[i])));
}

static struct doc *add_entry(struct arena *arena, struct doc *entries,
                             const struct sim_resource *resource, struct str name)
{
    struct doc *entry = doc_new(arena, JSON_OBJECT);
    doc_set_str(arena, entry, "name", name);
    doc_set_str(arena, entry, "singularName", STR_NULL);
    doc_set(entry, STR("namespaced"), doc_bool(arena, sim_resource_is(resource, SIM_NAMESPACED)));
    doc_set_str(arena, entry, "kind", str_of(resource->kind));
    doc_append(entries, entry);
    return entry;
}

static void add_resource(struct arena *arena, struct doc *entries,
                         const struct sim_resource *resource)
{
    struct doc *entry = add_entry(arena, entries, resource, str_of(resource->plural));
    doc_set_str(arena, entry, "singularName", singular(arena, resource));
    add_verbs(arena, entry, true);
    add_short_names(arena, entry, resource);
    if (sim_resource_is(resource, SIM_STATUS))
        add_verbs(
            arena,
            add_entry(arena, entries, resource, arena_printf(arena, "%s/status", resource->plural)),
            false);
}

static struct doc *resources_of(struct arena *arena, struct str group, struct str version)
{
    struct doc *list = kind_of(arena, "APIResourceList");
    struct doc *entries = doc_ensure(arena, list, STR("resources"), JSON_ARRAY);
    for (size_t i = 0; i < sim_resource_count(); i++) {
        const struct sim_resource *resource = sim_resource_at(i);
        if (!str_is(group, resource->group) || !str_is(version, resource->version))
            continue;
        doc_set_str(arena, list, "groupVersion", api_version(arena, resource));
        add_resource(arena, entries, resource);
    }
    return doc_count(entries) ? list : NULL;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* NULL for a path that is none of these. */
static struct doc *document_at(struct arena *arena, struct str path)
{
    struct str rest = str_from(path, 1), root = STR_NULL, group = STR_NULL, version = STR_NULL;
    (void)str_split(&rest, '/', &root);
    bool core = str_is(root, "api");
    if (!core && !str_is(root, "apis"))
        return NULL;
    if (!core)
        (void)str_split(&rest, '/', &group);
    (void)str_split(&rest, '/', &version);
    if (!str_empty(rest))
        return NULL;
    if (!str_empty(version))
        return resources_of(arena, group, version);
    if (core)
        return core_versions(arena);
    return str_empty(group) ? all_groups(arena) : one_group(arena, group);
}

bool sim_discovery_answer(const struct sim_request *request, struct sim_answer *answer)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct str rest = request->path, path = request->path;
    (void)str_split(&rest, '?', &path);
    if (request->method != KUBE_GET)
        return false;
    if (str_is(path, "/healthz") || str_is(path, "/livez") || str_is(path, "/readyz")) {
        buf_add_cstr(&answer->body, "ok");
    } else if (str_is(path, "/version")) {
        buf_add_cstr(&answer->body, VERSION);
    } else if (str_is(path, "/openapi/v2")) {
        buf_reset(&answer->body); /* no bytes: in protobuf, a document with nothing in it */
    } else {
        const struct doc *doc = document_at(&arena, path);
        if (!doc)
            doc = sim_openapi_at(&arena, path);
        if (!doc)
            return false;
        doc_print(&answer->body, doc);
    }
    answer->status = 200;
    return true;
}
