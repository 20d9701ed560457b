/*
 * The fields of a queue by themselves (part of /queues/validate).
 *
 * Several faults are given as "[a, b]", as clients know it.
 */
#include "webhook/queue/queue_rules.h"

#define SPEC "requestBody.spec"
#define ANNOTATIONS "requestBody.metadata.annotations"

/* Guarantee <= deserved for each resource that is guaranteed. */
static void check_guarantee(const struct queue_case *q, struct problems *problems)
{
    for (size_t i = 0; i < q->guarantee.n; i++) {
        const struct resource *item = &q->guarantee.items[i];
        const struct quantity *deserved = resources_get(&q->deserved, item->name);
        const char *name = item->name.p;
        struct quantity_text guaranteed = quantity_text(item->quantity);
        if (!deserved) {
            problem_invalid(problems,
                            SPEC ".deserved.%s: Invalid value: \"<nil>\": deserved[%s] must be >= "
                                 "guarantee[%s]=%s",
                            name, name, name, guaranteed.text);
        } else if (quantity_cmp(*deserved, item->quantity) < 0) {
            struct quantity_text text = quantity_text(*deserved);
            problem_invalid(problems,
                            SPEC ".deserved.%s: Invalid value: \"%s\": deserved[%s]=%s must be >= "
                                 "guarantee[%s]=%s",
                            name, text.text, name, text.text, name, guaranteed.text);
        }
    }
}

/* Deserved <= capability for each resource that has both. */
static void check_deserved(const struct queue_case *q, struct problems *problems)
{
    for (size_t i = 0; i < q->deserved.n; i++) {
        const struct resource *item = &q->deserved.items[i];
        const struct quantity *capability = resources_get(&q->capability, item->name);
        const char *name = item->name.p;
        if (!capability || quantity_cmp(item->quantity, *capability) <= 0)
            continue;
        struct quantity_text text = quantity_text(item->quantity);
        problem_invalid(problems,
                        SPEC ".deserved.%s: Invalid value: \"%s\": deserved[%s]=%s must be <= "
                             "capability[%s]=%s",
                        name, text.text, name, text.text, name, quantity_text(*capability).text);
    }
}

/* The API server puts the stored status into an update, so every state that we write is right. */
static void check_state(const struct queue_case *q, struct problems *problems)
{
    static const char *const states[] = {"", "Open", "Closed", "Closing", "Unknown"};
    const char *state = tree_str(tree_get(q->c->object, "status"), "state");
    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        if (strcmp(state, states[i]) == 0)
            return;
    }
    problem_invalid(problems,
                    SPEC ".state: Invalid value: \"%.64s\": queue state must be in [Open Closed]",
                    state);
}

/* ---- the hierarchy in annotations ---------------------------------------------------------- */

static size_t count_parts(const char *path)
{
    size_t count = 1;
    for (; *path; path++)
        count += *path == '/';
    return count;
}

static bool is_finite(double value)
{
    return value - value == 0;
}

static void check_weights(const char *weights, struct problems *problems)
{
    struct str rest = str_of(weights), part;
    while (str_split(&rest, '/', &part)) {
        double weight;
        if (!str_to_double(part, &weight) || !is_finite(weight))
            problem_invalid(problems,
                            ANNOTATIONS ": Invalid value: \"%.256s\": %.*s in the %.256s is "
                                        "invalid number: a decimal fraction is expected",
                            weights, STR_ARG(str_cut(part, 64)), weights);
        else if (weight <= 0)
            problem_invalid(problems,
                            ANNOTATIONS ": Invalid value: \"%.256s\": %.*s in the %.256s must be "
                                        "larger than 0",
                            weights, STR_ARG(str_cut(part, 64)), weights);
    }
}

/* True when `path` lies below `base` in the hierarchy. */
static bool is_below(struct str path, struct str base)
{
    return path.n > base.n && str_starts(path, base) && path.p[base.n] == '/';
}

static void check_place(const struct queue_case *q, struct str hierarchy, struct problems *problems)
{
    const struct str shown = str_cut(hierarchy, 256);
    for (size_t i = 0; i < q->c->queues->n; i++) {
        const struct queue_view *other = q->c->queues->views[i];
        if (str_is(other->name, q->name) || !is_below(other->hierarchy, hierarchy))
            continue;
        problem_invalid(problems,
                        ANNOTATIONS ": Invalid value: \"%.*s\": %.*s is not allowed to be in "
                                    "the sub path of %.256s of queue %s",
                        STR_ARG(shown), STR_ARG(shown), other->hierarchy.p, other->name.p);
    }
}

static void check_annotations(const struct queue_case *q, struct problems *problems)
{
    const cJSON *annotations = tree_get(tree_get(q->c->object, "metadata"), "annotations");
    const char *hierarchy = tree_str(annotations, QUEUE_HIERARCHY);
    const char *weights = tree_str(annotations, QUEUE_HIERARCHY_WEIGHTS);
    if (!*hierarchy && !*weights)
        return;
    if (count_parts(hierarchy) != count_parts(weights))
        problem_invalid(problems,
                        ANNOTATIONS ": Invalid value: \"%.256s\": " QUEUE_HIERARCHY
                                    " must have the same length with " QUEUE_HIERARCHY_WEIGHTS,
                        hierarchy);
    check_weights(weights, problems);
    if (*hierarchy)
        check_place(q, str_of(hierarchy), problems);
}

/* ---- all ----------------------------------------------------------------------------------- */

/* "a", or "[a, b]": the problems of the fields are one text. */
static void report(struct problems *problems, const struct problems *found)
{
    struct buf text cleanup_buf = BUF_INIT(PROBLEMS_TEXT_MAX + 64);
    if (found->count == 0)
        return;
    problems_write(found, &text);
    if (found->count == 1)
        problem_invalid(problems, "%.*s", STR_ARG(buf_str(&text)));
    else
        problem_invalid(problems, "[%.*s]", STR_ARG(buf_str(&text)));
}

void queue_check_fields(struct queue_case *q)
{
    const cJSON *spec = tree_get(q->c->object, "spec");
    struct arena *arena = q->c->arena;
    struct problems found = PROBLEMS_INIT;
    found.separator = ", ";
    q->capability = resources_read(tree_get(spec, "capability"), SPEC ".capability", arena, &found);
    q->deserved = resources_read(tree_get(spec, "deserved"), SPEC ".deserved", arena, &found);
    q->guarantee = resources_read(tree_get(tree_get(spec, "guarantee"), "resource"),
                                  SPEC ".guarantee.resource", arena, &found);
    check_guarantee(q, &found);
    check_deserved(q, &found);
    check_state(q, &found);
    check_annotations(q, &found);
    report(&q->c->problems, &found);
    problems_clear(&found);
}
