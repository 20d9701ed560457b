/*
 * Flags: see options.h.
 *
 * --controllers is a list of names, "+name" or "name" to turn one on, "-name" to turn it off, "*"
 * for all others; the first entry that names one decides.
 */
#include "controller/options.h"
#include "api/names.h"
#include "base/alloc.h"
#include "base/log.h"
#include "ops/gates.h"

#define ONE_LOOP "one event loop does all the work"
#define NO_AGENT "there is no agent scheduler"

struct controller_options controller_options = {
    .scheduler_names = {.items = {DEFAULT_SCHEDULER_NAME}, .n = 1},
    .controllers = {.items = {"*"}, .n = 1},
    .inherit_owner_annotations = true,
    .creation_chunk = CREATION_CHUNK_PRESET,
};

const struct flag controller_flags[] = {
    {"scheduler-name", 0, FLAG_STRINGS, &controller_options.scheduler_names,
     "Schedulers whose bare pods get a PodGroup (repeatable)."},
    {"controllers", 0, FLAG_STRINGS, &controller_options.controllers,
     "Controllers to run, as in *,-pg-controller; repeatable."},
    {"feature-gates", 0, FLAG_STRINGS, &controller_options.feature_gates,
     "Gates to set, as in WorkLoadSupport=true,VolcanoJobSupport=false."},
    {"inherit-owner-annotations", 0, FLAG_BOOL, &controller_options.inherit_owner_annotations,
     "PodGroups of bare pods inherit the annotations of the pods' owners."},
    {"shards", 0, FLAG_BOOL, &controller_options.shards,
     "All replicas are active, each for some shards of the jobs; needs --leader-elect, and that "
     "all replicas agree."},
    {"creation-chunk", 0, FLAG_INT, &controller_options.creation_chunk,
     "Pods of one job whose creation may wait at once (1 to 100000)."},
    {"worker-threads", 0, FLAG_IGNORED, NULL, ONE_LOOP},
    {"worker-threads-for-podgroup", 0, FLAG_IGNORED, NULL, ONE_LOOP},
    {"worker-threads-for-queue", 0, FLAG_IGNORED, NULL, ONE_LOOP},
    {"worker-threads-for-gc", 0, FLAG_IGNORED, NULL, ONE_LOOP},
    {"worker-threads-for-cronjob", 0, FLAG_IGNORED, NULL, ONE_LOOP},
    {"max-requeue-num", 0, FLAG_IGNORED, NULL, "errors that can heal are retried without limit"},
    {"ca-cert-file", 0, FLAG_IGNORED, NULL, "health is served in plain HTTP"},
    {"tls-cert-file", 0, FLAG_IGNORED, NULL, "health is served in plain HTTP"},
    {"tls-private-key-file", 0, FLAG_IGNORED, NULL, "health is served in plain HTTP"},
    {"scheduler-configs", 0, FLAG_IGNORED, NULL, NO_AGENT},
    {"shard-sync-period", 0, FLAG_IGNORED, NULL, NO_AGENT},
    {"enable-node-event-trigger", 0, FLAG_IGNORED_BOOL, NULL, NO_AGENT},
    {"sharding-configmap", 0, FLAG_IGNORED, NULL, NO_AGENT},
    {"sharding-configmap-namespace", 0, FLAG_IGNORED, NULL, NO_AGENT},
    {NULL, 0, FLAG_IGNORED, NULL, NULL},
};

/* ---- controllers ------------------------------------------------------------------------------
 */

enum part {
    PART_JOBS,
    PART_PODGROUPS,
    PART_QUEUES,
    PART_GARBAGE,
    PART_COUNT,
    PART_ABSENT = PART_COUNT /* known to clients, and nothing here */
};

