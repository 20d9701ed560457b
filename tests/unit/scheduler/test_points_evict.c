/*
 * How the answers of plugins about evictions combine, as tables, with plugins that answer what the
 * table says.
 */
#include "testing.h"

#include "base/log.h"
#include "scheduler/points_evict.h"

#define PLUGINS_MOST 4
#define CANDIDATES 4 /* called a, b, c and d */

/* What one fake plugin answers, and how often it was asked. */
struct fake {
    bool present, protects, enabled;
    unsigned tier;
    int64_t answer;
    const char *names; /* of candidates; NULL: it says nothing */
    unsigned asked;
};

/* A table's words for a plugin. */
#define AT(tier_, names_) {.present = true, .enabled = true, .tier = (tier_), .names = (names_)}
#define GUARD(tier_, names_)                                                                       \
    {.present = true, .protects = true, .enabled = true, .tier = (tier_), .names = (names_)}
#define OFF(names_) {.present = true, .names = (names_)}
#define SAYS(tier_, answer_)                                                                       \
    {.present = true, .enabled = true, .tier = (tier_), .answer = (answer_)}
#define MUTE(answer_) {.present = true, .answer = (answer_)}
#define NONE {.enabled = true}
#define REJECTS "!" /* with all of them marked all the same */

static struct fake *fake_of(const struct plugin *plugin)
{
    struct fake *fake = plugin->state;
    fake->asked++;
    return fake;
}

static bool is_named(const char *names, size_t candidate)
{
    return names && strchr(names, 'a' + (int)candidate);
}

static enum plugin_vote evictable(struct plugin *plugin, const struct eviction *eviction, bool *may)
{
    const struct fake *fake = fake_of(plugin);
    for (size_t i = 0; i < eviction->n; i++) {
        assert_true(may[i]);
        may[i] = is_named(fake->names, i) || (fake->names && strcmp(fake->names, REJECTS) == 0);
    }
    if (!fake->names)
        return VOTE_ABSTAIN;
    return strcmp(fake->names, REJECTS) == 0 ? VOTE_REJECT : VOTE_PERMIT;
}

static void victims(struct plugin *plugin, const struct cache *cache,
                    const struct sched_task *const *tasks, size_t n, bool *go)
{
    const struct fake *fake = fake_of(plugin);
    (void)cache;
    (void)tasks;
    for (size_t i = 0; i < n; i++)
        if (is_named(fake->names, i))
            go[i] = true;
}

static void spare(struct plugin *plugin, const struct cache *cache,
                  const struct sched_task *const *tasks, size_t n, bool *go)
{
    const struct fake *fake = fake_of(plugin);
    (void)cache;
    (void)tasks;
    for (size_t i = 0; i < n; i++)
        go[i] = go[i] && is_named(fake->names, i);
}

static bool job_starving(const struct plugin *plugin, const struct sched_job *job)
{
    (void)job;
    return fake_of(plugin)->answer != 0;
}

static enum plugin_vote job_pipelined(const struct plugin *plugin, const struct sched_job *job)
{
    (void)job;
    return (enum plugin_vote)fake_of(plugin)->answer;
}

static bool preemptive(struct plugin *plugin, const struct cache *cache,
                       const struct sched_queue *queue, const struct resource_set *request)
{
    (void)cache;
    (void)queue;
    (void)request;
    return fake_of(plugin)->answer != 0;
}

static int task_order(const struct plugin *plugin, const struct sched_task *a,
                      const struct sched_task *b)
{
    (void)a;
    (void)b;
    return (int)fake_of(plugin)->answer;
}

static int victim_queue_order(const struct plugin *plugin, const struct sched_queue *a,
                              const struct sched_queue *b, const struct sched_queue *taker)
{
    (void)a;
    (void)b;
    (void)taker;
    return (int)fake_of(plugin)->answer;
}

static bool keeps_job(struct plugin *plugin, const struct eviction *eviction,
                      const struct sched_job *job)
{
    (void)eviction;
    (void)job;
    return fake_of(plugin)->answer != 0;
}

