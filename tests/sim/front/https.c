/*
 * HTTPS in front of the server: see https.h.
 *
 * The daemon has no thread: the loop watches its epoll descriptor, and a timer stands in for its
 * timeouts. A watch with nothing to say is suspended; a line resumes it. libmicrohttpd is never
 * entered from inside the server: lines only queue a run.
 */
#include "front/https.h"

#include "base/ensure.h"
#include "base/list.h"
#include "front/discovery.h"
#include "server/doc.h"
#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTION_LIMIT 4096U
#define CONNECTION_TIMEOUT_SECONDS 120U
#define CONNECTION_MEMORY ((size_t)64 << 10)
#define CHUNK_BYTES ((size_t)16 << 10)

struct sim_https {
    struct sim_https_options options;
    struct MHD_Daemon *daemon;
    int epoll_fd; /* the daemon's */
    unsigned port;
    size_t watches;
    struct loop_timer timer; /* the daemon's next timeout */
    struct loop_deferred again;
    struct list exchanges;
};

/* One request; made with its first line, freed when it is completed. */
struct exchange {
    struct list link;
    struct sim_https *https;
    struct MHD_Connection *connection;
    char *target;    /* owned; path and query as they came */
    struct buf body; /* of the request */
    bool header_seen;
    /* of a watch */
    struct sim_watch *watch; /* NULL: none, or the server has ended it */
    struct buf lines;        /* not sent yet, from `sent` on */
    size_t sent;
    bool streams, suspended, over, left;
    int fd; /* the connection's, looked at for the client's leaving */
};

/* ---- requests -------------------------------------------------------------------------------- */

static bool read_method(const char *name, enum kube_method *ret_method)
{
    static const char *const names[] = {[KUBE_GET] = "GET",
                                        [KUBE_POST] = "POST",
                                        [KUBE_PUT] = "PUT",
                                        [KUBE_PATCH] = "PATCH",
                                        [KUBE_DELETE] = "DELETE"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret_method = (enum kube_method)i;
            return true;
        }
    }
    return false;
}

static enum kube_content content_of(struct MHD_Connection *connection)
{
    static const char *const types[] = {[KUBE_JSON_PATCH] = "application/json-patch+json",
                                        [KUBE_MERGE_PATCH] = "application/merge-patch+json",
                                        [KUBE_STRATEGIC_PATCH] =
                                            "application/strategic-merge-patch+json",
                                        [KUBE_APPLY_PATCH] = "application/apply-patch+yaml"};
    const struct str given = str_of(
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE));
    for (size_t i = KUBE_JSON_PATCH; i < ARRAY_SIZE(types); i++) {
        if (str_starts(given, str_of(types[i])))
            return (enum kube_content)i;
    }
    return KUBE_JSON;
}

/* Bodies that the server does not read; kube-apiserver would. */
static bool is_protobuf(struct MHD_Connection *connection)
{
    const struct str given = str_of(
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE));
    return str_starts(given, STR("application/vnd.kubernetes.protobuf"));
}

/* ---- who asks -------------------------------------------------------------------------------- */

/* Whether the connection has a certificate that the authority of clients has signed for one. */
static bool has_certificate(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned char client[] = GNUTLS_KP_TLS_WWW_CLIENT;
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = client};
    unsigned wrong = 0;
    if (!info || !info->tls_session)
        return false;
    return gnutls_certificate_verify_peers(info->tls_session, &purpose, 1, &wrong) == 0 &&
           wrong == 0;
}

static bool may_enter(const struct exchange *exchange)
{
    const struct sim_https_options *options = &exchange->https->options;
    struct str given = str_of(MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND,
                                                          MHD_HTTP_HEADER_AUTHORIZATION));
    if (!options->client_ca && !options->tokens)
        return true;
    if (options->client_ca && has_certificate(exchange->connection))
        return true;
    return options->tokens && str_starts(given, STR("Bearer ")) &&
           sim_tokens_have(options->tokens, str_trim(str_from(given, strlen("Bearer "))));
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Consumes the response. */
static enum MHD_Result queue(struct exchange *exchange, int status, struct MHD_Response *response,
                             const char *type)
{
    if (!response)
        return MHD_NO;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    enum MHD_Result rc = MHD_queue_response(exchange->connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return rc;
}

/* The details.retryAfterSeconds of a Status; 0 without. */
static int64_t retry_after(const struct sim_answer *answer)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct error err = ERROR_INIT;
    if (answer->status != MHD_HTTP_TOO_MANY_REQUESTS)
        return 0;
    const struct doc *status = doc_parse(&arena, buf_str(&answer->body), &err);
    return doc_i64(doc_at(status, "details.retryAfterSeconds"), 0);
}

static void add_retry_after(struct MHD_Response *response, int64_t seconds)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%lld", (long long)seconds);
    if (seconds > 0)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, text);
}

