/*
 * Every decision of random clusters with the shipped configuration beside a slow scorer: for each
 * pod that is to be placed it counts from the pods what is used of each node, asks every filter and
 * every score again, looks at every other pod, and has to name the node that was chosen, or none.
 *
 * It stands before fit_table, fit_table_of and fit_best (the linker's --wrap), so placements that
 * are undone later and pods for which there is no node are compared as well. PUMICE_SEEDS=1-1000
 * takes more clusters: see property.h.
 */
#include "api/namespace.h"
#include "base/file.h"
#include "property.h"
#include "slow_neighbours.h"

#define NODES 24
#define JOBS 14
#define MANIFEST TEST_SOURCE_DIR "/manifests/install.yaml"

struct world {
    struct cluster *c;
    struct rng rng;
    unsigned made, others;
};

/* ---- the slow scorer ------------------------------------------------------------------------- */

static struct {
    const struct sched_config *config; /* of the table asked for last */
    const struct pod_class *cls;
    const struct task_group *group; /* NULL: other pods do not matter */
    uint64_t compared, without;     /* answers so far, and those of them that named no node */
    uint64_t ruled;                 /* asked for pods with rules of where others are */
} slow;

struct fit_table *__real_fit_table(struct cache *cache, const struct sched_config *config,
                                   const struct sched_queue *queue, struct pod_class *cls);
struct fit_table *__real_fit_table_of(struct cache *cache, const struct sched_config *config,
                                      const struct task_group *group);
struct sched_node *__real_fit_best(const struct cache *cache, const struct fit_table *table);
struct fit_table *__wrap_fit_table(struct cache *cache, const struct sched_config *config,
                                   const struct sched_queue *queue, struct pod_class *cls);
struct fit_table *__wrap_fit_table_of(struct cache *cache, const struct sched_config *config,
                                      const struct task_group *group);
struct sched_node *__wrap_fit_best(const struct cache *cache, const struct fit_table *table);

/* The nodes with nothing on them. */
static struct sched_node *empty_nodes(const struct cache *cache)
{
    struct sched_node *nodes = xcalloc(cache->nodes.n + 1, sizeof(*nodes));
    for (size_t i = 0; i < cache->nodes.n; i++) {
        const struct sched_node *node = cache->nodes.items[i];
        if (node)
            nodes[i] = (struct sched_node){
                .name = node->name, .object = node->object, .index = node->index};
    }
    return nodes;
}

static void charge_pods(const struct cache *cache, struct sched_node *nodes)
{
    void *value;
    for (size_t i = 0; map_next(&cache->tasks_by_uid, &i, NULL, &value);) {
        const struct sched_task *task = value;
        if (!task->node)
            continue;
        nodes[task->node->index].tasks++;
        resource_vector_add(&nodes[task->node->index].used, &task->pod->cls->request, 1);
        host_ports_merge(&nodes[task->node->index].ports, &task->pod->cls->ports);
    }
}

static bool has_room(const struct pod_class *cls, const struct sched_node *node)
{
    for (uint32_t i = 0; i < cls->request.n; i++) {
        uint32_t id = cls->request.items[i].id;
        if (resource_vector_get(&node->used, id) + cls->request.items[i].amount >
            resource_vector_get(&node->object->allocatable, id))
            return false;
    }
    return true;
}

static struct slow_pod pod_of(const struct cache *cache)
{
    const struct heap_node *first = slow.group ? heap_peek(&slow.group->pending) : NULL;
    const struct sched_task *task =
        first ? const_container_of(first, struct sched_task, waiting) : NULL;
    const struct pod_labels none = {NULL, -1};
    return (struct slow_pod){cache, slow.cls, task ? pod_labels_of(task->pod) : none};
}

