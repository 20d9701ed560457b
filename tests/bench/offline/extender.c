/*
 * sched_extender: how long jobs that have nothing to do with an extender wait for their nodes while
 * others wait for it, as one line of JSON. See README.md; tests/bench/sched calls it.
 *
 * Shapes: `none`, nobody needs it; `hangs`, it never answers; `refuses`, it has a refusal for every
 * node, which it reconsiders never; `large`, its answers are as large as it may make them. Jobs
 * with licences, each a kind of its own, are there from the start; plain ones come one after the
 * other.
 *
 * Time goes by on the loop's virtual clock, and by the CPU time of its turns: so who comes in the
 * middle of a long turn, or cycle, waits for its end. One thread.
 */
#include "scheduler/extender/extender.h"
#include "base/ensure.h"
#include "base/log.h"
#include "common.h"
#include "rig.h"
#include "scheduler/config.h"
#include "json/writer.h"
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>

#define NS "bench"
#define GANG 10                          /* pods of a job */
#define PLAIN "plain-"                   /* how names of plain jobs begin */
#define INTERVAL_NS (50 * NSEC_PER_MSEC) /* between two of these */
#define ANSWER_NS (5 * NSEC_PER_MSEC)    /* the extender's, where it answers */
#define PATIENCE_NS (60 * NSEC_PER_SEC)  /* after the last came: then it has failed */
#define SETTLING_NS (2 * NSEC_PER_SEC)   /* before the first comes: all is looked at once */
#define TICK_NS NSEC_PER_MSEC

enum shape { SHAPE_NONE, SHAPE_HANGS, SHAPE_REFUSES, SHAPE_LARGE, SHAPE_COUNT };

static const char *const shape_names[SHAPE_COUNT] = {"none", "hangs", "refuses", "large"};

struct options {
    enum shape shape;
    unsigned nodes, jobs, plain;
};

/* A plain job. Times are of the loop's clock with the CPU time added. */
struct plain {
    int64_t came_ns;
    unsigned missing; /* pods that are not bound */
};

struct bench {
    const struct options *options;
    struct rig *rig;
    struct kube_transport extender; /* freed with the configuration, which is nothing here */
    struct list calls;              /* its calls */
    char *large;                    /* owned; an answer of the largest size, or NULL */
    uint64_t asked;
    struct plain *plain; /* owned array */
    int64_t *delays_ns;  /* owned array; of those that are complete */
    unsigned came, complete;
    struct loop_timer tick;
    int64_t cpu_ns, longest_turn_ns;
};

static const char usage[] =
    "usage: sched_extender --shape=none|hangs|refuses|large [--nodes=N] [--jobs=N] [--plain=N]\n"
    "  --jobs  gangs of ten that need the extender   --plain  gangs of ten that do not\n";

static const char conf[] = "actions: \"enqueue, allocate, backfill\"\n"
                           "tiers:\n"
                           "- plugins:\n"
                           "  - name: priority\n"
                           "  - name: gang\n"
                           "- plugins:\n"
                           "  - name: drf\n"
                           "  - name: predicates\n"
                           "  - name: proportion\n"
                           "  - name: nodeorder\n"
                           "  - name: extender\n"
                           "    arguments:\n"
                           "      extender.urlPrefix: http://licences.test/hook\n"
                           "      extender.managedResources: example.com/licence\n"
                           "      extender.predicateVerb: predicate\n";

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
    enum shape shape = SHAPE_NONE;
    while (shape < SHAPE_COUNT && strcmp(text, shape_names[shape]) != 0)
        shape++;
    if (shape == SHAPE_COUNT)
        refuse(text, "no such shape");
    return shape;
}