#define POINTS                                                                                     \
    .evictable = evictable, .keeps_job = keeps_job, .victims = victims,                            \
    .job_starving = job_starving, .job_pipelined = job_pipelined, .preemptive = preemptive,        \
    .task_order = task_order, .victim_queue_order = victim_queue_order

static const struct plugin_type full = {.name = "full", POINTS};
static const struct plugin_type guard = {.name = "guard", POINTS, .protects = true, .spare = spare};
static const struct plugin_type empty = {.name = "empty"};

/* A configuration of fakes; `points` of each are what the table says. */
struct stage {
    struct fake fakes[PLUGINS_MOST];
    struct plugin plugins[PLUGINS_MOST];
    struct plugin *items[PLUGINS_MOST];
    struct sched_config config;
};

static void stage_set(struct stage *stage, const struct fake *fakes, unsigned n)
{
    memset(stage, 0, sizeof(*stage));
    for (unsigned i = 0; i < n; i++) {
        const struct fake *fake = &fakes[i];
        stage->fakes[i] = *fake;
        stage->plugins[i].type = !fake->present ? &empty : fake->protects ? &guard : &full;
        stage->plugins[i].tier = fake->tier;
        stage->plugins[i].state = &stage->fakes[i];
        for (int point = 0; point < POINT_COUNT; point++)
            stage->plugins[i].enabled[point] = fake->enabled;
        stage->items[i] = &stage->plugins[i];
    }
    stage->config.plugins.items = stage->items;
    stage->config.plugins.n = stage->config.plugins.cap = n;
}

static void check_asked(const struct stage *stage, const unsigned *asked, const char *what)
{
    for (unsigned i = 0; i < stage->config.plugins.n; i++)
        if (stage->fakes[i].asked != asked[i])
            fail_msg("%s: plugin %u was asked %u times", what, i, stage->fakes[i].asked);
}

/* ---- victims --------------------------------------------------------------------------------- */

struct victim_row {
    const char *what;
    struct fake plugins[PLUGINS_MOST];
    unsigned n;
    const char *result;
    unsigned asked[PLUGINS_MOST];
};

static const struct victim_row evictable_rows[] = {
    {"nobody says anything", {NONE}, 1, "", {0}},
    {"all abstain", {AT(0, NULL), AT(1, NULL)}, 2, "", {1, 1}},
    {"one plugin", {AT(0, "ac")}, 1, "ac", {1}},
    {"all that a tier agrees on", {AT(0, "abc"), AT(0, "bcd")}, 2, "bc", {1, 1}},
    {"who abstains does not count", {AT(0, "ab"), AT(0, NULL), AT(0, "bc")}, 3, "b", {1, 1, 1}},
    {"the first tier decides", {AT(0, "ab"), AT(1, "cd")}, 2, "ab", {1, 0}},
    {"a tier that abstains does not", {AT(0, NULL), AT(1, "cd")}, 2, "cd", {1, 1}},
    {"a tier without the point does not", {NONE, AT(1, "cd")}, 2, "cd", {0, 1}},
    /* Nobody ends the tier; the next is asked. */
    {"an empty answer", {AT(0, "")}, 1, "", {1}},
    {"an empty answer ends its tier", {AT(0, ""), AT(0, "ab")}, 2, "", {1, 0}},
    {"an empty answer after another", {AT(0, "ab"), AT(0, "")}, 2, "", {1, 1}},
    {"after it the next tier", {AT(0, ""), AT(0, "ab"), AT(1, "cd")}, 3, "cd", {1, 0, 1}},
    /* So does an empty intersection: those behind it do not begin afresh. */
    {"nothing in common", {AT(0, "ab"), AT(0, "cd"), AT(0, "abcd")}, 3, "", {1, 1, 0}},
    {"nothing in common, next tier", {AT(0, "ab"), AT(0, "cd"), AT(1, "d")}, 3, "d", {1, 1, 1}},
    /* A rejection is an empty answer, whatever is marked. */
    {"a rejection", {AT(0, REJECTS), AT(0, "ab")}, 2, "", {1, 0}},
    {"a rejection, next tier", {AT(0, REJECTS), AT(1, "ab")}, 2, "ab", {1, 1}},
    {"switched off", {OFF(""), AT(0, "ab")}, 2, "ab", {0, 1}},
    /* Who protects is asked first, once more in its tier, and always heard. */
    {"protected in the tier", {GUARD(0, "abc"), AT(0, "bcd")}, 2, "bc", {2, 1}},
    {"protected in a later tier", {AT(0, "ab"), GUARD(1, "bcd")}, 2, "b", {1, 1}},
    {"protected in an earlier tier", {GUARD(0, ""), AT(1, "ab")}, 2, "", {2, 1}},
    {"its part of an earlier tier", {GUARD(0, "abc"), AT(0, ""), AT(1, "bcd")}, 3, "bc", {2, 1, 1}},
    {"all of a tier are protected, the next has more",
     {AT(0, "a"), AT(1, "ab"), GUARD(2, "bcd")},
     3,
     "b",
     {1, 1, 1}},
    {"two that protect", {GUARD(0, "abc"), GUARD(1, "acd")}, 2, "ac", {2, 1}},
    {"protection alone decides, too", {NONE, GUARD(1, "ab")}, 2, "ab", {0, 2}},
    {"protection that rejects", {AT(0, "ab"), GUARD(1, REJECTS)}, 2, "", {1, 2}},
    {"protection that abstains", {AT(0, "ab"), GUARD(1, NULL)}, 2, "ab", {1, 1}},
    {"protection switched off",
     {AT(0, "ab"), {.present = true, .protects = true, .tier = 1, .names = ""}},
     2,
     "ab",
     {1, 0}},
};

