/*
 * Ports of a container.
 */
#include "webhook/pod/container_parts.h"
#include "webhook/rules/naming.h"

#define PORT_MAX 65535

static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};

static const struct rule port_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .text = naming_port},
    {.name = "containerPort",
     .kind = RULE_NUMBER,
     .flags = RULE_REQUIRED | RULE_ZERO_ABSENT,
     .low = 1,
     .high = PORT_MAX},
    {.name = "hostPort",
     .kind = RULE_NUMBER,
     .flags = RULE_ZERO_ABSENT,
     .low = 1,
     .high = PORT_MAX},
    {.name = "protocol", .kind = RULE_ENUM, .values = protocols},
    {.name = "hostIP", .kind = RULE_TEXT},
    {0}};
const struct shape pod_port_shape = {.rules = port_rules};

void pod_check_host_ports(struct rule_walk *walk, const cJSON *container, const struct field *at,
                          struct map *seen)
{
    const struct field ports_at = field_member(at, "ports");
    const cJSON *port;
    size_t i = 0;
    cJSON_ArrayForEach(port, tree_array(container, "ports"))
    {
        const struct field item_at = field_item(&ports_at, i++),
                           host_at = field_member(&item_at, "hostPort");
        const int64_t number = tree_i64_or_0(port, "hostPort");
        const char *protocol = tree_str(port, "protocol");
        if (number == 0)
            continue;
        const struct str key = arena_printf(walk->arena, "%s/%s/%lld", *protocol ? protocol : "TCP",
                                            tree_str(port, "hostIP"), (long long)number);
        if (map_has(seen, key))
            field_duplicate(walk->problems, &host_at, tree_get(port, "hostPort"));
        map_set(seen, key, NULL);
    }
}

void pod_check_host_network_ports(struct rule_walk *walk, const cJSON *container,
                                  const struct field *at)
{
    const struct field ports_at = field_member(at, "ports");
    const cJSON *port;
    size_t i = 0;
    cJSON_ArrayForEach(port, tree_array(container, "ports"))
    {
        const struct field item_at = field_item(&ports_at, i++),
                           host_at = field_member(&item_at, "hostPort");
        const int64_t number = tree_i64_or_0(port, "hostPort");
        if (number != 0 && number != tree_i64_or_0(port, "containerPort"))
            field_invalid(walk->problems, &host_at, tree_get(port, "hostPort"),
                          "must match `containerPort` when `hostNetwork` is true");
    }
}
