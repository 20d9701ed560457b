/*
 * Calls from standard input to a server in memory, their answers to standard output; one JSON
 * document a line each:
 *
 *     {"method": "PATCH", "path": "/api/v1/...", "content": "merge", "body": {...}}
 *     {"wait": 2}                       lets seconds of the virtual clock pass
 *     {"status": 200, "body": {...}}    or "text": "..." where the answer is no JSON
 *
 * A GET with watch=1 is answered with the lines that come at once, as a list. See `differential`.
 */
#include "base/timefmt.h"
#include "server/doc.h"
#include "server/server.h"
#include <stdio.h>

static enum kube_method method_of(struct str name)
{
    static const char *const names[] = {[KUBE_GET] = "GET",
                                        [KUBE_POST] = "POST",
                                        [KUBE_PUT] = "PUT",
                                        [KUBE_PATCH] = "PATCH",
                                        [KUBE_DELETE] = "DELETE"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (str_is(name, names[i]))
            return (enum kube_method)i;
    return KUBE_GET;
}

static enum kube_content content_of(struct str name)
{
    static const char *const names[] = {[KUBE_JSON_PATCH] = "json-patch",
                                        [KUBE_MERGE_PATCH] = "merge",
                                        [KUBE_STRATEGIC_PATCH] = "strategic",
                                        [KUBE_APPLY_PATCH] = "apply"};
    for (size_t i = KUBE_JSON_PATCH; i < ARRAY_SIZE(names); i++)
        if (str_is(name, names[i]))
            return (enum kube_content)i;
    return KUBE_JSON;
}

static void woken(void *arg)
{
    (void)arg;
}

static void wait_for(struct loop *loop, int64_t ns)
{
    struct loop_timer timer;
    int64_t end = loop_now(loop) + ns;
    loop_timer_init(&timer, woken, NULL);
    loop_timer_set(loop, &timer, ns);
    while (loop_now(loop) < end)
        (void)loop_turn(loop, end - loop_now(loop));
    loop_timer_cancel(loop, &timer);
}

static void print_answer(struct arena *arena, int status, struct str body)
{
    struct buf line cleanup_buf = BUF_INIT(LIMIT_RESPONSE_BODY);
    struct error err = ERROR_INIT;
    struct doc *answer = doc_new(arena, JSON_OBJECT);
    struct doc *tree = doc_parse(arena, body, &err);
    doc_set_i64(arena, answer, "status", status);
    if (tree)
        doc_set(answer, STR("body"), tree);
    else
        doc_set_str(arena, answer, "text", body);
    doc_print(&line, answer);
    (void)printf("%s\n", line.p);
    (void)fflush(stdout);
}

static void add_line(struct str line, void *arg)
{
    struct buf *lines = arg;
    if (str_empty(line))
        return;
    buf_add_char(lines, lines->n ? ',' : '[');
    buf_add_str(lines, line);
}

static void watch(struct sim_server *server, const struct sim_request *request, struct arena *arena)
{
    struct buf lines cleanup_buf = BUF_INIT(LIMIT_RESPONSE_BODY);
    struct sim_answer answer = SIM_ANSWER_INIT;
    struct sim_watch *stream = sim_server_watch(server, request, &answer, add_line, &lines);
    if (stream) {
        sim_watch_end(stream);
        buf_add_cstr(&lines, lines.n ? "]" : "[]");
        buf_add_str(&answer.body, buf_str(&lines));
    }
    print_answer(arena, answer.status, buf_str(&answer.body));
    buf_clear(&answer.body);
}

static void call(struct sim_server *server, const struct doc *asked, struct arena *arena)
{
    struct buf body cleanup_buf = BUF_INIT(LIMIT_REQUEST_BODY);
    struct sim_answer answer = SIM_ANSWER_INIT;
    if (doc_get(asked, STR("body")))
        doc_print(&body, doc_get(asked, STR("body")));
    else
        buf_add_str(&body, doc_str_at(asked, "text"));
    const struct sim_request request = {.method = method_of(doc_str_at(asked, "method")),
                                        .content = content_of(doc_str_at(asked, "content")),
                                        .path = doc_str_at(asked, "path"),
                                        .body = buf_str(&body)};
    if (sim_request_is_watch(&request)) {
        watch(server, &request, arena);
        return;
    }
    sim_server_handle(server, &request, &answer);
    print_answer(arena, answer.status, buf_str(&answer.body));
    buf_clear(&answer.body);
}

int main(void)
{
    struct loop *loop = loop_new_virtual(1, INT64_C(1764547200) * NSEC_PER_SEC);
    struct sim_server *server =
        sim_server_new(&(struct sim_server_options){.loop = loop, .seed = 1});
    char *line = NULL;
    size_t size = 0;
    int status = 0;
    for (ssize_t n; status == 0 && (n = getline(&line, &size, stdin)) > 0;) {
        cleanup_arena struct arena arena = ARENA_INIT;
        struct error err = ERROR_INIT;
        const struct doc *asked = doc_parse(&arena, str_make(line, (size_t)n), &err);
        if (!asked) {
            (void)fprintf(stderr, "replay: %s\n", err.text);
            status = 1;
        } else if (doc_get(asked, STR("wait"))) {
            wait_for(loop, doc_i64(doc_get(asked, STR("wait")), 0) * NSEC_PER_SEC);
        } else {
            call(server, asked, &arena);
        }
    }
    free(line);
    sim_server_free(server);
    loop_free(loop);
    return status;
}