static const struct option long_options[] = {
    {"shape", required_argument, NULL, 's'}, {"nodes", required_argument, NULL, 'n'},
    {"jobs", required_argument, NULL, 'j'},  {"plain", required_argument, NULL, 'p'},
    {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};

static void take_option(struct options *options, int option)
{
    switch (option) {
    case 's':
        options->shape = shape_of(optarg);
        break;
    case 'n':
        options->nodes = number(optarg);
        break;
    case 'j':
        options->jobs = number(optarg);
        break;
    case 'p':
        options->plain = number(optarg);
        break;
    case 'h':
        fputs(usage, stdout);
        exit(0);
    default:
        fputs(usage, stderr);
        exit(2);
    }
}

/* ---- the extender ---------------------------------------------------------------------------- */

struct kube_call {
    struct list link; /* in the bench's */
    struct bench *bench;
    struct kube_call_spec spec; /* without what it points to */
    struct loop_timer end;
    int64_t started_ns;
};

static void call_free(struct kube_call *call)
{
    list_remove(&call->link);
    loop_timer_cancel(call->bench->rig->loop, &call->end);
    free(call);
}

/* Its answer has come, or has not come in time. */
static void call_end(void *arg)
{
    struct kube_call *call = arg;
    const struct bench *bench = call->bench;
    struct kube_result result = {.outcome = KUBE_ANSWERED, .status = 200};
    switch (bench->options->shape) {
    case SHAPE_LARGE:
        result.body = str_of(bench->large);
        break;
    case SHAPE_REFUSES:
        result.body = STR("{\"status\":\"no licence\",\"code\":2}");
        break;
    case SHAPE_NONE:
    case SHAPE_HANGS:
    case SHAPE_COUNT:
        result.outcome = KUBE_IN_DOUBT;
        result.status = 0;
        error_set(&result.error, ERROR_RETRY, "no answer in time");
        break;
    }
    result.latency_ns = loop_now(bench->rig->loop) - call->started_ns;
    call->spec.on_done(&result, call->spec.arg);
    call_free(call);
}

static struct kube_call *call_start(struct kube_transport *transport,
                                    const struct kube_call_spec *spec)
{
    struct bench *bench = container_of(transport, struct bench, extender);
    bool answers = bench->options->shape == SHAPE_REFUSES || bench->options->shape == SHAPE_LARGE;
    struct kube_call *call = xnew(struct kube_call);
    call->bench = bench;
    call->spec = *spec;
    call->spec.path = call->spec.body = STR_NULL;
    call->started_ns = loop_now(bench->rig->loop);
    bench->asked++;
    list_append(&bench->calls, &call->link);
    loop_timer_init(&call->end, call_end, call);
    loop_timer_set(bench->rig->loop, &call->end, answers ? ANSWER_NS : spec->timeout_ns);
    return call;
}

static void call_cancel(struct kube_transport *transport, struct kube_call *call)
{
    (void)transport;
    call_free(call);
}

static void forget_calls(struct kube_transport *transport)
{
    struct bench *bench = container_of(transport, struct bench, extender);
    list_each(link, &bench->calls) call_free(container_of(link, struct kube_call, link));
}

static struct kube_transport *connect_extender(void *arg, const char *url, struct error *err)
{
    struct bench *bench = arg;
    (void)url;
    (void)err;
    return &bench->extender;
}

/* {"pad":[0,0,...]}, with as many numbers as there is room for. */
static char *large_answer(void)
{
    struct buf text = BUF_INIT(EXTENDER_ANSWER_MAX);
    buf_add_cstr(&text, "{\"pad\":[0");
    while (text.n + strlen(",0]}") <= EXTENDER_ANSWER_MAX)
        buf_add_cstr(&text, ",0");
    buf_add_cstr(&text, "]}");
    return buf_take(&text);
}

static void use_extender(struct bench *bench)
{
    static const struct kube_transport_ops ops = {
        .start = call_start, .cancel = call_cancel, .free = forget_calls};
    struct error err = ERROR_INIT;
    struct sched_config *config = sched_config_parse(str_of(conf), &err);
    if (!config)
        refuse("configuration", err.text);
    bench->extender.ops = &ops;
    list_init(&bench->calls);
    if (bench->options->shape == SHAPE_LARGE)
        bench->large = large_answer();
    bench->rig->scheduler->params.connect = connect_extender;
    bench->rig->scheduler->params.connect_arg = bench;
    scheduler_set_config(bench->rig->scheduler, config);
}

/* ---- objects --------------------------------------------------------------------------------- */

static void add_nodes(struct rig *rig, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *json = xasprintf(
            "{\"metadata\":{\"name\":\"node-%u\",\"uid\":\"n-%u\",\"resourceVersion\":\"%llu\"},"
            "\"status\":{\"allocatable\":{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\","
            "\"example.com/licence\":\"8\"}}}",
            i, i, (unsigned long long)rig_version(rig));
        store_list_item(rig->nodes, str_of(json));
    }
}

