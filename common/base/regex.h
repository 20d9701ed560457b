/*
 * struct regex: regular expressions in the syntax of Go's regexp package (RE2), in linear time.
 *
 * What Go accepts is accepted, what Go refuses is refused with the same words, except for
 * REGEX_PATTERN_MAX, REGEX_SIZE_MAX, names of scripts with an underscore (\p{Old_Italic}), which Go
 * 1.26 has lost, and patterns near Go's depth of 1000, where its simplifications count. Texts are
 * ASCII, as names of Kubernetes objects are. There are no groups to ask for, only a verdict.
 * A regex is constant once made: any thread may match with it.
 */
#ifndef PUMICE_BASE_REGEX_H
#define PUMICE_BASE_REGEX_H

#include "base/error.h"
#include "base/str.h"

#define REGEX_PATTERN_MAX ((size_t)32 << 10) /* bytes of a pattern */
#define REGEX_SIZE_MAX 65536                 /* instructions: reached by counted repetitions only */
#define REGEX_DEPTH_MAX 1000
#define REGEX_REPEAT_MAX 1000

struct regex;

/*
 * Whether the pattern is right: 0, ERROR_INVALID, or ERROR_LIMIT for one that is too large. Linear
 * in the pattern's length, whatever its repetitions.
 */
int regex_check(struct str pattern, struct error *err);
/* The same, and makes a regex of it, of at most some megabytes. */
int regex_new(struct str pattern, struct regex **ret_regex, struct error *err);
/*
 * Whether the pattern matches somewhere in the text; false for a text that is not ASCII. At most
 * (length of the text + 1) * (instructions of the pattern) steps.
 */
bool regex_matches(const struct regex *regex, struct str text);
/* NULL is fine. */
void regex_free(struct regex *regex);

#endif
