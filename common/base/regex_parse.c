/*
 * Reading patterns: see regex_parse.h. One pass; open groups are a list that the pattern's length
 * bounds.
 */
#include "base/regex_parse.h"

#define NUMBER_MAX 100000000

int regex_error(struct error *err, const char *why, struct str part)
{
    return error_set(err, ERROR_INVALID, "error parsing regexp: %s: `%.*s`", why,
                     STR_ARG(str_cut(part, REGEX_SHOWN)));
}

uint32_t regex_take_char(struct str *rest)
{
    const unsigned char *p = (const unsigned char *)rest->p;
    const size_t n = str_utf8_len(*rest);
    uint32_t c = n <= 1 ? p[0] : p[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3Fu);
    *rest = str_from(*rest, n ? n : 1);
    return c;
}

/* ---- single characters --------------------------------------------------------------------- */

static int add_literal(struct regex_parser *parser, uint32_t c)
{
    struct regex_inst inst = {.op = REGEX_SET};
    ascii_set_add(&inst.set, c, c, parser->flags & REGEX_FOLD);
    return regex_add_inst(parser, inst, true);
}

static int add_assertion(struct regex_parser *parser, enum regex_assertion assertion)
{
    return regex_add_inst(parser, (struct regex_inst){.op = REGEX_ASSERT, .assertion = assertion},
                          false);
}

static int add_dot(struct regex_parser *parser)
{
    struct regex_inst inst = {.op = REGEX_SET, .set = {{UINT64_MAX, UINT64_MAX}}};
    if (!(parser->flags & REGEX_DOT_NEWLINE))
        inst.set.bits[0] &= ~(UINT64_C(1) << '\n');
    return regex_add_inst(parser, inst, false);
}

/* ---- repetitions --------------------------------------------------------------------------- */

/* Digits without leading zeros: false when there are none; too large a number is -1. */
static bool take_number(struct str *rest, int *ret_number)
{
    int number = 0;
    size_t n = 0;
    while (n < rest->n && rest->p[n] >= '0' && rest->p[n] <= '9')
        n++;
    if (n == 0 || (n > 1 && rest->p[0] == '0'))
        return false;
    for (size_t i = 0; i < n && number >= 0; i++)
        number = number >= NUMBER_MAX ? -1 : number * 10 + (rest->p[i] - '0');
    *rest = str_from(*rest, n);
    *ret_number = number;
    return true;
}

/* "{n}", "{n,}" or "{n,m}": false when it is none, and thus literal. Too large is a low of -1. */
static bool take_count(struct str *rest, int *ret_low, int *ret_high)
{
    struct str after = str_from(*rest, 1);
    if (!take_number(&after, ret_low) || after.n == 0)
        return false;
    *ret_high = *ret_low;
    if (after.p[0] == ',') {
        after = str_from(after, 1);
        if (after.n && after.p[0] == '}')
            *ret_high = -1;
        else if (!take_number(&after, ret_high))
            return false;
        else if (*ret_high < 0)
            *ret_low = -1;
    }
    if (after.n == 0 || after.p[0] != '}')
        return false;
    *rest = str_from(after, 1);
    return true;
}

static int parse_count(struct regex_parser *parser, struct str doubled, bool *ret_repeated)
{
    const struct str from = parser->rest;
    int low, high;
    *ret_repeated = take_count(&parser->rest, &low, &high);
    if (!*ret_repeated) {
        parser->rest = str_from(parser->rest, 1);
        return add_literal(parser, '{');
    }
    if (low < 0 || low > REGEX_REPEAT_MAX || high > REGEX_REPEAT_MAX || (high >= 0 && low > high))
        return regex_error(parser->err, "invalid repeat count",
                           str_sub(from, 0, from.n - parser->rest.n));
    return regex_repeat(parser, from, low, high, true, doubled);
}

/* ---- "(?" ---------------------------------------------------------------------------------- */

static bool good_group_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        const char c = name.p[i];
        if (c != '_' && !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') &&
            !(c >= 'a' && c <= 'z'))
            return false;
    }
    return name.n > 0;
}

