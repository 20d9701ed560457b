/*
 * struct buf: growth by doubling up to the maximum, one byte more for the closing NUL.
 *
 * Owned by one holder, not thread-safe. Once an append did not fit, nothing more is appended until
 * buf_reset or buf_clear, so the content is always a true start of what was written.
 */
#include "base/buf.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include <stdio.h>

#define BUF_FIRST 64 /* bytes of the first allocation */

void buf_init(struct buf *buf, size_t max)
{
    *buf = BUF_INIT(max);
}

void buf_clear(struct buf *buf)
{
    free(buf->p);
    buf_init(buf, buf->max);
}

void buf_reset(struct buf *buf)
{
    buf->overflow = false;
    buf_truncate(buf, 0);
}

bool buf_reserve(struct buf *buf, size_t size)
{
    if (size > buf->max - buf->n)
        return false;
    size_t need = buf->n + size;
    if (need < buf->cap)
        return true;
    size_t limit = buf->max < SIZE_MAX ? buf->max + 1 : SIZE_MAX;
    size_t cap = buf->cap < BUF_FIRST / 2 ? BUF_FIRST : buf->cap;
    cap = cap > limit / 2 ? limit : cap * 2;
    if (cap <= need)
        cap = need < limit ? need + 1 : limit;
    bool empty = buf->p == NULL;
    buf->p = xreallocarray(buf->p, cap, 1);
    buf->cap = cap;
    if (empty)
        buf->p[0] = '\0';
    return true;
}

/* Room for an append, or the overflow mark. */
static bool make_room(struct buf *buf, size_t size)
{
    if (!buf->overflow && buf_reserve(buf, size))
        return true;
    buf->overflow = true;
    return false;
}

bool buf_add(struct buf *buf, const void *data, size_t size)
{
    if (!make_room(buf, size))
        return false;
    if (size)
        memcpy(buf->p + buf->n, data, size);
    buf->n += size;
    buf->p[buf->n] = '\0';
    return true;
}

bool buf_add_str(struct buf *buf, struct str s)
{
    return buf_add(buf, s.p, s.n);
}

bool buf_add_cstr(struct buf *buf, const char *text)
{
    return buf_add(buf, text, strlen(text));
}

bool buf_add_char(struct buf *buf, char c)
{
    return buf_add(buf, &c, 1);
}

bool buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool ok = buf_vprintf(buf, format, args);
    va_end(args);
    return ok;
}

bool buf_vprintf(struct buf *buf, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    size_t room = buf->cap - buf->n;
    int n = vsnprintf(buf->p ? buf->p + buf->n : NULL, room, format, args);
    bool ok = n >= 0 && make_room(buf, (size_t)n);
    if (ok && (size_t)n >= room)
        n = vsnprintf(buf->p + buf->n, buf->cap - buf->n, format, again);
    va_end(again);
    if (ok)
        buf->n += (size_t)n;
    else
        buf->overflow = true;
    if (buf->p)
        buf->p[buf->n] = '\0';
    return ok;
}

bool buf_add_i64(struct buf *buf, int64_t value)
{
    char text[24];
    char *at = text + sizeof(text);
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        *--at = '-';
    return buf_add(buf, at, (size_t)(text + sizeof(text) - at));
}

void buf_consume(struct buf *buf, size_t size)
{
    ENSURE(size <= buf->n);
    if (size == 0)
        return;
    memmove(buf->p, buf->p + size, buf->n - size);
    buf_truncate(buf, buf->n - size);
}

void buf_truncate(struct buf *buf, size_t size)
{
    ENSURE(size <= buf->n);
    buf->n = size;
    if (buf->p)
        buf->p[size] = '\0';
}

char *buf_take(struct buf *buf)
{
    char *text = buf->p ? buf->p : xstrndup("", 0);
    buf_init(buf, buf->max);
    return text;
}
