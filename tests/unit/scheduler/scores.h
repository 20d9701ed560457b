/*
 * Scores and filters of one plugin for one pod on one node of a bare cache.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_SCORES_H
#define PUMICE_TESTS_UNIT_SCHEDULER_SCORES_H

#include "bare.h"

#include "scheduler/config.h"
#include <math.h>

/* A node with some of it used, which most tests share:
 *                    has  used
 *    cpu              10     2
 *    memory          100    40
 *    nvidia.com/gpu    8     4
 */
static inline struct bare *half_used(void)
{
    struct bare *b = bare_new();
    put_node(b, "n0",
             "\"cpu\":\"10\",\"memory\":\"100\",\"nvidia.com/gpu\":\"8\",\"pods\":\"110\"");
    put_pod(b, "old", "",
            ",\"nodeName\":\"n0\",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"2\","
            "\"memory\":\"40\",\"nvidia.com/gpu\":\"4\"}}}]",
            "\"phase\":\"Running\"");
    return b;
}

/* The plugin alone; `mention` as it stands in the file: "  - name: gang\n". */
static inline struct sched_config *config_of(const char *mention)
{
    struct error err = ERROR_INIT;
    cleanup_free char *yaml = xasprintf("actions: allocate\ntiers:\n- plugins:\n%s", mention);
    struct sched_config *config = sched_config_parse(str_of(yaml), &err);
    if (!config)
        fail_msg("%s", err.text);
    assert_int_equal(config->plugins.n, 1);
    return config;
}

/* `requests` and `annotations`: members of these objects. */
static inline struct pod *pod_asking(const char *requests, const char *annotations)
{
    struct error err = ERROR_INIT;
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"new\",\"namespace\":\"ns\",\"uid\":\"u-new\","
                  "\"annotations\":{%s}},\"spec\":{\"schedulerName\":\"volcano\",\"containers\":["
                  "{\"resources\":{\"requests\":{%s}}}]}}",
                  annotations, requests);
    struct pod *pod = pod_decode(str_of(json), &err);
    if (!pod)
        fail_msg("%s", err.text);
    return pod;
}

/* The score on n0, in points. */
static inline double points_for(const struct bare *b, const char *mention, const char *requests,
                                const char *annotations)
{
    struct sched_config *config = config_of(mention);
    struct pod *pod = pod_asking(requests, annotations);
    double points = (double)config_score(config, pod->cls, cache_node(&b->cache, "n0")) / 1e6;
    pod_unref(pod);
    sched_config_free(config);
    return points;
}

/* Up to what counts as no difference between nodes (one pod more, rounding). */
#define assert_points(b, mention, requests, expected)                                              \
    do {                                                                                           \
        double points_ = points_for(b, mention, requests, "");                                     \
        if (fabs(points_ - (expected)) > 1e-5)                                                     \
            fail_msg("%.7f points, not %.7f, for %s with %s", points_, (double)(expected),         \
                     requests, mention);                                                           \
    } while (0)

#endif
