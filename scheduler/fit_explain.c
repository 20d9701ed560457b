/*
 * Why pods fit nowhere, in a sentence over all nodes. See fit.h.
 */
#include "scheduler/fit_private.h"
#include "scheduler/holds.h"

#define REASONS_MAX 32

struct histogram {
    const char *reason[REASONS_MAX];
    uint32_t count[REASONS_MAX];
    uint32_t n, others;
};

static void histogram_add(struct histogram *histogram, const char *reason)
{
    for (uint32_t i = 0; i < histogram->n; i++)
        if (histogram->reason[i] == reason) {
            histogram->count[i]++;
            return;
        }
    if (histogram->n == REASONS_MAX) {
        histogram->others++;
        return;
    }
    histogram->reason[histogram->n] = reason;
    histogram->count[histogram->n++] = 1;
}

/* Why it does not fit; for whom it is held stands on the node. */
static const char *reason_of(const char *reason, const struct sched_node *node)
{
    const char *holder = reason == fit_held_back ? holds_reason(node) : NULL;
    return holder ? holder : reason;
}

/* By text, so that the sentence does not depend on the order of nodes. */
static void histogram_sort(struct histogram *histogram)
{
    for (uint32_t i = 1; i < histogram->n; i++)
        for (uint32_t j = i; j > 0 && strcmp(histogram->reason[j], histogram->reason[j - 1]) < 0;
             j--) {
            const char *reason = histogram->reason[j];
            uint32_t count = histogram->count[j];
            histogram->reason[j] = histogram->reason[j - 1];
            histogram->count[j] = histogram->count[j - 1];
            histogram->reason[j - 1] = reason;
            histogram->count[j - 1] = count;
        }
}

/* What stands before a colon, where others' words begin. */
static struct str kind_of(const char *reason)
{
    ptrdiff_t colon = str_find(str_of(reason), STR(": "));
    return colon < 0 ? str_of(reason) : str_sub(str_of(reason), 0, (size_t)colon);
}

uint64_t fit_explain(const struct cache *cache, const struct fit_table *table, struct buf *out)
{
    struct histogram histogram = {.n = 0};
    uint64_t signature = 1;
    bool held = false;
    for (uint32_t i = 0; i < table->n; i++) {
        const char *reason = fit_reason_text(table, table->reason[i]);
        if (!fit_is_known(cache->nodes.items[i]) || !reason)
            continue;
        histogram_add(&histogram, reason_of(reason, cache->nodes.items[i]));
        held = held || reason == fit_held_back;
    }
    histogram_sort(&histogram);
    buf_printf(out, "%u/%zu nodes are available", table->fits, cache->known_nodes);
    for (uint32_t i = 0; i < histogram.n; i++) {
        buf_printf(out, "%s%u %s", i ? ", " : ": ", histogram.count[i], histogram.reason[i]);
        if (!str_starts(str_of(histogram.reason[i]), STR(HOLDS_REASON)))
            signature = signature * 31 + str_hash(kind_of(histogram.reason[i]));
    }
    if (held) /* by whom is no other kind of reason */
        signature = signature * 31 + str_hash(str_of(fit_held_back));
    if (histogram.others)
        buf_printf(out, ", %u for other reasons", histogram.others);
    buf_add_char(out, '.');
    return signature;
}
