/*
 * Patches: what becomes of an object.
 */
#include "testing.h"

#include "server/patch.h"

static struct doc *parse(struct arena *arena, const char *text)
{
    struct error err = ERROR_INIT;
    struct doc *doc = doc_parse(arena, str_of(text), &err);
    assert_non_null(doc);
    return doc;
}

static void assert_prints(const struct doc *doc, const char *text)
{
    cleanup_buf struct buf out = BUF_INIT(4096);
    doc_print(&out, doc);
    assert_str(buf_str(&out), text);
}

struct patch_case {
    const char *target, *patch, *result; /* NULL: it fails */
};

static void test_merge(void **state)
{
    (void)state;
    static const struct patch_case cases[] = {
        /* those of RFC 7386, and ours */
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\"]", "{\"a\":1}", "{\"a\":1}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup_arena struct arena arena = ARENA_INIT;
        struct doc *target = parse(&arena, cases[i].target);
        patch_merge(&arena, target, parse(&arena, cases[i].patch));
        assert_prints(target, cases[i].result);
    }
}

static void test_json(void **state)
{
    (void)state;
    static const struct patch_case cases[] = {
        {"{}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":1}]", "{\"a\":1}"},
        {"{\"l\":[1,3]}", "[{\"op\":\"add\",\"path\":\"/l/1\",\"value\":2}]", "{\"l\":[1,2,3]}"},
        {"{\"l\":[1]}", "[{\"op\":\"add\",\"path\":\"/l/-\",\"value\":2}]", "{\"l\":[1,2]}"},
        {"{\"l\":[1]}", "[{\"op\":\"add\",\"path\":\"/l/2\",\"value\":2}]", NULL},
        {"{\"l\":[1,2]}", "[{\"op\":\"remove\",\"path\":\"/l/0\"}]", "{\"l\":[2]}"},
        {"{\"l\":[1,2]}", "[{\"op\":\"remove\",\"path\":\"/l/2\"}]", NULL},
        {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":{\"b\":2}}]",
         "{\"a\":{\"b\":2}}"},
        {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/b\",\"value\":2}]",
         "{\"a\":1,\"b\":2}"}, /* as kube-apiserver has it */
        {"{\"l\":[1]}", "[{\"op\":\"replace\",\"path\":\"/l/1\",\"value\":2}]", NULL},
        {"{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/b\"}]", NULL},
        {"{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"\"}]", NULL},
        {"{\"a/b\":{\"~\":1}}", "[{\"op\":\"replace\",\"path\":\"/a~1b/~0\",\"value\":2}]",
         "{\"a/b\":{\"~\":2}}"},
        {"{\"a\":1}",
         "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1},"
         "{\"op\":\"remove\",\"path\":\"/a\"}]",
         "{}"},
        {"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":2}]", NULL},
        {"{\"a\":{\"x\":1}}", "[{\"op\":\"move\",\"from\":\"/a/x\",\"path\":\"/b\"}]",
         "{\"a\":{},\"b\":1}"},
        {"{\"a\":{\"x\":1}}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"}]",
         "{\"a\":{\"x\":1},\"b\":{\"x\":1}}"},
        {"{}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"}]", NULL},
        {"{}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]", NULL},
        {"{}", "[{\"op\":\"paint\",\"path\":\"/a\",\"value\":1}]", NULL},
        {"{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", NULL},
        {"{}", "{}", NULL},
        {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":[]}]", "[]"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup_arena struct arena arena = ARENA_INIT;
        struct error err = ERROR_INIT;
        struct doc *target = parse(&arena, cases[i].target);
        int done = patch_json(&arena, target, parse(&arena, cases[i].patch), &err);
        assert_int_equal(done, cases[i].result ? 0 : -1);
        if (done == 0)
            assert_prints(target, cases[i].result);
    }
}

