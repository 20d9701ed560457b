/*
 * Feature gates: see gates.h.
 */
#include "ops/gates.h"
#include "base/alloc.h"

/* What was said of a whole stage. */
struct stages {
    struct {
        bool set, on;
    } of[2];
};

static int set_gate(struct str name, bool on, struct gate *gates, size_t count,
                    struct stages *stages, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!str_is(name, gates[i].name))
            continue;
        gates[i].set = true;
        gates[i].on = on;
        return 0;
    }
    if (!str_is(name, "AllAlpha") && !str_is(name, "AllBeta"))
        return error_set(err, ERROR_INVALID,
                         "flag --feature-gates: unrecognized feature gate: %.*s", STR_ARG(name));
    const enum gate_stage stage = str_is(name, "AllAlpha") ? GATE_ALPHA : GATE_BETA;
    stages->of[stage].set = true;
    stages->of[stage].on = on;
    return 0;
}

static int read_one(struct str text, struct gate *gates, size_t count, struct stages *stages,
                    struct error *err)
{
    const ptrdiff_t equals = str_chr(text, '=');
    const struct str name = str_trim(equals < 0 ? text : str_sub(text, 0, (size_t)equals));
    bool on;

    if (equals < 0)
        return error_set(err, ERROR_INVALID, "flag --feature-gates: missing bool value for %.*s",
                         STR_ARG(name));
    if (!str_to_bool(str_trim(str_from(text, (size_t)equals + 1)), &on))
        return error_set(err, ERROR_INVALID,
                         "flag --feature-gates: invalid value of %.*s, true or false is expected",
                         STR_ARG(text));
    return set_gate(name, on, gates, count, stages, err);
}

int gates_parse(const struct flag_strings *texts, struct gate *gates, size_t count,
                struct error *err)
{
    struct stages stages = {{{false, false}, {false, false}}};

    for (size_t i = 0; i < texts->n; i++) {
        struct str rest = str_of(texts->items[i]), part;
        while (str_split(&rest, ',', &part)) {
            if (!str_empty(str_trim(part)) && read_one(part, gates, count, &stages, err) < 0)
                return -1;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!gates[i].set && stages.of[gates[i].stage].set)
            gates[i].on = stages.of[gates[i].stage].on;
    }
    return 0;
}
