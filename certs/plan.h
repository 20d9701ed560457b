/*
 * What to do next with a certificate that several replicas keep in one place. Pure.
 */
#ifndef PUMICE_CERTS_PLAN_H
#define PUMICE_CERTS_PLAN_H

#include "authority.h"

/* The most authorities that callers are to trust at once, the next one not counted. */
#define CERT_AUTHORITIES_MAX 8

/* A renewal that somebody asked for. */
enum cert_request { CERT_REQUEST_NONE, CERT_REQUEST_LEAF, CERT_REQUEST_AUTHORITY };

enum cert_step {
    CERT_KEEP,
    CERT_RENEW,  /* a new serving certificate */
    CERT_STAGE,  /* a next authority, for callers to learn */
    CERT_SWITCH, /* the next authority signs */
    CERT_DROP    /* callers forget the authorities before */
};

struct cert_facts {
    struct cert_state state;
    enum cert_request request;
    bool trusted;       /* callers trust all authorities of the bundle */
    int64_t since_ns;   /* since when no certificate of the authorities before is given out */
    int64_t overlap_ns; /* for how long it may still be served, longest */
    int64_t now_ns;     /* wall time, as all above */
};

enum cert_step cert_plan(const struct cert_facts *facts);
/* Whether a step does what was asked for. */
bool cert_step_fulfils(enum cert_step step, enum cert_request request);

#endif
