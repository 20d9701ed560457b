/*
 * Sets of indices as sorted spans: see ranges.h.
 */
#include "base/ranges.h"
#include "base/vec.h"

void ranges_clear(struct ranges *set)
{
    free(set->items);
    *set = (struct ranges)RANGES_INIT;
}

/* The first span that ends at `index` or behind it. */
static size_t find(const struct ranges *set, uint32_t index)
{
    size_t low = 0, high = set->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->items[middle].last < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool ranges_has(const struct ranges *set, uint32_t index)
{
    size_t at = find(set, index);

    return at < set->n && set->items[at].first <= index;
}

/* Puts `count` spans in the place of `old` of them, from `at` on. */
static void splice(struct ranges *set, size_t at, size_t old, const struct range *spans,
                   size_t count)
{
    const size_t tail = set->n - at - old;

    for (size_t grown = old; grown < count; grown++)
        vec_push(set, (struct range){0});
    if (tail > 0)
        memmove(&set->items[at + count], &set->items[at + old], tail * sizeof(*spans));
    if (count > 0)
        memcpy(&set->items[at], spans, count * sizeof(*spans));
    set->n = at + count + tail;
}

void ranges_add(struct ranges *set, uint32_t first, uint32_t last)
{
    struct range span = {first, last};
    size_t at = find(set, first > 0 ? first - 1 : 0), end = at;

    while (end < set->n && (last == UINT32_MAX || set->items[end].first <= last + 1)) {
        if (set->items[end].first < span.first)
            span.first = set->items[end].first;
        if (set->items[end].last > span.last)
            span.last = set->items[end].last;
        end++;
    }
    splice(set, at, end - at, &span, 1);
}

void ranges_remove(struct ranges *set, uint32_t first, uint32_t last)
{
    struct range rest[2];
    size_t at = find(set, first), end = at, count = 0;

    while (end < set->n && set->items[end].first <= last) {
        if (set->items[end].first < first)
            rest[count++] = (struct range){set->items[end].first, first - 1};
        if (set->items[end].last > last)
            rest[count++] = (struct range){last + 1, set->items[end].last};
        end++;
    }
    if (end > at)
        splice(set, at, end - at, rest, count);
}

uint32_t ranges_count(const struct ranges *set, uint32_t limit)
{
    uint32_t count = 0;

    for (size_t i = 0; i < set->n && set->items[i].first < limit; i++) {
        const uint32_t last = set->items[i].last < limit ? set->items[i].last : limit - 1;
        count += last - set->items[i].first + 1;
    }
    return count;
}

bool ranges_equal(const struct ranges *a, const struct ranges *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->items, b->items, a->n * sizeof(*a->items)) == 0);
}

void ranges_write(const struct ranges *set, struct buf *out)
{
    for (size_t i = 0; i < set->n; i++) {
        buf_printf(out, "%s%u", i ? "," : "", set->items[i].first);
        if (set->items[i].last > set->items[i].first)
            buf_printf(out, "-%u", set->items[i].last);
    }
}

static bool parse_index(struct str text, uint32_t *ret_index)
{
    int32_t value;

    if (!str_to_i32(text, &value) || value < 0)
        return false;
    *ret_index = (uint32_t)value;
    return true;
}

static bool parse_span(struct str text, struct range *ret_span)
{
    const ptrdiff_t dash = str_chr(text, '-');

    if (dash < 0)
        return parse_index(text, &ret_span->first) && parse_index(text, &ret_span->last);
    return parse_index(str_sub(text, 0, (size_t)dash), &ret_span->first) &&
           parse_index(str_from(text, (size_t)dash + 1), &ret_span->last) &&
           ret_span->first <= ret_span->last;
}

bool ranges_parse(struct ranges *set, struct str text)
{
    struct ranges read = RANGES_INIT;
    struct str part;
    bool good = true;

    while (good && str_split(&text, ',', &part)) {
        struct range span;
        good = parse_span(part, &span);
        if (good)
            ranges_add(&read, span.first, span.last);
    }
    for (size_t i = 0; good && i < read.n; i++)
        ranges_add(set, read.items[i].first, read.items[i].last);
    ranges_clear(&read);
    return good;
}
