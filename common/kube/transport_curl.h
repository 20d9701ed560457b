/*
 * Inside of the libcurl transport; private to the transport_curl*.c files.
 *
 * A transport has two lanes, each a libcurl multi handle with its own connections: one for watches,
 * one for all else. A call is queued in its lane, becomes active when a connection with a free
 * stream is there, and ends once. libcurl's callbacks never add or remove handles: kube_start and
 * kube_cancel only move calls between lists, and lane_pump, which runs from the loop, does the
 * rest. After a gap of the loop (loop_gaps) writes of before are not sent any more: those of
 * which nothing was sent fail as KUBE_NOT_SENT, and a connection with something half sent is cut.
 *
 *     kube_start -> queue -> active -> on_done          transport_curl.c: life of a call
 *                      |        |                       transport_curl_lane.c: when it may run
 *                      +--------+--> dying (cancelled)  transport_curl_easy.c: libcurl's options
 */
#ifndef PUMICE_KUBE_TRANSPORT_CURL_H
#define PUMICE_KUBE_TRANSPORT_CURL_H

#include "base/vec.h"
#include "kube/transport.h"
#include <curl/curl.h>

/* Streams we put on one connection: below the API server's limit of 100. */
#define CONN_STREAMS 96
/* Connections of a lane over HTTP/2, and over HTTP/1.1 where each carries one request. */
#define LANE_CONNS 2
#define LANE_CONNS_HTTP1 32
#define CONNECT_TIMEOUT_NS (5 * NSEC_PER_SEC)
/* For the GET that opens a connection. */
#define OPEN_TIMEOUT_NS (10 * NSEC_PER_SEC)
/* A second connection is tried at most so often. */
#define WIDEN_EVERY_NS NSEC_PER_SEC
/* A connection with watches that is silent for so long is asked for a sign of life ... */
#define PING_AFTER_NS (29 * NSEC_PER_SEC)
/* ... and given up when none came. Checked every LIVENESS_EVERY_NS: noticed within 50 s. */
#define DEAD_AFTER_NS (44 * NSEC_PER_SEC)
#define LIVENESS_EVERY_NS (5 * NSEC_PER_SEC)
/* A single watch without a byte (bookmarks come every minute) is given up alone. */
#define STREAM_DEAD_AFTER_NS (75 * NSEC_PER_SEC)
/* A connection on which a call ran out of time and nothing came for so long is closed. */
#define SUSPECT_AFTER_NS (4500 * NSEC_PER_MSEC)
/* How often the token file is read. */
#define TOKEN_EVERY_NS (60 * NSEC_PER_SEC)
/* Idle easy handles that a lane keeps. */
#define EASY_POOL 32

struct curl_transport;

/* An easy handle with its error text; in a call's hands or idle in the lane's pool. */
struct easy {
    struct list link;
    CURL *curl; /* owned */
    char error[CURL_ERROR_SIZE];
};

/* The header lists made for one token; freed when neither the transport nor a transfer uses it. */
struct header_set {
    unsigned refs;
    struct curl_slist *read;                        /* owned; for GET */
    struct curl_slist *write[KUBE_APPLY_PATCH + 1]; /* owned; by enum kube_content */
};

/* A socket that libcurl has open. */
struct lane_conn {
    int fd;
    long port;            /* local port, 0 until connected; names the connection */
    int64_t last_byte_ns; /* when something last came in */
    bool sending;         /* libcurl has more for it than it takes */
};

struct lane {
    struct curl_transport *transport; /* borrowed */
    const char *name;                 /* for logs */
    CURLM *multi;                     /* owned */
    struct loop_timer timer;          /* libcurl's */
    struct loop_deferred pump;
    struct list queue, active, dying; /* of struct kube_call, owned */
    unsigned active_count;
    struct list idle; /* of struct easy, owned */
    unsigned idle_count;
    VEC(struct lane_conn) conns;
    bool open;                  /* a connection has answered since there was none */
    bool http1;                 /* the server does not speak HTTP/2 */
    unsigned conn_limit;        /* what libcurl was told */
    struct kube_call *opener;   /* GET that opens a connection; NULL when there is none */
    int64_t widen_after_ns;     /* no further connection is tried before */
    uint64_t gaps;              /* of the loop, seen so far */
    bool outdated;              /* there was one: what was not sent is not to be sent any more */
    struct loop_timer liveness; /* watch lane only */
    struct kube_call *ping;     /* GET that asks for a sign of life; NULL when there is none */
};

