/*
 * Lanes: libcurl's multi interface on the loop, and when a call may run.
 *
 * A lane without a connection opens one with a cheap GET (the opener) and lets its queue go only
 * when that was answered: a burst onto no connection would make libcurl open several, and when the
 * server is away the queue fails at once instead of one connect timeout after the other. (A server
 * that is none of Kubernetes' gets the calls themselves, each on a connection of its own if need
 * be.) More calls than one connection carries open a second one in the same way. libcurl is never
 * handed more than the connections have streams for, because it looks at everything it queues each
 * time something ends.
 *
 * Lists change anywhere; handles are added and removed only in functions that the loop calls.
 */
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/log.h"
#include "kube/transport_curl.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of libcurl in one call of the loop, so that nothing else waits long. */
#define STEPS_MOST 8
#define STEPS_TIME (2 * NSEC_PER_MSEC)

static int64_t now(const struct lane *lane)
{
    return loop_now(lane->transport->loop);
}

/* ---- connections ----------------------------------------------------------------------------- */

/* A dead peer is noticed by the kernel within half a minute, traffic or not. */
static void set_keepalive(int fd)
{
    const struct {
        int level, option, value;
    } options[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},          {IPPROTO_TCP, TCP_KEEPIDLE, 15},
        {IPPROTO_TCP, TCP_KEEPINTVL, 5},        {IPPROTO_TCP, TCP_KEEPCNT, 3},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, 30000},
    };
    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (setsockopt(fd, options[i].level, options[i].option, &options[i].value, sizeof(int)) < 0)
            log_debug("cannot set TCP keepalive option %d", options[i].option);
}

curl_socket_t lane_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct lane *lane = arg;
    (void)purpose;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0)
        return CURL_SOCKET_BAD;
    set_keepalive(fd);
    struct lane_conn conn = {.fd = fd, .last_byte_ns = now(lane)};
    vec_push(&lane->conns, conn);
    return fd;
}

int lane_close_socket(void *arg, curl_socket_t fd)
{
    struct lane *lane = arg;
    loop_fd_set(lane->transport->loop, fd, 0, NULL, NULL);
    for (size_t i = 0; i < lane->conns.n; i++)
        if (lane->conns.items[i].fd == fd) {
            vec_swap_remove(&lane->conns, i);
            break;
        }
    if (lane->conns.n == 0)
        lane->open = false;
    return close(fd);
}

static long local_port(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any.sa_family = AF_UNSPEC};
    socklen_t size = sizeof(address);
    if (getsockname(fd, &address.any, &size) < 0)
        return 0;
    if (address.any.sa_family == AF_INET)
        return ntohs(address.v4.sin_port);
    return address.any.sa_family == AF_INET6 ? ntohs(address.v6.sin6_port) : 0;
}

/* The connection of that local port, or NULL. */
static struct lane_conn *find_conn(struct lane *lane, long port)
{
    for (size_t i = 0; port != 0 && i < lane->conns.n; i++) {
        struct lane_conn *conn = &lane->conns.items[i];
        if (conn->port == 0)
            conn->port = local_port(conn->fd);
        if (conn->port == port)
            return conn;
    }
    return NULL;
}

static long port_of(const struct kube_call *call)
{
    long port = 0;
    if (call->port != 0)
        return call->port;
    if (call->easy)
        (void)curl_easy_getinfo(call->easy->curl, CURLINFO_LOCAL_PORT, &port);
    return port;
}

void lane_note_byte(struct lane *lane, struct kube_call *call)
{
    call->last_byte_ns = now(lane);
    call->port = port_of(call);
    struct lane_conn *conn = find_conn(lane, call->port);
    if (conn)
        conn->last_byte_ns = call->last_byte_ns;
}

/* Has libcurl find out that the connection is gone: it closes it and ends what is on it. */
static void cut(struct lane *lane, const struct lane_conn *conn, const char *why)
{
    const struct kube_config *config = lane->transport->config;
    log_warn("closing a connection to %s (%s): %s",
             config->any_server ? config->server : "the API server", lane->name, why);
    (void)shutdown(conn->fd, SHUT_RDWR);
}

void lane_suspect(struct lane *lane, const struct kube_call *call)
{
    const struct lane_conn *conn = find_conn(lane, port_of(call));
    if (!conn)
        return;
    int64_t since =
        conn->last_byte_ns > call->last_byte_ns ? conn->last_byte_ns : call->last_byte_ns;
    if (now(lane) - since >= SUSPECT_AFTER_NS)
        cut(lane, conn, "a request ran out of time and nothing came in");
}

/* ---- gaps of the loop --------------------------------------------------------------------------
 */

