/*
 * Decoding of pods for the scheduler. See pod.h.
 */
#include "api/pod.h"
#include "api/names.h"
#include "api/pod_class.h"
#include "api/preemptable.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/timefmt.h"
#include "json/interned.h"
#include <stdio.h>

/* A pod while it is read. */
struct draft {
    struct pod *pod;
    struct pod_demand demand;
    int64_t scheduled_ns; /* since when PodScheduled is True, wall time; 0: it is not */
    bool has_priority;
};

static bool keep_annotation(struct str key)
{
    return str_is(key, KEY_GROUP_NAME) || str_is(key, KEY_TASK_SPEC) ||
           str_is(key, KEY_TASK_PRIORITY) || str_is(key, KEY_COOLDOWN_TIME) ||
           str_is(key, KEY_SCORING_TYPE) || str_is(key, KEY_SCORING_WEIGHT) ||
           str_is(key, KEY_PREEMPTABLE);
}

/* The next value as it stands; null is the same as absent. */
static struct str raw_value(struct json_reader *reader)
{
    struct str raw = json_raw(reader);
    return str_is(raw, "null") ? STR_NULL : raw;
}

static void gate_read(struct json_reader *reader, struct pod *pod)
{
    struct str key;
    bool own = false;
    pod->gated = true;
    if (json_object(reader))
        while (json_key(reader, &key)) {
            if (str_is(key, "name"))
                own = str_is(json_str(reader), KEY_QUEUE_GATE);
            else
                json_skip(reader);
        }
    pod->gated_by_others = pod->gated_by_others || !own;
}

static void gates_read(struct json_reader *reader, struct pod *pod)
{
    pod->gated = pod->gated_by_others = false;
    if (!json_array(reader))
        return;
    while (json_item(reader))
        gate_read(reader, pod);
}

static bool demand_member(struct json_reader *reader, struct str key, struct draft *draft)
{
    if (str_is(key, "containers"))
        pod_demand_containers(reader, &draft->demand, false);
    else if (str_is(key, "initContainers"))
        pod_demand_containers(reader, &draft->demand, true);
    else if (str_is(key, "volumes"))
        draft->demand.volumes = raw_value(reader);
    else if (str_is(key, "overhead"))
        resource_set_read(reader, &draft->demand.overhead);
    else if (str_is(key, "resources"))
        pod_demand_whole(reader, &draft->demand);
    else if (str_is(key, "nodeSelector"))
        draft->demand.node_selector = raw_value(reader);
    else if (str_is(key, "affinity"))
        draft->demand.affinity = raw_value(reader);
    else if (str_is(key, "tolerations"))
        draft->demand.tolerations = raw_value(reader);
    else if (str_is(key, "topologySpreadConstraints"))
        draft->demand.spread = raw_value(reader);
    else
        return false;
    return true;
}

static void priority_read(struct json_reader *reader, struct draft *draft)
{
    if (json_peek(reader) == JSON_NUMBER)
        draft->has_priority = true;
    draft->pod->priority = json_i32(reader);
}

static bool is_system_class(struct str name)
{
    return str_is(name, "system-cluster-critical") || str_is(name, "system-node-critical");
}

static void spec_read(struct json_reader *reader, struct draft *draft)
{
    struct pod *pod = draft->pod;
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "nodeName"))
            json_interned(reader, &pod->node);
        else if (str_is(key, "schedulerName"))
            json_interned(reader, &pod->scheduler);
        else if (str_is(key, "priority"))
            priority_read(reader, draft);
        else if (str_is(key, "priorityClassName"))
            pod->critical = is_system_class(json_str(reader));
        else if (str_is(key, "preemptionPolicy"))
            pod->never_preempts = str_is(json_str(reader), "Never");
        else if (str_is(key, "schedulingGates"))
            gates_read(reader, pod);
        else if (!demand_member(reader, key, draft))
            json_skip(reader);
    }
}

static void scheduled_read(struct draft *draft, struct str status, struct str reason,
                           struct str since)
{
    draft->pod->unschedulable =
        str_is(status, "False") &&
        (str_is(reason, POD_UNSCHEDULABLE) || str_is(reason, POD_QUEUE_LIMIT) ||
         str_is(reason, REASON_NOT_ENOUGH_TASKS));
    if (!str_is(status, "True") || !time_parse(since, &draft->scheduled_ns))
        draft->scheduled_ns = 0;
}

