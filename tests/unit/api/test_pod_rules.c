/*
 * What pods ask of where others are, their labels, host ports and images, as they are read from
 * JSON. (How it decides is tested through the scheduler: tests/unit/scheduler/test_neighbours.c.)
 */
#include "testing.h"

#include "api/pod.h"
#include "base/intern.h"
#include "base/limits.h"

static struct pod *decode_with(const char *ns, const char *labels, const char *spec)
{
    struct error err = ERROR_INIT;
    cleanup_free char *text =
        xasprintf("{\"metadata\":{\"name\":\"p\",\"namespace\":\"%s\",\"uid\":\"u\","
                  "\"resourceVersion\":\"1\",\"labels\":{%s}},\"spec\":{%s}}",
                  ns, labels, spec);
    struct pod *pod = pod_decode(str_of(text), &err);
    if (!pod)
        assert_int_equal(err.cls, ERROR_INVALID);
    return pod;
}

static struct pod *decode(const char *spec)
{
    struct pod *pod = decode_with("ns", "\"app\":\"a\",\"volcano.sh/task-index\":\"7\"", spec);
    assert_non_null(pod);
    return pod;
}

static void end(struct pod *pod)
{
    pod_unref(pod);
    assert_int_equal(pod_class_count(), 0);
    assert_int_equal(label_set_count(), 0);
    assert_int_equal(intern_count(), 0);
}

/* ---- affinity -------------------------------------------------------------------------------- */

#define TERM(more)                                                                                 \
    "{\"labelSelector\":{\"matchLabels\":{\"app\":\"a\"},\"matchExpressions\":[{\"key\":\"x\","    \
    "\"operator\":\"DoesNotExist\"}]},\"topologyKey\":\"zone\"" more "}"

static void terms_are_read(void **state)
{
    (void)state;
    struct pod *pod = decode(
        "\"affinity\":{\"podAffinity\":{"
        "\"requiredDuringSchedulingIgnoredDuringExecution\":[" TERM(
            "") "],\"preferredDuringSchedulingIgnoredDuringExecution\":[{"
                "\"weight\":30,"
                "\"podAffinityTerm\":" TERM(
                    ",\"namespaces\":[\"b\",\"c\"]") "}]},"
                                                     "\"podAntiAffinity\":{"
                                                     "\"requiredDuringSchedulingI"
                                                     "gnoredDuringExecution\":"
                                                     "[" TERM(",\"namespaceSelector\":"
                                                              "{}") "],"
                                                                    "\"preferredDuring"
                                                                    "SchedulingIgnored"
                                                                    "DuringExecution\""
                                                                    ":[{"
                                                                    "\"weight\":5,"
                                                                    "\"podAffinityTerm"
                                                                    "\":" TERM(",\"namespaceS"
                                                                               "elector\":"
                                                                               "null") "}]}"
                                                                                       "}");
    const struct pod_rules *rules = &pod->cls->rules;
    assert_int_equal(rules->term_count, 4);
    assert_int_equal(rules->terms[0].kind, TERM_AFFINITY);
    assert_int_equal(rules->terms[1].kind, TERM_PREFERRED_AFFINITY);
    assert_int_equal(rules->terms[1].weight, 30);
    assert_int_equal(rules->terms[2].kind, TERM_ANTI_AFFINITY);
    assert_int_equal(rules->terms[3].kind, TERM_PREFERRED_ANTI_AFFINITY);
    assert_string_equal(rules->terms[2].topology_key, "zone");
    const struct pod_selection *own = &rules->terms[0].pods, *named = &rules->terms[1].pods,
                               *any = &rules->terms[2].pods, *null = &rules->terms[3].pods;
    const char *ns = intern_get(STR("ns")), *b = intern_get(STR("b"));
    assert_true(pod_selection_has_namespace(own, ns, NULL));
    assert_false(pod_selection_has_namespace(own, b, NULL));
    assert_false(pod_selection_has_namespace(named, ns, NULL));
    assert_true(pod_selection_has_namespace(named, b, NULL));
    assert_true(pod_selection_has_namespace(any, b, NULL));
    assert_true(pod_selection_has_namespace(null, ns, NULL));
    assert_false(pod_selection_has_namespace(null, b, NULL));
    struct pod_labels labels = pod_labels_of(pod);
    assert_true(label_selector_matches(&own->selector, pod_labels_value, &labels));
    intern_put(ns);
    intern_put(b);
    end(pod);
}

