/*
 * What the parts of a plan share: plan.c places the job's pods, sites.c finds the nodes where
 * others make room, candidates.c knows who might go and what that costs, units.c takes them away
 * and brings them back, spare.c finds who need not go.
 */
#ifndef PUMICE_SCHEDULER_EVICT_PLAN_PRIVATE_H
#define PUMICE_SCHEDULER_EVICT_PLAN_PRIVATE_H

#include "scheduler/evict/budgets.h"
#include "scheduler/evict/plan.h"
#include "scheduler/statement.h"

/* What evicting some pods costs; plan.h says how costs compare. */
struct evict_cost {
    uint32_t rank;    /* highest of any victim's queue: 0 gives first */
    int32_t priority; /* highest of any victim */
    uint32_t pods;
    int64_t work; /* lost; seconds times millionths of the cluster */
};

static const struct evict_cost evict_cost_none = {0, INT32_MIN, 0, 0};

/* <0, 0, >0. */
int evict_cost_compare(const struct evict_cost *a, const struct evict_cost *b);
void evict_cost_add(struct evict_cost *sum, const struct evict_cost *more);

/* A job whose pods might go. */
struct evict_owner {
    struct sched_job *job;  /* borrowed */
    int32_t minimum;        /* its own, before anybody was taken away */
    uint32_t rank;          /* of its queue */
    uint32_t first, n;      /* its candidates */
    struct evict_cost cost; /* of all that is still there; valid while `costed` */
    bool costed;
    bool partly;    /* it has live pods that must not go: never taken whole */
    bool has_parts; /* some of its candidates are only parts */
    bool refused;   /* plugins do not let it go whole */
    bool gone;      /* it is away, whole */
};

struct evict_candidate {
    struct sched_task *task; /* borrowed */
    struct sched_node *node; /* borrowed; where it is in truth, */
    enum task_status status; /* and how */
    uint32_t owner;
    uint32_t unit; /* number of the unit it is away with, 0: it is there */
    bool part;     /* it goes only with all of its job, not for its own room */
    bool single;   /* of the options listed last, one is this pod alone */
    int64_t work;  /* lost with it */
};

/* What goes together: one pod, or what a job still has. */
struct evict_unit {
    uint32_t owner;
    uint32_t candidate; /* when it is one pod */
    bool whole, away;
    struct evict_cost cost;
};

/* One way to make room on a node. */
struct evict_option {
    uint32_t candidate; /* the pod, or for a job taken whole the first of its pods there */
    bool whole;
    struct evict_cost cost;
};

/* A node on which the next pod might be placed. */
struct evict_site {
    struct heap_node link; /* in plan->sites */
    struct evict_cost cost;
    size_t exact; /* with so many pods placed, and one, it was found out by trying; 0: it is from
                   * what pods ask for alone */
    bool stale;   /* in plan->stale */
};

struct evict_want {
    const struct task_group *group; /* borrowed */
    uint32_t count, placed;
    struct resource_set asked; /* of the queue, for one of them */
};

/* A pod that is taken to be gone, for it is on its way out. */
struct evict_leaving {
    struct sched_task *task;
    struct sched_node *node;
};

/* A node that is being tried. */
struct evict_trial {
    struct evict_site *site; /* borrowed */
    size_t from;             /* its units: those from there on */
    size_t at;               /* into the options, then the order of units: what comes next */
    size_t first;            /* 0, or number of the option that goes first, from 1 on */
    size_t refused;          /* likewise of the first that plugins did not let go, which may be
                              * because of those before it */
    unsigned again;          /* how often it was tried anew */
    bool failed;             /* it is once more, with another one first, if any may do */
};

/* How far finding out is whether a unit may stay: all placements are taken back and made anew. */
enum evict_anew {
    ANEW_NONE,
    ANEW_CLEAR, /* they are taken back */
    ANEW_PLACE, /* and made where there is room */
    ANEW_BACK,  /* not all could be: these are taken back */
    ANEW_SAVED  /* and made where they were */
};

