/*
 * Decoding of webhook configurations: see webhook_config.h.
 */
#include "webhook/webhook_config.h"

static void free_config(void *object)
{
    struct webhook_config *config = object;
    if (!config)
        return;
    for (size_t i = 0; i < config->webhooks.n; i++) {
        free(config->webhooks.items[i].name);
        free(config->webhooks.items[i].ca_bundle);
        free(config->webhooks.items[i].failure_policy);
    }
    vec_clear(&config->webhooks);
    kube_meta_clear(&config->meta);
    free(config);
}

static void set_text(char **slot, struct json_reader *reader)
{
    free(*slot);
    *slot = str_dup(json_str(reader));
}

static void read_client(struct json_reader *reader, struct webhook_entry *entry)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "caBundle"))
            set_text(&entry->ca_bundle, reader);
        else
            json_skip(reader);
    }
}

static void read_webhook(struct json_reader *reader, struct webhook_config *config)
{
    struct webhook_entry entry = {
        .name = xstrdup(""), .ca_bundle = xstrdup(""), .failure_policy = xstrdup("")};
    struct str key;
    if (json_object(reader)) {
        while (json_key(reader, &key)) {
            if (str_is(key, "name"))
                set_text(&entry.name, reader);
            else if (str_is(key, "failurePolicy"))
                set_text(&entry.failure_policy, reader);
            else if (str_is(key, "timeoutSeconds"))
                entry.timeout_seconds = json_i64(reader);
            else if (str_is(key, "clientConfig"))
                read_client(reader, &entry);
            else
                json_skip(reader);
        }
    }
    vec_push(&config->webhooks, entry);
}

static void *decode(struct str raw, struct error *err)
{
    struct arena arena cleanup_arena = ARENA_INIT;
    struct webhook_config *config = xnew(struct webhook_config);
    struct json_reader reader;
    struct str key;
    json_init(&reader, raw, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_is(key, "metadata") && !config->meta.name) {
                kube_meta_read(&reader, &config->meta, kube_keep_none);
            } else if (str_is(key, "webhooks") && json_array(&reader)) {
                while (json_item(&reader))
                    read_webhook(&reader, config);
            } else if (!str_is(key, "webhooks")) {
                json_skip(&reader);
            }
        }
    }
    if (json_end(&reader, err) < 0) {
        free_config(config);
        return NULL;
    }
    return config;
}

const struct store_type webhook_config_store_type = {"WebhookConfiguration", decode, free_config};