static void add_queue(struct rig *rig)
{
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"default\",\"uid\":\"q\",\"resourceVersion\":"
                  "\"%llu\"},\"spec\":{\"weight\":1}}",
                  (unsigned long long)rig_version(rig));
    store_list_item(rig->queues, str_of(json));
}

/* One object of a list under way, or a change that the watch shows. */
static void show(struct store *store, bool listing, const char *json)
{
    struct error err = ERROR_INIT;
    uint64_t rv;
    if (listing)
        store_list_item(store, str_of(json));
    else if (store_watch_event(store, false, str_of(json), &rv, &err) < 0)
        refuse("object", err.text);
}

static void add_job(struct rig *rig, bool listing, const char *name, const char *requests)
{
    cleanup_free char *spec = xasprintf("{\"minMember\":%u,\"queue\":\"default\"}", GANG);
    cleanup_free char *group =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"" NS "\",\"uid\":\"g-%s\","
                  "\"resourceVersion\":\"%llu\"},\"spec\":%s,\"status\":{\"phase\":\"Inqueue\"}}",
                  name, name, (unsigned long long)rig_version(rig), spec);
    rig_know_group(rig, NS, name, str_of(spec));
    show(rig->podgroups, listing, group);
    for (unsigned i = 0; i < GANG; i++) {
        cleanup_free char *pod = xasprintf(
            "{\"metadata\":{\"name\":\"%s-%u\",\"namespace\":\"" NS "\",\"uid\":\"p-%s-%u\","
            "\"resourceVersion\":\"%llu\",\"annotations\":{\"scheduling.k8s.io/group-name\":"
            "\"%s\",\"volcano.sh/task-spec\":\"w\"}},\"spec\":{\"schedulerName\":\"volcano\","
            "\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{%s}}}]},\"status\":{"
            "\"phase\":\"Pending\"}}",
            name, i, name, i, (unsigned long long)rig_version(rig), name, requests);
        show(rig->pods, listing, pod);
    }
}

static void load(struct rig *rig, const struct options *options)
{
    add_queue(rig);
    add_nodes(rig, options->nodes);
    for (unsigned i = 0; options->shape != SHAPE_NONE && i < options->jobs; i++) {
        cleanup_free char *name = xasprintf("licensed-%u", i);
        cleanup_free char *requests =
            xasprintf("\"cpu\":\"%um\",\"example.com/licence\":\"1\"", 100 + i);
        add_job(rig, true, name, requests);
    }
}

/* ---- the run --------------------------------------------------------------------------------- */

static int64_t now_of(const struct bench *bench)
{
    return loop_now(bench->rig->loop) + bench->cpu_ns;
}

/* A pod "plain-<job>-<member>" is bound. */
static void on_bind(void *arg, struct str pod)
{
    struct bench *bench = arg;
    struct str number;
    uint64_t job;
    if (!str_starts(pod, STR(PLAIN)))
        return;
    pod = str_from(pod, strlen(PLAIN));
    if (!str_split(&pod, '-', &number) || !str_to_u64(number, &job) || job >= bench->came)
        refuse("bind", "of a pod that is not known");
    struct plain *plain = &bench->plain[job];
    if (--plain->missing == 0)
        bench->delays_ns[bench->complete++] = now_of(bench) - plain->came_ns;
}

