/*
 * Stores and reflectors of a process, held together: see informer.h.
 */
#include "kube/informer.h"

void informers_init(struct informers *informers, struct loop *loop,
                    struct kube_transport *transport)
{
    *informers = (struct informers){.loop = loop, .transport = transport};
}

struct store *informers_add(struct informers *informers, const struct store_type *type,
                            const struct reflector_spec *spec)
{
    struct informer informer = {.store = store_new(type)};

    informer.reflector = reflector_new(informers->loop, informers->transport, informer.store, spec);
    vec_push(&informers->list, informer);
    return informer.store;
}

bool informers_synced(const struct informers *informers)
{
    for (size_t i = 0; i < informers->list.n; i++) {
        if (!store_synced(informers->list.items[i].store))
            return false;
    }
    return true;
}

void informers_missing(const struct informers *informers, struct buf *missing)
{
    for (size_t i = 0; i < informers->list.n; i++) {
        const struct informer *informer = &informers->list.items[i];
        if (store_synced(informer->store))
            continue;
        const char *trouble = reflector_trouble(informer->reflector);
        buf_printf(missing, "the list of %s objects is not complete%s%s\n",
                   store_kind(informer->store), *trouble ? ": " : "", trouble);
    }
}

void informers_watches(const struct informers *informers, informers_watch_fn *see, void *arg)
{
    for (size_t i = 0; i < informers->list.n; i++) {
        const struct reflector *reflector = informers->list.items[i].reflector;
        cleanup_free char *name = reflector_resource(reflector);
        see(name, loop_now(informers->loop) - reflector_stats(reflector).fresh_ns, arg);
    }
}

void informers_clear(struct informers *informers)
{
    for (size_t i = 0; i < informers->list.n; i++)
        reflector_free(informers->list.items[i].reflector);
    for (size_t i = 0; i < informers->list.n; i++)
        store_free(informers->list.items[i].store);
    vec_clear(&informers->list);
}
