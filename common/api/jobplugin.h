/*
 * The plugins of a Job and the arguments that each takes: names and presets fixed by compatibility,
 * shared by admission and controller. Thread-safe: constant tables.
 */
#ifndef PUMICE_API_JOBPLUGIN_H
#define PUMICE_API_JOBPLUGIN_H

#include "base/goflag.h"

/* Arguments of one plugin at most. */
#define JOB_PLUGIN_FLAGS 8

struct job_plugin_spec {
    const char *name;
    struct goflag flags[JOB_PLUGIN_FLAGS]; /* one without a name ends them */
};

/* The plugin of that name, or NULL. */
const struct job_plugin_spec *job_plugin_spec_find(struct str name);
/* The flag of that name, which must be there. */
const struct goflag *job_plugin_flag(const struct job_plugin_spec *spec, const char *name);

#endif
