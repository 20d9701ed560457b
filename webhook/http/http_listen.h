/*
 * The listening socket of the webhook's server.
 */
#ifndef PUMICE_WEBHOOK_HTTP_LISTEN_H
#define PUMICE_WEBHOOK_HTTP_LISTEN_H

#include "base/error.h"

/*
 * Binds a TCP socket to an IPv4 or IPv6 address; "" is all addresses of both families. Port 0 picks
 * one. The descriptor, or -1 with ERROR_INVALID (not an address) or ERROR_FATAL (cannot be bound).
 */
int http_bind(const char *address, unsigned port, unsigned *ret_port, struct error *err);
int http_listen(int fd, struct error *err);

#endif
