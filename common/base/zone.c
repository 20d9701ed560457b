/*
 * Looking up names of time zones: see zone.h.
 */
#include "base/zone.h"

bool zone_known(struct str name)
{
    size_t low = 0, high = zone_names_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = str_cmp(name, str_of(zone_names[middle]));
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}
