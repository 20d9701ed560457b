/*
 * Feature gates as --feature-gates gives them: "A=true,B=false", more than once, with AllAlpha and
 * AllBeta for the gates of a stage that are not named themselves, wherever they stand.
 */
#ifndef PUMICE_OPS_GATES_H
#define PUMICE_OPS_GATES_H

#include "ops/flags.h"

enum gate_stage { GATE_ALPHA, GATE_BETA };

struct gate {
    const char *name;
    enum gate_stage stage;
    bool on;  /* before: the default */
    bool set; /* by name */
};

/* ERROR_INVALID for a gate that is not among the `count`, and for a value that is no boolean. */
int gates_parse(const struct flag_strings *texts, struct gate *gates, size_t count,
                struct error *err);

#endif
