/*
 * Connections and their janitor: see http_conn.h.
 *
 * Whether a part of a request has arrived is asked of the kernel (bytes received on the socket):
 * neither GnuTLS nor libmicrohttpd tells, and an idle keep-alive connection must be left alone
 * while one that drips a header must not.
 */
#include "webhook/http/http_conn.h"
#include "base/ensure.h"
#include "base/log.h"
#include "base/timefmt.h"
#include <errno.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define TICK_NS (250 * NSEC_PER_MSEC)
#define IDLE_TICK_NS NSEC_PER_SEC
#define SPARE_DESCRIPTORS 128 /* for all but connections */
#define HELLO_MIN 64          /* no ClientHello is shorter, bytes */
#define SILENT_LOOKS 32       /* handshakes that are looked at for one that has said nothing */
#define FLOOD 128             /* connections at once, after which memory is given back */
#define LARGE_BODY ((size_t)1 << 20) /* a body after which it is */
#define HOARD_NS NSEC_PER_SEC        /* a body that takes longer may be given up for others */

int64_t conn_now(void)
{
    struct timespec now;
    ENSURE(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (int64_t)now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static void lock(struct conn_table *table)
{
    ENSURE(pthread_mutex_lock(&table->lock) == 0);
}

static void unlock(struct conn_table *table)
{
    ENSURE(pthread_mutex_unlock(&table->lock) == 0);
}

static struct conn *conn_of(struct list *link)
{
    return container_of(link, struct conn, link);
}

/* Bytes of TCP payload received so far; 0 where the kernel does not say. */
static uint64_t bytes_received(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        return 0;
    return info.tcpi_bytes_received;
}

/* ---- the janitor --------------------------------------------------------------------------- */

static void cut(struct conn_table *table, struct conn *conn)
{
    if (conn->cut)
        return;
    conn->cut = true;
    table->cut_count++;
    (void)shutdown(conn->fd, SHUT_RDWR);
}

static void leave_suspended(struct conn_table *table, struct conn *conn, int64_t now)
{
    table->suspended_count--;
    conn->phase = CONN_ANSWERING;
    conn->since_ns = now;
    table->resume(conn->connection);
}

/* Notices that a request has begun on a connection that waits for one. */
static void look_for_request(struct conn *conn, int64_t now)
{
    if (conn->phase == CONN_WAITING && !conn->request_ns &&
        bytes_received(conn->fd) > conn->received)
        conn->request_ns = now;
}

/* When the phase of a connection has to be over. */
static int64_t phase_end(const struct conn_table *table, const struct conn *conn)
{
    switch (conn->phase) {
    case CONN_WAITING:
        return conn->request_ns ? conn->request_ns + table->limits.request_ns
                                : conn->since_ns + table->limits.idle_ns;
    case CONN_READING:
        return conn->request_ns + table->limits.request_ns;
    case CONN_SUSPENDED:
        return conn->wait_until_ns;
    case CONN_HANDSHAKE:
        return conn->since_ns + table->limits.handshake_ns;
    case CONN_ANSWERING:
    case CONN_REPLYING:
    case CONN_PHASE_COUNT:
        break;
    }
    return conn->since_ns + table->limits.request_ns;
}

/* One look at every connection; returns when the next is due. */
static int64_t sweep(struct conn_table *table, int64_t now)
{
    int64_t next = now + IDLE_TICK_NS;
    list_each(link, &table->all)
    {
        struct conn *conn = conn_of(link);
        if (conn->cut)
            continue;
        look_for_request(conn, now);
        int64_t end = phase_end(table, conn);
        if (end <= now && conn->phase == CONN_SUSPENDED) {
            leave_suspended(table, conn, now);
        } else if (end <= now) {
            table->cuts++;
            cut(table, conn);
        } else if (end < next) {
            next = end;
        } else if (conn->phase != CONN_WAITING && now + TICK_NS < next) {
            next = now + TICK_NS;
        }
    }
    return next;
}

static void wait_until(struct conn_table *table, int64_t due)
{
    struct timespec when = {.tv_sec = due / NSEC_PER_SEC, .tv_nsec = due % NSEC_PER_SEC};
    int rc = pthread_cond_timedwait(&table->changed, &table->lock, &when);
    ENSURE(rc == 0 || rc == ETIMEDOUT);
}

/*
 * After a flood or large bodies: what hundreds of sessions or the trees of a review took lies about
 * in pieces that malloc would keep.
 */
static bool memory_is_due(const struct conn_table *table)
{
    return table->was_large || (table->peak >= FLOOD && table->count <= table->peak / 4);
}

static void give_memory_back(struct conn_table *table)
{
    const int64_t now = conn_now();
    if (!memory_is_due(table) || now - table->trimmed_ns < NSEC_PER_SEC)
        return;
    table->peak = table->count;
    table->was_large = false;
    table->trimmed_ns = now;
    unlock(table);
    (void)malloc_trim(0);
    lock(table);
}

static void *run_janitor(void *arg)
{
    struct conn_table *table = arg;
    lock(table);
    while (!table->stopping) {
        give_memory_back(table);
        if (list_empty(&table->all) && !memory_is_due(table))
            ENSURE(pthread_cond_wait(&table->changed, &table->lock) == 0);
        else
            wait_until(table, sweep(table, conn_now()));
    }
    unlock(table);
    return NULL;
}

/* Past the limit of descriptors nothing could be accepted, and so nobody be cut for others. */
static unsigned fit_to_descriptors(unsigned connections)
{
    struct rlimit limit;
    const rlim_t wanted = (rlim_t)connections + SPARE_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return connections;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= wanted)
        return connections;
    const rlim_t left = limit.rlim_cur > SPARE_DESCRIPTORS ? limit.rlim_cur - SPARE_DESCRIPTORS : 1;
    log_warn("the limit of open files allows for fewer connections than --max-connections "
             "connections=%llu",
             (unsigned long long)left);
    return (unsigned)left;
}

void conn_table_init(struct conn_table *table, const struct conn_limits *limits,
                     void (*resume)(void *connection))
{
    *table = (struct conn_table){.limits = *limits, .resume = resume};
    table->limits.connections = fit_to_descriptors(limits->connections);
    list_init(&table->all);
    ENSURE(pthread_mutex_init(&table->lock, NULL) == 0);
    pthread_condattr_t attributes;
    ENSURE(pthread_condattr_init(&attributes) == 0);
    ENSURE(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    ENSURE(pthread_cond_init(&table->changed, &attributes) == 0);
    ENSURE(pthread_condattr_destroy(&attributes) == 0);
    ENSURE(pthread_create(&table->janitor, NULL, run_janitor, table) == 0);
}

void conn_table_clear(struct conn_table *table)
{
    lock(table);
    table->stopping = true;
    ENSURE(list_empty(&table->all));
    ENSURE(pthread_cond_signal(&table->changed) == 0);
    unlock(table);
    ENSURE(pthread_join(table->janitor, NULL) == 0);
    ENSURE(pthread_cond_destroy(&table->changed) == 0);
    ENSURE(pthread_mutex_destroy(&table->lock) == 0);
}

/* ---- connections --------------------------------------------------------------------------- */

/* Whether its request is all here. */
static bool is_complete(const struct conn *conn)
{
    return conn->phase == CONN_ANSWERING || conn->phase == CONN_SUSPENDED ||
           conn->phase == CONN_REPLYING;
}

/* The lower, the sooner a connection is given up for another; -1: never. */
static int worth(const struct conn *conn)
{
    if (conn->cut || is_complete(conn))
        return -1;
    return conn->phase == CONN_WAITING && conn->served && !conn->request_ns ? 1 : 0;
}

/* Of handshakes rather one whose client has not even sent a ClientHello. */
static struct conn *oldest_silent(const struct conn_table *table, struct conn *oldest)
{
    unsigned looks = 0;
    list_each(link, &table->all)
    {
        struct conn *conn = conn_of(link);
        if (conn->cut || conn->phase != CONN_HANDSHAKE)
            continue;
        if (bytes_received(conn->fd) < HELLO_MIN)
            return conn;
        if (++looks == SILENT_LOOKS)
            break;
    }
    return oldest;
}

/*
 * The oldest connection without a complete request, of the phase that has most of them: whatever a
 * flood of others stops at, an honest client that gets past it is safe from them.
 */
static struct conn *oldest_incomplete(const struct conn_table *table)
{
    struct conn *oldest[CONN_PHASE_COUNT] = {NULL};
    unsigned counts[CONN_PHASE_COUNT] = {0};
    size_t most = 0;
    list_each(link, &table->all)
    {
        struct conn *conn = conn_of(link);
        if (worth(conn) != 0)
            continue;
        if (counts[conn->phase]++ == 0)
            oldest[conn->phase] = conn;
        if (counts[conn->phase] > counts[most])
            most = conn->phase;
    }
    return oldest[most] && most == CONN_HANDSHAKE ? oldest_silent(table, oldest[most])
                                                  : oldest[most];
}

static struct conn *longest_idle(const struct conn_table *table)
{
    struct conn *found = NULL;
    const int64_t now = conn_now();
    list_each(link, &table->all)
    {
        struct conn *conn = conn_of(link);
        look_for_request(conn, now);
        if (worth(conn) == 1 && (!found || conn->since_ns < found->since_ns))
            found = conn;
    }
    return found;
}

/* Makes room. */
static void cut_oldest(struct conn_table *table)
{
    struct conn *victim = oldest_incomplete(table);
    if (!victim)
        victim = longest_idle(table);
    if (!victim)
        return;
    table->cuts++;
    cut(table, victim);
}

struct conn *conn_open(struct conn_table *table, void *connection, int fd)
{
    struct conn *conn = xnew(struct conn);
    conn->connection = connection;
    conn->fd = fd;
    conn->since_ns = conn_now();
    lock(table);
    unsigned live = table->count - table->cut_count;
    unsigned reserve = table->limits.connections / 16 + 1;
    if (live >= table->limits.connections) {
        table->rejected++;
        list_append(&table->all, &conn->link);
        cut(table, conn);
    } else {
        if (live + reserve >= table->limits.connections)
            cut_oldest(table);
        list_append(&table->all, &conn->link);
    }
    if (table->count >= table->peak)
        table->peak = table->count + 1;
    if (table->count++ == 0)
        ENSURE(pthread_cond_signal(&table->changed) == 0);
    unlock(table);
    return conn;
}

enum conn_phase conn_close(struct conn_table *table, struct conn *conn)
{
    lock(table);
    const enum conn_phase phase = conn->phase;
    list_remove(&conn->link);
    table->count--;
    if (conn->cut)
        table->cut_count--;
    if (conn->phase == CONN_SUSPENDED)
        table->suspended_count--;
    unlock(table);
    free(conn);
    return phase;
}

void conn_enter(struct conn_table *table, struct conn *conn, enum conn_phase phase)
{
    lock(table);
    int64_t now = conn_now();
    if (phase == CONN_WAITING) {
        conn->served = conn->served || conn->phase == CONN_REPLYING;
        conn->request_ns = 0;
        conn->held = 0;
        conn->received = bytes_received(conn->fd);
    } else if (phase == CONN_READING && !conn->request_ns) {
        conn->request_ns = now;
    }
    conn->phase = phase;
    conn->since_ns = now;
    unlock(table);
}

void conn_hold(struct conn_table *table, struct conn *conn, size_t held)
{
    lock(table);
    conn->held = held;
    table->was_large = table->was_large || held >= LARGE_BODY;
    unlock(table);
}

void conn_table_cut_hoarder(struct conn_table *table)
{
    struct conn *victim = NULL;
    double most = 0;
    lock(table);
    const int64_t now = conn_now();
    list_each(link, &table->all)
    {
        struct conn *conn = conn_of(link);
        const int64_t age_ns = now - conn->request_ns;
        const double hoard = (double)conn->held * (double)age_ns;
        if (conn->phase != CONN_READING || conn->cut || age_ns < HOARD_NS || hoard <= most)
            continue;
        victim = conn;
        most = hoard;
    }
    if (victim) {
        table->cuts++;
        cut(table, victim);
    }
    unlock(table);
}

int64_t conn_request_ns(struct conn_table *table, const struct conn *conn)
{
    lock(table);
    int64_t request_ns = conn->request_ns;
    unlock(table);
    return request_ns;
}

/* ---- waiting ------------------------------------------------------------------------------- */

uint64_t conn_table_generation(struct conn_table *table)
{
    lock(table);
    uint64_t generation = table->generation;
    unlock(table);
    return generation;
}

bool conn_suspend(struct conn_table *table, struct conn *conn, uint64_t generation,
                  int64_t until_ns, void (*suspend)(void *connection), bool *ret_again)
{
    lock(table);
    *ret_again = table->generation != generation;
    bool done = !*ret_again && table->suspended_count < table->limits.suspended;
    if (done) {
        table->suspended_count++;
        conn->phase = CONN_SUSPENDED;
        conn->wait_until_ns = until_ns;
        suspend(conn->connection);
        ENSURE(pthread_cond_signal(&table->changed) == 0);
    }
    unlock(table);
    return done;
}

static void wake(struct conn_table *table)
{
    int64_t now = conn_now();
    table->generation++;
    list_each(link, &table->all)
    {
        struct conn *conn = conn_of(link);
        if (conn->phase == CONN_SUSPENDED)
            leave_suspended(table, conn, now);
    }
}

void conn_table_wake(struct conn_table *table)
{
    lock(table);
    wake(table);
    unlock(table);
}

void conn_table_stop_waiting(struct conn_table *table)
{
    lock(table);
    table->limits.suspended = 0;
    wake(table);
    unlock(table);
}

static bool in_request(const struct conn *conn)
{
    return conn->phase == CONN_READING || is_complete(conn) || conn->request_ns;
}

unsigned conn_table_cut_idle(struct conn_table *table)
{
    unsigned busy = 0;
    lock(table);
    int64_t now = conn_now();
    list_each(link, &table->all)
    {
        struct conn *conn = conn_of(link);
        look_for_request(conn, now);
        if (in_request(conn))
            busy++;
        else
            cut(table, conn);
    }
    unlock(table);
    return busy;
}

struct conn_stats conn_table_stats(struct conn_table *table)
{
    lock(table);
    struct conn_stats stats = {.open = table->count,
                               .suspended = table->suspended_count,
                               .cuts = table->cuts,
                               .rejected = table->rejected};
    list_each(link, &table->all) stats.active += in_request(conn_of(link));
    unlock(table);
    return stats;
}