/* "(?P<name>" or "(?<name>", `head` bytes up to the name. */
static int parse_named_group(struct regex_parser *parser, size_t head)
{
    const char *why = "invalid named capture";
    const ptrdiff_t end = str_chr(parser->rest, '>');
    if (end < 0)
        return regex_error(parser->err, why, parser->rest);
    if (!good_group_name(str_sub(parser->rest, head, (size_t)end)))
        return regex_error(parser->err, why, str_sub(parser->rest, 0, (size_t)end + 1));
    regex_open_group(parser, parser->flags, true);
    parser->rest = str_from(parser->rest, (size_t)end + 1);
    return 0;
}

static unsigned flag_of(uint32_t c)
{
    switch (c) {
    case 'i':
        return REGEX_FOLD;
    case 'm':
        return REGEX_MULTI_LINE;
    case 's':
        return REGEX_DOT_NEWLINE;
    case 'U':
        return REGEX_UNGREEDY;
    default:
        return 0;
    }
}

/* "(?flags)" or "(?flags:". */
static int parse_flags(struct regex_parser *parser)
{
    struct str after = str_from(parser->rest, 2);
    unsigned flags = parser->flags;
    bool minus = false, any = true; /* a minus wants flags */
    while (after.n) {
        const uint32_t c = regex_take_char(&after);
        const unsigned flag = flag_of(c);
        if (flag) {
            flags = minus ? flags & ~flag : flags | flag;
            any = true;
        } else if (c == '-' && !minus) {
            minus = true;
            any = false;
        } else if ((c == ':' || c == ')') && any) {
            if (c == ':')
                regex_open_group(parser, parser->flags, false);
            parser->flags = flags;
            parser->rest = after;
            return 0;
        } else {
            break;
        }
    }
    return regex_error(parser->err, "invalid or unsupported Perl syntax",
                       str_sub(parser->rest, 0, parser->rest.n - after.n));
}

