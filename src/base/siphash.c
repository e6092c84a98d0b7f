#include "siphash.h"

#include "bytes.h"

typedef struct siphash_state {
    uint64_t v0, v1, v2, v3;
} siphash_state;

static inline uint64_t rotate(uint64_t word, int nbits) {
    return word << nbits | word >> (64 - nbits);
}

static inline void run_rounds(siphash_state *s, int nrounds) {
    for (; nrounds > 0; nrounds--) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 = rotate(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 = rotate(s->v2, 32);
    }
}

static inline void absorb(siphash_state *s, uint64_t word) {
    s->v3 ^= word;
    run_rounds(s, 2);
    s->v0 ^= word;
}

static inline uint64_t siphash_fold(siphash_state *s) {
    run_rounds(s, 4);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* Starts from `somepseudorandomlygeneratedbytes`. The last word holds the remaining bytes, with the low byte
 * of their number on top. The marks tell the kinds of hash apart. */
static siphash_state siphash_absorb(const uint8_t *key, const uint8_t *bytes, size_t nbytes,
                                    uint8_t first_mark, uint8_t last_mark) {
    uint64_t k0 = npyx_load_u64(key, false), k1 = npyx_load_u64(key + 8, false);
    uint64_t last = (uint64_t)nbytes << 56;
    siphash_state s = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du ^ first_mark,
                       k0 ^ 0x6c7967656e657261u, k1 ^ 0x7465646279746573u};
    for (; nbytes >= 8; nbytes -= 8, bytes += 8)
        absorb(&s, npyx_load_u64(bytes, false));
    for (size_t i = 0; i < nbytes; i++)
        last |= (uint64_t)bytes[i] << (8 * i);
    absorb(&s, last);
    s.v2 ^= last_mark;
    return s;
}

uint64_t npyx_siphash(const uint8_t key[NPYX_SIPHASH_KEY_NBYTES], const void *bytes, size_t nbytes) {
    siphash_state s = siphash_absorb(key, bytes, nbytes, 0, 0xff);
    return siphash_fold(&s);
}

void npyx_siphash_128(const uint8_t key[NPYX_SIPHASH_KEY_NBYTES], const void *bytes, size_t nbytes,
                      uint8_t hash[NPYX_SIPHASH_NBYTES]) {
    siphash_state s = siphash_absorb(key, bytes, nbytes, 0xee, 0xee);
    npyx_store_u64(hash, siphash_fold(&s), false);
    s.v1 ^= 0xdd;
    npyx_store_u64(hash + 8, siphash_fold(&s), false);
}
