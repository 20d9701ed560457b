/*
 * The annotation of a queue that limits what it may use of groups of nodes (part of
 * /queues/validate): JSON, amounts by resource by group.
 *
 * One that cannot be read is warned of and let in: without the plugin nodegroup it means nothing,
 * and with it the jobs of the queue wait, and say so.
 */
#include "api/nodegroups.h"
#include "webhook/queue/queue_rules.h"

/* Where the reader is. */
struct groups_place {
    struct str group, resource;
};

static void read_amounts(struct json_reader *reader, struct groups_place *place)
{
    struct quantity quantity;
    if (!json_object(reader))
        return;
    while (json_key(reader, &place->resource)) {
        struct str text = json_scalar(reader);
        if (json_failed(reader))
            return;
        if (quantity_parse(text, &quantity, NULL) < 0)
            json_fail(reader, "a quantity such as \"100m\" or \"1Gi\" was expected");
        else if (quantity.nano < 0)
            json_fail(reader, "a quantity that is not negative was expected");
    }
}

/* What `place` says when the reader fails is where. */
static void read_groups(struct json_reader *reader, struct groups_place *place)
{
    if (!json_object(reader))
        return;
    while (json_key(reader, &place->group)) {
        place->resource = STR_NULL;
        read_amounts(reader, place);
        if (json_failed(reader))
            return;
        place->group = place->resource = STR_NULL;
    }
}

void queue_check_groups(const struct queue_case *q)
{
    struct str text = str_trim(str_of(q->now.group_limits));
    struct groups_place place = {STR_NULL, STR_NULL};
    struct error err = ERROR_INIT;
    struct json_reader reader;
    if (str_empty(text))
        return;
    json_init(&reader, text, q->c->arena);
    read_groups(&reader, &place);
    if (json_end(&reader, &err) == 0)
        return;
    const bool named = place.resource.n > 0;
    case_warn(q->c,
              "metadata.annotations[" KEY_NODEGROUP_LIMITS "]: %s%.*s%s%.*s%s%s; with the plugin "
              "nodegroup the jobs of this queue get no node",
              named ? "group " : "", STR_ARG(str_cut(named ? place.group : STR_NULL, 64)),
              named ? ", " : "", STR_ARG(str_cut(place.resource, 64)), named ? ": " : "",
              named ? reader.error : err.text);
}