/* Of plugins that name pods to go by themselves. */
static const struct victim_row victim_rows[] = {
    {"nobody", {NONE}, 1, "", {0}},
    {"one", {AT(0, "b")}, 1, "b", {1}},
    {"all that a tier names", {AT(0, "ab"), AT(0, "bd")}, 2, "abd", {1, 1}},
    {"the first tier decides", {AT(0, "a"), AT(1, "b")}, 2, "a", {1, 0}},
    {"a tier that names nobody does not", {AT(0, ""), AT(1, "b")}, 2, "b", {1, 1}},
    {"an empty list takes nothing away", {AT(0, ""), AT(0, "b"), AT(0, "")}, 3, "b", {1, 1, 1}},
    {"switched off", {OFF("a"), AT(1, "b")}, 2, "b", {0, 1}},
    /* Who spares names somebody as well here, and lets nobody else go. */
    {"spared by a later tier", {AT(0, "abc"), GUARD(1, "b")}, 2, "b", {1, 1}},
    {"spared in its tier", {AT(0, "ab"), GUARD(0, "bc")}, 2, "bc", {1, 2}},
    {"a tier whose victims are spared does not decide",
     {AT(0, "a"), GUARD(1, "b"), AT(1, "ab")},
     3,
     "b",
     {1, 3, 1}},
    {"nobody to spare", {AT(0, ""), GUARD(1, "")}, 2, "", {1, 1}},
    {"sparing switched off",
     {AT(0, "ab"), {.present = true, .protects = true, .tier = 1, .names = ""}},
     2,
     "ab",
     {1, 0}},
};

static void check_marks(const struct victim_row *row, const bool *marks, size_t count)
{
    for (size_t i = 0; i < CANDIDATES; i++)
        if (marks[i] != is_named(row->result, i))
            fail_msg("%s: %c is %s", row->what, 'a' + (int)i, marks[i] ? "in" : "out");
    if (count != strlen(row->result))
        fail_msg("%s: counted %zu", row->what, count);
}

static const struct sched_task *const nobody[CANDIDATES];

