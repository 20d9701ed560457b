/*
 * Whom gang, priority and conformance let go, for whom, and in which order, alone and together.
 */
#include "evict.h"

#define GANG "- plugins:\n  - name: gang\n"
#define PRIORITY "- plugins:\n  - name: priority\n"
#define CONFORMANCE "- plugins:\n  - name: conformance\n"
#define ALL GANG "  - name: priority\n  - name: conformance\n"

/* A running pod of a task, with its own priority. */
static void put_running(struct bare *b, const char *name, const char *group, const char *role,
                        int priority, const char *members)
{
    struct error err = ERROR_INIT;
    cleanup_free char *uid = xasprintf("u-%s", name);
    cleanup_free char *json = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\",\"annotations\":{"
        "\"scheduling.k8s.io/group-name\":\"%s\",\"volcano.sh/task-spec\":\"%s\"}},\"spec\":{"
        "\"schedulerName\":\"volcano\",\"nodeName\":\"n\",\"priority\":%d%s},\"status\":{"
        "\"phase\":\"Running\"}}",
        name, uid, group, role, priority, members);
    struct pod *pod = pod_decode(str_of(json), &err);
    if (!pod)
        fail_msg("%s", err.text);
    cache_set_pod(&b->cache, uid, pod);
    pod_unref(pod);
}

/* A job of this priority with `count` running pods: <name>-0, <name>-1, ... */
static struct sched_job *put_job(struct bare *b, const char *name, const char *spec, int priority,
                                 int count)
{
    struct sched_job *job = put_group(b, name, spec, "Running");
    job->priority = priority;
    for (int i = 0; i < count; i++) {
        cleanup_free char *pod = xasprintf("%s-%d", name, i);
        put_running(b, pod, name, "w", 0, "");
    }
    return job;
}

/* For the pod `task` of `job`, or for the whole job when that is NULL. */
static void assert_victims(const struct bare *b, const char *tiers, enum eviction_kind kind,
                           const struct sched_job *job, const char *task, const char *candidates,
                           const char *expected)
{
    struct sched_config *config = tiers_config(tiers);
    const struct sched_task *tasks[CANDIDATES_MOST];
    const struct eviction eviction = {.kind = kind,
                                      .cache = &b->cache,
                                      .job = job,
                                      .task = task ? task_of(b, task) : NULL,
                                      .candidates = tasks,
                                      .n = tasks_of(b, candidates, tasks)};
    assert_evictable(config, &eviction, expected);
}

/* ---- gang ------------------------------------------------------------------------------------ */

static void what_is_above_the_minimum_may_go(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_job(b, "a", "\"minMember\":2", 0, 4);
    put_job(b, "b", "\"minMember\":2", 0, 3);
    put_job(b, "c", "\"minMember\":2", 0, 2);
    struct sched_job *job = put_job(b, "t", "\"minMember\":1", 0, 1);
    for (int kind = EVICT_PREEMPT; kind <= EVICT_RECLAIM; kind++) {
        enum eviction_kind one = (enum eviction_kind)kind;
        assert_victims(b, GANG, one, job, "t-0", "a-0 a-1 a-2 a-3", "a-0 a-1");
        assert_victims(b, GANG, one, job, "t-0", "a-3 a-1 a-0", "a-3 a-1");
        assert_victims(b, GANG, one, job, "t-0", "a-0 b-0 c-0 b-1 a-1 c-1 a-2", "a-0 b-0 a-1");
        assert_victims(b, GANG, one, job, "t-0", "c-0 c-1", "");
        assert_victims(b, GANG, one, job, "t-0", "", "");
    }
    bare_free(b);
}

static void of_whole_jobs_nothing_has_to_stay(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_job(b, "a", "\"minMember\":2", 0, 2);
    struct sched_job *job = put_job(b, "t", "\"minMember\":1", 0, 0);
    assert_victims(b, GANG, EVICT_GANG_PREEMPT, job, NULL, "a-0 a-1", "a-0 a-1");
    assert_victims(b, GANG, EVICT_GANG_RECLAIM, job, NULL, "a-0 a-1", "a-0 a-1");
    bare_free(b);
}

