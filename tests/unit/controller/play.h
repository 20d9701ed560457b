/*
 * What user, scheduler, kubelet and garbage collector do to the objects of server.h, and what a
 * test reads of the job "j".
 */
#ifndef PUMICE_TESTS_UNIT_CONTROLLER_PLAY_H
#define PUMICE_TESTS_UNIT_CONTROLLER_PLAY_H

#include "server.h"

/* ---- the user ----------------------------------------------------------------------------------
 */

/* Creates the job with this spec, or gives it that spec. */
static inline void play_job_named(struct server *server, const char *name, const char *uid,
                                  const char *spec)
{
    cJSON *job = server_get(server, SERVER_JOBS, name);

    if (job) {
        cJSON *meta = json_at(job, "metadata");
        json_set(job, "spec", json_parse(str_of(spec)));
        json_set(meta, "generation", cJSON_CreateNumber(json_number(meta, "generation") + 1));
        server_touch(server, SERVER_JOBS, job);
        return;
    }
    job = cJSON_CreateObject();
    json_set(json_member(job, "metadata"), "name", cJSON_CreateString(name));
    json_set(json_member(job, "metadata"), "generation", cJSON_CreateNumber(1));
    json_set(job, "spec", json_parse(str_of(spec)));
    (void)server_put(server, SERVER_JOBS, job, uid);
}

static inline void play_job(struct server *server, const char *spec)
{
    play_job_named(server, "j", JOB_UID, spec);
}

static inline const cJSON *play_owner(const cJSON *object)
{
    return cJSON_GetArrayItem(json_at(json_at(object, "metadata"), "ownerReferences"), 0);
}

/* Names of the objects of a kind whose job is gone. */
static inline void play_orphans(struct server *server, enum server_kind kind, struct buf *names)
{
    struct str name;
    void *object, *job;

    for (size_t i = 0; map_next(&server->objects[kind], &i, &name, &object);) {
        const char *owner = json_text(play_owner(object), "uid");
        bool gone = strcmp(json_text(play_owner(object), "kind"), "Job") == 0;
        for (size_t k = 0; map_next(&server->objects[SERVER_JOBS], &k, NULL, &job);)
            gone = gone && strcmp(json_text(json_at(job, "metadata"), "uid"), owner) != 0;
        if (gone)
            buf_printf(names, "%.*s\n", STR_ARG(name));
    }
}

/* The garbage collector deletes what belongs to jobs that are gone. */
static inline void play_gc(struct server *server)
{
    for (int kind = SERVER_PODS; kind <= SERVER_GROUPS; kind++) {
        cleanup_buf struct buf names = BUF_INIT((size_t)1 << 20);
        play_orphans(server, (enum server_kind)kind, &names);
        struct str rest = buf_str(&names), line;
        while (str_split(&rest, '\n', &line) && line.n) {
            cleanup_free char *name = str_dup(line);
            if (kind == SERVER_PODS)
                server_delete_pod(server, name);
            else
                server_remove(server, SERVER_GROUPS, name);
        }
    }
}

static inline void play_delete_job(struct server *server)
{
    server_remove(server, SERVER_JOBS, "j");
    play_gc(server);
}

/* A Command for a job; `uid` NULL leaves the UID of the target out. */
static inline void play_command_for(struct server *server, const char *name, const char *action,
                                    const char *job, const char *uid)
{
    cJSON *command = cJSON_CreateObject(), *target = json_member(command, "target");

    json_set(json_member(command, "metadata"), "name", cJSON_CreateString(name));
    json_set(command, "action", cJSON_CreateString(action));
    json_set(target, "apiVersion", cJSON_CreateString(BATCH_API_VERSION));
    json_set(target, "kind", cJSON_CreateString("Job"));
    json_set(target, "name", cJSON_CreateString(job));
    if (uid)
        json_set(target, "uid", cJSON_CreateString(uid));
    (void)server_put(server, SERVER_COMMANDS, command, NULL);
}

static inline void play_command(struct server *server, const char *name, const char *action)
{
    play_command_for(server, name, action, "j", JOB_UID);
}

/* ---- the scheduler -----------------------------------------------------------------------------
 */

/* Gives the job's PodGroup a phase. */
static inline void play_group(struct server *server, const char *phase)
{
    cJSON *group = server_get(server, SERVER_GROUPS, GROUP_NAME);

    assert_non_null(group);
    json_set(json_member(group, "status"), "phase", cJSON_CreateString(phase));
    server_touch(server, SERVER_GROUPS, group);
}

static inline void play_admit(struct server *server)
{
    play_group(server, "Inqueue");
}

/* ---- the kubelet -------------------------------------------------------------------------------
 */

