/*
 * Resource names, sets and vectors. See resources.h.
 *
 * The registry is the only global state: it only grows, up to RESOURCE_NAMES_MAX names, and is
 * used from the loop thread alone.
 */
#include "api/resources.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/map.h"

static struct {
    struct map ids; /* name to number + 1 */
    char *names[RESOURCE_NAMES_MAX];
    char *insufficient[RESOURCE_NAMES_MAX];
    uint32_t count;
} registry;

static uint32_t registry_add(struct str name, const char *insufficient)
{
    uint32_t id = registry.count++;
    registry.names[id] = str_dup(name);
    registry.insufficient[id] =
        insufficient ? xstrdup(insufficient) : xasprintf("Insufficient %.*s", STR_ARG(name));
    map_set(&registry.ids, name, (void *)(uintptr_t)(id + 1));
    return id;
}

static void registry_start(void)
{
    if (registry.count)
        return;
    registry_add(STR("cpu"), NULL);
    registry_add(STR("memory"), NULL);
    registry_add(STR("ephemeral-storage"), NULL);
    registry_add(STR("pods"), "node(s) pod number exceeded");
    registry_add(STR("(others)"), "Insufficient extended resources");
}

uint32_t resource_id(struct str name)
{
    registry_start();
    uintptr_t found = (uintptr_t)map_get(&registry.ids, name);
    if (found)
        return (uint32_t)(found - 1);
    if (registry.count == RESOURCE_NAMES_MAX)
        return RESOURCE_OTHER;
    return registry_add(name, NULL);
}

uint32_t resource_id_count(void)
{
    registry_start();
    return registry.count;
}

const char *resource_name(uint32_t id)
{
    registry_start();
    ENSURE(id < registry.count);
    return registry.names[id];
}

const char *resource_insufficient(uint32_t id)
{
    registry_start();
    ENSURE(id < registry.count);
    return registry.insufficient[id];
}

static int64_t amount_up_to(int64_t most, uint32_t id, struct quantity quantity)
{
    int64_t amount = id == RESOURCE_CPU ? quantity_milli(quantity) : quantity_value(quantity);
    if (amount < 0)
        return 0;
    return amount > most ? most : amount;
}

int64_t resource_amount_of(uint32_t id, struct quantity quantity)
{
    return amount_up_to(RESOURCE_VALUE_MAX, id, quantity);
}

int64_t resource_total_of(uint32_t id, struct quantity quantity)
{
    return amount_up_to(RESOURCE_TOTAL_MAX, id, quantity);
}

/* "1.25" of 1250 thousandths; no zeros at the end. */
static void print_decimal(struct buf *out, int64_t whole, int64_t thousandths)
{
    buf_add_i64(out, whole);
    if (thousandths == 0)
        return;
    buf_add_char(out, '.');
    for (int64_t digit = 100; thousandths > 0; digit /= 10) {
        buf_add_char(out, (char)('0' + thousandths / digit));
        thousandths %= digit;
    }
}

/* In the largest binary unit of which there is one, with two decimals, rounded down. */
static void print_bytes(struct buf *out, int64_t amount)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    int64_t scale = 1;
    size_t unit = 0;
    for (; unit + 1 < ARRAY_SIZE(units) && amount / scale >= 1024; unit++)
        scale *= 1024;
    print_decimal(out, amount / scale, amount % scale * 100 / scale * 10);
    buf_add_cstr(out, units[unit]);
}

static bool is_bytes(uint32_t id)
{
    return id == RESOURCE_MEMORY || id == RESOURCE_EPHEMERAL_STORAGE ||
           str_starts(str_of(resource_name(id)), STR("hugepages-"));
}

void resource_print(struct buf *out, uint32_t id, int64_t amount)
{
    if (amount < 0) {
        buf_add_char(out, '-');
        amount = amount == INT64_MIN ? INT64_MAX : -amount;
    }
    if (id == RESOURCE_CPU)
        print_decimal(out, amount / 1000, amount % 1000);
    else if (is_bytes(id))
        print_bytes(out, amount);
    else
        buf_add_i64(out, amount);
}

/* ---- sets ------------------------------------------------------------------------------------ */

void resource_set_clear(struct resource_set *set)
{
    free(set->items);
    *set = (struct resource_set){NULL, 0};
}

/* The position of `id`, or where it belongs. */
static uint32_t set_position(const struct resource_set *set, uint32_t id)
{
    uint32_t at = 0;
    while (at < set->n && set->items[at].id < id)
        at++;
    return at;
}

static void set_insert(struct resource_set *set, uint32_t at, uint32_t id, int64_t amount)
{
    set->items = xreallocarray(set->items, set->n + 1, sizeof(*set->items));
    memmove(&set->items[at + 1], &set->items[at], (set->n - at) * sizeof(*set->items));
    set->items[at] = (struct resource_amount){id, amount};
    set->n++;
}

static void set_remove(struct resource_set *set, uint32_t at)
{
    memmove(&set->items[at], &set->items[at + 1], (set->n - at - 1) * sizeof(*set->items));
    set->n--;
}

