/*
 * Names that the controller makes from a job's: pods, Services, volumes, claims (part of
 * /jobs/validate). What could not be created is refused here, not job after job in the controller.
 *
 * A PodGroup is "<job>-<uid>" and a ConfigMap or Secret "<job>-svc", "<job>-ssh": these fit
 * wherever the name of the job is a label and the names below fit.
 */
#include "api/names.h"
#include "base/map.h"
#include "webhook/job/job_rules.h"
#include "webhook/rules/naming.h"
#include "webhook/rules/shape.h"
#include <stdio.h>

#define NAME_MAX_BYTES 600

void job_check_pod_name(struct problems *problems, const char *job_name, const char *task_name,
                        int64_t replicas)
{
    char name[NAME_MAX_BYTES];
    const int64_t index = replicas > 0 ? replicas - 1 : 0;
    (void)snprintf(name, sizeof(name), "%.253s-%.253s-%lld", job_name, task_name, (long long)index);
    const char *reason = naming_qualified(str_of(name));
    if (!reason)
        reason = naming_subdomain(str_of(name));
    if (reason)
        problem_invalid(problems, "create pod with name %s validate failed [%s];", name, reason);
}

/* ---- objects of plugins -------------------------------------------------------------------- */

struct derived {
    const char *plugin; /* that makes it */
    const char *suffix; /* behind the name of the job */
    const char *kind;
    rule_text_fn *check;
    const char *why; /* behind the name of the plugin */
};

static const struct derived derived[] = {
    {"svc", "", "service", naming_service, "makes a Service of the job's name"},
    {"svc", "-svc", "volume", naming_label, "mounts its ConfigMap in every pod"},
    {"ssh", "-ssh", "volume", naming_label, "mounts its Secret in every pod"},
    {"ray", "-head-svc", "service", naming_service, "makes a Service for its head"},
};

static void check_derived(struct admission_case *c, const cJSON *spec, const char *job_name)
{
    char name[NAME_MAX_BYTES];
    const char *done = NULL; /* the plugin of which a fault was told */
    for (size_t i = 0; i < ARRAY_SIZE(derived); i++) {
        const struct derived *object = &derived[i];
        const char *by = job_implies_plugin(spec, object->plugin);
        (void)snprintf(name, sizeof(name), "%.253s%s", job_name, object->suffix);
        const char *reason = by ? object->check(str_of(name)) : NULL;
        if (!reason || (done && strcmp(done, object->plugin) == 0))
            continue;
        done = object->plugin;
        problem_invalid(&c->problems,
                        "create %s with name %s validate failed [%s] (the job plugin %s %s)",
                        object->kind, name, reason, by, object->why);
    }
}

/* ---- volumes ------------------------------------------------------------------------------- */

/* The controller puts 12 random letters and digits behind these names. */
#define RANDOM_PART "xxxxxxxxxxxx"

static void check_volume_names(struct admission_case *c, const cJSON *spec, const char *job_name)
{
    char name[NAME_MAX_BYTES];
    const cJSON *volumes = tree_array(spec, "volumes");
    (void)snprintf(name, sizeof(name), "%.253s-" RANDOM_PART, job_name);
    const char *reason = volumes && volumes->child ? naming_label(str_of(name)) : NULL;
    if (reason)
        problem_invalid(&c->problems,
                        "create volume with name %s validate failed [%s] (every pod of a job with "
                        "spec.volumes has such volumes)",
                        name, reason);
}

/* ---- the job ------------------------------------------------------------------------------- */

void job_check_names(struct admission_case *c, const cJSON *spec, const char *job_name)
{
    const char *queue = tree_str(spec, "queue");
    const char *reason = naming_qualified(str_of(job_name));
    if (reason) {
        problem_invalid(&c->problems, "create job with name %.253s validate failed [%s]", job_name,
                        reason);
    } else {
        check_derived(c, spec, job_name);
        check_volume_names(c, spec, job_name);
    }
    reason = naming_label_value(str_of(queue));
    if (reason)
        problem_invalid(&c->problems,
                        "create pod with label " KEY_QUEUE_NAME "=%.253s validate failed [%s]",
                        queue, reason);
}
