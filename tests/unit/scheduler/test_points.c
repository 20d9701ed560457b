/*
 * How the answers of plugins combine at each point, as tables, with plugins that answer what the
 * table says.
 */
#include "testing.h"

#include "base/log.h"
#include "scheduler/config.h"

#define PLUGINS_MOST 4

/* What one fake plugin answers, and how often it was asked. */
struct fake {
    bool present; /* has the point at all */
    bool enabled;
    unsigned tier;
    int64_t answer;
    unsigned asked;
};

/* A table's word for a plugin: ON(answer), OFF(answer) (switched off), NONE (no such point). */
#define AT(tier_, answer_) {.present = true, .enabled = true, .tier = (tier_), .answer = (answer_)}
#define ON(answer_) AT(0, answer_)
#define OFF(answer_) {.present = true, .answer = (answer_)}
#define NONE {.enabled = true}

static int64_t reply(const struct plugin *plugin)
{
    struct fake *fake = plugin->state;
    fake->asked++;
    return fake->answer;
}

static int order_queues(const struct plugin *plugin, const struct sched_queue *a,
                        const struct sched_queue *b)
{
    (void)a;
    (void)b;
    return (int)reply(plugin);
}

static int order_jobs(const struct plugin *plugin, const struct sched_job *a,
                      const struct sched_job *b)
{
    (void)a;
    (void)b;
    return (int)reply(plugin);
}

static enum plugin_vote vote(struct plugin *plugin, const struct cache *cache,
                             const struct sched_job *job, struct buf *why)
{
    (void)cache;
    (void)job;
    enum plugin_vote answer = (enum plugin_vote)reply(plugin);
    if (answer == VOTE_REJECT)
        buf_printf(why, "tier %u refuses", plugin->tier);
    return answer;
}

static int64_t due(const struct plugin *plugin, const struct sched_job *job)
{
    (void)job;
    return reply(plugin);
}

static void entered(struct plugin *plugin, const struct sched_job *job)
{
    (void)job;
    (void)reply(plugin);
}

static bool about_job(const struct plugin *plugin, const struct sched_job *job)
{
    (void)job;
    return reply(plugin) != 0;
}

static bool overused(struct plugin *plugin, const struct cache *cache,
                     const struct sched_queue *queue)
{
    (void)cache;
    (void)queue;
    return reply(plugin) != 0;
}

static bool allocatable(struct plugin *plugin, const struct cache *cache,
                        const struct sched_queue *queue, const struct pod_class *cls,
                        struct buf *why)
{
    (void)cache;
    (void)queue;
    (void)cls;
    (void)why;
    return reply(plugin) != 0;
}

static int64_t figure(struct plugin *plugin, const struct cache *cache,
                      const struct sched_queue *queue, enum queue_figure which, uint32_t id)
{
    (void)cache;
    (void)queue;
    (void)which;
    (void)id;
    return reply(plugin);
}

static const char *filter(const struct plugin *plugin, const struct pod_class *cls,
                          const struct node *node)
{
    static const char *const reasons[] = {NULL, "one", "two"};
    (void)cls;
    (void)node;
    return reasons[reply(plugin)];
}

static const char *crowded(const struct plugin *plugin, const struct pod_class *cls,
                           const struct sched_node *node)
{
    (void)node;
    return filter(plugin, cls, NULL);
}

static int64_t score(const struct plugin *plugin, const struct pod_class *cls,
                     const struct sched_node *node)
{
    (void)cls;
    (void)node;
    return reply(plugin);
}

static enum plugin_miss missed(struct plugin *plugin, struct cache *cache,
                               const struct task_group *group, const struct fit_table *table)
{
    (void)cache;
    (void)group;
    (void)table;
    return (enum plugin_miss)reply(plugin);
}

static void binding(struct plugin *plugin, const struct sched_task *task, bool failed)
{
    (void)task;
    assert_true(failed);
    (void)reply(plugin);
}

static const struct plugin_type full = {.name = "full",
                                        .queue_order = order_queues,
                                        .job_order = order_jobs,
                                        .job_enqueueable = vote,
                                        .job_due = due,
                                        .job_enqueued = entered,
                                        .job_ready = about_job,
                                        .job_possible = about_job,
                                        .overused = overused,
                                        .allocatable = allocatable,
                                        .queue_figure = figure,
                                        .filter = filter,
                                        .crowded = crowded,
                                        .missed = missed,
                                        .binding = binding,
                                        .score = score};
