/*
 * Quotas: what is admitted, how the rest is refused, and when room comes back.
 */
#include "sim.h"

#define QUOTAS "/api/v1/namespaces/n/resourcequotas"

static void make_quota(struct sim *sim, const char *hard)
{
    assert_int_equal(
        sim_post(sim, QUOTAS,
                 sim_text(sim, "{\"metadata\":{\"name\":\"rq\"},\"spec\":{\"hard\":{%s}}}", hard)),
        201);
    sim_wait(sim, NSEC_PER_SEC);
}

static int make_pod(struct sim *sim, const char *name, const char *requests)
{
    return sim_post(
        sim, PODS,
        sim_text(sim,
                 "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"containers\":[{\"name\":\"c\","
                 "\"resources\":{\"requests\":{%s}}}]}}",
                 name, requests));
}

static void assert_used(struct sim *sim, const char *name, const char *amount)
{
    assert_int_equal(sim_get(sim, QUOTAS "/rq"), 200);
    assert_str(doc_str(doc_get(doc_at(sim->body, "status.used"), str_of(name))), amount);
}

static void test_numbers_of_pods(void **state)
{
    struct sim *sim = *state;
    make_quota(sim, "\"pods\":\"1\",\"requests.cpu\":\"2\"");
    assert_used(sim, "pods", "0");
    assert_int_equal(make_pod(sim, "a", "\"cpu\":\"500m\""), 201);
    assert_used(sim, "pods", "1"); /* at once */
    assert_used(sim, "requests.cpu", "500m");
    assert_int_equal(make_pod(sim, "b", "\"cpu\":\"1\""), 403);
    assert_str(sim_at(sim, "reason"), "Forbidden");
    assert_str(sim_at(sim, "message"),
               "pods \"b\" is forbidden: exceeded quota: rq, requested: pods=1, used: pods=1, "
               "limited: pods=1");
    assert_int_equal(make_pod(sim, "b", ""), 403);
    assert_str(sim_at(sim, "message"),
               "pods \"b\" is forbidden: failed quota: rq: must specify requests.cpu for: c");
    assert_int_equal(sim_remove(sim, PODS "/a", ""), 200);
    sim_wait(sim, NSEC_PER_SEC);
    assert_used(sim, "pods", "0");
    assert_int_equal(make_pod(sim, "b", "\"cpu\":\"2500m\""), 403);
    assert_str(sim_at(sim, "message"),
               "pods \"b\" is forbidden: exceeded quota: rq, requested: requests.cpu=2500m, used: "
               "requests.cpu=0, limited: requests.cpu=2");
}

static void test_pods_that_have_ended_count_no_more(void **state)
{
    struct sim *sim = *state;
    make_quota(sim, "\"pods\":\"1\"");
    assert_int_equal(make_pod(sim, "a", ""), 201);
    assert_int_equal(make_pod(sim, "b", ""), 403);
    assert_int_equal(sim_merge(sim, PODS "/a/status", "{\"status\":{\"phase\":\"Succeeded\"}}"),
                     200);
    sim_wait(sim, NSEC_PER_SEC);
    assert_int_equal(make_pod(sim, "b", ""), 201);
}

static void test_counts_of_other_kinds(void **state)
{
    struct sim *sim = *state;
    make_quota(sim, "\"count/jobs.batch.volcano.sh\":\"1\",\"count/configmaps\":\"1\"");
    assert_int_equal(sim_post(sim, JOBS,
                              "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\","
                              "\"metadata\":{\"name\":\"j\"}}"),
                     201);
    assert_int_equal(sim_post(sim, JOBS,
                              "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\","
                              "\"metadata\":{\"name\":\"k\"}}"),
                     403);
    assert_str(sim_at(sim, "message"),
               "jobs.batch.volcano.sh \"k\" is forbidden: exceeded quota: rq, requested: "
               "count/jobs.batch.volcano.sh=1, used: count/jobs.batch.volcano.sh=1, limited: "
               "count/jobs.batch.volcano.sh=1");
    assert_int_equal(sim_post(sim, CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}"), 201);
    assert_int_equal(sim_post(sim, CONFIGMAPS, "{\"metadata\":{\"name\":\"d\"}}"), 403);
    assert_int_equal(sim_post(sim, CONFIGMAPS "?dryRun=All", "{\"metadata\":{\"name\":\"d\"}}"),
                     403);
}

static void test_what_is_there_before_the_quota(void **state)
{
    struct sim *sim = *state;
    assert_int_equal(make_pod(sim, "a", "\"cpu\":\"1\",\"nvidia.com/gpu\":\"2\""), 201);
    assert_int_equal(make_pod(sim, "b", "\"cpu\":\"250m\",\"memory\":\"1Gi\""), 201);
    make_quota(sim, "\"cpu\":\"10\",\"requests.memory\":\"1Gi\",\"requests.nvidia.com/gpu\":\"2\"");
    assert_used(sim, "cpu", "1250m");
    assert_used(sim, "requests.memory", "1Gi");
    assert_used(sim, "requests.nvidia.com/gpu", "2");
    assert_int_equal(sim_merge(sim, QUOTAS "/rq", "{\"spec\":{\"hard\":{\"cpu\":\"1\"}}}"), 200);
    sim_wait(sim, NSEC_PER_SEC);
    assert_int_equal(sim_get(sim, QUOTAS "/rq"), 200);
    assert_str(sim_at(sim, "status.hard.cpu"), "1");
}

static void test_a_dry_run_is_not_charged(void **state)
{
    struct sim *sim = *state;
    make_quota(sim, "\"pods\":\"5\"");
    assert_int_equal(sim_post(sim, PODS "?dryRun=All", POD("a")), 201);
    assert_used(sim, "pods", "0");
}

static void test_nothing_is_charged_when_another_quota_refuses(void **state)
{
    struct sim *sim = *state;
    make_quota(sim, "\"pods\":\"5\"");
    assert_int_equal(sim_post(sim, QUOTAS,
                              "{\"metadata\":{\"name\":\"small\"},"
                              "\"spec\":{\"hard\":{\"pods\":\"0\"}}}"),
                     201);
    sim_wait(sim, NSEC_PER_SEC);
    assert_int_equal(make_pod(sim, "a", ""), 403);
    assert_used(sim, "pods", "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_TEST(test_numbers_of_pods),
        SIM_TEST(test_pods_that_have_ended_count_no_more),
        SIM_TEST(test_counts_of_other_kinds),
        SIM_TEST(test_what_is_there_before_the_quota),
        SIM_TEST(test_a_dry_run_is_not_charged),
        SIM_TEST(test_nothing_is_charged_when_another_quota_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