struct evict_sparing {
    enum evict_anew anew;
    uint32_t unit;  /* that is looked at */
    size_t at;      /* into plan->saved */
    bool part;      /* it is about a part of a job that is gone, */
    uint32_t owner; /* this one; */
    size_t next;    /* into plan->order */
};

enum evict_stage {
    EVICT_COLLECT, /* who might go, and who goes anyway */
    EVICT_ARRANGE,
    EVICT_PLACE,
    EVICT_SITES, /* at which cost on which nodes a pod could be placed */
    EVICT_TRY,   /* the cheapest of them: */
    EVICT_TAKE,  /* as many go as it takes */
    EVICT_KEEP,  /* those of them come back who are not needed there; the pod is placed */
    EVICT_DROP,  /* or all of them do: another one is tried */
    EVICT_SPARE, /* who need not go after all */
    EVICT_UNDO,
    EVICT_DONE
};

struct evict_plan {
    struct scheduler *scheduler;
    struct sched_job *job;
    struct evict_rules rules;
    enum evict_stage stage;
    enum evict_outcome outcome;
    bool gang;   /* all that it wants, or nothing */
    bool ranked; /* the more important take from the less by some rule */
    int64_t wall_ns;
    int64_t due_ns; /* see evict_plan_due */

    struct evict_givers own_givers; /* unless the rules have them */
    size_t cursor;                  /* into the givers, the nodes or the units, by stage */
    VEC(struct evict_owner) owners;
    VEC(struct evict_candidate) candidates; /* by owner, in the order in which they would go */
    uint32_t *by_node;                      /* candidates by node, else in their order */
    uint32_t *node_first;                   /* by node: its first place in by_node; one more */
    VEC(struct evict_leaving) leaving;
    VEC(struct evict_unit) units; /* number of one: its index + 1 */
    struct budget_tally tally;
    struct map exempt; /* UIDs of PodGroups whose pods do not go: losses.h */

    VEC(struct evict_want) wants;
    size_t want; /* that is being placed */
    struct statement statement;
    const struct task_group *sites_group; /* whose pods the sites are for */
    struct evict_site *sites;             /* by node */
    size_t site_count;
    struct heap queue;   /* of sites */
    VEC(uint32_t) stale; /* nodes whose sites are to be looked at again */

    struct evict_trial trial;
    uint64_t anew; /* pods that went in trials made anew, in vain */
    struct evict_sparing sparing;
    VEC(uint32_t) order;    /* units, the costliest first */
    VEC(uint32_t) returned; /* units; scratch of sparing */
    VEC(struct evict_place) saved;
    VEC(struct evict_victim) victims;
    VEC(struct evict_place) places;

    VEC(struct evict_option) options; /* scratch */
    VEC(const struct sched_task *) asked;
    VEC(bool) answers; /* to plan->asked */
    VEC(int64_t) lacks;
    struct buf why;
};

/* ---- plan.c ----------------------------------------------------------------------------------
 */

/* Whether the job's queue may have one more such pod as things are. */
bool evict_allows(struct evict_plan *plan, const struct task_group *group);
/* Up to date. */
struct fit_table *evict_table_of(struct evict_plan *plan, const struct task_group *group);
/* Places the next pod there; false when that cannot be after all. */
bool evict_place_on(struct evict_plan *plan, struct evict_want *wanted, struct sched_node *node);
/* A pod finds no place. Of a gang all is in vain then; else what others of its kind wanted is. */
void evict_give_up(struct evict_plan *plan, enum evict_outcome outcome);
/* Places the next pod where there is room as things are; false when there is none. */
bool evict_place_freely(struct evict_plan *plan, struct evict_want *wanted);
/* ---- sites.c ---------------------------------------------------------------------------------
 */

/* Looks for a node for a pod of the group: the stages from EVICT_SITES to EVICT_DROP, which end in
 * EVICT_PLACE. */
