/*
 * struct rng: a seeded pseudo-random generator (xoshiro256**). One of the four seams: everything
 * random in a process draws from the rng it was given, so that a run can be repeated by its seed.
 */
#ifndef PUMICE_BASE_RNG_H
#define PUMICE_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t s[4];
};

void rng_seed(struct rng *rng, uint64_t seed);
/* Seeds from the operating system. */
void rng_seed_random(struct rng *rng);
uint64_t rng_next(struct rng *rng);
/* Uniform in [0, bound); 0 for bound 0. */
uint64_t rng_below(struct rng *rng, uint64_t bound);
/* Uniform in [0, 1). */
double rng_unit(struct rng *rng);
/* `value` spread by +-`fraction` (0.2: 80 % to 120 %). */
int64_t rng_jitter(struct rng *rng, int64_t value, double fraction);
/* Fills text[0..n) with characters of [0-9a-z] and writes a NUL at text[n]. */
void rng_alnum(struct rng *rng, char *text, size_t n);

#endif