/* Which nodes fit, and their scores. */
static void judge(const struct slow_pod *pod, const struct sched_node *nodes, bool *fits,
                  int64_t *scores)
{
    const struct node_rules *rules = &slow.config->rules;
    size_t n = pod->cache->nodes.n;
    for (size_t i = 0; i < n; i++) {
        fits[i] = nodes[i].object && !config_filter(slow.config, slow.cls, nodes[i].object) &&
                  has_room(slow.cls, &nodes[i]) &&
                  !config_crowded(slow.config, slow.cls, &nodes[i]) &&
                  (!pod->labels.set || slow_may(pod, &nodes[i]));
        scores[i] = fits[i] ? config_score(slow.config, slow.cls, &nodes[i]) : 0;
    }
    slow_add(pod, FIT_TAINTS, rules->taints_weight, fits, scores);
    slow_add(pod, FIT_NODE_AFFINITY, rules->node_affinity_weight, fits, scores);
    if (!pod->labels.set)
        return;
    slow_add(pod, FIT_POD_AFFINITY, rules->pod_affinity_weight, fits, scores);
    slow_add(pod, FIT_SPREAD, rules->spread_weight, fits, scores);
}

/* How many pods of the class have room on nodes that fit and share the node's domain. */
static uint64_t room_near(const struct slow_pod *pod, struct sched_node *nodes, const bool *fits,
                          const struct sched_node *node, const char *key)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < pod->cache->nodes.n; i++) {
        uint64_t here = 0;
        if (!fits[i] || !slow_same(&nodes[i], node, key))
            continue;
        for (; has_room(pod->cls, &nodes[i]); here++)
            resource_vector_add(&nodes[i].used, &pod->cls->request, 1);
        sum += here;
        for (; here; here--)
            resource_vector_add(&nodes[i].used, &pod->cls->request, -1);
    }
    return sum;
}

/* Whether those that must be near the pod would have room near the node. */
static bool is_roomy(const struct slow_pod *pod, struct sched_node *nodes, const bool *fits,
                     size_t node, uint64_t wanted)
{
    for (uint32_t i = 0; i < pod->cls->rules.term_count; i++) {
        const struct pod_term *term = &pod->cls->rules.terms[i];
        if (term->kind == TERM_AFFINITY &&
            room_near(pod, nodes, fits, &nodes[node], term->topology_key) < wanted)
            return false;
    }
    return true;
}

/* The first of a gang that is to stay together does not go where that is not possible. */
static void leave_narrow_domains(const struct slow_pod *pod, struct sched_node *nodes, bool *fits)
{
    size_t n = pod->cache->nodes.n;
    const struct sched_job *job = slow.group->job;
    uint64_t lacks = (uint64_t)job->min_member - job_have(job), pending = 0;
    for (size_t i = 0; i < job->groups.n; i++)
        pending += job->groups.items[i]->cls == slow.cls ? job->groups.items[i]->pending.n : 0;
    uint64_t wanted = job->min_member <= (int64_t)job_have(job) ? 1
                      : lacks < pending                         ? lacks
                                                                : pending;
    bool *roomy = xcalloc(n + 1, sizeof(*roomy)), any = false;
    for (size_t i = 0; i < n; i++) {
        roomy[i] = fits[i] && is_roomy(pod, nodes, fits, i, wanted);
        any = any || roomy[i];
    }
    for (size_t i = 0; i < n && any; i++)
        fits[i] = roomy[i];
    free(roomy);
}

static bool is_first_of_its_kind(const struct slow_pod *pod)
{
    if (!pod->labels.set || !slow_all_terms(pod, &pod->labels))
        return false;
    for (uint32_t i = 0; i < pod->cls->rules.term_count; i++)
        if (pod->cls->rules.terms[i].kind == TERM_AFFINITY &&
            slow_has_friend(pod, &pod->cls->rules.terms[i], NULL))
            return false;
    return true;
}

/* The place of the best node, -1 when none fits. */
static ptrdiff_t best_of(const struct cache *cache, struct sched_node *nodes)
{
    struct slow_pod pod = pod_of(cache);
    size_t n = cache->nodes.n;
    bool *fits = xcalloc(n + 1, sizeof(*fits));
    int64_t *scores = xcalloc(n + 1, sizeof(*scores));
    ptrdiff_t best = -1;
    judge(&pod, nodes, fits, scores);
    if (is_first_of_its_kind(&pod))
        leave_narrow_domains(&pod, nodes, fits);
    for (size_t i = 0; i < n; i++)
        if (fits[i] && (best < 0 || scores[i] > scores[best]))
            best = (ptrdiff_t)i;
    free(fits);
    free(scores);
    return best;
}

