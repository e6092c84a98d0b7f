/* For mutate*.c: bytes that are put together, and chance. */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include "fuzz.h"

typedef struct fuzz_bytes {
    uint8_t *at;
    size_t nbytes;
    size_t capacity;
} fuzz_bytes;

fuzz_bytes fuzz_new_bytes(size_t capacity);
/* As far as there is room. */
void fuzz_append(fuzz_bytes *out, const void *from, size_t nbytes);
void fuzz_append_number(fuzz_bytes *out, uint64_t number, int nbytes);

/* Any number below n, which the seed of a mutation decides. */
uint32_t fuzz_below(uint32_t n);

size_t fuzz_mutate_pickle(uint8_t *data, size_t size, size_t capacity);

#endif
