/*
 * Feature gates: what each text gives, and what is refused.
 */
#include "testing.h"

#include "webhook/gates.h"

struct good {
    const char *texts[3];
    bool scheduling, resources;
};

static struct flag_strings texts_of(const char *const *texts)
{
    struct flag_strings list = {.n = 0};
    while (list.n < 3 && texts[list.n]) {
        list.items[list.n] = texts[list.n];
        list.n++;
    }
    return list;
}

static void test_values(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {{NULL}, false, true},
        {{""}, false, true},
        {{"SchedulingGatesQueueAdmission=true"}, true, true},
        {{"PodLevelResources=false"}, false, false},
        {{" SchedulingGatesQueueAdmission = true , PodLevelResources=0,"}, true, false},
        {{"SchedulingGatesQueueAdmission=true", "PodLevelResources=f"}, true, false},
        {{"SchedulingGatesQueueAdmission=true", "SchedulingGatesQueueAdmission=false"},
         false,
         true},
        {{"AllAlpha=true"}, true, true},
        {{"AllBeta=false"}, false, false},
        {{"SchedulingGatesQueueAdmission=false,AllAlpha=true"}, false, true},
        {{"AllBeta=false,PodLevelResources=true"}, false, true},
        {{("WorkLoadSupport=true,VolcanoJobSupport=false,PodDisruptionBudgetsSupport=true,"
           "QueueCommandSync=true,PriorityClass=false,CSIStorage=true,ResourceTopology=true,"
           "CronVolcanoJobSupport=false")},
         false,
         true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct flag_strings texts = texts_of(cases[i].texts);
        struct webhook_gates gates = {false, false};
        struct error err = ERROR_INIT;
        assert_int_equal(webhook_gates_parse(&texts, &gates, &err), 0);
        assert_int_equal(gates.scheduling_gates, cases[i].scheduling);
        assert_int_equal(gates.pod_level_resources, cases[i].resources);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"NoSuchGate=true", "unrecognized feature gate: NoSuchGate"},
        {"schedulinggatesqueueadmission=true", "unrecognized feature gate"},
        {"PodLevelResources", "missing bool value for PodLevelResources"},
        {"PodLevelResources=", "invalid value of PodLevelResources="},
        {"PodLevelResources=yes", "invalid value of PodLevelResources=yes"},
        {"PodLevelResources=true,=true", "unrecognized feature gate"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct flag_strings texts = {.items = {cases[i].text}, .n = 1};
        struct webhook_gates gates;
        struct error err = ERROR_INIT;
        assert_true(webhook_gates_parse(&texts, &gates, &err) < 0);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_non_null(strstr(err.text, "--feature-gates"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
