/*
 * Reading of pod affinity and topology spread. See pod_rules.h.
 */
#include "api/pod_rules.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "json/interned.h"

static void selection_clear(struct pod_selection *pods)
{
    label_selector_clear(&pods->selector);
    label_selector_clear(&pods->namespace_selector);
    for (uint32_t i = 0; i < pods->namespace_count; i++)
        intern_put(pods->namespaces[i]);
    free(pods->namespaces);
    *pods = (struct pod_selection){.namespaces = NULL};
}

static void add_namespace(struct pod_selection *pods, const char *interned)
{
    pods->namespaces =
        xreallocarray(pods->namespaces, pods->namespace_count + 1, sizeof(*pods->namespaces));
    pods->namespaces[pods->namespace_count++] = interned;
}

static void namespaces_read(struct json_reader *reader, struct pod_selection *pods)
{
    if (!json_array(reader))
        return;
    while (json_item(reader))
        add_namespace(pods, intern_get(json_str(reader)));
}

/* ---- affinity -------------------------------------------------------------------------------- */

static void term_read(struct json_reader *reader, struct pod_term *term)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "labelSelector"))
            label_selector_read(reader, &term->pods.selector);
        else if (str_is(key, "namespaces"))
            namespaces_read(reader, &term->pods);
        else if (str_is(key, "namespaceSelector"))
            label_selector_read(reader, &term->pods.namespace_selector);
        else if (str_is(key, "topologyKey"))
            json_interned(reader, &term->topology_key);
        else
            json_skip(reader);
    }
}

/* NULL when there are too many. */
static struct pod_term *term_add(struct pod_rules *rules, enum pod_term_kind kind)
{
    if (rules->term_count == LIMIT_POD_TERMS) {
        rules->excess = "the pod's spec.affinity has more than " LIMIT_TEXT(
            LIMIT_POD_TERMS) " terms about other pods, which is the limit";
        return NULL;
    }
    rules->terms = xreallocarray(rules->terms, rules->term_count + 1, sizeof(*rules->terms));
    struct pod_term *term = &rules->terms[rules->term_count++];
    *term = (struct pod_term){.kind = kind, .topology_key = intern_get(STR_NULL)};
    return term;
}

/* A term that names no namespaces in either way means those of its own. */
static void term_finish(struct pod_term *term, const char *ns)
{
    if (!term->pods.namespace_count && !term->pods.namespace_selector.present)
        add_namespace(&term->pods, intern_ref(ns));
}

static void required_read(struct json_reader *reader, struct pod_rules *rules, const char *ns,
                          enum pod_term_kind kind)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct pod_term *term = term_add(rules, kind);
        if (term) {
            term_read(reader, term);
            term_finish(term, ns);
        } else {
            json_skip(reader);
        }
    }
}

static void weighted_read(struct json_reader *reader, struct pod_term *term)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "weight"))
            term->weight = json_i32(reader);
        else if (str_is(key, "podAffinityTerm"))
            term_read(reader, term);
        else
            json_skip(reader);
    }
}

static void preferred_read(struct json_reader *reader, struct pod_rules *rules, const char *ns,
                           enum pod_term_kind kind)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct pod_term *term = term_add(rules, kind);
        if (term) {
            weighted_read(reader, term);
            term_finish(term, ns);
        } else {
            json_skip(reader);
        }
    }
}

void pod_rules_read_affinity(struct json_reader *reader, struct pod_rules *rules, const char *ns,
                             bool anti)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "requiredDuringSchedulingIgnoredDuringExecution"))
            required_read(reader, rules, ns, anti ? TERM_ANTI_AFFINITY : TERM_AFFINITY);
        else if (str_is(key, "preferredDuringSchedulingIgnoredDuringExecution"))
            preferred_read(reader, rules, ns,
                           anti ? TERM_PREFERRED_ANTI_AFFINITY : TERM_PREFERRED_AFFINITY);
        else
            json_skip(reader);
    }
}

/* ---- spread ---------------------------------------------------------------------------------- */

/* Labels of the pod itself that pods must share to be counted. */
static void own_labels_read(struct json_reader *reader, struct label_selector *selector,
                            const struct kube_pairs *labels)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        const char *key = intern_get(json_str(reader));
        const char *value = kube_pairs_get(labels, key);
        if (value)
            label_selector_add(selector, key, value);
        intern_put(key);
    }
}

