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
    uint32_t refs, size;
    char text[]; /* NUL-terminated */
};

static struct {
    struct entry **buckets; /* owned */
    size_t size;            /* a power of two, or 0 */
    size_t count;
} table;

static struct str text_of(const struct entry *entry)
{
    return str_make(entry->text, entry->size);
}

/* Where a text belongs. Hashes are not kept: entries are many, and looked at mostly once. */
static struct entry **bucket_of(struct str text)
{
    return &table.buckets[keyed_hash(text) & (table.size - 1)];
}

static void table_grow(void)
{
    struct entry **old = table.buckets;
    size_t old_size = table.size;
    table.size = old_size ? old_size * 2 : BUCKETS_FIRST;
    table.buckets = xcalloc(table.size, sizeof(struct entry *));
    for (size_t i = 0; i < old_size; i++)
        for (struct entry *entry = old[i], *next; entry; entry = next) {
            next = entry->next;
            struct entry **bucket = bucket_of(text_of(entry));
            entry->next = *bucket;
            *bucket = entry;
        }
    free(old);
}

static struct entry *entry_of(const char *text)
{
    return (struct entry *)((uintptr_t)text - offsetof(struct entry, text));
}

const char *intern_get(struct str s)
{
    if (table.size)
        for (struct entry *entry = *bucket_of(s); entry; entry = entry->next)
            if (str_eq(text_of(entry), s)) {
                ENSURE(entry->refs < UINT32_MAX);
                entry->refs++;
                return entry->text;
            }
    if (table.count >= table.size)
        table_grow();
    ENSURE(s.n < UINT32_MAX);
    struct entry *entry = xmalloc(sizeof(*entry) + s.n + 1);
    struct entry **bucket = bucket_of(s);
    *entry = (struct entry){.next = *bucket, .refs = 1, .size = (uint32_t)s.n};
    if (s.n)
        memcpy(entry->text, s.p, s.n);
    entry->text[s.n] = '\0';
    *bucket = entry;
    table.count++;
    return entry->text;
}

const char *intern_ref(const char *text)
{
    if (text) {
        ENSURE(entry_of(text)->refs < UINT32_MAX);
        entry_of(text)->refs++;
    }
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
    struct entry **link = bucket_of(text_of(entry));
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
