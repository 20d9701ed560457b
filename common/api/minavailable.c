/*
 * Minimums as counts or percentages: see minavailable.h.
 */
#include "api/minavailable.h"

bool min_available_parse(struct str text, struct min_available *ret_minimum)
{
    bool part = text.n && text.p[text.n - 1] == '%';
    int32_t value;
    *ret_minimum = (struct min_available){0, 0};
    if (part)
        text = str_sub(text, 0, text.n - 1);
    if (!text.n || text.p[0] < '0' || text.p[0] > '9' || !str_to_i32(text, &value) || value < 1 ||
        (part && value > 100))
        return false;
    *ret_minimum = part ? (struct min_available){0, value} : (struct min_available){value, 0};
    return true;
}

int32_t min_available_of(const struct min_available *minimum, uint32_t pods)
{
    if (!minimum->percent)
        return minimum->count;
    int64_t part = ((int64_t)pods * minimum->percent + 99) / 100;
    return part < 1 ? 1 : part > INT32_MAX ? INT32_MAX : (int32_t)part;
}