static void spread_member(struct json_reader *reader, struct str key,
                          struct spread_constraint *spread, const struct kube_pairs *labels,
                          struct label_selector *own)
{
    if (str_is(key, "labelSelector"))
        label_selector_read(reader, &spread->pods.selector);
    else if (str_is(key, "matchLabelKeys"))
        own_labels_read(reader, own, labels);
    else if (str_is(key, "topologyKey"))
        json_interned(reader, &spread->topology_key);
    else if (str_is(key, "maxSkew"))
        spread->max_skew = json_i32(reader);
    else if (str_is(key, "minDomains"))
        spread->min_domains =
            json_peek(reader) == JSON_NULL ? (json_skip(reader), 1) : json_i32(reader);
    else if (str_is(key, "whenUnsatisfiable"))
        spread->required = str_is(json_str(reader), "DoNotSchedule");
    else if (str_is(key, "nodeAffinityPolicy"))
        spread->honors_nodes = !str_is(json_str(reader), "Ignore");
    else if (str_is(key, "nodeTaintsPolicy"))
        spread->honors_taints = str_is(json_str(reader), "Honor");
    else
        json_skip(reader);
}

static void spread_read(struct json_reader *reader, struct spread_constraint *spread,
                        const struct kube_pairs *labels)
{
    struct label_selector own = {.present = false};
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key))
        spread_member(reader, key, spread, labels, &own);
    /* A selector that selects nothing stays so. */
    for (uint32_t i = 0; i < own.all.n && spread->pods.selector.present; i++)
        label_selector_add(&spread->pods.selector, own.all.items[i].key,
                           own.all.items[i].values[0]);
    label_selector_clear(&own);
}

/* NULL when there are too many. */
static struct spread_constraint *spread_add(struct pod_rules *rules)
{
    if (rules->spread_count == LIMIT_POD_SPREADS) {
        rules->excess = "the pod's spec.topologySpreadConstraints has more than " LIMIT_TEXT(
            LIMIT_POD_SPREADS) " constraints, which is the limit";
        return NULL;
    }
    rules->spreads =
        xreallocarray(rules->spreads, rules->spread_count + 1, sizeof(*rules->spreads));
    struct spread_constraint *spread = &rules->spreads[rules->spread_count++];
    *spread = (struct spread_constraint){
        .topology_key = intern_get(STR_NULL), .min_domains = 1, .honors_nodes = true};
    return spread;
}

void pod_rules_read_spread(struct json_reader *reader, struct pod_rules *rules, const char *ns,
                           const struct kube_pairs *labels)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct spread_constraint *spread = spread_add(rules);
        if (spread) {
            add_namespace(&spread->pods, intern_ref(ns));
            spread_read(reader, spread, labels);
        } else {
            json_skip(reader);
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static size_t selector_size(const struct label_selector *selector)
{
    size_t size = selector->all.n;
    for (uint32_t i = 0; i < selector->all.n; i++)
        size += selector->all.items[i].value_count;
    return size;
}

/* Labels, values and namespaces that it names. */
static size_t selection_size(const struct pod_selection *pods)
{
    return pods->namespace_count + selector_size(&pods->selector) +
           selector_size(&pods->namespace_selector);
}

void pod_rules_finish(struct pod_rules *rules)
{
    const char *excess = rules->excess;
    size_t size = 0;
    for (uint32_t i = 0; i < rules->term_count; i++)
        size += selection_size(&rules->terms[i].pods);
    for (uint32_t i = 0; i < rules->spread_count; i++)
        size += selection_size(&rules->spreads[i].pods);
    if (!excess && size > LIMIT_POD_SELECTED)
        excess =
            "the pod's spec.affinity and spec.topologySpreadConstraints name more than " LIMIT_TEXT(
                LIMIT_POD_SELECTED) " labels, values and namespaces, which is the limit";
    if (excess)
        pod_rules_clear(rules);
    rules->excess = excess;
}

void pod_rules_clear(struct pod_rules *rules)
{
    for (uint32_t i = 0; i < rules->term_count; i++) {
        selection_clear(&rules->terms[i].pods);
        intern_put(rules->terms[i].topology_key);
    }
    for (uint32_t i = 0; i < rules->spread_count; i++) {
        selection_clear(&rules->spreads[i].pods);
        intern_put(rules->spreads[i].topology_key);
    }
    free(rules->terms);
    free(rules->spreads);
    *rules = (struct pod_rules){.terms = NULL};
}

/* ---- selections ------------------------------------------------------------------------------ */

bool pod_selection_has_namespace(const struct pod_selection *pods, const char *ns,
                                 const struct kube_pairs *ns_labels)
{
    static const struct kube_pairs none = {NULL, 0};
    for (uint32_t i = 0; i < pods->namespace_count; i++)
        if (pods->namespaces[i] == ns)
            return true;
    return label_selector_matches(&pods->namespace_selector, pairs_value,
                                  ns_labels ? ns_labels : &none);
}

void pod_selection_write(const struct pod_selection *pods, struct buf *out)
{
    for (uint32_t i = 0; i < pods->namespace_count; i++)
        buf_printf(out, "%s ", pods->namespaces[i]);
    label_selector_write(&pods->namespace_selector, out);
    label_selector_write(&pods->selector, out);
}