static int parse_open(struct regex_parser *parser)
{
    if (parser->rest.n < 2 || parser->rest.p[1] != '?') {
        regex_open_group(parser, parser->flags, true);
        parser->rest = str_from(parser->rest, 1);
        return 0;
    }
    if (parser->rest.n > 4 && str_starts(parser->rest, STR("(?P<")))
        return parse_named_group(parser, 4);
    if (parser->rest.n > 3 && str_starts(parser->rest, STR("(?<")))
        return parse_named_group(parser, 3);
    return parse_flags(parser);
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* "\Q...\E": what is between is literal. */
static int parse_quote(struct regex_parser *parser)
{
    struct str quoted = str_from(parser->rest, 2);
    const ptrdiff_t end = str_find(quoted, STR("\\E"));
    parser->rest = end < 0 ? STR_NULL : str_from(quoted, (size_t)end + 2);
    if (end >= 0)
        quoted = str_sub(quoted, 0, (size_t)end);
    while (quoted.n) {
        if (add_literal(parser, regex_take_char(&quoted)) < 0)
            return -1;
    }
    return 0;
}

static int parse_class(struct regex_parser *parser, bool *ret_found)
{
    struct regex_inst inst = {.op = REGEX_SET};
    const int done =
        regex_take_class(&parser->rest, parser->flags & REGEX_FOLD, &inst.set, parser->err);
    *ret_found = done > 0;
    return done > 0 ? regex_add_inst(parser, inst, false) : done;
}

static int parse_backslash(struct regex_parser *parser)
{
    static const struct {
        char name;
        enum regex_assertion assertion;
    } assertions[] = {{'A', REGEX_TEXT_BEGIN},
                      {'z', REGEX_TEXT_END},
                      {'b', REGEX_WORD_EDGE},
                      {'B', REGEX_NO_WORD_EDGE}};
    char next = '\0';
    if (parser->rest.n > 1)
        next = parser->rest.p[1];
    for (size_t i = 0; i < ARRAY_SIZE(assertions); i++) {
        if (next == assertions[i].name) {
            parser->rest = str_from(parser->rest, 2);
            return add_assertion(parser, assertions[i].assertion);
        }
    }
    if (next == 'Q')
        return parse_quote(parser);
    bool found;
    uint32_t c;
    if (parse_class(parser, &found) < 0)
        return -1;
    if (found)
        return 0;
    if (regex_take_escape(&parser->rest, &c, parser->err) < 0)
        return -1;
    return add_literal(parser, c);
}

static int parse_close(struct regex_parser *parser)
{
    struct regex_operand operand;
    if (parser->groups.n < 2)
        return regex_error(parser->err, "unexpected )", parser->whole);
    if (regex_close_group(parser, &operand) < 0)
        return -1;
    parser->flags = regex_top(parser)->flags;
    parser->groups.n--;
    regex_add_operand(parser, operand);
    parser->rest = str_from(parser->rest, 1);
    return 0;
}

/* What one character says by itself: 1, 0 when it says nothing, -1. */
static int parse_simple(struct regex_parser *parser)
{
    const bool lines = parser->flags & REGEX_MULTI_LINE;
    int done;
    switch (parser->rest.p[0]) {
    case '|':
        done = regex_next_branch(parser);
        break;
    case '^':
        done = add_assertion(parser, lines ? REGEX_LINE_BEGIN : REGEX_TEXT_BEGIN);
        break;
    case '$':
        done = add_assertion(parser, lines ? REGEX_LINE_END : REGEX_TEXT_END);
        break;
    case '.':
        done = add_dot(parser);
        break;
    default:
        return 0;
    }
    parser->rest = str_from(parser->rest, 1);
    return done < 0 ? done : 1;
}

/* "*", "+", "?" */
static int parse_operator(struct regex_parser *parser, struct str doubled)
{
    const struct str from = parser->rest;
    const char c = from.p[0];
    parser->rest = str_from(parser->rest, 1);
    return regex_repeat(parser, from, c == '+', c == '?' ? 1 : -1, false, doubled);
}

/* The next part of the pattern. `*doubled`: the repetition it follows upon, from its operator. */
static int parse_next(struct regex_parser *parser, struct str *doubled)
{
    const struct str from = parser->rest, before = *doubled;
    bool found = false;
    *doubled = STR_NULL;
    switch (from.p[0]) {
    case '(':
        return parse_open(parser);
    case ')':
        return parse_close(parser);
    case '[':
        return parse_class(parser, &found);
    case '\\':
        return parse_backslash(parser);
    case '{': {
        const int done = parse_count(parser, before, &found);
        *doubled = found ? from : STR_NULL;
        return done;
    }
    case '*':
    case '+':
    case '?':
        *doubled = from;
        return parse_operator(parser, before);
    default:
        break;
    }
    const int done = parse_simple(parser);
    return done ? done : add_literal(parser, regex_take_char(&parser->rest));
}

static int check_text(struct str pattern, struct error *err)
{
    if (pattern.n > REGEX_PATTERN_MAX)
        return error_set(err, ERROR_LIMIT,
                         "error parsing regexp: expression too large: it has %zu bytes, more than "
                         "%zu",
                         pattern.n, REGEX_PATTERN_MAX);
    for (struct str rest = pattern; rest.n;) {
        const size_t n = str_utf8_len(rest);
        if (n == 0)
            return error_set(err, ERROR_INVALID, "error parsing regexp: invalid UTF-8");
        rest = str_from(rest, n);
    }
    return 0;
}

static int parse_all(struct regex_parser *parser)
{
    struct str doubled = STR_NULL;
    struct regex_operand operand;
    regex_open_group(parser, 0, false);
    while (parser->rest.n) {
        if (parse_next(parser, &doubled) < 0)
            return -1;
    }
    if (parser->groups.n > 1)
        return regex_error(parser->err, "missing closing )", parser->whole);
    if (regex_close_group(parser, &operand) < 0)
        return -1;
    return regex_append(parser, (struct regex_inst){.op = REGEX_MATCH});
}

int regex_parse(struct str pattern, struct regex_program *ret_program, struct error *err)
{
    struct regex_parser parser = {
        .whole = pattern, .rest = pattern, .write = ret_program != NULL, .err = err};
    if (check_text(pattern, err) < 0)
        return -1;
    const int done = parse_all(&parser);
    vec_clear(&parser.groups);
    if (done < 0 || !ret_program)
        free(parser.code);
    else
        *ret_program = (struct regex_program){parser.code, parser.n};
    return done < 0 ? -1 : 0;
}
