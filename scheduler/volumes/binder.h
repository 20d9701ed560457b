/*
 * struct volume_binder: writes the choices of placed pods to the API server before the pods are
 * bound, and waits until their claims have their volumes.
 *
 * A volume that was chosen gets the claim's name and UID (spec.claimRef), a claim for which one is
 * to be made the name of the node (an annotation); the controllers of volumes do the rest. Every
 * patch is guarded by the resourceVersion that the choice was made from. One whose fate is unknown
 * is settled by reading the object, for as long as the bind waits. What then happens is seen in the
 * objects, as volumes_set_claim and volumes_set_volume bring them.
 *
 * It fails when a claim goes or loses its volume, when a volume goes or is given to another claim,
 * when whoever makes volumes gives the node up, when a claim gets a volume that the node does not
 * reach, when the API server refuses, or after a time. Choices are then forgotten, and volumes that
 * were marked for a claim, or may have been, and are not bound to it are released again, if the API
 * server still shows them as available. An annotation that names the node stays, as whoever makes
 * the volume may be at it. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_VOLUMES_BINDER_H
#define PUMICE_SCHEDULER_VOLUMES_BINDER_H

#include "kube/window.h"
#include "scheduler/volumes/volumes.h"

#define VOLUME_BIND_TIMEOUT (600 * NSEC_PER_SEC)

struct volume_binder;
struct volume_bind; /* the choices of one pod; valid until `done` */

struct volume_binder_params {
    struct loop *loop; /* all borrowed */
    struct kube_transport *transport;
    struct window *window;
    struct store *claims, *persistent_volumes; /* get the answers */
    struct volumes *volumes;
    int64_t timeout_ns;      /* 0: VOLUME_BIND_TIMEOUT */
    void (*room)(void *arg); /* a volume was released: pods that waited may fit now */
    void *arg;
};

/* Never NULL. There is one for a struct volumes at most. */
struct volume_binder *volume_binder_new(const struct volume_binder_params *params);
/* Withdraws everything, without `done`; plans of binds under way are forgotten. NULL is fine. */
void volume_binder_free(struct volume_binder *binder);
/* The process ends: binds end soon, with trouble, and what was written stays as it is, for the next
 * scheduler to go on from. None may begin any more. */
void volume_binder_stop(struct volume_binder *binder);
/* Counts for binds that begin from now on. */
void volume_binder_set_timeout(struct volume_binder *binder, int64_t timeout_ns);
/* Binds and releases under way, for tests. */
size_t volume_binder_busy(const struct volume_binder *binder);

/* All claims have volumes that the node reaches (`trouble` NULL), or why not: words that name claim
 * and volume, valid during the call. The pod's choices are forgotten. */
typedef void volume_bind_done_fn(const char *trouble, void *arg);

/*
 * Writes the choices of a pod that is placed on `node`. NULL when it has none: then there is
 * nothing to wait for. `done` runs exactly once, never from inside this. `flow` may be NULL and
 * must live until then. When the pod is forgotten meanwhile (volumes_forget), it ends soon, with
 * trouble.
 */
struct volume_bind *volume_bind_start(struct volume_binder *binder, const char *uid,
                                      struct node *node, struct window_flow *flow,
                                      volume_bind_done_fn *done, void *arg);

/*
 * Has the volumes made for which volumes_making_at names `node`, though no pod is bound: nobody
 * waits for it. What is chosen stays so until the volumes are there, or cannot be made, or are
 * late. False when there are none.
 */
bool volume_bind_ahead(struct volume_binder *binder, const struct pod_volumes *wanted,
                       struct node *node);

#endif
