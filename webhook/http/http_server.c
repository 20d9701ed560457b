/*
 * The HTTPS server: see http_server.h.
 *
 * One struct exchange a request, made at its header and freed by libmicrohttpd's "completed" call.
 * libmicrohttpd's threads touch an exchange one at a time; connections and counters are shared and
 * locked or atomic.
 */
#include "webhook/http/http_server.h"
#include "base/ensure.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "webhook/http/http_body.h"
#include "webhook/http/http_listen.h"
#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <unistd.h>

#define REPLY_MAX ((size_t)16 << 20)
#define CONTENT_TYPE_JSON "application/json"
/* What is kept of the client's timeout for the way back. */
#define ANSWER_MARGIN_NS (200 * NSEC_PER_MSEC)

struct http_server {
    struct http_config config;
    int fd; /* bound; owned by the daemon once it runs */
    unsigned port;
    struct MHD_Daemon *daemon; /* NULL before the start */
    struct conn_table table;
    pthread_mutex_t lock;                /* guards credentials */
    struct tls_credentials *credentials; /* owned reference */
    atomic_bool draining, quiesced;
    struct body_budget bodies;
    atomic_uint_fast64_t requests, refused, handshakes_failed;
    atomic_int_fast64_t last_request_ns;
};

struct exchange {
    struct conn *conn;
    struct body body;
    int64_t began_ns; /* its first byte */
    int64_t timeout_ns;
    int refusal; /* HTTP status for the end of the body; 0: none */
};

/* ---- replies ------------------------------------------------------------------------------- */

static enum MHD_Result send_reply(struct http_server *server, struct MHD_Connection *connection,
                                  struct conn *conn, struct http_reply *reply)
{
    const size_t size = reply->body.n;
    void *memory = size ? buf_take(&reply->body) : NULL;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        size, memory, size ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response) {
        free(memory);
        return MHD_NO;
    }
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                  reply->json ? CONTENT_TYPE_JSON : "text/plain; charset=utf-8");
    if (reply->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_POST);
    if (reply->status == MHD_HTTP_TOO_MANY_REQUESTS)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    if (atomic_load(&server->draining))
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    conn_enter(&server->table, conn, CONN_REPLYING);
    enum MHD_Result rc = MHD_queue_response(connection, (unsigned)reply->status, response);
    MHD_destroy_response(response);
    return rc;
}

static const char *refusal_text(int status)
{
    switch (status) {
    case MHD_HTTP_BAD_REQUEST:
        return "the request has two lengths";
    case MHD_HTTP_NOT_FOUND:
        return "no admission rules are served on this path";
    case MHD_HTTP_METHOD_NOT_ALLOWED:
        return "only POST is served here";
    case MHD_HTTP_LENGTH_REQUIRED:
        return "the request needs a Content-Length; chunked bodies are not taken";
    case MHD_HTTP_CONTENT_TOO_LARGE:
        return "request body too large";
    case MHD_HTTP_UNSUPPORTED_MEDIA_TYPE:
        return "the content type must be " CONTENT_TYPE_JSON;
    default:
        return "too many reviews are being read; try again";
    }
}

static enum MHD_Result refuse(struct http_server *server, struct MHD_Connection *connection,
                              struct conn *conn, int status)
{
    struct http_reply reply = {.status = status, .body = BUF_INIT(REPLY_MAX)};
    buf_printf(&reply.body, "%d: %s\n", status, refusal_text(status));
    atomic_fetch_add(&server->refused, 1);
    return send_reply(server, connection, conn, &reply);
}

/* ---- the header ---------------------------------------------------------------------------- */

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result count_lengths(void *arg, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    (void)kind;
    (void)value;
    unsigned *count = arg;
    if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0)
        (*count)++;
    return MHD_YES;
}

/* "application/json", with or without parameters. */
static bool is_json(const char *content_type)
{
    const size_t size = strlen(CONTENT_TYPE_JSON);
    if (!content_type || strncasecmp(content_type, CONTENT_TYPE_JSON, size) != 0)
        return false;
    struct str rest = str_trim(str_of(content_type + size));
    return rest.n == 0 || rest.p[0] == ';';
}

