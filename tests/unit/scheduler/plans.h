/*
 * A scheduler whose cache is filled by hand, and plans of evictions on it as one line of text.
 *
 * Every plan is made twice over: once as it is, and before that again and again, freed after each
 * number of steps, when the cache must be as if nothing had been.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_PLANS_H
#define PUMICE_TESTS_UNIT_SCHEDULER_PLANS_H

#include "cluster.h"

#include "scheduler/evict/plan.h"
#include "scheduler/holds.h"
#include "scheduler/points_evict.h"

/* What every configuration has here. Whole gangs may go, as in the shipped configuration. */
#define PLANS_CONF(more)                                                                           \
    "actions: \"allocate\"\n"                                                                      \
    "tiers:\n"                                                                                     \
    "- plugins:\n"                                                                                 \
    "  - name: priority\n"                                                                         \
    "  - name: gang\n"                                                                             \
    "    enablePreemptable: false\n"                                                               \
    "    enableReclaimable: false\n"                                                               \
    "  - name: conformance\n"                                                                      \
    "- plugins:\n"                                                                                 \
    "  - name: predicates\n"                                                                       \
    "  - name: nodeorder\n" more

/* Something wrong with what a test says of an object. */
#define DECODED(object)                                                                            \
    do {                                                                                           \
        if (!(object))                                                                             \
            fail_msg("%s", err.text);                                                              \
    } while (0)

static inline struct cluster *plans_new(const char *conf)
{
    struct cluster *c = cluster_new(conf);
    cache_budgets_known(&c->scheduler->cache);
    return c;
}

static inline struct cache *plans_cache(const struct cluster *c)
{
    return &c->scheduler->cache;
}

/* ---- objects --------------------------------------------------------------------------------- */

/* `labels`: members of its labels. */
static inline void plans_node(struct cluster *c, const char *name, int cpu, const char *labels)
{
    struct error err = ERROR_INIT;
    cleanup_free char *json = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"uid\":\"n-%s\",\"labels\":{\"kubernetes.io/hostname\":"
        "\"%s\"%s}},\"status\":{\"allocatable\":{\"cpu\":\"%d\",\"pods\":\"110\"}}}",
        name, name, name, labels, cpu);
    struct node *node = node_decode(str_of(json), &err);
    DECODED(node);
    cache_set_node(plans_cache(c), name, node);
    node_unref(node);
}

/* Nodes n0, n1, ... */
static inline void plans_nodes(struct cluster *c, unsigned count, int cpu)
{
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *name = xasprintf("n%u", i);
        plans_node(c, name, cpu, "");
    }
}

static inline void plans_queue(struct cluster *c, const char *name, const char *spec)
{
    struct error err = ERROR_INIT;
    cleanup_free char *json = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"uid\":\"q-%s\"},\"spec\":{%s}}", name, name, spec);
    struct queue *queue = queue_decode(str_of(json), &err);
    DECODED(queue);
    cache_set_queue(plans_cache(c), name, queue);
    queue_free(queue);
}

struct plans_job {
    const char *name;
    const char *queue; /* NULL: default */
    int min;
    int priority;
    const char *meta; /* more members of its metadata, beginning with a comma, or NULL */
    const char *spec; /* likewise of its spec */
};

static inline struct sched_job *plans_put_job(struct cluster *c, const struct plans_job *job)
{
    struct error err = ERROR_INIT;
    cleanup_free char *json = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"g-%s\"%s},\"spec\":{"
        "\"queue\":\"%s\",\"minMember\":%d%s},\"status\":{\"phase\":\"Running\"}}",
        job->name, job->name, job->meta ? job->meta : "", job->queue ? job->queue : "default",
        job->min, job->spec ? job->spec : "");
    struct podgroup *group = podgroup_decode(str_of(json), &err);
    DECODED(group);
    cache_set_podgroup(plans_cache(c), "ns", job->name, group);
    podgroup_free(group);
    struct sched_job *made = cache_job(plans_cache(c), "ns", job->name);
    made->priority = job->priority;
    return made;
}

