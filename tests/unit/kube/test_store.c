/* The store: each rule by itself, then every order of arrival of whole histories. */
#include "testing.h"

#include "base/intern.h"
#include "base/log.h"
#include "base/rng.h"
#include "thing.h"
#include <fcntl.h>
#include <inttypes.h>

#define NS STR("ns")

struct fixture {
    struct store *store;
    struct store_handler handler;
    char log[512]; /* "+a1 ~a2 -a2 S !a3": added, updated, deleted, synced, bad; name and version */
};

static void note(struct fixture *f, const char *sign, const char *name, uint64_t rv)
{
    size_t n = strlen(f->log);
    (void)snprintf(f->log + n, sizeof(f->log) - n, "%s%s%s%llu", n ? " " : "", sign, name,
                   (unsigned long long)rv);
}

static void on_changed(void *arg, void *old_object, void *new_object)
{
    const struct thing *old = old_object, *new = new_object;
    struct fixture *f = arg;
    const struct thing *any = new ? new : old;
    /* The store already shows the change. */
    assert_ptr_equal(store_get_uid(f->store, str_of(any->meta.uid)), new);
    note(f, old && new ? "~" : new ? "+" : "-", any->meta.name, any->meta.rv);
}

static void on_synced(void *arg)
{
    struct fixture *f = arg;
    size_t n = strlen(f->log);
    (void)snprintf(f->log + n, sizeof(f->log) - n, "%sS", n ? " " : "");
}

static void on_bad(void *arg, const struct kube_identity *identity, const struct error *err)
{
    cleanup_free char *name = str_dup(identity->name);
    assert_true(err->text[0] != '\0');
    note(arg, "!", name, identity->rv);
}

static int setup(void **state)
{
    struct fixture *f = xnew(struct fixture);
    f->store = store_new(&thing_type);
    f->handler = (struct store_handler){
        .changed = on_changed, .synced = on_synced, .bad_object = on_bad, .arg = f};
    store_subscribe(f->store, &f->handler);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    store_free(f->store);
    free(f);
    return intern_count() == 0 ? 0 : -1;
}

static struct thing *apply(struct fixture *f, const char *name, const char *uid, uint64_t rv)
{
    cleanup_free char *json = thing_json(name, uid, rv, false);
    return store_apply(f->store, str_of(json));
}

static struct thing *apply_bad(struct fixture *f, const char *name, const char *uid, uint64_t rv)
{
    cleanup_free char *json = thing_json(name, uid, rv, true);
    return store_apply(f->store, str_of(json));
}

static void list_item(struct fixture *f, const char *name, const char *uid, uint64_t rv)
{
    cleanup_free char *json = thing_json(name, uid, rv, false);
    store_list_item(f->store, str_of(json));
}

static void watch(struct fixture *f, bool deleted, const char *name, const char *uid, uint64_t rv)
{
    cleanup_free char *json = thing_json(name, uid, rv, false);
    uint64_t got = 0;
    assert_int_equal(store_watch_event(f->store, deleted, str_of(json), &got, NULL), 0);
    assert_true(got == rv);
}

/* ---- one rule at a time ---------------------------------------------------------------------- */

static void test_newer_versions_only(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(apply(f, "a", "u", 5)->value, 5);
    assert_int_equal(apply(f, "a", "u", 4)->value, 5);
    assert_int_equal(apply(f, "a", "u", 5)->value, 5);
    assert_int_equal(apply(f, "a", "u", 6)->value, 6);
    assert_string_equal(f->log, "+a5 ~a6");
    assert_int_equal(store_count(f->store), 1);
    assert_ptr_equal(store_get(f->store, NS, STR("a")), store_get_uid(f->store, STR("u")));
    assert_null(store_get(f->store, STR("other"), STR("a")));
}

static void test_another_uid_is_a_delete_and_an_add(void **state)
{
    struct fixture *f = *state;
    apply(f, "a", "first", 5);
    assert_null(apply(f, "a", "older", 4));
    assert_int_equal(apply(f, "a", "second", 6)->value, 6);
    assert_null(store_get_uid(f->store, STR("first")));
    assert_string_equal(f->log, "+a5 -a5 +a6");
    assert_int_equal(store_count(f->store), 1);
}