static const struct plugin_type empty = {.name = "empty"};

static const struct cache cache;
static const struct sched_queue old_queue = {.name = "b", .created_ns = 1};
static const struct sched_queue new_queue = {.name = "a", .created_ns = 2};
static const struct sched_queue twin_queue = {.name = "b", .created_ns = 2};
static const struct sched_job old_job = {.uid = "b", .created_ns = 1};
static const struct sched_job new_job = {.uid = "a", .created_ns = 2};
static const struct sched_job twin_job = {.uid = "b", .created_ns = 2};
static const struct pod_class cls;

/* Each asks the point; the result as a number. */
static int64_t ask_queue_order(const struct sched_config *config)
{
    return config_queue_before(config, &new_queue, &old_queue);
}

static int64_t ask_job_order(const struct sched_config *config)
{
    return config_job_before(config, &new_job, &old_job);
}

static int64_t ask_enqueueable(const struct sched_config *config)
{
    cleanup_buf struct buf why = BUF_INIT(256);
    bool may = config_job_enqueueable(config, &cache, &old_job, &why);
    assert_true(may == (why.n == 0));
    return may;
}

static int64_t ask_due(const struct sched_config *config)
{
    return config_job_due(config, &old_job);
}

static int64_t ask_enqueued(const struct sched_config *config)
{
    config_job_enqueued(config, &old_job);
    return 0;
}

static int64_t ask_ready(const struct sched_config *config)
{
    return config_job_ready(config, &old_job);
}

static int64_t ask_possible(const struct sched_config *config)
{
    return config_job_possible(config, &old_job);
}

static int64_t ask_overused(const struct sched_config *config)
{
    return config_queue_overused(config, &cache, &old_queue);
}

static int64_t ask_allocatable(const struct sched_config *config)
{
    cleanup_buf struct buf why = BUF_INIT(256);
    return config_allocatable(config, &cache, &old_queue, &cls, &why);
}

static int64_t ask_figure(const struct sched_config *config)
{
    return config_queue_figure(config, &cache, &old_queue, FIGURE_LIMIT, 0);
}

static int64_t ask_filter(const struct sched_config *config)
{
    const char *reason = config_filter(config, &cls, NULL);
    return !reason ? 0 : strcmp(reason, "one") == 0 ? 1 : 2;
}

static int64_t ask_crowded(const struct sched_config *config)
{
    const char *reason = config_crowded(config, &cls, NULL);
    return !reason ? 0 : strcmp(reason, "one") == 0 ? 1 : 2;
}

static int64_t ask_score(const struct sched_config *config)
{
    return config_score(config, &cls, NULL);
}

static int64_t ask_missed(const struct sched_config *config)
{
    return config_missed(config, NULL, NULL, NULL);
}

static int64_t ask_binding(const struct sched_config *config)
{
    config_binding(config, NULL, true);
    return 0;
}

struct row {
    const char *what;
    int64_t (*ask)(const struct sched_config *config);
    struct fake plugins[PLUGINS_MOST];
    unsigned n;
    int64_t result;
    unsigned asked[PLUGINS_MOST]; /* how often each */
};

enum { NO = VOTE_REJECT, YES = VOTE_PERMIT, ABSTAIN = VOTE_ABSTAIN };

