/*
 * Binding and eviction: see rest.h.
 */
#include "server/rest.h"

#define RETRY_UNSEEN_S 10 /* while the budget's controller has not seen it */

/* ---- binding --------------------------------------------------------------------------------- */

static int fail_bind(struct sim_call *call, struct str why)
{
    return sim_fail(
        call, &(struct sim_failure){
                  .code = 409,
                  .reason = "Conflict",
                  .message = arena_printf(
                      call->arena, "Operation cannot be fulfilled on pods/binding \"%.*s\": %.*s",
                      STR_ARG(call->name), STR_ARG(why)),
                  .name = call->name,
                  .kind = "pods/binding",
              });
}

static int check_binding(struct sim_call *call, const struct doc *binding)
{
    struct str node = doc_str_at(binding, "target.name");
    struct str kind = doc_str_at(binding, "target.kind");
    if (!str_eq(doc_str_at(binding, "metadata.name"), call->name))
        return sim_fail_bad_request(call, "name in URL does not match name in Binding object");
    if (!str_empty(node) && (str_empty(kind) || str_is(kind, "Node")))
        return 0;
    const char *field = str_empty(node) ? "target.name" : "target.kind";
    struct str why = str_empty(node) ? STR("Required value")
                                     : STR("Unsupported value: supported values: \"Node\"");
    return sim_fail(
        call, &(struct sim_failure){
                  .code = 422,
                  .reason = "Invalid",
                  .message = arena_printf(call->arena, "Binding \"%.*s\" is invalid: %s: %.*s",
                                          STR_ARG(call->name), field, STR_ARG(why)),
                  .name = call->name,
                  .kind = "Binding",
                  .cause = {"FieldValueRequired", why, field},
              });
}

static int check_bindable(struct sim_call *call, const struct doc *pod, const struct doc *binding)
{
    struct str node = doc_str_at(pod, "spec.nodeName"), uid = doc_str_at(pod, "metadata.uid");
    struct str given = doc_str_at(binding, "metadata.uid");
    if (!str_empty(given) && !str_eq(given, uid))
        return sim_fail_other_uid(call, given, uid);
    if (doc_at(pod, "metadata.deletionTimestamp"))
        return fail_bind(call, arena_printf(call->arena,
                                            "pod %.*s is being deleted, cannot be assigned to a "
                                            "host",
                                            STR_ARG(call->name)));
    if (!str_empty(node))
        return fail_bind(call,
                         arena_printf(call->arena, "pod %.*s is already assigned to node \"%.*s\"",
                                      STR_ARG(call->name), STR_ARG(node)));
    if (doc_count(doc_at(pod, "spec.schedulingGates")) > 0)
        return fail_bind(call,
                         arena_printf(call->arena, "pod %.*s has non-empty .spec.schedulingGates",
                                      STR_ARG(call->name)));
    return 0;
}

static void merge_texts(struct sim_call *call, struct doc *pod, const struct doc *binding,
                        const char *key)
{
    const struct doc *given = doc_get(sim_meta(binding), str_of(key));
    for (doc_each(pair, given))
        doc_set(doc_ensure(call->arena, sim_meta(pod), str_of(key), JSON_OBJECT), pair->key,
                doc_clone(call->arena, pair));
}

static void set_scheduled(struct sim_call *call, struct doc *pod)
{
    struct arena *arena = call->arena;
    struct doc *status = doc_ensure(arena, pod, STR("status"), JSON_OBJECT);
    struct doc *conditions = doc_ensure(arena, status, STR("conditions"), JSON_ARRAY);
    struct doc *condition = doc_new(arena, JSON_OBJECT), *old = NULL;
    doc_set_str(arena, condition, "type", STR("PodScheduled"));
    doc_set_str(arena, condition, "status", STR("True"));
    doc_set(condition, STR("lastProbeTime"), doc_new(arena, JSON_NULL));
    doc_set_str(arena, condition, "lastTransitionTime", sim_time(call->server, arena, 0));
    for (doc_each(one, conditions))
        if (str_is(doc_str_at(one, "type"), "PodScheduled"))
            old = one;
    if (old)
        doc_become(old, condition);
    else
        doc_append(conditions, condition);
}

static int succeed(struct sim_call *call)
{
    struct doc *status = sim_success_doc(call->arena, NULL);
    doc_set_i64(call->arena, status, "code", 201);
    return sim_call_answer(call, 201, status);
}

int sim_pod_bind(struct sim_call *call)
{
    struct doc *binding = sim_call_body(call);
    if (!binding || check_binding(call, binding) < 0)
        return -1;
    struct sim_object *object = sim_call_object(call);
    if (!object)
        return -1;
    struct doc *pod = sim_version_doc(call->arena, object->now);
    if (check_bindable(call, pod, binding) < 0)
        return -1;
    doc_set(doc_ensure(call->arena, pod, STR("spec"), JSON_OBJECT), STR("nodeName"),
            doc_string(call->arena, doc_str_at(binding, "target.name")));
    merge_texts(call, pod, binding, "annotations");
    merge_texts(call, pod, binding, "labels");
    set_scheduled(call, pod);
    if (!sim_call_is_dry(call)) /* where a pod runs is none of its generation */
        sim_store_replace(&call->server->store, object, call->arena, pod);
    return succeed(call);
}

/* ---- eviction -------------------------------------------------------------------------------- */

