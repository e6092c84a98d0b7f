/* What random tests share: where they begin, and how often they try. */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Of samples, and where a processor is emulated and slow (NPYEXT_UNIT_ROUNDS=few in the environment). */
static inline bool unit_asks_few(void) {
    const char *wanted = getenv("NPYEXT_UNIT_ROUNDS");
    return wanted != NULL && wanted[0] == 'f';
}

/* n; a tenth of it where few are asked. */
static inline int unit_rounds(int n) {
    return unit_asks_few() ? (n + 9) / 10 : n;
}

/* Where they begin: at the clock's seconds, or where another run began (NPYEXT_SEED in the environment). */
static inline uint64_t unit_seed(void) {
    const char *given = getenv("NPYEXT_SEED");
    return given != NULL && given[0] != '\0' ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
}

static inline uint64_t *unit_random_state(void) {
    static uint64_t state;
    return &state;
}

/* Begins the sequence of random numbers at a seed, or at the run's, which is told. */
static inline void unit_seed_random(uint64_t seed) {
    *unit_random_state() = seed;
}
static inline void unit_start_random(void) {
    unit_seed_random(unit_seed());
    printf("NPYEXT_SEED=%llu\n", (unsigned long long)*unit_random_state());
}

/* The next random number: G. Steele, D. Lea and C. Flood, Fast Splittable Pseudorandom Number Generators
 * (2014), section 4. */
static inline uint64_t unit_random(void) {
    uint64_t x = *unit_random_state() += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* Whether a test takes its case i: where few are asked every second one, the even or the odd ones by the
 * seed. */
static inline bool unit_takes(int i, uint64_t seed) {
    return !unit_asks_few() || ((uint64_t)i + seed) % 2 == 0;
}

#endif
