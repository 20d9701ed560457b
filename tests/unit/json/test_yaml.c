/* YAML to JSON: the core schema, JSON passed through, what is refused and where. */
#include "base/limits.h"
#include "testing.h"
#include "json/reader.h"
#include "json/yaml.h"

static void assert_converts(const char *yaml, const char *json)
{
    cleanup_buf struct buf out = BUF_INIT(100000);
    struct error err = ERROR_INIT;
    if (yaml_to_json(str_of(yaml), &out, &err) < 0)
        fail_msg("%s: %s", yaml, err.text);
    assert_str(buf_str(&out), json);
}

static void assert_refused(const char *yaml, const char *error)
{
    cleanup_buf struct buf out = BUF_INIT(100000);
    struct error err = ERROR_INIT;
    if (yaml_to_json(str_of(yaml), &out, &err) == 0)
        fail_msg("%s was taken as %s", yaml, out.p);
    assert_int_equal(err.cls, ERROR_INVALID);
    assert_string_equal(err.text, error);
}

static void test_kubeconfig(void **state)
{
    (void)state;
    assert_converts(
        "# comment\n"
        "apiVersion: v1\n"
        "kind: Config\n"
        "clusters:\n"
        "- cluster:\n"
        "    server: https://127.0.0.1:6443\n"
        "    insecure-skip-tls-verify: true\n"
        "  name: kind\n"
        "users: []\n"
        "preferences: {}\n"
        "current-context: \"\"\n",
        "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"clusters\":[{\"cluster\":{"
        "\"server\":\"https://127.0.0.1:6443\",\"insecure-skip-tls-verify\":true},"
        "\"name\":\"kind\"}],\"users\":[],\"preferences\":{},\"current-context\":\"\"}");
}

static void test_scheduler_configuration(void **state)
{
    (void)state;
    assert_converts("actions: \"enqueue, allocate, backfill\"\n"
                    "tiers:\n"
                    "- plugins:\n"
                    "  - name: gang\n"
                    "    enablePreemptable: false\n"
                    "  - name: binpack\n"
                    "    arguments:\n"
                    "      binpack.weight: 10\n"
                    "      binpack.cpu: 0.5\n"
                    "      text: |\n"
                    "        two\n"
                    "        lines\n",
                    "{\"actions\":\"enqueue, allocate, backfill\",\"tiers\":[{\"plugins\":["
                    "{\"name\":\"gang\",\"enablePreemptable\":false},{\"name\":\"binpack\","
                    "\"arguments\":{\"binpack.weight\":10,\"binpack.cpu\":0.5,"
                    "\"text\":\"two\\nlines\\n\"}}]}]}");
}

