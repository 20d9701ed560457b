/*
 * struct http_server: the HTTPS server of the webhook, libmicrohttpd behind six functions.
 *
 * A pool of threads polls (never epoll: with TLS it spins on a half-sent handshake). Requests are
 * POSTs of JSON with a Content-Length to known paths; all else is refused before the body is read.
 * The handler runs on a pool thread with the whole body; it may ask to be called again when
 * something has changed (http_server_wake). Certificates are put in force per connection.
 *
 * new, start, reload_tls, wake, drain, stop, free: one thread (the loop's) calls them.
 */
#ifndef PUMICE_WEBHOOK_HTTP_SERVER_H
#define PUMICE_WEBHOOK_HTTP_SERVER_H

#include "base/buf.h"
#include "webhook/http/http_conn.h"
#include "webhook/http/tls.h"

struct http_request {
    struct str path;
    struct str body;  /* NUL-terminated after its end */
    int64_t began_ns; /* conn_now() of its first byte */
    int64_t until_ns; /* conn_now() by which the client wants the answer (?timeout=) */
    bool last_try;    /* HTTP_WAIT is not possible any more */
};

struct http_reply {
    int status;
    bool json;       /* application/json, else text/plain */
    struct buf body; /* filled by the handler */
};

enum http_verdict {
    HTTP_REPLY, /* `reply` is filled */
    HTTP_WAIT   /* call again after the next wake or soon before until_ns, whichever is first */
};

typedef enum http_verdict http_handler_fn(const struct http_request *request,
                                          struct http_reply *reply, void *arg);
/* Whether a path exists; others get 404. */
typedef bool http_path_fn(struct str path, void *arg);

struct http_config {
    const char *address; /* "" for all; an IPv4 or IPv6 address */
    unsigned port;       /* 0 picks a free one */
    unsigned threads;    /* of the pool */
    size_t body_max;     /* of one request, bytes */
    size_t bodies_total; /* of all requests under way, bytes; the last eighth only for small ones */
    size_t header_max;   /* memory of one connection for its header, bytes */
    int64_t wait_ns;     /* how long a request may wait for a change */
    struct conn_limits limits;
    http_path_fn *known;
    http_handler_fn *handler;
    void *arg;
};

struct http_server;

/* Binds the address; nobody can connect yet. ERROR_FATAL names the address. */
int http_server_new(const struct http_config *config, struct http_server **ret_server,
                    struct error *err);
/* Begins to serve. The credentials are referenced. */
int http_server_start(struct http_server *server, struct tls_credentials *credentials,
                      struct error *err);
/* Connections from now on use these credentials. */
void http_server_reload_tls(struct http_server *server, struct tls_credentials *credentials);
/* Something that handlers wait for has changed. */
void http_server_wake(struct http_server *server);
/* Every answer from now on closes its connection. */
void http_server_drain(struct http_server *server);
/* Takes no new connection and cuts idle ones; returns how many requests are under way. */
unsigned http_server_quiesce(struct http_server *server);
/* Ends what is left and frees. NULL is fine. */
void http_server_free(struct http_server *server);

struct http_stats {
    struct conn_stats connections;
    size_t bodies;              /* bytes held by bodies now */
    uint64_t requests;          /* complete requests so far */
    int64_t last_request_ns;    /* conn_now() of the last one, 0 before the first */
    uint64_t refused;           /* answered with a 4xx by the server itself */
    uint64_t handshakes_failed; /* connections that ended inside the handshake */
};
struct http_stats http_server_stats(struct http_server *server);
/* The port it listens on. */
unsigned http_server_port(const struct http_server *server);

#endif
