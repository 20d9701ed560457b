/*
 * The order of things: see plan.h. One step at a time, each read off what is stored, so that it
 * does not matter who takes it, or that whoever took the one before is gone.
 */
#include "plan.h"

/* With a next authority there is nothing else to do but to wait for callers to learn it. */
static enum cert_step plan_staged(const struct cert_facts *facts)
{
    if (facts->trusted)
        return CERT_SWITCH;
    if (facts->state.renewal_due || facts->request == CERT_REQUEST_LEAF)
        return CERT_RENEW;
    return CERT_KEEP;
}

enum cert_step cert_plan(const struct cert_facts *facts)
{
    const struct cert_state *state = &facts->state;
    if (!state->signs)
        return CERT_KEEP; /* not ours */
    if (state->staged)
        return plan_staged(facts);
    if ((state->authority_due || facts->request == CERT_REQUEST_AUTHORITY) &&
        state->spare + 1 < CERT_AUTHORITIES_MAX)
        return CERT_STAGE;
    if (state->renewal_due || facts->request == CERT_REQUEST_LEAF)
        return CERT_RENEW;
    if (state->spare && facts->now_ns - facts->since_ns >= facts->overlap_ns)
        return CERT_DROP;
    return CERT_KEEP;
}

bool cert_step_fulfils(enum cert_step step, enum cert_request request)
{
    if (request == CERT_REQUEST_AUTHORITY)
        return step == CERT_STAGE || step == CERT_SWITCH;
    return request == CERT_REQUEST_LEAF && (step == CERT_RENEW || step == CERT_SWITCH);
}
