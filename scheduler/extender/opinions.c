/*
 * What the extender thinks of nodes, for pods of a class.
 *
 * An opinion is whole once every question about the node is answered, and stands for
 * EXTENDER_FRESH_NS. One against a node stays what is known of it until another takes its place, so
 * that the reason does not come and go; one for a node is dropped before a cycle. That is put off
 * while more nodes are asked about, lest a gang that needs many never have them all at one time.
 * Tables of fit.c look at a node again when the opinion of it changes: it is logged like any
 * change.
 */
#include "base/intern.h"
#include "loop/backoff.h"
#include "scheduler/cache_private.h"
#include "scheduler/extender/extender_private.h"
#include "scheduler/fit.h"
#include "scheduler/plugins/score.h"

#define TEXTS_MAX 100        /* of each kind that are told apart: fewer than a table can */
#define TEXT_SIZE_MAX 256    /* bytes of one */
#define BUSY_NS NSEC_PER_SEC /* after an answer, more is about to be asked */
#define GATHER_NS (20 * NSEC_PER_MSEC) /* answers that come together are looked at together */
#define IDLE_NS (60 * NSEC_PER_SEC)    /* what nobody needs for so long is dropped */

struct opinion {
    const char *node;   /* interned; the one it is of, NULL: nobody was asked yet */
    const char *reason; /* why it may not be taken; NULL when it may */
    int64_t score;
    int64_t until_ns;  /* it stands until then */
    uint16_t failures; /* in a row */
    bool known;
    /* While answers are awaited: what they are to become. */
    unsigned awaited;    /* a bit for each verb */
    const char *refusal; /* or NULL */
    const char *failure; /* of a question, or NULL */
    int64_t next_score;
    uint64_t mark; /* of the question for scores */
};

struct extender_class {
    uint64_t id;              /* the class's; it may be gone */
    struct opinion *opinions; /* owned; by node */
    uint32_t n;
    uint32_t open;      /* opinions of which answers are awaited, */
    uint32_t calls;     /* and calls that refer to the class */
    int64_t heard_ns;   /* loop time of the last answer, */
    int64_t used_ns;    /* and of the last need */
    int64_t expires_ns; /* when the first opinion for a node is to be dropped */
    struct extender_waiters waiters;
};

static const char waiting[] = EXTENDER_WAITING;

/* ---- texts ----------------------------------------------------------------------------------- */

/* The one copy of a text: what follows `head`, without line breaks, cut to size; `other` when there
 * are too many. */
static const char *keep_text(struct map *texts, const char *head, struct str tail,
                             const char *other)
{
    cleanup_buf struct buf text = BUF_INIT(2 * TEXT_SIZE_MAX);
    buf_add_cstr(&text, head);
    buf_add_str(&text, str_cut(tail, TEXT_SIZE_MAX));
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ')
            text.p[i] = ' ';
    char *kept = map_get(texts, buf_str(&text));
    if (kept || map_count(texts) >= TEXTS_MAX)
        return kept ? kept : other;
    kept = xstrdup(text.p);
    map_set(texts, buf_str(&text), kept);
    return kept;
}

static const char *refusal_text(struct extender *extender, struct str status)
{
    return keep_text(&extender->refusals, "refused by the extender: ", status,
                     "refused by the extender for other reasons");
}

/* libcurl's "... after 12 ms: ..." would be another text each time. */
static const char *failure_text(struct extender *extender, const char *why)
{
    cleanup_free char *head = xasprintf("extender %.200s failed: ", extender->settings.url);
    cleanup_free char *text = xstrdup(why);
    char *after = strstr(text, " after ");
    size_t digits = after ? strspn(after + strlen(" after "), "0123456789") : 0;
    char *rest = digits ? strchr(after, ':') : NULL;
    if (rest)
        memmove(after, rest, strlen(rest) + 1);
    return keep_text(&extender->failures_seen, head, str_of(text), "extender failed in other ways");
}

/* ---- classes --------------------------------------------------------------------------------- */

static struct str key_of(const uint64_t *id)
{
    return str_make((const char *)id, sizeof(*id));
}

static struct extender_class *class_of(const struct extender *extender, const struct pod_class *cls)
{
    return map_get(&extender->classes, key_of(&cls->id));
}

static struct extender_class *class_get(struct extender *extender, const struct pod_class *cls)
{
    struct extender_class *found = class_of(extender, cls);
    if (!found) {
        found = xnew(struct extender_class);
        found->id = cls->id;
        found->expires_ns = found->waiters.retry_ns = INT64_MAX;
        map_set(&extender->classes, key_of(&cls->id), found);
    }
    uint32_t n = (uint32_t)extender->scheduler->cache.nodes.n;
    if (n > found->n) {
        found->opinions = xreallocarray(found->opinions, n, sizeof(*found->opinions));
        memset(found->opinions + found->n, 0, (n - found->n) * sizeof(*found->opinions));
        found->n = n;
    }
    return found;
}

