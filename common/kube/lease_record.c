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

/* The raw value of a member of an object; empty when it has none. */
static struct str raw_member(struct str object, const char *name, struct arena *arena)
{
    struct json_reader r;
    struct str key, found = STR_NULL;
    json_init(&r, object, arena);
    bool present = !str_empty(object) && json_object(&r);
    while (present && json_key(&r, &key)) {
        struct str value = json_raw(&r);
        if (str_is(key, name))
            found = value;
    }
    return found;
}

struct str lease_record_note(const struct lease_record *record, const char *key,
                             struct arena *arena)
{
    struct str annotations = raw_member(buf_str(&record->metadata), "annotations", arena);
    struct str raw = raw_member(annotations, key, arena);
    struct json_reader r;
    json_init(&r, raw, arena);
    return str_empty(raw) ? STR_NULL : json_str(&r);
}

/* Writes the members of an object but one. */
static void write_others(struct json_writer *w, struct str object, const char *except,
                         struct arena *arena)
{
    struct json_reader r;
    struct str key;
    json_init(&r, object, arena);
    bool present = !str_empty(object) && json_object(&r);
    while (present && json_key(&r, &key)) {
        struct str value = json_raw(&r);
        if (str_is(key, except))
            continue;
        json_w_key(w, key);
        json_w_raw(w, value);
    }
}

static void write_annotations(struct json_writer *w, struct str before,
                              const struct lease_update *update, struct arena *arena)
{
    json_w_member_object(w, "annotations");
    write_others(w, before, update->note_key, arena);
    json_w_member_str(w, update->note_key, update->note);
    json_w_end_object(w);
}

static void write_metadata(struct json_writer *w, const struct lease_record *record,
                           const struct lease_update *update)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct str metadata = buf_str(&record->metadata);
    if (record->exists && !update->note_key) {
        json_w_member_raw(w, "metadata", metadata);
        return;
    }
    json_w_member_object(w, "metadata");
    if (record->exists) {
        write_others(w, metadata, update->note_key ? "annotations" : "", &arena);
        metadata = raw_member(metadata, "annotations", &arena);
    } else {
        json_w_member_str(w, "namespace", str_of(update->ns));
        json_w_member_str(w, "name", str_of(update->name));
        metadata = STR_NULL;
    }
    if (update->note_key)
        write_annotations(w, metadata, update, &arena);
    json_w_end_object(w);
}

/* A change of hands counts, a renewal does not; giving up keeps the count. */
int32_t lease_record_term(const struct lease_record *record, const char *holder)
{
    bool taken = record->exists && *holder && strcmp(record->holder, holder) != 0;
    if (!record->exists)
        return 0;
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
    json_w_member_i64(&w, "leaseTransitions", lease_record_term(record, update->holder));
    json_w_end_object(&w);
    json_w_end_object(&w);
}
