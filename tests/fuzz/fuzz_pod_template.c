/*
 * Pod templates: whatever JSON is sent, the rules find faults with a path and a kind, or none; the
 * same ones each time, and the tree stays as it was.
 */
#include "fuzz.h"
#include "webhook/pod/template.h"

static const char *const kinds[] = {"Required value", "Invalid value",     "Duplicate value",
                                    "Forbidden",      "Unsupported value", "Not found",
                                    "Too long",       "Too many"};

/* "template<path>: <kind>" */
static bool is_fault(struct str line)
{
    const ptrdiff_t colon = str_find(line, STR(": "));
    if (!str_starts(line, STR("template")) || colon < 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (str_find(line, str_of(kinds[i])) > 0)
            return true;
    }
    return false;
}

static void check(const cJSON *template, bool pod_level, struct problems *problems)
{
    const struct pod_template_options options = {.pod_level_resources = pod_level};
    struct arena arena = ARENA_INIT;
    struct rule_walk walk = {.problems = problems, .arena = &arena};
    const struct field at = field_root("template");
    pod_template_check(&walk, template, &at, &options);
    FUZZ_CHECK(walk.context == NULL);
    FUZZ_CHECK(problems->count >= problems->dropped);
    FUZZ_CHECK((problems->text.n > 0) == (problems->count > problems->dropped));
    if (problems->text.n)
        FUZZ_CHECK(is_fault(buf_str(&problems->text)));
    arena_clear(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cJSON *template = cJSON_ParseWithLength((const char *)data, size);
    if (!template)
        return 0;
    struct problems first = PROBLEMS_INIT, again = PROBLEMS_INIT;
    char *const before = cJSON_PrintUnformatted(template);
    check(template, true, &first);
    check(template, true, &again);
    FUZZ_CHECK(first.count == again.count);
    FUZZ_CHECK(str_eq(buf_str(&first.text), buf_str(&again.text)));
    problems_clear(&again);
    again = (struct problems)PROBLEMS_INIT;
    check(template, false, &again);
    char *const after = cJSON_PrintUnformatted(template);
    FUZZ_CHECK(before && after && strcmp(before, after) == 0);
    cJSON_free(before);
    cJSON_free(after);
    problems_clear(&first);
    problems_clear(&again);
    cJSON_Delete(template);
    return 0;
}
