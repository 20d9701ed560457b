/* YAML: whatever converts gives JSON that the reader takes; a refusal says why. */
#include "base/buf.h"
#include "fuzz.h"
#include "json/reader.h"
#include "json/yaml.h"

#define OUTPUT_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buf struct buf out = BUF_INIT(OUTPUT_MAX);
    struct error err = ERROR_INIT;
    if (yaml_to_json(fuzz_text(data, size), &out, &err) < 0) {
        FUZZ_CHECK(err.text[0] != '\0');
        return 0;
    }
    struct json_reader reader;
    json_init(&reader, buf_str(&out), NULL);
    json_skip(&reader);
    FUZZ_CHECK(json_end(&reader, NULL) == 0);
    return 0;
}
