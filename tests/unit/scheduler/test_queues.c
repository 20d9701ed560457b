/*
 * Queues in the cache: what is read of their spec, and parents that are absent, come late, change,
 * or are below their own children.
 */
#include "bare.h"

static const struct sched_queue *queue_of(const struct bare *b, const char *name)
{
    const struct sched_queue *queue = cache_queue(&b->cache, name);
    audited(b);
    assert_non_null(queue);
    return queue;
}

static const char *parent_of(const struct bare *b, const char *name)
{
    const struct sched_queue *parent = queue_of(b, name)->parent;
    return parent ? parent->name : "";
}

static size_t untold(const struct bare *b)
{
    size_t count = 0;
    for (const struct list *link = b->cache.untold_queues.next; link != &b->cache.untold_queues;
         link = link->next)
        count++;
    return count;
}

static void spec(void **state)
{
    struct bare *b = bare_new();
    const char *text =
        "\"weight\":3,\"priority\":5,\"reclaimable\":false,\"parent\":\"p\",\"capability\":{"
        "\"cpu\":\"0\",\"memory\":\"1Ki\",\"example.com/gpu\":0},\"deserved\":{\"cpu\":\"2\","
        "\"example.com/gpu\":0},\"guarantee\":{\"resource\":{\"cpu\":\"1\"}}";
    (void)state;
    assert_true(put_queue(b, "q",
                          "\"volcano.sh/hierarchy\":\"root/a/q\","
                          "\"volcano.sh/hierarchy-weights\":\"1/2/3\"",
                          text));
    const struct sched_queue *q = queue_of(b, "q");
    assert_int_equal(q->weight, 3);
    assert_int_equal(q->priority, 5);
    assert_true(q->open);
    assert_false(q->reclaimable);
    assert_string_equal(q->parent_name, "p");
    assert_set(b, &q->capability, "memory=1024 example.com/gpu=0"); /* no GPU at all */
    assert_set(b, &q->deserved, "cpu=2000");
    assert_set(b, &q->guarantee, "cpu=1000");
    assert_true(q->has_capability && q->has_deserved && q->has_guarantee);
    assert_string_equal(q->hierarchy, "root/a/q");
    assert_string_equal(q->hierarchy_weights, "1/2/3");
    uint32_t version = q->version;
    uint64_t room = b->cache.room;
    assert_false(put_queue(b, "q",
                           "\"volcano.sh/hierarchy\":\"root/a/q\","
                           "\"volcano.sh/hierarchy-weights\":\"1/2/3\"",
                           text)); /* nothing new */
    assert_int_equal(q->version, version);
    assert_int_equal(b->cache.room, room);
    assert_true(put_queue(b, "q", "", "\"capability\":{\"memory\":\"1Ki\"}"));
    assert_true(q->version > version && b->cache.room > room);
    assert_false(q->has_deserved);
    assert_string_equal(q->hierarchy, "");
    bare_free(b);
}

static void parents(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_queue(b, "a", "", "");
    assert_string_equal(queue_of(b, "a")->parent_name, "root");
    assert_string_equal(parent_of(b, "a"), ""); /* there is no root yet */
    put_queue(b, "root", "", "");
    assert_string_equal(parent_of(b, "a"), "root");
    assert_string_equal(queue_of(b, "root")->parent_name, "");
    put_queue(b, "b", "", "\"parent\":\"late\"");
    assert_string_equal(parent_of(b, "b"), "");
    assert_int_equal(untold(b), 1);
    cache_tell_queues(&b->cache);
    assert_int_equal(untold(b), 0);
    put_queue(b, "late", "", "\"parent\":\"a\"");
    assert_string_equal(parent_of(b, "b"), "late");
    assert_int_equal(queue_of(b, "late")->children, 1);
    assert_int_equal(queue_of(b, "root")->children, 1);
    cache_set_queue(&b->cache, "late", NULL);
    assert_string_equal(parent_of(b, "b"), "");
    assert_int_equal(untold(b), 1); /* said again: it happened again */
    put_queue(b, "b", "", "\"parent\":\"a\"");
    assert_null(cache_queue(&b->cache, "late")); /* nobody names it any more */
    assert_int_equal(untold(b), 0);
    bare_free(b);
}

/* a -> b -> c -> a, with d below a. Only those in the cycle lose their parents, until it opens. */
static void a_cycle(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_queue(b, "root", "", "");
    put_queue(b, "a", "", "\"parent\":\"b\"");
    put_queue(b, "b", "", "\"parent\":\"c\"");
    put_queue(b, "d", "", "\"parent\":\"a\"");
    put_queue(b, "c", "", "");
    assert_string_equal(parent_of(b, "b"), "c");
    put_queue(b, "c", "", "\"parent\":\"a\"");
    assert_string_equal(parent_of(b, "a"), "");
    assert_string_equal(parent_of(b, "b"), "");
    assert_string_equal(parent_of(b, "c"), "");
    assert_string_equal(parent_of(b, "d"), "a");
    assert_int_equal(untold(b), 3);
    put_queue(b, "b", "", "\"parent\":\"root\"");
    assert_string_equal(parent_of(b, "a"), "b");
    assert_string_equal(parent_of(b, "b"), "root");
    assert_string_equal(parent_of(b, "c"), "a");
    assert_int_equal(untold(b), 0);
    put_queue(b, "a", "", "\"parent\":\"a\"");
    assert_string_equal(parent_of(b, "a"), "");
    assert_string_equal(parent_of(b, "c"), "a");
    cache_set_queue(&b->cache, "a", NULL);
    assert_string_equal(parent_of(b, "c"), "");
    bare_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(spec), cmocka_unit_test(parents),
                                       cmocka_unit_test(a_cycle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
