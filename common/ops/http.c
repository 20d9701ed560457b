/*
 * The plain-HTTP server for health, metrics and debug pages: libmicrohttpd on our loop.
 *
 * The daemon has no thread of its own: its epoll descriptor is watched by the loop, and a timer
 * stands in for its timeouts. Pages are made whole in a buffer whose memory libmicrohttpd frees.
 * The daemon, the routes and the listening socket belong to struct ops_http. Loop thread only.
 */
#include "ops/http.h"

#include "base/ensure.h"
#include "base/log.h"
#include "base/vec.h"
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTION_LIMIT 64U
#define CONNECTION_TIMEOUT_SECONDS 10U
#define CONNECTION_MEMORY ((size_t)16 << 10)
#define PAGE_MAX ((size_t)64 << 20)

struct route {
    char *path; /* owned */
    ops_http_fn *fn;
    void *arg;
};

struct ops_http {
    struct loop *loop; /* borrowed */
    struct MHD_Daemon *daemon;
    int epoll_fd; /* the daemon's */
    unsigned port;
    struct loop_timer timer; /* the daemon's next timeout */
    VEC(struct route) routes;
};

/* One request; made with its first line, freed when it is completed. */
struct request {
    char *query;      /* owned; what follows '?', "" without one */
    bool header_seen; /* the handler was called for the header */
};

/* ---- answers ------------------------------------------------------------------------------- */

static enum MHD_Result reply(struct MHD_Connection *connection, int status, struct buf *page)
{
    const size_t size = page->n;
    void *body = size ? buf_take(page) : NULL;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        size, body, size ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response) {
        free(body);
        return MHD_NO;
    }
    /* The version is that of the metrics format; Prometheus wants it, others do not mind. */
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                  "text/plain; version=0.0.4; charset=utf-8");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_GET);
    enum MHD_Result rc = MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return rc;
}

static const struct route *find_route(const struct ops_http *http, struct str path)
{
    for (size_t i = 0; i < http->routes.n; i++) {
        const struct route *route = &http->routes.items[i];
        const struct str own = str_of(route->path);
        const bool below = str_ends(own, STR("/")) && str_starts(path, own);
        if (below || str_eq(path, own))
            return route;
    }
    return NULL;
}

static enum MHD_Result answer(struct ops_http *http, struct MHD_Connection *connection,
                              const char *url, const char *query)
{
    struct buf page cleanup_buf = BUF_INIT(PAGE_MAX);
    const struct route *route = find_route(http, str_of(url));
    int status = MHD_HTTP_NOT_FOUND;
    if (route)
        status = route->fn(str_of(url), str_of(query), &page, route->arg);
    else
        buf_add_cstr(&page, "404: no such page\n");
    if (page.overflow) {
        buf_reset(&page);
        buf_add_cstr(&page, "500: the page is too large\n");
        status = MHD_HTTP_INTERNAL_SERVER_ERROR;
    }
    return reply(connection, status, &page);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_size, void **request_slot)
{
    (void)version;
    (void)data;
    struct request *request = *request_slot;
    if (!request)
        return MHD_NO;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0) {
        struct buf page cleanup_buf = BUF_INIT(PAGE_MAX);
        buf_add_cstr(&page, "405: only GET is served here\n");
        return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, &page);
    }
    if (!request->header_seen) {
        request->header_seen = true;
        return MHD_YES;
    }
    if (*data_size) { /* a GET with a body: read past it */
        *data_size = 0;
        return MHD_YES;
    }
    return answer(arg, connection, url, request->query);
}

static void *on_first_line(void *arg, const char *uri, struct MHD_Connection *connection)
{
    (void)arg;
    (void)connection;
    struct request *request = xnew(struct request);
    const char *mark = strchr(uri, '?');
    request->query = xstrdup(mark ? mark + 1 : "");
    return request;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **request_slot,
                         enum MHD_RequestTerminationCode code)
{
    (void)arg;
    (void)connection;
    (void)code;
    struct request *request = *request_slot;
    if (!request)
        return;
    free(request->query);
    free(request);
    *request_slot = NULL;
}

/* ---- on the loop --------------------------------------------------------------------------- */

static unsigned connections(const struct ops_http *http)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

/*
 * At the limit of connections the daemon takes its listening socket out of the epoll set, and puts
 * it back only at the start of a run: one more is due when connections have ended in this one, or
 * nobody would ever be let in again.
 */
static void run(struct ops_http *http)
{
    unsigned before;
    do {
        before = connections(http);
        (void)MHD_run(http->daemon);
    } while (connections(http) < before);
    MHD_UNSIGNED_LONG_LONG millis;
    if (MHD_get_timeout(http->daemon, &millis) == MHD_YES)
        loop_timer_set(http->loop, &http->timer, (int64_t)millis * NSEC_PER_MSEC);
    else
        loop_timer_cancel(http->loop, &http->timer);
}

static void on_ready(int fd, int events, void *arg)
{
    (void)fd;
    (void)events;
    run(arg);
}

static void on_timer(void *arg)
{
    run(arg);
}

