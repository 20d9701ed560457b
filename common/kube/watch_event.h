/*
 * What the API server's lists and watches are made of: one event of a watch stream, and one page of
 * a list. Read straight from the text, item by item; no tree is built.
 */
#ifndef PUMICE_KUBE_WATCH_EVENT_H
#define PUMICE_KUBE_WATCH_EVENT_H

#include "kube/store.h"

enum watch_event_type {
    WATCH_ADDED,
    WATCH_MODIFIED,
    WATCH_DELETED,
    WATCH_BOOKMARK,
    WATCH_ERROR,
    WATCH_UNKNOWN /* a type of a later Kubernetes */
};

struct watch_event {
    enum watch_event_type type;
    struct str object; /* its raw JSON; borrowed from the line */
};

/* Reads one line of a stream. -1 (ERROR_INVALID) when it is not a whole event. */
int watch_event_read(struct str line, struct watch_event *ret_event, struct error *err);

/* The `code` of a raw Status, 0 when it has none. */
int watch_status_code(struct str raw);

struct list_page {
    uint64_t rv;       /* resourceVersion of the list, never 0 */
    struct str remain; /* `continue` token, empty on the last page; borrowed from the body */
    size_t items;
};

/*
 * Gives every item of a page to store_list_item. -1 when the body is not a whole list; items
 * before the fault have been applied then, which does no harm.
 */
int list_page_apply(struct store *store, struct str body, struct list_page *ret_page,
                    struct error *err);

#endif
