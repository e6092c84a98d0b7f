/* What random tests share: where they begin, and how often they try. */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* n; a tenth of it for a sample, and where a processor is emulated and slow (NPYEXT_UNIT_ROUNDS=few in the
 * environment). */
static inline int unit_rounds(int n) {
    const char *wanted = getenv("NPYEXT_UNIT_ROUNDS");
    return wanted != NULL && wanted[0] == 'f' ? (n + 9) / 10 : n;
}

/* Where they begin: at the clock's seconds, or where another run began (NPYEXT_SEED in the environment). */
static inline uint64_t unit_seed(void) {
    const char *given = getenv("NPYEXT_SEED");
    return given != NULL && given[0] != '\0' ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
}

#endif
