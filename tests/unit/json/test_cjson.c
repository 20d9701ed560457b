/* The reader against cJSON on random valid documents: the same tree, value for value. */
#include "base/buf.h"
#include "base/rng.h"
#include "testing.h"
#include "json/reader.h"
#include "json/writer.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>

#define TEXT_MAX ((size_t)1 << 20)

static void add_space(struct buf *out, struct rng *rng)
{
    static const char spaces[] = " \t\r\n";
    while (rng_below(rng, 4) == 0)
        buf_add_char(out, spaces[rng_below(rng, 4)]);
}

/* cJSON keeps strings as C strings, so no "\u0000". */
static void add_string(struct buf *out, struct rng *rng)
{
    static const char *const units[] = {
        "a",
        "Z",
        "0",
        " ",
        "/",
        "-",
        "\\\"",
        "\\n",
        "\\\\",
        "\\/",
        "\\u0041",
        "\\u00e9",
        "\\u20ac",
        "\\ud83d\\ude00",
        "\xC3\xA9",
        "\xE2\x82\xAC",
        "\xF0\x9F\x98\x80",
        "kubernetes.io/",
        "longer plain text",
    };
    buf_add_char(out, '"');
    for (uint64_t n = rng_below(rng, 12); n > 0; n--)
        buf_add_cstr(out, units[rng_below(rng, ARRAY_SIZE(units))]);
    buf_add_char(out, '"');
}

static void add_number(struct buf *out, struct rng *rng)
{
    switch (rng_below(rng, 4)) {
    case 0:
        buf_add_i64(out, (int64_t)rng_below(rng, 1000) - 500);
        break;
    case 1:
        buf_printf(out, "%lld.%03u", (long long)rng_below(rng, 100000),
                   (unsigned)rng_below(rng, 1000));
        break;
    case 2:
        buf_printf(out, "%de%d", (int)rng_below(rng, 100), (int)rng_below(rng, 40) - 20);
        break;
    default:
        buf_add_i64(out, (int64_t)rng_next(rng));
        break;
    }
}

static void add_value(struct buf *out, struct rng *rng, int depth)
{
    static const char *const literals[] = {"null", "true", "false"};
    add_space(out, rng);
    uint64_t kind = rng_below(rng, depth > 0 ? 6 : 3);
    if (kind == 0) {
        add_string(out, rng);
    } else if (kind == 1) {
        add_number(out, rng);
    } else if (kind == 2) {
        buf_add_cstr(out, literals[rng_below(rng, 3)]);
    } else {
        bool object = kind > 3;
        buf_add_char(out, object ? '{' : '[');
        for (uint64_t i = 0, n = rng_below(rng, 6); i < n; i++) {
            if (i > 0)
                buf_add_char(out, ',');
            add_space(out, rng);
            if (object) {
                add_string(out, rng);
                add_space(out, rng);
                buf_add_char(out, ':');
            }
            add_value(out, rng, depth - 1);
        }
        add_space(out, rng);
        buf_add_char(out, object ? '}' : ']');
    }
    add_space(out, rng);
}

static void compare(struct json_reader *reader, const cJSON *tree)
{
    struct str key;
    const cJSON *child = tree->child;
    switch (json_peek(reader)) {
    case JSON_OBJECT:
        assert_true(cJSON_IsObject(tree));
        assert_true(json_object(reader));
        for (; json_key(reader, &key); child = child->next) {
            assert_non_null(child);
            assert_str(key, child->string);
            compare(reader, child);
        }
        assert_null(child);
        break;
    case JSON_ARRAY:
        assert_true(cJSON_IsArray(tree));
        assert_true(json_array(reader));
        for (; json_item(reader); child = child->next) {
            assert_non_null(child);
            compare(reader, child);
        }
        assert_null(child);
        break;
    case JSON_STRING:
        assert_true(cJSON_IsString(tree));
        assert_str(json_str(reader), tree->valuestring);
        break;
    case JSON_NUMBER:
        assert_true(cJSON_IsNumber(tree));
        assert_true(fabs(json_double(reader) - tree->valuedouble) <= 0.0);
        break;
    case JSON_BOOL:
        assert_true(cJSON_IsBool(tree));
        assert_int_equal(json_bool(reader), cJSON_IsTrue(tree) != 0);
        break;
    default:
        assert_true(cJSON_IsNull(tree));
        json_skip(reader);
        break;
    }
}

static void test_same_tree(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct rng rng;
        rng_seed(&rng, seed);
        buf_reset(&text);
        arena_reset(&arena);
        add_value(&text, &rng, 6);
        cJSON *tree = cJSON_ParseWithLength(text.p, text.n);
        struct json_reader reader;
        struct error err = ERROR_INIT;
        assert_non_null(tree);
        json_init(&reader, buf_str(&text), &arena);
        compare(&reader, tree);
        if (json_end(&reader, &err) < 0)
            fail_msg("seed %llu: %s in %s", (unsigned long long)seed, err.text, text.p);
        size_t values = reader.values;
        json_init(&reader, buf_str(&text), NULL);
        json_skip(&reader);
        assert_int_equal(json_end(&reader, NULL), 0);
        assert_int_equal(reader.values, values);
        cJSON_Delete(tree);
    }
}

/* What the writer writes, cJSON reads back the same. */
static void test_writer_read_by_cjson(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 1);
    for (int i = 0; i < 2000; i++) {
        char bytes[32];
        size_t n = rng_below(&rng, sizeof(bytes) - 1);
        for (size_t k = 0; k < n; k++)
            bytes[k] = (char)(1 + rng_below(&rng, 127));
        bytes[n] = '\0';
        cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
        json_quote(&text, str_make(bytes, n));
        cJSON *tree = cJSON_ParseWithLength(text.p, text.n);
        assert_true(cJSON_IsString(tree));
        assert_string_equal(tree->valuestring, bytes);
        cJSON_Delete(tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_tree),
        cmocka_unit_test(test_writer_read_by_cjson),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
