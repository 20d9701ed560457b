/*
 * The AdmissionReview codec: see review.h.
 */
#include "webhook/review.h"
#include "base/base64.h"
#include "json/writer.h"

#define PATCH_MAX ((size_t)12 << 20)

static void read_resource(struct json_reader *reader, struct review *review)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "group"))
            review->group = json_str(reader);
        else if (str_is(key, "version"))
            review->version = json_str(reader);
        else if (str_is(key, "resource"))
            review->resource = json_str(reader);
        else
            json_skip(reader);
    }
}

static struct str read_object(struct json_reader *reader)
{
    enum json_type type = json_peek(reader);
    if (type != JSON_OBJECT && type != JSON_NULL)
        json_fail(reader, "an object under review must be a JSON object");
    struct str raw = json_raw(reader);
    return type == JSON_NULL ? STR_NULL : raw;
}

static bool read_request(struct json_reader *reader, struct review *review)
{
    struct str key;
    if (!json_object(reader))
        return false;
    while (json_key(reader, &key)) {
        if (str_is(key, "uid"))
            review->uid = json_str(reader);
        else if (str_is(key, "operation"))
            review->operation = json_str(reader);
        else if (str_is(key, "name"))
            review->name = json_str(reader);
        else if (str_is(key, "namespace"))
            review->ns = json_str(reader);
        else if (str_is(key, "resource"))
            read_resource(reader, review);
        else if (str_is(key, "object"))
            review->object = read_object(reader);
        else if (str_is(key, "oldObject"))
            review->old_object = read_object(reader);
        else
            json_skip(reader);
    }
    return true;
}

static int check_head(struct str kind, bool has_request, const struct review *review,
                      struct error *err)
{
    const struct str api_version = review->api_version;
    if (api_version.n && !str_is(api_version, REVIEW_VERSION))
        return error_set(err, ERROR_INVALID,
                         "apiVersion: only " REVIEW_VERSION " is understood, not \"%.*s\"",
                         STR_ARG(str_cut(api_version, 64)));
    if (kind.n && !str_is(kind, "AdmissionReview"))
        return error_set(err, ERROR_INVALID, "kind: must be AdmissionReview, not \"%.*s\"",
                         STR_ARG(str_cut(kind, 64)));
    if (!has_request)
        return error_set(err, ERROR_INVALID, "request: the review holds none");
    if (str_empty(review->uid))
        return error_set(err, ERROR_INVALID, "request.uid: the review holds none");
    return 0;
}

int review_read(struct str body, struct arena *arena, const struct review_limits *limits,
                struct review *ret_review, struct error *err)
{
    struct review review = {0};
    struct str key, kind = STR_NULL;
    struct json_reader reader;
    bool has_request = false;
    *ret_review = (struct review){0};
    if (str_empty(str_trim(body)))
        return error_set(err, ERROR_INVALID, "the body is empty; an AdmissionReview is expected");
    json_init(&reader, body, arena);
    reader.max_values = limits->values;
    reader.max_depth = (uint8_t)limits->depth;
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_is(key, "apiVersion"))
                review.api_version = json_str(&reader);
            else if (str_is(key, "kind"))
                kind = json_str(&reader);
            else if (str_is(key, "request"))
                has_request = read_request(&reader, &review);
            else
                json_skip(&reader);
        }
    }
    if (json_end(&reader, err) < 0)
        return -1;
    if (check_head(kind, has_request, &review, err) < 0) {
        ret_review->uid = review.uid;
        ret_review->api_version = review.api_version;
        return -1;
    }
    *ret_review = review;
    return 0;
}

/* ---- the answer ---------------------------------------------------------------------------- */

static void write_patch(struct json_writer *writer, struct str patch)
{
    struct buf text cleanup_buf = BUF_INIT(PATCH_MAX);
    buf_add_char(&text, '"');
    base64_encode(&text, patch);
    buf_add_char(&text, '"');
    json_w_member_raw(writer, "patch", buf_str(&text));
    json_w_member_str(writer, "patchType", STR("JSONPatch"));
}

static void write_status(struct json_writer *writer, const struct verdict *verdict)
{
    json_w_member_object(writer, "status");
    json_w_member_object(writer, "metadata");
    json_w_end_object(writer);
    json_w_member_str(writer, "status", STR("Failure"));
    json_w_member_str(writer, "message", verdict->message);
    json_w_member_str(writer, "reason", str_of(verdict->reason));
    if (verdict->retry_seconds) {
        json_w_member_object(writer, "details");
        json_w_member_i64(writer, "retryAfterSeconds", verdict->retry_seconds);
        json_w_end_object(writer);
    }
    json_w_member_i64(writer, "code", verdict->code);
    json_w_end_object(writer);
}

static void write_warnings(struct json_writer *writer, const struct verdict *verdict)
{
    if (!verdict->warnings[0])
        return;
    json_w_member_array(writer, "warnings");
    for (size_t i = 0; i < VERDICT_WARNINGS_MAX && verdict->warnings[i]; i++)
        json_w_str(writer, str_of(verdict->warnings[i]));
    json_w_end_array(writer);
}

void review_write(struct buf *out, const struct review *review, const struct verdict *verdict)
{
    struct json_writer writer = json_writer(out);
    json_w_object(&writer);
    json_w_member_str(&writer, "kind", STR("AdmissionReview"));
    json_w_member_str(&writer, "apiVersion",
                      review->api_version.n ? review->api_version : STR(REVIEW_VERSION));
    json_w_member_object(&writer, "response");
    json_w_member_str(&writer, "uid", review->uid);
    json_w_member_bool(&writer, "allowed", verdict->allowed);
    if (!verdict->allowed)
        write_status(&writer, verdict);
    if (verdict->allowed && verdict->patch.n)
        write_patch(&writer, verdict->patch);
    write_warnings(&writer, verdict);
    json_w_end_object(&writer);
    json_w_end_object(&writer);
}