static void who_may_be_evicted(void **state)
{
    (void)state;
    for (int kind = 0; kind < EVICT_KIND_COUNT; kind++)
        for (size_t i = 0; i < ARRAY_SIZE(evictable_rows); i++) {
            const struct victim_row *row = &evictable_rows[i];
            const struct eviction eviction = {
                .kind = (enum eviction_kind)kind, .candidates = nobody, .n = CANDIDATES};
            bool may[CANDIDATES] = {true, false, true, false};
            struct stage stage;
            bool off = false;
            stage_set(&stage, row->plugins, row->n);
            for (unsigned p = 0; p < row->n; p++)
                off = off || (row->plugins[p].present && !row->plugins[p].enabled);
            if (off && kind != EVICT_PREEMPT && kind != EVICT_RECLAIM)
                continue; /* there is no switch for these */
            size_t count = config_evictable(&stage.config, &eviction, may);
            check_marks(row, may, count);
            check_asked(&stage, row->asked, row->what);
        }
}

/* Where somebody has to say whose claim is the stronger one, protection alone lets nobody go. */
static void who_may_be_evicted_by_rank(void **state)
{
    static const struct {
        struct fake plugins[PLUGINS_MOST];
        const char *result;
    } rows[] = {
        {{GUARD(0, "ab")}, ""},
        {{GUARD(0, "abc"), GUARD(1, "acd")}, ""},
        {{GUARD(0, "ab"), AT(0, "bc")}, "b"},
        {{GUARD(0, "abc"), AT(1, "bcd")}, "bc"},
        {{AT(0, "ab"), GUARD(1, "bc")}, "b"},
        {{GUARD(0, "ab"), AT(0, NULL)}, ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct eviction eviction = {
            .kind = EVICT_PREEMPT, .ranked = true, .candidates = nobody, .n = CANDIDATES};
        const struct victim_row row = {.what = "ranked", .result = rows[i].result};
        bool may[CANDIDATES];
        struct stage stage;
        stage_set(&stage, rows[i].plugins, rows[i].plugins[1].present ? 2 : 1);
        size_t count = config_evictable(&stage.config, &eviction, may);
        check_marks(&row, may, count);
    }
}

/* A tier in which one keeps all of a job lets none of it go; nor does any if that one protects. */
static void who_is_kept_at_once(void **state)
{
#define KEEPS(tier_) {.present = true, .enabled = true, .tier = (tier_), .answer = 1}
#define HALTS(tier_)                                                                               \
    {.present = true, .protects = true, .enabled = true, .tier = (tier_), .answer = 1}
    static const struct {
        struct fake plugins[PLUGINS_MOST];
        unsigned n;
        bool kept, kept_by_rank;
    } rows[] = {
        {{NONE}, 1, true, true},
        {{AT(0, "a")}, 1, false, false},
        {{KEEPS(0)}, 1, true, true},
        {{AT(0, "a"), KEEPS(0)}, 2, true, true},
        {{KEEPS(0), AT(0, "a")}, 2, true, true},
        {{KEEPS(0), AT(1, "a")}, 2, false, false},
        {{AT(0, "a"), KEEPS(1)}, 2, false, false},
        {{KEEPS(0), KEEPS(1)}, 2, true, true},
        {{AT(0, "a"), HALTS(1)}, 2, true, true},
        {{HALTS(0), AT(1, "a")}, 2, true, true},
        {{KEEPS(0), HALTS(0), AT(1, "a")}, 3, true, true},
        {{GUARD(0, "a")}, 1, false, true},
        {{GUARD(0, "a"), KEEPS(1)}, 2, false, true},
        {{OFF("a"), MUTE(1)}, 2, true, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (int ranked = 0; ranked < 2; ranked++) {
            const struct eviction eviction = {.kind = EVICT_PREEMPT, .ranked = ranked};
            struct stage stage;
            stage_set(&stage, rows[i].plugins, rows[i].n);
            if (config_keeps_job(&stage.config, &eviction, NULL) !=
                (ranked ? rows[i].kept_by_rank : rows[i].kept))
                fail_msg("row %zu, ranked %d", i, ranked);
        }
}

/* Each kind has its own switch, or none. */
static void switches_of_kinds(void **state)
{
    static const struct {
        enum plugin_point off;
        size_t count[EVICT_KIND_COUNT];
    } switches[] = {
        {POINT_PREEMPTABLE, {0, 2, 2, 2}},
        {POINT_RECLAIMABLE, {2, 0, 2, 2}},
        {POINT_VICTIM, {2, 2, 2, 2}},
    };
    const struct fake fake = AT(0, "ab");
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(switches); i++)
        for (int kind = 0; kind < EVICT_KIND_COUNT; kind++) {
            const struct eviction eviction = {
                .kind = (enum eviction_kind)kind, .candidates = nobody, .n = CANDIDATES};
            bool may[CANDIDATES];
            struct stage stage;
            stage_set(&stage, &fake, 1);
            stage.plugins[0].enabled[switches[i].off] = false;
            assert_int_equal(config_evictable(&stage.config, &eviction, may),
                             switches[i].count[kind]);
        }
}

static void without_candidates_nobody_is_evicted(void **state)
{
    const struct eviction eviction = {.kind = EVICT_PREEMPT};
    const struct fake fakes[] = {AT(0, "ab"), GUARD(0, "ab")};
    struct stage stage;
    bool may[1] = {true};
    (void)state;
    stage_set(&stage, fakes, 2);
    assert_int_equal(config_evictable(&stage.config, &eviction, may), 0);
}

static void who_goes_by_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(victim_rows); i++) {
        const struct victim_row *row = &victim_rows[i];
        bool go[CANDIDATES] = {true, false, true, false};
        struct stage stage;
        stage_set(&stage, row->plugins, row->n);
        size_t count = config_victims(&stage.config, NULL, nobody, CANDIDATES, go);
        check_marks(row, go, count);
        check_asked(&stage, row->asked, row->what);
    }
}

