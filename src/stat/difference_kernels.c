#include "difference.h"

/* C has no `?:` for vectors, so values are chosen by masks. */
#define CHOOSE(mask, x, y) ((reals)(((mask) & (hits)(x)) | (~(mask) & (hits)(y))))
#define GREATER(x, y)      CHOOSE((hits)((x) > (y)), x, y)
#define MAGNITUDE(x)       ((reals)((hits)(x)&not_sign))

/* A NaN is in no maximum: comparisons with it are false, and keep what was there. */
#define KERNEL(name, target, item_type, nlanes)                                                              \
    target static void name(const uint8_t *a, const uint8_t *b, size_t nelem, npyx_difference_part *part) {  \
        typedef item_type items __attribute__((vector_size((nlanes) * sizeof(item_type))));                  \
        typedef double reals __attribute__((vector_size((nlanes)*8)));                                       \
        typedef int64_t hits __attribute__((vector_size((nlanes)*8)));                                       \
        const hits not_sign = (hits){0} + INT64_MAX;                                                         \
        const reals infinity = (reals){0} + (double)INFINITY;                                                \
        hits differing = {0}, finite = {0}, far = {0};                                                       \
        reals max_abs = {0}, max_rel = {0}, sum = {0};                                                       \
        for (size_t i = 0; i < nelem; i += (nlanes)) {                                                       \
            items p, q;                                                                                      \
            memcpy(&p, a + i * sizeof(item_type), sizeof p);                                                 \
            memcpy(&q, b + i * sizeof(item_type), sizeof q);                                                 \
            reals x = __builtin_convertvector(p, reals), y = __builtin_convertvector(q, reals);              \
            reals d = MAGNITUDE(x - y);                                                                      \
            hits is_finite = (hits)(d < infinity);                                                           \
            differing += (hits)(x != y) & ~((hits)(x != x) & (hits)(y != y));                                \
            finite += is_finite;                                                                             \
            far |= (hits)(d == infinity);                                                                    \
            d = (reals)((hits)d & is_finite);                                                                \
            reals x_abs = MAGNITUDE(x), y_abs = MAGNITUDE(y);                                                \
            reals rel = d / GREATER(x_abs, y_abs);                                                           \
            max_abs = GREATER(d, max_abs);                                                                   \
            max_rel = GREATER(rel, max_rel);                                                                 \
            sum += d * d;                                                                                    \
        }                                                                                                    \
        *part = (npyx_difference_part){0};                                                                   \
        for (int k = 0; k < (nlanes); k++) {                                                                 \
            part->ndiffering -= differing[k];                                                                \
            part->nfinite -= finite[k];                                                                      \
            part->is_far |= far[k] != 0;                                                                     \
            part->max_abs = max_abs[k] > part->max_abs ? max_abs[k] : part->max_abs;                         \
            part->max_rel = max_rel[k] > part->max_rel ? max_rel[k] : part->max_rel;                         \
            part->sum_squares += sum[k];                                                                     \
        }                                                                                                    \
    }

#define KERNELS(suffix, target, nlanes)                                                                      \
    KERNEL(run_i32_##suffix, target, int32_t, nlanes)                                                        \
    KERNEL(run_f32_##suffix, target, float, nlanes)                                                          \
    KERNEL(run_f64_##suffix, target, double, nlanes)                                                         \
    static npyx_difference_kernel *const difference_kernels_##suffix[] = {                                   \
        [NPYX_I4] = run_i32_##suffix, [NPYX_F4] = run_f32_##suffix, [NPYX_F8] = run_f64_##suffix};

KERNELS(portable, , 2)
KERNELS(avx2, NPYX_WITH_AVX2, NPYX_AVX2_NBYTES / 8)

npyx_difference_kernel *npyx_difference_kernel_of(npyx_type type, bool has_avx2) {
    return type > NPYX_F8 ? NULL : (has_avx2 ? difference_kernels_avx2 : difference_kernels_portable)[type];
}

#define HAS_BITS(nbits)                                                                                      \
    static bool has_bits_##nbits(const uint8_t *bytes, size_t nbytes, uint64_t mask) {                       \
        typedef uint##nbits##_t words __attribute__((vector_size(16)));                                      \
        const words wanted = (words){0} + (uint##nbits##_t)mask;                                             \
        words found = {0};                                                                                   \
        for (size_t off = 0; off < nbytes; off += 16) {                                                      \
            words x;                                                                                         \
            memcpy(&x, bytes + off, sizeof x);                                                               \
            found |= (words)((x & wanted) == wanted);                                                        \
        }                                                                                                    \
        uint64_t halves[2];                                                                                  \
        memcpy(halves, &found, sizeof halves);                                                               \
        return (halves[0] | halves[1]) != 0;                                                                 \
    }

HAS_BITS(8)
HAS_BITS(16)
HAS_BITS(32)
HAS_BITS(64)

bool npyx_difference_has_bits(const uint8_t *bytes, size_t nbytes, int word_nbytes, uint64_t mask) {
    static bool (*const has_bits[])(const uint8_t *bytes, size_t nbytes, uint64_t mask) = {
        [1] = has_bits_8, [2] = has_bits_16, [4] = has_bits_32, [8] = has_bits_64};
    return has_bits[word_nbytes](bytes, nbytes, mask);
}