struct fit_table *__wrap_fit_table(struct cache *cache, const struct sched_config *config,
                                   const struct sched_queue *queue, struct pod_class *cls)
{
    slow.config = config;
    slow.cls = cls;
    slow.group = NULL;
    return __real_fit_table(cache, config, queue, cls);
}

struct fit_table *__wrap_fit_table_of(struct cache *cache, const struct sched_config *config,
                                      const struct task_group *group)
{
    struct fit_table *table = __real_fit_table_of(cache, config, group);
    slow.config = config;
    slow.cls = group->cls;
    slow.group = group;
    slow.ruled += group->cls->rules.term_count || group->cls->rules.spread_count;
    return table;
}

struct sched_node *__wrap_fit_best(const struct cache *cache, const struct fit_table *table)
{
    struct sched_node *chosen = __real_fit_best(cache, table);
    struct sched_node *nodes = empty_nodes(cache);
    charge_pods(cache, nodes);
    ptrdiff_t best = best_of(cache, nodes);
    const char *expected = best < 0 ? "none" : nodes[best].name;
    if (strcmp(chosen ? chosen->name : "none", expected) != 0)
        fail_msg("chosen: %s, best: %s", chosen ? chosen->name : "none", expected);
    slow.compared++;
    slow.without += !chosen;
    for (size_t i = 0; i < cache->nodes.n; i++) {
        resource_vector_clear(&nodes[i].used);
        host_ports_clear(&nodes[i].ports);
    }
    free(nodes);
    return chosen;
}

/* ---- random clusters ------------------------------------------------------------------------- */

static unsigned below(struct world *w, unsigned bound)
{
    return (unsigned)rng_below(&w->rng, bound);
}

/* One of four shapes, a quarter of them tainted; now and then cordoned. */
static void random_node(struct world *w)
{
    static const struct {
        unsigned cpu, memory, gpus;
    } shapes[] = {{4, 8, 0}, {8, 16, 0}, {8, 64, 0}, {16, 64, 4}};
    unsigned shape = below(w, ARRAY_SIZE(shapes)), i = below(w, NODES);
    cleanup_free char *name = xasprintf("n%u", i);
    cleanup_free char *host =
        below(w, 8) ? xasprintf(",\"kubernetes.io/hostname\":\"%s\"", name) : xstrdup("");
    cleanup_free char *zone = below(w, 10) ? xasprintf(",\"zone\":\"z%u\"", i % 3) : xstrdup("");
    cleanup_free char *rack = below(w, 40) ? xstrdup("") : xasprintf(",\"rack\":\"r%u\"", i % 2);
    cleanup_free char *labels = xasprintf("\"pool\":\"p%u\"%s%s%s", below(w, 4), host, zone, rack);
    cleanup_free char *allocatable =
        xasprintf("\"cpu\":\"%u\",\"memory\":\"%uGi\",\"pods\":\"%u\",\"nvidia.com/gpu\":\"%u\"",
                  shapes[shape].cpu, shapes[shape].memory, 4 + below(w, 12), shapes[shape].gpus);
    const char *spec = !below(w, 4) ? "\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]"
                       : !below(w, 4)
                           ? "\"taints\":[{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"}]"
                       : !below(w, 12) ? "\"unschedulable\":true"
                                       : "";
    add_node_json(w->c, name, labels, spec, allocatable);
}

#define APP(value) "\"labelSelector\":{\"matchLabels\":{\"app\":\"" value "\"}}"
#define APPS                                                                                       \
    "\"labelSelector\":{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\",\"values\":["   \
    "\"a0\",\"a1\"]}]}"
#define HOST ",\"topologyKey\":\"kubernetes.io/hostname\""
#define ZONE ",\"topologyKey\":\"zone\""
#define RACK ",\"topologyKey\":\"rack\"" /* which most often no node has, or one */
#define REQUIRED(terms) "{\"requiredDuringSchedulingIgnoredDuringExecution\":[" terms "]}"
#define PREFERRED(weight, term)                                                                    \
    "{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":" weight                    \
    ",\"podAffinityTerm\":{" term "}}]}"
