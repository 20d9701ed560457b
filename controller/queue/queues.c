/*
 * Keeping Queues: see queues.h. An entry exists for each name that a Queue, a PodGroup or a Command
 * uses. A pass over the dirty ones finds the first thing that each lacks and asks for that; the
 * answer goes through the stores and makes the entry dirty again.
 */
#include "api/names.h"
#include "api/podgroup.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/vec.h"
#include "controller/queue/private.h"
#include "controller/queue/state.h"
#include "json/writer.h"
#include <inttypes.h>

#define PATH_QUEUE "/apis/" SCHEDULING_API_VERSION "/queues/"

/* ---- entries ----------------------------------------------------------------------------------
 */

static void mark(struct queue_entry *entry)
{
    if (!entry->dirty) {
        entry->dirty = true;
        list_append(&entry->queues->dirty, &entry->dirty_link);
    }
    loop_defer(entry->queues->loop, &entry->queues->pass);
}

static void retry_now(void *arg)
{
    mark(arg);
}

static struct queue_entry *entry_get(struct queues *queues, const char *name)
{
    struct queue_entry *entry = map_get(&queues->entries, str_of(name));

    if (entry)
        return entry;
    entry = xnew(struct queue_entry);
    entry->queues = queues;
    entry->name = intern_get(str_of(name));
    list_init(&entry->dirty_link);
    loop_timer_init(&entry->retry, retry_now, entry);
    backoff_init(&entry->backoff, NSEC_PER_SEC / 10, 30 * NSEC_PER_SEC);
    map_set(&queues->entries, str_of(name), entry);
    return entry;
}

static void forget_target(struct queue_entry *entry)
{
    intern_put(take_ptr(entry->uid));
    intern_put(take_ptr(entry->rv));
    intern_put(take_ptr(entry->ns));
    intern_put(take_ptr(entry->what));
}

static void entry_free(struct queue_entry *entry)
{
    if (entry->request)
        (void)window_cancel(entry->queues->window, entry->request);
    loop_timer_cancel(entry->queues->loop, &entry->retry);
    list_remove(&entry->dirty_link);
    forget_target(entry);
    vec_clear(&entry->commands);
    intern_put(entry->obeyed);
    intern_put(entry->name);
    free(entry);
}

/* ---- what a queue lacks -----------------------------------------------------------------------
 */

static const struct queue_entry *parent_of(const struct queue_entry *entry)
{
    const char *parent = entry->queue ? entry->queue->parent : "";

    return *parent ? map_get(&entry->queues->entries, str_of(parent)) : NULL;
}

static struct command *first_command(const struct queue_entry *entry)
{
    for (size_t i = 0; i < entry->commands.n; i++) {
        if (!entry->commands.items[i]->meta.deleted_ns)
            return entry->commands.items[i];
    }
    return NULL;
}

/* One for another queue of that name, or that was obeyed, asks for nothing. */
static enum queue_action action_of(const struct queue_entry *entry, const struct command *command)
{
    if (!command || command->meta.uid == entry->obeyed ||
        (*command->target_uid && command->target_uid != entry->queue->meta.uid))
        return QUEUE_SYNC;
    if (strcmp(command->action, "OpenQueue") == 0)
        return QUEUE_OPEN_IT;
    return strcmp(command->action, "CloseQueue") == 0 ? QUEUE_CLOSE_IT : QUEUE_SYNC;
}

static struct queue_facts facts_of(const struct queue_entry *entry)
{
    const struct queue *queue = entry->queue;
    const struct queue_entry *parent = parent_of(entry);
    const struct command *command = first_command(entry);
    const char *mark_text = kube_pairs_get(&queue->meta.annotations, KEY_CLOSED_BY_PARENT);

    return (struct queue_facts){
        .state = queue->state,
        .action = action_of(entry, command),
        .root = strcmp(queue->meta.name, ROOT_QUEUE) == 0,
        .has_groups = entry->groups > 0,
        .parent_closed = parent && parent->queue && queue_state_is_closed(parent->queue->state),
        .closed_by_parent = mark_text && strcmp(mark_text, "true") == 0,
    };
}

