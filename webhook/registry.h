/*
 * The table of admission rules: which handler answers for which path, resource and operations.
 *
 * A handler gets a struct admission_case, reads the trees in it, reports problems or adds to the
 * patch. It runs on a pool thread, must not wait, and keeps nothing.
 */
#ifndef PUMICE_WEBHOOK_REGISTRY_H
#define PUMICE_WEBHOOK_REGISTRY_H

#include "webhook/namespaces.h"
#include "webhook/paths.h"
#include "webhook/review.h"
#include "webhook/rules/tree.h"
#include "webhook/snapshot.h"
#include "json/patch.h"

/* What the rules are told by flags. */
struct admission_rules {
    const char *scheduler_name;         /* for jobs that name none */
    const char *const *scheduler_names; /* all that are ours; one at least */
    size_t scheduler_name_count;
    int64_t max_queue_depth;
    bool root_queue_protection;
    bool allocated_pods_check; /* on deletion of a queue */
    bool pod_level_resources;  /* feature gate PodLevelResources: a pod's own resources count */
    bool scheduling_gates;     /* feature gate SchedulingGatesQueueAdmission */
};

struct pods_config;

/* One review on its way through a handler. */
struct admission_case {
    const struct review *review;
    const struct admission_rules *rules;
    const struct queue_snapshot *queues;
    const struct namespace_snapshot *namespaces;
    const struct pods_config *pods; /* what /pods/mutate sets; NULL: nothing was configured */
    struct arena *arena;            /* dies with the review */
    cJSON *object, *old; /* trees of the review's objects; NULL when absent. The handler's to
                            change: they are read only by it */
    bool last_try;       /* do not ask for more time */

    struct problems problems; /* out: any denies */
    struct json_patch patch;  /* out, of mutating handlers */
    bool wait;                /* out: something is missing that may come in a moment */

    const char *warnings[VERDICT_WARNINGS_MAX]; /* out: see case_warn */
    size_t warning_count;                       /* of all warnings, also those without room */
};

typedef void admission_fn(struct admission_case *c);

enum admission_operation { OPERATION_CREATE = 1, OPERATION_UPDATE = 2, OPERATION_DELETE = 4 };

struct admission_path {
    const char *path;
    const char *configuration; /* name of the webhook configuration object */
    const char *group, *version, *resource;
    unsigned operations;
    /* The denial of any other operation is <before><operation><after>; `before` NULL: only after */
    const char *operation_before, *operation_after;
    bool mutating;
    admission_fn *handler;
    bool default_off; /* served only when --enabled-admission names it */
};

/* The table; ends with a NULL path. */
extern const struct admission_path admission_paths[];
/* The entry of a path, or NULL. */
const struct admission_path *admission_find(struct str path);

/* The handlers: one file each. */
#define ADMISSION_DECLARE(kind, verb, ...) admission_fn kind##_##verb;
ADMISSION_PATHS(ADMISSION_DECLARE)

/*
 * The Queue of that name. When it is not (yet) known: NULL, and `wait` is set unless this is the
 * last try.
 */
const struct queue_view *case_queue(struct admission_case *c, struct str name);

/*
 * Tells the user something about an object that is legal but surely a mistake; sent only with an
 * answer that allows. Control characters become blanks; the text is cut at VERDICT_WARNING_SIZE,
 * and of more than VERDICT_WARNINGS_MAX warnings only the number is told.
 */
void case_warn(struct admission_case *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
