/*
 * Decoding of Commands: see command.h.
 */
#include "api/command.h"
#include "base/vec.h"
#include "json/interned.h"

static void read_target(struct json_reader *reader, struct command *command)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("apiVersion")))
            json_interned(reader, &command->target_api_version);
        else if (str_eq(key, STR("kind")))
            json_interned(reader, &command->target_kind);
        else if (str_eq(key, STR("name")))
            json_interned(reader, &command->target_name);
        else if (str_eq(key, STR("uid")))
            json_interned(reader, &command->target_uid);
        else
            json_skip(reader);
    }
}

struct command *command_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct command *command = xnew(struct command);
    struct json_reader reader;
    struct str key;

    command->action = intern_get(STR(""));
    command->target_api_version = intern_get(STR(""));
    command->target_kind = intern_get(STR(""));
    command->target_name = intern_get(STR(""));
    command->target_uid = intern_get(STR(""));
    json_init(&reader, raw, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_eq(key, STR("metadata")) && !command->meta.name)
                kube_meta_read(&reader, &command->meta, kube_keep_none);
            else if (str_eq(key, STR("action")))
                json_interned(&reader, &command->action);
            else if (str_eq(key, STR("target")))
                read_target(&reader, command);
            else
                json_skip(&reader);
        }
    }
    if (json_end(&reader, err) < 0) {
        command_free(command);
        return NULL;
    }
    return command;
}

void command_free(struct command *command)
{
    if (!command)
        return;
    kube_meta_clear(&command->meta);
    intern_put(command->action);
    intern_put(command->target_api_version);
    intern_put(command->target_kind);
    intern_put(command->target_name);
    intern_put(command->target_uid);
    free(command);
}

static bool comes_before(const struct command *a, const struct command *b)
{
    return a->meta.created_ns < b->meta.created_ns ||
           (a->meta.created_ns == b->meta.created_ns && a->meta.rv < b->meta.rv);
}

void command_list_add(struct command_list *list, struct command *command)
{
    size_t at = list->n;

    vec_push(list, command);
    for (; at > 0 && !comes_before(list->items[at - 1], command); at--)
        list->items[at] = list->items[at - 1];
    list->items[at] = command;
}

bool command_list_remove(struct command_list *list, const struct command *command)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i] == command) {
            vec_remove(list, i);
            return true;
        }
    }
    return false;
}

static void *decode(struct str raw, struct error *err)
{
    return command_decode(raw, err);
}

static void release(void *object)
{
    command_free(object);
}

const struct store_type command_store_type = {"Command", decode, release};
