/*
 * Answering reviews: see admission.h.
 */
#include "webhook/admission.h"
#include "base/ensure.h"
#include "base/log.h"
#include "webhook/review_memory.h"

#define PATCH_MAX ((size_t)8 << 20)

static const char *const default_scheduler[] = {"volcano"};

void admission_init(struct admission *admission)
{
    *admission =
        (struct admission){.rules = {.scheduler_name = "volcano",
                                     .scheduler_names = default_scheduler,
                                     .scheduler_name_count = 1,
                                     .max_queue_depth = 5,
                                     .root_queue_protection = true,
                                     .pod_level_resources = true},
                           .limits = {.values = LIMIT_JSON_VALUES, .depth = LIMIT_JSON_DEPTH}};
    review_memory_setup();
    snapshot_cell_init(&admission->queues, queue_snapshot_new(NULL, 0, false));
    snapshot_cell_init(&admission->namespaces, namespace_snapshot_new(NULL, 0, false));
    snapshot_cell_init(&admission->pods, NULL);
    for (size_t i = 0; admission_paths[i].path; i++) {
        ENSURE(i < ADMISSION_PATHS_MAX);
        admission->enabled[i] = !admission_paths[i].default_off;
    }
}

void admission_clear(struct admission *admission)
{
    snapshot_cell_clear(&admission->queues);
    snapshot_cell_clear(&admission->namespaces);
    snapshot_cell_clear(&admission->pods);
}

int admission_enable(struct admission *admission, struct str list, struct error *err)
{
    struct str part;
    memset(admission->enabled, 0, sizeof(admission->enabled));
    while (str_split(&list, ',', &part)) {
        part = str_trim(part);
        if (str_empty(part))
            continue;
        const struct admission_path *entry = admission_find(part);
        if (!entry)
            return error_set(err, ERROR_INVALID,
                             "flag --enabled-admission: enabled admission %.*s not found",
                             STR_ARG(part));
        admission->enabled[entry - admission_paths] = true;
    }
    return 0;
}

bool admission_enabled(const struct admission *admission, struct str path)
{
    const struct admission_path *entry = admission_find(path);
    return entry && admission->enabled[entry - admission_paths];
}

/* ---- verdicts ------------------------------------------------------------------------------ */

static struct verdict deny(int code, const char *reason, struct str message)
{
    return (struct verdict){.code = code, .reason = reason, .message = message};
}

static struct verdict deny_for_now(struct str message)
{
    struct verdict verdict = deny(503, "ServiceUnavailable", message);
    verdict.retry_seconds = 1;
    return verdict;
}

static unsigned operation_bit(struct str operation)
{
    if (str_is(operation, "CREATE"))
        return OPERATION_CREATE;
    if (str_is(operation, "UPDATE"))
        return OPERATION_UPDATE;
    return str_is(operation, "DELETE") ? OPERATION_DELETE : 0;
}

/* Whether the review is about what the path is for. Fills `verdict` when it is not. */
static bool check_subject(const struct admission_path *entry, const struct review *review,
                          struct arena *arena, struct verdict *verdict)
{
    if (!str_is(review->group, entry->group) || !str_is(review->version, entry->version) ||
        !str_is(review->resource, entry->resource)) {
        *verdict = deny(400, "BadRequest",
                        arena_printf(arena, "expect resource to be %s/%s %s, not %.*s/%.*s %.*s",
                                     entry->group, entry->version, entry->resource,
                                     STR_ARG(str_cut(review->group, 64)),
                                     STR_ARG(str_cut(review->version, 64)),
                                     STR_ARG(str_cut(review->resource, 64))));
        return false;
    }
    if (entry->operations & operation_bit(review->operation))
        return true;
    const struct str operation =
        entry->operation_before ? str_cut(review->operation, 64) : STR_NULL;
    *verdict =
        deny(400, "BadRequest",
             arena_printf(arena, "%s%.*s%s", entry->operation_before ? entry->operation_before : "",
                          STR_ARG(operation), entry->operation_after));
    return false;
}

/*
 * cJSON ends a string at a NUL, so that "a" and what is written "a\u0000b" would be alike. Instead
 * the tree has the sign for a NUL there, which no name may have either.
 */
static struct str show_nuls(struct str raw, struct arena *arena)
{
    const struct str nul = STR("\\u0000"), sign = STR("\\u2400");
    if (str_find(raw, nul) < 0)
        return raw;
    char *copy = arena_alloc(arena, raw.n);
    memcpy(copy, raw.p, raw.n);
    for (size_t i = 0; i + 1 < raw.n; i++) {
        if (raw.p[i] != '\\')
            continue;
        if (str_starts(str_from(raw, i), nul))
            memcpy(copy + i, sign.p, sign.n);
        i++; /* a backslash may stand for itself */
    }
    return str_make(copy, raw.n);
}

/* The tree of a raw object; NULL for an absent one. The text was checked by the reader. */
static cJSON *parse(struct str raw, struct arena *arena)
{
    const struct str text = show_nuls(raw, arena);
    return text.n ? cJSON_ParseWithLength(text.p, text.n) : NULL;
}

