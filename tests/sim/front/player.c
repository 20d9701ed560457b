/*
 * Played nodes and pods: see player.h.
 *
 * Watches only note what is to be done next with an object and when, by its UID; a timer looks at
 * the object anew and does it, if it still is the next thing.
 */
#include "front/player.h"
#include "base/alloc.h"
#include "base/map.h"
#include "base/timefmt.h"
#include "server/doc.h"

#define START_DELAY (300 * NSEC_PER_MSEC)
#define REMOVE_DELAY (500 * NSEC_PER_MSEC)
#define RUN_SECONDS 3
#define FIRST_ADDRESS (UINT32_C(10) << 24 | UINT32_C(64) << 16)

enum stage { STAGE_NONE, STAGE_READY, STAGE_START, STAGE_EXIT, STAGE_REMOVE };

struct stream {
    struct sim_player *player;
    struct sim_watch *watch; /* NULL: to be opened by `open` */
    const char *path;
    struct loop_deferred open;
};

struct sim_player {
    struct loop *loop;
    struct sim_server *server;
    struct stream nodes, pods;
    struct map acts;    /* struct act by UID, owned */
    uint32_t addresses; /* given so far */
};

/* What is done next with one object. */
struct act {
    struct sim_player *player;
    enum stage stage;
    char *path, *uid; /* owned */
    struct loop_timer timer;
};

static void act_free(void *value)
{
    struct act *act = value;
    loop_timer_cancel(act->player->loop, &act->timer);
    free(act->path);
    free(act->uid);
    free(act);
}

/* ---- what a pod's words say ------------------------------------------------------------------ */

static struct str words_of(struct arena *arena, const struct doc *pod)
{
    static const char *const fields[] = {"command", "args"};
    const struct doc *containers = doc_at(pod, "spec.containers");
    struct str words = STR_NULL;
    for (size_t i = 0; containers && i < ARRAY_SIZE(fields); i++)
        for (doc_each(word, doc_get(containers->first, str_of(fields[i]))))
            words = arena_printf(arena, "%.*s%s%.*s", STR_ARG(words), words.n ? " " : "",
                                 STR_ARG(doc_str(word)));
    return words;
}

static bool has(struct str words, const char *part)
{
    return str_find(words, str_of(part)) >= 0;
}

/* The number after the first `word` that one follows; `otherwise` without. */
static int64_t number_after(struct str words, const char *word, int64_t otherwise)
{
    ptrdiff_t at;
    while ((at = str_find(words, str_of(word))) >= 0) {
        size_t n = 0;
        int64_t number;
        words = str_from(words, (size_t)at + strlen(word));
        while (n < words.n && words.p[n] >= '0' && words.p[n] <= '9')
            n++;
        if (str_to_i64(str_sub(words, 0, n), &number))
            return number;
    }
    return otherwise;
}

static int64_t exit_code(struct str words)
{
    bool unknown = str_ends(words, STR("xxx")) || str_ends(words, STR("xyz"));
    return number_after(words, "exit ", unknown ? 127 : has(words, "fake.sh") ? 2 : 0);
}

static bool ends(struct str words, const struct doc *pod)
{
    struct str task = doc_str(doc_get(doc_at(pod, "metadata.labels"), STR("volcano.sh/task-spec")));
    return words.n && !str_is(task, "ps") && !has(words, "sshd -D") &&
           !(has(words, "ray start ") && has(words, "--block"));
}

/* ---- what comes next ------------------------------------------------------------------------- */

/* How long it is until `seconds` after the time in a text. */
static int64_t until(const struct sim_player *player, struct str from, int64_t seconds)
{
    int64_t wall;
    if (!time_parse(from, &wall))
        return 0;
    int64_t left = time_add(wall, seconds * NSEC_PER_SEC) - loop_wall(player->loop);
    return left > 0 ? left : 0;
}

