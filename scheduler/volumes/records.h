/*
 * What the parts of struct volumes share: its records. Only files of this folder include it.
 *
 * A record of a claim, volume, class or node is there as long as the object is, or something
 * refers to it; records of what is gone have no object. Every change takes the next number of
 * volumes->version for the records that it concerns.
 */
#ifndef PUMICE_SCHEDULER_VOLUMES_RECORDS_H
#define PUMICE_SCHEDULER_VOLUMES_RECORDS_H

#include "base/list.h"
#include "base/map.h"
#include "base/vec.h"
#include "scheduler/volumes/volumes.h"

struct class_record;
struct volume_record;
struct volume_bind;

struct claim_record {
    const char *key;                     /* interned; "namespace/name" */
    struct claim *object;                /* counted; NULL: there is none */
    struct choice *choice;               /* owned by its plans; NULL without one */
    struct volume_record *names;         /* borrowed; the volume that it names, or NULL */
    VEC(struct volume_record *) keepers; /* borrowed; volumes that name it as their claim */
    struct list attachments;             /* struct attachment */
    uint32_t users;                      /* pods on nodes that use it */
    uint64_t version;
};

struct volume_record {
    const char *name;                  /* interned */
    struct volume *object;             /* counted; NULL: there is none */
    struct choice *taken;              /* borrowed; the choice of it, or NULL */
    struct claim_record *keeps_for;    /* borrowed; the claim it names, or NULL */
    struct class_record *cls;          /* borrowed; where it is listed, NULL without an object */
    VEC(struct claim_record *) namers; /* borrowed; claims that name it as their volume */
    const char *host; /* interned; it is listed under this node's host name, or NULL */
    uint64_t version;
    bool releasing; /* it is about to be let go of; not to be offered meanwhile */
};

typedef VEC(struct volume_record *) volume_list;

/* Volumes that one host alone reaches. */
struct host_volumes {
    const char *host; /* interned */
    volume_list list;
};

struct class_record {
    const char *name;            /* interned */
    struct storageclass *object; /* counted; NULL: there is none */
    volume_list others;          /* borrowed; volumes that more than one host may reach */
    struct map hosts;            /* struct host_volumes, owned */
    uint32_t volume_count;
    uint64_t version;
};

/* Pods of a node that use a claim. */
struct attachment {
    struct list link;           /* in the claim's */
    struct claim_record *claim; /* borrowed */
    struct node_record *node;   /* borrowed */
    uint32_t users;
    const char *driver, *handle; /* interned; what it counts as, NULL for nothing */
};

/* A volume that is attached to a node. */
struct attached {
    const char *driver, *handle; /* interned */
    uint32_t users;
};

struct node_record {
    const char *name;                     /* interned */
    struct csinode *object;               /* counted; NULL: there is none */
    struct map attachments;               /* struct attachment by the claim's key, owned */
    VEC(struct attached) attached;        /* distinct volumes */
    VEC(struct pod_volumes *) with_disks; /* counted; of its pods, those that name disks */
};

/* ---- choices ----------------------------------------------------------------------------------
 */

enum choice_state {
    CHOICE_MADE,    /* in memory */
    CHOICE_WRITING, /* the API server is being told */
    CHOICE_WRITTEN, /* it has been told, or said so itself */
    CHOICE_FAILED   /* it refused */
};

struct choice {
    struct claim_record *claim;   /* borrowed */
    struct volume_record *volume; /* borrowed; NULL: one is to be made */
    const char *node;             /* interned; where it was chosen for first */
    const char *claim_uid;        /* interned; the claim as it was then */
    struct list plans;            /* struct plan_item */
    uint32_t holds;               /* writes under way: it stays meanwhile */
    enum choice_state state;
    uint64_t written_rv; /* with CHOICE_WRITTEN: older versions of the object do not show it */
    bool doubtful;       /* whether the API server was told of it has not been found out */
    char *trouble;       /* owned; with CHOICE_FAILED: a sentence */
};

