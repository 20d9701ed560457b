/*
 * Reading and writing caBundles: see ca_bundle.h.
 */
#include "webhook/ca_bundle.h"
#include "base/base64.h"
#include "json/patch.h"

#define TEXT_MAX ((size_t)1 << 20)
#define PATH_MAX_BYTES 128
#define NAME_MAX_BYTES 2048

bool ca_bundle_look(const struct webhook_config *config, const struct cert_set *wanted,
                    struct cert_set *extra)
{
    bool right = true;
    for (size_t i = 0; i < config->webhooks.n; i++) {
        struct cert_set found cleanup_cert_set = {.n = 0};
        struct buf pem cleanup_buf = BUF_INIT(TEXT_MAX);
        /* What cannot be read holds nothing that is wanted. */
        if (base64_decode(&pem, str_of(config->webhooks.items[i].ca_bundle)))
            (void)cert_set_add_pem(&found, buf_str(&pem));
        right = right && cert_set_contains(&found, wanted);
        cert_set_remove(&found, wanted);
        (void)cert_set_add(extra, &found);
    }
    return right;
}

/* The authorities as a JSON string. */
static void write_value(const struct cert_set *authorities, struct buf *out)
{
    struct buf pem cleanup_buf = BUF_INIT(TEXT_MAX), text cleanup_buf = BUF_INIT(TEXT_MAX);
    (void)cert_set_write(authorities, &pem);
    (void)base64_encode(&text, buf_str(&pem));
    json_quote(out, buf_str(&text));
}

void ca_bundle_patch(const struct webhook_config *config, const struct cert_set *authorities,
                     struct buf *body)
{
    struct json_patch patch;
    struct buf value cleanup_buf = BUF_INIT(TEXT_MAX);
    write_value(authorities, &value);
    json_patch_init(&patch, body);
    for (size_t i = 0; i < config->webhooks.n; i++) {
        struct buf path cleanup_buf = BUF_INIT(PATH_MAX_BYTES);
        struct buf name cleanup_buf = BUF_INIT(NAME_MAX_BYTES);
        buf_printf(&path, "/webhooks/%zu/name", i);
        json_quote(&name, str_of(config->webhooks.items[i].name));
        json_patch_test(&patch, buf_str(&path), buf_str(&name));
        buf_reset(&path);
        buf_printf(&path, "/webhooks/%zu/clientConfig/caBundle", i);
        json_patch_add(&patch, buf_str(&path), buf_str(&value));
    }
    (void)json_patch_end(&patch);
}
