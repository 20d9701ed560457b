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

/* Those of a class of pods and of a node are sorted: by port, protocol and address. */
struct host_ports {
    struct host_port *items; /* owned */
    uint32_t n;
};

/* Reads a container's `ports`, the array that comes next, and adds those with a hostPort. */
void host_ports_read(struct json_reader *reader, struct host_ports *ports);
void host_ports_add(struct host_ports *ports, const struct host_port *port);
void host_ports_sort(struct host_ports *ports);
void host_ports_clear(struct host_ports *ports);

/* All that follow are sorted. */

/* Adds copies of all of `more`; removes one for each of `less`, as far as they are there. */
void host_ports_merge(struct host_ports *ports, const struct host_ports *more);
void host_ports_unmerge(struct host_ports *ports, const struct host_ports *less);
/* Whether any of one cannot be had beside the others. */
bool host_ports_conflict(const struct host_ports *a, const struct host_ports *b);

#endif
