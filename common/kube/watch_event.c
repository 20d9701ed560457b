/*
 * Reading watch events and list pages: see watch_event.h. No state; loop thread only, since the
 * store is.
 */
#include "kube/watch_event.h"

static enum watch_event_type type_of(struct str name)
{
    static const char *const names[] = {
        [WATCH_ADDED] = "ADDED",       [WATCH_MODIFIED] = "MODIFIED", [WATCH_DELETED] = "DELETED",
        [WATCH_BOOKMARK] = "BOOKMARK", [WATCH_ERROR] = "ERROR",
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (str_is(name, names[i]))
            return (enum watch_event_type)i;
    return WATCH_UNKNOWN;
}

int watch_event_read(struct str line, struct watch_event *ret_event, struct error *err)
{
    struct json_reader reader;
    struct str key, type = STR_NULL, object = STR_NULL;

    json_init(&reader, line, NULL);
    for (bool open = json_object(&reader); open && json_key(&reader, &key);) {
        if (str_is(key, "type"))
            type = json_str(&reader);
        else if (str_is(key, "object"))
            object = json_raw(&reader);
        else
            json_skip(&reader);
    }
    if (json_end(&reader, err) < 0)
        return error_prefix(err, "watch event");
    if (str_empty(type) || str_empty(object))
        return error_set(err, ERROR_INVALID, "watch event: it has no type or no object");
    *ret_event = (struct watch_event){type_of(type), object};
    return 0;
}

int watch_status_code(struct str raw)
{
    struct json_reader reader;
    struct error err = ERROR_INIT;
    struct str key;
    int32_t code = 0;

    json_init(&reader, raw, NULL);
    for (bool open = json_object(&reader); open && json_key(&reader, &key);) {
        if (str_is(key, "code"))
            code = json_i32(&reader);
        else
            json_skip(&reader);
    }
    return json_end(&reader, &err) < 0 ? 0 : code;
}

static void read_list_metadata(struct json_reader *reader, struct list_page *page)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "resourceVersion")) {
            if (!str_to_u64(json_str(reader), &page->rv))
                json_fail(reader, "metadata.resourceVersion is not a number");
        } else if (str_is(key, "continue")) {
            page->remain = json_str(reader);
        } else {
            json_skip(reader);
        }
    }
}

static void apply_items(struct json_reader *reader, struct store *store, struct list_page *page)
{
    for (bool open = json_array(reader); open && json_item(reader);) {
        struct str raw = json_raw(reader);
        if (json_failed(reader))
            return;
        store_list_item(store, raw);
        page->items++;
    }
}

int list_page_apply(struct store *store, struct str body, struct list_page *ret_page,
                    struct error *err)
{
    struct list_page page = {0};
    struct json_reader reader;
    struct str key;
    bool has_items = false;

    json_init(&reader, body, NULL);
    for (bool open = json_object(&reader); open && json_key(&reader, &key);) {
        if (str_is(key, "metadata")) {
            read_list_metadata(&reader, &page);
        } else if (str_is(key, "items")) {
            has_items = true;
            apply_items(&reader, store, &page);
        } else {
            json_skip(&reader);
        }
    }
    if (json_end(&reader, err) < 0)
        return error_prefix(err, "list");
    if (!has_items || page.rv == 0)
        return error_set(err, ERROR_INVALID, "the answer is no list: %s",
                         has_items ? "it has no metadata.resourceVersion" : "it has no items");
    *ret_page = page;
    return 0;
}