static const struct row rows[] = {
    /* The first that is not 0 decides; new before old only if a plugin says so. */
    {"jobs by age", ask_job_order, {NONE}, 0, false, {0}},
    {"first decides", ask_job_order, {ON(-1), ON(1)}, 2, true, {1, 0}},
    {"second decides", ask_job_order, {ON(0), ON(-5)}, 2, true, {1, 1}},
    {"against", ask_job_order, {ON(1), ON(-1)}, 2, false, {1, 0}},
    {"across tiers", ask_job_order, {AT(0, 0), AT(1, -1)}, 2, true, {1, 1}},
    {"switched off", ask_job_order, {OFF(-1), NONE}, 2, false, {0, 0}},
    {"all equal", ask_job_order, {ON(0), ON(0)}, 2, false, {1, 1}},
    {"queues by age", ask_queue_order, {NONE}, 0, false, {0}},
    {"first decides", ask_queue_order, {ON(-1), ON(1)}, 2, true, {1, 0}},
    {"second decides", ask_queue_order, {ON(0), ON(-1)}, 2, true, {1, 1}},
    {"switched off", ask_queue_order, {OFF(-1)}, 1, false, {0}},

    /* Votes: a no ends it, a yes after its tier; none is a yes. */
    {"no votes", ask_enqueueable, {NONE}, 0, true, {0}},
    {"all abstain", ask_enqueueable, {ON(ABSTAIN), AT(1, ABSTAIN)}, 2, true, {1, 1}},
    {"one yes", ask_enqueueable, {ON(YES)}, 1, true, {1}},
    {"one no", ask_enqueueable, {ON(NO)}, 1, false, {1}},
    {"no after yes in a tier", ask_enqueueable, {ON(YES), ON(NO)}, 2, false, {1, 1}},
    {"no before yes", ask_enqueueable, {ON(NO), ON(YES)}, 2, false, {1, 0}},
    {"yes covers later tiers", ask_enqueueable, {AT(0, YES), AT(1, NO)}, 2, true, {1, 0}},
    {"abstaining does not", ask_enqueueable, {AT(0, ABSTAIN), AT(1, NO)}, 2, false, {1, 1}},
    {"yes, abstain, then a tier",
     ask_enqueueable,
     {AT(0, YES), AT(0, ABSTAIN), AT(1, NO)},
     3,
     true,
     {1, 1, 0}},
    {"yes of the second tier",
     ask_enqueueable,
     {AT(0, ABSTAIN), AT(1, YES), AT(2, NO)},
     3,
     true,
     {1, 1, 0}},
    {"a no switched off", ask_enqueueable, {OFF(NO), ON(YES)}, 2, true, {0, 1}},

    /* The earliest. */
    {"never", ask_due, {NONE}, 1, INT64_MAX, {0}},
    {"the earliest time", ask_due, {ON(7), AT(1, 5), ON(6)}, 3, 5, {1, 1, 1}},
    {"a time switched off", ask_due, {ON(7), OFF(5)}, 2, 7, {1, 0}},

    /* All are told. */
    {"all are told", ask_enqueued, {ON(0), NONE, OFF(0), AT(1, 0)}, 4, 0, {1, 0, 0, 1}},

    /* All must agree. */
    {"nobody asks for readiness", ask_ready, {NONE}, 1, true, {0}},
    {"both ready", ask_ready, {ON(1), ON(1)}, 2, true, {1, 1}},
    {"one not", ask_ready, {ON(1), AT(1, 0)}, 2, false, {1, 1}},
    {"one switched off", ask_ready, {ON(1), OFF(0)}, 2, true, {1, 0}},
    {"possible", ask_possible, {ON(1), ON(1)}, 2, true, {1, 1}},
    {"impossible", ask_possible, {ON(0), ON(1)}, 2, false, {1, 0}},
    {"impossible whatever is switched off", ask_possible, {OFF(0)}, 1, false, {1}},
    {"may have more", ask_allocatable, {ON(1), AT(1, 1)}, 2, true, {1, 1}},
    {"may not", ask_allocatable, {ON(1), AT(1, 0), AT(2, 1)}, 3, false, {1, 1, 0}},
    {"may, since switched off", ask_allocatable, {OFF(0), NONE}, 2, true, {0, 0}},

    /* One is enough. */
    {"nobody says overused", ask_overused, {NONE}, 1, false, {0}},
    {"not overused", ask_overused, {ON(0), ON(0)}, 2, false, {1, 1}},
    {"one says so", ask_overused, {ON(0), AT(1, 1), AT(1, 0)}, 3, true, {1, 1, 0}},
    {"it is switched off", ask_overused, {ON(0), OFF(1)}, 2, false, {1, 0}},

    /* The first that has something to say. */
    {"no figure", ask_figure, {ON(QUEUE_NO_FIGURE), NONE}, 2, QUEUE_NO_FIGURE, {1, 0}},
    {"second figure", ask_figure, {ON(QUEUE_NO_FIGURE), ON(7), ON(8)}, 3, 7, {1, 1, 0}},
    {"fits", ask_filter, {ON(0), ON(0)}, 2, 0, {1, 1}},
    {"first reason", ask_filter, {ON(1), ON(2)}, 2, 1, {1, 0}},
    {"second reason", ask_filter, {ON(0), AT(1, 2)}, 2, 2, {1, 1}},
    {"a reason switched off", ask_filter, {OFF(1), NONE}, 2, 0, {0, 0}},

    {"not crowded", ask_crowded, {ON(0), NONE}, 2, 0, {1, 0}},
    {"crowded for the second", ask_crowded, {ON(0), AT(1, 2), ON(1)}, 3, 2, {1, 1, 0}},
    {"crowded switched off", ask_crowded, {OFF(1)}, 1, 0, {0}},

    /* The most that any says; whoever is told of binds has no switch. */
    {"nobody to do with it", ask_missed, {ON(MISS_NONE), NONE}, 2, MISS_NONE, {1, 0}},
    {"most of all",
     ask_missed,
     {ON(MISS_KEPT_OFF), AT(1, MISS_ASKED), ON(MISS_NONE)},
     3,
     MISS_ASKED,
     {1, 1, 1}},
    {"missed switched off", ask_missed, {ON(MISS_KEPT_OFF), OFF(MISS_ASKED)}, 2, 1, {1, 0}},
    {"all hear of binds", ask_binding, {ON(0), NONE, OFF(0)}, 3, 0, {1, 0, 1}},

    /* The sum, which stays at the ends of the range. */
    {"no score", ask_score, {NONE}, 1, 0, {0}},
    {"sum", ask_score, {ON(3), AT(1, 40), ON(-1)}, 3, 42, {1, 1, 1}},
    {"switched off", ask_score, {ON(3), OFF(40)}, 2, 3, {1, 0}},
    {"too much", ask_score, {ON(INT64_MAX), ON(1)}, 2, INT64_MAX, {1, 1}},
    {"too little", ask_score, {ON(INT64_MIN), ON(-1)}, 2, INT64_MIN, {1, 1}},
};

