/*
 * struct shape: the rules for one type of JSON object, as a table.
 *
 * A shape lists the members that have rules; each rule says what kind of value it is and what is
 * asked of it, and may name a further shape (of an object, or of the items of a list). What a table
 * cannot say is a `check` function: of one member, or of the whole object once its members were
 * looked at. Members without a rule are not looked at. Tables are static and constant.
 */
#ifndef PUMICE_WEBHOOK_SHAPE_H
#define PUMICE_WEBHOOK_SHAPE_H

#include "webhook/rules/field.h"

/* One walk over an object. Owned by one review. */
struct rule_walk {
    struct problems *problems;
    struct arena *arena;
    void *context; /* of whoever began the walk; for checks that look beyond their object */
};

/* Further rules of one value; `value` is NULL only where the rule says RULE_CHECK_ABSENT. */
typedef void rule_check_fn(struct rule_walk *walk, const cJSON *value, const struct field *at);
/* NULL when the text is right, else why not. */
typedef const char *rule_text_fn(struct str text);

enum rule_kind {
    RULE_ANY,    /* only `flags` and `check` */
    RULE_TEXT,   /* string: `text` */
    RULE_ENUM,   /* string: one of `values` */
    RULE_NUMBER, /* whole number: from `low` to `high` where these are not both 0 */
    RULE_BOOL,
    RULE_OBJECT, /* `shape` */
    RULE_LIST    /* of objects: `shape` for each item; of strings: `text` for each */
};

enum rule_flag {
    RULE_REQUIRED = 1,        /* absent, null, "", [] are errors; `detail` says what is wanted */
    RULE_FORBIDDEN = 2,       /* anything else is one; `detail` says why */
    RULE_ZERO_ABSENT = 4,     /* a number 0 counts as absent */
    RULE_CHECK_ABSENT = 8,    /* `check` is called for an absent member too, with NULL */
    RULE_EMPTY_COUNTS = 16,   /* a string "" is a value: `text` or `values` decide; so is [] */
    RULE_FALSE_ABSENT = 32,   /* a boolean false counts as absent */
    RULE_EMPTY_REQUIRED = 64, /* absent is right, but a string "" is a required value missing */
    RULE_ABSENT_EMPTY = 128   /* absent and "" are alike, and `text` or `values` decide on "" */
};

struct shape;

struct rule {
    const char *name; /* of the member; NULL ends the table */
    enum rule_kind kind;
    unsigned flags;
    const char *detail;
    rule_text_fn *text;
    const char *const *values; /* ends with NULL */
    int64_t low, high;
    const struct shape *shape;
    const char *unique; /* RULE_LIST: no two items may have the same text in this member; "" for a
                           list of strings: no two alike */
    rule_check_fn *check;
};

struct shape {
    const struct rule *rules;
    rule_check_fn *check; /* may be NULL */
};

/* Checks the members of `object` in the order of the table, then the whole. NULL and a JSON null
 * are an object without members; any other value that is no object is one problem. */
void shape_check(struct rule_walk *walk, const struct shape *shape, const cJSON *object,
                 const struct field *at);

/* Names of the members of `names` (ends with NULL) that `object` has. */
size_t shape_count_present(const cJSON *object, const char *const *names);

#endif
