/*
 * Arguments of job plugins as they stand in a review's tree; base/goflag.h says how they are read.
 *
 * Thread-safe. Slices are borrowed from the tree.
 */
#ifndef PUMICE_WEBHOOK_PLUGIN_ARGS_H
#define PUMICE_WEBHOOK_PLUGIN_ARGS_H

#include "base/goflag.h"
#include "webhook/rules/tree.h"

/* The value of the flag `name` among `args` (may be NULL), or its preset when it is not given.
 * `known` are all flags of the plugin, `name` among them. */
struct str plugin_arg(const cJSON *args, const struct goflag *known, const char *name);

#endif
