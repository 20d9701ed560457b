/*
 * Weighted water filling. See waterfill.h.
 *
 * All claims that are not settled share what is left by weight. Where that violates bounds, the
 * claims on the side that outweighs are settled at their bound, for they stay there whatever
 * becomes of the others; then the rest is shared again. Each round settles at least one claim.
 */
#include "scheduler/shares/waterfill.h"

__extension__ typedef __int128 wide;

/* What is not settled yet. */
struct water_rest {
    wide amount;
    wide weight;
};

static int64_t weight_of(const struct water_claim *claim)
{
    return claim->weight < 1 ? 1 : claim->weight;
}

static int64_t ceiling_of(const struct water_claim *claim)
{
    return claim->ceiling < claim->floor ? claim->floor : claim->ceiling;
}

static struct water_rest rest_of(const struct water_claim *claims, size_t n, int64_t total)
{
    struct water_rest rest = {total, 0};
    for (size_t i = 0; i < n; i++)
        if (claims[i].settled)
            rest.amount -= claims[i].share;
        else
            rest.weight += weight_of(&claims[i]);
    if (rest.amount < 0)
        rest.amount = 0;
    return rest;
}

/* How far a bound moves the claim from its part of the rest, times the rest's weight: above 0 for
 * the floor, below 0 for the ceiling. */
static wide violation(const struct water_claim *claim, const struct water_rest *rest)
{
    wide part = rest->amount * weight_of(claim);
    wide low = claim->floor * rest->weight;
    wide high = ceiling_of(claim) * rest->weight;
    if (part < low)
        return low - part;
    return part > high ? high - part : 0;
}

/* Settles those claims at their bounds that stay there; false when none violates any. */
static bool settle(struct water_claim *claims, size_t n, const struct water_rest *rest)
{
    wide sum = 0;
    bool any = false;
    for (size_t i = 0; i < n; i++)
        if (!claims[i].settled)
            sum += violation(&claims[i], rest);
    for (size_t i = 0; i < n; i++) {
        wide moved = claims[i].settled ? 0 : violation(&claims[i], rest);
        if (moved == 0 || (moved > 0 && sum < 0) || (moved < 0 && sum > 0))
            continue;
        claims[i].share = moved > 0 ? claims[i].floor : ceiling_of(&claims[i]);
        claims[i].settled = true;
        any = true;
    }
    return any;
}

/* Gives the rest out in whole units: each claim gets the difference of two rounded running sums. */
static void give_out(struct water_claim *claims, size_t n, const struct water_rest *rest)
{
    wide weight = 0, given = 0;
    for (size_t i = 0; i < n; i++) {
        if (claims[i].settled)
            continue;
        weight += weight_of(&claims[i]);
        wide sum = rest->amount * weight / rest->weight;
        claims[i].share = (int64_t)(sum - given);
        claims[i].settled = true;
        given = sum;
    }
}

void water_fill(struct water_claim *claims, size_t n, int64_t total)
{
    struct water_rest rest;
    for (size_t i = 0; i < n; i++)
        claims[i].settled = false;
    do
        rest = rest_of(claims, n, total);
    while (rest.weight > 0 && settle(claims, n, &rest));
    give_out(claims, n, &rest);
}
