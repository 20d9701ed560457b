/*
 * POST, and what a PUT or an apply makes that is not there: see rest.h.
 */
#include "server/rest.h"

#define SUFFIX 5
#define NAME_BASE_MAX (63 - SUFFIX)
#define NAME_MAX_BYTES 253

/* ---- what a body says it is ------------------------------------------------------------------ */

static int check_kind(struct sim_call *call, const struct doc *body)
{
    char version[SIM_TITLE_MAX];
    struct str kind = doc_str_at(body, "kind"), given = doc_str_at(body, "apiVersion");
    sim_resource_api_version(call->resource, version, sizeof(version));
    if (body->type != JSON_OBJECT)
        return sim_fail_bad_request(call, "the object provided is no JSON object");
    if (sim_resource_is(call->resource, SIM_CUSTOM) && str_empty(kind))
        return sim_fail_bad_request(call, "Object 'Kind' is missing in '%.*s'",
                                    STR_ARG(call->request->body));
    if ((!str_empty(given) && !str_is(given, version)) ||
        (!str_empty(kind) && !str_is(kind, call->resource->kind)))
        return sim_fail_bad_request(call, "the object provided is a %.*s of %.*s, not a %s of %s",
                                    STR_ARG(kind), STR_ARG(given), call->resource->kind, version);
    return 0;
}

static int check_namespace(struct sim_call *call, struct doc *meta)
{
    struct str given = doc_str_at(meta, "namespace");
    if (!str_empty(given) && !str_eq(given, call->ns))
        return sim_fail_bad_request(
            call, "the namespace of the provided object does not match the namespace sent on the "
                  "request");
    if (str_empty(call->ns))
        (void)doc_del(meta, STR("namespace"));
    else
        doc_set(meta, STR("namespace"), doc_string(call->arena, call->ns));
    return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void generate_name(struct sim_call *call, struct doc *meta, struct str base)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; /* spell no words */
    char suffix[SUFFIX + 1] = "";
    for (size_t i = 0; i < SUFFIX; i++)
        suffix[i] = letters[rng_below(&call->server->rng, sizeof(letters) - 1)];
    base = str_sub(base, 0, NAME_BASE_MAX);
    doc_set_str(call->arena, meta, "name",
                arena_printf(call->arena, "%.*s%s", STR_ARG(base), suffix));
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Labels of small letters, digits and dashes, joined by dots. */
static bool is_subdomain(struct str name)
{
    bool begins = true;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool ends = i + 1 == name.n || name.p[i + 1] == '.';
        if (c == '.' ? begins : !is_alnum(c) && (c != '-' || begins || ends))
            return false;
        begins = c == '.';
    }
    return name.n > 0 && name.n <= NAME_MAX_BYTES && !begins;
}

static int name_object(struct sim_call *call, struct doc *meta)
{
    struct str name = doc_str_at(meta, "name"), base = doc_str_at(meta, "generateName");
    if (str_empty(name) && str_empty(base))
        return sim_fail_invalid(call, STR_NULL, "metadata.name", "FieldValueRequired",
                                "Required value: name or generateName is required");
    if (str_empty(name))
        generate_name(call, meta, base);
    name = doc_str_at(meta, "name");
    if (is_subdomain(name))
        return 0;
    return sim_fail_invalid(
        call, name, "metadata.name", "FieldValueInvalid",
        "Invalid value: \"%.*s\": a lowercase RFC 1123 subdomain must consist of lower case "
        "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
        "character (e.g. 'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        STR_ARG(name));
}

/* ---- metadata -------------------------------------------------------------------------------- */

static struct str new_uid(struct sim_server *server, struct arena *arena)
{
    uint64_t a = rng_next(&server->rng), b = rng_next(&server->rng);
    return arena_printf(arena, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32),
                        (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff),
                        (unsigned)(b >> 48 & 0x3fff) | 0x8000,
                        (unsigned long long)(b & UINT64_C(0xffffffffffff)));
}

static void drop_empty(struct doc *meta)
{
    for (struct doc *member = meta->first, *next; member; member = next) {
        next = member->next;
        bool hollow = (member->type == JSON_OBJECT || member->type == JSON_ARRAY) && !member->first;
        if (hollow || member->type == JSON_NULL ||
            (member->type == JSON_STRING && str_empty(member->text)))
            doc_remove(meta, member);
    }
}

static void fill_meta(struct sim_call *call, struct doc *meta)
{
    static const char *const servers[] = {"managedFields", "selfLink", "deletionTimestamp",
                                          "deletionGracePeriodSeconds", "generation"};
    struct arena *arena = call->arena;
    for (size_t i = 0; i < ARRAY_SIZE(servers); i++)
        (void)doc_del(meta, str_of(servers[i]));
    drop_empty(meta);
    doc_set_str(arena, meta, "uid", new_uid(call->server, arena));
    doc_set_str(arena, meta, "creationTimestamp", sim_time(call->server, arena, 0));
    if (sim_resource_is(call->resource, SIM_GENERATION))
        doc_set_i64(arena, meta, "generation", 1);
}

/* ---- creating -------------------------------------------------------------------------------- */

static void drop_status(const struct sim_resource *resource, struct doc *object)
{
    if (sim_resource_is(resource, SIM_STATUS) && !sim_resource_is(resource, SIM_STATUS_AT_CREATE))
        (void)doc_del(object, STR("status"));
}

static int store_new(struct sim_call *call, struct doc *object, int status)
{
    struct str key = sim_key(call->arena, call->ns, doc_str_at(object, "metadata.name"));
    const struct sim_object *old = sim_store_find(&call->server->store, call->resource, key);
    if (old)
        return sim_fail_exists(call, doc_str_at(object, "metadata.name"), old->terminating);
    if (!sim_call_is_dry(call))
        (void)sim_store_add(&call->server->store, call->resource, key, call->arena, object);
    return sim_call_answer(call, status, object);
}

int sim_create(struct sim_call *call, struct doc *given, int status)
{
    if (str_empty(call->name))
        call->name = doc_str_at(given, "metadata.name");
    if (check_kind(call, given) < 0 || sim_admit_namespace(call) < 0)
        return -1;
    struct doc *object = sim_with_kind(call->arena, call->resource, given);
    struct doc *meta = doc_ensure(call->arena, object, STR("metadata"), JSON_OBJECT);
    if (check_namespace(call, meta) < 0)
        return -1;
    if (!str_empty(doc_str_at(meta, "resourceVersion")))
        return sim_fail(call, &(struct sim_failure){
                                  .code = 500,
                                  .message = STR("resourceVersion should not be set on objects to "
                                                 "be created"),
                              });
    if (name_object(call, meta) < 0)
        return -1;
    fill_meta(call, meta);
    drop_status(call->resource, object);
    sim_default(call, object);
    if (sim_default_new(call, object) < 0 || sim_admit_quota(call, object) < 0)
        return -1;
    return store_new(call, object, status);
}

int sim_rest_create(struct sim_call *call)
{
    struct doc *body = sim_call_body(call);
    return body ? sim_create(call, body, 201) : -1;
}
