/*
 * Host ports. See hostports.h. Most nodes have few of them, but a pod may have thousands.
 */
#include "api/hostports.h"
#include "base/alloc.h"
#include "base/intern.h"
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

void host_ports_clear(struct host_ports *ports)
{
    for (uint32_t i = 0; i < ports->n; i++)
        port_clear(&ports->items[i]);
    free(ports->items);
    *ports = (struct host_ports){NULL, 0};
}

/* ---- order ----------------------------------------------------------------------------------- */

static bool is_any(const struct host_port *port)
{
    return strcmp(port->ip, ANY_ADDRESS) == 0;
}

/* Every address comes before single ones. */
static int compare_addresses(const struct host_port *a, const struct host_port *b)
{
    if (is_any(a) != is_any(b))
        return is_any(a) ? -1 : 1;
    return a->ip == b->ip ? 0 : strcmp(a->ip, b->ip);
}

static int compare_doors(const struct host_port *a, const struct host_port *b)
{
    if (a->port != b->port)
        return a->port < b->port ? -1 : 1;
    return a->protocol == b->protocol ? 0 : strcmp(a->protocol, b->protocol);
}

static int compare_ports(const void *x, const void *y)
{
    const struct host_port *a = x, *b = y;
    int order = compare_doors(a, b);
    return order ? order : compare_addresses(a, b);
}

void host_ports_sort(struct host_ports *ports)
{
    if (ports->n > 1)
        qsort(ports->items, ports->n, sizeof(*ports->items), compare_ports);
}

/* The first that is not before it, or the end. */
static uint32_t place_of(const struct host_ports *ports, const struct host_port *port)
{
    uint32_t low = 0, high = ports->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_ports(&ports->items[middle], port) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- sums ------------------------------------------------------------------------------------ */

void host_ports_merge(struct host_ports *ports, const struct host_ports *more)
{
    uint32_t from = ports->n, take = more->n, to = from + take;
    if (!take)
        return;
    ports->items = xreallocarray(ports->items, to, sizeof(*ports->items));
    ports->n = to;
    while (take) { /* from the end, so that nothing is written over */
        bool old = from && compare_ports(&ports->items[from - 1], &more->items[take - 1]) > 0;
        const struct host_port *next = old ? &ports->items[--from] : &more->items[--take];
        ports->items[--to] = *next;
        if (!old) {
            intern_ref(next->ip);
            intern_ref(next->protocol);
        }
    }
}

void host_ports_unmerge(struct host_ports *ports, const struct host_ports *less)
{
    uint32_t to = 0, gone = 0;
    for (uint32_t i = 0; i < ports->n; i++) {
        struct host_port *port = &ports->items[i];
        while (gone < less->n && compare_ports(&less->items[gone], port) < 0)
            gone++;
        if (gone < less->n && compare_ports(&less->items[gone], port) == 0) {
            port_clear(port);
            gone++;
        } else {
            ports->items[to++] = *port;
        }
    }
    ports->n = to;
}

/* ---- conflicts ------------------------------------------------------------------------------- */

/* Whether one of them is at the same door, at every address or the same one. */
static bool collides(const struct host_ports *ports, const struct host_port *port)
{
    const struct host_port anywhere = {ANY_ADDRESS, port->protocol, port->port};
    uint32_t first = place_of(ports, &anywhere);
    if (first == ports->n || compare_doors(&ports->items[first], port) != 0)
        return false;
    if (is_any(port) || is_any(&ports->items[first]))
        return true;
    uint32_t same = place_of(ports, port);
    return same < ports->n && compare_ports(&ports->items[same], port) == 0;
}

bool host_ports_conflict(const struct host_ports *a, const struct host_ports *b)
{
    const struct host_ports *few = a->n < b->n ? a : b, *many = few == a ? b : a;
    for (uint32_t i = 0; i < few->n; i++)
        if (collides(many, &few->items[i]))
            return true;
    return false;
}
