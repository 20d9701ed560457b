/*
 * Interned strings: one chained hash table of counted entries for the process.
 *
 * Used from the loop thread only. Callers own one reference for each intern_get or intern_ref; the
 * table itself holds none, and gives its memory back with the last entry.
 */
#include "base/intern.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/keyed_hash.h"

#define BUCKETS_FIRST 64

struct entry {
    struct entry *next; /* owned by the table, same bucket */
    uint64_t hash;
    size_t refs;
    size_t size;
    char text[]; /* NUL-terminated */
};

static struct {
    struct entry **buckets; /* owned */
    size_t size;            /* a power of two, or 0 */
    size_t count;
} table;

static void table_grow(void)
{
    size_t size = table.size ? table.size * 2 : BUCKETS_FIRST;
    struct entry **buckets = xcalloc(size, sizeof(struct entry *));
    for (size_t i = 0; i < table.size; i++)
        for (struct entry *entry = table.buckets[i], *next; entry; entry = next) {
            next = entry->next;
            struct entry **bucket = &buckets[entry->hash & (size - 1)];
            entry->next = *bucket;
            *bucket = entry;
        }
    free(table.buckets);
    table.buckets = buckets;
    table.size = size;
}

static struct entry *entry_of(const char *text)
{
    return (struct entry *)((uintptr_t)text - offsetof(struct entry, text));
}

const char *intern_get(struct str s)
{
    uint64_t hash = keyed_hash(s);
    if (table.size)
        for (struct entry *entry = table.buckets[hash & (table.size - 1)]; entry;
             entry = entry->next)
            if (entry->hash == hash && str_eq(str_make(entry->text, entry->size), s)) {
                entry->refs++;
                return entry->text;
            }
    if (table.count >= table.size)
        table_grow();
    ENSURE(s.n < SIZE_MAX - sizeof(struct entry));
    struct entry *entry = xmalloc(sizeof(*entry) + s.n + 1);
    struct entry **bucket = &table.buckets[hash & (table.size - 1)];
    *entry = (struct entry){.next = *bucket, .hash = hash, .refs = 1, .size = s.n};
    if (s.n)
        memcpy(entry->text, s.p, s.n);
    entry->text[s.n] = '\0';
    *bucket = entry;
    table.count++;
    return entry->text;
}

const char *intern_ref(const char *text)
{
    if (text)
        entry_of(text)->refs++;
    return text;
}

void intern_put(const char *text)
{
    if (!text)
        return;
    struct entry *entry = entry_of(text);
    ENSURE(entry->refs > 0);
    if (--entry->refs > 0)
        return;
    struct entry **link = &table.buckets[entry->hash & (table.size - 1)];
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    free(entry);
    if (--table.count == 0) {
        free(table.buckets);
        table.buckets = NULL;
        table.size = 0;
    }
}

size_t intern_count(void)
{
    return table.count;
}
