/*
 * struct command: bus.volcano.sh/v1alpha1 Command: what a user wants done with a Job or a Queue.
 *
 * Immutable once decoded and owned by its store. Texts are interned, "" when absent.
 */
#ifndef PUMICE_API_COMMAND_H
#define PUMICE_API_COMMAND_H

#include "base/timefmt.h"
#include "kube/meta.h"
#include "kube/store.h"

/* Its target may be heard of later than a command: so long one that is for nothing waits. */
#define COMMAND_PATIENCE (15 * NSEC_PER_SEC)

struct command {
    struct kube_meta meta;
    const char *action;
    const char *target_api_version, *target_kind, *target_name, *target_uid;
};

/* Commands in the order in which they are obeyed; vec_clear frees it. */
struct command_list {
    struct command **items; /* owned; what it holds is borrowed */
    size_t n, cap;
};

/* Puts it in its place: oldest first, by resourceVersion among those of one second. */
void command_list_add(struct command_list *list, struct command *command);
/* Takes it out; false when it is not there. */
bool command_list_remove(struct command_list *list, const struct command *command);

extern const struct store_type command_store_type;

struct command *command_decode(struct str raw, struct error *err);
void command_free(struct command *command);

#endif
