/*
 * A small plain-HTTP server on the loop for /healthz, /readyz, /metrics and debug pages:
 * libmicrohttpd without threads. GET only; anything else is 405, unknown paths 404.
 */
#ifndef PUMICE_OPS_HTTP_H
#define PUMICE_OPS_HTTP_H

#include "base/buf.h"
#include "base/error.h"
#include "loop/loop.h"

struct ops_http;

/* Fills `out` and returns the HTTP status. `path` is the whole path, `query` what follows '?'. */
typedef int ops_http_fn(struct str path, struct str query, struct buf *out, void *arg);

/* Listens on "host:port", ":port" or "[::1]:port"; port 0 picks a free one. */
struct ops_http *ops_http_new(struct loop *loop, const char *address, struct error *err);
void ops_http_free(struct ops_http *http);
/* The port it listens on. */
unsigned ops_http_port(const struct ops_http *http);
/* A path ending in '/' matches everything below it. Content type is text/plain. */
void ops_http_handle(struct ops_http *http, const char *path, ops_http_fn *fn, void *arg);

#endif
