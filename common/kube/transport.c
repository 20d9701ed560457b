/*
 * What every transport shares: what an answer means, and how paths are made.
 */
#include "kube/transport.h"
#include "json/reader.h"

/* The parts of a metav1.Status that matter here; slices of the body or the arena. */
struct status {
    struct str reason, message;
    int64_t retry_after_s;
    bool by_budget; /* of its causes one is a PodDisruptionBudget, */
    bool other_uid; /* or that the object has another UID */
};

static void read_cause(struct json_reader *r, struct status *status)
{
    struct str key;
    bool present = json_object(r);
    while (present && json_key(r, &key)) {
        if (str_is(key, "reason"))
            status->by_budget = str_is(json_str(r), "DisruptionBudget") || status->by_budget;
        else if (str_is(key, "field"))
            status->other_uid = str_is(json_str(r), "metadata.uid") || status->other_uid;
        else
            json_skip(r);
    }
}

static void read_causes(struct json_reader *r, struct status *status)
{
    bool present = json_array(r);
    while (present && json_item(r))
        read_cause(r, status);
}

static void read_details(struct json_reader *r, struct status *status)
{
    struct str key;
    bool present = json_object(r);
    while (present && json_key(r, &key)) {
        if (str_is(key, "retryAfterSeconds"))
            status->retry_after_s = json_i64(r);
        else if (str_is(key, "causes"))
            read_causes(r, status);
        else
            json_skip(r);
    }
}

/* Leaves `status` empty when the body is no Status. */
static void read_status(struct str body, struct arena *arena, struct status *status)
{
    struct json_reader r;
    struct str key, kind = STR_NULL;
    json_init(&r, body, arena);
    if (json_peek(&r) != JSON_OBJECT)
        return;
    bool present = json_object(&r);
    while (present && json_key(&r, &key)) {
        if (str_is(key, "kind"))
            kind = json_str(&r);
        else if (str_is(key, "reason"))
            status->reason = json_str(&r);
        else if (str_is(key, "message"))
            status->message = json_str(&r);
        else if (str_is(key, "details"))
            read_details(&r, status);
        else
            json_skip(&r);
    }
    if (json_failed(&r) || !str_is(kind, "Status"))
        *status = (struct status){.retry_after_s = 0};
}

static enum error_class class_of(int code, const struct status *status)
{
    if (code >= 500)
        return ERROR_RETRY;
    switch (code) {
    case 401:
    case 403:
        return ERROR_DENIED;
    case 404:
        return ERROR_NOT_FOUND;
    case 408:
    case 429:
        return ERROR_RETRY;
    case 409:
        return str_is(status->reason, "AlreadyExists") ? ERROR_EXISTS : ERROR_CONFLICT;
    case 410:
        return ERROR_GONE;
    case 422:
        return status->other_uid ? ERROR_CONFLICT : ERROR_INVALID;
    default:
        return ERROR_INVALID;
    }
}

static struct str first_line(struct str body)
{
    struct str line = STR_NULL;
    (void)str_split(&body, '\n', &line);
    return str_trim(line);
}

/* Control characters would break the one line that a log entry is. */
static void set_text(struct error *error, enum error_class cls, struct str text)
{
    error_set(error, cls, "%.*s", STR_ARG(text));
    for (char *c = error->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
}

void kube_result_classify(struct kube_result *result)
{
    result->error = (struct error)ERROR_INIT;
    if (result->status >= 200 && result->status < 300)
        return;
    cleanup_arena struct arena arena = ARENA_INIT;
    struct status status = {.retry_after_s = 0};
    read_status(result->body, &arena, &status);
    enum error_class cls = class_of(result->status, &status);
    struct str line = first_line(result->body);
    result->by_budget = result->status == 429 && status.by_budget;
    result->other_uid = result->status == 422 && status.other_uid;
    if (!str_empty(status.message))
        set_text(&result->error, cls, status.message);
    else if (str_empty(line))
        error_set(&result->error, cls, "HTTP %d without a message", result->status);
    else
        set_text(&result->error, cls, line);
    if (str_empty(status.message) && !str_empty(line))
        error_prefix(&result->error, "HTTP %d", result->status);
    const int64_t longest_s = 86400;
    if (result->retry_after_ns == 0 && status.retry_after_s > 0)
        result->retry_after_ns =
            (status.retry_after_s < longest_s ? status.retry_after_s : longest_s) * NSEC_PER_SEC;
}

void kube_escape(struct buf *out, struct str text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c != '\0' && strchr(plain, c)) {
            (void)buf_add_char(out, text.p[i]);
        } else {
            const char code[3] = {'%', digits[c >> 4], digits[c & 15]};
            (void)buf_add(out, code, sizeof(code));
        }
    }
}