/* The first thing that is to be written for the queue, and the state if it is that. */
static enum queue_step next_step(const struct queue_entry *entry, const char **ret_state)
{
    const enum queue_step command = first_command(entry) ? STEP_COMMAND : STEP_NONE;

    if (!entry->queue || entry->queue->meta.deleted_ns)
        return command;
    const struct queue_facts facts = facts_of(entry);
    *ret_state = queue_state_next(&facts);
    if (!facts.root && !*entry->queue->parent)
        return STEP_PARENT;
    if (facts.parent_closed && !facts.root && !facts.closed_by_parent &&
        !queue_state_is_closed(facts.state) && queue_state_is_closed(*ret_state))
        return STEP_MARK;
    if (!entry->queue->has_state || strcmp(*ret_state, facts.state) != 0)
        return STEP_STATE;
    if (facts.closed_by_parent && !facts.parent_closed && !queue_state_is_closed(facts.state))
        return STEP_UNMARK;
    return command;
}

/* ---- events -----------------------------------------------------------------------------------
 */

static void tell(const struct queue_entry *entry, enum event_type type, const char *reason,
                 const char *text)
{
    const struct event_ref ref = {.api_version = SCHEDULING_API_VERSION,
                                  .kind = "Queue",
                                  .ns = "",
                                  .name = entry->name,
                                  .uid = entry->queue ? entry->queue->meta.uid : ""};

    if (entry->queue)
        event_record(entry->queues->events, &ref, type, reason, "%s", text);
}

/* A Command that is about to be deleted without having been obeyed. */
static void explain(const struct queue_entry *entry, const struct command *command)
{
    if (command->meta.uid == entry->obeyed)
        return;
    if (!entry->queue) {
        log_warn("command %s/%s: there is no queue %s, it is deleted", command->meta.ns,
                 command->meta.name, entry->name);
        return;
    }
    const struct queue_facts facts = facts_of(entry);
    const char *refused = queue_action_refused(&facts);
    if (refused)
        tell(entry, EVENT_WARNING, command->action, refused);
    else if (facts.action == QUEUE_SYNC)
        tell(entry, EVENT_WARNING, "CommandIgnored",
             "its action is not one of queues, or it is for another queue of that name");
}

