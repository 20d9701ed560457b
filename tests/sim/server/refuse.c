/*
 * The Status bodies of refused requests: see call.h.
 */
#include "server/call.h"

static struct doc *cause_doc(struct arena *arena, const struct sim_cause *cause)
{
    struct doc *doc = doc_new(arena, JSON_OBJECT);
    doc_set_str(arena, doc, "reason", str_of(cause->reason));
    doc_set_str(arena, doc, "message", cause->message);
    if (cause->field)
        doc_set_str(arena, doc, "field", str_of(cause->field));
    return doc;
}

static struct doc *details_doc(struct arena *arena, const struct sim_failure *failure)
{
    struct doc *details = doc_new(arena, JSON_OBJECT);
    if (!str_empty(failure->name))
        doc_set_str(arena, details, "name", failure->name);
    if (failure->group && *failure->group)
        doc_set_str(arena, details, "group", str_of(failure->group));
    if (failure->kind)
        doc_set_str(arena, details, "kind", str_of(failure->kind));
    if (!str_empty(failure->uid))
        doc_set_str(arena, details, "uid", failure->uid);
    if (failure->cause.reason)
        doc_append(doc_ensure(arena, details, STR("causes"), JSON_ARRAY),
                   cause_doc(arena, &failure->cause));
    if (failure->retry_after_s > 0)
        doc_set_i64(arena, details, "retryAfterSeconds", failure->retry_after_s);
    return details;
}

struct doc *sim_failure_doc(struct arena *arena, const struct sim_failure *failure)
{
    struct doc *doc = doc_new(arena, JSON_OBJECT), *meta = doc_new(arena, JSON_OBJECT);
    struct doc *details = details_doc(arena, failure);
    if (!str_empty(failure->remain))
        doc_set_str(arena, meta, "continue", failure->remain);
    doc_set_str(arena, doc, "kind", STR("Status"));
    doc_set_str(arena, doc, "apiVersion", STR("v1"));
    doc_set(doc, STR("metadata"), meta);
    doc_set_str(arena, doc, "status", STR("Failure"));
    doc_set_str(arena, doc, "message", failure->message);
    if (failure->reason)
        doc_set_str(arena, doc, "reason", str_of(failure->reason));
    if (details->first || failure->bare)
        doc_set(doc, STR("details"), details);
    doc_set_i64(arena, doc, "code", failure->code);
    return doc;
}

int sim_fail(struct sim_call *call, const struct sim_failure *failure)
{
    buf_reset(&call->answer->body);
    (void)sim_call_answer(call, failure->code, sim_failure_doc(call->arena, failure));
    return -1;
}

static struct str format_text(struct arena *arena, const char *format, va_list args)
{
    cleanup_buf struct buf text = BUF_INIT((size_t)1 << 20);
    buf_vprintf(&text, format, args);
    return arena_str(arena, buf_str(&text));
}

/* `RESOURCE "NAME" WHAT` */
static struct str about(struct sim_call *call, const struct sim_resource *resource, struct str name,
                        const char *what)
{
    char title[SIM_TITLE_MAX];
    sim_resource_title(resource, title, sizeof(title));
    return arena_printf(call->arena, "%s \"%.*s\" %s", title, STR_ARG(name), what);
}

int sim_fail_not_found(struct sim_call *call, const struct sim_resource *resource, struct str name)
{
    return sim_fail(call, &(struct sim_failure){
                              .code = 404,
                              .reason = "NotFound",
                              .message = about(call, resource, name, "not found"),
                              .name = name,
                              .kind = resource->plural,
                              .group = resource->group,
                          });
}

int sim_fail_no_resource(struct sim_call *call)
{
    return sim_fail(call, &(struct sim_failure){
                              .code = 404,
                              .reason = "NotFound",
                              .message = STR("the server could not find the requested resource"),
                              .bare = true,
                          });
}

int sim_fail_method(struct sim_call *call)
{
    return sim_fail(call, &(struct sim_failure){
                              .code = 405,
                              .reason = "MethodNotAllowed",
                              .message = STR("the server does not allow this method on the "
                                             "requested resource"),
                              .bare = true,
                          });
}

int sim_fail_exists(struct sim_call *call, struct str name, bool terminating)
{
    struct str message = about(call, call->resource, name, "already exists");
    if (terminating)
        message = arena_printf(call->arena, "object is being deleted: %.*s", STR_ARG(message));
    return sim_fail(call, &(struct sim_failure){
                              .code = 409,
                              .reason = "AlreadyExists",
                              .message = message,
                              .name = name,
                              .kind = call->resource->plural,
                              .group = call->resource->group,
                          });
}

int sim_fail_conflict(struct sim_call *call, struct str name, const char *format, ...)
{
    char title[SIM_TITLE_MAX];
    va_list args;
    va_start(args, format);
    struct str why = format_text(call->arena, format, args);
    va_end(args);
    sim_resource_title(call->resource, title, sizeof(title));
    return sim_fail(call, &(struct sim_failure){
                              .code = 409,
                              .reason = "Conflict",
                              .message = arena_printf(
                                  call->arena, "Operation cannot be fulfilled on %s \"%.*s\": %.*s",
                                  title, STR_ARG(name), STR_ARG(why)),
                              .name = name,
                              .kind = call->resource->plural,
                              .group = call->resource->group,
                          });
}

int sim_fail_other_uid(struct sim_call *call, struct str given, struct str uid)
{
    bool custom = sim_resource_is(call->resource, SIM_CUSTOM);
    return sim_fail_conflict(
        call, call->name,
        "StorageError: invalid object, Code: 4, Key: /registry/%s%s%s/%.*s, ResourceVersion: 0, "
        "AdditionalErrorMsg: Precondition failed: UID in precondition: %.*s, UID in object meta: "
        "%.*s",
        custom ? call->resource->group : "", custom ? "/" : "", call->resource->plural,
        STR_ARG(sim_call_key(call)), STR_ARG(given), STR_ARG(uid));
}

int sim_fail_forbidden(struct sim_call *call, struct str name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str why = format_text(call->arena, format, args);
    va_end(args);
    struct str head = about(call, call->resource, name, "is forbidden");
    return sim_fail(
        call, &(struct sim_failure){
                  .code = 403,
                  .reason = "Forbidden",
                  .message = arena_printf(call->arena, "%.*s: %.*s", STR_ARG(head), STR_ARG(why)),
                  .name = name,
                  .kind = call->resource->plural,
                  .group = call->resource->group,
              });
}

int sim_fail_invalid(struct sim_call *call, struct str name, const char *field, const char *reason,
                     const char *format, ...)
{
    const struct sim_resource *resource = call->resource;
    va_list args;
    va_start(args, format);
    struct str why = format_text(call->arena, format, args);
    va_end(args);
    struct str message = arena_printf(call->arena, "%s%s%s \"%.*s\" is invalid: %s: %.*s",
                                      resource->kind, *resource->group ? "." : "", resource->group,
                                      STR_ARG(name), field, STR_ARG(why));
    return sim_fail(call, &(struct sim_failure){
                              .code = 422,
                              .reason = "Invalid",
                              .message = message,
                              .name = name,
                              .kind = resource->kind,
                              .group = resource->group,
                              .cause = {.reason = reason, .message = why, .field = field},
                          });
}

int sim_fail_bad_request(struct sim_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str why = format_text(call->arena, format, args);
    va_end(args);
    return sim_fail(call,
                    &(struct sim_failure){.code = 400, .reason = "BadRequest", .message = why});
}
