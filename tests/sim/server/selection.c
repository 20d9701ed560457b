/*
 * Selections: see selection.h.
 */
#include "server/selection.h"

enum op { OP_IN, OP_NOT_IN, OP_EXISTS, OP_ABSENT };

struct value {
    struct str text;
    struct value *next;
};

struct sim_requirement {
    struct str key;
    enum op op;
    struct value *values;
    struct sim_requirement *next;
};

static struct sim_requirement *require(struct arena *arena, struct sim_requirement **list,
                                       struct str key, enum op op)
{
    struct sim_requirement *requirement = arena_new(arena, struct sim_requirement);
    requirement->key = str_trim(key);
    requirement->op = op;
    requirement->next = *list;
    *list = requirement;
    return requirement;
}

static void add_value(struct arena *arena, struct sim_requirement *requirement, struct str text)
{
    struct value *value = arena_new(arena, struct value);
    value->text = str_trim(text);
    value->next = requirement->values;
    requirement->values = value;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The next requirement of a list: up to a comma outside of parentheses. */
static bool next_part(struct str *rest, struct str *ret_part)
{
    size_t n = 0;
    bool inside = false;
    if (str_empty(*rest))
        return false;
    for (; n < rest->n && (inside || rest->p[n] != ','); n++) {
        if (rest->p[n] == '(')
            inside = true;
        else if (rest->p[n] == ')')
            inside = false;
    }
    *ret_part = str_trim(str_sub(*rest, 0, n));
    *rest = str_from(*rest, n + 1);
    return true;
}

static struct str unescape_field(struct arena *arena, struct str text)
{
    char *plain = arena_alloc(arena, text.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\\' && i + 1 < text.n)
            i++;
        plain[n++] = text.p[i];
    }
    return str_make(plain, n);
}

/* "key=value", "key==value", "key!=value". */
static struct sim_requirement *read_equality(struct arena *arena, struct sim_requirement **list,
                                             struct str part)
{
    ptrdiff_t at = str_chr(part, '=');
    if (at < 0)
        return NULL;
    size_t equals = (size_t)at;
    bool differs = equals > 0 && part.p[equals - 1] == '!';
    size_t value = equals + 1 < part.n && part.p[equals + 1] == '=' ? equals + 2 : equals + 1;
    struct sim_requirement *requirement =
        require(arena, list, str_sub(part, 0, equals - differs), differs ? OP_NOT_IN : OP_IN);
    add_value(arena, requirement, str_from(part, value));
    return requirement;
}

/* "key in (a, b)", "key notin (a, b)". */
static bool read_set(struct arena *arena, struct sim_requirement **list, struct str part)
{
    struct str head = str_trim(str_sub(part, 0, (size_t)str_chr(part, '(')));
    struct str values = str_from(part, (size_t)str_chr(part, '(') + 1), value;
    bool not_in = str_ends(head, STR(" notin"));
    if (!str_ends(values, STR(")")) || (!not_in && !str_ends(head, STR(" in"))))
        return false;
    values.n--;
    struct str key = str_sub(head, 0, head.n - (not_in ? 6 : 3));
    struct sim_requirement *requirement = require(arena, list, key, not_in ? OP_NOT_IN : OP_IN);
    while (str_split(&values, ',', &value))
        add_value(arena, requirement, value);
    return requirement->values != NULL;
}

static bool is_key(struct str key)
{
    static const char others[] = "-_./";
    for (size_t i = 0; i < key.n; i++) {
        char c = key.p[i];
        bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!alnum && !memchr(others, c, sizeof(others) - 1))
            return false;
    }
    return !str_empty(key);
}

static bool read_label(struct arena *arena, struct sim_requirement **list, struct str part)
{
    if (str_chr(part, '(') >= 0)
        return read_set(arena, list, part) && is_key((*list)->key);
    if (str_starts(part, STR("!")))
        return is_key(require(arena, list, str_from(part, 1), OP_ABSENT)->key);
    const struct sim_requirement *equality = read_equality(arena, list, part);
    return is_key(equality ? equality->key : require(arena, list, part, OP_EXISTS)->key);
}

