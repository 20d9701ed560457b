/*
 * From the parts of a pattern to code: see regex_parse.h.
 *
 * No tree and no recursion: since all offsets are relative, a repetition copies or moves the code
 * that its operand has got. With no code to write only its size is counted.
 */
#include "base/regex_parse.h"

/* ---- code ---------------------------------------------------------------------------------- */

static int too_large(struct regex_parser *parser)
{
    return error_set(parser->err, ERROR_LIMIT, "error parsing regexp: expression too large: `%.*s`",
                     STR_ARG(str_cut(parser->whole, REGEX_SHOWN)));
}

/* Room for `count` more instructions. */
static int make_room(struct regex_parser *parser, size_t count)
{
    if (parser->n + count > REGEX_SIZE_MAX)
        return too_large(parser);
    if (parser->write && parser->n + count > parser->cap) {
        parser->cap = 2 * (parser->n + count);
        parser->code = xreallocarray(parser->code, parser->cap, sizeof(*parser->code));
    }
    return 0;
}

int regex_append(struct regex_parser *parser, struct regex_inst inst)
{
    if (make_room(parser, 1) < 0)
        return -1;
    if (parser->write)
        parser->code[parser->n] = inst;
    parser->n++;
    return 0;
}

/* Puts a split in front of the code from `start` on. */
static int insert_split(struct regex_parser *parser, size_t start, size_t offset)
{
    if (make_room(parser, 1) < 0)
        return -1;
    if (parser->write) {
        memmove(&parser->code[start + 1], &parser->code[start],
                (parser->n - start) * sizeof(*parser->code));
        parser->code[start] = (struct regex_inst){.op = REGEX_SPLIT, .offset = (int32_t)offset};
    }
    parser->n++;
    return 0;
}

/* Appends a copy of the `count` instructions from `start` on; there is room. */
static void copy_code(struct regex_parser *parser, size_t start, size_t count)
{
    if (parser->write && count > 0)
        memcpy(&parser->code[parser->n], &parser->code[start], count * sizeof(*parser->code));
    parser->n += count;
}

static struct regex_inst split(ptrdiff_t offset)
{
    return (struct regex_inst){.op = REGEX_SPLIT, .offset = (int32_t)offset};
}

static struct regex_inst jump(ptrdiff_t offset)
{
    return (struct regex_inst){.op = REGEX_JUMP, .offset = (int32_t)offset};
}

/* ---- sequences ----------------------------------------------------------------------------- */

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static int check_depth(struct regex_parser *parser, uint32_t depth)
{
    if (depth <= REGEX_DEPTH_MAX)
        return 0;
    return error_set(parser->err, ERROR_LIMIT,
                     "error parsing regexp: expression nests too deeply: `%.*s`",
                     STR_ARG(str_cut(parser->whole, REGEX_SHOWN)));
}

static void retire_last(struct regex_group *group)
{
    if (group->any) {
        group->depth = larger(group->depth, group->last.depth);
        group->copies = larger(group->copies, group->last.copies);
    }
}

void regex_add_operand(struct regex_parser *parser, struct regex_operand operand)
{
    struct regex_group *group = regex_top(parser);
    operand.joined =
        operand.literal && group->any && group->last.literal && group->last.fold == operand.fold;
    retire_last(group);
    group->last = operand;
    group->any = true;
    if (!operand.joined)
        group->items++;
}

int regex_add_inst(struct regex_parser *parser, struct regex_inst inst, bool literal)
{
    const struct regex_operand operand = {.start = parser->n,
                                          .depth = 1,
                                          .copies = 1,
                                          .literal = literal,
                                          .fold = parser->flags & REGEX_FOLD};
    if (regex_append(parser, inst) < 0)
        return -1;
    regex_add_operand(parser, operand);
    return 0;
}

/* ---- groups and branches ------------------------------------------------------------------- */

void regex_open_group(struct regex_parser *parser, unsigned flags, bool capture)
{
    const struct regex_group group = {
        .flags = flags, .capture = capture, .start = parser->n, .branch = parser->n};
    vec_push(&parser->groups, group);
}

/* The branch being read has ended: its depth and copies go to the group. */
static void end_branch(struct regex_group *group)
{
    retire_last(group);
    const uint32_t depth = group->items == 0 ? 1 : group->depth + (group->items > 1);
    group->all_depth = larger(group->all_depth, depth);
    group->all_copies = larger(group->all_copies, larger(group->copies, 1));
    group->branches++;
    group->any = false;
    group->items = group->depth = group->copies = 0;
}

