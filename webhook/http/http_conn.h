/*
 * struct conn_table: the connections of the webhook's server and the janitor that bounds them.
 *
 * libmicrohttpd's own timeout starts again with every byte, so a client that drips could stay for
 * ever. Here each connection has a phase and each phase an end: the janitor, a thread of its own,
 * shuts the socket of one that is past it, and resumes suspended ones. When the table is nearly
 * full, the oldest connection without a complete request goes, of the kind that there are most of,
 * so that an honest client gets in.
 *
 * All functions are thread-safe (one mutex). A connection belongs to the table from open to close;
 * it may be shut but is never freed before libmicrohttpd announces its end.
 */
#ifndef PUMICE_WEBHOOK_HTTP_CONN_H
#define PUMICE_WEBHOOK_HTTP_CONN_H

#include "base/list.h"
#include <pthread.h>
#include <stdint.h>

enum conn_phase {
    CONN_HANDSHAKE, /* accepted; the TLS handshake is not over */
    CONN_WAITING,   /* between requests; maybe a part of a header is here */
    CONN_READING,   /* the header is complete, the body is not */
    CONN_ANSWERING, /* the request is complete, the handler has it */
    CONN_SUSPENDED, /* it waits for a change */
    CONN_REPLYING,  /* the answer is made, not all of it is sent */
    CONN_PHASE_COUNT
};

struct conn {
    struct list link; /* in the table, oldest first */
    void *connection; /* the struct MHD_Connection; for `resume` */
    void *user;       /* the server's own */
    int fd;           /* borrowed from libmicrohttpd */
    enum conn_phase phase;
    bool served;           /* has completed a request */
    bool cut;              /* shut by us */
    int64_t since_ns;      /* when the phase began */
    int64_t request_ns;    /* when the first byte of the request was noticed; 0: not yet */
    int64_t wait_until_ns; /* CONN_SUSPENDED: resumed by then */
    uint64_t received;     /* bytes of TCP when the phase CONN_WAITING began */
    size_t held;           /* memory of the body that is being read, bytes */
};

struct conn_limits {
    unsigned connections; /* open at once */
    unsigned suspended;   /* suspended at once */
    int64_t idle_ns;      /* between requests */
    int64_t handshake_ns; /* from the connection to the end of the handshake */
    int64_t request_ns;   /* request from its first byte to its last; sending a reply */
};

struct conn_table {
    struct conn_limits limits;
    void (*resume)(void *connection); /* resumes a suspended connection */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* wakes the janitor */
    pthread_t janitor;
    bool stopping;
    struct list all;
    unsigned count, cut_count, suspended_count;
    unsigned peak;           /* the most at once since memory was given back */
    bool was_large;          /* a large body came since then */
    int64_t trimmed_ns;      /* when it was given back */
    uint64_t cuts, rejected; /* totals, for metrics */
    uint64_t generation;     /* goes up with every conn_table_wake */
};

/* Starts the janitor. */
void conn_table_init(struct conn_table *table, const struct conn_limits *limits,
                     void (*resume)(void *connection));
/* Ends it; every connection must be closed. */
void conn_table_clear(struct conn_table *table);

/* A new connection, in CONN_HANDSHAKE; owned by the table until conn_close. Over the limit it is
 * shut at once. */
struct conn *conn_open(struct conn_table *table, void *connection, int fd);
/* Before libmicrohttpd closes the descriptor. Frees it; returns the phase it was in. */
enum conn_phase conn_close(struct conn_table *table, struct conn *conn);
/* Enters a phase (not CONN_SUSPENDED). From CONN_REPLYING to CONN_WAITING a request is complete. */
void conn_enter(struct conn_table *table, struct conn *conn, enum conn_phase phase);
/* The request under way holds so much memory now. */
void conn_hold(struct conn_table *table, struct conn *conn, size_t held);
/*
 * Memory is short: cuts the connection whose body has held most of it for longest, if it is not yet
 * complete after a second.
 */
void conn_table_cut_hoarder(struct conn_table *table);
/* When the request under way began. */
int64_t conn_request_ns(struct conn_table *table, const struct conn *conn);

/* The number that conn_suspend compares. */
uint64_t conn_table_generation(struct conn_table *table);
/*
 * Calls `suspend(connection)` and resumes the connection at `until_ns` or at the next wake. False,
 * with nothing done, when too many are suspended, the table is stopping, or there was a wake since
 * `generation` was read (*ret_again: ask again at once).
 */
bool conn_suspend(struct conn_table *table, struct conn *conn, uint64_t generation,
                  int64_t until_ns, void (*suspend)(void *connection), bool *ret_again);
/* Resumes all that are suspended. */
void conn_table_wake(struct conn_table *table);
/* No connection is suspended from now on. */
void conn_table_stop_waiting(struct conn_table *table);
/* Shuts the connections that are between requests; returns how many are in the middle of one. */
unsigned conn_table_cut_idle(struct conn_table *table);

struct conn_stats {
    unsigned open, suspended;
    unsigned active;   /* with a request under way */
    uint64_t cuts;     /* shut by the janitor, in all */
    uint64_t rejected; /* shut at once for the limit, in all */
};
struct conn_stats conn_table_stats(struct conn_table *table);

/* CLOCK_MONOTONIC, nanoseconds. */
int64_t conn_now(void);

#endif