static void test_scalars(void **state)
{
    (void)state;
    const struct {
        const char *yaml, *json;
    } cases[] = {
        {"", "null"},
        {"# only a comment", "null"},
        {"---\n", "null"},
        {"~", "null"},
        {"null", "null"},
        {"Null", "null"},
        {"NULL", "null"},
        {"nUll", "\"nUll\""},
        {"true", "true"},
        {"True", "true"},
        {"TRUE", "true"},
        {"false", "false"},
        {"False", "false"},
        {"FALSE", "false"},
        {"yes", "\"yes\""},
        {"off", "\"off\""},
        {"0", "0"},
        {"-0", "-0"},
        {"12", "12"},
        {"+12", "12"},
        {"-12", "-12"},
        {"007", "7"},
        {"000", "0"},
        {"9223372036854775808", "9223372036854775808"},
        {"0x1F", "31"},
        {"0xffffffffffffffff", "18446744073709551615"},
        {"0x10000000000000000", "\"0x10000000000000000\""},
        {"0o17", "15"},
        {"0o18", "\"0o18\""},
        {"0x", "\"0x\""},
        {"0xg", "\"0xg\""},
        {"-0x1F", "\"-0x1F\""},
        {"1.5", "1.5"},
        {"-.5", "-0.5"},
        {"+.5", "0.5"},
        {"5.", "5"},
        {"00.50", "0.50"},
        {"1e3", "1e3"},
        {"1.5E-7", "1.5E-7"},
        {"1e", "\"1e\""},
        {"1e+", "\"1e+\""},
        {".", "\".\""},
        {"-", "[null]"},
        {"+", "\"+\""},
        {"1.2.3", "\"1.2.3\""},
        {"1_000", "\"1_000\""},
        {"12m", "\"12m\""},
        {"1Gi", "\"1Gi\""},
        {"2001-01-01", "\"2001-01-01\""},
        {"\"12\"", "\"12\""},
        {"'true'", "\"true\""},
        {"''", "\"\""},
        {"!!str 12", "\"12\""},
        {"! 12", "\"12\""},
        {"\"\\u00e9\\n\"", "\"\xC3\xA9\\n\""},
        {"\xC3\xA9", "\"\xC3\xA9\""},
        {"a b\n  c", "\"a b c\""},
        {">\n  a\n  b\n", "\"a b\\n\""},
        {"\xEF\xBB\xBF"
         "a: 1",
         "{\"a\":1}"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_converts(cases[i].yaml, cases[i].json);
}

static void test_keys_are_strings(void **state)
{
    (void)state;
    assert_converts("1: a\ntrue: b\n~: c\n\"q\": d\n",
                    "{\"1\":\"a\",\"true\":\"b\",\"~\":\"c\",\"q\":\"d\"}");
    assert_converts("{a: 1, b: [x, {c: d}]}", "{\"a\":1,\"b\":[\"x\",{\"c\":\"d\"}]}");
    assert_converts("a:\nb:\n", "{\"a\":null,\"b\":null}");
    assert_converts("- - 1\n  - 2\n-\n- a: 1\n  b: 2\n", "[[1,2],null,{\"a\":1,\"b\":2}]");
    assert_converts("a: []\nb: {}\nc: 1", "{\"a\":[],\"b\":{},\"c\":1}");
}

static void test_first_document_only(void **state)
{
    (void)state;
    assert_converts("---\na: 1\n---\nb: 2\n", "{\"a\":1}");
    assert_converts("a: 1\n...\nthis: is: not: looked at", "{\"a\":1}");
}

static void test_json_passes_through(void **state)
{
    (void)state;
    assert_converts(" {\"a\": 12345678901234567890123, \"b\": \"\\ud83d\\ude00\\/\"}\n",
                    "{\"a\": 12345678901234567890123, \"b\": \"\\ud83d\\ude00\\/\"}");
    assert_converts("[1,2]", "[1,2]");
}

static void test_appends(void **state)
{
    (void)state;
    cleanup_buf struct buf out = BUF_INIT(100);
    buf_add_cstr(&out, "x=");
    assert_int_equal(yaml_to_json(STR("a: 1"), &out, NULL), 0);
    assert_str(buf_str(&out), "x={\"a\":1}");
    buf_reset(&out);
    assert_int_equal(yaml_to_json(STR_NULL, &out, NULL), 0);
    assert_str(buf_str(&out), "null");
}

static void test_refused(void **state)
{
    (void)state;
    assert_refused("a: &x 1\nb: *x\n",
                   "invalid YAML at line 1, column 4: anchors and aliases are not supported");
    assert_refused("b: *x\n",
                   "invalid YAML at line 1, column 4: anchors and aliases are not supported");
    assert_refused("a: &x [1]",
                   "invalid YAML at line 1, column 4: anchors and aliases are not supported");
    assert_refused("a: &x {b: 1}",
                   "invalid YAML at line 1, column 4: anchors and aliases are not supported");
    assert_refused("a: 1\nb: !!int 3\n",
                   "invalid YAML at line 2, column 4: tags other than !!str are not supported");
    assert_refused("a: !mine {}\n",
                   "invalid YAML at line 1, column 4: tags on collections are not supported");
    assert_refused("a: !!set {}\n",
                   "invalid YAML at line 1, column 4: tags on collections are not supported");
    assert_refused("a: .inf\n", "invalid YAML at line 1, column 4: infinity and not-a-number are "
                                "not supported");
    assert_refused("? [a]\n: b\n", "invalid YAML at line 1, column 3: a key must be a scalar, not "
                                   "a collection");
    assert_converts("a: !!map {}\nb: !!seq []\n", "{\"a\":{},\"b\":[]}");
}

/* The wording of syntax errors is libyaml's; the class and the place are ours. */
static void test_syntax_errors_have_a_place(void **state)
{
    (void)state;
    const struct {
        const char *yaml, *place;
    } cases[] = {
        {"a: [1\nb: 2", "invalid YAML at line 2, column "},
        {"a: 1\n\tb: 2", "invalid YAML at line 2, column "},
        {"a: \"open", "invalid YAML at line 1, column "},
        {"a: b: c", "invalid YAML at line 1, column 5"},
        {"{a", "invalid YAML at line 2, column 1"},
        {"a: \xFF", "invalid YAML at byte 3"},
        {"a: \x01", "invalid YAML at byte 3"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup_buf struct buf out = BUF_INIT(1000);
        struct error err = ERROR_INIT;
        assert_int_equal(yaml_to_json(str_of(cases[i].yaml), &out, &err), -1);
        assert_int_equal(err.cls, ERROR_INVALID);
        if (!str_starts(str_of(err.text), str_of(cases[i].place)))
            fail_msg("%s does not start with %s", err.text, cases[i].place);
    }
}

static int convert_depth(int depth, bool flow, struct error *err)
{
    cleanup_buf struct buf yaml = BUF_INIT(100000);
    cleanup_buf struct buf out = BUF_INIT(100000);
    for (int i = 0; i < depth; i++)
        buf_add_cstr(&yaml, flow ? "[" : "- ");
    if (flow)
        buf_add_char(&yaml, 'x'); /* not JSON */
    for (int i = 0; flow && i < depth; i++)
        buf_add_char(&yaml, ']');
    return yaml_to_json(buf_str(&yaml), &out, err);
}

static void test_depth(void **state)
{
    (void)state;
    for (int flow = 0; flow < 2; flow++) {
        struct error err = ERROR_INIT;
        assert_int_equal(convert_depth(LIMIT_JSON_DEPTH, flow, &err), 0);
        assert_int_equal(convert_depth(LIMIT_JSON_DEPTH + 1, flow, &err), -1);
        assert_int_equal(err.cls, ERROR_LIMIT);
        assert_int_equal(convert_depth(10000, flow, &err), -1);
    }
}

static void test_output_limit(void **state)
{
    (void)state;
    const char *texts[] = {"a: 1", "{\"a\":1}"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        for (size_t max = 0; max <= 8; max++) {
            cleanup_buf struct buf out = BUF_INIT(max);
            struct error err = ERROR_INIT;
            assert_int_equal(yaml_to_json(str_of(texts[i]), &out, &err), max < 7 ? -1 : 0);
            assert_int_equal(err.cls, max < 7 ? ERROR_LIMIT : ERROR_NONE);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kubeconfig),
        cmocka_unit_test(test_scheduler_configuration),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_keys_are_strings),
        cmocka_unit_test(test_first_document_only),
        cmocka_unit_test(test_json_passes_through),
        cmocka_unit_test(test_appends),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_syntax_errors_have_a_place),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_output_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
