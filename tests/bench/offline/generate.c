/*
 * Clusters and workloads from a seed. See generate.h.
 */
#include "generate.h"
#include <stdio.h>

#define ZONES 3
#define POOLS 8
#define TAINT_KEY "dedicated"
#define TAINT_VALUE "batch"
#define GPU "nvidia.com/gpu"
#define LARGE_GANG 1000 /* from here on gangs are of templates that may run on any plain node */
#define NS "bench"
#define TOLERATES ",\"tolerations\":[{\"key\":\"" TAINT_KEY "\",\"value\":\"" TAINT_VALUE "\"}]"

struct shape {
    const char *type;
    unsigned cpus, memory_gi, gpus;
};

static const struct shape shapes[] = {
    {"m5.4xlarge", 16, 64, 0},
    {"m5.8xlarge", 32, 128, 0},
    {"m5.16xlarge", 64, 256, 0},
    {"p4d.24xlarge", 96, 768, 8},
};
static const struct shape perf_shape = {"perf", 4, 32, 0};

struct gang {
    unsigned size, template;
};

struct generate_plan {
    struct generate what;
    struct rng rng;
    VEC(struct gang) gangs;
    VEC(const struct shape *) nodes;
    size_t filling, hopeless;
};

/* ---- kinds ----------------------------------------------------------------------------------- */

static const char *const kind_names[GENERATE_KIND_COUNT] = {
    [GENERATE_MIXED] = "Mixed",
    [GENERATE_BASIC] = "SchedulingBasic",
    [GENERATE_NODE_AFFINITY] = "SchedulingNodeAffinity",
    [GENERATE_DAEMONSET] = "SchedulingDaemonset",
    [GENERATE_UNSCHEDULABLE] = "Unschedulable",
    [GENERATE_NEAR] = "SchedulingPodAffinity",
    [GENERATE_APART] = "SchedulingPodAntiAffinity",
    [GENERATE_PREFER_NEAR] = "SchedulingPreferredPodAffinity",
    [GENERATE_PREFER_APART] = "SchedulingPreferredPodAntiAffinity",
    [GENERATE_SPREAD] = "TopologySpreading",
    [GENERATE_PREFER_SPREAD] = "PreferredTopologySpreading",
    [GENERATE_BLENDED] = "MixedSchedulingBasePod",
};

const char *generate_kind_name(enum generate_kind kind)
{
    return kind_names[kind];
}

