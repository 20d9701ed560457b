/*
 * Which volume a claim that waits would have on a node: one that is kept for it, else the smallest
 * that fits and that the node reaches, else one that its class can make there. See ask.h.
 *
 * Volumes that a single host reaches are looked up by the node's host name, the others stand in
 * order in the ask, those of a zone together, so a look at one node costs little however many
 * volumes there are. Where it costs more it counts as work.
 */
#include "scheduler/volumes/ask.h"

#define HOST_LABEL "kubernetes.io/hostname"
#define GROUPS_MOST 64 /* groups of offers that others may join: more are hardly zones */

/* ---- whether a volume will do ---------------------------------------------------------------- */

static bool terms_fit(const struct claim *claim, const struct volume *volume)
{
    return volume->terms.size >= claim->terms.size && volume->terms.block == claim->terms.block &&
           volume->terms.attributes_name == claim->terms.attributes_name &&
           !volume->meta.deleted_ns;
}

static const char *label_of(const void *labels, const char *key)
{
    return kube_pairs_get(labels, key);
}

/* Whether a volume of the claim's class that is kept for nobody could be given to it. */
static bool is_offered(const struct claim *claim, const struct volume_record *record)
{
    const struct volume *volume = record->object;
    if (volume->claim_name || record->taken || record->releasing || !volume->available)
        return false;
    if (!terms_fit(claim, volume) || (claim->terms.access_modes & ~volume->terms.access_modes))
        return false;
    return !claim->selector.present ||
           label_selector_matches(&claim->selector, label_of, &volume->meta.labels);
}

