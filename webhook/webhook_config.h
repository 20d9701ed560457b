/*
 * struct webhook_config: a Mutating- or ValidatingWebhookConfiguration as far as we set it.
 */
#ifndef PUMICE_WEBHOOK_WEBHOOK_CONFIG_H
#define PUMICE_WEBHOOK_WEBHOOK_CONFIG_H

#include "base/vec.h"
#include "kube/store.h"

struct webhook_entry {
    char *name, *ca_bundle, *failure_policy; /* owned; ca_bundle is base64 text */
    int64_t timeout_seconds;
};

struct webhook_config {
    struct kube_meta meta;
    VEC(struct webhook_entry) webhooks;
};

extern const struct store_type webhook_config_store_type;

#endif