static void test_relist_removes_only_what_is_not_newer(void **state)
{
    struct fixture *f = *state;
    apply(f, "gone", "1", 5);
    apply(f, "kept", "2", 6);
    apply(f, "edge", "3", 10);
    apply(f, "newer", "4", 11);
    f->log[0] = '\0';
    store_list_begin(f->store);
    list_item(f, "kept", "2", 6);
    assert_false(store_synced(f->store));
    store_list_end(f->store, 10);
    assert_string_equal(f->log, "-gone5 -edge10 S");
    assert_true(store_synced(f->store));
    store_list_begin(f->store);
    store_list_end(f->store, 20);
    assert_string_equal(f->log, "-gone5 -edge10 S -kept6 -newer11");
}

static void test_an_abandoned_list_removes_nothing(void **state)
{
    struct fixture *f = *state;
    apply(f, "a", "1", 5);
    store_list_begin(f->store);
    store_list_abort(f->store);
    assert_int_equal(store_count(f->store), 1);
    assert_false(store_synced(f->store));
    store_list_begin(f->store);
    list_item(f, "a", "1", 5);
    store_list_begin(f->store); /* gives the first one up: its items do not count */
    store_list_end(f->store, 9);
    assert_int_equal(store_count(f->store), 0);
}

static void test_answers_during_a_list_do_not_count_as_listed(void **state)
{
    struct fixture *f = *state;
    apply(f, "old", "1", 5);
    store_list_begin(f->store);
    apply(f, "old", "1", 4);   /* late, and no proof that it is still there */
    apply(f, "fresh", "2", 6); /* created at 6, deleted at 7, not in the list at 8 */
    apply(f, "later", "3", 9); /* created after the list */
    store_list_end(f->store, 8);
    assert_string_equal(f->log, "+old5 +fresh6 +later9 -old5 -fresh6 S");
}

static void test_what_is_older_than_the_watch_and_absent_is_deleted(void **state)
{
    struct fixture *f = *state;
    store_list_begin(f->store);
    store_list_end(f->store, 10);
    assert_null(apply(f, "late", "1", 10));
    assert_non_null(apply(f, "new", "2", 11));
    watch(f, false, "b", "3", 20);
    assert_null(apply(f, "late", "1", 20));
    store_watched(f->store, 30); /* a bookmark */
    store_watched(f->store, 25); /* never goes back */
    assert_null(apply(f, "late", "1", 30));
    assert_non_null(apply(f, "late", "1", 31));
}

static void test_a_deleted_event_removes_only_older_versions(void **state)
{
    struct fixture *f = *state;
    apply(f, "a", "u", 5);
    watch(f, true, "a", "u", 4); /* left the selector at 4 and came back at 5 */
    assert_int_equal(store_count(f->store), 1);
    watch(f, true, "a", "u", 5);
    assert_int_equal(store_count(f->store), 0);
    apply(f, "b", "first", 6);
    watch(f, true, "b", "second", 9); /* its predecessor must be gone as well */
    assert_int_equal(store_count(f->store), 0);
}

static void test_tombstones_live_as_long_as_requests(void **state)
{
    struct fixture *f = *state;
    store_request_begin(f->store, NS, STR("a"));
    store_request_begin(f->store, NS, STR("a"));
    apply(f, "a", "u", 5);
    watch(f, true, "a", "u", 7);
    assert_int_equal(store_tombstones(f->store), 1);
    assert_null(apply(f, "a", "u", 6));
    store_request_end(f->store, NS, STR("a"));
    assert_int_equal(store_tombstones(f->store), 1);
    assert_non_null(apply(f, "a", "another", 8));
    store_request_end(f->store, NS, STR("a"));
    assert_int_equal(store_tombstones(f->store), 0);
    assert_string_equal(f->log, "+a5 -a5 +a8");
}

