/*
 * The census: how many pods on each node some selection means, and which pods' terms mean others.
 *
 * A population is what a term or a spread constraint selects: pods of some namespaces with some
 * labels. It is registered while a pod is known whose rules name it, and counted by the change of
 * one pod. Terms that pods on nodes carry (anti-affinity, and affinity for the score) are counted
 * by node in the same way: pods that such a term means are drawn or kept away, once some node has
 * the label whose domains it is about.
 *
 * Every change of a pod costs a look at each population that means it, and new labels a look at
 * all, so there is a bound on how many there may be, and on terms. The rules of classes that come
 * beyond it are not counted, and none of their pods is placed, until there is room again. Classes
 * that have pods on nodes come before those that have none, whichever came first, so that after a
 * restart what runs counts as before.
 *
 * What this bound bounds in memory, whomever the selections mean and whatever comes first: for each
 * population a byte a node (struct counts; two where it means more than 127 pods there), and a bit
 * in each set of labels. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_CENSUS_H
#define PUMICE_SCHEDULER_CENSUS_H

#include "base/counts.h"
#include "scheduler/cache.h"
#include "scheduler/node_labels.h"
#include "scheduler/topology.h"

struct carried;
typedef VEC(struct carried *) carried_list;

/* Pods that are meant by every one of some selections. */
struct population {
    const struct pod_selection **all; /* owned array; they live in `source` */
    uint32_t n;
    struct pod_class *source; /* counted */
    char *key;                /* owned; what is selected */
    uint32_t number;          /* its place in the census's `by_number` */
    struct counts placed;     /* by node: pods on it */
    struct counts ending;     /* those of them that are terminating */
    bool by_index;            /* tasks' indices matter, so pods with one set of labels differ */
    bool by_namespace;        /* labels of namespaces matter */
    uint32_t wanted;          /* by rules of classes that more such pods may fulfil */
    uint32_t refs;
    carried_list carried; /* terms of pods that mean it; borrowed */
    carried_list felt;    /* those of them about a label that nodes have */
};

/* What terms of pods on nodes say of a population, over the domains of one label. */
struct carried {
    struct population *population; /* counted */
    struct node_label *label;      /* over whose domains; it stays as long as this is there */
    struct list link;              /* in the label's */
    uint64_t id;                   /* never used twice */
    struct counts repels;          /* by node: pods there that must not be near it */
    struct counts draws;           /* by node: weights of those that would like to be near it, less
                                      those that would rather not */
    uint32_t refs;
};

/* The rules of a class of pods, as the census knows them; hangs on the class's `census`. */
struct census_class {
    struct pod_class *cls;          /* counted */
    struct population *together;    /* meant by all required affinity terms; NULL without any */
    struct carried **terms;         /* owned array, by term of the class; counted */
    struct population **selections; /* owned array, by spread constraint of the class; counted */
    struct list link;               /* in the census */
    uint32_t uses;
    uint32_t placed; /* tasks on nodes */
};

/* Pods that have one set of labels; hangs on the set's `scratch`. */
struct census_set {
    struct label_set *set; /* counted */
    VEC(uint64_t)
    meant_by;           /* a bit for each population that may mean such pods, by its number; and
                           for some that have gone */
    struct list placed; /* struct sched_task, on nodes */
    struct list link;   /* in the census */
    uint32_t uses;
};

struct census {
    struct map populations;             /* by what they select; struct population, borrowed keys */
    VEC(struct population *) by_number; /* the same; NULL: there is none */
    VEC(uint32_t) unused;               /* numbers of none that no set has a bit for, */
    VEC(uint32_t) gone;                 /* and that sets may have one for */
    struct list sets;                   /* struct census_set */
    struct list classes;                /* struct census_class, in the order in which they came */
    size_t held; /* selections and terms at most, however many are alike, of those on nodes */
    uint64_t next_id;
    uint32_t carried;      /* how many there are, */
    uint32_t felt;         /* and how many of them are about a label that nodes have */
    size_t most;           /* populations there may be, and as many terms that are carried:
                              LIMIT_SELECTIONS, less in tests */
    bool turned_away;      /* a class has found no room since there last was some */
    size_t uncounted;      /* tasks of such classes: their terms are not counted */
    struct map namespaces; /* struct kube_pairs by name: their labels; owned */
};

/* Why pods of the class cannot be placed whatever the node: their rules are not counted, being more
 * than a pod may have or the cluster has room for (a constant text); else NULL. */
const char *census_refuses(struct cache *cache, struct pod_class *cls);
/* A task has come to the cache, or leaves it (it is on no node then). */
void census_enter(struct cache *cache, struct sched_task *task);
void census_leave(struct cache *cache, struct sched_task *task);
/*
 * A task is on a node (NULL: none) from now on, terminating or not, before its `node` and `status`
 * say so.
 */
void census_move(struct cache *cache, struct sched_task *task, enum task_status status,
                 struct sched_node *node);
/* The first known node has the label; the last one has it no more. */
void census_label_came(struct cache *cache, struct node_label *label);
void census_label_went(struct cache *cache, struct node_label *label);
/* Every count compared with a recount; a constant text on the first difference, else NULL. Whom
 * selections mean is left out where that is a million looks and more. */
const char *census_audit(const struct cache *cache);
struct census *census_new(void);
/* Frees it; no task may be in it. */
void census_free(struct census *census);

/* Iteration over those that may mean pods of a set: `for (uint32_t i = 0;
 * census_next(census, set, &i, &population);)`; none may come meanwhile. */
bool census_next(const struct census *census, const struct census_set *set, uint32_t *number,
                 struct population **ret_population);
/* Whether the population means pods with these labels. */
bool population_means(const struct cache *cache, const struct population *population,
                      const struct pod_labels *labels);

#endif
