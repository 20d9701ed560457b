/*
 * Which populations may mean the pods of which sets of labels: a bit in each set for each of them.
 * See census.h.
 *
 * The bits are by the population's number. When a population goes its bits stay, so that this costs
 * no look at the sets; its number is not given to another before they are wiped, together with
 * those of many others.
 */
#include "scheduler/census_private.h"

#define GONE_LEAST 64 /* populations that have gone before bits are wiped, */
#define GONE_SHARE 4  /* and one for each so many that are there */
#define BITS 64

/* ---- numbers --------------------------------------------------------------------------------- */

static void wipe(struct cache *cache)
{
    struct census *census = cache->census;
    cleanup_free uint64_t *bits = xcalloc(census->by_number.n / BITS + 1, sizeof(*bits));
    for (size_t i = 0; i < census->gone.n; i++) {
        uint32_t number = census->gone.items[i];
        bits[number / BITS] |= UINT64_C(1) << number % BITS;
        vec_push(&census->unused, number);
    }
    census->gone.n = 0;
    list_each(link, &census->sets)
    {
        struct census_set *set = container_of(link, struct census_set, link);
        for (size_t word = 0; word < set->meant_by.n; word++)
            set->meant_by.items[word] &= ~bits[word];
        cache->work += 1 + set->meant_by.n / BITS;
    }
}

void census_number(struct cache *cache, struct population *population)
{
    struct census *census = cache->census;
    if (!census->unused.n &&
        census->gone.n >= GONE_LEAST + map_count(&census->populations) / GONE_SHARE)
        wipe(cache);
    population->number = (uint32_t)census->by_number.n;
    if (census->unused.n)
        population->number = census->unused.items[--census->unused.n];
    else
        vec_push(&census->by_number, NULL);
    census->by_number.items[population->number] = population;
}

void census_number_drop(struct census *census, const struct population *population)
{
    census->by_number.items[population->number] = NULL;
    vec_push(&census->gone, population->number);
}

/* ---- bits ------------------------------------------------------------------------------------ */

bool census_set_notes(const struct census_set *set, const struct population *population)
{
    uint32_t number = population->number;
    return number / BITS < set->meant_by.n &&
           (set->meant_by.items[number / BITS] >> number % BITS & 1);
}

void census_set_note(struct census_set *set, const struct population *population, bool meant)
{
    uint64_t bit = UINT64_C(1) << population->number % BITS;
    size_t word = population->number / BITS;
    while (meant && set->meant_by.n <= word)
        vec_push(&set->meant_by, 0);
    if (meant)
        set->meant_by.items[word] |= bit;
    else if (word < set->meant_by.n)
        set->meant_by.items[word] &= ~bit;
}

bool census_next(const struct census *census, const struct census_set *set, uint32_t *number,
                 struct population **ret_population)
{
    uint64_t from = UINT64_MAX << *number % BITS;
    for (size_t word = *number / BITS; word < set->meant_by.n; word++, from = UINT64_MAX)
        for (uint64_t bits = set->meant_by.items[word] & from; bits; bits &= bits - 1) {
            uint32_t at = (uint32_t)(word * BITS) + (uint32_t)__builtin_ctzll(bits);
            if (!census->by_number.items[at])
                continue;
            *number = at + 1;
            *ret_population = census->by_number.items[at];
            return true;
        }
    return false;
}

/* ---- sets ------------------------------------------------------------------------------------ */

struct census_set *census_set_new(struct cache *cache, struct label_set *labels)
{
    struct census_set *set = xnew(struct census_set);
    const struct census *census = cache->census;
    set->set = label_set_ref(labels);
    list_init(&set->placed);
    list_init(&set->link);
    list_append(&cache->census->sets, &set->link);
    for (size_t i = 0; i < census->by_number.n; i++) {
        const struct population *population = census->by_number.items[i];
        if (population && population_may_mean(cache, population, labels))
            census_set_note(set, population, true);
    }
    labels->scratch = set;
    return set;
}

void census_set_free(struct census_set *set)
{
    set->set->scratch = NULL;
    list_remove(&set->link);
    vec_clear(&set->meant_by);
    label_set_unref(set->set);
    free(set);
}
