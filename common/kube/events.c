/*
 * Events: what is recorded becomes one request in the window's lowest class, or a count.
 *
 * A record (an object, a reason and a message) is found again by its text for 10 minutes after it
 * last happened; what happens meanwhile only raises its count, and the count is written when the
 * interval since the last write is over and the object has a token left. A record that waits for
 * the window sits in `waiting`, oldest first; one that is idle sits in `idle`, least recently used
 * first. At most RECORDS_MAX are kept. The recorder owns its records; strings are copied.
 */
#include "kube/events.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "json/writer.h"
#include <stdio.h>

#define FOLD_NS (600 * NSEC_PER_SEC)
#define PATCH_EVERY_NS (30 * NSEC_PER_SEC)
#define BURST 25
#define REFILL_NS (300 * NSEC_PER_SEC)
#define WAITING_MAX 1000
#define RECORDS_MAX 4096
#define BUDGETS_MAX 16384
#define MESSAGE_MAX 1024
#define TRIES_MAX 3
#define RETRY_NS (10 * NSEC_PER_SEC)
#define NAME_MAX_BYTES 253
#define SWEEP_NS (60 * NSEC_PER_SEC)

/* How many events an object may still write. */
struct budget {
    unsigned tokens;
    int64_t since_ns; /* when the next token began to grow */
};

struct record {
    struct list link; /* in waiting or idle */
    struct event_recorder *recorder;
    char *key;                                  /* owned; its name in the map */
    char *api_version, *kind, *ns, *name, *uid; /* owned */
    uint64_t rv;
    enum event_type type;
    char *reason, *message; /* owned */
    char *event;            /* owned; name of the Event */
    uint32_t count;         /* times it happened */
    uint32_t written;       /* the count that the server has, 0 before it was created */
    uint32_t sending;       /* the count in the request under way */
    unsigned tries;         /* failed requests in a row */
    int64_t first_wall_ns, last_wall_ns, last_ns, written_ns;
    struct window_request *request; /* waiting or under way, or NULL */
    struct loop_timer timer;        /* the next write of the count */
};

struct event_recorder {
    struct loop *loop;     /* borrowed */
    struct window *window; /* borrowed */
    char *component;       /* owned */
    struct map records;    /* of struct record, owned */
    struct map budgets;    /* of struct budget, owned; by object */
    struct list waiting, idle;
    unsigned waiting_count;
    int64_t last_name_ns; /* wall time in the last name, so that names differ */
    uint64_t dropped;
    struct loop_timer sweep;
};

/* ---- budgets --------------------------------------------------------------------------------- */

static struct str object_key(const struct record *record)
{
    return str_of(record->uid[0] ? record->uid : record->name);
}

static void refill(struct budget *budget, int64_t now)
{
    int64_t grown = (now - budget->since_ns) / REFILL_NS;
    if (budget->tokens + grown >= BURST) {
        budget->tokens = BURST;
        budget->since_ns = now;
    } else {
        budget->tokens += (unsigned)grown;
        budget->since_ns += grown * REFILL_NS;
    }
}

/* Objects whose budget is full need none. If there are too many all the same, all start afresh. */
static void trim_budgets(struct event_recorder *recorder)
{
    struct str key;
    void *value;
    for (size_t i = 0; map_next(&recorder->budgets, &i, &key, &value);) {
        struct budget *budget = value;
        refill(budget, loop_now(recorder->loop));
        if (budget->tokens == BURST)
            free(map_del(&recorder->budgets, key));
    }
    if (map_count(&recorder->budgets) >= BUDGETS_MAX)
        map_clear_with(&recorder->budgets, free);
}

static struct budget *budget_of(struct event_recorder *recorder, const struct record *record)
{
    int64_t now = loop_now(recorder->loop);
    struct budget *budget = map_get(&recorder->budgets, object_key(record));
    if (!budget) {
        if (map_count(&recorder->budgets) >= BUDGETS_MAX)
            trim_budgets(recorder);
        budget = xnew(struct budget);
        *budget = (struct budget){BURST, now};
        map_set(&recorder->budgets, object_key(record), budget);
    }
    refill(budget, now);
    return budget;
}

static bool take_token(struct budget *budget)
{
    if (budget->tokens == 0)
        return false;
    budget->tokens--;
    return true;
}

/* ---- records --------------------------------------------------------------------------------- */

