/*
 * The Secret as JSON: see secret_data.h.
 */
#include "secret_data.h"
#include "base/base64.h"
#include "base/timefmt.h"
#include "source.h"
#include "json/reader.h"
#include "json/writer.h"

#define TEXT_MAX ((size_t)128 << 10)

struct field {
    const char *key;
    size_t offset; /* of the struct buf in struct cert_bundle */
    bool passing;  /* not there at all while it is empty */
};

static const struct field fields[] = {
    {"tls.crt", offsetof(struct cert_bundle, cert), false},
    {"tls.key", offsetof(struct cert_bundle, key), false},
    {"ca.crt", offsetof(struct cert_bundle, ca_cert), false},
    {"ca.key", offsetof(struct cert_bundle, ca_key), true},
    {CERT_NEXT_KEY, offsetof(struct cert_bundle, next_key), true},
};

/* ---- reading ------------------------------------------------------------------------------- */

static void read_fields(struct json_reader *reader, struct cert_bundle *bundle)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        struct str value = json_str(reader);
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
            struct buf *to = (struct buf *)(void *)((char *)bundle + fields[i].offset);
            /* What is no base64 leaves the field empty, which the check reports. */
            if (str_is(key, fields[i].key))
                (void)base64_decode(to, value);
        }
    }
}

static void take_text(struct json_reader *reader, char *to, size_t size)
{
    struct str text = str_cut(json_str(reader), size - 1);
    memcpy(to, text.n ? text.p : "", text.n);
    to[text.n] = '\0';
}

static void read_annotations(struct json_reader *reader, struct secret_data *data)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, CERT_ANNOTATION_RENEW))
            take_text(reader, data->request, sizeof(data->request));
        else if (!str_is(key, CERT_ANNOTATION_SINCE))
            json_skip(reader);
        else if (!time_parse(json_str(reader), &data->since_ns))
            data->since_ns = 0;
    }
}

static void read_metadata(struct json_reader *reader, struct secret_data *data)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "resourceVersion"))
            take_text(reader, data->version, sizeof(data->version));
        else if (str_is(key, "annotations"))
            read_annotations(reader, data);
        else
            json_skip(reader);
    }
}

int secret_data_read(struct str body, struct secret_data *data, struct error *err)
{
    struct arena arena cleanup_arena = ARENA_INIT;
    struct json_reader reader;
    struct str key;
    json_init(&reader, body, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_is(key, "data"))
                read_fields(&reader, &data->bundle);
            else if (str_is(key, "metadata"))
                read_metadata(&reader, data);
            else
                json_skip(&reader);
        }
    }
    return json_end(&reader, err);
}

/* ---- writing ------------------------------------------------------------------------------- */

static void write_field(struct json_writer *writer, const struct field *field,
                        const struct secret_write *write)
{
    const struct buf *value =
        (const struct buf *)(const void *)((const char *)write->bundle + field->offset);
    struct buf text cleanup_buf = BUF_INIT(TEXT_MAX);
    if (field->passing && value->n == 0) {
        if (write->version)
            json_w_member_raw(writer, field->key, STR("null"));
        return;
    }
    (void)base64_encode(&text, buf_str(value));
    json_w_member_str(writer, field->key, buf_str(&text));
    if (text.p)
        explicit_bzero(text.p, text.n);
}

static void write_annotations(struct json_writer *writer, const struct secret_write *write)
{
    char text[TIME_TEXT_MAX];
    if (!write->clear_request && !write->since_ns)
        return;
    json_w_member_object(writer, "annotations");
    if (write->clear_request)
        json_w_member_raw(writer, CERT_ANNOTATION_RENEW, STR("null"));
    if (write->since_ns)
        json_w_member_str(writer, CERT_ANNOTATION_SINCE,
                          str_make(text, time_format(text, write->since_ns)));
    json_w_end_object(writer);
}

void secret_data_write(const struct secret_write *write, struct buf *out)
{
    struct json_writer writer = json_writer(out);
    json_w_object(&writer);
    json_w_member_str(&writer, "apiVersion", STR("v1"));
    json_w_member_str(&writer, "kind", STR("Secret"));
    json_w_member_object(&writer, "metadata");
    if (write->version) {
        json_w_member_str(&writer, "resourceVersion", str_of(write->version));
    } else {
        json_w_member_str(&writer, "name", str_of(write->name));
        json_w_member_str(&writer, "namespace", str_of(write->ns));
    }
    write_annotations(&writer, write);
    json_w_end_object(&writer);
    json_w_member_object(&writer, "data");
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        write_field(&writer, &fields[i], write);
    json_w_end_object(&writer);
    json_w_end_object(&writer);
}