/* ---- for whom -------------------------------------------------------------------------------- */

static const struct sched_queue old_queue = {.name = "b", .created_ns = 1};
static const struct sched_queue new_queue = {.name = "a", .created_ns = 2};
static struct sched_job old_job = {.uid = "b", .created_ns = 1};

static bool ask_starving(const struct sched_config *config)
{
    return config_job_starving(config, &old_job);
}

static bool ask_pipelined(const struct sched_config *config)
{
    return config_job_pipelined(config, &old_job);
}

static bool ask_preemptive(const struct sched_config *config)
{
    static const struct resource_set request;
    return config_preemptive(config, NULL, &old_queue, &request);
}

enum { NO = VOTE_REJECT, YES = VOTE_PERMIT, ABSTAIN = VOTE_ABSTAIN };

static const struct {
    const char *what;
    bool (*ask)(const struct sched_config *config);
    struct fake plugins[PLUGINS_MOST];
    unsigned n;
    bool result;
    unsigned asked[PLUGINS_MOST];
} answer_rows[] = {
    /* The first tier that has the point decides; all of it must agree. */
    {"nobody starves", ask_starving, {NONE}, 1, false, {0}},
    {"starving", ask_starving, {SAYS(0, 1)}, 1, true, {1}},
    {"not starving", ask_starving, {SAYS(0, 0)}, 1, false, {1}},
    {"both say so", ask_starving, {SAYS(0, 1), SAYS(0, 1)}, 2, true, {1, 1}},
    {"the second does not", ask_starving, {SAYS(0, 1), SAYS(0, 0)}, 2, false, {1, 1}},
    {"the first does not", ask_starving, {SAYS(0, 0), SAYS(0, 1)}, 2, false, {1, 0}},
    {"no of the first tier", ask_starving, {SAYS(0, 0), SAYS(1, 1)}, 2, false, {1, 0}},
    {"yes of the first tier", ask_starving, {SAYS(0, 1), SAYS(1, 0)}, 2, true, {1, 0}},
    {"second tier", ask_starving, {NONE, SAYS(1, 1)}, 2, true, {0, 1}},
    {"first tier off", ask_starving, {MUTE(0), SAYS(1, 1)}, 2, true, {0, 1}},

    /* Votes: a no ends it, a yes after its tier; none is a yes. */
    {"no votes", ask_pipelined, {NONE}, 1, true, {0}},
    {"all abstain", ask_pipelined, {SAYS(0, ABSTAIN), SAYS(1, ABSTAIN)}, 2, true, {1, 1}},
    {"one yes", ask_pipelined, {SAYS(0, YES)}, 1, true, {1}},
    {"one no", ask_pipelined, {SAYS(0, NO)}, 1, false, {1}},
    {"no after yes in a tier", ask_pipelined, {SAYS(0, YES), SAYS(0, NO)}, 2, false, {1, 1}},
    {"no before yes", ask_pipelined, {SAYS(0, NO), SAYS(0, YES)}, 2, false, {1, 0}},
    {"yes covers later tiers", ask_pipelined, {SAYS(0, YES), SAYS(1, NO)}, 2, true, {1, 0}},
    {"abstaining does not", ask_pipelined, {SAYS(0, ABSTAIN), SAYS(1, NO)}, 2, false, {1, 1}},
    {"yes, abstain, then a tier",
     ask_pipelined,
     {SAYS(0, YES), SAYS(0, ABSTAIN), SAYS(1, NO)},
     3,
     true,
     {1, 1, 0}},
    {"a no switched off", ask_pipelined, {MUTE(NO), SAYS(0, YES)}, 2, true, {0, 1}},

    /* All must agree, and one must say so. */
    {"nobody knows", ask_preemptive, {NONE}, 1, false, {0}},
    {"both for", ask_preemptive, {SAYS(0, 1), SAYS(1, 1)}, 2, true, {1, 1}},
    {"one against", ask_preemptive, {SAYS(0, 1), SAYS(1, 0), SAYS(2, 1)}, 3, false, {1, 1, 0}},
    {"it is switched off", ask_preemptive, {MUTE(0), SAYS(1, 1)}, 2, true, {0, 1}},
};