/* Three may go by the number of pods, but of the one parameter server none, of the workers two. */
static void minimums_of_tasks_stay(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_group(b, "a", "\"minMember\":3,\"minTaskMember\":{\"ps\":1,\"w\":2}", "Running");
    put_running(b, "ps-0", "a", "ps", 0, "");
    for (int i = 0; i < 4; i++) {
        cleanup_free char *name = xasprintf("w-%d", i);
        put_running(b, name, "a", "w", 0, "");
    }
    put_running(b, "x-0", "a", "x", 0, "");
    struct sched_job *job = put_job(b, "t", "\"minMember\":1", 0, 1);
    assert_victims(b, GANG, EVICT_PREEMPT, job, "t-0", "ps-0 w-0 w-1 w-2 w-3 x-0", "w-0 w-1 x-0");
    put_group(b, "a", "\"minMember\":2,\"minTaskMember\":{\"ps\":1,\"w\":2}", "Running");
    /* The minimum of the job is below their sum: they do not count. */
    assert_victims(b, GANG, EVICT_PREEMPT, job, "t-0", "ps-0 w-0 w-1 w-2 w-3 x-0",
                   "ps-0 w-0 w-1 w-2");
    bare_free(b);
}

/* ---- priority -------------------------------------------------------------------------------- */

static void jobs_of_lower_priority_give_way(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_job(b, "low", "\"minMember\":1", 3, 1);
    put_job(b, "even", "\"minMember\":1", 5, 1);
    put_job(b, "high", "\"minMember\":1", 7, 1);
    struct sched_job *job = put_job(b, "t", "\"minMember\":1", 5, 0);
    put_running(b, "t-below", "t", "w", 1, "");
    put_running(b, "t-same", "t", "w", 2, "");
    put_running(b, "t-above", "t", "w", 3, "");
    const char *all = "low-0 even-0 high-0 t-below t-same t-above";
    assert_victims(b, PRIORITY, EVICT_PREEMPT, job, "t-same", all, "low-0 t-below");
    assert_victims(b, PRIORITY, EVICT_PREEMPT, job, "t-above", all, "low-0 t-below t-same");
    assert_victims(b, PRIORITY, EVICT_GANG_PREEMPT, job, NULL, all, "low-0");
    /* Between queues shares count: it has no say, and here nobody else has. */
    assert_victims(b, PRIORITY, EVICT_RECLAIM, job, "t-same", all, "");
    assert_victims(b, PRIORITY, EVICT_GANG_RECLAIM, job, NULL, all, all);
    bare_free(b);
}

/* ---- conformance ----------------------------------------------------------------------------- */

static void critical_pods_stay(void **state)
{
    struct bare *b = bare_new();
    struct error err = ERROR_INIT;
    (void)state;
    struct sched_job *job = put_job(b, "a", "\"minMember\":1", 0, 1);
    put_running(b, "cluster", "a", "w", 0, ",\"priorityClassName\":\"system-cluster-critical\"");
    put_running(b, "node", "a", "w", 0, ",\"priorityClassName\":\"system-node-critical\"");
    put_running(b, "plain", "a", "w", 0, ",\"priorityClassName\":\"system-critical\"");
    struct pod *pod = pod_decode(
        STR("{\"metadata\":{\"name\":\"dns\",\"namespace\":\"kube-system\",\"uid\":\"u-dns\"},"
            "\"spec\":{\"schedulerName\":\"volcano\",\"nodeName\":\"n\"},\"status\":{\"phase\":"
            "\"Running\"}}"),
        &err);
    assert_non_null(pod);
    cache_set_pod(&b->cache, "u-dns", pod);
    pod_unref(pod);
    for (int kind = 0; kind < EVICT_KIND_COUNT; kind++)
        assert_victims(b, CONFORMANCE, (enum eviction_kind)kind, job, "a-0",
                       "cluster a-0 node dns plain", "a-0 plain");
    bare_free(b);
}

/* ---- together -------------------------------------------------------------------------------- */

static void all_of_a_tier_must_agree(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_job(b, "low", "\"minMember\":1", 3, 3);
    put_running(b, "low-dns", "low", "w", 0, ",\"priorityClassName\":\"system-node-critical\"");
    put_job(b, "even", "\"minMember\":1", 5, 3);
    struct sched_job *job = put_job(b, "t", "\"minMember\":1", 5, 1);
    /* By the minimum: low-dns, low-0, low-1, even-0, even-1; by priority those of low. */
    assert_victims(b, ALL, EVICT_PREEMPT, job, "t-0",
                   "low-dns low-0 low-1 low-2 even-0 even-1 even-2", "low-0 low-1");
    assert_victims(b, ALL, EVICT_PREEMPT, job, "t-0", "low-dns even-0", "");
    /* Priority abstains. */
    assert_victims(b, ALL, EVICT_RECLAIM, job, "t-0", "low-dns low-0 even-0", "low-0 even-0");
    bare_free(b);
}

