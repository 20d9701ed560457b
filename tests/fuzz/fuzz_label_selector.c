/*
 * Label selectors, by themselves: whatever JSON is sent, the rules end with the same verdict each
 * time, and every fault has a path below the selector.
 */
#include "fuzz.h"
#include "webhook/pod/pod_case.h"

static void check(const cJSON *selector, struct problems *problems)
{
    struct arena arena = ARENA_INIT;
    struct rule_walk walk = {.problems = problems, .arena = &arena};
    const struct field at = field_root("selector");
    shape_check(&walk, &pod_label_selector_shape, selector, &at);
    FUZZ_CHECK((problems->text.n > 0) == (problems->count > problems->dropped));
    if (problems->text.n)
        FUZZ_CHECK(str_starts(buf_str(&problems->text), STR("selector")));
    arena_clear(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cJSON *selector = cJSON_ParseWithLength((const char *)data, size);
    if (!selector)
        return 0;
    struct problems first = PROBLEMS_INIT, again = PROBLEMS_INIT;
    check(selector, &first);
    check(selector, &again);
    FUZZ_CHECK(first.count == again.count);
    FUZZ_CHECK(str_eq(buf_str(&first.text), buf_str(&again.text)));
    problems_clear(&first);
    problems_clear(&again);
    cJSON_Delete(selector);
    return 0;
}
