/*
 * Ports of the node itself that containers ask for. Two pods may have the same one only at
 * different addresses of the node. By Kubernetes' rules; loop thread only.
 */
#ifndef PUMICE_API_HOSTPORTS_H
#define PUMICE_API_HOSTPORTS_H

#include "json/reader.h"

struct host_port {
    const char *ip;       /* interned; "0.0.0.0": every address */
    const char *protocol; /* interned; "TCP" unless given */
    int32_t port;
};

struct host_ports {
    struct host_port *items; /* owned */
    uint32_t n;
};

/* Reads a container's `ports`, the array that comes next, and adds those with a hostPort. */
void host_ports_read(struct json_reader *reader, struct host_ports *ports);
void host_ports_add(struct host_ports *ports, const struct host_port *port);
/* Removes one that is equal to it; false when there is none. */
bool host_ports_remove(struct host_ports *ports, const struct host_port *port);
void host_ports_clear(struct host_ports *ports);
/* Whether any of `wanted` cannot be had beside those in use. */
bool host_ports_conflict(const struct host_ports *wanted, const struct host_ports *used);

#endif