/* However the tiers are laid out; in the first the answer would be "all three". */
static void those_who_protect_are_heard_in_any_tier(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_job(b, "low", "\"minMember\":1", 3, 2);
    put_running(b, "low-dns", "low", "w", 0, ",\"priorityClassName\":\"system-node-critical\"");
    struct sched_job *job = put_job(b, "t", "\"minMember\":1", 5, 1);
    const char *all = "low-0 low-1 low-dns";
    assert_victims(b, PRIORITY, EVICT_PREEMPT, job, "t-0", all, all);
    assert_victims(b, PRIORITY CONFORMANCE, EVICT_PREEMPT, job, "t-0", all, "low-0 low-1");
    assert_victims(b, PRIORITY GANG, EVICT_PREEMPT, job, "t-0", "low-dns low-0 low-1",
                   "low-dns low-0");
    assert_victims(b, PRIORITY GANG CONFORMANCE, EVICT_PREEMPT, job, "t-0", "low-dns low-0 low-1",
                   "low-0");
    assert_victims(b, PRIORITY GANG "    enablePreemptable: false\n", EVICT_PREEMPT, job, "t-0",
                   all, all);
    assert_victims(b, PRIORITY GANG "    enablePreemptable: false\n", EVICT_GANG_PREEMPT, job, NULL,
                   all, all);
    bare_free(b);
}

/* ---- for whom -------------------------------------------------------------------------------- */

static bool starves(const char *tiers, const struct sched_job *job)
{
    struct sched_config *config = tiers_config(tiers);
    bool starving = config_job_starving(config, job);
    sched_config_free(config);
    return starving;
}

static bool pipelined(const char *tiers, const struct sched_job *job)
{
    struct sched_config *config = tiers_config(tiers);
    bool enough = config_job_pipelined(config, job);
    sched_config_free(config);
    return enough;
}

static void who_starves(void **state)
{
    struct bare *b = bare_new();
    struct sched_job *job = put_job(b, "a", "\"minMember\":3", 0, 2);
    (void)state;
    assert_true(starves(GANG, job)); /* 2 of 3 */
    assert_false(pipelined(GANG, job));
    assert_false(starves(PRIORITY, job)); /* no pod waits */
    assert_false(starves(ALL, job));
    assert_false(starves(CONFORMANCE, job)); /* nobody says so */
    put_pod(b, "a-2", "a", "", "");
    assert_true(starves(PRIORITY, job));
    assert_true(starves(ALL, job));
    put_running(b, "a-3", "a", "w", 0, "");
    assert_false(starves(GANG, job)); /* 3 of 3 */
    assert_true(pipelined(GANG, job));
    assert_true(starves(PRIORITY, job)); /* a-2 waits */
    assert_false(starves(ALL, job));
    assert_true(starves(GANG "    enableJobStarving: false\n" PRIORITY, job));
    assert_false(starves(GANG PRIORITY, job)); /* the first tier decides */
    assert_true(pipelined(PRIORITY, job));
    bare_free(b);
}

/* ---- in which order -------------------------------------------------------------------------- */

static void low_priorities_go_first(void **state)
{
    struct bare *b = bare_new();
    struct sched_config *config = tiers_config(PRIORITY);
    struct sched_job *low = put_job(b, "low", "\"minMember\":1", 3, 2);
    struct sched_job *high = put_job(b, "high", "\"minMember\":1", 5, 1);
    (void)state;
    put_running(b, "low-9", "low", "w", 4, "");
    assert_true(config_victim_before(config, task_of(b, "low-0"), task_of(b, "high-0"), high));
    assert_false(config_victim_before(config, task_of(b, "high-0"), task_of(b, "low-0"), high));
    /* Within a job: the lower priority, then the higher number. */
    assert_true(config_victim_before(config, task_of(b, "low-0"), task_of(b, "low-9"), high));
    assert_true(config_victim_before(config, task_of(b, "low-1"), task_of(b, "low-0"), low));
    assert_true(config_task_before(config, task_of(b, "low-9"), task_of(b, "low-0")));
    sched_config_free(config);
    bare_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_above_the_minimum_may_go),
        cmocka_unit_test(of_whole_jobs_nothing_has_to_stay),
        cmocka_unit_test(minimums_of_tasks_stay),
        cmocka_unit_test(jobs_of_lower_priority_give_way),
        cmocka_unit_test(critical_pods_stay),
        cmocka_unit_test(all_of_a_tier_must_agree),
        cmocka_unit_test(those_who_protect_are_heard_in_any_tier),
        cmocka_unit_test(who_starves),
        cmocka_unit_test(low_priorities_go_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