struct curl_transport {
    struct kube_transport base;    /* first */
    struct loop *loop;             /* borrowed */
    struct kube_config *config;    /* borrowed, or `own` */
    struct kube_config *own;       /* owned; NULL when `config` is borrowed */
    char *user_agent;              /* owned */
    char *url;                     /* owned; server, with tls-server-name as the host if given */
    struct curl_slist *connect_to; /* owned; the true address when `url` has another host */
    struct header_set *headers;    /* owned reference; for the current token */
    struct loop_timer token_timer;
    struct lane requests, watches;
};

enum call_state { CALL_QUEUED, CALL_ACTIVE, CALL_DYING };

struct kube_call {
    struct list link; /* in one of the lane's lists */
    struct lane *lane;
    enum call_state state;
    struct kube_call_spec spec; /* path and body are `path` and `body` below */
    char *path, *body;          /* owned */
    size_t body_sent;           /* bytes handed to libcurl */
    bool begun;                 /* libcurl has begun to send it */
    bool repeated;              /* libcurl wanted the body again */
    bool fresh;                 /* on a connection of its own making */
    bool refused;               /* the request is larger than allowed: ends at the next turn */
    bool retried;               /* with a newer token, after 401 */
    bool stopped;               /* on_data said so */
    int status;                 /* of the answer under way, 0 before its first line */
    long port;                  /* of the connection, 0 while unknown */
    int64_t start_ns, last_byte_ns;
    struct buf answer;
    struct easy *easy;          /* owned while active */
    struct header_set *headers; /* owned reference while active */
    struct loop_timer timeout;
};

/* ---- transport_curl.c ------------------------------------------------------------------------ */

/* A call of the transport's own (opener, ping), already active. */
struct kube_call *call_start_internal(struct lane *lane, const struct kube_call_spec *spec,
                                      bool fresh);
/* libcurl is done with the call: evaluates the answer, ends the call or tries it once more. */
void call_finish(struct kube_call *call, CURLcode code);
/* Ends the call without an answer. */
void call_fail(struct kube_call *call, enum kube_outcome outcome, enum error_class cls,
               const char *why);
/* Takes the call out of everything and frees it, without on_done. Not from libcurl's callbacks. */
void call_free(struct kube_call *call);
/* What a failure now would mean. */
enum kube_outcome call_outcome(const struct kube_call *call);
const char *kube_method_name(enum kube_method method);

/* ---- transport_curl_lane.c ------------------------------------------------------------------- */

/* False when libcurl gives no multi handle. */
bool lane_init(struct lane *lane, struct curl_transport *transport, const char *name);
/* Frees all calls without on_done. */
void lane_clear(struct lane *lane);
/* Has the lane look at its lists at the next turn. */
void lane_wake(struct lane *lane);
/* Hands the call (in no list) to libcurl. */
void lane_activate(struct lane *lane, struct kube_call *call);
/* Takes it back; it is in no list afterwards. Not from libcurl's callbacks. */
void lane_deactivate(struct lane *lane, struct kube_call *call);
/* Called by libcurl's callbacks when something comes in for the call. */
void lane_note_byte(struct lane *lane, struct kube_call *call);
/* Before libcurl can send anything: after a gap of the loop nothing is sent on any more. */
void lane_note_gap(struct lane *lane);
/* Closes the connection of a call that ran out of time if nothing came over it. */
void lane_suspect(struct lane *lane, const struct kube_call *call);
/* libcurl's callbacks for sockets; `arg` is the lane. */
curl_socket_t lane_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address);
int lane_close_socket(void *arg, curl_socket_t fd);

/* ---- transport_curl_easy.c ------------------------------------------------------------------- */

struct header_set *header_set_new(const char *token);
void header_set_unref(struct header_set *set);
/* An easy handle with all that does not change from call to call. */
struct easy *easy_new(struct lane *lane);
void easy_free(struct easy *easy);
/* Sets what is particular to the call (call->easy and call->headers are there). */
void easy_prepare(struct kube_call *call);

/* ---- transport_curl_pem.c -------------------------------------------------------------------- */

/* Checks that certificates and key load and belong together; errors name config->origin. */
int kube_config_check_pem(const struct kube_config *config, struct error *err);

#endif
