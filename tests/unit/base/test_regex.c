/*
 * Regular expressions: what each part of the syntax matches, what is refused and in which words,
 * every limit at it and one past it, time that does not explode. Expectations are those of Go.
 */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/regex.h"
#include "testing.h"
#include <time.h>

static struct regex *compile(const char *pattern)
{
    struct error err = ERROR_INIT;
    struct regex *regex;
    if (regex_new(str_of(pattern), &regex, &err) < 0)
        fail_msg("%s: %s", pattern, err.text);
    assert_int_equal(regex_check(str_of(pattern), &err), 0);
    return regex;
}

static void check(const char *pattern, const char *text, bool expected)
{
    struct regex *regex = compile(pattern);
    if (regex_matches(regex, str_of(text)) != expected)
        fail_msg("%s %s \"%s\"", pattern, expected ? "does not match" : "matches", text);
    regex_free(regex);
}

/* Each row: a pattern, texts that it matches, texts that it does not. */
struct row {
    const char *pattern, *yes[6], *no[6];
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < ARRAY_SIZE(rows[i].yes) && rows[i].yes[j]; j++)
            check(rows[i].pattern, rows[i].yes[j], true);
        for (size_t j = 0; j < ARRAY_SIZE(rows[i].no) && rows[i].no[j]; j++)
            check(rows[i].pattern, rows[i].no[j], false);
    }
}

static void test_sequences(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"", {"", "a"}, {NULL}},
        {"node", {"node", "my-node-1"}, {"nod", "Node", ""}},
        {"^node-[0-9]+$", {"node-0", "node-17"}, {"node-", "anode-1", "node-1a"}},
        {"a|bc|", {"", "x"}, {NULL}},
        {"^(a|bc|d)$", {"a", "bc", "d"}, {"b", "abc", ""}},
        {"^(?:a|b)c$", {"ac", "bc"}, {"a", "c"}},
        {"^(?P<x>a)(?<y>b)$", {"ab"}, {"a"}},
        {"^(?P<x>a)(?P<x>b)$", {"ab"}, {"a"}},
        {"^a.c$", {"abc", "a.c"}, {"ac", "a\nc"}},
        {"^()a()$", {"a"}, {""}},
        {"\\Qa.b\\E+", {"a.b", "a.bb"}, {"axb"}},
        {"\\Qa.b", {"a.b"}, {"axb"}},
        {"^\\x61\\x{62}\\143\\07?$", {"abc", "abc\a"}, {"ab"}},
        {"^\\a\\f\\n\\r\\t\\v$", {"\a\f\n\r\t\v"}, {"afnrtv"}},
        {"^\\.\\_\\-$", {"._-"}, {"a_-"}},
        {"^a{$", {"a{"}, {"a"}},
        {"^a{,3}$", {"a{,3}"}, {"a", "aaa"}},
        {"^a{01}$", {"a{01}"}, {"a"}},
    };
    check_rows(rows, ARRAY_SIZE(rows));
}

static void test_repetitions(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"^a*$", {"", "a", "aaa"}, {"b", "ab"}},
        {"^a+$", {"a", "aaa"}, {"", "ab"}},
        {"^a?$", {"", "a"}, {"aa"}},
        {"^a*?b+?c??$", {"b", "aabbc"}, {"a", "bcc"}},
        {"^ab*$", {"a", "abbb"}, {"abab"}},
        {"^(ab)*$", {"", "abab"}, {"aba"}},
        {"^a{0}b$", {"b"}, {"ab"}},
        {"^a{3}$", {"aaa"}, {"aa", "aaaa"}},
        {"^a{2,}$", {"aa", "aaaaa"}, {"a"}},
        {"^a{0,}$", {"", "aa"}, {"b"}},
        {"^a{1,3}$", {"a", "aa", "aaa"}, {"", "aaaa"}},
        {"^a{0,2}$", {"", "a", "aa"}, {"aaa"}},
        {"^(a|bc){2}$", {"aa", "abc", "bca", "bcbc"}, {"a", "abca"}},
        {"^(?:a{2}){2}$", {"aaaa"}, {"aaa", "aaaaa"}},
        {"^(?:|a)*b$", {"b", "aab"}, {"ac"}},
        {"^(a*)*$", {"", "aaa"}, {"b"}},
        {"^(a*)+b$", {"b", "aab"}, {"a"}},
        {"^(){0,3}$", {""}, {"a"}},
        {"^(?:a?){3}$", {"", "a", "aaa"}, {"aaaa"}},
        {"a^(?i)*$", {"a", "ba"}, {""}},
        {"a(?i)*b", {"b", "aab", "aB"}, {"a"}},
    };
    check_rows(rows, ARRAY_SIZE(rows));
}

