/*
 * What the extender thinks of nodes, for pods of a class.
 *
 * An opinion is whole once every question about the node is answered, and stands for
 * EXTENDER_FRESH_NS. One against a node stays what is known of it until another takes its place, so
 * that the reason does not come and go; one for a node is dropped before a cycle. That is put off
 * while more nodes are asked about, lest a gang that needs many never have them all at one time.
 * Tables of fit.c look at a node again when the opinion of it changes: it is logged like any
 * change. A class has opinions of those nodes alone that were asked about (asking.c).
 */
#include "base/intern.h"
#include "loop/backoff.h"
#include "scheduler/cache_private.h"
#include "scheduler/extender/extender_private.h"
#include "scheduler/fit.h"
#include "scheduler/plugins/score.h"

#define BUSY_NS NSEC_PER_SEC           /* after an answer, more is about to be asked */
#define GATHER_NS (20 * NSEC_PER_MSEC) /* answers that come together are looked at together */
#define CLASSES_AT_ONCE 16             /* whose jobs are tried again in one cycle */
#define IDLE_NS (60 * NSEC_PER_SEC)    /* what nobody needs for so long is dropped */

const char extender_waiting[] = EXTENDER_WAITING;

/* ---- classes --------------------------------------------------------------------------------- */

static struct str key_of(const uint64_t *id)
{
    return str_make((const char *)id, sizeof(*id));
}

static struct extender_class *class_of(const struct extender *extender, const struct pod_class *cls)
{
    return map_get(&extender->classes, key_of(&cls->id));
}

struct extender_class *extender_class_get(struct extender *extender, const struct pod_class *cls)
{
    struct extender_class *found = class_of(extender, cls);
    if (found)
        return found;
    found = xnew(struct extender_class);
    found->id = cls->id;
    found->opinions = (struct map)MAP_INIT_BORROWS;
    found->expires_ns = found->waiters.retry_ns = INT64_MAX;
    map_set(&extender->classes, key_of(&cls->id), found);
    return found;
}

static void opinion_free(void *value)
{
    struct opinion *opinion = value;
    intern_put(opinion->node);
    free(opinion);
}

static void class_free(void *value)
{
    struct extender_class *cls = value;
    map_clear_with(&cls->opinions, opinion_free);
    map_clear(&cls->waiters.jobs);
    vec_clear(&cls->line);
    free(cls);
}

void extender_classes_clear(struct extender *extender)
{
    map_clear_with(&extender->classes, class_free);
}

/* ---- opinions -------------------------------------------------------------------------------- */

static struct str name_key(const char *const *name)
{
    return str_make((const char *)name, sizeof(*name));
}

struct opinion *extender_opinion_of(const struct extender_class *cls, const char *name)
{
    return cls ? map_get(&cls->opinions, name_key(&name)) : NULL;
}

struct opinion *extender_opinion_get(struct extender_class *cls, const char *name)
{
    struct opinion *found = extender_opinion_of(cls, name);
    if (found)
        return found;
    found = xnew(struct opinion);
    found->node = intern_ref(name);
    map_set(&cls->opinions, name_key(&found->node), found);
    return found;
}

const char *extender_reason_of(const struct opinion *opinion)
{
    return opinion && opinion->known ? opinion->reason : extender_waiting;
}

/* Has the tables look at the node again. */
static void touch(struct extender *extender, const char *name)
{
    struct cache *cache = &extender->scheduler->cache;
    const struct sched_node *node = cache_node(cache, name);
    if (node)
        cache_log_node(cache, node);
}

/* ---- what tables ask ------------------------------------------------------------------------- */

bool extender_asks(const struct extender *extender, const struct pod_class *cls)
{
    const struct extender_settings *settings = &extender->settings;
    return (settings->paths[EXTENDER_PREDICATE] || settings->paths[EXTENDER_PRIORITIZE]) &&
           extender_manages(extender, cls);
}

const char *extender_refuses(struct extender *extender, const struct pod_class *cls,
                             const struct sched_node *node)
{
    if (!extender->scheduler || !extender_asks(extender, cls))
        return NULL;
    return extender_reason_of(extender_opinion_of(class_of(extender, cls), node->name));
}

