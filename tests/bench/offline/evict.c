/*
 * sched_evict: what deciding evictions costs, as one line of JSON. See README.md; tests/bench/sched
 * calls it.
 *
 * Shapes: `gangs`, a gang that needs every node for itself, all of them full of other gangs;
 * `pods`, a gang of as many pods as there are victims, one for each; `vain`, jobs that starve while
 * all that runs is as important as they are. Times are CPU times of this thread. One thread.
 */
#include "base/ensure.h"
#include "base/log.h"
#include "common.h"
#include "rig.h"
#include "scheduler/action.h"
#include "scheduler/evict/plan.h"
#include "json/writer.h"
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>

#define NS "bench"
#define GANG 10 /* pods of a gang that runs or starves */
#define RESTS 5 /* cycles at rest that are measured */
#define QUIET_NS (5 * NSEC_PER_SEC)

enum shape { SHAPE_GANGS, SHAPE_PODS, SHAPE_VAIN, SHAPE_COUNT };

static const char *const shape_names[SHAPE_COUNT] = {"gangs", "pods", "vain"};

struct options {
    enum shape shape;
    unsigned nodes, pods, jobs; /* pods: running on each node; jobs: that starve */
    char *conf;                 /* owned text, NULL for the built-in one */
};

struct timed {
    uint64_t count;
    int64_t sum_ns, longest_ns;
};

struct result {
    struct timed steps; /* of the plan, or of the action in the first cycles */
    size_t victims, places;
    int64_t first_ns; /* until nothing changes any more, cycles alone */
    int64_t rest_ns;  /* of a cycle at rest, the median */
    int64_t longest_turn_ns;
};

static const char usage[] =
    "usage: sched_evict --shape=gangs|pods|vain [--nodes=N] [--pods=N] [--jobs=N] [--conf=FILE]\n"
    "  --pods  that run on each node, of one CPU   --jobs  that starve (vain)\n";

static void add_time(struct timed *timed, int64_t ns)
{
    timed->count++;
    timed->sum_ns += ns;
    if (ns > timed->longest_ns)
        timed->longest_ns = ns;
}

/* ---- options --------------------------------------------------------------------------------- */

static unsigned number(const char *text)
{
    int32_t value;
    if (!str_to_i32(str_of(text), &value) || value <= 0)
        refuse(text, "not a number above 0");
    return (unsigned)value;
}

static enum shape shape_of(const char *text)
{
    enum shape shape = SHAPE_GANGS;
    while (shape < SHAPE_COUNT && strcmp(text, shape_names[shape]) != 0)
        shape++;
    if (shape == SHAPE_COUNT)
        refuse(text, "no such shape");
    return shape;
}

static const struct option long_options[] = {{"shape", required_argument, NULL, 's'},
                                             {"nodes", required_argument, NULL, 'n'},
                                             {"pods", required_argument, NULL, 'p'},
                                             {"jobs", required_argument, NULL, 'j'},
                                             {"conf", required_argument, NULL, 'c'},
                                             {"help", no_argument, NULL, 'h'},
                                             {NULL, 0, NULL, 0}};

static void take_option(struct options *options, int option)
{
    switch (option) {
    case 's':
        options->shape = shape_of(optarg);
        break;
    case 'n':
        options->nodes = number(optarg);
        break;
    case 'p':
        options->pods = number(optarg);
        break;
    case 'j':
        options->jobs = number(optarg);
        break;
    case 'c':
        options->conf = conf_text(optarg);
        break;
    case 'h':
        fputs(usage, stdout);
        exit(0);
    default:
        fputs(usage, stderr);
        exit(2);
    }
}

/* ---- objects --------------------------------------------------------------------------------- */

static void add_nodes(struct rig *rig, const struct options *options)
{
    for (unsigned i = 0; i < options->nodes; i++) {
        cleanup_free char *json = xasprintf(
            "{\"metadata\":{\"name\":\"node-%u\",\"uid\":\"n-%u\",\"resourceVersion\":\"%llu\"},"
            "\"status\":{\"allocatable\":{\"cpu\":\"%u\",\"memory\":\"256Gi\",\"pods\":\"110\"}}}",
            i, i, (unsigned long long)rig_version(rig), options->pods);
        store_list_item(rig->nodes, str_of(json));
    }
}

static void add_class(struct rig *rig, const char *name, int value)
{
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"uid\":\"c-%s\",\"resourceVersion\":\"%llu\"},"
                  "\"value\":%d}",
                  name, name, (unsigned long long)rig_version(rig), value);
    store_list_item(rig->priorityclasses, str_of(json));
}

