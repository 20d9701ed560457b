/*
 * Choices: what placed pods' claims are to have. See volumes.h and records.h.
 */
#include "base/ensure.h"
#include "base/intern.h"
#include "scheduler/volumes/ask.h"

bool choice_is_ahead(const struct choice *choice)
{
    const struct claim *claim = choice->claim->object;
    const unsigned many = ACCESS_READ_WRITE_MANY | ACCESS_READ_ONLY_MANY;
    return !choice->volume && choice->state == CHOICE_MADE && claim && !claim->selected_node &&
           (claim->terms.access_modes & many);
}

static struct choice *ahead_of(const struct volumes *volumes, const char *key)
{
    const struct claim_record *claim = claim_find(volumes, key);
    return claim && claim->choice && choice_is_ahead(claim->choice) ? claim->choice : NULL;
}

const char *volumes_making_at(const struct volumes *volumes, const struct pod_volumes *wanted)
{
    for (uint32_t i = 0; wanted && i < wanted->claim_count; i++) {
        const struct choice *choice = ahead_of(volumes, wanted->claims[i].key);
        if (choice)
            return choice->node;
    }
    return NULL;
}

void volumes_presume_reached(struct volumes *volumes, bool presume)
{
    if (volumes->presume == presume)
        return;
    volumes->presume = presume;
    volumes->base_version = ++volumes->version;
}

struct plan *plan_find(const struct volumes *volumes, const char *uid)
{
    return map_get(&volumes->plans, str_of(uid));
}

bool volumes_has_choices(const struct volumes *volumes, const char *uid)
{
    return plan_find(volumes, uid) != NULL;
}

void choice_changed(struct volumes *volumes, struct choice *choice)
{
    if (volumes->hooks.changed)
        volumes->hooks.changed(volumes->hooks.arg, choice);
}

/* Others' answers hang on the claim and on what else there is of its class. */
static void choice_touch(struct volumes *volumes, struct choice *choice)
{
    claim_touch(volumes, choice->claim);
    if (choice->volume)
        volume_touch(volumes, choice->volume);
}

static struct choice *choice_new(struct volumes *volumes, const struct waiting_claim *waiting,
                                 const struct node *node)
{
    struct choice *choice = xnew(struct choice);
    list_init(&choice->plans);
    choice->claim = waiting->claim;
    choice->volume = waiting->pick;
    choice->node = intern_ref(node->meta.name);
    choice->claim_uid = intern_ref(waiting->claim->object->meta.uid);
    choice->claim->choice = choice;
    if (choice->volume) {
        ENSURE(!choice->volume->taken);
        choice->volume->taken = choice;
    }
    choice_touch(volumes, choice);
    return choice;
}

/* Frees the choice when nobody wants it and no write of it is under way. */
static void choice_drop(struct volumes *volumes, struct choice *choice)
{
    if (!list_empty(&choice->plans) || choice->holds)
        return;
    if (volumes->hooks.dropped)
        volumes->hooks.dropped(volumes->hooks.arg, choice);
    choice->claim->choice = NULL;
    if (choice->volume)
        choice->volume->taken = NULL;
    choice_touch(volumes, choice);
    if (choice->volume)
        volume_drop(volumes, choice->volume);
    claim_drop(volumes, choice->claim);
    intern_put(choice->node);
    intern_put(choice->claim_uid);
    free(choice->trouble);
    free(choice);
}

void choice_release(struct volumes *volumes, struct choice *choice)
{
    ENSURE(choice->holds > 0);
    choice->holds--;
    choice_drop(volumes, choice);
}

bool volumes_assume(struct volumes *volumes, const char *uid, struct pod_volumes *wanted,
                    const struct node *node)
{
    if (!wanted)
        return true;
    ENSURE(!plan_find(volumes, uid));
    struct ask *ask = ask_get(volumes, wanted);
    if (ask->refusal || !match_node(ask, node))
        return false;
    if (!ask->waiting.n)
        return true;
    struct plan *plan = xnew(struct plan);
    plan->uid = intern_get(str_of(uid));
    plan->n = (uint32_t)ask->waiting.n;
    plan->items = xcalloc(plan->n, sizeof(*plan->items));
    for (uint32_t i = 0; i < plan->n; i++) {
        const struct waiting_claim *waiting = &ask->waiting.items[i];
        struct choice *choice = waiting->claim->choice;
        plan->items[i].plan = plan;
        plan->items[i].choice = choice ? choice : choice_new(volumes, waiting, node);
        list_append(&plan->items[i].choice->plans, &plan->items[i].link);
    }
    map_set(&volumes->plans, str_of(plan->uid), plan);
    return true;
}

struct plan *plan_ahead(struct volumes *volumes, const struct pod_volumes *wanted)
{
    struct plan *plan = xnew(struct plan);
    plan->uid = intern_get(STR_NULL);
    plan->items = xcalloc(wanted->claim_count + 1, sizeof(*plan->items));
    for (uint32_t i = 0; i < wanted->claim_count; i++) {
        struct choice *choice = ahead_of(volumes, wanted->claims[i].key);
        if (!choice)
            continue;
        struct plan_item *item = &plan->items[plan->n++];
        *item = (struct plan_item){.choice = choice, .plan = plan};
        list_append(&choice->plans, &item->link);
    }
    if (plan->n)
        return plan;
    plan_free(volumes, plan);
    return NULL;
}

void plan_free(struct volumes *volumes, struct plan *plan)
{
    if (plan_find(volumes, plan->uid) == plan)
        map_del(&volumes->plans, str_of(plan->uid));
    for (uint32_t i = 0; i < plan->n; i++) {
        list_remove(&plan->items[i].link);
        choice_drop(volumes, plan->items[i].choice);
    }
    intern_put(plan->uid);
    free(plan->items);
    free(plan);
}

void volumes_forget(struct volumes *volumes, const char *uid)
{
    struct plan *plan = plan_find(volumes, uid);
    if (!plan)
        return;
    map_del(&volumes->plans, str_of(uid));
    if (plan->bind)
        volumes->hooks.forgotten(volumes->hooks.arg, plan->bind);
    else
        plan_free(volumes, plan);
}
