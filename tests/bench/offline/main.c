/*
 * sched_offline: one run of the scheduler on one cluster without an API server, as one line of
 * JSON. See README.md; tests/bench/sched calls it.
 */
#include "base/log.h"
#include "common.h"
#include "generate.h"
#include "measure.h"
#include "recorded.h"
#include "scheduler/fit.h"
#include "json/writer.h"
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

struct options {
    struct generate generate;
    const char *from; /* a recorded cluster; NULL: generated */
    bool unbind;      /* our pods of it are placed afresh */
    char *conf;       /* owned text, NULL for the built-in one */
    bool verbose;
};

/* What loading showed. */
struct loaded {
    size_t nodes, jobs, others, pods, hopeless;
    size_t node_bytes, job_bytes, other_bytes, pod_bytes;
};

static const char usage[] =
    "usage: sched_offline [options]\n"
    "  --kind=NAME       Mixed, or a template of kube-scheduler's benchmark: SchedulingBasic,\n"
    "                    SchedulingNodeAffinity, SchedulingDaemonset, Unschedulable,\n"
    "                    SchedulingPodAffinity, SchedulingPodAntiAffinity,\n"
    "                    SchedulingPreferredPodAffinity, SchedulingPreferredPodAntiAffinity,\n"
    "                    TopologySpreading, PreferredTopologySpreading, MixedSchedulingBasePod\n"
    "  --seed=N --nodes=N --pods=N --gang=N (0: sizes mixed) --queues=N --templates=N\n"
    "  --filled=PERCENT  of the CPUs, by pods of others   --tainted=PERCENT  of the nodes\n"
    "  --from=PATH       a recorded cluster instead: a file or folder of `kubectl get -o json`\n"
    "  --unbind          its pods of ours are placed afresh, wherever they were\n"
    "  --conf=FILE       a volcano-scheduler.conf   --verbose  the scheduler's log on stderr\n";

/* ---- options --------------------------------------------------------------------------------- */

static unsigned number(const char *text)
{
    int32_t value;
    if (!str_to_i32(str_of(text), &value) || value < 0)
        refuse(text, "not a number");
    return (unsigned)value;
}

static enum generate_kind kind_of(const char *text)
{
    enum generate_kind kind = generate_kind_of(str_of(text));
    if (kind == GENERATE_KIND_COUNT)
        refuse(text, "no such kind");
    return kind;
}

static const struct option long_options[] = {{"kind", required_argument, NULL, 'k'},
                                             {"seed", required_argument, NULL, 's'},
                                             {"nodes", required_argument, NULL, 'n'},
                                             {"pods", required_argument, NULL, 'p'},
                                             {"gang", required_argument, NULL, 'g'},
                                             {"queues", required_argument, NULL, 'q'},
                                             {"templates", required_argument, NULL, 't'},
                                             {"filled", required_argument, NULL, 'f'},
                                             {"tainted", required_argument, NULL, 'x'},
                                             {"from", required_argument, NULL, 'r'},
                                             {"unbind", no_argument, NULL, 'u'},
                                             {"conf", required_argument, NULL, 'c'},
                                             {"verbose", no_argument, NULL, 'v'},
                                             {"help", no_argument, NULL, 'h'},
                                             {NULL, 0, NULL, 0}};

/* A table of options: one case each. */
static void take_option(struct options *options, int option)
{
    struct generate *generate = &options->generate;
    switch (option) {
    case 'k':
        generate->kind = kind_of(optarg);
        break;
    case 's':
        generate->seed = number(optarg);
        break;
    case 'n':
        generate->nodes = number(optarg);
        break;
    case 'p':
        generate->pods = number(optarg);
        break;
    case 'g':
        generate->gang = number(optarg);
        break;
    case 'q':
        generate->queues = number(optarg);
        break;
    case 't':
        generate->templates = number(optarg);
        break;
    case 'f':
        generate->filled = number(optarg);
        break;
    case 'x':
        generate->tainted = number(optarg);
        break;
    case 'r':
        options->from = optarg;
        break;
    case 'u':
        options->unbind = true;
        break;
    case 'c':
        options->conf = conf_text(optarg);
        break;
    case 'v':
        options->verbose = true;
        break;
    case 'h':
        fputs(usage, stdout);
        exit(0);
    default:
        fputs(usage, stderr);
        exit(2);
    }
}

static void read_options(int argc, char **argv, struct options *options)
{
    int option;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1)
        take_option(options, option);
    if (optind < argc || !options->generate.queues || !options->generate.templates) {
        fputs(usage, stderr);
        exit(2);
    }
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Bytes that came into use since `*before`, which goes on to now. */
static size_t grown(size_t *before)
{
    size_t now = measure_memory(), more = now > *before ? now - *before : 0;
    *before = now;
    return more;
}

static void load_generated(struct rig *rig, const struct options *options, struct loaded *ret)
{
    struct generate_plan *plan = generate_plan_new(rig, &options->generate);
    size_t memory = measure_memory();
    generate_nodes(rig, plan);
    ret->node_bytes = grown(&memory);
    generate_queues(rig, plan);
    (void)grown(&memory);
    generate_filling(rig, plan);
    ret->other_bytes = grown(&memory);
    generate_podgroups(rig, plan);
    ret->job_bytes = grown(&memory);
    generate_pods(rig, plan);
    ret->pod_bytes = grown(&memory);
    ret->nodes = options->generate.nodes;
    ret->jobs = generate_group_count(plan);
    ret->others = generate_filling_count(plan);
    ret->pods = options->generate.pods;
    ret->hopeless = generate_hopeless_count(plan);
    generate_plan_free(plan);
}