static void check_row(const struct row *row)
{
    struct fake fakes[PLUGINS_MOST];
    struct plugin plugins[PLUGINS_MOST];
    struct plugin *items[PLUGINS_MOST];
    memcpy(fakes, row->plugins, sizeof(fakes));
    memset(plugins, 0, sizeof(plugins));
    for (unsigned i = 0; i < row->n; i++) {
        plugins[i].type = fakes[i].present ? &full : &empty;
        plugins[i].tier = fakes[i].tier;
        plugins[i].state = &fakes[i];
        for (int point = 0; point < POINT_COUNT; point++)
            plugins[i].enabled[point] = fakes[i].enabled;
        items[i] = &plugins[i];
    }
    struct sched_config config = {.plugins = {.items = items, .n = row->n, .cap = row->n}};
    sched_config_note_askers(&config);
    int64_t result = row->ask(&config);
    vec_clear(&config.crowded);
    vec_clear(&config.scorers);
    if (result != row->result)
        fail_msg("%s: %lld, not %lld", row->what, (long long)result, (long long)row->result);
    for (unsigned i = 0; i < row->n; i++)
        if (fakes[i].asked != row->asked[i])
            fail_msg("%s: plugin %u was asked %u times", row->what, i, fakes[i].asked);
}

static void answers_combine(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        check_row(&rows[i]);
}

static void ties_go_by_age_then_name(void **state)
{
    (void)state;
    const struct sched_config config = {.generation = 1};
    assert_true(config_queue_before(&config, &old_queue, &new_queue));
    assert_false(config_queue_before(&config, &new_queue, &old_queue));
    assert_true(config_queue_before(&config, &new_queue, &twin_queue));
    assert_false(config_queue_before(&config, &twin_queue, &new_queue));
    assert_true(config_job_before(&config, &old_job, &new_job));
    assert_true(config_job_before(&config, &new_job, &twin_job));
    assert_false(config_job_before(&config, &twin_job, &new_job));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_combine),
        cmocka_unit_test(ties_go_by_age_then_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
