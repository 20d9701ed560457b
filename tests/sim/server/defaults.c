/*
 * What the server fills in: see rest.h. Only what programs of this tree look at; README.md has what
 * is left out.
 */
#include "base/base64.h"
#include "server/rest.h"

#define CRITICAL_VALUE 2000000000

/* ---- in each write: defaults of the CRDs' schemas -------------------------------------------- */

static const struct {
    const char *plural, *field, *json;
} schema_defaults[] = {
    {"jobs", "maxRetry", "3"},
    {"jobs", "queue", "\"default\""},
    {"podgroups", "queue", "\"default\""},
    {"queues", "weight", "1"},
    {"queues", "dequeueStrategy", "\"traverse\""},
};

void sim_default(struct sim_call *call, struct doc *object)
{
    struct doc *spec = doc_get(object, STR("spec"));
    struct error err = ERROR_INIT;
    if (!sim_resource_is(call->resource, SIM_CUSTOM) || !doc_is(spec, JSON_OBJECT))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(schema_defaults); i++)
        if (strcmp(schema_defaults[i].plural, call->resource->plural) == 0 &&
            !doc_get(spec, str_of(schema_defaults[i].field)))
            doc_set(spec, str_of(schema_defaults[i].field),
                    doc_parse(call->arena, str_of(schema_defaults[i].json), &err));
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void set_if_absent(struct sim_call *call, struct doc *object, const char *key,
                          const char *json)
{
    struct error err = ERROR_INIT;
    if (!doc_get(object, str_of(key)))
        doc_set(object, str_of(key), doc_parse(call->arena, str_of(json), &err));
}

static void default_container(struct sim_call *call, struct doc *container)
{
    struct doc *resources = doc_ensure(call->arena, container, STR("resources"), JSON_OBJECT);
    struct str image = doc_str_at(container, "image");
    ptrdiff_t slash = str_chr(image, '/');
    bool tagged = str_chr(str_from(image, slash < 0 ? 0 : (size_t)slash), ':') >= 0 &&
                  !str_ends(image, STR(":latest"));
    set_if_absent(call, container, "terminationMessagePath", "\"/dev/termination-log\"");
    set_if_absent(call, container, "terminationMessagePolicy", "\"File\"");
    set_if_absent(call, container, "imagePullPolicy", tagged ? "\"IfNotPresent\"" : "\"Always\"");
    for (doc_each(limit, doc_get(resources, STR("limits")))) {
        struct doc *requests = doc_ensure(call->arena, resources, STR("requests"), JSON_OBJECT);
        if (!doc_get(requests, limit->key))
            doc_set(requests, limit->key, doc_clone(call->arena, limit));
    }
}