int64_t extender_score(struct extender *extender, const struct pod_class *cls,
                       const struct sched_node *node)
{
    if (!extender->scheduler || !extender_asks(extender, cls))
        return 0;
    const struct opinion *opinion = extender_opinion_of(class_of(extender, cls), node->name);
    return opinion && opinion->known ? opinion->score : 0;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* For how long what came of it stands. A refusal counts, whatever became of the scores. */
static int64_t standing(const struct extender *extender, struct opinion *opinion)
{
    if (opinion->refusal || !opinion->failure) {
        opinion->failures = 0;
        return EXTENDER_FRESH_NS;
    }
    if (extender->settings.ignorable)
        return EXTENDER_FRESH_NS;
    if (opinion->failures < UINT16_MAX)
        opinion->failures++;
    return backoff_delay(EXTENDER_RETRY_FIRST, EXTENDER_RETRY_MOST, opinion->failures - 1U);
}

/* What came of it takes the place of what was known. */
static void settle(struct extender *extender, struct extender_class *cls, struct opinion *opinion)
{
    const char *before = opinion->known ? opinion->reason : extender_waiting;
    int64_t score = opinion->known ? opinion->score : 0;
    const char *failure = extender->settings.ignorable ? NULL : opinion->failure;
    opinion->known = true;
    opinion->reason = opinion->refusal ? opinion->refusal : failure;
    opinion->score = opinion->next_score;
    opinion->until_ns = extender_now(extender) + standing(extender, opinion);
    if (!opinion->reason && opinion->until_ns < cls->expires_ns)
        cls->expires_ns = opinion->until_ns;
    cls->open--;
    cls->look.table = NULL;
    if (before != opinion->reason || score != opinion->score)
        touch(extender, opinion->node);
}

static void answered(struct extender *extender, struct extender_class *cls, struct opinion *opinion,
                     enum extender_verb verb)
{
    opinion->awaited &= ~(1U << verb);
    if (!opinion->awaited)
        settle(extender, cls, opinion);
}

/* A call of the class is over. */
static void heard(struct extender *extender, struct extender_class *cls)
{
    int64_t now = extender_now(extender);
    cls->calls--;
    cls->heard_ns = now;
    extender_news(extender, &cls->waiters, cls->calls ? now + GATHER_NS : now);
}

static void take_verdict(struct extender_call *call, const char *refusal, const char *failure)
{
    struct opinion *opinion = extender_opinion_of(call->cls, call->about);
    if (opinion && (opinion->awaited & 1U << call->verb)) {
        opinion->refusal = refusal;
        opinion->failure = failure ? failure : opinion->failure;
        answered(call->extender, call->cls, opinion, call->verb);
    }
    heard(call->extender, call->cls);
}

int extender_take_predicate(struct extender_call *call, struct str body, struct error *err)
{
    cleanup_buf struct buf status = BUF_INIT(EXTENDER_ANSWER_MAX);
    const char *refusal = NULL;
    if (extender_read(body, NULL, NULL, "status", &status, err) < 0)
        return -1;
    if (status.n)
        refusal = extender_refusal_text(call->extender, buf_str(&status));
    take_verdict(call, refusal, NULL);
    return 0;
}

void extender_fail_predicate(struct extender_call *call, const char *why)
{
    take_verdict(call, NULL, extender_failure_text(call->extender, why));
}

static bool is_scored_by(const struct opinion *opinion, const struct extender_call *call)
{
    return opinion->mark == call->mark && (opinion->awaited & 1U << EXTENDER_PRIORITIZE);
}

static int64_t score_from(double points)
{
    return points == points ? score_of(points / SCORE_POINTS, 1) : 0;
}

/* Reads `nodeScore`; nodes that were not asked about are passed over. */
static void read_scores(struct json_reader *reader, const struct map *by_name)
{
    struct str key;
    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        struct opinion *opinion = map_get(by_name, key);
        double points = json_double(reader);
        if (opinion)
            opinion->next_score = score_from(points);
    }
}

static int read_answer(struct str body, const struct map *by_name, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct str key, message = STR_NULL;
    struct json_reader reader;
    json_init(&reader, body, &arena);
    bool present = json_object(&reader);
    while (present && json_key(&reader, &key)) {
        if (str_is(key, "nodeScore"))
            read_scores(&reader, by_name);
        else if (str_is(key, "errorMessage"))
            message = json_str(&reader);
        else
            json_skip(&reader);
    }
    if (json_end(&reader, err) < 0)
        return -1;
    return message.n ? error_set(err, ERROR_INVALID, "%.*s", STR_ARG(str_cut(message, 256))) : 0;
}

/* Whatever was scored by the call is. */
static void end_scores(struct extender_call *call, const char *failure)
{
    struct extender_class *cls = call->cls;
    void *value;
    for (size_t i = 0; map_next(&cls->opinions, &i, NULL, &value);) {
        struct opinion *opinion = value;
        if (!is_scored_by(opinion, call))
            continue;
        if (!opinion->failure) /* if both fail, the verdict is what is missed */
            opinion->failure = failure;
        answered(call->extender, cls, opinion, EXTENDER_PRIORITIZE);
    }
    heard(call->extender, cls);
}

