/*
 * struct membership: this process as one of several active controllers: shards.h with its watch of
 * Leases, its Lease, its timers and its requests.
 *
 * Whoever has the leader's Lease (kube/lease.h, of the frame) gives it the note that
 * membership_config.lease describes; this one watches the namespace of that Lease. From
 * membership_join on the process has a Lease "<lease>-<id>", is given shards, adopts them and lets
 * them go through the two callbacks. At rest it writes nothing but renewals. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_SHARDS_MEMBERSHIP_H
#define PUMICE_CONTROLLER_SHARDS_MEMBERSHIP_H

#include "controller/shards/map.h"
#include "kube/informer.h"
#include "kube/lease.h"

struct membership;

struct membership_config {
    struct loop *loop; /* all are borrowed and must outlive it */
    struct kube_transport *transport;
    struct window *window;
    struct lease_config lease;   /* of the leader; a member's has the same holder and times */
    struct lease *const *leader; /* the leader's Lease, NULL while there is none */
    /* These may be written for from now on. */
    void (*adopt)(shard_set set, void *arg);
    /* Nothing of these is to be sent any more; membership_drained tells when nothing is in flight.
     */
    void (*let_go)(shard_set set, void *arg);
    /* The Lease of this process is lost: it must end. Nothing else is called afterwards. */
    void (*lost)(void *arg);
    void *arg;
};

/* Follows the Leases from now on. */
struct membership *membership_new(const struct membership_config *config);
/* Withdraws its requests and leaves its Lease to run out. NULL is fine. */
void membership_free(struct membership *membership);

/* Adds to the leader's Lease what it is to carry: the map. */
void membership_elect(struct membership *membership, struct lease_config *config);
/* That Lease was taken or lost. */
void membership_set_leading(struct membership *membership, bool leading);

/* This process is ready to do its part. */
void membership_join(struct membership *membership);
/* True while its own Lease cannot run out within that time. */
bool membership_held(struct membership *membership, int64_t margin_ns);
void membership_drained(struct membership *membership, shard_set set);
/* Lets everything go, then gives its Lease up, then calls `done`, deferred. */
void membership_leave(struct membership *membership, loop_fn *done, void *arg);

/* What is held. */
shard_set membership_shards(const struct membership *membership);
/* Appends what is not yet complete. */
void membership_missing(const struct membership *membership, struct buf *missing);
/* See informers_watches. */
void membership_watches(const struct membership *membership, informers_watch_fn *see, void *arg);

#endif
