/*
 * kube_probe: a command line to common/kube, for tests against a real API server and the fault
 * proxy.
 *
 *     kube_probe --kubeconfig FILE [--timeout S] [--every MS] get PATH [COUNT]
 *     kube_probe --kubeconfig FILE [--timeout S] [--inflight N] create PATH COUNT < body
 *     kube_probe --kubeconfig FILE watch PATH
 *
 * get asks COUNT times, --every so many milliseconds; create posts the body COUNT times, with each
 * "%d" replaced by the number, --inflight of them at once, with a pause after one that could not be
 * sent. One line for each answer:
 *
 *     <seconds> answered <status> <bytes> <error>       also not-sent, in-doubt
 *
 * and at the end "total <word> <status> <count>" lines. watch prints "<seconds> event <type> <kind>
 * <namespace>/<name> <resourceVersion>" and ends with the line of the answer. Exits with 0 once all
 * calls have ended, 2 on wrong usage, 1 when the configuration cannot be loaded.
 */
#include "base/alloc.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/vec.h"
#include "kube/transport.h"
#include "json/reader.h"
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

/* After a call that could not be sent. */
#define PAUSE_NS (100 * NSEC_PER_MSEC)

struct tally {
    enum kube_outcome outcome;
    int status;
    unsigned count;
};

struct probe {
    struct loop *loop;
    struct kube_transport *transport;
    struct kube_config config;
    const char *kubeconfig, *verb, *path;
    int64_t timeout_ns, every_ns, inflight, count;
    int64_t started, ended; /* calls */
    int64_t begin_ns;
    struct buf body; /* of create, as given */
    struct buf line; /* of watch, the part of a line that has come */
    struct loop_timer timer;
    VEC(struct tally) tallies;
};

static void start_more(struct probe *probe);

static const char *outcome_name(enum kube_outcome outcome)
{
    static const char *const names[] = {"answered", "not-sent", "in-doubt"};
    return names[outcome];
}

static double seconds(const struct probe *probe)
{
    return (double)(loop_now(probe->loop) - probe->begin_ns) / (double)NSEC_PER_SEC;
}

static void count_result(struct probe *probe, const struct kube_result *result)
{
    for (size_t i = 0; i < probe->tallies.n; i++) {
        struct tally *tally = &probe->tallies.items[i];
        if (tally->outcome == result->outcome && tally->status == result->status) {
            tally->count++;
            return;
        }
    }
    struct tally tally = {result->outcome, result->status, 1};
    vec_push(&probe->tallies, tally);
}

static void on_done(const struct kube_result *result, void *arg)
{
    struct probe *probe = arg;
    printf("%.3f %s %d %zu %s %s\n", seconds(probe), outcome_name(result->outcome), result->status,
           result->body.n, error_class_name(result->error.cls), result->error.text);
    if (strcmp(probe->verb, "get") == 0 && probe->count == 1)
        printf("%.*s\n", STR_ARG(result->body));
    (void)fflush(stdout);
    count_result(probe, result);
    probe->ended++;
    if (probe->ended == probe->count)
        loop_stop(probe->loop);
    else if (probe->every_ns == 0 && result->outcome == KUBE_NOT_SENT)
        loop_timer_set_earlier(probe->loop, &probe->timer, PAUSE_NS);
    else if (probe->every_ns == 0)
        start_more(probe);
}

/* ---- watch ----------------------------------------------------------------------------------- */

struct event {
    struct str type, kind, ns, name, rv;
};

static void read_metadata(struct json_reader *r, struct event *event)
{
    struct str key;
    bool present = json_object(r);
    while (present && json_key(r, &key)) {
        if (str_is(key, "namespace"))
            event->ns = json_str(r);
        else if (str_is(key, "name"))
            event->name = json_str(r);
        else if (str_is(key, "resourceVersion"))
            event->rv = json_str(r);
        else
            json_skip(r);
    }
}

static void read_object(struct json_reader *r, struct event *event)
{
    struct str key;
    bool present = json_object(r);
    while (present && json_key(r, &key)) {
        if (str_is(key, "kind"))
            event->kind = json_str(r);
        else if (str_is(key, "metadata"))
            read_metadata(r, event);
        else
            json_skip(r);
    }
}

static void print_event(const struct probe *probe, struct str line)
{
    struct event event = {.type = STR_NULL};
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader r;
    struct str key;
    json_init(&r, line, &arena);
    bool present = json_object(&r);
    while (present && json_key(&r, &key)) {
        if (str_is(key, "type"))
            event.type = json_str(&r);
        else if (str_is(key, "object"))
            read_object(&r, &event);
        else
            json_skip(&r);
    }
    printf("%.3f event %.*s %.*s %.*s/%.*s %.*s\n", seconds(probe), STR_ARG(event.type),
           STR_ARG(event.kind), STR_ARG(event.ns), STR_ARG(event.name), STR_ARG(event.rv));
    (void)fflush(stdout);
}

