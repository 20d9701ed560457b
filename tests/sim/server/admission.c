/*
 * Admission of new objects: their namespace and its quotas. See rest.h.
 */
#include "server/usage.h"

int sim_admit_namespace(struct sim_call *call)
{
    const struct sim_resource *namespaces = sim_resource_at(SIM_NAMESPACES);
    if (!sim_resource_is(call->resource, SIM_NAMESPACED))
        return 0;
    const struct sim_object *ns = sim_store_find(&call->server->store, namespaces, call->ns);
    if (!ns)
        return sim_fail_not_found(call, namespaces, call->ns);
    if (!ns->terminating)
        return 0;
    char title[SIM_TITLE_MAX];
    sim_resource_title(call->resource, title, sizeof(title));
    return sim_fail(
        call,
        &(struct sim_failure){
            .code = 403,
            .reason = "Forbidden",
            .message = arena_printf(call->arena,
                                    "%s \"%.*s\" is forbidden: unable to create new content in "
                                    "namespace %.*s because it is being terminated",
                                    title, STR_ARG(call->name), STR_ARG(call->ns)),
            .name = call->name,
            .kind = call->resource->plural,
            .group = call->resource->group,
            .cause = {"NamespaceTerminating",
                      arena_printf(call->arena, "namespace %.*s is being terminated",
                                   STR_ARG(call->ns)),
                      "metadata.namespace"},
        });
}

/* ---- quotas ---------------------------------------------------------------------------------- */

/* cpu and memory must be asked for where a quota bounds them. */
static bool is_compulsory(struct str name, struct str *ret_path, struct str *ret_resource)
{
    struct str path = STR("resources.requests"), resource = name;
    if (str_starts(name, STR("limits.")))
        path = STR("resources.limits");
    if (str_starts(name, STR("limits.")) || str_starts(name, STR("requests.")))
        resource = str_from(name, (size_t)str_chr(name, '.') + 1);
    *ret_path = path;
    *ret_resource = resource;
    return str_is(resource, "cpu") || str_is(resource, "memory");
}

/* "requests.cpu for: a,b", or nothing where all containers say it. */
static void add_missing(struct buf *out, const struct doc *pod, struct str name)
{
    struct str path, resource;
    bool first = true;
    if (!is_compulsory(name, &path, &resource))
        return;
    for (doc_each(container, doc_at(pod, "spec.containers"))) {
        if (doc_get(doc_at(container, path.p), resource))
            continue;
        if (first)
            buf_printf(out, "%s%.*s for: ", out->n ? "; " : "", STR_ARG(name));
        buf_printf(out, "%s%.*s", first ? "" : ",", STR_ARG(doc_str_at(container, "name")));
        first = false;
    }
}

static int compare_keys(const void *a, const void *b)
{
    const struct doc *const *x = a, *const *y = b;
    return str_cmp((*x)->key, (*y)->key);
}

/* The members of `object` by name; the caller frees the array. */
static struct doc **sorted(const struct doc *object, size_t *ret_n)
{
    size_t n = 0;
    struct doc **members = xcalloc(doc_count(object) + 1, sizeof(*members));
    for (doc_each(member, object))
        members[n++] = member;
    qsort(members, n, sizeof(*members), compare_keys);
    *ret_n = n;
    return members;
}

static int check_given(struct sim_call *call, const struct doc *quota, const struct doc *object)
{
    struct buf missing cleanup_buf = BUF_INIT(LIMIT_RESPONSE_BODY);
    size_t n;
    if (call->resource != sim_resource_at(SIM_PODS))
        return 0;
    struct doc **hard = sorted(doc_at(quota, "status.hard"), &n);
    for (size_t i = 0; i < n; i++)
        add_missing(&missing, object, hard[i]->key);
    free(hard);
    if (missing.n == 0)
        return 0;
    return sim_fail_forbidden(
        call, doc_str_at(object, "metadata.name"), "failed quota: %.*s: must specify %.*s",
        STR_ARG(doc_str_at(quota, "metadata.name")), STR_ARG(buf_str(&missing)));
}