void evict_sites_begin(struct evict_plan *plan, const struct task_group *group);
void evict_sites_clear(struct evict_plan *plan);
void evict_step_sites(struct evict_plan *plan);
void evict_step_try(struct evict_plan *plan);
void evict_step_take(struct evict_plan *plan);
void evict_step_keep(struct evict_plan *plan);
void evict_step_drop(struct evict_plan *plan);

/* ---- spare.c ---------------------------------------------------------------------------------
 */

/* Looks at the unit at plan->cursor of plan->order, then at the owners, some placements at a time;
 * true when all have been. */
bool evict_spare(struct evict_plan *plan);

/* ---- candidates.c ----------------------------------------------------------------------------
 */

/* Looks at the jobs from plan->cursor on, some of them; true when all have been. */
bool evict_collect(struct evict_plan *plan);
/* Puts the candidates in order, some owners' at a time; true when all are. */
bool evict_arrange(struct evict_plan *plan);
/* Of the pod alone. */
struct evict_cost evict_candidate_cost(const struct evict_plan *plan,
                                       const struct evict_candidate *candidate);
/* Into plan->options: the ways to make room on a node, the cheapest first. */
void evict_list_options(struct evict_plan *plan, uint32_t node);
/* What room on the node for such a pod costs at least, judged by what pods ask for alone; false
 * when there is none, whoever goes. */
bool evict_estimate(struct evict_plan *plan, const struct sched_node *node,
                    const struct pod_class *cls, struct evict_cost *ret_cost);

/* Whether room for such a pod comes on the option's node when all of its job goes that is there,
 * and nobody else, judged likewise. */
bool evict_suffices(struct evict_plan *plan, const struct evict_option *option,
                    const struct pod_class *cls);

/* ---- units.c ---------------------------------------------------------------------------------
 */

/* Whether plugins let no pod of the job go, whichever pod of the job that waits it were for. */
bool evict_keeps(struct evict_plan *plan, const struct sched_job *job);
/* Whether plugins and budgets would let the pod go if it were the only one, for any pod of the job
 * that waits, by itself or as a part of its job: else it does not go with others either. */
bool evict_lets_go(struct evict_plan *plan, const struct sched_task *victim,
                   enum eviction_extent extent);
/* Takes away what an option says, as a new unit; false when it must stay. That plugins do not let
 * go a whole job holds for the plan only where nobody was taken away on trial before. */
bool evict_take(struct evict_plan *plan, const struct evict_option *option,
                const struct sched_task *task);
/* Brings a unit back; takes it away again. */
void evict_bring_back(struct evict_plan *plan, struct evict_unit *unit);
void evict_take_again(struct evict_plan *plan, struct evict_unit *unit);
/* Whether the unit may come back as things are: a single pod does not while the rest of its job is
 * away. */
bool evict_may_return(const struct evict_plan *plan, const struct evict_unit *unit);
/* Brings back all units from that index on, and forgets them. */
void evict_drop_units(struct evict_plan *plan, size_t from);
/* Into plan->order: the units from that index on that are away, the costliest first. */
void evict_order_units(struct evict_plan *plan, size_t from);

static inline struct cache *evict_cache(const struct evict_plan *plan)
{
    return &plan->scheduler->cache;
}

/* It is on its node, taken away by nobody. */
static inline bool evict_is_there(const struct evict_candidate *candidate)
{
    return candidate->unit == 0;
}

/* The pod of a group that is placed next, NULL when none waits. */
static inline struct sched_task *evict_next_of(const struct task_group *group)
{
    struct heap_node *first = heap_peek(&group->pending);
    return first ? container_of(first, struct sched_task, waiting) : NULL;
}

/* Moves a pod in thought. */
static inline void evict_move(struct cache *cache, struct sched_task *task, enum task_status status,
                              struct sched_node *node)
{
    cache->stating = true;
    cache_set_task(cache, task, status, node);
    cache->stating = false;
    cache->work += 4;
}

#endif
