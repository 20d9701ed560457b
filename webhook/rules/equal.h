/*
 * Whether two JSON trees mean the same Kubernetes object: quantities and durations by value, absent
 * and empty alike where Go's types cannot tell them apart, a default of Kubernetes and its absence
 * alike, members in any order.
 *
 * Work is linear in the size of the trees but for putting members in order. Thread-safe.
 */
#ifndef PUMICE_WEBHOOK_EQUAL_H
#define PUMICE_WEBHOOK_EQUAL_H

#include "base/buf.h"
#include "webhook/rules/tree.h"

/*
 * Notes the digits of numbers that a double cannot hold, so that trees_equal tells them apart.
 * `text` is what `tree` was parsed from; the tree must not have been changed yet.
 */
void tree_keep_digits(cJSON *tree, struct str text);

/*
 * True when they mean the same. Otherwise `difference` gets the first member that differs and its
 * two values, cut: "spec.tasks[0].replicas is different (was 1, now 2)", where `root` stands in
 * front of the path, `a` is what is now and `b` what was. Members may be put into another order.
 */
bool trees_equal(cJSON *a, cJSON *b, const char *root, struct buf *difference);

#endif
