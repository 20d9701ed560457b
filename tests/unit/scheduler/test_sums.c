/*
 * What jobs and queues hold, wait for and are promised, by hand-computed numbers: each change of a
 * pod, a PodGroup or its phase, and a random walk over all of them with a recount after each step.
 */
#include "bare.h"
#include "base/rng.h"

#define HALF ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]"
#define TWO ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"1Ki\"}}}]"
#define TWO_CPUS "\"minMember\":2,\"queue\":\"q\",\"minResources\":{\"cpu\":\"2\"}"

static struct sched_queue *queue_of(const struct bare *b, const char *name)
{
    struct sched_queue *queue = cache_queue(&b->cache, name);
    assert_non_null(queue);
    return queue;
}

static void enter(struct bare *b, struct sched_job *job, enum job_phase phase)
{
    job->phase = phase;
    cache_file_job(&b->cache, job);
}

static void move(struct bare *b, const char *pod, enum task_status status, const char *node)
{
    cache_set_task(&b->cache, task_of(b, pod), status, node ? cache_node(&b->cache, node) : NULL);
}

/* Pending, placed, bound, running, over. */
static void a_pods_life(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_queue(b, "q", "", "");
    put_node(b, "n", "\"cpu\":\"8\",\"pods\":\"10\"");
    struct sched_job *job = put_group(b, "g", "\"minMember\":1,\"queue\":\"q\"", "Inqueue");
    const struct sched_queue *q = queue_of(b, "q");
    put_pod(b, "a", "g", HALF, "");
    put_pod(b, "b", "g", TWO, "");
    assert_set(b, &q->pending, "cpu=2500 memory=1024 pods=2");
    assert_set(b, &q->allocated, "");
    move(b, "a", TASK_ALLOCATED, "n");
    uint32_t version = q->version;
    move(b, "a", TASK_BINDING, "n");
    assert_int_equal(q->version, version); /* no sum changed */
    assert_set(b, &q->pending, "cpu=2000 memory=1024 pods=1");
    assert_set(b, &job->allocated, "cpu=500 pods=1");
    cache_hold_task(&b->cache, task_of(b, "a"), 1); /* its bind failed */
    assert_true(q->version > version);
    assert_set(b, &q->pending, "cpu=2500 memory=1024 pods=2");
    put_pod(b, "a", "g", HALF ",\"nodeName\":\"n\"", "\"phase\":\"Running\"");
    assert_set(b, &q->allocated, "cpu=500 pods=1");
    put_pod(b, "a", "g", HALF ",\"nodeName\":\"n\"", "\"phase\":\"Succeeded\"");
    assert_set(b, &q->allocated, "");
    cut_pod(b, "b");
    assert_set(b, &q->pending, "");
    assert_set(b, &job->pending, "");
    bare_free(b);
}

/* Promised: minResources less what it has, from its admission until its minimum is placed. */
static void promises(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_node(b, "n", "\"cpu\":\"80\",\"pods\":\"10\"");
    struct sched_job *job =
        put_group(b, "g",
                  "\"minMember\":2,\"queue\":\"q\",\"minResources\":{\"cpu\":\"3\","
                  "\"requests.memory\":\"1Ki\",\"ephemeral-storage\":\"1Gi\",\"count/pods\":\"2\"}",
                  "Pending");
    const struct sched_queue *q = queue_of(b, "q");
    put_pod(b, "a", "g", HALF, "");
    put_pod(b, "b", "g", TWO, "");
    assert_set(b, &q->inqueue, "");
    enter(b, job, JOB_INQUEUE);
    assert_set(b, &q->inqueue, "cpu=3000 memory=1024");
    move(b, "a", TASK_ALLOCATED, "n");
    assert_set(b, &q->inqueue, "cpu=2500 memory=1024");
    assert_set(b, &q->elastic, "pods=1");
    enter(b, job, JOB_RUNNING); /* with one of two pods only */
    assert_set(b, &q->inqueue, "");
    move(b, "b", TASK_ALLOCATED, "n");
    assert_set(b, &q->inqueue, "cpu=500");
    enter(b, job, JOB_PENDING);
    assert_set(b, &q->inqueue, "");
    enter(b, job, JOB_INQUEUE);
    job->claim_ended = true;
    cache_file_job(&b->cache, job);
    assert_set(b, &q->inqueue, "");
    put_pod(b, "c", "g", HALF, ""); /* a new pod: the claim lives again */
    assert_set(b, &q->inqueue, "cpu=500");
    bare_free(b);
}