/* Merges `patch` into a pod. */
static inline void play_pod_patch(struct server *server, const char *name, const char *patch)
{
    cJSON *pod = server_get(server, SERVER_PODS, name), *parsed = json_parse(str_of(patch));

    assert_non_null(pod);
    json_merge(pod, parsed);
    cJSON_Delete(parsed);
    server_touch(server, SERVER_PODS, pod);
}

static inline void play_pod(struct server *server, const char *name, const char *phase)
{
    const bool running = strcmp(phase, "Running") == 0;
    cleanup_free char *patch =
        xasprintf("{\"status\":{\"phase\":\"%s\",\"containerStatuses\":[{\"ready\":%s}]}}", phase,
                  running ? "true" : "false");

    play_pod_patch(server, name, patch);
}

/* The pod fails, with containers that ended with these codes. */
static inline void play_exit(struct server *server, const char *name, int first, int second)
{
    char at[TIME_TEXT_MAX];

    (void)time_format(at, loop_wall(server->loop));
    cleanup_free char *patch = xasprintf(
        "{\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"state\":{\"terminated\":{"
        "\"exitCode\":%d,\"finishedAt\":\"%s\"}}},{\"state\":{\"terminated\":{\"exitCode\":%d,"
        "\"finishedAt\":\"%s\"}}}]}}",
        first, at, second, at);
    play_pod_patch(server, name, patch);
}

/* Every pod that has not ended and is not about to go moves to `phase`. */
static inline void play_pods(struct server *server, const char *phase)
{
    struct str name;
    void *value;

    for (size_t i = 0; map_next(&server->objects[SERVER_PODS], &i, &name, &value);) {
        const cJSON *pod = value;
        const char *now = json_text(json_at(pod, "status"), "phase");
        if (json_at(json_at(pod, "metadata"), "deletionTimestamp") ||
            strcmp(now, "Succeeded") == 0 || strcmp(now, "Failed") == 0)
            continue;
        cleanup_free char *copy = str_dup(name);
        play_pod(server, copy, phase);
    }
}

/* ---- what a test reads -------------------------------------------------------------------------
 */

static inline const cJSON *play_status(struct server *server)
{
    return json_at(server_get(server, SERVER_JOBS, "j"), "status");
}

/* The status as text; valid until the next call. */
static inline struct str play_status_text(struct server *server)
{
    free(server->text);
    server->text = json_print(play_status(server));
    return str_of(server->text);
}

static inline const char *play_phase(struct server *server)
{
    return json_text(json_at(play_status(server), "state"), "phase");
}

static inline const char *play_message(struct server *server)
{
    return json_text(json_at(play_status(server), "state"), "message");
}

static inline int play_number(struct server *server, const char *key)
{
    return json_number(play_status(server), key);
}

static inline const char *play_memory(struct server *server, const char *key)
{
    return json_text(json_at(play_status(server), "controlledResources"), key);
}

static inline bool play_has_pod(struct server *server, const char *name)
{
    return server_get(server, SERVER_PODS, name) != NULL;
}

static inline size_t play_pod_count(struct server *server)
{
    return map_count(&server->objects[SERVER_PODS]);
}

/* How often a pod of that name was made. */
static inline int play_made(struct server *server, const char *name)
{
    return (int)(intptr_t)map_get(&server->made, str_of(name));
}

/* How many Events (and lines of other records) begin with `start`. */
static inline int play_lines(const struct buf *lines, const char *start)
{
    struct str rest = buf_str(lines), line;
    int count = 0;

    while (str_split(&rest, '\n', &line))
        count += str_starts(line, str_of(start));
    return count;
}

static inline struct job_control *play_control(struct server *server)
{
    return map_get(&server->controller->by_uid, STR(JOB_UID));
}

/* ---- jobs --------------------------------------------------------------------------------------
 */

#define TASK(name, replicas, more)                                                                 \
    "{\"name\":\"" name "\",\"replicas\":" #replicas more                                          \
    ",\"template\":{\"spec\":{\"containers\":[{\"name\":\"m\"}]}}}"
#define JOB(minimum, more, tasks)                                                                  \
    "{\"minAvailable\":" #minimum ",\"queue\":\"default\"" more ",\"tasks\":[" tasks "]}"
/* One task "w" without a word more. */
#define SPEC(replicas, minimum) JOB(minimum, "", TASK("w", replicas, ""))
#define POLICIES(list) ",\"policies\":[" list "]"
#define POLICY(event, action) "{\"event\":\"" event "\",\"action\":\"" action "\"}"

/* Starts the job; the scheduler lets it in and all its pods run. */
static inline void play_start(struct server *server, const char *spec)
{
    server->group_phase = "Inqueue";
    server->pod_phase = "Running";
    play_job(server, spec);
    run(server, 2000);
    assert_string_equal(play_phase(server), "Running");
}

#endif
