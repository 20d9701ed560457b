/*
 * What the tests of eviction points share.
 */
#ifndef PUMICE_TESTS_SCHEDULER_EVICT_H
#define PUMICE_TESTS_SCHEDULER_EVICT_H

#include "bare.h"

#include "scheduler/points_evict.h"

#define CANDIDATES_MOST 10

/* A configuration with these tiers, as YAML. */
static inline struct sched_config *tiers_config(const char *tiers)
{
    struct error err = ERROR_INIT;
    cleanup_free char *yaml = xasprintf("actions: allocate\ntiers:\n%s", tiers);
    struct sched_config *config = sched_config_parse(str_of(yaml), &err);
    if (!config)
        fail_msg("%s", err.text);
    return config;
}

/* Names, with spaces between, to tasks: CANDIDATES_MOST at most. */
static inline size_t tasks_of(const struct bare *b, const char *names,
                              const struct sched_task **ret_tasks)
{
    struct str rest = str_of(names), name;
    size_t n = 0;
    while (str_split(&rest, ' ', &name)) {
        cleanup_free char *text = str_dup(name);
        assert_true(n < CANDIDATES_MOST);
        ret_tasks[n] = task_of(b, text);
        assert_non_null(ret_tasks[n++]);
    }
    return n;
}

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
