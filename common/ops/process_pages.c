/*
 * Pages of every binary: /healthz, /readyz and /metrics, and the metrics of the frame itself.
 *
 * Everything is read when a page is asked for; nothing is counted in between.
 */
#include "ops/process_private.h"

#include "base/log.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE_MISSING_MAX ((size_t)16 << 10)

/* ---- health -------------------------------------------------------------------------------- */

static int page_healthz(struct str path, struct str query, struct buf *out, void *arg)
{
    (void)path;
    (void)query;
    (void)arg; /* whoever answers turns */
    buf_add_cstr(out, "ok");
    return 200;
}

static int page_readyz(struct str path, struct str query, struct buf *out, void *arg)
{
    (void)path;
    (void)query;
    const struct process_frame *frame = arg;
    struct buf missing cleanup_buf = BUF_INIT(PAGE_MISSING_MAX);
    if (frame->stopping)
        buf_add_cstr(&missing, "stopping");
    if (!frame->stopping)
        probe_missing(&frame->probe, &missing);
    if (!frame->stopping && frame->spec->ready && frame->process.app)
        frame->spec->ready(frame->process.app, &missing);
    if (missing.n == 0 && !missing.overflow) {
        buf_add_cstr(out, "ok");
        return 200;
    }
    buf_add_str(out, str_trim(buf_str(&missing)));
    buf_add_char(out, '\n');
    return 503;
}

/* ---- metrics ------------------------------------------------------------------------------- */

static int page_metrics(struct str path, struct str query, struct buf *out, void *arg)
{
    (void)path;
    (void)query;
    metrics_print(arg, out);
    return 200;
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)NSEC_PER_SEC;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) < 0)
        return 0;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The second number of /proc/self/statm, in bytes. */
static double resident_bytes(void)
{
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof(text));
    close(fd);
    struct str rest = str_make(text, n > 0 ? (size_t)n : 0), field = STR_NULL;
    uint64_t pages = 0;
    (void)str_split(&rest, ' ', &field);
    (void)str_split(&rest, ' ', &field);
    return str_to_u64(field, &pages) ? (double)pages * (double)sysconf(_SC_PAGESIZE) : 0;
}

static double open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return 0;
    int count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 3; /* ".", ".." and the one that reads them */
}

static void collect_window(struct process_frame *frame)
{
    const struct window_stats stats = window_stats(frame->process.window);
    const struct process_metrics *m = &frame->metrics;
    metric_set(m->limit, NULL, stats.limit);
    metric_set(m->inflight, NULL, stats.inflight);
    for (int cls = 0; cls < WINDOW_CLASS_COUNT; cls++) {
        const char *const labels[] = {window_class_name((enum window_class)cls), NULL};
        metric_set(m->waiting, labels, (double)stats.waiting[cls]);
        metric_set(m->sent, labels, (double)stats.sent[cls]);
    }
    metric_set(m->throttled, NULL, (double)stats.throttled);
    metric_set(m->failed, NULL, (double)stats.failed);
    metric_set(m->latency, NULL, seconds(stats.latency_ns));
    metric_set(m->floor, NULL, seconds(stats.latency_floor_ns));
    metric_set(m->events_dropped, NULL, (double)event_recorder_dropped(frame->process.events));
}

/* Of several watches of one resource the one that is furthest behind counts. */
static void see_watch(const char *resource, int64_t stale_ns, void *arg)
{
    struct metric *staleness = arg;
    const char *const labels[] = {resource, NULL};
    const double before = metric_value(staleness, labels), now = seconds(stale_ns);
    metric_set(staleness, labels, now > before ? now : before);
}

static void collect_watches(struct process_frame *frame)
{
    metric_clear(frame->metrics.staleness);
    if (frame->process.app)
        frame->spec->watches(frame->process.app, see_watch, frame->metrics.staleness);
}

static void collect(void *arg)
{
    struct process_frame *frame = arg;
    const struct process_metrics *m = &frame->metrics;
    int64_t longest;
    uint64_t turns;
    loop_stats(frame->process.loop, &longest, &turns);
    metric_set(m->turns, NULL, (double)turns);
    metric_set(m->longest_turn, NULL, seconds(longest));
    metric_set(m->memory, NULL, resident_bytes());
    metric_set(m->cpu, NULL, cpu_seconds());
    metric_set(m->fds, NULL, open_descriptors());
    if (frame->process.window)
        collect_window(frame);
    if (m->staleness)
        collect_watches(frame);
    if (m->leader)
        metric_set(m->leader, NULL, frame->leading);
}

static struct metric *gauge(struct process_frame *frame, const char *name, const char *help)
{
    return metric_new(frame->process.metrics, METRIC_GAUGE, name, help, NULL);
}

static struct metric *counter(struct process_frame *frame, const char *name, const char *help)
{
    return metric_new(frame->process.metrics, METRIC_COUNTER, name, help, NULL);
}

