/*
 * struct reflector: keeps a store equal to a resource of the API server, for ever.
 *
 * Paged LIST (limit 500; an expired continue token restarts the list), then WATCH from its
 * resourceVersion with bookmarks; resumes after any break; lists again on 410, be it a status or an
 * ERROR event inside a 200 stream, and when the server failed ten watches in a row. Streams end at
 * a random 40 to 50 s by timeoutSeconds, after a last bookmark; one that does not end 5 s later is
 * dead, and so is its connection if it is silent, so that silence of any kind is noticed within a
 * minute. Back-off 0.2 s to 30 s with jitter, Retry-After honoured (up to 5 minutes); a watch that
 * ends at once without an event counts as a failure, so nothing ever spins. A broken line ends the
 * stream and resumes after the last good event. Loop thread only.
 */
#ifndef PUMICE_KUBE_REFLECTOR_H
#define PUMICE_KUBE_REFLECTOR_H

#include "kube/store.h"
#include "kube/transport.h"

struct reflector;

struct reflector_spec {
    const char *path;           /* "/api/v1/pods"; borrowed for good */
    const char *field_selector; /* unescaped, NULL for none; borrowed for good */
    const char *label_selector; /* likewise */
};

/* Starts listing at the next turn. transport, store and loop are borrowed. */
struct reflector *reflector_new(struct loop *loop, struct kube_transport *transport,
                                struct store *store, const struct reflector_spec *spec);
void reflector_free(struct reflector *reflector);

struct reflector_stats {
    uint64_t lists, watches, events, errors; /* totals */
    /* loop_now() when the store was last known to be what the server has: of the last event,
     * bookmark, complete list or end in order of a watch; before the first, of the start. */
    int64_t fresh_ns;
    bool synced, watching;
    bool answered; /* the server has begun to answer a watch: changes from now on will come */
};
struct reflector_stats reflector_stats(const struct reflector *reflector);
/* The resource, as kubectl names it: "pods", "jobs.batch.volcano.sh". To be freed. */
char *reflector_resource(const struct reflector *reflector);
/* Why the resource is not being followed right now, "" when it is. Borrowed until the next turn. */
const char *reflector_trouble(const struct reflector *reflector);

#endif