static void load_recorded(struct rig *rig, const struct options *options, struct loaded *ret)
{
    struct error err = ERROR_INIT;
    struct recorded *recorded = recorded_open(options->from, options->unbind, &err);
    if (!recorded)
        refuse(options->from, err.text);
    recorded_groups(recorded, rig);
    size_t memory = measure_memory();
    ret->nodes = recorded_load(recorded, rig, RECORDED_NODES);
    ret->node_bytes = grown(&memory);
    (void)recorded_load(recorded, rig, RECORDED_PRIORITIES);
    (void)recorded_load(recorded, rig, RECORDED_QUEUES);
    (void)grown(&memory);
    ret->others = recorded_load(recorded, rig, RECORDED_OTHERS);
    ret->other_bytes = grown(&memory);
    ret->jobs = recorded_load(recorded, rig, RECORDED_PODGROUPS);
    ret->job_bytes = grown(&memory);
    ret->pods = recorded_load(recorded, rig, RECORDED_PODS);
    ret->pod_bytes = grown(&memory);
    recorded_free(recorded);
}

/* ---- the result ------------------------------------------------------------------------------ */

static void w_count(struct json_writer *writer, const char *key, uint64_t value)
{
    json_w_member_i64(writer, key, (int64_t)value);
}

static void w_times(struct json_writer *writer, const char *key, const struct measure_times *times)
{
    json_w_member_object(writer, key);
    w_count(writer, "count", times->count);
    json_w_member_i64(writer, "sum_ns", times->sum);
    json_w_member_i64(writer, "median_ns", times->median);
    json_w_member_i64(writer, "p99_ns", times->p99);
    json_w_member_i64(writer, "longest_ns", times->longest);
    json_w_end_object(writer);
}

static void w_loaded(struct json_writer *writer, const struct loaded *loaded)
{
    w_count(writer, "nodes", loaded->nodes);
    w_count(writer, "jobs", loaded->jobs);
    w_count(writer, "others", loaded->others);
    w_count(writer, "pods", loaded->pods);
    w_count(writer, "hopeless", loaded->hopeless);
    w_count(writer, "node_bytes", loaded->node_bytes);
    w_count(writer, "other_bytes", loaded->other_bytes);
    w_count(writer, "job_bytes", loaded->job_bytes);
    w_count(writer, "pod_bytes", loaded->pod_bytes);
}

static void w_measure(struct json_writer *writer, const struct measure *measure)
{
    json_w_member_i64(writer, "cpu_ns", measure->cpu_ns);
    w_count(writer, "binds", measure->binds);
    w_count(writer, "writes", measure->writes);
    w_count(writer, "waiting", measure->waiting);
    w_count(writer, "placements", measure->placements);
    w_count(writer, "lookups", measure->lookups);
    w_count(writer, "refreshed", measure->refreshed);
    w_count(writer, "gangs", measure->gangs);
    json_w_member_i64(writer, "placing_ns", measure->placing_ns);
    w_count(writer, "placing", measure->placing);
    w_count(writer, "hot", measure->hot);
    w_count(writer, "hot_allocs", measure->hot_allocs);
    w_count(writer, "step_allocs", measure->step_allocs);
    w_count(writer, "bind_allocs", measure->bind_allocs);
    w_times(writer, "turns", &measure->turns);
    w_times(writer, "cycles", &measure->cycles);
    json_w_member_i64(writer, "virtual_ns", measure->virtual_ns);
}

static void print_result(const struct rig *rig, const struct loaded *loaded,
                         const struct measure *measure, size_t table_bytes)
{
    cleanup_buf struct buf out = BUF_INIT(65536);
    struct json_writer writer = json_writer(&out);
    cleanup_free char *digest = xasprintf("%016llx", (unsigned long long)rig->digest);
    json_w_object(&writer);
    w_loaded(&writer, loaded);
    w_measure(&writer, measure);
    w_count(&writer, "table_bytes", table_bytes);
    json_w_member_str(&writer, "digest", str_of(digest));
    json_w_end_object(&writer);
    printf("%.*s\n", STR_ARG(buf_str(&out)));
}

int main(int argc, char **argv)
{
    struct options options = {.generate = {.seed = 1,
                                           .nodes = 5000,
                                           .pods = 20000,
                                           .gang = 10,
                                           .queues = 1,
                                           .templates = 200,
                                           .filled = 30,
                                           .tainted = 25}};
    struct error err = ERROR_INIT;
    struct loaded loaded = {0};
    struct measure measure;
    read_options(argc, argv, &options);
    if (!options.verbose)
        log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    struct rig *rig = rig_new(options.conf, &err);
    if (!rig)
        refuse("configuration", err.text);
    if (options.from)
        load_recorded(rig, &options, &loaded);
    else
        load_generated(rig, &options, &loaded);
    rig_listed(rig);
    measure_run(rig, &measure);
    const char *wrong = cache_audit(&rig->scheduler->cache);
    if (wrong)
        refuse("audit of the cache", wrong);
    size_t tables = measure_memory();
    fit_clear(&rig->scheduler->cache);
    print_result(rig, &loaded, &measure, tables - measure_memory());
    rig_free(rig);
    free(options.conf);
    return 0;
}