/* <0: `a` is given away first. Names decide between equals, so that a restart changes nothing. */
static int compare(const struct volume_record *a, const struct volume_record *b)
{
    if (a->object->terms.size != b->object->terms.size)
        return a->object->terms.size < b->object->terms.size ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int compare_slots(const void *a, const void *b)
{
    return compare(*(struct volume_record *const *)a, *(struct volume_record *const *)b);
}

/* ---- what does not hang on the node ---------------------------------------------------------- */

/* One that is kept for it, by the user or from an earlier attempt. */
static struct volume_record *find_kept(const struct waiting_claim *waiting)
{
    const struct claim *claim = waiting->claim->object;
    struct volume_record *best = NULL;
    for (size_t i = 0; i < waiting->claim->keepers.n; i++) {
        struct volume_record *volume = waiting->claim->keepers.items[i];
        bool fits = volume->cls == waiting->cls && !volume->taken && !volume->releasing &&
                    volume_is_for(volume->object, claim) && terms_fit(claim, volume->object);
        if (fits && (!best || strcmp(volume->name, best->name) < 0))
            best = volume;
    }
    return best;
}

/* The group that it belongs to, made when there is none. */
static struct offer_group *group_of(struct waiting_claim *waiting,
                                    const struct volume_record *volume)
{
    for (size_t i = 0; i < waiting->offers.n && i < GROUPS_MOST; i++) {
        struct offer_group *group = &waiting->offers.items[i];
        if (volume_reached_alike(group->list.items[0]->object, volume->object))
            return group;
    }
    vec_push(&waiting->offers, ((struct offer_group){.list = {NULL, 0, 0}}));
    return &waiting->offers.items[waiting->offers.n - 1];
}

void match_prepare(struct volumes *volumes, struct waiting_claim *waiting)
{
    const struct claim_record *claim = waiting->claim;
    waiting->presume = volumes->presume;
    if (claim->choice || claim->object->selected_node)
        return;
    waiting->kept = find_kept(waiting);
    if (waiting->kept)
        return;
    for (size_t i = 0; i < waiting->cls->others.n; i++) {
        struct volume_record *volume = waiting->cls->others.items[i];
        if (!is_offered(claim->object, volume))
            continue;
        struct offer_group *group = group_of(waiting, volume);
        vec_push(&group->list, volume);
    }
    volumes->looks += waiting->cls->others.n;
    for (size_t i = 0; i < waiting->offers.n; i++) {
        const volume_list *list = &waiting->offers.items[i].list;
        qsort(list->items, list->n, sizeof(*list->items), compare_slots);
    }
}

void match_clear(struct waiting_claim *waiting)
{
    for (size_t i = 0; i < waiting->offers.n; i++)
        vec_clear(&waiting->offers.items[i].list);
    vec_clear(&waiting->offers);
}

/* ---- what does ------------------------------------------------------------------------------- */

static bool reaches(const struct volume_record *volume, const struct node *node)
{
    return volume->object && volume_reaches(volume->object, node->meta.name, &node->meta.labels);
}

/* Whether a claim before this one would have it. */
static bool is_picked(const struct ask *ask, size_t upto, const struct volume_record *volume)
{
    for (size_t i = 0; i < upto; i++)
        if (ask->waiting.items[i].pick == volume)
            return true;
    return false;
}

static struct volume_record *best_in(const struct ask *ask, size_t at,
                                     const struct offer_group *group)
{
    for (size_t i = 0; i < group->list.n; i++)
        if (!is_picked(ask, at, group->list.items[i]))
            return group->list.items[i];
    return NULL;
}

static struct volume_record *best_offer(const struct ask *ask, size_t at, const struct node *node)
{
    const struct waiting_claim *waiting = &ask->waiting.items[at];
    struct volume_record *best = NULL;
    for (size_t i = 0; i < waiting->offers.n; i++) {
        const struct offer_group *group = &waiting->offers.items[i];
        struct volume_record *volume =
            reaches(group->list.items[0], node) ? best_in(ask, at, group) : NULL;
        if (volume && (!best || compare(volume, best) < 0))
            best = volume;
    }
    ask->volumes->looks += waiting->offers.n;
    return best;
}

static struct volume_record *best_of_host(const struct ask *ask, size_t at, const struct node *node)
{
    const struct waiting_claim *waiting = &ask->waiting.items[at];
    const char *host = kube_pairs_get(&node->meta.labels, HOST_LABEL);
    const struct host_volumes *volumes = host ? map_get(&waiting->cls->hosts, str_of(host)) : NULL;
    struct volume_record *best = NULL;
    for (size_t i = 0; volumes && i < volumes->list.n; i++) {
        struct volume_record *volume = volumes->list.items[i];
        if (is_offered(waiting->claim->object, volume) && reaches(volume, node) &&
            !is_picked(ask, at, volume) && (!best || compare(volume, best) < 0))
            best = volume;
    }
    ask->volumes->looks += volumes ? volumes->list.n : 0;
    return best;
}

static bool can_be_made(const struct waiting_claim *waiting, const struct node *node)
{
    const struct storageclass *cls = waiting->cls->object;
    return cls->provisions && storageclass_serves(cls, node->meta.name, &node->meta.labels);
}

/* A claim of which somebody has decided already, where it is. */
static bool match_decided(struct waiting_claim *waiting, const struct node *node)
{
    const struct choice *choice = waiting->claim->choice;
    waiting->pick = choice ? choice->volume : NULL;
    if (waiting->pick)
        return reaches(waiting->pick, node);
    if (choice && waiting->presume && choice_is_ahead(choice))
        return can_be_made(waiting, node);
    const char *place = choice ? choice->node : waiting->claim->object->selected_node;
    return strcmp(place, node->meta.name) == 0 && (choice || can_be_made(waiting, node));
}

static bool match_claim(struct ask *ask, size_t at, const struct node *node)
{
    struct waiting_claim *waiting = &ask->waiting.items[at];
    if (waiting->claim->choice || waiting->claim->object->selected_node)
        return match_decided(waiting, node);
    waiting->pick = NULL;
    if (waiting->kept) {
        if (reaches(waiting->kept, node) && !is_picked(ask, at, waiting->kept))
            waiting->pick = waiting->kept;
        return waiting->pick || can_be_made(waiting, node);
    }
    struct volume_record *offer = best_offer(ask, at, node);
    struct volume_record *local = best_of_host(ask, at, node);
    waiting->pick = !offer || (local && compare(local, offer) < 0) ? local : offer;
    return waiting->pick || can_be_made(waiting, node);
}

bool match_node(struct ask *ask, const struct node *node)
{
    for (size_t i = 0; i < ask->waiting.n; i++)
        if (!match_claim(ask, i, node))
            return false;
    return true;
}
