/*
 * struct buf: a growing byte buffer with a hard maximum given at init.
 *
 * Owned by one holder, not thread-safe. Appending past the maximum appends nothing, sets
 * `overflow` and keeps it set: writers append freely and check once at the end.
 */
#ifndef PUMICE_BASE_BUF_H
#define PUMICE_BASE_BUF_H

#include "base/str.h"
#include <stdarg.h>

struct buf {
    char *p;       /* owned; NUL-terminated after every append (p[n] == 0), NULL while empty */
    size_t n;      /* bytes in use */
    size_t cap;    /* bytes allocated */
    size_t max;    /* n never exceeds this */
    bool overflow; /* an append did not fit */
};

#define BUF_INIT(maximum) ((struct buf){.max = (maximum)})

void buf_init(struct buf *buf, size_t max);
/* Frees the memory; the buffer may be used again with the same maximum. */
void buf_clear(struct buf *buf);
/* Empties it but keeps the memory; overflow is reset. */
void buf_reset(struct buf *buf);

/* Each returns false when the maximum would be passed (and sets overflow). */
bool buf_add(struct buf *buf, const void *data, size_t size);
bool buf_add_str(struct buf *buf, struct str s);
bool buf_add_cstr(struct buf *buf, const char *text);
bool buf_add_char(struct buf *buf, char c);
bool buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool buf_vprintf(struct buf *buf, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
bool buf_add_i64(struct buf *buf, int64_t value);

/* Makes room for `size` more bytes without changing n; false past the maximum. */
bool buf_reserve(struct buf *buf, size_t size);
/* Drops the first `size` bytes (moves the rest). */
void buf_consume(struct buf *buf, size_t size);
/* Shortens to `size` bytes. */
void buf_truncate(struct buf *buf, size_t size);

static inline struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->p, buf->n};
}

/* Hands the memory to the caller (NUL-terminated, free()); the buffer is empty afterwards. */
char *buf_take(struct buf *buf);

static inline void cleanup_buf_fn(struct buf *buf)
{
    buf_clear(buf);
}
#define cleanup_buf __attribute__((cleanup(cleanup_buf_fn)))

#endif
