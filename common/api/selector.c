/*
 * Node selectors, affinity, taints and tolerations. See selector.h.
 *
 * Texts are interned, so equality is a pointer compare. Nothing here can fail but through the JSON
 * reader; what a later Kubernetes may add (operators, effects) is read and matches nothing.
 */
#include "api/selector.h"
#include "base/alloc.h"
#include "json/interned.h"

/* ---- node affinity --------------------------------------------------------------------------- */

static enum selector_op op_of(struct str text)
{
    static const char *const names[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (str_is(text, names[i]))
            return (enum selector_op)i;
    return SELECTOR_UNKNOWN;
}

static void values_read(struct json_reader *reader, struct selector_requirement *requirement)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        requirement->values = xreallocarray(requirement->values, requirement->value_count + 1,
                                            sizeof(*requirement->values));
        requirement->values[requirement->value_count++] = intern_get(json_str(reader));
    }
}

static void requirement_read(struct json_reader *reader, struct selector_requirement *requirement)
{
    struct str key;
    requirement->key = intern_get(STR_NULL);
    requirement->op = SELECTOR_UNKNOWN;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "key"))
            json_interned(reader, &requirement->key);
        else if (str_is(key, "operator"))
            requirement->op = op_of(json_str(reader));
        else if (str_is(key, "values"))
            values_read(reader, requirement);
        else
            json_skip(reader);
    }
}

void selector_requirements_read(struct json_reader *reader, struct selector_term *term, bool field)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        term->items = xreallocarray(term->items, term->n + 1, sizeof(*term->items));
        struct selector_requirement *requirement = &term->items[term->n++];
        *requirement = (struct selector_requirement){.field = field};
        requirement_read(reader, requirement);
    }
}

static void term_read(struct json_reader *reader, struct selector_term *term)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "matchExpressions"))
            selector_requirements_read(reader, term, false);
        else if (str_is(key, "matchFields"))
            selector_requirements_read(reader, term, true);
        else
            json_skip(reader);
    }
}

static void terms_read(struct json_reader *reader, struct node_selector *selector)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        selector->terms = xreallocarray(selector->terms, selector->n + 1, sizeof(*selector->terms));
        struct selector_term *term = &selector->terms[selector->n++];
        *term = (struct selector_term){NULL, 0};
        term_read(reader, term);
    }
}

void node_selector_read(struct json_reader *reader, struct node_selector *selector)
{
    struct str key;
    if (!json_object(reader))
        return;
    selector->present = true;
    while (json_key(reader, &key)) {
        if (str_is(key, "nodeSelectorTerms"))
            terms_read(reader, selector);
        else
            json_skip(reader);
    }
}

static void term_clear(struct selector_term *term)
{
    for (uint32_t i = 0; i < term->n; i++) {
        struct selector_requirement *requirement = &term->items[i];
        intern_put(requirement->key);
        for (uint32_t v = 0; v < requirement->value_count; v++)
            intern_put(requirement->values[v]);
        free(requirement->values);
    }
    free(term->items);
}

void node_selector_clear(struct node_selector *selector)
{
    for (uint32_t i = 0; i < selector->n; i++)
        term_clear(&selector->terms[i]);
    free(selector->terms);
    *selector = (struct node_selector){NULL, 0, false};
}

/* Texts that are interned are equal when they are one. */
static bool values_hold(const struct selector_requirement *requirement, const char *value,
                        bool interned)
{
    for (uint32_t i = 0; i < requirement->value_count; i++)
        if (requirement->values[i] == value)
            return true;
    for (uint32_t i = 0; i < requirement->value_count && !interned; i++)
        if (strcmp(requirement->values[i], value) == 0)
            return true;
    return false;
}

static bool compares(const struct selector_requirement *requirement, const char *value)
{
    int64_t bound, have;
    if (!value || requirement->value_count != 1 ||
        !str_to_i64(str_of(requirement->values[0]), &bound) || !str_to_i64(str_of(value), &have))
        return false;
    return requirement->op == SELECTOR_GT ? have > bound : have < bound;
}

/* `value` is NULL when the label is absent. */
static bool requirement_matches(const struct selector_requirement *requirement, const char *value,
                                bool interned)
{
    switch (requirement->op) {
    case SELECTOR_IN:
        return value && values_hold(requirement, value, interned);
    case SELECTOR_NOT_IN:
        return !value || !values_hold(requirement, value, interned);
    case SELECTOR_EXISTS:
        return value != NULL;
    case SELECTOR_DOES_NOT_EXIST:
        return value == NULL;
    case SELECTOR_GT:
    case SELECTOR_LT:
        return compares(requirement, value);
    case SELECTOR_UNKNOWN:
        break;
    }
    return false;
}

/* Kubernetes knows one field, and In and NotIn with one value for it. */
static bool field_matches(const struct selector_requirement *requirement, const char *node_name)
{
    bool known = strcmp(requirement->key, "metadata.name") == 0 && requirement->value_count == 1 &&
                 (requirement->op == SELECTOR_IN || requirement->op == SELECTOR_NOT_IN);
    return known && requirement_matches(requirement, node_name, false);
}