__attribute__((format(printf, 2, 0))) static void on_log(void *arg, const char *format,
                                                         va_list args)
{
    const struct ops_http *http = arg;
    struct buf text cleanup_buf = BUF_INIT(512);
    buf_vprintf(&text, format, args);
    struct str line = str_trim(buf_str(&text));
    log_debug("http server port=%u message=\"%.*s\"", http->port, STR_ARG(line));
}

/* ---- listening ----------------------------------------------------------------------------- */

/* Splits "host:port" and "[host]:port"; the parts are slices of `address`. */
static int split_address(const char *address, struct str *ret_host, struct str *ret_port,
                         struct error *err)
{
    const char *colon = strrchr(address, ':');
    uint64_t port;
    if (!colon || !str_to_u64(str_of(colon + 1), &port) || port > 65535)
        return error_set(err, ERROR_INVALID,
                         "address \"%s\" is not of the form host:port with a port up to 65535",
                         address);
    struct str host = str_make(address, (size_t)(colon - address));
    if (host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
        host = str_sub(host, 1, host.n - 1);
    *ret_host = host;
    *ret_port = str_of(colon + 1);
    return 0;
}

static int bind_and_listen(const struct addrinfo *info)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    const int on = 1, off = 0;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (info->ai_family == AF_INET6) /* all addresses: IPv4 as well */
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, 128) == 0)
        return fd;
    const int cause = errno;
    close(fd);
    errno = cause;
    return -1;
}

/* Tries the addresses of `family`; the socket, or -1 with errno. */
static int listen_family(const struct addrinfo *list, int family)
{
    int fd = -1;
    for (const struct addrinfo *info = list; info && fd < 0; info = info->ai_next) {
        if (info->ai_family == family)
            fd = bind_and_listen(info);
    }
    return fd;
}

static int open_listener(const char *address, struct error *err)
{
    struct str host = STR_NULL, port = STR_NULL;
    if (split_address(address, &host, &port, err) < 0)
        return -1;
    cleanup_free char *host_text = str_dup(host);
    cleanup_free char *port_text = str_dup(port);
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host.n ? host_text : NULL, port_text, &hints, &list);
    if (rc != 0)
        return error_set(err, ERROR_INVALID, "address \"%s\": %s", address, gai_strerror(rc));
    errno = EAFNOSUPPORT;
    /* "" means all addresses, which the IPv6 socket covers; a named host is IPv4 first. */
    int fd = listen_family(list, host.n ? AF_INET : AF_INET6);
    if (fd < 0 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL))
        fd = listen_family(list, host.n ? AF_INET6 : AF_INET);
    freeaddrinfo(list);
    if (fd < 0)
        return error_set(err, ERROR_FATAL, "cannot listen on \"%s\": %s", address, strerror(errno));
    return fd;
}

static unsigned port_of(int fd)
{
    struct sockaddr_storage storage;
    socklen_t size = sizeof(storage);
    ENSURE(getsockname(fd, (struct sockaddr *)&storage, &size) == 0);
    char port[8];
    uint64_t number = 0;
    ENSURE(getnameinfo((struct sockaddr *)&storage, size, NULL, 0, port, sizeof(port),
                       NI_NUMERICSERV) == 0);
    ENSURE(str_to_u64(str_of(port), &number));
    return (unsigned)number;
}

static struct MHD_Daemon *start_daemon(struct ops_http *http, int fd)
{
    return MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, http,
                            MHD_OPTION_EXTERNAL_LOGGER, on_log, http, MHD_OPTION_LISTEN_SOCKET, fd,
                            MHD_OPTION_CONNECTION_LIMIT, CONNECTION_LIMIT,
                            MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_TIMEOUT_SECONDS,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY,
                            MHD_OPTION_URI_LOG_CALLBACK, on_first_line, http,
                            MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_END);
}

struct ops_http *ops_http_new(struct loop *loop, const char *address, struct error *err)
{
    int fd = open_listener(address, err);
    if (fd < 0)
        return NULL;
    struct ops_http *http = xnew(struct ops_http);
    http->loop = loop;
    http->port = port_of(fd);
    http->daemon = start_daemon(http, fd); /* owns fd from here on */
    if (!http->daemon) {
        free(http);
        error_set(err, ERROR_FATAL, "the HTTP server on \"%s\" does not start", address);
        return NULL;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    ENSURE(info);
    http->epoll_fd = info->epoll_fd;
    loop_timer_init(&http->timer, on_timer, http);
    loop_fd_set(loop, http->epoll_fd, LOOP_READ, on_ready, http);
    run(http);
    return http;
}

void ops_http_free(struct ops_http *http)
{
    if (!http)
        return;
    loop_timer_cancel(http->loop, &http->timer);
    loop_fd_set(http->loop, http->epoll_fd, 0, NULL, NULL);
    MHD_stop_daemon(http->daemon);
    for (size_t i = 0; i < http->routes.n; i++)
        free(http->routes.items[i].path);
    vec_clear(&http->routes);
    free(http);
}

unsigned ops_http_port(const struct ops_http *http)
{
    return http->port;
}

void ops_http_handle(struct ops_http *http, const char *path, ops_http_fn *fn, void *arg)
{
    vec_push(&http->routes, ((struct route){xstrdup(path), fn, arg}));
}