static void for_whom(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(answer_rows); i++) {
        struct stage stage;
        stage_set(&stage, answer_rows[i].plugins, answer_rows[i].n);
        if (answer_rows[i].ask(&stage.config) != answer_rows[i].result)
            fail_msg("%s", answer_rows[i].what);
        check_asked(&stage, answer_rows[i].asked, answer_rows[i].what);
    }
}

/* ---- in which order -------------------------------------------------------------------------- */

static struct pod first_pod = {.ordinal = 0, .meta = {.created_ns = 9, .uid = "b"}};
static struct pod second_pod = {.ordinal = 1, .meta = {.created_ns = 5, .uid = "a"}};
static struct pod late_pod = {.ordinal = 1, .meta = {.created_ns = 6, .uid = "a"}};
static struct pod twin_pod = {.ordinal = 1, .meta = {.created_ns = 6, .uid = "b"}};

static void pods_by_plugins_then_ordinal_age_and_uid(void **state)
{
    static struct pod *const pods[] = {&first_pod, &second_pod, &late_pod, &twin_pod};
    static const struct {
        struct fake plugins[PLUGINS_MOST];
        unsigned n;
        bool in_order, against; /* pods in the order above, and against it */
    } rows[] = {
        {{NONE}, 1, true, false},
        {{SAYS(0, 0), SAYS(1, 1)}, 2, false, false},
        {{SAYS(0, 1), SAYS(1, -1)}, 2, false, false},
        {{SAYS(0, 0), SAYS(1, -1)}, 2, true, true},
        {{MUTE(1)}, 1, true, false},
    };
    (void)state;
    for (size_t r = 0; r < ARRAY_SIZE(rows); r++)
        for (size_t i = 0; i + 1 < ARRAY_SIZE(pods); i++) {
            const struct sched_task a = {.pod = pods[i]}, b = {.pod = pods[i + 1]};
            struct stage stage;
            stage_set(&stage, rows[r].plugins, rows[r].n);
            assert_int_equal(config_task_before(&stage.config, &a, &b), rows[r].in_order);
            assert_int_equal(config_task_before(&stage.config, &b, &a), rows[r].against);
        }
}

