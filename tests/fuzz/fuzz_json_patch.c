/*
 * Building a JSON Patch: whatever the keys and texts are, the patch is one well-formed JSON array,
 * and each operation reads back with the key and the text that were put in (bytes that are no UTF-8
 * as U+FFFD).
 *
 * The input is lines: a key, a text, a key, ...; the first byte of a key chooses the operation.
 */
#include "base/alloc.h"
#include "fuzz.h"
#include "json/patch.h"
#include "json/reader.h"

#define OUT_MAX ((size_t)64 << 20)
#define PREFIX "/spec/tasks"

static const char *const operations[] = {"add", "replace", "remove", "test"};

static size_t operation_of(struct str key)
{
    return key.n ? (unsigned char)key.p[0] % ARRAY_SIZE(operations) : 0;
}

static void add_operation(struct json_patch *patch, struct str key, struct str text)
{
    struct buf path cleanup_buf = BUF_INIT(OUT_MAX), value cleanup_buf = BUF_INIT(OUT_MAX);
    buf_add_cstr(&path, PREFIX);
    json_pointer_token(&path, key);
    json_quote(&value, text);
    switch (operation_of(key)) {
    case 0:
        json_patch_add(patch, buf_str(&path), buf_str(&value));
        break;
    case 1:
        json_patch_replace(patch, buf_str(&path), buf_str(&value));
        break;
    case 2:
        json_patch_remove(patch, buf_str(&path));
        break;
    default:
        json_patch_test(patch, buf_str(&path), buf_str(&value));
        break;
    }
}

/* What is left of any bytes in a JSON string. */
static void clean(struct buf *out, struct str text)
{
    while (text.n) {
        const size_t size = str_utf8_len(text);
        buf_add_str(out, size ? str_sub(text, 0, size) : STR("\xEF\xBF\xBD"));
        text = str_from(text, size ? size : 1);
    }
}

/* The one token of a pointer behind the prefix. */
static void unescape(struct buf *out, struct str path)
{
    FUZZ_CHECK(str_starts(path, STR(PREFIX "/")));
    for (struct str rest = str_from(path, sizeof(PREFIX)); rest.n; rest = str_from(rest, 1)) {
        FUZZ_CHECK(rest.p[0] != '/');
        if (rest.p[0] != '~') {
            buf_add_char(out, rest.p[0]);
            continue;
        }
        rest = str_from(rest, 1);
        FUZZ_CHECK(rest.n && (rest.p[0] == '0' || rest.p[0] == '1'));
        buf_add_char(out, rest.p[0] == '0' ? '~' : '/');
    }
}

static void check_same(struct str found, struct str put)
{
    struct buf wanted cleanup_buf = BUF_INIT(OUT_MAX);
    clean(&wanted, put);
    FUZZ_CHECK(found.n == wanted.n && (found.n == 0 || memcmp(found.p, wanted.p, found.n) == 0));
}

static void check_operation(struct json_reader *reader, struct str key, struct str text)
{
    struct buf token cleanup_buf = BUF_INIT(OUT_MAX);
    struct str member, op = STR_NULL, path = STR_NULL, value = STR_NULL;
    bool has_value = false;
    FUZZ_CHECK(json_object(reader));
    while (json_key(reader, &member)) {
        if (str_is(member, "op"))
            op = json_str(reader);
        else if (str_is(member, "path"))
            path = json_str(reader);
        else if ((has_value = str_is(member, "value")))
            value = json_str(reader);
        else
            FUZZ_CHECK(false);
    }
    FUZZ_CHECK(!json_failed(reader));
    FUZZ_CHECK(str_is(op, operations[operation_of(key)]));
    unescape(&token, path);
    check_same(buf_str(&token), key);
    FUZZ_CHECK(has_value == !str_is(op, "remove"));
    if (has_value)
        check_same(value, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out cleanup_buf = BUF_INIT(OUT_MAX);
    struct arena arena cleanup_arena = ARENA_INIT;
    struct json_patch patch;
    struct json_reader reader;
    struct str rest = fuzz_text(data, size), key, text;
    size_t count = 0;
    json_patch_init(&patch, &out);
    for (; str_split(&rest, '\n', &key) && str_split(&rest, '\n', &text); count++)
        add_operation(&patch, key, text);
    FUZZ_CHECK(json_patch_end(&patch) == count);
    FUZZ_CHECK(!out.overflow);
    json_init(&reader, buf_str(&out), &arena);
    FUZZ_CHECK(json_array(&reader));
    rest = fuzz_text(data, size);
    for (; json_item(&reader); count--) {
        FUZZ_CHECK(str_split(&rest, '\n', &key) && str_split(&rest, '\n', &text));
        check_operation(&reader, key, text);
    }
    FUZZ_CHECK(count == 0);
    FUZZ_CHECK(json_end(&reader, NULL) == 0);
    return 0;
}
