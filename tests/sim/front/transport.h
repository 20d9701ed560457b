/*
 * The server behind the transport of common/kube, in the same process and on the same clock: one
 * transport is one process's way to the server.
 *
 * Each call travels there and back for as long as a judge says, who may also lose it on either way
 * or answer in the server's place; without one it takes the time given. Calls arrive in the order
 * in which they are due, and the lines of a stream keep theirs. A write that is cancelled or runs
 * out of time after it was sent arrives none the less, as one over a network would. Loop thread
 * only.
 */
#ifndef PUMICE_TESTS_SIM_FRONT_TRANSPORT_H
#define PUMICE_TESTS_SIM_FRONT_TRANSPORT_H

#include "kube/transport.h"
#include "server/server.h"

/* What becomes of one call. */
struct sim_fate {
    int64_t there_ns, back_ns; /* how long it travels */
    bool lost_there;           /* it never arrives: nothing happens until the caller's time is up */
    bool lost_back;            /* it takes effect, and nobody hears of it */
    bool refused;              /* no connection: it fails after there_ns */
    int status;                /* answered with this instead of by the server; 0: not */
    const char *body;          /* of that answer; borrowed until the call has ended */
};

/* Decides as a call starts. Must not start calls. */
typedef struct sim_fate sim_judge_fn(const struct kube_call_spec *spec, void *arg);

struct sim_transport_options {
    struct loop *loop;         /* borrowed, that of the server */
    struct sim_server *server; /* borrowed; outlives the transport */
    int64_t latency_ns;        /* without a judge: of a call, half of it on either way */
    sim_judge_fn *judge;       /* may be NULL */
    void *arg;                 /* of the judge */
};

struct kube_transport *sim_transport_new(const struct sim_transport_options *options);
/* Ends all open streams, as a server that goes away: their readers see the end of the body. */
void sim_transport_drop_streams(struct kube_transport *transport);

#endif