/* Whoever is due by now comes, as of the time at which it was due. */
static void let_come(struct bench *bench, int64_t start_ns)
{
    while (bench->came < bench->options->plain) {
        int64_t due = start_ns + bench->came * INTERVAL_NS;
        if (due > now_of(bench))
            return;
        cleanup_free char *name = xasprintf(PLAIN "%u", bench->came);
        bench->plain[bench->came++] = (struct plain){.came_ns = due, .missing = GANG};
        add_job(bench->rig, false, name, "\"cpu\":\"1\"");
    }
}

/* The clock goes on by no more than that at a time. */
static void tick(void *arg)
{
    struct bench *bench = arg;
    loop_timer_set(bench->rig->loop, &bench->tick, TICK_NS);
}

static void run(struct bench *bench)
{
    struct loop *loop = bench->rig->loop;
    int64_t start = now_of(bench) + SETTLING_NS,
            end = start + bench->options->plain * INTERVAL_NS + PATIENCE_NS;
    loop_timer_init(&bench->tick, tick, bench);
    tick(bench);
    scheduler_lead(bench->rig->scheduler, true);
    while (bench->complete < bench->options->plain && now_of(bench) < end) {
        let_come(bench, start);
        int64_t began = cpu_time();
        loop_turn(loop, NSEC_PER_SEC);
        int64_t took = cpu_time() - began;
        bench->cpu_ns += took;
        bench->longest_turn_ns = took > bench->longest_turn_ns ? took : bench->longest_turn_ns;
    }
    loop_timer_cancel(loop, &bench->tick);
    if (bench->complete < bench->options->plain)
        refuse("plain jobs", "some were never bound");
}

static int compare_times(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static void print_result(const struct bench *bench)
{
    const struct options *options = bench->options;
    cleanup_buf struct buf out = BUF_INIT(65536);
    struct json_writer writer = json_writer(&out);
    qsort(bench->delays_ns, options->plain, sizeof(*bench->delays_ns), compare_times);
    json_w_object(&writer);
    json_w_member_str(&writer, "shape", str_of(shape_names[options->shape]));
    json_w_member_i64(&writer, "nodes", options->nodes);
    json_w_member_i64(&writer, "jobs", options->shape == SHAPE_NONE ? 0 : options->jobs);
    json_w_member_i64(&writer, "plain", options->plain);
    json_w_member_i64(&writer, "binds", (int64_t)bench->rig->binds);
    json_w_member_i64(&writer, "asked", (int64_t)bench->asked);
    json_w_member_i64(&writer, "median_ns", bench->delays_ns[options->plain / 2]);
    json_w_member_i64(&writer, "p99_ns", bench->delays_ns[options->plain * 99 / 100]);
    json_w_member_i64(&writer, "longest_ns", bench->delays_ns[options->plain - 1]);
    json_w_member_i64(&writer, "longest_turn_ns", bench->longest_turn_ns);
    json_w_member_i64(&writer, "cpu_ns", bench->cpu_ns);
    json_w_end_object(&writer);
    printf("%.*s\n", STR_ARG(buf_str(&out)));
}

int main(int argc, char **argv)
{
    struct options options = {.nodes = 5000, .jobs = 200, .plain = 400};
    struct bench bench = {.options = &options};
    struct error err = ERROR_INIT;
    int option;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1)
        take_option(&options, option);
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    bench.rig = rig_new(NULL, &err);
    if (!bench.rig)
        refuse("configuration", err.text);
    bench.rig->on_bind = on_bind;
    bench.rig->on_bind_arg = &bench;
    bench.plain = xcalloc(options.plain, sizeof(*bench.plain));
    bench.delays_ns = xcalloc(options.plain, sizeof(*bench.delays_ns));
    use_extender(&bench);
    load(bench.rig, &options);
    rig_listed(bench.rig);
    run(&bench);
    const char *wrong = cache_audit(&bench.rig->scheduler->cache);
    if (wrong)
        refuse("audit of the cache", wrong);
    print_result(&bench);
    rig_free(bench.rig);
    free(bench.plain);
    free(bench.delays_ns);
    free(bench.large);
    return 0;
}