static bool is_ready(const struct doc *pod)
{
    for (doc_each(one, doc_at(pod, "status.conditions")))
        if (str_is(doc_str_at(one, "type"), "Ready"))
            return str_is(doc_str_at(one, "status"), "True");
    return false;
}

/* Budgets have no say about what does not run. */
static bool is_free(const struct doc *pod)
{
    struct str phase = doc_str_at(pod, "status.phase");
    return str_is(phase, "Succeeded") || str_is(phase, "Failed") || str_is(phase, "Pending") ||
           doc_at(pod, "metadata.deletionTimestamp");
}

/* The budget of a pod: NULL with *ret_count 0 for none, any of them where there are several. */
static struct sim_object *budget_of(struct sim_call *call, const struct doc *pod, size_t *ret_count)
{
    const struct sim_resource *pods = call->resource;
    struct sim_object *found = NULL;
    size_t count = 0;
    call->resource = sim_resource_at(SIM_BUDGETS);
    for (struct sim_object *one = sim_first_in(call, call->ns); one;
         one = sim_next_in(one, call->ns)) {
        const struct doc *selector =
            doc_at(sim_version_doc(call->arena, one->now), "spec.selector");
        if (!sim_label_selector_matches(call->arena, selector, doc_at(pod, "metadata.labels")))
            continue;
        found = one;
        count++;
    }
    call->resource = pods;
    *ret_count = count;
    return found;
}

static int refuse(struct sim_call *call, struct str why, int64_t retry_after_s)
{
    return sim_fail(call, &(struct sim_failure){
                              .code = 429,
                              .reason = "TooManyRequests",
                              .message = STR("Cannot evict pod as it would violate the pod's "
                                             "disruption budget."),
                              .cause = {.reason = "DisruptionBudget", .message = why},
                              .retry_after_s = retry_after_s,
                          });
}

/* Takes one disruption off the budget, or refuses. */
static int charge(struct sim_call *call, struct sim_object *object, struct doc *old)
{
    struct doc *budget = doc_clone(call->arena, old);
    struct doc *status = doc_ensure(call->arena, budget, STR("status"), JSON_OBJECT);
    struct str name = doc_str_at(budget, "metadata.name");
    int64_t allowed = doc_i64(doc_get(status, STR("disruptionsAllowed")), 0);
    if (doc_i64(doc_get(status, STR("observedGeneration")), 0) <
        doc_i64(doc_at(budget, "metadata.generation"), 0))
        return refuse(call,
                      arena_printf(call->arena,
                                   "The disruption budget %.*s is still being processed by the "
                                   "server.",
                                   STR_ARG(name)),
                      RETRY_UNSEEN_S);
    if (allowed <= 0)
        return refuse(
            call,
            arena_printf(
                call->arena,
                "The disruption budget %.*s needs %lld healthy pods and has %lld currently",
                STR_ARG(name), (long long)doc_i64(doc_get(status, STR("desiredHealthy")), 0),
                (long long)doc_i64(doc_get(status, STR("currentHealthy")), 0)),
            0);
    struct doc *disrupted = doc_ensure(call->arena, status, STR("disruptedPods"), JSON_OBJECT);
    doc_set(disrupted, call->name, doc_string(call->arena, sim_time(call->server, call->arena, 0)));
    doc_set_i64(call->arena, status, "disruptionsAllowed", allowed - 1);
    if (!sim_call_is_dry(call))
        sim_store_replace(&call->server->store, object, call->arena, budget);
    return 0;
}

/* A pod that is not ready goes without being counted while the rest is healthy, or always. */
static bool goes_unready(const struct doc *pod, const struct doc *budget)
{
    const struct doc *status = doc_get(budget, STR("status"));
    int64_t desired = doc_i64(doc_get(status, STR("desiredHealthy")), 0);
    if (is_ready(pod))
        return false;
    return str_is(doc_str_at(budget, "spec.unhealthyPodEvictionPolicy"), "AlwaysAllow") ||
           (desired > 0 && doc_i64(doc_get(status, STR("currentHealthy")), 0) >= desired);
}

static int ask_budget(struct sim_call *call, const struct doc *pod)
{
    size_t count;
    struct sim_object *object = budget_of(call, pod, &count);
    if (count > 1)
        return sim_fail(call, &(struct sim_failure){
                                  .code = 500,
                                  .message = STR("This pod has more than one "
                                                 "PodDisruptionBudget, which the eviction "
                                                 "subresource does not support."),
                              });
    if (!object)
        return 0;
    struct doc *budget = sim_version_doc(call->arena, object->now);
    return goes_unready(pod, budget) ? 0 : charge(call, object, budget);
}

int sim_pod_evict(struct sim_call *call)
{
    struct doc *eviction = sim_call_body(call), *last = NULL;
    struct sim_delete_options options = {.grace_s = -1};
    bool gone = false;
    if (!eviction)
        return -1;
    if (!str_eq(doc_str_at(eviction, "metadata.name"), call->name))
        return sim_fail_bad_request(call, "name in URL does not match name in Eviction object");
    struct sim_object *object = sim_call_object(call);
    if (!object ||
        sim_delete_options_read(call, doc_get(eviction, STR("deleteOptions")), &options) < 0)
        return -1;
    const struct doc *pod = sim_version_doc(call->arena, object->now);
    if (!is_free(pod) && ask_budget(call, pod) < 0)
        return -1;
    if (sim_delete(call, object, &options, &last, &gone) < 0)
        return -1;
    return succeed(call);
}
