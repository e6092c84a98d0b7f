/*
 * Unaligned loads and stores of either byte order, arithmetic that reports overflow, and copies of items.
 *
 * File data begin at any offset (a stored .npz member is not aligned), so nothing here assumes alignment or
 * the host's byte order. Compilers turn each load into one instruction.
 */
#ifndef NPYX_BYTES_H
#define NPYX_BYTES_H

#include <float.h>

#include "status.h"

/* x87 may keep more digits than a double has, at the compiler's whim: comparisons and statistics would go
 * wrong. 1 is s390x's, which computes floats as doubles. */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1
#error "arithmetic must be that of IEEE doubles: on i386, add -msse2 -mfpmath=sse"
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define NPYX_HOST_IS_BIG_ENDIAN 1
#else
#define NPYX_HOST_IS_BIG_ENDIAN 0
#endif

/* What a processor's caches hold and fetch, of most that are in use. */
enum { NPYX_CACHE_LINE_NBYTES = 64 };

/* npyx_load_u16, npyx_store_u16, and likewise for 32 and 64 bits. */
#define NPYX_LOAD_AND_STORE(nbits)                                                                           \
    static inline uint##nbits##_t npyx_load_u##nbits(const void *bytes, bool big_endian) {                   \
        uint##nbits##_t word;                                                                                \
        memcpy(&word, bytes, sizeof word);                                                                   \
        return big_endian == NPYX_HOST_IS_BIG_ENDIAN ? word : __builtin_bswap##nbits(word);                  \
    }                                                                                                        \
    static inline void npyx_store_u##nbits(void *bytes, uint##nbits##_t word, bool big_endian) {             \
        word = big_endian == NPYX_HOST_IS_BIG_ENDIAN ? word : __builtin_bswap##nbits(word);                  \
        memcpy(bytes, &word, sizeof word);                                                                   \
    }
NPYX_LOAD_AND_STORE(16)
NPYX_LOAD_AND_STORE(32)
NPYX_LOAD_AND_STORE(64)
#undef NPYX_LOAD_AND_STORE

/* npyx_f32_bits, npyx_f32_of_bits, npyx_load_f32, npyx_store_f32, and likewise for 64 bits. */
#define NPYX_FLOAT_AS_BITS(nbits, type)                                                                      \
    static inline uint##nbits##_t npyx_f##nbits##_bits(type value) {                                         \
        uint##nbits##_t bits;                                                                                \
        memcpy(&bits, &value, sizeof bits);                                                                  \
        return bits;                                                                                         \
    }                                                                                                        \
    static inline type npyx_f##nbits##_of_bits(uint##nbits##_t bits) {                                       \
        type value;                                                                                          \
        memcpy(&value, &bits, sizeof value);                                                                 \
        return value;                                                                                        \
    }                                                                                                        \
    static inline type npyx_load_f##nbits(const void *bytes, bool big_endian) {                              \
        return npyx_f##nbits##_of_bits(npyx_load_u##nbits(bytes, big_endian));                               \
    }                                                                                                        \
    static inline void npyx_store_f##nbits(void *bytes, type value, bool big_endian) {                       \
        npyx_store_u##nbits(bytes, npyx_f##nbits##_bits(value), big_endian);                                 \
    }
NPYX_FLOAT_AS_BITS(32, float)
NPYX_FLOAT_AS_BITS(64, double)
#undef NPYX_FLOAT_AS_BITS

/* Reverses the byte order of n consecutive words. Words of 2, 4 and 8 bytes, the usual case, have
 * instructions for it. */
static inline void npyx_swap_words(uint8_t *bytes, size_t word_nbytes, size_t n) {
    for (size_t i = 0; word_nbytes == 2 && i < n; i++)
        npyx_store_u16(bytes + 2 * i, npyx_load_u16(bytes + 2 * i, true), false);
    for (size_t i = 0; word_nbytes == 4 && i < n; i++)
        npyx_store_u32(bytes + 4 * i, npyx_load_u32(bytes + 4 * i, true), false);
    for (size_t i = 0; word_nbytes == 8 && i < n; i++)
        npyx_store_u64(bytes + 8 * i, npyx_load_u64(bytes + 8 * i, true), false);
    for (size_t i = 0; word_nbytes > 8 && i < n; i++, bytes += word_nbytes) {
        for (size_t k = 0; k < word_nbytes / 2; k++) {
            uint8_t byte = bytes[k];
            bytes[k] = bytes[word_nbytes - 1 - k];
            bytes[word_nbytes - 1 - k] = byte;
        }
    }
}

/* Whether two pieces of memory are equal; where there are no bytes, NULL is as good as any pointer. */
static inline bool npyx_is_same(const void *a, size_t a_nbytes, const void *b, size_t b_nbytes) {
    return a_nbytes == b_nbytes && (a_nbytes == 0 || memcmp(a, b, a_nbytes) == 0);
}

/* Each returns false, and leaves *result undefined, when the exact result does not fit in an int64_t. */
static inline bool npyx_add_i64(int64_t a, int64_t b, int64_t *result) {
    return !__builtin_add_overflow(a, b, result);
}

static inline bool npyx_multiply_i64(int64_t a, int64_t b, int64_t *result) {
    return !__builtin_mul_overflow(a, b, result);
}

/* The bytes of n items of item_nbytes each; false when they do not fit in a size_t, or n is negative. */
static inline bool npyx_mul_size(int64_t n, size_t item_nbytes, size_t *nbytes) {
    return n >= 0 && !__builtin_mul_overflow((uint64_t)n, item_nbytes, nbytes);
}

/* ---- items copied with a stride, and one repeated ----
 *
 * A copy whose size the compiler does not know is a call or a string instruction, and either costs more than
 * a small item: the common sizes have loops of their own.
 */

/* Of a size that the compiler knows, if a caller gives one. */
static inline void npyx_strided_copy_of(uint8_t *out, int64_t out_stride, const uint8_t *in,
                                        int64_t in_stride, int64_t nelem, size_t itemsize) {
    for (int64_t i = 0; i < nelem; i++)
        memcpy(out + i * out_stride, in + i * in_stride, itemsize);
}

/* Copies nelem items, in_stride bytes apart, to places that are out_stride bytes apart. */
static inline void npyx_strided_copy(uint8_t *out, int64_t out_stride, const uint8_t *in, int64_t in_stride,
                                     int64_t nelem, size_t itemsize) {
    switch (itemsize) {
    case 1: npyx_strided_copy_of(out, out_stride, in, in_stride, nelem, 1); return;
    case 2: npyx_strided_copy_of(out, out_stride, in, in_stride, nelem, 2); return;
    case 4: npyx_strided_copy_of(out, out_stride, in, in_stride, nelem, 4); return;
    case 8: npyx_strided_copy_of(out, out_stride, in, in_stride, nelem, 8); return;
    case 16: npyx_strided_copy_of(out, out_stride, in, in_stride, nelem, 16); return;
    default: npyx_strided_copy_of(out, out_stride, in, in_stride, nelem, itemsize);
    }
}

/* Repeats an item nelem times, side by side; out may hold it as its first. */
static inline void npyx_item_repeat(uint8_t *out, const uint8_t *item, size_t itemsize, int64_t nelem) {
    if (nelem > 0 && out != item)
        memcpy(out, item, itemsize);
    for (size_t done = itemsize, nbytes = (size_t)nelem * itemsize; done < nbytes;) {
        size_t n = done < nbytes - done ? done : nbytes - done;
        memcpy(out + done, out, n);
        done += n;
    }
}

#endif