/* Pods of two namespaces that say the same mean different pods. */
static void namespaces_part_classes(void **state)
{
    (void)state;
    static const char near[] =
        "\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[" TERM(
            "") "]}}";
    struct pod *a = decode_with("a", "", near), *b = decode_with("b", "", near);
    assert_ptr_not_equal(a->cls, b->cls);
    struct pod *c = decode_with("a", "", ""), *d = decode_with("b", "", "");
    assert_ptr_equal(c->cls, d->cls);
    pod_unref(a);
    pod_unref(b);
    pod_unref(c);
    end(d);
}

static void preferred_nodes_are_read(void **state)
{
    (void)state;
    struct pod *pod = decode(
        "\"affinity\":{\"nodeAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{"
        "\"weight\":10,\"preference\":{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\","
        "\"values\":[\"a\"]}]}},{\"weight\":3,\"preference\":{\"matchFields\":[{\"key\":"
        "\"metadata.name\",\"operator\":\"In\",\"values\":[\"n\"]}]}},{\"weight\":90,"
        "\"preference\":{}}]}}");
    const struct preferred_terms *terms = &pod->cls->preferred;
    struct kube_pairs none = {NULL, 0};
    assert_int_equal(terms->n, 3);
    assert_int_equal(preferred_terms_weight(terms, "n", &pod->labels->pairs), 13);
    assert_int_equal(preferred_terms_weight(terms, "m", &pod->labels->pairs), 10);
    assert_int_equal(preferred_terms_weight(terms, "m", &none), 0);
    end(pod);
}

/* ---- spread ---------------------------------------------------------------------------------- */

static void spread_is_read_with_defaults(void **state)
{
    (void)state;
    struct pod *pod = decode(
        "\"topologySpreadConstraints\":[{\"maxSkew\":2,\"topologyKey\":\"zone\","
        "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{\"app\":"
        "\"a\"}}},{\"maxSkew\":1,\"topologyKey\":\"host\",\"whenUnsatisfiable\":"
        "\"ScheduleAnyway\",\"minDomains\":3,\"nodeAffinityPolicy\":\"Ignore\","
        "\"nodeTaintsPolicy\":\"Honor\",\"matchLabelKeys\":[\"app\",\"absent\"],"
        "\"labelSelector\":{}}]");
    const struct spread_constraint *first = &pod->cls->rules.spreads[0], *second = first + 1;
    assert_int_equal(pod->cls->rules.spread_count, 2);
    assert_true(first->required && first->honors_nodes && !first->honors_taints);
    assert_int_equal(first->max_skew, 2);
    assert_int_equal(first->min_domains, 1);
    assert_false(second->required);
    assert_false(second->honors_nodes);
    assert_true(second->honors_taints);
    assert_int_equal(second->min_domains, 3);
    assert_int_equal(second->pods.selector.all.n, 1); /* app=a, from the pod's own label */
    end(pod);
}

/* Labels part classes only where a constraint refers to them: the index of a task does not. */
static void own_labels_part_classes(void **state)
{
    (void)state;
    static const char keyed[] = "\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":"
                                "\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\","
                                "\"matchLabelKeys\":[\"app\"],\"labelSelector\":{}}]";
    struct pod *a = decode_with("ns", "\"app\":\"a\"", keyed);
    struct pod *b = decode_with("ns", "\"app\":\"b\"", keyed);
    struct pod *c = decode_with("ns", "\"app\":\"a\"", ""), *d = decode_with("ns", "", "");
    struct pod *e = decode_with("ns", "\"app\":\"a\",\"volcano.sh/task-index\":\"7\"", keyed);
    assert_ptr_not_equal(a->cls, b->cls);
    assert_ptr_equal(c->cls, d->cls);
    assert_ptr_equal(a->cls, e->cls);
    pod_unref(a);
    pod_unref(b);
    pod_unref(c);
    pod_unref(e);
    end(d);
}

