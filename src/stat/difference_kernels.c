#include "difference.h"

#define KERNELS         difference
#define KERNEL_TEMPLATE "stat/difference_kernels_template.h"
#define KERNELS_HAVE_I32
#define KERNELS_END_AT_AVX2
#include "base/simd_kernels_template.h"

#define DIFFERENCE_KERNEL(simd, kind)                                                                        \
    NPYX_BY_SIMD(simd, difference_##kind##_portable_kernel, difference_##kind##_avx2_kernel,                 \
                 difference_##kind##_avx2_kernel)

npyx_difference_kernel *npyx_difference_kernel_of(npyx_type type, npyx_simd simd) {
    switch (type) {
    case NPYX_I4: return DIFFERENCE_KERNEL(simd, i32);
    case NPYX_F4: return DIFFERENCE_KERNEL(simd, f32);
    case NPYX_F8: return DIFFERENCE_KERNEL(simd, f64);
    default: return NULL;
    }
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