static bool on_data(struct str data, void *arg)
{
    struct probe *probe = arg;
    if (!buf_add_str(&probe->line, data))
        return false;
    for (ptrdiff_t end; (end = str_chr(buf_str(&probe->line), '\n')) >= 0;) {
        print_event(probe, str_sub(buf_str(&probe->line), 0, (size_t)end));
        buf_consume(&probe->line, (size_t)end + 1);
    }
    return true;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void render_body(const struct probe *probe, struct buf *out)
{
    struct str rest = buf_str(&probe->body);
    for (ptrdiff_t at; (at = str_find(rest, STR("%d"))) >= 0;) {
        (void)buf_add_str(out, str_sub(rest, 0, (size_t)at));
        (void)buf_add_i64(out, probe->started);
        rest = str_from(rest, (size_t)at + 2);
    }
    (void)buf_add_str(out, rest);
}

static void start_one(struct probe *probe)
{
    cleanup_buf struct buf body = BUF_INIT(2 * LIMIT_REQUEST_BODY);
    struct kube_call_spec spec = {
        .path = str_of(probe->path),
        .timeout_ns = probe->timeout_ns,
        .on_done = on_done,
        .arg = probe,
    };
    if (strcmp(probe->verb, "create") == 0) {
        spec.method = KUBE_POST;
        render_body(probe, &body);
        spec.body = buf_str(&body);
    } else if (strcmp(probe->verb, "watch") == 0) {
        spec.watch = true;
        spec.timeout_ns = 0;
        spec.on_data = on_data;
    }
    (void)kube_start(probe->transport, &spec);
    probe->started++;
}

static void start_more(struct probe *probe)
{
    while (probe->started < probe->count && probe->started - probe->ended < probe->inflight)
        start_one(probe);
}

static void on_timer(void *arg)
{
    struct probe *probe = arg;
    if (probe->every_ns == 0) {
        start_more(probe);
        return;
    }
    start_one(probe);
    if (probe->started < probe->count)
        loop_timer_set(probe->loop, &probe->timer, probe->every_ns);
}

/* ---- command line ---------------------------------------------------------------------------- */

static int usage(const char *why)
{
    (void)fprintf(stderr,
                  "kube_probe: %s\n"
                  "usage: kube_probe --kubeconfig FILE [--timeout S] [--every MS] [--inflight N] "
                  "get|create|watch PATH [COUNT]\n",
                  why);
    return 2;
}

static int64_t number(const char *text)
{
    int64_t value = 0;
    return str_to_i64(str_of(text), &value) && value > 0 ? value : 1;
}

static int read_options(struct probe *probe, int argc, char **argv)
{
    static const struct option options[] = {
        {"kubeconfig", required_argument, NULL, 'k'},
        {"timeout", required_argument, NULL, 't'},
        {"every", required_argument, NULL, 'e'},
        {"inflight", required_argument, NULL, 'n'},
        {NULL, 0, NULL, 0},
    };
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'k')
            probe->kubeconfig = optarg;
        else if (c == 't')
            probe->timeout_ns = number(optarg) * NSEC_PER_SEC;
        else if (c == 'e')
            probe->every_ns = number(optarg) * NSEC_PER_MSEC;
        else if (c == 'n')
            probe->inflight = number(optarg);
        else
            return usage("unknown option");
    }
    if (!probe->kubeconfig || argc - optind < 2 || argc - optind > 3)
        return usage("--kubeconfig, a verb and a path are needed");
    probe->verb = argv[optind];
    probe->path = argv[optind + 1];
    probe->count = argc - optind == 3 ? number(argv[optind + 2]) : 1;
    return 0;
}

static int read_body(struct probe *probe)
{
    char piece[4096];
    for (ssize_t n; (n = read(STDIN_FILENO, piece, sizeof(piece))) != 0;)
        if (n < 0 || !buf_add(&probe->body, piece, (size_t)n))
            return usage("the body cannot be read from standard input");
    return 0;
}

static void on_terminate(void *arg)
{
    loop_stop(arg);
}

static void run(struct probe *probe)
{
    probe->begin_ns = loop_now(probe->loop);
    loop_on_terminate(probe->loop, on_terminate, probe->loop);
    loop_timer_init(&probe->timer, on_timer, probe);
    if (probe->every_ns > 0)
        on_timer(probe);
    else
        start_more(probe);
    loop_run(probe->loop);
    loop_timer_cancel(probe->loop, &probe->timer);
    for (size_t i = 0; i < probe->tallies.n; i++)
        printf("total %s %d %u\n", outcome_name(probe->tallies.items[i].outcome),
               probe->tallies.items[i].status, probe->tallies.items[i].count);
}

static int connect_and_run(struct probe *probe)
{
    struct error error = ERROR_INIT;
    if (kube_config_load(&probe->config, probe->kubeconfig, NULL, &error) == 0)
        probe->transport = kube_transport_curl_new(probe->loop, &probe->config,
                                                   "pumice-probe/" PUMICE_VERSION, &error);
    if (!probe->transport) {
        (void)fprintf(stderr, "kube_probe: %s\n", error.text);
        return 1;
    }
    run(probe);
    return 0;
}

int main(int argc, char **argv)
{
    struct probe probe = {
        .timeout_ns = 30 * NSEC_PER_SEC,
        .inflight = 1,
        .body = BUF_INIT(2 * LIMIT_REQUEST_BODY),
        .line = BUF_INIT(LIMIT_WATCH_EVENT),
    };
    int rc = read_options(&probe, argc, argv);
    if (rc == 0 && strcmp(probe.verb, "create") == 0)
        rc = read_body(&probe);
    if (rc == 0) {
        log_setup("probe", 4);
        probe.loop = loop_new(0);
        rc = connect_and_run(&probe);
        kube_transport_free(probe.transport);
        kube_config_clear(&probe.config);
        loop_free(probe.loop);
    }
    buf_clear(&probe.body);
    buf_clear(&probe.line);
    vec_clear(&probe.tallies);
    return rc;
}
