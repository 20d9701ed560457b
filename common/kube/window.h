/*
 * struct window: the one gate through which a process writes to the API server.
 *
 * A limit on requests in flight that adapts to the server (starts at 16; grows while latency stays
 * near its floor, shrinks on growing latency, 429 and 5xx; see window_limit.h), an order between
 * classes, an order between flows (jobs) inside a class, merged status writes, and optional
 * QPS/burst. Bodies are rendered when the request is sent, so a queue of 10,000 pods costs a few
 * bytes each.
 *
 * The window retries by itself only what certainly had no effect: 429 (after Retry-After, 1 s
 * without one, at most 60 s; while the request's patience lasts; not those of budgets) and calls
 * that were not sent because the server could not be reached (ERROR_RETRY; 50 ms to 5 s later).
 * Everything else is the caller's to judge: `done` gets the result. While the server answers
 * nothing but 429, or cannot be reached, nothing else is tried either until that time has passed,
 * or 5 s: a webhook answers so, too, for one namespace alone.
 *
 * Classes go in the order of enum window_class, except that one delete or create goes for each
 * request of the highest class that waits, once some have waited for 50 ms, and after eight
 * requests one status, no more than one in 50 ms. Statuses take a quarter of the limit at most, or
 * one slot, until nothing of the classes above has been sent for a second: while many jobs start,
 * news of them would burden the server in bursts, and its watches, which the jobs behind wait for,
 * would fall behind by seconds. WINDOW_EVENT only goes when nothing else waits,
 * one at a time, and rests after one that took more than 1.5 times what they take at best, for
 * eight times the excess (1 s at most): the server may be busy with what other processes wait for.
 * WINDOW_LEASE has two slots of its own and is held back by neither limit, QPS, fence nor faults.
 *
 * No write of a process may take effect after its Lease has ended. So the fence is asked when a
 * request is about to be sent, on a fresh clock; a request is aborted after timeout_ns, and with
 * `tell_timeout` the server is told to give it up as well (?timeout=); after a gap of the loop what
 * was not sent yet is not sent any more, but asked anew (transport_curl.h). Loop thread only.
 */
#ifndef PUMICE_KUBE_WINDOW_H
#define PUMICE_KUBE_WINDOW_H

#include "base/heap.h"
#include "base/list.h"
#include "kube/transport.h"

enum window_class {
    WINDOW_LEASE,
    WINDOW_BIND, /* and what lets pods be made: PodGroups and their admission */
    WINDOW_DELETE,
    WINDOW_CREATE,
    WINDOW_STATUS,
    WINDOW_EVENT,
    WINDOW_CLASS_COUNT
};

struct window;

struct window_config {
    unsigned initial;        /* limit at start; 0: 16 */
    unsigned max_inflight;   /* upper bound of the limit; 0: 256 */
    unsigned latency_leaves; /* growing latency takes the limit no lower; 0: 12 */
    unsigned fixed_inflight; /* the limit for good, whatever the above; 0: it adapts */
    double qps;              /* 0: unlimited */
    double burst;            /* below 1: qps, or 1 */
    int64_t timeout_ns;      /* of one request; 0: 30 s */
    bool tell_timeout;       /* to the server, too, in whole milliseconds */
};

/* transport and loop are borrowed. */
struct window *window_new(struct loop *loop, struct kube_transport *transport,
                          const struct window_config *config);
/* Cancels everything (done callbacks run with ERROR_CANCELLED; they must not submit) and frees. */
void window_free(struct window *window);

/* ---- flows: who competes ----------------------------------------------------------------------
 */

#define WINDOW_WEIGHT_MOST 100

/*
 * A job, as far as fairness goes. Three of four slots of a class go to the flow with the smallest
 * `missing` / `weight` that is above zero (then the oldest), the fourth goes round-robin over all
 * flows, `weight` requests of one before the next. Embedded in the job; must have no request
 * waiting or in flight when it is freed.
 */
struct window_flow {
    struct list ready[WINDOW_CLASS_COUNT];   /* links into the window's lists of waiting flows */
    struct list waiting[WINDOW_CLASS_COUNT]; /* this flow's requests, first in first out */
    uint32_t missing;                        /* pods still to be created up to the minimum */
    uint8_t weight;                          /* 1 to WINDOW_WEIGHT_MOST */
    uint8_t rounds[WINDOW_CLASS_COUNT];      /* how often it was served in its present turn */
    int64_t since_ns;                        /* age: loop_now() when the job was first seen */
    uint64_t sequence;                       /* order among equals */
    uint32_t count;                          /* requests waiting or in flight */
    struct heap_node urgent[WINDOW_CLASS_COUNT]; /* among the flows with missing pods */
    struct window *window;                       /* borrowed */
};

