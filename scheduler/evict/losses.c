/*
 * Who gave room to whom. See losses.h.
 *
 * A graph without circles: nobody takes from those that the search from it comes to.
 */
#include "scheduler/evict/losses.h"
#include "base/alloc.h"
#include "base/intern.h"
#include "base/vec.h"

/* To whom one job gave. */
struct loss {
    VEC(const char *) takers; /* interned; UIDs */
};

static void free_loss(void *value)
{
    struct loss *loss = value;
    for (size_t i = 0; i < loss->takers.n; i++)
        intern_put(loss->takers.items[i]);
    vec_clear(&loss->takers);
    free(loss);
}

void losses_clear(struct evict_losses *losses)
{
    map_clear_with(&losses->takers, free_loss);
}

static struct loss *loss_of(struct evict_losses *losses, const char *uid)
{
    struct loss *loss = map_get(&losses->takers, str_of(uid));
    if (loss)
        return loss;
    loss = xnew(struct loss);
    map_set(&losses->takers, str_of(uid), loss);
    return loss;
}

void losses_note(struct evict_losses *losses, const struct cache *cache,
                 const struct sched_job *giver, const struct sched_job *taker)
{
    if (losses->workload != cache->workload)
        losses_clear(losses);
    losses->workload = cache->workload;
    struct loss *loss = loss_of(losses, giver->uid);
    for (size_t i = 0; i < loss->takers.n; i++)
        if (loss->takers.items[i] == taker->uid)
            return;
    vec_push(&loss->takers, intern_ref(taker->uid));
}

void losses_of(const struct evict_losses *losses, const struct sched_job *job, struct map *ret_uids)
{
    VEC(const char *) open = {0}; /* borrowed */
    *ret_uids = (struct map)MAP_INIT;
    if (losses->workload != job->cache->workload || !map_count(&losses->takers))
        return;
    vec_push(&open, job->uid);
    while (open.n) {
        const struct loss *loss = map_get(&losses->takers, str_of(open.items[--open.n]));
        for (size_t i = 0; loss && i < loss->takers.n; i++) {
            const char *uid = loss->takers.items[i];
            if (map_has(ret_uids, str_of(uid)))
                continue;
            map_set(ret_uids, str_of(uid), NULL);
            vec_push(&open, uid);
        }
    }
    vec_clear(&open);
}
