/*
 * struct informers: the stores of a process and the reflectors that fill them.
 *
 * Nothing acts on half the facts: informers_synced is true only when every list is complete and
 * applied. Loop thread only.
 */
#ifndef PUMICE_KUBE_INFORMER_H
#define PUMICE_KUBE_INFORMER_H

#include "base/vec.h"
#include "kube/reflector.h"

struct informer {
    struct store *store;         /* owned */
    struct reflector *reflector; /* owned */
};

struct informers {
    struct loop *loop;                /* borrowed */
    struct kube_transport *transport; /* borrowed */
    VEC(struct informer) list;
};

void informers_init(struct informers *informers, struct loop *loop,
                    struct kube_transport *transport);
/* Follows one resource; returns its store, owned by `informers`. */
struct store *informers_add(struct informers *informers, const struct store_type *type,
                            const struct reflector_spec *spec);
bool informers_synced(const struct informers *informers);
/* Appends what is not yet complete, in words ("the list of Pods (forbidden: ...)"), "; " between.
 */
void informers_missing(const struct informers *informers, struct buf *missing);
/* Calls `see` for each resource that is followed, with its name as kubectl has it and for how long
 * its store may have been behind the server. */
typedef void informers_watch_fn(const char *resource, int64_t stale_ns, void *arg);
void informers_watches(const struct informers *informers, informers_watch_fn *see, void *arg);
/* Stops the reflectors and frees the stores. */
void informers_clear(struct informers *informers);

#endif
