/*
 * Names of time zones, without a time zone database on the machine.
 *
 * The table is generated (generate-zones). Constant data, thread-safe.
 */
#ifndef PUMICE_BASE_ZONE_H
#define PUMICE_BASE_ZONE_H

#include "base/str.h"

#define ZONE_NAME_MAX 32

/* All names, in byte order, and how many there are. */
extern const char zone_names[][ZONE_NAME_MAX + 1];
extern const size_t zone_names_count;

/* Whether the time zone database has a zone or link of that name; case counts. */
bool zone_known(struct str name);

#endif
