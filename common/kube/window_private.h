/*
 * What the parts of the window share: window.c sends and judges answers, window_queue.c keeps who
 * waits and who is next. Loop thread only.
 */
#ifndef PUMICE_KUBE_WINDOW_PRIVATE_H
#define PUMICE_KUBE_WINDOW_PRIVATE_H

#include "kube/window_limit.h"
#include "loop/backoff.h"

enum window_state { WINDOW_DELAYED, WINDOW_WAITING, WINDOW_SENDING, WINDOW_INFLIGHT };

/* Small, since ten thousand may wait. */
struct window_request {
    struct list link;         /* in its flow's list while waiting, in `inflight` while in flight */
    struct heap_node delayed; /* among the delayed */
    struct window_flow *flow; /* borrowed */
    struct window_gate *gate; /* borrowed; NULL: none */
    bool (*render)(struct buf *path, struct buf *body, void *arg);
    kube_done_fn *done; /* NULL: it was withdrawn in flight, behind a closed gate */
    void *arg;
    union {
        int64_t due_ns;         /* while delayed */
        struct kube_call *call; /* while in flight */
    } at;
    uint64_t sequence; /* order within the flow */
    uint8_t cls, method, content, state;
    bool again;                   /* was tried before: keeps its place */
    uint8_t patience_s, waited_s; /* as in the spec; on account of 429 so far */
};

struct window_lane {
    enum window_class cls;
    struct list ready;      /* flows with requests of this class, for the round-robin */
    struct heap urgent;     /* those of them with missing pods, nearest first */
    unsigned turn;          /* picks so far: every fourth is the round-robin's */
    uint64_t waiting, sent; /* waiting includes the delayed */
    uint64_t served_pick;   /* number of the last pick of all classes that was ours ... */
    int64_t served_ns;      /* ... or when the lane last began to wait, and when that was */
    int64_t ready_ns;       /* when it last began to wait */
};

struct window {
    struct loop *loop;                /* borrowed */
    struct kube_transport *transport; /* borrowed */
    struct window_config config;      /* defaults filled in */
    struct window_limit limit;
    struct window_lane lanes[WINDOW_CLASS_COUNT];
    struct window_flow own;     /* of requests without one */
    struct heap delayed;        /* requests not due yet, earliest first */
    struct list inflight;       /* requests */
    unsigned busy, busy_leases; /* in flight: of the limit, and of the leases' own slots */
    unsigned busy_events;       /* how many of `busy` are events */
    unsigned busy_statuses;     /* how many are statuses */
    int64_t urgent_ns;          /* when something above statuses was last sent; 0: never */
    int64_t events_ns;          /* no event before this time */
    double event_least;         /* what an event takes at best, nanoseconds; 0: not known */
    int64_t full_ns;            /* when a request last had to wait for the limit alone */
    uint64_t picks;             /* of all classes but leases */
    bool passed;                /* the last of them was not of the highest class that waited */
    uint64_t next_sequence;     /* of requests and flows */
    struct loop_timer wake;     /* the next delayed request, token or end of a hold or rest */
    struct loop_deferred pump;
    struct backoff unreachable;   /* while calls cannot be sent */
    int64_t hold_ns;              /* nothing but leases before this time */
    bool rejecting;               /* since the last decrease every answer was a 429 */
    double tokens;                /* of the QPS bucket */
    int64_t tokens_ns;            /* when they were last counted */
    bool (*may_write)(void *arg); /* the fence, may be NULL */
    void *fence_arg;
    void (*observe)(enum window_class cls, int64_t latency_ns, void *arg); /* may be NULL */
    void *observe_arg;
    bool draining;                 /* nothing but leases is sent any more */
    struct loop_deferred *drained; /* borrowed; to be called when that is done; NULL: it was */
    struct buf path, body;         /* reused for each request */
    uint64_t throttled, failed;
    bool closing;
};

void window_queue_init(struct window *window);
void window_queue_clear(struct window *window);
/* Puts a request at the end of its flow, or, tried before, where its sequence belongs. */
void window_queue_push(struct window *window, struct window_request *request);
void window_queue_remove(struct window *window, struct window_request *request);
/* Takes out the request of a lane whose turn it is; NULL when none waits. */
struct window_request *window_queue_pick(struct window *window, struct window_lane *lane);
/* The lane, leases aside, whose turn it is; NULL when none waits, or statuses have their share. */
struct window_lane *window_queue_lane(struct window *window);

#endif