enum generate_kind generate_kind_of(struct str name)
{
    enum generate_kind kind = GENERATE_MIXED;
    while (kind < GENERATE_KIND_COUNT && !str_is(name, kind_names[kind]))
        kind++;
    return kind;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static unsigned gang_size(struct generate_plan *plan)
{
    static const unsigned sizes[] = {1, 10, 100, 1000};
    /* About as many pods in gangs of each size. */
    uint64_t dice = rng_below(&plan->rng, 1111);
    if (plan->what.gang)
        return plan->what.gang;
    return sizes[dice < 1000 ? 0 : dice < 1100 ? 1 : dice < 1110 ? 2 : 3];
}

/* Large gangs need many nodes: they do not name a zone, a pool or a GPU. */
static bool is_plain(unsigned template)
{
    return template % 10 >= 7;
}

static unsigned gang_template(struct generate_plan *plan, unsigned size)
{
    unsigned template = (unsigned)rng_below(&plan->rng, plan->what.templates);
    while (size >= LARGE_GANG && plan->what.templates > 10 && !is_plain(template))
        template = (unsigned)rng_below(&plan->rng, plan->what.templates);
    return template;
}

static void plan_gangs(struct generate_plan *plan)
{
    for (unsigned left = plan->what.pods; left;) {
        unsigned size = gang_size(plan);
        size = size < left ? size : left;
        vec_push(&plan->gangs, ((struct gang){size, gang_template(plan, size)}));
        left -= size;
    }
}

static char *queue_name(const struct generate_plan *plan, size_t i)
{
    return plan->what.queues > 1 ? xasprintf("queue-%zu", i % plan->what.queues)
                                 : xstrdup("default");
}

static char *group_name(size_t i)
{
    return xasprintf("train-%zu", i);
}

static char *group_spec(const struct generate_plan *plan, size_t i)
{
    cleanup_free char *queue = queue_name(plan, i);
    return xasprintf("{\"minMember\":%u,\"queue\":\"%s\"}", plan->gangs.items[i].size, queue);
}

static void tell_groups(struct rig *rig, const struct generate_plan *plan)
{
    for (size_t i = 0; i < plan->gangs.n; i++) {
        cleanup_free char *name = group_name(i), *spec = group_spec(plan, i);
        rig_know_group(rig, NS, name, str_of(spec));
    }
}

struct generate_plan *generate_plan_new(struct rig *rig, const struct generate *what)
{
    struct generate_plan *plan = xnew(struct generate_plan);
    plan->what = *what;
    rng_seed(&plan->rng, what->seed);
    plan_gangs(plan);
    tell_groups(rig, plan);
    return plan;
}

void generate_plan_free(struct generate_plan *plan)
{
    if (!plan)
        return;
    vec_clear(&plan->gangs);
    vec_clear(&plan->nodes);
    free(plan);
}

size_t generate_group_count(const struct generate_plan *plan)
{
    return plan->gangs.n;
}

size_t generate_filling_count(const struct generate_plan *plan)
{
    return plan->filling;
}

size_t generate_hopeless_count(const struct generate_plan *plan)
{
    return plan->hopeless;
}

/* ---- nodes and queues ------------------------------------------------------------------------ */

/* The zone of a node. */
static unsigned zone_of(const struct generate_plan *plan, unsigned i)
{
    enum generate_kind kind = plan->what.kind;
    bool many = kind == GENERATE_MIXED || kind == GENERATE_SPREAD || kind == GENERATE_PREFER_SPREAD;
    return many ? i % ZONES : 1;
}

static void add_node(struct rig *rig, struct generate_plan *plan, unsigned i)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    bool mixed = plan->what.kind == GENERATE_MIXED;
    const struct shape *shape =
        mixed ? &shapes[rng_below(&plan->rng, ARRAY_SIZE(shapes))] : &perf_shape;
    bool tainted = rng_below(&plan->rng, 100) < plan->what.tainted;
    vec_push(&plan->nodes, shape);
    store_list_item(
        rig->nodes,
        arena_printf(
            &arena,
            "{\"metadata\":{\"name\":\"node-%u.compute.internal\",\"uid\":"
            "\"6f1a2b3c-4d5e-4f60-8a9b-%012u\",\"resourceVersion\":\"%llu\",\"labels\":{"
            "\"kubernetes.io/hostname\":\"node-%u.compute.internal\",\"kubernetes.io/arch\":"
            "\"amd64\",\"kubernetes.io/os\":\"linux\",\"node.kubernetes.io/instance-type\":\"%s\","
            "\"topology.kubernetes.io/region\":\"eu-central-1\",\"topology.kubernetes.io/zone\":"
            "\"zone%u\",\"example.com/pool\":\"pool%u\",\"example.com/rack\":\"rack%u\"}},"
            "\"spec\":{%s},\"status\":{\"allocatable\":{\"cpu\":\"%u\",\"memory\":\"%uGi\","
            "\"ephemeral-storage\":\"900Gi\",\"hugepages-1Gi\":\"0\",\"hugepages-2Mi\":\"0\","
            "\"pods\":\"%u\",\"" GPU "\":\"%u\"}}}",
            i, i, (unsigned long long)rig_version(rig), i, shape->type, zone_of(plan, i),
            (i / ZONES) % POOLS, i / 32,
            tainted ? "\"taints\":[{\"key\":\"" TAINT_KEY "\",\"value\":\"" TAINT_VALUE
                      "\",\"effect\":\"NoSchedule\"}]"
                    : "",
            shape->cpus, shape->memory_gi,
            plan->what.kind == GENERATE_DAEMONSET && i == 0 ? 1000000 : 110, shape->gpus));
}

void generate_nodes(struct rig *rig, struct generate_plan *plan)
{
    for (unsigned i = 0; i < plan->what.nodes; i++)
        add_node(rig, plan, i);
}

