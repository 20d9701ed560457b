/*
 * SipHash-1-3: see keyed_hash.h.
 *
 * The key is set before main, from the random bytes that the kernel gives each program, and never
 * changed.
 */
#include "base/keyed_hash.h"
#include <sys/auxv.h>

static uint64_t process_key[2];

__attribute__((constructor)) static void draw_key(void)
{
    const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    if (random)
        memcpy(process_key, random, sizeof(process_key));
}

struct state {
    uint64_t a, b, c, d;
};

static inline uint64_t rotate(uint64_t value, unsigned bits)
{
    return (value << bits) | (value >> (64 - bits));
}

static inline void mix(struct state *s)
{
    s->a += s->b;
    s->b = rotate(s->b, 13) ^ s->a;
    s->a = rotate(s->a, 32);
    s->c += s->d;
    s->d = rotate(s->d, 16) ^ s->c;
    s->a += s->d;
    s->d = rotate(s->d, 21) ^ s->a;
    s->c += s->b;
    s->b = rotate(s->b, 17) ^ s->c;
    s->c = rotate(s->c, 32);
}

static inline void take(struct state *s, uint64_t word)
{
    s->d ^= word;
    mix(s);
    s->a ^= word;
}

uint64_t keyed_hash_with(const uint64_t key[2], struct str text)
{
    struct state s = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                      key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    uint64_t last = (uint64_t)text.n << 56;
    size_t i = 0;
    for (; i + 8 <= text.n; i += 8) {
        uint64_t word;
        memcpy(&word, text.p + i, sizeof(word)); /* in the order of this machine */
        take(&s, word);
    }
    for (unsigned bits = 0; i < text.n; i++, bits += 8)
        last |= (uint64_t)(unsigned char)text.p[i] << bits;
    take(&s, last);
    s.c ^= 0xff;
    mix(&s);
    mix(&s);
    mix(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

uint64_t keyed_hash(struct str text)
{
    return keyed_hash_with(process_key, text);
}
