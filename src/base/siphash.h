/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash that nobody can compute without the key, even
 * having seen it for other bytes.
 */
#ifndef NPYX_SIPHASH_H
#define NPYX_SIPHASH_H

#include "status.h"

enum { NPYX_SIPHASH_KEY_NBYTES = 16, NPYX_SIPHASH_NBYTES = 16 };

/* The 64-bit hash; as bytes it is written little-endian. */
uint64_t npyx_siphash(const uint8_t key[NPYX_SIPHASH_KEY_NBYTES], const void *bytes, size_t nbytes);

/* The 128-bit hash. */
void npyx_siphash_128(const uint8_t key[NPYX_SIPHASH_KEY_NBYTES], const void *bytes, size_t nbytes,
                      uint8_t hash[NPYX_SIPHASH_NBYTES]);

#endif