static void null_selects_nothing(void **state)
{
    (void)state;
    struct pod *pod = decode("\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":"
                             "\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\","
                             "\"minDomains\":null,\"matchLabelKeys\":[\"app\"]}]");
    struct pod_labels labels = pod_labels_of(pod);
    const struct spread_constraint *spread = &pod->cls->rules.spreads[0];
    assert_false(label_selector_matches(&spread->pods.selector, pod_labels_value, &labels));
    assert_int_equal(spread->min_domains, 1);
    end(pod);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static struct pod *named(const char *name, const char *labels)
{
    struct error err = ERROR_INIT;
    cleanup_free char *text = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u\",\"labels\":{%s}}}", name,
        labels);
    struct pod *pod = pod_decode(str_of(text), &err);
    assert_non_null(pod);
    return pod;
}

/* All pods of a task share their labels; what tells them apart is looked up all the same. */
static void index_stays_out_of_the_set(void **state)
{
    (void)state;
    struct pod *a = named("w-0", "\"app\":\"a\",\"volcano.sh/task-index\":\"0\"");
    struct pod *b = named("w-1", "\"volcano.sh/task-index\":\"1\",\"app\":\"a\"");
    struct pod *c = named("w-1", "\"app\":\"a\"");
    struct pod *d = named("w-1", "\"app\":\"a\",\"volcano.sh/task-index\":\"01\"");
    assert_ptr_equal(a->labels, b->labels);
    assert_ptr_equal(a->labels, c->labels);
    assert_ptr_not_equal(a->labels, d->labels);
    assert_int_equal(label_set_count(), 2);
    struct pod_labels labels[] = {pod_labels_of(a), pod_labels_of(b), pod_labels_of(c),
                                  pod_labels_of(d)};
    static const char *const indices[] = {"0", "1", NULL, "01"};
    for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
        const char *index = pod_labels_value(&labels[i], "volcano.sh/task-index");
        assert_int_equal(index != NULL, indices[i] != NULL);
        if (index)
            assert_string_equal(index, indices[i]);
        assert_string_equal(pod_labels_value(&labels[i], "app"), "a");
        assert_null(pod_labels_value(&labels[i], "other"));
    }
    pod_unref(a);
    pod_unref(b);
    pod_unref(c);
    end(d);
}