static void observe_latency(enum window_class cls, int64_t latency_ns, void *arg)
{
    struct metric *latencies = arg;
    const char *const labels[] = {window_class_name(cls), NULL};
    metric_observe(latencies, labels, seconds(latency_ns));
}

static void make_window_metrics(struct process_frame *frame)
{
    static const char *const by_class[] = {"class", NULL};
    static const double bounds[] = {0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30};
    struct process_metrics *m = &frame->metrics;
    m->limit = gauge(frame, "pumice_window_limit", "Writes that may be in flight at once.");
    m->inflight = gauge(frame, "pumice_window_inflight", "Writes in flight.");
    m->waiting = metric_new(frame->process.metrics, METRIC_GAUGE, "pumice_window_waiting",
                            "Writes that wait for a slot, by class.", by_class);
    m->sent = metric_new(frame->process.metrics, METRIC_COUNTER, "pumice_window_sent_total",
                         "Writes sent, by class.", by_class);
    m->throttled = counter(frame, "pumice_window_throttled_total", "Answers with status 429.");
    m->failed = counter(frame, "pumice_window_failed_total",
                        "Answers with a status of 5xx, and writes without an answer.");
    m->latency = gauge(frame, "pumice_window_latency_seconds", "Moving average of a write's time.");
    m->floor = gauge(frame, "pumice_window_latency_floor_seconds",
                     "Time of a write while few are in flight.");
    struct metric *latencies =
        metric_new(frame->process.metrics, METRIC_HISTOGRAM, "pumice_window_request_seconds",
                   "Time from a write to its answer, by class.", by_class);
    metric_buckets(latencies, bounds, sizeof(bounds) / sizeof(bounds[0]));
    window_set_observer(frame->process.window, observe_latency, latencies);
    m->events_dropped = counter(frame, "pumice_events_dropped_total", "Events dropped unwritten.");
}

static void make_metrics(struct process_frame *frame)
{
    static const char *const build_labels[] = {"program", "version", NULL};
    static const char *const by_resource[] = {"resource", NULL};
    struct process_metrics *m = &frame->metrics;
    struct metric *build = metric_new(frame->process.metrics, METRIC_GAUGE, "pumice_build_info",
                                      "Program and version; always 1.", build_labels);
    metric_set(build, (const char *const[]){frame->spec->name, PUMICE_VERSION, NULL}, 1);
    m->memory = gauge(frame, "process_resident_memory_bytes", "Resident memory in bytes.");
    m->cpu = counter(frame, "process_cpu_seconds_total", "User and system CPU time in seconds.");
    m->fds = gauge(frame, "process_open_fds", "Open file descriptors.");
    m->turns = counter(frame, "pumice_loop_turns_total", "Turns of the event loop.");
    m->longest_turn = gauge(frame, "pumice_loop_longest_turn_seconds",
                            "Longest time that one turn kept the event loop busy.");
    if (frame->spec->watches)
        m->staleness =
            metric_new(frame->process.metrics, METRIC_GAUGE, "pumice_watch_staleness_seconds",
                       "For how long what is known may have been out of date.", by_resource);
    if (!frame->spec->no_window)
        make_window_metrics(frame);
    if (frame->process.options.leader_elect)
        m->leader = gauge(frame, "pumice_leader", "1 while this process holds the Lease.");
    metrics_on_collect(frame->process.metrics, collect, frame);
}

/* ---- servers ------------------------------------------------------------------------------- */

static int open_server(struct process_frame *frame, const char *what, const char *address,
                       struct ops_http **ret_server, struct error *err)
{
    *ret_server = ops_http_new(frame->process.loop, address, err);
    if (!*ret_server)
        return error_prefix(err, "%s", what);
    log_info("listening for=%s address=%s port=%u", what, address, ops_http_port(*ret_server));
    return 0;
}

int process_open_pages(struct process_frame *frame, struct error *err)
{
    struct process *process = &frame->process;
    const struct process_options *options = &process->options;
    make_metrics(frame);
    if (options->enable_healthz) {
        if (open_server(frame, "health", options->healthz_address, &process->health, err) < 0)
            return -1;
        ops_http_handle(process->health, "/healthz", page_healthz, frame);
        ops_http_handle(process->health, "/healthz/", page_healthz, frame);
        ops_http_handle(process->health, "/readyz", page_readyz, frame);
    }
    if (!options->enable_metrics)
        return 0;
    if (process->health && strcmp(options->healthz_address, options->listen_address) == 0)
        process->pages = process->health;
    else if (open_server(frame, "metrics", options->listen_address, &process->pages, err) < 0)
        return -1;
    ops_http_handle(process->pages, "/metrics", page_metrics, process->metrics);
    return 0;
}

void process_close_pages(struct process_frame *frame)
{
    struct process *process = &frame->process;
    if (process->pages != process->health)
        ops_http_free(process->pages);
    ops_http_free(process->health);
    process->pages = process->health = NULL;
}