static void test_a_replaced_uid_is_buried_too(void **state)
{
    struct fixture *f = *state;
    store_request_begin(f->store, NS, STR("a"));
    apply(f, "a", "first", 5);
    apply(f, "a", "second", 8);
    store_forget(f->store, NS, STR("a"), STR("second"));
    assert_null(apply(f, "a", "first", 6));
    assert_null(apply(f, "a", "second", 9));
    store_request_end(f->store, NS, STR("a"));
    assert_string_equal(f->log, "+a5 -a5 +a8 -a8");
}

static void test_forgetting_is_ahead_of_the_watch(void **state)
{
    struct fixture *f = *state;
    apply(f, "a", "u", 5);
    store_forget(f->store, NS, STR("a"), STR("other"));
    assert_int_equal(store_count(f->store), 1);
    store_forget(f->store, NS, STR("a"), STR("u"));
    watch(f, false, "a", "u", 6); /* from before the deletion */
    assert_int_equal(store_count(f->store), 0);
    assert_int_equal(store_tombstones(f->store), 1);
    watch(f, true, "a", "u", 7);
    assert_int_equal(store_tombstones(f->store), 0);
    store_forget(f->store, NS, STR("never"), STR("seen"));
    assert_int_equal(store_tombstones(f->store), 0);

    apply(f, "b", "v", 8);
    store_forget(f->store, NS, STR("b"), STR("v"));
    store_list_begin(f->store); /* a list catches up just as well */
    store_list_end(f->store, 9);
    assert_int_equal(store_tombstones(f->store), 0);
}

static void test_unreadable_versions_count_as_present(void **state)
{
    struct fixture *f = *state;
    apply(f, "a", "u", 5);
    assert_int_equal(apply_bad(f, "a", "u", 6)->value, 5);
    apply_bad(f, "a", "u", 6);
    assert_null(apply_bad(f, "b", "v", 7));
    assert_int_equal(store_count(f->store), 1);
    assert_null(store_get(f->store, NS, STR("b")));
    assert_string_equal(f->log, "+a5 !a6 !b7");
    store_list_begin(f->store); /* both are newer than this list */
    store_list_end(f->store, 5);
    assert_int_equal(apply(f, "a", "u", 8)->value, 8);
    assert_int_equal(apply(f, "b", "v", 9)->value, 9);
    apply_bad(f, "b", "w", 10); /* its predecessor has gone */
    assert_string_equal(f->log, "+a5 !a6 !b7 S ~a8 +b9 -b9 !b10");
    size_t i = 0;
    const struct thing *only = store_next(f->store, &i);
    assert_string_equal(only->meta.name, "a");
    assert_null(store_next(f->store, &i));
}

static void test_an_object_that_goes_bad_leaves_with_a_relist(void **state)
{
    struct fixture *f = *state;
    apply(f, "a", "u", 5);
    apply_bad(f, "a", "u", 6);
    store_list_begin(f->store);
    cleanup_free char *json = thing_json("a", "u", 6, true);
    assert_non_null(store_list_item(f->store, str_of(json)));
    store_list_end(f->store, 7);
    assert_string_equal(f->log, "+a5 !a6 S");
    store_list_begin(f->store);
    store_list_end(f->store, 8);
    assert_string_equal(f->log, "+a5 !a6 S -a5");
}

static void test_objects_without_identity(void **state)
{
    struct fixture *f = *state;
    uint64_t rv = 1;
    assert_null(store_apply(f->store, STR("not json")));
    assert_null(store_apply(f->store, STR("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}")));
    assert_null(store_apply(f->store, STR("{\"metadata\":{\"name\":\"b\",\"resourceVersion\":"
                                          "\"3\"}}")));
    store_apply_deleted(f->store, STR("{}"));
    struct error err = ERROR_INIT;
    assert_int_equal(store_watch_event(f->store, false, STR("{\"meta"), &rv, &err), -1);
    assert_true(rv == 1 && err.cls == ERROR_INVALID);
    assert_int_equal(store_watch_event(f->store, true, STR("{}"), &rv, &err), 0);
    assert_true(rv == 0);
    assert_string_equal(f->log, "!a0 !b3 !0 !0");
}

