/*
 * The state table of queues: see state.h.
 */
#include "controller/queue/state.h"
#include "api/names.h"
#include <string.h>

bool queue_state_is_closed(const char *state)
{
    return strcmp(state, QUEUE_CLOSED) == 0 || strcmp(state, QUEUE_CLOSING) == 0;
}

const char *queue_action_refused(const struct queue_facts *facts)
{
    if (facts->action == QUEUE_CLOSE_IT && facts->root)
        return "the root queue cannot be closed";
    if (facts->action == QUEUE_OPEN_IT && facts->parent_closed)
        return "its parent is closed: open that first";
    return NULL;
}

static const char *closed(const struct queue_facts *facts)
{
    return facts->has_groups ? QUEUE_CLOSING : QUEUE_CLOSED;
}

/* An action that is refused is none. */
static enum queue_action action_of(const struct queue_facts *facts)
{
    if (facts->action != QUEUE_SYNC && !queue_action_refused(facts))
        return facts->action;
    if (facts->root)
        return QUEUE_SYNC;
    if (facts->parent_closed)
        return queue_state_is_closed(facts->state) ? QUEUE_SYNC : QUEUE_CLOSE_IT;
    return facts->closed_by_parent && queue_state_is_closed(facts->state) ? QUEUE_OPEN_IT
                                                                          : QUEUE_SYNC;
}

const char *queue_state_next(const struct queue_facts *facts)
{
    static const struct {
        const char *state;
        const char *on[3]; /* by enum queue_action; "": see closed(); NULL: as it is */
    } table[] = {
        {QUEUE_OPEN, {NULL, NULL, ""}},
        {QUEUE_CLOSING, {"", QUEUE_OPEN, ""}},
        {QUEUE_CLOSED, {NULL, QUEUE_OPEN, NULL}},
        {QUEUE_UNKNOWN, {NULL, QUEUE_OPEN, ""}},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        if (strcmp(table[i].state, facts->state) != 0)
            continue;
        const char *next = table[i].on[action_of(facts)];
        return !next ? facts->state : *next ? next : closed(facts);
    }
    return facts->state;
}
