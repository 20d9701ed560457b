/*
 * The annotation of PodGroups that says how many pods start together where spec.minMember does not:
 * scheduling.volcano.sh/min-available, or minAvailable; a number of pods ("8") or a part of them
 * ("80%").
 */
#ifndef PUMICE_API_MINAVAILABLE_H
#define PUMICE_API_MINAVAILABLE_H

#include "base/str.h"

struct min_available {
    int32_t count;   /* at least 1; 0 with a percentage */
    int32_t percent; /* from 1 to 100; 0 with a count */
};

/* False, with both 0, when the text is neither. */
bool min_available_parse(struct str text, struct min_available *ret_minimum);
/* How many of `pods` that is: a part of them is rounded up, and never below 1. */
int32_t min_available_of(const struct min_available *minimum, uint32_t pods);

#endif