static void class_free(void *value)
{
    struct extender_class *cls = value;
    for (uint32_t i = 0; i < cls->n; i++)
        intern_put(cls->opinions[i].node);
    free(cls->opinions);
    map_clear(&cls->waiters.jobs);
    free(cls);
}

void extender_classes_clear(struct extender *extender)
{
    map_clear_with(&extender->classes, class_free);
    map_clear_with(&extender->refusals, free);
    map_clear_with(&extender->failures_seen, free);
}

/* NULL when there is none of that node, but maybe one of another that had its place. */
static struct opinion *opinion_of(const struct extender_class *cls, const struct sched_node *node)
{
    if (!cls || node->index >= cls->n || cls->opinions[node->index].node != node->name)
        return NULL;
    return &cls->opinions[node->index];
}

/* Has the tables look at the node again. */
static void touch(struct extender *extender, uint32_t index, const char *name)
{
    struct cache *cache = &extender->scheduler->cache;
    const struct sched_node *node = index < cache->nodes.n ? cache->nodes.items[index] : NULL;
    if (node && node->name == name)
        cache_log_node(cache, node);
}

/* ---- what tables ask ------------------------------------------------------------------------- */

static bool asks(const struct extender *extender, const struct pod_class *cls)
{
    const struct extender_settings *settings = &extender->settings;
    return (settings->paths[EXTENDER_PREDICATE] || settings->paths[EXTENDER_PRIORITIZE]) &&
           extender_manages(extender, cls);
}

const char *extender_refuses(struct extender *extender, const struct pod_class *cls,
                             const struct sched_node *node)
{
    if (!extender->scheduler || !asks(extender, cls))
        return NULL;
    const struct opinion *opinion = opinion_of(class_of(extender, cls), node);
    return opinion && opinion->known ? opinion->reason : waiting;
}