#define NEAR(rule) ",\"affinity\":{\"podAffinity\":" rule "}"
#define APART(rule) ",\"affinity\":{\"podAntiAffinity\":" rule "}"
#define SPREAD(what, members) ",\"topologySpreadConstraints\":[{" what "," members "}]"
#define HARD "\"maxSkew\":1,\"whenUnsatisfiable\":\"DoNotSchedule\""
#define SOFT "\"maxSkew\":2,\"whenUnsatisfiable\":\"ScheduleAnyway\""

static const char *const other_rules[] = {
    APART(REQUIRED("{" APP("a1") HOST "}")),
    APART(REQUIRED("{" APP("a2") HOST ",\"namespaceSelector\":{}}")),
    APART(PREFERRED("30", APPS ZONE)),
    NEAR(PREFERRED("7", APP("a0") ZONE)),
    NEAR(REQUIRED("{" APP("a3") ZONE "}")),
    APART(REQUIRED("{" APPS RACK "},{" APPS ",\"topologyKey\":\"none\"}")),
    NEAR(PREFERRED("90", APPS RACK)),
};

/* A pod of another scheduler, on a node that may not have been heard of. */
static void random_other(struct world *w)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(w->c->pods, false, false,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"o%u\",\"namespace\":\"%s\",\"uid\":\"o%u\","
                      "\"resourceVersion\":\"%llu\",\"labels\":{\"app\":\"a%u\"}%s},\"spec\":{"
                      "\"schedulerName\":\"other\",\"nodeName\":\"n%u\",\"containers\":[{"
                      "\"resources\":{\"requests\":{\"cpu\":\"%u\",\"memory\":\"%uGi\"}}}]%s},"
                      "\"status\":{\"phase\":\"%s\"}}",
                      w->others % 60, w->others % 3 ? "ns" : "ns2", w->others % 60,
                      (unsigned long long)++w->c->rv, below(w, 4),
                      below(w, 6) ? "" : ",\"deletionTimestamp\":\"2026-11-29T18:00:00Z\"",
                      below(w, NODES), 1 + below(w, 3), 1 + below(w, 4),
                      below(w, 4) ? "" : other_rules[below(w, ARRAY_SIZE(other_rules))],
                      below(w, 5) ? "Running" : "Succeeded"));
    w->others++;
}

static const char *const wishes[] = {
    "",
    "",
    ",\"nodeSelector\":{\"zone\":\"z1\"}",
    ",\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]",
    ",\"tolerations\":[{\"operator\":\"Exists\"}]",
    ",\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{"
    "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"pool\",\"operator\":\"In\","
    "\"values\":[\"p1\",\"p2\"]}]}]}}}",
    ",\"affinity\":{\"nodeAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{"
    "\"weight\":40,\"preference\":{\"matchExpressions\":[{\"key\":\"pool\",\"operator\":\"In\","
    "\"values\":[\"p0\",\"p3\"]}]}},{\"weight\":9,\"preference\":{\"matchExpressions\":[{\"key\":"
    "\"zone\",\"operator\":\"Exists\"}]}}]}}",
    APART(REQUIRED("{" APP("a0") HOST "}")),
    APART(REQUIRED("{" APP("a1") HOST "},{" APP("a2") ZONE "}")),
    APART(REQUIRED("{" APPS RACK "},{" APP("a3") HOST "}")),
    APART(PREFERRED("50", APPS HOST)),
    APART(PREFERRED("50", APPS RACK)),
    NEAR(REQUIRED("{" APP("a2") RACK "}")),
    NEAR(REQUIRED("{" APP("a1") ZONE "}")),
    NEAR(REQUIRED("{" APPS ZONE ",\"namespaces\":[\"ns\",\"ns2\"]},{" APP("a0") HOST "}")),
    NEAR(PREFERRED("25",
                   APP("a2") ZONE ",\"namespaceSelector\":{\"matchLabels\":{\"team\":\"b\"}}")),
    SPREAD(HARD ZONE, APPS),
    SPREAD(HARD ZONE, APPS ",\"minDomains\":4"),
    SPREAD(HARD HOST, APP("a1") ",\"nodeTaintsPolicy\":\"Honor\""),
    SPREAD(SOFT ZONE, APPS ",\"nodeAffinityPolicy\":\"Ignore\""),
    SPREAD(SOFT HOST, APP("a0") ",\"matchLabelKeys\":[\"app\"]"),
    ",\"topologySpreadConstraints\":[{" SOFT ZONE "," APPS "},{" HARD HOST "," APPS "}]",
};

