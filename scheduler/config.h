/*
 * The scheduler's configuration (volcano-scheduler.conf): which actions run, with which plugins.
 *
 * Grammar as users have it: `actions` a comma-separated string, `tiers` of `plugins` with their
 * booleans and `arguments`, `configurations` of actions with theirs, `metrics`. What is not known
 * is reported in the log with its place and what there is: keys and arguments are passed over, an
 * unknown plugin is left out, an unknown action rejects the file. Immutable once made.
 */
#ifndef PUMICE_SCHEDULER_CONFIG_H
#define PUMICE_SCHEDULER_CONFIG_H

#include "scheduler/plugin.h"

struct action_type;

/* One mention of an action. */
struct action {
    const struct action_type *type;
    struct arguments *arguments; /* borrowed from the configuration */
    void *state;                 /* the action's own */
};

struct sched_config {
    VEC(struct action *) actions;  /* owned; in the order of running */
    VEC(struct plugin *) plugins;  /* owned; in order of the tiers, each name once */
    VEC(struct plugin *) crowded;  /* borrowed: those that are asked whether a node is crowded */
    VEC(struct plugin *) scorers;  /* borrowed: those that score nodes */
    VEC(struct plugin *) by_queue; /* borrowed: those whose say of nodes depends on the queue */
    struct node_rules rules;       /* of all plugins together */
    struct map arguments;          /* of actions, struct arguments by the action's name; owned */
    uint64_t generation;           /* differs between any two configurations of a process */
};

/* The built-in configuration; never NULL. */
struct sched_config *sched_config_default(void);
/* From YAML; NULL and `err` when the file is to be rejected. */
struct sched_config *sched_config_parse(struct str yaml, struct error *err);
void sched_config_free(struct sched_config *config);
/* Fills `crowded`, `scorers`, `by_queue` and `rules` for the plugins there are; sched_config_parse
 * has done so. */
void sched_config_note_askers(struct sched_config *config);
bool sched_config_has_action(const struct sched_config *config, const char *name);
/* The plugin of that name, or NULL. */
struct plugin *sched_config_plugin(const struct sched_config *config, const char *name);
bool sched_config_has_plugin(const struct sched_config *config, const char *name);
/* The first mention of the action, or NULL. */
const struct action *sched_config_action(const struct sched_config *config, const char *name);

/* ---- all plugins asked at one point -----------------------------------------------------------
 */

/* The configuration is taken into use. */
void config_attach(const struct sched_config *config, struct scheduler *scheduler);
void config_begin(const struct sched_config *config, const struct cache *cache);
/* Total orders: by plugins, then age, then name. */
bool config_queue_before(const struct sched_config *config, const struct sched_queue *a,
                         const struct sched_queue *b);
/* Whether a turn of one queue may change the order among others; to be told when one is over. */
bool config_order_moves(const struct sched_config *config);
void config_turn_over(const struct sched_config *config, const struct sched_job *job);
bool config_job_before(const struct sched_config *config, const struct sched_job *a,
                       const struct sched_job *b);
bool config_job_enqueueable(const struct sched_config *config, const struct cache *cache,
                            const struct sched_job *job, struct buf *why);
/* When (wall time) the answer to that changes by itself, INT64_MAX for never; may be past. */
int64_t config_job_due(const struct sched_config *config, const struct sched_job *job);
void config_job_enqueued(const struct sched_config *config, const struct sched_job *job);
bool config_job_ready(const struct sched_config *config, const struct sched_job *job);
bool config_job_possible(const struct sched_config *config, const struct sched_job *job);
bool config_queue_overused(const struct sched_config *config, const struct cache *cache,
                           const struct sched_queue *queue);
bool config_allocatable(const struct sched_config *config, const struct cache *cache,
                        const struct sched_queue *queue, const struct pod_class *cls,
                        struct buf *why);
/* See plugin_type.queue_figure; QUEUE_NO_FIGURE when no plugin says. */
int64_t config_queue_figure(const struct sched_config *config, const struct cache *cache,
                            const struct sched_queue *queue, enum queue_figure figure, uint32_t id);
const char *config_filter(const struct sched_config *config, const struct pod_class *cls,
                          const struct node *node);
const char *config_crowded(const struct sched_config *config, const struct pod_class *cls,
                           const struct sched_node *node);
/* See plugin_type.missed; the most that any plugin says. */
enum plugin_miss config_missed(const struct sched_config *config, struct cache *cache,
                               const struct task_group *group, const struct fit_table *table);
void config_binding(const struct sched_config *config, const struct sched_task *task, bool failed);
int64_t config_score(const struct sched_config *config, const struct pod_class *cls,
                     const struct sched_node *node);
/* What plugins say of nodes for pods of a queue; see plugin_type. */
const char *config_queue_filter(const struct sched_config *config, const struct sched_queue *queue,
                                const struct sched_node *node);
/* `score` and what is added to it. */
int64_t config_queue_score(const struct sched_config *config, const struct sched_queue *queue,
                           const struct sched_node *node, int64_t score);
uint64_t config_queue_stamp(const struct sched_config *config, const struct sched_queue *queue);
/* Whether config_queue_refuse may ever say anything of the queue. */
bool config_queue_limited(const struct sched_config *config, const struct sched_queue *queue);
/* After group_limits_settle. */
const char *config_queue_refuse(const struct sched_config *config, const struct sched_queue *queue,
                                const struct resource_set *request, const struct sched_node *node);

#endif