static enum stage removal(const struct sim_player *player, const struct doc *pod, struct str words,
                          int64_t *ret_delay)
{
    const struct doc *meta = doc_get(pod, STR("metadata"));
    struct str kubelet = doc_str(doc_get(doc_get(meta, STR("labels")), STR("kubelet")));
    if (str_is(kubelet, "test"))
        return STAGE_NONE;
    *ret_delay = has(words, "trap ") ? until(player, doc_str_at(meta, "deletionTimestamp"), 0)
                                     : REMOVE_DELAY;
    return STAGE_REMOVE;
}

static enum stage next_of_pod(const struct sim_player *player, const struct doc *pod,
                              int64_t *ret_delay)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct str words = words_of(&arena, pod), phase = doc_str_at(pod, "status.phase");
    if (str_empty(doc_str_at(pod, "spec.nodeName")))
        return STAGE_NONE;
    if (doc_at(pod, "metadata.deletionTimestamp"))
        return removal(player, pod, words, ret_delay);
    if (str_is(phase, "Pending")) {
        *ret_delay = START_DELAY;
        return STAGE_START;
    }
    if (!str_is(phase, "Running") || !ends(words, pod))
        return STAGE_NONE;
    *ret_delay = until(player, doc_str_at(pod, "status.startTime"),
                       number_after(words, "sleep ", RUN_SECONDS));
    return STAGE_EXIT;
}

static enum stage next_of_node(const struct doc *node)
{
    for (doc_each(condition, doc_at(node, "status.conditions"))) {
        if (str_is(doc_str_at(condition, "type"), "Ready") &&
            str_is(doc_str_at(condition, "status"), "True"))
            return STAGE_NONE;
    }
    return STAGE_READY;
}

static enum stage next_of(const struct sim_player *player, const struct doc *object, bool pod,
                          int64_t *ret_delay)
{
    *ret_delay = 0;
    return pod ? next_of_pod(player, object, ret_delay) : next_of_node(object);
}

/* ---- doing it -------------------------------------------------------------------------------- */

static struct doc *ask(struct sim_player *player, struct arena *arena, enum kube_method method,
                       struct str path, const struct doc *body)
{
    struct sim_answer answer = SIM_ANSWER_INIT;
    cleanup_buf struct buf text = BUF_INIT(LIMIT_REQUEST_BODY);
    struct error err = ERROR_INIT;
    if (body)
        doc_print(&text, body);
    sim_server_handle(
        player->server,
        &(struct sim_request){.method = method,
                              .content = method == KUBE_PATCH ? KUBE_MERGE_PATCH : KUBE_JSON,
                              .path = path,
                              .body = buf_str(&text)},
        &answer);
    struct doc *doc = NULL;
    if (answer.status == 200)
        doc = doc_parse(arena, arena_str(arena, buf_str(&answer.body)), &err);
    buf_clear(&answer.body);
    return doc;
}

static struct str now(const struct sim_player *player, struct arena *arena)
{
    char text[TIME_TEXT_MAX];
    size_t n = time_format(text, loop_wall(player->loop));
    return arena_str(arena, str_make(text, n));
}

static void add_condition(struct sim_player *player, struct arena *arena, struct doc *status,
                          const char *type, const char *value, const char *reason)
{
    struct doc *condition = doc_new(arena, JSON_OBJECT);
    doc_set_str(arena, condition, "type", str_of(type));
    doc_set_str(arena, condition, "status", str_of(value));
    if (reason)
        doc_set_str(arena, condition, "reason", str_of(reason));
    doc_set_str(arena, condition, "lastTransitionTime", now(player, arena));
    doc_append(doc_ensure(arena, status, STR("conditions"), JSON_ARRAY), condition);
}