static char *random_spec(struct world *w)
{
    static const char *const requests[] = {
        "\"cpu\":\"500m\",\"memory\":\"1Gi\"",
        "\"cpu\":\"1\",\"memory\":\"512Mi\"",
        "\"cpu\":\"2\",\"memory\":\"6Gi\"",
        "\"cpu\":\"3\"",
        "\"memory\":\"2Gi\"",
        "\"cpu\":\"1\",\"nvidia.com/gpu\":\"1\"",
        "",
    };
    return xasprintf(",\"containers\":[{\"resources\":{\"requests\":{%s}}%s}]%s",
                     requests[below(w, ARRAY_SIZE(requests))],
                     below(w, 12) ? "" : ",\"ports\":[{\"hostPort\":8080}]",
                     wishes[below(w, ARRAY_SIZE(wishes))]);
}

/* A gang, of one or two kinds of pods, some of which may be left over. */
static void new_job(struct world *w)
{
    cleanup_free char *name = xasprintf("g%u", w->made++);
    unsigned pods = 1 + below(w, 8);
    cleanup_free char *group = xasprintf("\"minMember\":%u", 1 + below(w, pods));
    cleanup_free char *master = random_spec(w), *worker = random_spec(w);
    cleanup_free char *app = xasprintf("\"app\":\"a%u\"", below(w, 4));
    add_group(w->c, name, group);
    for (unsigned i = 0; i < pods; i++) {
        cleanup_free char *pod = xasprintf("%s-%u", name, i);
        add_pod_labelled(w->c, pod, name, i % 3 ? "w" : "m", app, i % 3 ? worker : master);
    }
}

/* Its pods succeed, or are gone with it. */
static void end_job(struct world *w)
{
    struct cluster *c = w->c;
    struct test_group *group = c->group_list.items[below(w, (unsigned)c->group_list.n)];
    bool remove = below(w, 2);
    if (group->gone)
        return;
    end_pods_of(c, group, remove);
    group->gone = remove;
    if (remove)
        show_group(c, group);
}

static void trouble(struct world *w)
{
    struct cluster *c = w->c;
    struct test_pod *pod = c->pod_list.items[below(w, (unsigned)c->pod_list.n)];
    cleanup_free char *name = xasprintf("n%u", below(w, NODES));
    if (below(w, 3))
        pod->fail = below(w, 2) ? 409 : 422;
    else if (store_get(c->nodes, STR_NULL, str_of(name)))
        delete_node(c, name);
}

static unsigned live_jobs(const struct cluster *c)
{
    unsigned count = 0;
    for (size_t i = 0; i < c->group_list.n; i++)
        count += !c->group_list.items[i]->gone;
    return count;
}

/* The text of the configuration in the manifest, without its indentation. */
static char *shipped_conf(void)
{
    static const char title[] = "  volcano-scheduler.conf: |\n", indent[] = "    ";
    cleanup_buf struct buf text = BUF_INIT((size_t)1 << 20), conf = BUF_INIT(65536);
    struct error err = ERROR_INIT;
    ENSURE(file_read(MANIFEST, &text, &err) == 0);
    ptrdiff_t at = str_find(buf_str(&text), str_of(title));
    ENSURE(at >= 0);
    struct str rest = str_from(buf_str(&text), (size_t)at + strlen(title)), line;
    while (str_split(&rest, '\n', &line) && str_starts(line, str_of(indent))) {
        buf_add_str(&conf, str_from(line, strlen(indent)));
        buf_add_char(&conf, '\n');
    }
    ENSURE(conf.n > 100);
    return buf_take(&conf);
}

