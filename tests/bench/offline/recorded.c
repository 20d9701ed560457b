/*
 * A recorded cluster. See recorded.h.
 *
 * All texts are kept until the end: objects are slices of them, or made anew where something of
 * them changes.
 */
#include "recorded.h"
#include "base/vec.h"
#include "json/reader.h"
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#define FILE_MAX ((size_t)1 << 31)
#define OURS "volcano"

struct recorded {
    bool unbind;
    VEC(char *) texts;  /* owned; of files */
    struct arena arena; /* objects made anew, and strings with escapes */
    VEC(struct str) objects[RECORDED_KIND_COUNT];
};

/* ---- files ----------------------------------------------------------------------------------- */

int recorded_read(const char *path, struct buf *text, struct error *err)
{
    char piece[65536];
    size_t size;
    FILE *file = fopen(path, "re");
    if (!file)
        return error_set(err, ERROR_INVALID, "%s", strerror(errno));
    while ((size = fread(piece, 1, sizeof(piece), file)) > 0 && buf_add(text, piece, size))
        ;
    bool good = !ferror(file) && !text->overflow;
    (void)fclose(file);
    return good ? 0 : error_set(err, ERROR_INVALID, "cannot be read, or is too large");
}

/* ---- objects --------------------------------------------------------------------------------- */

/* What of an object decides where it belongs. */
struct head {
    struct str kind, scheduler, ns, name, spec;
};

static void read_spec(struct str spec, struct head *head, struct arena *arena)
{
    struct json_reader reader;
    struct str key;
    json_init(&reader, spec, arena);
    if (!json_object(&reader))
        return;
    while (json_key(&reader, &key)) {
        if (str_is(key, "schedulerName"))
            head->scheduler = json_str(&reader);
        else
            json_skip(&reader);
    }
}

static void read_meta(struct json_reader *reader, struct head *head)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "namespace"))
            head->ns = json_str(reader);
        else if (str_is(key, "name"))
            head->name = json_str(reader);
        else
            json_skip(reader);
    }
}

static struct head read_head(struct str raw, struct arena *arena)
{
    struct head head = {.spec = STR("{}")};
    struct json_reader reader;
    struct str key;
    json_init(&reader, raw, arena);
    if (!json_object(&reader))
        return head;
    while (json_key(&reader, &key)) {
        if (str_is(key, "kind"))
            head.kind = json_str(&reader);
        else if (str_is(key, "metadata"))
            read_meta(&reader, &head);
        else if (str_is(key, "spec"))
            head.spec = json_raw(&reader);
        else
            json_skip(&reader);
    }
    read_spec(head.spec, &head, arena);
    return head;
}

static enum recorded_kind kind_of(const struct head *head)
{
    static const char *const kinds[RECORDED_KIND_COUNT] = {
        [RECORDED_NODES] = "Node",         [RECORDED_PRIORITIES] = "PriorityClass",
        [RECORDED_QUEUES] = "Queue",       [RECORDED_OTHERS] = "",
        [RECORDED_PODGROUPS] = "PodGroup", [RECORDED_PODS] = "Pod"};
    enum recorded_kind kind = 0;
    while (kind < RECORDED_KIND_COUNT && !str_is(head->kind, kinds[kind]))
        kind++;
    return kind == RECORDED_PODS && !str_is(head->scheduler, OURS) ? RECORDED_OTHERS : kind;
}

static void set_phase(cJSON *object, const char *phase)
{
    cJSON *status = cJSON_CreateObject();
    cJSON_AddStringToObject(status, "phase", phase);
    cJSON_DeleteItemFromObjectCaseSensitive(object, "status");
    cJSON_AddItemToObject(object, "status", status);
}

/* A pod that has ended stays as it is. */
static bool has_ended(const cJSON *pod)
{
    const cJSON *status = cJSON_GetObjectItemCaseSensitive(pod, "status");
    const char *phase = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(status, "phase"));
    return phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

/* The object as it was before it was scheduled. */
static struct str unbound(struct recorded *recorded, enum recorded_kind kind, struct str raw)
{
    cJSON *object = cJSON_ParseWithLength(raw.p, raw.n);
    struct str made = raw;
    if (kind == RECORDED_PODGROUPS) {
        set_phase(object, "Inqueue");
    } else if (!has_ended(object)) {
        cJSON *spec = cJSON_GetObjectItemCaseSensitive(object, "spec");
        cJSON_DeleteItemFromObjectCaseSensitive(spec, "nodeName");
        set_phase(object, "Pending");
    }
    char *text = cJSON_PrintUnformatted(object);
    if (text)
        made = arena_str(&recorded->arena, str_of(text));
    cJSON_free(text);
    cJSON_Delete(object);
    return made;
}