static void test_classes(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"^[a-c-]$", {"a", "c", "-"}, {"d", ""}},
        {"^[^a-c]$", {"d", "\n"}, {"a"}},
        {"^[]a]$", {"]", "a"}, {"["}},
        {"^[^]a]$", {"b"}, {"]", "a"}},
        {"^[a\\]\\d]$", {"]", "7"}, {"\\"}},
        {"^[[:alpha:][:^print:]]$", {"z", "\n"}, {"0", "-"}},
        {"^[[:alp]$", {":", "[", "a"}, {"b"}},
        {"^[[a]$", {"[", "a"}, {"b"}},
        {"^[[:word:]]+$", {"a_0"}, {"-"}},
        {"^[[:punct:]]+$", {"!/:@[`{~"}, {"a", " "}},
        {"^[[:space:]]+$", {" \t\n\v\f\r"}, {"a"}},
        {"^[[:xdigit:]]+$", {"09afAF"}, {"g"}},
        {"^[[:cntrl:]]$", {"\x7f", "\x1f"}, {" "}},
        {"^\\s+$", {" \t\n\f\r"}, {"\v"}},
        {"^\\S\\D\\W$", {"aa-"}, {" a-", "a1-", "aaa"}},
        {"^\\w+$", {"aZ_9"}, {"-"}},
        {"^\\pL\\p{Lu}\\P{Lu}$", {"aAa"}, {"AAA", "1Aa"}},
        {"^\\p{^Lu}\\P{^Lu}$", {"aA"}, {"AA", "aa"}},
        {"^\\p{Any}\\p{ASCII}\\p{Assigned}$", {"a1\n"}, {"a"}},
        {"^\\p{latin}\\p{GREEK}?\\p{_l-u }$", {"aB"}, {"1B"}},
        {"^\\p{Uppercase_Letter}\\p{digit}$", {"A1"}, {"a1"}},
        {"^\\p{Old_Italic}?a$", {"a"}, {NULL}},
        {"^[^\\p{Greek}\\x{3b1}-\\x{3c9}]$", {"a"}, {""}},
    };
    check_rows(rows, ARRAY_SIZE(rows));
}

static void test_flags(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"^(?i)aB$", {"ab", "AB"}, {"a"}},
        {"^(?i:a)b$", {"ab", "Ab"}, {"AB"}},
        {"^(a(?i)b)c$", {"aBc"}, {"aBC", "Abc"}},
        {"^(?i-i)a$", {"a"}, {"A"}},
        {"^(?i)[k-l][^x]$", {"kA", "KA"}, {"kx", "kX"}},
        {"^(?i)\xE2\x84\xAA[\xC5\xBF]$", {"ks", "KS"}, {"kk"}},
        {"^(?i)[\xC4\x80-\xE2\x84\xAF]$", {"k", "s", "S"}, {"a"}},
        {"^(?i)\\p{Lu}[[:lower:]]$", {"aA"}, {"1A"}},
        {"^(?s).$", {"\n"}, {""}},
        {"(?m)^a$", {"b\na\nc", "a"}, {"ba"}},
        {"^a$", {"a"}, {"b\na", "a\n"}},
        {"(?m)\\Aa\\z", {"a"}, {"b\na", "a\nb"}},
        {"(?U)^a+$", {"aa"}, {""}},
        {"^(?)a$", {"a"}, {"A"}},
        {"\\ba\\b", {"a", "x a.", "-a-"}, {"ab", "ba", "_a"}},
        {"a\\Bb", {"ab"}, {"a b"}},
        {"^\\B$", {""}, {"a"}},
    };
    check_rows(rows, ARRAY_SIZE(rows));
}