static void test_strategic(void **state)
{
    (void)state;
    static const struct patch_case cases[] = {
        {"{\"conditions\":[{\"type\":\"A\",\"status\":\"True\",\"x\":1},{\"type\":\"B\"}]}",
         "{\"conditions\":[{\"type\":\"A\",\"status\":\"False\"},{\"type\":\"C\"}]}",
         "{\"conditions\":[{\"type\":\"A\",\"status\":\"False\",\"x\":1},{\"type\":\"B\"},"
         "{\"type\":\"C\"}]}"},
        {"{\"conditions\":[{\"type\":\"A\"},{\"type\":\"B\"}]}",
         "{\"conditions\":[{\"type\":\"A\",\"$patch\":\"delete\"}]}",
         "{\"conditions\":[{\"type\":\"B\"}]}"},
        {"{\"conditions\":[{\"type\":\"A\"}]}",
         "{\"conditions\":[{\"$patch\":\"replace\"},{\"type\":\"Z\"}]}",
         "{\"conditions\":[{\"type\":\"Z\"}]}"},
        {"{\"conditions\":[{\"type\":\"A\"}]}", "{\"conditions\":[{\"x\":1}]}", NULL},
        {"{}", "{\"conditions\":[{\"x\":1}]}", "{\"conditions\":[{\"x\":1}]}"},
        {"{\"finalizers\":[\"a\",\"b\"]}", "{\"finalizers\":[\"b\",\"c\"]}",
         "{\"finalizers\":[\"a\",\"b\",\"c\"]}"},
        {"{\"finalizers\":[\"a\",\"b\"]}", "{\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}",
         "{\"finalizers\":[\"b\"]}"},
        {"{\"tolerations\":[{\"key\":\"a\"}]}", "{\"tolerations\":[{\"key\":\"b\"}]}",
         "{\"tolerations\":[{\"key\":\"b\"}]}"},
        {"{\"metadata\":{\"annotations\":{\"a\":\"1\",\"b\":\"2\"}}}",
         "{\"metadata\":{\"annotations\":{\"a\":null,\"c\":\"3\"}}}",
         "{\"metadata\":{\"annotations\":{\"b\":\"2\",\"c\":\"3\"}}}"},
        {"{\"a\":{\"x\":1,\"y\":2}}", "{\"a\":{\"$patch\":\"replace\",\"z\":3}}",
         "{\"a\":{\"z\":3}}"},
        {"{\"a\":{\"x\":1,\"y\":2}}", "{\"a\":{\"$retainKeys\":[\"x\"],\"x\":5}}",
         "{\"a\":{\"x\":5}}"},
        {"{\"a\":1}", "{\"a\":{\"$patch\":\"paint\"}}", NULL},
        {"{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}",
         "{\"$setElementOrder/containers\":[{\"name\":\"b\"},{\"name\":\"a\"}],"
         "\"containers\":[{\"name\":\"a\",\"image\":\"i\"}]}",
         "{\"containers\":[{\"name\":\"b\"},{\"name\":\"a\",\"image\":\"i\"}]}"},
        {"{\"ports\":[{\"containerPort\":1}]}",
         "{\"ports\":[{\"containerPort\":1,\"name\":\"x\"},{\"containerPort\":2}]}",
         "{\"ports\":[{\"containerPort\":1,\"name\":\"x\"},{\"containerPort\":2}]}"},
        {"{}", "[]", NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup_arena struct arena arena = ARENA_INIT;
        struct error err = ERROR_INIT;
        struct doc *target = parse(&arena, cases[i].target);
        int done = patch_strategic(&arena, target, parse(&arena, cases[i].patch), &err);
        assert_int_equal(done, cases[i].result ? 0 : -1);
        if (done == 0)
            assert_prints(target, cases[i].result);
    }
}

static void test_apply(void **state)
{
    (void)state;
    static const struct {
        const char *target, *wanted, *former, *others, *result;
    } cases[] = {
        {"{\"a\":1}", "{\"b\":{\"c\":2}}", NULL, "[]", "{\"a\":1,\"b\":{\"c\":2}}"},
        {"{\"a\":1,\"b\":2}", "{\"a\":3}", "{\"a\":1,\"b\":2}", "[]", "{\"a\":3}"},
        {"{\"a\":1,\"b\":2}", "{\"a\":3}", "{\"a\":1,\"b\":2}", "[{\"b\":2}]", "{\"a\":3,\"b\":2}"},
        {"{\"s\":{\"a\":1,\"x\":9}}", "{}", "{\"s\":{\"a\":1}}", "[]", "{\"s\":{\"x\":9}}"},
        {"{\"s\":{\"a\":1}}", "{}", "{\"s\":{\"a\":1}}", "[]", "{}"},
        {"{\"webhooks\":[{\"name\":\"w\",\"url\":\"u\",\"timeout\":5},{\"name\":\"v\"}]}",
         "{\"webhooks\":[{\"name\":\"w\",\"policy\":\"Fail\"}]}",
         "{\"webhooks\":[{\"name\":\"w\",\"timeout\":5}]}", "[]",
         "{\"webhooks\":[{\"name\":\"w\",\"url\":\"u\",\"policy\":\"Fail\"},{\"name\":\"v\"}]}"},
        {"{\"webhooks\":[{\"name\":\"w\",\"timeout\":5},{\"name\":\"v\"}]}", "{\"webhooks\":[]}",
         "{\"webhooks\":[{\"name\":\"w\",\"timeout\":5}]}", "[]",
         "{\"webhooks\":[{\"name\":\"v\"}]}"},
        {"{\"l\":[1,2]}", "{\"l\":[3]}", NULL, "[]", "{\"l\":[3]}"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup_arena struct arena arena = ARENA_INIT;
        struct doc *target = parse(&arena, cases[i].target);
        patch_apply(&arena, target, parse(&arena, cases[i].wanted),
                    cases[i].former ? parse(&arena, cases[i].former) : NULL,
                    parse(&arena, cases[i].others));
        assert_prints(target, cases[i].result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_strategic),
        cmocka_unit_test(test_apply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