int extender_take_scores(struct extender_call *call, struct str body, struct error *err)
{
    struct map by_name = MAP_INIT_BORROWS;
    void *value;
    for (size_t i = 0; map_next(&call->cls->opinions, &i, NULL, &value);) {
        struct opinion *opinion = value;
        if (is_scored_by(opinion, call))
            map_set(&by_name, str_of(opinion->node), opinion);
    }
    int rc = read_answer(body, &by_name, err);
    map_clear(&by_name);
    if (rc == 0)
        end_scores(call, NULL);
    return rc;
}

void extender_fail_scores(struct extender_call *call, const char *why)
{
    end_scores(call, extender_failure_text(call->extender, why));
}

/* ---- age ------------------------------------------------------------------------------------- */

/* Drops what is known of a node; the rest when no answer is awaited. */
static void forget(struct extender *extender, struct extender_class *cls, struct opinion *opinion)
{
    bool known = opinion->known;
    opinion->known = false;
    cls->look.table = NULL;
    if (known)
        touch(extender, opinion->node);
    if (opinion->awaited)
        return;
    map_del(&cls->opinions, name_key(&opinion->node));
    opinion_free(opinion);
}

/* Drops opinions for nodes that are too old. */
static void drop_old(struct extender *extender, struct extender_class *cls, int64_t now)
{
    bool busy = cls->calls || now - cls->heard_ns < BUSY_NS;
    int64_t longer = busy ? EXTENDER_FRESH_MOST_NS - EXTENDER_FRESH_NS : 0, next = INT64_MAX;
    void *value;
    for (size_t i = 0; map_next(&cls->opinions, &i, NULL, &value);) {
        struct opinion *opinion = value;
        if (!opinion->known || opinion->reason)
            continue;
        int64_t until = opinion->until_ns + longer;
        if (until <= now)
            forget(extender, cls, opinion);
        else if (until < next)
            next = until;
    }
    cls->expires_ns = busy && next != INT64_MAX ? now + BUSY_NS : next;
}

/* Whether jobs with such pods are to be tried again: they are, in this cycle or the next. */
static bool wake_class(struct extender *extender, struct extender_class *cls, unsigned *left)
{
    if (!extender_is_due(extender, &cls->waiters))
        return false;
    if (*left)
        extender_wake(extender, &cls->waiters);
    else
        extender_look_at(extender, extender_now(extender) + GATHER_NS);
    *left -= *left > 0;
    return true;
}

/* Beginning with the class after the last that was woken, so that all have their turn. */
static void wake_classes(struct extender *extender)
{
    unsigned left = CLASSES_AT_ONCE;
    size_t next = extender->next_class;
    void *value;
    for (int round = 0; round < 2; round++)
        for (size_t i = round ? 0 : next; map_next(&extender->classes, &i, NULL, &value);) {
            if (round && i > next)
                break;
            if (wake_class(extender, value, &left) && left)
                extender->next_class = i;
        }
}

void extender_begin_classes(struct extender *extender)
{
    int64_t now = extender_now(extender);
    void *value;
    for (size_t i = 0; map_next(&extender->classes, &i, NULL, &value);) {
        struct extender_class *cls = value;
        if (cls->expires_ns <= now)
            drop_old(extender, cls, now);
    }
    wake_classes(extender);
}

static bool is_idle(const struct extender_class *cls, int64_t now)
{
    return !cls->calls && !map_count(&cls->waiters.jobs) && cls->expires_ns == INT64_MAX &&
           now - cls->used_ns >= IDLE_NS;
}

/* Drops opinions of nodes that are gone, and those that stand no longer than until then. */
static void tidy_class(struct extender *extender, struct extender_class *cls, int64_t until_ns)
{
    void *value;
    for (size_t i = 0; map_next(&cls->opinions, &i, NULL, &value);) {
        struct opinion *opinion = value;
        if (!cache_node(&extender->scheduler->cache, opinion->node) ||
            opinion->until_ns <= until_ns)
            forget(extender, cls, opinion);
    }
}

static size_t count_opinions(const struct extender *extender)
{
    size_t count = 0;
    void *value;
    for (size_t i = 0; map_next(&extender->classes, &i, NULL, &value);) {
        const struct extender_class *cls = value;
        count += map_count(&cls->opinions);
    }
    return count;
}

void extender_tidy_classes(struct extender *extender)
{
    int64_t now = extender_now(extender);
    int64_t until = count_opinions(extender) > EXTENDER_OPINIONS_MAX ? now : INT64_MIN;
    struct str key;
    void *value;
    for (size_t i = 0; map_next(&extender->classes, &i, &key, &value);) {
        struct extender_class *cls = value;
        bool idle = is_idle(cls, now);
        tidy_class(extender, cls, idle ? INT64_MAX : until);
        if (!idle)
            continue;
        map_del(&extender->classes, key);
        class_free(cls);
    }
}
