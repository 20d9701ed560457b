/*
 * Host ports. See hostports.h. A node has few of them, so they are searched one by one.
 */
#include "api/hostports.h"
#include "base/alloc.h"
#include "json/interned.h"

#define ANY_ADDRESS "0.0.0.0"

static void port_clear(struct host_port *port)
{
    intern_put(port->ip);
    intern_put(port->protocol);
}

void host_ports_add(struct host_ports *ports, const struct host_port *port)
{
    ports->items = xreallocarray(ports->items, ports->n + 1, sizeof(*ports->items));
    ports->items[ports->n++] =
        (struct host_port){intern_ref(port->ip), intern_ref(port->protocol), port->port};
}

static void set_default(const char **slot, struct str text)
{
    if ((*slot)[0])
        return;
    intern_put(*slot);
    *slot = intern_get(text);
}

static void port_read(struct json_reader *reader, struct host_port *port)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "hostPort"))
            port->port = json_i32(reader);
        else if (str_is(key, "hostIP"))
            json_interned(reader, &port->ip);
        else if (str_is(key, "protocol"))
            json_interned(reader, &port->protocol);
        else
            json_skip(reader);
    }
}

void host_ports_read(struct json_reader *reader, struct host_ports *ports)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct host_port port = {intern_get(STR_NULL), intern_get(STR_NULL), 0};
        port_read(reader, &port);
        set_default(&port.ip, STR(ANY_ADDRESS));
        set_default(&port.protocol, STR("TCP"));
        if (port.port > 0)
            host_ports_add(ports, &port);
        port_clear(&port);
    }
}

bool host_ports_remove(struct host_ports *ports, const struct host_port *port)
{
    for (uint32_t i = 0; i < ports->n; i++) {
        struct host_port *item = &ports->items[i];
        if (item->port != port->port || item->ip != port->ip || item->protocol != port->protocol)
            continue;
        port_clear(item);
        *item = ports->items[--ports->n];
        return true;
    }
    return false;
}

void host_ports_clear(struct host_ports *ports)
{
    for (uint32_t i = 0; i < ports->n; i++)
        port_clear(&ports->items[i]);
    free(ports->items);
    *ports = (struct host_ports){NULL, 0};
}

static bool is_any(const struct host_port *port)
{
    return strcmp(port->ip, ANY_ADDRESS) == 0;
}

static bool collide(const struct host_port *a, const struct host_port *b)
{
    return a->port == b->port && a->protocol == b->protocol &&
           (a->ip == b->ip || is_any(a) || is_any(b));
}

bool host_ports_conflict(const struct host_ports *wanted, const struct host_ports *used)
{
    for (uint32_t i = 0; i < wanted->n; i++)
        for (uint32_t k = 0; k < used->n; k++)
            if (collide(&wanted->items[i], &used->items[k]))
                return true;
    return false;
}
