/*
 * What the kinds of certificate sources share. Private to source.c, secret.c and files.c.
 */
#ifndef PUMICE_CERTS_SOURCE_PRIVATE_H
#define PUMICE_CERTS_SOURCE_PRIVATE_H

#include "loop/backoff.h"
#include "source.h"

struct cert_source {
    struct cert_source_config config;
    struct cert_bundle current;
    struct cert_state state;
    bool has_current;
    uint64_t rotations;

    struct cert_set wanted;   /* what callers are to trust: the three below */
    struct cert_set pending;  /* of a certificate that waits until callers trust them */
    struct cert_set retired;  /* of certificates that were in force */
    int64_t pending_since_ns; /* loop time; 0: nothing waits */
    int64_t retired_until_ns; /* loop time */

    char trouble[ERROR_TEXT_MAX]; /* "" when all is well */
    struct loop_timer timer;      /* the next read */
    struct backoff backoff;       /* after failures */
    struct kube_call *call;       /* under way, or NULL */
    struct cert_bundle made;      /* what the call writes */
    bool answered;                /* the API server did, to this read */
    int64_t answered_ns;          /* when a read ended last that it had answered, loop time */
    bool reading, again;          /* a read is under way; another is wanted after it */
    loop_fn *refreshed;           /* to be called after the next complete read, or NULL */
    void *refreshed_arg;
    int64_t warned_ns; /* when the nearing end was logged last, wall time */
};

/* Begin to read. Each ends in cert_source_finish, maybe before returning. */
void cert_secret_read(struct cert_source *source);
void cert_files_read(struct cert_source *source);

/*
 * A checked bundle, whose content is moved. It is put in force, or has to wait: then it will be
 * offered again by the next read. ERROR_RETRY when it has waited for long.
 */
int cert_source_offer(struct cert_source *source, struct cert_bundle *bundle,
                      const struct cert_state *state, struct error *err);
/* A read is over; `err` NULL when it went well. */
void cert_source_finish(struct cert_source *source, const struct error *err);

#endif
