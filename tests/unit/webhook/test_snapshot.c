/*
 * Snapshots of Queues: look-ups, children, and many readers while new ones are published (TSan).
 */
#include "testing.h"

#include "webhook/snapshot.h"

static struct queue_view *view(const char *name, const char *parent)
{
    char *text = xasprintf("{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"parent\":\"%s\","
                           "\"capability\":{\"memory\":\"1Gi\",\"cpu\":2}}}",
                           name, parent);
    cJSON *tree = cJSON_Parse(text);
    struct queue_view *made = queue_view_from_tree(tree);
    cJSON_Delete(tree);
    free(text);
    return made;
}

static void test_lookups(void **state)
{
    (void)state;
    struct queue_view *views[] = {view("c", "p"), view("root", ""), view("a", "p"),
                                  view("p", "root"), view("pp", "p2")};
    struct queue_snapshot *snapshot = queue_snapshot_new(views, ARRAY_SIZE(views), true);
    struct queue_view *const *children;
    const struct queue_view *queue = queue_snapshot_get(snapshot, STR("p"));
    assert_str(queue->parent, "root");
    assert_str(queue->state, "Open");
    assert_int_equal(quantity_value(*resources_get(&queue->capability, STR("cpu"))), 2);
    assert_null(resources_get(&queue->capability, STR("gpu")));
    assert_null(queue_snapshot_get(snapshot, STR("x")));
    assert_int_equal(queue_snapshot_children(snapshot, STR("p"), &children), 2);
    assert_str(children[0]->name, "a");
    assert_str(children[1]->name, "c");
    assert_int_equal(queue_snapshot_children(snapshot, STR("root"), &children), 1);
    assert_int_equal(queue_snapshot_children(snapshot, STR("a"), &children), 0);
    assert_int_equal(queue_snapshot_children(snapshot, STR(""), &children), 0);
    shared_unref(snapshot);
}

static void test_of_stored_queue(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct queue *queue = queue_decode(
        STR("{\"metadata\":{\"name\":\"q\",\"annotations\":{\"volcano.sh/hierarchy\":\"root/q\"}},"
            "\"spec\":{\"parent\":\"root\",\"guarantee\":{\"resource\":{\"cpu\":\"1\"}}},"
            "\"status\":{\"allocated\":{\"pods\":\"7\"},\"state\":\"Closed\"}}"),
        &err);
    assert_non_null(queue);
    struct queue_view *made = queue_view_new(queue);
    queue_free(queue);
    assert_str(made->name, "q");
    assert_str(made->state, "Closed");
    assert_str(made->hierarchy, "root/q");
    assert_int_equal(made->allocated_pods, 7);
    assert_int_equal(made->guarantee.n, 1);
    assert_true(made->arena.total <= 512); /* there may be a great many queues */
    shared_unref(made);
}

#define ROUNDS 2000

static void *read_all(void *arg)
{
    struct snapshot_cell *cell = arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct queue_snapshot *snapshot = snapshot_cell_get(cell);
        const struct queue_view *queue = queue_snapshot_get(snapshot, STR("b"));
        if (snapshot->synced && (!queue || !str_is(queue->parent, "root")))
            abort();
        shared_unref(snapshot);
    }
    return NULL;
}

/* Views are shared between snapshots; all memory is given back (ASan). */
static void test_readers_and_a_writer(void **state)
{
    (void)state;
    struct snapshot_cell cell;
    pthread_t readers[3];
    struct queue_view *kept = view("b", "root");
    snapshot_cell_init(&cell, queue_snapshot_new(NULL, 0, false));
    for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all, &cell), 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct queue_view *views[] = {view("a", ""), shared_ref(kept)};
        snapshot_cell_publish(&cell, queue_snapshot_new(views, 2, true));
    }
    for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
        assert_int_equal(pthread_join(readers[i], NULL), 0);
    snapshot_cell_clear(&cell);
    assert_int_equal(atomic_load(&kept->shared.references), 1);
    shared_unref(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_of_stored_queue),
        cmocka_unit_test(test_readers_and_a_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
