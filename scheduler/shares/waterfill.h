/*
 * Weighted water filling: one amount split between claims in proportion to their weights, none
 * below its floor or above its ceiling.
 *
 * Exact integer arithmetic, no allocation, no state. Any thread.
 */
#ifndef PUMICE_SCHEDULER_SHARES_WATERFILL_H
#define PUMICE_SCHEDULER_SHARES_WATERFILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct water_claim {
    int32_t weight;  /* less than 1 counts as 1 */
    int64_t floor;   /* at least 0 */
    int64_t ceiling; /* one below the floor counts as the floor */
    int64_t share;   /* the result */
    bool settled;    /* for the filling itself */
};

/*
 * Sets the share of each claim: a common level times its weight, within its bounds, so that all of
 * `total` is given out when the ceilings allow it. When the floors alone are more than `total`,
 * each gets its floor. Shares are whole units, each less than one unit from the exact share; the
 * order of the claims decides who gets the odd units.
 */
void water_fill(struct water_claim *claims, size_t n, int64_t total);

#endif