int sim_selection_labels(struct arena *arena, struct sim_selection *selection, struct str text,
                         struct error *err)
{
    struct str rest = text, part;
    while (next_part(&rest, &part))
        if (!read_label(arena, &selection->labels, part))
            return error_set(err, ERROR_INVALID, "unable to parse requirement: \"%.*s\"",
                             STR_ARG(part));
    return 0;
}

static bool has_field(const struct sim_resource *resource, struct str name)
{
    struct str rest = str_of(resource->fields), field;
    if (str_is(name, "metadata.name") || (str_is(name, "metadata.namespace") &&
                                          sim_resource_is(resource, SIM_NAMESPACED | SIM_CUSTOM)))
        return true;
    while (str_split(&rest, ' ', &field))
        if (str_eq(field, name))
            return true;
    return false;
}

int sim_selection_fields(struct arena *arena, struct sim_selection *selection, struct str text,
                         const struct sim_resource *resource, struct error *err)
{
    struct str rest = text, part;
    while (str_split(&rest, ',', &part)) {
        struct sim_requirement *requirement = read_equality(arena, &selection->fields, part);
        if (!requirement)
            return error_set(err, ERROR_INVALID,
                             "invalid selector: '%.*s'; can't understand '%.*s'", STR_ARG(text),
                             STR_ARG(part));
        requirement->values->text = unescape_field(arena, requirement->values->text);
        if (!has_field(resource, requirement->key))
            return error_set(err, ERROR_INVALID, "field label not supported: %.*s",
                             STR_ARG(requirement->key));
    }
    return 0;
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool holds(const struct sim_requirement *requirement, bool present, struct str text)
{
    if (requirement->op == OP_EXISTS || requirement->op == OP_ABSENT)
        return present == (requirement->op == OP_EXISTS);
    for (const struct value *value = requirement->values; value && present; value = value->next)
        if (str_eq(value->text, text))
            return requirement->op == OP_IN;
    return requirement->op == OP_NOT_IN;
}

static bool labels_match(const struct sim_requirement *list, const struct doc *labels)
{
    for (; list; list = list->next) {
        const struct doc *label = doc_get(labels, list->key);
        if (!holds(list, label != NULL, doc_str(label)))
            return false;
    }
    return true;
}

/* A field that is not there is empty, or false where it would be a truth. */
static struct str field_of(const struct doc *object, struct str name)
{
    char path[64] = "";
    memcpy(path, name.p, name.n < sizeof(path) - 1 ? name.n : sizeof(path) - 1);
    if (str_is(name, "source"))
        return doc_str_at(object, "source.component");
    const struct doc *field = doc_at(object, path);
    bool truth = str_is(name, "spec.unschedulable") || str_is(name, "spec.hostNetwork");
    if (truth)
        return doc_is_true(field) ? STR("true") : STR("false");
    return doc_is(field, JSON_NUMBER) ? field->text : doc_str(field);
}

bool sim_selection_is_all(const struct sim_selection *selection)
{
    return !selection->labels && !selection->fields;
}

bool sim_selection_matches(const struct sim_selection *selection, const struct doc *object)
{
    for (const struct sim_requirement *one = selection->fields; one; one = one->next)
        if (!holds(one, true, field_of(object, one->key)))
            return false;
    return labels_match(selection->labels, doc_at(object, "metadata.labels"));
}

static enum op op_named(struct str name)
{
    if (str_is(name, "In"))
        return OP_IN;
    if (str_is(name, "NotIn"))
        return OP_NOT_IN;
    return str_is(name, "Exists") ? OP_EXISTS : OP_ABSENT;
}

bool sim_label_selector_matches(struct arena *arena, const struct doc *selector,
                                const struct doc *labels)
{
    struct sim_requirement *list = NULL;
    if (!doc_is(selector, JSON_OBJECT))
        return false;
    for (doc_each(pair, doc_get(selector, STR("matchLabels"))))
        add_value(arena, require(arena, &list, pair->key, OP_IN), doc_str(pair));
    for (doc_each(expression, doc_get(selector, STR("matchExpressions")))) {
        struct str name = doc_str_at(expression, "operator");
        struct sim_requirement *one =
            require(arena, &list, doc_str_at(expression, "key"), op_named(name));
        for (doc_each(value, doc_get(expression, STR("values"))))
            add_value(arena, one, doc_str(value));
    }
    return labels_match(list, labels);
}
