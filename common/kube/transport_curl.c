/*
 * The real transport: libcurl over HTTP/2. This file has the life of a call, what its end means,
 * and the transport itself with its token.
 *
 * Owns its calls until on_done ran or they are cancelled; borrows loop and config. Loop thread
 * only. It must not be freed from inside one of its own callbacks.
 */
#include "kube/transport_curl.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/file.h"
#include "base/log.h"
#include "json/reader.h"

static struct curl_transport *transport_of(struct kube_transport *base)
{
    return container_of(base, struct curl_transport, base);
}

const char *kube_method_name(enum kube_method method)
{
    static const char *const names[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    return names[method];
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void on_timeout(void *arg);

static struct kube_call *call_new(struct lane *lane, const struct kube_call_spec *spec)
{
    struct loop *loop = lane->transport->loop;
    struct kube_call *call = xnew(struct kube_call);
    list_init(&call->link);
    call->lane = lane;
    call->spec = *spec;
    call->path = str_dup(spec->path);
    call->spec.path.p = call->path;
    call->refused = spec->body.n > LIMIT_REQUEST_BODY;
    call->spec.body = call->refused ? STR_NULL : spec->body;
    call->body = str_dup(call->spec.body);
    call->spec.body.p = call->body;
    call->start_ns = loop_now(loop);
    call->answer = BUF_INIT(spec->answer_max ? spec->answer_max : LIMIT_RESPONSE_BODY);
    loop_timer_init(&call->timeout, on_timeout, call);
    if (call->refused)
        loop_timer_set(loop, &call->timeout, 0);
    else if (spec->timeout_ns > 0)
        loop_timer_set(loop, &call->timeout, spec->timeout_ns);
    return call;
}

void call_free(struct kube_call *call)
{
    lane_deactivate(call->lane, call);
    loop_timer_cancel(call->lane->transport->loop, &call->timeout);
    free(call->path);
    free(call->body);
    buf_clear(&call->answer);
    free(call);
}

static struct kube_call *start(struct kube_transport *base, const struct kube_call_spec *spec)
{
    struct curl_transport *transport = transport_of(base);
    struct lane *lane = spec->watch ? &transport->watches : &transport->requests;
    struct kube_call *call = call_new(lane, spec);
    list_append(&lane->queue, &call->link);
    lane_wake(lane);
    return call;
}

struct kube_call *call_start_internal(struct lane *lane, const struct kube_call_spec *spec,
                                      bool fresh)
{
    struct kube_call *call = call_new(lane, spec);
    call->fresh = fresh;
    lane_activate(lane, call);
    return call;
}

/* May be inside libcurl's callback for this very call: its handle goes later, in the lane. */
static void cancel(struct kube_transport *base, struct kube_call *call)
{
    (void)base;
    struct lane *lane = call->lane;
    call->state = CALL_DYING;
    loop_timer_cancel(lane->transport->loop, &call->timeout);
    list_remove(&call->link);
    list_append(&lane->dying, &call->link);
    lane_wake(lane);
}

static void give_up(struct kube_transport *base, struct kube_call *call)
{
    if (call->easy)
        lane_suspect(call->lane, call);
    cancel(base, call);
}

/* ---- the end of a call ----------------------------------------------------------------------- */

static void end(struct kube_call *call, struct kube_result *result)
{
    struct lane *lane = call->lane;
    result->latency_ns = loop_now(lane->transport->loop) - call->start_ns;
    lane_deactivate(lane, call);
    loop_timer_cancel(lane->transport->loop, &call->timeout);
    call->spec.on_done(result, call->spec.arg);
    call_free(call);
    lane_wake(lane);
}

/* Path without its query, cut to what a log line bears. */
static struct str short_path(const struct kube_call *call)
{
    struct str path = call->spec.path;
    ptrdiff_t query = str_chr(path, '?');
    return str_sub(path, 0, query >= 0 && query < 200 ? (size_t)query : 200);
}

void call_fail(struct kube_call *call, enum kube_outcome outcome, enum error_class cls,
               const char *why)
{
    struct kube_result result = {.outcome = outcome};
    error_set(&result.error, cls, "%s %.*s: %s", kube_method_name(call->spec.method),
              STR_ARG(short_path(call)), why);
    end(call, &result);
}

enum kube_outcome call_outcome(const struct kube_call *call)
{
    long sent = 0;
    /* What libcurl says before it begins is of the handle's last call. */
    if (call->spec.method == KUBE_GET || !call->easy || !call->begun)
        return KUBE_NOT_SENT;
    ENSURE(curl_easy_getinfo(call->easy->curl, CURLINFO_REQUEST_SIZE, &sent) == CURLE_OK);
    return sent > 0 || call->body_sent > 0 ? KUBE_IN_DOUBT : KUBE_NOT_SENT;
}

static void on_timeout(void *arg)
{
    struct kube_call *call = arg;
    char why[100];
    lane_note_gap(call->lane);
    if (call->refused) {
        (void)snprintf(why, sizeof(why), "the body is larger than the %zu bytes allowed",
                       LIMIT_REQUEST_BODY);
        call_fail(call, KUBE_NOT_SENT, ERROR_LIMIT, why);
        return;
    }
    (void)snprintf(why, sizeof(why), "no answer within %g s",
                   (double)call->spec.timeout_ns / (double)NSEC_PER_SEC);
    if (call->easy && call != call->lane->ping)
        lane_suspect(call->lane, call);
    call_fail(call, call_outcome(call), ERROR_RETRY, why);
}

/* ---- evaluating an answer -------------------------------------------------------------------- */

/* libcurl 7.88 may report a stream that was reset as complete. Other servers may say JSON and mean
 * something else: that is the caller's to find out. */
static bool is_whole(const struct kube_call *call)
{
    const char *type = NULL;
    if (call->lane->transport->config->any_server)
        return true;
    ENSURE(curl_easy_getinfo(call->easy->curl, CURLINFO_CONTENT_TYPE, &type) == CURLE_OK);
    if (!str_starts(str_of(type), STR("application/json")))
        return true;
    struct json_reader reader;
    struct error error = ERROR_INIT;
    cleanup_arena struct arena arena = ARENA_INIT;
    json_init(&reader, buf_str(&call->answer), &arena);
    json_skip(&reader);
    return json_end(&reader, &error) == 0 || error.cls == ERROR_LIMIT;
}

static int64_t retry_after(const struct kube_call *call)
{
    const curl_off_t longest_s = 86400;
    curl_off_t seconds = 0;
    if (curl_easy_getinfo(call->easy->curl, CURLINFO_RETRY_AFTER, &seconds) != CURLE_OK ||
        seconds < 0) /* a date that is past, or nonsense */
        return 0;
    return (seconds < longest_s ? seconds : longest_s) * NSEC_PER_SEC;
}

static void use_new_token(struct curl_transport *transport)
{
    header_set_unref(transport->headers);
    transport->headers = header_set_new(transport->config->token);
}

/* 1 when the token is another one now. */
static int reload_token(struct curl_transport *transport)
{
    struct error error = ERROR_INIT;
    int rc = kube_config_reload_token(transport->config, &error);
    if (rc < 0)
        log_warn("%s; going on with the old one", error.text);
    if (rc > 0)
        use_new_token(transport);
    return rc;
}

/* After 401: true when there is a token that was not tried yet, and the call waits for a second
 * try. */
static bool retry_with_new_token(struct kube_call *call)
{
    struct curl_transport *transport = call->lane->transport;
    if (call->retried)
        return false;
    if (call->headers == transport->headers && reload_token(transport) <= 0)
        return false;
    struct lane *lane = call->lane;
    lane_deactivate(lane, call);
    call->retried = true;
    buf_reset(&call->answer);
    if (lane->opener == call || lane->ping == call) {
        lane_activate(lane, call);
        return true;
    }
    call->state = CALL_QUEUED;
    list_prepend(&lane->queue, &call->link);
    lane_wake(lane);
    return true;
}

static void answered(struct kube_call *call)
{
    struct kube_result result = {.outcome = KUBE_ANSWERED, .status = call->status};
    bool good = call->status >= 200 && call->status < 300;
    if (call->status == 401 && retry_with_new_token(call))
        return;
    if (good && !call->spec.on_data && !is_whole(call)) {
        call_fail(call, call_outcome(call), ERROR_RETRY, "the answer was cut off");
        return;
    }
    result.retry_after_ns = good ? 0 : retry_after(call);
    result.body = buf_str(&call->answer);
    kube_result_classify(&result);
    end(call, &result);
}

/* No connection came about: it is tried with one call before others follow. */
static bool is_connect_problem(CURLcode code)
{
    return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT ||
           code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION;
}

static void failed(struct kube_call *call, CURLcode code)
{
    const struct kube_config *config = call->lane->transport->config;
    const char *detail = call->easy->error[0] ? call->easy->error : curl_easy_strerror(code);
    /* libcurl wanted to repeat the request, which on_seek does not let it. */
    if (code == CURLE_SEND_FAIL_REWIND)
        detail = "the connection broke before the answer came";
    char why[ERROR_TEXT_MAX];
    if (is_connect_problem(code))
        call->lane->open = false;
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        (void)snprintf(why, sizeof(why),
                       "the certificate of %s is not trusted: %s (the CA is that of %s)",
                       config->server, detail, config->origin);
    else
        (void)snprintf(why, sizeof(why), "%s", detail);
    call_fail(call, call_outcome(call), ERROR_RETRY, why);
}

void call_finish(struct kube_call *call, CURLcode code)
{
    if (call->stopped)
        call_fail(call, call_outcome(call), ERROR_CANCELLED, "stopped by the receiver");
    else if (call->answer.overflow)
        call_fail(call, call_outcome(call), ERROR_LIMIT, "the answer is larger than allowed");
    else if (code != CURLE_OK)
        failed(call, code);
    else if (call->status == 0)
        call_fail(call, call_outcome(call), ERROR_RETRY, "the answer was empty");
    else
        answered(call);
}

/* ---- the transport --------------------------------------------------------------------------- */

static void on_token_timer(void *arg)
{
    struct curl_transport *transport = arg;
    reload_token(transport);
    loop_timer_set(transport->loop, &transport->token_timer, TOKEN_EVERY_NS);
}

/*
 * tls-server-name: libcurl takes the name for SNI and the certificate check from the URL, so the
 * URL gets that name and the connection is directed to the true address.
 */
static void set_url(struct curl_transport *transport)
{
    const struct kube_config *config = transport->config;
    if (!config->server_name) {
        transport->url = xstrdup(config->server);
        return;
    }
    struct str rest = str_from(str_of(config->server), strlen("https://"));
    ptrdiff_t slash = str_chr(rest, '/');
    struct str address = slash < 0 ? rest : str_sub(rest, 0, (size_t)slash);
    struct str prefix = slash < 0 ? STR_NULL : str_from(rest, (size_t)slash);
    bool has_port =
        strrchr(config->server, ':') > strrchr(config->server, ']') && str_chr(address, ':') >= 0;
    cleanup_free char *to = xasprintf("::%.*s%s", STR_ARG(address), has_port ? "" : ":443");
    transport->url = xasprintf("https://%s%.*s", config->server_name, STR_ARG(prefix));
    transport->connect_to = curl_slist_append(NULL, to);
    ENSURE(transport->connect_to);
}

static void own_config_free(struct kube_config *config)
{
    if (config)
        kube_config_clear(config);
    free(config);
}

static void transport_free(struct kube_transport *base)
{
    struct curl_transport *transport = transport_of(base);
    lane_clear(&transport->requests);
    lane_clear(&transport->watches);
    loop_timer_cancel(transport->loop, &transport->token_timer);
    header_set_unref(transport->headers);
    curl_slist_free_all(transport->connect_to);
    free(transport->url);
    free(transport->user_agent);
    own_config_free(transport->own);
    free(transport);
    curl_global_cleanup();
}

static const struct kube_transport_ops ops = {
    .start = start,
    .cancel = cancel,
    .give_up = give_up,
    .free = transport_free,
};

struct kube_transport *kube_transport_curl_new(struct loop *loop, struct kube_config *config,
                                               const char *user_agent, struct error *err)
{
    if (kube_config_check_pem(config, err) < 0)
        return NULL;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        error_set(err, ERROR_FATAL, "libcurl does not start");
        return NULL;
    }
    struct curl_transport *transport = xnew(struct curl_transport);
    transport->base.ops = &ops;
    transport->loop = loop;
    transport->config = config;
    transport->user_agent = xstrdup(user_agent);
    transport->headers = header_set_new(config->token);
    set_url(transport);
    ENSURE(lane_init(&transport->requests, transport, "requests"));
    ENSURE(lane_init(&transport->watches, transport, "watches"));
    loop_timer_init(&transport->token_timer, on_token_timer, transport);
    if (config->token_file)
        loop_timer_set(loop, &transport->token_timer, TOKEN_EVERY_NS);
    return &transport->base;
}

/* ---- servers that are none of Kubernetes' ---------------------------------------------------- */

static bool is_web_url(struct str url)
{
    const struct str schemes[] = {STR("http://"), STR("https://")};
    for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
        struct str rest = str_from(url, schemes[i].n);
        if (str_starts(url, schemes[i]))
            return rest.n && rest.p[0] != '/' && rest.p[0] != ':' && str_chr(rest, ' ') < 0;
    }
    return false;
}