/* The status that refuses this request by its header, or 0. */
static int check_header(const struct http_server *server, struct MHD_Connection *connection,
                        const char *path, const char *method, size_t *ret_length)
{
    if (!server->config.known(str_of(path), server->config.arg))
        return MHD_HTTP_NOT_FOUND;
    if (strcmp(method, MHD_HTTP_METHOD_POST) != 0)
        return MHD_HTTP_METHOD_NOT_ALLOWED;
    unsigned lengths = 0;
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, count_lengths, &lengths);
    const bool encoded = header(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
    if (lengths > 1 || (lengths && encoded))
        return MHD_HTTP_BAD_REQUEST;
    uint64_t length;
    if (!lengths || encoded ||
        !str_to_u64(str_of(header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH)), &length))
        return MHD_HTTP_LENGTH_REQUIRED;
    if (!is_json(header(connection, MHD_HTTP_HEADER_CONTENT_TYPE)))
        return MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
    if (length > server->config.body_max)
        return MHD_HTTP_CONTENT_TOO_LARGE;
    *ret_length = (size_t)length;
    return 0;
}

/* What the API server adds to the path as ?timeout=10s; 0 without one. */
static int64_t client_timeout(struct MHD_Connection *connection)
{
    const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "timeout");
    int64_t timeout_ns;
    if (!text || !duration_parse(str_of(text), &timeout_ns) || timeout_ns <= 0)
        return 0;
    return timeout_ns;
}

static enum MHD_Result on_header(struct http_server *server, struct MHD_Connection *connection,
                                 struct conn *conn, const char *path, const char *method,
                                 void **slot)
{
    conn_enter(&server->table, conn, CONN_READING);
    size_t length = 0;
    int status = check_header(server, connection, path, method, &length);
    if (status)
        return refuse(server, connection, conn, status);
    struct exchange *exchange = xnew(struct exchange);
    exchange->conn = conn;
    exchange->body.expected = length;
    exchange->began_ns = conn_request_ns(&server->table, conn);
    exchange->timeout_ns = client_timeout(connection);
    *slot = exchange;
    return MHD_YES;
}

/* ---- the body ------------------------------------------------------------------------------ */

static void add_to_body(struct http_server *server, struct exchange *exchange, const char *data,
                        size_t size)
{
    if (exchange->refusal)
        return;
    const size_t before = exchange->body.cap;
    const enum body_result result = body_add(&exchange->body, &server->bodies, data, size);
    if (result == BODY_TOO_LONG)
        exchange->refusal = MHD_HTTP_BAD_REQUEST;
    else if (result == BODY_NO_ROOM)
        exchange->refusal = MHD_HTTP_TOO_MANY_REQUESTS;
    if (exchange->body.cap != before)
        conn_hold(&server->table, exchange->conn, exchange->body.cap);
    if (result == BODY_NO_ROOM ||
        (exchange->body.cap > before && body_budget_short(&server->bodies)))
        conn_table_cut_hoarder(&server->table);
}

/* ---- the handler --------------------------------------------------------------------------- */

static void suspend_connection(void *connection)
{
    MHD_suspend_connection(connection);
}

static void resume_connection(void *connection)
{
    MHD_resume_connection(connection);
}

/* Suspends the connection if the request may still wait; *ret_again: ask the handler again. */
static bool wait_for_change(struct http_server *server, struct exchange *exchange,
                            const struct http_request *request, uint64_t generation,
                            bool *ret_again)
{
    int64_t until_ns = request->began_ns + server->config.wait_ns;
    if (until_ns > request->until_ns)
        until_ns = request->until_ns;
    *ret_again = false;
    if (conn_now() >= until_ns)
        return false;
    return conn_suspend(&server->table, exchange->conn, generation, until_ns, suspend_connection,
                        ret_again);
}

static struct http_request request_of(struct http_server *server, const struct exchange *exchange,
                                      const char *path)
{
    int64_t began_ns = exchange->began_ns;
    int64_t timeout_ns =
        exchange->timeout_ns ? exchange->timeout_ns : server->config.limits.request_ns;
    int64_t margin_ns = timeout_ns / 4 < ANSWER_MARGIN_NS ? timeout_ns / 4 : ANSWER_MARGIN_NS;
    return (struct http_request){.path = str_of(path),
                                 .body = body_str(&exchange->body),
                                 .began_ns = began_ns,
                                 .until_ns = began_ns + timeout_ns - margin_ns};
}

