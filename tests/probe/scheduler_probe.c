/*
 * scheduler_probe: what the scheduler makes of one pod and a small cluster, on stdin and stdout,
 * for the oracle of tests/oracle that puts the same question to kube-scheduler's plugins.
 *
 *     scheduler_probe placement
 *
 * Reads one case a line, {"nodes": [...], "pods": [...], "namespaces": [...], "pod": {...}} with
 * objects as the API server has them, and prints for each {"nodes": {NAME: {"refused": TEXT or
 * null, "scores": {...}}}}: one reason why the pod may not run there, or the points, 0 to 100, that
 * each kind of score gives the node. Exits with 0 at the end of the input, 1 on a line that is no
 * case, 2 on wrong usage.
 */
#include "api/names.h"
#include "api/namespace.h"
#include "base/ensure.h"
#include "base/log.h"
#include "scheduler/fit.h"
#include "scheduler/images.h"
#include <cjson/cJSON.h>
#include <stdio.h>

#define GROUP "the-pod"

/* One score of ours that is not set in relation to other nodes. */
struct resource_score {
    const char *name, *argument;
    struct sched_config *config;
};

static struct resource_score resource_scores[] = {
    {"LeastAllocated", "leastrequested.weight", NULL},
    {"MostAllocated", "mostrequested.weight", NULL},
    {"BalancedAllocation", "balancedresource.weight", NULL},
};

static const struct {
    const char *name;
    enum fit_part part;
} parts[] = {
    {"TaintToleration", FIT_TAINTS},
    {"NodeAffinity", FIT_NODE_AFFINITY},
    {"InterPodAffinity", FIT_POD_AFFINITY},
    {"PodTopologySpread", FIT_SPREAD},
};

struct probe {
    struct loop *loop;
    struct kube_transport transport; /* nothing is ever sent */
    struct window *window;
    struct sched_config *config;
    struct cache cache;
};

/* ---- the cluster ----------------------------------------------------------------------------- */

static _Noreturn void refuse(const char *what, const char *why)
{
    fprintf(stderr, "scheduler_probe: %s: %s\n", what, why);
    exit(1);
}

/* What a test leaves out and an API server would have set. */
static void complete(cJSON *object, const char *uid)
{
    cJSON *meta = cJSON_GetObjectItemCaseSensitive(object, "metadata");
    if (!meta)
        meta = cJSON_AddObjectToObject(object, "metadata");
    if (!cJSON_GetObjectItemCaseSensitive(meta, "uid"))
        (void)cJSON_AddStringToObject(meta, "uid", uid);
}

/* Calls `set` with each object of a list as JSON. */
static void each_object(struct probe *probe, const cJSON *question, const char *list,
                        void (*set)(struct probe *probe, struct str raw))
{
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(question, list);
    unsigned i = 0;
    for (cJSON *item = items ? items->child : NULL; item; item = item->next) {
        cleanup_free char *uid = xasprintf("%s-%u", list, i++);
        complete(item, uid);
        char *raw = cJSON_PrintUnformatted(item);
        set(probe, str_of(raw));
        cJSON_free(raw);
    }
}

static void set_node(struct probe *probe, struct str raw)
{
    struct error err = ERROR_INIT;
    struct node *node = node_decode(raw, &err);
    if (!node)
        refuse("node", err.text);
    cache_set_node(&probe->cache, node->meta.name, node);
    node_unref(node);
}

static void set_namespace(struct probe *probe, struct str raw)
{
    struct error err = ERROR_INIT;
    struct namespace_labels *space = namespace_labels_decode(raw, &err);
    if (!space)
        refuse("namespace", err.text);
    cache_set_namespace(&probe->cache, space->meta.name, &space->meta.labels);
    namespace_labels_free(space);
}

static void set_pod(struct probe *probe, struct str raw)
{
    struct error err = ERROR_INIT;
    struct pod *pod = pod_decode(raw, &err);
    if (!pod)
        refuse("pod", err.text);
    cache_set_pod(&probe->cache, pod->meta.uid, pod);
    pod_unref(pod);
}

