/*
 * Binds of volumes: when a pod's claims have what was chosen for them, or cannot. See binder.h.
 *
 * A bind looks at its choices in a deferred call of its own, whenever one of them changes, and ends
 * only when its writes have: their flow is the pod's job.
 */
#include "base/ensure.h"
#include "base/intern.h"
#include "base/log.h"
#include "scheduler/volumes/binder_private.h"

enum verdict { VERDICT_WAITS, VERDICT_DONE, VERDICT_TROUBLE };

/* ---- how a choice stands --------------------------------------------------------------------- */

static enum verdict say(struct volume_bind *bind, char *text)
{
    bind->trouble = text;
    return VERDICT_TROUBLE;
}

static enum verdict judge_bound(struct volume_bind *bind, const struct claim_record *claim)
{
    const struct node *node = bind->node;
    const struct volume *volume = claim->names->object;
    if (!volume)
        return VERDICT_WAITS; /* it is heard of later than the claim */
    if (volume_reaches(volume, node->meta.name, &node->meta.labels))
        return VERDICT_DONE;
    return say(bind,
               xasprintf("claim \"%s\" was bound to volume \"%s\", which node \"%s\" cannot reach",
                         claim->key, volume->meta.name, node->meta.name));
}

static enum verdict judge_volume(struct volume_bind *bind, const struct choice *choice)
{
    const struct volume *volume = choice->volume->object;
    const char *key = choice->claim->key, *name = choice->volume->name;
    if (!volume)
        return say(bind, xasprintf("volume \"%s\", chosen for claim \"%s\", is gone", name, key));
    if (choice->state != CHOICE_WRITTEN || volume->meta.rv < choice->written_rv)
        return VERDICT_WAITS;
    if (!volume->claim_name || volume->claim_uid != choice->claim_uid)
        return say(bind, xasprintf("volume \"%s\" was taken away from claim \"%s\"", name, key));
    return VERDICT_WAITS;
}

static enum verdict judge_making(struct volume_bind *bind, const struct choice *choice)
{
    const struct claim *claim = choice->claim->object;
    if (choice->state != CHOICE_WRITTEN || claim->meta.rv < choice->written_rv)
        return VERDICT_WAITS;
    if (!claim->selected_node || strcmp(claim->selected_node, choice->node) != 0)
        return say(bind, xasprintf("no volume could be made for claim \"%s\" on node \"%s\"",
                                   choice->claim->key, choice->node));
    return VERDICT_WAITS;
}

static enum verdict judge(struct volume_bind *bind, const struct choice *choice)
{
    const struct claim_record *claim = choice->claim;
    const struct claim *object = claim->object;
    if (!object || object->meta.deleted_ns || object->meta.uid != choice->claim_uid)
        return say(bind, xasprintf("claim \"%s\" was deleted", claim->key));
    if (object->lost)
        return say(
            bind, xasprintf("claim \"%s\" has lost its volume \"%s\"", claim->key, object->volume));
    if (claim_is_bound(object))
        return judge_bound(bind, claim);
    if (choice->state == CHOICE_FAILED)
        return say(bind, xstrdup(choice->trouble));
    return choice->volume ? judge_volume(bind, choice) : judge_making(bind, choice);
}

/* ---- the bind -------------------------------------------------------------------------------- */

static void finish(struct volume_bind *bind)
{
    struct loop *loop = bind->binder->params.loop;
    list_remove(&bind->link);
    loop_timer_cancel(loop, &bind->deadline);
    loop_deferred_cancel(&bind->look);
    bind->plan->bind = NULL;
    plan_free(bind->binder->params.volumes, bind->plan);
    node_unref(bind->node);
}

static void end(struct volume_bind *bind)
{
    finish(bind);
    bind->done(bind->trouble, bind->arg);
    free(bind->trouble);
    free(bind);
}

/* True when every claim has its volume. */
static bool proceed(struct volume_bind *bind)
{
    bool all = true;
    for (uint32_t i = 0; i < bind->plan->n && !bind->trouble; i++) {
        struct choice *choice = bind->plan->items[i].choice;
        const struct claim *claim = choice->claim->object;
        if (choice->state == CHOICE_MADE && claim && !claim->volume[0])
            write_start(bind, choice);
        all = judge(bind, choice) == VERDICT_DONE && all;
    }
    return all;
}

static void look(void *arg)
{
    struct volume_bind *bind = arg;
    bool ready = !bind->trouble && proceed(bind);
    if (bind->trouble)
        writes_withdraw(bind);
    if (!bind->writes && (ready || bind->trouble))
        end(bind);
}

static void look_soon(struct volume_bind *bind)
{
    loop_defer(bind->binder->params.loop, &bind->look);
}

static char *late_text(const struct volume_bind *bind, const struct choice *choice)
{
    long long seconds = bind->timeout_ns / NSEC_PER_SEC;
    const char *answer = write_trouble(bind->binder, choice), *colon = answer ? ": " : "";
    answer = answer ? answer : "";
    if (choice->volume)
        return xasprintf("claim \"%s\" was not bound to volume \"%s\" within %lld s%s%s",
                         choice->claim->key, choice->volume->name, seconds, colon, answer);
    return xasprintf("no volume was made for claim \"%s\" on node \"%s\" within %lld s%s%s",
                     choice->claim->key, choice->node, seconds, colon, answer);
}