static void add_amount(struct buf *out, struct str name, const struct doc *amount)
{
    buf_printf(out, "%s%.*s=%.*s", out->n ? "," : "", STR_ARG(name), STR_ARG(doc_str(amount)));
}

/* What is over the limit with `usage` on top; fails where anything is. */
static int check_room(struct sim_call *call, const struct doc *quota, const struct doc *usage,
                      const struct doc *object)
{
    struct buf asked cleanup_buf = BUF_INIT(4096), used cleanup_buf = BUF_INIT(4096);
    struct buf limited cleanup_buf = BUF_INIT(4096);
    const struct doc *now = doc_at(quota, "status.used");
    size_t n;
    struct doc **hard = sorted(doc_at(quota, "status.hard"), &n);
    for (size_t i = 0; i < n; i++) {
        struct str name = hard[i]->key;
        const struct doc *more = doc_get(usage, name);
        struct doc *sum = doc_new(call->arena, JSON_OBJECT);
        if (!more)
            continue;
        sim_usage_add(call->arena, sum, name, doc_str(doc_get(now, name)));
        sim_usage_add(call->arena, sum, name, doc_str(more));
        if (!sim_usage_exceeds(doc_str(sum->first), doc_str(hard[i])))
            continue;
        add_amount(&asked, name, more);
        add_amount(&used, name, doc_get(now, name));
        add_amount(&limited, name, hard[i]);
    }
    free(hard);
    if (asked.n == 0)
        return 0;
    return sim_fail_forbidden(call, doc_str_at(object, "metadata.name"),
                              "exceeded quota: %.*s, requested: %.*s, used: %.*s, limited: %.*s",
                              STR_ARG(doc_str_at(quota, "metadata.name")), STR_ARG(buf_str(&asked)),
                              STR_ARG(buf_str(&used)), STR_ARG(buf_str(&limited)));
}

static void charge(struct sim_call *call, struct sim_object *object, struct doc *old,
                   const struct doc *usage)
{
    struct doc *quota = doc_clone(call->arena, old);
    struct doc *used =
        doc_ensure(call->arena, doc_get(quota, STR("status")), STR("used"), JSON_OBJECT);
    for (doc_each(one, usage))
        if (doc_get(doc_at(quota, "status.hard"), one->key))
            sim_usage_add(call->arena, used, one->key, one->text);
    (void)sim_write(call->server, call->arena, object, old, quota);
}

typedef int quota_step(struct sim_call *call, struct sim_object *object, const struct doc *usage,
                       const struct doc *wanted);

static int ask_quota(struct sim_call *call, struct sim_object *object, const struct doc *usage,
                     const struct doc *wanted)
{
    const struct doc *quota = sim_version_doc(call->arena, object->now);
    if (check_given(call, quota, wanted) < 0)
        return -1;
    return check_room(call, quota, usage, wanted);
}

static int charge_quota(struct sim_call *call, struct sim_object *object, const struct doc *usage,
                        const struct doc *wanted)
{
    (void)wanted;
    charge(call, object, sim_version_doc(call->arena, object->now), usage);
    return 0;
}

static int each_quota(struct sim_call *call, const struct doc *wanted, quota_step *step)
{
    struct str from = arena_printf(call->arena, "%.*s/", STR_ARG(call->ns));
    const struct doc *usage = NULL;
    for (struct sim_object *one =
             sim_store_from(&call->server->store, sim_resource_at(SIM_QUOTAS), from);
         one && sim_key_in(str_of(one->key), call->ns); one = sim_object_next(one)) {
        if (!usage)
            usage = sim_usage_of(call->arena, call->resource, wanted);
        if (step(call, one, usage, wanted) < 0)
            return -1;
    }
    return 0;
}

/* Nothing is charged before all quotas have agreed. */
int sim_admit_quota(struct sim_call *call, const struct doc *object)
{
    if (!sim_resource_is(call->resource, SIM_NAMESPACED))
        return 0;
    if (each_quota(call, object, ask_quota) < 0)
        return -1;
    return sim_call_is_dry(call) ? 0 : each_quota(call, object, charge_quota);
}
