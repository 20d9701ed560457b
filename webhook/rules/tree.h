/*
 * Reading members of a cJSON tree with the leniency that mutating webhooks need: a member that is
 * absent, null or of another type reads as a default. The API server's schema refuses wrong types
 * after mutation and before validation, with its own message.
 *
 * Strings are borrowed from the tree.
 */
#ifndef PUMICE_WEBHOOK_TREE_H
#define PUMICE_WEBHOOK_TREE_H

#include "base/alloc.h"
#include "base/arena.h"
#include <cjson/cJSON.h>

/* The member, or NULL when `object` is no object or the member is absent or null. */
const cJSON *tree_get(const cJSON *object, const char *key);
/* The member if it is an object with at least one member; NULL otherwise. */
const cJSON *tree_object(const cJSON *object, const char *key);
/* The member if it is an array; NULL otherwise. cJSON_ArrayForEach takes NULL. */
const cJSON *tree_array(const cJSON *object, const char *key);
/* The member's text, "" when it is no string. */
const char *tree_str(const cJSON *object, const char *key);
bool tree_bool(const cJSON *object, const char *key);
/* True when the member is a number; *ret_value is its whole part, saturated at int64. */
bool tree_i64(const cJSON *object, const char *key, int64_t *ret_value);
/* The same with 0 for an absent member. */
int64_t tree_i64_or_0(const cJSON *object, const char *key);
/* The text of a string or of a whole number (quantities); "" for anything else. */
struct str tree_scalar(const cJSON *item, struct arena *arena);

static inline void cleanup_tree_fn(cJSON **tree)
{
    cJSON_Delete(*tree);
}
#define cleanup_tree __attribute__((cleanup(cleanup_tree_fn)))

#endif
