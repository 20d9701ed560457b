/*
 * Queues with a great many below them: one walk serves all resources of the queue under review.
 */
#include "testing.h"

#include "webhook/admission.h"
#include <time.h>

#define CHILDREN 2000
#define RESOURCES 400

static struct queue_view *child(size_t i)
{
    struct buf text = BUF_INIT(1024);
    buf_printf(&text,
               "{\"metadata\":{\"name\":\"c%zu\"},\"spec\":{\"parent\":\"top\",\"capability\":"
               "{\"example.com/r%zu\":%zu}}}",
               i, i % RESOURCES, i);
    cJSON *tree = cJSON_ParseWithLength(text.p, text.n);
    struct queue_view *made = queue_view_from_tree(tree);
    cJSON_Delete(tree);
    buf_clear(&text);
    return made;
}

/* The creation of "top" with so many resources, each `amount`. */
static void write_review(struct buf *out, size_t resources, size_t amount)
{
    buf_reset(out);
    buf_add_cstr(out,
                 "{\"request\":{\"uid\":\"u\",\"operation\":\"CREATE\",\"resource\":{\"group\":"
                 "\"scheduling.volcano.sh\",\"version\":\"v1beta1\",\"resource\":\"queues\"},"
                 "\"object\":{\"metadata\":{\"name\":\"top\"},\"spec\":{\"capability\":{");
    for (size_t i = 0; i < resources; i++)
        buf_printf(out, "%s\"example.com/r%zu\":%zu", i ? "," : "", i, amount);
    buf_add_cstr(out, "}}}}}");
}

/* Asks, and returns the processor time that it took. */
static clock_t ask(struct admission *admission, size_t resources, size_t amount, struct buf *answer)
{
    struct buf review = BUF_INIT((size_t)1 << 20);
    write_review(&review, resources, amount);
    struct admission_question question = {
        .path = STR("/queues/validate"), .body = buf_str(&review), .last_try = true};
    struct admission_answer got = {.body = answer};
    buf_reset(answer);
    const clock_t before = clock();
    admission_answer(admission, &question, &got);
    const clock_t spent = clock() - before;
    assert_int_equal(got.status, 200);
    buf_clear(&review);
    return spent;
}

static void test_many_resources_above_many_queues(void **state)
{
    (void)state;
    static struct queue_view *views[CHILDREN];
    struct buf answer = BUF_INIT((size_t)1 << 20);
    struct admission admission;
    admission_init(&admission);
    for (size_t i = 0; i < CHILDREN; i++)
        views[i] = child(i);
    snapshot_cell_publish(&admission.queues, queue_snapshot_new(views, CHILDREN, true));
    const clock_t one = ask(&admission, 1, CHILDREN, &answer);
    assert_true(str_find(buf_str(&answer), STR("\"allowed\":true")) >= 0);
    const clock_t many = ask(&admission, RESOURCES, CHILDREN, &answer);
    assert_true(str_find(buf_str(&answer), STR("\"allowed\":true")) >= 0);
    assert_true(many < 100 * one + CLOCKS_PER_SEC / 20);
    /* The largest below is that of the last child that has the resource. */
    (void)ask(&admission, RESOURCES, CHILDREN - RESOURCES, &answer);
    assert_true(str_find(buf_str(&answer), STR("queue top capability[example.com/r1]=1600 is "
                                               "smaller than its descendants' max "
                                               "capability=1601")) >= 0);
    assert_true(str_find(buf_str(&answer), STR("[example.com/r0]")) < 0); /* 1600: just fits */
    buf_clear(&answer);
    admission_clear(&admission);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_resources_above_many_queues)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
