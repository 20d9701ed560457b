/*
 * Texts with holes: see holes.h.
 */
#include "controller/job/holes.h"

void holed_text_init(struct holed_text *holed, size_t max)
{
    *holed = (struct holed_text){0};
    buf_init(&holed->text, max);
}

void holed_text_clear(struct holed_text *holed)
{
    buf_clear(&holed->text);
    vec_clear(&holed->holes);
}

void holed_text_write(struct holed_text *holed, struct json_writer *w,
                      const struct edit_text *value)
{
    cleanup_buf struct buf quoted = BUF_INIT(holed->text.max);

    if (value->hole == EDIT_NO_HOLE) {
        json_w_str(w, value->before);
        return;
    }
    /* The string is opened with one half of the text and closed with the other. */
    json_quote(&quoted, value->before);
    json_w_raw(w, str_sub(buf_str(&quoted), 0, quoted.n ? quoted.n - 1 : 0));
    const struct hole hole = {holed->text.n, value->hole, value->add, value->divide};
    vec_push(&holed->holes, hole);
    buf_reset(&quoted);
    json_quote(&quoted, value->after);
    buf_add_str(&holed->text, str_from(buf_str(&quoted), 1));
}

static int64_t value_of(const struct hole *hole, const struct hole_values *values)
{
    if (hole->kind == EDIT_JOB_VERSION)
        return values->version;
    if (hole->kind == EDIT_RETRY_COUNT)
        return values->retry_count;
    return (int64_t)(values->index / hole->divide) + hole->add;
}

void holed_text_fill(const struct holed_text *holed, const struct hole_values *values,
                     struct buf *out)
{
    const struct str text = buf_str(&holed->text);
    size_t from = 0;

    if (holed->text.overflow) {
        out->overflow = true;
        return;
    }
    for (size_t i = 0; i < holed->holes.n; i++) {
        const struct hole *hole = &holed->holes.items[i];
        buf_add_str(out, str_sub(text, from, hole->at));
        buf_add_i64(out, value_of(hole, values));
        from = hole->at;
    }
    buf_add_str(out, str_from(text, from));
}