static void condition_read(struct json_reader *reader, struct draft *draft)
{
    struct str key, type = STR_NULL, status = STR_NULL, reason = STR_NULL, since = STR_NULL;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "type"))
            type = json_str(reader);
        else if (str_is(key, "status"))
            status = json_str(reader);
        else if (str_is(key, "reason"))
            reason = json_str(reader);
        else if (str_is(key, "lastTransitionTime"))
            since = json_str(reader);
        else
            json_skip(reader);
    }
    if (str_is(type, "PodScheduled"))
        scheduled_read(draft, status, reason, since);
    else if (str_is(type, "Ready"))
        draft->pod->ready = str_is(status, "True");
    else if (str_is(type, "PodResizePending"))
        draft->demand.infeasible = str_is(reason, "Infeasible");
}

static void conditions_read(struct json_reader *reader, struct draft *draft)
{
    if (!json_array(reader))
        return;
    while (json_item(reader))
        condition_read(reader, draft);
}

static enum pod_phase phase_of(struct str text)
{
    for (int phase = 0; phase < POD_PHASE_COUNT; phase++)
        if (str_is(text, pod_phase_name((enum pod_phase)phase)))
            return (enum pod_phase)phase;
    return str_empty(text) ? POD_PHASE_PENDING : POD_PHASE_UNKNOWN;
}

static void status_read(struct json_reader *reader, struct draft *draft)
{
    struct pod_demand *demand = &draft->demand;
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "phase"))
            draft->pod->phase = phase_of(json_str(reader));
        else if (str_is(key, "startTime"))
            (void)time_parse(json_str(reader), &draft->pod->started_ns);
        else if (str_is(key, "nominatedNodeName"))
            json_interned(reader, &draft->pod->nominated);
        else if (str_is(key, "conditions"))
            conditions_read(reader, draft);
        else if (str_is(key, "containerStatuses") || str_is(key, "initContainerStatuses"))
            pod_demand_statuses(reader, demand);
        else if (str_is(key, "resources"))
            pod_demand_actuated(reader, &demand->whole_given);
        else if (str_is(key, "allocatedResources"))
            pod_demand_allocated(reader, &demand->whole_given);
        else
            json_skip(reader);
    }
}

static void top_read(struct json_reader *reader, struct draft *draft)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "metadata"))
            kube_meta_read(reader, &draft->pod->meta, keep_annotation);
        else if (str_is(key, "spec"))
            spec_read(reader, draft);
        else if (str_is(key, "status"))
            status_read(reader, draft);
        else
            json_skip(reader);
    }
}

static uint32_t ordinal_of(const char *name)
{
    struct str text = str_of(name);
    size_t from = text.n;
    int64_t number;
    while (from && text.p[from - 1] >= '0' && text.p[from - 1] <= '9')
        from--;
    if (!str_to_i64(str_from(text, from), &number) || number >= UINT32_MAX)
        return UINT32_MAX;
    return (uint32_t)number;
}

/* Whether the text (NULL: no) is that number as we would print it. */
static bool is_number(const char *text, uint32_t number)
{
    char printed[16];
    if (!text || number == UINT32_MAX)
        return false;
    (void)snprintf(printed, sizeof(printed), "%u", number);
    return strcmp(text, printed) == 0;
}

static void set_text(const char **slot, const char *text)
{
    intern_put(*slot);
    *slot = intern_get(str_of(text));
}

/* The label goes before the annotation; one that is no duration is none. */
static int64_t spared_until(const struct draft *draft)
{
    const struct kube_meta *meta = &draft->pod->meta;
    const char *text = kube_pairs_get(&meta->labels, KEY_COOLDOWN_TIME);
    int64_t cooldown_ns;
    if (!text)
        text = kube_pairs_get(&meta->annotations, KEY_COOLDOWN_TIME);
    if (!text || !draft->scheduled_ns || !duration_parse(str_of(text), &cooldown_ns) ||
        cooldown_ns <= 0)
        return 0;
    return time_add(draft->scheduled_ns, cooldown_ns);
}