static void elastic(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_node(b, "n", "\"cpu\":\"80\",\"pods\":\"10\"");
    struct sched_job *job = put_group(b, "g", TWO_CPUS, "Inqueue");
    const struct sched_queue *q = queue_of(b, "q");
    const char *const names[] = {"a", "b", "c"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        put_pod(b, names[i], "g", TWO, "");
        move(b, names[i], TASK_BINDING, "n");
    }
    assert_set(b, &q->inqueue, "");
    assert_set(b, &q->elastic, "cpu=4000 memory=3072 pods=3");
    put_group(b, "g", "\"minMember\":2,\"queue\":\"q\",\"minResources\":{\"cpu\":\"5\"}", "");
    assert_set(b, &q->elastic, "cpu=1000 memory=3072 pods=3");
    put_group(b, "g", "\"minMember\":2,\"queue\":\"q\"", "");
    assert_set(b, &q->elastic, "cpu=6000 memory=3072 pods=3");
    cut_pod(b, "a");
    cut_pod(b, "b");
    cut_pod(b, "c");
    assert_set(b, &q->elastic, "");
    assert_set(b, &job->elastic, "");
    bare_free(b);
}

/* Pods that others hold back are not what the queue waits for; its own gate is no reason. */
static void gates(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    struct sched_job *job = put_group(b, "g", TWO_CPUS, "Inqueue");
    const struct sched_queue *q = queue_of(b, "q");
    put_pod(b, "a", "g", HALF ",\"schedulingGates\":[{\"name\":\"example.com/quota\"}]", "");
    assert_set(b, &q->inqueue, "cpu=1500");
    assert_set(b, &job->gated, "cpu=500 pods=1");
    assert_set(b, &q->pending, "");
    put_pod(b, "a", "g", HALF ",\"schedulingGates\":[{\"name\":\"" KEY_QUEUE_GATE "\"}]", "");
    assert_set(b, &q->inqueue, "cpu=2000");
    put_pod(b, "a", "g",
            HALF ",\"schedulingGates\":[{\"name\":\"" KEY_QUEUE_GATE "\"},{\"name\":\"x\"}]", "");
    assert_set(b, &q->inqueue, "cpu=1500");
    put_pod(b, "a", "g", HALF, "");
    assert_set(b, &q->inqueue, "cpu=2000");
    assert_set(b, &q->pending, "cpu=500 pods=1");
    bare_free(b);
}

/* A job that moves takes everything along; one whose PodGroup goes counts nowhere. */
static void moving_and_leaving(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_queue(b, "q", "", "");
    put_queue(b, "r", "", "");
    put_node(b, "n", "\"cpu\":\"80\",\"pods\":\"10\"");
    put_pod(b, "a", "g", HALF ",\"nodeName\":\"n\"", "\"phase\":\"Running\"");
    put_pod(b, "b", "g", TWO, "");
    put_group(b, "g", TWO_CPUS, "Inqueue");
    const struct sched_queue *q = queue_of(b, "q"), *r = queue_of(b, "r");
    assert_set(b, &q->inqueue, "cpu=1500");
    put_group(b, "g", "\"minMember\":2,\"queue\":\"r\",\"minResources\":{\"cpu\":\"2\"}",
              "Inqueue");
    const struct resource_set *empty[] = {&q->allocated, &q->pending, &q->inqueue, &q->elastic};
    for (size_t i = 0; i < ARRAY_SIZE(empty); i++)
        assert_set(b, empty[i], "");
    assert_set(b, &r->allocated, "cpu=500 pods=1");
    assert_set(b, &r->pending, "cpu=2000 memory=1024 pods=1");
    assert_set(b, &r->inqueue, "cpu=1500");
    assert_set(b, &r->elastic, "pods=1");
    cache_set_podgroup(&b->cache, "ns", "g", NULL);
    const struct resource_set *gone[] = {&r->allocated, &r->pending, &r->inqueue, &r->elastic};
    for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
        assert_set(b, gone[i], "");
    bare_free(b);
}

/* ---- a random walk --------------------------------------------------------------------------- */

#define PODS 24
#define GROUPS 4
#define QUEUES 4

