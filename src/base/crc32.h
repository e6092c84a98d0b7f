/* The CRC-32 of zip and gzip (polynomial 0x04C11DB7, reflected). */
#ifndef NPYX_CRC32_H
#define NPYX_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* crc (0 of nothing) with nbytes more behind it: what zlib's crc32 says of them, ten times as fast where the
 * processor multiplies polynomials. */
uint32_t npyx_crc32(uint32_t crc, const uint8_t *bytes, size_t nbytes);

/* The CRC of two pieces side by side from the CRC of each; behind_nbytes is the second one's. */
uint32_t npyx_crc32_join(uint32_t before, uint32_t behind, int64_t behind_nbytes);

#endif