/* Names the first claim that is still waited for. */
static void is_late(void *arg)
{
    struct volume_bind *bind = arg;
    bool ready = !bind->trouble && proceed(bind);
    if (!ready && !bind->trouble) {
        uint32_t at = 0;
        while (at + 1 < bind->plan->n && judge(bind, bind->plan->items[at].choice) == VERDICT_DONE)
            at++;
        bind->trouble = late_text(bind, bind->plan->items[at].choice);
    }
    look_soon(bind);
}

static struct volume_bind *bind_new(struct volume_binder *binder, struct plan *plan,
                                    struct node *node, volume_bind_done_fn *done, void *arg)
{
    struct volume_bind *bind = xnew(struct volume_bind);
    bind->binder = binder;
    bind->plan = plan;
    plan->bind = bind;
    bind->node = node_ref(node);
    bind->done = done;
    bind->arg = arg;
    bind->timeout_ns = binder->params.timeout_ns;
    list_append(&binder->binds, &bind->link);
    loop_timer_init(&bind->deadline, is_late, bind);
    loop_timer_set(binder->params.loop, &bind->deadline, bind->timeout_ns);
    loop_deferred_init(&bind->look, look, bind);
    if (binder->stopping)
        bind->trouble = xstrdup("the scheduler ends");
    look_soon(bind);
    return bind;
}

struct volume_bind *volume_bind_start(struct volume_binder *binder, const char *uid,
                                      struct node *node, struct window_flow *flow,
                                      volume_bind_done_fn *done, void *arg)
{
    struct plan *plan = plan_find(binder->params.volumes, uid);
    if (!plan)
        return NULL;
    ENSURE(!plan->bind);
    struct volume_bind *bind = bind_new(binder, plan, node, done, arg);
    bind->flow = flow;
    return bind;
}

static void ahead_done(const char *trouble, void *arg)
{
    (void)arg;
    if (trouble)
        log_warn("a volume that pods share could not be made ahead of them error=\"%s\"", trouble);
}

bool volume_bind_ahead(struct volume_binder *binder, const struct pod_volumes *wanted,
                       struct node *node)
{
    struct plan *plan = plan_ahead(binder->params.volumes, wanted);
    return plan && bind_new(binder, plan, node, ahead_done, NULL);
}

/* ---- what the volumes tell ------------------------------------------------------------------- */

static void on_changed(void *arg, struct choice *choice)
{
    (void)arg;
    list_each(link, &choice->plans)
    {
        struct volume_bind *bind = container_of(link, struct plan_item, link)->plan->bind;
        if (bind)
            look_soon(bind);
    }
}

static void on_dropped(void *arg, struct choice *choice)
{
    struct volume_binder *binder = arg;
    struct volume_record *volume = choice->volume;
    const struct claim *claim = choice->claim->object;
    bool bound = claim && volume && strcmp(claim->volume, volume->name) == 0;
    bool told = choice->state == CHOICE_WRITTEN || choice->doubtful;
    if (volume && !volume->releasing && told && !bound && !binder->stopping)
        release_start(binder, volume, choice->claim_uid);
}

static void give_up(struct volume_bind *bind, const char *trouble)
{
    if (!bind->trouble)
        bind->trouble = xstrdup(trouble);
    look_soon(bind);
}

static void on_forgotten(void *arg, struct volume_bind *bind)
{
    (void)arg;
    give_up(bind, "the pod is not to be bound any more");
}

/* ---- life ------------------------------------------------------------------------------------ */

struct volume_binder *volume_binder_new(const struct volume_binder_params *params)
{
    struct volume_binder *binder = xnew(struct volume_binder);
    binder->params = *params;
    if (!binder->params.timeout_ns)
        binder->params.timeout_ns = VOLUME_BIND_TIMEOUT;
    list_init(&binder->binds);
    list_init(&binder->writes);
    list_init(&binder->releases);
    params->volumes->hooks = (struct volumes_hooks){
        .changed = on_changed, .dropped = on_dropped, .forgotten = on_forgotten, .arg = binder};
    return binder;
}

void volume_binder_stop(struct volume_binder *binder)
{
    binder->stopping = true;
    list_each(link, &binder->binds)
        give_up(container_of(link, struct volume_bind, link), "the scheduler ends");
}

void volume_binder_set_timeout(struct volume_binder *binder, int64_t timeout_ns)
{
    binder->params.timeout_ns = timeout_ns ? timeout_ns : VOLUME_BIND_TIMEOUT;
}

size_t volume_binder_busy(const struct volume_binder *binder)
{
    size_t count = 0;
    list_each(link, &binder->binds) count++;
    list_each(link, &binder->releases) count++;
    return count;
}

void volume_binder_free(struct volume_binder *binder)
{
    if (!binder)
        return;
    binder->params.volumes->hooks = (struct volumes_hooks){.arg = NULL};
    writes_clear(binder);
    list_each(link, &binder->binds)
    {
        struct volume_bind *bind = container_of(link, struct volume_bind, link);
        finish(bind);
        free(bind->trouble);
        free(bind);
    }
    releases_clear(binder);
    free(binder);
}