/* The labels of the namespaces, which terms select by. */
static void name_namespace(struct world *w, const char *raw)
{
    struct error err = ERROR_INIT;
    struct namespace_labels *space = namespace_labels_decode(str_of(raw), &err);
    ENSURE(space);
    cache_set_namespace(&w->c->scheduler->cache, space->meta.name, &space->meta.labels);
    namespace_labels_free(space);
}

/* The labels of one are others, so that terms mean other pods. */
static void rename_namespace(struct world *w)
{
    static const char *const spaces[] = {"ns", "ns2"};
    cleanup_free char *raw =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"labels\":{%s}}}", spaces[below(w, 2)],
                  below(w, 3) ? below(w, 2) ? "\"team\":\"a\"" : "\"team\":\"b\"" : "");
    name_namespace(w, raw);
    scheduler_wake(w->c->scheduler);
}

/* Somebody gives a pod another label. */
static void relabel_pod(struct world *w)
{
    struct test_pod *pod = w->c->pod_list.items[below(w, (unsigned)w->c->pod_list.n)];
    if (pod->gone)
        return;
    free(pod->labels);
    pod->labels = xasprintf("\"app\":\"a%u\"", below(w, 4));
    show_pod(w->c, pod);
}

static bool any_held(const struct cache *cache)
{
    void *value;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);)
        if (((const struct sched_job *)value)->count[TASK_HELD])
            return true;
    return false;
}

/* At rest nobody waits whom another look would place: whatever may help is noticed. */
static void nothing_is_overlooked(struct world *w)
{
    struct cluster *c = w->c;
    run_for(c, 5 * NSEC_PER_SEC);
    if (any_held(&c->scheduler->cache))
        return;
    unsigned binds = c->binds;
    cache_room(&c->scheduler->cache);
    scheduler_wake(c->scheduler);
    run_for(c, NSEC_PER_SEC);
    if (c->binds != binds)
        fail_msg("%u pods were overlooked", c->binds - binds);
}

/* All within less time than after which nodes may be held for gangs. */
static void live(uint64_t seed, unsigned steps)
{
    cleanup_free char *conf = shipped_conf();
    struct world w = {.c = cluster_new(conf)};
    uint64_t before = slow.compared;
    rng_seed(&w.rng, seed);
    name_namespace(&w, "{\"metadata\":{\"name\":\"ns\",\"labels\":{\"team\":\"a\"}}}");
    name_namespace(&w, "{\"metadata\":{\"name\":\"ns2\",\"labels\":{\"team\":\"b\"}}}");
    for (unsigned i = 0; i < NODES; i++)
        random_node(&w);
    for (unsigned i = 0; i < NODES; i++)
        random_other(&w);
    new_job(&w);
    for (unsigned step = 0; step < steps; step++) {
        if (below(&w, 2) && live_jobs(w.c) < JOBS)
            new_job(&w);
        if (!below(&w, 4))
            end_job(&w);
        if (!below(&w, 4))
            random_node(&w);
        if (!below(&w, 4))
            random_other(&w);
        if (!below(&w, 8))
            trouble(&w);
        if (!below(&w, 10))
            rename_namespace(&w);
        if (!below(&w, 6))
            relabel_pod(&w);
        if (!below(&w, 8))
            nothing_is_overlooked(&w);
        run_for(w.c, (int64_t)below(&w, 3000) * NSEC_PER_MSEC);
    }
    assert_true(slow.compared - before > steps / 2);
    cluster_free(w.c);
}

static void fast_equals_slow(void **state)
{
    (void)state;
    property_run(&(struct property){.live = live, .seeds = 60, .steps = 80, .alone_steps = 80});
    print_message("%llu decisions, %llu of them without a node, %llu for pods with rules\n",
                  (unsigned long long)slow.compared, (unsigned long long)slow.without,
                  (unsigned long long)slow.ruled);
    assert_true(slow.without > 0 && slow.without < slow.compared / 2);
    assert_true(slow.ruled > slow.compared / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_equals_slow),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