static bool term_matches(const struct selector_term *term, const char *node_name,
                         const struct kube_pairs *labels)
{
    for (uint32_t i = 0; i < term->n; i++) {
        const struct selector_requirement *requirement = &term->items[i];
        bool matches =
            requirement->field
                ? field_matches(requirement, node_name)
                : requirement_matches(requirement, kube_pairs_get(labels, requirement->key), true);
        if (!matches)
            return false;
    }
    return term->n > 0;
}

bool node_selector_matches(const struct node_selector *selector, const char *node_name,
                           const struct kube_pairs *labels)
{
    if (!selector->present)
        return true;
    for (uint32_t i = 0; i < selector->n; i++)
        if (term_matches(&selector->terms[i], node_name, labels))
            return true;
    return false;
}

static void preferred_read(struct json_reader *reader, struct preferred_term *preferred)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "weight"))
            preferred->weight = json_i32(reader);
        else if (str_is(key, "preference"))
            term_read(reader, &preferred->term);
        else
            json_skip(reader);
    }
}

void preferred_terms_read(struct json_reader *reader, struct preferred_terms *terms)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        terms->items = xreallocarray(terms->items, terms->n + 1, sizeof(*terms->items));
        struct preferred_term *preferred = &terms->items[terms->n++];
        *preferred = (struct preferred_term){.weight = 0};
        preferred_read(reader, preferred);
    }
}

void preferred_terms_clear(struct preferred_terms *terms)
{
    for (uint32_t i = 0; i < terms->n; i++)
        term_clear(&terms->items[i].term);
    free(terms->items);
    *terms = (struct preferred_terms){NULL, 0};
}

int64_t preferred_terms_weight(const struct preferred_terms *terms, const char *node_name,
                               const struct kube_pairs *labels)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < terms->n; i++)
        if (term_matches(&terms->items[i].term, node_name, labels))
            sum += terms->items[i].weight;
    return sum;
}

bool node_labels_hold(const struct kube_pairs *labels, const struct kube_pairs *wanted)
{
    for (uint32_t i = 0; i < wanted->n; i++) {
        const char *value = kube_pairs_get(labels, wanted->items[i].key);
        if (!value || strcmp(value, wanted->items[i].value) != 0)
            return false;
    }
    return true;
}

/* ---- label selectors ------------------------------------------------------------------------- */

void label_selector_add(struct label_selector *selector, const char *key, const char *value)
{
    struct selector_term *all = &selector->all;
    all->items = xreallocarray(all->items, all->n + 1, sizeof(*all->items));
    struct selector_requirement *requirement = &all->items[all->n++];
    *requirement = (struct selector_requirement){.key = intern_ref(key), .op = SELECTOR_IN};
    requirement->values = xreallocarray(NULL, 1, sizeof(*requirement->values));
    requirement->values[requirement->value_count++] = intern_ref(value);
}

static void match_labels_read(struct json_reader *reader, struct label_selector *selector)
{
    struct kube_pairs pairs = {NULL, 0};
    kube_pairs_read(reader, &pairs, NULL);
    for (uint32_t i = 0; i < pairs.n; i++)
        label_selector_add(selector, pairs.items[i].key, pairs.items[i].value);
    kube_pairs_clear(&pairs);
}

void label_selector_read(struct json_reader *reader, struct label_selector *selector)
{
    struct str key;
    if (!json_object(reader))
        return;
    selector->present = true;
    while (json_key(reader, &key)) {
        if (str_is(key, "matchLabels"))
            match_labels_read(reader, selector);
        else if (str_is(key, "matchExpressions"))
            selector_requirements_read(reader, &selector->all, false);
        else
            json_skip(reader);
    }
}

void label_selector_clear(struct label_selector *selector)
{
    term_clear(&selector->all);
    *selector = (struct label_selector){.present = false};
}

bool label_selector_matches(const struct label_selector *selector, label_value_fn *value_of,
                            const void *labels)
{
    if (!selector->present)
        return false;
    for (uint32_t i = 0; i < selector->all.n; i++) {
        const struct selector_requirement *requirement = &selector->all.items[i];
        if (!requirement_matches(requirement, value_of(labels, requirement->key), false))
            return false;
    }
    return true;
}

bool label_selector_names(const struct label_selector *selector, const char *key)
{
    for (uint32_t i = 0; i < selector->all.n; i++)
        if (strcmp(selector->all.items[i].key, key) == 0)
            return true;
    return false;
}

/* No label and no operator holds a line break, so texts cannot run into one another. */
void label_selector_write(const struct label_selector *selector, struct buf *out)
{
    buf_add_cstr(out, selector->present ? "yes\n" : "no\n");
    for (uint32_t i = 0; i < selector->all.n; i++) {
        const struct selector_requirement *requirement = &selector->all.items[i];
        buf_printf(out, "%d %s", (int)requirement->op, requirement->key);
        for (uint32_t v = 0; v < requirement->value_count; v++)
            buf_printf(out, " %s", requirement->values[v]);
        buf_add_char(out, '\n');
    }
}