/* Jobs are served in the order of their age here, queues likewise. */
static void who_is_evicted_first(void **state)
{
    struct sched_queue older = old_queue, newer = new_queue;
    struct sched_job first = {.uid = "a", .created_ns = 1, .queue = &older};
    struct sched_job second = {.uid = "b", .created_ns = 2, .queue = &older};
    struct sched_job other = {.uid = "c", .created_ns = 0, .queue = &newer};
    struct sched_job gone = {.uid = NULL, .queue = &older};
    struct sched_job taker = {.uid = "t", .queue = &older};
    const struct {
        const char *what;
        struct sched_task early, late; /* `early` is evicted before `late` */
        const struct sched_job *taker;
    } rows[] = {
        {"of one job the pod that was placed last",
         {.pod = &second_pod, .job = &first},
         {.pod = &first_pod, .job = &first},
         &taker},
        {"of one queue the job that is served last",
         {.pod = &first_pod, .job = &second},
         {.pod = &second_pod, .job = &first},
         &taker},
        {"the pod of a job that is gone",
         {.pod = &first_pod, .job = &gone},
         {.pod = &second_pod, .job = &second},
         &taker},
        {"the pod of no job",
         {.pod = &first_pod, .job = NULL},
         {.pod = &second_pod, .job = &second},
         &taker},
        {"of two jobs that are gone the pod that was placed last",
         {.pod = &second_pod, .job = NULL},
         {.pod = &first_pod, .job = &gone},
         &taker},
        {"of two queues that which is served last",
         {.pod = &first_pod, .job = &other},
         {.pod = &second_pod, .job = &second},
         &taker},
        {"for nobody in particular the job that is served last",
         {.pod = &first_pod, .job = &second},
         {.pod = &second_pod, .job = &other},
         NULL},
    };
    struct stage stage;
    (void)state;
    stage_set(&stage, NULL, 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (!config_victim_before(&stage.config, &rows[i].early, &rows[i].late, rows[i].taker) ||
            config_victim_before(&stage.config, &rows[i].late, &rows[i].early, rows[i].taker))
            fail_msg("%s", rows[i].what);
}

static void plugins_order_queues_that_give(void **state)
{
    struct sched_queue older = old_queue, newer = new_queue;
    struct sched_job mine = {.uid = "a", .queue = &older}, theirs = {.uid = "b", .queue = &newer};
    const struct sched_task a = {.pod = &first_pod, .job = &mine};
    const struct sched_task b = {.pod = &second_pod, .job = &theirs};
    static const struct {
        struct fake plugins[PLUGINS_MOST];
        unsigned n;
        bool a_first;
    } rows[] = {
        {{NONE}, 1, false},
        {{SAYS(0, -1)}, 1, true},
        {{SAYS(0, 0), SAYS(1, -1)}, 2, true},
        {{SAYS(0, 1), SAYS(1, -1)}, 2, false},
        {{MUTE(-1)}, 1, true}, /* there is no switch */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct stage stage;
        stage_set(&stage, rows[i].plugins, rows[i].n);
        assert_int_equal(config_victim_before(&stage.config, &a, &b, &mine), rows[i].a_first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_may_be_evicted),
        cmocka_unit_test(who_may_be_evicted_by_rank),
        cmocka_unit_test(who_is_kept_at_once),
        cmocka_unit_test(switches_of_kinds),
        cmocka_unit_test(without_candidates_nobody_is_evicted),
        cmocka_unit_test(who_goes_by_itself),
        cmocka_unit_test(for_whom),
        cmocka_unit_test(pods_by_plugins_then_ordinal_age_and_uid),
        cmocka_unit_test(who_is_evicted_first),
        cmocka_unit_test(plugins_order_queues_that_give),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
