/*
 * The plugins of Jobs: a table (registry.c). One entry says what a plugin changes of the pods
 * (`edit`) and which objects the job needs beside them (`objects`); a new plugin is one file, one
 * line there, and its arguments in api/jobplugin.c.
 *
 * All of it is a pure function of the job: nothing is kept between calls, nothing is asked of the
 * API server here (job/objects.h does). Arguments that are not understood end the reading of that
 * plugin's arguments; what was read counts and the rest has its presets. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_PLUGINS_PLUGIN_H
#define PUMICE_CONTROLLER_PLUGINS_PLUGIN_H

#include "api/job.h"
#include "api/jobplugin.h"
#include "controller/plugins/edit.h"
#include "controller/plugins/ssh_keys.h"

struct plugin_type;

/* One plugin of one job, with its arguments read. */
struct plugin_call {
    const struct plugin_type *type;
    const struct job *job;               /* borrowed */
    const struct job_plugin_spec *spec;  /* its arguments */
    struct str values[JOB_PLUGIN_FLAGS]; /* of the arguments; borrowed from job and table */
    struct str unread;                   /* the first argument that is not understood, or empty */
};

enum object_kind {
    OBJECT_CONFIG_MAP,
    OBJECT_SERVICE,
    OBJECT_SECRET,
    OBJECT_NETWORK_POLICY,
    OBJECT_CLAIM, /* PersistentVolumeClaim */
    OBJECT_KIND_COUNT
};

/* An object that a job with this plugin has. */
struct plugin_object {
    enum object_kind kind;
    const char *suffix; /* its name is the job's with this behind it */
    /* False when the arguments say it is not wanted; NULL: always wanted. */
    bool (*wanted)(const struct plugin_call *call);
    /* Writes the members beside apiVersion, kind and metadata. `keys` for those that need some. */
    void (*write)(const struct plugin_call *call, const struct ssh_keys *keys,
                  struct json_writer *w);
    /* Its member "data" follows the job: written again when it is not what it should be. */
    bool follows;
    /* True when a new key pair has to be made for it; NULL: never. */
    bool (*needs_keys)(const struct plugin_call *call);
};

struct plugin_type {
    const char *name;
    /* Changes the pods of task number `task`; NULL: nothing. */
    void (*edit)(const struct plugin_call *call, uint32_t task, struct pod_edit *edit);
    /* -1 and why when the plugin can never work for this job; NULL: it always can. */
    int (*check)(const struct plugin_call *call, struct error *err);
    const struct plugin_object *objects; /* ended by one without `write`; NULL: none */
    bool noted; /* status.controlledResources has "plugin-<name>" while the job is alive */
};

/* The plugin of that name, or NULL. */
const struct plugin_type *plugin_find(const char *name);

/* Reads the arguments of the plugin. */
struct plugin_call plugin_call(const struct plugin_type *type, const struct job *job,
                               const struct job_plugin *plugin);
/* An argument by its name, which must be one of the plugin's. */
struct str plugin_text(const struct plugin_call *call, const char *name);
int64_t plugin_number(const struct plugin_call *call, const char *name);
bool plugin_bool(const struct plugin_call *call, const char *name);

/* Collects what all plugins of the job change of the pods of task number `task`. Plugins that do
 * not exist change nothing: plugins_check tells of them. */
void plugins_edit(const struct job *job, uint32_t task, struct pod_edit *edit);
/* -1 and why when a plugin of the job does not exist or can never work for it. */
int plugins_check(const struct job *job, struct error *err);

#endif