static void add_queue(struct rig *rig)
{
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"default\",\"uid\":\"q\",\"resourceVersion\":"
                  "\"%llu\"},\"spec\":{\"weight\":1}}",
                  (unsigned long long)rig_version(rig));
    store_list_item(rig->queues, str_of(json));
}

static void add_job(struct rig *rig, const char *name, const char *class, unsigned min)
{
    cleanup_free char *spec = xasprintf(
        "{\"minMember\":%u,\"queue\":\"default\",\"priorityClassName\":\"%s\"}", min, class);
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"" NS "\",\"uid\":\"g-%s\","
                  "\"resourceVersion\":\"%llu\"},\"spec\":%s,\"status\":{\"phase\":\"Inqueue\"}}",
                  name, name, (unsigned long long)rig_version(rig), spec);
    rig_know_group(rig, NS, name, str_of(spec));
    store_list_item(rig->podgroups, str_of(json));
}

/* `node`: where it runs, below 0: it waits. */
static void add_pod(struct rig *rig, const char *job, unsigned member, int node, unsigned cpus)
{
    cleanup_free char *place =
        node < 0 ? xstrdup("") : xasprintf(",\"nodeName\":\"node-%d\"", node);
    cleanup_free char *json = xasprintf(
        "{\"metadata\":{\"name\":\"%s-w-%u\",\"namespace\":\"" NS "\",\"uid\":\"p-%s-%u\","
        "\"resourceVersion\":\"%llu\",\"annotations\":{\"scheduling.k8s.io/group-name\":\"%s\","
        "\"volcano.sh/task-spec\":\"w\"}},\"spec\":{\"schedulerName\":\"volcano\"%s,"
        "\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{\"cpu\":\"%u\"}}}]},"
        "\"status\":{\"phase\":\"%s\"%s}}",
        job, member, job, member, (unsigned long long)rig_version(rig), job, place, cpus,
        node < 0 ? "Pending" : "Running",
        node < 0 ? "" : ",\"startTime\":\"2025-11-24T15:00:00Z\"");
    store_list_item(rig->pods, str_of(json));
}

/* Every node is full of pods of one CPU. Pods of a job are on nodes that are far from each other.
 */
static void add_running(struct rig *rig, const struct options *options, const char *class)
{
    const unsigned all = options->nodes * options->pods, gangs = (all + GANG - 1) / GANG;
    const unsigned min = options->shape == SHAPE_PODS ? 1 : GANG;
    for (unsigned i = 0; i < gangs; i++) {
        cleanup_free char *name = xasprintf("run-%u", i);
        add_job(rig, name, class, min);
        for (unsigned k = 0; k < GANG && k * gangs + i < all; k++)
            add_pod(rig, name, k, (int)((k * gangs + i) % options->nodes), 1);
    }
}

static void add_waiting(struct rig *rig, const char *name, const char *class, unsigned count,
                        unsigned cpus)
{
    add_job(rig, name, class, count);
    for (unsigned i = 0; i < count; i++)
        add_pod(rig, name, i, -1, cpus);
}

static void load(struct rig *rig, const struct options *options)
{
    add_class(rig, "low", 1);
    add_class(rig, "high", 10);
    add_queue(rig);
    add_nodes(rig, options);
    add_running(rig, options, "low");
    if (options->shape == SHAPE_GANGS)
        add_waiting(rig, "taker", "high", options->nodes, options->pods);
    if (options->shape == SHAPE_PODS) /* a tenth of what runs is needed by its jobs */
        add_waiting(rig, "taker", "high", options->nodes * options->pods, 1);
    for (unsigned i = 0; options->shape == SHAPE_VAIN && i < options->jobs; i++) {
        cleanup_free char *name = xasprintf("starve-%u", i);
        add_waiting(rig, name, "low", GANG, 1);
    }
    rig_listed(rig);
    cache_budgets_known(&rig->scheduler->cache);
}

/* ---- one decision ---------------------------------------------------------------------------- */

static void decide(struct rig *rig, struct result *ret)
{
    static const struct evict_rules rules = {.kind = EVICT_PREEMPT, .whole = true};
    struct sched_job *job = cache_job(&rig->scheduler->cache, NS, "taker");
    bool done = false;
    config_begin(rig->scheduler->config, &rig->scheduler->cache);
    int64_t began = cpu_time();
    struct evict_plan *plan = evict_plan_new(rig->scheduler, job, &rules);
    ret->steps.sum_ns = cpu_time() - began;
    while (!done) {
        began = cpu_time();
        done = evict_plan_step(plan);
        add_time(&ret->steps, cpu_time() - began);
    }
    if (evict_plan_outcome(plan) == EVICT_DECIDED) {
        (void)evict_plan_victims(plan, &ret->victims);
        (void)evict_plan_places(plan, &ret->places);
    }
    evict_plan_free(plan);
}