/* ---- taints ---------------------------------------------------------------------------------- */

static enum taint_effect effect_of(struct str text)
{
    if (str_is(text, "NoSchedule"))
        return TAINT_NO_SCHEDULE;
    if (str_is(text, "PreferNoSchedule"))
        return TAINT_PREFER_NO_SCHEDULE;
    if (str_is(text, "NoExecute"))
        return TAINT_NO_EXECUTE;
    return TAINT_OTHER;
}

static void taint_read(struct json_reader *reader, struct taint *taint)
{
    struct str key;
    *taint = (struct taint){intern_get(STR_NULL), intern_get(STR_NULL), TAINT_OTHER};
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "key"))
            json_interned(reader, &taint->key);
        else if (str_is(key, "value"))
            json_interned(reader, &taint->value);
        else if (str_is(key, "effect"))
            taint->effect = effect_of(json_str(reader));
        else
            json_skip(reader);
    }
}

void taints_read(struct json_reader *reader, struct taints *taints)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        taints->items = xreallocarray(taints->items, taints->n + 1, sizeof(*taints->items));
        taint_read(reader, &taints->items[taints->n++]);
    }
}

void taints_clear(struct taints *taints)
{
    for (uint32_t i = 0; i < taints->n; i++) {
        intern_put(taints->items[i].key);
        intern_put(taints->items[i].value);
    }
    free(taints->items);
    *taints = (struct taints){NULL, 0};
}

bool taints_equal(const struct taints *a, const struct taints *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->items[i].key != b->items[i].key || a->items[i].value != b->items[i].value ||
            a->items[i].effect != b->items[i].effect)
            return false;
    return true;
}

static void toleration_set_effect(struct toleration *toleration, struct str text)
{
    toleration->any_effect = str_empty(text);
    toleration->effect = effect_of(text);
}

static void toleration_set_op(struct toleration *toleration, struct str text)
{
    toleration->exists = str_is(text, "Exists");
    toleration->unknown = !toleration->exists && !str_empty(text) && !str_is(text, "Equal");
}

static void toleration_read(struct json_reader *reader, struct toleration *toleration)
{
    struct str key;
    *toleration = (struct toleration){.key = intern_get(STR_NULL),
                                      .value = intern_get(STR_NULL),
                                      .effect = TAINT_OTHER,
                                      .any_effect = true};
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "key"))
            json_interned(reader, &toleration->key);
        else if (str_is(key, "value"))
            json_interned(reader, &toleration->value);
        else if (str_is(key, "effect"))
            toleration_set_effect(toleration, json_str(reader));
        else if (str_is(key, "operator"))
            toleration_set_op(toleration, json_str(reader));
        else
            json_skip(reader);
    }
}

void tolerations_read(struct json_reader *reader, struct tolerations *tolerations)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        tolerations->items =
            xreallocarray(tolerations->items, tolerations->n + 1, sizeof(*tolerations->items));
        toleration_read(reader, &tolerations->items[tolerations->n++]);
    }
}

void tolerations_clear(struct tolerations *tolerations)
{
    for (uint32_t i = 0; i < tolerations->n; i++) {
        intern_put(tolerations->items[i].key);
        intern_put(tolerations->items[i].value);
    }
    free(tolerations->items);
    *tolerations = (struct tolerations){NULL, 0};
}

bool toleration_covers(const struct toleration *toleration, const struct taint *taint)
{
    if (toleration->unknown)
        return false;
    if (!toleration->any_effect && toleration->effect != taint->effect)
        return false;
    if (toleration->key[0] == '\0')
        return toleration->exists;
    return toleration->key == taint->key &&
           (toleration->exists || toleration->value == taint->value);
}

static bool is_tolerated(const struct taint *taint, const struct tolerations *tolerations)
{
    for (uint32_t i = 0; i < tolerations->n; i++)
        if (toleration_covers(&tolerations->items[i], taint))
            return true;
    return false;
}

const struct taint *taints_untolerated(const struct taints *taints,
                                       const struct tolerations *tolerations)
{
    for (uint32_t i = 0; i < taints->n; i++) {
        const struct taint *taint = &taints->items[i];
        bool keeps_away = taint->effect == TAINT_NO_SCHEDULE || taint->effect == TAINT_NO_EXECUTE;
        if (keeps_away && !is_tolerated(taint, tolerations))
            return taint;
    }
    return NULL;
}

uint32_t taints_unpreferred(const struct taints *taints, const struct tolerations *tolerations)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < taints->n; i++)
        count += taints->items[i].effect == TAINT_PREFER_NO_SCHEDULE &&
                 !is_tolerated(&taints->items[i], tolerations);
    return count;
}
