/*
 * The fields of a queue by themselves (part of /queues/validate).
 *
 * Several faults are given as "[a, b]", as clients know it.
 */
#include "api/nodegroups.h"
#include "webhook/queue/queue_rules.h"

#define SPEC "requestBody.spec"
#define ANNOTATIONS "requestBody.metadata.annotations"

/* ---- reading ------------------------------------------------------------------------------- */

static void read_object(struct queue_object *queue, const cJSON *object, struct arena *arena)
{
    const cJSON *metadata = tree_get(object, "metadata"), *spec = tree_get(object, "spec");
    const cJSON *annotations = tree_get(metadata, "annotations");
    struct problems *faults = &queue->faults;
    *queue = (struct queue_object){.name = tree_str(metadata, "name"),
                                   .parent = tree_str(spec, "parent"),
                                   .state = tree_str(tree_get(object, "status"), "state"),
                                   .hierarchy = tree_str(annotations, QUEUE_HIERARCHY),
                                   .weights = tree_str(annotations, QUEUE_HIERARCHY_WEIGHTS),
                                   .group_limits = tree_str(annotations, KEY_NODEGROUP_LIMITS),
                                   .faults = PROBLEMS_INIT};
    faults->separator = ", ";
    queue->capability =
        resources_read(tree_get(spec, "capability"), SPEC ".capability", arena, faults);
    queue->deserved = resources_read(tree_get(spec, "deserved"), SPEC ".deserved", arena, faults);
    queue->guarantee = resources_read(tree_get(tree_get(spec, "guarantee"), "resource"),
                                      SPEC ".guarantee.resource", arena, faults);
}

/* What could not be read is in the faults, not in the lists. */
static bool same_resources(const struct queue_object *a, const struct queue_object *b)
{
    return resources_equal(&a->capability, &b->capability) &&
           resources_equal(&a->deserved, &b->deserved) &&
           resources_equal(&a->guarantee, &b->guarantee) && a->faults.count == b->faults.count &&
           str_eq(buf_str(&a->faults.text), buf_str(&b->faults.text));
}

void queue_read(struct queue_case *q, bool create)
{
    const struct queue_object *now = &q->now, *old = &q->old;
    read_object(&q->now, q->c->object, q->c->arena);
    read_object(&q->old, create ? NULL : q->c->old, q->c->arena);
    q->name = now->name;
    q->parent = now->parent;
    q->parent_changed = create || strcmp(now->parent, old->parent) != 0;
    q->resources_changed = create || !same_resources(now, old);
    q->state_changed = create || strcmp(now->state, old->state) != 0;
    q->annotations_changed = create || strcmp(now->hierarchy, old->hierarchy) != 0 ||
                             strcmp(now->weights, old->weights) != 0;
    q->limits_changed = create || strcmp(now->group_limits, old->group_limits) != 0;
}

void queue_case_clear(struct queue_case *q)
{
    problems_clear(&q->now.faults);
    problems_clear(&q->old.faults);
}

/* ---- quantities and state ------------------------------------------------------------------ */

/* What is wrong with the quantities by themselves. */
static void check_amounts(const struct queue_case *q, struct problems *problems)
{
    const struct problems *faults = &q->now.faults;
    if (faults->count == 0)
        return;
    problem_invalid(problems, "%.*s", STR_ARG(buf_str(&faults->text)));
    problems->count += faults->count - 1;
    problems->dropped += faults->dropped;
}

/* Guarantee <= deserved for each resource that is guaranteed. */
static void check_guarantee(const struct queue_case *q, struct problems *problems)
{
    for (size_t i = 0; i < q->now.guarantee.n; i++) {
        const struct resource *item = &q->now.guarantee.items[i];
        const struct quantity *deserved = resources_get(&q->now.deserved, item->name);
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
    for (size_t i = 0; i < q->now.deserved.n; i++) {
        const struct resource *item = &q->now.deserved.items[i];
        const struct quantity *capability = resources_get(&q->now.capability, item->name);
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
    const char *state = q->now.state;
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
    for (size_t left = count_parts(weights); left > 0; left--) {
        double weight;
        if (!str_split(&rest, '/', &part))
            part = STR_NULL; /* nothing behind the last slash */
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

/*
 * No queue may lie below another one. The one that comes second is told: it is refused when it
 * comes above, as users know it, and warned when it comes below.
 */
static void check_place(const struct queue_case *q, struct str hierarchy, struct problems *problems)
{
    const struct str shown = str_cut(hierarchy, 256);
    for (size_t i = 0; i < q->c->queues->n; i++) {
        const struct queue_view *other = q->c->queues->views[i];
        if (str_is(other->name, q->name))
            continue;
        if (other->hierarchy.n && is_below(hierarchy, other->hierarchy))
            case_warn(q->c,
                      "metadata.annotations[" QUEUE_HIERARCHY "]: %.*s lies below %.256s of queue "
                      "%s, whose jobs share its part with this queue",
                      STR_ARG(shown), other->hierarchy.p, other->name.p);
        if (!is_below(other->hierarchy, hierarchy))
            continue;
        problem_invalid(problems,
                        ANNOTATIONS ": Invalid value: \"%.*s\": %.*s is not allowed to be in "
                                    "the sub path of %.256s of queue %s",
                        STR_ARG(shown), STR_ARG(shown), other->hierarchy.p, other->name.p);
    }
}

static void check_annotations(const struct queue_case *q, struct problems *problems)
{
    const char *hierarchy = q->now.hierarchy, *weights = q->now.weights;
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
    struct problems found = PROBLEMS_INIT;
    found.separator = ", ";
    if (q->resources_changed) {
        check_amounts(q, &found);
        check_guarantee(q, &found);
        check_deserved(q, &found);
    }
    if (q->state_changed)
        check_state(q, &found);
    if (q->annotations_changed)
        check_annotations(q, &found);
    report(&q->c->problems, &found);
    problems_clear(&found);
}
