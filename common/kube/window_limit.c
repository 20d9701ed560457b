/*
 * The adaptive limit of the request window: see window_limit.h for the idea.
 *
 * Plain arithmetic on doubles, no memory, no time but what the caller passes in: a simulated
 * server is enough to test it. Embedded in its window; loop thread only.
 */
#include "kube/window_limit.h"
#include <math.h>

#define LATENCY_LEAST ((double)NSEC_PER_MSEC) /* what is faster than this counts as this */
#define SETTLE_LEAST (10 * NSEC_PER_MSEC)     /* shortest pause after a decrease */
#define FLOOR_RISE 0.005                      /* of itself a second: doubles in about 2 minutes */
#define FLOOR_RISE_MAX_S 60.0                 /* after a longer pause it rises for this long */
#define RATIO_TARGET 4.0                      /* latency may be this many times the floor */
#define RATIO_QUICK 2.0                       /* below this the limit grows by a quarter a round */
#define RATIO_MAX 16.0                        /* one outlier counts at most this much */
#define QUICK_STEP 0.25
#define FAULT_FACTOR 0.7
#define LATENCY_LEAVES 8.0 /* in flight, however slow the answers are: others may cause it */
#define SHRINK_MOST 0.5    /* what one decrease leaves at least ... */
#define SHRINK_LEAST 0.9   /* ... and at most */

void window_limit_init(struct window_limit *limit, unsigned initial, unsigned max)
{
    *limit = (struct window_limit){.max = max, .value = initial < max ? initial : max};
}

void window_limit_init_fixed(struct window_limit *limit, unsigned value)
{
    window_limit_init(limit, value, value);
    limit->fixed = true;
}

static double clamp(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

/* Updates the floor of a class with a latency; returns how many times the floor that is. */
static double relative(struct window_floor *floor, double latency, int64_t now)
{
    double seconds = (double)(now - floor->risen_ns) / (double)NSEC_PER_SEC;
    double risen = floor->latency * (1 + FLOOR_RISE * clamp(seconds, 0, FLOOR_RISE_MAX_S));
    floor->latency = floor->latency > 0 ? fmin(risen, latency) : latency;
    floor->risen_ns = now;
    return fmin(latency / floor->latency, RATIO_MAX);
}

/* Smooths over about as many answers as are in flight. */
static void smooth(double *average, double sample, double in_flight)
{
    double weight = clamp(2 / (in_flight + 1), 1.0 / 64, 1.0 / 4);
    *average = *average > 0 ? *average + weight * (sample - *average) : sample;
}

static void shrink(struct window_limit *limit, double factor, double least, int64_t now)
{
    int64_t latency = (int64_t)limit->latency;
    if (!limit->fixed)
        limit->value = fmax(limit->value * factor, least);
    limit->settle_ns = now + (latency > SETTLE_LEAST ? latency : SETTLE_LEAST);
}

static void grow(struct window_limit *limit, bool used, double most)
{
    if (used)
        limit->value += limit->ratio < RATIO_QUICK ? QUICK_STEP : 1 / limit->value;
    limit->value = fmin(limit->value, most);
}

void window_limit_answer(struct window_limit *limit, enum window_class cls, int64_t latency_ns,
                         bool used, int64_t now)
{
    double latency = fmax((double)latency_ns, LATENCY_LEAST);

    smooth(&limit->ratio, relative(&limit->floors[cls], latency, now), limit->value);
    smooth(&limit->latency, latency, limit->value);
    if (now < limit->settle_ns)
        return;
    if (limit->ratio <= RATIO_TARGET)
        grow(limit, used, limit->max);
    else if (limit->value > LATENCY_LEAVES)
        shrink(limit, clamp(RATIO_TARGET / limit->ratio, SHRINK_MOST, SHRINK_LEAST), LATENCY_LEAVES,
               now);
    else
        grow(limit, used, fmin(LATENCY_LEAVES, limit->max));
}

bool window_limit_fault(struct window_limit *limit, int64_t now)
{
    if (now < limit->settle_ns)
        return false;
    shrink(limit, FAULT_FACTOR, 1, now);
    return true;
}

int64_t window_limit_floor(const struct window_limit *limit)
{
    double least = 0;
    for (int cls = 0; cls < WINDOW_CLASS_COUNT; cls++) {
        double floor = limit->floors[cls].latency;
        if (floor > 0 && (least == 0 || floor < least))
            least = floor;
    }
    return (int64_t)least;
}