#define put_job(c, ...) plans_put_job((c), &(struct plans_job){__VA_ARGS__})

struct plans_pod {
    const char *name, *job; /* `job` NULL: of another scheduler */
    const char *node;       /* NULL: it waits */
    const char *cpu;
    const char *role;   /* NULL: "w" */
    int rank;           /* its priority, within its job */
    int ran;            /* seconds since it started */
    int leaves;         /* seconds (from now) after which it should be gone; 0: it stays */
    const char *labels; /* members of its labels, or NULL */
    const char *meta;   /* more members of its metadata, beginning with a comma, or NULL */
    const char *spec;   /* likewise of its spec, */
    const char *ports;  /* and of its container */
    const char *phase;  /* NULL: Running, or Pending without a node */
};

/* `"key":"time"` with a comma before it. */
static inline char *plans_time(const struct cluster *c, const char *key, int seconds)
{
    char text[TIME_TEXT_MAX];
    time_format(text, loop_wall(c->loop) + seconds * NSEC_PER_SEC);
    return xasprintf(",\"%s\":\"%s\"", key, text);
}

static inline char *plans_pod_spec(const struct plans_pod *pod)
{
    return xasprintf("\"schedulerName\":\"%s\"%s%s%s,\"priority\":%d,\"containers\":[{\"resources\""
                     ":{\"requests\":{\"cpu\":\"%s\"}}%s}]%s",
                     pod->job ? "volcano" : "other", pod->node ? ",\"nodeName\":\"" : "",
                     pod->node ? pod->node : "", pod->node ? "\"" : "", pod->rank, pod->cpu,
                     pod->ports ? pod->ports : "", pod->spec ? pod->spec : "");
}

static inline struct sched_task *plans_put_pod(struct cluster *c, const struct plans_pod *pod)
{
    struct error err = ERROR_INIT;
    cleanup_free char *uid = xasprintf("u-%s", pod->name), *spec = plans_pod_spec(pod);
    cleanup_free char *deleted =
        pod->leaves ? plans_time(c, "deletionTimestamp", pod->leaves) : xstrdup("");
    cleanup_free char *started = plans_time(c, "startTime", -pod->ran);
    const char *phase = pod->phase ? pod->phase : pod->node ? "Running" : "Pending";
    cleanup_free char *json = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\",\"annotations\":{"
        "\"scheduling.k8s.io/group-name\":\"%s\",\"volcano.sh/task-spec\":\"%s\"},\"labels\":{%s}"
        "%s%s},\"spec\":{%s},\"status\":{\"phase\":\"%s\"%s}}",
        pod->name, uid, pod->job ? pod->job : "", pod->role ? pod->role : "w",
        pod->labels ? pod->labels : "", deleted, pod->meta ? pod->meta : "", spec, phase,
        pod->node ? started : "");
    struct pod *made = pod_decode(str_of(json), &err);
    DECODED(made);
    cache_set_pod(plans_cache(c), uid, made);
    pod_unref(made);
    return cache_task(plans_cache(c), uid);
}

#define put_pod(c, ...) plans_put_pod((c), &(struct plans_pod){__VA_ARGS__})

/* Pods <job>-0, <job>-1, ... that are alike but for their names. */
static inline void plans_put_pods(struct cluster *c, unsigned count, const struct plans_pod *like)
{
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *name = xasprintf("%s-%u", like->job, i);
        struct plans_pod pod = *like;
        pod.name = name;
        plans_put_pod(c, &pod);
    }
}

#define put_pods(c, count, ...) plans_put_pods((c), (count), &(struct plans_pod){__VA_ARGS__})

