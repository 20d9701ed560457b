/*
 * Obeying and deleting Commands: see commands.h.
 */
#include "controller/job/commands.h"
#include "api/names.h"
#include "base/intern.h"
#include "base/log.h"
#include "controller/job/alive.h"
#include "controller/job/lifecycle.h"
#include "controller/job/wire.h"

/* The DELETE of one command, by its UID in controller->command_deletes. */
struct command_delete {
    struct controller *controller;
    const char *uid, *ns, *name; /* interned */
    uint8_t shard;               /* of its target */
    struct window_request *request;
    struct loop_timer retry;
    struct backoff backoff;
};

/* ---- deletion ---------------------------------------------------------------------------------
 */

static void delete_free(struct command_delete *delete)
{
    loop_timer_cancel(delete->controller->loop, &delete->retry);
    store_request_end(delete->controller->commands, str_of(delete->ns), str_of(delete->name));
    intern_put(delete->uid);
    intern_put(delete->ns);
    intern_put(delete->name);
    free(delete);
}

static bool render(struct buf *path, struct buf *body, void *arg)
{
    const struct command_delete *delete = arg;

    buf_add_cstr(path, "/apis/" BUS_API_VERSION "/namespaces/");
    kube_escape(path, str_of(delete->ns));
    buf_add_cstr(path, "/commands/");
    kube_escape(path, str_of(delete->name));
    return write_delete_options(body, delete->uid);
}

static void submit(void *arg);

static void deleted(const struct kube_result *result, void *arg)
{
    struct command_delete *delete = arg;
    struct controller *controller = delete->controller;

    delete->request = NULL;
    if (result->error.cls == ERROR_NONE) {
        store_apply_delete_answer(controller->commands, str_of(delete->ns), str_of(delete->name),
                                  str_of(delete->uid), result->body);
    } else if (result->error.cls == ERROR_NOT_FOUND || result->error.cls == ERROR_CONFLICT) {
        store_forget(controller->commands, str_of(delete->ns), str_of(delete->name),
                     str_of(delete->uid));
    } else if (result->error.cls != ERROR_CANCELLED) {
        loop_timer_set(controller->loop, &delete->retry,
                       backoff_next(&delete->backoff, loop_rng(controller->loop)));
        return;
    }
    map_del(&controller->command_deletes, str_of(delete->uid));
    delete_free(delete);
}

static void submit(void *arg)
{
    struct command_delete *delete = arg;

    struct controller *controller = delete->controller;

    delete->request = window_submit(controller->window,
                                    &(struct window_spec){.cls = WINDOW_DELETE,
                                                          .gate = &controller->gates[delete->shard],
                                                          .method = KUBE_DELETE,
                                                          .render = render,
                                                          .done = deleted,
                                                          .arg = delete});
}

static void command_remove(struct controller *controller, const struct command *command)
{
    struct command_delete *delete;

    if (command->meta.deleted_ns ||
        map_has(&controller->command_deletes, str_of(command->meta.uid)))
        return;
    delete = xnew(struct command_delete);
    delete->controller = controller;
    delete->uid = intern_ref(command->meta.uid);
    delete->ns = intern_ref(command->meta.ns);
    delete->name = intern_ref(command->meta.name);
    delete->shard = shard_of(command->meta.ns, command->target_name);
    loop_timer_init(&delete->retry, submit, delete);
    backoff_init(&delete->backoff, NSEC_PER_SEC / 5, 30 * NSEC_PER_SEC);
    map_set(&controller->command_deletes, str_of(delete->uid), delete);
    store_request_begin(controller->commands, str_of(delete->ns), str_of(delete->name));
    submit(delete);
}

void commands_let_go_shards(struct controller *controller, shard_set set)
{
    void *value;

    for (size_t i = 0; map_next(&controller->command_deletes, &i, NULL, &value);) {
        struct command_delete *delete = value;
        if (!shard_in(set, delete->shard))
            continue;
        if (delete->request)
            (void)window_cancel(controller->window, delete->request);
        (void)map_del(&controller->command_deletes, str_of(delete->uid));
        delete_free(delete);
    }
}

void commands_cancel(struct controller *controller)
{
    loop_timer_cancel(controller->loop, &controller->sweep);
    commands_let_go_shards(controller, SHARDS_ALL);
    map_clear(&controller->command_deletes);
}

/* ---- whose command it is ----------------------------------------------------------------------
 */

static bool for_a_job(const struct command *command)
{
    return strcmp(command->target_kind, "Job") == 0 &&
           strcmp(command->target_api_version, BATCH_API_VERSION) == 0;
}

/* Its target is, or would be, one of the jobs that this process cares for. */
static bool is_our_business(const struct controller *controller, const struct command *command)
{
    return for_a_job(command) &&
           shard_in(controller->shards, shard_of(command->meta.ns, command->target_name));
}