struct plan_item {
    struct list link; /* in the choice's */
    struct choice *choice;
    struct plan *plan;
};

/* The choices that a placed pod wants. */
struct plan {
    const char *uid;         /* interned; the pod's */
    struct plan_item *items; /* owned */
    uint32_t n;
    struct volume_bind *bind; /* borrowed; what writes it and waits, or NULL */
};

/* ---- the whole --------------------------------------------------------------------------------
 */

/* For who writes choices; all may be NULL. */
struct volumes_hooks {
    /* A choice, its claim or its volume changed. */
    void (*changed)(void *arg, struct choice *choice);
    /* Nobody wants the choice any more; it is freed when this returns. */
    void (*dropped)(void *arg, struct choice *choice);
    /* The pod is not to be bound any more while its choices are written; `bind` frees the plan. */
    void (*forgotten)(void *arg, struct volume_bind *bind);
    void *arg;
};

struct volumes {
    struct map claims, volumes, classes, nodes; /* records, owned */
    struct map plans;                           /* struct plan by the pod's UID, owned */
    struct list asks;                           /* struct ask (ask.h), least recently made first */
    struct volumes_hooks hooks;
    uint64_t version;
    uint64_t gone_version; /* when a record last went: the version of all that are not there */
    uint64_t base_version; /* when limits or checks last changed: every answer hangs on it */
    unsigned checks;
    bool presume;   /* volumes that are to be made for several nodes count as reached */
    uint64_t looks; /* at single volumes, since volumes_take_looks was last asked */
};

/* The record, or NULL; and made when absent. */
struct claim_record *claim_find(const struct volumes *volumes, const char *key);
struct claim_record *claim_get(struct volumes *volumes, const char *key);
struct volume_record *volume_find(const struct volumes *volumes, const char *name);
struct class_record *class_find(const struct volumes *volumes, const char *name);
struct node_record *node_find(const struct volumes *volumes, const char *name);
struct node_record *node_get(struct volumes *volumes, const char *name);
/* Free the record when nothing is left of it. */
void claim_drop(struct volumes *volumes, struct claim_record *claim);
void volume_drop(struct volumes *volumes, struct volume_record *volume);
void node_drop(struct volumes *volumes, struct node_record *node);

/* Answers that look at the record may be others now. */
static inline void claim_touch(struct volumes *volumes, struct claim_record *claim)
{
    claim->version = ++volumes->version;
}
/* Likewise those of whoever may be offered the volume. */
void volume_touch(struct volumes *volumes, struct volume_record *volume);

/* ---- attach.c ---- */

/* What a claim counts as on a node: its driver and a text that tells volumes of the driver apart,
 * interned, both referenced; NULL when it counts for nothing. */
void claim_counts_as(const struct volumes *volumes, const struct claim_record *claim,
                     const char **ret_driver, const char **ret_handle);
/* The claim may count as something else now. */
void claim_count_again(struct volumes *volumes, struct claim_record *claim);
/* No pod is on the node any more. */
void node_detach_all(struct volumes *volumes, struct node_record *node);

/* ---- ask.c, match.c ---- */

/* Frees what is kept for answers to pods nobody has any more; all with `every`. */
void asks_sweep(struct volumes *volumes, bool every);

/* ---- choices.c ---- */

void choice_changed(struct volumes *volumes, struct choice *choice);
/* Whether a volume is to be made that pods on several nodes may use, of which nobody has been told.
 */
bool choice_is_ahead(const struct choice *choice);
/* A plan of no pod for such choices of the claims, NULL when there are none. */
struct plan *plan_ahead(struct volumes *volumes, const struct pod_volumes *wanted);
/* A write of the choice is over. */
void choice_release(struct volumes *volumes, struct choice *choice);
struct plan *plan_find(const struct volumes *volumes, const char *uid);
/* Lets go of its choices. It is no pod's any more, or is not from here on. */
void plan_free(struct volumes *volumes, struct plan *plan);

#endif
