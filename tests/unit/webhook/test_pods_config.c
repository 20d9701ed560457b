/*
 * The configuration of /pods/mutate: what is refused, its limits, and how its file is followed.
 * What it does to pods: tests/admission/pods-mutate.
 */
#include "testing.h"

#include "base/buf.h"
#include "webhook/pod/pods_config_watch.h"
#include <stdio.h>
#include <sys/stat.h>

static void test_refusals(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "resourceGroups: [",
        "resourceGroups: {}",
        "resourceGroups: [1]",
        "- a",
        "text",
        "resourceGroups: [{resourceGroup: [a]}]",
        "resourceGroups: [{object: a}]",
        "resourceGroups: [{object: {key: {}}}]",
        "resourceGroups: [{object: {value: a}}]",
        "resourceGroups: [{object: {value: [{a: b}]}}]",
        "resourceGroups: [{labels: [a]}]",
        "resourceGroups: [{labels: {a: [b]}}]",
        "resourceGroups: [{tolerations: {}}]",
        "resourceGroups: [{tolerations: [a]}]",
        "resourceGroups: [{tolerations: [{tolerationseconds: soon}]}]",
        "resourceGroups: [{tolerations: [{tolerationSeconds: 1.5}]}]",
        "resourceGroups: [{affinity: {nodeAffinity: {}}}]",
        "resourceGroups: [{schedulerName: {}}]",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct error err = ERROR_INIT;
        struct pods_config *config = pods_config_parse(str_of(texts[i]), &err);
        if (config)
            print_error("%s\n", texts[i]);
        assert_null(config);
        assert_true(err.text[0] != '\0');
    }
}

static void test_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "# a comment\n",
                                        "null",
                                        "{}",
                                        "other: 1",
                                        "{}",
                                        "resourceGroups:\n",
                                        "resourceGroups: []"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct error err = ERROR_INIT;
        struct pods_config *config = pods_config_parse(str_of(texts[i]), &err);
        assert_non_null(config);
        assert_int_equal(config->n, 0);
        shared_unref(config);
    }
}

static void test_scalars_are_text(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct pods_config *config =
        pods_config_parse(STR("resourceGroups:\n- resourceGroup: 7\n  labels: {a: 1.50, b: true, "
                              "c: ~, d: 'x', b: no}\n"
                              "  schedulerName: true\n"),
                          &err);
    assert_non_null(config);
    const struct pods_group *group = &config->groups[0];
    assert_str(group->name, "7");
    assert_str(group->scheduler_name, "true");
    assert_int_equal(group->label_count, 4);
    assert_str(group->labels[0].value, "1.50");
    assert_str(group->labels[1].value, "no"); /* of two the last one counts */
    assert_str(group->labels[2].value, "");
    assert_str(group->labels[3].value, "x");
    assert_int_equal(group->match, PODS_MATCH_GROUP);
    shared_unref(config);
}

/* A file with one list of `n` items; `item` has one %zu. */
static bool fits(const char *before, const char *item, size_t n, const char *after)
{
    struct buf text = BUF_INIT((size_t)4 << 20);
    struct error err = ERROR_INIT;
    buf_add_cstr(&text, before);
    for (size_t i = 0; i < n; i++) {
        char number[32];
        (void)snprintf(number, sizeof(number), "%zu", i);
        buf_printf(&text, "%s%s%s%s", i ? "," : "", item, number, *item == '{' ? "}" : "");
    }
    buf_add_cstr(&text, after);
    struct pods_config *config = pods_config_parse(buf_str(&text), &err);
    const bool good = config != NULL;
    if (!good)
        assert_non_null(strstr(err.text, "too many"));
    shared_unref(config);
    buf_clear(&text);
    return good;
}

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        const char *before, *item, *after;
        size_t most;
    } lists[] = {
        {"resourceGroups: [", "{resourceGroup: ", "]", PODS_CONFIG_GROUPS_MAX},
        {"resourceGroups: [{object: {key: namespace, value: [", "n", "]}}]", PODS_CONFIG_ITEMS_MAX},
        {"resourceGroups: [{tolerations: [", "{key: k", "]}]", PODS_CONFIG_ITEMS_MAX},
    };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        assert_true(fits(lists[i].before, lists[i].item, lists[i].most, lists[i].after));
        assert_false(fits(lists[i].before, lists[i].item, lists[i].most + 1, lists[i].after));
    }
}

static bool labels_fit(size_t n)
{
    struct buf text = BUF_INIT((size_t)1 << 20);
    struct error err = ERROR_INIT;
    buf_add_cstr(&text, "resourceGroups: [{labels: {");
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "l%zu: v,", i);
    buf_add_cstr(&text, "}}]");
    struct pods_config *config = pods_config_parse(buf_str(&text), &err);
    if (config)
        assert_int_equal(config->groups[0].label_count, n);
    shared_unref(config);
    buf_clear(&text);
    return config != NULL;
}