/* Taking calls out of libcurl may have it send what others left half sent: so that goes first. */
void lane_note_gap(struct lane *lane)
{
    const uint64_t gaps = loop_gaps(lane->transport->loop);
    if (gaps == lane->gaps || lane->transport->config->any_server)
        return;
    lane->gaps = gaps;
    lane->outdated = true;
    for (size_t i = 0; i < lane->conns.n; i++)
        if (lane->conns.items[i].sending)
            cut(lane, &lane->conns.items[i], "the process stood still with a request half sent");
}

static bool is_outdated(const struct kube_call *call)
{
    return call->spec.method != KUBE_GET && call_outcome(call) == KUBE_NOT_SENT;
}

static struct kube_call *find_outdated(const struct list *calls)
{
    list_each(link, calls)
    {
        struct kube_call *call = container_of(link, struct kube_call, link);
        if (is_outdated(call))
            return call;
    }
    return NULL;
}

static void drop_outdated(struct lane *lane)
{
    struct list queue;
    struct kube_call *call;
    list_init(&queue);
    lane_note_gap(lane);
    if (!lane->outdated)
        return;
    lane->outdated = false;
    list_each(link, &lane->dying) call_free(container_of(link, struct kube_call, link));
    while ((call = find_outdated(&lane->queue)) != NULL) {
        list_remove(&call->link);
        list_append(&queue, &call->link); /* what their owners ask for now is not meant */
    }
    while ((call = find_outdated(&queue)) != NULL || (call = find_outdated(&lane->active)) != NULL)
        call_fail(call, KUBE_NOT_SENT, ERROR_RETRY, "the process stood still before it was sent");
}

/* ---- libcurl on the loop --------------------------------------------------------------------- */

/* Ends the calls that libcurl is done with. */
static void drain(struct lane *lane)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(lane->multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result;
        char *private = NULL;
        ENSURE(curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private) == CURLE_OK);
        struct kube_call *call = (struct kube_call *)(void *)private;
        if (call->state == CALL_DYING)
            call_free(call);
        else
            call_finish(call, code);
    }
}

static void step(struct lane *lane, curl_socket_t fd, int events)
{
    int running;
    CURLMcode code = curl_multi_socket_action(lane->multi, fd, events, &running);
    if (code != CURLM_OK)
        log_error("libcurl (%s): %s", lane->name, curl_multi_strerror(code));
}

/* libcurl wants to be called again at once, on account of its timer. */
static bool is_due(const struct lane *lane)
{
    return loop_timer_active(&lane->timer) && lane->timer.due <= now(lane);
}

/*
 * What a socket brought for one transfer, libcurl hands to the others by timers that are due at
 * once. Serving those here saves a turn of the loop, with its look at all descriptors, for each.
 */
static void act(struct lane *lane, curl_socket_t fd, int events)
{
    struct loop *loop = lane->transport->loop;
    drop_outdated(lane);
    const int64_t end = loop_now_fresh(loop) + STEPS_TIME;
    step(lane, fd, events);
    for (int i = 1; i < STEPS_MOST && is_due(lane) && loop_now_fresh(loop) < end; i++) {
        loop_timer_cancel(loop, &lane->timer);
        step(lane, CURL_SOCKET_TIMEOUT, 0);
    }
    drain(lane);
}

static void on_timer(void *arg)
{
    act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void on_socket(int fd, int events, void *arg)
{
    act(arg, fd,
        (events & LOOP_READ ? CURL_CSELECT_IN : 0) | (events & LOOP_WRITE ? CURL_CSELECT_OUT : 0));
}

static int set_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct lane *lane = arg;
    (void)multi;
    if (timeout_ms < 0)
        loop_timer_cancel(lane->transport->loop, &lane->timer);
    else
        loop_timer_set(lane->transport->loop, &lane->timer, timeout_ms * NSEC_PER_MSEC);
    return 0;
}

static int set_socket(CURL *curl, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct lane *lane = arg;
    (void)curl;
    (void)socket_arg;
    int events = 0;
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
        events |= LOOP_READ;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
        events |= LOOP_WRITE;
    loop_fd_set(lane->transport->loop, fd, events, on_socket, lane);
    for (size_t i = 0; i < lane->conns.n; i++)
        if (lane->conns.items[i].fd == fd)
            lane->conns.items[i].sending = events & LOOP_WRITE;
    return 0;
}

static void set_conn_limit(struct lane *lane, unsigned limit)
{
    lane->conn_limit = limit;
    ENSURE(curl_multi_setopt(lane->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)limit) == CURLM_OK);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static struct easy *take_easy(struct lane *lane)
{
    if (list_empty(&lane->idle))
        return easy_new(lane);
    struct easy *easy = container_of(lane->idle.next, struct easy, link);
    list_remove(&easy->link);
    lane->idle_count--;
    return easy;
}