char *kube_url_shown(struct str url)
{
    ptrdiff_t scheme = str_find(url, STR("://"));
    size_t start = scheme < 0 ? 0 : (size_t)scheme + strlen("://"), host = start;
    for (size_t i = start; i < url.n && url.p[i] != '/'; i++)
        if (url.p[i] == '@')
            host = i + 1;
    return xasprintf("%.*s%.*s", STR_ARG(str_sub(url, 0, start)), STR_ARG(str_from(url, host)));
}

/* The authorities that the environment names instead of the system's. */
static int own_authorities(struct kube_config *config, struct error *err)
{
    const char *path = getenv("SSL_CERT_FILE");
    config->ca = BUF_INIT(LIMIT_CONFIG_FILE);
    free(config->origin);
    config->origin = xstrdup(path && *path ? path : "the system");
    return path && *path ? file_read(path, &config->ca, err) : 0;
}

/* Takes `config` over once it has a transport. */
static struct kube_transport *connect_to_any(struct loop *loop, struct kube_config *config,
                                             const char *user_agent, struct error *err)
{
    if (own_authorities(config, err) < 0)
        return NULL;
    struct kube_transport *base = kube_transport_curl_new(loop, config, user_agent, err);
    if (!base)
        return NULL;
    char *shown = kube_url_shown(str_of(config->server)); /* from here on it is for messages */
    free(config->server);
    config->server = shown;
    transport_of(base)->own = config;
    return base;
}

struct kube_transport *kube_transport_curl_for_url(struct loop *loop, const char *url,
                                                   const char *user_agent, struct error *err)
{
    struct str server = str_trim(str_of(url));
    if (!is_web_url(server)) {
        error_set(err, ERROR_INVALID, "\"%s\" is no URL that begins with http:// or https://", url);
        return NULL;
    }
    while (str_ends(server, STR("/")))
        server.n--;
    struct kube_config *config = xnew(struct kube_config);
    config->server = str_dup(server);
    config->any_server = true;
    struct kube_transport *base = connect_to_any(loop, config, user_agent, err);
    if (!base)
        own_config_free(config);
    return base;
}
