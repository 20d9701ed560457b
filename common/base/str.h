/*
 * struct str: a borrowed slice of bytes (pointer and length, not NUL-terminated).
 *
 * Slices own nothing; the comment at each field or parameter says what they borrow from.
 */
#ifndef PUMICE_BASE_STR_H
#define PUMICE_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *p; /* may be NULL when n is 0 */
    size_t n;
};

/* A slice over a string literal. */
#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})
#define STR_NULL ((struct str){NULL, 0})
/* For printf: printf("%.*s", STR_ARG(s)). */
#define STR_ARG(s) (int)(s).n, (s).p ? (s).p : ""

/* A slice over a NUL-terminated string (NULL gives the empty slice). */
static inline struct str str_of(const char *text)
{
    return (struct str){text, text ? strlen(text) : 0};
}

static inline struct str str_make(const char *p, size_t n)
{
    return (struct str){p, n};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_is(struct str a, const char *text)
{
    return str_eq(a, str_of(text));
}

static inline bool str_empty(struct str a)
{
    return a.n == 0;
}

/* Byte order, shorter first on a common prefix: <0, 0, >0. */
int str_cmp(struct str a, struct str b);

bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);

/* Position of the first `needle`, or -1. */
ptrdiff_t str_find(struct str s, struct str needle);
/* Position of the first byte `c`, or -1. */
ptrdiff_t str_chr(struct str s, char c);

/* The part from `from` on, and the part [from, to); both clamped to the slice. */
struct str str_from(struct str s, size_t from);
struct str str_sub(struct str s, size_t from, size_t to);

/* Without leading and trailing spaces, tabs and line ends. */
struct str str_trim(struct str s);

/*
 * Splits at `sep`: takes the next part off `*rest` into `*ret_part`. False when nothing is left.
 * "a,,b" gives "a", "", "b"; an empty slice gives nothing.
 */
bool str_split(struct str *rest, char sep, struct str *ret_part);

/* A NUL-terminated heap copy (embedded NULs are kept, so the C string may be shorter). */
char *str_dup(struct str s);

/* Parses the whole slice as a decimal integer; false on anything else or overflow. */
bool str_to_i64(struct str s, int64_t *ret_value);
bool str_to_u64(struct str s, uint64_t *ret_value);
bool str_to_i32(struct str s, int32_t *ret_value);
/* Parses the whole slice as a decimal fraction ("1", "0.7", "1e3"); locale-independent. */
bool str_to_double(struct str s, double *ret_value);
/* "true"/"false" and Go's other spellings (1, t, T, TRUE, True, 0, f, F, FALSE, False). */
bool str_to_bool(struct str s, bool *ret_value);

/* Bytes of the well-formed UTF-8 character at the start of `s`; 0 when there is none. */
size_t str_utf8_len(struct str s);
/* The longest start of `s` of at most `max` bytes that does not end inside a UTF-8 character. */
struct str str_cut(struct str s, size_t max);

/* FNV-1a, 64 bit: stable over runs and machines. */
uint64_t str_hash(struct str s);

#endif
