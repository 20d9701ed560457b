/*
 * Lines of a watch stream: see watch_lines.h. Owned and used by one reflector; loop thread only.
 */
#include "kube/watch_lines.h"
#include "base/limits.h"

#define REST_KEEP ((size_t)1 << 20) /* a larger buffer is freed once its line is handed out */

void watch_lines_init(struct watch_lines *lines)
{
    buf_init(&lines->rest, LIMIT_WATCH_EVENT);
}

void watch_lines_clear(struct watch_lines *lines)
{
    buf_clear(&lines->rest);
    buf_reset(&lines->rest);
}

static bool hand_out(struct str text, watch_line_fn *line, void *arg)
{
    struct str trimmed = str_trim(text);
    return str_empty(trimmed) || line(trimmed, arg);
}

/* The end of the line that waits in the buffer. */
static enum watch_lines_result complete_rest(struct watch_lines *lines, struct str end,
                                             watch_line_fn *line, void *arg)
{
    if (!buf_add_str(&lines->rest, end))
        return WATCH_LINES_TOO_LONG;
    bool more = hand_out(buf_str(&lines->rest), line, arg);
    buf_reset(&lines->rest);
    if (lines->rest.cap > REST_KEEP)
        buf_clear(&lines->rest);
    return more ? WATCH_LINES_OK : WATCH_LINES_STOPPED;
}

enum watch_lines_result watch_lines_add(struct watch_lines *lines, struct str piece,
                                        watch_line_fn *line, void *arg)
{
    ptrdiff_t at;

    while ((at = str_chr(piece, '\n')) >= 0) {
        struct str text = str_sub(piece, 0, (size_t)at);
        piece = str_from(piece, (size_t)at + 1);
        if (lines->rest.n > 0) {
            enum watch_lines_result result = complete_rest(lines, text, line, arg);
            if (result != WATCH_LINES_OK)
                return result;
        } else if (text.n > LIMIT_WATCH_EVENT) {
            return WATCH_LINES_TOO_LONG;
        } else if (!hand_out(text, line, arg)) {
            return WATCH_LINES_STOPPED;
        }
    }
    return buf_add_str(&lines->rest, piece) ? WATCH_LINES_OK : WATCH_LINES_TOO_LONG;
}

bool watch_lines_partial(const struct watch_lines *lines)
{
    return !str_empty(str_trim(buf_str(&lines->rest)));
}