/* Characters beyond ASCII are well in patterns; texts with them match nothing. */
static void test_beyond_ascii(void **state)
{
    (void)state;
    check("^\xC3\xA9?a$", "a", true);
    check("\xF0\x9F\x98\x80|a", "a", true);
    check("", "\xC3\xA9", false);
    check(".", "\xFF", false);
    check(".", "\x7F", true);
}

static void test_refused(void **state)
{
    (void)state;
    const struct {
        const char *pattern, *message;
    } cases[] = {
        {"a(b", "missing closing ): `a(b`"},
        {"(?:a", "missing closing ): `(?:a`"},
        {"a)b", "unexpected ): `a)b`"},
        {"a|*", "missing argument to repetition operator: `*`"},
        {"(+?)", "missing argument to repetition operator: `+?`"},
        {"{2}", "missing argument to repetition operator: `{2}`"},
        {"a**", "invalid nested repetition operator: `**`"},
        {"a+?{2}?b", "invalid nested repetition operator: `+?{2}?`"},
        {"a???", "invalid nested repetition operator: `???`"},
        {"a{1001}", "invalid repeat count: `{1001}`"},
        {"a{1,1001}", "invalid repeat count: `{1,1001}`"},
        {"a{2,1}", "invalid repeat count: `{2,1}`"},
        {"a{999999999999}", "invalid repeat count: `{999999999999}`"},
        {"a{0,999999999999}", "invalid repeat count: `{0,999999999999}`"},
        {"(a{32}){32}", "invalid repeat count: `{32}`"},
        {"(((a{10}){10}){11})", "invalid repeat count: `{11}`"},
        {"[a", "missing closing ]: `[a`"},
        {"x[]a", "missing closing ]: `[]a`"},
        {"[^", "missing closing ]: `[^`"},
        {"[b-a]", "invalid character class range: `b-a`"},
        {"[[:foo:]]", "invalid character class range: `[:foo:]`"},
        {"\\pX", "invalid character class range: `\\pX`"},
        {"\\p{Nobody}", "invalid character class range: `\\p{Nobody}`"},
        {"\\p{}", "invalid character class range: `\\p{}`"},
        {"\\p{Greek", "invalid character class range: `\\p{Greek`"},
        {"\\p", "invalid character class range: `\\p`"},
        {"[\\p{Nobody}]", "invalid character class range: `\\p{Nobody}`"},
        {"\\C", "invalid escape sequence: `\\C`"},
        {"\\Z", "invalid escape sequence: `\\Z`"},
        {"\\1", "invalid escape sequence: `\\1`"},
        {"\\8", "invalid escape sequence: `\\8`"},
        {"\\x4", "invalid escape sequence: `\\x4`"},
        {"\\x{}", "invalid escape sequence: `\\x{}`"},
        {"\\x{110000}", "invalid escape sequence: `\\x{110000`"},
        {"\\x{41", "invalid escape sequence: `\\x{41`"},
        {"\\\xC3\xA9", "invalid escape sequence: `\\\xC3\xA9`"},
        {"[\\b]", "invalid escape sequence: `\\b`"},
        {"a\\", "trailing backslash at end of expression: ``"},
        {"(?=a)", "invalid or unsupported Perl syntax: `(?=`"},
        {"(?!a)", "invalid or unsupported Perl syntax: `(?!`"},
        {"(?<=a)", "invalid named capture: `(?<=a)`"},
        {"(?i-)", "invalid or unsupported Perl syntax: `(?i-)`"},
        {"(?i--s)", "invalid or unsupported Perl syntax: `(?i--`"},
        {"(?", "invalid or unsupported Perl syntax: `(?`"},
        {"(?x)a", "invalid or unsupported Perl syntax: `(?x`"},
        {"(?P=n)", "invalid or unsupported Perl syntax: `(?P`"},
        {"(?P<n", "invalid named capture: `(?P<n`"},
        {"(?P<>a)", "invalid named capture: `(?P<>`"},
        {"(?<\xC3\xA9>a)", "invalid named capture: `(?<\xC3\xA9>`"},
        {"a\xFF", "invalid UTF-8"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = ERROR_INIT, again = ERROR_INIT;
        struct regex *regex = NULL;
        if (regex_check(str_of(cases[i].pattern), &err) == 0)
            fail_msg("%s is taken", cases[i].pattern);
        assert_int_equal(err.cls, ERROR_INVALID);
        char *expected = xasprintf("error parsing regexp: %s", cases[i].message);
        assert_string_equal(err.text, expected);
        free(expected);
        assert_int_equal(regex_new(str_of(cases[i].pattern), &regex, &again), -1);
        assert_string_equal(again.text, err.text);
        assert_null(regex);
    }
    regex_free(NULL);
}

/* ---- limits -------------------------------------------------------------------------------- */

static int verdict(struct str pattern)
{
    struct error err = ERROR_INIT, again = ERROR_INIT;
    struct regex *regex;
    const int checked = regex_check(pattern, &err);
    const int made = regex_new(pattern, &regex, &again);
    assert_int_equal(checked, made);
    assert_int_equal(err.cls, again.cls);
    if (made == 0)
        regex_free(regex);
    else
        assert_non_null(strstr(err.text, "error parsing regexp: "));
    return checked == 0 ? 0 : (int)err.cls;
}

/* `count` times `before`, `middle`, `count` times `after`. */
static int nested(size_t count, const char *before, const char *middle, const char *after)
{
    struct buf text cleanup_buf = BUF_INIT(1 << 20);
    for (size_t i = 0; i < count; i++)
        buf_add_cstr(&text, before);
    buf_add_cstr(&text, middle);
    for (size_t i = 0; i < count; i++)
        buf_add_cstr(&text, after);
    return verdict(buf_str(&text));
}

static void test_limits(void **state)
{
    (void)state;
    /* length */
    assert_int_equal(nested(REGEX_PATTERN_MAX, "a", "", ""), 0);
    assert_int_equal(nested(REGEX_PATTERN_MAX, "a", "b", ""), ERROR_LIMIT);
    /* whatever has that length without counted repetitions has room */
    assert_int_equal(nested(REGEX_PATTERN_MAX / 2, "a*", "", ""), 0);
    assert_int_equal(nested(REGEX_PATTERN_MAX - 1, "|", "", ""), 0);
    /* instructions: 65 times 1000, 535 and the one that ends the program */
    assert_int_equal(nested(65, "a{1000}", "a{535}", ""), 0);
    assert_int_equal(nested(65, "a{1000}", "a{536}", ""), ERROR_LIMIT);
    assert_int_equal(nested(65, "a{1000}", "(?:aa*){67}a{132}", ""), 0);
    assert_int_equal(nested(65, "a{1000}", "a{0,267}a", ""), 0);
    assert_int_equal(nested(65, "a{1000}", "a{0,268}", ""), ERROR_LIMIT);
    /* depth */
    assert_int_equal(nested(REGEX_DEPTH_MAX - 1, "(", "a", ")"), 0);
    assert_int_equal(nested(REGEX_DEPTH_MAX, "(", "a", ")"), ERROR_LIMIT);
    assert_int_equal(nested(REGEX_DEPTH_MAX / 2 - 1, "(", "a", ")*"), 0);
    assert_int_equal(nested(REGEX_DEPTH_MAX / 2, "(", "a", ")*"), ERROR_LIMIT);
    assert_int_equal(nested(5000, "(?:", "a", ")"), 0);
    assert_int_equal(nested(5000, "(", "a", ""), ERROR_INVALID);
    /* copies */
    assert_int_equal(verdict(STR("a{1000}")), 0);
    assert_int_equal(verdict(STR("((a{10}){10}){10}")), 0);
    assert_int_equal(verdict(STR("(a{1000}){0}(a{1000}){1}(a{1000})*")), 0);
    assert_int_equal(verdict(STR("(a{500,}){2}")), 0);
    assert_int_equal(verdict(STR("(a{501,}){2}")), ERROR_INVALID);
}

/* What takes other engines exponential or quadratic time is done at once. */
static void test_time(void **state)
{
    (void)state;
    char text[254];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    const clock_t begin = clock();
    check("^(a+)+$", text, true);
    check("^(a|aa)*b$", text, false);
    check("^(a?){200}a{200}$", text, true);
    check("(.*)(.*)(.*)(.*)(.*)[^a]", text, false);
    assert_true(clock() - begin < 2 * CLOCKS_PER_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequences),    cmocka_unit_test(test_repetitions),
        cmocka_unit_test(test_classes),      cmocka_unit_test(test_flags),
        cmocka_unit_test(test_beyond_ascii), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limits),       cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
