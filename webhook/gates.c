/*
 * Feature gates: see gates.h.
 *
 * AllAlpha and AllBeta set the gates of their stage that are not named themselves, wherever they
 * stand in the list.
 */
#include "webhook/gates.h"
#include "base/alloc.h"

enum gate {
    GATE_SCHEDULING,
    GATE_POD_LEVEL_RESOURCES,
    GATE_ALL_ALPHA,
    GATE_ALL_BETA,
    GATE_COUNT,
    GATE_NO_EFFECT = GATE_COUNT,
    GATE_UNKNOWN
};

static enum gate find(struct str name)
{
    static const struct {
        const char *name;
        enum gate gate;
    } known[] = {
        {"SchedulingGatesQueueAdmission", GATE_SCHEDULING},
        {"PodLevelResources", GATE_POD_LEVEL_RESOURCES},
        {"AllAlpha", GATE_ALL_ALPHA},
        {"AllBeta", GATE_ALL_BETA},
        {"WorkLoadSupport", GATE_NO_EFFECT},
        {"VolcanoJobSupport", GATE_NO_EFFECT},
        {"PodDisruptionBudgetsSupport", GATE_NO_EFFECT},
        {"QueueCommandSync", GATE_NO_EFFECT},
        {"PriorityClass", GATE_NO_EFFECT},
        {"CSIStorage", GATE_NO_EFFECT},
        {"ResourceTopology", GATE_NO_EFFECT},
        {"CronVolcanoJobSupport", GATE_NO_EFFECT},
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        if (str_is(name, known[i].name))
            return known[i].gate;
    }
    return GATE_UNKNOWN;
}

struct setting {
    bool set, value;
};

static int read_one(struct str text, struct setting settings[GATE_COUNT], struct error *err)
{
    const ptrdiff_t equals = str_chr(text, '=');
    const struct str name = str_trim(equals < 0 ? text : str_sub(text, 0, (size_t)equals));
    const enum gate gate = find(name);
    bool value;
    if (equals < 0)
        return error_set(err, ERROR_INVALID, "flag --feature-gates: missing bool value for %.*s",
                         STR_ARG(name));
    if (!str_to_bool(str_trim(str_from(text, (size_t)equals + 1)), &value))
        return error_set(err, ERROR_INVALID,
                         "flag --feature-gates: invalid value of %.*s, true or false is expected",
                         STR_ARG(text));
    if (gate == GATE_UNKNOWN)
        return error_set(err, ERROR_INVALID,
                         "flag --feature-gates: unrecognized feature gate: "
                         "%.*s",
                         STR_ARG(name));
    if (gate != GATE_NO_EFFECT)
        settings[gate] = (struct setting){true, value};
    return 0;
}

static bool decide(const struct setting *own, const struct setting *all, bool standard)
{
    if (own->set)
        return own->value;
    return all->set ? all->value : standard;
}

int webhook_gates_parse(const struct flag_strings *texts, struct webhook_gates *ret_gates,
                        struct error *err)
{
    struct setting settings[GATE_COUNT] = {{false, false}};
    for (size_t i = 0; i < texts->n; i++) {
        struct str rest = str_of(texts->items[i]), part;
        while (str_split(&rest, ',', &part)) {
            if (!str_empty(str_trim(part)) && read_one(part, settings, err) < 0)
                return -1;
        }
    }
    *ret_gates = (struct webhook_gates){
        .scheduling_gates = decide(&settings[GATE_SCHEDULING], &settings[GATE_ALL_ALPHA], false),
        .pod_level_resources =
            decide(&settings[GATE_POD_LEVEL_RESOURCES], &settings[GATE_ALL_BETA], true)};
    return 0;
}
