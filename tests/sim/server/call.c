/*
 * A request's path, query, body and answer: see call.h.
 */
#include "server/call.h"

/* ---- the path -------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Percent-decoded into the arena; `plus` is a space in queries. */
static struct str decode(struct arena *arena, struct str text, bool query)
{
    char *plain = arena_alloc(arena, text.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '%' && i + 2 < text.n && hex_digit(text.p[i + 1]) >= 0 &&
            hex_digit(text.p[i + 2]) >= 0) {
            c = (char)(hex_digit(text.p[i + 1]) << 4 | hex_digit(text.p[i + 2]));
            i += 2;
        } else if (c == '+' && query) {
            c = ' ';
        }
        plain[n++] = c;
    }
    return str_make(plain, n);
}

static void read_query(struct sim_call *call, struct str text)
{
    struct str pair, name = STR_NULL;
    call->query = doc_new(call->arena, JSON_OBJECT);
    while (str_split(&text, '&', &pair)) {
        struct str value = pair;
        if (!str_split(&value, '=', &name))
            continue;
        name = decode(call->arena, name, true);
        value = decode(call->arena, value, true);
        doc_set(call->query, name, doc_string(call->arena, value));
    }
}

static int fail_path(struct sim_call *call)
{
    call->answer->status = 404;
    buf_add_cstr(&call->answer->body, "404 page not found\n");
    return -1;
}

static struct str next_segment(struct sim_call *call, struct str *rest)
{
    struct str segment = STR_NULL;
    (void)str_split(rest, '/', &segment);
    return decode(call->arena, segment, false);
}

/* [namespaces/NAMESPACE/]RESOURCE[/NAME[/SUBRESOURCE]] */
static int read_resource(struct sim_call *call, struct str group, struct str version,
                         struct str rest)
{
    struct str plural = next_segment(call, &rest);
    struct str after = rest, ns = next_segment(call, &after), inner = next_segment(call, &after);
    const struct sim_resource *inside = NULL;
    if (str_is(plural, "namespaces") && !str_empty(inner))
        inside = sim_resource_find(group, version, inner);
    if (inside) {
        call->ns = ns;
        rest = after;
    }
    call->resource = inside ? inside : sim_resource_find(group, version, plural);
    if (!sim_resource_has_group(group, version))
        return fail_path(call);
    if (!call->resource || (inside && !sim_resource_is(inside, SIM_NAMESPACED)))
        return sim_fail_no_resource(call);
    call->name = next_segment(call, &rest);
    call->sub = next_segment(call, &rest);
    bool homeless = sim_resource_is(call->resource, SIM_NAMESPACED) && !inside;
    bool lost = !str_empty(rest) || (homeless && !str_empty(call->name));
    return lost ? sim_fail_no_resource(call) : 0;
}

int sim_call_read(struct sim_call *call)
{
    struct str path = call->request->path, rest = call->request->path;
    (void)str_split(&rest, '?', &path);
    read_query(call, rest);
    path = str_from(path, 1);
    struct str root = next_segment(call, &path), group = STR_NULL;
    if (str_is(root, "apis"))
        group = next_segment(call, &path);
    else if (!str_is(root, "api"))
        return fail_path(call);
    struct str version = next_segment(call, &path);
    return read_resource(call, group, version, path);
}

struct str sim_call_query(const struct sim_call *call, const char *name)
{
    return doc_str(doc_get(call->query, str_of(name)));
}

struct str sim_key(struct arena *arena, struct str ns, struct str name)
{
    return str_empty(ns) ? name : arena_printf(arena, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
}

struct str sim_call_key(const struct sim_call *call)
{
    return sim_key(call->arena, call->ns, call->name);
}

bool sim_call_is_dry(const struct sim_call *call)
{
    return str_is(sim_call_query(call, "dryRun"), "All");
}

/* ---- bodies ---------------------------------------------------------------------------------- */

struct doc *sim_call_body(struct sim_call *call)
{
    struct error err = ERROR_INIT;
    struct doc *body = doc_parse(call->arena, call->request->body, &err);
    if (!body)
        (void)sim_fail_bad_request(call, "the object provided is unrecognized: %s", err.text);
    return body;
}

int sim_call_answer(struct sim_call *call, int status, const struct doc *body)
{
    call->answer->status = status;
    doc_print(&call->answer->body, body);
    return 0;
}
