/*
 * Counting pods by what selects them. See census.h.
 *
 * Registering a population looks at every set of labels once, and at the pods of those it means;
 * from then on only changes count. When it goes no set is looked at.
 */
#include "scheduler/census.h"
#include "api/names.h"
#include "base/ensure.h"
#include "base/intern.h"
#include "base/limits.h"
#include "scheduler/cache_private.h"
#include "scheduler/census_private.h"
#include "scheduler/fit.h"

/* ---- who is meant ---------------------------------------------------------------------------- */

static const struct kube_pairs *namespace_labels(const struct cache *cache, const char *ns)
{
    return map_get(&cache->census->namespaces, str_of(ns));
}

static bool is_within(const struct population *population, const char *ns,
                      const struct kube_pairs *labels)
{
    for (uint32_t i = 0; i < population->n; i++)
        if (!pod_selection_has_namespace(population->all[i], ns, labels))
            return false;
    return true;
}

static bool has_namespace(const struct cache *cache, const struct population *population,
                          const char *ns)
{
    return is_within(population, ns, population->by_namespace ? namespace_labels(cache, ns) : NULL);
}

static bool selects(const struct population *population, const struct pod_labels *labels)
{
    for (uint32_t i = 0; i < population->n; i++)
        if (!label_selector_matches(&population->all[i]->selector, pod_labels_value, labels))
            return false;
    return true;
}

bool population_means(const struct cache *cache, const struct population *population,
                      const struct pod_labels *labels)
{
    return has_namespace(cache, population, labels->set->ns) && selects(population, labels);
}

bool population_may_mean(const struct cache *cache, const struct population *population,
                         const struct label_set *set)
{
    struct pod_labels labels = {set, -1};
    return has_namespace(cache, population, set->ns) &&
           (population->by_index || selects(population, &labels));
}

bool population_means_task(const struct population *population, const struct sched_task *task)
{
    struct pod_labels labels = pod_labels_of(task->pod);
    return !population->by_index || selects(population, &labels);
}

/* ---- populations ----------------------------------------------------------------------------- */

static void count(struct population *population, const struct sched_task *task,
                  const struct sched_node *node, enum task_status status, int sign)
{
    if (!population_means_task(population, task))
        return;
    counts_add(&population->placed, node->index, sign);
    if (status == TASK_RELEASING)
        counts_add(&population->ending, node->index, sign);
}

/* Takes a set in (`meant`) or out, with its pods on nodes. */
static void include(struct population *population, struct census_set *set, bool meant)
{
    census_set_note(set, population, meant);
    list_each(link, &set->placed)
    {
        const struct sched_task *task = container_of(link, struct sched_task, placed);
        count(population, task, task->node, task->status, meant ? 1 : -1);
    }
}

static char *key_of(const struct pod_selection *const *all, uint32_t n)
{
    cleanup_buf struct buf key = BUF_INIT(SIZE_MAX);
    for (uint32_t i = 0; i < n; i++)
        pod_selection_write(all[i], &key);
    return buf_take(&key);
}

static struct population *population_new(struct cache *cache, struct pod_class *source,
                                         const struct pod_selection *const *all, uint32_t n,
                                         char *key)
{
    struct population *population = xnew(struct population);
    population->key = key;
    population->source = pod_class_ref(source);
    population->all = xcalloc(n, sizeof(*population->all));
    population->n = n;
    for (uint32_t i = 0; i < n; i++) {
        population->all[i] = all[i];
        population->by_index |= label_selector_names(&all[i]->selector, KEY_TASK_INDEX);
        population->by_namespace |= all[i]->namespace_selector.present;
    }
    census_number(cache, population);
    map_set(&cache->census->populations, str_of(key), population);
    list_each(link, &cache->census->sets)
    {
        struct census_set *set = container_of(link, struct census_set, link);
        if (population_may_mean(cache, population, set->set))
            include(population, set, true);
        cache->work++;
    }
    return population;
}

struct population *population_get(struct cache *cache, struct pod_class *source,
                                  const struct pod_selection *const *all, uint32_t n)
{
    char *key = key_of(all, n);
    struct population *population = map_get(&cache->census->populations, str_of(key));
    if (population)
        free(key);
    else
        population = population_new(cache, source, all, n, key);
    population->refs++;
    return population;
}

