/*
 * The frame of every binary, run whole in a child process: command line, health and metrics pages,
 * leadership, orderly stop, crash. The Kubernetes client is replaced by doubles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/process_doubles.h"
#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the application ----------------------------------------------------------------------- */

struct app {
    struct process *process;
    struct loop_timer drained, later;
};

static void on_later(void *arg)
{
    struct app *app = arg;
    window_kick(app->process->window);
    if (scenario.fails)
        process_fail(app->process);
}

static void on_drained(void *arg)
{
    struct app *app = arg;
    note("drained\n");
    process_stopped(app->process);
    process_stopped(app->process); /* once is enough, twice does no harm */
}

static void *app_start(struct process *process, struct error *err)
{
    if (scenario.bad_start) {
        error_set(err, ERROR_FATAL, "the policy file is empty");
        return NULL;
    }
    if (scenario.crash)
        abort();
    struct app *app = xnew(struct app);
    app->process = process;
    loop_timer_init(&app->drained, on_drained, app);
    loop_timer_init(&app->later, on_later, app);
    if (scenario.own_fence || scenario.fails)
        loop_timer_set(process->loop, &app->later, 20 * NSEC_PER_MSEC);
    note("start health=%u pages=%u one=%d qps=%g\n",
         process->health ? ops_http_port(process->health) : 0,
         process->pages ? ops_http_port(process->pages) : 0, process->health == process->pages,
         process->options.kube_api_qps);
    return app;
}

static void app_ready(void *app, struct buf *missing)
{
    (void)app;
    buf_add_cstr(missing, scenario.missing ? scenario.missing : "");
}

static void app_watches(void *app, informers_watch_fn *see, void *arg)
{
    (void)app;
    see("pods", 3 * NSEC_PER_SEC, arg);
    see("jobs.batch.volcano.sh", 0, arg);
    see("pods", 40 * NSEC_PER_SEC, arg);
    see("pods", 2 * NSEC_PER_SEC, arg);
}

static void app_leading(void *app, bool leading)
{
    (void)app;
    note("leading %d may_write=%d\n", leading, fence ? fence(fence_arg) : 1);
}

static void app_elect(void *arg, struct lease_config *config)
{
    const struct app *app = arg;
    note("elect %s for %s\n", config->name, app->process->lease_config.identity);
}

static bool app_may_write(void *arg, int64_t margin_ns)
{
    (void)arg;
    note("asked margin=%lldms\n", (long long)(margin_ns / NSEC_PER_MSEC));
    return true;
}

static void app_stop(void *arg, struct process *process)
{
    struct app *app = arg;
    note("stop\n");
    loop_timer_set(process->loop, &app->drained, 100 * NSEC_PER_MSEC);
}

static void app_free(void *app)
{
    note("free\n");
    loop_timer_cancel(((struct app *)app)->process->loop, &((struct app *)app)->later);
    free(app);
}

/* ---- running it ---------------------------------------------------------------------------- */

struct child {
    pid_t pid;
    int trace, output; /* what it notes; its standard output and error */
    char trace_text[4096], output_text[65536];
    unsigned health, pages;
};

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static _Noreturn void child_main(const char *const *args)
{
    char *argv[64] = {xstrdup("pumice-test")};
    int argc = 1;
    for (; args[argc - 1]; argc++)
        argv[argc] = xstrdup(args[argc - 1]);
    bool own = false;
    const struct flag flags[] = {{"own", 0, FLAG_BOOL, &own, "A flag of the binary."}, {0}};
    const struct process_spec spec = {
        .name = "pumice-test",
        .component = "test",
        .flags = flags,
        .defaults = {.lease_name = "test", .enable_healthz = true},
        .no_window = scenario.no_window,
        .start = app_start,
        .ready = app_ready,
        .watches = app_watches,
        .leading = app_leading,
        .elect = scenario.own_fence ? app_elect : NULL,
        .may_write = scenario.own_fence ? app_may_write : NULL,
        .stop = scenario.no_stop ? NULL : app_stop,
        .free = app_free,
    };
    int code = process_main(&spec, argc, argv);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    fflush(stdout);
    exit(code);
}

