/*
 * The scheduler's configuration (volcano-scheduler.conf): which actions run, with which plugins.
 *
 * Grammar as users have it: `actions` a comma-separated string, `tiers` of `plugins` with their
 * booleans and `arguments`, `configurations` of actions. Unknown keys are ignored, an unknown
 * plugin is reported and left out, an unknown action rejects the file. Immutable once made.
 */
#ifndef PUMICE_SCHEDULER_CONFIG_H
#define PUMICE_SCHEDULER_CONFIG_H

#include "scheduler/plugin.h"

struct action_type;

struct sched_config {
    VEC(const struct action_type *) actions;
    VEC(struct plugin *) plugins; /* owned; in order of the tiers */
    uint64_t generation;          /* differs between any two configurations of a process */
};

/* The built-in configuration; never NULL. */
struct sched_config *sched_config_default(void);
/* From YAML; NULL and `err` when the file is to be rejected. */
struct sched_config *sched_config_parse(struct str yaml, struct error *err);
void sched_config_free(struct sched_config *config);
bool sched_config_has_action(const struct sched_config *config, const char *name);

/* ---- all plugins asked at one point -----------------------------------------------------------
 */

void config_begin(const struct sched_config *config, const struct cache *cache);
/* Total orders: by plugins, then age, then name. */
bool config_queue_before(const struct sched_config *config, const struct sched_queue *a,
                         const struct sched_queue *b);
bool config_job_before(const struct sched_config *config, const struct sched_job *a,
                       const struct sched_job *b);
bool config_job_enqueueable(const struct sched_config *config, const struct cache *cache,
                            const struct sched_job *job, struct buf *why);
void config_job_enqueued(const struct sched_config *config, const struct sched_job *job);
bool config_job_ready(const struct sched_config *config, const struct sched_job *job);
bool config_job_possible(const struct sched_config *config, const struct sched_job *job);
bool config_queue_overused(const struct sched_config *config, const struct cache *cache,
                           const struct sched_queue *queue);
bool config_allocatable(const struct sched_config *config, const struct cache *cache,
                        const struct sched_queue *queue, const struct pod_class *cls,
                        struct buf *why);
const char *config_filter(const struct sched_config *config, const struct pod_class *cls,
                          const struct node *node);
int64_t config_score(const struct sched_config *config, const struct pod_class *cls,
                     const struct sched_node *node);

#endif
