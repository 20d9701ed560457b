/*
 * struct command: bus.volcano.sh/v1alpha1 Command: what a user wants done with a Job or a Queue.
 *
 * Immutable once decoded and owned by its store. Texts are interned, "" when absent.
 */
#ifndef PUMICE_API_COMMAND_H
#define PUMICE_API_COMMAND_H

#include "kube/meta.h"
#include "kube/store.h"

struct command {
    struct kube_meta meta;
    const char *action;
    const char *target_api_version, *target_kind, *target_name, *target_uid;
};

extern const struct store_type command_store_type;

struct command *command_decode(struct str raw, struct error *err);
void command_free(struct command *command);

#endif
