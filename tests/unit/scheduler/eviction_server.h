/*
 * How the small API server of cluster.h takes evictions, nominations and Events.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_EVICTION_SERVER_H
#define PUMICE_TESTS_UNIT_SCHEDULER_EVICTION_SERVER_H

#include "cluster_objects.h"

static inline int refuse_eviction(const struct test_pod *pod, int status, struct buf *body)
{
    if (!pod->by_budget)
        return answer(body, status);
    buf_printf(body,
               "{\"kind\":\"Status\",\"code\":%d,\"message\":\"the budget keeps it\",\"details\":{"
               "\"causes\":[{\"reason\":\"DisruptionBudget\"}]}}",
               status);
    return status;
}

static inline int serve_eviction(struct cluster *c, struct test_pod *pod, struct str text,
                                 struct buf *body)
{
    if (!pod)
        return answer(body, 404);
    pod->evictions++;
    assert_true(str_is(field(text, "name"), pod->name));
    assert_true(str_is(field(text, "apiVersion"), "policy/v1"));
    if (!str_is(field(text, "uid"), pod->uid))
        return answer(body, 409);
    int status = pod->no_eviction;
    if (status > 0)
        pod->no_eviction = 0;
    status = status < 0 ? -status : status;
    if (status && !pod->evicted_after)
        return refuse_eviction(pod, status, body);
    if (pod->stays)
        return answer(body, 201);
    if (!pod->deleted)
        pod->deletion_ns = loop_wall(c->loop) + c->grace_ns;
    pod->deleted = true;
    pod->rv = ++c->rv;
    return status ? refuse_eviction(pod, status, body) : answer(body, 201);
}

/* 0, or the status of what it was refused with. */
static inline int serve_nomination(struct test_pod *pod, struct str text)
{
    struct str node = field(text, "nominatedNodeName");
    int status = pod->no_nomination;
    assert_true(str_is(field(text, "uid"), pod->uid));
    if (status > 0)
        pod->no_nomination = 0;
    if (status)
        return status < 0 ? -status : status;
    snprintf(pod->nominated, sizeof(pod->nominated), "%.*s", STR_ARG(node));
    pod->nominations++;
    return 0;
}

static inline int serve_event(struct cluster *c, struct str text, struct buf *body)
{
    if (str_find(text, STR("\"involvedObject\"")) < 0)
        return answer(body, 200); /* it was said before */
    struct str object = str_from(text, (size_t)str_find(text, STR("\"involvedObject\"")));
    struct str kind = field(object, "kind"), name = field(object, "name");
    struct str reason = field(text, "reason"), message = field(text, "message");
    vec_push(&c->said, xasprintf("%.*s %.*s %.*s: %.*s", STR_ARG(kind), STR_ARG(name),
                                 STR_ARG(reason), STR_ARG(message)));
    return answer(body, 201);
}

#endif
