/*
 * Whether two JSON trees mean the same Kubernetes object: quantities by value, absent and empty
 * alike where Go's types cannot tell them apart, members in any order.
 */
#ifndef PUMICE_WEBHOOK_EQUAL_H
#define PUMICE_WEBHOOK_EQUAL_H

#include "base/buf.h"
#include "webhook/rules/tree.h"

/* The texts the trees were parsed from: asked where a number does not fit a double. */
struct equal_sources {
    struct str a, b;
};

/*
 * True when they mean the same. Otherwise `difference` gets the path of the first member that
 * differs, "spec.tasks[0].template...", with `root` in front. Members may be put into another
 * order.
 */
bool trees_equal(cJSON *a, cJSON *b, const struct equal_sources *sources, const char *root,
                 struct buf *difference);

#endif