void census_eased(struct cache *cache)
{
    if (cache->census->turned_away)
        cache_room(cache);
    cache->census->turned_away = false;
}

void population_put(struct cache *cache, struct population *population)
{
    if (!population)
        return;
    ENSURE(population->refs > 0);
    if (--population->refs)
        return;
    census_number_drop(cache->census, population);
    map_del(&cache->census->populations, str_of(population->key));
    census_eased(cache);
    fit_forget(cache, &population->placed);
    fit_forget(cache, &population->ending);
    counts_clear(&population->placed);
    counts_clear(&population->ending);
    vec_clear(&population->carried);
    vec_clear(&population->felt);
    pod_class_unref(population->source);
    free(population->all);
    free(population->key);
    free(population);
}

/* ---- classes --------------------------------------------------------------------------------- */

static bool has_rules(const struct pod_class *cls)
{
    return cls->rules.term_count || cls->rules.spread_count;
}

/* What all required affinity terms mean together. */
static struct population *together(struct cache *cache, struct pod_class *cls)
{
    const struct pod_rules *rules = &cls->rules;
    const struct pod_selection **all = xcalloc(rules->term_count + 1, sizeof(*all));
    uint32_t n = 0;
    for (uint32_t i = 0; i < rules->term_count; i++)
        if (rules->terms[i].kind == TERM_AFFINITY)
            all[n++] = &rules->terms[i].pods;
    struct population *population = n ? population_get(cache, cls, all, n) : NULL;
    free(all);
    return population;
}

static bool has_room(const struct census *census, const struct pod_class *cls)
{
    return map_count(&census->populations) + census_share_of(cls) <= census->most &&
           census->carried + cls->rules.term_count <= census->most;
}

/* NULL when there is no room for what it may select. */
static struct census_class *class_new(struct cache *cache, struct pod_class *cls)
{
    const struct pod_rules *rules = &cls->rules;
    if (!has_room(cache->census, cls)) {
        cache->census->turned_away = true;
        return NULL;
    }
    struct census_class *entry = xnew(struct census_class);
    entry->cls = pod_class_ref(cls);
    list_init(&entry->link);
    list_append(&cache->census->classes, &entry->link);
    entry->together = together(cache, cls);
    if (entry->together)
        entry->together->wanted++;
    entry->terms = xcalloc(rules->term_count + 1, sizeof(struct carried *));
    for (uint32_t i = 0; i < rules->term_count; i++)
        entry->terms[i] = carried_get(cache, cls, &rules->terms[i]);
    entry->selections = xcalloc(rules->spread_count + 1, sizeof(struct population *));
    for (uint32_t i = 0; i < rules->spread_count; i++) {
        const struct pod_selection *all = &rules->spreads[i].pods;
        entry->selections[i] = population_get(cache, cls, &all, 1);
        entry->selections[i]->wanted += rules->spreads[i].required;
    }
    cls->census = entry;
    return entry;
}

static void class_free(struct cache *cache, struct census_class *entry)
{
    struct pod_class *cls = entry->cls;
    ENSURE(entry->placed == 0);
    cls->census = NULL;
    list_remove(&entry->link);
    if (entry->together)
        entry->together->wanted--;
    for (uint32_t i = 0; i < cls->rules.spread_count; i++)
        entry->selections[i]->wanted -= cls->rules.spreads[i].required;
    population_put(cache, entry->together);
    for (uint32_t i = 0; i < cls->rules.term_count; i++)
        carried_put(cache, entry->terms[i]);
    for (uint32_t i = 0; i < cls->rules.spread_count; i++)
        population_put(cache, entry->selections[i]);
    free(entry->terms);
    free(entry->selections);
    free(entry);
    pod_class_unref(cls);
}

/* Makes room for a class that has a pod on a node: those that have none are turned away, the latest
 * first; nobody is where that would not do. */
static void displace(struct cache *cache, const struct pod_class *cls)
{
    struct census *census = cache->census;
    if (census->held + census_share_of(cls) > census->most)
        return;
    for (struct list *link = census->classes.prev, *before; link != &census->classes;
         link = before) {
        struct census_class *entry = container_of(link, struct census_class, link);
        before = link->prev;
        if (has_room(census, cls))
            return;
        if (entry->placed)
            continue;
        census->uncounted += entry->uses;
        class_free(cache, entry);
        census->turned_away = true;
    }
}

