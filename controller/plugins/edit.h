/*
 * struct pod_edit: what plugins and volumes change of a task's pod template. Collected once for a
 * task, then spliced into the template's text by the compiler (job/template.h).
 *
 * An item of the same name replaces one that was there before, of the template or of an earlier
 * edit; nothing is ever there twice. Everything is copied into the edit. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_PLUGINS_EDIT_H
#define PUMICE_CONTROLLER_PLUGINS_EDIT_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

/* What differs from pod to pod of a task. */
enum edit_hole { EDIT_NO_HOLE, EDIT_INDEX, EDIT_JOB_VERSION, EDIT_RETRY_COUNT };

/* A text with at most one hole: `before`, the number (of EDIT_INDEX: index / divide + add),
 * `after`.
 */
struct edit_text {
    struct str before, after; /* `after` is empty without a hole */
    enum edit_hole hole;
    uint32_t add, divide; /* of EDIT_INDEX; divide is at least 1 */
};

/* Which containers of a pod; can be or-ed. */
enum edit_where { EDIT_CONTAINERS = 1, EDIT_INIT_CONTAINERS = 2, EDIT_ALL = 3 };

struct edit_env {
    struct str name;
    unsigned where;
    struct edit_text value;
    struct str from; /* raw JSON of valueFrom; empty: `value` counts */
};

struct edit_mount {
    struct str volume, path, sub_path; /* sub_path is empty for the whole volume */
    unsigned where;
};

/* A TCP port, added where its number is not there yet. */
struct edit_port {
    struct str name, container; /* container is empty for all */
    int64_t number;
    unsigned where;
};

/* A member of a named container, or an item of a list, as raw JSON. */
struct edit_raw {
    struct str name, json;
};

struct edit_pair {
    struct str key;
    struct edit_text value;
};

struct pod_edit {
    struct arena arena;         /* owns all that the items point at */
    VEC(struct edit_env *) env; /* goes before the user's */
    VEC(struct edit_mount *) mounts;
    VEC(struct edit_port) ports;
    VEC(struct edit_raw) commands;                 /* by container: a JSON array of texts */
    VEC(struct edit_raw) volumes, init_containers; /* by name: a JSON object */
    VEC(struct edit_pair) labels, annotations;
    struct edit_text hostname, subdomain; /* used where the template has none; empty: none */
    struct map env_by_name, mount_by_path, volume_names;
};

/* ---- texts ----------------------------------------------------------------------------------- */

/* A plain text. Borrowed until it is given to one of the functions below. */
static inline struct edit_text edit_plain(struct str text)
{
    return (struct edit_text){.before = text};
}

/* `before`, the pod's index plus `add`, `after`. */
static inline struct edit_text edit_indexed(struct str before, uint32_t add, struct str after)
{
    return (struct edit_text){
        .before = before, .after = after, .hole = EDIT_INDEX, .add = add, .divide = 1};
}

/* ---- collecting ------------------------------------------------------------------------------ */

void pod_edit_init(struct pod_edit *edit);
void pod_edit_clear(struct pod_edit *edit);

void pod_edit_env(struct pod_edit *edit, unsigned where, struct str name, struct edit_text value);
/* `from` is the raw JSON of valueFrom. */
void pod_edit_env_from(struct pod_edit *edit, unsigned where, struct str name, struct str from);
/* The variable that containers get, or NULL. */
const struct edit_env *pod_edit_find_env(const struct pod_edit *edit, struct str name);
void pod_edit_mount(struct pod_edit *edit, unsigned where, struct str volume, struct str path,
                    struct str sub_path);
void pod_edit_port(struct pod_edit *edit, unsigned where, struct str container, struct str name,
                   int64_t number);
/* `json` is an array of texts. */
void pod_edit_command(struct pod_edit *edit, struct str container, struct str json);
/* `json` is the whole volume, with its name. */
void pod_edit_volume(struct pod_edit *edit, struct str name, struct str json);
/* `json` is the whole container, with its name; left out when the template has one of this name. */
void pod_edit_init_container(struct pod_edit *edit, struct str name, struct str json);
void pod_edit_label(struct pod_edit *edit, struct str key, struct edit_text value);
void pod_edit_annotation(struct pod_edit *edit, struct str key, struct edit_text value);
/* Only where the template has none. */
void pod_edit_hostname(struct pod_edit *edit, struct edit_text value);
void pod_edit_subdomain(struct pod_edit *edit, struct edit_text value);

/* True when containers of this kind are changed at all. */
bool pod_edit_touches(const struct pod_edit *edit, unsigned where);

#endif