/* ---- in vain --------------------------------------------------------------------------------- */

/* The action as it is, what the scheduler is given in its place, and what that has seen. */
static const struct action_type *real;
static struct action_type timed_action;
static struct timed timed_steps;

static bool timed_step(struct scheduler *scheduler, void *state)
{
    int64_t began = cpu_time();
    bool done = real->step(scheduler, state);
    add_time(&timed_steps, cpu_time() - began);
    return done;
}

static void time_action(struct sched_config *config)
{
    struct action *last = config->actions.items[config->actions.n - 1];
    real = last->type;
    timed_action = *real;
    timed_action.step = timed_step;
    last->type = &timed_action;
}

/* Turns until nothing happens for a while; the time of those that were part of cycles. */
static int64_t run_cycles(struct rig *rig, int64_t *longest_ns)
{
    const struct cycle *cycle = &rig->scheduler->cycle;
    int64_t until = loop_now(rig->loop) + QUIET_NS, sum = 0;
    bool more = true;
    while (more && loop_now(rig->loop) < until) {
        uint64_t number = cycle->number;
        bool busy = cycle->stage != CYCLE_IDLE;
        int64_t began = cpu_time();
        more = loop_turn(rig->loop, until - loop_now(rig->loop));
        int64_t took = cpu_time() - began;
        if (!busy && cycle->number == number)
            continue;
        sum += took;
        if (took > *longest_ns)
            *longest_ns = took;
    }
    return sum;
}

static int compare_times(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static void starve(struct rig *rig, struct result *ret)
{
    int64_t rests[RESTS], longest = 0;
    time_action(rig->scheduler->config);
    scheduler_lead(rig->scheduler, true);
    ret->first_ns = run_cycles(rig, &ret->longest_turn_ns);
    ret->steps = timed_steps;
    for (unsigned i = 0; i < RESTS; i++) {
        scheduler_wake(rig->scheduler);
        rests[i] = run_cycles(rig, &longest);
    }
    qsort(rests, RESTS, sizeof(*rests), compare_times);
    ret->rest_ns = rests[RESTS / 2];
}

/* ---- the result ------------------------------------------------------------------------------ */

static void print_result(const struct options *options, const struct result *result)
{
    cleanup_buf struct buf out = BUF_INIT(65536);
    struct json_writer writer = json_writer(&out);
    json_w_object(&writer);
    json_w_member_str(&writer, "shape", str_of(shape_names[options->shape]));
    json_w_member_i64(&writer, "nodes", options->nodes);
    json_w_member_i64(&writer, "running", (int64_t)options->nodes * options->pods);
    json_w_member_i64(&writer, "victims", (int64_t)result->victims);
    json_w_member_i64(&writer, "places", (int64_t)result->places);
    json_w_member_i64(&writer, "steps", (int64_t)result->steps.count);
    json_w_member_i64(&writer, "cpu_ns", result->steps.sum_ns);
    json_w_member_i64(&writer, "longest_ns", result->steps.longest_ns);
    json_w_member_i64(&writer, "first_ns", result->first_ns);
    json_w_member_i64(&writer, "longest_turn_ns", result->longest_turn_ns);
    json_w_member_i64(&writer, "rest_ns", result->rest_ns);
    json_w_end_object(&writer);
    printf("%.*s\n", STR_ARG(buf_str(&out)));
}

int main(int argc, char **argv)
{
    struct options options = {.shape = SHAPE_GANGS, .nodes = 100, .pods = 10, .jobs = 100};
    struct result result = {0};
    struct error err = ERROR_INIT;
    int option;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1)
        take_option(&options, option);
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    struct rig *rig = rig_new(options.conf, &err);
    if (!rig)
        refuse("configuration", err.text);
    load(rig, &options);
    if (options.shape == SHAPE_VAIN)
        starve(rig, &result);
    else
        decide(rig, &result);
    const char *wrong = cache_audit(&rig->scheduler->cache);
    if (wrong)
        refuse("audit of the cache", wrong);
    print_result(&options, &result);
    rig_free(rig);
    free(options.conf);
    return 0;
}