/* Its age starts now; a holder that knows better sets since_ns before the first request. */
void window_flow_init(struct window *window, struct window_flow *flow);
/* The number of pods the gang still lacks; changes the order from the next pick on. */
void window_flow_set_missing(struct window_flow *flow, uint32_t missing);
/* Its share among others, brought into 1 to WINDOW_WEIGHT_MOST; counts from the next pick on. */
void window_flow_set_weight(struct window_flow *flow, int64_t weight);

/* ---- gates: what may be sent at all ------------------------------------------------------------
 */

/*
 * Some of the requests: those of a shard. Behind a closed gate nothing is sent: when its turn comes
 * a request ends with KUBE_NOT_SENT and ERROR_CANCELLED. What is in flight goes on, and even when
 * it is withdrawn it is left to end and counted until then. Embedded in its owner, which outlives
 * its requests; zero is an open gate.
 */
struct window_gate {
    bool closed;
    uint32_t inflight;             /* sent and not ended, what was withdrawn included */
    struct loop_deferred *drained; /* borrowed, may be NULL; see window_close_gate */
};

/* From now on nothing of it is sent; `drained` is called, deferred, when nothing is in flight. */
void window_close_gate(struct window *window, struct window_gate *gate);
void window_open_gate(struct window *window, struct window_gate *gate);
/* For the end of its owner, whose requests are withdrawn: aborts what is still in flight. */
void window_clear_gate(struct window *window, struct window_gate *gate);
/* For good: nothing but leases is sent any more; `drained` is called once, deferred, when nothing
 * else is in flight. */
void window_drain(struct window *window, struct loop_deferred *drained);

/* ---- requests ---------------------------------------------------------------------------------
 */

struct window_request; /* valid until `done` ran or window_cancel returned */

struct window_spec {
    enum window_class cls;
    struct window_flow *flow; /* NULL: the window's own flow */
    struct window_gate *gate; /* NULL: none */
    enum kube_method method;
    enum kube_content content;
    /*
     * Writes path (with query) and body when the request is about to be sent (again at each try).
     * False gives the request up: done runs with ERROR_CANCELLED. For status writes this is what
     * merges: whatever is current when the slot comes free is what gets written. Must not cancel
     * this request. More than LIMIT_REQUEST_BODY ends in done with ERROR_LIMIT.
     */
    bool (*render)(struct buf *path, struct buf *body, void *arg);
    kube_done_fn *done; /* exactly once, never from inside window_submit or window_cancel */
    void *arg;
    int64_t delay_ns; /* back-off of this object: not before now + delay */
    /*
     * 429 is waited out for so many seconds in all; when the next wait would go beyond, `done` gets
     * the answer, so that the owner can say what it waits for. 0: without an end. One that a
     * PodDisruptionBudget caused says nothing of the server: `done` gets it at once.
     */
    uint8_t patience_s;
};

struct window_request *window_submit(struct window *window, const struct window_spec *spec);

/*
 * Withdraws a request without `done`. True when it had not been sent; false when it is in flight,
 * where it may take effect (it is aborted all the same, but not behind a closed gate).
 */
bool window_cancel(struct window *window, struct window_request *request);
/* Withdraws a request without `done` only if it has not been sent; false leaves it alone. */
bool window_cancel_if_waiting(struct window *window, struct window_request *request);
/* Whether it has been sent and its answer is awaited; not while it waits to be sent again. */
bool window_is_sent(const struct window_request *request);

/*
 * A fence asked before each write is sent: false holds all classes but WINDOW_LEASE back (they
 * wait). Call window_kick when it may have become true. NULL removes it.
 */
void window_set_fence(struct window *window, bool (*may_write)(void *arg), void *arg);
void window_kick(struct window *window);

/* Told the latency of every answer, to keep a histogram; must not call back. NULL removes it. */
void window_set_observer(struct window *window,
                         void (*observe)(enum window_class cls, int64_t latency_ns, void *arg),
                         void *arg);

struct window_stats {
    unsigned limit, inflight;
    uint64_t waiting[WINDOW_CLASS_COUNT];
    uint64_t sent[WINDOW_CLASS_COUNT];
    uint64_t throttled;                   /* 429 answers */
    uint64_t failed;                      /* 5xx answers and calls without an answer */
    int64_t latency_floor_ns, latency_ns; /* with few in flight, moving average */
};
struct window_stats window_stats(const struct window *window);
const char *window_class_name(enum window_class cls);

#endif
