/*
 * Objects, versions and history: see store.h.
 */
#include "server/store.h"
#include "base/ensure.h"

#define DOC_MAX ((size_t)64 << 20)
#define HISTORY_FIRST 64

/* ---- versions -------------------------------------------------------------------------------- */

static struct sim_version *version_new(uint64_t rv, struct str key, struct str text)
{
    struct sim_version *version = xmalloc(sizeof(*version) + key.n + text.n);
    char *bytes = (char *)(version + 1);
    memcpy(bytes, key.p, key.n);
    memcpy(bytes + key.n, text.p, text.n);
    *version = (struct sim_version){.refs = 1,
                                    .rv = rv,
                                    .key = str_make(bytes, key.n),
                                    .text = str_make(bytes + key.n, text.n)};
    return version;
}

struct sim_version *sim_version_ref(struct sim_version *version)
{
    version->refs++;
    return version;
}

void sim_version_unref(struct sim_version *version)
{
    if (version && --version->refs == 0)
        free(version);
}

struct doc *sim_version_doc(struct arena *arena, const struct sim_version *version)
{
    struct error err = ERROR_INIT;
    struct doc *doc = doc_parse(arena, arena_str(arena, version->text), &err);
    ENSURE(doc);
    return doc;
}

/* ---- history --------------------------------------------------------------------------------- */

static struct sim_change *change_at(const struct sim_table *table, size_t number)
{
    return &table->history[(table->history_first + number) % table->history_cap];
}

const struct sim_change *sim_table_change(const struct sim_table *table, size_t number)
{
    return change_at(table, number);
}

static void forget_oldest(struct sim_table *table)
{
    struct sim_change *change = change_at(table, 0);
    table->floor = change->rv;
    sim_version_unref(change->before);
    sim_version_unref(change->after);
    table->history_first = (table->history_first + 1) % table->history_cap;
    table->history_count--;
}

static void grow_history(struct sim_table *table)
{
    size_t cap = table->history_cap ? table->history_cap * 2 : HISTORY_FIRST;
    struct sim_change *grown = xcalloc(cap, sizeof(*grown));
    for (size_t i = 0; i < table->history_count; i++)
        grown[i] = *change_at(table, i);
    free(table->history);
    table->history = grown;
    table->history_cap = cap;
    table->history_first = 0;
}

static void remember(struct sim_store *store, struct sim_table *table, struct sim_change change)
{
    if (table->history_count == store->history_max)
        forget_oldest(table);
    if (table->history_count == table->history_cap)
        grow_history(table);
    *change_at(table, table->history_count++) = change;
}

bool sim_table_since(const struct sim_table *table, uint64_t rv, size_t *ret_first)
{
    size_t low = 0, high = table->history_count;
    if (rv < table->floor)
        return false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (change_at(table, middle)->rv <= rv)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_first = low;
    return true;
}

void sim_store_compact(struct sim_store *store)
{
    for (size_t i = 0; i < sim_resource_count(); i++) {
        while (store->tables[i].history_count > 0)
            forget_oldest(&store->tables[i]);
        store->tables[i].floor = store->rv;
    }
}

/* ---- watchers -------------------------------------------------------------------------------- */

void sim_store_watch(struct sim_store *store, const struct sim_resource *resource,
                     struct sim_watcher *watcher)
{
    list_append(&sim_store_table(store, resource)->watchers, &watcher->link);
}

void sim_store_unwatch(struct sim_watcher *watcher)
{
    list_remove(&watcher->link);
}

static void move_all(struct list *from, struct list *to)
{
    list_each(link, from)
    {
        list_remove(link);
        list_append(to, link);
    }
}

/* Takes over the references in `change`. A watcher may end others; one that comes meanwhile has
 * been told from the history. */
static void tell(struct sim_store *store, struct sim_change change)
{
    struct sim_table *table = sim_store_table(store, change.resource);
    struct list waiting;
    remember(store, table, change);
    list_init(&waiting);
    move_all(&table->watchers, &waiting);
    while (!list_empty(&waiting)) {
        struct list *first = waiting.next;
        struct sim_watcher *watcher = container_of(first, struct sim_watcher, link);
        list_remove(first);
        list_append(&table->watchers, first);
        watcher->fn(&change, watcher->arg);
    }
}

/* ---- owners ---------------------------------------------------------------------------------- */

static struct list *dependents_of(struct sim_store *store, struct str uid)
{
    struct list *head = map_get(&store->dependents, uid);
    if (head)
        return head;
    head = xnew(struct list);
    list_init(head);
    (void)map_set(&store->dependents, uid, head);
    return head;
}

struct list *sim_store_dependents(const struct sim_store *store, struct str uid)
{
    return map_get(&store->dependents, uid);
}

static void unlink_owner(struct sim_store *store, struct sim_owner_link *link)
{
    struct list *head = map_get(&store->dependents, str_of(link->owner_uid));
    list_remove(&link->link);
    if (list_empty(head))
        free(map_del(&store->dependents, str_of(link->owner_uid)));
    free(link->owner_uid);
    free(link);
}

static void unlink_owners(struct sim_store *store, struct sim_object *object)
{
    for (size_t i = 0; i < object->owners.n; i++)
        unlink_owner(store, object->owners.items[i]);
    vec_clear(&object->owners);
}

static bool owners_stand(const struct sim_object *object, const struct doc *owners)
{
    size_t at = 0;
    for (doc_each(owner, owners)) {
        if (at == object->owners.n ||
            !str_is(doc_str_at(owner, "uid"), object->owners.items[at]->owner_uid))
            return false;
        at++;
    }
    return at == object->owners.n;
}

