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
#define RATIO_TARGET 1.75                     /* latency may be this many times the floor */
#define RATIO_QUICK 1.4                       /* below this the limit grows by a third a round */
#define RATIO_STALE 0.7                       /* below this the floor is that of a slower server */
#define RATIO_MAX 16.0                        /* one outlier counts at most this much */
#define QUICK_STEP 0.35
#define FAULT_FACTOR 0.7
#define SHRINK_MOST 0.5  /* what one decrease leaves at least ... */
#define SHRINK_LEAST 0.9 /* ... and at most */
#define PROBE_INFLIGHT 4.0
#define PROBE_ANSWERS 8
#define PROBE_TIME (25 * NSEC_PER_MSEC) /* and until then, to have more of fast ones */
#define FIRST_ANSWERS 16                /* of a floor that is made without a probe */
#define PROBE_FLOORS 200.0 /* from one to the next; one takes about four and PROBE_TIME */
#define PROBE_EVERY_LEAST ((double)NSEC_PER_SEC)
#define PROBE_EVERY_MOST (15 * (double)NSEC_PER_SEC)
#define PROBE_EVERY_LOW (2 * (double)NSEC_PER_SEC)     /* while latency holds the limit down */
#define PROBE_EVERY_STALE (0.5 * (double)NSEC_PER_SEC) /* while answers are below the floor */
#define CHANGE_LEAST 1.4 /* by how much a floor has to differ so that it is not chance */

void window_limit_init(struct window_limit *limit, unsigned initial, unsigned max, unsigned leaves)
{
    *limit = (struct window_limit){.max = max,
                                   .value = initial < max ? initial : max,
                                   .leaves = leaves < max ? leaves : max,
                                   .probing = true};
}

void window_limit_init_fixed(struct window_limit *limit, unsigned value)
{
    *limit = (struct window_limit){.max = value, .value = value, .fixed = true};
}

unsigned window_limit_now(const struct window_limit *limit)
{
    return (unsigned)(limit->probing ? fmin(limit->value, PROBE_INFLIGHT) : limit->value);
}

static double clamp(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

/* Smooths over about as many answers as are in flight. */
static void smooth(double *average, double sample, double in_flight)
{
    double weight = clamp(2 / (in_flight + 1), 1.0 / 64, 1.0 / 4);
    *average = *average > 0 ? *average + weight * (sample - *average) : sample;
}

static void settle(struct window_limit *limit, int64_t now)
{
    int64_t latency = (int64_t)limit->latency;
    limit->settle_ns = now + (latency > SETTLE_LEAST ? latency : SETTLE_LEAST);
}

static void shrink(struct window_limit *limit, double factor, double least, int64_t now)
{
    if (!limit->fixed)
        limit->value = fmax(limit->value * factor, least);
    settle(limit, now);
}

static void grow(struct window_limit *limit, bool used, double most)
{
    if (used)
        limit->value += limit->ratio < RATIO_QUICK ? QUICK_STEP : 1 / limit->value;
    limit->value = fmin(limit->value, most);
}

/* ---- the floor ------------------------------------------------------------------------------- */

static void begin_probe(struct window_limit *limit, int64_t now)
{
    limit->probing = true;
    limit->probed = 0;
    limit->probe_ns = now;
    for (int cls = 0; cls < WINDOW_CLASS_COUNT; cls++)
        if (limit->floors[cls].latency > 0)
            limit->floors[cls].count = 0;
}

static void measure(struct window_floor *floor, double latency)
{
    floor->sum = floor->count > 0 ? floor->sum + latency : latency;
    floor->count++;
}

/* A class of which the probe saw few answers trusts its old floor for the rest, and so does one
 * with nearly the same floor as before. */
static void end_probe_of(struct window_floor *floor)
{
    if (floor->count == 0)
        return;
    double found = floor->sum / floor->count;
    double trust = fmin((double)floor->count / PROBE_ANSWERS, 1);
    if (floor->latency <= 0) {
        floor->latency = trust < 1 ? 0 : found;
        return;
    }
    double change = found / floor->latency;
    if (change < CHANGE_LEAST && change > 1 / CHANGE_LEAST)
        trust /= 2;
    floor->latency += trust * (found - floor->latency);
}

/* What was sent before the probe began tells nothing about the floor. */
static void probe_answer(struct window_limit *limit, struct window_floor *floor, double latency,
                         int64_t now)
{
    if (now - (int64_t)latency < limit->probe_ns)
        return;
    if (limit->probed++ == 0)
        limit->probe_until_ns = now + PROBE_TIME;
    measure(floor, latency);
    if (limit->probed < PROBE_ANSWERS || now < limit->probe_until_ns)
        return;
    for (int cls = 0; cls < WINDOW_CLASS_COUNT; cls++)
        end_probe_of(&limit->floors[cls]);
    limit->probing = false;
    limit->ratio = 1;
}

/* True when the class has a floor. The first one of a class that no probe saw enough of is made of
 * what comes first. */
static bool has_floor(struct window_floor *floor, double latency)
{
    if (floor->latency > 0)
        return true;
    measure(floor, latency);
    if (floor->count >= FIRST_ANSWERS)
        floor->latency = floor->sum / floor->count;
    return false;
}

static bool wants_probe(const struct window_limit *limit, const struct window_floor *floor,
                        int64_t now)
{
    double every = clamp(PROBE_FLOORS * floor->latency, PROBE_EVERY_LEAST, PROBE_EVERY_MOST);

    if (limit->value < PROBE_INFLIGHT)
        return false;
    if (limit->ratio > RATIO_TARGET && limit->value > limit->leaves)
        return false; /* to give way comes first */
    if (limit->ratio > RATIO_TARGET)
        every = fmin(every, PROBE_EVERY_LOW);
    else if (limit->ratio < RATIO_STALE)
        every = PROBE_EVERY_STALE;
    return (double)(now - limit->probe_ns) >= every;
}

/* ---- answers --------------------------------------------------------------------------------- */

void window_limit_answer(struct window_limit *limit, enum window_class cls, int64_t latency_ns,
                         bool used, int64_t now)
{
    struct window_floor *floor = &limit->floors[cls];
    double latency = fmax((double)latency_ns, LATENCY_LEAST);

    smooth(&limit->latency, latency, limit->value);
    if (limit->probing) {
        probe_answer(limit, floor, latency, now);
        return;
    }
    if (!has_floor(floor, latency) || limit->fixed)
        return;
    smooth(&limit->ratio, fmin(latency / floor->latency, RATIO_MAX), limit->value);
    if (now < limit->settle_ns)
        return;
    if (used && wants_probe(limit, floor, now))
        begin_probe(limit, now);
    else if (limit->ratio <= RATIO_TARGET)
        grow(limit, used, limit->max);
    else if (limit->value > limit->leaves)
        shrink(limit, clamp(RATIO_TARGET / limit->ratio, SHRINK_MOST, SHRINK_LEAST), limit->leaves,
               now);
    else
        grow(limit, used, limit->leaves);
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
