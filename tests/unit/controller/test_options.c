/*
 * Flags of the controller: which parts run, which gates there are, and what is accepted without
 * effect.
 */
#include "testing.h"

#include "base/log.h"
#include "controller/options.h"
#include <fcntl.h>

static struct controller_options with(const char *controllers, const char *gates)
{
    struct controller_options options = {.inherit_owner_annotations = true,
                                         .creation_chunk = CREATION_CHUNK_PRESET};

    if (controllers)
        options.controllers = (struct flag_strings){.items = {controllers}, .n = 1};
    if (gates)
        options.feature_gates = (struct flag_strings){.items = {gates}, .n = 1};
    return options;
}

static void controllers_are_chosen_by_name(void **state)
{
    static const struct {
        const char *text;
        bool jobs, podgroups, queues, garbage;
    } rows[] = {
        {NULL, true, true, true, true},
        {"", true, true, true, true},
        {"*", true, true, true, true},
        {"*,-sharding-controller", true, true, true, true},
        {"*,-pg-controller", true, false, true, true},
        {"-pg-controller,*", true, false, true, true},
        {"job-controller", true, false, false, false},
        {"+job-controller, +queue-controller", true, false, true, false},
        {"-gc-controller", false, false, false, false},
        {"*,-job-controller,-gc-controller,nobody", false, true, true, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct controller_options options = with(rows[i].text, NULL);
        struct controller_parts parts;
        struct error err = ERROR_INIT;
        assert_int_equal(controller_options_parts(&options, &parts, &err), 0);
        assert_int_equal(parts.jobs, rows[i].jobs);
        assert_int_equal(parts.podgroups, rows[i].podgroups);
        assert_int_equal(parts.queues, rows[i].queues);
        assert_int_equal(parts.garbage, rows[i].garbage);
    }
}

static void a_controller_named_twice_is_refused(void **state)
{
    static const char *const texts[] = {"job-controller,job-controller",
                                        "job-controller,-job-controller",
                                        "+sharding-controller,*,-sharding-controller"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct controller_options options = with(texts[i], NULL);
        struct controller_parts parts;
        struct error err = ERROR_INIT;
        assert_int_equal(controller_options_parts(&options, &parts, &err), -1);
        assert_int_equal(err.cls, ERROR_INVALID);
        assert_non_null(strstr(err.text, "named twice"));
    }
}

static void gates_and_what_they_do(void **state)
{
    static const struct {
        const char *text;
        int rc;
        bool jobs, workloads;
    } rows[] = {
        {NULL, 0, true, true},
        {"VolcanoJobSupport=false", 0, false, true},
        {"WorkLoadSupport=false,CSIStorage=true", 0, true, false},
        {"AllAlpha=false", 0, false, false},
        {"AllAlpha=false,VolcanoJobSupport=true", 0, true, false},
        {"AllBeta=false", 0, true, true},
        {"PodDisruptionBudgetsSupport=true,QueueCommandSync=true,PriorityClass=true,"
         "ResourceTopology=true,CronVolcanoJobSupport=true,SchedulingGatesQueueAdmission=false",
         0, true, true},
        {"NoSuchGate=true", -1, false, false},
        {"VolcanoJobSupport=perhaps", -1, false, false},
        {"VolcanoJobSupport", -1, false, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct controller_options options = with("*", rows[i].text);
        struct controller_parts parts;
        struct error err = ERROR_INIT;
        assert_int_equal(controller_options_parts(&options, &parts, &err), rows[i].rc);
        if (rows[i].rc < 0)
            continue;
        assert_int_equal(parts.jobs, rows[i].jobs);
        assert_int_equal(parts.workloads, rows[i].workloads);
        assert_true(parts.owner_annotations);
    }
}

/* Every flag of the reference that process_main does not know itself. */
static void flags_of_the_reference_are_accepted(void **state)
{
    static const char *const given[] = {"pumice-controller",
                                        "--scheduler-name=volcano",
                                        "--scheduler-name=other",
                                        "--worker-threads=50",
                                        "--worker-threads-for-podgroup=5",
                                        "--worker-threads-for-queue=5",
                                        "--worker-threads-for-gc=5",
                                        "--worker-threads-for-cronjob=3",
                                        "--max-requeue-num=-1",
                                        "--inherit-owner-annotations=false",
                                        "--controllers=*,-sharding-controller",
                                        "--feature-gates=WorkLoadSupport=true",
                                        "--ca-cert-file=/a",
                                        "--tls-cert-file=/b",
                                        "--tls-private-key-file=/c",
                                        "--scheduler-configs=x",
                                        "--shard-sync-period=60s",
                                        "--enable-node-event-trigger=true",
                                        "--sharding-configmap=c",
                                        "--sharding-configmap-namespace=d"};
    const struct flag *const tables[] = {controller_flags};
    struct error err = ERROR_INIT;

    char *argv[ARRAY_SIZE(given)];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(given); i++)
        argv[i] = xstrdup(given[i]);
    assert_int_equal(flags_parse((int)ARRAY_SIZE(argv), argv, tables, 1, &err), 0);
    assert_int_equal(controller_options.scheduler_names.n, 2);
    assert_string_equal(controller_options.scheduler_names.items[1], "other");
    assert_false(controller_options.inherit_owner_annotations);
    assert_string_equal(controller_options.controllers.items[0], "*,-sharding-controller");
    for (size_t i = 0; i < ARRAY_SIZE(given); i++)
        free(argv[i]);
}

static void the_chunk_has_bounds(void **state)
{
    const struct {
        int64_t chunk;
        int rc;
    } rows[] = {{0, -1}, {1, 0}, {CREATION_CHUNK_MOST, 0}, {CREATION_CHUNK_MOST + 1, -1}, {-5, -1}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct controller_options options = with("*", NULL);
        struct controller_parts parts;
        struct error err = ERROR_INIT;
        options.creation_chunk = rows[i].chunk;
        assert_int_equal(controller_options_parts(&options, &parts, &err), rows[i].rc);
        if (rows[i].rc == 0)
            assert_int_equal(parts.creation_chunk, rows[i].chunk);
        else
            assert_non_null(strstr(err.text, "--creation-chunk"));
    }
}

int main(void)
{
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const struct CMUnitTest all[] = {
        cmocka_unit_test(controllers_are_chosen_by_name),
        cmocka_unit_test(a_controller_named_twice_is_refused),
        cmocka_unit_test(gates_and_what_they_do),
        cmocka_unit_test(flags_of_the_reference_are_accepted),
        cmocka_unit_test(the_chunk_has_bounds),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
