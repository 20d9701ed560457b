/*
 * All plugins of a configuration asked about evictions, and how their answers combine. (The other
 * points are in config.h.) Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_POINTS_EVICT_H
#define PUMICE_SCHEDULER_POINTS_EVICT_H

#include "scheduler/config.h"

/*
 * Which candidates may be evicted, into `ret_may` (one for each); returns how many.
 *
 * Tier by tier: those whom all plugins of the tier that do not abstain let go. The first tier that
 * lets anybody go decides; one that lets nobody go leaves it to the next. Whom a plugin that
 * protects keeps is kept, in whatever tier it stands. With `ranked` a tier decides only if a plugin
 * has answered that does more than protect.
 */
size_t config_evictable(const struct sched_config *config, const struct eviction *eviction,
                        bool *ret_may);
/* Whether config_evictable would let no pod of the job go, were it the only candidate; false when
 * that is not known without asking about each. `candidates` do not count. */
bool config_keeps_job(const struct sched_config *config, const struct eviction *eviction,
                      const struct sched_job *job);
/* Which of these running pods are to go though nobody wants their room, into `ret_go`; returns how
 * many. Pods of one job stand together. The first tier in which any plugin names one who is not
 * spared decides; all go that one of its plugins names, but for those whom a plugin of any tier
 * spares. */
size_t config_victims(const struct sched_config *config, const struct cache *cache,
                      const struct sched_task *const *tasks, size_t n, bool *ret_go);
/* Whether config_victims could name anybody. */
bool config_names_victims(const struct sched_config *config);
/* The first tier with a plugin that has this point decides: all of its must agree. False without
 * any. */
bool config_job_starving(const struct sched_config *config, const struct sched_job *job);
/* One rejection refuses; a permit ends the matter after its tier; true in the end. */
bool config_job_pipelined(const struct sched_config *config, const struct sched_job *job);
/* All must agree, and there must be one: without shares no queue has more right to anything than
 * another, and what it takes from that would be taken back. */
bool config_preemptive(const struct sched_config *config, const struct cache *cache,
                       const struct sched_queue *queue, const struct resource_set *request);

/* Total orders: by plugins, then as said. Pods of a job: lowest ordinal, age, UID. */
bool config_task_before(const struct sched_config *config, const struct sched_task *a,
                        const struct sched_task *b);
/*
 * Which of two pods is evicted first for a job (NULL: for none in particular): that of a job that
 * is gone; of one job, that which was placed last; of jobs in one queue, that of the job which is
 * served last; of two queues, that of the queue which gives first: by plugins, else which is served
 * last.
 */
bool config_victim_before(const struct sched_config *config, const struct sched_task *a,
                          const struct sched_task *b, const struct sched_job *taker);

#endif
