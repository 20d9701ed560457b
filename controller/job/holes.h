/*
 * struct holed_text: JSON text that is written once, with holes for the numbers in which the pods
 * of a task differ; filling them in is a few copies of memory. Owned by one holder.
 */
#ifndef PUMICE_CONTROLLER_JOB_HOLES_H
#define PUMICE_CONTROLLER_JOB_HOLES_H

#include "controller/plugins/edit.h"
#include "json/writer.h"

struct hole {
    size_t at; /* before this byte of the text */
    enum edit_hole kind;
    uint32_t add, divide;
};

struct holed_text {
    struct buf text;
    VEC(struct hole) holes; /* in the order of the text */
};

/* Values for the holes. */
struct hole_values {
    uint32_t index;
    int32_t version, retry_count;
};

void holed_text_init(struct holed_text *holed, size_t max);
void holed_text_clear(struct holed_text *holed);

/* Writes a JSON string; `w` must be a writer to holed->text. */
void holed_text_write(struct holed_text *holed, struct json_writer *w,
                      const struct edit_text *value);
/* Appends the text with its holes filled. A text that was too long overflows `out` as well. */
void holed_text_fill(const struct holed_text *holed, const struct hole_values *values,
                     struct buf *out);

#endif