/* Of each container, with `state` (given to all of them). */
static void add_containers(struct arena *arena, const struct doc *pod, struct doc *status,
                           bool ready, const struct doc *state)
{
    struct doc *list = doc_ensure(arena, status, STR("containerStatuses"), JSON_ARRAY);
    for (doc_each(container, doc_at(pod, "spec.containers"))) {
        struct doc *one = doc_new(arena, JSON_OBJECT);
        doc_set_str(arena, one, "name", doc_str_at(container, "name"));
        doc_set_str(arena, one, "image", doc_str_at(container, "image"));
        doc_set(one, STR("ready"), doc_bool(arena, ready));
        doc_set(one, STR("started"), doc_bool(arena, ready));
        doc_set_i64(arena, one, "restartCount", 0);
        doc_set(one, STR("state"), doc_clone(arena, state));
        doc_append(list, one);
    }
}

static void fill_started(struct sim_player *player, struct arena *arena, const struct doc *pod,
                         struct doc *status)
{
    static const char *const types[] = {"PodScheduled", "Initialized", "ContainersReady", "Ready"};
    uint32_t address = FIRST_ADDRESS + ++player->addresses;
    struct doc *state = doc_new(arena, JSON_OBJECT);
    struct doc *running = doc_ensure(arena, state, STR("running"), JSON_OBJECT);
    doc_set_str(arena, running, "startedAt", now(player, arena));
    doc_set_str(arena, status, "phase", STR("Running"));
    doc_set_str(arena, status, "startTime", now(player, arena));
    doc_set_str(arena, status, "hostIP", STR("127.0.0.1"));
    doc_set_str(arena, status, "podIP",
                arena_printf(arena, "%u.%u.%u.%u", address >> 24, address >> 16 & 255,
                             address >> 8 & 255, address & 255));
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        add_condition(player, arena, status, types[i], "True", NULL);
    add_containers(arena, pod, status, true, state);
}

static void fill_ended(struct sim_player *player, struct arena *arena, const struct doc *pod,
                       struct doc *status)
{
    static const char *const types[] = {"ContainersReady", "Ready"};
    int64_t code = exit_code(words_of(arena, pod));
    struct doc *state = doc_new(arena, JSON_OBJECT);
    struct doc *ended = doc_ensure(arena, state, STR("terminated"), JSON_OBJECT);
    doc_set_i64(arena, ended, "exitCode", code);
    doc_set_str(arena, ended, "reason", code ? STR("Error") : STR("Completed"));
    doc_set_str(arena, ended, "startedAt", doc_str_at(pod, "status.startTime"));
    doc_set_str(arena, ended, "finishedAt", now(player, arena));
    doc_set_str(arena, status, "phase", code ? STR("Failed") : STR("Succeeded"));
    add_condition(player, arena, status, "PodScheduled", "True", NULL);
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        add_condition(player, arena, status, types[i], "False", "PodCompleted");
    add_containers(arena, pod, status, false, state);
}

static void remove_pod(struct sim_player *player, struct arena *arena, const struct act *act)
{
    struct doc *options = doc_new(arena, JSON_OBJECT);
    struct doc *preconditions = doc_ensure(arena, options, STR("preconditions"), JSON_OBJECT);
    doc_set_i64(arena, options, "gracePeriodSeconds", 0);
    doc_set_str(arena, preconditions, "uid", str_of(act->uid));
    (void)ask(player, arena, KUBE_DELETE, str_of(act->path), options);
}

static void do_stage(struct sim_player *player, struct arena *arena, const struct act *act,
                     const struct doc *object)
{
    struct doc *patch = doc_new(arena, JSON_OBJECT);
    struct doc *status = doc_ensure(arena, patch, STR("status"), JSON_OBJECT);
    if (act->stage == STAGE_REMOVE) {
        remove_pod(player, arena, act);
        return;
    }
    if (act->stage == STAGE_START)
        fill_started(player, arena, object, status);
    else if (act->stage == STAGE_EXIT)
        fill_ended(player, arena, object, status);
    else
        add_condition(player, arena, status, "Ready", "True", "KubeletReady");
    (void)ask(player, arena, KUBE_PATCH, arena_printf(arena, "%s/status", act->path), patch);
}