static const struct {
    const char *name;
    enum part part;
} names[] = {
    {"job-controller", PART_JOBS},
    {"pg-controller", PART_PODGROUPS},
    {"queue-controller", PART_QUEUES},
    {"gc-controller", PART_GARBAGE},
    {"jobflow-controller", PART_ABSENT},
    {"jobtemplate-controller", PART_ABSENT},
    {"cronjob-controller", PART_ABSENT},
    {"hyperNode-controller", PART_ABSENT},
    {"colocation-config-controller", PART_ABSENT},
    {"sharding-controller", PART_ABSENT},
};

/* What the list says so far. */
struct selection {
    bool all; /* "*", or an empty list */
    bool any; /* something is said at all */
    struct {
        bool set, on;
    } named[ARRAY_SIZE(names)];
};

static int select_one(struct str text, struct selection *selection, struct error *err)
{
    const bool off = str_starts(text, STR("-"));
    const struct str name = off || str_starts(text, STR("+")) ? str_from(text, 1) : text;

    selection->any = true;
    if (str_is(text, "*")) {
        selection->all = true;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!str_is(name, names[i].name))
            continue;
        if (selection->named[i].set)
            return error_set(err, ERROR_INVALID, "flag --controllers: %s is named twice",
                             names[i].name);
        selection->named[i].set = true;
        selection->named[i].on = !off;
        return 0;
    }
    log_warn("flag --controllers: there is no controller %.*s", STR_ARG(name));
    return 0;
}

static int select_controllers(const struct flag_strings *texts, bool on[PART_COUNT],
                              struct error *err)
{
    struct selection selection = {0};

    for (size_t i = 0; i < texts->n; i++) {
        struct str rest = str_of(texts->items[i]), part;
        while (str_split(&rest, ',', &part)) {
            if (!str_empty(str_trim(part)) && select_one(str_trim(part), &selection, err) < 0)
                return -1;
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (names[i].part != PART_ABSENT)
            on[names[i].part] =
                selection.named[i].set ? selection.named[i].on : selection.all || !selection.any;
    }
    return 0;
}

/* ---- gates ------------------------------------------------------------------------------------
 */

int controller_options_parts(const struct controller_options *options,
                             struct controller_parts *ret_parts, struct error *err)
{
    enum { JOBS, WORKLOADS };
    struct gate gates[] = {
        [JOBS] = {"VolcanoJobSupport", GATE_ALPHA, true, false},
        [WORKLOADS] = {"WorkLoadSupport", GATE_ALPHA, true, false},
        {"PodDisruptionBudgetsSupport", GATE_ALPHA, true, false},
        {"QueueCommandSync", GATE_ALPHA, true, false},
        {"PriorityClass", GATE_ALPHA, true, false},
        {"ResourceTopology", GATE_ALPHA, true, false},
        {"CronVolcanoJobSupport", GATE_ALPHA, true, false},
        {"CSIStorage", GATE_ALPHA, false, false},
        {"SchedulingGatesQueueAdmission", GATE_ALPHA, false, false},
    };
    bool on[PART_COUNT] = {false};

    if (select_controllers(&options->controllers, on, err) < 0 ||
        gates_parse(&options->feature_gates, gates, ARRAY_SIZE(gates), err) < 0)
        return -1;
    for (size_t i = WORKLOADS + 1; i < ARRAY_SIZE(gates); i++) {
        if (gates[i].set)
            log_info("feature gate has no effect gate=%s", gates[i].name);
    }
    if (options->creation_chunk < 1 || options->creation_chunk > CREATION_CHUNK_MOST)
        return error_set(err, ERROR_INVALID, "--creation-chunk must be from 1 to %d",
                         CREATION_CHUNK_MOST);
    *ret_parts = (struct controller_parts){
        .jobs = on[PART_JOBS] && gates[JOBS].on,
        .podgroups = on[PART_PODGROUPS],
        .queues = on[PART_QUEUES],
        .garbage = on[PART_GARBAGE],
        .owner_annotations = options->inherit_owner_annotations,
        .workloads = gates[WORKLOADS].on,
        .creation_chunk = (uint32_t)options->creation_chunk,
    };
    return 0;
}
