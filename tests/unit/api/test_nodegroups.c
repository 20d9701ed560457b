/*
 * Groups of nodes in Queues: what is read of the spec and the annotation, and what cannot be read.
 */
#include "testing.h"

#include "api/queue.h"
#include "base/intern.h"

#define REQUIRED "\"requiredDuringSchedulingIgnoredDuringExecution\":"
#define PREFERRED "\"preferredDuringSchedulingIgnoredDuringExecution\":"

/* `limits`: the value of the annotation as JSON, quotes included; NULL for none. */
static struct queue *queue_of(const char *spec, const char *limits)
{
    struct error err = ERROR_INIT;
    cleanup_free char *annotation = xasprintf("\"" KEY_NODEGROUP_LIMITS "\":%s", limits);
    cleanup_free char *text = xasprintf(
        "{\"metadata\":{\"name\":\"q\",\"uid\":\"u\",\"annotations\":{%s}},\"spec\":{%s}}",
        limits ? annotation : "", spec);
    struct queue *queue = queue_decode(str_of(text), &err);
    if (!queue)
        fail_msg("%s", err.text);
    return queue;
}

static void assert_names(const struct group_names *names, const char *expected)
{
    cleanup_buf struct buf text = BUF_INIT(256);
    for (uint32_t i = 0; i < names->n; i++)
        buf_printf(&text, "%s%s", i ? " " : "", names->items[i]);
    assert_str(buf_str(&text), expected);
}

static void the_spec_names_groups(void **state)
{
    (void)state;
    struct queue *queue =
        queue_of("\"affinity\":{\"nodeGroupAffinity\":{" REQUIRED "[\"b\",\"a\"]," PREFERRED
                 "[\"c\"],\"x\":1},\"y\":[],\"nodeGroupAntiAffinity\":{" PREFERRED
                 "[\"e\",\"f\"]," REQUIRED "[\"d\"]}}",
                 NULL);
    const struct node_groups *groups = queue->groups;
    assert_non_null(groups);
    assert_names(&groups->required, "b a");
    assert_names(&groups->preferred, "c");
    assert_names(&groups->anti_required, "d");
    assert_names(&groups->anti_preferred, "e f");
    assert_true(node_groups_have_affinity(groups));
    assert_int_equal(groups->limit_count, 0);
    const char *a = intern_get(STR("a")), *c = intern_get(STR("c"));
    assert_int_equal(group_names_find(&groups->required, a), 1);
    assert_int_equal(group_names_find(&groups->required, c), -1);
    intern_put(a);
    intern_put(c);
    queue_free(queue);
}

static void nothing_said_is_nothing_kept(void **state)
{
    static const char *const specs[] = {"", "\"affinity\":null", "\"affinity\":{}",
                                        "\"affinity\":{\"nodeGroupAffinity\":{" REQUIRED
                                        "[]},\"nodeGroupAntiAffinity\":null}"};
    static const char *const limits[] = {NULL, "\"\"", "\" \"", "\"null\"", "\"{}\""};
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(specs); s++)
        for (size_t l = 0; l < ARRAY_SIZE(limits); l++) {
            struct queue *queue = queue_of(specs[s], limits[l]);
            if (queue->groups)
                fail_msg("%s, %s", specs[s], limits[l] ? limits[l] : "no limits");
            queue_free(queue);
        }
}

static void the_annotation_limits_groups(void **state)
{
    (void)state;
    struct queue *queue =
        queue_of("", "\"{\\\"a\\\":{\\\"cpu\\\":\\\"1500m\\\",\\\"memory\\\":\\\"1Gi\\\"},"
                     "\\\"b\\\":{\\\"pods\\\":3},\\\"c\\\":null}\"");
    const struct node_groups *groups = queue->groups;
    assert_non_null(groups);
    assert_false(groups->limits_invalid);
    assert_false(node_groups_have_affinity(groups));
    assert_int_equal(groups->limit_count, 3);
    assert_string_equal(groups->limits[0].group, "a");
    assert_int_equal(quantity_milli(*resource_list_get(&groups->limits[0].amounts, STR("cpu"))),
                     1500);
    assert_int_equal(quantity_value(*resource_list_get(&groups->limits[0].amounts, STR("memory"))),
                     1 << 30);
    assert_string_equal(groups->limits[1].group, "b");
    assert_int_equal(quantity_value(*resource_list_get(&groups->limits[1].amounts, STR("pods"))),
                     3);
    assert_int_equal(groups->limits[2].amounts.n, 0);
    queue_free(queue);
}

/* The Queue is there all the same. */
static void limits_that_cannot_be_read(void **state)
{
    static const char *const texts[] = {"\"cpu=4\"",
                                        "\"[]\"",
                                        "\"{\"",
                                        "\"{\\\"a\\\":4}\"",
                                        "\"{\\\"a\\\":{\\\"cpu\\\":\\\"x\\\"}}\"",
                                        "\"{\\\"a\\\":{\\\"cpu\\\":\\\"-1\\\"}}\"",
                                        "\"{\\\"a\\\":{\\\"cpu\\\":\\\"1\\\"}} more\""};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct queue *queue = queue_of("\"weight\":3", texts[i]);
        if (!queue->groups || !queue->groups->limits_invalid || queue->groups->limit_count)
            fail_msg("%s", texts[i]);
        assert_int_equal(queue->weight, 3);
        queue_free(queue);
    }
}

static void what_is_alike(void **state)
{
    static const struct {
        const char *spec, *limits;
    } all[] = {
        {"\"affinity\":{\"nodeGroupAffinity\":{" REQUIRED "[\"a\"]}}", NULL},
        {"\"affinity\":{\"nodeGroupAffinity\":{" REQUIRED "[\"a\",\"b\"]}}", NULL},
        {"\"affinity\":{\"nodeGroupAffinity\":{" REQUIRED "[\"b\",\"a\"]}}", NULL},
        {"\"affinity\":{\"nodeGroupAffinity\":{" PREFERRED "[\"a\"]}}", NULL},
        {"\"affinity\":{\"nodeGroupAntiAffinity\":{" REQUIRED "[\"a\"]}}", NULL},
        {"\"affinity\":{\"nodeGroupAntiAffinity\":{" PREFERRED "[\"a\"]}}", NULL},
        {"", "\"{\\\"a\\\":{\\\"cpu\\\":\\\"1\\\"}}\""},
        {"", "\"{\\\"a\\\":{\\\"cpu\\\":\\\"2\\\"}}\""},
        {"", "\"{\\\"b\\\":{\\\"cpu\\\":\\\"1\\\"}}\""},
        {"", "\"{\""},
        {"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        for (size_t j = 0; j < ARRAY_SIZE(all); j++) {
            struct queue *a = queue_of(all[i].spec, all[i].limits);
            struct queue *b = queue_of(all[j].spec, all[j].limits);
            if (node_groups_equal(a->groups, b->groups) != (i == j))
                fail_msg("%zu and %zu", i, j);
            queue_free(a);
            queue_free(b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_spec_names_groups),
        cmocka_unit_test(nothing_said_is_nothing_kept),
        cmocka_unit_test(the_annotation_limits_groups),
        cmocka_unit_test(limits_that_cannot_be_read),
        cmocka_unit_test(what_is_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
