/*
 * Matching: see regex.h. All ways through the program are followed at once, one character of the
 * text after the other; a mark for each instruction keeps the ways apart.
 */
#include "base/regex.h"
#include "base/alloc.h"
#include "base/regex_parse.h"

struct regex {
    struct regex_program program;
};

int regex_check(struct str pattern, struct error *err)
{
    return regex_parse(pattern, NULL, err);
}

int regex_new(struct str pattern, struct regex **ret_regex, struct error *err)
{
    struct regex_program program;
    if (regex_parse(pattern, &program, err) < 0)
        return -1;
    *ret_regex = xnew(struct regex);
    (*ret_regex)->program = program;
    return 0;
}

void regex_free(struct regex *regex)
{
    if (!regex)
        return;
    free(regex->program.code);
    free(regex);
}

/* ---- matching ------------------------------------------------------------------------------ */

struct matcher {
    const struct regex_program *program;
    struct str text;
    uint32_t *now, *next; /* instructions that want a character: `now_n` at this place, `next_n` */
    size_t now_n, next_n; /* at the one behind it */
    uint32_t *stack;      /* instructions to look at */
    size_t depth;
    uint32_t *mark; /* of each instruction: 1 + the last place where it was looked at */
    bool matched;
};

static bool is_word(struct str text, size_t i)
{
    if (i >= text.n) /* also the place before the first, which is SIZE_MAX */
        return false;
    const char c = text.p[i];
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool holds(enum regex_assertion assertion, struct str text, size_t place)
{
    switch (assertion) {
    case REGEX_TEXT_BEGIN:
        return place == 0;
    case REGEX_TEXT_END:
        return place == text.n;
    case REGEX_LINE_BEGIN:
        return place == 0 || text.p[place - 1] == '\n';
    case REGEX_LINE_END:
        return place == text.n || text.p[place] == '\n';
    case REGEX_WORD_EDGE:
        return is_word(text, place - 1) != is_word(text, place);
    case REGEX_NO_WORD_EDGE:
        return is_word(text, place - 1) == is_word(text, place);
    }
    return false;
}

/* Each instruction gets onto the stack once for each place: the stack has room for all. */
static void push(struct matcher *matcher, size_t at, size_t place)
{
    if (matcher->mark[at] == place + 1)
        return;
    matcher->mark[at] = (uint32_t)(place + 1);
    matcher->stack[matcher->depth++] = (uint32_t)at;
}

/* Follows all ways from `at` to instructions that want a character; these go to `next`. */
static void follow(struct matcher *matcher, size_t at, size_t place)
{
    push(matcher, at, place);
    while (matcher->depth > 0) {
        at = matcher->stack[--matcher->depth];
        const struct regex_inst *inst = &matcher->program->code[at];
        switch (inst->op) {
        case REGEX_SET:
            matcher->next[matcher->next_n++] = (uint32_t)at;
            break;
        case REGEX_SPLIT:
            push(matcher, at + 1, place);
            push(matcher, (size_t)((ptrdiff_t)at + inst->offset), place);
            break;
        case REGEX_JUMP:
            push(matcher, (size_t)((ptrdiff_t)at + inst->offset), place);
            break;
        case REGEX_ASSERT:
            if (holds(inst->assertion, matcher->text, place))
                push(matcher, at + 1, place);
            break;
        case REGEX_MATCH:
            matcher->matched = true;
            break;
        }
    }
}

static void swap_lists(struct matcher *matcher)
{
    uint32_t *list = matcher->now;
    matcher->now = matcher->next;
    matcher->now_n = matcher->next_n;
    matcher->next = list;
    matcher->next_n = 0;
}

static void run(struct matcher *matcher)
{
    for (size_t place = 0; place <= matcher->text.n && !matcher->matched; place++) {
        /* What the character before this place leads to is in `next`; and a match may begin here */
        follow(matcher, 0, place);
        swap_lists(matcher);
        if (place == matcher->text.n)
            return;
        const unsigned char c = (unsigned char)matcher->text.p[place];
        for (size_t i = 0; i < matcher->now_n; i++) {
            if (ascii_set_has(&matcher->program->code[matcher->now[i]].set, c))
                follow(matcher, matcher->now[i] + 1, place + 1);
        }
    }
}

bool regex_matches(const struct regex *regex, struct str text)
{
    const size_t n = regex->program.n;
    if (text.n >= UINT32_MAX)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] >= 128)
            return false;
    }
    uint32_t *memory = xcalloc(4 * n, sizeof(*memory));
    struct matcher matcher = {.program = &regex->program,
                              .text = text,
                              .now = memory,
                              .next = memory + n,
                              .stack = memory + 2 * n,
                              .mark = memory + 3 * n};
    run(&matcher);
    free(memory);
    return matcher.matched;
}