static enum MHD_Result answer(struct http_server *server, struct MHD_Connection *connection,
                              struct exchange *exchange, const char *path)
{
    if (exchange->refusal)
        return refuse(server, connection, exchange->conn, exchange->refusal);
    conn_enter(&server->table, exchange->conn, CONN_ANSWERING);
    struct http_request request = request_of(server, exchange, path);
    struct http_reply reply = {.status = MHD_HTTP_OK, .body = BUF_INIT(REPLY_MAX)};
    bool again;
    do {
        uint64_t generation = conn_table_generation(&server->table);
        enum http_verdict verdict = server->config.handler(&request, &reply, server->config.arg);
        again = false;
        if (verdict == HTTP_WAIT && !request.last_try) {
            if (wait_for_change(server, exchange, &request, generation, &again)) {
                buf_clear(&reply.body);
                return MHD_YES;
            }
            buf_clear(&reply.body);
            request.last_try = !again;
            again = true;
        }
    } while (again);
    body_drop(&exchange->body, &server->bodies);
    atomic_fetch_add(&server->requests, 1);
    atomic_store(&server->last_request_ns, conn_now());
    return send_reply(server, connection, exchange->conn, &reply);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_size, void **slot)
{
    (void)version;
    struct http_server *server = arg;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (!info || !info->socket_context)
        return MHD_NO;
    if (!*slot)
        return on_header(server, connection, info->socket_context, path, method, slot);
    struct exchange *exchange = *slot;
    if (*data_size) {
        add_to_body(server, exchange, data, *data_size);
        *data_size = 0;
        return MHD_YES;
    }
    return answer(server, connection, exchange, path);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **slot,
                         enum MHD_RequestTerminationCode code)
{
    (void)connection;
    (void)code;
    struct http_server *server = arg;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info && info->socket_context)
        conn_enter(&server->table, info->socket_context, CONN_WAITING);
    struct exchange *exchange = *slot;
    if (!exchange)
        return;
    body_drop(&exchange->body, &server->bodies);
    free(exchange);
    *slot = NULL;
}

/* ---- connections --------------------------------------------------------------------------- */

static struct tls_credentials *current_credentials(struct http_server *server)
{
    ENSURE(pthread_mutex_lock(&server->lock) == 0);
    struct tls_credentials *credentials = tls_credentials_ref(server->credentials);
    ENSURE(pthread_mutex_unlock(&server->lock) == 0);
    return credentials;
}

/* What the server keeps with a connection. */
struct session {
    struct tls_session tls; /* first: what tls.c finds at the GnuTLS session's pointer */
    struct http_server *server;
    struct conn *conn;
};

/* GnuTLS tells of the client's Finished message: the handshake is over. */
static int on_handshake(gnutls_session_t tls, unsigned type, unsigned when, unsigned incoming,
                        const gnutls_datum_t *message)
{
    (void)type;
    (void)when;
    (void)message;
    const struct session *session = gnutls_session_get_ptr(tls);
    if (incoming && session)
        conn_enter(&session->server->table, session->conn, CONN_WAITING);
    return 0;
}

static void open_connection(struct http_server *server, struct MHD_Connection *connection,
                            void **context)
{
    const union MHD_ConnectionInfo *socket =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const int fd = socket ? socket->connect_fd : -1;
    const union MHD_ConnectionInfo *tls =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    gnutls_session_t handle = tls ? tls->tls_session : NULL;
    struct session *session = xnew(struct session);
    session->server = server;
    session->tls.credentials = current_credentials(server);
    session->conn = conn_open(&server->table, connection, fd);
    session->conn->user = session;
    *context = session->conn;
    if (!handle || !tls_credentials_use(session->tls.credentials, handle)) {
        log_warn("connection without a certificate");
        return;
    }
    gnutls_session_set_ptr(handle, session);
    gnutls_handshake_set_hook_function(handle, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST,
                                       on_handshake);
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_server *server = arg;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        open_connection(server, connection, context);
        return;
    }
    struct conn *conn = *context;
    if (!conn)
        return;
    struct session *session = conn->user;
    if (conn_close(&server->table, conn) == CONN_HANDSHAKE)
        atomic_fetch_add(&server->handshakes_failed, 1);
    tls_credentials_unref(session->tls.credentials);
    free(session);
    *context = NULL;
}

