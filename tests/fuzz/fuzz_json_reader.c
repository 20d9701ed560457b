/*
 * The JSON reader: skipping, taking raw and reading every value agree on what is JSON and on how
 * many values it has; a string that was read and quoted again reads the same.
 */
#include "base/buf.h"
#include "fuzz.h"
#include "json/reader.h"
#include "json/writer.h"

static void check_string(struct str text)
{
    cleanup_buf struct buf quoted = BUF_INIT(SIZE_MAX);
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    json_quote(&quoted, text);
    json_init(&reader, buf_str(&quoted), &arena);
    struct str back = json_str(&reader);
    FUZZ_CHECK(json_end(&reader, NULL) == 0);
    FUZZ_CHECK(str_eq(text, back));
}

/* Recursion is bounded by the reader's limit of depth. */
static void read_value(struct json_reader *reader)
{
    struct str key;
    switch (json_peek(reader)) {
    case JSON_OBJECT:
        if (json_object(reader))
            while (json_key(reader, &key)) {
                check_string(key);
                read_value(reader);
            }
        break;
    case JSON_ARRAY:
        if (json_array(reader))
            while (json_item(reader))
                read_value(reader);
        break;
    case JSON_STRING: {
        struct str text = json_str(reader);
        if (!json_failed(reader))
            check_string(text);
        break;
    }
    case JSON_NUMBER:
        (void)json_scalar(reader);
        break;
    case JSON_BOOL:
        (void)json_bool(reader);
        break;
    default:
        (void)json_str(reader);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_text(data, size);
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct error err = ERROR_INIT;

    json_init(&reader, text, NULL);
    json_skip(&reader);
    size_t values = reader.values;
    int skipped = json_end(&reader, &err);
    FUZZ_CHECK((skipped == 0) == (err.text[0] == '\0'));
    FUZZ_CHECK(reader.error_offset <= size);

    json_init(&reader, text, &arena);
    read_value(&reader);
    FUZZ_CHECK((json_end(&reader, NULL) == 0) == (skipped == 0));
    FUZZ_CHECK(skipped < 0 || reader.values == values);

    json_init(&reader, text, NULL);
    struct str raw = json_raw(&reader);
    FUZZ_CHECK((json_end(&reader, NULL) == 0) == (skipped == 0));
    FUZZ_CHECK(skipped < 0 || str_eq(raw, str_trim(text)));
    return 0;
}