static void spawn(struct child *child, const char *const *args)
{
    *child = (struct child){0};
    int trace[2], output[2];
    assert_int_equal(pipe(trace), 0);
    assert_int_equal(pipe(output), 0);
    fflush(NULL);
    child->pid = fork();
    if (child->pid == 0) {
        dup2(output[1], STDOUT_FILENO);
        dup2(output[1], STDERR_FILENO);
        close(trace[0]);
        close(output[0]);
        close(output[1]);
        trace_fd = trace[1];
        child_main(args);
    }
    close(trace[1]);
    close(output[1]);
    child->trace = trace[0];
    child->output = output[0];
}

/* Reads from `fd` until `text` holds `want` (NULL: to the end), 20 s at most. */
static void read_until(int fd, char *text, size_t size, const char *want)
{
    size_t n = strlen(text);
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    while (!(want && strstr(text, want))) {
        assert_true(poll(&poller, 1, 20000) > 0);
        ssize_t got = read(fd, text + n, size - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        text[n] = '\0';
    }
    if (want && !strstr(text, want))
        fail_msg("\"%s\" did not come, but \"%s\"", want, text);
}

static void await_trace(struct child *child, const char *want)
{
    read_until(child->trace, child->trace_text, sizeof(child->trace_text), want);
}

static void await_start(struct child *child)
{
    await_trace(child, "start health=");
    const char *at = strstr(child->trace_text, "start health=");
    assert_non_null(at);
    struct str rest = str_of(at), field;
    uint64_t port = 0;
    while (str_split(&rest, ' ', &field)) {
        if (str_starts(field, STR("health=")) && str_to_u64(str_from(field, 7), &port))
            child->health = (unsigned)port;
        if (str_starts(field, STR("pages=")) && str_to_u64(str_from(field, 6), &port))
            child->pages = (unsigned)port;
    }
}

/* Waits for the end; returns the wait status. */
static int finish(struct child *child)
{
    read_until(child->output, child->output_text, sizeof(child->output_text), NULL);
    read_until(child->trace, child->trace_text, sizeof(child->trace_text), NULL);
    close(child->output);
    close(child->trace);
    int status = 0;
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    return status;
}

static void assert_exit(struct child *child, int code)
{
    int status = finish(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
        fail_msg("status 0x%x instead of exit code %d: %s", (unsigned)status, code,
                 child->output_text);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static size_t lines_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* The whole answer to GET `path` on a port of the child. */
static const char *get(unsigned port, const char *path)
{
    static char answer_text[65536];
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        fail_msg("cannot connect to port %u", port);
    dprintf(fd, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
    answer_text[0] = '\0';
    read_until(fd, answer_text, sizeof(answer_text), NULL);
    close(fd);
    return answer_text;
}

/* Asks until the answer holds `want`, 10 s at most. */
static const char *get_until(unsigned port, const char *path, const char *want)
{
    const char *text = "";
    for (int i = 0; i < 1000; i++) {
        text = get(port, path);
        if (strstr(text, want))
            return text;
        usleep(10000);
    }
    fail_msg("\"%s\" never came, but \"%s\"", want, text);
    return text;
}

static int reset_scenario(void **state)
{
    (void)state;
    scenario = (struct scenario){
        .status = 200,
        .version = "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.3\"}",
    };
    return 0;
}

#define HEALTH "--healthz-address=127.0.0.1:0"
#define PAGES "--listen-address=127.0.0.1:0"

/* ---- command line -------------------------------------------------------------------------- */

static void test_version_and_help_end_with_0(void **state)
{
    (void)state;
    struct child child;
    spawn(&child, ARGS("--version"));
    assert_exit(&child, 0);
    assert_has(child.output_text, "pumice-test " PUMICE_VERSION "\n");
    assert_has(child.output_text, "libcurl/");
    assert_has(child.output_text, "OpenSSL/");
    assert_has(child.output_text, "libmicrohttpd/");
    spawn(&child, ARGS("--enable-metrics", "--help"));
    assert_exit(&child, 0);
    assert_has(child.output_text, "Usage: pumice-test [flags]");
    assert_has(child.output_text, "--own\n          A flag of the binary. (default false)");
    assert_has(child.output_text, "Serve /metrics. (default false)");
    assert_has(child.output_text, "--vmodule STRING");
}

static void test_bad_command_lines_end_with_2_and_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *args[3];
        const char *text;
    } cases[] = {
        {{"--no-such-flag"}, "unknown flag --no-such-flag (--help lists the flags)"},
        {{"--max-inflight=10001"}, "--max-inflight must be from 0 to 10000"},
        {{"--max-inflight=-1"}, "--max-inflight must be from 0 to 10000"},
        {{"--fixed-inflight=10001"}, "--fixed-inflight must be from 0 to 10000"},
        {{"--fixed-inflight=-1"}, "--fixed-inflight must be from 0 to 10000"},
        {{"--fixed-inflight=8", "--max-inflight=8"}, "exclude each other"},
        {{"--kube-api-qps=-1"}, "--kube-api-qps and --kube-api-burst must not be negative"},
        {{"--leader-elect", "--leader-elect-resource-name="}, "--leader-elect needs a"},
        {{"--leader-elect", "--leader-elect-retry-period=0s"}, "must be above 0"},
        {{"--leader-elect", "--leader-elect-renew-deadline=2s"}, "must be longer than"},
        {{"--leader-elect", "--leader-elect-lease-duration=10s"}, "must be longer than"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct child child;
        spawn(&child, cases[i].args);
        assert_exit(&child, 2);
        assert_has(child.output_text, cases[i].text);
        assert_int_equal(lines_of(child.output_text), 1);
    }
}

static void test_the_flags_of_the_reference_are_accepted(void **state)
{
    (void)state;
    struct child child;
    scenario.bad_start = true;
    spawn(&child, ARGS("--logtostderr", "--enable_healthz=true", HEALTH, "--enable-metrics=false",
                       "--leader-elect=false", "--leader-elect-resource-lock=leases",
                       "--kube-api-qps=2000", "--kube-api-burst", "2000", "--max-inflight=10000",
                       "--alsologtostderr", "--stderrthreshold", "INFO", "--vmodule", "a=2",
                       "--log-file", "/x", "--log-dir=/y", "--skip-headers", "--one-output",
                       "--skip-log-headers=true", "--add-dir-header", "--log-file-max-size=1",
                       "--log-backtrace-at", ":0", "--legacy-stderr-threshold-behavior",
                       "--log-flush-frequency", "5s", "-v=3", "2>&1"));
    assert_exit(&child, 1);
    assert_has(child.output_text, "the policy file is empty");
    assert_has(child.trace_text, "window max=10000 fixed=0 qps=2000 burst=2000 timeout=0ms\n");
}

static void test_a_window_may_be_fixed(void **state)
{
    (void)state;
    struct child child;
    scenario.bad_start = true;
    spawn(&child, ARGS("--fixed-inflight=24"));
    assert_exit(&child, 1);
    assert_has(child.trace_text, "window max=0 fixed=24 qps=0");
}

static void test_without_a_window_there_is_no_election(void **state)
{
    (void)state;
    struct child child;
    scenario.no_window = true;
    spawn(&child, ARGS("--leader-elect"));
    assert_exit(&child, 2);
    spawn(&child,
          ARGS("--kube-api-qps=50", "--kube-api-burst", "100", HEALTH, "--enable-metrics", PAGES));
    await_start(&child);
    await_trace(&child, "leading 1");
    assert_null(strstr(get(child.pages, "/metrics"), "pumice_window"));
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_exit(&child, 0);
    assert_null(strstr(child.trace_text, "window"));
}

/* ---- failures of the start ------------------------------------------------------------------ */

static void test_a_failed_start_ends_with_1_and_one_line(void **state)
{
    (void)state;
    struct child child;
    scenario.bad_config = true;
    spawn(&child, ARGS("--kubeconfig", "/etc/k", HEALTH));
    assert_exit(&child, 1);
    assert_has(child.output_text, "/etc/k: no current-context\n");
    assert_int_equal(lines_of(child.output_text), 1);
    reset_scenario(NULL);
    scenario.bad_transport = true;
    spawn(&child, ARGS("--kubeconfig", "/etc/k", HEALTH));
    assert_exit(&child, 1);
    assert_has(child.output_text, "/etc/k: client certificate and key do not match\n");
    assert_int_equal(lines_of(child.output_text), 1);
    reset_scenario(NULL);
    spawn(&child, ARGS("--healthz-address=nonsense"));
    assert_exit(&child, 1);
    assert_has(child.output_text, "health: address \"nonsense\" is not of the form host:port");
    assert_int_equal(lines_of(child.output_text), 1);
}

/* ---- pages ---------------------------------------------------------------------------------- */

static void test_readiness_names_what_is_missing(void **state)
{
    (void)state;
    struct child child;
    scenario.failures = 1;
    scenario.missing = "waiting for the list of pods\n";
    spawn(&child, ARGS("--master=https://there:1", HEALTH));
    await_start(&child);
    assert_has(get(child.health, "/healthz"), "\r\n\r\nok");
    const char *text = get_until(child.health, "/readyz", "connection refused");
    assert_has(text, "HTTP/1.1 503 ");
    assert_has(text, "\r\n\r\nwaiting for the API server at https://there:1: connection refused\n"
                     "waiting for the list of pods\n");
    text = get_until(child.health, "/readyz", "\r\n\r\nwaiting for the list of pods\n");
    assert_has(text, "HTTP/1.1 503 ");
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    await_trace(&child, "stop\n");
    assert_has(get(child.health, "/readyz"), "\r\n\r\nstopping\n");
    assert_exit(&child, 0);
    assert_has(child.output_text, "cannot reach the API server, will go on trying "
                                  "server=https://there:1 cause=\"connection refused\"");
    assert_has(child.output_text, "API server reached server=https://there:1 version=v1.36.3");
}

static void test_ready_when_nothing_is_missing(void **state)
{
    (void)state;
    struct child child;
    scenario.status = 403; /* it is there, and keeps its version to itself */
    spawn(&child, ARGS(HEALTH));
    await_start(&child);
    assert_has(get_until(child.health, "/readyz", "HTTP/1.1 200 "), "\r\n\r\nok");
    assert_int_equal(kill(child.pid, SIGINT), 0);
    assert_exit(&child, 0);
}

static void test_an_old_server_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *version;
        bool old;
    } cases[] = {
        {"{\"major\":\"1\",\"minor\":\"29+\",\"gitVersion\":\"v1.29.9\"}", true},
        {"{\"major\":\"1\",\"minor\":\"30\",\"gitVersion\":\"v1.30.0\"}", false},
        {"nonsense", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct child child;
        scenario.version = cases[i].version;
        spawn(&child, ARGS(HEALTH));
        await_start(&child);
        (void)get_until(child.health, "/readyz", "HTTP/1.1 200 ");
        assert_int_equal(kill(child.pid, SIGTERM), 0);
        assert_exit(&child, 0);
        assert_int_equal(strstr(child.output_text, "Kubernetes 1.29, Pumice needs 1.30") != NULL,
                         cases[i].old);
    }
}

static void test_metrics_page(void **state)
{
    (void)state;
    static const char *const want[] = {
        ("pumice_build_info{program=\"pumice-test\",version=\"" PUMICE_VERSION "\"} 1\n"),
        "\npumice_window_limit 16\n",
        "\npumice_window_inflight 3\n",
        "\npumice_window_waiting{class=\"create\"} 7\n",
        "\npumice_window_sent_total{class=\"bind\"} 42\n",
        "\npumice_window_sent_total{class=\"event\"} 0\n",
        "\npumice_window_throttled_total 1\n",
        "\npumice_window_failed_total 2\n",
        "\npumice_window_latency_seconds 0.005\n",
        "\npumice_window_request_seconds_bucket{class=\"create\",le=\"0.02\"} 0\n",
        "\npumice_window_request_seconds_bucket{class=\"create\",le=\"0.05\"} 1\n",
        "\npumice_events_dropped_total 9\n",
        "\npumice_watch_staleness_seconds{resource=\"pods\"} 40\n",
        "\npumice_watch_staleness_seconds{resource=\"jobs.batch.volcano.sh\"} 0\n",
        "\npumice_loop_turns_total ",
        "\npumice_loop_longest_turn_seconds ",
        "\nprocess_cpu_seconds_total ",
    };
    struct child child;
    spawn(&child, ARGS("--enable-metrics", "--healthz-address=127.0.0.1:0", PAGES));
    await_start(&child);
    assert_has(child.trace_text, "one=1"); /* the same address: one server */
    const char *text = get(child.pages, "/metrics");
    for (size_t i = 0; i < ARRAY_SIZE(want); i++)
        assert_has(text, want[i]);
    const char *memory = strstr(text, "\nprocess_resident_memory_bytes ");
    assert_non_null(memory);
    assert_in_range(strtod(memory + 31, NULL), 1 << 20, (int64_t)1 << 40);
    const char *fds = strstr(text, "\nprocess_open_fds ");
    assert_non_null(fds);
    assert_in_range(strtod(fds + 18, NULL), 6, 100);
    assert_null(strstr(text, "pumice_leader"));
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_exit(&child, 0);
}

/* ---- leadership and stop --------------------------------------------------------------------- */

static void test_without_election_the_application_leads_at_once(void **state)
{
    (void)state;
    struct child child;
    scenario.no_stop = true;
    spawn(&child, ARGS(HEALTH));
    await_trace(&child, "leading 1 may_write=1\n");
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_exit(&child, 0);
    assert_has(child.trace_text, "leading 1 may_write=1\nfree\nwindow_free\ntransport_free\n");
}

static void test_the_lease_is_released_after_draining(void **state)
{
    (void)state;
    struct child child;
    scenario.lead_after_ns = NSEC_PER_MSEC;
    spawn(&child, ARGS("--leader-elect", "--lock-object-namespace=other", HEALTH,
                       "--enable-metrics", PAGES));
    await_start(&child);
    await_trace(&child, "kick may_write=1\n");
    assert_has(get(child.pages, "/metrics"), "\npumice_leader 1\n");
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_exit(&child, 0);
    assert_has(child.trace_text, "timeout=5000ms told\n");
    assert_has(child.trace_text,
               "lease other/test host_1\n"
               "leading 1 may_write=1\nkick may_write=1\n"
               "stop\ndrained\nwindow_drain\nlease_release\nfree\nlease_free\nwindow_free\n"
               "transport_free\n");
}

static void test_a_standby_writes_nothing_and_stops_cleanly(void **state)
{
    (void)state;
    struct child child;
    spawn(&child, ARGS("--leader-elect", HEALTH));
    await_trace(&child, "lease volcano-system/test host_1\n");
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_exit(&child, 0);
    assert_null(strstr(child.trace_text, "leading"));
}

/* One of several that are active writes whether it leads or not. */
static void test_the_application_may_have_a_fence_of_its_own(void **state)
{
    (void)state;
    struct child child;
    scenario.own_fence = true;
    spawn(&child, ARGS("--leader-elect", HEALTH));
    await_trace(&child, "elect test for host_1\nlease volcano-system/test host_1\n"
                        "asked margin=5000ms\nkick may_write=1\n");
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_exit(&child, 0);
    assert_null(strstr(child.trace_text, "leading"));
}

static void test_an_application_that_gives_up_ends_the_process_with_1(void **state)
{
    (void)state;
    struct child child;
    scenario.fails = true;
    spawn(&child, ARGS("--leader-elect", HEALTH));
    assert_exit(&child, 1);
    assert_null(strstr(child.trace_text, "lease_release"));
}

static void test_a_lost_lease_ends_the_process_with_1(void **state)
{
    (void)state;
    struct child child;
    scenario.lead_after_ns = NSEC_PER_MSEC;
    scenario.lose_after_ns = 20 * NSEC_PER_MSEC;
    spawn(&child, ARGS("--leader-elect", HEALTH));
    assert_exit(&child, 1);
    assert_has(child.trace_text, "leading 1 may_write=1\n");
    assert_has(child.trace_text, "leading 0 may_write=0\nfree\n");
    assert_has(child.output_text, "lost the lease, leaving so that a fresh start follows "
                                  "lease=volcano-system/test");
}

static void test_a_lease_that_cannot_be_released_delays_the_end_by_3_seconds(void **state)
{
    (void)state;
    struct child child;
    scenario.lead_after_ns = NSEC_PER_MSEC;
    scenario.mute_release = true;
    spawn(&child, ARGS("--leader-elect", HEALTH));
    await_trace(&child, "kick may_write=1\n");
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_exit(&child, 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_in_range(after.tv_sec - before.tv_sec, 3, 15);
    assert_has(child.output_text, "the lease could not be given up in time");
}

static void test_writes_that_do_not_end_delay_the_end_by_6_seconds(void **state)
{
    (void)state;
    struct child child;
    scenario.lead_after_ns = NSEC_PER_MSEC;
    scenario.mute_drain = true;
    spawn(&child, ARGS("--leader-elect", HEALTH));
    await_trace(&child, "kick may_write=1\n");
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_exit(&child, 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_in_range(after.tv_sec - before.tv_sec, 6, 18);
    assert_has(child.output_text, "giving the lease up with writes in flight");
    assert_has(child.trace_text, "window_drain\nlease_release\nfree\n");
}

static void test_a_crash_leaves_a_backtrace_and_the_signal(void **state)
{
    (void)state;
    struct child child;
    scenario.crash = true;
    spawn(&child, ARGS(HEALTH));
    int status = finish(&child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_has(child.output_text, "pumice-test: died of signal SIGABRT, backtrace:\n");
    assert_true(lines_of(child.output_text) >= 5);
}

#define TEST(name) cmocka_unit_test_setup(name, reset_scenario)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_version_and_help_end_with_0),
        TEST(test_bad_command_lines_end_with_2_and_one_line),
        TEST(test_the_flags_of_the_reference_are_accepted),
        TEST(test_a_window_may_be_fixed),
        TEST(test_without_a_window_there_is_no_election),
        TEST(test_a_failed_start_ends_with_1_and_one_line),
        TEST(test_readiness_names_what_is_missing),
        TEST(test_ready_when_nothing_is_missing),
        TEST(test_an_old_server_is_named),
        TEST(test_metrics_page),
        TEST(test_without_election_the_application_leads_at_once),
        TEST(test_the_lease_is_released_after_draining),
        TEST(test_a_standby_writes_nothing_and_stops_cleanly),
        TEST(test_the_application_may_have_a_fence_of_its_own),
        TEST(test_an_application_that_gives_up_ends_the_process_with_1),
        TEST(test_a_lost_lease_ends_the_process_with_1),
        TEST(test_a_lease_that_cannot_be_released_delays_the_end_by_3_seconds),
        TEST(test_writes_that_do_not_end_delay_the_end_by_6_seconds),
        TEST(test_a_crash_leaves_a_backtrace_and_the_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
