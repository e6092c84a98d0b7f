/* How often a random test tries. */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <stdlib.h>

/* n; a tenth of it where a processor is emulated and slow (NPYEXT_UNIT_ROUNDS=few in the environment). */
static inline int unit_rounds(int n) {
    const char *wanted = getenv("NPYEXT_UNIT_ROUNDS");
    return wanted != NULL && wanted[0] == 'f' ? (n + 9) / 10 : n;
}

#endif
