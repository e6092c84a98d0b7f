/* The CRC-32 of zip and gzip (polynomial 0x04C11DB7, reflected). */
#ifndef NPYX_CRC32_H
#define NPYX_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* crc (0 for no bytes) extended by nbytes more: the same as zlib's crc32, three to ten times as fast where
 * the processor multiplies polynomials. */
uint32_t npyx_crc32(uint32_t crc, const uint8_t *bytes, size_t nbytes);

/* The CRC of two adjacent pieces from the CRC of each; after_nbytes is the second one's length. */
uint32_t npyx_crc32_join(uint32_t before, uint32_t after, int64_t after_nbytes);

/* ---- the implementations; npyx_crc32 uses the last one that the processor supports ---- */

typedef uint32_t npyx_crc32_kernel(uint32_t crc, const uint8_t *bytes, size_t nbytes);

typedef enum npyx_crc32_way {
    NPYX_CRC32_PORTABLE, /* zlib's */
    NPYX_CRC32_FOLD_128,
    NPYX_CRC32_FOLD_256,
    NPYX_CRC32_FOLD_512,
    NPYX_CRC32_NWAYS
} npyx_crc32_way;

/* NULL when this processor does not support it. The portable one is always there. */
npyx_crc32_kernel *npyx_crc32_kernel_of(npyx_crc32_way way);

/* The factors by which 128 bits are multiplied to be added nbits later: x^(nbits + 32) mod P for the first 64
 * of them and x^(nbits - 32) mod P for the others, bits reflected and moved up by one. */
typedef struct npyx_crc32_distance {
    int nbits;
    uint64_t factors[2];
} npyx_crc32_distance;

enum { NPYX_CRC32_NDISTANCES = 5 };
extern const npyx_crc32_distance npyx_crc32_distances[NPYX_CRC32_NDISTANCES];

#endif