static enum MHD_Result reply(struct exchange *exchange, struct sim_answer *answer)
{
    const size_t size = answer->body.n;
    const bool json = size && answer->body.p[0] == '{';
    const int64_t seconds = retry_after(answer);
    void *body = size ? buf_take(&answer->body) : NULL;
    buf_clear(&answer->body);
    struct MHD_Response *response = MHD_create_response_from_buffer(
        size, body, size ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response)
        add_retry_after(response, seconds);
    else
        free(body);
    return queue(exchange, answer->status, response,
                 json ? "application/json" : "text/plain; charset=utf-8");
}

/* ---- watches --------------------------------------------------------------------------------- */

static void resume(struct exchange *exchange)
{
    if (!exchange->suspended)
        return;
    exchange->suspended = false;
    MHD_resume_connection(exchange->connection);
    loop_defer(exchange->https->options.loop, &exchange->https->again);
}

static void on_line(struct str line, void *arg)
{
    struct exchange *exchange = arg;
    if (str_empty(line)) {
        exchange->watch = NULL; /* the server has ended it */
        exchange->over = true;
    } else {
        (void)buf_add_str(&exchange->lines, line);
    }
    resume(exchange);
}

/* Who reads a watch has nothing more to say: what comes is the end of the connection. */
static void on_leave(int fd, int events, void *arg)
{
    (void)events;
    struct exchange *exchange = arg;
    loop_fd_set(exchange->https->options.loop, fd, 0, NULL, NULL);
    exchange->left = true;
    resume(exchange);
}

static ssize_t read_lines(void *arg, uint64_t position, char *to, size_t room)
{
    (void)position;
    struct exchange *exchange = arg;
    if (exchange->lines.overflow || exchange->left)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t n = exchange->lines.n - exchange->sent;
    if (n > 0) {
        n = n < room ? n : room;
        memcpy(to, exchange->lines.p + exchange->sent, n);
        exchange->sent += n;
        if (exchange->sent == exchange->lines.n) {
            buf_reset(&exchange->lines);
            exchange->sent = 0;
        }
        return (ssize_t)n;
    }
    if (exchange->over)
        return MHD_CONTENT_READER_END_OF_STREAM;
    exchange->suspended = true;
    MHD_suspend_connection(exchange->connection);
    return 0;
}

static enum MHD_Result begin_watch(struct exchange *exchange, const struct sim_request *request,
                                   struct sim_answer *answer)
{
    struct sim_https *https = exchange->https;
    exchange->watch = sim_server_watch(https->options.server, request, answer, on_line, exchange);
    if (!exchange->watch)
        return reply(exchange, answer);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    ENSURE(info);
    exchange->fd = info->connect_fd;
    exchange->streams = true;
    https->watches++;
    loop_fd_set(https->options.loop, exchange->fd, LOOP_READ, on_leave, exchange);
    buf_clear(&answer->body);
    return queue(exchange, MHD_HTTP_OK,
                 MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK_BYTES, read_lines,
                                                   exchange, NULL),
                 "application/json");
}

/* ---- libmicrohttpd's calls ------------------------------------------------------------------- */

/* Refuses with a Status. `reason` as in metav1.StatusReason. */
static enum MHD_Result refuse(struct exchange *exchange, int code, const char *reason,
                              const char *message)
{
    struct sim_answer answer = SIM_ANSWER_INIT;
    answer.status = code;
    buf_printf(&answer.body,
               "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
               "\"status\":\"Failure\",\"message\":\"%s\",\"reason\":\"%s\",\"code\":%d}",
               message, reason, code);
    return reply(exchange, &answer);
}

static enum MHD_Result answer_request(struct exchange *exchange, const char *method)
{
    struct sim_answer answer = SIM_ANSWER_INIT;
    struct sim_request request = {.content = content_of(exchange->connection),
                                  .path = str_of(exchange->target),
                                  .body = buf_str(&exchange->body)};
    if (!may_enter(exchange))
        return refuse(exchange, MHD_HTTP_UNAUTHORIZED, "Unauthorized", "Unauthorized");
    if (exchange->body.overflow) {
        answer.status = MHD_HTTP_CONTENT_TOO_LARGE;
        buf_add_cstr(&answer.body, "413: the body is too large\n");
        return reply(exchange, &answer);
    }
    if (!read_method(method, &request.method)) {
        answer.status = MHD_HTTP_METHOD_NOT_ALLOWED;
        buf_add_cstr(&answer.body, "405: no such method\n");
        return reply(exchange, &answer);
    }
    if (is_protobuf(exchange->connection))
        return refuse(exchange, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType",
                      "the body is protobuf, and this server reads JSON only: send "
                      "Content-Type application/json");
    if (sim_request_is_watch(&request))
        return begin_watch(exchange, &request, &answer);
    if (!sim_discovery_answer(&request, &answer))
        sim_server_handle(exchange->https->options.server, &request, &answer);
    return reply(exchange, &answer);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_size, void **slot)
{
    (void)arg;
    (void)connection;
    (void)url;
    (void)version;
    struct exchange *exchange = *slot;
    if (!exchange)
        return MHD_NO;
    if (!exchange->header_seen) {
        exchange->header_seen = true;
        return MHD_YES;
    }
    if (*data_size) {
        (void)buf_add(&exchange->body, data, *data_size);
        *data_size = 0;
        return MHD_YES;
    }
    return answer_request(exchange, method);
}

