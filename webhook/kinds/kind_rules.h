/*
 * What the handlers of the smaller kinds share.
 */
#ifndef PUMICE_WEBHOOK_KIND_RULES_H
#define PUMICE_WEBHOOK_KIND_RULES_H

#include "webhook/registry.h"

/*
 * True when the review is an UPDATE that leaves the text at `path` (of member names, NULL ends it)
 * as it was: then there is nothing to judge, and an object that older rules let in can still lose
 * its finalizers. A text written differently counts as a change.
 */
bool kind_unchanged(const struct admission_case *c, const char *const *path);

#endif
