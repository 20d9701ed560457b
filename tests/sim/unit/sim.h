/*
 * A server on a virtual clock, for its tests: requests as a user would write them, and what was
 * answered last as a tree.
 */
#ifndef PUMICE_TESTS_SIM_UNIT_SIM_H
#define PUMICE_TESTS_SIM_UNIT_SIM_H

#include "testing.h"

#include "base/vec.h"
#include "server/doc.h"
#include "server/server.h"

#define SIM_BEGIN INT64_C(1764547200000000000) /* 2025-12-01T00:00:00Z */
#define PODS "/api/v1/namespaces/n/pods"
#define CONFIGMAPS "/api/v1/namespaces/n/configmaps"
#define JOBS "/apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs"
#define PODGROUPS "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups"
#define QUEUES "/apis/scheduling.volcano.sh/v1beta1/queues"
#define POD(name)                                                                                  \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}"

struct sim {
    struct loop *loop;
    struct sim_server *server;
    struct arena arena;
    struct doc *body; /* of the last answer; NULL when it was no JSON */
};

/* Waits so long on the virtual clock. */
static inline void sim_wake(void *arg)
{
    (void)arg;
}

static inline void sim_wait(struct sim *sim, int64_t ns)
{
    struct loop_timer timer;
    int64_t end = loop_now(sim->loop) + ns;
    loop_timer_init(&timer, sim_wake, NULL);
    loop_timer_set(sim->loop, &timer, ns);
    while (loop_now(sim->loop) < end)
        (void)loop_turn(sim->loop, end - loop_now(sim->loop));
    for (int i = 0; i < 8; i++)
        (void)loop_turn(sim->loop, 0);
    loop_timer_cancel(sim->loop, &timer);
}

/* The HTTP status of an answer. */
static inline int sim_ask(struct sim *sim, enum kube_method method, enum kube_content content,
                          const char *path, const char *body)
{
    struct sim_answer answer = SIM_ANSWER_INIT;
    struct error err = ERROR_INIT;
    const struct sim_request request = {
        .method = method, .content = content, .path = str_of(path), .body = str_of(body)};
    sim_server_handle(sim->server, &request, &answer);
    sim->body = doc_parse(&sim->arena, arena_str(&sim->arena, buf_str(&answer.body)), &err);
    buf_clear(&answer.body);
    return answer.status;
}

static inline int sim_get(struct sim *sim, const char *path)
{
    return sim_ask(sim, KUBE_GET, KUBE_JSON, path, "");
}

static inline int sim_post(struct sim *sim, const char *path, const char *body)
{
    return sim_ask(sim, KUBE_POST, KUBE_JSON, path, body);
}

static inline int sim_put(struct sim *sim, const char *path, const char *body)
{
    return sim_ask(sim, KUBE_PUT, KUBE_JSON, path, body);
}

static inline int sim_merge(struct sim *sim, const char *path, const char *body)
{
    return sim_ask(sim, KUBE_PATCH, KUBE_MERGE_PATCH, path, body);
}

static inline int sim_remove(struct sim *sim, const char *path, const char *body)
{
    return sim_ask(sim, KUBE_DELETE, KUBE_JSON, path, body);
}

/* A text of the last answer. */
static inline struct str sim_at(const struct sim *sim, const char *path)
{
    return doc_str_at(sim->body, path);
}

static inline int64_t sim_number(const struct sim *sim, const char *path)
{
    return doc_i64(doc_at(sim->body, path), -1);
}

/* The names of the items of the last answer, by spaces. */
static inline struct str sim_names(struct sim *sim)
{
    struct str names = STR_NULL;
    for (doc_each(item, doc_get(sim->body, STR("items"))))
        names = arena_printf(&sim->arena, "%.*s%s%.*s", STR_ARG(names), names.n ? " " : "",
                             STR_ARG(doc_str_at(item, "metadata.name")));
    return names;
}

/* A path or body made up for this test; lives as long as it. */
#define sim_text(sim, ...) arena_printf(&(sim)->arena, __VA_ARGS__).p

static inline int sim_begin_with(void **state, size_t history)
{
    struct sim *sim = xnew(struct sim);
    sim->loop = loop_new_virtual(1, SIM_BEGIN);
    sim->server = sim_server_new(
        &(struct sim_server_options){.loop = sim->loop, .seed = 1, .history = history});
    *state = sim;
    if (sim_post(sim, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}") != 201)
        return -1;
    sim_wait(sim, NSEC_PER_SEC);
    return 0;
}

static inline int sim_begin(void **state)
{
    return sim_begin_with(state, 0);
}

static inline int sim_end(void **state)
{
    struct sim *sim = *state;
    sim_server_free(sim->server);
    loop_free(sim->loop);
    arena_clear(&sim->arena);
    free(sim);
    return 0;
}

#define SIM_TEST(test) cmocka_unit_test_setup_teardown(test, sim_begin, sim_end)

#endif
