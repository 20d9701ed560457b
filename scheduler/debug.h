/*
 * GET /debug/cache: the cache compared with the stores it was made from and with a recount of
 * itself, for tests and for people who doubt it. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_DEBUG_H
#define PUMICE_SCHEDULER_DEBUG_H

#include "scheduler/scheduler.h"

/* Pods looked at in one call; the recount is left out where there are more. */
#define DEBUG_PODS_MAX 100000
/* Differences that are named. */
#define DEBUG_NAMED_MAX 10

/*
 * Writes a JSON object to `out`: `consistent`, whether a cycle is `running`, the changes `waiting`
 * for its end (what they concern is not compared), `audit` ("ok", "left out" or the difference),
 * for each kind the numbers in `store` and `cache`, `differences` and the `first` of them, and
 * `next` when there are more pods than one call looks at: where the next call should start. `from`
 * is such a place, or 0. True when no difference was found.
 */
bool debug_cache(const struct scheduler *scheduler, size_t from, struct buf *out);
/* The page (an ops_http_fn; `arg` is the scheduler): 200, or 500 when something differs. The query
 * may be "from=<next>". */
int debug_cache_page(struct str path, struct str query, struct buf *out, void *arg);

#endif