static void give_easy(struct lane *lane, struct easy *easy)
{
    if (lane->idle_count >= EASY_POOL) {
        easy_free(easy);
        return;
    }
    list_prepend(&lane->idle, &easy->link);
    lane->idle_count++;
}

static void watch_liveness(struct lane *lane)
{
    if (lane == &lane->transport->watches)
        loop_timer_set_earlier(lane->transport->loop, &lane->liveness, LIVENESS_EVERY_NS);
}

void lane_activate(struct lane *lane, struct kube_call *call)
{
    call->state = CALL_ACTIVE;
    call->easy = take_easy(lane);
    call->headers = lane->transport->headers;
    call->headers->refs++;
    call->last_byte_ns = now(lane);
    call->port = 0;
    call->status = 0;
    call->body_sent = 0;
    call->begun = false;
    call->repeated = false;
    list_append(&lane->active, &call->link);
    lane->active_count++;
    easy_prepare(call);
    ENSURE(curl_multi_add_handle(lane->multi, call->easy->curl) == CURLM_OK);
    watch_liveness(lane);
}

void lane_deactivate(struct lane *lane, struct kube_call *call)
{
    list_remove(&call->link);
    if (!call->easy)
        return;
    ENSURE(curl_multi_remove_handle(lane->multi, call->easy->curl) == CURLM_OK);
    give_easy(lane, take_ptr(call->easy));
    header_set_unref(take_ptr(call->headers));
    lane->active_count--;
}

void lane_wake(struct lane *lane)
{
    loop_defer(lane->transport->loop, &lane->pump);
}

static struct kube_call *first(struct list *list)
{
    return list_empty(list) ? NULL : container_of(list->next, struct kube_call, link);
}

/* ---- opening connections --------------------------------------------------------------------- */

/* The server cannot be reached: whatever waits was certainly not sent. */
static void fail_queue(struct lane *lane, const struct error *error)
{
    /* The opener's own method and path would only confuse. */
    const char *why = strstr(error->text, ": ");
    why = why ? why + 2 : error->text;
    struct list failing;
    list_init(&failing);
    while (!list_empty(&lane->queue)) {
        struct list *link = lane->queue.next;
        list_remove(link);
        list_append(&failing, link);
    }
    for (struct kube_call *call; (call = first(&failing)) != NULL;)
        call_fail(call, KUBE_NOT_SENT, error->cls, why);
}

static void on_opened(const struct kube_result *result, void *arg)
{
    struct lane *lane = arg;
    lane->opener = NULL;
    lane->widen_after_ns = now(lane) + WIDEN_EVERY_NS;
    if (result->outcome == KUBE_ANSWERED)
        lane->open = true;
    else if (!lane->open)
        fail_queue(lane, &result->error);
    lane_wake(lane);
}

static void open_connection(struct lane *lane, bool fresh)
{
    const struct kube_call_spec spec = {
        .path = STR("/version"),
        .timeout_ns = OPEN_TIMEOUT_NS,
        .on_done = on_opened,
        .arg = lane,
    };
    if (!lane->opener)
        lane->opener = call_start_internal(lane, &spec, fresh);
}

/* How many calls libcurl may have. */
static unsigned capacity(const struct lane *lane)
{
    if (lane->http1)
        return LANE_CONNS_HTTP1;
    size_t conns = lane->conns.n < LANE_CONNS ? lane->conns.n : LANE_CONNS;
    return CONN_STREAMS * (conns > 1 ? (unsigned)conns : 1);
}

static bool may_widen(const struct lane *lane)
{
    return !lane->http1 && lane->conns.n < LANE_CONNS && now(lane) >= lane->widen_after_ns;
}

static void pump(void *arg)
{
    struct lane *lane = arg;
    drop_outdated(lane);
    for (struct kube_call *call; (call = first(&lane->dying)) != NULL;)
        call_free(call);
    if (lane->http1 && lane->conn_limit != LANE_CONNS_HTTP1)
        set_conn_limit(lane, LANE_CONNS_HTTP1);
    if (list_empty(&lane->queue))
        return;
    if (!lane->open && !lane->transport->config->any_server) {
        open_connection(lane, false);
        return;
    }
    while (!list_empty(&lane->queue) && lane->active_count < capacity(lane)) {
        struct kube_call *call = first(&lane->queue);
        list_remove(&call->link);
        lane_activate(lane, call);
    }
    if (!list_empty(&lane->queue) && may_widen(lane))
        open_connection(lane, true);
}