static void link_owners(struct sim_store *store, struct sim_object *object, const struct doc *doc)
{
    const struct doc *owners = doc_at(doc, "metadata.ownerReferences");
    if (owners_stand(object, owners))
        return;
    unlink_owners(store, object);
    for (doc_each(owner, owners)) {
        struct sim_owner_link *link = xnew(struct sim_owner_link);
        link->dependent = object;
        link->owner_uid = str_dup(doc_str_at(owner, "uid"));
        list_append(dependents_of(store, str_of(link->owner_uid)), &link->link);
        vec_push(&object->owners, link);
    }
}

/* ---- objects --------------------------------------------------------------------------------- */

struct sim_object *sim_store_find(const struct sim_store *store,
                                  const struct sim_resource *resource, struct str key)
{
    struct index_node *node = index_find(&sim_store_table(store, resource)->objects, key);
    return node ? container_of(node, struct sim_object, node) : NULL;
}

struct sim_object *sim_store_from(const struct sim_store *store,
                                  const struct sim_resource *resource, struct str key)
{
    struct index_node *node = index_from(&sim_store_table(store, resource)->objects, key);
    return node ? container_of(node, struct sim_object, node) : NULL;
}

struct sim_object *sim_object_next(const struct sim_object *object)
{
    struct index_node *node = index_next(&object->node);
    return node ? container_of(node, struct sim_object, node) : NULL;
}

struct sim_object *sim_store_by_uid(const struct sim_store *store, struct str uid)
{
    return map_get(&store->by_uid, uid);
}

static struct sim_version *make_version(struct sim_store *store, struct str key,
                                        struct arena *arena, struct doc *doc)
{
    cleanup_buf struct buf text = BUF_INIT(DOC_MAX);
    struct doc *meta = doc_get(doc, STR("metadata"));
    store->rv++;
    doc_set_str(arena, meta, "resourceVersion",
                arena_printf(arena, "%llu", (unsigned long long)store->rv));
    doc_print(&text, doc);
    ENSURE(!text.overflow);
    return version_new(store->rv, key, buf_str(&text));
}

static void take_facts(struct sim_store *store, struct sim_object *object, const struct doc *doc)
{
    object->terminating = doc_at(doc, "metadata.deletionTimestamp") != NULL;
    link_owners(store, object, doc);
}

struct sim_object *sim_store_add(struct sim_store *store, const struct sim_resource *resource,
                                 struct str key, struct arena *arena, struct doc *doc)
{
    struct sim_object *object = xnew(struct sim_object);
    object->resource = resource;
    object->key = str_dup(key);
    object->uid = str_dup(doc_str_at(doc, "metadata.uid"));
    object->node.key = str_of(object->key);
    ENSURE(index_add(&sim_store_table(store, resource)->objects, &object->node));
    ENSURE(!map_set(&store->by_uid, str_of(object->uid), object));
    object->now = make_version(store, key, arena, doc);
    take_facts(store, object, doc);
    tell(store, (struct sim_change){.rv = store->rv,
                                    .type = SIM_ADDED,
                                    .resource = resource,
                                    .after = sim_version_ref(object->now)});
    return object;
}

void sim_store_replace(struct sim_store *store, struct sim_object *object, struct arena *arena,
                       struct doc *doc)
{
    struct sim_version *before = object->now;
    object->now = make_version(store, str_of(object->key), arena, doc);
    take_facts(store, object, doc);
    tell(store, (struct sim_change){.rv = store->rv,
                                    .type = SIM_MODIFIED,
                                    .resource = object->resource,
                                    .before = before,
                                    .after = sim_version_ref(object->now)});
}

static void object_free(struct sim_store *store, struct sim_object *object)
{
    unlink_owners(store, object);
    sim_version_unref(object->now);
    free(object->key);
    free(object->uid);
    free(object->applied);
    free(object);
}

void sim_store_remove(struct sim_store *store, struct sim_object *object, struct arena *arena,
                      struct doc *doc)
{
    struct sim_change change = {
        .type = SIM_DELETED, .resource = object->resource, .before = sim_version_ref(object->now)};
    change.after = make_version(store, str_of(object->key), arena, doc);
    change.rv = store->rv;
    index_remove(&sim_store_table(store, object->resource)->objects, &object->node);
    (void)map_del(&store->by_uid, str_of(object->uid));
    object_free(store, object);
    tell(store, change);
}

/* ---- the store ------------------------------------------------------------------------------- */

void sim_store_init(struct sim_store *store, size_t history_max)
{
    *store = (struct sim_store){.by_uid = MAP_INIT_BORROWS, .dependents = MAP_INIT, .rv = 1};
    store->history_max = history_max;
    store->tables = xcalloc(sim_resource_count(), sizeof(*store->tables));
    for (size_t i = 0; i < sim_resource_count(); i++)
        list_init(&store->tables[i].watchers);
}

void sim_store_clear(struct sim_store *store)
{
    for (size_t i = 0; i < sim_resource_count(); i++) {
        struct sim_table *table = &store->tables[i];
        ENSURE(list_empty(&table->watchers));
        while (table->history_count > 0)
            forget_oldest(table);
        free(table->history);
        for (struct index_node *node; (node = index_from(&table->objects, STR_NULL));) {
            index_remove(&table->objects, node);
            object_free(store, container_of(node, struct sim_object, node));
        }
    }
    map_clear(&store->by_uid);
    map_clear(&store->dependents);
    free(store->tables);
}
