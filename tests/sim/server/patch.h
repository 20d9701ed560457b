/*
 * The four ways to change an object by a part of it: JSON patch (RFC 6902), merge patch (RFC 7386),
 * Kubernetes' strategic merge patch, and what server-side apply does to an object.
 *
 * Each changes `target` in place; after a failure it is half changed and to be thrown away. What is
 * put into it shares no node with the patch. All trees live in `arena`.
 */
#ifndef PUMICE_TESTS_SIM_SERVER_PATCH_H
#define PUMICE_TESTS_SIM_SERVER_PATCH_H

#include "server/doc.h"

/* ERROR_INVALID: it is no list of operations. ERROR_CONFLICT: an operation is unknown, or cannot be
 * done on this target (a test that fails, a path that is not there). */
int patch_json(struct arena *arena, struct doc *target, const struct doc *operations,
               struct error *err);

void patch_merge(struct arena *arena, struct doc *target, const struct doc *patch);

/*
 * Lists of known fields are merged by the key that names their items (conditions by type,
 * containers by name, ...), finalizers as a set, all others are replaced. Knows the directives
 * $patch, $retainKeys, $setElementOrder/FIELD and $deleteFromPrimitiveList/FIELD. ERROR_INVALID: an
 * item of such a list is without its key, or a directive is unknown.
 */
int patch_strategic(struct arena *arena, struct doc *target, const struct doc *patch,
                    struct error *err);

/*
 * What a manager wants goes into `target`, and what it wanted before (`former`, NULL the first
 * time) and does not any more goes out of it, unless one of `others`, an array of what other
 * managers want, has it too. Items of lists are told apart as in patch_strategic.
 */
void patch_apply(struct arena *arena, struct doc *target, const struct doc *wanted,
                 const struct doc *former, const struct doc *others);

/* The member by which items of the list `field` are told apart; NULL: the list is one value. */
const char *patch_merge_key(struct str field);
/* The item of a list whose `key` is that of `like`, or NULL. */
struct doc *patch_find_item(const struct doc *list, const struct doc *like, const char *key);

#endif