static void *on_first_line(void *arg, const char *target, struct MHD_Connection *connection)
{
    struct sim_https *https = arg;
    struct exchange *exchange = xnew(struct exchange);
    exchange->https = https;
    exchange->connection = connection;
    exchange->target = xstrdup(target);
    buf_init(&exchange->body, LIMIT_REQUEST_BODY);
    buf_init(&exchange->lines, LIMIT_RESPONSE_BODY);
    list_append(&https->exchanges, &exchange->link);
    return exchange;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **slot,
                         enum MHD_RequestTerminationCode code)
{
    (void)connection;
    (void)code;
    struct sim_https *https = arg;
    struct exchange *exchange = *slot;
    if (!exchange)
        return;
    if (exchange->watch)
        sim_watch_end(exchange->watch);
    if (exchange->streams) {
        loop_fd_set(https->options.loop, exchange->fd, 0, NULL, NULL);
        https->watches--;
    }
    list_remove(&exchange->link);
    buf_clear(&exchange->body);
    buf_clear(&exchange->lines);
    free(exchange->target);
    free(exchange);
    *slot = NULL;
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static unsigned connections(const struct sim_https *https)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(https->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

/* At the limit the daemon listens again only at the start of a run: one more when some have left.
 */
static void run(void *arg)
{
    struct sim_https *https = arg;
    unsigned before;
    do {
        before = connections(https);
        (void)MHD_run(https->daemon);
    } while (connections(https) < before);
    MHD_UNSIGNED_LONG_LONG millis;
    if (MHD_get_timeout(https->daemon, &millis) == MHD_YES)
        loop_timer_set(https->options.loop, &https->timer, (int64_t)millis * NSEC_PER_MSEC);
    else
        loop_timer_cancel(https->options.loop, &https->timer);
}

static void on_ready(int fd, int events, void *arg)
{
    (void)fd;
    (void)events;
    run(arg);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* A socket that listens, or -1. */
static int open_listener(unsigned port, unsigned *ret_port, struct error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof(address);
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ENSURE(fd >= 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 128) < 0) {
        (void)error_set(err, ERROR_FATAL, "cannot listen on 127.0.0.1:%u: %s", port,
                        strerror(errno));
        (void)close(fd);
        return -1;
    }
    ENSURE(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static struct MHD_Daemon *start_daemon(struct sim_https *https, int fd)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_TLS | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, https,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_HTTPS_MEM_CERT, https->options.cert,
        MHD_OPTION_HTTPS_MEM_KEY, https->options.key, MHD_OPTION_CONNECTION_LIMIT, CONNECTION_LIMIT,
        MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_TIMEOUT_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, MHD_OPTION_URI_LOG_CALLBACK,
        on_first_line, https, MHD_OPTION_NOTIFY_COMPLETED, on_completed, https,
        MHD_OPTION_HTTPS_MEM_TRUST, https->options.client_ca, MHD_OPTION_END);
}

struct sim_https *sim_https_new(const struct sim_https_options *options, struct error *err)
{
    unsigned port = 0;
    int fd = open_listener(options->port, &port, err);
    if (fd < 0)
        return NULL;
    struct sim_https *https = xnew(struct sim_https);
    https->options = *options;
    https->port = port;
    list_init(&https->exchanges);
    https->daemon = start_daemon(https, fd); /* owns fd from here on */
    if (!https->daemon) {
        free(https);
        (void)close(fd);
        (void)error_set(err, ERROR_FATAL, "the certificate and its key cannot be used");
        return NULL;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(https->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    ENSURE(info);
    https->epoll_fd = info->epoll_fd;
    loop_timer_init(&https->timer, run, https);
    loop_deferred_init(&https->again, run, https);
    loop_fd_set(options->loop, https->epoll_fd, LOOP_READ, on_ready, https);
    run(https);
    return https;
}

void sim_https_free(struct sim_https *https)
{
    if (!https)
        return;
    loop_fd_set(https->options.loop, https->epoll_fd, 0, NULL, NULL);
    list_each(link, &https->exchanges)
    {
        struct exchange *exchange = container_of(link, struct exchange, link);
        if (exchange->watch)
            sim_watch_end(exchange->watch);
        on_line(STR_NULL, exchange);
    }
    MHD_stop_daemon(https->daemon);
    loop_timer_cancel(https->options.loop, &https->timer);
    loop_deferred_cancel(&https->again);
    free(https);
}

unsigned sim_https_port(const struct sim_https *https)
{
    return https->port;
}

size_t sim_https_watches(const struct sim_https *https)
{
    return https->watches;
}
