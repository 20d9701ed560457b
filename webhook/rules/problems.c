/*
 * The collected faults of an object: see problems.h.
 */
#include "webhook/rules/problems.h"

static void separate(struct problems *problems)
{
    struct buf *text = &problems->text;
    if (text->n == 0)
        return;
    if (problems->separator)
        buf_add_cstr(text, problems->separator);
    else
        buf_add_cstr(text, text->p[text->n - 1] == ';' ? " " : "; ");
}

/* All or nothing: a text that does not fit is dropped whole. */
__attribute__((format(printf, 2, 0))) static void add(struct problems *problems, const char *format,
                                                      va_list args)
{
    const size_t before = problems->text.n;
    problems->count++;
    if (problems->dropped == 0) {
        separate(problems);
        buf_vprintf(&problems->text, format, args);
    }
    if (problems->dropped == 0 && !problems->text.overflow)
        return;
    problems->dropped++;
    problems->text.overflow = false;
    buf_truncate(&problems->text, before);
}

void problem_invalid(struct problems *problems, const char *format, ...)
{
    va_list args;
    problems->invalid = true;
    va_start(args, format);
    add(problems, format, args);
    va_end(args);
}

void problem_state(struct problems *problems, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(problems, format, args);
    va_end(args);
}

void problem_more(struct problems *problems, const char *format, ...)
{
    va_list args;
    if (problems->dropped)
        return;
    va_start(args, format);
    buf_vprintf(&problems->text, format, args);
    va_end(args);
    problems->text.overflow = false;
}

void problems_write(const struct problems *problems, struct buf *out)
{
    buf_add_str(out, str_trim(buf_str(&problems->text)));
    if (problems->dropped)
        buf_printf(out, "%s%zu more", problems->text.n ? "; and " : "", problems->dropped);
}

void problems_clear(struct problems *problems)
{
    buf_clear(&problems->text);
}
