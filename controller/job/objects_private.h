/*
 * struct job_object: one object of a job, and its requests. Private to objects.c (what is wanted
 * when) and object_calls.c (requests and answers).
 */
#ifndef PUMICE_CONTROLLER_JOB_OBJECTS_PRIVATE_H
#define PUMICE_CONTROLLER_JOB_OBJECTS_PRIVATE_H

#include "controller/job/objects.h"
#include "controller/plugins/plugin.h"

enum object_state {
    OBJECT_UNKNOWN, /* has to be made, or to be found */
    OBJECT_THERE,   /* is there and ours (a claim that is named: is there) */
    OBJECT_GONE     /* was deleted, or never was */
};

struct key_making;

struct job_object {
    struct job_control *control;
    const struct plugin_type *plugin;   /* NULL: the claim of a volume */
    const struct plugin_object *object; /* of the plugin */
    uint32_t volume;                    /* its number, without a plugin */
    enum object_kind kind;
    enum object_state state;
    const char *uid;             /* interned; NULL while it is not known */
    uint64_t wanted, sent, have; /* content of one that follows the job; 0: not known */
    bool dropping;               /* what is under way is to delete it */
    struct ssh_keys keys;        /* made for its create */
    struct key_making *making;   /* keys are under way; NULL: not */
    struct single_write write;
};

struct job_objects {
    struct job_object *items; /* owned, `n` of them */
    size_t n;
    uint64_t shape;             /* of the job, when the list was made */
    int64_t generation;         /* of the job, when `wanted` was computed; -1: never */
    struct job_object *trouble; /* the one whose trouble the job tells; NULL: none */
    bool unfit;                 /* a plugin can never work */
};

/* The plugin of an object, with its arguments. */
struct plugin_call object_call(const struct job_object *object);
/* Appends the object's name. */
void object_name(const struct job_object *object, struct buf *out);
/* "ConfigMap" and the like. */
const char *object_kind_name(enum object_kind kind);
/* True for a claim that the job names. */
bool object_is_foreign(const struct job_object *object);
/* True while a request, a key, or a wait is under way. */
bool object_busy(const struct job_object *object);

/* A number that stands for the member "data" of the JSON object, whatever the order in it; never 0.
 */
uint64_t object_content(struct str json);
/* The same of what is to be written now. */
uint64_t object_wanted_content(const struct job_object *object);

void object_init(struct job_object *object, struct job_control *control);
void object_clear(struct job_object *object);
/* Each starts one request (or, for a create that needs them, the making of keys). */
void object_create(struct job_object *object);
void object_look_up(struct job_object *object);
void object_update(struct job_object *object);
void object_delete(struct job_object *object);

#endif
