/*
 * The controller's own flags, and which of its parts they turn on.
 */
#ifndef PUMICE_CONTROLLER_OPTIONS_H
#define PUMICE_CONTROLLER_OPTIONS_H

#include "ops/flags.h"

struct controller_options {
    struct flag_strings scheduler_names, controllers, feature_gates;
    bool inherit_owner_annotations;
    bool shards;
    int64_t creation_chunk;
};

/* Where the flags go; set by process_main before anything starts, never changed after. */
extern struct controller_options controller_options;
extern const struct flag controller_flags[];

#define CREATION_CHUNK_PRESET 1024
#define CREATION_CHUNK_MOST 100000

/* What runs. A part that is off writes nothing. */
struct controller_parts {
    bool jobs, podgroups, queues, garbage;
    bool owner_annotations; /* PodGroups of bare pods inherit them */
    uint32_t creation_chunk;
    bool workloads; /* PodGroups of workloads follow these */
};

/*
 * Reads --controllers, --feature-gates and --creation-chunk. ERROR_INVALID for a controller that is
 * named twice, for a gate that there is not, and for a chunk out of range. A controller that there
 * is not is told of in the log.
 */
int controller_options_parts(const struct controller_options *options,
                             struct controller_parts *ret_parts, struct error *err);

#endif