static void random_pod(struct bare *b, struct rng *rng)
{
    static const char *const requests[] = {HALF, TWO, "",
                                           HALF ",\"schedulingGates\":[{\"name\":\"x\"}]"};
    static const char *const phases[] = {"", "\"phase\":\"Running\"", "\"phase\":\"Succeeded\"",
                                         "\"phase\":\"Unknown\""};
    unsigned i = (unsigned)rng_below(rng, PODS);
    cleanup_free char *name = xasprintf("p%u", i);
    cleanup_free char *group = xasprintf("g%u", i % GROUPS);
    cleanup_free char *members = xasprintf("%s%s", requests[rng_below(rng, ARRAY_SIZE(requests))],
                                           rng_below(rng, 3) ? "" : ",\"nodeName\":\"n0\"");
    if (rng_below(rng, 4))
        put_pod(b, name, group, members, phases[rng_below(rng, ARRAY_SIZE(phases))]);
    else
        cut_pod(b, name);
}

static void random_group(struct bare *b, struct rng *rng)
{
    static const char *const phases[] = {"Pending", "Inqueue", "Running", "Completed"};
    cleanup_free char *name = xasprintf("g%u", (unsigned)rng_below(rng, GROUPS));
    cleanup_free char *least =
        xasprintf(",\"minResources\":{\"cpu\":\"%u\"}", (unsigned)rng_below(rng, 6));
    cleanup_free char *spec =
        xasprintf("\"minMember\":%u,\"queue\":\"q%u\"%s", (unsigned)rng_below(rng, 4),
                  (unsigned)rng_below(rng, QUEUES), rng_below(rng, 3) ? least : "");
    if (rng_below(rng, 6))
        put_group(b, name, spec, phases[rng_below(rng, ARRAY_SIZE(phases))]);
    else
        cache_set_podgroup(&b->cache, "ns", name, NULL);
}

static void random_queue(struct bare *b, struct rng *rng)
{
    cleanup_free char *name = xasprintf("q%u", (unsigned)rng_below(rng, QUEUES));
    cleanup_free char *parent =
        xasprintf("\"parent\":\"q%u\"", (unsigned)rng_below(rng, QUEUES + 1));
    if (rng_below(rng, 4))
        put_queue(b, name, "", rng_below(rng, 3) ? parent : "");
    else
        cache_set_queue(&b->cache, name, NULL);
}

static void random_phase(struct bare *b, struct rng *rng)
{
    cleanup_free char *name = xasprintf("g%u", (unsigned)rng_below(rng, GROUPS));
    struct sched_job *job = cache_job(&b->cache, "ns", name);
    if (!job || !job->uid)
        return;
    job->claim_ended = rng_below(rng, 4) == 0;
    enter(b, job, (enum job_phase)rng_below(rng, JOB_COMPLETED + 1));
}

static void random_bind(struct bare *b, struct rng *rng)
{
    cleanup_free char *name = xasprintf("p%u", (unsigned)rng_below(rng, PODS));
    struct sched_task *task = task_of(b, name);
    struct sched_node *node = cache_node(&b->cache, "n1");
    if (!task || !task->job)
        return;
    if (task->status == TASK_PENDING)
        cache_set_task(&b->cache, task, TASK_ALLOCATED, node);
    else if (task->status == TASK_ALLOCATED)
        cache_set_task(&b->cache, task, TASK_BINDING, node);
    else if (task->status == TASK_BINDING)
        cache_hold_task(&b->cache, task, 1);
    else if (task->status == TASK_HELD)
        cache_set_task(&b->cache, task, TASK_PENDING, NULL);
}

static void any_order(void **state)
{
    static void (*const steps[])(struct bare *, struct rng *) = {
        random_pod, random_pod, random_pod, random_bind, random_group, random_queue, random_phase};
    struct rng rng;
    (void)state;
    rng_seed(&rng, 7);
    for (int round = 0; round < 20; round++) {
        struct bare *b = bare_new();
        put_node(b, "n1", "\"cpu\":\"80\",\"pods\":\"100\"");
        for (int i = 0; i < 400; i++) {
            steps[rng_below(&rng, ARRAY_SIZE(steps))](b, &rng);
            audited(b);
        }
        bare_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pods_life), cmocka_unit_test(promises),
        cmocka_unit_test(elastic),     cmocka_unit_test(gates),
        cmocka_unit_test(any_order),   cmocka_unit_test(moving_and_leaving)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