static void record_free(struct record *record)
{
    struct event_recorder *recorder = record->recorder;
    list_remove(&record->link);
    loop_timer_cancel(recorder->loop, &record->timer);
    map_del(&recorder->records, str_of(record->key));
    char *const strings[] = {record->key,    record->api_version, record->kind,
                             record->ns,     record->name,        record->uid,
                             record->reason, record->message,     record->event};
    for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
        free(strings[i]);
    free(record);
}

static void drop(struct record *record)
{
    record->recorder->dropped++;
    record_free(record);
}

static void to_idle(struct record *record)
{
    list_remove(&record->link);
    list_append(&record->recorder->idle, &record->link);
}

/*
 * A name that no other Event has: the object's, cut so that there is room, and the time in
 * hexadecimal. A cut must not leave a dot or dash at the end.
 */
static char *make_name(struct event_recorder *recorder, const char *object)
{
    int64_t wall = loop_wall(recorder->loop);
    if (wall <= recorder->last_name_ns)
        wall = recorder->last_name_ns + 1;
    recorder->last_name_ns = wall;
    size_t n = strlen(object);
    size_t room = NAME_MAX_BYTES - 17;
    n = n < room ? n : room;
    while (n > 0 && (object[n - 1] == '.' || object[n - 1] == '-'))
        n--;
    return xasprintf("%.*s.%llx", (int)n, object, (unsigned long long)wall);
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static void on_count_timer(void *arg);

static struct record *record_new(struct event_recorder *recorder, const struct event_ref *ref,
                                 enum event_type type, const char *reason, const char *message)
{
    struct record *record = xnew(struct record);
    list_init(&record->link);
    record->recorder = recorder;
    record->api_version = xstrdup(text_or_empty(ref->api_version));
    record->kind = xstrdup(text_or_empty(ref->kind));
    record->ns = xstrdup(text_or_empty(ref->ns));
    record->name = xstrdup(text_or_empty(ref->name));
    record->uid = xstrdup(text_or_empty(ref->uid));
    record->rv = ref->rv;
    record->type = type;
    record->reason = xstrdup(reason);
    record->message = xstrdup(message);
    record->event = make_name(recorder, record->name);
    record->first_wall_ns = loop_wall(recorder->loop);
    loop_timer_init(&record->timer, on_count_timer, record);
    return record;
}

/* ---- writing --------------------------------------------------------------------------------- */

static const char *namespace_of(const struct record *record)
{
    return record->ns[0] ? record->ns : "default";
}

static void write_reference(struct json_writer *w, const struct record *record)
{
    const struct {
        const char *member, *value;
    } members[] = {
        {"apiVersion", record->api_version},
        {"kind", record->kind},
        {"namespace", record->ns},
        {"name", record->name},
        {"uid", record->uid},
    };
    json_w_member_object(w, "involvedObject");
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (members[i].value[0])
            json_w_member_str(w, members[i].member, str_of(members[i].value));
    if (record->rv > 0) {
        json_w_key(w, STR("resourceVersion"));
        json_w_strf(w, "%llu", (unsigned long long)record->rv);
    }
    json_w_end_object(w);
}

static void write_time(struct json_writer *w, const char *member, int64_t wall_ns)
{
    char text[TIME_TEXT_MAX];
    time_format(text, wall_ns);
    json_w_member_str(w, member, str_of(text));
}

static void write_event(const struct record *record, struct buf *body)
{
    struct json_writer w = json_writer(body);
    struct str component = str_of(record->recorder->component);
    json_w_object(&w);
    json_w_member_str(&w, "apiVersion", STR("v1"));
    json_w_member_str(&w, "kind", STR("Event"));
    json_w_member_object(&w, "metadata");
    json_w_member_str(&w, "name", str_of(record->event));
    json_w_member_str(&w, "namespace", str_of(namespace_of(record)));
    json_w_end_object(&w);
    write_reference(&w, record);
    json_w_member_str(&w, "reason", str_of(record->reason));
    json_w_member_str(&w, "message", str_of(record->message));
    json_w_member_object(&w, "source");
    json_w_member_str(&w, "component", component);
    json_w_end_object(&w);
    write_time(&w, "firstTimestamp", record->first_wall_ns);
    write_time(&w, "lastTimestamp", record->last_wall_ns);
    json_w_member_i64(&w, "count", record->count);
    json_w_member_str(&w, "type", record->type == EVENT_WARNING ? STR("Warning") : STR("Normal"));
    json_w_member_str(&w, "reportingComponent", component);
    json_w_member_str(&w, "reportingInstance", STR(""));
    json_w_end_object(&w);
}

static void write_count(const struct record *record, struct buf *body)
{
    struct json_writer w = json_writer(body);
    json_w_object(&w);
    json_w_member_i64(&w, "count", record->count);
    write_time(&w, "lastTimestamp", record->last_wall_ns);
    json_w_end_object(&w);
}

static bool render(struct buf *path, struct buf *body, void *arg)
{
    struct record *record = arg;
    (void)buf_add_cstr(path, "/api/v1/namespaces/");
    kube_escape(path, str_of(namespace_of(record)));
    (void)buf_add_cstr(path, "/events");
    if (record->written > 0) {
        (void)buf_add_char(path, '/');
        kube_escape(path, str_of(record->event));
        write_count(record, body);
    } else {
        write_event(record, body);
    }
    record->sending = record->count;
    return true;
}

static void on_done(const struct kube_result *result, void *arg);

static void submit(struct record *record, int64_t delay_ns)
{
    struct event_recorder *recorder = record->recorder;
    const struct window_spec spec = {
        .cls = WINDOW_EVENT,
        .method = record->written > 0 ? KUBE_PATCH : KUBE_POST,
        .content = record->written > 0 ? KUBE_MERGE_PATCH : KUBE_JSON,
        .render = render,
        .done = on_done,
        .arg = record,
        .delay_ns = delay_ns,
    };
    record->request = window_submit(recorder->window, &spec);
    list_remove(&record->link);
    list_append(&recorder->waiting, &record->link);
    recorder->waiting_count++;
}

/* Over the limit the oldest go, but for those that have been sent: an aborted request saves
 * nothing. */
static void drop_oldest(struct event_recorder *recorder)
{
    list_each(link, &recorder->waiting)
    {
        struct record *record = container_of(link, struct record, link);
        if (recorder->waiting_count <= WAITING_MAX)
            return;
        if (!window_cancel_if_waiting(recorder->window, record->request))
            continue;
        record->request = NULL;
        recorder->waiting_count--;
        drop(record);
    }
}

/* Has the count written when it may be. */
static void plan_count(struct record *record)
{
    int64_t wait = record->written_ns + PATCH_EVERY_NS - loop_now(record->recorder->loop);
    if (!record->request && record->count > record->written)
        loop_timer_set(record->recorder->loop, &record->timer, wait);
}

static void on_count_timer(void *arg)
{
    struct record *record = arg;
    struct event_recorder *recorder = record->recorder;
    struct budget *budget = budget_of(recorder, record);
    if (!take_token(budget)) {
        int64_t wait = budget->since_ns + REFILL_NS - loop_now(recorder->loop);
        loop_timer_set(recorder->loop, &record->timer, wait);
        return;
    }
    submit(record, 0);
    drop_oldest(recorder);
}

static void retry_or_drop(struct record *record, const struct error *error)
{
    record->tries++;
    if (error->cls == ERROR_RETRY && record->tries < TRIES_MAX) {
        submit(record, RETRY_NS * record->tries);
        return;
    }
    log_debug("event %s: %s", record->event, error->text);
    drop(record);
}

static void on_done(const struct kube_result *result, void *arg)
{
    struct record *record = arg;
    struct event_recorder *recorder = record->recorder;
    enum error_class cls = result->error.cls;
    record->request = NULL;
    recorder->waiting_count--;
    to_idle(record);
    if (cls == ERROR_NOT_FOUND && record->written > 0) {
        record->written = 0; /* it has expired: the next one is new */
        submit(record, 0);
    } else if (cls == ERROR_NONE || cls == ERROR_EXISTS) {
        record->tries = 0;
        record->written = record->sending;
        record->written_ns = loop_now(recorder->loop);
        plan_count(record);
    } else if (cls == ERROR_CANCELLED) {
        drop(record); /* the window is being freed */
    } else {
        retry_or_drop(record, &result->error);
    }
}

/* ---- sweeping -------------------------------------------------------------------------------- */

static bool is_over(const struct record *record, int64_t now)
{
    return now - record->last_ns >= FOLD_NS && record->count == record->written;
}

static void sweep_idle(struct event_recorder *recorder)
{
    int64_t now = loop_now(recorder->loop);
    list_each(link, &recorder->idle)
    {
        struct record *record = container_of(link, struct record, link);
        if (is_over(record, now))
            record_free(record);
    }
}

/* Past the limit the least recently used go; a count they had not written yet is lost. */
static void limit_records(struct event_recorder *recorder)
{
    while (map_count(&recorder->records) > RECORDS_MAX && !list_empty(&recorder->idle)) {
        struct record *record = container_of(recorder->idle.next, struct record, link);
        if (record->count > record->written)
            drop(record);
        else
            record_free(record);
    }
}

static bool has_work(const struct event_recorder *recorder)
{
    return map_count(&recorder->records) > 0 || map_count(&recorder->budgets) > 0;
}

static void on_sweep(void *arg)
{
    struct event_recorder *recorder = arg;
    sweep_idle(recorder);
    trim_budgets(recorder);
    if (has_work(recorder))
        loop_timer_set(recorder->loop, &recorder->sweep, SWEEP_NS);
}

/* ---- recording ------------------------------------------------------------------------------- */

/* It happened one more time. */
static void happened(struct record *record)
{
    struct event_recorder *recorder = record->recorder;
    if (record->count < UINT32_MAX)
        record->count++;
    record->last_ns = loop_now(recorder->loop);
    record->last_wall_ns = loop_wall(recorder->loop);
    if (record->request)
        return; /* what is sent is the count of that moment */
    to_idle(record);
    if (record->written > 0 && !loop_timer_active(&record->timer))
        plan_count(record);
}

static void record_first(struct event_recorder *recorder, struct record *record, char *key)
{
    record->key = key;
    map_set(&recorder->records, str_of(key), record);
    if (!take_token(budget_of(recorder, record))) {
        drop(record);
        return;
    }
    list_append(&recorder->idle, &record->link);
    happened(record);
    submit(record, 0);
    drop_oldest(recorder);
    limit_records(recorder);
}

/* Cut at MESSAGE_MAX bytes, between characters. */
static void cut_message(struct buf *text)
{
    if (text->n <= MESSAGE_MAX)
        return;
    size_t n = MESSAGE_MAX;
    while (n > 0 && ((unsigned char)text->p[n] & 0xc0) == 0x80)
        n--;
    buf_truncate(text, n);
}

void event_record(struct event_recorder *recorder, const struct event_ref *ref,
                  enum event_type type, const char *reason, const char *format, ...)
{
    cleanup_buf struct buf message = BUF_INIT((size_t)64 << 10);
    va_list args;
    va_start(args, format);
    bool fits = buf_vprintf(&message, format, args);
    va_end(args);
    if (!fits)
        (void)buf_add_cstr(&message, "(the message is too long)");
    cut_message(&message);
    const char *text = text_or_empty(message.p);
    char *key =
        xasprintf("%s|%s|%s|%s|%d|%s|%s", text_or_empty(ref->uid), text_or_empty(ref->kind),
                  text_or_empty(ref->ns), text_or_empty(ref->name), (int)type, reason, text);
    struct record *record = map_get(&recorder->records, str_of(key));
    if (record && loop_now(recorder->loop) - record->last_ns >= FOLD_NS && !record->request) {
        record_free(record);
        record = NULL;
    }
    if (!loop_timer_active(&recorder->sweep))
        loop_timer_set(recorder->loop, &recorder->sweep, SWEEP_NS);
    if (!record) {
        record_first(recorder, record_new(recorder, ref, type, reason, text), key);
        return;
    }
    free(key);
    happened(record);
}

uint64_t event_recorder_dropped(const struct event_recorder *recorder)
{
    return recorder->dropped;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct event_recorder *event_recorder_new(struct loop *loop, struct window *window,
                                          const char *component)
{
    struct event_recorder *recorder = xnew(struct event_recorder);
    recorder->loop = loop;
    recorder->window = window;
    recorder->component = xstrdup(component);
    list_init(&recorder->waiting);
    list_init(&recorder->idle);
    loop_timer_init(&recorder->sweep, on_sweep, recorder);
    return recorder;
}

void event_recorder_free(struct event_recorder *recorder)
{
    if (!recorder)
        return;
    if (recorder->waiting_count > 0)
        log_info("Events that were not written before the end: %u", recorder->waiting_count);
    struct str key;
    void *value;
    for (size_t i = 0; map_next(&recorder->records, &i, &key, &value);) {
        struct record *record = value;
        if (record->request)
            (void)window_cancel(recorder->window, take_ptr(record->request));
        record_free(record);
    }
    map_clear(&recorder->records);
    map_clear_with(&recorder->budgets, free);
    loop_timer_cancel(recorder->loop, &recorder->sweep);
    free(recorder->component);
    free(recorder);
}
