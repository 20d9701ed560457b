/*
 * /podgroups/mutate: a PodGroup in the queue "default" moves to the queue that its Namespace names.
 */
#include "api/names.h"
#include "webhook/registry.h"
#include "json/writer.h"

#define VALUE_MAX ((size_t)2 << 20) /* annotations of one object have at most 256 KiB */

/* The Namespace of the PodGroup; NULL when it is not known (yet). */
static const struct namespace_view *find_namespace(struct admission_case *c)
{
    const char *own = tree_str(tree_get(c->object, "metadata"), "namespace");
    const struct str name = *own ? str_of(own) : c->review->ns;
    const struct namespace_view *ns = namespace_snapshot_get(c->namespaces, name);
    if (!ns && !c->last_try)
        c->wait = true;
    return ns;
}

void podgroups_mutate(struct admission_case *c)
{
    struct buf value cleanup_buf = BUF_INIT(VALUE_MAX);
    if (strcmp(tree_str(tree_get(c->object, "spec"), "queue"), DEFAULT_QUEUE) != 0)
        return;
    const struct namespace_view *ns = find_namespace(c);
    if (!ns || !ns->has_queue)
        return;
    json_quote(&value, ns->queue);
    json_patch_add(&c->patch, STR("/spec/queue"), buf_str(&value));
}
