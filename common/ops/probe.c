/*
 * The question to the API server that every process starts with: GET /version.
 *
 * It opens the connection before there is anything to do on it, puts "cannot reach the API server"
 * into the log and on /readyz, and names a server that is too old. It ends with the first answer.
 */
#include "ops/process_private.h"

#include "base/log.h"
#include "json/reader.h"
#include <stdio.h>

#define OLDEST_MINOR 30 /* CEL matchConditions of our webhook configurations */
#define TIMEOUT (10 * NSEC_PER_SEC)
#define LOG_INTERVAL (60 * NSEC_PER_SEC)

/* "30" or "30+"; -1 when it is not a number. */
static int minor_of(struct str text)
{
    int32_t minor;
    if (str_ends(text, STR("+")))
        text.n--;
    return str_to_i32(text, &minor) ? minor : -1;
}

static void log_version(const struct probe *probe, struct str body)
{
    struct arena arena cleanup_arena = ARENA_INIT;
    struct json_reader reader;
    struct str key, version = STR_NULL, major = STR_NULL, minor = STR_NULL;
    json_init(&reader, body, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_is(key, "gitVersion"))
                version = json_str(&reader);
            else if (str_is(key, "major"))
                major = json_str(&reader);
            else if (str_is(key, "minor"))
                minor = json_str(&reader);
            else
                json_skip(&reader);
        }
    }
    log_info("API server reached server=%s version=%.*s", probe->server, STR_ARG(version));
    int number = minor_of(minor);
    if (str_is(major, "1") && number >= 0 && number < OLDEST_MINOR)
        log_error("the API server is Kubernetes 1.%d, Pumice needs 1.%d or newer server=%s", number,
                  OLDEST_MINOR, probe->server);
}

static void note_failure(struct probe *probe, const struct kube_result *result)
{
    int n = snprintf(probe->cause, sizeof(probe->cause), "%s", result->error.text);
    if (n <= 0)
        snprintf(probe->cause, sizeof(probe->cause), "HTTP status %d", result->status);
    const int64_t now = loop_now(probe->loop);
    if (probe->logged_at && now - probe->logged_at < LOG_INTERVAL)
        return;
    probe->logged_at = now;
    log_warn("cannot reach the API server, will go on trying server=%s cause=\"%s\"", probe->server,
             probe->cause);
}

static void on_answer(const struct kube_result *result, void *arg)
{
    struct probe *probe = arg;
    probe->call = NULL;
    const bool answered = result->outcome == KUBE_ANSWERED;
    if (answered && result->status == 200)
        log_version(probe, result->body);
    /* A server that knows us but keeps its version to itself (403) is there all the same. */
    probe->reached = answered && (result->status == 200 || result->status == 403);
    if (probe->reached)
        return;
    note_failure(probe, result);
    loop_timer_set(probe->loop, &probe->timer,
                   backoff_next(&probe->backoff, loop_rng(probe->loop)));
}

static void ask(void *arg)
{
    struct probe *probe = arg;
    const struct kube_call_spec spec = {.method = KUBE_GET,
                                        .path = STR("/version"),
                                        .timeout_ns = TIMEOUT,
                                        .on_done = on_answer,
                                        .arg = probe};
    probe->call = kube_start(probe->transport, &spec);
}

void probe_start(struct probe *probe, struct loop *loop, struct kube_transport *transport,
                 const char *server)
{
    *probe = (struct probe){.loop = loop, .transport = transport, .server = server};
    loop_timer_init(&probe->timer, ask, probe);
    backoff_init(&probe->backoff, NSEC_PER_SEC, 30 * NSEC_PER_SEC);
    ask(probe);
}

void probe_stop(struct probe *probe)
{
    if (!probe->loop)
        return;
    loop_timer_cancel(probe->loop, &probe->timer);
    if (probe->call)
        kube_cancel(probe->transport, probe->call);
    probe->call = NULL;
}

void probe_missing(const struct probe *probe, struct buf *missing)
{
    if (probe->reached)
        return;
    buf_printf(missing, "waiting for the API server at %s%s%s\n", probe->server,
               probe->cause[0] ? ": " : "", probe->cause);
}
