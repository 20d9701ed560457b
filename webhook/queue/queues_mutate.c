/*
 * /queues/mutate: the defaults of a new Queue, and its place under the root of the hierarchy.
 */
#include "webhook/queue/queue_rules.h"
#include "json/writer.h"

#define VALUE_MAX ((size_t)256 << 10) /* annotations of one object have no more */

/* True for "root" and what lies below it; "rootless" is another queue. */
static bool under_root(const char *hierarchy)
{
    const struct str path = str_of(hierarchy);
    return str_is(path, "root") || str_starts(path, STR("root/"));
}

static void prefix_annotation(struct admission_case *c, const char *key, const char *prefix,
                              const char *old)
{
    struct buf text cleanup_buf = BUF_INIT(VALUE_MAX), value cleanup_buf = BUF_INIT(2 * VALUE_MAX);
    struct buf pointer cleanup_buf = BUF_INIT(256);
    buf_add_cstr(&text, prefix);
    buf_add_cstr(&text, old);
    json_quote(&value, buf_str(&text));
    buf_add_cstr(&pointer, "/metadata/annotations");
    json_pointer_token(&pointer, str_of(key));
    if (!text.overflow && !value.overflow)
        json_patch_add(&c->patch, buf_str(&pointer), buf_str(&value));
}

static bool is_zero(const cJSON *item)
{
    return !item || (cJSON_IsNumber(item) && item->valuedouble == 0);
}

void queues_mutate(struct admission_case *c)
{
    const cJSON *annotations = tree_get(tree_get(c->object, "metadata"), "annotations");
    const char *hierarchy = tree_str(annotations, QUEUE_HIERARCHY);
    const char *weights = tree_str(annotations, QUEUE_HIERARCHY_WEIGHTS);
    if (*hierarchy && *weights && !under_root(hierarchy)) {
        prefix_annotation(c, QUEUE_HIERARCHY, "root/", hierarchy);
        prefix_annotation(c, QUEUE_HIERARCHY_WEIGHTS, "1/", weights);
    }
    const cJSON *spec = tree_get(c->object, "spec");
    if (!spec) {
        json_patch_add(&c->patch, STR("/spec"), STR("{\"reclaimable\":true,\"weight\":1}"));
        return;
    }
    if (!cJSON_IsObject(spec))
        return;
    if (!tree_get(spec, "reclaimable"))
        json_patch_add(&c->patch, STR("/spec/reclaimable"), STR("true"));
    if (is_zero(tree_get(spec, "weight")))
        json_patch_add(&c->patch, STR("/spec/weight"), STR("1"));
}