/* A budget for pods that have the label app. */
static inline void plans_budget(struct cluster *c, const char *name, const char *app, int allowed)
{
    struct error err = ERROR_INIT;
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\"},\"spec\":{\"selector\":{"
                  "\"matchLabels\":{\"app\":\"%s\"}}},\"status\":{\"disruptionsAllowed\":%d}}",
                  name, app, allowed);
    struct poddisruptionbudget *budget = poddisruptionbudget_decode(str_of(json), &err);
    DECODED(budget);
    cache_set_budget(plans_cache(c), "ns", name, budget);
    poddisruptionbudget_unref(budget);
}

/* A job of priority 10 that waits with `count` pods and needs them all. */
static inline void put_taker(struct cluster *c, unsigned count, const char *cpu)
{
    put_job(c, .name = "p", .min = (int)count, .priority = 10);
    put_pods(c, count, .job = "p", .cpu = cpu);
}

/* A job of single pods: it needs none of them. */
static inline void put_loose(struct cluster *c, const char *name, int priority)
{
    put_job(c, .name = name, .min = 0, .priority = priority);
}

/* ---- the cache as text ----------------------------------------------------------------------- */

static inline void plans_dump_set(struct buf *out, const struct resource_set *set)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (set->items[i].amount)
            buf_printf(out, " %s=%lld", resource_name(set->items[i].id),
                       (long long)set->items[i].amount);
}

static inline void plans_dump_jobs(const struct cache *cache, struct buf *out)
{
    void *value;
    for (size_t at = 0; map_next(&cache->jobs_by_key, &at, NULL, &value);) {
        const struct sched_job *job = value;
        buf_printf(out, "job %s min %d dirty %d", job->name, job->min_member, job->dirty);
        plans_dump_set(out, &job->allocated);
        plans_dump_set(out, &job->pending);
        for (size_t i = 0; i < job->roles.n; i++)
            buf_printf(out, " role %u %u", job->roles.items[i].have, job->roles.items[i].waiting);
        for (const struct list *link = job->tasks.next; link != &job->tasks; link = link->next) {
            const struct sched_task *task = const_container_of(link, struct sched_task, link);
            buf_printf(out, "\n  %s %d %s", task->pod->meta.name, (int)task->status,
                       task->node ? task->node->name : "-");
        }
        buf_add_cstr(out, "\n");
    }
}

/* Whether the pods of each group would have room on the node. */
static inline void plans_dump_fits(struct cluster *c, const struct sched_node *node,
                                   struct buf *out)
{
    void *value;
    struct cache *cache = plans_cache(c);
    for (size_t at = 0; map_next(&cache->jobs_by_key, &at, NULL, &value);) {
        const struct sched_job *job = value;
        for (size_t i = 0; i < job->groups.n; i++) {
            const struct task_group *group = job->groups.items[i];
            if (!group->pending.n)
                continue;
            const char *why = fit_reason(fit_table_of(cache, c->scheduler->config, group), node);
            buf_printf(out, " %s:%s", job->name, why ? why : "fits");
        }
    }
}

static inline void plans_dump_nodes(struct cluster *c, struct buf *out)
{
    const struct cache *cache = plans_cache(c);
    for (size_t i = 0; i < cache->nodes.n; i++) {
        const struct sched_node *node = cache->nodes.items[i];
        if (!node || !node->object)
            continue;
        buf_printf(out, "node %s tasks %u:", node->name, node->tasks);
        for (uint32_t id = 0; id < resource_id_count(); id++)
            buf_printf(out, " %lld held %lld", (long long)resource_vector_get(&node->used, id),
                       (long long)holds_on(node, id));
        plans_dump_fits(c, node, out);
        buf_add_cstr(out, "\n");
    }
}