static void default_pod_spec(struct sim_call *call, struct doc *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    static const struct {
        const char *key, *json;
    } values[] = {
        {"restartPolicy", "\"Always\""},   {"terminationGracePeriodSeconds", "30"},
        {"dnsPolicy", "\"ClusterFirst\""}, {"serviceAccountName", "\"default\""},
        {"securityContext", "{}"},         {"schedulerName", "\"default-scheduler\""},
        {"enableServiceLinks", "true"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        set_if_absent(call, spec, values[i].key, values[i].json);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (doc_each(container, doc_get(spec, str_of(lists[i]))))
            default_container(call, container);
    struct str account = doc_str_at(spec, "serviceAccountName");
    doc_set_str(call->arena, spec, "serviceAccount", account);
}

static bool tolerates(const struct doc *tolerations, const char *key)
{
    for (doc_each(one, tolerations)) {
        struct str effect = doc_str_at(one, "effect"), of = doc_str_at(one, "key");
        bool any = str_empty(of) && str_is(doc_str_at(one, "operator"), "Exists");
        if ((any || str_is(of, key)) && (str_empty(effect) || str_is(effect, "NoExecute")))
            return true;
    }
    return false;
}

static void add_toleration(struct sim_call *call, struct doc *spec, const char *key)
{
    struct arena *arena = call->arena;
    struct doc *one = doc_new(arena, JSON_OBJECT);
    if (tolerates(doc_get(spec, STR("tolerations")), key))
        return;
    doc_set_str(arena, one, "key", str_of(key));
    doc_set_str(arena, one, "operator", STR("Exists"));
    doc_set_str(arena, one, "effect", STR("NoExecute"));
    doc_set_i64(arena, one, "tolerationSeconds", 300);
    doc_append(doc_ensure(arena, spec, STR("tolerations"), JSON_ARRAY), one);
}

/* ---- priority -------------------------------------------------------------------------------- */

static struct doc *find_class(struct sim_call *call, struct str name)
{
    const struct sim_resource *classes = sim_resource_at(SIM_PRIORITYCLASSES);
    struct sim_object *object = sim_store_find(&call->server->store, classes, name);
    return object ? sim_version_doc(call->arena, object->now) : NULL;
}

/* The class of those that name none, the lowest where there are several; or NULL. */
static struct doc *global_default(struct sim_call *call)
{
    const struct sim_resource *classes = sim_resource_at(SIM_PRIORITYCLASSES);
    struct doc *best = NULL;
    for (struct sim_object *object = sim_store_from(&call->server->store, classes, STR_NULL);
         object; object = sim_object_next(object)) {
        struct doc *one = sim_version_doc(call->arena, object->now);
        int64_t value = doc_i64(doc_get(one, STR("value")), 0);
        if (doc_is_true(doc_get(one, STR("globalDefault"))) &&
            (!best || value < doc_i64(doc_get(best, STR("value")), 0)))
            best = one;
    }
    return best;
}

static int64_t system_priority(struct str name)
{
    if (str_is(name, "system-node-critical"))
        return CRITICAL_VALUE + 1000;
    return str_is(name, "system-cluster-critical") ? CRITICAL_VALUE : 0;
}

static int set_priority(struct sim_call *call, const struct doc *pod, struct doc *spec)
{
    struct str name = doc_str_at(spec, "priorityClassName");
    struct doc *class = str_empty(name) ? global_default(call) : find_class(call, name);
    if (!class && !str_empty(name) && !system_priority(name))
        return sim_fail_forbidden(call, doc_str_at(pod, "metadata.name"),
                                  "no PriorityClass with name %.*s was found", STR_ARG(name));
    struct str policy = doc_str_at(class, "preemptionPolicy");
    if (class)
        doc_set_str(call->arena, spec, "priorityClassName", doc_str_at(class, "metadata.name"));
    doc_set_i64(call->arena, spec, "priority",
                class ? doc_i64(doc_get(class, STR("value")), 0) : system_priority(name));
    if (!doc_get(spec, STR("preemptionPolicy")))
        doc_set_str(call->arena, spec, "preemptionPolicy",
                    str_empty(policy) ? STR("PreemptLowerPriority") : policy);
    return 0;
}

/* ---- the status of a new pod ----------------------------------------------------------------- */

/* Of one container: nothing asked, all of cpu and memory limited to what is asked, or else. */
static const char *container_class(const struct doc *container)
{
    const struct doc *limits = doc_at(container, "resources.limits");
    const struct doc *requests = doc_at(container, "resources.requests");
    static const char *const both[] = {"cpu", "memory"};
    unsigned asked = 0, equal = 0;
    for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
        const struct doc *limit = doc_get(limits, str_of(both[i]));
        const struct doc *request = doc_get(requests, str_of(both[i]));
        asked += limit || request;
        equal += limit && doc_equal(limit, request);
    }
    return asked == 0 ? "BestEffort" : equal == 2 ? "Guaranteed" : "Burstable";
}

static const char *qos_class(const struct doc *spec)
{
    const char *class = NULL;
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (doc_each(container, doc_get(spec, str_of(lists[i])))) {
            const char *own = container_class(container);
            class = !class || strcmp(class, own) == 0 ? own : "Burstable";
        }
    return class ? class : "BestEffort";
}

static void set_gated(struct sim_call *call, struct doc *status)
{
    struct arena *arena = call->arena;
    struct doc *gated = doc_new(arena, JSON_OBJECT);
    doc_set_str(arena, gated, "type", STR("PodScheduled"));
    doc_set_str(arena, gated, "status", STR("False"));
    doc_set(gated, STR("lastProbeTime"), doc_new(arena, JSON_NULL));
    doc_set_str(arena, gated, "lastTransitionTime", sim_time(call->server, arena, 0));
    doc_set_str(arena, gated, "reason", STR("SchedulingGated"));
    doc_set_str(arena, gated, "message",
                STR("Scheduling is blocked due to non-empty scheduling gates"));
    doc_append(doc_ensure(arena, status, STR("conditions"), JSON_ARRAY), gated);
}

static int default_pod(struct sim_call *call, struct doc *pod)
{
    struct doc *spec = doc_ensure(call->arena, pod, STR("spec"), JSON_OBJECT);
    struct doc *status = doc_ensure(call->arena, pod, STR("status"), JSON_OBJECT);
    default_pod_spec(call, spec);
    add_toleration(call, spec, "node.kubernetes.io/not-ready");
    add_toleration(call, spec, "node.kubernetes.io/unreachable");
    if (set_priority(call, pod, spec) < 0)
        return -1;
    doc_set_str(call->arena, status, "phase", STR("Pending"));
    doc_set_str(call->arena, status, "qosClass", str_of(qos_class(spec)));
    if (doc_count(doc_get(spec, STR("schedulingGates"))) > 0)
        set_gated(call, status);
    return 0;
}

/* ---- other kinds ----------------------------------------------------------------------------- */

static void default_namespace(struct sim_call *call, struct doc *object)
{
    struct arena *arena = call->arena;
    struct doc *meta = sim_meta(object);
    struct doc *labels = doc_ensure(arena, meta, STR("labels"), JSON_OBJECT);
    doc_set_str(arena, labels, "kubernetes.io/metadata.name", doc_str_at(meta, "name"));
    struct doc *spec = doc_ensure(arena, object, STR("spec"), JSON_OBJECT);
    set_if_absent(call, spec, "finalizers", "[\"kubernetes\"]");
    set_if_absent(call, object, "status", "{\"phase\":\"Active\"}");
}

static void default_storage(struct sim_call *call, struct doc *object, struct str finalizer)
{
    struct doc *list = doc_ensure(call->arena, sim_meta(object), STR("finalizers"), JSON_ARRAY);
    doc_append(list, doc_string(call->arena, finalizer));
    set_if_absent(call, object, "status", "{\"phase\":\"Pending\"}");
    set_if_absent(call, doc_ensure(call->arena, object, STR("spec"), JSON_OBJECT), "volumeMode",
                  "\"Filesystem\"");
}

static void default_secret(struct sim_call *call, struct doc *secret)
{
    struct arena *arena = call->arena;
    for (doc_each(plain, doc_get(secret, STR("stringData")))) {
        cleanup_buf struct buf text = BUF_INIT(LIMIT_REQUEST_BODY * 2);
        base64_encode(&text, doc_str(plain));
        struct doc *data = doc_ensure(arena, secret, STR("data"), JSON_OBJECT);
        doc_set(data, plain->key, doc_string(arena, arena_str(arena, buf_str(&text))));
    }
    (void)doc_del(secret, STR("stringData"));
    set_if_absent(call, secret, "type", "\"Opaque\"");
}

static void default_node(struct sim_call *call, struct doc *node)
{
    struct doc *status = doc_get(node, STR("status"));
    const struct doc *capacity = doc_get(status, STR("capacity"));
    if (capacity && !doc_get(status, STR("allocatable")))
        doc_set(status, STR("allocatable"), doc_clone(call->arena, capacity));
}

/* The kinds that a definition is about are served whether it is there or not: all are established,
 * at once. */
static void default_definition(struct sim_call *call, struct doc *definition)
{
    static const char *const types[] = {"NamesAccepted", "Established"};
    static const char *const reasons[] = {"NoConflicts", "InitialNamesAccepted"};
    struct arena *arena = call->arena;
    struct doc *status = doc_ensure(arena, definition, STR("status"), JSON_OBJECT);
    struct doc *conditions = doc_ensure(arena, status, STR("conditions"), JSON_ARRAY);
    const struct doc *names = doc_at(definition, "spec.names");
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        struct doc *condition = doc_new(arena, JSON_OBJECT);
        doc_set_str(arena, condition, "type", str_of(types[i]));
        doc_set_str(arena, condition, "status", STR("True"));
        doc_set_str(arena, condition, "reason", str_of(reasons[i]));
        doc_set_str(arena, condition, "lastTransitionTime", sim_time(call->server, arena, 0));
        doc_append(conditions, condition);
    }
    if (names)
        doc_set(status, STR("acceptedNames"), doc_clone(arena, names));
}

int sim_default_new(struct sim_call *call, struct doc *object)
{
    size_t id = sim_resource_id(call->resource);
    switch (id) {
    case SIM_PODS:
        return default_pod(call, object);
    case SIM_NAMESPACES:
        default_namespace(call, object);
        break;
    case SIM_NODES:
        default_node(call, object);
        break;
    case SIM_DEFINITIONS:
        default_definition(call, object);
        break;
    case SIM_CLAIMS:
        default_storage(call, object, STR("kubernetes.io/pvc-protection"));
        break;
    case SIM_VOLUMES:
        default_storage(call, object, STR("kubernetes.io/pv-protection"));
        break;
    case SIM_SECRETS:
        default_secret(call, object);
        break;
    case SIM_BUDGETS:
        set_if_absent(call, object, "status",
                      "{\"disruptionsAllowed\":0,\"currentHealthy\":0,\"desiredHealthy\":0,"
                      "\"expectedPods\":0}");
        break;
    case SIM_QUOTAS:
        set_if_absent(call, object, "status", "{}");
        break;
    default:
        break;
    }
    return 0;
}