static void test_limit_of_labels(void **state)
{
    (void)state;
    assert_true(labels_fit(PODS_CONFIG_ITEMS_MAX));
    assert_false(labels_fit(PODS_CONFIG_ITEMS_MAX + 1));
}

/* ---- the file ------------------------------------------------------------------------------ */

struct rig {
    char folder[64];
    char *path; /* owned */
    struct loop *loop;
    struct snapshot_cell cell;
    struct pods_config_watch *watch;
};

static char *join(const struct rig *rig, const char *name)
{
    return xasprintf("%s/%s", rig->folder, name);
}

static void put(const struct rig *rig, const char *name, const char *text)
{
    char *path = join(rig, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(path);
}

static void step(void *arg)
{
    (void)arg;
}

/* Lets time pass for more than one look at the file. */
static void wait_looked(struct rig *rig)
{
    struct loop_timer timer;
    const int64_t end = loop_now(rig->loop) + 2 * PODS_CONFIG_CHECK_NS;
    loop_timer_init(&timer, step, NULL);
    loop_timer_set(rig->loop, &timer, 2 * PODS_CONFIG_CHECK_NS);
    while (loop_now(rig->loop) < end)
        (void)loop_turn(rig->loop, end - loop_now(rig->loop));
    loop_timer_cancel(rig->loop, &timer);
}

/* The name of the only group in force; "" without one, "-" without a configuration. */
static void assert_group(struct rig *rig, const char *name)
{
    struct pods_config *config = snapshot_cell_get(&rig->cell);
    assert_str(!config ? STR("-") : config->n ? config->groups[0].name : STR(""), name);
    shared_unref(config);
}

static void rig_start(struct rig *rig, const char *name)
{
    (void)snprintf(rig->folder, sizeof(rig->folder), "/tmp/pumice-pods-config-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    rig->path = join(rig, name);
    rig->loop = loop_new_virtual(1, 0);
    snapshot_cell_init(&rig->cell, NULL);
}

static void rig_follow(struct rig *rig)
{
    rig->watch = pods_config_watch_new(rig->loop, rig->path, &rig->cell);
}

static void rig_stop(struct rig *rig)
{
    const char *const names[] = {"conf", "link", "data", "1", "2"};
    pods_config_watch_free(rig->watch);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char *path = join(rig, names[i]);
        (void)unlink(path);
        free(path);
    }
    assert_int_equal(rmdir(rig->folder), 0);
    free(rig->path);
    snapshot_cell_clear(&rig->cell);
    loop_free(rig->loop);
}

static void test_a_file_that_comes_later(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, "conf");
    rig_follow(&rig);
    assert_group(&rig, "-");
    put(&rig, "conf", "resourceGroups: [");
    wait_looked(&rig);
    assert_group(&rig, "-"); /* a bad one at first does not end it */
    put(&rig, "conf", "resourceGroups: [{resourceGroup: a}]");
    wait_looked(&rig);
    assert_group(&rig, "a");
    rig_stop(&rig);
}

static void test_a_bad_file_changes_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, "conf");
    put(&rig, "conf", "resourceGroups: [{resourceGroup: a}]");
    rig_follow(&rig);
    assert_group(&rig, "a"); /* at once */
    put(&rig, "conf", "resourceGroups: [{labels: []}]");
    wait_looked(&rig);
    assert_group(&rig, "a");
    assert_int_equal(unlink(rig.path), 0);
    wait_looked(&rig);
    assert_group(&rig, "a");
    put(&rig, "conf", "");
    wait_looked(&rig);
    assert_group(&rig, "");
    put(&rig, "conf", "resourceGroups: [{resourceGroup: b}]");
    wait_looked(&rig);
    assert_group(&rig, "b");
    rig_stop(&rig);
}

/* As a kubelet does it: the file is a link through a link that is renamed over. */
static void test_a_link_that_is_swapped(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, "conf");
    put(&rig, "1", "resourceGroups: [{resourceGroup: a}]");
    put(&rig, "2", "resourceGroups: [{resourceGroup: b}]");
    char *data = join(&rig, "data"), *link = join(&rig, "link");
    assert_int_equal(symlink("1", data), 0);
    assert_int_equal(symlink("data", rig.path), 0);
    rig_follow(&rig);
    assert_group(&rig, "a");
    assert_int_equal(symlink("2", link), 0);
    assert_int_equal(rename(link, data), 0);
    wait_looked(&rig);
    assert_group(&rig, "b");
    free(data);
    free(link);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_scalars_are_text),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_limit_of_labels),
        cmocka_unit_test(test_a_file_that_comes_later),
        cmocka_unit_test(test_a_bad_file_changes_nothing),
        cmocka_unit_test(test_a_link_that_is_swapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
