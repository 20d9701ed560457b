/*
 * struct watch_lines: splits a watch stream into its lines as pieces of it arrive.
 *
 * A line that lies whole within one piece is handed out without copying; the rest of a piece waits
 * in the one buffer, which never holds more than LIMIT_WATCH_EVENT bytes. No loop, no transport.
 */
#ifndef PUMICE_KUBE_WATCH_LINES_H
#define PUMICE_KUBE_WATCH_LINES_H

#include "base/buf.h"

struct watch_lines {
    struct buf rest; /* the beginning of a line whose end has not arrived */
};

enum watch_lines_result {
    WATCH_LINES_OK,
    WATCH_LINES_STOPPED, /* `line` returned false */
    WATCH_LINES_TOO_LONG /* a line is longer than LIMIT_WATCH_EVENT */
};

/* A line without its line end, never empty; valid during the call. False stops. */
typedef bool watch_line_fn(struct str line, void *arg);

void watch_lines_init(struct watch_lines *lines);
/* Forgets what is left of the stream before, and frees it. */
void watch_lines_clear(struct watch_lines *lines);
/* The next piece of the stream. After anything but OK the stream cannot be continued. */
enum watch_lines_result watch_lines_add(struct watch_lines *lines, struct str piece,
                                        watch_line_fn *line, void *arg);
/* True when the stream so far ends inside a line. */
bool watch_lines_partial(const struct watch_lines *lines);

#endif