static void tell_written(struct queue_entry *entry)
{
    const struct command *command = first_command(entry);

    if (queue_state_is_closed(entry->state) &&
        !(entry->queue && strcmp(entry->queue->state, QUEUE_CLOSING) == 0))
        tell(entry, EVENT_NORMAL, "CloseQueue", "Close queue succeed");
    if (entry->queue && action_of(entry, command) != QUEUE_SYNC) {
        intern_put(entry->obeyed);
        entry->obeyed = intern_ref(command->meta.uid);
    }
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static void write_meta(struct json_writer *w, const struct queue_entry *entry)
{
    json_w_member_object(w, "metadata");
    json_w_member_str(w, "uid", str_of(entry->uid));
    if (entry->step == STEP_STATE) {
        json_w_member_str(w, "name", str_of(entry->name));
        json_w_member_str(w, "resourceVersion", str_of(entry->rv));
    } else if (entry->step != STEP_PARENT) {
        json_w_member_object(w, "annotations");
        json_w_member_str(w, KEY_CLOSED_BY_PARENT,
                          entry->step == STEP_MARK ? STR("true") : STR("false"));
        json_w_end_object(w);
    }
    json_w_end_object(w);
}

static bool render_queue(struct buf *path, struct buf *body, void *arg)
{
    const struct queue_entry *entry = arg;
    struct json_writer w = json_writer(body);
    const char *state = "";

    if (next_step(entry, &state) != entry->step || entry->queue->meta.uid != entry->uid ||
        (entry->step == STEP_STATE && strcmp(state, entry->state) != 0))
        return false; /* things have changed while it waited */
    buf_add_cstr(path, PATH_QUEUE);
    kube_escape(path, str_of(entry->name));
    json_w_object(&w);
    if (entry->step == STEP_STATE) {
        buf_add_cstr(path, "/status?fieldManager=queue-controller&force=true");
        json_w_member_str(&w, "apiVersion", STR(SCHEDULING_API_VERSION));
        json_w_member_str(&w, "kind", STR("Queue"));
    }
    write_meta(&w, entry);
    if (entry->step == STEP_STATE) {
        json_w_member_object(&w, "status");
        json_w_member_str(&w, "state", str_of(entry->state));
        json_w_end_object(&w);
    } else if (entry->step == STEP_PARENT) {
        json_w_member_object(&w, "spec");
        json_w_member_str(&w, "parent", STR(ROOT_QUEUE));
        json_w_end_object(&w);
    }
    json_w_end_object(&w);
    return true;
}

static bool render_command(struct buf *path, struct buf *body, void *arg)
{
    const struct queue_entry *entry = arg;

    buf_add_cstr(path, "/apis/" BUS_API_VERSION "/namespaces/");
    kube_escape(path, str_of(entry->ns));
    buf_add_cstr(path, "/commands/");
    kube_escape(path, str_of(entry->what));
    return buf_printf(body,
                      "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                      "\"preconditions\":{\"uid\":\"%s\"}}",
                      entry->uid);
}

static void apply_answer(struct queue_entry *entry, const struct kube_result *result)
{
    const struct queues_stores *stores = &entry->queues->stores;
    const bool gone = result->error.cls == ERROR_NOT_FOUND || result->error.cls == ERROR_CONFLICT;

    if (entry->step == STEP_COMMAND && gone)
        store_forget(stores->commands, str_of(entry->ns), str_of(entry->what), str_of(entry->uid));
    else if (result->error.cls == ERROR_NONE && entry->step == STEP_COMMAND)
        store_apply_delete_answer(stores->commands, str_of(entry->ns), str_of(entry->what),
                                  str_of(entry->uid), result->body);
    else if (result->error.cls == ERROR_NONE)
        (void)store_apply(stores->queues, result->body);
}

static void try_later(struct queue_entry *entry)
{
    struct loop *loop = entry->queues->loop;

    loop_timer_set(loop, &entry->retry, backoff_next(&entry->backoff, loop_rng(loop)));
}

/* The write was taken and left the queue as we know it: it would be asked for again at once. */
static bool changed_nothing(const struct queue_entry *entry)
{
    uint64_t rv = 0;

    return entry->step != STEP_COMMAND && entry->queue && str_to_u64(str_of(entry->rv), &rv) &&
           entry->queue->meta.rv == rv;
}

static void answered(const struct kube_result *result, void *arg)
{
    struct queue_entry *entry = arg;
    const bool settled = entry->step == STEP_COMMAND && (result->error.cls == ERROR_NOT_FOUND ||
                                                         result->error.cls == ERROR_CONFLICT);

    entry->request = NULL;
    if (result->error.cls == ERROR_NONE && entry->step == STEP_STATE)
        tell_written(entry);
    apply_answer(entry, result);
    if (result->error.cls == ERROR_NONE && changed_nothing(entry)) {
        try_later(entry);
        return;
    }
    if (result->error.cls == ERROR_NONE || settled || result->error.cls == ERROR_CANCELLED) {
        backoff_reset(&entry->backoff);
        mark(entry);
        return;
    }
    log_warn("queue %s: %s", entry->name, result->error.text);
    if (entry->step == STEP_STATE && result->error.cls != ERROR_CONFLICT)
        tell(entry, EVENT_WARNING, queue_state_is_closed(entry->state) ? "CloseQueue" : "OpenQueue",
             result->error.text);
    try_later(entry);
}

/* Notes what the request is about: a Command, or the queue as it is now. */
static void prepare(struct queue_entry *entry, enum queue_step step, const char *state)
{
    const struct command *command = first_command(entry);
    const struct kube_meta *meta = step == STEP_COMMAND ? &command->meta : &entry->queue->meta;
    cleanup_buf struct buf rv = BUF_INIT(32);

    forget_target(entry);
    entry->step = step;
    entry->state = state;
    buf_printf(&rv, "%" PRIu64, meta->rv);
    entry->uid = intern_ref(meta->uid);
    entry->rv = intern_get(buf_str(&rv));
    entry->ns = intern_ref(meta->ns);
    entry->what = intern_ref(meta->name);
    if (step == STEP_COMMAND)
        explain(entry, command);
}

static void submit(struct queue_entry *entry)
{
    const bool command = entry->step == STEP_COMMAND;
    const struct window_spec spec = {
        .cls = command ? WINDOW_DELETE : WINDOW_STATUS,
        .method = command ? KUBE_DELETE : KUBE_PATCH,
        .content =
            command ? KUBE_JSON : (entry->step == STEP_STATE ? KUBE_APPLY_PATCH : KUBE_MERGE_PATCH),
        .render = command ? render_command : render_queue,
        .done = answered,
        .arg = entry,
    };

    entry->request = window_submit(entry->queues->window, &spec);
}

/* True while a Command has to wait for a queue that is not known. */
static bool waits_for_queue(struct queue_entry *entry)
{
    if (entry->queue || entry->waited)
        return false;
    entry->waited = true;
    loop_timer_set(entry->queues->loop, &entry->retry, COMMAND_PATIENCE);
    return true;
}

static void look_at(struct queue_entry *entry)
{
    const char *state = "";
    enum queue_step step;

    if (entry->request || loop_timer_active(&entry->retry))
        return;
    step = next_step(entry, &state);
    if (step == STEP_COMMAND && waits_for_queue(entry))
        return;
    if (step != STEP_NONE) {
        prepare(entry, step, state);
        submit(entry);
    } else if (!entry->queue && entry->groups == 0 && entry->commands.n == 0) {
        list_append(&entry->queues->over, &entry->dirty_link);
    }
}

static void free_over(struct queues *queues)
{
    list_each(link, &queues->over)
    {
        struct queue_entry *entry = container_of(link, struct queue_entry, dirty_link);
        (void)map_del(&queues->entries, str_of(entry->name));
        entry_free(entry);
    }
}

static void run_pass(void *arg)
{
    struct queues *queues = arg;

    if (!queues->leading || !store_synced(queues->stores.queues) ||
        !store_synced(queues->stores.podgroups) || !store_synced(queues->stores.commands))
        return;
    while (!list_empty(&queues->dirty)) {
        struct queue_entry *entry =
            container_of(queues->dirty.next, struct queue_entry, dirty_link);
        list_remove(&entry->dirty_link);
        entry->dirty = false;
        look_at(entry);
    }
    free_over(queues);
}

/* ---- changes ----------------------------------------------------------------------------------
 */

/* Only who leads tells, so that what several processes tell can be added up. */
static void tell_count(const struct queue_entry *entry, enum queue_phase phase)
{
    if (entry->queue && entry->queues->leading)
        queue_metrics_set(&entry->queues->metrics, entry->name, phase, entry->by_phase[phase]);
}

static void tell_counts(const struct queue_entry *entry)
{
    if (!entry->queue || !entry->queues->leading)
        queue_metrics_gone(&entry->queues->metrics, entry->name);
    for (size_t i = 0; i < QUEUE_PHASE_COUNT; i++)
        tell_count(entry, (enum queue_phase)i);
}

static void tell_all(const struct queues *queues)
{
    void *entry;

    for (size_t i = 0; map_next(&queues->entries, &i, NULL, &entry);)
        tell_counts(entry);
}

/* What is below it follows its state. */
static void mark_children(struct queues *queues, const char *name)
{
    void *value;

    for (size_t i = 0; map_next(&queues->entries, &i, NULL, &value);) {
        struct queue_entry *child = value;
        if (child->queue && child->queue->parent == name)
            mark(child);
    }
}

static void queue_changed(void *arg, void *old_object, void *new_object)
{
    struct queues *queues = arg;
    struct queue *old = old_object, *now = new_object;
    struct queue_entry *entry = entry_get(queues, (now ? now : old)->meta.name);

    if (!entry->queue) {
        entry->waited = false;
        loop_timer_cancel(queues->loop, &entry->retry);
    }
    entry->queue = now;
    tell_counts(entry);
    mark(entry);
    if (!old || !now || old->state != now->state)
        mark_children(queues, entry->name);
}

/* One PodGroup more or less; only the first and the last can change the state. */
static void count_group(struct queues *queues, const struct podgroup *podgroup, bool more)
{
    struct queue_entry *entry = entry_get(queues, podgroup->queue);
    const enum queue_phase phase = queue_phase_of(podgroup->phase);
    const uint32_t change = more ? 1 : UINT32_MAX; /* one less */

    entry->groups += change;
    entry->by_phase[phase] += change;
    tell_count(entry, phase);
    if (entry->groups <= 1)
        mark(entry);
}

static void group_changed(void *arg, void *old_object, void *new_object)
{
    struct podgroup *old = old_object, *now = new_object;

    if (old && now && old->queue == now->queue && old->phase == now->phase)
        return;
    if (now)
        count_group(arg, now, true);
    if (old)
        count_group(arg, old, false);
}

static bool for_a_queue(const struct command *command)
{
    return command && strcmp(command->target_kind, "Queue") == 0 &&
           strcmp(command->target_api_version, SCHEDULING_API_VERSION) == 0;
}

static void add_command(struct queue_entry *entry, struct command *command)
{
    command_list_add(&entry->commands, command);
    mark(entry);
}

static void remove_command(struct queue_entry *entry, const struct command *command)
{
    (void)command_list_remove(&entry->commands, command);
    if (entry->commands.n == 0)
        entry->waited = false;
    mark(entry);
}

static void command_changed(void *arg, void *old_object, void *new_object)
{
    struct command *old = old_object, *now = new_object;

    if (for_a_queue(old))
        remove_command(entry_get(arg, old->target_name), old);
    if (for_a_queue(now))
        add_command(entry_get(arg, now->target_name), now);
}

/* ---- life -------------------------------------------------------------------------------------
 */

static void list_complete(void *arg)
{
    struct queues *queues = arg;

    loop_defer(queues->loop, &queues->pass);
}

struct queues *queues_new(struct loop *loop, struct window *window, struct event_recorder *events,
                          const struct queues_stores *stores)
{
    struct queues *queues = xnew(struct queues);

    queues->loop = loop;
    queues->window = window;
    queues->events = events;
    queues->stores = *stores;
    list_init(&queues->dirty);
    list_init(&queues->over);
    loop_deferred_init(&queues->pass, run_pass, queues);
    queues->on_queues =
        (struct store_handler){.changed = queue_changed, .synced = list_complete, .arg = queues};
    queues->on_podgroups =
        (struct store_handler){.changed = group_changed, .synced = list_complete, .arg = queues};
    queues->on_commands =
        (struct store_handler){.changed = command_changed, .synced = list_complete, .arg = queues};
    store_subscribe(stores->queues, &queues->on_queues);
    store_subscribe(stores->podgroups, &queues->on_podgroups);
    store_subscribe(stores->commands, &queues->on_commands);
    return queues;
}

void queues_set_metrics(struct queues *queues, struct metrics *metrics)
{
    queue_metrics_init(&queues->metrics, metrics);
    tell_all(queues);
}

static void free_entry(void *value)
{
    entry_free(value);
}

void queues_free(struct queues *queues)
{
    if (!queues)
        return;
    store_unsubscribe(queues->stores.queues, &queues->on_queues);
    store_unsubscribe(queues->stores.podgroups, &queues->on_podgroups);
    store_unsubscribe(queues->stores.commands, &queues->on_commands);
    loop_deferred_cancel(&queues->pass);
    map_clear_with(&queues->entries, free_entry);
    free(queues);
}

void queues_set_leading(struct queues *queues, bool leading)
{
    queues->leading = leading;
    tell_all(queues);
    loop_defer(queues->loop, &queues->pass);
}
