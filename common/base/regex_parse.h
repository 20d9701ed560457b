/*
 * The inner parts of regex.h: from the text of a pattern to a program. Nobody else includes this.
 */
#ifndef PUMICE_BASE_REGEX_PARSE_H
#define PUMICE_BASE_REGEX_PARSE_H

#include "base/regex.h"
#include "base/vec.h"

#define REGEX_SHOWN 128 /* bytes of a pattern in a message */

/* A set of ASCII characters. What a pattern says of others cannot matter: see regex.h. */
struct ascii_set {
    uint64_t bits[2];
};

static inline bool ascii_set_has(const struct ascii_set *set, unsigned c)
{
    return c < 128 && (set->bits[c / 64] >> (c % 64) & 1);
}

enum regex_op {
    REGEX_SET,    /* one character of `set` */
    REGEX_SPLIT,  /* goes on behind it, and at `offset` from it */
    REGEX_JUMP,   /* goes on at `offset` from it */
    REGEX_ASSERT, /* goes on where `assertion` holds */
    REGEX_MATCH
};

enum regex_assertion {
    REGEX_TEXT_BEGIN,
    REGEX_TEXT_END,
    REGEX_LINE_BEGIN,
    REGEX_LINE_END,
    REGEX_WORD_EDGE,
    REGEX_NO_WORD_EDGE
};

struct regex_inst {
    enum regex_op op;
    union {
        int32_t offset; /* in instructions, relative: programs can be copied */
        enum regex_assertion assertion;
    };
    struct ascii_set set;
};

struct regex_program {
    struct regex_inst *code; /* owned; the last one is REGEX_MATCH */
    size_t n;
};

/* Reads a pattern. Without `ret_program` only the verdict. */
int regex_parse(struct str pattern, struct regex_program *ret_program, struct error *err);

/* ---- regex_parse.c ------------------------------------------------------------------------- */

enum regex_flag { REGEX_FOLD = 1, REGEX_MULTI_LINE = 2, REGEX_DOT_NEWLINE = 4, REGEX_UNGREEDY = 8 };

/* What may be repeated: the item of a sequence that was read last. */
struct regex_operand {
    size_t start;    /* of its code */
    uint32_t depth;  /* of what Go would make of it */
    uint32_t copies; /* of the innermost of its repetitions */
    bool literal, fold;
    bool joined; /* counts as one item with the literal in front of it */
};

struct regex_group {
    unsigned flags; /* of what is around it */
    bool capture;
    size_t start;  /* of its code */
    size_t branch; /* of the code of the branch being read */
    bool any;      /* the branch has an operand */
    struct regex_operand last;
    uint32_t items, depth, copies; /* of the branch, `last` not counted in the latter two */
    uint32_t branches, all_depth, all_copies; /* of the branches before it */
    size_t jump; /* 1 + the last of the jumps to the group's end, each with the one before; 0 */
};

struct regex_parser {
    struct str whole, rest;
    unsigned flags;
    VEC(struct regex_group) groups;
    struct regex_inst *code; /* NULL when nothing is to be written */
    size_t n, cap;
    bool write;
    struct error *err;
};

/* Always -1: "error parsing regexp: <why>: `<part of the pattern>`". */
int regex_error(struct error *err, const char *why, struct str part);

/* The character at the start of `*rest`, taken off it; the text is not empty and UTF-8. */
uint32_t regex_take_char(struct str *rest);

/* ---- regex_build.c: each that returns int fails with ERROR_LIMIT when a limit is passed ---------
 */

/* The innermost open group; the whole pattern is one. Valid until the next one is opened. */
static inline struct regex_group *regex_top(struct regex_parser *parser)
{
    return &parser->groups.items[parser->groups.n - 1];
}

int regex_append(struct regex_parser *parser, struct regex_inst inst);
/* The next item of the sequence, one instruction. */
int regex_add_inst(struct regex_parser *parser, struct regex_inst inst, bool literal);
/* The next item, whose code is what was written from `operand.start` on. */
void regex_add_operand(struct regex_parser *parser, struct regex_operand operand);
/* `flags`: those that count again behind the group. */
void regex_open_group(struct regex_parser *parser, unsigned flags, bool capture);
/* At a "|". */
int regex_next_branch(struct regex_parser *parser);
/* The innermost group has ended. It stays the innermost; what it is goes to *ret_operand. */
int regex_close_group(struct regex_parser *parser, struct regex_operand *ret_operand);
/*
 * Repeats the last item, at least `low` times and at most `high` (-1: any number). `from` is the
 * text from the operator on, `rest` starts behind it; `doubled` is the text from the repetition on
 * that this one follows upon, or null. `counted`: it was one in braces.
 */
int regex_repeat(struct regex_parser *parser, struct str from, int low, int high, bool counted,
                 struct str doubled);

/* ---- regex_class.c ------------------------------------------------------------------------- */

/*
 * A class at the start of `*rest` ("[a-z]", "\d", "\pL"): 1 and its characters, 0 when there is
 * none, -1 when it is wrong. `fold`: without regard to case.
 */
int regex_take_class(struct str *rest, bool fold, struct ascii_set *ret_set, struct error *err);
/* An escaped character at the start of `*rest`. */
int regex_take_escape(struct str *rest, uint32_t *ret_char, struct error *err);
/* Adds the characters from `low` to `high`, with `fold` in both cases. */
void ascii_set_add(struct ascii_set *set, uint32_t low, uint32_t high, bool fold);

/* Unicode categories and scripts: canonical names in byte order, and what they have of ASCII. */
struct regex_property {
    const char *name;
    struct ascii_set plain, folded; /* with and without regard to case */
};
extern const struct regex_property regex_properties[];
extern const size_t regex_properties_count;

#endif
