/*
 * What the tests of eviction points share.
 */
#ifndef PUMICE_TESTS_SCHEDULER_EVICT_H
#define PUMICE_TESTS_SCHEDULER_EVICT_H

#include "bare.h"

#include "scheduler/points_evict.h"

#define CANDIDATES_MOST 10

/* Whom the plugins let go, by name, in the order of the candidates. Frees the configuration. */
static inline void assert_evictable(struct sched_config *config, const struct eviction *eviction,
                                    const char *expected)
{
    cleanup_buf struct buf names = BUF_INIT(1024);
    bool may[CANDIDATES_MOST];
    assert_true(eviction->n <= CANDIDATES_MOST);
    size_t count = config_evictable(config, eviction, may), seen = 0;
    for (size_t i = 0; i < eviction->n; i++)
        if (may[i])
            buf_printf(&names, "%s%s", seen++ ? " " : "", eviction->candidates[i]->pod->meta.name);
    assert_int_equal(count, seen);
    assert_str(buf_str(&names), expected);
    sched_config_free(config);
}

#endif
