/*
 * The census compared with a recount from scratch. See census.h.
 */
#include "scheduler/census_private.h"

/* Looks at a pod for a selection; where there would be more, whom selections mean is left out. */
#define LOOKS_MOST ((size_t)1000000)

static bool counts_equal(const struct counts *a, const struct counts *b)
{
    uint32_t key;
    int64_t amount;
    if (a->used != b->used || a->total != b->total)
        return false;
    for (uint32_t at = 0; counts_next(a, &at, &key, &amount);)
        if (counts_get(b, key) != amount)
            return false;
    return true;
}

/* Whom it means, by their labels themselves. */
static const char *audit_population(const struct cache *cache, const struct population *population)
{
    struct counts placed = {.slots = NULL}, ending = {.slots = NULL};
    void *value;
    for (size_t i = 0; map_next(&cache->tasks_by_uid, &i, NULL, &value);) {
        const struct sched_task *task = value;
        struct pod_labels labels = pod_labels_of(task->pod);
        if (!task->node || !population_means(cache, population, &labels))
            continue;
        counts_add(&placed, task->node->index, 1);
        if (task->status == TASK_RELEASING)
            counts_add(&ending, task->node->index, 1);
    }
    bool match =
        counts_equal(&placed, &population->placed) && counts_equal(&ending, &population->ending);
    counts_clear(&placed);
    counts_clear(&ending);
    return match ? NULL : "whom a selection means differs from a count of pods";
}

/* A recount of terms is of struct carried by the address of the record that they are counted in. */

static struct str key_of(struct carried *const *carried)
{
    return str_make((const char *)carried, sizeof(*carried));
}

static void recount_terms(struct map *recount, const struct sched_task *task)
{
    const struct census_class *entry = task->pod->cls->census;
    for (uint32_t i = 0; entry && task->node && i < entry->cls->rules.term_count; i++) {
        struct carried *counted = map_get(recount, key_of(&entry->terms[i]));
        if (!counted) {
            counted = xnew(struct carried);
            map_set(recount, key_of(&entry->terms[i]), counted);
        }
        carried_add(counted, &entry->cls->rules.terms[i], task->node->index, 1);
    }
}

static void free_recount(void *value)
{
    struct carried *counted = value;
    counts_clear(&counted->repels);
    counts_clear(&counted->draws);
    free(counted);
}

static bool matches(const struct map *recount, struct carried *carried)
{
    static const struct carried none;
    const struct carried *counted = map_get(recount, key_of(&carried));
    counted = counted ? counted : &none;
    return counts_equal(&counted->repels, &carried->repels) &&
           counts_equal(&counted->draws, &carried->draws);
}

static const char *audit_terms(const struct map *recount, const struct population *population)
{
    size_t felt = 0;
    for (size_t i = 0; i < population->carried.n; i++) {
        struct carried *carried = population->carried.items[i];
        felt += carried->label->nodes > 0;
        if (!matches(recount, carried))
            return "what terms of pods say of others differs from a count of pods";
    }
    return felt == population->felt.n ? NULL : "which terms are felt differs from a count";
}

/* What sets note of it. */
static const char *audit_notes(const struct cache *cache, const struct population *population)
{
    const struct list *sets = &cache->census->sets;
    for (const struct list *link = sets->next; link != sets; link = link->next) {
        const struct census_set *set = const_container_of(link, struct census_set, link);
        if (census_set_notes(set, population) != population_may_mean(cache, population, set->set))
            return "which selections may mean a set of labels differs from a look at them";
    }
    return NULL;
}

/* The numbers of those that there are, and the others. */
static const char *audit_numbers(const struct census *census)
{
    size_t there = 0;
    for (size_t i = 0; i < census->by_number.n; i++)
        there += census->by_number.items[i] && census->by_number.items[i]->number == i;
    return there == map_count(&census->populations) &&
                   there + census->unused.n + census->gone.n == census->by_number.n
               ? NULL
               : "the numbers of selections are wrong";
}

/* Which classes have pods on nodes. */
static const char *audit_classes(const struct cache *cache)
{
    const struct census *census = cache->census;
    size_t held = 0, placed = 0, on_nodes = 0;
    void *value;
    for (const struct list *link = census->classes.next; link != &census->classes;
         link = link->next) {
        const struct census_class *entry = const_container_of(link, struct census_class, link);
        held += entry->placed ? census_share_of(entry->cls) : 0;
        placed += entry->placed;
    }
    for (size_t i = 0; map_next(&cache->tasks_by_uid, &i, NULL, &value);) {
        const struct sched_task *task = value;
        on_nodes += task->node && task->pod->cls->census;
    }
    return held == census->held && placed == on_nodes ? NULL
                                                      : "which terms are of pods on nodes is wrong";
}

const char *census_audit(const struct cache *cache)
{
    const struct map *populations = &cache->census->populations, *tasks = &cache->tasks_by_uid;
    bool few = map_count(populations) * map_count(tasks) <= LOOKS_MOST;
    struct map recount = MAP_INIT;
    const char *wrong = audit_numbers(cache->census);
    void *value;
    if (!wrong)
        wrong = audit_classes(cache);
    for (size_t i = 0; map_next(tasks, &i, NULL, &value);)
        recount_terms(&recount, value);
    for (size_t i = 0; !wrong && map_next(populations, &i, NULL, &value);) {
        wrong = few ? audit_population(cache, value) : NULL;
        if (!wrong && few)
            wrong = audit_notes(cache, value);
        if (!wrong)
            wrong = audit_terms(&recount, value);
    }
    map_clear_with(&recount, free_recount);
    return wrong;
}
