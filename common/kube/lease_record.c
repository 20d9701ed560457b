/*
 * The JSON of a Lease in the shape that client-go writes.
 */
#include "kube/lease_record.h"
#include "base/alloc.h"
#include "json/reader.h"
#include "json/writer.h"
#include <stdio.h>

void lease_record_init(struct lease_record *record)
{
    *record = (struct lease_record){
        .metadata = BUF_INIT(LEASE_METADATA_MAX),
        .spec = BUF_INIT(LEASE_SPEC_MAX),
        .holder = xstrdup(""),
    };
}

void lease_record_clear(struct lease_record *record)
{
    buf_clear(&record->metadata);
    buf_clear(&record->spec);
    free(record->holder);
    record->holder = NULL;
}

/* What was read, before it is taken over: slices of the text or the arena. */
struct fields {
    struct str metadata, spec, holder, acquire;
    int32_t seconds, transitions;
};

static void read_spec(struct fields *fields, struct arena *arena, struct json_reader *outer)
{
    struct json_reader r;
    struct str key;
    fields->spec = json_raw(outer);
    json_init(&r, fields->spec, arena);
    bool present = !str_empty(fields->spec) && json_object(&r);
    while (present && json_key(&r, &key)) {
        if (str_is(key, "holderIdentity"))
            fields->holder = json_str(&r);
        else if (str_is(key, "acquireTime"))
            fields->acquire = json_str(&r);
        else if (str_is(key, "leaseDurationSeconds"))
            fields->seconds = json_i32(&r);
        else if (str_is(key, "leaseTransitions"))
            fields->transitions = json_i32(&r);
        else
            json_skip(&r);
    }
    if (json_failed(&r))
        json_fail(outer, "a field of spec has the wrong type");
}

static void read_lease(struct fields *fields, struct arena *arena, struct json_reader *r)
{
    struct str key;
    bool present = json_object(r);
    while (present && json_key(r, &key)) {
        if (str_is(key, "metadata"))
            fields->metadata = json_raw(r);
        else if (str_is(key, "spec"))
            read_spec(fields, arena, r);
        else
            json_skip(r);
    }
}

static void take_over(struct lease_record *record, const struct fields *fields)
{
    record->exists = true;
    buf_reset(&record->metadata);
    (void)buf_add_str(&record->metadata, fields->metadata);
    buf_reset(&record->spec);
    (void)buf_add_str(&record->spec, fields->spec);
    free(record->holder);
    record->holder = str_dup(fields->holder);
    record->duration_ns = fields->seconds > 0 ? fields->seconds * NSEC_PER_SEC : 0;
    record->transitions = fields->transitions;
    bool fits = fields->acquire.n < sizeof(record->acquire_text);
    (void)snprintf(record->acquire_text, sizeof(record->acquire_text), "%.*s",
                   STR_ARG(fits ? fields->acquire : STR_NULL));
}

int lease_record_read(struct lease_record *record, struct str json, bool *ret_changed,
                      struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct fields fields = {.seconds = 0};
    struct json_reader r;
    json_init(&r, json, &arena);
    read_lease(&fields, &arena, &r);
    if (json_end(&r, err) < 0)
        return -1;
    if (str_empty(fields.metadata))
        return error_set(err, ERROR_INVALID, "the answer is no Lease: it has no metadata");
    if (fields.metadata.n > LEASE_METADATA_MAX || fields.spec.n > LEASE_SPEC_MAX)
        return error_set(err, ERROR_LIMIT, "the Lease is larger than allowed");
    *ret_changed = !record->exists || !str_eq(fields.spec, buf_str(&record->spec));
    take_over(record, &fields);
    return 0;
}

static void write_metadata(struct json_writer *w, const struct lease_record *record,
                           const struct lease_update *update)
{
    if (record->exists) {
        json_w_member_raw(w, "metadata", buf_str(&record->metadata));
        return;
    }
    json_w_member_object(w, "metadata");
    json_w_member_str(w, "namespace", str_of(update->ns));
    json_w_member_str(w, "name", str_of(update->name));
    json_w_end_object(w);
}

/* A change of hands counts, a renewal does not; giving up keeps the count. */
static int32_t next_transitions(const struct lease_record *record,
                                const struct lease_update *update)
{
    bool taken = record->exists && *update->holder && strcmp(record->holder, update->holder) != 0;
    return record->transitions + (taken && record->transitions < INT32_MAX ? 1 : 0);
}

void lease_record_write(const struct lease_record *record, const struct lease_update *update,
                        struct buf *out)
{
    char renew[TIME_TEXT_MAX];
    bool renewal =
        record->exists && record->acquire_text[0] && strcmp(record->holder, update->holder) == 0;
    time_format_micro(renew, update->wall_ns);
    struct json_writer w = json_writer(out);
    json_w_object(&w);
    json_w_member_str(&w, "apiVersion", STR("coordination.k8s.io/v1"));
    json_w_member_str(&w, "kind", STR("Lease"));
    write_metadata(&w, record, update);
    json_w_member_object(&w, "spec");
    json_w_member_str(&w, "holderIdentity", str_of(update->holder));
    json_w_member_i64(&w, "leaseDurationSeconds", update->duration_ns / NSEC_PER_SEC);
    json_w_member_str(&w, "acquireTime", str_of(renewal ? record->acquire_text : renew));
    json_w_member_str(&w, "renewTime", str_of(renew));
    json_w_member_i64(&w, "leaseTransitions", next_transitions(record, update));
    json_w_end_object(&w);
    json_w_end_object(&w);
}
