/*
 * The scheduler's view of resources: names as small numbers, amounts as int64.
 *
 * A process-wide registry gives every resource name a number; nodes hold dense vectors over it,
 * pods short sorted sets. CPU counts in thousandths, everything else in whole units (bytes, pods,
 * devices), rounded up. One amount is at most RESOURCE_VALUE_MAX, one of many pods together
 * RESOURCE_TOTAL_MAX; sums saturate at RESOURCE_SUM_MAX. A pod that names a resource when
 * RESOURCE_NAMES_MAX names are known gets RESOURCE_OTHER, which no node has. Loop thread only;
 * names live for ever.
 */
#ifndef PUMICE_API_RESOURCES_H
#define PUMICE_API_RESOURCES_H

#include "base/quantity.h"
#include "json/reader.h"

enum {
    RESOURCE_CPU,
    RESOURCE_MEMORY,
    RESOURCE_EPHEMERAL_STORAGE,
    RESOURCE_PODS,
    RESOURCE_OTHER, /* a name that came when the registry was full */
    RESOURCE_FIXED_COUNT
};

#define RESOURCE_NAMES_MAX 1024
#define RESOURCE_VALUE_MAX (INT64_C(1) << 50)
/* 64 PiB: some clusters have more than a pebibyte of storage. */
#define RESOURCE_TOTAL_MAX (RESOURCE_VALUE_MAX * 64)
/* Where sums stop: far above any cluster, and two of them do not overflow. */
#define RESOURCE_SUM_MAX (RESOURCE_VALUE_MAX * 4096 - 1)

/* ---- registry --------------------------------------------------------------------------------
 */

/* The number of a name, given now when it is new and there is room; else RESOURCE_OTHER. */
uint32_t resource_id(struct str name);
/* Numbers given so far. */
uint32_t resource_id_count(void);
/* The name; lives for ever. */
const char *resource_name(uint32_t id);
/* "Insufficient <name>": why a node does not fit; lives for ever, one pointer a resource. */
const char *resource_insufficient(uint32_t id);
/* The amount in the unit of the resource, between 0 and RESOURCE_VALUE_MAX. */
int64_t resource_amount_of(uint32_t id, struct quantity quantity);
/* The same of a gang, a queue or more: between 0 and RESOURCE_TOTAL_MAX. */
int64_t resource_total_of(uint32_t id, struct quantity quantity);
/* Appends the amount in one form for people: cores "1.5", bytes "1.25Gi" (rounded down), else "2".
 */
void resource_print(struct buf *out, uint32_t id, int64_t amount);

/* ---- sets: what a pod asks for ----------------------------------------------------------------
 */

struct resource_amount {
    uint32_t id;
    int64_t amount; /* never 0 in a sum */
};

struct resource_set {
    struct resource_amount *items; /* owned, sorted by id */
    uint32_t n;
};

void resource_set_clear(struct resource_set *set);
/* The amount, 0 when the set has none. (Here, since it is asked for each node that is scored.) */
static inline int64_t resource_set_get(const struct resource_set *set, uint32_t id)
{
    for (uint32_t i = 0; i < set->n && set->items[i].id <= id; i++)
        if (set->items[i].id == id)
            return set->items[i].amount;
    return 0;
}
/* Sets one amount; 0 removes it. */
void resource_set_put(struct resource_set *set, uint32_t id, int64_t amount);
/* Sets one amount and keeps 0 too: for sets of limits, where 0 forbids what none leaves open. */
void resource_set_put_any(struct resource_set *set, uint32_t id, int64_t amount);
bool resource_set_equal(const struct resource_set *a, const struct resource_set *b);
/* Adds to a sum. One that gets to RESOURCE_SUM_MAX stays there; false when it was to shrink from
 * there: then only a fresh count tells what it is. */
bool resource_sum_add(int64_t *sum, int64_t delta);
/* Adds `other` times `times`; false as above. */
bool resource_set_add(struct resource_set *set, const struct resource_set *other, int64_t times);
/* The larger of both, element by element. */
void resource_set_max(struct resource_set *set, const struct resource_set *other);
struct resource_set resource_set_copy(const struct resource_set *set);
/* Reads an object of quantities that comes next into an empty set (null gives none). Where a name
 * comes twice, the last counts; amounts of 0 are kept. An unreadable quantity is raised in the
 * reader. */
void resource_set_read(struct json_reader *reader, struct resource_set *set);

/* ---- vectors: what a node has -----------------------------------------------------------------
 */

struct resource_vector {
    int64_t *v; /* owned, indexed by id */
    uint32_t n; /* ids at or past it are 0 */
};

void resource_vector_clear(struct resource_vector *vector);
static inline int64_t resource_vector_get(const struct resource_vector *vector, uint32_t id)
{
    return id < vector->n ? vector->v[id] : 0;
}
/* The slot of an id, made when it is absent. */
int64_t *resource_vector_slot(struct resource_vector *vector, uint32_t id);
/* Adds the set once (`sign` 1) or takes it away (-1); false as above. */
bool resource_vector_add(struct resource_vector *vector, const struct resource_set *set, int sign);
bool resource_vector_equal(const struct resource_vector *a, const struct resource_vector *b);
/* Reads an object of quantities that comes next into an empty vector. */
void resource_vector_read(struct json_reader *reader, struct resource_vector *vector);

#endif