static void on_due(void *arg)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct act *act = arg;
    struct sim_player *player = act->player;
    int64_t delay;
    (void)map_del(&player->acts, str_of(act->uid));
    const struct doc *object = ask(player, &arena, KUBE_GET, str_of(act->path), NULL);
    if (str_is(doc_str_at(object, "metadata.uid"), act->uid) &&
        next_of(player, object, act->stage != STAGE_READY, &delay) == act->stage)
        do_stage(player, &arena, act, object);
    act_free(act);
}

/* ---- watches --------------------------------------------------------------------------------- */

static char *path_of(const struct doc *object, bool pod)
{
    struct str name = doc_str_at(object, "metadata.name");
    struct str ns = doc_str_at(object, "metadata.namespace");
    if (pod)
        return xasprintf("/api/v1/namespaces/%.*s/pods/%.*s", STR_ARG(ns), STR_ARG(name));
    return xasprintf("/api/v1/nodes/%.*s", STR_ARG(name));
}

/* One that is under way for the same stage keeps its time, but where pods are to go: the grace may
 * have been cut short. */
static void plan(struct sim_player *player, const struct doc *object, bool pod, enum stage stage,
                 int64_t delay)
{
    struct str uid = doc_str_at(object, "metadata.uid");
    struct act *act = map_get(&player->acts, uid);
    if (act && act->stage == stage && stage != STAGE_REMOVE)
        return;
    if (act)
        act_free(map_del(&player->acts, uid));
    if (stage == STAGE_NONE)
        return;
    act = xnew(struct act);
    act->player = player;
    act->stage = stage;
    act->path = path_of(object, pod);
    act->uid = str_dup(uid);
    loop_timer_init(&act->timer, on_due, act);
    loop_timer_set(player->loop, &act->timer, delay);
    (void)map_set(&player->acts, uid, act);
}

static void on_line(struct str line, void *arg)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct error err = ERROR_INIT;
    struct stream *stream = arg;
    struct sim_player *player = stream->player;
    const bool pod = stream == &player->pods;
    if (str_empty(line)) {
        stream->watch = NULL;
        loop_defer(player->loop, &stream->open);
        return;
    }
    const struct doc *event = doc_parse(&arena, line, &err);
    const struct doc *object = doc_get(event, STR("object"));
    int64_t delay = 0;
    enum stage stage = STAGE_NONE;
    if (!str_is(doc_str_at(event, "type"), "DELETED"))
        stage = next_of(player, object, pod, &delay);
    plan(player, object, pod, stage, delay);
}

static void open_stream(void *arg)
{
    struct stream *stream = arg;
    struct sim_answer answer = SIM_ANSWER_INIT;
    const struct sim_request request = {.method = KUBE_GET, .path = str_of(stream->path)};
    stream->watch = sim_server_watch(stream->player->server, &request, &answer, on_line, stream);
    buf_clear(&answer.body);
}

static void begin_stream(struct sim_player *player, struct stream *stream, const char *path)
{
    stream->player = player;
    stream->path = path;
    loop_deferred_init(&stream->open, open_stream, stream);
    open_stream(stream);
}

static void end_stream(struct stream *stream)
{
    loop_deferred_cancel(&stream->open);
    if (stream->watch)
        sim_watch_end(stream->watch);
}

struct sim_player *sim_player_new(struct loop *loop, struct sim_server *server)
{
    struct sim_player *player = xnew(struct sim_player);
    player->loop = loop;
    player->server = server;
    begin_stream(player, &player->nodes, "/api/v1/nodes?watch=1");
    begin_stream(player, &player->pods, "/api/v1/pods?watch=1");
    return player;
}

void sim_player_free(struct sim_player *player)
{
    if (!player)
        return;
    end_stream(&player->nodes);
    end_stream(&player->pods);
    map_clear_with(&player->acts, act_free);
    free(player);
}
