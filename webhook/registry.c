/*
 * The table of admission paths, from the list in paths.h, and what handlers share: see registry.h.
 */
#include "webhook/registry.h"

#define WARNING_TEXT_MAX 8192 /* before it is cut */

#define mutate_MUTATES true
#define validate_MUTATES false
#define ENTRY(kind, verb, resource, operations, before, after, off)                                \
    {"/" #kind "/" #verb,                                                                          \
     "volcano-admission-service-" #kind "-" #verb,                                                 \
     resource,                                                                                     \
     operations,                                                                                   \
     before,                                                                                       \
     after,                                                                                        \
     verb##_MUTATES,                                                                               \
     kind##_##verb,                                                                                \
     off},

const struct admission_path admission_paths[] = {
    ADMISSION_PATHS(ENTRY){NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, false, NULL, false},
};

const struct admission_path *admission_find(struct str path)
{
    for (const struct admission_path *entry = admission_paths; entry->path; entry++) {
        if (str_is(path, entry->path))
            return entry;
    }
    return NULL;
}

const struct queue_view *case_queue(struct admission_case *c, struct str name)
{
    const struct queue_view *queue = queue_snapshot_get(c->queues, name);
    if (!queue && !c->last_try)
        c->wait = true;
    return queue;
}

/* The API server refuses warnings with control characters or broken UTF-8, and cuts long ones. */
static const char *clean_warning(struct arena *arena, struct str text)
{
    char *copy = arena_alloc(arena, VERDICT_WARNING_SIZE + 1);
    size_t n = 0;
    while (text.n) {
        const size_t size = str_utf8_len(text);
        const unsigned char first = (unsigned char)text.p[0];
        const bool control = first < 0x20 || first == 0x7f ||
                             (size == 2 && first == 0xc2 && (unsigned char)text.p[1] < 0xa0);
        const struct str add = size && !control ? str_sub(text, 0, size) : STR(" ");
        if (n + add.n > VERDICT_WARNING_SIZE)
            break;
        memcpy(copy + n, add.p, add.n);
        n += add.n;
        text = str_from(text, size ? size : 1);
    }
    copy[n] = '\0';
    return copy;
}

void case_warn(struct admission_case *c, const char *format, ...)
{
    struct buf text cleanup_buf = BUF_INIT(WARNING_TEXT_MAX);
    va_list args;
    c->warning_count++;
    if (c->warning_count > VERDICT_WARNINGS_MAX) {
        const size_t more = c->warning_count - VERDICT_WARNINGS_MAX + 1;
        c->warnings[VERDICT_WARNINGS_MAX - 1] =
            arena_printf(c->arena, "%zu more warnings are not shown", more).p;
        return;
    }
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    if (!text.overflow)
        c->warnings[c->warning_count - 1] = clean_warning(c->arena, buf_str(&text));
}