void generate_queues(struct rig *rig, struct generate_plan *plan)
{
    cleanup_buf struct buf json = BUF_INIT(1024);
    for (unsigned i = 0; i < plan->what.queues; i++) {
        cleanup_free char *name = queue_name(plan, i);
        buf_reset(&json);
        buf_printf(&json,
                   "{\"metadata\":{\"name\":\"%s\",\"uid\":\"q-%s\",\"resourceVersion\":\"%llu\"},"
                   "\"spec\":{\"weight\":%u}}",
                   name, name, (unsigned long long)rig_version(rig), i + 1);
        store_list_item(rig->queues, buf_str(&json));
    }
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* Pods of another scheduler until the node has what it is to have of them. */
static void fill_node(struct rig *rig, struct generate_plan *plan, unsigned node)
{
    static const unsigned sizes[] = {1, 2, 4, 8};
    cleanup_buf struct buf json = BUF_INIT(4096);
    unsigned percent = (unsigned)rng_below(&plan->rng, 2 * (uint64_t)plan->what.filled + 1);
    unsigned want = plan->nodes.items[node]->cpus * percent / 100, held = 0;
    while (held < want) {
        unsigned cpus = sizes[rng_below(&plan->rng, ARRAY_SIZE(sizes))];
        cpus = cpus < want - held ? cpus : want - held;
        unsigned i = (unsigned)plan->filling++;
        buf_reset(&json);
        buf_printf(
            &json,
            "{\"metadata\":{\"name\":\"service-%u-x7k2p\",\"namespace\":\"services\",\"uid\":"
            "\"7e6d5c4b-1111-4333-8444-%012u\",\"resourceVersion\":\"%llu\"},\"spec\":{"
            "\"schedulerName\":\"default-scheduler\",\"nodeName\":\"node-%u.compute.internal\","
            "\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{\"cpu\":\"%u\","
            "\"memory\":\"%uGi\"}}}]},\"status\":{\"phase\":\"Running\"}}",
            i, i, (unsigned long long)rig_version(rig), node, cpus, cpus * (1 + i % 4));
        store_list_item(rig->pods, buf_str(&json));
        held += cpus;
    }
}

void generate_filling(struct rig *rig, struct generate_plan *plan)
{
    for (unsigned i = 0; i < plan->what.nodes && plan->what.filled; i++)
        fill_node(rig, plan, i);
}

void generate_podgroups(struct rig *rig, struct generate_plan *plan)
{
    cleanup_buf struct buf json = BUF_INIT(4096);
    for (size_t i = 0; i < plan->gangs.n; i++) {
        cleanup_free char *name = group_name(i), *spec = group_spec(plan, i);
        buf_reset(&json);
        buf_printf(&json,
                   "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"" NS "\",\"uid\":"
                   "\"0d9c8b7a-1111-4222-8333-%012zu\",\"resourceVersion\":\"%llu\"},\"spec\":%s,"
                   "\"status\":{\"phase\":\"Inqueue\"}}",
                   name, i, (unsigned long long)rig_version(rig), spec);
        store_list_item(rig->podgroups, buf_str(&json));
    }
}

/* What comes after the containers in a pod of that template. */
static void add_wishes(unsigned template, struct buf *json)
{
    switch (template % 10) {
    case 1:
    case 2:
        buf_printf(json,
                   ",\"nodeSelector\":{\"topology.kubernetes.io/zone\":"
                   "\"zone%u\"}",
                   template % ZONES);
        break;
    case 3:
        buf_printf(json,
                   ",\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuring"
                   "Execution\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
                   "\"example.com/pool\",\"operator\":\"In\",\"values\":[\"pool%u\","
                   "\"pool%u\"]}]}]}}}",
                   template % POOLS, (template + 3) % POOLS);
        break;
    case 4:
    case 5:
        buf_add_cstr(json, TOLERATES);
        break;
    case 6:
        buf_add_cstr(json, ",\"tolerations\":[{\"operator\":\"Exists\"}]");
        break;
    default:
        break;
    }
}

static void add_mixed_spec(unsigned template, struct buf *json)
{
    static const unsigned milli[] = {100, 250, 500, 1000, 2000};
    buf_printf(json,
               "\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{\"cpu\":\"%um\","
               "\"memory\":\"%uMi\"%s}}}]",
               milli[template / 10 % ARRAY_SIZE(milli)], 128 + 16 * template,
               template % 20 == 0 ? ",\"" GPU "\":\"1\"" : "");
    add_wishes(template, json);
}

static void add_perf_spec(struct generate_plan *plan, unsigned i, struct buf *json)
{
    bool hopeless = plan->what.kind == GENERATE_UNSCHEDULABLE && i % 50 == 0;
    plan->hopeless += hopeless;
    buf_printf(json,
               "\"containers\":[{\"name\":\"pause\",\"resources\":{\"requests\":{\"cpu\":\"%s\","
               "\"memory\":\"%s\"}}}]",
               hopeless                                ? "9"
               : plan->what.kind == GENERATE_DAEMONSET ? "0"
                                                       : "100m",
               plan->what.kind == GENERATE_DAEMONSET ? "0" : "500Mi");
    if (plan->what.kind == GENERATE_NODE_AFFINITY)
        buf_add_cstr(json, ",\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnored"
                           "DuringExecution\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{"
                           "\"key\":\"topology.kubernetes.io/zone\",\"operator\":\"In\","
                           "\"values\":[\"zone1\",\"zone2\"]}]}]}}}");
    if (plan->what.kind == GENERATE_DAEMONSET)
        buf_add_cstr(json, ",\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnored"
                           "DuringExecution\":{\"nodeSelectorTerms\":[{\"matchFields\":[{"
                           "\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":["
                           "\"node-0.compute.internal\"]}]}]}}}");
}

/* Of the blended ones every sixth is of each kind, the others are plain. */
static enum generate_kind kind_of_pod(const struct generate_plan *plan, unsigned i)
{
    static const enum generate_kind blend[] = {GENERATE_NEAR, GENERATE_APART, GENERATE_PREFER_NEAR,
                                               GENERATE_PREFER_APART};
    if (plan->what.kind != GENERATE_BLENDED)
        return plan->what.kind;
    return i % 6 < ARRAY_SIZE(blend) ? blend[i % 6] : GENERATE_BASIC;
}

/* The label by which pods of a kind know one another, "" for none. */
static const char *color_of(enum generate_kind kind)
{
    switch (kind) {
    case GENERATE_NEAR:
    case GENERATE_SPREAD:
    case GENERATE_PREFER_SPREAD:
        return "blue";
    case GENERATE_APART:
        return "green";
    case GENERATE_PREFER_NEAR:
        return "red";
    case GENERATE_PREFER_APART:
        return "yellow";
    default:
        return "";
    }
}

static void add_term(enum generate_kind kind, struct buf *json)
{
    buf_printf(json,
               "{\"labelSelector\":{\"matchLabels\":{\"color\":\"%s\"}},\"topologyKey\":\"%s\","
               "\"namespaces\":[\"" NS "\",\"sched-0\"]}",
               color_of(kind),
               kind == GENERATE_NEAR ? "topology.kubernetes.io/zone" : "kubernetes.io/hostname");
}

/* What such pods ask of where others are. */
static void add_neighbours(enum generate_kind kind, struct buf *json)
{
    bool near = kind == GENERATE_NEAR || kind == GENERATE_PREFER_NEAR;
    bool required = kind == GENERATE_NEAR || kind == GENERATE_APART;
    if (kind == GENERATE_SPREAD || kind == GENERATE_PREFER_SPREAD) {
        buf_printf(json,
                   ",\"topologySpreadConstraints\":[{\"maxSkew\":5,\"topologyKey\":"
                   "\"topology.kubernetes.io/zone\",\"whenUnsatisfiable\":\"%s\","
                   "\"labelSelector\":{\"matchLabels\":{\"color\":\"blue\"}}}]",
                   kind == GENERATE_SPREAD ? "DoNotSchedule" : "ScheduleAnyway");
        return;
    }
    if (!color_of(kind)[0])
        return;
    buf_printf(json, ",\"affinity\":{\"%s\":{\"%s\":[", near ? "podAffinity" : "podAntiAffinity",
               required ? "requiredDuringSchedulingIgnoredDuringExecution"
                        : "preferredDuringSchedulingIgnoredDuringExecution");
    buf_add_cstr(json, required ? "" : "{\"weight\":1,\"podAffinityTerm\":");
    add_term(kind, json);
    buf_add_cstr(json, required ? "]}}" : "}]}}");
}

static void add_color(enum generate_kind kind, struct buf *json)
{
    if (color_of(kind)[0])
        buf_printf(json, ",\"color\":\"%s\"", color_of(kind));
}

static void add_pod(struct rig *rig, struct generate_plan *plan, size_t gang, unsigned member,
                    unsigned i, struct buf *json)
{
    buf_reset(json);
    buf_printf(json,
               "{\"metadata\":{\"name\":\"train-%zu-worker-%u\",\"namespace\":\"" NS "\",\"uid\":"
               "\"7e6d5c4b-2222-4333-8444-%012u\",\"resourceVersion\":\"%llu\",\"labels\":{"
               "\"volcano.sh/job-name\":\"train-%zu\"",
               gang, member, i, (unsigned long long)rig_version(rig), gang);
    add_color(kind_of_pod(plan, i), json);
    buf_printf(json,
               "},\"annotations\":{"
               "\"scheduling.k8s.io/group-name\":\"train-%zu\",\"volcano.sh/task-spec\":"
               "\"worker\"},\"ownerReferences\":[{\"apiVersion\":\"batch.volcano.sh/v1alpha1\","
               "\"kind\":\"Job\",\"name\":\"train-%zu\",\"uid\":"
               "\"9a8b7c6d-3333-4444-8555-%012zu\",\"controller\":true}]},\"spec\":{"
               "\"schedulerName\":\"volcano\",",
               gang, gang, gang);
    if (plan->what.kind == GENERATE_MIXED)
        add_mixed_spec(plan->gangs.items[gang].template, json);
    else
        add_perf_spec(plan, i, json);
    add_neighbours(kind_of_pod(plan, i), json);
    buf_add_cstr(json, "},\"status\":{\"phase\":\"Pending\"}}");
    store_list_item(rig->pods, buf_str(json));
}

void generate_pods(struct rig *rig, struct generate_plan *plan)
{
    cleanup_buf struct buf json = BUF_INIT(8192);
    unsigned i = 0;
    for (size_t gang = 0; gang < plan->gangs.n; gang++)
        for (unsigned member = 0; member < plan->gangs.items[gang].size; member++)
            add_pod(rig, plan, gang, member, i++, &json);
}
