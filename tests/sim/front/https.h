/*
 * The server behind HTTPS, for programs of their own: libmicrohttpd on the loop of the server.
 *
 * HTTP/1.1 on 127.0.0.1. A watch is a chunked answer that goes on until the server ends it or the
 * client leaves; one that nobody reads is cut when LIMIT_RESPONSE_BODY has piled up for it. Who has
 * neither a token nor a certificate that is known gets 401; who has may do everything. A client
 * that stops within its handshake costs a core until its two minutes are over (libmicrohttpd's
 * epoll with TLS): this is for tests, not for strangers. Loop thread only; a real loop.
 */
#ifndef PUMICE_TESTS_SIM_FRONT_HTTPS_H
#define PUMICE_TESTS_SIM_FRONT_HTTPS_H

#include "base/error.h"
#include "front/tokens.h"
#include "server/server.h"

struct sim_https;

struct sim_https_options {
    struct loop *loop;         /* borrowed, that of the server */
    struct sim_server *server; /* borrowed; outlives the front end */
    unsigned port;             /* 0 picks a free one */
    const char *cert, *key;    /* PEM: the chain, leaf first, and its key; borrowed */
    /* With neither of these everybody is let in. Both are borrowed and may be NULL. */
    const struct sim_tokens *tokens; /* bearer tokens */
    const char *client_ca;           /* PEM: authority of the clients' certificates */
};

/* NULL: ERROR_FATAL, the port is taken or the certificate cannot be used. */
struct sim_https *sim_https_new(const struct sim_https_options *options, struct error *err);
/* Ends all that is under way. NULL is fine. */
void sim_https_free(struct sim_https *https);
unsigned sim_https_port(const struct sim_https *https);
/* Watches that are open. */
size_t sim_https_watches(const struct sim_https *https);

#endif
