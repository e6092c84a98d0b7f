/* Faults that must be found, one of each kind that run.py asks CBMC for: what finds none of them checks
 * nothing. */
#include "prove.h"

void canary_nowhere(void);

static int canary_sum(const uint8_t *bytes, size_t nbytes) {
    int sum = 0;
    for (size_t i = 0; i < nbytes; i++)
        sum += bytes[i];
    return sum;
}

static int canary_fault(int which, int n, const uint8_t *input, size_t nbytes) {
    static const int table[4];
    uint8_t *bytes;
    switch (which) {
    case 0: return n + 1;
    case 1: return 7 % n;
    case 2: return 1 << (n & 63);
    case 3: return (uint8_t)(n & 0x1ff);
    case 4: return table[n & 7];
    case 5: return input + (n & 7) == NULL;
    case 6: return input[nbytes];
    case 7: bytes = malloc(4); return bytes == NULL;
    case 8: canary_nowhere(); return 0;
    default: return canary_sum(input, nbytes);
    }
}

/*
 * Bound: 2 bytes
 * Unwind: 2
 * Checks: conversion, leaks
 * Fails: array_bounds assertion division-by-zero memory-leak no-body overflow
 *        pointer_arithmetic pointer_dereference undefined-shift unwind
 * Took: 1 s, quick
 */
void prove_canary(void) {
    any_bytes(uint8_t, input, 2);
    int sum = canary_fault(nondet_int(), nondet_int(), input, input_nbytes);
    holds(sum < 2 * UINT8_MAX);
    reached(input_nbytes == 2);
}