static void test_keys_at_the_limit(void **state)
{
    struct fixture *f = *state;
    char name[STORE_KEY_MAX];
    memset(name, 'x', sizeof(name));
    name[STORE_KEY_MAX - 3] = '\0'; /* "ns/" and this: exactly the limit */
    assert_non_null(apply(f, name, "1", 1));
    assert_non_null(store_get(f->store, NS, str_of(name)));
    name[STORE_KEY_MAX - 3] = 'x';
    name[STORE_KEY_MAX - 2] = '\0';
    f->log[0] = '\0';
    assert_null(apply(f, name, "2", 2));
    assert_int_equal(f->log[0], '!');
    f->log[0] = '\0';
    assert_null(store_get(f->store, NS, str_of(name)));
    store_request_begin(f->store, NS, str_of(name));
    store_request_end(f->store, NS, str_of(name));
    char uid[STORE_KEY_MAX + 2];
    memset(uid, 'u', sizeof(uid));
    uid[STORE_KEY_MAX] = '\0';
    assert_non_null(apply(f, "y", uid, 3));
    uid[STORE_KEY_MAX] = 'u';
    uid[STORE_KEY_MAX + 1] = '\0';
    assert_null(apply(f, "z", uid, 4));
}

static void test_answers_to_delete(void **state)
{
    struct fixture *f = *state;
    const struct str u = STR("u"), a = STR("a");
    const struct {
        const char *extra;
        bool stays;
    } cases[] = {
        {"", false},
        {",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"deletionGracePeriodSeconds\":0", false},
        {",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"deletionGracePeriodSeconds\":30", true},
        {",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"finalizers\":[\"f\"]", true},
    };
    for (uint64_t i = 0; i < ARRAY_SIZE(cases); i++) {
        apply(f, "a", "u", 10 * i + 1);
        cleanup_buf struct buf out = BUF_INIT(300);
        buf_printf(&out,
                   "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\",\"uid\":\"u\","
                   "\"resourceVersion\":\"%" PRIu64 "\"%s}}",
                   10 * i + 2, cases[i].extra);
        store_apply_delete_answer(f->store, NS, a, u, buf_str(&out));
        const struct thing *left = store_get(f->store, NS, a);
        assert_int_equal(left != NULL, cases[i].stays);
        assert_true(!left || left->meta.rv == 10 * i + 2);
    }
    store_apply_delete_answer(f->store, NS, a, u, STR("<html>"));
    assert_int_equal(store_count(f->store), 1);
    store_apply_delete_answer(f->store, NS, a, u,
                              STR("{\"kind\":\"Status\",\"status\":\"Success\"}"));
    assert_int_equal(store_count(f->store), 0);
}

static void test_late_subscribers_catch_up(void **state)
{
    struct fixture *f = *state;
    store_unsubscribe(f->store, &f->handler);
    apply(f, "b", "2", 1);
    apply(f, "a", "1", 2);
    apply(f, "c", "3", 3);
    watch(f, true, "a", "1", 4);
    apply(f, "a", "4", 5);
    assert_string_equal(f->log, "");
    store_subscribe(f->store, &f->handler);
    assert_string_equal(f->log, "+b1 +c3 +a5"); /* order of arrival */
    store_list_begin(f->store);
    store_list_end(f->store, 0);
    f->log[0] = '\0';
    store_unsubscribe(f->store, &f->handler);
    store_subscribe(f->store, &f->handler);
    assert_string_equal(f->log, "+b1 +c3 +a5 S");
    assert_string_equal(store_kind(f->store), "Thing");
}

static struct store *changed_store;

static void change_again(void *arg, void *old_object, void *new_object)
{
    (void)arg, (void)old_object, (void)new_object;
    store_forget(changed_store, NS, STR("a"), STR("u"));
}

