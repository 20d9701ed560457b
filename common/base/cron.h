/*
 * struct cron: a schedule as CronJobs have it, read from its text.
 *
 * The grammar is that of the library Kubernetes uses: five fields (minute, hour, day of the month,
 * month, day of the week), or @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or
 * "@every <Go duration>". No time zone is read here. Pure functions, thread-safe.
 */
#ifndef PUMICE_BASE_CRON_H
#define PUMICE_BASE_CRON_H

#include "base/error.h"
#include "base/str.h"

struct cron {
    uint64_t minutes, hours, days, months, weekdays; /* bit n: the schedule names n; Sunday is 0 */
    bool any_day, any_weekday; /* the field was * or ?: then the other one of the two decides alone;
                                  with neither, a day counts when one of them names it */
    int64_t every_s;           /* above 0: this many seconds after the last time, and no fields */
};

/* 0, or ERROR_INVALID with the part that is wrong. `ret_cron` is filled on success only. */
int cron_parse(struct str text, struct cron *ret_cron, struct error *err);

#endif