static inline char *plans_dump(struct cluster *c)
{
    struct buf out = BUF_INIT((size_t)1 << 20);
    const struct cache *cache = plans_cache(c);
    void *value;
    const char *wrong = cache_audit(cache);
    if (wrong)
        fail_msg("%s", wrong);
    plans_dump_jobs(cache, &out);
    plans_dump_nodes(c, &out);
    for (size_t at = 0; map_next(&cache->queues_by_name, &at, NULL, &value);) {
        const struct sched_queue *queue = value;
        buf_printf(&out, "queue %s", queue->name);
        plans_dump_set(&out, &queue->allocated);
        plans_dump_set(&out, &queue->pending);
        plans_dump_set(&out, &queue->inqueue);
        plans_dump_set(&out, &queue->elastic);
        buf_add_cstr(&out, "\n");
    }
    buf_printf(&out, "chances %llu", (unsigned long long)cache_admit_state(cache));
    return buf_take(&out);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static inline struct evict_plan *plans_begin(struct cluster *c, const char *job,
                                             const struct evict_rules *rules)
{
    struct sched_job *taker = cache_job(plans_cache(c), "ns", job);
    assert_non_null(taker);
    return evict_plan_new(c->scheduler, taker, rules);
}

/* Freed after every number of steps, a plan has left nothing behind. */
static inline void plans_check_undone(struct cluster *c, const char *job,
                                      const struct evict_rules *rules)
{
    cleanup_free char *before = plans_dump(c);
    bool done = false;
    for (unsigned steps = 0; !done; steps++) {
        struct evict_plan *plan = plans_begin(c, job, rules);
        for (unsigned i = 0; i < steps && !done; i++)
            done = evict_plan_step(plan);
        evict_plan_free(plan);
        cleanup_free char *after = plans_dump(c);
        if (strcmp(before, after) != 0)
            fail_msg("after %u steps\n%s\nis not\n%s", steps, after, before);
    }
}

static inline int plans_compare(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* Adds the words in order, and frees them. */
static inline void plans_add_words(struct buf *out, char **words, size_t n)
{
    if (n)
        qsort(words, n, sizeof(*words), plans_compare);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, " %s", words[i]);
        free(words[i]);
    }
    free(words);
}

/* "decided: victim whole-victim* -> pod@node". */
static inline char *plans_text(struct evict_plan *plan)
{
    static const char *const outcomes[] = {"nothing", "no need", "refused", "decided:"};
    struct buf out = BUF_INIT(65536);
    size_t victims, places;
    buf_add_cstr(&out, outcomes[evict_plan_outcome(plan)]);
    if (evict_plan_outcome(plan) != EVICT_DECIDED)
        return buf_take(&out);
    const struct evict_victim *victim = evict_plan_victims(plan, &victims);
    const struct evict_place *place = evict_plan_places(plan, &places);
    char **words = xcalloc(victims + 1, sizeof(*words));
    for (size_t i = 0; i < victims; i++)
        words[i] = xasprintf("%s%s", victim[i].task->pod->meta.name, victim[i].whole ? "*" : "");
    plans_add_words(&out, words, victims);
    buf_add_cstr(&out, " ->");
    words = xcalloc(places + 1, sizeof(*words));
    for (size_t i = 0; i < places; i++)
        words[i] = xasprintf("%s@%s", place[i].task->pod->meta.name, place[i].node->name);
    plans_add_words(&out, words, places);
    return buf_take(&out);
}

/* What is decided for the job, as plans_text has it. */
static inline char *plans_decide(struct cluster *c, const char *job,
                                 const struct evict_rules *rules)
{
    struct evict_plan *plan = plans_begin(c, job, rules);
    while (!evict_plan_step(plan))
        ;
    char *text = plans_text(plan);
    evict_plan_free(plan);
    return text;
}

static inline void plans_assert(struct cluster *c, const char *job, const struct evict_rules *rules,
                                const char *expected)
{
    config_begin(c->scheduler->config, plans_cache(c));
    plans_check_undone(c, job, rules);
    cleanup_free char *text = plans_decide(c, job, rules);
    assert_str(str_of(text), expected);
}

/* A constant set of rules. */
#define RULES(...) (&(const struct evict_rules){__VA_ARGS__})
#define PREEMPT RULES(.kind = EVICT_PREEMPT, .whole = true)
#define RECLAIM RULES(.kind = EVICT_RECLAIM, .whole = true)

#endif