/* What the pod says about itself in annotations and labels. */
static void finish_names(struct draft *draft)
{
    struct pod *pod = draft->pod;
    struct kube_meta *meta = &pod->meta;
    int32_t task_priority;
    const char *role = kube_pairs_get(&meta->annotations, KEY_TASK_SPEC);
    const char *rank = kube_pairs_get(&meta->annotations, KEY_TASK_PRIORITY);
    set_text(&pod->group, kube_pairs_get(&meta->annotations, KEY_GROUP_NAME));
    set_text(&pod->role, role ? role : kube_pairs_get(&meta->labels, KEY_TASK_SPEC));
    if (rank && str_to_i32(str_of(rank), &task_priority))
        pod->priority = task_priority;
    else if (!draft->has_priority)
        pod->priority = 1;
    if (!pod->node)
        set_text(&pod->node, NULL);
    if (!pod->scheduler)
        set_text(&pod->scheduler, NULL);
    if (!pod->nominated)
        set_text(&pod->nominated, NULL);
    pod->preemptable = preemptable_of(meta) != PREEMPTABLE_NO;
    pod->ordinal = ordinal_of(meta->name);
    pod->indexed = is_number(kube_pairs_get(&meta->labels, KEY_TASK_INDEX), pod->ordinal);
    pod->labels = label_set_get(meta->ns, &meta->labels, pod->indexed);
}

static struct str annotation(const struct draft *draft, const char *key, struct arena *arena)
{
    const char *value = kube_pairs_get(&draft->pod->meta.annotations, key);
    return value ? arena_str(arena, str_of(value)) : STR_NULL;
}

static int finish(struct draft *draft, struct json_reader *reader, struct arena *arena,
                  struct error *err)
{
    struct pod *pod = draft->pod;
    if (json_end(reader, err) < 0)
        return error_prefix(err, "pod %s/%s", pod->meta.ns ? pod->meta.ns : "",
                            pod->meta.name ? pod->meta.name : "(unnamed)");
    if (!pod->meta.name || !pod->meta.name[0] || !pod->meta.uid || !pod->meta.uid[0])
        return error_set(err, ERROR_INVALID, "a pod has no metadata.name or metadata.uid");
    draft->demand.scoring_type = annotation(draft, KEY_SCORING_TYPE, arena);
    draft->demand.scoring_weight = annotation(draft, KEY_SCORING_WEIGHT, arena);
    finish_names(draft);
    pod->spared_until_ns = spared_until(draft);
    pod->cls = pod_class_get(&draft->demand, &pod->meta, arena);
    kube_pairs_clear(&pod->meta.labels);
    kube_pairs_clear(&pod->meta.annotations);
    if (!pod->cls)
        return error_set(err, ERROR_INVALID,
                         "pod %s/%s: its nodeSelector, affinity, tolerations, "
                         "topologySpreadConstraints or volumes cannot be read",
                         pod->meta.ns, pod->meta.name);
    return 0;
}

struct pod *pod_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct draft draft = {.pod = xnew(struct pod)};
    draft.pod->refs = 1;
    json_init(&reader, raw, &arena);
    top_read(&reader, &draft);
    int rc = finish(&draft, &reader, &arena, err);
    pod_demand_clear(&draft.demand);
    if (rc == 0)
        return draft.pod;
    pod_unref(draft.pod);
    return NULL;
}

struct pod *pod_ref(struct pod *pod)
{
    pod->refs++;
    return pod;
}

void pod_unref(struct pod *pod)
{
    if (!pod)
        return;
    ENSURE(pod->refs > 0);
    if (--pod->refs)
        return;
    kube_meta_clear(&pod->meta);
    pod_class_unref(pod->cls);
    label_set_unref(pod->labels);
    intern_put(pod->scheduler);
    intern_put(pod->node);
    intern_put(pod->group);
    intern_put(pod->role);
    intern_put(pod->nominated);
    free(pod);
}

static void *store_decode(struct str raw, struct error *err)
{
    return pod_decode(raw, err);
}

static void store_release(void *object)
{
    pod_unref(object);
}

const struct store_type pod_store_type = {
    .kind = "Pod", .decode = store_decode, .free = store_release};
