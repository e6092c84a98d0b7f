/* The kernels of each type that GNU C has vectors for, with each processor's vectors. */
#include "difference.h"

#define DIFFERENCE_INLINE DIFFERENCE_TARGET static inline __attribute__((always_inline))

#define DIFFERENCE_TARGET
#define DIFFERENCE_NLANES        2
#define DIFFERENCE_GREATER(x, y) NPYX_GREATER_PORTABLE(x, y)

#define DIFFERENCE(word) difference_i32_portable_##word
#define DIFFERENCE_ITEM  int32_t
#include "difference_kernels_template.h"

#define DIFFERENCE(word) difference_f32_portable_##word
#define DIFFERENCE_ITEM  float
#include "difference_kernels_template.h"

#define DIFFERENCE(word) difference_f64_portable_##word
#define DIFFERENCE_ITEM  double
#include "difference_kernels_template.h"

static npyx_difference_kernel *const difference_kernels_portable[NPYX_F8 + 1] = {
    [NPYX_I4] = difference_i32_portable_kernel,
    [NPYX_F4] = difference_f32_portable_kernel,
    [NPYX_F8] = difference_f64_portable_kernel};

#ifdef NPYX_AVX2_GREATER
#undef DIFFERENCE_TARGET
#undef DIFFERENCE_NLANES
#undef DIFFERENCE_GREATER
#define DIFFERENCE_TARGET        NPYX_WITH_AVX2
#define DIFFERENCE_NLANES        4
#define DIFFERENCE_GREATER(x, y) NPYX_AVX2_GREATER(x, y)

#define DIFFERENCE(word)       difference_i32_avx2_##word
#define DIFFERENCE_ITEM        int32_t
#define DIFFERENCE_LOAD(items) NPYX_AVX2_LOAD_I32(items)
#include "difference_kernels_template.h"

#define DIFFERENCE(word)       difference_f32_avx2_##word
#define DIFFERENCE_ITEM        float
#define DIFFERENCE_LOAD(items) NPYX_AVX2_LOAD_F32(items)
#include "difference_kernels_template.h"

#define DIFFERENCE(word) difference_f64_avx2_##word
#define DIFFERENCE_ITEM  double
#include "difference_kernels_template.h"

static npyx_difference_kernel *const difference_kernels_avx2[NPYX_F8 + 1] = {
    [NPYX_I4] = difference_i32_avx2_kernel,
    [NPYX_F4] = difference_f32_avx2_kernel,
    [NPYX_F8] = difference_f64_avx2_kernel};
#else
#define difference_kernels_avx2 difference_kernels_portable
#endif

npyx_difference_kernel *npyx_difference_kernel_of(npyx_type type, npyx_simd simd) {
    if (type > NPYX_F8)
        return NULL;
    return (simd >= NPYX_SIMD_AVX2 ? difference_kernels_avx2 : difference_kernels_portable)[type];
}

/* Looks at up to eight words at once, as one of 64 bits: in a word that has all of the mask, the bits it
 * lacks are 0, and some word is 0 if subtracting 1 from each sets a highest bit that was not set. */
bool npyx_difference_has_bits(const uint8_t *bytes, size_t nbytes, int word_nbytes, uint64_t mask) {
    typedef uint64_t words __attribute__((vector_size(16)));
    const uint64_t ones = UINT64_MAX / (UINT64_MAX >> (64 - 8 * word_nbytes));
    const words wanted = (words){0} + mask * ones;
    words found = {0};
    for (size_t off = 0; off < nbytes; off += 16) {
        words x;
        memcpy(&x, bytes + off, sizeof x);
        x = ~x & wanted;
        found |= (x - ones) & ~x;
    }
    return ((found[0] | found[1]) & ones << (8 * word_nbytes - 1)) != 0;
}