static void change_from_a_handler(void)
{
    struct store_handler handler = {.changed = change_again};
    cleanup_free char *json = thing_json("a", "u", 1, false);
    changed_store = store_new(&thing_type);
    store_subscribe(changed_store, &handler);
    store_apply(changed_store, str_of(json));
}

static void test_handlers_must_not_change_the_store(void **state)
{
    (void)state;
    assert_aborts(change_from_a_handler);
}

/* ---- every order ----------------------------------------------------------------------------- */

/*
 * What the server did: "x" is created (1), changed (2), deleted (3); created again under another
 * UID (4), changed (5). "y" is created (6) and deleted (7). "z" is created (8), changed (9).
 */
struct version {
    const char *name, *uid;
    uint64_t rv;
    bool deleted;
};

static const struct version history[] = {
    {"x", "x1", 1, false}, {"x", "x1", 2, false}, {"x", "x1", 3, true},
    {"x", "x2", 4, false}, {"x", "x2", 5, false}, {"y", "y1", 6, false},
    {"y", "y1", 7, true},  {"z", "z1", 8, false}, {"z", "z1", 9, false},
};
#define HISTORY ARRAY_SIZE(history)

static void list_at(struct fixture *f, uint64_t rv)
{
    store_list_begin(f->store);
    for (size_t i = 0; i < HISTORY; i++) {
        const struct version *v = &history[i];
        bool current = v->rv <= rv && !v->deleted;
        for (size_t j = i + 1; j < HISTORY && history[j].rv <= rv; j++)
            current = current && strcmp(history[j].name, v->name) != 0;
        if (current)
            list_item(f, v->name, v->uid, v->rv);
    }
    store_list_end(f->store, rv);
}

static void requests(struct fixture *f, void (*change)(struct store *, struct str, struct str))
{
    change(f->store, NS, STR("x"));
    change(f->store, NS, STR("y"));
    change(f->store, NS, STR("z"));
}

static void answer(struct fixture *f, const struct version *v)
{
    cleanup_free char *json = thing_json(v->name, v->uid, v->rv, false);
    if (v->deleted)
        store_apply_deleted(f->store, str_of(json));
    else
        store_apply(f->store, str_of(json));
}

static void assert_right_in_the_end(const struct fixture *f, const char *what)
{
    const struct thing *x = store_get(f->store, NS, STR("x"));
    const struct thing *z = store_get(f->store, NS, STR("z"));
    if (!x || x->meta.rv != 5 || !str_is(str_of(x->meta.uid), "x2") || !z || z->meta.rv != 9 ||
        store_count(f->store) != 2 || store_get(f->store, NS, STR("y")))
        fail_msg("%s: wrong in the end, %s", what, f->log);
}

/* The handlers' story must be consistent by itself: adds and deletes of a name alternate. */
static void assert_story(struct fixture *f)
{
    for (const char *name = "xyz"; *name; name++) {
        bool there = false;
        for (const char *at = f->log; *at; at++) {
            if (at[0] == 'S' || at[1] != *name)
                continue;
            if (*at == '+' || *at == '-' || *at == '~')
                assert_int_equal(there, *at != '+');
            if (*at == '+' || *at == '-')
                there = *at == '+';
        }
    }
}

/* Next permutation in lexical order; false after the last. */
static bool next_order(uint8_t *order, size_t n)
{
    size_t i = n - 1;
    while (i > 0 && order[i - 1] >= order[i])
        i--;
    if (i == 0)
        return false;
    size_t j = n - 1;
    while (order[j] <= order[i - 1])
        j--;
    uint8_t swap = order[i - 1];
    order[i - 1] = order[j];
    order[j] = swap;
    for (size_t a = i, b = n - 1; a < b; a++, b--) {
        swap = order[a];
        order[a] = order[b];
        order[b] = swap;
    }
    return true;
}