/* Makes the pod one of a job of ours, and returns its task. */
static const struct sched_task *set_pending(struct probe *probe, cJSON *pod)
{
    static const char uid[] = "the-pod";
    complete(pod, uid);
    cJSON *meta = cJSON_GetObjectItemCaseSensitive(pod, "metadata");
    cJSON *spec = cJSON_GetObjectItemCaseSensitive(pod, "spec");
    cJSON_DeleteItemFromObjectCaseSensitive(meta, "annotations");
    cJSON *annotations = cJSON_AddObjectToObject(meta, "annotations");
    (void)cJSON_AddStringToObject(annotations, KEY_GROUP_NAME, GROUP);
    cJSON_DeleteItemFromObjectCaseSensitive(spec, "schedulerName");
    (void)cJSON_AddStringToObject(spec, "schedulerName", DEFAULT_SCHEDULER_NAME);
    cJSON_DeleteItemFromObjectCaseSensitive(spec, "schedulingGates");
    char *raw = cJSON_PrintUnformatted(pod);
    set_pod(probe, str_of(raw));
    cJSON_free(raw);
    const cJSON *given = cJSON_GetObjectItemCaseSensitive(meta, "uid");
    const struct sched_task *task = cache_task(&probe->cache, given->valuestring);
    if (!task || !task->group)
        refuse("pod", "it is bound already");
    return task;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void add_scores(const struct probe *probe, const struct fit_table *table,
                       const struct pod_class *cls, const struct sched_node *node, cJSON *answer)
{
    cJSON *scores = cJSON_AddObjectToObject(answer, "scores");
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        (void)cJSON_AddNumberToObject(scores, parts[i].name,
                                      (double)fit_points(table, parts[i].part, node->index));
    (void)cJSON_AddNumberToObject(scores, "ImageLocality",
                                  (double)images_points(&probe->cache, cls, node));
    for (size_t i = 0; i < ARRAY_SIZE(resource_scores); i++)
        (void)cJSON_AddNumberToObject(scores, resource_scores[i].name,
                                      (double)config_score(resource_scores[i].config, cls, node) /
                                          1e6);
}

static void answer_case(struct probe *probe, cJSON *question, cJSON *answer)
{
    cJSON *nodes = cJSON_AddObjectToObject(answer, "nodes");
    each_object(probe, question, "namespaces", set_namespace);
    each_object(probe, question, "nodes", set_node);
    each_object(probe, question, "pods", set_pod);
    const struct sched_task *task =
        set_pending(probe, cJSON_GetObjectItemCaseSensitive(question, "pod"));
    const struct fit_table *table = fit_table_of(&probe->cache, probe->config, task->group);
    for (size_t i = 0; i < probe->cache.nodes.n; i++) {
        const struct sched_node *node = probe->cache.nodes.items[i];
        if (!node || !node->object)
            continue;
        cJSON *item = cJSON_AddObjectToObject(nodes, node->name);
        const char *reason = fit_reason(table, node);
        (void)cJSON_AddItemToObject(item, "refused",
                                    reason ? cJSON_CreateString(reason) : cJSON_CreateNull());
        if (!reason)
            add_scores(probe, table, task->group->cls, node, item);
    }
}

static void job_timer(void *arg)
{
    (void)arg;
}

static void answer_line(struct probe *probe, const char *line)
{
    static const char *const names[] = {DEFAULT_SCHEDULER_NAME};
    cJSON *question = cJSON_Parse(line), *answer = cJSON_CreateObject();
    if (!question || !cJSON_GetObjectItemCaseSensitive(question, "pod"))
        refuse("input", "a line is no case");
    cache_init(&probe->cache, probe->loop, probe->window);
    probe->cache.schedulers = names;
    probe->cache.scheduler_count = ARRAY_SIZE(names);
    probe->cache.job_timer = job_timer;
    answer_case(probe, question, answer);
    cache_clear(&probe->cache);
    char *text = cJSON_PrintUnformatted(answer);
    (void)puts(text);
    (void)fflush(stdout);
    cJSON_free(text);
    cJSON_Delete(question);
    cJSON_Delete(answer);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static struct sched_config *configuration(const char *yaml)
{
    struct error err = ERROR_INIT;
    struct sched_config *config = sched_config_parse(str_of(yaml), &err);
    if (!config)
        refuse("configuration", err.text);
    return config;
}

static void make_configurations(struct probe *probe)
{
    probe->config =
        configuration("actions: allocate\n"
                      "tiers:\n- plugins:\n  - name: predicates\n  - name: nodeorder\n");
    for (size_t i = 0; i < ARRAY_SIZE(resource_scores); i++) {
        cleanup_free char *yaml =
            xasprintf("actions: allocate\ntiers:\n- plugins:\n  - name: nodeorder\n"
                      "    arguments:\n      leastrequested.weight: 0\n"
                      "      balancedresource.weight: 0\n      %s: 1\n",
                      resource_scores[i].argument);
        resource_scores[i].config = configuration(yaml);
    }
}

int main(int argc, char **argv)
{
    static const struct kube_transport_ops ops = {.start = NULL};
    struct probe probe = {.transport = {.ops = &ops}};
    char *line = NULL;
    size_t size = 0;
    if (argc != 2 || strcmp(argv[1], "placement") != 0) {
        fprintf(stderr, "usage: scheduler_probe placement\n");
        return 2;
    }
    probe.loop = loop_new_virtual(1, INT64_C(1764000000) * NSEC_PER_SEC);
    probe.window = window_new(probe.loop, &probe.transport, &(struct window_config){.initial = 0});
    make_configurations(&probe);
    while (getline(&line, &size, stdin) > 0)
        answer_line(&probe, line);
    free(line);
    for (size_t i = 0; i < ARRAY_SIZE(resource_scores); i++)
        sched_config_free(resource_scores[i].config);
    sched_config_free(probe.config);
    window_free(probe.window);
    loop_free(probe.loop);
    return 0;
}
