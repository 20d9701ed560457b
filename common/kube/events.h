/*
 * struct event_recorder: core/v1 Events, folded and rate-limited so that nothing storms.
 *
 * The same object, reason and message within 10 minutes becomes one Event whose count is patched,
 * at most every 30 s; each object may have 25 at once and one more every 5 minutes; at most 1,000
 * wait, the oldest are dropped and counted. Written in the window's lowest class. Names are
 * "<object>.<hex>" as client-go makes them. Loop thread only.
 */
#ifndef PUMICE_KUBE_EVENTS_H
#define PUMICE_KUBE_EVENTS_H

#include "kube/window.h"

struct event_recorder;

struct event_ref {
    const char *api_version, *kind, *ns, *name, *uid; /* copied; ns "" for cluster-scoped */
    uint64_t rv;                                      /* 0 to leave out */
};

enum event_type { EVENT_NORMAL, EVENT_WARNING };

/* `component` (source.component and reportingComponent) is copied; transport may be NULL. */
struct event_recorder *event_recorder_new(struct loop *loop, struct window *window,
                                          const char *component);
void event_recorder_free(struct event_recorder *recorder);

/* Records one event; text is cut at 1,024 bytes. */
void event_record(struct event_recorder *recorder, const struct event_ref *ref,
                  enum event_type type, const char *reason, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Events dropped so far. */
uint64_t event_recorder_dropped(const struct event_recorder *recorder);

#endif