/* A command without a UID is for whatever has the name. */
static bool is_for(const struct command *command, const struct job_control *control)
{
    return for_a_job(command) && command->meta.ns == control->ns &&
           command->target_name == control->name &&
           (!*command->target_uid || command->target_uid == control->uid);
}

static struct job_control *find(struct controller *controller, const struct command *command)
{
    cleanup_buf struct buf key = BUF_INIT(1024);

    buf_printf(&key, "%s/%s", command->meta.ns, command->target_name);
    struct job_control *control = map_get(&controller->by_name, buf_str(&key));
    return control && is_for(command, control) ? control : NULL;
}

static void detach(struct job_control *control, const struct command *command)
{
    if (command_list_remove(&control->commands, command))
        job_control_mark(control); /* it is the next one's turn */
}

static void attach(struct job_control *control, struct command *command)
{
    command_list_add(&control->commands, command);
    job_control_mark(control);
}

void commands_changed(struct controller *controller, struct command *old, struct command *now)
{
    struct job_control *before = old ? find(controller, old) : NULL;
    struct job_control *after = now ? find(controller, now) : NULL;

    if (before)
        detach(before, old);
    if (after)
        attach(after, now);
    else if (now && is_our_business(controller, now))
        commands_sweep_later(controller);
}

void commands_attach(struct job_control *control)
{
    size_t position = 0;
    struct command *command;

    while ((command = store_next(control->controller->commands, &position))) {
        if (is_for(command, control))
            attach(control, command);
    }
}

void commands_let_go(struct job_control *control)
{
    if (control->commands.n > 0)
        commands_sweep_later(control->controller);
    vec_clear(&control->commands);
}

/* ---- settling ---------------------------------------------------------------------------------
 */

/* A targeted action names no pod here: it can do nothing. */
static bool has_effect(const struct job_control *control, const struct command *command)
{
    const struct job_transition *transition =
        job_transition(control->job->status.phase, job_action_of(str_of(command->action)));

    return transition && transition->kill != JOB_KILL_TARGET;
}

static bool is_going(const struct job_control *control, const struct command *command)
{
    return command->meta.deleted_ns ||
           map_has(&control->controller->command_deletes, str_of(command->meta.uid));
}

static void ignore(struct job_control *control, const struct command *command)
{
    job_event(control, EVENT_WARNING, "CommandIgnored",
              "Command %s: action \"%.64s\" does nothing to a job in phase %s", command->meta.name,
              command->action, job_phase_name(control->job->status.phase));
    command_remove(control->controller, command);
}

void commands_settle(struct job_control *control)
{
    const char *obeyed = kube_pairs_get(&control->job->status.controlled, MEMORY_COMMAND);
    bool turn = true;

    if (control->status_write.request || (control->commands.n > 0 && !alive_checked(control)))
        return;
    /* The one that was obeyed goes wherever it stands: the others wait for that. */
    for (size_t i = 0; i < control->commands.n; i++) {
        const struct command *command = control->commands.items[i];
        if (obeyed && strcmp(obeyed, command->meta.uid) == 0) {
            command_remove(control->controller, command);
            continue;
        }
        /* The rest waits for its turn: what it does depends on what those before it did. */
        if (turn && !is_going(control, command) && !has_effect(control, command))
            ignore(control, command);
        turn = false;
    }
}

static void sweep_now(void *arg)
{
    struct controller *controller = arg;

    controller->sweep_due = true;
    loop_defer(controller->loop, &controller->pass);
}

void commands_init(struct controller *controller)
{
    loop_timer_init(&controller->sweep, sweep_now, controller);
}

/* Those that come while others wait are for the sweep after, so that a stream of them puts off
 * none. */
void commands_sweep_later(struct controller *controller)
{
    size_t position = 0;
    const struct command *command;

    if (loop_timer_active(&controller->sweep))
        return;
    controller->sweep_rv = 0;
    while ((command = store_next(controller->commands, &position))) {
        if (command->meta.rv > controller->sweep_rv)
            controller->sweep_rv = command->meta.rv;
    }
    loop_timer_set(controller->loop, &controller->sweep, COMMAND_PATIENCE);
}

void commands_sweep(struct controller *controller)
{
    size_t position = 0;
    struct command *command;
    bool younger = false;

    if (!controller->sweep_due)
        return;
    controller->sweep_due = false;
    while ((command = store_next(controller->commands, &position))) {
        if (!is_our_business(controller, command) || find(controller, command))
            continue;
        if (command->meta.rv > controller->sweep_rv) {
            younger = true;
            continue;
        }
        log_warn("command %s/%s: there is no job %s%s%s, it is deleted", command->meta.ns,
                 command->meta.name, command->target_name, *command->target_uid ? " of UID " : "",
                 command->target_uid);
        command_remove(controller, command);
    }
    if (younger)
        commands_sweep_later(controller);
}