static void note_placed(struct census *census, struct census_class *entry, bool placed)
{
    if (placed && entry->placed++ == 0)
        census->held += census_share_of(entry->cls);
    else if (!placed && --entry->placed == 0)
        census->held -= census_share_of(entry->cls);
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* Counts what the task's own terms say of others, in or out. */
static void carry_terms(const struct sched_task *task, const struct sched_node *node, int sign)
{
    const struct census_class *entry = task->pod->cls->census;
    for (uint32_t i = 0; entry && i < entry->cls->rules.term_count; i++)
        carried_add(entry->terms[i], &entry->cls->rules.terms[i], node->index, sign);
}

/* Takes in a class with pods that came when there was no room. */
static struct census_class *class_late(struct cache *cache, struct pod_class *cls)
{
    struct census_class *entry = class_new(cache, cls);
    void *value;
    for (size_t i = 0; entry && map_next(&cache->tasks_by_uid, &i, NULL, &value);) {
        const struct sched_task *task = value;
        if (task->pod->cls != cls)
            continue;
        entry->uses++;
        cache->census->uncounted--;
        if (!task->node)
            continue;
        cache_log_node(cache, task->node); /* tables may add up the same term already */
        carry_terms(task, task->node, 1);
        note_placed(cache->census, entry, true);
    }
    if (entry)
        cache->work += map_count(&cache->tasks_by_uid);
    return entry;
}

void census_enter(struct cache *cache, struct sched_task *task)
{
    struct pod_class *cls = task->pod->cls;
    struct label_set *labels = task->pod->labels;
    struct census_set *set = labels->scratch ? labels->scratch : census_set_new(cache, labels);
    set->uses++;
    list_init(&task->placed);
    if (!has_rules(cls))
        return;
    struct census_class *entry = cls->census;
    if (!entry)
        entry = cache->census->uncounted ? class_late(cache, cls) : class_new(cache, cls);
    if (entry)
        entry->uses++;
    else
        cache->census->uncounted++;
}

void census_leave(struct cache *cache, struct sched_task *task)
{
    struct pod_class *cls = task->pod->cls;
    struct census_set *set = task->pod->labels->scratch;
    struct census_class *entry = cls->census;
    if (has_rules(cls) && !entry)
        cache->census->uncounted--;
    if (entry && --entry->uses == 0)
        class_free(cache, entry);
    if (--set->uses == 0)
        census_set_free(set);
}

const char *census_refuses(struct cache *cache, struct pod_class *cls)
{
    if (cls->rules.excess)
        return cls->rules.excess;
    if (!has_rules(cls) || cls->census || class_late(cache, cls))
        return NULL;
    return "the affinity and spread constraints of all pods in the cluster select pods in too many "
           "different ways";
}

/* Counts a task on a node in or out. */
static void count_task(const struct census *census, const struct sched_task *task,
                       const struct sched_node *node, enum task_status status, int sign)
{
    struct population *population;
    for (uint32_t i = 0; census_next(census, task->pod->labels->scratch, &i, &population);)
        count(population, task, node, status, sign);
    carry_terms(task, node, sign);
}

static bool is_wanted(const struct census *census, const struct census_set *set)
{
    struct population *population;
    for (uint32_t i = 0; census_next(census, set, &i, &population);)
        if (population->wanted)
            return true;
    return false;
}

static bool is_meant(const struct census *census, const struct census_set *set)
{
    struct population *population;
    uint32_t i = 0;
    return census_next(census, set, &i, &population);
}

/* Whether a pod is on a node from now on that was not, as far as others were told: what a statement
 * places counts when it is bound. */
static bool appears(const struct cache *cache, const struct sched_task *task,
                    const struct sched_node *node)
{
    return node && !cache->stating && (task->node != node || task->status == TASK_ALLOCATED);
}

/* A task comes to a node by another's doing, and its rules are not counted: they are to be. */
static void admit_placed(struct cache *cache, struct sched_task *task)
{
    struct pod_class *cls = task->pod->cls;
    if (cls->census || !has_rules(cls) || cache->stating)
        return;
    displace(cache, cls);
    (void)class_late(cache, cls);
}

static void move_link(struct census *census, struct census_set *set, struct sched_task *task,
                      const struct sched_node *node)
{
    struct census_class *entry = task->pod->cls->census;
    if (!task->node == !node)
        return;
    if (node)
        list_append(&set->placed, &task->placed);
    else
        list_remove(&task->placed);
    if (entry)
        note_placed(census, entry, node != NULL);
}

void census_move(struct cache *cache, struct sched_task *task, enum task_status status,
                 struct sched_node *node)
{
    struct census_set *set = task->pod->labels->scratch;
    if (node && task->node != node)
        admit_placed(cache, task);
    bool ends = (task->status == TASK_RELEASING) != (status == TASK_RELEASING);
    if ((appears(cache, task, node) || (task->node == node && node && ends)) &&
        is_wanted(cache->census, set))
        cache_room(cache); /* who wants such pods near, or domains evened out, may fit now */
    if (task->node == node && (!node || !ends))
        return;
    if (task->node)
        count_task(cache->census, task, task->node, task->status, -1);
    if (node)
        count_task(cache->census, task, node, status, 1);
    if (task->node == node && is_meant(cache->census, set))
        cache_log_node(cache, node); /* a change of place is logged as such */
    move_link(cache->census, set, task, node);
}

/* ---- namespaces ------------------------------------------------------------------------------ */

/* Takes the sets of a namespace in or out, as populations mean them now; false when that changes
 * none. */
static bool reconsider(struct cache *cache, struct population *const *populations, size_t n,
                       const char *ns)
{
    bool changed = false;
    list_each(link, &cache->census->sets)
    {
        struct census_set *set = container_of(link, struct census_set, link);
        for (size_t i = 0; i < n && set->set->ns == ns; i++) {
            bool shall = population_may_mean(cache, populations[i], set->set);
            if (census_set_notes(set, populations[i]) == shall)
                continue;
            include(populations[i], set, shall);
            changed = true;
        }
    }
    return changed;
}

/* The labels of a namespace (interned) are others: whoever goes by them is looked at again. */
static bool namespace_changed(struct cache *cache, const char *ns, const struct kube_pairs *before,
                              const struct kube_pairs *now)
{
    const struct census *census = cache->census;
    VEC(struct population *) moved = {NULL, 0, 0};
    for (size_t i = 0; i < census->by_number.n; i++) {
        struct population *population = census->by_number.items[i];
        if (population && population->by_namespace &&
            is_within(population, ns, before) != is_within(population, ns, now))
            vec_push(&moved, population);
    }
    bool changed = moved.n && reconsider(cache, moved.items, moved.n, ns);
    vec_clear(&moved);
    return changed;
}

static void free_labels(void *value)
{
    if (!value)
        return;
    kube_pairs_clear(value);
    free(value);
}

bool cache_set_namespace(struct cache *cache, const char *name, const struct kube_pairs *labels)
{
    struct census *census = cache->census;
    struct kube_pairs *copy = NULL, *before = map_get(&census->namespaces, str_of(name));
    if (before && labels && kube_pairs_equal(before, labels))
        return false;
    if (labels) {
        copy = xnew(struct kube_pairs);
        *copy = kube_pairs_copy(labels);
        map_set(&census->namespaces, str_of(name), copy);
    } else {
        map_del(&census->namespaces, str_of(name));
    }
    const char *ns = intern_get(str_of(name));
    bool changed = namespace_changed(cache, ns, before, copy);
    intern_put(ns);
    free_labels(before);
    if (!changed)
        return false;
    cache_log_all(cache);
    cache_room(cache);
    return true;
}

struct census *census_new(void)
{
    struct census *census = xnew(struct census);
    census->populations.borrows = true;
    census->most = LIMIT_SELECTIONS;
    list_init(&census->sets);
    list_init(&census->classes);
    return census;
}

void census_free(struct census *census)
{
    ENSURE(list_empty(&census->sets));
    map_clear(&census->populations);
    vec_clear(&census->by_number);
    vec_clear(&census->unused);
    vec_clear(&census->gone);
    map_clear_with(&census->namespaces, free_labels);
    free(census);
}