/* All versions come as answers, in each of the 9! orders; then the watch shows them in its own. */
static void test_every_order_of_answers(void **state)
{
    uint8_t order[HISTORY];
    for (size_t i = 0; i < HISTORY; i++)
        order[i] = (uint8_t)i;
    size_t tried = 0;
    do {
        if (tried++ % 7 != 0) /* 51,840 of them; each first element is among them */
            continue;
        struct fixture *f = NULL;
        setup((void **)&f);
        requests(f, store_request_begin);
        for (size_t i = 0; i < HISTORY; i++)
            answer(f, &history[order[i]]);
        /* Answers alone are enough: a version of a UID known to be dead never comes back. */
        assert_right_in_the_end(f, "after the answers");
        list_at(f, 0);
        for (size_t i = 0; i < HISTORY; i++)
            watch(f, history[i].deleted, history[i].name, history[i].uid, history[i].rv);
        assert_right_in_the_end(f, "after the watch");
        assert_story(f);
        requests(f, store_request_end);
        assert_int_equal(store_tombstones(f->store), 0);
        store_free(f->store);
        free(f);
    } while (next_order(order, HISTORY));
    assert_int_equal(tried, 362880);
    (void)state;
}

/*
 * Answers, a watch, relists and 404s interleaved at random, tens of thousands of times: the watch
 * keeps its own order and starts where a list ended; answers come at any time after their version
 * was made known to the server, or very late.
 */
static void interleave(struct fixture *f, struct rng *rng)
{
    bool answered[HISTORY] = {false};
    size_t watched = rng_below(rng, HISTORY + 1);

    list_at(f, watched);
    while (watched < HISTORY || rng_below(rng, 8) != 0) {
        size_t pick = rng_below(rng, HISTORY);
        switch (rng_below(rng, 4)) {
        case 0:
            if (watched < HISTORY) {
                const struct version *v = &history[watched++];
                watch(f, v->deleted, v->name, v->uid, v->rv);
            }
            break;
        case 1:
            if (!answered[pick])
                answer(f, &history[pick]);
            answered[pick] = true;
            break;
        case 2:
            if (rng_below(rng, 4) == 0) {
                watched += rng_below(rng, HISTORY + 1 - watched);
                list_at(f, watched);
            }
            break;
        default:
            if (history[pick].deleted)
                store_forget(f->store, NS, str_of(history[pick].name), str_of(history[pick].uid));
        }
    }
}

static void test_random_interleavings(void **state)
{
    (void)state;
    struct rng rng;
    for (uint64_t seed = 1; seed <= 20000; seed++) {
        struct fixture *f = NULL;
        char what[40];
        setup((void **)&f);
        rng_seed(&rng, seed);
        bool inflight = seed % 2;
        if (inflight)
            requests(f, store_request_begin);
        interleave(f, &rng);
        (void)snprintf(what, sizeof(what), "seed %llu", (unsigned long long)seed);
        assert_right_in_the_end(f, what);
        assert_story(f);
        if (inflight)
            requests(f, store_request_end);
        list_at(f, HISTORY);
        assert_int_equal(store_tombstones(f->store), 0);
        assert_right_in_the_end(f, what);
        store_free(f->store);
        free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_newer_versions_only, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_uid_is_a_delete_and_an_add, setup, teardown),
        cmocka_unit_test_setup_teardown(test_relist_removes_only_what_is_not_newer, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_an_abandoned_list_removes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_answers_during_a_list_do_not_count_as_listed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_is_older_than_the_watch_and_absent_is_deleted,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_deleted_event_removes_only_older_versions, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_tombstones_live_as_long_as_requests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_replaced_uid_is_buried_too, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forgetting_is_ahead_of_the_watch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unreadable_versions_count_as_present, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_object_that_goes_bad_leaves_with_a_relist, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_objects_without_identity, setup, teardown),
        cmocka_unit_test_setup_teardown(test_keys_at_the_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_answers_to_delete, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_subscribers_catch_up, setup, teardown),
        cmocka_unit_test(test_handlers_must_not_change_the_store),
        cmocka_unit_test(test_every_order_of_answers),
        cmocka_unit_test(test_random_interleavings),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