void resource_set_put(struct resource_set *set, uint32_t id, int64_t amount)
{
    uint32_t at = set_position(set, id);
    bool there = at < set->n && set->items[at].id == id;
    if (there && amount)
        set->items[at].amount = amount;
    else if (there)
        set_remove(set, at);
    else if (amount)
        set_insert(set, at, id, amount);
}

void resource_set_put_any(struct resource_set *set, uint32_t id, int64_t amount)
{
    uint32_t at = set_position(set, id);
    if (at < set->n && set->items[at].id == id)
        set->items[at].amount = amount;
    else
        set_insert(set, at, id, amount);
}

bool resource_set_equal(const struct resource_set *a, const struct resource_set *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->items[i].id != b->items[i].id || a->items[i].amount != b->items[i].amount)
            return false;
    return true;
}

bool resource_sum_add(int64_t *sum, int64_t delta)
{
    int64_t total;
    if (*sum == RESOURCE_SUM_MAX)
        return delta >= 0;
    bool over = __builtin_add_overflow(*sum, delta, &total) || total > RESOURCE_SUM_MAX;
    *sum = over ? RESOURCE_SUM_MAX : total;
    return true;
}

static int64_t product(int64_t amount, int64_t times)
{
    int64_t total;
    if (__builtin_mul_overflow(amount, times, &total) || total > RESOURCE_SUM_MAX ||
        total < -RESOURCE_SUM_MAX)
        return (amount < 0) == (times < 0) ? RESOURCE_SUM_MAX : -RESOURCE_SUM_MAX;
    return total;
}

bool resource_set_add(struct resource_set *set, const struct resource_set *other, int64_t times)
{
    bool exact = true;
    for (uint32_t i = 0; i < other->n; i++) {
        uint32_t id = other->items[i].id;
        int64_t total = resource_set_get(set, id);
        exact = resource_sum_add(&total, product(other->items[i].amount, times)) && exact;
        resource_set_put(set, id, total);
    }
    return exact;
}

void resource_set_max(struct resource_set *set, const struct resource_set *other)
{
    for (uint32_t i = 0; i < other->n; i++)
        if (other->items[i].amount > resource_set_get(set, other->items[i].id))
            resource_set_put(set, other->items[i].id, other->items[i].amount);
}

struct resource_set resource_set_copy(const struct resource_set *set)
{
    struct resource_set copy = {NULL, 0};
    if (!set->n)
        return copy;
    copy.items = xreallocarray(NULL, set->n, sizeof(*copy.items));
    memcpy(copy.items, set->items, set->n * sizeof(*copy.items));
    copy.n = set->n;
    return copy;
}

/* Reads one quantity; raises an error in the reader when it is none. */
static bool read_amount(struct json_reader *reader, uint32_t id, int64_t *ret_amount)
{
    struct str text = json_scalar(reader);
    if (json_failed(reader))
        return false;
    struct quantity quantity;
    struct error err = ERROR_INIT;
    if (quantity_parse(text, &quantity, &err) < 0) {
        json_fail(reader, "a resource amount is not a quantity");
        return false;
    }
    *ret_amount = resource_amount_of(id, quantity);
    return true;
}

void resource_set_read(struct json_reader *reader, struct resource_set *set)
{
    struct str key;
    int64_t amount;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        uint32_t id = resource_id(key);
        if (read_amount(reader, id, &amount))
            resource_set_put_any(set, id, amount);
    }
}

/* ---- vectors --------------------------------------------------------------------------------- */

void resource_vector_clear(struct resource_vector *vector)
{
    free(vector->v);
    *vector = (struct resource_vector){NULL, 0};
}

int64_t *resource_vector_slot(struct resource_vector *vector, uint32_t id)
{
    if (id >= vector->n) {
        uint32_t n = id < RESOURCE_FIXED_COUNT ? RESOURCE_FIXED_COUNT : id + 1;
        vector->v = xreallocarray(vector->v, n, sizeof(*vector->v));
        memset(vector->v + vector->n, 0, (n - vector->n) * sizeof(*vector->v));
        vector->n = n;
    }
    return &vector->v[id];
}

bool resource_vector_add(struct resource_vector *vector, const struct resource_set *set, int sign)
{
    bool exact = true;
    for (uint32_t i = 0; i < set->n; i++)
        exact = resource_sum_add(resource_vector_slot(vector, set->items[i].id),
                                 sign * set->items[i].amount) &&
                exact;
    return exact;
}

bool resource_vector_equal(const struct resource_vector *a, const struct resource_vector *b)
{
    uint32_t n = a->n > b->n ? a->n : b->n;
    for (uint32_t id = 0; id < n; id++)
        if (resource_vector_get(a, id) != resource_vector_get(b, id))
            return false;
    return true;
}

void resource_vector_read(struct json_reader *reader, struct resource_vector *vector)
{
    struct str key;
    int64_t amount;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        uint32_t id = resource_id(key);
        if (read_amount(reader, id, &amount) && id != RESOURCE_OTHER)
            *resource_vector_slot(vector, id) = amount;
    }
}