/* ---- signs of life of watches ---------------------------------------------------------------- */

static void on_ping_done(const struct kube_result *result, void *arg)
{
    struct lane *lane = arg;
    (void)result; /* any byte of an answer has been noted on its connection */
    lane->ping = NULL;
}

/* /livez is never queued behind other requests by the server, whoever asks. */
static void send_ping(struct lane *lane)
{
    const struct kube_call_spec spec = {
        .path = STR("/livez"),
        .timeout_ns = DEAD_AFTER_NS - PING_AFTER_NS,
        .on_done = on_ping_done,
        .arg = lane,
    };
    if (!lane->ping)
        lane->ping = call_start_internal(lane, &spec, false);
}

static int64_t conn_silence(struct lane *lane, const struct kube_call *call)
{
    const struct lane_conn *conn = find_conn(lane, port_of(call));
    int64_t last = call->last_byte_ns;
    if (conn && conn->last_byte_ns > last)
        last = conn->last_byte_ns;
    return now(lane) - last;
}

static void give_up(struct lane *lane, struct kube_call *call, const char *why)
{
    const struct lane_conn *conn = find_conn(lane, port_of(call));
    if (conn && conn_silence(lane, call) >= DEAD_AFTER_NS)
        cut(lane, conn, why);
    call_fail(call, KUBE_NOT_SENT, ERROR_RETRY, why);
}

/* The first watch that has waited too long, or NULL. Notes whether a ping is due. */
static struct kube_call *find_dead(struct lane *lane, bool *ret_ping, const char **ret_why)
{
    list_each(link, &lane->active)
    {
        struct kube_call *call = container_of(link, struct kube_call, link);
        if (!call->spec.watch)
            continue;
        int64_t silence = conn_silence(lane, call);
        if (silence >= DEAD_AFTER_NS) {
            *ret_why = "the connection is dead: no sign of life, and GET /livez got no answer";
            return call;
        }
        if (now(lane) - call->last_byte_ns >= STREAM_DEAD_AFTER_NS) {
            *ret_why = "the watch is dead: not even a bookmark for 75 s";
            return call;
        }
        *ret_ping = *ret_ping || silence >= PING_AFTER_NS;
    }
    return NULL;
}

static void check_liveness(void *arg)
{
    struct lane *lane = arg;
    bool ping = false;
    const char *why = NULL;
    for (struct kube_call *call; (call = find_dead(lane, &ping, &why)) != NULL;)
        give_up(lane, call, why);
    if (ping)
        send_ping(lane);
    if (!list_empty(&lane->active))
        watch_liveness(lane);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void set_multi(struct lane *lane)
{
    CURLM *multi = lane->multi;
    ENSURE(curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, set_socket) == CURLM_OK);
    ENSURE(curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, lane) == CURLM_OK);
    ENSURE(curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer) == CURLM_OK);
    ENSURE(curl_multi_setopt(multi, CURLMOPT_TIMERDATA, lane) == CURLM_OK);
    ENSURE(curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX) == CURLM_OK);
    ENSURE(curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, 100L) == CURLM_OK);
    ENSURE(curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)LANE_CONNS_HTTP1) == CURLM_OK);
    set_conn_limit(lane, LANE_CONNS);
}

bool lane_init(struct lane *lane, struct curl_transport *transport, const char *name)
{
    *lane = (struct lane){.transport = transport, .name = name, .multi = curl_multi_init()};
    lane->gaps = loop_gaps(transport->loop);
    loop_timer_init(&lane->timer, on_timer, lane);
    loop_timer_init(&lane->liveness, check_liveness, lane);
    loop_deferred_init(&lane->pump, pump, lane);
    list_init(&lane->queue);
    list_init(&lane->active);
    list_init(&lane->dying);
    list_init(&lane->idle);
    lane->http1 = transport->config->any_server;
    if (lane->multi)
        set_multi(lane);
    return lane->multi != NULL;
}

static void free_all(struct list *calls)
{
    for (struct kube_call *call; (call = first(calls)) != NULL;)
        call_free(call);
}

void lane_clear(struct lane *lane)
{
    free_all(&lane->queue);
    free_all(&lane->active);
    free_all(&lane->dying);
    while (!list_empty(&lane->idle)) {
        struct easy *easy = container_of(lane->idle.next, struct easy, link);
        list_remove(&easy->link);
        easy_free(easy);
    }
    if (lane->multi)
        (void)curl_multi_cleanup(lane->multi);
    loop_timer_cancel(lane->transport->loop, &lane->timer);
    loop_timer_cancel(lane->transport->loop, &lane->liveness);
    loop_deferred_cancel(&lane->pump);
    vec_clear(&lane->conns);
}
