/*
 * What the scheduler keeps of a pod and of a node, all told: the objects in the stores, their
 * names, the cache's own records with their share of jobs, maps and tables. Printed, and bounded.
 *
 * Measured as memory in use of the allocator; left out under sanitizers, which have their own.
 */
#include "cluster.h"
#include "heap.h"

#define NODES 2000u
#define PODS 40000u
#define GANG 10u
#define CLASSES 32u /* kinds of pods that wait at the same time */
#define POD_MAX 1104
#define JOB_MAX 2560
#define NODE_MAX 4096

static void show_node(struct cluster *c, unsigned i)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(c->nodes, false, false,
         arena_printf(
             &arena,
             "{\"metadata\":{\"name\":\"ip-10-%u-%u-17.eu-central-1.compute.internal\",\"uid\":"
             "\"6f1a2b3c-4d5e-4f60-8a9b-%012u\",\"resourceVersion\":\"%llu\",\"labels\":{"
             "\"kubernetes.io/hostname\":\"ip-10-%u-%u-17.eu-central-1.compute.internal\","
             "\"kubernetes.io/arch\":\"amd64\",\"kubernetes.io/os\":\"linux\","
             "\"beta.kubernetes.io/arch\":\"amd64\",\"beta.kubernetes.io/os\":\"linux\","
             "\"node.kubernetes.io/instance-type\":\"p4d.24xlarge\","
             "\"topology.kubernetes.io/region\":\"eu-central-1\","
             "\"topology.kubernetes.io/zone\":\"eu-central-1%c\",\"example.com/rack\":\"r%u\","
             "\"example.com/pool\":\"training\",\"nvidia.com/gpu.product\":\"A100-SXM4-40GB\","
             "\"nvidia.com/gpu.count\":\"8\"}},\"spec\":{\"taints\":[{\"key\":\"nvidia.com/gpu\","
             "\"effect\":\"NoSchedule\"}]},\"status\":{\"allocatable\":{\"cpu\":\"95\",\"memory\":"
             "\"1100Gi\",\"ephemeral-storage\":\"900Gi\",\"hugepages-1Gi\":\"0\",\"hugepages-2Mi\":"
             "\"0\",\"nvidia.com/gpu\":\"8\",\"vpc.amazonaws.com/efa\":\"4\",\"pods\":\"110\"}}}",
             i / 256, i % 256, i, (unsigned long long)++c->rv, i / 256, i % 256,
             (char)('a' + i % 3), i / 32));
}

static void show_gang(struct cluster *c, unsigned gang)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(
        c->podgroups, false, false,
        arena_printf(&arena,
                     "{\"metadata\":{\"name\":\"train-resnet-%u\",\"namespace\":\"team-a\",\"uid\":"
                     "\"0d9c8b7a-1111-4222-8333-%012u\",\"resourceVersion\":\"%llu\"},\"spec\":{"
                     "\"minMember\":%u,\"queue\":\"default\",\"minResources\":{\"cpu\":\"20\","
                     "\"memory\":\"40Gi\",\"nvidia.com/gpu\":\"10\"}},\"status\":{\"phase\":"
                     "\"Running\",\"running\":%u}}",
                     gang, gang, (unsigned long long)++c->rv, GANG, GANG));
}

