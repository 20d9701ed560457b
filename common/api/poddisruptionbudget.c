/*
 * Decoding of PodDisruptionBudgets. See poddisruptionbudget.h.
 */
#include "api/poddisruptionbudget.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/intern.h"

/* What of a status decides together. */
struct draft {
    int64_t observed;
    int32_t healthy, desired;
};

static void spec_read(struct json_reader *reader, struct poddisruptionbudget *budget)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "selector"))
            label_selector_read(reader, &budget->selector);
        else if (str_is(key, "unhealthyPodEvictionPolicy"))
            budget->unready_may_go = str_is(json_str(reader), "AlwaysAllow");
        else
            json_skip(reader);
    }
}

static void disrupted_read(struct json_reader *reader, struct poddisruptionbudget *budget)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        budget->disrupted = xreallocarray(budget->disrupted, budget->disrupted_count + 1,
                                          sizeof(*budget->disrupted));
        budget->disrupted[budget->disrupted_count++] = intern_get(key);
        json_skip(reader);
    }
}

static void status_read(struct json_reader *reader, struct poddisruptionbudget *budget,
                        struct draft *draft)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "disruptionsAllowed"))
            budget->allowed = json_i32(reader);
        else if (str_is(key, "disruptedPods"))
            disrupted_read(reader, budget);
        else if (str_is(key, "observedGeneration"))
            draft->observed = json_i64(reader);
        else if (str_is(key, "currentHealthy"))
            draft->healthy = json_i32(reader);
        else if (str_is(key, "desiredHealthy"))
            draft->desired = json_i32(reader);
        else
            json_skip(reader);
    }
}

static void top_read(struct json_reader *reader, struct poddisruptionbudget *budget)
{
    struct str key;
    struct draft draft = {.observed = 0};
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "metadata"))
            kube_meta_read(reader, &budget->meta, kube_keep_none);
        else if (str_is(key, "spec"))
            spec_read(reader, budget);
        else if (str_is(key, "status"))
            status_read(reader, budget, &draft);
        else
            json_skip(reader);
    }
    if (draft.observed < budget->meta.generation || budget->allowed < 0)
        budget->allowed = 0;
    budget->unready_may_go |= draft.desired > 0 && draft.healthy >= draft.desired;
    kube_pairs_clear(&budget->meta.labels);
}

struct poddisruptionbudget *poddisruptionbudget_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct poddisruptionbudget *budget = xnew(struct poddisruptionbudget);
    budget->refs = 1;
    json_init(&reader, raw, &arena);
    top_read(&reader, budget);
    const struct kube_meta *meta = &budget->meta;
    if (json_end(&reader, err) < 0) {
        error_prefix(err, "poddisruptionbudget %s", meta->name ? meta->name : "(unnamed)");
        poddisruptionbudget_unref(budget);
        return NULL;
    }
    if (!meta->name || !meta->name[0] || !meta->ns || !meta->ns[0]) {
        poddisruptionbudget_unref(budget);
        error_set(err, ERROR_INVALID,
                  "a poddisruptionbudget has no metadata.name or metadata.namespace");
        return NULL;
    }
    return budget;
}

struct poddisruptionbudget *poddisruptionbudget_ref(struct poddisruptionbudget *budget)
{
    budget->refs++;
    return budget;
}

void poddisruptionbudget_unref(struct poddisruptionbudget *budget)
{
    if (!budget)
        return;
    ENSURE(budget->refs > 0);
    if (--budget->refs)
        return;
    kube_meta_clear(&budget->meta);
    label_selector_clear(&budget->selector);
    for (uint32_t i = 0; i < budget->disrupted_count; i++)
        intern_put(budget->disrupted[i]);
    free(budget->disrupted);
    free(budget);
}

bool poddisruptionbudget_counts(const struct poddisruptionbudget *budget, const char *pod)
{
    for (uint32_t i = 0; i < budget->disrupted_count; i++)
        if (budget->disrupted[i] == pod)
            return true;
    return false;
}

static void *store_decode(struct str raw, struct error *err)
{
    return poddisruptionbudget_decode(raw, err);
}

static void store_release(void *object)
{
    poddisruptionbudget_unref(object);
}

const struct store_type poddisruptionbudget_store_type = {
    .kind = "PodDisruptionBudget", .decode = store_decode, .free = store_release};
