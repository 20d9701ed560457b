/*
 * struct sim_server: a Kubernetes API server in memory, for tests.
 *
 * It answers what kube-apiserver with its controllers would, as far as the programs of this tree
 * and their tests ask for it: README.md of tests/sim has the list. Objects are JSON documents; only
 * what a rule is about is looked at. A request is answered at once and whole, so front ends decide
 * how long it takes and whether it arrives. All time comes from the loop and all that is random
 * from the seed: on a virtual clock a run repeats exactly.
 *
 * One thread, that of the loop.
 */
#ifndef PUMICE_TESTS_SIM_SERVER_SERVER_H
#define PUMICE_TESTS_SIM_SERVER_SERVER_H

#include "base/buf.h"
#include "base/limits.h"
#include "kube/transport.h"
#include "loop/loop.h"

struct sim_server;

struct sim_server_options {
    struct loop *loop;         /* borrowed; outlives the server */
    uint64_t seed;             /* of UIDs and generated names */
    size_t history;            /* changes kept of each resource; 0: 10,000 */
    int64_t controller_lag_ns; /* how long after a change garbage collector and the controllers of
                                  namespaces, quotas and disruption budgets look; 0: 10 ms */
};

struct sim_server *sim_server_new(const struct sim_server_options *options);
/* Watches must have ended. NULL is fine. */
void sim_server_free(struct sim_server *server);

struct sim_request {
    enum kube_method method;
    enum kube_content content; /* of the body */
    struct str path;           /* and query, percent-encoded */
    struct str body;
};

struct sim_answer {
    int status;
    struct buf body; /* owned by whoever asks */
};

#define SIM_ANSWER_INIT {0, BUF_INIT(LIMIT_RESPONSE_BODY)}

/* Answers any request but a watch (see below). Nothing of the request is kept. */
void sim_server_handle(struct sim_server *server, const struct sim_request *request,
                       struct sim_answer *answer);

/* ---- watches --------------------------------------------------------------------------------- */

struct sim_watch;

/* A line of the stream with its line end; an empty one: the stream is over, and the watch has been
 * freed. Must not call the server. */
typedef void sim_watch_fn(struct str line, void *arg);

/* True for a GET with watch=1 (or true). */
bool sim_request_is_watch(const struct sim_request *request);
/*
 * Begins a stream: `answer` has status 200 and no body, and lines come, the first ones before this
 * returns. NULL when it is refused; then `answer` says why. A stream whose first line is an ERROR
 * ends by itself: that is told through `fn` from the loop.
 */
struct sim_watch *sim_server_watch(struct sim_server *server, const struct sim_request *request,
                                   struct sim_answer *answer, sim_watch_fn *fn, void *arg);
/* Ends it from the reader's side; `fn` is not called any more. */
void sim_watch_end(struct sim_watch *watch);

/* ---- for tests ------------------------------------------------------------------------------- */

/* The resourceVersion of the last write. */
uint64_t sim_server_rv(const struct sim_server *server);
/* Forgets all history: watches and lists from before get 410. */
void sim_server_compact(struct sim_server *server);

#endif