static void add_object(struct recorded *recorded, struct str raw)
{
    struct head head = read_head(raw, &recorded->arena);
    enum recorded_kind kind = kind_of(&head);
    if (kind == RECORDED_KIND_COUNT)
        return;
    if (recorded->unbind && (kind == RECORDED_PODS || kind == RECORDED_PODGROUPS))
        raw = unbound(recorded, kind, raw);
    vec_push(&recorded->objects[kind], raw);
}

/* One object, or a list of some. */
static int add_text(struct recorded *recorded, const char *path, struct str text, struct error *err)
{
    struct json_reader reader;
    struct str key;
    bool is_list = false;
    json_init(&reader, text, &recorded->arena);
    if (json_object(&reader))
        while (json_key(&reader, &key)) {
            if (!str_is(key, "items")) {
                json_skip(&reader);
                continue;
            }
            is_list = true;
            if (json_array(&reader))
                while (json_item(&reader))
                    add_object(recorded, json_raw(&reader));
        }
    if (json_end(&reader, err) < 0)
        return error_set(err, ERROR_INVALID, "%s is not JSON", path);
    if (!is_list)
        add_object(recorded, text);
    return 0;
}

static int add_file(struct recorded *recorded, const char *path, struct error *err)
{
    cleanup_buf struct buf text = BUF_INIT(FILE_MAX);
    if (recorded_read(path, &text, err) < 0)
        return -1;
    struct str all = buf_str(&text);
    vec_push(&recorded->texts, buf_take(&text));
    return add_text(recorded, path, all, err);
}

static int is_json(const struct dirent *entry)
{
    return str_ends(str_of(entry->d_name), STR(".json"));
}

static int add_path(struct recorded *recorded, const char *path, struct error *err)
{
    struct dirent **entries;
    int count = scandir(path, &entries, is_json, alphasort), failed = 0;
    if (count < 0)
        return add_file(recorded, path, err);
    for (int i = 0; i < count; i++) {
        cleanup_free char *file = xasprintf("%s/%s", path, entries[i]->d_name);
        if (!failed)
            failed = add_file(recorded, file, err);
        free(entries[i]);
    }
    free(entries);
    return failed;
}

struct recorded *recorded_open(const char *path, bool unbind, struct error *err)
{
    struct recorded *recorded = xnew(struct recorded);
    recorded->unbind = unbind;
    if (add_path(recorded, path, err) == 0)
        return recorded;
    recorded_free(recorded);
    return NULL;
}

void recorded_free(struct recorded *recorded)
{
    for (size_t i = 0; i < recorded->texts.n; i++)
        free(recorded->texts.items[i]);
    vec_clear(&recorded->texts);
    for (size_t kind = 0; kind < RECORDED_KIND_COUNT; kind++)
        vec_clear(&recorded->objects[kind]);
    arena_clear(&recorded->arena);
    free(recorded);
}

/* ---- into the stores ------------------------------------------------------------------------- */

void recorded_groups(const struct recorded *recorded, struct rig *rig)
{
    for (size_t i = 0; i < recorded->objects[RECORDED_PODGROUPS].n; i++) {
        cleanup_arena struct arena arena = ARENA_INIT;
        struct head head = read_head(recorded->objects[RECORDED_PODGROUPS].items[i], &arena);
        cleanup_free char *ns = str_dup(head.ns), *name = str_dup(head.name);
        rig_know_group(rig, ns, name, head.spec);
    }
}

size_t recorded_load(const struct recorded *recorded, struct rig *rig, enum recorded_kind kind)
{
    struct store *const stores[RECORDED_KIND_COUNT] = {
        [RECORDED_NODES] = rig->nodes,         [RECORDED_PRIORITIES] = rig->priorityclasses,
        [RECORDED_QUEUES] = rig->queues,       [RECORDED_OTHERS] = rig->pods,
        [RECORDED_PODGROUPS] = rig->podgroups, [RECORDED_PODS] = rig->pods};
    for (size_t i = 0; i < recorded->objects[kind].n; i++)
        store_list_item(stores[kind], recorded->objects[kind].items[i]);
    return recorded->objects[kind].n;
}
