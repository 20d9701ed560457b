/*
 * Regular expressions: the first line is a pattern, the rest a text. Whatever the pattern, checking
 * and making agree; what is made matches as it does inside a group, and as one of two branches.
 */
#include "base/buf.h"
#include "base/regex.h"
#include "fuzz.h"

#define TEXT_MAX 256

/* Whether `head` + pattern + `tail` matches; `otherwise` when it is too large or deep. */
static bool wrapped(const char *head, struct str pattern, const char *tail, struct str text,
                    bool otherwise)
{
    struct buf all cleanup_buf = BUF_INIT(2 * REGEX_PATTERN_MAX);
    struct error err = ERROR_INIT;
    struct regex *regex;
    buf_add_cstr(&all, head);
    buf_add_str(&all, pattern);
    buf_add_cstr(&all, tail);
    if (all.overflow || regex_new(buf_str(&all), &regex, &err) < 0) {
        FUZZ_CHECK(all.overflow || err.cls == ERROR_LIMIT);
        return otherwise;
    }
    const bool matched = regex_matches(regex, text);
    regex_free(regex);
    return matched;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str input = fuzz_text(data, size);
    const ptrdiff_t end = str_chr(input, '\n');
    const struct str pattern = end < 0 ? input : str_sub(input, 0, (size_t)end);
    const struct str text = end < 0 ? STR_NULL : str_sub(input, (size_t)end + 1, TEXT_MAX);
    struct error err = ERROR_INIT, again = ERROR_INIT;
    struct regex *regex;
    const int checked = regex_check(pattern, &err);
    FUZZ_CHECK(regex_new(pattern, &regex, &again) == checked);
    FUZZ_CHECK(err.cls == again.cls && strcmp(err.text, again.text) == 0);
    if (checked < 0) {
        FUZZ_CHECK(err.cls == ERROR_INVALID || err.cls == ERROR_LIMIT);
        return 0;
    }
    const bool matched = regex_matches(regex, text);
    regex_free(regex);
    /* \Q without \E reaches to the end */
    if (str_find(pattern, STR("\\Q")) >= 0)
        return 0;
    FUZZ_CHECK(wrapped("(?:", pattern, ")", text, matched) == matched);
    FUZZ_CHECK(wrapped("(", pattern, "){1}", text, matched) == matched);
    FUZZ_CHECK(!matched || wrapped("x|", pattern, "", text, true));
    return 0;
}
