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

npyx_difference_kernel *npyx_difference_kernel_of(npyx_type type, bool has_avx2) {
    return type > NPYX_F8 ? NULL : (has_avx2 ? difference_kernels_avx2 : difference_kernels_portable)[type];
}

#define DIFFERENCE_HAS_BITS difference_has_bits_8
#define DIFFERENCE_WORD     uint8_t
#include "difference_words_template.h"

#define DIFFERENCE_HAS_BITS difference_has_bits_16
#define DIFFERENCE_WORD     uint16_t
#include "difference_words_template.h"

#define DIFFERENCE_HAS_BITS difference_has_bits_32
#define DIFFERENCE_WORD     uint32_t
#include "difference_words_template.h"

#define DIFFERENCE_HAS_BITS difference_has_bits_64
#define DIFFERENCE_WORD     uint64_t
#include "difference_words_template.h"

bool npyx_difference_has_bits(const uint8_t *bytes, size_t nbytes, int word_nbytes, uint64_t mask) {
    static bool (*const has_bits[])(const uint8_t *bytes, size_t nbytes,
                                    uint64_t mask) = {[1] = difference_has_bits_8,
                                                      [2] = difference_has_bits_16,
                                                      [4] = difference_has_bits_32,
                                                      [8] = difference_has_bits_64};
    return has_bits[word_nbytes](bytes, nbytes, mask);
}
