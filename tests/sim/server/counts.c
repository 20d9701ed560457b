/*
 * What is counted over a namespace: the usage of its quotas, the pods of its disruption budgets.
 * See controllers.h.
 */
#include "base/timefmt.h"
#include "server/controllers.h"
#include "server/usage.h"

#define EVICTION_LASTS (120 * NSEC_PER_SEC) /* an eviction that did nothing is forgotten then */

/* ---- quotas ---------------------------------------------------------------------------------- */

static void count_quota(struct sim_server *server, struct sim_object *object, struct str ns)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct doc *old = sim_version_doc(&arena, object->now);
    struct doc *now = sim_version_doc(&arena, object->now);
    const struct doc *hard = doc_at(now, "spec.hard");
    struct doc *status = doc_ensure(&arena, now, STR("status"), JSON_OBJECT);
    if (!hard)
        return;
    doc_set(status, STR("hard"), doc_clone(&arena, hard));
    doc_set(status, STR("used"), sim_usage_in(server, &arena, ns, hard));
    (void)sim_write(server, &arena, object, old, now);
}

/* `look` may change an object, not remove it. */
static void each_in(struct sim_server *server, enum sim_resource_id id, struct str ns,
                    void (*look)(struct sim_server *, struct sim_object *, struct str))
{
    cleanup_buf struct buf from = BUF_INIT(4096);
    buf_printf(&from, "%.*s/", STR_ARG(ns));
    for (struct sim_object *one =
             sim_store_from(&server->store, sim_resource_at(id), buf_str(&from));
         one && sim_key_in(str_of(one->key), ns); one = sim_object_next(one))
        look(server, one, ns);
}

void sim_quota_look(struct sim_server *server, struct str ns)
{
    each_in(server, SIM_QUOTAS, ns, count_quota);
}

/* ---- disruption budgets ---------------------------------------------------------------------- */

struct tally {
    int64_t expected, healthy;
};

static bool is_ready(const struct doc *pod)
{
    for (doc_each(one, doc_at(pod, "status.conditions")))
        if (str_is(doc_str_at(one, "type"), "Ready"))
            return str_is(doc_str_at(one, "status"), "True");
    return false;
}

/* An eviction counts until the pod shows it, or for a time. */
static bool is_disrupted(const struct sim_server *server, const struct doc *disrupted,
                         const struct doc *pod)
{
    int64_t at = 0;
    struct str since = doc_str(doc_get(disrupted, doc_str_at(pod, "metadata.name")));
    return time_parse(since, &at) && loop_wall(server->loop) < at + EVICTION_LASTS;
}

static struct tally count_pods(struct sim_server *server, struct arena *arena, struct str ns,
                               const struct doc *budget, struct doc *disrupted)
{
    struct tally tally = {0, 0};
    const struct doc *before = doc_at(budget, "status.disruptedPods");
    struct str from = arena_printf(arena, "%.*s/", STR_ARG(ns));
    const struct sim_resource *pods = sim_resource_at(SIM_PODS);
    for (struct sim_object *one = sim_store_from(&server->store, pods, from);
         one && sim_key_in(str_of(one->key), ns); one = sim_object_next(one)) {
        const struct doc *pod = sim_version_doc(arena, one->now);
        struct str phase = doc_str_at(pod, "status.phase"), name = doc_str_at(pod, "metadata.name");
        if (!sim_label_selector_matches(arena, doc_at(budget, "spec.selector"),
                                        doc_at(pod, "metadata.labels")) ||
            str_is(phase, "Succeeded") || str_is(phase, "Failed"))
            continue;
        tally.expected++;
        if (one->terminating)
            continue;
        if (is_disrupted(server, before, pod))
            doc_set(disrupted, name, doc_clone(arena, doc_get(before, name)));
        else if (is_ready(pod))
            tally.healthy++;
    }
    return tally;
}

/* A number, or "N%" of the expected ones, rounded up. */
static int64_t amount_of(const struct doc *value, int64_t expected)
{
    struct str text = doc_str(value);
    int64_t percent = 0;
    if (doc_is(value, JSON_NUMBER))
        return doc_i64(value, 0);
    if (!str_ends(text, STR("%")) || !str_to_i64(str_sub(text, 0, text.n - 1), &percent))
        return 0;
    return (percent * expected + 99) / 100;
}

static int64_t desired_of(const struct doc *budget, int64_t expected)
{
    const struct doc *most = doc_at(budget, "spec.maxUnavailable");
    int64_t desired = most ? expected - amount_of(most, expected)
                           : amount_of(doc_at(budget, "spec.minAvailable"), expected);
    return desired > 0 ? desired : 0;
}

/* Tells in a condition whether a pod may be evicted; since when stays while that does. */
static void set_condition(struct sim_server *server, struct arena *arena, struct doc *status,
                          const struct doc *budget, bool allowed)
{
    const struct doc *old = doc_at(budget, "status.conditions");
    struct doc *one = doc_new(arena, JSON_OBJECT), *list = doc_new(arena, JSON_ARRAY);
    struct str truth = allowed ? STR("True") : STR("False");
    bool stays = old && old->first && str_eq(doc_str_at(old->first, "status"), truth);
    doc_set_str(arena, one, "type", STR("DisruptionAllowed"));
    doc_set_str(arena, one, "status", truth);
    doc_set_i64(arena, one, "observedGeneration",
                doc_i64(doc_at(budget, "metadata.generation"), 0));
    doc_set_str(arena, one, "lastTransitionTime",
                stays ? doc_str_at(old->first, "lastTransitionTime") : sim_time(server, arena, 0));
    doc_set_str(arena, one, "reason", allowed ? STR("SufficientPods") : STR("InsufficientPods"));
    doc_set_str(arena, one, "message", STR(""));
    doc_append(list, one);
    doc_set(status, STR("conditions"), list);
}

static void count_budget(struct sim_server *server, struct sim_object *object, struct str ns)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct doc *old = sim_version_doc(&arena, object->now);
    struct doc *now = sim_version_doc(&arena, object->now);
    struct doc *status = doc_ensure(&arena, now, STR("status"), JSON_OBJECT);
    struct doc *disrupted = doc_new(&arena, JSON_OBJECT);
    struct tally tally = count_pods(server, &arena, ns, old, disrupted);
    int64_t desired = desired_of(old, tally.expected);
    int64_t allowed = tally.healthy > desired ? tally.healthy - desired : 0;
    (void)doc_del(status, STR("disruptedPods"));
    if (disrupted->first)
        doc_set(status, STR("disruptedPods"), disrupted);
    doc_set_i64(&arena, status, "currentHealthy", tally.healthy);
    doc_set_i64(&arena, status, "desiredHealthy", desired);
    doc_set_i64(&arena, status, "disruptionsAllowed", allowed);
    doc_set_i64(&arena, status, "expectedPods", tally.expected);
    doc_set_i64(&arena, status, "observedGeneration",
                doc_i64(doc_at(now, "metadata.generation"), 0));
    set_condition(server, &arena, status, old, allowed > 0);
    (void)sim_write(server, &arena, object, old, now);
}

void sim_budget_look(struct sim_server *server, struct str ns)
{
    each_in(server, SIM_BUDGETS, ns, count_budget);
}