int64_t extender_score(struct extender *extender, const struct pod_class *cls,
                       const struct sched_node *node)
{
    if (!extender->scheduler || !asks(extender, cls))
        return 0;
    const struct opinion *opinion = opinion_of(class_of(extender, cls), node);
    return opinion && opinion->known ? opinion->score : 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Nodes to be asked about, the best first. */
struct candidates {
    struct {
        struct sched_node *node;
        int64_t score;
        bool known; /* there was an opinion: others come first */
    } best[EXTENDER_NODES_AT_ONCE];
    uint32_t n, most;
};

static void consider(struct candidates *candidates, struct sched_node *node, int64_t score,
                     bool known)
{
    uint32_t at = candidates->n;
    while (at > 0 &&
           (known < candidates->best[at - 1].known ||
            (known == candidates->best[at - 1].known && score > candidates->best[at - 1].score)))
        at--;
    if (at >= candidates->most)
        return;
    if (candidates->n < candidates->most)
        candidates->n++;
    for (uint32_t i = candidates->n - 1; i > at; i--)
        candidates->best[i] = candidates->best[i - 1];
    candidates->best[at].node = node;
    candidates->best[at].score = score;
    candidates->best[at].known = known;
}

/* Begins a new opinion; what is known stays until then. */
static void open_opinion(struct extender_class *cls, const struct sched_node *node)
{
    struct opinion *opinion = &cls->opinions[node->index];
    if (opinion->node != node->name) {
        cls->open -= opinion->awaited != 0;
        intern_put(opinion->node);
        *opinion = (struct opinion){.node = intern_ref(node->name)};
    }
    opinion->refusal = opinion->failure = NULL;
    opinion->next_score = 0;
    cls->open++;
}

static struct extender_call *ask(struct extender *extender, struct extender_class *cls,
                                 enum extender_verb verb, const struct sched_task *task,
                                 const struct sched_node *node)
{
    struct extender_call *call = extender_call_new(extender, verb, str_of(node->name));
    call->cls = cls;
    call->index = node->index;
    cls->calls++;
    extender_write_task(&call->writer, "task", task);
    return call;
}

static void ask_predicate(struct extender *extender, struct extender_class *cls,
                          const struct sched_task *task, const struct candidates *candidates)
{
    for (uint32_t i = 0; i < candidates->n; i++) {
        const struct sched_node *node = candidates->best[i].node;
        struct extender_call *call = ask(extender, cls, EXTENDER_PREDICATE, task, node);
        extender_write_node(&call->writer, "node", node);
        cls->opinions[node->index].awaited |= 1U << EXTENDER_PREDICATE;
        extender_submit(call);
    }
}

static void ask_scores(struct extender *extender, struct extender_class *cls,
                       const struct sched_task *task, const struct candidates *candidates)
{
    struct extender_call *call =
        ask(extender, cls, EXTENDER_PRIORITIZE, task, candidates->best[0].node);
    call->mark = ++extender->marks;
    json_w_member_array(&call->writer, "nodes");
    for (uint32_t i = 0; i < candidates->n; i++) {
        const struct sched_node *node = candidates->best[i].node;
        extender_write_node_item(&call->writer, node);
        cls->opinions[node->index].awaited |= 1U << EXTENDER_PRIORITIZE;
        cls->opinions[node->index].mark = call->mark;
    }
    json_w_end_array(&call->writer);
    extender_submit(call);
}

static void ask_about(struct extender *extender, struct extender_class *cls,
                      const struct task_group *group, const struct candidates *candidates)
{
    const struct sched_task *task =
        const_container_of(heap_peek(&group->pending), struct sched_task, waiting);
    for (uint32_t i = 0; i < candidates->n; i++)
        open_opinion(cls, candidates->best[i].node);
    if (extender->settings.paths[EXTENDER_PREDICATE])
        ask_predicate(extender, cls, task, candidates);
    if (extender->settings.paths[EXTENDER_PRIORITIZE])
        ask_scores(extender, cls, task, candidates);
}

/* What a look at all nodes found. */
struct search {
    struct candidates candidates;
    int64_t retry_ns; /* when others may be asked about again */
    bool any;         /* the extender keeps such pods off one that has room, */
    bool unsure;      /* though it has not refused it */
};

/* The part of its score that does not depend on other nodes. */
static int64_t rank(const struct extender *extender, const struct task_group *group,
                    const struct sched_node *node)
{
    const struct sched_config *config = extender->scheduler->config;
    return config_queue_score(config, group->job->queue, node,
                              config_score(config, group->cls, node));
}

static void look_at(struct search *search, struct extender *extender,
                    const struct extender_class *cls, const struct task_group *group,
                    struct sched_node *node)
{
    const struct opinion *opinion = opinion_of(cls, node);
    bool known = opinion && opinion->known;
    search->any = true;
    search->unsure = search->unsure || !known || opinion->failures > 0;
    if (opinion && opinion->awaited)
        return;
    if (!known || opinion->until_ns <= extender_now(extender))
        consider(&search->candidates, node, rank(extender, group, node), known);
    else if (opinion->until_ns < search->retry_ns)
        search->retry_ns = opinion->until_ns;
}

static void search_nodes(struct search *search, struct extender *extender,
                         const struct extender_class *cls, const struct task_group *group,
                         const struct fit_table *table)
{
    struct cache *cache = &extender->scheduler->cache;
    for (size_t i = 0; i < cache->nodes.n; i++) {
        struct sched_node *node = cache->nodes.items[i];
        const char *reason = node && node->object ? fit_reason(table, node) : NULL;
        if (reason && reason == extender_refuses(extender, group->cls, node))
            look_at(search, extender, cls, group, node);
    }
    cache->work += cache->nodes.n;
}

enum plugin_miss extender_missed(struct extender *extender, const struct task_group *group,
                                 const struct fit_table *table)
{
    if (!extender->scheduler || !asks(extender, group->cls))
        return MISS_NONE;
    struct extender_class *cls = class_get(extender, group->cls);
    struct search search = {.retry_ns = INT64_MAX};
    bool quiet = !extender_may_ask(extender);
    if (!quiet && cls->open < EXTENDER_NODES_AT_ONCE)
        search.candidates.most = EXTENDER_NODES_AT_ONCE - cls->open;
    search_nodes(&search, extender, cls, group, table);
    if (!search.any)
        return MISS_NONE;
    cls->used_ns = extender_now(extender);
    if (quiet && extender->quiet_until_ns < search.retry_ns)
        search.retry_ns = extender->quiet_until_ns;
    if (search.candidates.n)
        ask_about(extender, cls, group, &search.candidates);
    extender_wait(extender, &cls->waiters, group->job, search.retry_ns);
    if (!search.unsure)
        return MISS_NONE;
    return cls->open ? MISS_ASKED : MISS_KEPT_OFF;
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
    const char *before = opinion->known ? opinion->reason : waiting;
    int64_t score = opinion->known ? opinion->score : 0;
    const char *failure = extender->settings.ignorable ? NULL : opinion->failure;
    opinion->known = true;
    opinion->reason = opinion->refusal ? opinion->refusal : failure;
    opinion->score = opinion->next_score;
    opinion->until_ns = extender_now(extender) + standing(extender, opinion);
    if (!opinion->reason && opinion->until_ns < cls->expires_ns)
        cls->expires_ns = opinion->until_ns;
    cls->open--;
    if (before != opinion->reason || score != opinion->score)
        touch(extender, (uint32_t)(opinion - cls->opinions), opinion->node);
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

/* The opinion that a call is about, NULL when the node is another by now. */
static struct opinion *subject(const struct extender_call *call)
{
    struct opinion *opinion = &call->cls->opinions[call->index];
    bool same = opinion->node == call->about && (opinion->awaited & 1U << call->verb);
    return same ? opinion : NULL;
}

static void take_verdict(struct extender_call *call, const char *refusal, const char *failure)
{
    struct opinion *opinion = subject(call);
    if (opinion) {
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
    int64_t code = 0;
    if (extender_read(body, "code", &code, "status", &status, err) < 0)
        return -1;
    if (!status.n && code)
        buf_printf(&status, "code %lld", (long long)code);
    if (status.n)
        refusal = refusal_text(call->extender, buf_str(&status));
    take_verdict(call, refusal, NULL);
    return 0;
}

void extender_fail_predicate(struct extender_call *call, const char *why)
{
    take_verdict(call, NULL, failure_text(call->extender, why));
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
    for (uint32_t i = 0; i < cls->n; i++) {
        struct opinion *opinion = &cls->opinions[i];
        if (!is_scored_by(opinion, call))
            continue;
        if (failure)
            opinion->failure = failure;
        answered(call->extender, cls, opinion, EXTENDER_PRIORITIZE);
    }
    heard(call->extender, cls);
}

int extender_take_scores(struct extender_call *call, struct str body, struct error *err)
{
    struct map by_name = MAP_INIT_BORROWS;
    const struct extender_class *cls = call->cls;
    for (uint32_t i = 0; i < cls->n; i++)
        if (is_scored_by(&cls->opinions[i], call))
            map_set(&by_name, str_of(cls->opinions[i].node), &cls->opinions[i]);
    int rc = read_answer(body, &by_name, err);
    map_clear(&by_name);
    if (rc == 0)
        end_scores(call, NULL);
    return rc;
}

void extender_fail_scores(struct extender_call *call, const char *why)
{
    end_scores(call, failure_text(call->extender, why));
}

/* ---- age ------------------------------------------------------------------------------------- */

static void forget(struct extender *extender, struct extender_class *cls, uint32_t index)
{
    struct opinion *opinion = &cls->opinions[index];
    opinion->known = false;
    touch(extender, index, opinion->node);
}

/* Drops opinions for nodes that are too old. */
static void drop_old(struct extender *extender, struct extender_class *cls, int64_t now)
{
    bool busy = cls->calls || now - cls->heard_ns < BUSY_NS;
    int64_t longer = busy ? EXTENDER_FRESH_MOST_NS - EXTENDER_FRESH_NS : 0, next = INT64_MAX;
    for (uint32_t i = 0; i < cls->n; i++) {
        const struct opinion *opinion = &cls->opinions[i];
        if (!opinion->known || opinion->reason)
            continue;
        int64_t until = opinion->until_ns + longer;
        if (until <= now)
            forget(extender, cls, i);
        else if (until < next)
            next = until;
    }
    cls->expires_ns = busy && next != INT64_MAX ? now + BUSY_NS : next;
}

void extender_begin_classes(struct extender *extender)
{
    int64_t now = extender_now(extender);
    void *value;
    for (size_t i = 0; map_next(&extender->classes, &i, NULL, &value);) {
        struct extender_class *cls = value;
        if (cls->expires_ns <= now)
            drop_old(extender, cls, now);
        extender_wake(extender, &cls->waiters);
    }
}

static bool is_idle(const struct extender_class *cls, int64_t now)
{
    return !cls->calls && !map_count(&cls->waiters.jobs) && cls->expires_ns == INT64_MAX &&
           now - cls->used_ns >= IDLE_NS;
}

void extender_tidy_classes(struct extender *extender)
{
    int64_t now = extender_now(extender);
    struct str key;
    void *value;
    for (size_t i = 0; map_next(&extender->classes, &i, &key, &value);) {
        struct extender_class *cls = value;
        if (!is_idle(cls, now))
            continue;
        for (uint32_t n = 0; n < cls->n; n++)
            if (cls->opinions[n].known)
                forget(extender, cls, n);
        map_del(&extender->classes, key);
        class_free(cls);
    }
}
