/*
 * struct rng: xoshiro256** (Blackman and Vigna, public domain algorithm), seeded by splitmix64.
 *
 * State belongs to the holder; not thread-safe. Not for keys: those come from OpenSSL.
 */
#include "base/rng.h"
#include "base/ensure.h"
#include <errno.h>
#include <sys/random.h>

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void rng_seed(struct rng *rng, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++)
        rng->s[i] = splitmix(&seed);
}

void rng_seed_random(struct rng *rng)
{
    uint64_t seed = 0;
    ssize_t n;
    do
        n = getrandom(&seed, sizeof(seed), 0);
    while (n < 0 && errno == EINTR);
    ENSURE(n == (ssize_t)sizeof(seed));
    rng_seed(rng, seed);
}

static uint64_t rotate(uint64_t value, unsigned by)
{
    return (value << by) | (value >> (64 - by));
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    if (bound == 0)
        return 0;
    /* Draws in the last, partial stretch of the range would favour small numbers: draw again. */
    uint64_t excess = (UINT64_MAX % bound + 1) % bound;
    uint64_t drawn;
    do
        drawn = rng_next(rng);
    while (drawn > UINT64_MAX - excess);
    return drawn % bound;
}

double rng_unit(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

int64_t rng_jitter(struct rng *rng, int64_t value, double fraction)
{
    double spread = (double)value * (1.0 + fraction * (2.0 * rng_unit(rng) - 1.0));
    if (spread >= 0x1p63)
        return INT64_MAX;
    if (spread <= -0x1p63)
        return INT64_MIN;
    return (int64_t)spread;
}

void rng_alnum(struct rng *rng, char *text, size_t n)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    for (size_t i = 0; i < n; i++)
        text[i] = letters[rng_below(rng, sizeof(letters) - 1)];
    text[n] = '\0';
}