static void selectors_write_what_they_select(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "null",
        "{}",
        "{\"matchLabels\":{\"a\":\"b\"}}",
        "{\"matchLabels\":{\"a\":\"c\"}}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"b\",\"c\"]}]}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"b\",\"c\"]}]}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}]}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"},{\"key\":\"b\","
        "\"operator\":\"Exists\"}]}",
    };
    char *written[ARRAY_SIZE(texts)];
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        cleanup_arena struct arena arena = ARENA_INIT;
        struct label_selector selector = {.present = false};
        struct buf out = BUF_INIT(4096);
        struct json_reader reader;
        json_init(&reader, str_of(texts[i]), &arena);
        label_selector_read(&reader, &selector);
        assert_false(json_failed(&reader));
        label_selector_write(&selector, &out);
        assert_int_equal(label_selector_names(&selector, "a"), i > 1);
        label_selector_clear(&selector);
        written[i] = buf_take(&out);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(written[k], written[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        free(written[i]);
    assert_int_equal(intern_count(), 0);
}

/* ---- ports and images ------------------------------------------------------------------------ */

#define PORTS(ports) "\"containers\":[{\"ports\":[" ports "]}]"

static bool conflict(const char *wanted, const char *used)
{
    cleanup_free char *a = xasprintf(PORTS("%s"), wanted), *b = xasprintf(PORTS("%s"), used);
    struct pod *first = decode(a), *second = decode(b);
    bool answer = host_ports_conflict(&first->cls->ports, &second->cls->ports);
    assert_int_equal(answer, host_ports_conflict(&second->cls->ports, &first->cls->ports));
    pod_unref(first);
    end(second);
    return answer;
}

static void ports_conflict_by_address(void **state)
{
    (void)state;
    assert_false(conflict("{\"containerPort\":80}", "{\"containerPort\":80}"));
    assert_true(conflict("{\"hostPort\":80}", "{\"hostPort\":80}"));
    assert_false(conflict("{\"hostPort\":80}", "{\"hostPort\":81}"));
    assert_false(conflict("{\"hostPort\":80}", "{\"hostPort\":80,\"protocol\":\"UDP\"}"));
    assert_true(conflict("{\"hostPort\":80}", "{\"hostPort\":80,\"hostIP\":\"10.0.0.1\"}"));
    assert_false(conflict("{\"hostPort\":80,\"hostIP\":\"10.0.0.2\"}",
                          "{\"hostPort\":80,\"hostIP\":\"10.0.0.1\"}"));
    assert_true(conflict("{\"hostPort\":80,\"hostIP\":\"0.0.0.0\"}",
                         "{\"hostPort\":80,\"hostIP\":\"10.0.0.1\"}"));
}

/* Init containers end before others need the port, sidecars do not. */
static void ports_of_init_containers_do_not_count(void **state)
{
    (void)state;
    struct pod *pod = decode("\"initContainers\":[{\"ports\":[{\"hostPort\":1}]},{"
                             "\"restartPolicy\":\"Always\",\"ports\":[{\"hostPort\":2}]}]");
    assert_int_equal(pod->cls->ports.n, 1);
    assert_int_equal(pod->cls->ports.items[0].port, 2);
    end(pod);
}

static void images_have_a_tag(void **state)
{
    (void)state;
    struct pod *pod = decode("\"volumes\":[{\"name\":\"v\",\"image\":{\"reference\":\"v:2\"}},{"
                             "\"name\":\"w\",\"emptyDir\":{}}],"
                             "\"initContainers\":[{\"image\":\"a\"}],\"containers\":[{\"image\":"
                             "\"host:5000/b\"},{\"image\":\"host:5000/c:1\"},{\"image\":\"\"}]");
    assert_int_equal(pod->cls->containers, 4);
    assert_int_equal(pod->cls->image_count, 4);
    assert_string_equal(pod->cls->images[3], "v:2");
    assert_string_equal(pod->cls->images[0], "a:latest");
    assert_string_equal(pod->cls->images[1], "host:5000/b:latest");
    assert_string_equal(pod->cls->images[2], "host:5000/c:1");
    end(pod);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void repeat(struct buf *out, const char *item, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        buf_printf(out, "%s%s", i ? "," : "", item);
}

/* Why a pod with that is beyond a limit, which must go with its rules; "" when it is not. */
static const char *excess_of(struct buf *spec)
{
    struct pod *pod = decode(spec->p);
    const char *excess = pod->cls->rules.excess;
    bool any = pod->cls->rules.term_count || pod->cls->rules.spread_count;
    assert_true(any == !excess);
    end(pod);
    buf_reset(spec);
    return excess ? excess : "";
}

static void terms_have_a_limit(void **state)
{
    (void)state;
    cleanup_buf struct buf spec = BUF_INIT(1 << 20);
    for (unsigned more = 0; more < 2; more++) {
        buf_add_cstr(&spec, "\"affinity\":{\"podAffinity\":{"
                            "\"requiredDuringSchedulingIgnoredDuringExecution\":[");
        repeat(&spec, TERM(""), LIMIT_POD_TERMS - 1);
        buf_add_cstr(&spec, "]},\"podAntiAffinity\":{"
                            "\"preferredDuringSchedulingIgnoredDuringExecution\":[");
        repeat(&spec, "{\"weight\":1,\"podAffinityTerm\":" TERM("") "}", 1 + more);
        buf_add_cstr(&spec, "]}}");
        assert_string_equal(excess_of(&spec),
                            more ? "the pod's spec.affinity has more than 64 terms about other "
                                   "pods, which is the limit"
                                 : "");
    }
}

static void constraints_have_a_limit(void **state)
{
    (void)state;
    cleanup_buf struct buf spec = BUF_INIT(1 << 20);
    for (unsigned more = 0; more < 2; more++) {
        buf_add_cstr(&spec, "\"topologySpreadConstraints\":[");
        repeat(&spec, "{\"maxSkew\":1,\"topologyKey\":\"zone\"}", LIMIT_POD_SPREADS + more);
        buf_add_cstr(&spec, "]");
        assert_string_equal(excess_of(&spec),
                            more ? "the pod's spec.topologySpreadConstraints has more than 32 "
                                   "constraints, which is the limit"
                                 : "");
    }
}

/* Half of them in a term (a key, its values and a namespace), half in a constraint. */
static void what_is_named_has_a_limit(void **state)
{
    (void)state;
    cleanup_buf struct buf spec = BUF_INIT(1 << 20);
    for (unsigned more = 0; more < 2; more++) {
        buf_add_cstr(&spec, "\"affinity\":{\"podAntiAffinity\":{"
                            "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
                            "\"topologyKey\":\"zone\",\"labelSelector\":{\"matchExpressions\":[{"
                            "\"key\":\"x\",\"operator\":\"In\",\"values\":[");
        repeat(&spec, "\"v\"", LIMIT_POD_SELECTED / 2 - 2);
        buf_add_cstr(&spec,
                     "]}]}}]}},\"topologySpreadConstraints\":[{\"labelSelector\":{"
                     "\"matchExpressions\":[{\"key\":\"x\",\"operator\":\"In\",\"values\":[");
        repeat(&spec, "\"v\"", LIMIT_POD_SELECTED / 2 - 2 + more);
        buf_add_cstr(&spec, "]}]}}]");
        assert_string_equal(excess_of(&spec),
                            more ? "the pod's spec.affinity and spec.topologySpreadConstraints "
                                   "name more than 1024 labels, values and namespaces, which is "
                                   "the limit"
                                 : "");
    }
}

/* Adds members that differ, made by a format with one number. */
#define number_off(out, format, times)                                                             \
    for (unsigned i_ = 0; i_ < (times); i_++)                                                      \
    buf_printf(out, "%s" format, i_ ? "," : "", i_)

/* Whether the pod is beyond the limit that the text names, and has nothing to compare then. */
static bool asks_too_much(struct buf *spec, const char *text)
{
    struct pod *pod = decode(spec->p);
    const struct pod_class *cls = pod->cls;
    bool excess = cls->excess;
    if (excess) {
        assert_non_null(strstr(cls->excess, text));
        assert_int_equal(cls->tolerations.n + cls->affinity.n + cls->preferred.n, 0);
        assert_int_equal(cls->node_selector.n, 0);
        assert_false(cls->affinity.present);
    }
    end(pod);
    buf_reset(spec);
    return excess;
}

static void what_is_asked_of_nodes_has_a_limit(void **state)
{
    (void)state;
    cleanup_buf struct buf spec = BUF_INIT(4 << 20);
    for (unsigned more = 0; more < 2; more++) {
        buf_add_cstr(&spec, "\"nodeSelector\":{");
        number_off(&spec, "\"l%u\":\"v\"", LIMIT_POD_REQUIREMENTS + more);
        buf_add_cstr(&spec, "}");
        assert_int_equal(asks_too_much(&spec, "more than 512 labels, tolerations, terms and"),
                         more);
        buf_add_cstr(&spec, "\"affinity\":{\"nodeAffinity\":{"
                            "\"preferredDuringSchedulingIgnoredDuringExecution\":[");
        number_off(&spec,
                   "{\"weight\":1,\"preference\":{\"matchExpressions\":[{\"key\":\"k%u\","
                   "\"operator\":\"Exists\"}]}}",
                   LIMIT_POD_REQUIREMENTS / 2 + more);
        buf_add_cstr(&spec, "]}}");
        assert_int_equal(asks_too_much(&spec, "more than 512 labels, tolerations, terms and"),
                         more);
        buf_add_cstr(&spec, "\"tolerations\":[");
        number_off(&spec, "{\"key\":\"k%u\"}", LIMIT_POD_REQUIREMENTS + more);
        buf_add_cstr(&spec, "]");
        assert_int_equal(asks_too_much(&spec, "more than 512 labels, tolerations, terms"), more);
        buf_add_cstr(&spec, "\"affinity\":{\"nodeAffinity\":{"
                            "\"requiredDuringSchedulingIgnoredDuringExecution\":{"
                            "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"k\","
                            "\"operator\":\"In\",\"values\":[");
        number_off(&spec, "\"v%u\"", LIMIT_POD_NAMED - 1);
        buf_add_cstr(&spec, "]}]}]}}},\"containers\":[{\"ports\":[{\"hostPort\":1}");
        buf_add_cstr(&spec, more ? ",{\"hostPort\":2}]}]" : "]}]");
        assert_int_equal(asks_too_much(&spec, "are more than 8192 values and ports, which"), more);
        buf_add_cstr(&spec, "\"volumes\":[{\"name\":\"d\",\"rbd\":{\"image\":\"i\"}},");
        number_off(&spec, "{\"persistentVolumeClaim\":{\"claimName\":\"c%u\"}}",
                   LIMIT_POD_VOLUMES - 1 + more);
        buf_add_cstr(&spec, "]");
        assert_int_equal(asks_too_much(&spec, "more than 512 claims and disks"), more);
    }
}

/* They only say which node is best. */
static void more_images_are_not_looked_at(void **state)
{
    (void)state;
    cleanup_buf struct buf spec = BUF_INIT(1 << 20);
    buf_add_cstr(&spec, "\"containers\":[");
    number_off(&spec, "{\"image\":\"i%u\"}", LIMIT_POD_IMAGES + 1);
    buf_add_cstr(&spec, "],\"volumes\":[{\"image\":{\"reference\":\"v\"}}]");
    struct pod *pod = decode(spec.p);
    assert_int_equal(pod->cls->image_count, LIMIT_POD_IMAGES);
    assert_int_equal(pod->cls->containers, LIMIT_POD_IMAGES + 1);
    assert_null(pod->cls->excess);
    end(pod);
}

static void broken_rules_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\"affinity\":{\"podAffinity\":[]}",
        "\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{}}"
        "}",
        "\"topologySpreadConstraints\":{}",
        "\"topologySpreadConstraints\":[{\"maxSkew\":\"x\"}]",
        "\"containers\":[{\"ports\":{}}]",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_null(decode_with("ns", "", bad[i]));
    assert_int_equal(pod_class_count(), 0);
    assert_int_equal(label_set_count(), 0);
    assert_int_equal(intern_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_are_read),
        cmocka_unit_test(namespaces_part_classes),
        cmocka_unit_test(preferred_nodes_are_read),
        cmocka_unit_test(spread_is_read_with_defaults),
        cmocka_unit_test(own_labels_part_classes),
        cmocka_unit_test(null_selects_nothing),
        cmocka_unit_test(index_stays_out_of_the_set),
        cmocka_unit_test(selectors_write_what_they_select),
        cmocka_unit_test(ports_conflict_by_address),
        cmocka_unit_test(ports_of_init_containers_do_not_count),
        cmocka_unit_test(images_have_a_tag),
        cmocka_unit_test(terms_have_a_limit),
        cmocka_unit_test(constraints_have_a_limit),
        cmocka_unit_test(what_is_named_has_a_limit),
        cmocka_unit_test(what_is_asked_of_nodes_has_a_limit),
        cmocka_unit_test(more_images_are_not_looked_at),
        cmocka_unit_test(broken_rules_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