/* The branch becomes one of two ways, and jumps to the end of the group. */
int regex_next_branch(struct regex_parser *parser)
{
    struct regex_group *group = regex_top(parser);
    const size_t length = parser->n - group->branch;
    if (insert_split(parser, group->branch, length + 2) < 0)
        return -1;
    if (regex_append(parser, jump((ptrdiff_t)group->jump)) < 0)
        return -1;
    end_branch(group);
    group->jump = parser->n;
    group->branch = parser->n;
    return 0;
}

/* The last branch has ended: the jumps of the others get their offsets. */
static void close_branches(struct regex_parser *parser)
{
    struct regex_group *group = regex_top(parser);
    end_branch(group);
    for (size_t next = group->jump; parser->write && next;) {
        struct regex_inst *inst = &parser->code[next - 1];
        next = (size_t)inst->offset;
        inst->offset = (int32_t)(&parser->code[parser->n] - inst);
    }
}

int regex_close_group(struct regex_parser *parser, struct regex_operand *ret_operand)
{
    close_branches(parser);
    const struct regex_group *group = regex_top(parser);
    uint32_t depth = group->all_depth;
    if (group->branches > 1)
        depth++;
    if (group->capture)
        depth++;
    *ret_operand =
        (struct regex_operand){.start = group->start, .depth = depth, .copies = group->all_copies};
    return check_depth(parser, depth);
}

/* ---- repetitions --------------------------------------------------------------------------- */

static int repeat_any(struct regex_parser *parser, size_t start, size_t length)
{
    if (insert_split(parser, start, length + 2) < 0)
        return -1;
    return regex_append(parser, jump(-(ptrdiff_t)length - 1));
}

/* `count` times a split around a copy of the code at `from`. */
static int repeat_optional(struct regex_parser *parser, size_t from, size_t length, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (regex_append(parser, split((ptrdiff_t)length + 1)) < 0)
            return -1;
        copy_code(parser, from, length);
    }
    return 0;
}

/* At least `low` copies of the code from `start` on, at most `high`; -1 is any number. */
static int repeat_operand(struct regex_parser *parser, size_t start, int low, int high)
{
    const size_t length = parser->n - start;
    if (high < 0 && low == 0)
        return repeat_any(parser, start, length);
    if (high == 0) {
        parser->n = start;
        return 0;
    }
    const size_t optional = high < 0 ? 0 : (size_t)(high - low);
    const size_t all = length * (size_t)low + (length + 1) * optional + (high < 0);
    if (make_room(parser, all - length) < 0)
        return -1;
    if (!parser->write) {
        parser->n = start + all;
        return 0;
    }
    if (low == 0) {
        if (insert_split(parser, start, length + 1) < 0)
            return -1;
        return repeat_optional(parser, start + 1, length, optional - 1);
    }
    for (int i = 1; i < low; i++)
        copy_code(parser, start, length);
    if (high < 0)
        return regex_append(parser, split(-(ptrdiff_t)length));
    return repeat_optional(parser, start, length, optional);
}

/* Copies of the innermost operand, where Go counts them. */
static int check_copies(struct regex_parser *parser, struct regex_operand *operand, int low,
                        int high, struct str shown)
{
    const int count = high < 0 ? low : high;
    if (high == 0)
        operand->copies = 1;
    else if (count > 0)
        operand->copies *= (uint32_t)count;
    if (operand->copies > REGEX_REPEAT_MAX)
        return regex_error(parser->err, "invalid repeat count", shown);
    return 0;
}

/* Repeats the last operand; the operator ends where `rest` starts. */
int regex_repeat(struct regex_parser *parser, struct str from, int low, int high, bool counted,
                 struct str doubled)
{
    if (parser->rest.n && parser->rest.p[0] == '?')
        parser->rest = str_from(parser->rest, 1);
    const struct str shown = str_sub(from, 0, from.n - parser->rest.n);
    if (doubled.p)
        return regex_error(parser->err, "invalid nested repetition operator",
                           str_sub(doubled, 0, doubled.n - parser->rest.n));
    struct regex_group *group = regex_top(parser);
    if (!group->any)
        return regex_error(parser->err, "missing argument to repetition operator", shown);
    struct regex_operand *last = &group->last;
    if (counted && check_copies(parser, last, low, high, shown) < 0)
        return -1;
    if (check_depth(parser, ++last->depth) < 0)
        return -1;
    if (last->joined)
        group->items++;
    last->literal = last->joined = false;
    return repeat_operand(parser, last->start, low, high);
}