static void show_gang_pod(struct cluster *c, unsigned i, bool placed)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct str node = placed ? arena_printf(&arena,
                                            ",\"nodeName\":\"ip-10-%u-%u-17.eu-central-1."
                                            "compute.internal\"",
                                            i % NODES / 256, i % NODES % 256)
                             : STR("");
    show(c->pods, false, false,
         arena_printf(
             &arena,
             "{\"metadata\":{\"name\":\"train-resnet-%u-worker-%u\",\"namespace\":\"team-a\","
             "\"uid\":\"7e6d5c4b-2222-4333-8444-%012u\",\"resourceVersion\":\"%llu\",\"labels\":{"
             "\"volcano.sh/job-name\":\"train-resnet-%u\"},\"annotations\":{"
             "\"scheduling.k8s.io/group-name\":\"train-resnet-%u\",\"volcano.sh/task-spec\":"
             "\"worker\"},\"ownerReferences\":[{\"apiVersion\":\"batch.volcano.sh/v1alpha1\","
             "\"kind\":\"Job\",\"name\":\"train-resnet-%u\",\"uid\":"
             "\"9a8b7c6d-3333-4444-8555-%012u\",\"controller\":true}]},\"spec\":{"
             "\"schedulerName\":\"volcano\"%.*s,\"containers\":[{\"name\":\"main\",\"resources\":{"
             "\"requests\":{\"cpu\":\"2\",\"memory\":\"4Gi\",\"nvidia.com/gpu\":\"1\"}}}]},"
             "\"status\":{\"phase\":\"%s\"}}",
             i / GANG, i % GANG, i, (unsigned long long)++c->rv, i / GANG, i / GANG, i / GANG,
             i / GANG, STR_ARG(node), placed ? "Running" : "Pending"));
}

/* Tables of classes over all nodes, as pods of many kinds that wait make them. */
static void make_tables(struct cluster *c)
{
    for (unsigned i = 0; i < CLASSES; i++) {
        struct error err = ERROR_INIT;
        cleanup_free char *json =
            xasprintf("{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\"},\"spec\":{"
                      "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"%u\"}}}]}}",
                      i + 1);
        struct pod *pod = pod_decode(str_of(json), &err);
        assert_non_null(pod);
        (void)fit_table(&c->scheduler->cache, c->scheduler->config, NULL, pod->cls);
        pod_unref(pod);
    }
}

/* A scheduler that stands by: it keeps everything and writes nothing. */
static struct cluster *standby(void)
{
    struct cluster *c = xnew(struct cluster);
    c->loop = loop_new_virtual(1, INT64_C(1764000000) * NSEC_PER_SEC);
    new_stores(c);
    start_scheduler(c, NULL);
    sync_all(c);
    return c;
}

static void check_share(const char *what, size_t bytes, size_t count, size_t most)
{
    print_message("%zu bytes a %s\n", bytes / count, what);
    if (bytes / count > most)
        fail_msg("more than %zu bytes a %s", most, what);
}

static void bytes_of_pods(bool placed, const char *what)
{
    struct cluster *c = standby();
    for (unsigned i = 0; i < NODES; i++)
        show_node(c, i);
    size_t before = in_use();
    for (unsigned i = 0; i < PODS / GANG; i++)
        show_gang(c, i);
    for (unsigned i = 0; i < PODS; i++)
        show_gang_pod(c, i, placed);
    run(c);
    assert_int_equal(map_count(&c->scheduler->cache.tasks_by_uid), PODS);
    check_share(what, in_use() - before, PODS, POD_MAX);
    cluster_free(c);
}

static void a_pod(void **state)
{
    (void)state;
    if (!MEASURABLE)
        skip();
    bytes_of_pods(true, "running pod of a gang of 10");
    bytes_of_pods(false, "waiting pod of a gang of 10");
}

/* Of which a pod of a gang bears its share. */
static void a_job(void **state)
{
    (void)state;
    if (!MEASURABLE)
        skip();
    struct cluster *c = standby();
    size_t before = in_use();
    for (unsigned i = 0; i < PODS / GANG; i++)
        show_gang(c, i);
    run(c);
    check_share("job without its pods", in_use() - before, PODS / GANG, JOB_MAX);
    cluster_free(c);
}

static void a_node(void **state)
{
    (void)state;
    if (!MEASURABLE)
        skip();
    struct cluster *c = standby();
    show_node(c, NODES); /* the strings that all share */
    size_t before = in_use();
    for (unsigned i = 0; i < NODES; i++)
        show_node(c, i);
    check_share("node", in_use() - before, NODES, NODE_MAX);
    make_tables(c);
    check_share("node with 32 classes of pods", in_use() - before, NODES, NODE_MAX);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_pod), cmocka_unit_test(a_job),
                                       cmocka_unit_test(a_node)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