/* What the handler found, as a verdict. Texts live in `c->arena`. */
static struct verdict conclude(const struct admission_path *entry, struct admission_case *c,
                               struct buf *patch)
{
    if (c->problems.count) {
        struct buf text cleanup_buf = BUF_INIT(PROBLEMS_TEXT_MAX + 64);
        problems_write(&c->problems, &text);
        struct str message = arena_str(c->arena, buf_str(&text));
        if (!c->problems.invalid && !c->queues->synced)
            return deny_for_now(
                arena_printf(c->arena, "%.*s; the list of queues has not been read yet, try again",
                             STR_ARG(message)));
        return c->problems.invalid ? deny(422, "Invalid", message)
                                   : deny(403, "Forbidden", message);
    }
    struct verdict verdict = {.allowed = true};
    memcpy(verdict.warnings, c->warnings, sizeof(verdict.warnings));
    if (entry->mutating && json_patch_end(&c->patch) > 0) {
        if (patch->overflow)
            return deny(413, "RequestEntityTooLarge",
                        STR("the defaults of the object are too many"));
        verdict.patch = arena_str(c->arena, buf_str(patch));
    }
    return verdict;
}

/* Runs the handler. False: ask again later. */
static bool run_handler(const struct admission_path *entry, struct admission_case *c,
                        struct verdict *ret_verdict)
{
    struct buf patch cleanup_buf = BUF_INIT(PATCH_MAX);
    review_memory_begin();
    cJSON *object = parse(c->review->object, c->arena);
    cJSON *old = parse(c->review->old_object, c->arena);
    c->object = object;
    c->old = old;
    json_patch_init(&c->patch, &patch);
    if (!object && !str_is(c->review->operation, "DELETE"))
        problem_invalid(&c->problems, "request.object: the review holds none");
    else
        entry->handler(c);
    if (!c->wait)
        *ret_verdict = conclude(entry, c, &patch);
    problems_clear(&c->problems);
    review_memory_end(object, old);
    return !c->wait;
}

static bool judge(struct admission *admission, const struct admission_path *entry,
                  const struct admission_question *question, const struct review *review,
                  struct arena *arena, struct verdict *ret_verdict)
{
    if (!check_subject(entry, review, arena, ret_verdict))
        return true;
    if (question->late) {
        *ret_verdict = deny_for_now(
            STR("the review came too late to be answered in the time that was given for it"));
        return true;
    }
    struct queue_snapshot *queues = snapshot_cell_get(&admission->queues);
    struct namespace_snapshot *namespaces = snapshot_cell_get(&admission->namespaces);
    struct pods_config *pods = snapshot_cell_get(&admission->pods);
    struct admission_case c = {.review = review,
                               .rules = &admission->rules,
                               .queues = queues,
                               .namespaces = namespaces,
                               .pods = pods,
                               .arena = arena,
                               .last_try = question->last_try,
                               .problems = PROBLEMS_INIT};
    bool done = run_handler(entry, &c, ret_verdict);
    shared_unref(queues);
    shared_unref(namespaces);
    shared_unref(pods);
    return done;
}

static void log_verdict(struct str path, const struct review *review, const struct verdict *verdict)
{
    log_debug("review path=%.*s operation=%.*s namespace=\"%.*s\" name=\"%.*s\" allowed=%s "
              "code=%d",
              STR_ARG(path), STR_ARG(str_cut(review->operation, 16)),
              STR_ARG(str_cut(review->ns, 64)), STR_ARG(str_cut(review->name, 256)),
              verdict->allowed ? "true" : "false", verdict->allowed ? 200 : verdict->code);
}

/* One line for a sender whose body is no review: what it wrote may be quoted in it. */
static void write_refusal(struct buf *out, int status, const char *text)
{
    buf_printf(out, "%d: ", status);
    for (; *text; text++) {
        const bool control = (unsigned char)*text < 0x20 || *text == 0x7f;
        buf_add_str(out, control ? STR(" ") : str_make(text, 1));
    }
    buf_add_char(out, '\n');
}

void admission_answer(struct admission *admission, const struct admission_question *question,
                      struct admission_answer *answer)
{
    struct arena arena cleanup_arena = ARENA_INIT;
    struct error err = ERROR_INIT;
    struct review review;
    struct verdict verdict = {.allowed = true};
    const struct admission_path *entry = admission_find(question->path);
    answer->wait = false;
    answer->status = 200;
    if (!entry) {
        answer->status = 404;
        write_refusal(answer->body, 404, "no admission rules are served on this path");
        return;
    }
    if (review_read(question->body, &arena, &admission->limits, &review, &err) < 0) {
        if (review.uid.n == 0) {
            answer->status = err.cls == ERROR_LIMIT ? 413 : 400;
            write_refusal(answer->body, answer->status, err.text);
            return;
        }
        verdict = deny(400, "BadRequest", str_of(err.text));
    } else if (!admission->enabled[entry - admission_paths])
        verdict.warnings[0] = "Pumice's webhook has these rules switched off "
                              "(--enabled-admission); the object was not looked at";
    else if (!judge(admission, entry, question, &review, &arena, &verdict))
        answer->wait = true;
    if (answer->wait)
        return;
    log_verdict(question->path, &review, &verdict);
    answer->allowed = verdict.allowed;
    review_write(answer->body, &review, &verdict);
}
