/*
 * Why nodes may not be taken, in words that tables over nodes can keep: one copy of each, for as
 * long as the extender lives, and not too many of them.
 */
#include "scheduler/extender/extender_private.h"

#define TEXTS_MAX 100               /* of each kind that are told apart: fewer than a table can */
#define TEXT_SIZE_MAX ((size_t)256) /* bytes of one */

/* The one copy of a text: what follows `head`, without line breaks, cut to size; `other` when there
 * are too many. */
static const char *keep_text(struct map *texts, const char *head, struct str tail,
                             const char *other)
{
    cleanup_buf struct buf text = BUF_INIT(2 * TEXT_SIZE_MAX);
    buf_add_cstr(&text, head);
    buf_add_str(&text, str_cut(tail, TEXT_SIZE_MAX));
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ')
            text.p[i] = ' ';
    char *kept = map_get(texts, buf_str(&text));
    if (kept || map_count(texts) >= TEXTS_MAX)
        return kept ? kept : other;
    kept = xstrdup(text.p);
    map_set(texts, buf_str(&text), kept);
    return kept;
}

const char *extender_refusal_text(struct extender *extender, struct str status)
{
    return keep_text(&extender->refusals, "refused by the extender: ", status,
                     "refused by the extender for other reasons");
}

/* libcurl's "... after 12 ms: ..." would be another text each time. */
const char *extender_failure_text(struct extender *extender, const char *why)
{
    cleanup_free char *head = xasprintf("extender %.200s failed: ", extender->settings.shown);
    cleanup_free char *text = xstrdup(why);
    char *after = strstr(text, " after ");
    size_t digits = after ? strspn(after + strlen(" after "), "0123456789") : 0;
    char *rest = digits ? strchr(after, ':') : NULL;
    if (rest)
        memmove(after, rest, strlen(rest) + 1);
    return keep_text(&extender->failures_seen, head, str_of(text), "extender failed in other ways");
}

void extender_texts_clear(struct extender *extender)
{
    map_clear_with(&extender->refusals, free);
    map_clear_with(&extender->failures_seen, free);
}
