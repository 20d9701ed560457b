/*
 * /cronjobs/validate: schedule, time zone and name of a CronJob, and the job it makes.
 */
#include "base/cron.h"
#include "base/zone.h"
#include "webhook/job/job_rules.h"
#include "webhook/kinds/kind_rules.h"
#include "webhook/rules/naming.h"
#include <stdio.h>
#include <strings.h>

#define NAME_MAX_BYTES 52
#define JOB_SUFFIX 9 /* "-" and the minute of the run since 1970, which has 8 digits until 2160 */
#define ZONE_PART_MAX 14
#define SHOWN 64 /* bytes of the user's text in a message */

static void check_schedule(struct admission_case *c, const char *schedule)
{
    struct error err = ERROR_INIT;
    struct cron cron;
    if (!*schedule)
        problem_invalid(&c->problems, "schedule is required, but got empty");
    else if (strstr(schedule, "TZ"))
        problem_invalid(&c->problems,
                        "schedule should not contain TZ or CRON_TZ, the time zone goes into "
                        "timeZone (spec.schedule: \"%.*s\")",
                        STR_ARG(str_cut(str_of(schedule), SHOWN)));
    else if (cron_parse(str_of(schedule), &cron, &err) < 0)
        problem_invalid(&c->problems,
                        "schedule is not a valid cron expression (spec.schedule: \"%.*s\"): %s",
                        STR_ARG(str_cut(str_of(schedule), SHOWN)), err.text);
}

/* Whether a part between slashes is one that names of zones are made of. */
static bool good_zone_part(struct str part)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._0123456789"
                                  "+-";
    if (part.n == 0 || part.n > ZONE_PART_MAX || part.p[0] == '-' || str_is(part, ".") ||
        str_is(part, ".."))
        return false;
    for (size_t i = 0; i < part.n; i++) {
        if (!strchr(letters, part.p[i]))
            return false;
    }
    return true;
}

static bool good_zone_parts(struct str zone)
{
    struct str part;
    if (zone.p[zone.n - 1] == '/')
        return false;
    while (str_split(&zone, '/', &part)) {
        if (!good_zone_part(part))
            return false;
    }
    return true;
}

static void check_zone(struct admission_case *c, const char *zone)
{
    const char *fault = NULL;
    if (!*zone) {
        problem_invalid(&c->problems, "timeZone must be nil or non-empty string, got empty string");
        return;
    }
    if (!good_zone_parts(str_of(zone)))
        fault = "unknown timeZone";
    else if (strcasecmp(zone, "Local") == 0)
        fault = "timeZone can't be Local, it must name a zone of the time zone database";
    else if (!zone_known(str_of(zone)))
        fault = "invalid timeZone";
    if (fault)
        problem_invalid(&c->problems, "%s (spec.timeZone: \"%.*s\"; Etc/UTC is one, for example)",
                        fault, STR_ARG(str_cut(str_of(zone), SHOWN)));
}

/* True when the name is right. That of a stored object cannot be helped. */
static bool check_name(struct admission_case *c, struct str name)
{
    const char *reason = naming_qualified(name);
    if (name.n <= NAME_MAX_BYTES && !reason)
        return true;
    if (c->old)
        return false;
    if (name.n > NAME_MAX_BYTES)
        problem_invalid(&c->problems,
                        "cronJob name must be no more than 52 characters, for its jobs get 11 more "
                        "(metadata.name has %zu)",
                        name.n);
    else
        problem_invalid(&c->problems, "invalid cronJob name \"%s\": %s", name.p, reason);
    return false;
}

/* Bytes that the longest name of a pod has behind the name of its job. */
static size_t pod_suffix(const cJSON *tasks)
{
    size_t longest = 0, index = 0;
    const cJSON *task;
    cJSON_ArrayForEach(task, tasks)
    {
        char text[TASK_NAME_MAX], tail[32];
        const int64_t replicas = tree_i64_or_0(task, "replicas");
        const size_t digits = (size_t)snprintf(tail, sizeof(tail), "--%lld",
                                               replicas > 0 ? (long long)replicas - 1 : 0);
        const size_t length = strlen(job_task_name(task, index++, text)) + digits;
        longest = length > longest ? length : longest;
    }
    return longest;
}

/*
 * The rules of the job. With the time of the run behind it its name may get too long for the names
 * of pods. That is a warning, since the reference lets it in; the rules get a name that fits,
 * unless none does.
 */
static void check_template(struct admission_case *c, const cJSON *spec, struct str name)
{
    const size_t suffix = pod_suffix(tree_array(spec, "tasks"));
    const size_t room = suffix < NAMING_LABEL_MAX ? NAMING_LABEL_MAX - suffix : name.n;
    struct str job_name = str_sub(name, 0, room);
    while (job_name.n > 1 && naming_qualified(job_name))
        job_name.n--;
    if (name.n + JOB_SUFFIX + suffix > NAMING_LABEL_MAX)
        case_warn(
            c,
            "spec.jobTemplate: pods named <metadata.name>-<8 digits>-<task>-<index> would have up "
            "to %zu characters; with more than 63 the job will be refused when its time "
            "comes: shorten metadata.name or the task's name",
            name.n + JOB_SUFFIX + suffix);
    job_check_spec(c, spec, arena_str(c->arena, job_name).p, "spec.jobTemplate.");
}

/* The name, or one as long as the API server makes it of generateName. */
static struct str name_of(struct admission_case *c)
{
    const cJSON *metadata = tree_get(c->object, "metadata");
    const char *name = tree_str(metadata, "name"), *start = tree_str(metadata, "generateName");
    return *name || !*start ? str_of(name) : arena_printf(c->arena, "%.253sxxxxx", start);
}

void cronjobs_validate(struct admission_case *c)
{
    static const char *const spec_path[] = {"spec", NULL};
    static const char *const schedule_path[] = {"spec", "schedule", NULL};
    static const char *const zone_path[] = {"spec", "timeZone", NULL};
    static const char *const template_path[] = {"spec", "jobTemplate", "spec", NULL};
    const cJSON *spec = tree_get(c->object, "spec");
    const cJSON *job = tree_get(tree_get(spec, "jobTemplate"), "spec");
    const struct str name = name_of(c);
    if (kind_unchanged(c, spec_path))
        return;
    if (!kind_unchanged(c, schedule_path))
        check_schedule(c, tree_str(spec, "schedule"));
    if (tree_get(spec, "timeZone") && !kind_unchanged(c, zone_path))
        check_zone(c, tree_str(spec, "timeZone"));
    const bool named = check_name(c, name);
    if (job && !kind_unchanged(c, template_path))
        check_template(c, job, named ? name : STR("job"));
}