/* libmicrohttpd wants a certificate at its start; each connection gets its own before use. */
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *names, int name_count,
                          const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                          gnutls_pcert_st **certificates, unsigned *certificate_count,
                          gnutls_privkey_t *key)
{
    (void)session;
    (void)names;
    (void)name_count;
    (void)algorithms;
    (void)algorithm_count;
    (void)certificates;
    (void)key;
    *certificate_count = 0;
    return -1;
}

__attribute__((format(printf, 2, 0))) static void on_log(void *arg, const char *format,
                                                         va_list args)
{
    (void)arg;
    struct buf text cleanup_buf = BUF_INIT(512);
    buf_vprintf(&text, format, args);
    struct str line = str_trim(buf_str(&text));
    log_debug("https server message=\"%.*s\"", STR_ARG(line));
}

_Noreturn static void on_panic(void *arg, const char *file, unsigned line, const char *reason)
{
    (void)arg;
    log_error("https server failed file=%s line=%u reason=\"%s\"", file, line,
              reason ? reason : "");
    abort();
}

/* ---- life ---------------------------------------------------------------------------------- */

int http_server_new(const struct http_config *config, struct http_server **ret_server,
                    struct error *err)
{
    unsigned port;
    int fd = http_bind(config->address, config->port, &port, err);
    if (fd < 0)
        return -1;
    struct http_server *server = xnew(struct http_server);
    server->config = *config;
    server->bodies.total = config->bodies_total;
    server->fd = fd;
    server->port = port;
    ENSURE(pthread_mutex_init(&server->lock, NULL) == 0);
    conn_table_init(&server->table, &config->limits, resume_connection);
    *ret_server = server;
    return 0;
}

int http_server_start(struct http_server *server, struct tls_credentials *credentials,
                      struct error *err)
{
    ENSURE(!server->daemon);
    http_server_reload_tls(server, credentials);
    if (http_listen(server->fd, err) < 0)
        return -1;
    MHD_set_panic_func(on_panic, NULL);
    const struct http_config *config = &server->config;
    /* The table keeps the limit for all threads; each of them may hold all connections. */
    const unsigned connections = (config->limits.connections + 64) * config->threads;
    const unsigned idle_seconds = (unsigned)(config->limits.idle_ns / NSEC_PER_SEC) + 1;
    server->daemon = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_TLS | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
        0, NULL, NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
        MHD_OPTION_LISTEN_SOCKET, server->fd, MHD_OPTION_THREAD_POOL_SIZE, config->threads,
        MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, config->header_max, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_HTTPS_PRIORITIES, tls_priorities, MHD_OPTION_HTTPS_CERT_CALLBACK, no_certificate,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, server, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
    if (!server->daemon)
        return error_set(err, ERROR_FATAL, "the HTTPS server cannot start on port %u",
                         server->port);
    return 0;
}

void http_server_reload_tls(struct http_server *server, struct tls_credentials *credentials)
{
    ENSURE(pthread_mutex_lock(&server->lock) == 0);
    struct tls_credentials *old = server->credentials;
    server->credentials = tls_credentials_ref(credentials);
    ENSURE(pthread_mutex_unlock(&server->lock) == 0);
    tls_credentials_unref(old);
}

void http_server_wake(struct http_server *server)
{
    conn_table_wake(&server->table);
}

void http_server_drain(struct http_server *server)
{
    atomic_store(&server->draining, true);
}

unsigned http_server_quiesce(struct http_server *server)
{
    http_server_drain(server);
    if (server->daemon && !atomic_exchange(&server->quiesced, true))
        (void)MHD_quiesce_daemon(server->daemon);
    return conn_table_cut_idle(&server->table);
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    conn_table_stop_waiting(&server->table);
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    if (!server->daemon || atomic_load(&server->quiesced))
        (void)close(server->fd);
    conn_table_clear(&server->table);
    tls_credentials_unref(server->credentials);
    ENSURE(pthread_mutex_destroy(&server->lock) == 0);
    free(server);
}

struct http_stats http_server_stats(struct http_server *server)
{
    return (struct http_stats){.connections = conn_table_stats(&server->table),
                               .bodies = atomic_load(&server->bodies.used),
                               .requests = atomic_load(&server->requests),
                               .last_request_ns = atomic_load(&server->last_request_ns),
                               .refused = atomic_load(&server->refused),
                               .handshakes_failed = atomic_load(&server->handshakes_failed)};
}

unsigned http_server_port(const struct http_server *server)
{
    return server->port;
}
