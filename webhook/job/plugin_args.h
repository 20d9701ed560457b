/*
 * Arguments of job plugins: a list of words, read as Go's flag package reads a command line
 * ("-port=2222", "--port 2222"; a flag of another name or a value of the wrong kind ends the
 * reading, and what was read until then counts).
 *
 * Thread-safe. Slices are borrowed from the tree.
 */
#ifndef PUMICE_WEBHOOK_PLUGIN_ARGS_H
#define PUMICE_WEBHOOK_PLUGIN_ARGS_H

#include "base/str.h"
#include "webhook/rules/tree.h"

enum plugin_flag_kind { PLUGIN_TEXT, PLUGIN_NUMBER, PLUGIN_BOOL };

struct plugin_flag {
    const char *name; /* NULL ends a list */
    enum plugin_flag_kind kind;
};

/* The value of the flag `name` among `args` (may be NULL), or `preset` when none is given. `known`
 * are all flags of the plugin, `name` among them. */
struct str plugin_arg(const cJSON *args, const struct plugin_flag *known, const char *name,
                      const char *preset);

#endif
